/*
 * From copies of packets to one packet a node: packets.h has the rules.
 */
#include "packets.h"
#include "release/release.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] = "pricer: signature of packets";

enum { FAR = UINT8_MAX };

struct held {
    uint8_t *bytes; /* payload, tag, signature; NULL: none */
    size_t size;    /* of the payload */
    uint8_t *hops;  /* [repeat] fewest up to the end of each attempt, behind the
                      signature; FAR: none */
    uint8_t kind;
    bool checked; /* its signature is right */
    bool doubted; /* copies differ: only what is checked is taken */
};

/* Since which attempt, and after how many links, a neighbour has a packet. */
struct known {
    uint8_t attempt, links; /* links FAR: it is not known to */
};

/* One round of packets. */
struct shelf {
    struct packet_about about;
    struct held *held;   /* [nodes] */
    uint8_t *checks;     /* [neighbours][nodes] */
    struct known *known; /* [neighbours][nodes] */
    int64_t *taken;      /* [neighbours] */
};

struct packets {
    struct mesh_fleet fleet;
    struct mesh_plan plan;
    uint8_t *kinds; /* [nodes] */
    int32_t neighbours;
    struct shelf shelves[2]; /* the current round and the next */
    int64_t
        missed; /* the latest round of packets that were not kept; 0: none */
    int64_t counts[PACKET_NEWS];
};

/* ------------------------------------------------------------- signature -- */

static void put_number(crypto_generichash_state *state, int64_t value)
{
    uint8_t bytes[8];
    for (int k = 0; k < 8; k++)
        bytes[k] = (uint8_t)((uint64_t)value >> 8 * k);
    crypto_generichash_update(state, bytes, sizeof bytes);
}

enum { SIGNED = 32 };
static void hash_packet(const struct packet_about *about,
                        const struct mesh_packet *packet, uint8_t *hash)
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, SIGNED);
    crypto_generichash_update(&state, about->digest, WIRE_DIGEST);
    put_number(&state, about->round);
    put_number(&state, packet->node);
    put_number(&state, packet->kind);
    crypto_generichash_update(&state, packet->tag, MESH_TAG);
    crypto_generichash_update(&state, packet->payload, packet->size);
    crypto_generichash_final(&state, hash, SIGNED);
}

bool packet_sign(const struct key_pair *pair, const struct packet_about *about,
                 const struct mesh_packet *packet, uint8_t *signature)
{
    uint8_t hash[SIGNED];
    hash_packet(about, packet, hash);
    return keys_sign(pair, purpose, hash, sizeof hash, signature);
}

bool packet_verify(const uint8_t *key, const struct packet_about *about,
                   const struct mesh_packet *packet)
{
    uint8_t hash[SIGNED];
    hash_packet(about, packet, hash);
    return keys_verify(key, purpose, hash, sizeof hash, packet->signature);
}

/* ----------------------------------------------------------------- memory -- */

static void clear(struct packets *packets, struct shelf *shelf)
{
    for (int32_t i = 0; i < packets->plan.nodes; i++)
        free(shelf->held[i].bytes);
    memset(shelf->held, 0, (size_t)packets->plan.nodes * sizeof *shelf->held);
    memset(shelf->checks, 0,
           (size_t)packets->plan.nodes * (size_t)packets->neighbours);
    memset(shelf->taken, 0, (size_t)packets->neighbours * sizeof *shelf->taken);
    memset(shelf->known, FAR,
           (size_t)packets->plan.nodes * (size_t)packets->neighbours *
               sizeof *shelf->known);
    shelf->about = (struct packet_about){.round = 0};
}

void packets_free(struct packets *packets)
{
    if (packets == NULL)
        return;
    for (int k = 0; k < 2; k++) {
        struct shelf *shelf = &packets->shelves[k];
        for (int32_t i = 0; shelf->held != NULL && i < packets->plan.nodes; i++)
            free(shelf->held[i].bytes);
        free(shelf->held);
        free(shelf->checks);
        free(shelf->known);
        free(shelf->taken);
    }
    free(packets->kinds);
    free(packets);
}

