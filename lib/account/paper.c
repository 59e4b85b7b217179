/*
 * The paper's own privacy bounds as printed, whether each holds, and what is left
 * of them once they are corrected: docs/mathematics.md, The paper's bounds;
 * docs/paper.md shows where they fail. The paper leaves open how a delta is split
 * between delta' and the Gaussian mechanism: the caller chooses, or each gets half.
 */
#include "privacy/privacy.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* How the noise of others at a relay is spread. Squares of weights and noises
 * are long double, which has their range. */
struct spread {
    long double mean;    /* sum of p noise^2 */
    long double square;  /* sum of p (1 - p) noise^4 */
    long double fourth;  /* sum of noise^4 */
    long double largest; /* of noise^2 */
};

static long double square(double value)
{
    return (long double)value * value;
}

/* Of all that reaches `at`, or all but one link. */
static struct spread spread_at(const struct pricer_network *network,
                               const struct pricer_plan *plan, int32_t at,
                               int32_t but)
{
    struct spread spread = {0, 0, 0, 0};
    for (int32_t k = network->in_start[at]; k < network->in_start[at + 1];
         k++) {
        int32_t l = network->in_link[k];
        long double p = network->p[l], size = square(plan->noise[l]);
        if (l == but)
            continue;
        spread.mean += p * size;
        spread.square += p * (1 - p) * size * size;
        spread.fourth += size * size;
        spread.largest = fmaxl(spread.largest, size);
    }
    return spread;
}

/* The paper's deviation, with max noise^2 / 9 under the root. */
static long double deviation_printed(const struct spread *spread, double delta)
{
    double log_part = log(2 / delta);
    return log_part / 2 *
           (spread->largest / 3 +
            sqrtl(spread->largest / 9 + 4 * spread->square / log_part));
}

/* A deviation that is exceeded, to either side, with probability delta at most:
 * Bernstein's, or Hoeffding's where that is less. */
static long double deviation(const struct spread *spread, double delta)
{
    long double part = logl(2.L / delta), third = part * spread->largest / 3;
    long double bernstein =
        third + sqrtl(third * third + 2 * part * spread->square);
    return fminl(bernstein, sqrtl(part * spread->fourth / 2));
}

static double classic_eps(long double move, long double variance, double delta)
{
    if (move == 0)
        return 0;
    if (!(variance > 0) || !(delta > 0))
        return INFINITY;
    return (double)(sqrtl(2 * logl(1.25L / fminl(delta, 1))) * move /
                    sqrtl(variance));
}

/* The eps of one Gaussian of this mu^2, rounded up. */
static enum pricer_status gaussian_eps(long double mu2, double delta,
                                       double *eps)
{
    struct pri_bracket found;
    if (!(delta > 0) || mu2 == 0 || isinf(mu2)) {
        *eps = mu2 == 0 ? 0 : INFINITY;
        return PRICER_OK;
    }
    double mu = (double)fmaxl(sqrtl(mu2) * (1 + 1e-15L), DBL_MIN);
    struct pri_scratch *scratch = pri_scratch_new();
    if (scratch == NULL)
        return PRICER_MEMORY;
    enum pricer_status status =
        pri_link_account(mu, 1, fmin(delta, 1), 1, scratch, &found);
    *eps = found.eps;
    pri_scratch_free(scratch);
    free(scratch);
    return status;
}

struct paper_scene {
    const struct pricer_network *network;
    const struct pricer_plan *plan;
    double delta, delta_prime; /* 0: half */
};

/* A relay's delta / p in its two parts: delta', for the chance that little noise
 * arrives, and what is left for the Gaussian mechanism. */
struct split {
    double prime, rest;
};

static struct split split_delta(const struct paper_scene *scene, double delta)
{
    double prime = scene->delta_prime > 0 ? scene->delta_prime : delta / 2;
    return (struct split){fmin(prime, 1), delta - prime};
}

