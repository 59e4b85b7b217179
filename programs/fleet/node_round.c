/*
 * One node's part of a round in time: shares that node_make.c has made and
 * charged are sent, and those that arrive become the sum for the server.
 */
#include "node.h"

#include <stdlib.h>
#include <string.h>

static int64_t no_sooner(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void drop(struct node *node, enum pricer_drop why)
{
    node->dropped[why]++;
}

/* ------------------------------------------------------------------ send -- */

/* Shares leave, also those that only say why there is none; what cannot leave
 * at once is lost, as on a link that is down. After the time for shares nobody
 * adds them, and no data leaves. */
static void send_shares(struct node *node)
{
    bool late = daemon_clock() >= node->start + node->open.share;
    struct wire_share empty = {.round = node->open.round,
                               .seal = node->slice.seal};
    for (int32_t k = 0; k < node->slice.out_count; k++) {
        struct node_peer *peer = &node->peers[k];
        struct wire_bytes *message = &node->bytes;
        bool data = peer->part == WIRE_PART_DATA;
        empty.part = late && data ? WIRE_PART_LATE : peer->part;
        wire_part_set(node->sent, k, empty.part);
        if (peer->link == NULL)
            continue;
        if (data && !late)
            message = &peer->message;
        else if (!wire_write_share(message, &empty, NULL, 0))
            continue;
        node->lost +=
            !hub_send(peer->link, message->data + message->lead, message->size);
    }
    node->bare = !node_make_cover(node);
    node->state = NODE_SHARING;
}

/* ------------------------------------------------------------------ take -- */

/* Note a share that arrived in time, and add what it carries; it is known to be
 * of the right length. */
static void add_share(struct node *node, int32_t k, enum wire_part part,
                      const uint8_t *values)
{
    struct node_source *source = &node->sources[k];
    const struct wire_in *in = &node->slice.in[k];
    bool data = part == WIRE_PART_DATA;
    if (source->heard) {
        drop(node, PRICER_DROP_REPEATED);
        return;
    }
    const struct emulate_time time = {node->open.round, 1, 0};
    bool up = emulate_up(&node->emulate, &time, in->from, node->number);
    int64_t most = node->part.grid.limit;
    most = in->limit < most ? in->limit : most;
    if (data && !wire_add_within(values, node->slice.dimension, most,
                                 in->length, up ? node->sum : NULL)) {
        drop(node, PRICER_DROP_RANGE);
        return;
    }
    source->heard = true;
    node->heard++;
    if (up)
        wire_part_set(node->parts, k + 1, part);
}

/* Keep a share whose round has not begun here; the newest counts. */
static void keep_share(struct node *node, int32_t k,
                       const struct wire_share *share)
{
    struct node_source *source = &node->sources[k];
    if (share->round <= source->later_round) {
        drop(node, PRICER_DROP_REPEATED);
        return;
    }
    if (share->size > 0 && source->later == NULL)
        source->later = malloc(share->size);
    if (share->size > 0 && source->later == NULL) {
        daemon_say("no memory for a share that came before its round");
        return;
    }
    if (share->size > 0)
        memcpy(source->later, share->values, share->size);
    source->later_round = share->round;
    source->later_part = share->part;
}

/* Data where the plan sends data, of its length; a probe where it does not. */
static bool is_fitting(const struct node *node, int32_t k,
                       const struct wire_share *share)
{
    bool empty = node->slice.in[k].limit == 0;
    if (share->part == WIRE_PART_DATA)
        return !empty && share->size == 8 * (size_t)node->slice.dimension;
    return empty || share->part != WIRE_PART_PROBE;
}

void node_take_share(struct node *node, int32_t sender, const void *data,
                     size_t size)
{
    struct wire_share share;
    if (sender < 0 || !node->sliced || sender >= node->slice.in_count) {
        drop(node, PRICER_DROP_STRANGER);
        return;
    }
    if (!wire_read_share(data, size, &share)) {
        drop(node, PRICER_DROP_MALFORMED);
        return;
    }
    if (memcmp(share.seal, node->slice.seal, WIRE_DIGEST) != 0) {
        drop(node, PRICER_DROP_PLAN);
    } else if (!is_fitting(node, sender, &share)) {
        drop(node, PRICER_DROP_LENGTH);
    } else if (share.round > node->taken) {
        keep_share(node, sender, &share);
    } else if (share.round < node->taken) {
        drop(node, PRICER_DROP_ROUND);
    } else if (node->state == NODE_IDLE ||
               daemon_clock() >= node->start + node->open.share) {
        drop(node, PRICER_DROP_LATE);
    } else {
        add_share(node, sender, share.part, share.values);
    }
}

/* ----------------------------------------------------------------- round -- */

/* Nothing has been made or heard yet. */
static void clear_round(struct node *node, const struct wire_open *open,
                        int64_t start)
{
    node->open = *open;
    node->start = start;
    node->taken = open->round;
    node->heard = 0;
    memset(node->sum, 0, 8 * (size_t)node->slice.dimension);
    memset(node->parts, 0, wire_parts_size(node->slice.in_count));
    memset(node->sent, 0, wire_sent_size(node->slice.out_count));
    for (int32_t k = 0; k < node->slice.in_count; k++)
        node->sources[k].heard = false;
}

/* When the vector must be there: when shares are sent, or where nobody waits
 * for that, so soon that the word of its lack still arrives in time. */
static int64_t find_deadline(const struct node *node)
{
    const struct wire_open *open = &node->open;
    return node->start +
           (open->early ? (open->send + open->share) / 2 : open->send);
}

/* Begin to get the vector. In a round that the ledger has already, none is
 * made: the node only relays. */
static void start_vector(struct node *node)
{
    struct pricer_fault fault = {""};
    bool ready = false;
    if (node->open.round <= ledger_last(node->ledger)) {
        node_withhold(node, WIRE_PART_LEDGER);
        node_refuse(node, node->open.round, WIRE_CODE_ROUND, node->number,
                    "the round is already spent");
        node->state = NODE_HOLD;
        return;
    }
    if (node->behind) {
        node_withhold(node, WIRE_PART_LEDGER);
        node->state = NODE_HOLD;
        return;
    }
    node_withhold(node, WIRE_PART_VECTOR);
    const int64_t now = daemon_clock();
    const struct feed_round round = {
        .round = node->open.round,
        .dimension = node->slice.dimension,
        .radius = node->slice.radius,
        .wait = no_sooner(find_deadline(node) - now, 0),
        .clock = now,
        .left = node_left(node),
    };
    if (vector_start(&node->vector, &round, &ready, &fault) != PRICER_OK) {
        node_refuse(node, node->open.round, WIRE_CODE_VECTOR, node->number,
                    fault.text);
        node->state = NODE_HOLD;
    } else if (ready) {
        node_take_vector(node);
    } else {
        node->state = NODE_VECTOR;
    }
}

static void begin_round(struct node *node, const struct wire_open *open,
                        int64_t start)
{
    clear_round(node, open, start);
    start_vector(node);
    for (int32_t k = 0; k < node->slice.in_count; k++) {
        struct node_source *source = &node->sources[k];
        if (source->later_round == open->round)
            add_share(node, k, source->later_part, source->later);
        if (source->later_round <= open->round)
            source->later_round = 0;
    }
}

void node_take_vector(struct node *node)
{
    struct pricer_fault fault = {""};
    node->state = NODE_HOLD;
    enum pricer_status status =
        vector_take(&node->vector, node->slice.dimension, node->data, &fault);
    if (status != PRICER_OK) {
        node_refuse(node, node->open.round, WIRE_CODE_VECTOR, node->number,
                    fault.text);
        node_answer(node, 0, fault.text);
        return;
    }
    double length = node_measure(node);
    node_make_parts(node);
    node_answer(node, length, NULL);
}

bool node_has_slept(struct node *node, int64_t now, int64_t share)
{
    enum {
        BACKLOG = 250, /* ms to read away what has queued up */
        DROWSY = 2000, /* ms that a busy machine may leave a process waiting */
    };
    if (now > node->alarm + no_sooner(share, DROWSY)) {
        daemon_say("asleep for %.1f s: the rounds that have passed are not "
                   "taken part in",
                   (double)(now - node->alarm) / 1000);
        vector_stop(&node->vector);
        node->state = NODE_IDLE;
        node->base_round = 0;
        node->alarm = now;
        node->deaf = now + BACKLOG;
    }
    return now < node->deaf;
}

void node_take_open(struct node *node, const struct wire_open *open)
{
    int64_t now = daemon_clock();
    if (!node->sliced || open->plan != node->slice.plan || daemon_stopping())
        return;
    if (node_has_slept(node, now, open->share)) {
        drop(node, PRICER_DROP_LATE);
        return;
    }
    if (node_is_far(node, open->round)) {
        drop(node, PRICER_DROP_ROUND);
        node_refuse(node, open->round, WIRE_CODE_ROUND, node->number,
                    "the round is too far from the last one");
        return;
    }
    if (open->round > node->base_round) {
        node->base_round = open->round;
        node->base_time = now;
    }
    if (open->round > node->taken)
        begin_round(node, open, now);
    else if (open->round == node->taken)
        node->open = *open; /* it was opened here before the message came */
    else if (open->ahead == 0)
        node->base_round = 0; /* the server waits, and so do we */
}

/* The sharing is over: the sum goes to the server, never without the noise that
 * accounts count on. */
static void finish(struct node *node)
{
    int64_t dimension = node->slice.dimension;
    bool own = node->own_part == WIRE_PART_DATA || node->covered;
    node->state = NODE_IDLE;
    node->rounds++;
    if (node->bare ||
        (own && pricer_round_add(&node->part.grid, 1, node->own, dimension,
                                 node->sum, NULL) != PRICER_OK))
        return;
    wire_part_set(node->parts, 0, node->own_part);
    const struct wire_sum sum = {
        .round = node->open.round,
        .digest = node->digest,
        .parts = node->parts,
        .parts_size = wire_parts_size(node->slice.in_count),
        .sent = node->sent,
        .sent_size = wire_sent_size(node->slice.out_count),
    };
    if (wire_write_sum(&node->bytes, &sum, node->sum, dimension))
        node->lost +=
            !hub_send(node->server, node->bytes.data, node->bytes.size);
    else
        daemon_say("round %lld: no memory for the sum, which does not leave",
                   (long long)sum.round);
}

/* The time at which a round that nobody announced would begin, or INT64_MAX:
 * rounds are a period apart. */
static int64_t expected(const struct node *node)
{
    if (!node->sliced || node->base_round == 0 || node->open.period == 0 ||
        node->taken < node->base_round)
        return INT64_MAX;
    int64_t past = node->taken + 1 - node->base_round;
    if (past > node->open.ahead)
        return INT64_MAX;
    return node->base_time + past * node->open.period;
}

static void open_by_itself(struct node *node, int64_t begin)
{
    struct wire_open open = node->open;
    open.round = node->taken + 1;
    begin_round(node, &open, begin);
}

void node_tick(struct node *node, int64_t now)
{
    bool early = node->open.early;
    int64_t send = node->start + node->open.send;
    int64_t share = node->start + node->open.share;
    if (node->state == NODE_VECTOR && now >= find_deadline(node)) {
        vector_stop(&node->vector);
        node_withhold(node, WIRE_PART_LATE);
        node_refuse(node, node->open.round, WIRE_CODE_LATE, node->number,
                    "the vector was not ready in time");
        node->state = NODE_HOLD;
    }
    if (node->state == NODE_HOLD && (early || now >= send))
        send_shares(node);
    if (node->state == NODE_SHARING &&
        (now >= share || (early && node->heard == node->slice.in_count)))
        finish(node);
    int64_t begin = expected(node);
    if (begin != INT64_MAX && now >= begin + node->open.send / 2 &&
        node->state == NODE_IDLE && !daemon_stopping())
        open_by_itself(node, begin);
}

int64_t node_next(const struct node *node)
{
    int64_t begin = expected(node), next = INT64_MAX;
    if (node->state == NODE_IDLE && begin != INT64_MAX)
        next = begin + node->open.send / 2;
    else if (node->state == NODE_VECTOR)
        next = find_deadline(node);
    else if (node->state == NODE_HOLD)
        next = node->start + node->open.send;
    else if (node->state == NODE_SHARING)
        next = node->start + node->open.share;
    return no_sooner(next, 0);
}