static bool fill_kinds(struct packets *packets)
{
    struct mesh_release release;
    const struct mesh_plan *plan = &packets->plan;
    int32_t last = -1;
    for (int32_t i = 0; i < plan->nodes; i++) {
        int32_t row = plan->of[2 * i] | plan->of[2 * i + 1] << 8;
        if (row != last && !mesh_plan_release(plan, i, &release))
            return false;
        last = row;
        packets->kinds[i] = (uint8_t)release.kind;
    }
    return true;
}

struct packets *packets_new(const struct mesh_fleet *fleet, int32_t neighbours)
{
    struct packets *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->fleet = *fleet;
    made->neighbours = neighbours;
    bool good = mesh_read_plan(fleet->plan, fleet->plan_size, &made->plan);
    size_t nodes = (size_t)made->plan.nodes;
    size_t near = (size_t)neighbours + 1; /* never none */
    made->kinds = calloc(nodes + 1, 1);
    for (int k = 0; k < 2; k++) {
        struct shelf *shelf = &made->shelves[k];
        shelf->held = calloc(nodes + 1, sizeof *shelf->held);
        shelf->checks = calloc(nodes + 1, near);
        shelf->known = calloc(nodes + 1, near * sizeof *shelf->known);
        shelf->taken = calloc(near, sizeof *shelf->taken);
        good = good && shelf->held != NULL && shelf->checks != NULL &&
               shelf->known != NULL && shelf->taken != NULL;
        if (good)
            clear(made, shelf);
    }
    if (good && made->kinds != NULL && fill_kinds(made))
        return made;
    packets_free(made);
    return NULL;
}

void packets_renew(struct packets *packets, const struct mesh_fleet *fleet)
{
    packets->fleet = *fleet;
    mesh_read_plan(fleet->plan, fleet->plan_size, &packets->plan);
}

/* ------------------------------------------------------------------ rounds -- */

void packets_begin(struct packets *packets, const struct packet_about *about)
{
    struct shelf *now = &packets->shelves[0], *next = &packets->shelves[1];
    if (about->round <= now->about.round)
        return;
    struct shelf first = *now;
    clear(packets, &first);
    if (next->about.round == about->round) {
        *now = *next;
        *next = first;
    } else {
        clear(packets, next);
        *now = first;
    }
    now->about = *about;
    next->about = *about; /* the next is believed to be like this one */
    next->about.round = about->round + 1;
}

bool packets_missed(const struct packets *packets, int64_t round)
{
    return packets->missed >= round;
}

static void note_missed(struct packets *packets, int64_t round)
{
    if (round > packets->shelves[0].about.round && round > packets->missed)
        packets->missed = round;
}

/* Before the first round of a plan any round may be the next: neighbours that
 * have heard of it earlier do not send twice. The latest one is kept. */
static struct shelf *find_shelf(struct packets *packets, int64_t round)
{
    struct shelf *next = &packets->shelves[1];
    for (int k = 0; k < 2; k++)
        if (packets->shelves[k].about.round == round && round > 0)
            return &packets->shelves[k];
    if (packets->shelves[0].about.round > 0 || round <= next->about.round) {
        note_missed(packets, round);
        return NULL;
    }
    note_missed(packets, next->about.round);
    clear(packets, next);
    next->about.round = round;
    crypto_generichash(next->about.digest, WIRE_DIGEST, packets->fleet.plan,
                       packets->fleet.plan_size, NULL, 0);
    return next;
}

static struct mesh_packet view(const struct held *held, int32_t node)
{
    return (struct mesh_packet){.node = node,
                                .kind = held->kind,
                                .payload = held->bytes,
                                .size = held->size,
                                .tag = held->bytes + held->size,
                                .signature =
                                    held->bytes + held->size + MESH_TAG};
}

