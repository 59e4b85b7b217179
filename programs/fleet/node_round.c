/*
 * One node's part of a round: from its vector to shares that are charged and
 * then sent, and from shares that arrive to the sum for the server. The
 * arithmetic is the library's (round.c); here are order, time and refusal.
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

/* ------------------------------------------------------------------ make -- */

/* The values of one part, with noise of this round. */
static bool make_part(struct node *node, int32_t to, double weight,
                      double noise, int64_t *values)
{
    struct pricer_share share = {to, weight, noise};
    struct pricer_fault fault = {""};
    struct pricer_random replay;
    if (node->replay)
        pricer_random_replay(&replay, node->emulate.seed, PRICER_PURPOSE_NOISE,
                             emulate_trial(&node->emulate, node->open.round),
                             node->number, to);
    enum pricer_status status = pricer_round_share(
        &node->part, &share, node->data, node->replay ? &replay : &node->random,
        values, &fault);
    if (status != PRICER_OK)
        node_refuse(node, node->open.round, WIRE_CODE_SLICE, to, fault.text);
    return status == PRICER_OK;
}

/* A link without weight or noise carries a probe, which costs nothing. */
static bool is_probe(const struct wire_out *out)
{
    return out->weight == 0 && out->noise == 0;
}

static void make_share(struct node *node, int32_t k)
{
    const struct wire_out *out = &node->slice.out[k];
    struct node_peer *peer = &node->peers[k];
    if (peer->refused || is_probe(out) || peer->link == NULL)
        return;
    if (make_part(node, out->to, out->weight, out->noise, node->scratch) &&
        wire_write_share(&peer->message, node->open.round, node->slice.seal,
                         WIRE_PART_DATA, node->scratch, node->slice.dimension))
        peer->part = WIRE_PART_DATA;
}

/* What a charge has come to: the part as it goes, and its rounds left. */
static void settle(struct node *node, enum pricer_status status, int32_t to,
                   bool allowed, enum wire_part *part, int64_t *left)
{
    if (status != PRICER_OK) {
        *part = WIRE_PART_LEDGER;
    } else if (!allowed) {
        *part = WIRE_PART_SPENT;
        *left = 0;
        node_refuse(node, node->open.round, WIRE_CODE_SPENT, to,
                    to == node->number
                        ? "the budget for the server is spent"
                        : "the budget for this neighbour is spent");
    } else if (*left != LEDGER_NO_END && *left > 0) {
        --*left;
    }
}

/* What is made, one charge each, behind that of all of it together where the
 * trust file asks for one. Returns how many there are. */
static int32_t list_charges(struct node *node)
{
    int32_t parts = 0, count;
    for (int32_t k = 0; k < node->slice.out_count; k++)
        if (node->peers[k].part == WIRE_PART_DATA)
            node->ratios[parts++] = node->peers[k].mu;
    if (node->own_part == WIRE_PART_DATA)
        node->ratios[parts++] = node->own_mu;
    double mu = trust_ratio_together(node->ratios, parts);
    count = mu > 0 && node_charge_all(node, mu, &node->charges[0]);
    for (int32_t k = 0; k < node->slice.out_count; k++)
        if (node->peers[k].part == WIRE_PART_DATA)
            node->charges[count++] =
                node_charge(node, node->slice.out[k].to, node->peers[k].key,
                            node->peers[k].mu, node->slice.out[k].p);
    if (node->own_part == WIRE_PART_DATA)
        node->charges[count++] =
            node_charge(node, node->number, node->server_key, node->own_mu, 1);
    return count;
}

/*
 * Charge all that is made, in one transaction; what the budget does not allow
 * is withheld. If the ledger fails, everything is. What a neighbour's budget
 * refuses stays in the charge of all: that is more than the server gets.
 */
static void charge(struct node *node)
{
    struct pricer_fault fault = {""};
    int32_t count = list_charges(node);
    int32_t next = count > 0 && node->charges[0].all;
    enum pricer_status status = ledger_charge(node->ledger, node->open.round,
                                              node->charges, count, &fault);
    if (status != PRICER_OK)
        node_refuse(node, node->open.round,
                    status == PRICER_VALUE ? WIRE_CODE_ROUND : WIRE_CODE_LEDGER,
                    node->number, fault.text);
    if (status == PRICER_OK && next > 0 && !node->charges[0].allowed) {
        node->all_left = 0;
        node_refuse(node, node->open.round, WIRE_CODE_SPENT, node->number,
                    "the budget for all that the server gets is spent");
    } else if (status == PRICER_OK && node->all_left != LEDGER_NO_END &&
               node->all_left > 0) {
        node->all_left--;
    }
    for (int32_t k = 0; k < node->slice.out_count; k++) {
        struct node_peer *peer = &node->peers[k];
        if (peer->part == WIRE_PART_DATA)
            settle(node, status, node->slice.out[k].to,
                   node->charges[next++].allowed, &peer->part, &peer->left);
    }
    if (node->own_part == WIRE_PART_DATA)
        settle(node, status, node->number, node->charges[next].allowed,
               &node->own_part, &node->own_left);
    /* Before the sum, so that the server knows before it opens another. */
    if (node_is_ending(node))
        node_greet(node);
}

/*
 * The vector is there: make and charge every part. Their noise comes from a key
 * of this round's own, fresh from the kernel: a machine that was cloned, or put
 * back to an earlier state, never makes the same noise twice. Two vectors with
 * one noise would show their difference to everyone.
 */
