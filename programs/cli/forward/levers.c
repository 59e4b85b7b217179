/*
 * From a network with budgets towards everyone to scheme sum at the same
 * guarantee, and from slopes to the few links, the hop or the eps that would
 * lower the error most.
 */
#include "levers.h"

#include <math.h>
#include <stdlib.h>

/* Better by a tenth: 10 % fewer failures, 10 % more eps. */
#define CHANGE 0.1

/* ------------------------------------------------------------ comparison -- */

/* Budgets of sums: of links, then of nodes. */
struct sum_budgets {
    double *eps, *delta;           /* [links] */
    double *node_eps, *node_delta; /* [nodes] */
};

static bool spread_budgets(const struct pricer_network *net,
                           const struct sum_budgets *to)
{
    for (int32_t i = 0; i < net->nodes; i++) {
        to->node_eps[i] = net->everyone_eps[i];
        to->node_delta[i] = net->everyone_delta[i];
        if (!(net->everyone_delta[i] > 0))
            return false;
    }
    for (int32_t l = 0; l < net->links; l++) {
        to->eps[l] = net->everyone_eps[net->from[l]];
        to->delta[l] = net->everyone_delta[net->from[l]];
    }
    return true;
}

static double least_sum(const struct pricer_network *network, int64_t rounds,
                        const struct pricer_watch *watch)
{
    struct pricer_settings settings = {
        .rounds = rounds, .tolerance = 1e-6, .threads = 1, .watch = watch};
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    struct pricer_error error = {.mse_worst_case = NAN};
    if (pricer_plan_optimise(network, &settings, NULL, &plan, &info, NULL) ==
            PRICER_OK &&
        info.outcome != PRICER_OUTCOME_STOPPED)
        pricer_plan_evaluate(network, &settings, plan, &error, NULL);
    pricer_plan_free(plan);
    return error.mse_worst_case;
}

double forward_sum_error(const struct pricer_network *network, int64_t rounds,
                         const struct pricer_watch *watch)
{
    size_t nodes = (size_t)network->nodes, links = (size_t)network->links;
    double found = NAN;
    if (network->links > SUM_LINKS)
        return NAN;
    double *numbers = calloc(2 * (nodes + links), sizeof *numbers);
    if (numbers == NULL)
        return NAN;
    struct sum_budgets to = {numbers, numbers + links, numbers + 2 * links,
                             numbers + 2 * links + nodes};
    if (spread_budgets(network, &to)) {
        struct pricer_network sum = *network;
        sum.everyone_eps = sum.everyone_delta = NULL;
        sum.eps = to.eps;
        sum.delta = to.delta;
        sum.self_eps = sum.server_eps = to.node_eps;
        sum.self_delta = sum.server_delta = to.node_delta;
        found = least_sum(&sum, rounds, watch);
    }
    free(numbers);
    return found;
}

/* ---------------------------------------------------------------- levers -- */

static void keep(struct lever found[LEVERS], int *count, struct lever lever)
{
    int at = *count;
    lever.saves = -lever.slope * CHANGE * (1 - lever.p);
    if (!(lever.saves > 0) ||
        (at == LEVERS && lever.saves <= found[at - 1].saves))
        return;
    if (at < LEVERS)
        ++*count;
    else
        at--;
    for (; at > 0 && found[at - 1].saves < lever.saves; at--)
        found[at] = found[at - 1];
    found[at] = lever;
}

int forward_levers(const struct pricer_network *network,
                   const struct pricer_forward_slopes *slopes,
                   struct lever found[LEVERS])
{
    int count = 0;
    for (int32_t i = 0; i < network->nodes; i++)
        keep(found, &count,
             (struct lever){i, PRICER_SERVER, network->uplink[i],
                            slopes->uplink[i], slopes->uplink_stderr[i], 0});
    for (int32_t l = 0; l < network->links; l++)
        keep(found, &count,
             (struct lever){network->from[l], network->to[l], network->p[l],
                            slopes->link[l], slopes->link_stderr[l], 0});
    return count;
}

double forward_eps_slope(const struct pricer_forward_slopes *slopes)
{
    double sum = 0;
    for (int32_t i = 0; i < slopes->nodes; i++)
        sum += slopes->eps[i];
    return sum;
}

