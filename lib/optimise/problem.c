/*
 * From a network and the noise it needs to the optimiser's problem, and from
 * its solution back to a plan.
 *
 * The problem keeps for each node the list of its neighbours, whichever
 * direction of the pair is a link, so that every sum over the links of a node
 * is a loop over one list. Where every link has its opposite, the lists are the
 * network's own.
 */
#include "problem.h"
#include "network/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------- the lists -- */

static bool every_link_has_its_opposite(const struct pricer_network *network)
{
    for (int32_t l = 0; l < network->links; l++)
        if (network->partner[l] < 0)
            return false;
    return true;
}

/* The neighbours of one node, in order: its links and those that arrive. */
struct walk {
    const struct pricer_network *network;
    int32_t node, out, in;
    int32_t neighbour;
    int32_t leaving; /* the link to it, or -1 */
};

static struct walk walk_from(const struct pricer_network *network, int32_t node)
{
    return (struct walk){
        network, node, network->out_start[node], network->in_start[node],
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
    walk->in += from == walk->neighbour;
    return true;
}

/* Count the neighbours of each node; false if there are too many. */
static bool count_arcs(struct pri_problem *problem, bool mirrored)
{
    const struct pricer_network *net = problem->network;
    int64_t arcs = 0;
    if (mirrored) {
        memcpy(problem->start, net->out_start,
               ((size_t)net->nodes + 1) * sizeof(int32_t));
        problem->arcs = net->links;
        return true;
    }
    for (int32_t i = 0; i < problem->nodes; i++) {
        problem->start[i] = (int32_t)arcs;
        for (struct walk walk = walk_from(net, i); walk_next(&walk);)
            arcs++;
        if (arcs > INT32_MAX)
            return false;
    }
    problem->start[problem->nodes] = (int32_t)arcs;
    problem->arcs = (int32_t)arcs;
    return true;
}

/*
 * Fill to, link and partner. The lists are in order, so going through all
 * nodes i in order, i is always the next in its neighbour's list that has not
 * met its partner; upper serves as the place of that next one.
 */
static void join_arcs(struct pri_problem *problem)
{
    int32_t *to = problem->lists, *partner = to + problem->arcs;
    int32_t *link = partner + problem->arcs, *next = problem->upper;
    problem->to = to;
    problem->partner = partner;
    problem->link = link;
    memcpy(next, problem->start, (size_t)problem->nodes * sizeof(int32_t));
    for (int32_t i = 0; i < problem->nodes; i++) {
        int32_t at = problem->start[i];
        for (struct walk walk = walk_from(problem->network, i);
             walk_next(&walk); at++) {
            to[at] = walk.neighbour;
            link[at] = walk.leaving;
            partner[at] = next[walk.neighbour]++;
        }
    }
}

static enum pricer_status allocate(struct pri_problem *problem)
{
    int32_t nodes = problem->nodes;
    bool mirrored = every_link_has_its_opposite(problem->network);
    problem->block = pri_alloc(PRI_BLOCKS + 1, sizeof(int32_t));
    problem->start = pri_alloc((int64_t)nodes + 1, sizeof(int32_t));
    problem->upper = pri_alloc(nodes, sizeof(int32_t));
    problem->self = pri_alloc(nodes, sizeof *problem->self);
    problem->crowd = pri_alloc(nodes, sizeof(double));
    problem->kind = pri_alloc(nodes, sizeof(uint8_t));
    problem->wanted = pri_alloc(nodes, sizeof(double));
    if (!problem->block || !problem->start || !problem->upper ||
        !problem->self || !problem->crowd || !problem->kind ||
        !problem->wanted || !count_arcs(problem, mirrored))
        return PRICER_MEMORY;
    for (int32_t i = 0; i < nodes; i++) {
        problem->wanted[i] = pri_network_ratio(problem->network, i);
        problem->wanted_sum += problem->wanted[i];
    }
    if (problem->part != NULL)
        problem->wanted_sum = problem->part->wanted;
    problem->thin = pri_alloc(problem->arcs, sizeof *problem->thin);
    if (!problem->thin)
        return PRICER_MEMORY;
    if (mirrored) {
        problem->to = problem->network->to;
        problem->partner = problem->network->partner;
        return PRICER_OK;
    }
    problem->lists = pri_alloc(3 * (int64_t)problem->arcs, sizeof(int32_t));
    if (!problem->lists)
        return PRICER_MEMORY;
    join_arcs(problem);
    return PRICER_OK;
}

/* ---------------------------------------------------------------- values -- */

struct fill {
    struct pri_problem *problem;
    const double *self_slope;
};

/* Where node i's arcs to higher nodes begin; true if one of all is a link. */
static bool look_at_arcs(struct pri_problem *problem, int32_t i)
{
    bool reaches = false;
    int32_t upper = problem->start[i];
    for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
        reaches = reaches || pri_arc_cost(problem, l) < INFINITY;
        upper += problem->to[l] < i;
    }
    problem->upper[i] = upper;
    return reaches;
}

