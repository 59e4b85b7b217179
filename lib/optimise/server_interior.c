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
#include "server_interior.h"

#include <stdlib.h>

/* One side of a pair, linearised. */
struct side {
    double stiff; /* what resists a change of the share, without 2 a */
    double force; /* what moves the share */
    double lean;  /* d part / d share */
    double yield; /* 1 / D, d part / d force_part */
    double force_part;
};

struct pair {
    struct side side[2];
    double answer[3]; /* M: out-out, out-in, in-in */
};

/* The links of a pair, out and in; `in` is empty for an own link. */
struct ends {
    struct pri_arc *arc[2];
    struct pri_split *split[2];
    int32_t node[2]; /* whose shares they are */
};

/* ----------------------------------------------------------------- pairs -- */

static struct side linearise_side(const struct pri_arc *arc,
                                  const struct pri_split *split, double z,
                                  double k, double other, double target,
                                  double proximal)
{
    struct side side = {0, 0, 0, 0, 0};
    double y = arc->share, inverse = 1 / y, part = split->part;
    side.stiff = arc->slack * inverse + proximal;
    side.force = z - 2 * split->plain * y - other + target * inverse;
    if (!(split->noise > 0))
        return side;
    double left = split->most - part, ratio = y / part;
    double bar = split->floor / part, aim = target / part;
    if (left < INFINITY) {
        bar += split->roof / left;
        aim -= target / left;
    }
    double slope = 2 * split->noise * ratio / part;
    side.yield = 1 / (slope * ratio + bar);
    side.lean = slope * side.yield;
    side.stiff += 2 * split->noise / part * (bar * side.yield);
    side.force_part = split->noise * ratio * ratio - k + aim;
    side.force += side.lean * side.force_part - 2 * split->noise * ratio;
    return side;
}

/* M, with 4 a a' >= c^2, so that eliminating one share leaves the other its
 * stiffness. */
static void invert_pair(const struct ends *ends, struct pair *pair)
{
    const struct side *out = &pair->side[0], *in = &pair->side[1];
    double cross = ends->arc[0]->cross, inverse = 0;
    double stiff = 0, stiff_in = 0;
    if (ends->arc[0]->share > 0)
        stiff = 2 * ends->split[0]->plain + out->stiff;
    if (ends->arc[1] != NULL && ends->arc[1]->share > 0)
        stiff_in = 2 * ends->split[1]->plain + in->stiff;
    inverse = stiff_in > 0 ? 1 / stiff_in : 0;
    pair->answer[0] = stiff > 0 ? 1 / stiff : 0;
    pair->answer[1] = 0;
    pair->answer[2] = inverse;
    if (cross == 0 || !(stiff > 0) || !(stiff_in > 0))
        return;
    double slope = cross * inverse;
    double left = 1 / pri_most(out->stiff, stiff - slope * cross);
    pair->answer[0] = left;
    pair->answer[1] = -slope * left;
    pair->answer[2] = inverse + slope * slope * left;
}

/* The ends of arc l of node i, or of its own link for l < 0. */
static struct ends ends_at(const struct pri_server_interior *state, int32_t i,
                           int32_t l)
{
    const struct pri_problem *problem = state->problem;
    struct pri_server *server = state->server;
    if (l < 0)
        return (struct ends){
            {&problem->self[i], NULL}, {&server->self[i], NULL}, {i, i}};
    int32_t partner = problem->partner[l];
    return (struct ends){{&problem->arc[l], &problem->arc[partner]},
                         {&server->arc[l], &server->arc[partner]},
                         {i, problem->to[l]}};
}

static struct pair linearise(const struct pri_server_interior *state,
                             const struct ends *ends)
{
    struct pair pair = {{{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}}, {0, 0, 0}};
    const double *dual = state->point->dual;
    for (int e = 0; e < 2 && ends->arc[e] != NULL; e++) {
        const struct pri_arc *arc = ends->arc[e], *back = ends->arc[1 - e];
        int64_t from = ends->node[e], to = ends->node[1 - e];
        if (!(arc->share > 0))
            continue;
        pair.side[e] = linearise_side(
            arc, ends->split[e], dual[2 * from] - dual[2 * to + 1],
            state->server->multiplier[from],
            arc->cross > 0 ? arc->cross * back->share : 0, state->target,
            state->proximal);
    }
    invert_pair(ends, &pair);
    return pair;
}

/* How a link's numbers change along the step. */
struct change {
    double share, slack, part, floor, roof;
};

