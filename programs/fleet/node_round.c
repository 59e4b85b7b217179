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
                             node->open.round - 1, node->number, to);
    enum pricer_status status = pricer_round_share(
        &node->part, &share, node->data, node->replay ? &replay : &node->random,
        values, &fault);
    if (status != PRICER_OK)
        node_refuse(node, node->open.round, WIRE_CODE_SLICE, to, fault.text);
    return status == PRICER_OK;
}

static void make_share(struct node *node, int32_t k)
{
    const struct wire_out *out = &node->slice.out[k];
    struct node_peer *peer = &node->peers[k];
    peer->ready =
        peer->socket != NULL &&
        make_part(node, out->to, out->weight, out->noise, node->scratch) &&
        wire_write_share(&peer->message, node->open.round, node->scratch,
                         node->slice.dimension);
}

static struct ledger_charge new_charge(const struct node *node, int32_t to,
                                       const char *key, double mu)
{
    const struct trust_row *row = trust_find(&node->trust, to);
    return (struct ledger_charge){key,   mu, row->total_eps, row->total_delta,
                                  false, 1};
}

/*
 * Charge all that is ready, in one transaction; what the budget does not allow
 * is not ready any more. If the ledger fails, nothing is.
 */
static void charge(struct node *node)
{
    struct pricer_fault fault = {""};
    int32_t count = 0, next = 0;
    for (int32_t k = 0; k < node->slice.out_count; k++)
        if (node->peers[k].ready)
            node->charges[count++] =
                new_charge(node, node->slice.out[k].to, node->peers[k].key,
                           node->peers[k].mu);
    if (node->own_ready)
        node->charges[count++] =
            new_charge(node, node->number, node->server_key, node->own_mu);
    enum pricer_status status = ledger_charge(node->ledger, node->open.round,
                                              node->charges, count, &fault);
    node->left = 1;
    for (int32_t k = 0; k < count; k++)
        if (node->charges[k].left < node->left)
            node->left = node->charges[k].left;
    if (status != PRICER_OK)
        node_refuse(node, node->open.round,
                    status == PRICER_VALUE ? WIRE_CODE_ROUND : WIRE_CODE_LEDGER,
                    node->number, fault.text);
    for (int32_t k = 0; k < node->slice.out_count; k++) {
        struct node_peer *peer = &node->peers[k];
        if (!peer->ready)
            continue;
        peer->ready = node->charges[next++].allowed;
        if (!peer->ready && status == PRICER_OK)
            node_refuse(node, node->open.round, WIRE_CODE_SPENT,
                        node->slice.out[k].to,
                        "the budget for this neighbour is spent");
    }
    if (node->own_ready) {
        node->own_ready = node->charges[next].allowed;
        if (!node->own_ready && status == PRICER_OK)
            node_refuse(node, node->open.round, WIRE_CODE_SPENT, node->number,
                        "the budget for the server is spent");
    }
}

/* A link without weight or noise carries a probe, which costs nothing. */
static bool is_probe(const struct wire_out *out)
{
    return out->weight == 0 && out->noise == 0;
}

/* The vector is there: make and charge every part. */
static void make_parts(struct node *node)
{
    for (int32_t k = 0; k < node->slice.out_count; k++)
        if (!is_probe(&node->slice.out[k]))
            make_share(node, k);
    node->own_ready =
        node->own_open && make_part(node, node->number, node->slice.own.weight,
                                    node->slice.own.noise, node->own);
    charge(node);
}

/* Shares leave; what cannot leave at once is lost, as on a link that is down.
 */
static void send_shares(struct node *node)
{
    for (int32_t k = 0; k < node->slice.out_count; k++) {
        struct node_peer *peer = &node->peers[k];
        bool probe = is_probe(&node->slice.out[k]);
        if (probe)
            wire_write_share(&peer->message, node->open.round, NULL, 0);
        if (peer->socket == NULL || (!probe && !peer->ready))
            continue;
        node->lost +=
            !net_send(peer->socket, peer->message.data, peer->message.size);
        peer->ready = false;
    }
    node->state = NODE_SHARING;
}

/* ------------------------------------------------------------------ take -- */