static bool is_same(const struct held *held, const struct mesh_packet *packet)
{
    struct mesh_packet other = view(held, packet->node);
    return other.kind == packet->kind && other.size == packet->size &&
           memcmp(other.payload, packet->payload, packet->size) == 0 &&
           memcmp(other.tag, packet->tag, MESH_TAG) == 0 &&
           memcmp(other.signature, packet->signature, MESH_SIGNATURE) == 0;
}

/* A copy has come in an attempt; whether it has travelled less than others. */
static bool shorten(const struct mesh_plan *plan, struct held *held,
                    int64_t attempt, int32_t hops)
{
    bool any = false;
    for (; attempt < plan->repeat; attempt++)
        if (hops < held->hops[attempt]) {
            held->hops[attempt] = (uint8_t)hops;
            any = true;
        }
    return any;
}

static bool keep(const struct mesh_plan *plan, struct held *held,
                 int64_t attempt, const struct mesh_packet *packet)
{
    const size_t whole = packet->size + MESH_TAG + MESH_SIGNATURE;
    uint8_t *bytes = malloc(whole + (size_t)plan->repeat);
    if (bytes == NULL)
        return false;
    memcpy(bytes, packet->payload, packet->size);
    memcpy(bytes + packet->size, packet->tag, MESH_TAG);
    memcpy(bytes + packet->size + MESH_TAG, packet->signature, MESH_SIGNATURE);
    free(held->bytes);
    held->bytes = bytes;
    held->size = packet->size;
    held->kind = (uint8_t)packet->kind;
    held->hops = bytes + whole;
    memset(held->hops, FAR, (size_t)plan->repeat);
    shorten(plan, held, attempt, packet->hops);
    return true;
}

/* A neighbour has sent what is held. Of two statements that do not imply each other
 * the first stays. */
static void note_known(const struct packets *packets, struct shelf *shelf,
                       int32_t neighbour, int64_t attempt,
                       const struct mesh_packet *packet)
{
    if (neighbour < 0 || packet->hops < 1 || attempt >= FAR)
        return;
    size_t at = (size_t)neighbour * (size_t)packets->plan.nodes;
    struct known *known = &shelf->known[at + (size_t)packet->node];
    uint8_t links = (uint8_t)(packet->hops - 1);
    if (attempt <= known->attempt && links <= known->links)
        *known = (struct known){(uint8_t)attempt, links};
}

/* Another copy takes the place of what neighbours have sent. */
static void forget_known(const struct packets *packets, struct shelf *shelf,
                         int32_t node)
{
    for (int32_t k = 0; k < packets->neighbours; k++)
        shelf->known[(size_t)k * (size_t)packets->plan.nodes + (size_t)node] =
            (struct known){FAR, FAR};
}

/* Whether a copy can be the plan's, before anything is compared. */
static enum packet_news look(const struct packets *packets,
                             const struct mesh_packet *packet)
{
    const struct mesh_plan *plan = &packets->plan;
    if (packet->node >= plan->nodes ||
        sodium_is_zero(packets->fleet.keys + (size_t)packet->node * WIRE_KEY,
                       WIRE_KEY))
        return PACKET_FOREIGN;
    size_t size = packet->kind == PRI_RELEASE_GAUSSIAN
                      ? 4 * (size_t)plan->dimension
                      : PRI_SEED_BYTES;
    if (packet->kind != packets->kinds[packet->node] || packet->size != size ||
        packet->hops > plan->hops)
        return PACKET_LENGTH;
    return PACKET_NEW;
}

/* Whether a node has signed a packet: with the key that is enrolled, or with the one
 * that follows it while both are let in. */
static bool is_signed(const struct packets *packets, const struct shelf *shelf,
                      const struct mesh_packet *packet)
{
    const uint8_t *key = packets->fleet.keys + (size_t)packet->node * WIRE_KEY;
    struct mesh_follow follow;
    return packet_verify(key, &shelf->about, packet) ||
           (mesh_find_follow(&packets->fleet, packet->node, &follow) &&
            memcmp(follow.old, key, WIRE_KEY) == 0 &&
            packet_verify(follow.key, &shelf->about, packet));
}

