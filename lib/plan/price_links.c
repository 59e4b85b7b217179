/*
 * From a plan to the price of links: what a better link would save.
 *
 * In the shares y = p_j p_ij a_ij, which are free, the probabilities stand in
 * the coefficients of the objective alone (docs/mathematics.md):
 *
 *     (R^2/n^2) (1 - p_ij) / (p_j p_ij) y_ij^2 + N_ij       a link and its noise,
 *     (R^2/n^2) 2 r (1 / max(p_ij, p_ji) - 1) y_ij y_ji   a pair of links,
 *     (R^2/n^2) (1 - p_j) / p_j T_j^2                       a relay,
 *
 * where r is how reciprocal the pair is, which is kept, and the noise
 * N_ij = (d/n^2) p_j p_ij sigma_ij^2 is inverse to p_j p_ij at a given share
 * and ratio of change to noise. By the envelope theorem the optimum moves as
 * these coefficients do while the shares stay where they are. None of these
 * derivatives is above zero: a better link never costs anything.
 */
#include "base/base.h"

#include <math.h>

static double squared(double x)
{
    return x * x;
}

/* r of a pair: 0 independent, 1 fully reciprocal. */
static double reciprocity(const struct pricer_network *net, int32_t l)
{
    double p = net->p[l], back = net->p[net->partner[l]];
    double room = fmin(p, back) - p * back;
    return room > 0 ? fmax(0, net->joint[l] - p * back) / room : 0;
}

/* d objective / d p of link l. */
static double link_price(const struct pricer_network *net,
                         const struct pricer_plan *plan, int32_t l)
{
    double n = net->nodes, p = net->p[l], relay = net->uplink[net->to[l]];
    double own = net->node_radius[net->from[l]] / n;
    double other = net->node_radius[net->to[l]] / n;
    double noise =
        (double)net->dimension / n / n * relay * squared(plan->noise[l]);
    int32_t back = net->partner[l];
    if (p >= 1)
        return 0;
    double price = -squared(own) * relay * squared(plan->weight[l]) - noise;
    if (back >= 0 && p >= net->p[back])
        price -= 2 * own * other * reciprocity(net, l) * relay *
                 net->uplink[net->from[l]] * (net->p[back] / p) *
                 plan->weight[l] * plan->weight[back];
    return price;
}

/* d objective / d p of node j's uplink. */
static double uplink_price(const struct pricer_network *net,
                           const struct pricer_plan *plan, int32_t j)
{
    double n = net->nodes, noise = (double)net->dimension / n / n;
    double load = net->node_radius[j] / n * plan->self_weight[j], price = 0;
    if (net->uplink[j] <= 0 || net->uplink[j] >= 1)
        return 0;
    price -= noise * squared(plan->self_noise[j]);
    for (int32_t k = net->in_start[j]; k < net->in_start[j + 1]; k++) {
        int32_t l = net->in_link[k];
        double p = net->p[l], weight = plan->weight[l];
        double size = net->node_radius[net->from[l]] / n * weight;
        load += p * size;
        price -=
            p * ((1 - p) * squared(size) + noise * squared(plan->noise[l]));
    }
    return price - squared(load);
}

enum pricer_status pricer_link_price(const struct pricer_network *network,
                                     const struct pricer_plan *plan,
                                     double *price, double *uplink,
                                     struct pricer_fault *fault)
{
    if (plan->nodes != network->nodes || plan->links != network->links)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan is not for this network");
    for (int32_t l = 0; l < network->links; l++)
        price[l] = link_price(network, plan, l);
    for (int32_t j = 0; j < network->nodes; j++)
        uplink[j] = uplink_price(network, plan, j);
    return PRICER_OK;
}
