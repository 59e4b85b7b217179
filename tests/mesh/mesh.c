/*
 * The parts of the mesh that need no process: messages, announcements, and the
 * packets of relays of which some lie. The claim of packets.h is tried on random
 * networks against a search for paths of honest relays.
 */
#include "mesh/announce.h"
#include "mesh/packets.h"
#include "release/release.h"
#include "tests/test.h"

#include <sodium.h>

enum { NODES = 9, HOPS = 3, SEEDS = 100 };

static struct key_pair pairs[NODES + 1]; /* the server's last */

static int make_keys(void **state)
{
    (void)state;
    assert_true(sodium_init() >= 0);
    for (int i = 0; i <= NODES; i++) {
        uint8_t seed[32] = {(uint8_t)(i + 1)};
        assert_true(keys_derive(seed, &pairs[i]));
    }
    return 0;
}

static int wipe_keys(void **state)
{
    (void)state;
    for (int i = 0; i <= NODES; i++)
        keys_wipe(&pairs[i]);
    return 0;
}

/* -------------------------------------------------------------- messages -- */

/* The plan of all tests: nodes of one kind, and one Gaussian. */
static void write_repeated(struct wire_bytes *bytes, int64_t counter,
                           int64_t repeat)
{
    static struct wire_bytes plan;
    const struct mesh_release releases[2] = {
        {PRI_RELEASE_SPHERE, 1, .5, 2, 0, 4, 1e-5},
        {PRI_RELEASE_GAUSSIAN, 2, 0, 0, 3, 4, 1e-5}};
    uint16_t of[NODES] = {0};
    uint8_t keys[NODES * WIRE_KEY];
    of[NODES - 1] = 1;
    for (int i = 0; i < NODES; i++)
        assert_true(keys_bytes(pairs[i].public_key, keys + i * WIRE_KEY));
    assert_true(mesh_write_plan(&plan,
                                &(struct mesh_plan){.plan = 3,
                                                    .made = 1000,
                                                    .nodes = NODES,
                                                    .dimension = 4,
                                                    .rounds = 5,
                                                    .repeat = repeat,
                                                    .hops = HOPS,
                                                    .count = 2},
                                releases, of));
    assert_true(mesh_write_fleet(
        bytes, &(struct mesh_fleet){counter, true, (const uint8_t *)plan.data,
                                    plan.size, keys, sizeof keys, NULL, 0}));
    wire_free(&plan);
}

static void write_fleet(struct wire_bytes *bytes, int64_t counter)
{
    write_repeated(bytes, counter, 1);
}

static void test_fleet(void **state)
{
    struct wire_bytes bytes = {0};
    struct mesh_fleet fleet;
    struct mesh_plan plan;
    struct mesh_release release;
    (void)state;
    write_fleet(&bytes, 7);
    assert_true(mesh_read_fleet(bytes.data, bytes.size, &fleet));
    assert_int_equal(fleet.counter, 7);
    assert_true(mesh_read_plan(fleet.plan, fleet.plan_size, &plan));
    assert_int_equal(plan.hops, HOPS);
    assert_true(mesh_plan_release(&plan, 0, &release));
    assert_int_equal(release.kind, PRI_RELEASE_SPHERE);
    assert_true(release.t == .5 && release.e0 == 2 && release.eps == 4);
    assert_true(mesh_plan_release(&plan, NODES - 1, &release));
    assert_int_equal(release.kind, PRI_RELEASE_GAUSSIAN);
    assert_true(release.noise == 3 && release.radius == 2);
    assert_false(mesh_plan_release(&plan, NODES, &release));
    for (size_t size = 0; size < bytes.size; size++)
        assert_false(mesh_read_fleet(bytes.data, size, &fleet));
    wire_free(&bytes);
}

