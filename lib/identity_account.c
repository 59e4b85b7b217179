/*
 * From a link to what its relay learns in one round or in many about whether
 * the node took part: which accounts to make, and how finely.
 */
#include "account.h"

#include <math.h>
#include <stdlib.h>

/* Several rounds, from curves as fine as they say. */
static enum pricer_status compose(const struct pricer_network *network,
                                  const struct pricer_plan *plan, int32_t link,
                                  double delta, int64_t rounds, double scale,
                                  struct pri_curves *curves,
                                  struct pri_identity *identity,
                                  struct pri_bracket *found)
{
    double dust = 1e-9 * delta / (double)rounds;
    for (int side = PRI_ABOVE; side >= PRI_BELOW; side--) {
        enum pricer_status status =
            pri_identity_others(network, plan, link, side, dust, identity);
        if (status == PRICER_OK)
            status = pri_identity_curves(identity, side, delta, rounds, scale,
                                         curves);
        if (status != PRICER_OK)
            return status;
    }
    return pri_identity_compose(curves, delta, rounds, identity, found);
}

/* Whether T rounds stay below delta because each stays below delta / T: the
 * distance of two laws in total variation at most adds up. */
static enum pricer_status tells_nothing(const struct pricer_network *network,
                                        const struct pricer_plan *plan,
                                        int32_t link, double delta,
                                        int64_t rounds,
                                        struct pri_identity *identity,
                                        bool *nothing)
{
    double absent, present;
    enum pricer_status status =
        pri_identity_others(network, plan, link, PRI_ABOVE,
                            1e-9 * delta / (double)rounds, identity);
    if (status == PRICER_OK)
        status = pri_identity_begin(identity);
    if (status == PRICER_OK)
        status = pri_identity_deltas(identity, &identity->others, 0, PRI_ABOVE,
                                     .1, &absent, &present);
    if (status == PRICER_OK)
        *nothing = (double)rounds * fmax(absent, present) <= delta * (1 - 1e-9);
    return status;
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
    static const double growth[] = {.25, .15, .08}, steep[] = {.3, .1, .03};
    static const double part[] = {1e-2, 1e-3, 1e-4};
    static const int32_t bits[] = {5, 7, 9};
    struct pri_curves *curves;
    int tries = identity->tries > 0 ? identity->tries : 3;
    double scale = found->eps;
    bool nothing = false;
    enum pricer_status status = pri_curves_new(&curves);
    if (status == PRICER_OK && found->eps == 0)
        status = tells_nothing(network, plan, link, delta, rounds, identity,
                               &nothing);
    if (nothing)
        tries = 0;
    found->floor = -expm1((double)rounds * log1p(-fmin(found->floor, 1)));
    found->eps = nothing ? 0 : INFINITY;
    if (found->floor * (1 - 1e-9) > delta)
        found->eps_lower = INFINITY;
    for (int try = 0; try < tries && status == PRICER_OK; try++) {
        if (pri_identity_close(found))
            break;
        curves->growth = growth[try];
        curves->steep = steep[try];
        curves->part = part[try];
        curves->bits = bits[try];
        status = compose(network, plan, link, delta, rounds, scale, curves,
                         identity, found);
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