static enum pricer_status paper_link(const struct paper_scene *scene,
                                     int32_t link,
                                     struct pricer_paper_bound *bound)
{
    const struct pricer_network *net = scene->network;
    long double move = (long double)net->node_diameter[net->from[link]] *
                       scene->plan->weight[link];
    long double variance = square(scene->plan->noise[link]);
    double share = scene->delta / scene->network->p[link];
    bound->printed = share >= 1 ? 0 : classic_eps(move, variance, share);
    if (share >= 1) {
        bound->corrected = 0;
        return PRICER_OK;
    }
    long double mu2 = move == 0      ? 0
                      : variance > 0 ? move * move / variance
                                     : INFINITY;
    return gaussian_eps(mu2, share, &bound->corrected);
}

/* The divergence of an identity in the worse direction. */
static double presence_at(const void *of, double eps)
{
    double one, two;
    pri_presence_delta(of, eps, PRI_ABOVE, &one, &two);
    return fmax(one, two);
}

static enum pricer_status paper_relay(const struct paper_scene *scene,
                                      int32_t link, bool identity,
                                      struct pricer_paper_bound *bound)
{
    const struct pricer_network *net = scene->network;
    long double own = square(scene->plan->noise[link]);
    int32_t from = net->from[link];
    long double move =
        (long double)(identity ? net->node_radius : net->node_diameter)[from] *
        scene->plan->weight[link];
    struct split delta = split_delta(scene, scene->delta / net->p[link]);
    struct spread all = spread_at(net, scene->plan, net->to[link], -1);
    long double printed = deviation_printed(&all, delta.prime);
    long double corrected = deviation(&all, delta.prime);
    bound->delta_prime = delta.prime;
    bound->zeta = (double)all.mean;
    bound->r_printed = (double)printed;
    bound->r_corrected = (double)corrected;
    bound->printed = classic_eps(move, all.mean - printed, delta.rest);
    if (!identity) {
        long double left = fmaxl(all.mean - corrected, own);
        long double mu2 = move == 0 ? 0 : move * move / left;
        return gaussian_eps(mu2, delta.rest, &bound->corrected);
    }
    struct spread rest = spread_at(net, scene->plan, net->to[link], link);
    long double left = rest.mean - deviation(&rest, delta.prime);
    bound->corrected = 0;
    if (move == 0 && own == 0)
        return PRICER_OK;
    /* In a unit of its own. More noise of others than 1e200 of that hides no
     * less. */
    long double unit = fmaxl(move, sqrtl(own));
    struct pri_presence presence = {
        (double)net->dimension, (double)(move / unit),
        (double)(own / unit / unit), (double)fminl(left / unit / unit, 1e200L)};
    bound->corrected =
        presence.others > 0 && delta.rest > 0
            ? pri_search_eps(presence_at, &presence, delta.rest, 1e-9).high
            : INFINITY;
    return PRICER_OK;
}

/* One relay's part of the server's view: weight to it, noise to it, its own. */
struct paper_part {
    double size; /* how far the data goes, or moves */
    double weight, p, uplink;
    long double own, self;
    struct spread spread;
};

/* Add up both bounds over one relay. */
static void add_part(const struct paper_part *part, struct split delta,
                     double share, double *printed, long double *mu2)
{
    long double move = (long double)part->size * part->weight;
    long double left = part->spread.mean + part->self -
                       deviation_printed(&part->spread, delta.prime);
    *printed += classic_eps(move, left, delta.rest);
    left = part->spread.mean + part->self -
           deviation(&part->spread, fmin(share, 1));
    left = fmaxl(left, part->self + part->own);
    if (move > 0 && part->uplink > 0)
        *mu2 += left > 0 ? move * move / left : INFINITY;
}

