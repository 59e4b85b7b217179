/*
 * From a network and the noise it needs to the optimiser's problem, and from
 * its solution back to a plan.
 *
 * The problem keeps for each node the list of its neighbours, in both
 * directions, so that every sum over the links of a node is a loop over one
 * list and no two threads ever write to one place.
 */
#include "optimise.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Costs beyond this are as good as no link; their squares stay in range. */
static const double most_cost = 1e120;

/* ------------------------------------------------------------------ sweep --
 */

void pri_sweep(const struct pri_problem *problem,
               void (*part)(void *context, int32_t low, int32_t high,
                            struct pri_tally *tally),
               void *context, struct pri_tally *total)
{
    struct pri_tally parts[PRI_BLOCKS];
    int32_t blocks = problem->blocks;
    for (int32_t b = 0; b < blocks; b++)
        parts[b] = (struct pri_tally){.least = INFINITY};
    if (blocks == 1) {
        part(context, 0, problem->nodes, parts);
    } else {
#pragma omp parallel for schedule(static) num_threads(problem->threads)
        for (int32_t b = 0; b < blocks; b++)
            part(context, problem->block[b], problem->block[b + 1], &parts[b]);
    }
    if (total == NULL)
        return;
    *total = (struct pri_tally){.least = INFINITY};
    for (int32_t b = 0; b < blocks; b++) {
        for (int k = 0; k < 5; k++)
            total->sum[k] += parts[b].sum[k];
        total->least = fmin(total->least, parts[b].least);
    }
}

/* Cut the nodes into blocks of about equal work, whatever the threads. */
static void cut_blocks(struct pri_problem *problem)
{
    int64_t work = (int64_t)problem->arcs + problem->nodes;
    int64_t blocks = work / 8192;
    blocks = blocks < 1 ? 1 : blocks > PRI_BLOCKS ? PRI_BLOCKS : blocks;
    problem->blocks = (int32_t)blocks;
    int32_t i = 0;
    for (int64_t b = 0; b < blocks; b++) {
        int64_t target = work / blocks * b;
        while (i < problem->nodes && (int64_t)problem->start[i] + i < target)
            i++;
        problem->block[b] = i;
    }
    problem->block[blocks] = problem->nodes;
}

/* -------------------------------------------------------------- the lists --
 */

/* The neighbours of one node of the network, in the order of their names. */
struct walk {
    const struct pricer_network *network;
    int32_t node, out, in;
    int32_t neighbour;
    int32_t leaving, arriving; /* the links to and from it, or -1 */
};

static struct walk walk_from(const struct pricer_network *network, int32_t node)
{
    return (struct walk){
        network, node, network->out_start[node], network->in_start[node], -1,
        -1,      -1};
}

static bool walk_next(struct walk *walk)
{
    const struct pricer_network *net = walk->network;
    bool out = walk->out < net->out_start[walk->node + 1];
    bool in = walk->in < net->in_start[walk->node + 1];
    if (!out && !in)
        return false;
    int32_t to = out ? net->to[walk->out] : INT32_MAX;
    int32_t from = in ? net->from[net->in_link[walk->in]] : INT32_MAX;
    walk->neighbour = to < from ? to : from;
    walk->leaving = to == walk->neighbour ? walk->out++ : -1;
    walk->arriving = from == walk->neighbour ? net->in_link[walk->in++] : -1;
    return true;
}

/* Count the neighbours of each node into start; false if there are too many. */
static bool count_arcs(struct pri_problem *problem)
{
    int64_t arcs = 0;
    for (int32_t i = 0; i < problem->nodes; i++) {
        problem->start[i] = (int32_t)arcs;
        struct walk walk = walk_from(problem->network, problem->order[i]);
        while (walk_next(&walk))
            arcs++;
        if (arcs > INT32_MAX)
            return false;
    }
    problem->start[problem->nodes] = (int32_t)arcs;
    problem->arcs = (int32_t)arcs;
    return true;
}

