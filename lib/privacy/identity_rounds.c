/*
 * From one round to many, for identities: composition by the privacy loss.
 *
 * The two laws of a round differ in variance, so rounds do not add up to one
 * Gaussian. What is composed instead are two pairs of discrete laws, one easier
 * and one harder to tell apart than the true pair. A pair is given by its curve
 * c(x) = delta(ln x), which is convex; one that dominates another at every eps
 * dominates it in every composition. A polygon over or under the curve
 * (identity_polygons.c) is the curve of a pair whose loss takes the values
 * ln x_k of its corners only, with the mass x_k (slope after x_k - slope before
 * x_k) under the first law. The points x_k < 1 come from the curve of the
 * opposite direction, as c(x) = 1 - x + x back(1/x). Losses of independent
 * rounds add up (losses.h).
 */
#include "account.h"

#include <math.h>
#include <stdlib.h>

/* By so much a mass of 1 may be exceeded above: it only costs more. */
#define ROUNDS_MORE 1e-9

/* The law of the loss of one round in one direction. What the corners leave of
 * the mass of 1 has no loss. False if they leave less than nothing. */
static bool put_losses(const struct pri_curves *curves,
                       const struct pri_polygon polygon[2], enum pri_side side,
                       int direction, struct pri_losses *losses)
{
    const struct pri_polygon *ahead = &polygon[direction];
    const struct pri_polygon *back = &polygon[!direction];
    double infinite = curves->infinite[side], sum = 0;
    if (side == PRI_ABOVE)
        infinite += ahead->height[ahead->count - 1];
    for (int32_t k = 1; k < back->count; k++) {
        double mass = pri_corner_mass(back, k) * exp(-back->loss[k]);
        pri_losses_put(losses, -back->loss[k], mass);
        sum += mass;
    }
    for (int32_t k = 1; k < ahead->count; k++) {
        double mass = pri_corner_mass(ahead, k);
        pri_losses_put(losses, ahead->loss[k], mass);
        sum += mass;
    }
    double left = 1 - sum - infinite;
    pri_losses_put(losses, 0, fmax(left, 0));
    pri_losses_put(losses, INFINITY, infinite);
    return left >= (side == PRI_ABOVE ? -ROUNDS_MORE : 0);
}

/* One end of the bracket: the worse direction of all rounds. */
static enum pricer_status one_end(const struct pri_curves *curves, double delta,
                                  int64_t rounds, enum pri_side side,
                                  struct pri_identity *identity, double *eps)
{
    struct pri_polygon *polygon = pri_alloc(2, sizeof *polygon);
    enum pricer_status status = polygon == NULL ? PRICER_MEMORY : PRICER_OK;
    double worst = 0;
    if (status == PRICER_OK)
        pri_polygons(curves, side, polygon);
    for (int direction = 0; direction < 2 && status == PRICER_OK; direction++) {
        status = pri_losses_begin(side, curves->reach, curves->step / 4,
                                  &identity->losses);
        if (status != PRICER_OK)
            break;
        if (!put_losses(curves, polygon, side, direction, identity->losses)) {
            worst = side == PRI_ABOVE ? INFINITY : worst;
            continue;
        }
        pri_losses_repeat(identity->losses, rounds, 1e-5 * delta);
        worst = fmax(worst, pri_losses_eps(identity->losses, delta));
    }
    free(polygon);
    *eps = worst;
    return status;
}

enum pricer_status pri_identity_compose(const struct pri_curves *curves,
                                        double delta, int64_t rounds,
                                        struct pri_identity *identity,
                                        struct pri_bracket *bracket)
{
    double eps = INFINITY, lower = 0;
    enum pricer_status status =
        one_end(curves, delta, rounds, PRI_ABOVE, identity, &eps);
    if (status == PRICER_OK)
        status = one_end(curves, pri_delta_for(delta, PRI_BELOW), rounds,
                         PRI_BELOW, identity, &lower);
    if (status != PRICER_OK)
        return status;
    bracket->eps = fmin(bracket->eps, eps);
    bracket->eps_lower = fmax(bracket->eps_lower, lower);
    return status;
}
