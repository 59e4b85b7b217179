/*
 * Many nodes of a mesh in one process, as far as the server can tell: each has its
 * own key and connection, says HELLO, and answers every OPEN with its own packet
 * and those of the next nodes, as a relay does that has heard them. Tags are right;
 * signatures, which the server does not look at, are zeros. Nothing is private here.
 *
 *   bench_mesh keys N                           prints their public keys
 *   bench_mesh play N ADDRESS KEY PACKETS       plays them, until SIGTERM
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
    int32_t count, open, begun, packets;
    const char *address;
    uint8_t key[KEYS_SIZE], study[PACKET_DIGEST];
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
    if (load->now.round == 0 || player->answered == load->now.round)
        return;
    player->answered = load->now.round;
    for (int32_t k = 0; k < load->packets; k++) {
        int32_t i = (own + k) % load->count;
        mesh_batch_add(&load->batch, load->now.round, 0,
                       &(struct mesh_packet){.node = i,
                                             .kind = PRI_RELEASE_SPHERE,
                                             .payload = load->players[i].seed,
                                             .size = PRI_SEED_BYTES,
                                             .tag = load->players[i].tag,
                                             .signature = zeros,
                                             .hops = k > 0});
    }
    mesh_batch_end(&load->batch);
    hub_send(player->peer, load->batch.bytes.data, load->batch.bytes.size);
    hub_flush(load->hub);
}

static void see_opened(void *context, struct hub_peer *peer)
{
    struct load *load = context;
    struct player *player = hub_owner(peer);
    player->open = true;
    if (++load->open == load->count) {
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
    enum mesh_kind kind;
    enum announce_news news = announce_take(&load->said, data, size, &kind);
    const struct announced *said = &load->said.kind[MESH_OPEN];
    if (news == ANNOUNCE_NEW && kind == MESH_FLEET)
        for (int32_t i = 0; i < load->count; i++)
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

/* Each says HELLO once a second, evenly spread. */
static void play(struct load *load)
{
    int64_t greeted = daemon_clock(), next = 0;
    while (!daemon_stopping()) {
        while (load->begun < load->count && load->begun - load->open < WINDOW) {
            struct player *player = &load->players[load->begun++];
            if (hub_connect(load->hub, load->address, load->key,
                            WIRE_SLICE_SIZE, player, &player->peer,
                            NULL) == PRICER_OK)
                hub_pose(player->peer, &player->pair);
        }
        hub_wait(load->hub, 20, -1);
        int64_t now = daemon_clock();
        int64_t due = (now - greeted) * load->count / 1000;
        for (int64_t k = 0; k < due && k < load->count; k++)
            greet(load, &load->players[next++ % load->count]);
        if (due > 0)
            greeted = now;
    }
}

int main(int argc, char **argv)
{
    struct load load = {.count = argc > 2 ? atoi(argv[2]) : 0};
    const struct hub_events events = {&load, see_opened, see_frame, see_ended};
    if (argc == 3 && strcmp(argv[1], "keys") == 0)
        return print_keys(load.count);
    if (argc != 6 || strcmp(argv[1], "play") != 0 || load.count < 1 ||
        !keys_bytes(argv[4], load.key))
        return 2;
    daemon_raise_files();
    daemon_catch_signals();
    load.address = argv[3];
    load.packets = atoi(argv[5]);
    load.started = daemon_clock();
    memcpy(load.said.key, load.key, KEYS_SIZE);
    crypto_generichash(load.study, sizeof load.study, load.key, KEYS_SIZE, NULL,
                       0);
    load.players = calloc((size_t)load.count, sizeof *load.players);
    for (int32_t k = 0; k < load.count; k++)
        if (load.players == NULL || !derive(k, &load.players[k].pair) ||
            !packet_key(&load.players[k].pair, true, argv[4],
                        load.players[k].secret))
            return 1;
    if (hub_open(&load.players[0].pair, &events, &load.hub, NULL) != PRICER_OK)
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