/*
 * Fill entry.to and partner. The lists are ordered by the network's names, so
 * going through all nodes i in that order, i is always the next of its
 * neighbour's list that has not met its partner.
 */
static void join_arcs(struct pri_problem *problem, const int32_t *ours,
                      int32_t *next)
{
    for (int32_t i = 0; i < problem->nodes; i++)
        next[i] = problem->start[i];
    for (int32_t name = 0; name < problem->nodes; name++) {
        int32_t at = problem->start[ours[name]];
        struct walk walk = walk_from(problem->network, name);
        while (walk_next(&walk)) {
            int32_t to = ours[walk.neighbour];
            problem->entry[at].to = to;
            problem->partner[at++] = next[to]++;
        }
    }
}

/* ----------------------------------------------------------------- values --
 */

/* q of one link, or INFINITY where nothing can arrive through it. */
static double link_cost(double p, double uplink, double dimension, double slope)
{
    double arrive = p * uplink;
    double cost = ((1 - p) + dimension * slope * slope) / arrive;
    return arrive > 0 && cost < most_cost ? cost : INFINITY;
}

struct fill {
    struct pri_problem *problem;
    const double *slope, *self_slope;
};

/* c of a pair, kept within what makes the pair convex despite rounding. */
static double pair_cross(const struct pricer_network *net, int32_t leaving,
                         int32_t arriving, double cost, double cost_back)
{
    if (leaving < 0 || arriving < 0 || isinf(cost) || isinf(cost_back))
        return 0;
    double independent = net->p[leaving] * net->p[arriving];
    double cross = 2 * (net->joint[leaving] - independent) / independent;
    return fmax(0, fmin(cross, 2 * sqrt(cost) * sqrt(cost_back)));
}

static void fill_nodes(void *context, int32_t low, int32_t high,
                       struct pri_tally *tally)
{
    struct fill *fill = context;
    struct pri_problem *problem = fill->problem;
    const struct pricer_network *net = problem->network;
    double dimension = (double)net->dimension, radius = net->radius;
    for (int32_t i = low; i < high; i++) {
        int32_t name = problem->order[i], at = problem->start[i];
        double uplink = net->uplink[name];
        double own =
            link_cost(1, uplink, dimension, fill->self_slope[name] / radius);
        bool reaches = own < INFINITY;
        problem->self[i].cost = own;
        problem->crowd[i] = uplink > 0 ? (1 - uplink) / uplink : INFINITY;
        for (struct walk walk = walk_from(net, name); walk_next(&walk); at++) {
            int32_t out = walk.leaving, in = walk.arriving;
            double cost = INFINITY, back = INFINITY;
            if (out >= 0)
                cost = link_cost(net->p[out], net->uplink[walk.neighbour],
                                 dimension, fill->slope[out] / radius);
            if (in >= 0)
                back = link_cost(net->p[in], uplink, dimension,
                                 fill->slope[in] / radius);
            problem->arc[at].cost = cost;
            problem->arc[at].cross = pair_cross(net, out, in, cost, back);
            reaches = reaches || cost < INFINITY;
        }
        problem->kind[i] = (reaches ? 0 : PRI_WORTH_FIXED | PRI_UNREACHED) |
                           (uplink >= 1 ? PRI_PRICE_TIED : 0) |
                           (uplink > 0 ? 0 : PRI_PRICE_FIXED);
        tally->sum[0] += !reaches;
    }
}

static enum pricer_status refuse_unreached(const struct pri_problem *problem,
                                           struct pricer_fault *fault)
{
    char names[200] = "";
    int32_t named = 0;
    size_t used = 0;
    uint8_t *lost = pri_alloc(problem->nodes, 1);
    if (lost == NULL)
        return PRICER_MEMORY;
    for (int32_t i = 0; i < problem->nodes; i++)
        lost[problem->order[i]] = (problem->kind[i] & PRI_UNREACHED) != 0;
    for (int32_t i = 0; i < problem->nodes && named < 8; i++)
        if (lost[i]) {
            used += (size_t)snprintf(names + used, sizeof names - used,
                                     named > 0 ? ", %d" : "%d", (int)i);
            named++;
        }
    free(lost);
    return pri_fault(fault, PRICER_INFEASIBLE,
                     "no unbiased plan: %d of %d nodes reach the server by no "
                     "path: %s%s",
                     (int)problem->unreached, (int)problem->nodes, names,
                     problem->unreached > named ? ", ..." : "");
}