static void test_batch(void **state)
{
    struct mesh_batch batch = {.count = 0};
    struct mesh_reader reader;
    struct mesh_packet packet;
    uint8_t bytes[MESH_SIGNATURE + 200];
    (void)state;
    for (size_t k = 0; k < sizeof bytes; k++)
        bytes[k] = (uint8_t)k;
    for (int k = 0; k < 300; k++)
        assert_true(
            mesh_batch_add(&batch, 5, 1,
                           &(struct mesh_packet){.node = k,
                                                 .kind = 1,
                                                 .payload = bytes,
                                                 .size = (size_t)(1 + k % 200),
                                                 .tag = bytes + 1,
                                                 .signature = bytes + 2,
                                                 .hops = k % MESH_HOPS}));
    assert_true(mesh_batch_is_full(&batch, 6, 1, 1));
    assert_true(mesh_batch_is_full(&batch, 5, 0, 1));
    assert_true(mesh_batch_is_full(&batch, 5, 1, MESH_BATCH));
    mesh_batch_end(&batch);
    assert_int_equal(mesh_type(batch.bytes.data, batch.bytes.size),
                     MESH_PACKETS);
    assert_true(mesh_reader_begin(&reader, batch.bytes.data, batch.bytes.size));
    assert_int_equal(reader.round, 5);
    assert_int_equal(reader.attempt, 1);
    for (int k = 0; k < 300; k++) {
        assert_true(mesh_reader_next(&reader, &packet));
        assert_int_equal(packet.node, k);
        assert_int_equal(packet.hops, k % MESH_HOPS);
        assert_int_equal(packet.size, 1 + k % 200);
        assert_memory_equal(packet.payload, bytes, packet.size);
        assert_memory_equal(packet.tag, bytes + 1, MESH_TAG);
        assert_memory_equal(packet.signature, bytes + 2, MESH_SIGNATURE);
    }
    assert_false(mesh_reader_next(&reader, &packet));
    assert_false(reader.bad);
    for (size_t size = 0; size < batch.bytes.size; size += 7) {
        if (mesh_reader_begin(&reader, batch.bytes.data, size))
            while (mesh_reader_next(&reader, &packet))
                ;
        assert_true(reader.bad);
    }
    mesh_batch_free(&batch);
}

/* --------------------------------------------------------- announcements -- */

static void write_open(struct wire_bytes *bytes, int64_t counter, int64_t round)
{
    assert_true(mesh_write_open(
        bytes, &(struct mesh_open){.counter = counter, .round = round}));
}

static enum announce_news take(struct announcements *to,
                               const struct announcements *from,
                               enum mesh_kind which)
{
    enum mesh_kind kind;
    const struct wire_bytes *message = &from->kind[which].message;
    return announce_take(to, message->data, message->size, &kind);
}

