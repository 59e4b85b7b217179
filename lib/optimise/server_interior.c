/*
 * Plans with budgets towards the server: primal-dual interior point in gains,
 * prices and the multipliers k of the budgets.
 *
 * Beside shares y and slacks s (interior.c) a link of a bound node has a part
 * of its node's budget, with multipliers of part >= 0 and part <= most, and a
 * row has what it leaves of its budget, whose multiplier is k. With
 *
 *     D = 2 b y^2 / part^3 + floor / part + roof / (most - part),
 *     lean = (2 b y / part^2) / D,
 *
 * the linearised part changes by lean dy + (f' - dk) / D and the share by
 * M (dz - lean dk + f), M the inverse of
 *
 *     2 a + s / y + (2 b / part) (1 - lean y / part)
 *
 * or of a 2 x 2 matrix for a pair: one Newton step is a system in gains, prices
 * and k alone. Noise costs are convex and homogeneous, so that the logarithmic
 * barriers control their third derivatives and Newton's method follows the
 * central path as it does for a quadratic.
 */
#include "server_pair.h"

#include <stdlib.h>

/* ------------------------------------------------------------ the system -- */

/* Add one side's part of the equations to its nodes: what the row, the relay
 * and the budget would have after the step with all z unchanged. */
static void add_row(struct pri_server_interior *state,
                    const struct pri_server_ends *ends,
                    const struct pri_server_pair *pair, int e)
{
    const struct pri_arc *arc = ends->arc[e];
    const struct pri_server_side *side = &pair->side[e];
    int64_t i = ends->node[e];
    const double *a = pair->answer;
    double change = e == 0 ? a[0] * side->force + a[1] * pair->side[1].force
                           : a[1] * pair->side[0].force + a[2] * side->force;
    double *right = &state->right[3 * i];
    right[0] -= arc->share + change;
    if (ends->split[e]->noise > 0 && arc->share > 0) {
        right[2] += ends->split[e]->part + side->yield * side->force_part +
                    side->lean * change;
        state->system.spread[i] += side->yield;
    }
}

static void add_load(struct pri_server_interior *state,
                     const struct pri_server_ends *ends,
                     const struct pri_server_pair *pair, int e)
{
    const double *a = pair->answer;
    double change =
        e == 0 ? a[0] * pair->side[0].force + a[1] * pair->side[1].force
               : a[1] * pair->side[0].force + a[2] * pair->side[1].force;
    state->right[3 * (int64_t)ends->node[1 - e] + 1] +=
        ends->arc[e]->share + change;
}

/* The block of the node that side e leaves. */
static void add_block(struct pri_server_interior *state,
                      const struct pri_server_ends *ends,
                      const struct pri_server_pair *pair, int e)
{
    double *b = &state->system.block[6 * (int64_t)ends->node[e]];
    double out = pair->answer[e == 0 ? 0 : 2], both = pair->answer[1];
    double lean = pair->side[e].lean;
    b[0] += out;
    b[1] -= both;
    b[2] -= lean * out;
    b[3] += pair->answer[e == 0 ? 2 : 0];
    b[4] += lean * both;
    b[5] += lean * lean * out;
}

/* From the sums of node i to its part of the right-hand side. */
static void finish_node(struct pri_server_interior *state, int32_t i,
                        struct pri_sweep_sums *tally)
{
    const struct pri_problem *problem = state->problem;
    struct pri_server_system *system = &state->system;
    const double *dual = &state->point->dual[2 * (int64_t)i];
    double *right = &state->right[3 * (int64_t)i], curvature = 0;
    double rise = system->ease[i] * (dual[1] - state->point->sum);
    right[0] += problem->wanted[i];
    right[1] -= rise;
    if (problem->bias == PRICER_BIAS_L2 && problem->penalty > 0) {
        curvature = 1 / (2 * problem->penalty);
        right[0] -= curvature * dual[0];
    }
    for (int k = 0; k < 2; k++)
        if (pri_server_edged(problem, i, k)) {
            double inverse = 1 / state->edge[k][i];
            curvature += state->room[k][i] * inverse;
            right[0] -= (k == 0 ? 1 : -1) * state->target * inverse;
        }
    system->curvature[i] = curvature;
    tally->sum[0] += rise;
    if (state->server->bound[i]) {
        double inverse = 1 / state->server->multiplier[i];
        right[2] += state->target * inverse - 1;
        system->spread[i] += state->spare[i] * inverse;
    } else {
        right[2] = 0;
    }
    if (problem->kind[i] & PRI_GAIN_FIXED)
        right[0] = 0;
    if (problem->kind[i] & (PRI_PRICE_TIED | PRI_PRICE_FIXED)) {
        tally->sum[0] += right[1];
        right[1] = 0;
    }
}

