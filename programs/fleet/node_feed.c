/*
 * From what a node knows to what the owner of its data is told: in the log and,
 * at the feed, the program that hands vectors in.
 */
#include "node.h"

#include <math.h>

double node_measure(struct node *node)
{
    double square = 0;
    for (int64_t k = 0; k < node->slice.dimension; k++)
        square += node->data[k] * node->data[k];
    double length = sqrt(square);
    if (!(length > node->slice.radius * (1 + 1e-12)))
        return length;
    node->clipped++;
    int64_t tens = node->clipped;
    while (tens % 10 == 0)
        tens /= 10;
    if (tens == 1)
        daemon_say("round %lld: the vector has length %g and is clipped to %g; "
                   "%lld rounds so far",
                   (long long)node->open.round, length, node->slice.radius,
                   (long long)node->clipped);
    return length;
}

/* What has become of the vector as a whole: it went out if any part of it did,
 * else the first part that needed it says why not. */
static enum wire_part sum_up(const struct node *node)
{
    enum wire_part found = node->own_part;
    for (int32_t k = 0; k < node->slice.out_count; k++) {
        enum wire_part part = node->peers[k].part;
        if (part == WIRE_PART_DATA || found == WIRE_PART_PROBE)
            found = part;
        if (found == WIRE_PART_DATA)
            break;
    }
    return found;
}

static const char *const texts[WIRE_PARTS] = {
    [WIRE_PART_DATA] = "it goes out",
    [WIRE_PART_PROBE] = "the plan sends nothing of this node",
    [WIRE_PART_SPENT] = "the budget is spent",
    [WIRE_PART_TRUST] = "the trust file allows none of what the plan sends",
    [WIRE_PART_LATE] = "the vector was not ready in time",
    [WIRE_PART_VECTOR] = "there is no vector",
    [WIRE_PART_LEDGER] = "the ledger failed, or has this round already",
};

void node_answer(struct node *node, double length, const char *text)
{
    if (node->vector.feed == NULL)
        return;
    struct feed_taken taken = {
        .round = node->open.round,
        .part = text != NULL ? WIRE_PART_VECTOR : sum_up(node),
        .length = length,
        .clipped = length > node->slice.radius * (1 + 1e-12),
        .text = text,
    };
    if (text == NULL)
        taken.text = texts[taken.part] != NULL ? texts[taken.part] : "";
    feed_answer(node->vector.feed, &taken);
}

void node_tell_plan(struct node *node)
{
    if (node->vector.feed == NULL || !node->sliced ||
        (node->fed_slice == node->sliced_at &&
         node->fed_rounds == node->rounds))
        return;
    const struct wire_slice *slice = &node->slice;
    const struct feed_plan plan = {
        slice->node,        slice->nodes,  slice->plan,    slice->dimension,
        node->slice.radius, slice->rounds, node_left(node)};
    node->fed_slice = node->sliced_at;
    node->fed_rounds = node->rounds;
    feed_set_plan(node->vector.feed, &plan);
}

void node_tell_result(struct node *node, const struct wire_result *result)
{
    if (node->vector.feed != NULL)
        feed_tell_result(node->vector.feed, result);
}
