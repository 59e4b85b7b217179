/*
 * From multipliers to the answers of all links: the value of the dual and its
 * slope, in one pass over the links.
 */
#include "optimise_newton.h"

#include <string.h>

/* Add the pair at arc l of node i to the sums of its nodes in the block: rows,
 * loads and answers. Returns twice the pair's part of the value. */
static inline double add_pair(struct pri_newton *state, int32_t i, int32_t l,
                              int32_t low, int32_t high)
{
    const struct pri_problem *problem = state->problem;
    struct pri_system *system = state->system;
    const struct pri_arc *arc = &problem->arc[l];
    int32_t to = problem->entry[l].to;
    const double *here = &state->next.dual[2 * (int64_t)i];
    const double *there = &state->next.dual[2 * (int64_t)to];
    double z1 = here[0] - there[1], z2 = there[0] - here[1], y[2], d[3];
    pri_answer_pair(arc->slack, arc->share, arc->cross, z1, z2, y, d);
    double *slope = &state->slope[2 * (int64_t)i];
    double *block = &system->block[3 * (int64_t)i];
    double twice = z1 * y[0] + z2 * y[1];
    slope[0] += y[0];
    slope[1] -= y[1];
    block[0] += d[0];
    block[1] += d[1];
    block[2] += d[2];
    pri_system_set(system, l, d[0], d[1], d[2]);
    if (to < low || to >= high)
        return twice / 2; /* the other half is the other block's */
    slope = &state->slope[2 * (int64_t)to];
    block = &system->block[3 * (int64_t)to];
    slope[0] += y[1];
    slope[1] -= y[0];
    block[0] += d[2];
    block[1] += d[1];
    block[2] += d[0];
    pri_system_set(system, problem->partner[l], d[2], d[1], d[0]);
    return twice;
}

/* The node's own part; returns its part of the value. */
static double add_node(struct pri_newton *state, int32_t i, double *slope_sum)
{
    const struct pri_problem *problem = state->problem;
    struct pri_system *system = state->system;
    const double *dual = &state->next.dual[2 * (int64_t)i];
    double *slope = &state->slope[2 * (int64_t)i];
    double z = dual[0] - dual[1], lean = dual[1] - state->next.sum, value = 0;
    bool own = !(state->given[i] & PRI_OWN_FREE) && z > 0;
    system->own[i] = own ? problem->self[i].slack : 0;
    slope[0] += system->own[i] * z;
    slope[1] -= system->own[i] * z;
    value += system->own[i] * z * z / 2;
    if (state->given[i] & PRI_PRICE_TIED)
        *slope_sum += slope[1];
    slope[1] += system->ease[i] * lean;
    *slope_sum -= system->ease[i] * lean;
    value += system->ease[i] * lean * lean / 2;
    slope[0] += system->bend[i] * dual[0] - 1;
    value += (system->bend[i] * dual[0] / 2 - 1) * dual[0];
    return value;
}

/* Value (0), slope and curvature at `next`, in one pass, and the slope in the
 * sum multiplier (1). */
static void evaluate(void *context, int32_t low, int32_t high,
                     struct pri_tally *tally)
{
    struct pri_newton *state = context;
    const struct pri_problem *problem = state->problem;
    size_t nodes = (size_t)(high - low);
    double twice = 0, value = 0;
    memset(&state->slope[2 * (int64_t)low], 0, 2 * nodes * sizeof(double));
    memset(&state->system->block[3 * (int64_t)low], 0,
           3 * nodes * sizeof(double));
    for (int32_t i = low; i < high; i++)
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            int32_t to = problem->entry[l].to;
            if (to < i && to >= low)
                l = problem->upper[i] - 1;
            else
                twice += add_pair(state, i, l, low, high);
        }
    for (int32_t i = low; i < high; i++)
        value += add_node(state, i, &tally->sum[1]);
    tally->sum[0] += value + twice / 2;
}

void pri_newton_evaluate(struct pri_newton *state)
{
    const struct pri_problem *problem = state->problem;
    struct pri_tally total;
    double sum = state->next.sum;
    pri_sweep(problem, evaluate, state, &total);
    state->value = total.sum[0] + sum * sum / 4 + problem->nodes * sum;
    state->slope_sum =
        problem->summed ? total.sum[1] + sum / 2 + problem->nodes : 0;
}