static void make_parts(struct node *node)
{
    struct pricer_fault fault = {""};
    if (pricer_random_secret(&node->random, &fault) != PRICER_OK) {
        node_refuse(node, node->open.round, WIRE_CODE_VECTOR, node->number,
                    fault.text);
        return;
    }
    for (int32_t k = 0; k < node->slice.out_count; k++)
        make_share(node, k);
    if (node->own_open && make_part(node, node->number, node->slice.own.weight,
                                    node->slice.own.noise, node->own))
        node->own_part = WIRE_PART_DATA;
    charge(node);
}

/* There is no vector, and this is why: what needs one is withheld. */
static void withhold(struct node *node, enum wire_part why)
{
    for (int32_t k = 0; k < node->slice.out_count; k++)
        node->peers[k].part = node->peers[k].refused          ? WIRE_PART_TRUST
                              : is_probe(&node->slice.out[k]) ? WIRE_PART_PROBE
                                                              : why;
    node->own_part = node->own_refused ? WIRE_PART_TRUST
                     : node->own_open  ? why
                                       : WIRE_PART_PROBE;
}

/* Shares leave, also those that only say why there is none; what cannot leave
 * at once is lost, as on a link that is down. */
static void send_shares(struct node *node)
{
    for (int32_t k = 0; k < node->slice.out_count; k++) {
        struct node_peer *peer = &node->peers[k];
        if (peer->link == NULL)
            continue;
        if (peer->part != WIRE_PART_DATA)
            wire_write_share(&peer->message, node->open.round, node->slice.seal,
                             peer->part, NULL, 0);
        node->lost +=
            !hub_send(peer->link, peer->message.data, peer->message.size);
    }
    node->state = NODE_SHARING;
}

/* ------------------------------------------------------------------ take -- */

/* Note a share that arrived in time, and add what it carries; it is known to be
 * of the right length. */
static void add_share(struct node *node, int32_t k, enum wire_part part,
                      const int64_t *values)
{
    struct node_source *source = &node->sources[k];
    const struct wire_in *in = &node->slice.in[k];
    int64_t dimension = node->slice.dimension;
    bool data = part == WIRE_PART_DATA;
    if (source->heard) {
        drop(node, PRICER_DROP_REPEATED);
        return;
    }
    if (data && !wire_is_within(values, dimension, in->limit, in->length)) {
        drop(node, PRICER_DROP_RANGE);
        return;
    }
    bool up =
        emulate_up(&node->emulate, node->open.round, in->from, node->number);
    if (data && up &&
        pricer_round_add(&node->part.grid, 1, values, dimension, node->sum,
                         NULL) != PRICER_OK) {
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
    if (share->size > 0 && source->later == NULL)
        return;
    for (int64_t c = 0; c < node->slice.dimension && share->size > 0; c++)
        source->later[c] = wire_integer(share->values, c);
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
        for (int64_t c = 0; c < node->slice.dimension && share.size > 0; c++)
            node->scratch[c] = wire_integer(share.values, c);
        add_share(node, sender, share.part, node->scratch);
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
        withhold(node, WIRE_PART_LEDGER);
        node_refuse(node, node->open.round, WIRE_CODE_ROUND, node->number,
                    "the round is already spent");
        node->state = NODE_HOLD;
        return;
    }
    withhold(node, WIRE_PART_VECTOR);
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
    if (vector_take(&node->vector, node->slice.dimension, node->data, &fault) !=
        PRICER_OK) {
        node_refuse(node, node->open.round, WIRE_CODE_VECTOR, node->number,
                    fault.text);
        node_answer(node, 0, fault.text);
        return;
    }
    double length = node_measure(node);
    make_parts(node);
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
    if (open->round > node->base_round) {
        node->base_round = open->round;
        node->base_time = now;
    }
    if (open->round > node->taken)
        begin_round(node, open, now);
    else if (open->round == node->taken)
        node->open = *open; /* it was opened here before the message came */
}

/* The sharing is over: the sum goes to the server. */
static void finish(struct node *node)
{
    struct pricer_fault fault = {""};
    int64_t dimension = node->slice.dimension;
    if (node->own_part == WIRE_PART_DATA &&
        pricer_round_add(&node->part.grid, 1, node->own, dimension, node->sum,
                         &fault) != PRICER_OK)
        node->own_part = WIRE_PART_VECTOR;
    wire_part_set(node->parts, 0, node->own_part);
    const struct wire_sum sum = {
        .round = node->open.round,
        .digest = node->digest,
        .parts = node->parts,
        .parts_size = wire_parts_size(node->slice.in_count),
    };
    if (wire_write_sum(&node->bytes, &sum, node->sum, dimension))
        node->lost +=
            !hub_send(node->server, node->bytes.data, node->bytes.size);
    node->state = NODE_IDLE;
    node->rounds++;
}

/* The time at which a round that nobody announced would begin, or INT64_MAX. */
static int64_t expected(const struct node *node)
{
    int64_t past = node->taken - node->base_round;
    if (!node->sliced || node->base_round == 0 || node->open.period == 0 ||
        node->taken < node->base_round || past >= node->open.ahead)
        return INT64_MAX;
    return node->base_time + (past + 1) * node->open.period;
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
        withhold(node, WIRE_PART_LATE);
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
