/*
 * From a plan to the price of trust: which link to negotiate.
 *
 * The optimal error F* depends on the budget of link l through its noise slope
 * alone, and the slope stands in one term of the objective, the noise
 *
 *     N_l = (d / n^2) p_j p_ij slope_l^2 weight_l^2.
 *
 * By the envelope theorem the optimum moves, to first order, as that term does
 * while the weights stay where they are:
 *
 *     dF* / d ln eps_l = 2 N_l (d ln slope_l / d ln eps_l),
 *
 * never above zero: more trust never costs anything. A bias term's rule or a
 * kink changes nothing in this, as budgets do not enter them. The last factor,
 * -1 for the classic calibration, is taken from the calibration itself by a
 * central difference, so that it holds for every calibration and number of
 * rounds.
 *
 * With a budget towards the server, sum_j m_lj <= M_i, of multiplier k_i, a
 * link's own budget c_l counts for as much as its noise exceeds what the row's
 * budget would charge for c_l, and the budget itself by its multiplier:
 *
 *     dF* / d ln eps_l = 2 max(0, N_l - k_i c_l / n^2) d ln slope_l / d ln eps,
 *     dF* / d ln eps_i = 2 (k_i M_i / n^2) d ln slope_i / d ln eps.
 */
#include "calibrate/calibrate.h"

#include <math.h>
#include <stdlib.h>

/* Half the difference in ln eps: the error of the factor is about DIFFERENCE^2,
 * and a slope's last digits 1e-12 / DIFFERENCE. */
#define DIFFERENCE 3e-4

/* The moved budgets, and the slopes below and above. */
struct difference {
    double *eps, *below, *above;                /* [links] */
    double *self_eps, *self_below, *self_above; /* [nodes] */
};

static bool difference_new(const struct pricer_network *network,
                           struct difference *made)
{
    made->eps = pri_alloc(network->links, sizeof(double));
    made->below = pri_alloc(network->links, sizeof(double));
    made->above = pri_alloc(network->links, sizeof(double));
    made->self_eps = pri_alloc(network->nodes, sizeof(double));
    made->self_below = pri_alloc(network->nodes, sizeof(double));
    made->self_above = pri_alloc(network->nodes, sizeof(double));
    return made->eps && made->below && made->above && made->self_eps &&
           made->self_below && made->self_above;
}

static void difference_free(struct difference *difference)
{
    free(difference->eps);
    free(difference->below);
    free(difference->above);
    free(difference->self_eps);
    free(difference->self_below);
    free(difference->self_above);
}

/* The slopes when every eps is multiplied by a factor. */
static enum pricer_status slopes_at(const struct pricer_network *network,
                                    const struct pricer_settings *settings,
                                    double factor,
                                    struct difference *difference,
                                    double *slope, double *self_slope,
                                    struct pricer_fault *fault)
{
    struct pricer_network moved = *network;
    for (int32_t l = 0; l < network->links; l++)
        difference->eps[l] = network->eps[l] * factor;
    for (int32_t i = 0; i < network->nodes; i++)
        difference->self_eps[i] = network->self_eps[i] * factor;
    moved.eps = difference->eps;
    moved.self_eps = difference->self_eps;
    return pri_noise_slopes(&moved, settings, slope, self_slope, fault);
}

/* d ln slope / d ln eps from the slopes on both sides; 0 for full trust. */
static double elasticity(double above, double below)
{
    return above > 0 && below > 0 ? log(above / below) / (2 * DIFFERENCE) : 0;
}

/* 2 k_i m / n^2, m the squared ratio that the slopes stand for. */
static double charged(const struct pricer_network *network,
                      const struct pricer_plan *plan, int32_t i, double above,
                      double below)
{
    double n = network->nodes, width = 2 * network->node_radius[i] / n;
    if (plan->server_multiplier == NULL || plan->server_multiplier[i] == 0 ||
        !(above > 0 && below > 0))
        return 0;
    return 2 * plan->server_multiplier[i] * (width / above) * (width / below);
}

enum pricer_status pricer_trust_price(const struct pricer_network *network,
                                      const struct pricer_settings *settings,
                                      const struct pricer_plan *plan,
                                      double *price, double *self_price,
                                      struct pricer_fault *fault)
{
    struct difference here = {0};
    enum pricer_status status = PRICER_MEMORY;
    if (plan->nodes != network->nodes || plan->links != network->links)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan is not for this network");
    if (difference_new(network, &here))
        status = slopes_at(network, settings, exp(-DIFFERENCE), &here,
                           here.below, here.self_below, fault);
    if (status == PRICER_OK)
        status = slopes_at(network, settings, exp(DIFFERENCE), &here,
                           here.above, here.self_above, fault);
    if (status != PRICER_OK)
        goto done;
    double n = network->nodes, scale = 2 * (double)network->dimension / n / n;
    for (int32_t l = 0; l < network->links; l++) {
        double reach = network->uplink[network->to[l]] * network->p[l];
        double noise = scale * reach * plan->noise[l] * plan->noise[l];
        noise = fmax(0, noise - charged(network, plan, network->from[l],
                                        here.above[l], here.below[l]));
        price[l] = noise * elasticity(here.above[l], here.below[l]);
    }
    for (int32_t i = 0; i < network->nodes; i++) {
        double noise = scale * network->uplink[i] * plan->self_noise[i] *
                       plan->self_noise[i];
        noise = fmax(0, noise - charged(network, plan, i, here.self_above[i],
                                        here.self_below[i]));
        self_price[i] =
            noise * elasticity(here.self_above[i], here.self_below[i]);
    }
done:
    difference_free(&here);
    return status;
}

enum pricer_status pricer_trust_server_price(
    const struct pricer_network *network,
    const struct pricer_settings *settings, const struct pricer_plan *plan,
    double *price, struct pricer_fault *fault)
{
    struct pricer_network moved = *network;
    double *eps = pri_alloc(network->nodes, sizeof *eps);
    double *below = pri_alloc(network->nodes, sizeof *below);
    double *above = pri_alloc(network->nodes, sizeof *above);
    enum pricer_status status = PRICER_MEMORY;
    if (eps == NULL || below == NULL || above == NULL)
        goto done;
    status = PRICER_OK;
    for (int side = 0; side < 2 && network->server_eps != NULL; side++) {
        for (int32_t i = 0; i < network->nodes; i++)
            eps[i] =
                network->server_eps[i] * exp(side ? DIFFERENCE : -DIFFERENCE);
        moved.server_eps = eps;
        status =
            pri_server_slopes(&moved, settings, side ? above : below, fault);
        if (status != PRICER_OK)
            goto done;
    }
    for (int32_t i = 0; i < network->nodes; i++)
        price[i] = charged(network, plan, i, above[i], below[i]) *
                   elasticity(above[i], below[i]);
done:
    free(eps);
    free(below);
    free(above);
    return status;
}
