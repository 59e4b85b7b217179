/*
 * From a scenario to its network: the generators, and the choice between them
 * and files.
 *
 * Every generator is a rule (rules.c) that lists the links leaving one node, in
 * order of their receivers. The network asks for each row twice, once to count and once
 * to fill, so nothing but the network itself is ever in memory.
 */
#include "rules.h"
#include "network.h"
#include "read/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------- links -- */

static enum pricer_status count_links(const struct pri_rule *rule,
                                      const struct pricer_watch *watch,
                                      int32_t *out_start, struct pri_row *row)
{
    int64_t total = 0;
    for (int32_t i = 0; i < rule->nodes; i++) {
        row->count = 0;
        enum pricer_status status = rule->list(rule, i, row);
        if (status != PRICER_OK)
            return status;
        total += row->count;
        if (total > INT32_MAX - 1)
            return PRICER_VALUE;
        out_start[i + 1] = (int32_t)total;
        if (i % 8192 == 0 && !pri_tick(watch, .5 * i / rule->nodes))
            return PRICER_STOPPED;
    }
    return PRICER_OK;
}

static enum pricer_status fill_links(const struct pri_rule *rule,
                                     const struct pricer_watch *watch,
                                     struct pricer_network *net,
                                     struct pri_row *row)
{
    for (int32_t i = 0; i < net->nodes; i++) {
        row->count = 0;
        enum pricer_status status = rule->list(rule, i, row);
        if (status != PRICER_OK)
            return status;
        int32_t first = net->out_start[i];
        for (int32_t k = 0; k < row->count; k++) {
            net->to[first + k] = row->to[k];
            net->p[first + k] = row->p[k];
            net->joint[first + k] = NAN;
            pri_rule_trust(rule, i, row->to[k], net, first + k);
        }
        if (i % 8192 == 0 && !pri_tick(watch, .5 + .5 * i / net->nodes))
            return PRICER_STOPPED;
    }
    return PRICER_OK;
}

/* Count the links, make room for exactly so many, and fill them in. */
static enum pricer_status make_links(struct pri_rule *rule,
                                     const struct pricer_watch *watch,
                                     struct pricer_network *net,
                                     struct pricer_fault *fault)
{
    struct pri_row row = {.counting = true};
    enum pricer_status status = count_links(rule, watch, net->out_start, &row);
    if (status == PRICER_VALUE)
        pri_scenario_fault(rule->scenario, "network.nodes", fault,
                           "the network would have more than %d links",
                           INT32_MAX - 1);
    if (status == PRICER_OK)
        status = pri_network_room(net, net->out_start[net->nodes]);
    row.counting = false;
    if (status == PRICER_OK)
        status = fill_links(rule, watch, net, &row);
    if (status == PRICER_OK)
        pri_network_finish(net, rule->scenario->reciprocity);
    free(row.to);
    free(row.p);
    return status;
}

/* ------------------------------------------------------------ generators -- */

/* The same budget for every node, towards the server or everyone. */
static enum pricer_status give_budgets(const struct pricer_scenario *scenario,
                                       struct pricer_network *net,
                                       struct pricer_fault *fault)
{
    bool forward = scenario->scheme == PRICER_SCHEME_FORWARD;
    double *eps = pri_alloc(net->nodes, sizeof *eps);
    double *delta = pri_alloc(net->nodes, sizeof *delta);
    enum pricer_status status = PRICER_MEMORY;
    if (eps != NULL && delta != NULL) {
        for (int32_t i = 0; i < net->nodes; i++) {
            eps[i] = forward ? scenario->everyone_eps : scenario->server_eps;
            delta[i] =
                forward ? scenario->everyone_delta : scenario->server_delta;
        }
        status = forward ? pri_network_everyone(net, eps, delta, NULL, fault)
                         : pri_network_budget(net, eps, delta, NULL, fault);
    }
    free(eps);
    free(delta);
    return status;
}