static void test_announcements(void **state)
{
    struct announcements server = {.bad = 0}, node = {.bad = 0};
    struct wire_bytes body = {0};
    enum mesh_kind kind;
    (void)state;
    assert_true(keys_bytes(pairs[NODES].public_key, node.key));
    write_fleet(&body, 10);
    assert_true(announce_make(&server, &pairs[NODES], &body));
    assert_int_equal(take(&node, &server, MESH_FLEET), ANNOUNCE_NEW);
    assert_int_equal(take(&node, &server, MESH_FLEET), ANNOUNCE_KNOWN);
    write_open(&body, 12, 1);
    assert_true(announce_make(&server, &pairs[NODES], &body));
    assert_int_equal(take(&node, &server, MESH_OPEN), ANNOUNCE_NEW);
    write_open(&body, 11, 9); /* below what is known */
    assert_true(announce_make(&server, &pairs[NODES], &body));
    assert_int_equal(take(&node, &server, MESH_OPEN), ANNOUNCE_OLD);
    write_open(&body, 12, 2); /* another one of the same number */
    assert_true(announce_make(&server, &pairs[NODES], &body));
    assert_int_equal(take(&node, &server, MESH_OPEN), ANNOUNCE_CONFLICT);
    write_open(&body, 10, 2); /* also of another kind */
    assert_true(announce_make(&server, &pairs[NODES], &body));
    assert_int_equal(take(&node, &server, MESH_OPEN), ANNOUNCE_CONFLICT);
    write_open(&body, 13, 2); /* signed by somebody else */
    assert_true(announce_make(&server, &pairs[0], &body));
    assert_int_equal(take(&node, &server, MESH_OPEN), ANNOUNCE_BAD);
    assert_true(announce_make(&server, &pairs[NODES], &body));
    struct wire_bytes *message = &server.kind[MESH_OPEN].message;
    for (size_t k = 0; k < message->size; k++) {
        message->data[k] ^= 1;
        enum announce_news news =
            announce_take(&node, message->data, message->size, &kind);
        assert_true(news == ANNOUNCE_BAD || news == ANNOUNCE_OLD);
        message->data[k] ^= 1;
    }
    assert_int_equal(node.kind[MESH_OPEN].counter, 12);
    assert_int_equal(node.conflicts, 2);
    node.floor = 20;
    assert_int_equal(take(&node, &server, MESH_OPEN), ANNOUNCE_OLD);
    node.floor = 13;
    assert_int_equal(take(&node, &server, MESH_OPEN), ANNOUNCE_NEW);
    announce_free(&server);
    announce_free(&node);
    wire_free(&body);
}

/* --------------------------------------------------------------- packets -- */

/* A node's packet of round 1, with room for its bytes. */
struct made {
    uint8_t payload[16], tag[MESH_TAG], signature[MESH_SIGNATURE];
    struct mesh_packet packet;
};

static const struct packet_time now = {1, 0}, later = {2, 0}, far = {3, 0};
static const struct packet_about about = {.digest = {1}, .round = 1};

static void make_packet(struct made *made, int32_t node, uint8_t byte)
{
    memset(made->payload, byte, sizeof made->payload);
    memset(made->tag, byte + node, sizeof made->tag);
    made->packet = (struct mesh_packet){
        .node = node,
        .kind = node == NODES - 1 ? PRI_RELEASE_GAUSSIAN : PRI_RELEASE_SPHERE,
        .payload = made->payload,
        .size = sizeof made->payload,
        .tag = made->tag,
        .signature = made->signature};
    assert_true(
        packet_sign(&pairs[node], &about, &made->packet, made->signature));
}

/* A copy on its way. */
struct copy {
    int32_t from, to;
    struct made made;
};

struct network {
    bool link[NODES][NODES], liar[NODES], up[NODES];
    struct packets *packets[NODES];
    struct copy *queue;
    int32_t head, tail, room;
    int32_t sent[NODES][NODES], spared;
    bool fresh[NODES][NODES]; /* a relay will pass on the packet of a node */
    int32_t waiting;          /* how many such there are */
    bool heard[NODES];        /* the server has the true one */
    struct made truth[NODES];
};

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % below;
}

static void send_copy(struct network *net, int32_t from, int32_t to,
                      const struct mesh_packet *packet)
{
    if (net->tail == net->room) {
        net->room = 2 * net->room + 64;
        net->queue =
            realloc(net->queue, (size_t)net->room * sizeof *net->queue);
        assert_non_null(net->queue);
    }
    struct copy *copy = &net->queue[net->tail++];
    copy->from = from;
    copy->to = to;
    memcpy(copy->made.payload, packet->payload, 16);
    memcpy(copy->made.tag, packet->tag, MESH_TAG);
    memcpy(copy->made.signature, packet->signature, MESH_SIGNATURE);
    copy->made.packet = *packet;
    net->sent[from][to]++;
}

/* An honest relay will pass on a packet that it holds. */
static void mark(struct network *net, int32_t at, int32_t node)
{
    net->waiting += !net->fresh[at][node];
    net->fresh[at][node] = true;
}

