/*
 * From a network to what its plan is held against: perfect links, full trust,
 * and the network after each change that an operator could make.
 */
#include "yardsticks.h"
#include "variant.h"

#include <math.h>
#include <stdlib.h>

/* A change is by this factor, of eps, dimension and nodes. */
enum { FACTOR = 4 };

/* The least worst case, or NAN. */
static double least(const struct pricer_network *network,
                    const struct pricer_settings *asked)
{
    struct pricer_settings settings = *asked;
    struct pricer_solve_info info;
    struct pricer_error error;
    settings.bias = PRICER_BIAS_WORST_CASE;
    settings.lambda = 0;
    settings.tolerance = 1e-6; /* four digits are shown */
    settings.iterations = 0;
    if (variant_plan(network, &settings, NULL, NULL, &info, &error) !=
            PRICER_OK ||
        info.outcome == PRICER_OUTCOME_STOPPED)
        return NAN;
    return error.mse_worst_case;
}

static double least_alone(const struct pricer_network *network,
                          const struct pricer_settings *asked)
{
    struct pricer_settings settings = *asked;
    struct pricer_error error = {.mse_worst_case = NAN};
    struct pricer_plan *plan = NULL;
    settings.bias = PRICER_BIAS_WORST_CASE;
    settings.lambda = 0;
    settings.tolerance = 1e-6;
    if (pricer_plan_baseline(network, &settings, PRICER_BASELINE_BEST, &plan,
                             NULL) == PRICER_OK)
        pricer_plan_evaluate(network, &settings, plan, &error, NULL);
    pricer_plan_free(plan);
    return error.mse_worst_case;
}

static void never_fail(struct variant *variant)
{
    for (int32_t i = 0; i < variant->network.nodes; i++)
        variant->uplink[i] = 1;
    for (int32_t l = 0; l < variant->network.links; l++) {
        variant->p[l] = 1;
        variant->joint[l] = variant->network.partner[l] >= 0;
    }
}

void yardsticks_find(const struct pricer_network *network,
                     const struct pricer_settings *settings,
                     struct yardsticks *found)
{
    struct variant variant;
    found->steady = found->trusted = NAN;
    found->remedies = 0;
    found->alone = least_alone(network, settings);
    if (network->links > YARDSTICK_LINKS ||
        variant_make(network, &variant) != PRICER_OK)
        return;
    never_fail(&variant);
    found->steady = least(&variant.network, settings);
    variant_reset(&variant, network);
    variant_scale_links(&variant, INFINITY);
    variant_scale_server(&variant, INFINITY);
    found->trusted = least(&variant.network, settings);
    variant_free(&variant);
}

/* ------------------------------------------------------------- remedies -- */

/* FACTOR copies of a network beside each other, none linked to another: no
 * better than as many nodes that are. */
struct copies {
    double *nodes, *links; /* blocks of `count` numbers */
    int32_t *ends;
    struct pricer_network_arrays arrays;
};

static double *repeat(double *at, const double *from, int32_t count)
{
    for (int32_t k = 0; k < FACTOR * count; k++)
        at[k] = from[k % count];
    return at;
}

static void lay_out(const struct pricer_network *net, struct copies *made)
{
    struct pricer_network_arrays *to = &made->arrays;
    size_t nodes = FACTOR * (size_t)net->nodes;
    size_t links = FACTOR * (size_t)net->links;
    *to = (struct pricer_network_arrays){.dimension = net->dimension,
                                         .radius = net->radius,
                                         .node_count = (int64_t)nodes,
                                         .link_count = (int64_t)links};
    to->uplink = repeat(made->nodes, net->uplink, net->nodes);
    to->self_eps = repeat(made->nodes + nodes, net->self_eps, net->nodes);
    to->self_delta =
        repeat(made->nodes + 2 * nodes, net->self_delta, net->nodes);
    if (net->server_eps != NULL) {
        to->server_eps =
            repeat(made->nodes + 3 * nodes, net->server_eps, net->nodes);
        to->server_delta =
            repeat(made->nodes + 4 * nodes, net->server_delta, net->nodes);
    }
    to->node_radius =
        repeat(made->nodes + 5 * nodes, net->node_radius, net->nodes);
    to->node_diameter =
        repeat(made->nodes + 6 * nodes, net->node_diameter, net->nodes);
    to->p = repeat(made->links, net->p, net->links);
    to->eps = repeat(made->links + links, net->eps, net->links);
    to->delta = repeat(made->links + 2 * links, net->delta, net->links);
    double *joint = repeat(made->links + 3 * links, net->joint, net->links);
    for (size_t k = 0; k < links; k++) {
        size_t l = k % (size_t)net->links;
        int32_t shift = (int32_t)(k / (size_t)net->links) * net->nodes;
        made->ends[k] = net->from[l] + shift;
        made->ends[links + k] = net->to[l] + shift;
        joint[k] = net->partner[l] >= 0 ? joint[k] : NAN;
    }
    to->joint = joint;
    to->from = made->ends;
    to->to = made->ends + links;
}

static double with_more_nodes(const struct pricer_network *network,
                              const struct pricer_settings *settings)
{
    size_t nodes = FACTOR * (size_t)network->nodes;
    size_t links = FACTOR * (size_t)network->links;
    struct copies made = {calloc(7 * nodes + 1, sizeof(double)),
                          calloc(4 * links + 1, sizeof(double)),
                          calloc(2 * links + 1, sizeof(int32_t)),
                          {0}};
    struct pricer_network *larger = NULL;
    double found = NAN;
    if (made.nodes == NULL || made.links == NULL || made.ends == NULL)
        goto done;
    lay_out(network, &made);
    if (pricer_network_build_arrays(&made.arrays, &larger, NULL, NULL) ==
        PRICER_OK)
        found = least(larger, settings);
done:
    pricer_network_free(larger);
    free(made.nodes);
    free(made.links);
    free(made.ends);
    return found;
}

static void add(struct yardsticks *found, const char *words, double worst_case)
{
    int at = found->remedies;
    if (isnan(worst_case))
        return;
    found->remedies++;
    for (; at > 0 && found->remedy[at - 1].worst_case > worst_case; at--)
        found->remedy[at] = found->remedy[at - 1];
    found->remedy[at] = (struct remedy){words, worst_case};
}

void yardsticks_remedies(const struct pricer_network *network,
                         const struct pricer_settings *settings,
                         struct yardsticks *found)
{
    struct variant variant;
    found->remedies = 0;
    if (network->links > YARDSTICK_LINKS ||
        variant_make(network, &variant) != PRICER_OK)
        return;
    if (settings->bias != PRICER_BIAS_WORST_CASE)
        add(found, "--bias worst-case", least(network, settings));
    variant_scale_links(&variant, FACTOR);
    variant_scale_server(&variant, FACTOR);
    add(found, "4 times the eps of every budget",
        least(&variant.network, settings));
    variant_reset(&variant, network);
    for (int32_t i = 0; i < network->nodes; i++)
        variant.uplink[i] = (1 + network->uplink[i]) / 2;
    add(found, "every uplink failing half as often",
        least(&variant.network, settings));
    variant_reset(&variant, network);
    variant.network.dimension = (network->dimension + FACTOR - 1) / FACTOR;
    if (network->dimension > 1)
        add(found, "a quarter of the dimension",
            least(&variant.network, settings));
    variant_free(&variant);
    if (network->links <= YARDSTICK_LINKS / FACTOR)
        add(found, "4 times as many nodes, in groups like this one",
            with_more_nodes(network, settings));
}
