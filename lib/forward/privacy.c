/*
 * From a node's release to what several rounds of it cost, for an accountant: eps
 * at a delta and delta at an eps.
 *
 * Upper ends are those of lib/release and lib/calibrate, rounded up, with the
 * charge. For the lower end of eps take the data R e and -R e in every round. A
 * round of a sphere then has two disjoint caps, so that its loss is +e0, -e0 or 0
 * with the probabilities of docs/release.md, up to the charge: the curve of that
 * law, with its numbers moved the other way, is below the true one. For a Gaussian
 * the curve is that of these data, or of data that differ by the diameter, where
 * its upper end also counts the rounding of the payload (pri_gaussian_move()).
 */
#include "calibrate/calibrate.h"
#include "forward.h"
#include "pricer_forward.h"
#include "release/release.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* A part that covers every rounding of pri_release_delta(). */
#define ROUNDING 0x1p-36

/* The rounds of one release. */
struct rounds {
    enum pricer_release kind;
    struct pri_release_loss above, below; /* of a sphere */
    long double ratio, ratio_below;       /* of a Gaussian, all rounds */
};

static enum pricer_status prepare(
    const struct pricer_forward_releases *releases, struct rounds *rounds,
    struct pricer_fault *fault)
{
    const struct pricer_forward_node *node = releases->node;
    double radius = releases->radius;
    int64_t count = releases->rounds;
    struct pri_release release;
    bool gaussian = node->release == PRICER_RELEASE_GAUSSIAN;
    int64_t most = gaussian ? PRI_ROUNDS_MOST : PRI_RELEASE_ROUNDS;
    if (count < 1 || count > most)
        return pri_fault(fault, PRICER_VALUE,
                         "rounds = %lld is not between 1 and %lld",
                         (long long)count, (long long)most);
    if (!(radius > 0 && radius <= DBL_MAX))
        return pri_fault(fault, PRICER_VALUE, "radius = %g is not positive",
                         radius);
    rounds->kind = node->release;
    if (gaussian) {
        if (!(node->noise > 0 && node->noise <= DBL_MAX))
            return pri_fault(fault, PRICER_VALUE,
                             "a Gaussian release needs noise, not %g",
                             node->noise);
        double diameter = releases->diameter, whole = 2 * radius;
        if (!(diameter >= 0 && diameter <= whole))
            return pri_fault(fault, PRICER_VALUE,
                             "diameter = %g is not between 0 and twice the "
                             "radius",
                             diameter);
        long double all = sqrtl((long double)count) / node->noise;
        rounds->ratio = pri_gaussian_move(radius, diameter, releases->dimension,
                                          node->noise) *
                        all * (1 + 2 * LDBL_EPSILON);
        rounds->ratio_below =
            (diameter > 0 ? diameter : whole) * all * (1 - 4 * LDBL_EPSILON);
        return PRICER_OK;
    }
    if (node->release != PRICER_RELEASE_SPHERE)
        return pri_fault(fault, PRICER_VALUE,
                         "a release is of kind sphere or gaussian");
    enum pricer_status status =
        pri_release_sphere(releases->dimension, radius, node->threshold,
                           node->loss, &release, fault);
    if (status != PRICER_OK)
        return status;
    pri_release_loss(&release, count, &rounds->above);
    struct pri_release_loss *below = &rounds->below;
    *below = rounds->above;
    /* Twice as far to the other side as `above` was moved to its own. */
    long double moved = rounds->above.up / (long double)release.p - 1;
    below->up = (long double)release.p * (1 - moved - ROUNDING);
    below->down = rounds->above.down * (1 + 2 * moved + ROUNDING);
    below->charge = 0;
    return PRICER_OK;
}

static double delta_above(const void *of, double eps)
{
    const struct rounds *rounds = of;
    return rounds->kind == PRICER_RELEASE_GAUSSIAN
               ? pri_gaussian_above(eps, rounds->ratio)
               : pri_release_delta(&rounds->above, eps);
}

static double delta_below(const void *of, double eps)
{
    const struct rounds *rounds = of;
    if (rounds->kind == PRICER_RELEASE_GAUSSIAN)
        return pri_gaussian_below(eps, rounds->ratio_below);
    return pri_release_delta(&rounds->below, eps * (1 + ROUNDING)) *
           (1 - ROUNDING);
}