/* It does, but to those that are known to have it. */
static void pass_on(struct network *net, int32_t at, int32_t node)
{
    const struct made *truth = &net->truth[node];
    struct mesh_packet packet, copy;
    net->fresh[at][node] = false;
    net->waiting--;
    if (!packets_get(net->packets[at], node, 0, &packet))
        return;
    if (net->up[at] && memcmp(packet.payload, truth->payload, 16) == 0 &&
        memcmp(packet.tag, truth->tag, MESH_TAG) == 0)
        net->heard[node] = true;
    copy = packet;
    copy.hops++;
    for (int32_t j = 0; j < NODES && copy.hops <= HOPS; j++) {
        bool spared = packets_has(net->packets[at], j, 0, &packet);
        if (net->link[at][j] && !spared)
            send_copy(net, at, j, &copy);
        net->spared += net->link[at][j] && spared;
    }
}

/* Liars send forgeries of everything, the first and the last, with any number of
 * hops, and true packets as if they had come a long way. */
static void lie(struct network *net, int32_t at, uint64_t *seed)
{
    for (int32_t j = 0; j < NODES; j++)
        for (int k = 0; k < 4 && net->link[at][j]; k++)
            for (int32_t i = 0; i < NODES; i++) {
                struct made forged = net->truth[i];
                forged.packet.payload = forged.payload;
                forged.packet.tag = forged.tag;
                forged.packet.signature = forged.signature;
                forged.packet.hops = 1 + (int32_t)draw(seed, HOPS);
                switch (draw(seed, 4)) {
                case 0:
                    forged.payload[0] ^= 1 + k;
                    break;
                case 1:
                    forged.tag[3] ^= 1 + k;
                    break;
                case 2:
                    forged.signature[5] ^= 1 + k;
                    break;
                default:
                    forged.packet.hops = HOPS;
                }
                send_copy(net, at, j, &forged.packet);
            }
}

/* Whether the server can be reached over honest relays within the hops. */
static bool has_path(const struct network *net, int32_t node)
{
    bool at[NODES] = {false};
    at[node] = true;
    for (int step = 0; step <= HOPS; step++) {
        bool next[NODES];
        for (int32_t i = 0; i < NODES; i++)
            if (at[i] && net->up[i])
                return true;
        memcpy(next, at, sizeof at);
        for (int32_t i = 0; i < NODES; i++)
            for (int32_t j = 0; j < NODES; j++)
                next[j] |= at[i] && net->link[i][j] && !net->liar[j];
        memcpy(at, next, sizeof at);
    }
    return false;
}

/* In any order, relays pass on what they have taken after any time. */
static void deliver(struct network *net, uint64_t *seed)
{
    while (net->head < net->tail || net->waiting > 0) {
        int32_t at = (int32_t)draw(seed, NODES),
                node = (int32_t)draw(seed, NODES);
        if (net->fresh[at][node])
            pass_on(net, at, node);
        if (net->head == net->tail)
            continue;
        int32_t k =
            net->head + (int32_t)draw(seed, (uint32_t)(net->tail - net->head));
        struct copy copy = net->queue[k];
        net->queue[k] = net->queue[net->head++];
        if (net->liar[copy.to] || copy.made.packet.node == copy.to)
            continue;
        copy.made.packet.payload = copy.made.payload;
        copy.made.packet.tag = copy.made.tag;
        copy.made.packet.signature = copy.made.signature;
        enum packet_news news = packets_take(net->packets[copy.to], copy.from,
                                             &now, &copy.made.packet);
        if (news == PACKET_NEW || news == PACKET_CLOSER)
            mark(net, copy.to, copy.made.packet.node);
    }
}