static void fill_nodes(void *context, int32_t low, int32_t high,
                       struct pri_sweep_sums *tally)
{
    struct fill *fill = context;
    struct pri_problem *problem = fill->problem;
    const struct pricer_network *net = problem->network;
    for (int32_t i = low; i < high; i++) {
        double uplink = net->uplink[i];
        double own = pri_link_cost(1, uplink, (double)net->dimension,
                                   fill->self_slope[i] / net->node_radius[i]);
        bool reaches = look_at_arcs(problem, i) || own < INFINITY;
        problem->self[i].cost = own;
        problem->crowd[i] = uplink > 0 ? (1 - uplink) / uplink : INFINITY;
        problem->kind[i] = (reaches ? 0 : PRI_GAIN_FIXED | PRI_UNREACHED) |
                           (uplink >= 1 ? PRI_PRICE_TIED : 0) |
                           (uplink > 0 ? 0 : PRI_PRICE_FIXED);
        tally->sum[0] += !reaches;
    }
}

/* What the ranks know of ghosts by themselves. */
static void fill_ghosts(struct fill *fill)
{
    const struct pri_part *part = fill->problem->part;
    struct pri_sweep_sums none = {.least = INFINITY};
    if (part == NULL)
        return;
    fill_nodes(fill, 0, part->low, &none);
    fill_nodes(fill, part->high, fill->problem->nodes, &none);
}

/* Which bounds and which unknowns the bias term makes. */
static void set_bias(struct pri_problem *problem, double penalty)
{
    bool priced =
        problem->bias == PRICER_BIAS_L1 || problem->bias == PRICER_BIAS_L2;
    problem->penalty = priced ? penalty : 0;
    problem->upper_bound = INFINITY;
    problem->lower_bound = -INFINITY;
    problem->summed = problem->bias != PRICER_BIAS_UNBIASED;
    if (problem->bias == PRICER_BIAS_WORST_CASE)
        problem->upper_bound = 0;
    if (problem->bias == PRICER_BIAS_L1) {
        problem->upper_bound = penalty;
        problem->lower_bound = -penalty;
    }
    for (int32_t i = 0; i < problem->nodes; i++)
        if (priced && penalty == 0)
            problem->kind[i] |= PRI_GAIN_FIXED;
}

/* --------------------------------------------------------------- refusal -- */