/* Two copies differ, or have differed: the node's signature decides. */
static enum packet_news decide(const struct packets *packets,
                               struct shelf *shelf, int32_t neighbour,
                               int64_t attempt, struct held *held,
                               const struct mesh_packet *packet)
{
    int32_t node = packet->node;
    if (held->checked)
        return PACKET_FORGED;
    if (neighbour >= 0) {
        size_t at = (size_t)neighbour * (size_t)packets->plan.nodes;
        uint8_t *checks = &shelf->checks[at + (size_t)node];
        if (*checks >= PACKETS_CHECKS)
            return PACKET_QUOTA;
        ++*checks;
    }
    held->doubted = true;
    if (held->bytes != NULL) {
        struct mesh_packet other = view(held, node);
        held->checked = is_signed(packets, shelf, &other);
        if (held->checked)
            return PACKET_FORGED;
        free(held->bytes);
        held->bytes = NULL;
        forget_known(packets, shelf, node);
    }
    if (!is_signed(packets, shelf, packet) ||
        !keep(&packets->plan, held, attempt, packet))
        return PACKET_FORGED;
    held->checked = true;
    note_known(packets, shelf, neighbour, attempt, packet);
    return PACKET_NEW;
}

static enum packet_news take(struct packets *packets, int32_t neighbour,
                             const struct packet_time *time,
                             const struct mesh_packet *packet)
{
    const struct mesh_plan *plan = &packets->plan;
    struct shelf *shelf = find_shelf(packets, time->round);
    if (shelf == NULL || time->attempt >= plan->repeat)
        return PACKET_ROUND;
    int64_t most = plan->nodes * (plan->hops + INT64_C(3)) * plan->repeat;
    if (neighbour >= 0 && ++shelf->taken[neighbour] > most)
        return PACKET_QUOTA;
    enum packet_news news = look(packets, packet);
    if (news != PACKET_NEW)
        return news;
    struct held *held = &shelf->held[packet->node];
    if (held->bytes != NULL && is_same(held, packet)) {
        note_known(packets, shelf, neighbour, time->attempt, packet);
        return shorten(plan, held, time->attempt, packet->hops) ? PACKET_CLOSER
                                                                : PACKET_SAME;
    }
    if (held->bytes != NULL || held->doubted)
        return decide(packets, shelf, neighbour, time->attempt, held, packet);
    if (!keep(plan, held, time->attempt, packet))
        return PACKET_QUOTA;
    note_known(packets, shelf, neighbour, time->attempt, packet);
    return PACKET_NEW;
}

enum packet_news packets_take(struct packets *packets, int32_t neighbour,
                              const struct packet_time *time,
                              const struct mesh_packet *packet)
{
    enum packet_news news = take(packets, neighbour, time, packet);
    packets->counts[news]++;
    return news;
}

bool packets_get(const struct packets *packets, int32_t node, int64_t attempt,
                 struct mesh_packet *packet)
{
    const struct held *held = &packets->shelves[0].held[node];
    if (held->bytes == NULL || held->hops[attempt] == FAR)
        return false;
    *packet = view(held, node);
    packet->hops = held->hops[attempt];
    return true;
}

bool packets_has(const struct packets *packets, int32_t neighbour,
                 int64_t attempt, const struct mesh_packet *packet)
{
    size_t at = (size_t)neighbour * (size_t)packets->plan.nodes;
    const struct known *known =
        &packets->shelves[0].known[at + (size_t)packet->node];
    return known->links <= packet->hops + 1 && known->attempt <= attempt;
}

void packets_forget(struct packets *packets, int32_t neighbour)
{
    size_t nodes = (size_t)packets->plan.nodes;
    for (int k = 0; k < 2; k++)
        memset(packets->shelves[k].known + (size_t)neighbour * nodes, FAR,
               nodes * sizeof(struct known));
}

const int64_t *packets_counts(const struct packets *packets)
{
    return packets->counts;
}