/* Returns how many copies were spared. */
static int32_t play(uint64_t seed, const struct mesh_fleet *fleet)
{
    struct network *net = calloc(1, sizeof *net);
    int32_t due = 0, heard = 0;
    assert_non_null(net);
    for (int32_t i = 0; i < NODES; i++) {
        net->liar[i] = draw(&seed, 4) == 0;
        net->up[i] = !net->liar[i] && draw(&seed, 3) == 0;
        for (int32_t j = 0; j < NODES; j++)
            net->link[i][j] = i != j && draw(&seed, 3) == 0;
        net->packets[i] = packets_new(fleet, NODES);
        assert_non_null(net->packets[i]);
        packets_begin(net->packets[i], &about);
        make_packet(&net->truth[i], i, (uint8_t)seed);
    }
    for (int32_t i = 0; i < NODES; i++)
        if (net->liar[i])
            lie(net, i, &seed);
    for (int32_t i = 0; i < NODES; i++)
        if (!net->liar[i]) {
            assert_int_equal(
                packets_take(net->packets[i], -1, &now, &net->truth[i].packet),
                PACKET_NEW);
            mark(net, i, i);
        }
    deliver(net, &seed);
    for (int32_t i = 0; i < NODES; i++) {
        bool path = !net->liar[i] && has_path(net, i);
        due += path;
        heard += net->heard[i];
        if (path)
            assert_true(net->heard[i]);
        for (int32_t j = 0; j < NODES && !net->liar[i]; j++)
            assert_true(net->sent[i][j] <= NODES * (HOPS + 2));
    }
    assert_true(heard >= due);
    for (int32_t i = 0; i < NODES; i++)
        packets_free(net->packets[i]);
    int32_t spared = net->spared;
    free(net->queue);
    free(net);
    return spared;
}

static void test_liars(void **state)
{
    struct wire_bytes bytes = {0};
    struct mesh_fleet fleet;
    (void)state;
    write_fleet(&bytes, 1);
    assert_true(mesh_read_fleet(bytes.data, bytes.size, &fleet));
    int64_t spared = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        spared += play(seed, &fleet);
    assert_true(spared > SEEDS);
    wire_free(&bytes);
}

/* What is not the plan's, not this round's, or too much is not looked at. */
static void test_limits(void **state)
{
    struct wire_bytes bytes = {0};
    struct mesh_fleet fleet;
    struct made made, other;
    struct mesh_packet got;
    (void)state;
    write_fleet(&bytes, 1);
    assert_true(mesh_read_fleet(bytes.data, bytes.size, &fleet));
    struct packets *packets = packets_new(&fleet, 2);
    assert_non_null(packets);
    make_packet(&made, 2, 9);
    made.packet.hops = 1;
    /* What comes before the first round is kept for it. */
    make_packet(&other, 3, 9);
    other.packet.hops = 1;
    assert_int_equal(packets_take(packets, 0, &now, &other.packet), PACKET_NEW);
    packets_begin(packets, &about);
    assert_true(packets_get(packets, 3, 0, &got));
    assert_false(packets_missed(packets, 1));
    assert_int_equal(packets_take(packets, 0, &far, &made.packet),
                     PACKET_ROUND);
    assert_true(packets_missed(packets, 2) && packets_missed(packets, 3));
    assert_false(packets_missed(packets, 4));
    other = made;
    other.packet.node = NODES;
    assert_int_equal(packets_take(packets, 0, &now, &other.packet),
                     PACKET_FOREIGN);
    other.packet = made.packet;
    other.packet.size = 15;
    assert_int_equal(packets_take(packets, 0, &now, &other.packet),
                     PACKET_LENGTH);
    other.packet = made.packet;
    other.packet.kind = PRI_RELEASE_GAUSSIAN;
    assert_int_equal(packets_take(packets, 0, &now, &other.packet),
                     PACKET_LENGTH);
    other.packet = made.packet;
    other.packet.hops = HOPS + 1;
    assert_int_equal(packets_take(packets, 0, &now, &other.packet),
                     PACKET_LENGTH);
    /* The next round's is kept, and found when that begins. */
    assert_int_equal(packets_take(packets, 0, &later, &made.packet),
                     PACKET_NEW);
    assert_false(packets_get(packets, 2, 0, &got));
    struct packet_about next = about;
    next.round = 2;
    packets_begin(packets, &next);
    assert_true(packets_get(packets, 2, 0, &got));
    assert_memory_equal(got.payload, made.payload, 16);
    assert_int_equal(packets_take(packets, 0, &now, &made.packet),
                     PACKET_ROUND);
    for (int k = 0; k < NODES * (HOPS + 3); k++)
        packets_take(packets, 0, &later, &made.packet);
    assert_int_equal(packets_take(packets, 0, &later, &made.packet),
                     PACKET_QUOTA);
    assert_int_equal(packets_take(packets, 1, &later, &made.packet),
                     PACKET_SAME);
    packets_free(packets);
    wire_free(&bytes);
}