enum pricer_status pricer_forward_privacy_eps(
    const struct pricer_forward_releases *releases, double delta,
    struct pricer_forward_privacy *privacy, struct pricer_fault *fault)
{
    struct rounds law;
    struct pricer_forward_privacy found = {.delta = delta};
    if (!(delta >= 0 && delta <= 1))
        return pri_fault(fault, PRICER_VALUE, "delta = %g is outside [0, 1]",
                         delta);
    enum pricer_status status = prepare(releases, &law, fault);
    if (status != PRICER_OK)
        return status;
    struct pri_range above = pri_search_eps(delta_above, &law, delta, 0x1p-45);
    struct pri_range below = pri_search_eps(delta_below, &law, delta, 0x1p-45);
    found.eps = above.high;
    found.eps_lower = below.low;
    if (law.kind == PRICER_RELEASE_SPHERE) {
        /* No round ever loses more than e0 and the charge. */
        long double e0 = law.above.e0, most = e0 + law.above.charge;
        double pure = pri_round_up(most * (long double)releases->rounds);
        found.eps = fmin(found.eps, pure);
    } else if (delta == 0) {
        found.eps = found.eps_lower = INFINITY;
    }
    found.eps_lower = fmin(found.eps_lower, found.eps);
    *privacy = found;
    return PRICER_OK;
}

enum pricer_status pricer_forward_privacy_delta(
    const struct pricer_forward_releases *releases, double eps, double *delta,
    struct pricer_fault *fault)
{
    struct rounds law;
    if (!(eps >= 0))
        return pri_fault(fault, PRICER_VALUE, "eps = %g is negative", eps);
    enum pricer_status status = prepare(releases, &law, fault);
    if (status == PRICER_OK)
        *delta = delta_above(&law, eps);
    return status;
}

/* Whether two releases cost the same, which does not depend on the radius. */
static bool is_same(const struct pricer_network *net,
                    const struct pricer_forward_plan *plan, int32_t a,
                    int32_t b)
{
    const struct pricer_forward_node *x = &plan->node[a], *y = &plan->node[b];
    return x->release == y->release && x->threshold == y->threshold &&
           x->loss == y->loss && x->noise == y->noise &&
           net->node_radius[a] == net->node_radius[b] &&
           net->node_diameter[a] == net->node_diameter[b] &&
           net->everyone_delta[a] == net->everyone_delta[b];
}

enum pricer_status pricer_forward_privacy_account(
    const struct pricer_network *network,
    const struct pricer_forward_plan *plan,
    const struct pricer_question *question,
    struct pricer_statement **statements, struct pricer_fault *fault)
{
    int64_t rounds = question->rounds > 0 ? question->rounds : 1;
    struct pricer_forward_privacy found = {0};
    enum pricer_status status = PRICER_OK;
    if (network->everyone_eps == NULL || plan->nodes != network->nodes)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan is not for this network");
    struct pricer_statement *made = pri_alloc(plan->nodes, sizeof *made);
    if (made == NULL)
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    for (int32_t i = 0; i < plan->nodes && status == PRICER_OK; i++) {
        double delta =
            question->delta > 0 ? question->delta : network->everyone_delta[i];
        if (i == 0 || !is_same(network, plan, i, i - 1))
            status = pricer_forward_privacy_eps(
                &(struct pricer_forward_releases){
                    &plan->node[i], network->node_radius[i], network->dimension,
                    rounds, network->node_diameter[i]},
                delta, &found, fault);
        made[i] = (struct pricer_statement){
            .observer = PRICER_OBSERVER_EVERYONE,
            .protect = PRICER_PROTECT_DATA,
            .node = i,
            .at = -1,
            .exact = network->reach == 0 || rounds == 1,
            .delta = delta,
            .eps = found.eps,
            .eps_lower = found.eps_lower};
        if (status == PRICER_OK &&
            !pri_tick(question->watch, (double)(i + 1) / plan->nodes))
            status = PRICER_STOPPED;
    }
    if (status == PRICER_OK)
        *statements = made;
    else
        free(made);
    return status;
}