static enum pricer_status paper_server(const struct paper_scene *scene,
                                       int32_t node, bool identity,
                                       struct pricer_paper_bound *bound)
{
    const struct pricer_network *net = scene->network;
    const struct pricer_plan *plan = scene->plan;
    int32_t begin = net->out_start[node], end = net->out_start[node + 1];
    double uplinks = 0, printed = 0;
    long double mu2 = 0;
    for (int32_t j = 0; j < net->nodes; j++)
        uplinks += net->uplink[j];
    double delta = scene->delta / fmax(uplinks, 1e-300);
    double share = scene->delta / 2 / (end - begin + 1);
    for (int32_t l = begin; l <= end; l++) {
        int32_t at = l < end ? net->to[l] : node;
        struct paper_part part = {
            .size = (identity ? net->node_radius : net->node_diameter)[node],
            .weight = l < end ? plan->weight[l] : plan->self_weight[node],
            .own = l < end ? square(plan->noise[l]) : 0,
            .self = square(plan->self_noise[at]),
            .p = l < end ? net->p[l] : 1,
            .uplink = net->uplink[at],
            .spread = spread_at(net, plan, at, -1),
        };
        add_part(&part, split_delta(scene, delta / part.p), share, &printed,
                 &mu2);
    }
    bound->printed = printed;
    if (identity) { /* no bound of this kind: the account is what holds */
        bound->corrected = INFINITY;
        return PRICER_OK;
    }
    return gaussian_eps(mu2, scene->delta / 2, &bound->corrected);
}

/* Whether the printed eps holds, and why or why not. An eps of 0 is no proof:
 * whoever has no account leaves it so. */
static void find_guarantee(const struct pricer_statement *statement,
                           struct pricer_paper_bound *bound)
{
    bool link = statement->observer == PRICER_OBSERVER_LINK;
    bool corrected = bound->corrected <= bound->printed;
    bool account = statement->eps > 0 && statement->eps <= bound->printed;
    bound->guarantee = !isinf(bound->printed) && (corrected || account);
    if (bound->guarantee)
        bound->reason = corrected ? "the corrected bound proves it"
                                  : "the account proves it";
    else if (isinf(bound->printed))
        bound->reason = link ? "a link without noise has no eps"
                             : "the formula has no value where zeta - r or "
                               "delta - delta' is not above 0";
    else if (statement->protect == PRICER_PROTECT_IDENTITY)
        bound->reason = "a node that leaves takes its noise with it, which "
                        "shows the more the higher the dimension";
    else if (link)
        bound->reason = "the formula of the Gaussian mechanism is proved for "
                        "eps <= 1 and fails far above it (at delta = 1e-3 "
                        "above 7.46)";
    else
        bound->reason = "Bernstein's inequality is misprinted, and the "
                        "Gaussian formula is proved for eps <= 1 only";
}

enum pricer_status pricer_privacy_paper(
    const struct pricer_network *network, const struct pricer_plan *plan,
    const struct pricer_statement *statement, double delta_prime,
    struct pricer_paper_bound *bound, struct pricer_fault *fault)
{
    struct paper_scene scene = {network, plan, statement->delta, delta_prime};
    struct pricer_paper_bound found = {
        .delta_prime = NAN, .zeta = NAN, .r_printed = NAN, .r_corrected = NAN};
    int32_t link = -1;
    enum pricer_status status;
    if (!(delta_prime >= 0 && delta_prime < 1))
        return pri_fault(fault, PRICER_VALUE,
                         "delta' = %g is not between 0 and 1", delta_prime);
    if (statement->observer >= PRICER_OBSERVER_COALITION)
        return pri_fault(
            fault, PRICER_VALUE, "the paper has no bound for %ss",
            pricer_word(PRICER_WORDS_OBSERVER, statement->observer));
    if (statement->observer != PRICER_OBSERVER_SERVER) {
        link = pricer_network_find(network, statement->node, statement->at);
        if (link < 0)
            return pri_fault(fault, PRICER_VALUE, "there is no link %d,%d",
                             (int)statement->node, (int)statement->at);
    }
    if (statement->observer == PRICER_OBSERVER_SERVER)
        status =
            paper_server(&scene, statement->node,
                         statement->protect == PRICER_PROTECT_IDENTITY, &found);
    else if (statement->observer == PRICER_OBSERVER_RELAY)
        status =
            paper_relay(&scene, link,
                        statement->protect == PRICER_PROTECT_IDENTITY, &found);
    else
        status = paper_link(&scene, link, &found);
    if (status != PRICER_OK)
        return pri_fault(fault, status, "%s", pricer_status_text(status));
    find_guarantee(statement, &found);
    *bound = found;
    return PRICER_OK;
}
