/*
 * The exact method: semismooth Newton on the dual.
 *
 * With the shares as answers to the multipliers, y(z), the negative dual is a
 * convex function of worths, prices and the sum multiplier, piecewise quadratic
 * and once differentiable,
 *
 *     sum of phi(z) + sum (g_j - t)^2 / (4 h_j) + t^2 / 4 + nodes t - sum b(v),
 *
 * to be minimised over bounds: those of the worths, and g_i >= v_i where node
 * i's own link costs nothing, whose share is the multiplier of that bound. Each
 * step fixes what its bound holds, solves the Newton system of the links in
 * use, and searches along the step, projected. Near the end the set of links
 * in use no longer changes and a step is exact.
 */
#include "optimise_newton.h"

#include <stdlib.h>
#include <string.h>

/* Own links that cost less than this are free. */
static const double free_cost = 1e-9;

/* ------------------------------------------------------------ active set -- */

/* What its bounds hold of node i. */
static uint8_t held(const struct pri_newton *state, int32_t i)
{
    const struct pri_system *system = state->system;
    const double *dual = &state->here.dual[2 * (int64_t)i];
    const double *slope = &state->slope[2 * (int64_t)i];
    uint8_t kind = state->given[i];
    bool tight = kind & PRI_OWN_FREE && dual[1] <= dual[0] && slope[1] > 0;
    double pull = slope[0] + (tight ? slope[1] : 0);
    double curve = system->block[3 * (int64_t)i] + system->own[i];
    if ((dual[0] >= state->upper && pull < 0) ||
        (dual[0] <= state->lower && pull > 0))
        kind |= PRI_WORTH_FIXED;
    else if (!tight && !(curve > 0) && !(kind & PRI_WORTH_FIXED))
        kind |= PRI_WORTH_FIXED | PRI_WORTH_ALONE;
    if (tight)
        kind |= kind & PRI_WORTH_FIXED ? PRI_PRICE_FIXED : PRI_PRICE_OWN;
    return kind;
}

/*
 * Decide for each node what its bounds hold, at `here`, and set the right-hand
 * side. A row that no link answers for has no curvature: it is held too, and
 * moved by itself. Tallies an estimate of the distance: what is off at a relay
 * costs crowd times its square, in a row its worth.
 */
static void hold(void *context, int32_t low, int32_t high,
                 struct pri_tally *tally)
{
    struct pri_newton *state = context;
    const struct pri_problem *problem = state->problem;
    uint8_t given = PRI_PRICE_FIXED | PRI_PRICE_TIED | PRI_PRICE_OWN;
    for (int32_t i = low; i < high; i++) {
        const double *slope = &state->slope[2 * (int64_t)i];
        double *right = &state->right[2 * (int64_t)i];
        double worth = state->here.dual[2 * (int64_t)i] - state->here.sum;
        uint8_t kind = held(state, i);
        state->system->kind[i] = kind;
        if (kind & PRI_WORTH_ALONE)
            state->alone[i] =
                pri_start_row(state->system, state->given, state->here.dual, i);
        right[0] = kind & PRI_WORTH_FIXED ? 0 : -slope[0];
        right[1] = kind & given ? 0 : -slope[1];
        if (kind & PRI_PRICE_OWN)
            right[0] -= slope[1];
        double off = kind & PRI_WORTH_ALONE ? slope[0] : right[0];
        tally->sum[0] += off * off * (fabs(worth) + 1);
        if (!(kind & given))
            tally->sum[0] += problem->crowd[i] * slope[1] * slope[1];
    }
}

/* ------------------------------------------------------------------ step -- */

/* Where node i ends up, from its two unknowns as the step leaves them: within
 * its bounds, and worth and price meeting where a free own link joins them. */
