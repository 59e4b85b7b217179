/*
 * From counts of what arrived to intervals for the probabilities, and to the
 * network to plan with next.
 */
#include "network.h"
#include "pricer_study.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

void pricer_deliveries_free(struct pricer_deliveries *deliveries)
{
    if (deliveries == NULL)
        return;
    free(deliveries->uplink);
    free(deliveries->link);
    free(deliveries->both);
    free(deliveries);
}

/* z with P(|N(0, 1)| < z) = confidence, by bisection; at most 38. */
static double two_sided(double confidence)
{
    double low = 0, high = 38;
    for (int k = 0; k < 80; k++) {
        double middle = (low + high) / 2;
        if (erfc(middle / sqrt(2)) > 1 - confidence)
            low = middle;
        else
            high = middle;
    }
    return high;
}

void pricer_delivery_interval(const struct pricer_delivery *delivery,
                              double confidence, double *low, double *high)
{
    if (delivery->tried <= 0) {
        *low = 0;
        *high = 1;
        return;
    }
    double n = (double)delivery->tried, share = (double)delivery->arrived / n;
    double z = two_sided(confidence), square = z * z;
    double middle = (share + square / (2 * n)) / (1 + square / n);
    double half = z / (1 + square / n) *
                  sqrt(share * (1 - share) / n + square / (4 * n * n));
    *low = delivery->arrived == 0 ? 0 : fmax(0, middle - half);
    *high = delivery->arrived == delivery->tried ? 1 : fmin(1, middle + half);
}

static double measured(const struct pricer_delivery *delivery, double p)
{
    return ((double)delivery->arrived + 2 * p) / ((double)delivery->tried + 2);
}

/* Both directions get one joint, within the bounds of their probabilities. */
static double measured_joint(const struct pricer_network *network,
                             const struct pricer_deliveries *deliveries,
                             int32_t l)
{
    int32_t back = network->partner[l];
    if (back < 0)
        return NAN;
    int32_t one = l < back ? l : back;
    double p = measured(&deliveries->link[l], network->p[l]);
    double p_back = measured(&deliveries->link[back], network->p[back]);
    double both = measured(&deliveries->both[one], network->joint[one]);
    return fmin(fmax(both, p * p_back), fmin(p, p_back));
}

enum pricer_status pricer_network_measured(
    const struct pricer_network *network,
    const struct pricer_deliveries *deliveries, struct pricer_network **result,
    struct pricer_fault *fault)
{
    assert(deliveries->links == network->links);
    struct pricer_node *nodes = pri_alloc(network->nodes, sizeof *nodes);
    struct pricer_link *links = pri_alloc(network->links, sizeof *links);
    const char **names = pri_alloc(network->nodes, sizeof *names);
    struct pricer_network *made = NULL;
    struct pricer_place place;
    enum pricer_status status = PRICER_MEMORY;
    if (nodes == NULL || links == NULL || names == NULL)
        goto done;
    for (int32_t i = 0; i < network->nodes && network->name != NULL; i++)
        names[i] = network->name[i];
    for (int32_t i = 0; i < network->nodes; i++)
        nodes[i] = (struct pricer_node){
            measured(&deliveries->uplink[i], network->uplink[i]),
            network->self_eps[i], network->self_delta[i],
            network->x != NULL ? network->x[i] : NAN,
            network->y != NULL ? network->y[i] : NAN};
    for (int32_t l = 0; l < network->links; l++)
        links[l] =
            (struct pricer_link){network->from[l],
                                 network->to[l],
                                 measured(&deliveries->link[l], network->p[l]),
                                 measured_joint(network, deliveries, l),
                                 network->eps[l],
                                 network->delta[l]};
    status = pricer_network_build(
        &(struct pricer_network_parts){
            network->dimension, network->radius, 0, nodes, network->nodes,
            links, network->links, network->server_eps, network->server_delta},
        &made, &place, fault);
    if (status == PRICER_OK && network->everyone_eps != NULL)
        status = pri_network_everyone(made, network->everyone_eps,
                                      network->everyone_delta, NULL, fault);
    if (status == PRICER_OK)
        status = pri_network_name(made, names, NULL, fault);
    if (status == PRICER_OK)
        status = pri_network_lengths(made, 0, network->node_radius,
                                     network->node_diameter, NULL, fault);
    if (status == PRICER_OK) {
        made->reach = network->reach;
        *result = made;
    } else {
        pricer_network_free(made);
    }
done:
    free(nodes);
    free(links);
    free(names);
    return status;
}
