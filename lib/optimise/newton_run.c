/*
 * From a start to the end of semismooth Newton: the arcs made ready for it, its
 * steps, and the shares that its multipliers stand for.
 */
#include "newton.h"

#include <stdlib.h>
#include <string.h>

/* Own links that cost less than this are free. */
static const double free_cost = 1e-9;

/* --------------------------------------------------------- before, after -- */

/* How the links answer. */
static void load_eases(void *context, int32_t low, int32_t high,
                       struct pri_sweep_sums *tally)
{
    struct pri_newton *state = context;
    struct pri_problem *problem = state->problem;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        struct pri_arc *self = &problem->self[i];
        self->ease = 1 / (2 * pri_most(self->cost, state->least));
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            double cost = pri_arc_cost(problem, l);
            problem->thin[l].ease = 1 / (2 * pri_most(cost, state->least));
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
        return z > 0 ? problem->self[i].ease * z : 0;
    bool bound = dual[0] >= state->upper || dual[0] <= state->lower ||
                 state->given[i] & PRI_GAIN_FIXED;
    return z < 0 ? 0 : pri_most(0, bound ? slope[1] : -slope[0]);
}

/* The shares that answer to `here`. They take the place of the eases: that of
 * the other direction may be gone. */
static void store_shares(void *context, int32_t low, int32_t high,
                         struct pri_sweep_sums *tally)
{
    struct pri_newton *state = context;
    struct pri_problem *problem = state->problem;
    const double *dual = state->here.dual;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        const double *here = &dual[2 * (int64_t)i];
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            struct pri_thin *out = &problem->thin[l];
            const double *there = &dual[2 * (int64_t)problem->to[l]];
            pri_two z = {here[0] - there[1], there[0] - here[1]};
            double share = 0 * z[0]; /* with its sign */
            if (z[0] > 0) {
                double back = pri_arc_cost(problem, problem->partner[l]);
                pri_two w = {out->ease, 1 / (2 * pri_most(back, state->least))};
                share = pri_answer_pair(w, out->cross, z).share[0];
            }
            out->share = share;
        }
        problem->self[i].share = own_share(state, i);
    }
}

/* Certify `here`; true if the run is over. */
static bool check(struct pri_newton *state)
{
    struct pri_run *run = state->run;
    double before = run->kept.gap;
    pri_sweep_all(state->problem, store_shares, state);
    pri_point_copy(state->problem, &state->here, &run->point);
    run->later = true;
    bool over = pri_run_certify(run);
    run->later = false;
    if (run->kept.gap < before)
        state->owed_least = run->owed ? state->least : 0;
    if (run->owed)
        pri_point_copy(state->problem, &state->here, &state->owed);
    return over;
}

/* Make the best plan again, where it has not been written: the shares follow
 * from the point to the last bit. */
static void pay(struct pri_newton *state)
{
    struct pri_run *run = state->run;
    struct pri_proof again;
    if (!(state->owed_least > 0))
        return;
    state->least = state->owed_least;
    pri_sweep_all(state->problem, load_eases, state);
    pri_point_copy(state->problem, &state->owed, &state->next);
    pri_newton_evaluate(state);
    pri_newton_arrive(state);
    pri_sweep_all(state->problem, store_shares, state);
    pri_point_copy(state->problem, &state->here, &run->trial);
    pri_certify(&run->certifier, &run->trial, &again);
    pri_run_write(run);
}

/* After a certificate that was not good enough. Where the estimate says that it
 * should have been, links that cost too little are to blame. */
static void go_on(struct pri_newton *state)
{
    bool blunt = state->gap < 1e-2 * state->run->tolerance;
    if (blunt)
        state->least *= 1e-3;
    pri_sweep_all(state->problem, load_eases, state);
    if (!blunt)
        return;
    pri_newton_arrive(state);
    pri_newton_evaluate(state);
    pri_newton_arrive(state);
}

/* Which own links are free; and where the start has them in use, gain and
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
        if (!bound && !(problem->kind[i] & PRI_GAIN_FIXED))
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
    free(state->owed.dual);
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
           pri_point_new(run->problem, &state->step) &&
           pri_point_new(run->problem, &state->owed) && state->slope != NULL &&
           state->before != NULL && state->right != NULL &&
           state->alone != NULL && state->given != NULL;
}

/*
 * The bias term, or, to begin with, none: every row is to be full, whatever it
 * costs. From where that ends the level of bias is found at once, and Newton on
 * the problem itself has little left to do.
 */
