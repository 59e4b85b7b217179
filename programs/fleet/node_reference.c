/*
 * From an estimate that the server hands out, and the node's vector, to the
 * change that the node shares in a round relative to it.
 *
 * The server chooses the reference, and may lie: what leaves the node is cut to
 * the slice's radius and noised for twice that, whatever the reference is
 * (lib/round/reference.c). What is refused here is what no honest server sends.
 */
#include "node.h"
#include "pricer_reference.h"

#include <math.h>
#include <sodium.h>
#include <string.h>

double node_reach(const struct node *node)
{
    return node->slice.reach > 0 ? node->slice.reach : node->slice.radius;
}

/* Finite, and no longer than a mean of the data can be, but for rounding. */
static bool is_sound(const struct node *node,
                     const struct wire_reference *reference)
{
    double square = 0;
    if (reference->size != 8 * (size_t)node->slice.dimension)
        return false;
    for (int64_t k = 0; k < node->slice.dimension; k++) {
        double part = wire_number(reference->estimate, k) / node->slice.reach;
        if (!isfinite(part))
            return false;
        square += part * part;
    }
    return square <= 1 + 1e-9;
}

void node_take_reference(struct node *node, const void *data, size_t size)
{
    struct wire_reference reference;
    if (!node->sliced || !(node->slice.reach > 0))
        return;
    if (!wire_read_reference(data, size, &reference) ||
        !is_sound(node, &reference)) {
        node->dropped[PRICER_DROP_MALFORMED]++;
        return;
    }
    for (int64_t k = 0; k < node->slice.dimension; k++)
        node->reference[k] = wire_number(reference.estimate, k);
    crypto_generichash(node->reference_digest, WIRE_DIGEST, reference.estimate,
                       reference.size, NULL, 0);
    node->reference_round = reference.round;
}

bool node_has_reference(struct node *node)
{
    const struct wire_open *open = &node->open;
    if (!(node->slice.reach > 0))
        return true;
    if (!open->relative)
        return false;
    if (open->reference == 0) {
        memset(node->reference, 0, 8 * (size_t)node->slice.dimension);
        node->reference_round = 0;
        return true;
    }
    return open->reference == node->reference_round &&
           memcmp(open->reference_digest, node->reference_digest,
                  WIRE_DIGEST) == 0;
}

enum pricer_status node_make_change(struct node *node,
                                    struct pricer_fault *fault)
{
    if (!(node->slice.reach > 0))
        return PRICER_OK;
    return pricer_round_change(&node->part, node->data, node->reference,
                               node->data, fault);
}
