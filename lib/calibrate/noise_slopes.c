/*
 * From a network's trust to its noise slopes: the standard deviation of the
 * noise that each link adds for one unit of weight.
 *
 * The data that a link carries lies in a ball of radius R, so weight * x moves
 * by at most 2 R weight: a link of signal-to-noise ratio mu adds noise of
 * standard deviation slope * weight with slope = D / mu. A budget towards the
 * server is divided evenly among the links of its node.
 *
 * Networks have millions of links and, as a rule, few different budgets. Equal
 * ones are found with a hash table and solved once; a network in which almost
 * every link is different is solved link by link, on all threads. In both cases
 * each slope depends on its own link only, so the number of threads changes
 * nothing.
 */
#include "calibrate.h"
#include "network/network.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More different budgets than this are not remembered. */
#define BUDGETS_MOST (1 << 20)

struct budget {
    double eps, delta;
    long double mu; /* what a packet may say */
};

/* Open addressing: place[] holds 1 + the index of a budget, or 0. */
struct budget_table {
    int32_t count, room, places;
    struct budget *budget;
    int32_t *place;
};

static uint64_t mix(uint64_t hash, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

/* Where the budget stands in place[], or the free place where it would. */
static int32_t locate(const struct budget_table *table, double eps,
                      double delta)
{
    uint64_t hash = mix(mix(1, eps), delta);
    uint32_t mask = (uint32_t)table->places - 1, at = (uint32_t)hash & mask;
    for (;; at = (at + 1) & mask) {
        int32_t found = table->place[at];
        if (found == 0)
            return (int32_t)at;
        const struct budget *budget = &table->budget[found - 1];
        if (budget->eps == eps && budget->delta == delta)
            return (int32_t)at;
    }
}

static enum pricer_status grow(struct budget_table *table)
{
    int32_t room = table->room == 0 ? 64 : 2 * table->room;
    int32_t *place = pri_alloc(4 * (int64_t)room, sizeof *place);
    struct budget *budget = pri_alloc(room, sizeof *budget);
    if (place == NULL || budget == NULL) {
        free(place);
        free(budget);
        return PRICER_MEMORY;
    }
    for (int32_t k = 0; k < table->count; k++)
        budget[k] = table->budget[k];
    free(table->place);
    free(table->budget);
    table->place = place;
    table->budget = budget;
    table->room = room;
    table->places = 4 * room;
    for (int32_t k = 0; k < table->count; k++)
        place[locate(table, budget[k].eps, budget[k].delta)] = k + 1;
    return PRICER_OK;
}

static enum pricer_status remember(struct budget_table *table, double eps,
                                   double delta)
{
    int32_t at = locate(table, eps, delta);
    if (table->place[at] != 0 || table->count == BUDGETS_MOST)
        return PRICER_OK;
    table->budget[table->count++] = (struct budget){eps, delta, 0};
    table->place[at] = table->count;
    return table->count == table->room ? grow(table) : PRICER_OK;
}

/* What a packet may say within one budget, rounded down; 0 if memory ran out,
 * INFINITY for full trust. */
static long double ratio_of(const struct pricer_settings *settings, double eps,
                            double delta, struct pri_rounds *law)
{
    int64_t rounds = settings->rounds == 0 ? 1 : settings->rounds;
    long double mu;
    if (isinf(eps))
        return INFINITY;
    if (pri_calibrate(settings->calibration, eps, delta, rounds, 1, law, &mu) !=
        PRICER_OK)
        return 0;
    return mu;
}

/* The slope of data that far apart, rounded up; INFINITY if no double holds
 * it. */
static double slope_of(double diameter, long double mu)
{
    if (isinf(mu))
        return 0;
    return mu > 0 ? pri_round_up((long double)diameter / mu) : INFINITY;
}

static enum pricer_status collect(const struct pricer_network *network,
                                  struct budget_table *table)
{
    enum pricer_status status = grow(table);
    for (int32_t i = 0; i < network->nodes && status == PRICER_OK; i++)
        status = remember(table, network->self_eps[i], network->self_delta[i]);
    for (int32_t l = 0; l < network->links && status == PRICER_OK; l++)
        status = remember(table, network->eps[l], network->delta[l]);
    return status;
}

/* A budget takes as long as some hundred links take elsewhere; over many
 * rounds, as a hundred thousand. */
static int threads_for(const struct pricer_settings *settings, int64_t budgets)
{
    int64_t each = settings->rounds > 1 ? 100000 : 100;
    return pri_threads(settings->threads, each * budgets);
}

/* What the two passes over budgets share. */
struct pass {
    const struct pricer_network *network;
    const struct pricer_settings *settings;
    struct budget_table *table;
    double *slope, *self_slope;
};

static void solve_some(void *context, int64_t low, int64_t high)
{
    const struct pass *pass = context;
    struct pri_rounds law = {0};
    for (int64_t k = low; k < high; k++) {
        struct budget *budget = &pass->table->budget[k];
        budget->mu = ratio_of(pass->settings, budget->eps, budget->delta, &law);
    }
    pri_rounds_free(&law);
}

/* Look a budget up, or solve it if it was one too many. */
static double recall(const struct budget_table *table,
                     const struct pricer_settings *settings, double diameter,
                     double eps, double delta, struct pri_rounds *law)
{
    int32_t found = table->place[locate(table, eps, delta)];
    if (found > 0)
        return slope_of(diameter, table->budget[found - 1].mu);
    return slope_of(diameter, ratio_of(settings, eps, delta, law));
}

/* Nodes first, then links. */
static void fill_some(void *context, int64_t low, int64_t high)
{
    const struct pass *pass = context;
    const struct pricer_network *net = pass->network;
    struct pri_rounds law = {0};
    for (int64_t k = low; k < high; k++) {
        int64_t l = k - net->nodes;
        if (l < 0)
            pass->self_slope[k] =
                recall(pass->table, pass->settings, net->node_diameter[k],
                       net->self_eps[k], net->self_delta[k], &law);
        else
            pass->slope[l] = recall(pass->table, pass->settings,
                                    net->node_diameter[net->from[l]],
                                    net->eps[l], net->delta[l], &law);
    }
    pri_rounds_free(&law);
}

static enum pricer_status check_slopes(const struct pricer_network *network,
                                       const double *slope,
                                       const double *self_slope,
                                       struct pricer_fault *fault)
{
    for (int32_t i = 0; i < network->nodes; i++)
        if (isinf(self_slope[i]))
            return pri_fault(fault, PRICER_VALUE,
                             "node %d: no finite noise is enough for eps = %g "
                             "and delta = %g",
                             (int)i, network->self_eps[i],
                             network->self_delta[i]);
    for (int32_t l = 0; l < network->links; l++)
        if (isinf(slope[l]))
            return pri_fault(fault, PRICER_VALUE,
                             "link %d,%d: no finite noise is enough for eps = "
                             "%g and delta = %g",
                             (int)network->from[l], (int)network->to[l],
                             network->eps[l], network->delta[l]);
    return PRICER_OK;
}

/* The slopes that the links' own budgets ask for. */
static enum pricer_status own_slopes(const struct pricer_network *network,
                                     const struct pricer_settings *settings,
                                     double *slope, double *self_slope,
                                     struct pricer_fault *fault)
{
    struct budget_table table = {0};
    if (settings->rounds < 0 || settings->rounds > PRI_ROUNDS_MOST)
        return pri_fault(fault, PRICER_VALUE,
                         "rounds = %lld is not between 1 and %d",
                         (long long)settings->rounds, PRI_ROUNDS_MOST);
    enum pricer_status status = pri_network_refuse_forward(network, fault);
    if (status == PRICER_OK)
        status = collect(network, &table);
    if (status == PRICER_OK) {
        struct pass pass = {network, settings, &table, slope, self_slope};
        pri_share_out(threads_for(settings, table.count), table.count,
                      solve_some, &pass);
        pri_share_out(pri_threads(settings->threads, network->links),
                      (int64_t)network->nodes + network->links, fill_some,
                      &pass);
        status = check_slopes(network, slope, self_slope, fault);
    }
    free(table.budget);
    free(table.place);
    return status;
}

/* The slope that each node's budget towards the server would ask of its only
 * link, 0 where there is no such budget. */
static enum pricer_status server_slopes(const struct pricer_network *network,
                                        const struct pricer_settings *settings,
                                        double *slope,
                                        struct pricer_fault *fault)
{
    struct pricer_network alone = *network;
    double none;
    alone.links = 0;
    alone.self_eps = network->server_eps;
    alone.self_delta = network->server_delta;
    return own_slopes(&alone, settings, &none, slope, fault);
}

/*
 * Raise the slopes of every node to those of its budget towards the server,
 * divided evenly among its links.
 *
 * Claim: with k links, its own link included, each of ratio at most
 * mu / sqrt(k), all that reaches the server of a node's data keeps the budget
 * whose ratio is mu, whatever links are up and whatever others add.
 *
 * Proof. Given the links, the server sees x_i in at most k sums, each with at
 * least that link's noise, and the noises of different links are independent:
 * one Gaussian mechanism, whose squared ratio is the sum of at most k squared
 * ratios, k mu^2 / k = mu^2. The privacy curve grows with the ratio, the law of
 * the links does not depend on the data, and mu is that of all rounds. []
 *
 * The last factor covers the roundings of the k terms in whoever adds them up.
 */
static void divide(const struct pricer_network *network, const double *server,
                   double *slope, double *self_slope)
{
    for (int32_t i = 0; i < network->nodes; i++) {
        int32_t first = network->out_start[i], end = network->out_start[i + 1];
        long double k = 1 + (long double)(end - first);
        double share =
            pri_round_up(server[i] * sqrtl(k) * (1 + (k + 10) * LDBL_EPSILON));
        self_slope[i] = fmax(self_slope[i], share);
        for (int32_t l = first; l < end; l++)
            slope[l] = fmax(slope[l], share);
    }
}

enum pricer_status pri_noise_slopes(const struct pricer_network *network,
                                    const struct pricer_settings *settings,
                                    double *slope, double *self_slope,
                                    struct pricer_fault *fault)
{
    double *server = NULL;
    enum pricer_status status =
        own_slopes(network, settings, slope, self_slope, fault);
    if (status != PRICER_OK || network->server_eps == NULL)
        return status;
    server = pri_alloc(network->nodes, sizeof *server);
    status = server == NULL ? PRICER_MEMORY
                            : server_slopes(network, settings, server, fault);
    if (status == PRICER_OK) {
        divide(network, server, slope, self_slope);
        status = check_slopes(network, slope, self_slope, fault);
    }
    free(server);
    return status;
}
