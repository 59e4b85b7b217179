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
 * A budget towards the server is divided evenly among the links of its node, so
 * that it moves the slopes of those links whose own budgets ask for less noise;
 * its price is the sum of theirs. Where it does, a link's own budget moves
 * nothing and has the price 0.
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

/* Which budgets move. */
enum budgets { OF_LINKS, OF_SERVER };

/* The slopes when every eps is multiplied by a factor. */
static enum pricer_status slopes_at(const struct pricer_network *network,
                                    const struct pricer_settings *settings,
                                    enum budgets which, double factor,
                                    struct difference *difference,
                                    double *slope, double *self_slope,
                                    struct pricer_fault *fault)
{
    struct pricer_network moved = *network;
    const double *node_eps =
        which == OF_SERVER ? network->server_eps : network->self_eps;
    for (int32_t i = 0; i < network->nodes; i++)
        difference->self_eps[i] = node_eps[i] * factor;
    for (int32_t l = 0; l < network->links; l++)
        difference->eps[l] = network->eps[l] * factor;
    if (which == OF_SERVER) {
        moved.server_eps = difference->self_eps;
    } else {
        moved.eps = difference->eps;
        moved.self_eps = difference->self_eps;
    }
    return pri_noise_slopes(&moved, settings, slope, self_slope, fault);
}

/* 2 N d ln slope / d ln eps from the slopes on both sides; 0 for full trust. */
static double price_of(double noise, double above, double below)
{
    return above > 0 && below > 0
               ? noise * (log(above / below) / (2 * DIFFERENCE))
               : 0;
}

/* What moving the budgets of a kind changes, by link and by own part. */
static enum pricer_status prices(const struct pricer_network *network,
                                 const struct pricer_settings *settings,
                                 const struct pricer_plan *plan,
                                 enum budgets which, double *price,
                                 double *self_price, struct pricer_fault *fault)
{
    struct difference here = {0};
    enum pricer_status status = PRICER_MEMORY;
    if (plan->nodes != network->nodes || plan->links != network->links)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan is not for this network");
    if (difference_new(network, &here))
        status = slopes_at(network, settings, which, exp(-DIFFERENCE), &here,
                           here.below, here.self_below, fault);
    if (status == PRICER_OK)
        status = slopes_at(network, settings, which, exp(DIFFERENCE), &here,
                           here.above, here.self_above, fault);
    if (status != PRICER_OK)
        goto done;
    double n = network->nodes, scale = 2 * (double)network->dimension / n / n;
    for (int32_t l = 0; l < network->links; l++) {
        double reach = network->uplink[network->to[l]] * network->p[l];
        double noise = scale * reach * plan->noise[l] * plan->noise[l];
        price[l] = price_of(noise, here.above[l], here.below[l]);
    }
    for (int32_t i = 0; i < network->nodes; i++) {
        double noise = scale * network->uplink[i] * plan->self_noise[i] *
                       plan->self_noise[i];
        self_price[i] = price_of(noise, here.self_above[i], here.self_below[i]);
    }
done:
    difference_free(&here);
    return status;
}

enum pricer_status pricer_trust_price(const struct pricer_network *network,
                                      const struct pricer_settings *settings,
                                      const struct pricer_plan *plan,
                                      double *price, double *self_price,
                                      struct pricer_fault *fault)
{
    return prices(network, settings, plan, OF_LINKS, price, self_price, fault);
}

enum pricer_status pricer_trust_server_price(
    const struct pricer_network *network,
    const struct pricer_settings *settings, const struct pricer_plan *plan,
    double *price, struct pricer_fault *fault)
{
    if (network->server_eps == NULL) {
        for (int32_t i = 0; i < network->nodes; i++)
            price[i] = 0;
        return PRICER_OK;
    }
    double *link_price = pri_alloc(network->links, sizeof *link_price);
    enum pricer_status status = link_price == NULL
                                    ? PRICER_MEMORY
                                    : prices(network, settings, plan, OF_SERVER,
                                             link_price, price, fault);
    for (int32_t l = 0; l < network->links && status == PRICER_OK; l++)
        price[network->from[l]] += link_price[l];
    free(link_price);
    return status;
}
