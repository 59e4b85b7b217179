/*
 * From a sum to what it shows in one round, without a line: where the
 * generating function falls slowly, as that of an identity in few dimensions
 * (docs/mathematics.md, One sum). And the search for an eps that all curves without
 * a line have in common.
 */
#include "account.h"

#include <float.h>
#include <math.h>

/* How wide groups of variances are, relative to their low end. */
#define FEW_WIDTH 5e-4

struct pri_range pri_search_eps(double (*curve)(const void *of, double eps),
                                const void *of, double goal, double close)
{
    struct pri_range range = {0, INFINITY};
    double at = 1;
    if (!(curve(of, 0) > goal))
        return (struct pri_range){0, 0};
    for (int k = 0; k < 1100 && (isinf(range.high) || range.low == 0) &&
                    at > 0 && at < DBL_MAX / 4;
         k++) {
        bool above = curve(of, at) > goal;
        *(above ? &range.low : &range.high) = at;
        at *= above ? 2 : .5;
    }
    for (int k = 0; k < 100 && isfinite(range.high) &&
                    range.high - range.low > close * range.high;
         k++) {
        at = range.low + (range.high - range.low) / 2;
        *(curve(of, at) > goal ? &range.low : &range.high) = at;
    }
    return range;
}

/* One sum, to one side. */
struct few {
    const struct pri_source *source;
    const struct pri_law *law;
    double dimension, bare;
    enum pri_side side;
};

/* The worse of the two directions at one eps. */
static double worse_at(const void *of, double eps)
{
    const struct few *few = of;
    enum pri_side side = few->side;
    double sum[2] = {0, 0}, both[2];
    for (int32_t k = 0; k < few->law->count; k++) {
        const struct pri_variances *group = &few->law->group[k];
        double others = side == PRI_ABOVE ? group->low * (1 - 1e-12)
                                          : group->high * (1 + 1e-12);
        struct pri_presence presence = {few->dimension,
                                        sqrt(few->source->signal),
                                        few->source->own, others};
        double mu = sqrt(few->source->signal / others);
        if (few->dimension > 0)
            pri_presence_delta(&presence, eps, side, &both[0], &both[1]);
        else
            both[0] = both[1] = side == PRI_ABOVE ? pri_gaussian_above(eps, mu)
                                                  : pri_gaussian_below(eps, mu);
        sum[0] += group->mass * both[0];
        sum[1] += group->mass * both[1];
    }
    double slack = 1e-12 * (side == PRI_ABOVE ? 1 : -1);
    return pri_seen(few->source) * fmax(sum[0], sum[1]) * (1 + slack) +
           few->bare;
}

enum pricer_status pri_sum_once(const struct pri_view *view, double delta,
                                struct pri_scratch *scratch,
                                struct pri_bracket *found)
{
    struct pri_law law = {0};
    bool exact;
    double *end[] = {&found->eps_lower, &found->eps};
    for (int32_t k = 0; k < view->noises; k++) {
        scratch->chances.chance[k] = view->noise[k].chance;
        scratch->chances.absent[k] = pri_absent(&view->noise[k]);
    }
    enum pricer_status status =
        pri_law_build(view, 0, scratch->chances.chance, scratch->chances.absent,
                      DBL_TRUE_MIN, FEW_WIDTH, &scratch->spare, &law);
    for (int side = 0; side < 2 && status == PRICER_OK; side++) {
        double goal = pri_delta_for(delta, side);
        struct few few = {&view->source[0], &law, view->dimension,
                          pri_view_bare(view, DBL_TRUE_MIN, 1, side,
                                        &scratch->chances, &exact),
                          side};
        struct pri_range range = {INFINITY, INFINITY};
        if (few.bare < goal)
            range = pri_search_eps(worse_at, &few, goal, 1e-7);
        *end[side] = side == PRI_ABOVE ? range.high : range.low;
    }
    pri_law_free(&law);
    return status;
}
