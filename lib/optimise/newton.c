/*
 * The exact method: semismooth Newton on the dual.
 *
 * With the shares as answers to the multipliers, y(z), the negative dual is a
 * convex function of gains, prices and the sum multiplier, piecewise quadratic
 * and once differentiable,
 *
 *     sum of phi(z) + sum (g_j - t)^2 / (4 h_j) + t^2 / 4 + nodes t - sum b(v),
 *
 * to be minimised over bounds: those of the gains, and g_i >= v_i where node
 * i's own link costs nothing, whose share is the multiplier of that bound. Each
 * step fixes what its bound holds, solves the Newton system of the links in
 * use, and searches along the step, projected. Near the end the set of links
 * in use no longer changes and a step is exact.
 */
#include "newton.h"

#include <string.h>

/* -------------------------------------------------------------- function -- */

/*
 * Add the pairs of node i to the sums of its nodes in the block: rows, loads
 * and answers, entered from `at` on. Returns where the next entry goes; *twice
 * grows by twice the pairs' part of the value. A pair with neither difference
 * above 0 does not answer: what its links cost need not even be read.
 */
static int32_t add_pairs(struct pri_newton *state, int32_t i, int32_t low,
                         int32_t high, int32_t at, double *twice)
{
    const struct pri_problem *problem = state->problem;
    struct pri_system *system = state->system;
    const pri_two sign = {1, -1};
    const pri_two here = sign * pri_load(&state->next.dual[2 * (int64_t)i]);
    double *slope = &state->slope[2 * (int64_t)i];
    double *block = &system->block[3 * (int64_t)i];
    pri_two slope_here = pri_load(slope), block_here = {block[0], block[2]};
    double cross_here = block[1], value = *twice;
    for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
        int64_t to = problem->to[l];
        bool inside = to >= low && to < high;
        if (inside && to < i) {
            l = problem->upper[i] - 1;
            continue;
        }
        pri_two there = sign * pri_load(&state->next.dual[2 * to]);
        pri_two z = here + pri_swap(there);
        if (!(z[0] > 0 || z[1] > 0) && system->exact == NULL)
            continue;
        const struct pri_thin *out = &problem->thin[l];
        struct pri_answer answer = pri_answer_pair(
            (pri_two){out->ease, problem->thin[problem->partner[l]].ease},
            out->cross, z);
        pri_two part = z * answer.share;
        slope_here += sign * answer.share;
        block_here += answer.own;
        cross_here += answer.cross;
        at = pri_system_enter(system, at, l, inside, answer.own, answer.cross);
        if (!inside) {
            value += (part[0] + part[1]) / 2; /* half is the other block's */
            continue;
        }
        value += part[0] + part[1];
        double *slope_there = &state->slope[2 * to];
        double *block_there = &system->block[3 * to];
        pri_store(slope_there,
                  pri_load(slope_there) + sign * pri_swap(answer.share));
        block_there[0] += answer.own[1];
        block_there[1] += answer.cross;
        block_there[2] += answer.own[0];
    }
    pri_store(slope, slope_here);
    block[0] = block_here[0];
    block[1] = cross_here;
    block[2] = block_here[1];
    *twice = value;
    return at;
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
    system->own[i] = own ? problem->self[i].ease : 0;
    slope[0] += system->own[i] * z;
    slope[1] -= system->own[i] * z;
    value += system->own[i] * z * z / 2;
    if (state->given[i] & PRI_PRICE_TIED)
        *slope_sum += slope[1];
    slope[1] += system->ease[i] * lean;
    *slope_sum -= system->ease[i] * lean;
    value += system->ease[i] * lean * lean / 2;
    double wanted = state->problem->wanted[i];
    slope[0] += system->curvature[i] * dual[0] - wanted;
    value += (system->curvature[i] * dual[0] / 2 - wanted) * dual[0];
    return value;
}

/* Value (0), slope and curvature at `next`, in one pass, and the slope in the
 * sum multiplier (1). */