double forward_eps_saves(const struct pricer_network *network,
                         const struct pricer_forward_slopes *slopes)
{
    double sum = 0;
    for (int32_t i = 0; i < slopes->nodes; i++)
        sum -= CHANGE * network->everyone_eps[i] * slopes->eps[i];
    return sum;
}

/* "uplink of node 3", "link from node 3 to node 7". */
static void lever_words(const struct pricer_network *network,
                        const struct lever *lever, char *text, size_t room)
{
    if (lever->to == PRICER_SERVER)
        snprintf(text, room, "uplink of node %s",
                 node_label(network, lever->from).text);
    else
        snprintf(text, room, "link from node %s to node %s",
                 node_label(network, lever->from).text,
                 node_label(network, lever->to).text);
}

void forward_print_levers(const struct pricer_network *network,
                          const struct pricer_forward_plan *plan,
                          const struct pricer_forward_slopes *slopes)
{
    struct lever found[LEVERS];
    char words[400], name[2 * PRICER_NAME_TEXT + 64], first[sizeof name] = "";
    double mse = plan->mse_worst_case;
    int count = forward_levers(network, slopes, found);
    struct table *table = table_new(
        4, (const char *const[]){"what would lower the error", "p",
                                 "d error / d p", "10 % fewer failures save"});
    for (int k = 0; k < count; k++) {
        lever_words(network, &found[k], name, sizeof name);
        if (k == 0)
            snprintf(first, sizeof first, "%s", name);
        table_cell(table, "%s", name);
        table_cell(table, "%.4g", found[k].p);
        if (found[k].slope_stderr > 0)
            table_cell(table, "%.3g +- %.1g", found[k].slope,
                       found[k].slope_stderr);
        else
            table_cell(table, "%.4g", found[k].slope);
        table_cell(table, "%.3g %%", 100 * found[k].saves / mse);
    }
    table_print(table, stdout);
    if (count > 0 && found[0].p == 0)
        snprintf(words, sizeof words,
                 "An %s would lower the error most: with p = 0.1 it saves "
                 "%.3g %% of it, to first order",
                 first, 100 * found[0].saves / mse);
    else if (count > 0)
        snprintf(words, sizeof words,
                 "Improving the %s would lower the error most: 10 %% fewer "
                 "failures save %.3g %% of it, to first order",
                 first, 100 * found[0].saves / mse);
    else
        snprintf(words, sizeof words, "No better link lowers the error");
    program_words("Links:", words);
    snprintf(words, sizeof words, "one more saves %.3g %% of the error",
             fmax(-100 * slopes->hop / mse, 0));
    program_words("Hops:", words);
    snprintf(words, sizeof words,
             "d error / d eps = %.4g, all nodes together; 10 %% more eps for "
             "everyone saves %.3g %% of the error, to first order",
             forward_eps_slope(slopes),
             100 * forward_eps_saves(network, slopes) / mse);
    program_words("Budgets:", words);
}

void forward_json_levers(struct json *json,
                         const struct pricer_network *network,
                         const struct pricer_forward_plan *plan,
                         const struct pricer_forward_slopes *slopes)
{
    struct lever found[LEVERS];
    double mse = plan->mse_worst_case;
    int count = forward_levers(network, slopes, found);
    json_open(json, "sensitivity", '{');
    json_number(json, "hop", slopes->hop);
    json_number(json, "eps", forward_eps_slope(slopes));
    json_number(json, "eps_saves", forward_eps_saves(network, slopes) / mse);
    json_count(json, "patterns", slopes->patterns);
    json_open(json, "links", '[');
    for (int k = 0; k < count; k++) {
        json_open(json, NULL, '{');
        json_text(json, "of", found[k].to < 0 ? "uplink" : "link");
        json_count(json, "from", found[k].from);
        json_name(json, "from_name", network, found[k].from);
        if (found[k].to >= 0) {
            json_count(json, "to", found[k].to);
            json_name(json, "to_name", network, found[k].to);
        }
        json_number(json, "p", found[k].p);
        json_number(json, "slope", found[k].slope);
        json_number(json, "slope_stderr", found[k].slope_stderr);
        json_number(json, "saves", found[k].saves / mse);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}
