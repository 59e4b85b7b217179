/*
 * From a network to one with other numbers, and to the best plan for it.
 */
#include "variant.h"

#include <stdlib.h>
#include <string.h>

enum pricer_status variant_make(const struct pricer_network *network,
                                struct variant *variant)
{
    size_t nodes = (size_t)network->nodes, links = (size_t)network->links;
    struct variant made = {.network = *network};
    made.numbers = calloc(3 * (nodes + links) + 1, sizeof(double));
    if (made.numbers == NULL)
        return PRICER_MEMORY;
    made.uplink = made.network.uplink = made.numbers;
    made.self_eps = made.network.self_eps = made.uplink + nodes;
    made.p = made.network.p = made.self_eps + 2 * nodes;
    made.joint = made.network.joint = made.p + links;
    made.eps = made.network.eps = made.joint + links;
    if (network->server_eps != NULL)
        made.server_eps = made.network.server_eps = made.self_eps + nodes;
    variant_reset(&made, network);
    *variant = made;
    return PRICER_OK;
}

void variant_reset(struct variant *variant,
                   const struct pricer_network *network)
{
    size_t nodes = (size_t)network->nodes * sizeof(double);
    size_t links = (size_t)network->links * sizeof(double);
    memcpy(variant->uplink, network->uplink, nodes);
    memcpy(variant->self_eps, network->self_eps, nodes);
    if (variant->server_eps != NULL)
        memcpy(variant->server_eps, network->server_eps, nodes);
    if (links == 0)
        return;
    memcpy(variant->p, network->p, links);
    memcpy(variant->joint, network->joint, links);
    memcpy(variant->eps, network->eps, links);
}

void variant_free(struct variant *variant)
{
    free(variant->numbers);
}

void variant_scale_links(struct variant *variant, double factor)
{
    for (int32_t l = 0; l < variant->network.links; l++)
        variant->eps[l] *= factor;
}

void variant_scale_server(struct variant *variant, double factor)
{
    for (int32_t i = 0; i < variant->network.nodes; i++) {
        variant->self_eps[i] *= factor;
        if (variant->server_eps != NULL)
            variant->server_eps[i] *= factor;
    }
}

enum pricer_status variant_plan(const struct pricer_network *network,
                                const struct pricer_settings *settings,
                                const struct pricer_plan *warm,
                                struct pricer_plan **best,
                                struct pricer_solve_info *info,
                                struct pricer_error *error)
{
    struct pricer_plan *plan = NULL;
    struct pricer_error found;
    enum pricer_status status =
        pricer_plan_optimise(network, settings, warm, &plan, info, NULL);
    if (status == PRICER_OK)
        status = pricer_plan_evaluate(network, settings, plan, &found, NULL);
    if (status == PRICER_OK && error != NULL)
        *error = found;
    if (status == PRICER_OK && best != NULL)
        *best = plan;
    else
        pricer_plan_free(plan);
    return status;
}
