/*
 * From a plan to the grid of integers that its messages are made of, and the
 * noise that a message really gets there. The round (lib/round) sends it so, and
 * accounts of identities (lib/observe) count it so.
 */
#include "plan.h"

#include <math.h>

enum { SUM_BITS = 62 }; /* sums stay below 2^62 */

/* The noise of a share, or what the cut asks for at least. In the data's units,
 * rounded up. */
static double effective_noise(double weight, double noise, double radius)
{
    if (noise == 0)
        return 0;
    double least = 2 * weight * radius / PRI_GRID_STEEPEST * (1 + 0x1p-50);
    return fmax(noise, least);
}

double pri_grid_raise(const struct pricer_grid *grid,
                      const struct pri_sender *sender, double weight)
{
    double radius = sender->radius, diameter = sender->diameter;
    if (!(diameter > 0) || diameter >= 2 * radius || weight == 0)
        return 1;
    double d = (double)sender->dimension;
    double step = ldexp(1, grid->exponent) / weight;
    double more = (sqrt(d) + 8) * step + (16 * d + 128) * 0x1p-53 * radius;
    return fmin(1 + more / diameter, 2 * radius / diameter) * (1 + 0x1p-50);
}

double pri_sent_noise(const struct pricer_grid *grid,
                      const struct pri_sender *sender, double weight,
                      double noise)
{
    return effective_noise(weight, noise, sender->radius) *
           pri_grid_raise(grid, sender, weight);
}

enum pricer_status pri_share_check(double weight, double noise,
                                   struct pricer_fault *fault)
{
    if (!(weight >= 0) || isinf(weight))
        return pri_fault(fault, PRICER_VALUE,
                         "weight = %g is not a number of 0 or more", weight);
    if (!(noise >= 0) || isinf(noise))
        return pri_fault(fault, PRICER_VALUE,
                         "noise = %g is not a number of 0 or more", noise);
    return PRICER_OK;
}

double pri_share_reach(double weight, double sigma, double radius)
{
    return (weight * radius + PRI_NOISE_REACH * sigma) * (1 + 0x1p-40);
}

/* What pri_grid_raise() will ask for is not known before the grid: 2^-10 is room for the
 * largest shares, for which it is least. */
static enum pricer_status grow(const struct pricer_network *network,
                               int32_t node, double weight, double noise,
                               double *most, struct pricer_fault *fault)
{
    enum pricer_status status = pri_share_check(weight, noise, fault);
    if (status != PRICER_OK)
        return status;
    double radius = network->node_radius[node];
    double sigma = effective_noise(weight, noise, radius);
    bool near = network->node_diameter[node] < 2 * radius;
    *most = fmax(
        *most,
        pri_share_reach(weight, near ? sigma * (1 + 0x1p-10) : sigma, radius));
    return status;
}

enum pricer_status pricer_grid_choose(const struct pricer_network *network,
                                      const struct pricer_plan *plan,
                                      struct pricer_grid *grid,
                                      struct pricer_fault *fault)
{
    double most = network->radius * 0x1p-20;
    enum pricer_status status = PRICER_OK;
    for (int32_t l = 0; l < plan->links && status == PRICER_OK; l++)
        status = grow(network, network->from[l], plan->weight[l],
                      plan->noise[l], &most, fault);
    for (int32_t i = 0; i < plan->nodes && status == PRICER_OK; i++)
        status = grow(network, i, plan->self_weight[i], plan->self_noise[i],
                      &most, fault);
    if (status != PRICER_OK)
        return status;
    int64_t messages = (int64_t)plan->links + plan->nodes;
    int64_t limit = INT64_C(1) << PRI_GRID_BITS;
    if (messages > 1)
        limit = (INT64_C(1) << SUM_BITS) / messages;
    if (limit > INT64_C(1) << PRI_GRID_BITS)
        limit = INT64_C(1) << PRI_GRID_BITS;
    int exponent;
    frexp(most / (double)(limit - PRI_GRID_SLACK), &exponent);
    if (isinf(most) || exponent < -PRI_GRID_EXPONENTS ||
        exponent > PRI_GRID_EXPONENTS)
        return pri_fault(fault, PRICER_VALUE,
                         "a message of size %g fits no grid", most);
    *grid = (struct pricer_grid){exponent, limit};
    return PRICER_OK;
}
