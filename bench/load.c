/*
 * Many nodes in one process, as far as the server can tell: each has its own key
 * and connection, says HELLO, takes its slice and answers every OPEN with a SUM
 * of its own part. Nothing is private here: data is zero, and so is the noise but
 * with `noise`, where each draws that of its part as a node does. No ledger is kept.
 *
 *   bench_load keys N                            prints their public keys
 *   bench_load play N ADDRESS KEY T [noise]      plays them on T threads, until
 *                                                SIGTERM
 */
#include "common/daemon.h"
#include "fleet/wire.h"
#include "transport/transport.h"

#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct player {
    struct hub_peer *peer;
    struct key_pair pair;
    bool open, sliced;
    uint8_t digest[WIRE_DIGEST];
    uint8_t own; /* what becomes of its own part */
    int32_t in_count, out_count;
    int64_t session, last;
    struct pricer_slice part;
    struct pricer_share share;
};

/* So many are on their way at once: one address may have 64. */
enum { WINDOW = 48 };

/* What all threads have open; the last one says so. */
static atomic_int all_open;
static int all;

/* The players of one thread. */
struct load {
    pthread_t thread;
    struct hub *hub;
    struct player *players;
    int32_t from, count, open, begun, window;
    const char *address;
    uint8_t key[KEYS_SIZE]; /* the server's */
    int64_t rounds, started;
    bool noise;
    int64_t room;         /* of what follows */
    double *data;         /* zeros */
    const int64_t *blank; /* values of the last sum, zeros without noise */
    struct pricer_random random;
    uint8_t *parts, *sent;
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
    const struct wire_hello hello = {
        .digest = player->sliced ? player->digest : NULL,
        .left = WIRE_NO_END,
        .own = WIRE_NO_END,
        .last = player->last,
        .session = player->session,
    };
    load->blank = NULL;
    if (wire_write_hello(&load->bytes, &hello))
        hub_send(player->peer, load->bytes.data, load->bytes.size);
}

static void take_mark(struct load *load, struct player *player,
                      const void *data, size_t size)
{
    struct wire_mark mark;
    if (!wire_read_mark(data, size, &mark))
        return;
    player->session = mark.next;
    greet(load, player);
}

static bool make_room(struct load *load, int64_t dimension)
{
    if (load->room >= dimension)
        return true;
    free(load->data);
    load->data = calloc((size_t)dimension, sizeof *load->data);
    load->room = load->data != NULL ? dimension : 0;
    return load->data != NULL;
}

static void take_slice(struct load *load, struct player *player,
                       const void *data, size_t size)
{
    struct wire_slice slice;
    if (!wire_read_slice(data, size, &slice))
        return;
    crypto_generichash(player->digest, WIRE_DIGEST, data, size, NULL, 0);
    bool used = slice.own.weight != 0 || slice.own.noise != 0;
    player->own = used ? WIRE_PART_DATA : WIRE_PART_PROBE;
    player->in_count = slice.in_count;
    player->out_count = slice.out_count;
    player->part = (struct pricer_slice){
        .node = slice.node,
        .nodes = slice.nodes,
        .dimension = slice.dimension,
        .radius = slice.radius,
        .diameter = 2 * slice.radius,
        .grid = {slice.exponent, slice.grid},
        .parts = slice.in_count + 1,
    };
    player->share =
        (struct pricer_share){slice.node, slice.own.weight, slice.own.noise};
    player->sliced = make_room(load, slice.dimension);
    wire_slice_free(&slice);
    greet(load, player);
}

/* The values of its part. */
static bool make_values(struct load *load, struct player *player,
                        int64_t *values)
{
    if (load->noise)
        return pricer_random_secret(&load->random, NULL) == PRICER_OK &&
               pricer_round_share(&player->part, &player->share, load->data,
                                  &load->random, values, NULL) == PRICER_OK;
    if (values != load->blank) /* where nothing else has been since */
        memset(values, 0, 8 * (size_t)player->part.dimension);
    load->blank = values;
    return true;
}

static void answer(struct load *load, struct player *player, const void *data,
                   size_t size)
{
    struct wire_open open;
    if (!player->sliced || !wire_read_open(data, size, &open))
        return;
    size_t room = wire_parts_size(player->in_count);
    memset(load->parts, 0, room);
    for (int32_t k = 0; k < player->out_count; k++) /* and nothing comes */
        wire_part_set(load->sent, k, WIRE_PART_VECTOR);
    wire_part_set(load->sent, player->out_count, WIRE_PART_DOWN);
    wire_part_set(load->parts, 0, (enum wire_part)player->own);
    const struct wire_sum sum = {.round = open.round,
                                 .digest = player->digest,
                                 .parts = load->parts,
                                 .parts_size = room,
                                 .sent = load->sent,
                                 .sent_size =
                                     wire_sent_size(player->out_count)};
    int64_t dimension = player->part.dimension;
    int64_t *values = wire_begin_sum(&load->bytes, &sum, dimension);
    if (values != NULL && make_values(load, player, values)) {
        wire_end_words(values, dimension);
        hub_send(player->peer, load->bytes.data + load->bytes.lead,
                 load->bytes.size);
    }
    load->rounds = player->last = open.round;
}

