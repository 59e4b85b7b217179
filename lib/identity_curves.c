/*
 * From the law of the others' variance to the privacy curves of one round in
 * both directions: bounds from above and below at points that lie close where
 * a curve falls fast.
 */
#include "account.h"

#include <math.h>
#include <stdlib.h>

/* Points of a curve: equal steps to the end, and smaller ones near 0, where
 * most of the mass may be; more where a curve falls fast. */
enum { PASSES = 12 };
#define FIRST 1e-5

/* Where the curves end: next to nothing is left of them there. */
static enum pricer_status find_end(struct pri_identity *identity,
                                   const struct pri_law *law, double small,
                                   double *end)
{
    double absent, present;
    enum pricer_status status = PRICER_OK;
    bool beyond = false, before = false;
    for (int step = 0; step < 200 && !(beyond && before); step++) {
        status = pri_identity_deltas(identity, law, *end, PRI_ABOVE, .5,
                                     &absent, &present);
        if (status != PRICER_OK)
            return status;
        bool over = fmax(absent, present) <= small;
        beyond = beyond || over;
        before = before || !over;
        if (beyond && before)
            *end *= over ? 1 : 2;
        else
            *end *= over ? .5 : 2;
    }
    return status;
}

static void place_points(double end, struct pri_curves *curves)
{
    double at = 0;
    curves->last = 0;
    curves->loss[0] = 0;
    while (at < end && curves->last < PRI_POINTS) {
        at +=
            fmin(curves->growth * at + FIRST * end, curves->growth * end / 12);
        curves->loss[++curves->last] = at;
    }
}

/* Both curves at one point, from one side. */
static enum pricer_status sample(struct pri_identity *identity,
                                 enum pri_side side, int32_t at,
                                 struct pri_curves *curves)
{
    double *absent = &curves->bound[side][0][at];
    double *present = &curves->bound[side][1][at];
    /* From above, what is taken off here is added again as infinite. */
    double less = curves->infinite[!side];
    enum pricer_status status =
        pri_identity_deltas(identity, &identity->others, curves->loss[at], side,
                            curves->part, absent, present);
    *absent = fmax(*absent - less, 0);
    *present = fmax(*present - less, 0);
    return status;
}

/* Whether a curve falls too fast between two points, where it still counts. */
static bool is_steep(const struct pri_curves *curves, int32_t at, double small)
{
    bool apart =
        curves->loss[at + 1] - curves->loss[at] > 1e-5 * curves->loss[at + 1];
    bool steep = false;
    for (int way = 0; way < 2; way++) {
        const double *height = curves->bound[PRI_ABOVE][way];
        steep = steep || (height[at] > small &&
                          height[at + 1] < (1 - curves->steep) * height[at]);
    }
    return apart && steep;
}

static void move_point(struct pri_curves *curves, int32_t from, int32_t to)
{
    curves->loss[to] = curves->loss[from];
    for (int way = 0; way < 2; way++)
        curves->bound[PRI_ABOVE][way][to] = curves->bound[PRI_ABOVE][way][from];
}

/* One pass: a point in the middle of every step that is too steep. */
static enum pricer_status refine(struct pri_identity *identity, double small,
                                 struct pri_curves *curves, bool *more)
{
    int32_t added = 0, last = curves->last;
    for (int32_t k = 0; k < last; k++)
        added += is_steep(curves, k, small);
    *more = added > 0 && last + added <= PRI_POINTS;
    if (!*more)
        return PRICER_OK;
    enum pricer_status status = PRICER_OK;
    curves->last = last + added;
    for (int32_t k = last - 1, to = curves->last; k >= 0 && added > 0; k--) {
        bool steep = is_steep(curves, k, small);
        move_point(curves, k + 1, to--);
        if (!steep)
            continue;
        curves->loss[to] = (curves->loss[k] + curves->loss[to + 1]) / 2;
        status = sample(identity, PRI_ABOVE, to--, curves);
        added--;
        if (status != PRICER_OK)
            return status;
    }
    return status;
}

/* The curves from above, with as many points as they need. */
static enum pricer_status sample_above(struct pri_identity *identity,
                                       double end, double small,
                                       struct pri_curves *curves)
{
    enum pricer_status status = PRICER_OK;
    bool more = true;
    place_points(end, curves);
    for (int32_t k = 0; k <= curves->last && status == PRICER_OK; k++)
        status = sample(identity, PRI_ABOVE, k, curves);
    for (int pass = 0; pass < PASSES && more && status == PRICER_OK; pass++)
        status = refine(identity, small, curves, &more);
    return status;
}

enum pricer_status pri_identity_curves(struct pri_identity *identity,
                                       enum pri_side side, double delta,
                                       int64_t rounds, double scale,
                                       struct pri_curves *curves)
{
    const struct pri_law *law = &identity->others;
    double end = scale > 0 && isfinite(scale) ? scale : 1e-3;
    double silent = law->value[0] == 0 ? identity->p * law->mass[0] : 0;
    double small = 1e-6 * delta / (double)rounds;
    enum pricer_status status = pri_identity_begin(identity);
    if (side == PRI_BELOW) {
        for (int32_t k = 0; k <= curves->last && status == PRICER_OK; k++)
            status = sample(identity, PRI_BELOW, k, curves);
        return status;
    }
    curves->infinite[PRI_ABOVE] = silent * (1 + 1e-12);
    curves->infinite[PRI_BELOW] = silent * (1 - 1e-12);
    double floor = curves->infinite[PRI_ABOVE] * (1 + 1e-9);
    if (status == PRICER_OK)
        status = find_end(identity, law, small + floor, &end);
    return status == PRICER_OK ? sample_above(identity, end, small, curves)
                               : status;
}

enum pricer_status pri_curves_new(struct pri_curves **curves)
{
    *curves = pri_alloc(1, sizeof **curves);
    return *curves == NULL ? PRICER_MEMORY : PRICER_OK;
}