static void assemble(void *context, int32_t low, int32_t high,
                     struct pri_sweep_sums *tally)
{
    struct pri_server_interior *state = context;
    const struct pri_problem *problem = state->problem;
    struct pri_server_system *system = &state->system;
    size_t nodes = (size_t)(high - low);
    int32_t at = problem->start[low];
    memset(&state->right[3 * (int64_t)low], 0, 3 * nodes * sizeof(double));
    memset(&system->block[6 * (int64_t)low], 0, 6 * nodes * sizeof(double));
    memset(&system->spread[low], 0, nodes * sizeof(double));
    for (int32_t i = low; i < high; i++) {
        struct pri_server_ends own = pri_ends_at(state, i, -1);
        struct pri_server_pair pair = pri_linearise(state, &own);
        system->own[i] = pair.answer[0];
        system->own_lean[i] = pair.side[0].lean;
        add_row(state, &own, &pair, 0);
        add_load(state, &own, &pair, 0);
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            int32_t to = problem->to[l];
            bool inside = to >= low && to < high;
            if (to < i && inside) {
                l = problem->upper[i] - 1;
                continue;
            }
            struct pri_server_ends ends = pri_ends_at(state, i, l);
            pair = pri_linearise(state, &ends);
            double lean[2] = {pair.side[0].lean, pair.side[1].lean};
            at = pri_server_enter(system, at, l, inside, pair.answer, lean);
            add_row(state, &ends, &pair, 0);
            add_load(state, &ends, &pair, 1);
            add_block(state, &ends, &pair, 0);
            if (!inside)
                continue;
            add_row(state, &ends, &pair, 1);
            add_load(state, &ends, &pair, 0);
            add_block(state, &ends, &pair, 1);
        }
        system->until[i] = at;
    }
    for (int32_t i = low; i < high; i++)
        finish_node(state, i, tally);
}

/* The products as a part of the best value. */
static double product_gap(const struct pri_server_interior *state)
{
    double least = PRI_NOTHING * state->problem->nodes;
    double best = pri_most(state->run->certifier.best, least);
    return state->mean * state->count / best;
}

/*
 * A part of the curvature that an average share has. Noise costs are flat along
 * their rays, so that links of bound nodes answer far more steeply than others;
 * the proximal term bounds their answers, and with them the conjugate gradients
 * that a step takes, and goes to zero with the products.
 */
static double proximal_of(const struct pri_server_interior *state)
{
    double value = state->run->certifier.best / state->problem->nodes;
    double gap = pri_least(1, product_gap(state));
    return 0.05 * sqrt(gap) * value;
}

/* One step; false if the numbers gave out. What is aimed at next depends on how
 * far the last one got. */
static bool iterate(struct pri_server_interior *state)
{
    const struct pri_problem *problem = state->problem;
    struct pri_sweep_sums total;
    double part = 0.4;
    if (state->length > 0.5)
        part = state->length > 0.9 ? 0.05 : 0.2;
    state->target = part * state->mean;
    state->proximal = state->system.dense ? 0 : proximal_of(state);
    pri_sweep(problem, assemble, state, &total);
    double right_sum =
        total.sum[0] - state->point->sum / 2 - problem->wanted_sum;
    pri_server_prepare(&state->system);
    if (!pri_server_solve(&state->system, state->right, right_sum, 1e-2, 1000,
                          state->step, &state->step_sum))
        return false;
    pri_server_measure(state, &total);
    double fall = (1 - part) * state->mean * state->count;
    double best = total.sum[0] > 0 ? fall / (2 * total.sum[0]) : 1;
    state->length = total.least < 1 ? 0.95 * total.least : 1;
    state->length = pri_least(state->length, pri_most(best, 0.1));
    pri_server_move(state, &total);
    state->mean = total.sum[0] / state->count;
    return isfinite(state->mean) && state->mean > 0 && state->length > 1e-12;
}

/* ------------------------------------------------------------------- run -- */

static void free_state(struct pri_server_interior *state)
{
    pri_server_system_free(&state->system);
    free(state->step);
    free(state->right);
    free(state->spare);
    for (int k = 0; k < 2; k++) {
        free(state->room[k]);
        free(state->edge[k]);
    }
}

static bool new_state(struct pri_run *run, bool dense,
                      struct pri_server_interior *state)
{
    int64_t nodes = run->problem->nodes;
    *state = (struct pri_server_interior){.run = run,
                                          .server = run->server,
                                          .problem = run->problem,
                                          .point = &run->point};
    bool made = pri_server_system_new(run->server, dense, &state->system);
    state->step = pri_alloc(3 * nodes, sizeof(double));
    state->right = pri_alloc(3 * nodes, sizeof(double));
    state->spare = pri_alloc(nodes, sizeof(double));
    made = made && state->step && state->right && state->spare;
    for (int k = 0; k < 2; k++) {
        state->room[k] = pri_alloc(nodes, sizeof(double));
        state->edge[k] = pri_alloc(nodes, sizeof(double));
        made = made && state->room[k] && state->edge[k];
    }
    return made;
}

enum pricer_status pri_server_interior(struct pri_run *run, bool dense)
{
    struct pri_server_interior state;
    enum pricer_status status = PRICER_MEMORY;
    if (!new_state(run, dense, &state))
        goto done;
    status = PRICER_OK;
    run->server->all_whole = false;
    pri_server_start(&state);
    double before = INFINITY;
    for (int32_t k = 0;; k++) {
        double gap = product_gap(&state);
        bool due = dense || k % 4 == 0 || gap < 3 * run->tolerance;
        if (due && pri_run_certify(run))
            break;
        bool stuck = !dense && k % 20 == 19 && run->kept.gap > 0.5 * before;
        if (pri_run_interrupted(run, gap) || stuck || !iterate(&state) ||
            gap < 1e-16)
            break;
        before = k % 20 == 19 ? run->kept.gap : before;
        /* where leaving out small shares is what keeps the gap open */
        run->server->all_whole = product_gap(&state) < 0.01 * run->tolerance;
    }
    run->system.cg.steps += state.system.cg.steps;
done:
    free_state(&state);
    return status;
}
