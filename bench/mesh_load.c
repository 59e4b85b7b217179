/*
 * Many nodes of a mesh in one process, as far as the server or a node next to them
 * can tell: each has its own key and connection, says HELLO, and answers every OPEN
 * with packets of its own and of other nodes, as a relay does that has heard them.
 * Tags are right; signatures, which nobody looks at as long as copies are the same,
 * are zeros. Nothing is private here.
 *
 *   bench_mesh keys N                           prints their public keys
 *   bench_mesh play N ADDRESS KEY PACKETS       plays them for a server until
 *                                               SIGTERM: each hands it its own
 *                                               packet and those of the next nodes
 *   bench_mesh near N ADDRESS KEY PACKETS NODE COUNT
 *                                               plays nodes 1 to COUNT, neighbours
 *                                               of node 0, which has the key NODE:
 *                                               they hand it packets of nodes 1 to
 *                                               N - 1, one after the other
 *
 * ADDRESS is that of the server or of node 0, KEY the server's.
 */
#include "common/daemon.h"
#include "mesh/announce.h"
#include "release/release.h"
#include "transport/packet_key.h"
#include "transport/transport.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct player {
    struct hub_peer *peer;
    struct key_pair pair;
    uint8_t secret[PACKET_KEY];
    uint8_t seed[PRI_SEED_BYTES], tag[MESH_TAG]; /* of the round */
    int64_t answered;
    bool open;
};

/* So many are on their way at once: one address may have 64. */
enum { WINDOW = 48 };

struct load {
    struct hub *hub;
    struct player *players;
    int32_t count, packets;
    int32_t first, last; /* players that connect */
    int32_t open, begun;
    int64_t hello; /* milliseconds between two of a player */
    const char *address;
    uint8_t key[KEYS_SIZE]; /* of who is connected to */
    uint8_t study[PACKET_DIGEST];
    struct announcements said;
    struct mesh_open now;
    int64_t started;
    struct mesh_batch batch;
    struct wire_bytes bytes;
};

static bool derive(int32_t k, struct key_pair *pair)
{
    uint8_t seed[KEYS_SIZE];
    crypto_generichash(seed, sizeof seed, (const unsigned char *)&k, sizeof k,
                       (const unsigned char *)"a load of nodes", 15);
    return keys_derive(seed, pair);
}

static void greet(struct load *load, struct player *player)
{
    const struct mesh_hello hello = {
        .fleet = load->said.kind[MESH_FLEET].counter,
        .open = load->said.kind[MESH_OPEN].counter,
        .result = load->said.kind[MESH_RESULT].counter,
        .left = WIRE_NO_END};
    if (mesh_write_hello(&load->bytes, &hello))
        hub_send(player->peer, load->bytes.data, load->bytes.size);
}

/* All packets of a round are made once. */
static void make_packets(struct load *load)
{
    for (int32_t i = 0; i < load->count; i++) {
        struct player *player = &load->players[i];
        randombytes_buf(player->seed, sizeof player->seed);
        packet_tag(player->secret,
                   &(struct packet_fields){.study = load->study,
                                           .plan = load->now.digest,
                                           .node = i,
                                           .round = load->now.round,
                                           .kind = PRI_RELEASE_SPHERE,
                                           .payload = player->seed,
                                           .size = sizeof player->seed},
                   player->tag);
    }
}

static void answer(struct load *load, struct player *player)
{
    static const uint8_t zeros[MESH_SIGNATURE];
    int32_t own = (int32_t)(player - load->players);
    bool near = load->first > 0; /* to node 0, all have travelled one link */
    if (load->now.round == 0 || player->answered == load->now.round)
        return;
    player->answered = load->now.round;
    for (int32_t k = 0; k < load->packets; k++) {
        int32_t i =
            near ? 1 + ((own - 1) * load->packets + k) % (load->count - 1)
                 : (own + k) % load->count;
        mesh_batch_add(&load->batch, load->now.round, 0,
                       &(struct mesh_packet){.node = i,
                                             .kind = PRI_RELEASE_SPHERE,
                                             .payload = load->players[i].seed,
                                             .size = PRI_SEED_BYTES,
                                             .tag = load->players[i].tag,
                                             .signature = zeros,
                                             .hops = near || k > 0});
    }
    mesh_batch_end(&load->batch);
    hub_send(player->peer, load->batch.bytes.data, load->batch.bytes.size);
    hub_flush(load->hub); /* while its connection is in the caches */
}