static void change_of(const struct pri_server_interior *state,
                      const struct ends *ends, const struct pair *pair,
                      struct change change[2])
{
    double force[2] = {0, 0};
    for (int e = 0; e < 2 && ends->arc[e] != NULL; e++) {
        const double *here = &state->step[3 * (int64_t)ends->node[e]];
        const double *there = &state->step[3 * (int64_t)ends->node[1 - e]];
        const struct side *side = &pair->side[e];
        force[e] = here[0] - there[1] - side->lean * here[2] + side->force;
    }
    for (int e = 0; e < 2 && ends->arc[e] != NULL; e++) {
        const struct pri_arc *arc = ends->arc[e];
        const struct pri_split *split = ends->split[e];
        const struct side *side = &pair->side[e];
        struct change *c = &change[e];
        if (!(arc->share > 0))
            continue;
        c->share = pair->answer[e == 0 ? 0 : 1] * force[0] +
                   pair->answer[e == 0 ? 1 : 2] * force[1];
        c->slack =
            (state->target - arc->slack * c->share) / arc->share - arc->slack;
        if (!(split->noise > 0))
            continue;
        double dk = state->step[3 * (int64_t)ends->node[e] + 2];
        double left = split->most - split->part;
        c->part = side->lean * c->share + side->yield * (side->force_part - dk);
        c->floor = (state->target - split->floor * c->part) / split->part -
                   split->floor;
        c->roof =
            left < INFINITY
                ? (state->target + split->roof * c->part) / left - split->roof
                : 0;
    }
}

/* ---------------------------------------------------------------- bounds -- */

/* How the bias and the distance of bound k change along the step. */
static void change_bound(const struct pri_server_interior *state, int32_t i,
                         int k, double *room, double *edge)
{
    double side = k == 0 ? 1 : -1;
    double move = side * state->step[3 * (int64_t)i];
    double inverse = 1 / state->edge[k][i];
    *room = state->room[k][i] * (move * inverse - 1) + state->target * inverse;
    *edge = -move;
}

/* The same for what a row leaves of its budget. */
static double change_spare(const struct pri_server_interior *state, int32_t i)
{
    double k = state->server->multiplier[i], spare = state->spare[i];
    double dk = state->step[3 * (int64_t)i + 2];
    return (state->target - spare * dk) / k - spare;
}

/* ------------------------------------------------------------ the system -- */

/* Add one side's part of the equations to its nodes: what the row, the relay
 * and the budget would have after the step with all z unchanged. */
static void add_row(struct pri_server_interior *state, const struct ends *ends,
                    const struct pair *pair, int e)
{
    const struct pri_arc *arc = ends->arc[e];
    const struct side *side = &pair->side[e];
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

static void add_load(struct pri_server_interior *state, const struct ends *ends,
                     const struct pair *pair, int e)
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
                      const struct ends *ends, const struct pair *pair, int e)
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
    right[0] += 1;
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
        struct ends own = ends_at(state, i, -1);
        struct pair pair = linearise(state, &own);
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
            struct ends ends = ends_at(state, i, l);
            pair = linearise(state, &ends);
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

/* -------------------------------------------------------------- the step -- */

static inline void limit(double value, double change, double *longest)
{
    if (value + *longest * change <= 0)
        *longest = -value / change;
}

/* One pass over links and rows along the step. With length 0 it tallies the
 * longest step that keeps all positive (least) and the sum of the products of
 * changes (0); else it moves, and tallies the products (0). */
static void follow(struct pri_server_interior *state, const struct ends *ends,
                   int e, const struct change *c, double length, double *sum,
                   double *longest)
{
    struct pri_arc *arc = ends->arc[e];
    struct pri_split *split = ends->split[e];
    bool split_too = split->noise > 0, roofed = split->most < INFINITY;
    (void)state;
    if (!(arc->share > 0))
        return;
    if (length == 0) {
        limit(arc->share, c->share, longest);
        limit(arc->slack, c->slack, longest);
        *sum += c->share * c->slack;
        if (!split_too)
            return;
        limit(split->part, c->part, longest);
        limit(split->floor, c->floor, longest);
        *sum += c->part * c->floor;
        if (!roofed)
            return;
        limit(split->most - split->part, -c->part, longest);
        limit(split->roof, c->roof, longest);
        *sum -= c->part * c->roof;
        return;
    }
    arc->share += length * c->share;
    arc->slack += length * c->slack;
    *sum += arc->share * arc->slack;
    if (!split_too)
        return;
    split->part += length * c->part;
    split->floor += length * c->floor;
    *sum += split->part * split->floor;
    if (roofed) {
        split->roof += length * c->roof;
        *sum += (split->most - split->part) * split->roof;
    }
}