/* The bias term: bounds of the worths, and which unknowns there are. */
static void set_bias(struct pri_problem *problem, double penalty)
{
    bool priced =
        problem->bias == PRICER_BIAS_L1 || problem->bias == PRICER_BIAS_L2;
    problem->penalty = priced ? penalty : 0;
    problem->upper = INFINITY;
    problem->lower = -INFINITY;
    problem->summed = problem->bias != PRICER_BIAS_UNBIASED;
    if (problem->bias == PRICER_BIAS_WORST_CASE)
        problem->upper = 0;
    if (problem->bias == PRICER_BIAS_L1) {
        problem->upper = problem->penalty;
        problem->lower = -problem->penalty;
    }
    for (int32_t i = 0; i < problem->nodes; i++)
        if (priced && penalty == 0)
            problem->kind[i] |= PRI_WORTH_FIXED;
}

static enum pricer_status check_settings(const struct pricer_settings *settings,
                                         struct pricer_fault *fault)
{
    if (!(settings->lambda >= 0) || isinf(settings->lambda))
        return pri_fault(fault, PRICER_VALUE,
                         "lambda = %g is not a number of at least 0",
                         settings->lambda);
    if (!(settings->tolerance >= 0))
        return pri_fault(fault, PRICER_VALUE,
                         "tolerance = %g is not a number of at least 0",
                         settings->tolerance);
    if (settings->iterations < 0 || settings->threads < 0)
        return pri_fault(fault, PRICER_VALUE,
                         "the iteration limit and the threads are at least 0");
    if (settings->bias < PRICER_BIAS_WORST_CASE ||
        settings->bias > PRICER_BIAS_L2)
        return pri_fault(fault, PRICER_VALUE, "there is no bias term %d",
                         (int)settings->bias);
    return PRICER_OK;
}

static enum pricer_status allocate(struct pri_problem *problem)
{
    int32_t nodes = problem->nodes;
    problem->block = pri_alloc(PRI_BLOCKS + 1, sizeof(int32_t));
    problem->order = pri_alloc(nodes, sizeof(int32_t));
    problem->start = pri_alloc((int64_t)nodes + 1, sizeof(int32_t));
    problem->self = pri_alloc(nodes, sizeof *problem->self);
    problem->crowd = pri_alloc(nodes, sizeof(double));
    problem->kind = pri_alloc(nodes, sizeof(uint8_t));
    if (!problem->block || !problem->order || !problem->start ||
        !problem->self || !problem->crowd || !problem->kind)
        return PRICER_MEMORY;
    for (int32_t i = 0; i < nodes; i++)
        problem->order[i] = i;
    if (!count_arcs(problem))
        return PRICER_MEMORY;
    problem->partner = pri_alloc(problem->arcs, sizeof(int32_t));
    problem->arc = pri_alloc(problem->arcs, sizeof *problem->arc);
    problem->entry = pri_alloc(problem->arcs, sizeof *problem->entry);
    if (!problem->partner || !problem->arc || !problem->entry)
        return PRICER_MEMORY;
    return PRICER_OK;
}

static enum pricer_status join(struct pri_problem *problem)
{
    int32_t *ours = pri_alloc(problem->nodes, sizeof(int32_t));
    int32_t *next = pri_alloc(problem->nodes, sizeof(int32_t));
    if (ours != NULL && next != NULL) {
        for (int32_t i = 0; i < problem->nodes; i++)
            ours[problem->order[i]] = i;
        join_arcs(problem, ours, next);
    }
    bool made = ours != NULL && next != NULL;
    free(ours);
    free(next);
    return made ? PRICER_OK : PRICER_MEMORY;
}