static void see_opened(void *context, struct hub_peer *peer)
{
    struct load *load = context;
    struct player *player = hub_owner(peer);
    player->open = true;
    if (++load->open == load->last - load->first) {
        printf("connected %.2f\n",
               1e-3 * (double)(daemon_clock() - load->started));
        fflush(stdout);
    }
    greet(load, player);
}

static void see_frame(void *context, struct hub_peer *peer, const void *data,
                      size_t size)
{
    struct load *load = context;
    enum mesh_kind kind = MESH_KINDS;
    enum announce_news news = announce_take(&load->said, data, size, &kind);
    const struct announced *said = &load->said.kind[MESH_OPEN];
    if (news == ANNOUNCE_NEW && kind == MESH_FLEET)
        for (int32_t i = load->first; i < load->last; i++)
            greet(load, &load->players[i]);
    if (news == ANNOUNCE_NEW && kind == MESH_OPEN &&
        mesh_read_open(said->body, said->size, &load->now))
        make_packets(load);
    if (kind == MESH_OPEN)
        answer(load, hub_owner(peer));
}

static void see_ended(void *context, struct hub_peer *peer, enum hub_end why)
{
    struct load *load = context;
    struct player *player = hub_owner(peer);
    (void)why; /* attempts that fail end, too */
    load->open -= player->open;
    player->open = false;
}

static int print_keys(int32_t count)
{
    for (int32_t k = 0; k < count; k++) {
        struct key_pair pair;
        if (!derive(k, &pair))
            return 1;
        puts(pair.public_key);
        keys_wipe(&pair);
    }
    return 0;
}

/* Each says HELLO now and then, evenly spread. */
static void play(struct load *load)
{
    int32_t count = load->last - load->first;
    int64_t greeted = daemon_clock(), next = 0;
    while (!daemon_stopping()) {
        while (load->begun < count && load->begun - load->open < WINDOW) {
            struct player *player = &load->players[load->first + load->begun++];
            if (hub_connect(load->hub, load->address, load->key,
                            WIRE_SLICE_SIZE, player, &player->peer,
                            NULL) == PRICER_OK)
                hub_pose(player->peer, &player->pair);
        }
        hub_wait(load->hub, 20, -1);
        int64_t now = daemon_clock();
        int64_t due = (now - greeted) * count / load->hello;
        for (int64_t k = 0; k < due && k < count; k++)
            greet(load, &load->players[load->first + next++ % count]);
        if (due > 0)
            greeted = now;
    }
}

/* Who plays what, from the command line; false: it is none. */
static bool read_words(struct load *load, int argc, char **argv)
{
    bool near = argc == 8 && strcmp(argv[1], "near") == 0;
    if (!near && (argc != 6 || strcmp(argv[1], "play") != 0))
        return false;
    load->address = argv[3];
    load->packets = atoi(argv[5]);
    load->first = near ? 1 : 0;
    load->last = near ? 1 + atoi(argv[7]) : load->count;
    load->hello = near ? 10000 : 1000;
    return load->count > 0 && load->last <= load->count &&
           load->first < load->last &&
           keys_bytes(near ? argv[6] : argv[4], load->key) &&
           keys_bytes(argv[4], load->said.key);
}

static bool make_players(struct load *load, const char *server)
{
    load->players = calloc((size_t)load->count, sizeof *load->players);
    for (int32_t k = 0; k < load->count; k++)
        if (load->players == NULL || !derive(k, &load->players[k].pair) ||
            !packet_key(&load->players[k].pair, true, server,
                        load->players[k].secret))
            return false;
    return true;
}

int main(int argc, char **argv)
{
    struct load load = {.count = argc > 2 ? atoi(argv[2]) : 0};
    const struct hub_events events = {&load, see_opened, see_frame, see_ended};
    if (argc == 3 && strcmp(argv[1], "keys") == 0)
        return print_keys(load.count);
    if (!read_words(&load, argc, argv))
        return 2;
    daemon_raise_files();
    daemon_catch_signals();
    load.started = daemon_clock();
    crypto_generichash(load.study, sizeof load.study, load.said.key, KEYS_SIZE,
                       NULL, 0);
    if (!make_players(&load, argv[4]) ||
        hub_open(&load.players[0].pair, &events, &load.hub, NULL) != PRICER_OK)
        return 1;
    play(&load);
    hub_close(load.hub);
    for (int32_t k = 0; k < load.count; k++)
        keys_wipe(&load.players[k].pair);
    free(load.players);
    mesh_batch_free(&load.batch);
    announce_free(&load.said);
    wire_free(&load.bytes);
    return 0;
}
