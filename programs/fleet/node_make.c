/*
 * From a node's vector to the parts of a round, charged and ready to be sent.
 * The arithmetic is the library's (round.c); here are order and refusal.
 */
#include "node.h"

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
    int64_t *values =
        wire_begin_share(&peer->message,
                         &(struct wire_share){.round = node->open.round,
                                              .seal = node->slice.seal,
                                              .part = WIRE_PART_DATA},
                         node->slice.dimension);
    if (values == NULL)
        node_refuse(node, node->open.round, WIRE_CODE_VECTOR, out->to,
                    "no memory for the share");
    if (values == NULL ||
        !make_part(node, out->to, out->weight, out->noise, values))
        return;
    wire_end_words(values, node->slice.dimension);
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

/* What is made, one charge each, behind that of all of it together. Returns how
 * many there are. */
static int32_t list_charges(struct node *node)
{
    int32_t parts = 0, count;
    for (int32_t k = 0; k < node->slice.out_count; k++)
        if (node->peers[k].part == WIRE_PART_DATA)
            node->ratios[parts++] = node->peers[k].mu;
    if (node->own_part == WIRE_PART_DATA)
        node->ratios[parts++] = node->own_mu;
    double mu = trust_ratio_together(node->ratios, parts);
    count = mu > 0;
    if (mu > 0)
        node->charges[0] = node_charge_all(node, mu);
    for (int32_t k = 0; k < node->slice.out_count; k++)
        if (node->peers[k].part == WIRE_PART_DATA)
            node->charges[count++] =
                node_charge(node, node->slice.out[k].to, node->peers[k].key,
                            node->peers[k].mu);
    if (node->own_part == WIRE_PART_DATA)
        node->charges[count++] =
            node_charge(node, node->number, node->server_key, node->own_mu);
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
    }
    bool any = false;
    for (int32_t k = next; k < count; k++)
        any = any || node->charges[k].allowed;
    if (any && node->all_left != LEDGER_NO_END && node->all_left > 0)
        node->all_left--;
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

/* When noise must be there: when shares are sent, or where that is no set time,
 * while someone still listens. */
static int64_t find_deadline(const struct node *node)
{
    const struct wire_open *open = &node->open;
    return node->start + (open->early ? open->share : open->send);
}

/*
 * The vector is there: make and charge every part. Their noise comes from a key
 * of this round's own, fresh from the kernel: a machine that was cloned, or put
 * back to an earlier state, never makes the same noise twice. Two vectors with
 * one noise would show their difference to everyone.
 *
 * What is not made by then is not sent, and costs nothing: the moment of sending
 * would tell how long it took to draw.
 */
void node_make_parts(struct node *node)
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
    if (daemon_clock() < find_deadline(node)) {
        charge(node);
        return;
    }
    node_withhold(node, WIRE_PART_LATE);
    node_refuse(node, node->open.round, WIRE_CODE_LATE, node->number,
                "the noise was not ready in time");
}

/*
 * Where the own part is withheld, its noise goes into the sum all the same: whoever
 * shares with this node has an account of what the server learns that counts on it.
 * It says nothing about the data, so it costs nothing. False: it could not be made,
 * and the sum must not leave without it.
 */
bool node_make_cover(struct node *node)
{
    struct pricer_fault fault = {""};
    double noise = node->slice.own.noise;
    node->covered = false;
    if (node->own_part < WIRE_PART_SPENT || noise == 0)
        return true;
    node->covered = pricer_random_secret(&node->random, &fault) == PRICER_OK &&
                    make_part(node, node->number, 0, noise, node->own);
    return node->covered;
}

/* There is no vector, and this is why: what needs one is withheld. */
void node_withhold(struct node *node, enum wire_part why)
{
    for (int32_t k = 0; k < node->slice.out_count; k++)
        node->peers[k].part = node->peers[k].refused          ? WIRE_PART_TRUST
                              : is_probe(&node->slice.out[k]) ? WIRE_PART_PROBE
                                                              : why;
    node->own_part = node->own_refused ? WIRE_PART_TRUST
                     : node->own_open  ? why
                                       : WIRE_PART_PROBE;
}
