/*
 * From the network and its noise to what the arcs of the problem hold, in the
 * thin form that Newton's method needs and in the whole one of the others.
 */
#include "problem.h"

#include <stdlib.h>

double pri_link_cost(double p, double uplink, double dimension, double slope)
{
    double arrive = p * uplink;
    double cost = ((1 - p) + dimension * slope * slope) / arrive;
    return arrive > 0 && cost < PRI_MOST_COST ? cost : INFINITY;
}

double pri_arc_cost(const struct pri_problem *problem, int32_t l)
{
    const struct pricer_network *net = problem->network;
    if (problem->arc != NULL)
        return problem->arc[l].cost;
    int32_t link = problem->link == NULL ? l : problem->link[l];
    if (link < 0)
        return INFINITY;
    return pri_link_cost(
        net->p[link], net->uplink[problem->to[l]], (double)net->dimension,
        problem->slope[link] * (1 / net->node_radius[net->from[link]]));
}

/* c of the pairs, kept within what makes a pair convex despite rounding. */
static void fill_crosses(void *context, int32_t low, int32_t high,
                         struct pri_sweep_sums *tally)
{
    struct pri_problem *problem = context;
    const struct pricer_network *net = problem->network;
    (void)tally;
    for (int32_t l = problem->start[low]; l < problem->start[high]; l++) {
        int32_t link = problem->link == NULL ? l : problem->link[l];
        int32_t back = link < 0 ? -1 : net->partner[link];
        double q = pri_arc_cost(problem, l), cross = 0;
        double other = pri_arc_cost(problem, problem->partner[l]);
        if (back >= 0 && q < INFINITY && other < INFINITY) {
            double independent = net->p[link] * net->p[back];
            cross = 2 * (net->joint[link] - independent) / independent;
            cross = pri_most(0, cross);
            if (cross * cross > 4 * q * other)
                cross = 2 * sqrt(q) * sqrt(other);
        }
        problem->thin[l].cross = cross;
    }
}

void pri_problem_cross(struct pri_problem *problem)
{
    pri_sweep_all(problem, fill_crosses, problem);
}

bool pri_problem_widen(struct pri_problem *problem)
{
    if (problem->arc != NULL)
        return true;
    struct pri_arc *arc = pri_alloc(problem->arcs, sizeof *arc);
    if (arc == NULL)
        return false;
    for (int32_t l = 0; l < problem->arcs; l++) {
        arc[l].cost = pri_arc_cost(problem, l);
        arc[l].cross = problem->thin[l].cross;
    }
    free(problem->thin);
    problem->thin = NULL;
    problem->arc = arc;
    return true;
}

bool pri_problem_slim(struct pri_problem *problem)
{
    if (problem->arc == NULL)
        return true;
    struct pri_thin *thin = pri_alloc(problem->arcs, sizeof *thin);
    if (thin == NULL)
        return false;
    for (int32_t l = 0; l < problem->arcs; l++)
        thin[l].cross = problem->arc[l].cross;
    free(problem->arc);
    problem->arc = NULL;
    problem->thin = thin;
    return true;
}
