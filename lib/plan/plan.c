/*
 * The plan as a container: room for the weight and the noise of every link of
 * one network, and for the multipliers that certify them.
 */
#include "base/base.h"

#include <stdlib.h>

enum pricer_status pricer_plan_new(const struct pricer_network *network,
                                   struct pricer_plan **plan,
                                   struct pricer_fault *fault)
{
    struct pricer_plan *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    made->nodes = network->nodes;
    made->links = network->links;
    made->weight = pri_alloc(network->links, sizeof(double));
    made->noise = pri_alloc(network->links, sizeof(double));
    made->self_weight = pri_alloc(network->nodes, sizeof(double));
    made->self_noise = pri_alloc(network->nodes, sizeof(double));
    made->row_multiplier = pri_alloc(network->nodes, sizeof(double));
    made->relay_multiplier = pri_alloc(network->nodes, sizeof(double));
    if (!made->weight || !made->noise || !made->self_weight ||
        !made->self_noise || !made->row_multiplier || !made->relay_multiplier) {
        pricer_plan_free(made);
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    }
    *plan = made;
    return PRICER_OK;
}

void pricer_plan_free(struct pricer_plan *plan)
{
    if (plan == NULL)
        return;
    free(plan->weight);
    free(plan->noise);
    free(plan->self_weight);
    free(plan->self_noise);
    free(plan->row_multiplier);
    free(plan->relay_multiplier);
    free(plan);
}