/* Records of keys that follow are found by node; such as are not in order, not
 * whole, or of nobody make FLEET malformed. */
static void test_follows(void **state)
{
    struct wire_bytes bytes = {0}, again = {0};
    struct mesh_fleet fleet, back;
    struct mesh_follow found;
    uint8_t records[3 * MESH_FOLLOW], fill[MESH_SIGNATURE] = {7};
    const int32_t nodes[3] = {1, 4, NODES - 1};
    (void)state;
    write_fleet(&bytes, 1);
    assert_true(mesh_read_fleet(bytes.data, bytes.size, &fleet));
    for (int k = 0; k < 3; k++)
        mesh_write_follow(records + k * MESH_FOLLOW,
                          &(struct mesh_follow){
                              nodes[k], fleet.keys + k * WIRE_KEY, fill, fill});
    fleet.follows = records;
    fleet.follows_size = sizeof records;
    assert_true(mesh_write_fleet(&again, &fleet));
    assert_true(mesh_read_fleet(again.data, again.size, &back));
    for (int32_t i = -1; i <= NODES; i++) {
        bool there = i == 1 || i == 4 || i == NODES - 1;
        assert_int_equal(mesh_find_follow(&back, i, &found), there);
        if (there)
            assert_int_equal(found.node, i);
    }
    assert_true(mesh_find_follow(&back, 4, &found));
    assert_memory_equal(found.old, fleet.keys + WIRE_KEY, WIRE_KEY);
    fleet.follows_size--;
    assert_true(mesh_write_fleet(&again, &fleet));
    assert_false(mesh_read_fleet(again.data, again.size, &back));
    fleet.follows_size++;
    for (int bad = 0; bad < 3; bad++) {
        records[MESH_FOLLOW] = bad == 0 ? 1 : bad == 1 ? NODES : 4;
        records[MESH_FOLLOW + 3] = bad == 2 ? 0xFF : 0;
        assert_true(mesh_write_fleet(&again, &fleet));
        assert_false(mesh_read_fleet(again.data, again.size, &back));
    }
    wire_free(&bytes);
    wire_free(&again);
}

/* Where copies differ, both keys of a node that changes its key count, and once the
 * old one is retired the new one alone. */
