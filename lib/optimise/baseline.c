/*
 * From a network to the plans that the planner's answer is compared with: no
 * collaboration in three ways, and collaboration without privacy.
 *
 * Without collaboration the network has no links; the best plan of that kind is
 * the optimiser's on the same nodes. Collaboration without privacy is ColRel,
 * the unbiased plan of least error when no link needs noise.
 */
#include "optimise.h"
#include "calibrate/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The nodes alone: arrays of the network are shared, `start` is [nodes + 1]
 * zeros for both indices. */
static struct pricer_network without_links(const struct pricer_network *network,
                                           int32_t *start)
{
    struct pricer_network bare = *network;
    bare.links = 0;
    bare.out_start = bare.in_start = start;
    return bare;
}

/* Every node for itself with weight 1, or with 1/p so that no bias is left. */
static enum pricer_status fixed_weights(const struct pricer_network *bare,
                                        const struct pricer_settings *settings,
                                        bool unbiased, struct pricer_plan *plan,
                                        struct pricer_fault *fault)
{
    double none;
    enum pricer_status status =
        pri_noise_slopes(bare, settings, &none, plan->self_noise, fault);
    for (int32_t i = 0; i < bare->nodes && status == PRICER_OK; i++) {
        double weight = unbiased ? 1 / bare->uplink[i] : 1;
        if (!isfinite(weight))
            return pri_fault(fault, PRICER_INFEASIBLE,
                             "node %d never reaches the server by itself",
                             (int)i);
        plan->self_weight[i] = weight;
        plan->self_noise[i] *= weight;
    }
    return status;
}

static enum pricer_status best_weights(const struct pricer_network *bare,
                                       const struct pricer_settings *settings,
                                       struct pricer_plan *plan,
                                       struct pricer_fault *fault)
{
    struct pricer_plan *best = NULL;
    struct pricer_solve_info info;
    enum pricer_status status =
        pricer_plan_optimise(bare, settings, NULL, &best, &info, fault);
    if (status != PRICER_OK)
        return status;
    size_t bytes = (size_t)bare->nodes * sizeof(double);
    memcpy(plan->self_weight, best->self_weight, bytes);
    memcpy(plan->self_noise, best->self_noise, bytes);
    pricer_plan_free(best);
    return PRICER_OK;
}

static enum pricer_status colrel(const struct pricer_network *network,
                                 const struct pricer_settings *settings,
                                 struct pricer_plan **plan,
                                 struct pricer_fault *fault)
{
    struct pricer_settings unbiased = *settings;
    struct pricer_solve_info info;
    double *slope = pri_alloc(network->links, sizeof *slope);
    double *self_slope = pri_alloc(network->nodes, sizeof *self_slope);
    enum pricer_status status = PRICER_MEMORY;
    unbiased.bias = PRICER_BIAS_UNBIASED;
    if (slope != NULL && self_slope != NULL)
        status = pri_optimise(network, &unbiased, slope, self_slope, NULL, plan,
                              &info, fault);
    free(slope);
    free(self_slope);
    return status;
}

enum pricer_status pricer_plan_baseline(const struct pricer_network *network,
                                        const struct pricer_settings *settings,
                                        enum pricer_baseline baseline,
                                        struct pricer_plan **plan,
                                        struct pricer_fault *fault)
{
    if (baseline == PRICER_BASELINE_COLREL)
        return colrel(network, settings, plan, fault);
    struct pricer_plan *made = NULL;
    int32_t *start = pri_alloc((int64_t)network->nodes + 1, sizeof *start);
    enum pricer_status status = PRICER_MEMORY;
    if (start != NULL)
        status = pricer_plan_new(network, &made, fault);
    if (status != PRICER_OK)
        goto done;
    struct pricer_network bare = without_links(network, start);
    if (baseline == PRICER_BASELINE_BEST)
        status = best_weights(&bare, settings, made, fault);
    else
        status = fixed_weights(
            &bare, settings, baseline == PRICER_BASELINE_UNBIASED, made, fault);
    if (status == PRICER_OK) {
        *plan = made;
        made = NULL;
    }
done:
    free(start);
    pricer_plan_free(made);
    return status;
}