/* Add a share that arrived in time; it is known to be of the right length. */
static void add_share(struct node *node, int32_t k, const int64_t *values,
                      size_t size)
{
    struct node_source *source = &node->sources[k];
    const struct wire_in *in = &node->slice.in[k];
    int64_t dimension = node->slice.dimension;
    if (source->heard) {
        drop(node, PRICER_DROP_REPEATED);
        return;
    }
    for (int64_t c = 0; c < dimension && size > 0; c++)
        if (values[c] > in->limit || values[c] < -in->limit) {
            drop(node, PRICER_DROP_RANGE);
            return;
        }
    if (size > 0 &&
        emulate_up(&node->emulate, node->open.round, in->from, node->number) &&
        pricer_round_add(&node->part.grid, 1, values, dimension, node->sum,
                         NULL) != PRICER_OK) {
        drop(node, PRICER_DROP_RANGE);
        return;
    }
    source->heard = true;
    node->heard++;
    if (emulate_up(&node->emulate, node->open.round, in->from, node->number))
        node->arrived[(k + 1) / 8] |= (uint8_t)(1 << ((k + 1) % 8));
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
    size_t expected = node->slice.in[sender].limit == 0
                          ? 0
                          : 8 * (size_t)node->slice.dimension;
    if (share.size != expected) {
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
        add_share(node, sender, node->scratch, share.size);
    }
}

/* ----------------------------------------------------------------- round -- */

static void begin_round(struct node *node, const struct wire_open *open,
                        int64_t start)
{
    struct pricer_fault fault = {""};
    bool ready = false;
    node->open = *open;
    node->start = start;
    node->taken = open->round;
    node->heard = 0;
    node->own_ready = false;
    memset(node->sum, 0, 8 * (size_t)node->slice.dimension);
    memset(node->arrived, 0, wire_arrived_size(node->slice.in_count));
    for (int32_t k = 0; k < node->slice.out_count; k++)
        node->peers[k].ready = false;
    for (int32_t k = 0; k < node->slice.in_count; k++)
        node->sources[k].heard = false;
    if (vector_start(&node->vector, open->round, node->slice.dimension, &ready,
                     &fault) != PRICER_OK) {
        node_refuse(node, open->round, WIRE_CODE_VECTOR, node->number,
                    fault.text);
        node->state = NODE_HOLD;
    } else if (ready) {
        node_take_vector(node);
    } else {
        node->state = NODE_VECTOR;
    }
    for (int32_t k = 0; k < node->slice.in_count; k++) {
        struct node_source *source = &node->sources[k];
        size_t size = node->slice.in[k].limit == 0 ? 0 : 1;
        if (source->later_round == open->round)
            add_share(node, k, source->later, size);
        if (source->later_round <= open->round)
            source->later_round = 0;
    }
}

void node_take_vector(struct node *node)
{
    struct pricer_fault fault = {""};
    node->state = NODE_HOLD;
    if (vector_take(&node->vector, node->slice.dimension, node->data, &fault) !=
        PRICER_OK)
        node_refuse(node, node->open.round, WIRE_CODE_VECTOR, node->number,
                    fault.text);
    else
        make_parts(node);
}

void node_take_open(struct node *node, const struct wire_open *open)
{
    int64_t now = daemon_clock();
    if (!node->sliced || open->plan != node->slice.plan || daemon_stopping())
        return;
    if (open->round > node->base_round) {
        node->base_round = open->round;
        node->base_time = now;
    }
    if (open->round <= ledger_last(node->ledger) && open->round > node->taken)
        node_refuse(node, open->round, WIRE_CODE_ROUND, node->number,
                    "the round is already spent");
    if (open->round > node->taken && open->round > ledger_last(node->ledger))
        begin_round(node, open, now);
    else if (open->round == node->taken)
        node->open = *open; /* it was opened here before the message came */
}

/* The sharing is over: the sum goes to the server. */
static void finish(struct node *node)
{
    struct pricer_fault fault = {""};
    int64_t dimension = node->slice.dimension;
    if (node->own_ready &&
        pricer_round_add(&node->part.grid, 1, node->own, dimension, node->sum,
                         &fault) == PRICER_OK)
        node->arrived[0] |= 1;
    if (wire_write_sum(&node->bytes, node->open.round, node->arrived,
                       wire_arrived_size(node->slice.in_count), node->sum,
                       dimension))
        node->lost +=
            !net_send(node->server, node->bytes.data, node->bytes.size);
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
    if (open.round > ledger_last(node->ledger))
        begin_round(node, &open, begin);
    else
        node->taken = open.round;
}

void node_tick(struct node *node, int64_t now)
{
    bool early = node->open.early;
    int64_t send = node->start + node->open.send;
    int64_t share = node->start + node->open.share;
    if (node->state == NODE_VECTOR && now >= (early ? share : send)) {
        vector_stop(&node->vector);
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
    else if (node->state == NODE_VECTOR || node->state == NODE_HOLD)
        next = node->start + (node->open.early && node->state == NODE_VECTOR
                                  ? node->open.share
                                  : node->open.send);
    else if (node->state == NODE_SHARING)
        next = node->start + node->open.share;
    return no_sooner(next, 0);
}
