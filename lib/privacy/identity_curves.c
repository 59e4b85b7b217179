/*
 * From the law of the others' variance to the privacy curves of one round in
 * both directions: bounds of their height and rise at points that lie close
 * where most of the mass is.
 */
#include "account.h"

#include <math.h>
#include <stdlib.h>

/* Whether the higher curve is at most `height` at a loss, roughly. */
static enum pricer_status is_under(struct pri_identity *identity, double loss,
                                   double height, bool *under)
{
    struct pri_reach direction[2] = {0};
    struct pri_aim aim = {.3, height, height};
    enum pricer_status status =
        pri_identity_average(identity, loss, &aim, direction);
    *under = fmax(direction[0].high, direction[1].high) <= height;
    return status;
}

/* Where the higher curve falls below `height`, within a factor of two; from a
 * guess. */
static enum pricer_status find_fall(struct pri_identity *identity,
                                    double height, double *loss)
{
    enum pricer_status status = PRICER_OK;
    bool beyond = false, before = false;
    for (int step = 0; step < 200 && !(beyond && before); step++) {
        bool under;
        status = is_under(identity, *loss, height, &under);
        if (status != PRICER_OK)
            return status;
        beyond = beyond || under;
        before = before || !under;
        if (beyond && before)
            *loss *= under ? 1 : 2;
        else
            *loss *= under ? .5 : 2;
    }
    return status;
}

enum pricer_status pri_identity_curves(struct pri_identity *identity,
                                       double delta, int64_t rounds,
                                       double scale, double most,
                                       struct pri_curves *curves)
{
    struct pri_aim aim = {curves->part, 1e-6 * delta / (double)rounds, NAN};
    double half = scale > 0 && isfinite(scale) ? scale : 1e-3;
    struct pri_reach direction[2] = {0};
    enum pricer_status status =
        pri_identity_average(identity, 0, &aim, direction);
    double height = fmax(direction[0].high, direction[1].high);
    if (status == PRICER_OK)
        status = find_fall(identity, height / 2, &half);
    double end = 8 * half;
    if (status == PRICER_OK)
        status = find_fall(identity, fmin(aim.small, height / 2), &end);
    end = fmin(end, most);
    curves->step = fmin(curves->fine * half, curves->finest);
    double at = 0, step = curves->step, steps = 0; /* at = steps * step */
    for (int32_t k = 0; k <= PRI_POINTS && status == PRICER_OK; k++) {
        curves->loss[k] = at;
        status = pri_identity_average(identity, at, &aim, direction);
        for (int side = 0; side < 2; side++)
            curves->direction[side][k] = direction[side];
        curves->last = k;
        if (at >= end)
            break;
        /* Points of the lattices on which losses are added up. */
        while (2 * step <= curves->growth * at && fmod(steps, 2) == 0) {
            step *= 2;
            steps /= 2;
        }
        at = ++steps * step;
    }
    curves->infinite[PRI_ABOVE] = identity->silent[PRI_ABOVE];
    curves->infinite[PRI_BELOW] = identity->silent[PRI_BELOW];
    return status;
}

enum pricer_status pri_curves_new(struct pri_curves **curves)
{
    *curves = pri_alloc(1, sizeof **curves);
    return *curves == NULL ? PRICER_MEMORY : PRICER_OK;
}