static void land(const struct pri_newton *state, int32_t i, double next[2])
{
    const double *here = &state->here.dual[2 * (int64_t)i];
    const double *block = &state->system->block[3 * (int64_t)i];
    uint8_t kind = state->system->kind[i];
    if (kind & PRI_WORTH_FIXED)
        next[0] = here[0];
    if (kind & PRI_WORTH_ALONE)
        next[0] +=
            state->length * (state->alone[i] - here[0] + state->step.sum);
    if (kind & PRI_PRICE_TIED)
        next[1] = state->next.sum;
    if (kind & PRI_PRICE_FIXED)
        next[1] = here[1];
    if (kind & PRI_OWN_FREE && next[1] < next[0]) {
        double ease = block[0] + block[2], part = 0;
        if (!(kind & PRI_WORTH_FIXED))
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
                 struct pri_tally *tally)
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
    struct pri_tally total;
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

static void arrive(struct pri_newton *state)
{
    struct pri_point swap = state->here;
    state->here = state->next;
    state->next = swap;
}

static bool iterate(struct pri_newton *state)
{
    double ratio = state->run->tolerance / pri_most(state->gap, 1e-300);
    double relative = pri_most(1e-9, pri_least(0.1, 0.3 * sqrt(ratio)));
    pri_system_prepare(state->system);
    if (!pri_system_solve(state->system, state->right, -state->slope_sum,
                          relative, 500, &state->step) ||
        !search(state))
        return false;
    arrive(state);
    return true;
}

/* --------------------------------------------------------- before, after -- */

/* 1 / (2 q) of both directions, where the pass over the arcs finds them. */
static void load_slopes(void *context, int32_t low, int32_t high,
                        struct pri_tally *tally)
{
    struct pri_newton *state = context;
    struct pri_problem *problem = state->problem;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        struct pri_arc *self = &problem->self[i];
        self->slack = 1 / (2 * pri_most(self->cost, state->least));
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            struct pri_arc *arc = &problem->arc[l];
            double back = problem->arc[problem->partner[l]].cost;
            arc->slack = 1 / (2 * pri_most(arc->cost, state->least));
            arc->share = 1 / (2 * pri_most(back, state->least));
        }
    }
}

/* The share of node i's own link at `here`: its answer, or, where it is free,
 * what its row or its relay still lacks. */
static double own_share(const struct pri_newton *state, int32_t i)
{
    const struct pri_problem *problem = state->problem;
    const double *dual = &state->here.dual[2 * (int64_t)i];
    const double *slope = &state->slope[2 * (int64_t)i];
    double z = dual[0] - dual[1];
    if (!(state->given[i] & PRI_OWN_FREE))
        return z > 0 ? problem->self[i].slack * z : 0;
    bool bound = dual[0] >= state->upper || dual[0] <= state->lower ||
                 state->given[i] & PRI_WORTH_FIXED;
    return z < 0 ? 0 : pri_most(0, bound ? slope[1] : -slope[0]);
}

/* The shares that answer to `here`. */
static void store_shares(void *context, int32_t low, int32_t high,
                         struct pri_tally *tally)
{
    struct pri_newton *state = context;
    struct pri_problem *problem = state->problem;
    const double *dual = state->here.dual;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        const double *here = &dual[2 * (int64_t)i];
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            struct pri_arc *arc = &problem->arc[l];
            const double *there = &dual[2 * (int64_t)problem->entry[l].to];
            double y[2], d[3];
            pri_answer_pair(arc->slack, arc->share, arc->cross,
                            here[0] - there[1], there[0] - here[1], y, d);
            arc->share = y[0];
        }
        problem->self[i].share = own_share(state, i);
    }
}

/* Certify `here`; true if the run is over. */
static bool check(struct pri_newton *state)
{
    pri_sweep(state->problem, store_shares, state, NULL);
    pri_point_copy(state->problem, &state->here, &state->run->point);
    return pri_run_certify(state->run);
}

/* After a certificate that was not good enough. Where the estimate says that it
 * should have been, links that cost too little are to blame. */
static void go_on(struct pri_newton *state)
{
    bool blunt = state->gap < 1e-2 * state->run->tolerance;
    if (blunt)
        state->least *= 1e-3;
    pri_sweep(state->problem, load_slopes, state, NULL);
    if (!blunt)
        return;
    arrive(state);
    pri_newton_evaluate(state);
    arrive(state);
}

/* Which own links are free; and where the start has them in use, worth and
 * price are made to meet. */
static void set_kinds(struct pri_newton *state, enum pri_begin begin)
{
    const struct pri_problem *problem = state->problem;
    uint8_t bare = PRI_PRICE_TIED | PRI_PRICE_FIXED;
    for (int32_t i = 0; i < problem->nodes; i++) {
        const struct pri_arc *self = &problem->self[i];
        double *dual = &state->next.dual[2 * (int64_t)i];
        state->given[i] = problem->kind[i];
        if (!(self->cost < free_cost) || problem->kind[i] & bare)
            continue;
        state->given[i] |= PRI_OWN_FREE;
        bool used = begin == PRI_BEGIN_INTERIOR ? self->share > self->slack
                                                : self->share > 0;
        if (begin == PRI_BEGIN_COLD || (!used && dual[1] >= dual[0]))
            continue;
        bool bound = dual[0] >= state->upper || dual[0] <= state->lower;
        if (!bound && !(problem->kind[i] & PRI_WORTH_FIXED))
            dual[0] += (dual[1] - dual[0]) / 2;
        dual[1] = dual[0];
    }
}