static void evaluate(void *context, int32_t low, int32_t high,
                     struct pri_sweep_sums *tally)
{
    struct pri_newton *state = context;
    const struct pri_problem *problem = state->problem;
    size_t nodes = (size_t)(high - low);
    int32_t at = problem->start[low];
    double twice = 0, value = 0;
    memset(&state->slope[2 * (int64_t)low], 0, 2 * nodes * sizeof(double));
    memset(&state->system->block[3 * (int64_t)low], 0,
           3 * nodes * sizeof(double));
    for (int32_t i = low; i < high; i++) {
        at = add_pairs(state, i, low, high, at, &twice);
        state->system->until[i] = at;
    }
    for (int32_t i = low; i < high; i++)
        value += add_node(state, i, &tally->sum[1]);
    tally->sum[0] += value + twice / 2;
}

void pri_newton_evaluate(struct pri_newton *state)
{
    const struct pri_problem *problem = state->problem;
    struct pri_sweep_sums total;
    double sum = state->next.sum;
    pri_halo(problem, state->next.dual, 2);
    pri_sweep(problem, evaluate, state, &total);
    state->value = total.sum[0] + sum * sum / 4 + problem->wanted_sum * sum;
    state->slope_sum =
        problem->summed ? total.sum[1] + sum / 2 + problem->wanted_sum : 0;
}

/* ------------------------------------------------------------ active set -- */

/*
 * What its bounds hold of node i. Where gain and price have met at a free own
 * link, they move together if apart they would cross.
 */
static uint8_t held(const struct pri_newton *state, int32_t i)
{
    const struct pri_system *system = state->system;
    const double *dual = &state->here.dual[2 * (int64_t)i];
    const double *slope = &state->slope[2 * (int64_t)i];
    uint8_t kind = state->given[i];
    bool met = kind & PRI_OWN_FREE && dual[1] <= dual[0];
    bool tight = met && slope[1] > slope[0];
    double pull = slope[0] + (tight ? slope[1] : 0);
    double curve = system->block[3 * (int64_t)i] + system->own[i];
    if ((dual[0] >= state->upper && pull < 0) ||
        (dual[0] <= state->lower && pull > 0))
        kind |= PRI_GAIN_FIXED;
    if (kind & PRI_GAIN_FIXED)
        return met && slope[1] > 0 ? kind | PRI_PRICE_FIXED : kind;
    if (tight)
        return kind | PRI_PRICE_OWN;
    return curve > 0 ? kind : kind | PRI_GAIN_FIXED | PRI_GAIN_ALONE;
}

/*
 * Decide for each node what its bounds hold, at `here`, and set the right-hand
 * side. A row that no link answers for has no curvature: it is held too, and
 * moved by itself. Tallies an estimate of the distance: what is off at a relay
 * costs crowd times its square, in a row its gain.
 */
static void hold(void *context, int32_t low, int32_t high,
                 struct pri_sweep_sums *tally)
{
    struct pri_newton *state = context;
    const struct pri_problem *problem = state->problem;
    uint8_t given = PRI_PRICE_FIXED | PRI_PRICE_TIED | PRI_PRICE_OWN;
    for (int32_t i = low; i < high; i++) {
        const double *slope = &state->slope[2 * (int64_t)i];
        double *right = &state->right[2 * (int64_t)i];
        double gain = state->here.dual[2 * (int64_t)i] - state->here.sum;
        uint8_t kind = held(state, i);
        state->system->kind[i] = kind;
        if (kind & PRI_GAIN_ALONE)
            state->alone[i] =
                pri_start_row(state->system, state->given, state->here.dual, i);
        right[0] = kind & PRI_GAIN_FIXED ? 0 : -slope[0];
        right[1] = kind & given ? 0 : -slope[1];
        if (kind & PRI_PRICE_OWN)
            right[0] -= slope[1];
        double off = kind & PRI_GAIN_ALONE ? slope[0] : right[0];
        tally->sum[0] += off * off * (fabs(gain) + 1);
        if (!(kind & given))
            tally->sum[0] += problem->crowd[i] * slope[1] * slope[1];
    }
}

void pri_newton_hold(struct pri_newton *state)
{
    struct pri_sweep_sums total;
    pri_sweep(state->problem, hold, state, &total);
    double sum = state->system->cg.summed ? state->slope_sum : 0;
    double size = fabs(state->value);
    double least = PRI_NOTHING * state->problem->whole;
    state->gap = (total.sum[0] + sum * sum) / pri_most(size, least);
}

/* ------------------------------------------------------------------ step -- */

