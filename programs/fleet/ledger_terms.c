/*
 * From what a plan says about a release to the release and its cost, by
 * arithmetic of this node alone.
 *
 * Claim: the rounds of the terms, and all that pri_release_entry_allows() makes
 * of them, are (cost.eps, cost.delta)-private. Proof: of a sphere, a round is
 * (e0 + charge, 0)-private (docs/release.md, "One round"), and rounds add up;
 * the product and sum are rounded up. Or pri_release_delta(), which is rounded
 * up, says so for all of them. Of a Gaussian, its ratio 2 radius / noise is
 * rounded up, and trust_allows() and trust_allows_often() are proved.
 */
#include "ledger_release.h"
#include "calibrate/calibrate.h"
#include "common/daemon.h"
#include "trust_file.h"

#include <float.h>
#include <math.h>

_Static_assert((int)PRI_RELEASE_SPHERE == (int)PRICER_RELEASE_SPHERE &&
                   (int)PRI_RELEASE_GAUSSIAN == (int)PRICER_RELEASE_GAUSSIAN,
               "kinds have the same numbers in plans and releases");

struct ledger_terms ledger_terms_of(const struct pricer_network *network,
                                    const struct pricer_forward_plan *plan,
                                    int64_t rounds, int32_t node)
{
    const struct pricer_forward_node *from = &plan->node[node];
    return (struct ledger_terms){
        .kind = (enum pri_release_kind)from->release,
        .dimension = network->dimension,
        .radius = network->node_radius[node],
        .t = from->threshold,
        .e0 = from->loss,
        .noise = from->noise,
        .rounds = rounds > 0 ? rounds : 1,
        .eps = network->everyone_eps[node],
        .delta = network->everyone_delta[node],
    };
}

static enum pricer_status check_numbers(const struct ledger_terms *terms,
                                        struct pricer_fault *fault)
{
    int most = terms->kind == PRI_RELEASE_GAUSSIAN ? PRI_ROUNDS_MOST
                                                   : PRI_RELEASE_ROUNDS;
    if (terms->rounds < 1 || terms->rounds > most)
        return daemon_fault(fault, PRICER_VALUE,
                            "%lld rounds are not between 1 and %d",
                            (long long)terms->rounds, most);
    if (!(terms->eps > 0 && terms->eps <= DBL_MAX))
        return daemon_fault(fault, PRICER_VALUE, "eps = %g is not positive",
                            terms->eps);
    if (!(terms->delta >= 0 && terms->delta < 1))
        return daemon_fault(fault, PRICER_VALUE,
                            "delta = %g is not within 0 <= delta < 1",
                            terms->delta);
    return PRICER_OK;
}

static enum pricer_status make_sphere(const struct ledger_terms *terms,
                                      struct pri_release *release,
                                      struct pricer_budget *cost,
                                      struct pricer_fault *fault)
{
    struct pri_release_loss loss;
    enum pricer_status status = pri_release_sphere(
        terms->dimension, terms->radius, terms->t, terms->e0, release, fault);
    if (status != PRICER_OK)
        return status;
    release->rounds = terms->rounds;
    long double pure = (long double)release->e0 + release->charge;
    pure *= (long double)terms->rounds * (1 + 4 * LDBL_EPSILON);
    *cost = (struct pricer_budget){.eps = pri_round_up(pure)};
    if (cost->eps <= terms->eps)
        return PRICER_OK;
    pri_release_loss(release, terms->rounds, &loss);
    if (!(pri_release_delta(&loss, terms->eps) <= terms->delta))
        return PRICER_INFEASIBLE;
    cost->eps = terms->eps;
    cost->delta = terms->delta;
    return PRICER_OK;
}

static enum pricer_status make_gaussian(const struct ledger_terms *terms,
                                        struct pri_release *release,
                                        struct pricer_budget *cost,
                                        struct pricer_fault *fault)
{
    if (terms->dimension < 1)
        return daemon_fault(fault, PRICER_VALUE,
                            "dimension = %lld is not positive",
                            (long long)terms->dimension);
    if (!(terms->radius > 0 && terms->radius <= DBL_MAX && terms->noise > 0 &&
          terms->noise <= DBL_MAX))
        return daemon_fault(fault, PRICER_VALUE,
                            "radius = %g or noise = %g is not positive",
                            terms->radius, terms->noise);
    double ratio = trust_ratio(2 * terms->radius, 1, terms->noise);
    if (!(terms->delta > 0 &&
          (terms->rounds == 1 ? trust_allows(terms->eps, terms->delta, ratio)
                              : trust_allows_often(terms->eps, terms->delta,
                                                   ratio, terms->rounds))))
        return PRICER_INFEASIBLE;
    *release = (struct pri_release){
        .kind = PRI_RELEASE_GAUSSIAN,
        .dimension = terms->dimension,
        .rounds = terms->rounds,
        .radius = terms->radius,
        .noise = terms->noise,
        .variance = (double)terms->dimension * terms->noise * terms->noise,
    };
    *cost = (struct pricer_budget){.eps = terms->eps, .delta = terms->delta};
    return PRICER_OK;
}

enum pricer_status ledger_terms_check(const struct ledger_terms *terms,
                                      struct pri_release *release,
                                      struct pricer_budget *cost,
                                      struct pricer_fault *fault)
{
    struct pri_release made;
    struct pricer_budget spends;
    enum pricer_status status = check_numbers(terms, fault);
    if (status != PRICER_OK)
        return status;
    if (terms->kind == PRI_RELEASE_SPHERE)
        status = make_sphere(terms, &made, &spends, fault);
    else if (terms->kind == PRI_RELEASE_GAUSSIAN)
        status = make_gaussian(terms, &made, &spends, fault);
    else
        return daemon_fault(fault, PRICER_VALUE, "%d is no kind of release",
                            (int)terms->kind);
    if (status == PRICER_INFEASIBLE)
        return daemon_fault(fault, PRICER_VALUE,
                            "its release does not keep eps = %g, delta = %g "
                            "over %lld rounds, as it says",
                            terms->eps, terms->delta, (long long)terms->rounds);
    if (status != PRICER_OK)
        return status;
    if (release != NULL)
        *release = made;
    if (cost != NULL)
        *cost = spends;
    return PRICER_OK;
}