/* ------------------------------------------------------------------- run -- */

static void free_state(struct pri_newton *state)
{
    free(state->here.dual);
    free(state->next.dual);
    free(state->step.dual);
    free(state->slope);
    free(state->before);
    free(state->right);
    free(state->alone);
    free(state->given);
}

static bool new_state(struct pri_run *run, struct pri_newton *state)
{
    int64_t nodes = run->problem->nodes;
    *state = (struct pri_newton){.run = run,
                                 .problem = run->problem,
                                 .system = &run->system,
                                 .least = 1e-10};
    state->slope = pri_alloc(2 * nodes, sizeof(double));
    state->before = pri_alloc(2 * nodes, sizeof(double));
    state->right = pri_alloc(2 * nodes, sizeof(double));
    state->alone = pri_alloc(nodes, sizeof(double));
    state->given = pri_alloc(nodes, sizeof(uint8_t));
    return pri_point_new(run->problem, &state->here) &&
           pri_point_new(run->problem, &state->next) &&
           pri_point_new(run->problem, &state->step) && state->slope != NULL &&
           state->before != NULL && state->right != NULL &&
           state->alone != NULL && state->given != NULL;
}

/*
 * The bias term, or, to begin with, none: every row is to be full, whatever it
 * costs. From where that ends the level of bias is found at once, and Newton on
 * the problem itself has a short way to go.
 */
static void set_bias(struct pri_newton *state, bool full)
{
    const struct pri_problem *problem = state->problem;
    bool soft = problem->bias == PRICER_BIAS_L2 && problem->penalty > 0;
    double bend = soft && !full ? 1 / (2 * problem->penalty) : 0;
    state->full = full;
    state->upper = full ? INFINITY : problem->upper_bound;
    state->lower = full ? -INFINITY : problem->lower_bound;
    state->system->summed = problem->summed && !full;
    for (int32_t i = 0; i < problem->nodes; i++)
        state->system->bend[i] = bend;
}

static void begin_at(struct pri_newton *state, enum pri_begin begin)
{
    struct pri_run *run = state->run;
    const struct pri_problem *problem = run->problem;
    bool cold = begin == PRI_BEGIN_COLD;
    bool fixed = problem->upper_bound == problem->lower_bound;
    set_bias(state, cold && problem->summed && !fixed);
    pri_point_copy(problem, &run->point, &state->next);
    set_kinds(state, begin);
    pri_sweep(problem, load_slopes, state, NULL);
    if (cold)
        pri_start(state->system, state->given, &state->next);
    if (cold && !state->full)
        pri_start_level(state->system, state->given, &state->next);
    pri_newton_evaluate(state);
    arrive(state);
}

/* From full rows to the bias term. */
static void leave_full(struct pri_newton *state)
{
    set_bias(state, false);
    arrive(state);
    pri_start_level(state->system, state->given, &state->next);
    pri_newton_evaluate(state);
    arrive(state);
}

static void estimate(struct pri_newton *state)
{
    struct pri_tally total;
    pri_sweep(state->problem, hold, state, &total);
    double sum = state->system->summed ? state->slope_sum : 0;
    double size = fabs(state->value);
    double least = PRI_NOTHING * state->problem->nodes;
    state->gap = (total.sum[0] + sum * sum) / pri_most(size, least);
}

/*
 * Steps until the certificate is good enough. The certificate costs as much as
 * an evaluation, so it waits until the estimate calls for it. Gives up after
 * too many steps, or two in a row that got almost nowhere.
 */
static void run_steps(struct pri_newton *state, int32_t most)
{
    struct pri_run *run = state->run;
    int short_steps = 0;
    for (int32_t k = 0; k < most && short_steps < 2; k++) {
        estimate(state);
        if (state->full && (k == 6 || state->gap < 0.01)) {
            leave_full(state);
            estimate(state);
        }
        if (state->gap < 20 * run->tolerance && !state->full) {
            if (check(state) || state->least < 1e-20)
                return;
            go_on(state);
            estimate(state);
        }
        if (pri_run_interrupted(run, state->gap) || !iterate(state))
            break;
        short_steps = state->length < 0.02 ? short_steps + 1 : 0;
    }
    if (state->full)
        leave_full(state);
    check(state);
}

enum pricer_status pri_newton(struct pri_run *run, enum pri_begin begin)
{
    struct pri_newton state;
    enum pricer_status status = PRICER_MEMORY;
    if (new_state(run, &state)) {
        status = PRICER_OK;
        begin_at(&state, begin);
        run_steps(&state, begin == PRI_BEGIN_COLD ? 15 : 25);
    }
    free_state(&state);
    return status;
}