static void follow_node(struct pri_server_interior *state, int32_t i,
                        double length, double *sum, double *longest)
{
    for (int k = 0; k < 2; k++) {
        double room, edge;
        if (!pri_server_edged(state->problem, i, k))
            continue;
        change_bound(state, i, k, &room, &edge);
        if (length == 0) {
            limit(state->room[k][i], room, longest);
            limit(state->edge[k][i], edge, longest);
            *sum += room * edge;
            continue;
        }
        state->room[k][i] += length * room;
        state->edge[k][i] += length * edge;
        *sum += state->room[k][i] * state->edge[k][i];
    }
    if (!state->server->bound[i])
        return;
    double spare = change_spare(state, i);
    double dk = state->step[3 * (int64_t)i + 2];
    double *k = &state->server->multiplier[i];
    if (length == 0) {
        limit(state->spare[i], spare, longest);
        limit(*k, dk, longest);
        *sum += spare * dk;
        return;
    }
    state->spare[i] += length * spare;
    *sum += state->spare[i] * (*k + length * dk);
}

static void pass(struct pri_server_interior *state, int32_t low, int32_t high,
                 double length, struct pri_sweep_sums *tally)
{
    const struct pri_problem *problem = state->problem;
    double longest = 1, sum = 0;
    for (int32_t i = low; i < high; i++) {
        for (int32_t l = problem->upper[i] - 1; l < problem->start[i + 1];
             l++) {
            bool own = l < problem->upper[i];
            struct ends ends = ends_at(state, i, own ? -1 : l);
            struct pair pair = linearise(state, &ends);
            struct change change[2] = {{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}};
            change_of(state, &ends, &pair, change);
            for (int e = 0; e < 2 && ends.arc[e] != NULL; e++)
                follow(state, &ends, e, &change[e], length, &sum, &longest);
        }
        follow_node(state, i, length, &sum, &longest);
    }
    tally->sum[0] += sum;
    tally->least = longest;
}

static void measure(void *context, int32_t low, int32_t high,
                    struct pri_sweep_sums *tally)
{
    pass(context, low, high, 0, tally);
}

static void move(void *context, int32_t low, int32_t high,
                 struct pri_sweep_sums *tally)
{
    struct pri_server_interior *state = context;
    pass(state, low, high, state->length, tally);
}

/* The multipliers move last: the changes of all else are computed from them. */
static void move_point(struct pri_server_interior *state)
{
    for (int32_t i = 0; i < state->problem->nodes; i++) {
        const double *step = &state->step[3 * (int64_t)i];
        state->point->dual[2 * (int64_t)i] += state->length * step[0];
        state->point->dual[2 * (int64_t)i + 1] += state->length * step[1];
        if (state->server->bound[i])
            state->server->multiplier[i] += state->length * step[2];
    }
    state->point->sum += state->length * state->step_sum;
}

/* The products as a part of the best value. */
static double product_gap(const struct pri_server_interior *state)
{
    double least = PRI_NOTHING * state->problem->nodes;
    double best = pri_most(state->run->certifier.best, least);
    return state->mean * state->count / best;
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
    pri_sweep(problem, assemble, state, &total);
    double right_sum = total.sum[0] - state->point->sum / 2 - problem->nodes;
    pri_server_prepare(&state->system);
    if (!pri_server_solve(&state->system, state->right, right_sum, 0.01, 500,
                          state->step, &state->step_sum))
        return false;
    pri_sweep(problem, measure, state, &total);
    double fall = (1 - part) * state->mean * state->count;
    double best = total.sum[0] > 0 ? fall / (2 * total.sum[0]) : 1;
    state->length = total.least < 1 ? 0.95 * total.least : 1;
    state->length = pri_least(state->length, pri_most(best, 0.1));
    pri_sweep(problem, move, state, &total);
    move_point(state);
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
    pri_server_start(&state);
    double before = INFINITY;
    for (int32_t k = 1; !pri_run_certify(run); k++) {
        bool stuck = !dense && k % 20 == 0 && run->kept.gap > 0.5 * before;
        if (pri_run_interrupted(run, product_gap(&state)) || stuck ||
            !iterate(&state) || product_gap(&state) < 1e-16)
            break;
        before = k % 20 == 0 ? run->kept.gap : before;
        /* where leaving out small shares is what keeps the gap open */
        run->server->whole = product_gap(&state) < 0.01 * run->tolerance;
    }
    run->system.steps += state.system.steps;
done:
    free_state(&state);
    return status;
}