static void set_bias(struct pri_newton *state, bool full)
{
    const struct pri_problem *problem = state->problem;
    bool soft = problem->bias == PRICER_BIAS_L2 && problem->penalty > 0;
    double curvature = soft && !full ? 1 / (2 * problem->penalty) : 0;
    state->full = full;
    state->upper = full ? INFINITY : problem->upper_bound;
    state->lower = full ? -INFINITY : problem->lower_bound;
    state->system->cg.summed = problem->summed && !full;
    for (int32_t i = 0; i < problem->nodes; i++)
        state->system->curvature[i] = curvature;
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
    pri_sweep_all(problem, load_eases, state);
    if (cold)
        pri_start(state->system, state->given, &state->next);
    if (cold && !state->full)
        pri_start_level(state->system, state->given, &state->next);
    pri_newton_evaluate(state);
    pri_newton_arrive(state);
}

/*
 * Repair `here` by coordinate descent: where many links change between in use
 * and not, it goes further than Newton. It takes pairs for two links, so that
 * it may fail.
 */
static void relax(struct pri_newton *state)
{
    double value = state->value;
    pri_point_copy(state->problem, &state->here, &state->next);
    pri_start_relax(state->system, state->given, state->lower, state->upper,
                    &state->next);
    pri_newton_evaluate(state);
    if (!(state->value <= value)) {
        pri_point_copy(state->problem, &state->here, &state->next);
        pri_newton_evaluate(state);
    }
    pri_newton_arrive(state);
    pri_newton_hold(state);
}

/*
 * Whether the sum multiplier moves with the rest. Where the rest is far off it
 * waits: the errors of all rows, added up, would drive it to and fro.
 */
static void join(struct pri_newton *state, bool joined)
{
    state->system->cg.summed = state->problem->summed && joined;
    pri_newton_hold(state);
}

/* From full rows to the bias term. */
static void leave_full(struct pri_newton *state)
{
    set_bias(state, false);
    pri_newton_arrive(state);
    pri_start_level(state->system, state->given, &state->next);
    pri_newton_evaluate(state);
    pri_newton_arrive(state);
    join(state, false);
}

/*
 * Steps until the certificate is good enough. The certificate costs as much as
 * an evaluation, so it waits until the estimate calls for it. Gives up after
 * too many steps, or five in a row that got almost nowhere.
 */
static void run_steps(struct pri_newton *state, int32_t most)
{
    struct pri_run *run = state->run;
    double before = INFINITY;
    int short_steps = 0;
    state->length = 1;
    for (int32_t k = 0; k < most && short_steps < 5; k++) {
        pri_newton_hold(state);
        if (state->full && (k == 8 || state->gap < 0.01))
            leave_full(state);
        else if (!state->full) {
            bool joined = state->system->cg.summed == state->problem->summed;
            bool worse = state->length < 0.1 || state->gap > 10 * before;
            if (joined ? worse : state->gap < 1e-4)
                join(state, !joined);
        }
        if (state->length < 0.05)
            relax(state);
        bool joined = state->system->cg.summed == state->problem->summed;
        if (joined && state->gap < 20 * run->tolerance) {
            if (check(state) || state->least < 1e-20)
                return;
            go_on(state);
            pri_newton_hold(state);
        }
        before = state->gap;
        if (pri_run_interrupted(run, state->gap) || !pri_newton_step(state))
            break;
        short_steps = state->length < 0.02 ? short_steps + 1 : 0;
    }
    if (state->full)
        leave_full(state);
    join(state, true);
    check(state);
}

enum pricer_status pri_newton(struct pri_run *run, enum pri_begin begin)
{
    struct pri_newton state;
    enum pricer_status status = PRICER_MEMORY;
    if (new_state(run, &state) && pri_problem_slim(run->problem)) {
        status = PRICER_OK;
        begin_at(&state, begin);
        run_steps(&state, begin == PRI_BEGIN_COLD ? 30 : 25);
        pay(&state);
    }
    free_state(&state);
    return status;
}
