/*
 * From a link to what its relay learns in one round or in many about whether
 * the node took part: which accounts to make, and how finely.
 */
#include "account.h"

#include <math.h>
#include <stdlib.h>

/* So far beyond eps it does not matter how far a loss is: e^-15. */
#define FAR 15

/* The steps of the first try, beside the loss and beside where the curves fall
 * to a half; the least of the first kind; to which part the curves are known
 * then. */
#define GROWTH .1
#define FINE .25
#define GROWTH_LEAST .002
#define TAIL_PART 3e-3
enum { TRIES_MOST = 4, REACH_LEAST = 128, REACH_MOST = 2048 };

/* How close the ends should come. */
#define AIM .005

/* Losses that are no further apart are told apart as well as need be. */
#define NEXT .3

/* Whether T rounds stay below delta because each stays below delta / T: the
 * distance of two laws in total variation at most adds up. */
static enum pricer_status gives_nothing(struct pri_identity *identity,
                                        double delta, int64_t rounds,
                                        bool *nothing)
{
    struct pri_reach direction[2] = {0};
    struct pri_aim aim = {.1, 1e-3 * delta / (double)rounds, NAN};
    enum pricer_status status =
        pri_identity_average(identity, 0, &aim, direction);
    double most = fmax(direction[0].high, direction[1].high) +
                  identity->silent[PRI_ABOVE];
    *nothing = (double)rounds * most <= delta * (1 - 1e-9);
    return status;
}

/*
 * How finely to try next, after a try that left a bracket too wide. Errors fall
 * with the square of the steps while these are less than about 1: a polygon is
 * the curve's to the second order. With larger ones, where eps is larger still,
 * they fall with the steps.
 */
static void refine(const struct pri_bracket *found, struct pri_curves *curves)
{
    double width = isfinite(found->eps) ? 1 - found->eps_lower / found->eps : 1;
    double less = AIM / width;
    if (!(curves->growth * found->eps > 3))
        less = sqrt(less);
    less = fmax(fmin(less, .7), .1);
    curves->fine *= fmax(less, .5);
    curves->growth = fmax(less * curves->growth, GROWTH_LEAST);
}

/* One try: what goes with the steps, the curves and their composition. */
static enum pricer_status compose(double delta, int64_t rounds, double scale,
                                  struct pri_curves *curves,
                                  struct pri_identity *identity,
                                  struct pri_bracket *found)
{
    double growth = curves->growth, beside = growth / GROWTH;
    curves->part = TAIL_PART * beside * beside;
    curves->finest = fmax(growth * found->eps / (double)rounds, NEXT);
    curves->reach = REACH_LEAST;
    while (curves->reach * growth < 12 && curves->reach < REACH_MOST)
        curves->reach *= 2;
    enum pricer_status status = pri_identity_curves(
        identity, delta, rounds, scale, found->eps + FAR, curves);
    return status == PRICER_OK
               ? pri_identity_compose(curves, delta, rounds, identity, found)
               : status;
}

/*
 * Several rounds, more and more finely until the bracket is close. *found holds
 * one round: its lower end stays valid, as more rounds never tell less.
 */
static enum pricer_status many_rounds(const struct pricer_network *network,
                                      const struct pricer_plan *plan,
                                      int32_t link, double delta,
                                      int64_t rounds,
                                      struct pri_identity *identity,
                                      struct pri_bracket *found)
{
    struct pri_curves *curves;
    double scale = found->eps;
    bool nothing = false;
    enum pricer_status status = pri_curves_new(&curves);
    if (status == PRICER_OK)
        status = pri_identity_others(network, plan, link,
                                     1e-9 * delta / (double)rounds, identity);
    if (status == PRICER_OK && found->eps == 0)
        status = gives_nothing(identity, delta, rounds, &nothing);
    found->floor = -expm1((double)rounds * log1p(-fmin(found->floor, 1)));
    found->eps = nothing ? 0 : INFINITY;
    if (found->floor * (1 - 1e-9) > delta)
        found->eps_lower = INFINITY;
    for (int try = 0; try < TRIES_MOST && status == PRICER_OK; try++) {
        if (pri_identity_close(found))
            break;
        if (try == 0) {
            curves->growth = GROWTH;
            curves->fine = FINE;
        } else {
            refine(found, curves);
        }
        status = compose(delta, rounds, scale, curves, identity, found);
    }
    free(curves);
    if (status != PRICER_OK || isfinite(found->eps) || isinf(found->eps_lower))
        return status;
    /* Not even roughly: T rounds of eps and delta / T are T eps and delta. */
    double many = (double)rounds;
    struct pri_bracket once;
    status = pri_identity_once(network, plan, link, delta / many * (1 - 1e-12),
                               identity, &once);
    if (status == PRICER_OK)
        found->eps = many * once.eps * (1 + 1e-12);
    return status;
}

enum pricer_status pri_identity_account(
    const struct pricer_network *network, const struct pricer_plan *plan,
    int32_t link, enum pricer_eavesdropper eavesdropper, double delta,
    int64_t rounds, struct pri_identity *identity, struct pri_bracket *bracket)
{
    /* In squared radii: squares of a tiny radius would vanish. */
    double relative = plan->noise[link] / network->radius;
    identity->p = eavesdropper == PRICER_RADIO ? 1 : network->p[link];
    identity->presence = (struct pri_presence){
        .dimension = (double)network->dimension,
        .shift = plan->weight[link],
        .own = relative * relative,
    };
    struct pri_bracket found = {0};
    enum pricer_status status = PRICER_OK;
    if (identity->presence.shift > 0 || identity->presence.own > 0)
        status =
            pri_identity_once(network, plan, link, delta, identity, &found);
    if (status == PRICER_OK && rounds > 1 &&
        (identity->presence.shift > 0 || identity->presence.own > 0))
        status =
            many_rounds(network, plan, link, delta, rounds, identity, &found);
    if (status == PRICER_OK)
        *bracket = found;
    return status;
}