static enum pricer_status refuse_unreached(const struct pri_problem *problem,
                                           struct pricer_fault *fault)
{
    char names[200] = "";
    int32_t named = 0;
    size_t used = 0;
    const struct pri_part *part = problem->part;
    int32_t low = part != NULL ? part->low : 0;
    int32_t high = part != NULL ? part->high : problem->nodes;
    for (int32_t i = low; i < high && named < 8; i++)
        if (problem->kind[i] & PRI_UNREACHED) {
            int32_t number = part != NULL ? pri_part_name(part, i) : i;
            used += (size_t)snprintf(names + used, sizeof names - used,
                                     named > 0 ? ", %d" : "%d", (int)number);
            named++;
        }
    return pri_fault(fault, PRICER_INFEASIBLE,
                     "no unbiased plan: %d of %d nodes reach the server by no "
                     "path: %s%s",
                     (int)problem->unreached, (int)problem->whole, names,
                     problem->unreached > named ? ", ..." : "");
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

/* --------------------------------------------------------------- problem -- */

enum pricer_status pri_problem_new(const struct pricer_network *network,
                                   const struct pricer_settings *settings,
                                   const double *slope,
                                   const double *self_slope,
                                   const struct pri_part *part,
                                   struct pri_problem **problem,
                                   struct pricer_fault *fault)
{
    enum pricer_status status = check_settings(settings, fault);
    double nodes = part != NULL ? part->nodes : network->nodes;
    double radius = network->radius;
    double penalty = settings->lambda * nodes / radius * nodes / radius;
    if (status != PRICER_OK)
        return status;
    if (!(penalty <= PRI_MOST_COST))
        return pri_fault(fault, PRICER_VALUE,
                         "lambda = %g is too large beside radius = %g",
                         settings->lambda, radius);
    struct pri_problem *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->network = network;
    made->bias = settings->bias;
    made->nodes = network->nodes;
    made->part = part;
    made->whole = part != NULL ? part->nodes : network->nodes;
    made->slope = slope;
    status = allocate(made);
    if (status != PRICER_OK)
        goto done;
    made->team = pri_team_new(pri_threads(settings->threads, network->links));
    if (made->team == NULL) {
        status = PRICER_MEMORY;
        goto done;
    }
    pri_sweep_cut(made);
    struct fill fill = {made, self_slope};
    struct pri_sweep_sums total;
    pri_sweep(made, fill_nodes, &fill, &total);
    fill_ghosts(&fill);
    pri_problem_cross(made);
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
    pri_team_free(problem->team);
    free(problem->block);
    free(problem->start);
    free(problem->upper);
    free(problem->lists);
    free(problem->thin);
    free(problem->arc);
    free(problem->self);
    free(problem->crowd);
    free(problem->kind);
    free(problem->wanted);
    free(problem);
}

/* ----------------------------------------------------------- to the plan -- */

bool pri_point_new(const struct pri_problem *problem, struct pri_point *point)
{
    point->dual = pri_alloc(2 * (int64_t)problem->nodes, sizeof(double));
    point->sum = 0;
    return point->dual != NULL;
}

void pri_point_copy(const struct pri_problem *problem,
                    const struct pri_point *from, struct pri_point *to)
{
    memcpy(to->dual, from->dual, 2 * (size_t)problem->nodes * sizeof(double));
    to->sum = from->sum;
}

struct extract {
    const struct pri_problem *problem;
    const double *scale;
    const struct pri_point *point;
    struct pricer_plan *plan;
};

static void extract_nodes(void *context, int32_t low, int32_t high,
                          struct pri_sweep_sums *tally)
{
    struct extract *extract = context;
    const struct pri_problem *problem = extract->problem;
    const struct pricer_network *net = problem->network;
    const struct pri_point *point = extract->point;
    struct pricer_plan *plan = extract->plan;
    double unit = net->radius * net->radius;
    uint8_t bare = PRI_PRICE_TIED | PRI_PRICE_FIXED;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        const double *dual = &point->dual[2 * (int64_t)i];
        double uplink = net->uplink[i];
        double scale = extract->scale[i] / problem->wanted[i];
        plan->row_multiplier[i] = dual[0] * unit;
        plan->relay_multiplier[i] =
            problem->kind[i] & bare ? 0 : (dual[1] - point->sum) * unit;
        plan->self_weight[i] =
            uplink > 0 ? scale * problem->self[i].share / uplink : 0;
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            int32_t link = problem->link == NULL ? l : problem->link[l];
            if (link < 0)
                continue;
            double arrive = net->uplink[problem->to[l]] * net->p[link];
            double share = pri_arc_share(problem, l);
            double weight = arrive > 0 ? scale * share / arrive : 0;
            /* pages that nothing but 0 was ever written to take no memory */
            if (plan->weight[link] != weight || signbit(weight))
                plan->weight[link] = weight;
        }
    }
}

void pri_problem_plan(const struct pri_problem *problem, const double *scale,
                      const struct pri_point *point, struct pricer_plan *plan)
{
    struct extract extract = {problem, scale, point, plan};
    double radius = problem->network->radius;
    plan->sum_multiplier = point->sum * radius * radius;
    pri_sweep(problem, extract_nodes, &extract, NULL);
}

bool pri_problem_point(const struct pri_problem *problem,
                       const struct pricer_plan *plan, struct pri_point *point)
{
    const struct pricer_network *net = problem->network;
    double unit = 1 / (net->radius * net->radius), check = 0;
    point->sum = problem->summed ? plan->sum_multiplier * unit : 0;
    for (int32_t i = 0; i < problem->nodes; i++) {
        double *dual = &point->dual[2 * (int64_t)i];
        dual[0] = plan->row_multiplier[i] * unit;
        dual[1] = plan->relay_multiplier[i] * unit + point->sum;
        problem->self[i].share =
            plan->self_weight[i] * net->uplink[i] * problem->wanted[i];
        check += dual[0] + dual[1] + problem->self[i].share;
    }
    return isfinite(check);
}