static void test_two_keys(void **state)
{
    struct wire_bytes bytes = {0};
    struct mesh_fleet fleet;
    struct made forged, old, latest;
    struct key_pair next = {0};
    const uint8_t seed[32] = {200};
    uint8_t record[MESH_FOLLOW], keys[NODES * WIRE_KEY], bytes_of[WIRE_KEY];
    const int32_t node = 2;
    (void)state;
    write_fleet(&bytes, 1);
    assert_true(mesh_read_fleet(bytes.data, bytes.size, &fleet));
    memcpy(keys, fleet.keys, sizeof keys);
    fleet.keys = keys;
    assert_true(keys_derive(seed, &next));
    assert_true(keys_bytes(next.public_key, bytes_of));
    uint8_t proof[MESH_SIGNATURE] = {0}; /* relays go by the server's word */
    mesh_write_follow(
        record,
        &(struct mesh_follow){node, keys + node * WIRE_KEY, bytes_of, proof});
    fleet.follows = record;
    fleet.follows_size = sizeof record;
    make_packet(&forged, node, 1);
    forged.signature[0] ^= 1;
    make_packet(&old, node, 2);
    make_packet(&latest, node, 3);
    assert_true(packet_sign(&next, &about, &latest.packet, latest.signature));
    for (int turn = 0; turn < 4; turn++) {
        bool retired = turn >= 2, by_new = turn % 2 == 1;
        if (retired)
            memcpy(keys + node * WIRE_KEY, bytes_of, WIRE_KEY);
        struct packets *packets = packets_new(&fleet, 2);
        assert_non_null(packets);
        packets_begin(packets, &about);
        struct mesh_packet first = forged.packet,
                           second = by_new ? latest.packet : old.packet;
        first.hops = second.hops = 1;
        assert_int_equal(packets_take(packets, 0, &now, &first), PACKET_NEW);
        assert_int_equal(packets_take(packets, 1, &now, &second),
                         retired && !by_new ? PACKET_FORGED : PACKET_NEW);
        packets_free(packets);
    }
    keys_wipe(&next);
    wire_free(&bytes);
}

/* Who has sent a packet has it, from that attempt on, unless another copy takes its
 * place or ours has come over two links less. */
static void test_known(void **state)
{
    const struct packet_time second = {1, 1};
    struct wire_bytes bytes = {0};
    struct mesh_fleet fleet;
    struct made made, forged;
    struct mesh_packet got;
    (void)state;
    write_repeated(&bytes, 1, 2);
    assert_true(mesh_read_fleet(bytes.data, bytes.size, &fleet));
    struct packets *packets = packets_new(&fleet, 3);
    assert_non_null(packets);
    packets_begin(packets, &about);
    make_packet(&made, 2, 9);
    make_packet(&forged, 2, 9);
    forged.payload[0] ^= 1;
    forged.packet.hops = made.packet.hops = 3;
    assert_int_equal(packets_take(packets, 0, &second, &forged.packet),
                     PACKET_NEW);
    assert_true(packets_get(packets, 2, 1, &got));
    assert_true(packets_has(packets, 0, 1, &got));
    assert_false(packets_has(packets, 0, 0, &got));
    assert_false(packets_has(packets, 1, 1, &got));
    assert_int_equal(packets_take(packets, 1, &second, &made.packet),
                     PACKET_NEW);
    assert_true(packets_get(packets, 2, 1, &got));
    assert_false(packets_has(packets, 0, 1, &got));
    assert_true(packets_has(packets, 1, 1, &got));
    made.packet.hops = 1;
    assert_int_equal(packets_take(packets, 2, &second, &made.packet),
                     PACKET_CLOSER);
    assert_true(packets_get(packets, 2, 1, &got));
    assert_true(
        packets_has(packets, 1, 1, &got)); /* after 2 links either way */
    assert_true(packets_has(packets, 2, 1, &got));
    got.hops = 0; /* as the node's own would be */
    assert_false(packets_has(packets, 1, 1, &got));
    got.hops = 1; /* who has connected again may have lost it */
    packets_forget(packets, 1);
    assert_false(packets_has(packets, 1, 1, &got));
    assert_true(packets_has(packets, 2, 1, &got));
    packets_free(packets);
    wire_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fleet),         cmocka_unit_test(test_batch),
        cmocka_unit_test(test_announcements), cmocka_unit_test(test_liars),
        cmocka_unit_test(test_limits),        cmocka_unit_test(test_follows),
        cmocka_unit_test(test_two_keys),      cmocka_unit_test(test_known),
    };
    return cmocka_run_group_tests(tests, make_keys, wipe_keys);
}
