/*
 * From an Erdos-Renyi network to its optimal weights, without iterating.
 *
 * Of n nodes, m reach the server with probability q and the others not at all;
 * every one of the others reaches every one of the m with probability p, and
 * nothing else is sent. By symmetry two weights are left: `weight` of a link
 * and `self_weight` of the m nodes. With the l2 bias term the error is a
 * quadratic of these two, and its stationary point is the paper's equation
 * optimal_weights_erdos-renyi, multiplied here by lambda^2 so that lambda = 0
 * needs no limit. Both weights come out positive, so the constraints are idle.
 */
#include "base/base.h"

#include <math.h>

static double squared(double x)
{
    return x * x;
}

/* The shorthands of the formulas below. */
struct terms {
    double n, m, others, p, q;
    double scale; /* R^2 / n^2 */
    double relay; /* 1 + (m - 1) q */
    double link;  /* 1 - p + d slope^2 / R^2: what a link costs */
    double lambda;
};

static struct terms shorten(const struct pricer_erdos_renyi *network)
{
    double n = network->nodes, m = network->reaching;
    double slope = network->slope / network->radius;
    return (struct terms){
        .n = n,
        .m = m,
        .others = n - m,
        .p = network->link,
        .q = network->uplink,
        .scale = squared(network->radius / n),
        .relay = 1 + (m - 1) * network->uplink,
        .link = 1 - network->link + (double)network->dimension * slope * slope,
        .lambda = network->lambda,
    };
}

/*
 * The weight of a link. Where a link costs nothing, lambda cancels, which also
 * settles lambda = 0: there a link that costs something is not used.
 */
static double link_weight(const struct terms *t)
{
    if (isinf(t->lambda))
        return 1 / (t->m * t->p * t->q);
    double spread = t->scale * t->n / t->m * t->relay + t->q * t->lambda;
    double pull = t->scale * t->n + t->lambda;
    if (t->link == 0)
        return pull / (t->m * t->p * spread);
    double cost = t->scale * t->link * (t->scale * t->relay + t->q * t->lambda);
    return t->q * t->lambda * pull /
           (cost + t->m * t->p * t->q * t->lambda * spread);
}

static double own_weight(const struct terms *t, double weight)
{
    if (isinf(t->lambda))
        return 1 / t->q;
    double carried = t->relay * t->others * t->p * weight;
    return (t->scale * (t->n - carried) + t->lambda) /
           (t->scale * t->relay + t->lambda * t->q);
}

static bool valid(const struct pricer_erdos_renyi *network)
{
    return network->nodes >= 1 && network->reaching >= 1 &&
           network->reaching <= network->nodes && network->dimension >= 1 &&
           network->radius > 0 && isfinite(network->radius) &&
           network->link > 0 && network->link <= 1 && network->uplink > 0 &&
           network->uplink <= 1 && network->slope >= 0 &&
           isfinite(network->slope) && network->lambda >= 0;
}

enum pricer_status pricer_erdos_renyi_solve(
    const struct pricer_erdos_renyi *network,
    struct pricer_closed_form *solution, struct pricer_fault *fault)
{
    if (!valid(network))
        return pri_fault(fault, PRICER_VALUE,
                         "a number of the network is outside its range");
    struct terms t = shorten(network);
    double weight = t.others > 0 ? link_weight(&t) : 0;
    double own = own_weight(&t, weight);
    double relayed = own + t.others * t.p * weight;
    double own_bias = t.q * own - 1, bias = t.m * t.q * t.p * weight - 1;
    if (isinf(t.lambda))
        own_bias = bias = 0;
    solution->weight = weight;
    solution->self_weight = own;
    solution->noise = network->slope * weight;
    solution->bias_l2 = t.m * squared(own_bias) + t.others * squared(bias);
    double total = t.m * own_bias + t.others * bias;
    solution->mse =
        t.scale * (t.m * t.others * t.q * t.p * t.link * squared(weight) +
                   t.m * t.q * (1 - t.q) * squared(relayed) + squared(total));
    solution->objective = solution->mse;
    if (solution->bias_l2 > 0)
        solution->objective += t.lambda * solution->bias_l2;
    return PRICER_OK;
}