/* Where node i ends up, from its two unknowns as the step leaves them: within
 * its bounds, and gain and price meeting where a free own link joins them. */
static void land(const struct pri_newton *state, int32_t i, double next[2])
{
    const double *here = &state->here.dual[2 * (int64_t)i];
    const double *block = &state->system->block[3 * (int64_t)i];
    uint8_t kind = state->system->kind[i];
    if (kind & PRI_GAIN_FIXED)
        next[0] = here[0];
    if (kind & PRI_PRICE_TIED)
        next[1] = state->next.sum;
    if (kind & PRI_PRICE_FIXED)
        next[1] = here[1];
    if (kind & PRI_GAIN_ALONE) {
        /* to where its row is full, or to its price, as that moves too */
        double goal = state->alone[i];
        bool meet = kind & PRI_OWN_FREE && goal >= here[1];
        double along = state->length * state->step.sum;
        next[0] += state->length * (goal - here[0]);
        next[0] += meet ? next[1] - here[1] : along;
    }
    if (kind & PRI_OWN_FREE && next[1] < next[0]) {
        double ease = block[0] + block[2], part = 0;
        if (!(kind & PRI_GAIN_FIXED))
            part = ease > 0 ? block[0] / ease : 0.5;
        next[0] = next[1] = next[0] + part * (next[1] - next[0]);
    }
    next[0] = pri_most(state->lower, pri_least(state->upper, next[0]));
    if (kind & PRI_PRICE_OWN || (kind & PRI_OWN_FREE && next[1] < next[0]))
        next[1] = next[0];
}

/* next = here + length * step, back onto the bounds; tallies slope times
 * movement. */
static void move(void *context, int32_t low, int32_t high,
                 struct pri_sweep_sums *tally)
{
    struct pri_newton *state = context;
    double length = state->length, along = 0;
    for (int32_t i = low; i < high; i++) {
        const double *here = &state->here.dual[2 * (int64_t)i];
        const double *step = &state->step.dual[2 * (int64_t)i];
        const double *slope = &state->before[2 * (int64_t)i];
        double *next = &state->next.dual[2 * (int64_t)i];
        next[0] = here[0] + length * step[0];
        next[1] = here[1] + length * step[1];
        if (state->system->kind[i] != 0 || next[0] > state->upper ||
            next[0] < state->lower)
            land(state, i, next);
        along += slope[0] * (next[0] - here[0]);
        if (!(state->given[i] & PRI_PRICE_TIED))
            along += slope[1] * (next[1] - here[1]);
    }
    tally->sum[0] += along;
}

/*
 * Go along the step until the function falls enough. Close to the end its
 * differences drown in rounding: then the step is taken as it is.
 */
static bool search(struct pri_newton *state)
{
    const struct pri_problem *problem = state->problem;
    double value = state->value, slope_sum = state->slope_sum;
    double *before = state->before;
    struct pri_sweep_sums total;
    state->before = state->slope;
    state->slope = before;
    state->length = 1;
    for (int trial = 0; trial < 40; trial++) {
        state->next.sum = state->here.sum + state->length * state->step.sum;
        pri_sweep(problem, move, state, &total);
        double along =
            total.sum[0] + slope_sum * (state->next.sum - state->here.sum);
        pri_newton_evaluate(state);
        double fall = state->value - value, curve = fall - along;
        if (fall <= 1e-4 * along || fabs(along) <= 1e-13 * fabs(value))
            return true;
        double best = curve > 0 ? -along / (2 * curve) : 0.5;
        state->length *= pri_most(0.1, pri_least(0.6, best));
    }
    return false;
}

void pri_newton_arrive(struct pri_newton *state)
{
    struct pri_point swap = state->here;
    state->here = state->next;
    state->next = swap;
}

bool pri_newton_step(struct pri_newton *state)
{
    double ratio = state->run->tolerance / pri_most(state->gap, 1e-300);
    double relative = pri_most(1e-9, pri_least(0.1, 0.3 * sqrt(ratio)));
    pri_system_prepare(state->system);
    if (!pri_system_solve(state->system, state->right, -state->slope_sum,
                          relative, 500, &state->step) ||
        !search(state))
        return false;
    pri_newton_arrive(state);
    return true;
}