/* Names where the scenario lists them, and one diameter for all. */
static enum pricer_status measure(const struct pricer_scenario *scenario,
                                  struct pricer_network *net,
                                  struct pricer_fault *fault)
{
    const struct pri_names *names = &scenario->names;
    if (names->count > 0 && names->count != net->nodes)
        return pri_scenario_fault(scenario, "network.names", fault,
                                  "network.names has %lld names for %d nodes",
                                  (long long)names->count, (int)net->nodes);
    struct pricer_fault wrong = {""};
    enum pricer_status status =
        pri_network_name(net, (const char *const *)names->values, NULL, &wrong);
    if (status == PRICER_VALUE)
        return pri_scenario_fault(scenario, "network.names", fault, "%s",
                                  wrong.text);
    if (status == PRICER_OK)
        status = pri_network_lengths(net, scenario->diameter, NULL, NULL, NULL,
                                     fault);
    return status;
}

/* Nodes first: their positions decide which links there are. */
static enum pricer_status generate(const struct pricer_scenario *scenario,
                                   const struct pricer_watch *watch,
                                   struct pricer_network **network,
                                   struct pricer_fault *fault)
{
    bool placed;
    int32_t nodes = pri_rule_count(scenario, &placed);
    struct pricer_network *net = NULL;
    struct pri_cell_list cells = {0};
    struct pri_rule rule = {.scenario = scenario};
    enum pricer_status status = pri_network_new(nodes, placed, &net);
    if (status != PRICER_OK)
        return status;
    net->dimension = scenario->dimension;
    net->radius = scenario->radius;
    status = pri_rule_nodes(&rule, net, &cells, fault);
    if (status == PRICER_OK)
        status = make_links(&rule, watch, net, fault);
    if (status == PRICER_OK && (scenario->server_eps < INFINITY ||
                                scenario->scheme == PRICER_SCHEME_FORWARD))
        status = give_budgets(scenario, net, fault);
    if (status == PRICER_OK)
        status = measure(scenario, net, fault);
    if (status == PRICER_OK)
        status = pri_network_relate(net, scenario->step, fault);
    free(cells.start);
    if (status != PRICER_OK) {
        pricer_network_free(net);
        return status;
    }
    *network = net;
    return PRICER_OK;
}

/* Two CSV files. A trust that is missing in both files and scenario is NAN, and
 * the reader says so where it first matters. */
static enum pricer_status read_files(const struct pricer_scenario *scenario,
                                     const struct pricer_watch *watch,
                                     struct pricer_network **network,
                                     struct pricer_fault *fault)
{
    const struct pri_trust_default trust = {
        scenario->eps,
        scenario->delta,
        scenario->self_eps,
        scenario->self_delta,
        scenario->server_eps,
        scenario->server_delta,
        isnan(scenario->everyone_eps) ? 0 : scenario->everyone_eps,
        scenario->everyone_delta,
        scenario->scheme + 1};
    const struct pri_measures measures = {scenario->dimension, scenario->radius,
                                          scenario->reciprocity,
                                          scenario->diameter};
    char *nodes = pri_scenario_path(scenario, scenario->nodes_file);
    char *links = pri_scenario_path(scenario, scenario->links_file);
    struct pricer_network *made = NULL;
    enum pricer_status status = PRICER_MEMORY;
    if (nodes != NULL && links != NULL)
        status = pri_csv_network(nodes, links, &measures, &trust, watch, &made,
                                 fault);
    free(nodes);
    free(links);
    if (status == PRICER_OK && scenario->scheme < 0)
        status = pri_scenario_check_scheme(scenario,
                                           made->everyone_eps != NULL
                                               ? PRICER_SCHEME_FORWARD
                                               : PRICER_SCHEME_SUM,
                                           fault);
    if (status == PRICER_OK)
        status = pri_network_relate(made, scenario->step, fault);
    if (status == PRICER_OK)
        *network = made;
    else
        pricer_network_free(made);
    return status;
}

enum pricer_status pricer_scenario_network(
    const struct pricer_scenario *scenario, const struct pricer_watch *watch,
    struct pricer_network **network, struct pricer_fault *fault)
{
    if (scenario->generator == PRI_GENERATOR_FILES)
        return read_files(scenario, watch, network, fault);
    return generate(scenario, watch, network, fault);
}
