/*
 * From the latest RESULT and the node's vector to the change that the node
 * releases in a round relative to it.
 *
 * Claim: whatever the reference is and whoever chose it, the release is as private
 * as the plan says. Proof: the change is clipped to the release's radius, the step,
 * by pricer_forward_release(), so it is a vector within that radius as any other;
 * that it depends on earlier releases is covered by docs/release.md, "Several
 * rounds".
 *
 * Nothing is kept here: a reference that is not the latest RESULT is that of a
 * round that is over.
 */
#include "node.h"
#include "pricer_reference.h"

#include <math.h>
#include <sodium.h>
#include <string.h>

double mesh_own_reach(const struct mesh_node *node)
{
    return node->plan.reach > 0 ? node->plan.reach : node->own.terms.radius;
}

/* Finite, and no longer than a mean of the data can be, but for rounding. */
static bool is_sound(const struct mesh_node *node, const uint8_t *estimate)
{
    double square = 0;
    for (int64_t k = 0; k < node->plan.dimension; k++) {
        double part = wire_number(estimate, k) / node->plan.reach;
        if (!isfinite(part))
            return false;
        square += part * part;
    }
    return square <= 1 + 1e-9;
}

/* The bytes of the estimate that OPEN names; NULL: not here. */
static const uint8_t *find_estimate(const struct mesh_node *node)
{
    const struct mesh_open *open = &node->clock.open;
    const struct announced *said = &node->said.kind[MESH_RESULT];
    struct mesh_result result;
    uint8_t digest[WIRE_DIGEST];
    if (said->counter == 0 ||
        !mesh_read_result(said->body, said->size, &result) ||
        result.round != open->reference ||
        result.size != 8 * (size_t)node->plan.dimension)
        return NULL;
    crypto_generichash(digest, sizeof digest, result.estimate, result.size,
                       NULL, 0);
    return memcmp(digest, open->reference_digest, sizeof digest) == 0 &&
                   is_sound(node, result.estimate)
               ? result.estimate
               : NULL;
}

bool mesh_own_has_reference(const struct mesh_node *node)
{
    return !(node->plan.reach > 0) || node->clock.open.reference == 0 ||
           find_estimate(node) != NULL;
}

enum pricer_status mesh_own_change(struct mesh_node *node,
                                   struct pricer_fault *fault)
{
    struct mesh_own *own = &node->own;
    int64_t dimension = own->terms.dimension;
    size_t size = (size_t)dimension * sizeof *own->change;
    const struct pricer_slice slice = {.node = node->number,
                                       .dimension = dimension,
                                       .reach = node->plan.reach};
    if (!(node->plan.reach > 0)) {
        memcpy(own->change, own->data, size);
        return PRICER_OK;
    }
    memset(own->change, 0, size); /* the first reference */
    if (node->clock.open.reference > 0) {
        const uint8_t *estimate = find_estimate(node);
        if (estimate == NULL)
            return daemon_fault(fault, PRICER_VALUE,
                                "the estimate that the round is relative to is "
                                "not here any more");
        for (int64_t k = 0; k < dimension; k++)
            own->change[k] = wire_number(estimate, k);
    }
    return pricer_round_change(&slice, own->data, own->change, own->change,
                               fault);
}
