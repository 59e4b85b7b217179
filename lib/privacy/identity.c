/*
 * From a link to what its relay learns in one round about whether the node took
 * part.
 *
 * Claim. With probability 1 - p the node's packet does not arrive and there is
 * nothing to tell. Otherwise, given who else took part, the two laws are those
 * of presence.c, with the variance of the others. The divergence is jointly
 * convex, so its average over that variance (identity_average.c) bounds the
 * divergence for a relay that does not know who took part; each direction is
 * averaged by itself and the worse one counts.
 */
#include "account.h"

#include <math.h>

/* How close the two ends should come: for many sets of others, and for few. */
#define CLOSE_ENOUGH 0.004
#define CLOSE_FEW 1e-7

/* A smaller eps need not be known any better. */
#define NEXT_TO_NOTHING 1e-3
enum { FEW = 8, STEPS_MOST = 60 };

/* How well the curve should be known, at first, and by how much better each
 * time that proves too little: near a step of it, eps depends on it very much.
 */
#define PART 2e-3
#define BETTER 0.03
enum { TRIES_MOST = 4 };

/* ----------------------------------------------------- eps of one round -- */

/* An eps between bounds, with what the curve was there. */
struct search {
    double low, high, at_low, at_high;
};

/* Where to look next: where the logarithm of the curve would meet delta if it
 * were straight, every third time the middle; further and further off while
 * one end is not known. */
static double next_eps(const struct search *search, double delta, int step)
{
    if (isinf(search->high))
        return 4 * search->low;
    if (search->low == 0)
        return search->high * fmax(1 - .005 * pow(4, step), 1. / 16);
    double top = log(search->at_low / delta);
    double bottom = log(delta / fmax(search->at_high, 1e-320));
    double t = top / (top + bottom);
    t = step % 3 == 0 || !(t > 0) ? .5 : fmin(fmax(t, .02), .98);
    return search->low * pow(search->high / search->low, t);
}

/* The worse of the two directions at one eps, from one side or the other; all
 * that is asked is where it is beside delta. */
static enum pricer_status worse_at(struct pri_identity *identity, double eps,
                                   enum pri_side side, double part,
                                   double delta, double *worse, double *middle)
{
    struct pri_reach direction[2] = {0};
    double silent = identity->silent[side];
    struct pri_aim aim = {part, 1e-3 * delta, delta - silent};
    enum pricer_status status =
        pri_identity_average(identity, eps, &aim, direction);
    double high = fmax(direction[0].high, direction[1].high) + silent;
    double low = fmax(direction[0].low, direction[1].low) + silent;
    *worse = side == PRI_ABOVE ? high : low;
    *middle = sqrt(high * low);
    return status;
}

/*
 * One end of the bracket, starting from a guess. For the side ABOVE the upper
 * end of the search is proved, for BELOW the lower, and `most` is known to
 * hold.
 */
static enum pricer_status solve(struct pri_identity *identity, double delta,
                                enum pri_side side, double part, double most,
                                double *eps)
{
    bool few = identity->others[side].count <= FEW;
    double close = few ? CLOSE_FEW : CLOSE_ENOUGH / 2, now, middle;
    part = few ? 1e-9 : part;
    enum pricer_status status =
        worse_at(identity, 0, side, part, delta, &now, &middle);
    *eps = now <= delta ? 0 : INFINITY;
    if (status != PRICER_OK || now <= delta || identity->silent[side] >= delta)
        return status;
    struct search search = {0, INFINITY, now, 0};
    double at = isinf(most) ? 1 : most;
    if (side == PRI_BELOW && isfinite(most)) {
        search.high = most;
        search.at_high = delta * .99;
        at = most * (1 - close * .9);
    }
    for (int step = 1; step < STEPS_MOST && at < 1e18 && at > 1e-12; step++) {
        status = worse_at(identity, at, side, part, delta, &now, &middle);
        if (status != PRICER_OK)
            return status;
        *(now > delta ? &search.low : &search.high) = at;
        *(now > delta ? &search.at_low : &search.at_high) = middle;
        if (isfinite(search.high) &&
            search.high - search.low <= close * search.high)
            break;
        at = next_eps(&search, delta, step);
    }
    *eps = side == PRI_ABOVE ? search.high : search.low;
    return PRICER_OK;
}

bool pri_identity_close(const struct pri_bracket *found)
{
    if (found->eps == found->eps_lower || found->eps < NEXT_TO_NOTHING)
        return true;
    return isfinite(found->eps) &&
           found->eps - found->eps_lower <= 2 * CLOSE_ENOUGH * found->eps;
}

enum pricer_status pri_identity_once(const struct pricer_network *network,
                                     const struct pricer_plan *plan,
                                     int32_t link, double delta,
                                     struct pri_identity *identity,
                                     struct pri_bracket *found)
{
    double part = PART, eps = 0;
    enum pricer_status status =
        pri_identity_others(network, plan, link, 1e-9 * delta, identity);
    if (status != PRICER_OK)
        return status;
    *found = (struct pri_bracket){INFINITY, 0, identity->silent[PRI_ABOVE]};
    for (int try = 0; try < TRIES_MOST; try++, part *= BETTER) {
        status = solve(identity, delta, PRI_ABOVE, part, found->eps, &eps);
        found->eps = fmin(found->eps, eps);
        if (status == PRICER_OK && found->eps > 0)
            status = solve(identity, pri_delta_for(delta, PRI_BELOW), PRI_BELOW,
                           part, found->eps, &eps);
        if (status != PRICER_OK)
            return status;
        if (found->eps > 0)
            found->eps_lower = fmax(found->eps_lower, eps);
        if (pri_identity_close(found))
            break;
    }
    return PRICER_OK;
}
