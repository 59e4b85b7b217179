/*
 * From a sum to what it shows in one round, without a line: where the
 * generating function falls slowly, as that of an identity in few dimensions.
 *
 * Claim. Given the variance of the others the divergence is that of the
 * Gaussian mechanism, or those of presence.c, and the account is its mean over
 * the law of that variance, by joint convexity. It falls as the variance grows,
 * so a group of variances counts as its low end from above and as its high end
 * from below.
 */
#include "account.h"

#include <float.h>
#include <math.h>

/* How wide groups of variances are, relative to their low end. */
#define FEW_WIDTH 5e-4

/* The worse of the two directions at one eps. */
static double worse_at(const struct pri_source *source, double dimension,
                       const struct pri_law *law, double bare, double eps,
                       enum pri_side side)
{
    double sum[2] = {0, 0}, both[2];
    for (int32_t k = 0; k < law->count; k++) {
        const struct pri_variances *group = &law->group[k];
        double others = side == PRI_ABOVE ? group->low * (1 - 1e-12)
                                          : group->high * (1 + 1e-12);
        struct pri_presence presence = {dimension, sqrt(source->signal),
                                        source->own, others};
        double mu = sqrt(source->signal / others);
        if (dimension > 0)
            pri_presence_delta(&presence, eps, side, &both[0], &both[1]);
        else
            both[0] = both[1] = side == PRI_ABOVE ? pri_gaussian_above(eps, mu)
                                                  : pri_gaussian_below(eps, mu);
        sum[0] += group->mass * both[0];
        sum[1] += group->mass * both[1];
    }
    double slack = 1e-12 * (side == PRI_ABOVE ? 1 : -1);
    return pri_seen(source) * fmax(sum[0], sum[1]) * (1 + slack) + bare;
}

/* One end: first within a factor of 2, then by bisection. Each end of the range
 * is checked, so whenever it ends, what is returned holds. */
static double solve(const struct pri_source *source, double dimension,
                    const struct pri_law *law, double bare, double delta,
                    enum pri_side side)
{
    double goal = pri_delta_for(delta, side), low = 0, high = INFINITY, at = 1;
    if (bare >= goal)
        return INFINITY;
    if (worse_at(source, dimension, law, bare, 0, side) <= goal)
        return 0;
    for (int k = 0; k < 600 && (isinf(high) || low == 0); k++) {
        bool above = worse_at(source, dimension, law, bare, at, side) > goal;
        *(above ? &low : &high) = at;
        at *= above ? 2 : .5;
    }
    for (int k = 0; k < 60 && isfinite(high) && high - low > 1e-7 * high; k++) {
        at = (low + high) / 2;
        bool above = worse_at(source, dimension, law, bare, at, side) > goal;
        *(above ? &low : &high) = at;
    }
    return side == PRI_ABOVE ? high : low;
}

enum pricer_status pri_sum_once(const struct pri_view *view, double delta,
                                struct pri_scratch *scratch,
                                struct pri_bracket *found)
{
    struct pri_law law = {0};
    bool exact;
    double bare[2];
    const struct pri_source *source = &view->source[0];
    for (int side = 0; side < 2; side++)
        bare[side] = pri_view_bare(view, DBL_TRUE_MIN, 1, side,
                                   &scratch->chances, &exact);
    for (int32_t k = 0; k < view->noises; k++) {
        scratch->chances.chance[k] = view->noise[k].chance;
        scratch->chances.absent[k] = pri_absent(&view->noise[k]);
    }
    enum pricer_status status =
        pri_law_build(view, 0, scratch->chances.chance, scratch->chances.absent,
                      DBL_TRUE_MIN, FEW_WIDTH, &scratch->spare, &law);
    if (status == PRICER_OK) {
        found->eps = solve(source, view->dimension, &law, bare[PRI_ABOVE],
                           delta, PRI_ABOVE);
        found->eps_lower = solve(source, view->dimension, &law, bare[PRI_BELOW],
                                 delta, PRI_BELOW);
    }
    pri_law_free(&law);
    return status;
}