static void see_opened(void *context, struct hub_peer *peer)
{
    struct load *load = context;
    struct player *player = hub_owner(peer);
    player->open = true;
    load->open++;
    if (atomic_fetch_add(&all_open, 1) + 1 == all) {
        printf("connected %.2f\n",
               1e-3 * (double)(daemon_clock() - load->started));
        fflush(stdout);
    }
    greet(load, player);
}

static void see_frame(void *context, struct hub_peer *peer, const void *data,
                      size_t size)
{
    switch (wire_type(data, size)) {
    case WIRE_SLICE:
        take_slice(context, hub_owner(peer), data, size);
        break;
    case WIRE_MARK:
        take_mark(context, hub_owner(peer), data, size);
        break;
    case WIRE_OPEN:
        answer(context, hub_owner(peer), data, size);
        break;
    default:
        break;
    }
}

static void see_ended(void *context, struct hub_peer *peer, enum hub_end why)
{
    struct load *load = context;
    struct player *player = hub_owner(peer);
    (void)why; /* attempts that fail end, too */
    load->open -= player->open;
    atomic_fetch_sub(&all_open, player->open);
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

static void begin_some(struct load *load)
{
    while (load->begun < load->count &&
           load->begun - load->open < load->window) {
        struct player *player = &load->players[load->begun++];
        if (hub_connect(load->hub, load->address, load->key, WIRE_SLICE_SIZE,
                        player, &player->peer, NULL) == PRICER_OK)
            hub_pose(player->peer, &player->pair);
    }
}

/* Each says HELLO once a second, evenly spread. */
static void *play(void *context)
{
    struct load *load = context;
    int64_t greeted = daemon_clock(), next = 0;
    while (!daemon_stopping()) {
        begin_some(load);
        hub_wait(load->hub, 20, -1);
        int64_t now = daemon_clock();
        int64_t due = (now - greeted) * load->count / 1000;
        for (int64_t k = 0; k < due && k < load->count; k++)
            greet(load, &load->players[next++ % load->count]);
        if (due > 0)
            greeted = now;
    }
    return NULL;
}

static enum pricer_status start(struct load *load, const char *address,
                                const char *text, struct pricer_fault *fault)
{
    const struct hub_events events = {load, see_opened, see_frame, see_ended};
    load->address = address;
    if (!keys_bytes(text, load->key))
        return daemon_fault(fault, PRICER_VALUE, "not a key");
    load->players = calloc((size_t)load->count, sizeof *load->players);
    load->parts = calloc(wire_parts_size(all), 1);
    load->sent = calloc(wire_sent_size(all) + 1, 1);
    if (load->players == NULL || load->parts == NULL || load->sent == NULL)
        return PRICER_MEMORY;
    for (int32_t k = 0; k < load->count; k++)
        if (!derive(load->from + k, &load->players[k].pair))
            return PRICER_MEMORY;
    load->started = daemon_clock();
    return hub_open(&load->players[0].pair, &events, &load->hub, fault);
}

static void finish(struct load *load)
{
    hub_close(load->hub);
    for (int32_t k = 0; k < load->count && load->players != NULL; k++)
        keys_wipe(&load->players[k].pair);
    free(load->players);
    free(load->data);
    free(load->parts);
    free(load->sent);
    wire_free(&load->bytes);
}

static enum pricer_status play_all(int32_t threads, const char *address,
                                   const char *key, bool noise)
{
    struct load *loads = calloc((size_t)threads, sizeof *loads);
    struct pricer_fault fault = {"no memory"};
    enum pricer_status status = loads != NULL ? PRICER_OK : PRICER_MEMORY;
    for (int32_t k = 0; k < threads && status == PRICER_OK; k++) {
        loads[k].from = (int32_t)((int64_t)all * k / threads);
        loads[k].count =
            (int32_t)((int64_t)all * (k + 1) / threads) - loads[k].from;
        loads[k].window = WINDOW / threads;
        loads[k].noise = noise;
        status = start(&loads[k], address, key, &fault);
    }
    if (status != PRICER_OK)
        daemon_say("%s", fault.text);
    int32_t begun = 0;
    while (status == PRICER_OK && begun < threads)
        if (pthread_create(&loads[begun].thread, NULL, play, &loads[begun]) ==
            0)
            begun++;
        else
            status = PRICER_MEMORY;
    for (int32_t k = 0; k < begun; k++)
        pthread_join(loads[k].thread, NULL);
    for (int32_t k = 0; k < threads && loads != NULL; k++)
        finish(&loads[k]);
    free(loads);
    return status;
}

int main(int argc, char **argv)
{
    all = argc > 2 ? atoi(argv[2]) : 0;
    if (argc == 3 && strcmp(argv[1], "keys") == 0)
        return print_keys(all);
    int threads = argc > 5 ? atoi(argv[5]) : 0;
    bool noise = argc == 7 && strcmp(argv[6], "noise") == 0;
    if (argc != 6 + noise || strcmp(argv[1], "play") != 0 || all < 1 ||
        threads < 1 || threads > all || threads > WINDOW)
        return 2;
    daemon_raise_files();
    daemon_catch_signals();
    return play_all(threads, argv[3], argv[4], noise) == PRICER_OK ? 0 : 1;
}