enum pricer_status pri_problem_new(const struct pricer_network *network,
                                   const struct pricer_settings *settings,
                                   const double *slope,
                                   const double *self_slope,
                                   struct pri_problem **problem,
                                   struct pricer_fault *fault)
{
    enum pricer_status status = check_settings(settings, fault);
    double nodes = network->nodes, radius = network->radius;
    double penalty = settings->lambda * nodes / radius * nodes / radius;
    if (status != PRICER_OK)
        return status;
    if (!(penalty <= most_cost))
        return pri_fault(fault, PRICER_VALUE,
                         "lambda = %g is too large beside radius = %g",
                         settings->lambda, radius);
    struct pri_problem *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->network = network;
    made->bias = settings->bias;
    made->nodes = network->nodes;
    made->threads =
        settings->threads > 0 ? settings->threads : omp_get_num_procs();
    status = allocate(made);
    if (status == PRICER_OK)
        status = join(made);
    if (status != PRICER_OK)
        goto done;
    cut_blocks(made);
    struct fill fill = {made, slope, self_slope};
    struct pri_tally total;
    pri_sweep(made, fill_nodes, &fill, &total);
    made->unreached = (int32_t)total.sum[0];
    set_bias(made, penalty);
    if (made->bias == PRICER_BIAS_UNBIASED && made->unreached > 0)
        status = refuse_unreached(made, fault);
done:
    if (status != PRICER_OK) {
        pri_problem_free(made);
        return status;
    }
    *problem = made;
    return PRICER_OK;
}

void pri_problem_free(struct pri_problem *problem)
{
    if (problem == NULL)
        return;
    free(problem->block);
    free(problem->order);
    free(problem->start);
    free(problem->partner);
    free(problem->arc);
    free(problem->entry);
    free(problem->self);
    free(problem->crowd);
    free(problem->kind);
    free(problem);
}

/* ------------------------------------------------------------ to the plan --
 */

bool pri_point_new(int32_t nodes, struct pri_point *point)
{
    point->dual = pri_alloc(2 * (int64_t)nodes, sizeof(double));
    point->sum = 0;
    return point->dual != NULL;
}

void pri_problem_plan(const struct pri_problem *problem, const double *scale,
                      const struct pri_point *point, struct pricer_plan *plan)
{
    const struct pricer_network *net = problem->network;
    double unit = net->radius * net->radius;
    plan->sum_multiplier = point->sum * unit;
    for (int32_t i = 0; i < problem->nodes; i++) {
        int32_t name = problem->order[i], at = problem->start[i];
        double uplink = net->uplink[name];
        plan->row_multiplier[name] = point->dual[2 * i] * unit;
        plan->relay_multiplier[name] =
            problem->kind[i] & (PRI_PRICE_TIED | PRI_PRICE_FIXED)
                ? 0
                : (point->dual[2 * i + 1] - point->sum) * unit;
        plan->self_weight[name] =
            uplink > 0 ? scale[i] * problem->self[i].share / uplink : 0;
        for (struct walk walk = walk_from(net, name); walk_next(&walk); at++) {
            int32_t out = walk.leaving;
            double arrive =
                out < 0 ? 0 : net->uplink[walk.neighbour] * net->p[out];
            if (out >= 0)
                plan->weight[out] =
                    arrive > 0 ? scale[i] * problem->arc[at].share / arrive : 0;
        }
    }
}

void pri_problem_point(const struct pri_problem *problem,
                       const struct pricer_plan *plan, struct pri_point *point)
{
    double radius = problem->network->radius, unit = 1 / (radius * radius);
    point->sum = problem->summed ? plan->sum_multiplier * unit : 0;
    for (int32_t i = 0; i < problem->nodes; i++) {
        int32_t name = problem->order[i];
        point->dual[2 * i] = plan->row_multiplier[name] * unit;
        point->dual[2 * i + 1] =
            plan->relay_multiplier[name] * unit + point->sum;
    }
}
