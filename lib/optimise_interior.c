/*
 * The robust start: a primal-dual interior-point method in the multipliers.
 *
 * Shares y and slacks s = 2 q y + c y' - z stay positive and their products are
 * driven to zero together. Linearised, the shares follow the multipliers,
 * dy = M (dz + f) with M the inverse of 2 q + s / y (of a 2 x 2 matrix for a
 * pair), so that one Newton step is a system in worths and prices alone, and a
 * link without cost does no harm: s / y stands in. Mehrotra's predictor and
 * corrector share one assembly. Nothing but y and s is stored per link; changes
 * are recomputed from those of the multipliers where they are needed.
 */
#include "optimise.h"

#include <stdlib.h>
#include <string.h>

/* The worst partner: a link that is not there. */
static const struct pri_arc nowhere = {INFINITY, 0, 0, 1};

/* ------------------------------------------------------------------- pairs --
 */

/* A pair as the linearisation sees it. */
struct pair {
    double share[2], slack[2];
    double answer[3]; /* M: out-out, out-in, in-in */
    double force[2];  /* f */
};

static struct pair read_pair(const struct pri_arc *out,
                             const struct pri_arc *in, const double z[2],
                             double damping)
{
    struct pair pair = {
        {out->share, in->share}, {out->slack, in->slack}, {0}, {0}};
    bool leaves = out->share > 0, arrives = in->share > 0;
    double cross = out->cross, stiff[2] = {INFINITY, INFINITY};
    double least[2] = {0, 0};
    if (leaves) {
        least[0] = out->slack / out->share + damping;
        stiff[0] = 2 * out->cost + least[0];
        pair.force[0] = z[0] - 2 * out->cost * out->share - cross * in->share;
    }
    if (arrives) {
        least[1] = in->slack / in->share + damping;
        stiff[1] = 2 * in->cost + least[1];
        pair.force[1] = z[1] - 2 * in->cost * in->share - cross * out->share;
    }
    if (!leaves || !arrives || cross == 0) {
        pair.answer[0] = 1 / stiff[0];
        pair.answer[2] = 1 / stiff[1];
        return pair;
    }
    /* 4 q q' >= c^2, so eliminating one leaves the other its s / y. */
    double ratio = cross / stiff[1];
    double left = fmax(least[0], stiff[0] - ratio * cross);
    pair.answer[0] = 1 / left;
    pair.answer[1] = -ratio / left;
    pair.answer[2] = 1 / stiff[1] + ratio * ratio / left;
    return pair;
}

/* The change of shares and slacks that answers to a change of z, towards
 * products of 0, or, with `extra`, towards what it holds. */
static void change(const struct pair *pair, const double dz[2],
                   const double extra[2], double dy[2], double ds[2])
{
    double force[2];
    for (int k = 0; k < 2; k++)
        force[k] = dz[k] + pair->force[k] + (extra != NULL ? extra[k] : 0);
    dy[0] = pair->answer[0] * force[0] + pair->answer[1] * force[1];
    dy[1] = pair->answer[1] * force[0] + pair->answer[2] * force[1];
    for (int k = 0; k < 2; k++) {
        bool there = pair->share[k] > 0;
        if (!there)
            dy[k] = 0;
        ds[k] = there ? (extra != NULL ? extra[k] : 0) - pair->slack[k] -
                            pair->slack[k] / pair->share[k] * dy[k]
                      : 0;
    }
}

/* ---------------------------------------------------------------- the state --
 */

struct interior {
    const struct pri_problem *problem;
    struct pri_system *system;
    struct pri_point *point;
    struct pri_point affine, step;
    double *right;   /* [2 * nodes] */
    double *room[2]; /* [nodes] bias below and above 1, as shares */
    double *edge[2]; /* [nodes] distance of the worth to its bounds */
    double damping;  /* proximal term on the shares */
    double target;   /* product aimed at */
    double trust;    /* in the predictor's second order */
    double length;
    double mean; /* product of a share and its slack */
    double right_sum;
    double relative; /* residual to leave in the systems */
    int32_t most_steps;
    bool full; /* changes include the corrector */
};

static void pair_z(const double *dual, int32_t i, int32_t to, double z[2])
{
    z[0] = dual[2 * (int64_t)i] - dual[2 * (int64_t)to + 1];
    z[1] = dual[2 * (int64_t)to] - dual[2 * (int64_t)i + 1];
}

/* A pair, and what Mehrotra's correction adds to its forces. */
static struct pair state_pair(const struct interior *state, int32_t i,
                              int32_t l, double extra[2])
{
    const struct pri_problem *problem = state->problem;
    const struct pri_arc *out = l < 0 ? &problem->self[i] : &problem->arc[l];
    const struct pri_arc *in =
        l < 0 ? &nowhere : &problem->arc[problem->partner[l]];
    int32_t to = l < 0 ? i : problem->entry[l].to;
    double z[2], dz[2], dy[2], ds[2];
    pair_z(state->point->dual, i, to, z);
    struct pair pair = read_pair(out, in, z, state->damping);
    extra[0] = extra[1] = 0;
    if (state->full) {
        pair_z(state->affine.dual, i, to, dz);
        change(&pair, dz, NULL, dy, ds);
        for (int k = 0; k < 2; k++)
            if (pair.share[k] > 0)
                extra[k] = (state->target - state->trust * dy[k] * ds[k]) /
                           pair.share[k];
    }
    return pair;
}

/* The same for the two bounds of a worth: share and slack of bound k move by
 * dy and ds when the worth moves by dv. */
static void change_room(const struct interior *state, int32_t i, int k,
                        double dv, double extra, double *dy, double *ds)
{
    double room = state->room[k][i], edge = state->edge[k][i];
    double side = k == 0 ? 1 : -1;
    *ds = -side * dv;
    *dy = -room + (extra + room * side * dv) / edge;
}

static double room_extra(const struct interior *state, int32_t i, int k)
{
    double dy, ds;
    if (!state->full)
        return 0;
    change_room(state, i, k, state->affine.dual[2 * (int64_t)i], 0, &dy, &ds);
    return state->target - state->trust * dy * ds;
}

static bool has_room(const struct pri_problem *problem, int32_t i, int k)
{
    return !(problem->kind[i] & PRI_WORTH_FIXED) &&
           (k == 0 ? problem->upper < INFINITY : problem->lower > -INFINITY);
}

/* -------------------------------------------------------------- the system --
 */

/* Right-hand side of node i from its sums: S, T and those of M f. */
static void set_right(struct interior *state, int32_t i, double row,
                      double load, struct pri_tally *tally)
{
    const struct pri_problem *problem = state->problem;
    double *right = &state->right[2 * (int64_t)i];
    double lean = 0;
    right[0] = -row;
    right[1] = load;
    if (!state->full) {
        double worth = state->point->dual[2 * (int64_t)i];
        double price = state->point->dual[2 * (int64_t)i + 1];
        right[0] += 1;
        if (problem->bias == PRICER_BIAS_L2)
            right[0] -= worth / (2 * problem->penalty);
        lean = state->system->ease[i] * (price - state->point->sum);
    } else {
        for (int k = 0; k < 2; k++)
            if (has_room(problem, i, k))
                right[0] += (k == 0 ? -1 : 1) * room_extra(state, i, k) /
                            state->edge[k][i];
    }
    right[1] -= lean;
    tally->sum[0] += lean;
    if (problem->kind[i] & PRI_WORTH_FIXED)
        right[0] = 0;
    if (problem->kind[i] & (PRI_PRICE_TIED | PRI_PRICE_FIXED)) {
        tally->sum[0] += right[1];
        right[1] = 0;
    }
}

/* Entries and right-hand side of the predictor. */
static void assemble(void *context, int32_t low, int32_t high,
                     struct pri_tally *tally)
{
    struct interior *state = context;
    const struct pri_problem *problem = state->problem;
    struct pri_system *system = state->system;
    for (int32_t i = low; i < high; i++) {
        double extra[2], *block = &system->block[3 * (int64_t)i];
        struct pair own = state_pair(state, i, -1, extra);
        double row = own.share[0] + own.answer[0] * own.force[0], load = row;
        double sums[3] = {0, 0, 0};
        system->own[i] = own.answer[0];
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            struct pair pair = state_pair(state, i, l, extra);
            const double *answer = pair.answer, *force = pair.force;
            row += pair.share[0] + answer[0] * force[0] + answer[1] * force[1];
            load += pair.share[1] + answer[1] * force[0] + answer[2] * force[1];
            pri_system_set(system, l, answer);
            for (int k = 0; k < 3; k++)
                sums[k] += answer[k];
        }
        memcpy(block, sums, sizeof sums);
        double bend = 0;
        if (problem->bias == PRICER_BIAS_L2 && problem->penalty > 0)
            bend = 1 / (2 * problem->penalty);
        for (int k = 0; k < 2; k++)
            if (has_room(problem, i, k))
                bend += state->room[k][i] / state->edge[k][i];
        system->bend[i] = bend;
        set_right(state, i, row, load, tally);
    }
}

/* Right-hand side of the corrector, alone. */
static void correct(void *context, int32_t low, int32_t high,
                    struct pri_tally *tally)
{
    struct interior *state = context;
    const struct pri_problem *problem = state->problem;
    for (int32_t i = low; i < high; i++) {
        double extra[2];
        struct pair own = state_pair(state, i, -1, extra);
        double row = own.answer[0] * extra[0], load = row;
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            struct pair pair = state_pair(state, i, l, extra);
            row += pair.answer[0] * extra[0] + pair.answer[1] * extra[1];
            load += pair.answer[1] * extra[0] + pair.answer[2] * extra[1];
        }
        set_right(state, i, row, load, tally);
    }
}

/* ---------------------------------------------------------------- the step --
 */

static void limit_step(double value, double change, double *longest)
{
    if (value + *longest * change <= 0)
        *longest = -value / change;
}

/* Longest step that keeps all positive (least), sum of the products of changes
 * (0) and of the products themselves (1), and their number (2). */
static void measure(void *context, int32_t low, int32_t high,
                    struct pri_tally *tally)
{
    struct interior *state = context;
    const struct pri_problem *problem = state->problem;
    const double *dual = state->full ? state->step.dual : state->affine.dual;
    double longest = 1;
    for (int32_t i = low; i < high; i++) {
        for (int32_t l = problem->start[i] - 1; l < problem->start[i + 1];
             l++) {
            double extra[2], dz[2], dy[2], ds[2];
            bool own = l < problem->start[i];
            int32_t to = own ? i : problem->entry[l].to;
            if (to < i)
                continue;
            struct pair pair = state_pair(state, i, own ? -1 : l, extra);
            pair_z(dual, i, to, dz);
            change(&pair, dz, state->full ? extra : NULL, dy, ds);
            for (int k = 0; k < 2; k++) {
                if (!(pair.share[k] > 0))
                    continue;
                limit_step(pair.share[k], dy[k], &longest);
                limit_step(pair.slack[k], ds[k], &longest);
                tally->sum[0] += dy[k] * ds[k];
                tally->sum[1] += pair.share[k] * pair.slack[k];
                tally->sum[2] += 1;
                tally->sum[3] += extra[k] * pair.share[k];
            }
        }
        for (int k = 0; k < 2; k++) {
            double dy, ds;
            if (!has_room(problem, i, k))
                continue;
            double extra = room_extra(state, i, k);
            change_room(state, i, k, dual[2 * (int64_t)i], extra, &dy, &ds);
            tally->sum[3] += extra;
            limit_step(state->room[k][i], dy, &longest);
            limit_step(state->edge[k][i], ds, &longest);
            tally->sum[0] += dy * ds;
            tally->sum[1] += state->room[k][i] * state->edge[k][i];
            tally->sum[2] += 1;
        }
    }
    tally->least = longest;
}

/* Move shares, slacks and bounds. Multipliers move afterwards: the changes are
 * recomputed from them. */
static void move(void *context, int32_t low, int32_t high,
                 struct pri_tally *tally)
{
    struct interior *state = context;
    const struct pri_problem *problem = state->problem;
    const double *dual = state->step.dual;
    double length = state->length;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        for (int32_t l = problem->start[i] - 1; l < problem->start[i + 1];
             l++) {
            double extra[2], dz[2], dy[2], ds[2];
            bool own = l < problem->start[i];
            int32_t to = own ? i : problem->entry[l].to;
            if (to < i)
                continue;
            struct pair pair = state_pair(state, i, own ? -1 : l, extra);
            pair_z(dual, i, to, dz);
            change(&pair, dz, extra, dy, ds);
            struct pri_arc *out = own ? &problem->self[i] : &problem->arc[l];
            out->share += length * dy[0];
            out->slack += length * ds[0];
            if (!own) {
                struct pri_arc *in = &problem->arc[problem->partner[l]];
                in->share += length * dy[1];
                in->slack += length * ds[1];
            }
        }
        for (int k = 0; k < 2; k++) {
            double dy, ds;
            if (!has_room(problem, i, k))
                continue;
            change_room(state, i, k, dual[2 * (int64_t)i],
                        room_extra(state, i, k), &dy, &ds);
            state->room[k][i] += length * dy;
            state->edge[k][i] += length * ds;
        }
    }
}

static bool solve(struct interior *state, double relative,
                  struct pri_point *out)
{
    return pri_system_solve(state->system, state->right, state->right_sum,
                            relative, state->most_steps, out->dual, &out->sum);
}

/* The predictor: what happens if all products are to vanish at once. */
static bool predict(struct interior *state)
{
    const struct pri_problem *problem = state->problem;
    struct pri_tally total;
    state->full = false;
    pri_sweep(problem, assemble, state, &total);
    state->right_sum = total.sum[0] - state->point->sum / 2 - problem->nodes;
    pri_system_prepare(state->system);
    if (!solve(state, state->relative, &state->affine))
        return false;
    pri_sweep(problem, measure, state, &total);
    double length = total.least, count = total.sum[2];
    double after = (1 - length) * total.sum[1] + length * length * total.sum[0];
    double ratio = fmin(1, fmax(0.02, after / total.sum[1]));
    state->mean = total.sum[1] / count;
    state->target = ratio * ratio * ratio * state->mean;
    state->trust = length * length;
    return state->mean > 0 && isfinite(state->mean);
}

/* The corrector: towards products of `target`, second order included as far as
 * it is trusted. Leaves the longest step in `length`. */
static bool aim(struct interior *state)
{
    const struct pri_problem *problem = state->problem;
    struct pri_tally total;
    state->full = true;
    pri_sweep(problem, correct, state, &total);
    state->right_sum = total.sum[0];
    if (!solve(state, state->relative, &state->step))
        return false;
    for (int64_t k = 0; k < 2 * (int64_t)problem->nodes; k++)
        state->step.dual[k] += state->affine.dual[k];
    state->step.sum += state->affine.sum;
    pri_sweep(problem, measure, state, &total);
    state->length = total.least;
    /* Never far beyond where the sum of the products is least. */
    double fall = total.sum[1] - total.sum[3], bend = total.sum[0];
    if (bend > 0 && state->length > fall / (2 * bend))
        state->length = fmin(state->length, fmax(0.1, fall / (2 * bend)));
    return true;
}

/*
 * One step; false if the numbers gave out. Where the corrector does not get
 * far, products have drifted apart: bring them together instead.
 */
static bool iterate(struct interior *state)
{
    const struct pri_problem *problem = state->problem;
    if (!predict(state) || !aim(state))
        return false;
    if (state->length < 0.5) {
        state->trust = 0;
        state->target = fmax(state->target, 0.5 * state->mean);
        if (!aim(state))
            return false;
    }
    if (state->length < 1)
        state->length *= 0.995;
    pri_sweep(problem, move, state, NULL);
    for (int64_t k = 0; k < 2 * (int64_t)problem->nodes; k++)
        state->point->dual[k] += state->length * state->step.dual[k];
    state->point->sum += state->length * state->step.sum;
    return state->length > 1e-12;
}

/* --------------------------------------------------------------- the start --
 */

/*
 * Shares of a row in proportion to what each link would carry if it and its
 * relay were alone. Where bias is allowed the row is no larger than what the
 * first unit of it is worth, so that hopeless links do not set the scale.
 */
static void start_shares(void *context, int32_t low, int32_t high,
                         struct pri_tally *tally)
{
    struct interior *state = context;
    const struct pri_problem *problem = state->problem;
    double most = problem->bias == PRICER_BIAS_WORST_CASE ? 0.9 : 1;
    double gain =
        problem->summed ? problem->nodes + problem->penalty : INFINITY;
    for (int32_t i = low; i < high; i++) {
        struct pri_arc *self = &problem->self[i];
        double sum = self->share = 1 / (self->cost + problem->crowd[i] + 1);
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            struct pri_arc *arc = &problem->arc[l];
            int32_t to = problem->entry[l].to;
            sum += arc->share = 1 / (arc->cost + problem->crowd[to] + 1);
        }
        if (!(sum > 0))
            continue;
        double row = fmin(most, gain * sum);
        self->share *= row / sum;
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++)
            problem->arc[l].share *= row / sum;
        tally->sum[0] += row;
    }
}

/* Prices that agree with the loads. */
static void start_prices(void *context, int32_t low, int32_t high,
                         struct pri_tally *tally)
{
    struct interior *state = context;
    const struct pri_problem *problem = state->problem;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        double load = problem->self[i].share, crowd = problem->crowd[i];
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++)
            load += problem->arc[problem->partner[l]].share;
        state->point->dual[2 * (int64_t)i + 1] =
            state->point->sum + (crowd < INFINITY ? 2 * crowd * load : 0);
    }
}

/* What a unit of row i costs at the margin, on average over its shares; *size
 * adds up the parts of it that do not cancel, times the shares. */
static double row_level(const struct pri_problem *problem, const double *dual,
                        int32_t i, double sum, double *size)
{
    const struct pri_arc *self = &problem->self[i];
    double level = 0, row = self->share;
    if (row > 0) {
        level = row * (2 * self->cost * row + dual[2 * i + 1]);
        *size += level - row * sum;
    }
    for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
        const struct pri_arc *arc = &problem->arc[l];
        const struct pri_arc *in = &problem->arc[problem->partner[l]];
        if (!(arc->share > 0))
            continue;
        double margin = 2 * arc->cost * arc->share + arc->cross * in->share +
                        dual[2 * problem->entry[l].to + 1];
        row += arc->share;
        level += arc->share * margin;
        *size += arc->share * (margin - sum);
    }
    return row > 0 ? level / row : 0;
}

static void start_worths(void *context, int32_t low, int32_t high,
                         struct pri_tally *tally)
{
    struct interior *state = context;
    const struct pri_problem *problem = state->problem;
    double *dual = state->point->dual;
    for (int32_t i = low; i < high; i++) {
        double worth =
            row_level(problem, dual, i, state->point->sum, &tally->sum[0]);
        if (problem->lower > -INFINITY)
            worth =
                fmax(0.9 * problem->lower, fmin(0.9 * problem->upper, worth));
        else
            worth = fmin(worth, problem->upper - 0.1 * fabs(worth) - 0.1);
        dual[2 * i] = problem->kind[i] & PRI_WORTH_FIXED ? 0 : worth;
        tally->sum[1] += problem->self[i].share > 0;
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++)
            tally->sum[1] += problem->arc[l].share > 0;
    }
}

/* Share and slack of one link on the central path. */
static void centre(struct pri_arc *arc, double z, double least, double target)
{
    if (!(arc->share > 0))
        return;
    double root = sqrt(z * z + 8 * arc->cost * target);
    double slack = z < 0 ? (root - z) / 2 : 4 * arc->cost * target / (root + z);
    if (!(slack >= least))
        slack = least;
    arc->slack = slack;
    arc->share = target / slack;
}

static void start_slacks(void *context, int32_t low, int32_t high,
                         struct pri_tally *tally)
{
    struct interior *state = context;
    const struct pri_problem *problem = state->problem;
    double *dual = state->point->dual, target = state->target;
    (void)tally;
    for (int32_t i = low; i < high; i++) {
        double least = target; /* no share above 1 */
        double z = dual[2 * i] - dual[2 * i + 1];
        centre(&problem->self[i], z, least, target);
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++)
            centre(&problem->arc[l],
                   dual[2 * i] - dual[2 * problem->entry[l].to + 1], least,
                   target);
        for (int k = 0; k < 2; k++) {
            if (!has_room(problem, i, k))
                continue;
            state->edge[k][i] = k == 0 ? problem->upper - dual[2 * i]
                                       : dual[2 * i] - problem->lower;
            state->room[k][i] = target / state->edge[k][i];
        }
    }
}

static void free_state(struct interior *state)
{
    free(state->affine.dual);
    free(state->step.dual);
    free(state->right);
    for (int k = 0; k < 2; k++) {
        free(state->room[k]);
        free(state->edge[k]);
    }
}

static bool new_state(struct pri_run *run, struct interior *state)
{
    int64_t nodes = run->problem->nodes;
    *state = (struct interior){.problem = run->problem,
                               .system = &run->system,
                               .point = &run->point,
                               .relative = 1e-3,
                               .most_steps = 500};
    bool made = pri_point_new(run->problem->nodes, &state->affine) &&
                pri_point_new(run->problem->nodes, &state->step);
    state->right = pri_alloc(2 * nodes, sizeof(double));
    made = made && state->right != NULL;
    for (int k = 0; k < 2; k++) {
        state->room[k] = pri_alloc(nodes, sizeof(double));
        state->edge[k] = pri_alloc(nodes, sizeof(double));
        made = made && state->room[k] != NULL && state->edge[k] != NULL;
    }
    return made;
}

static void start(struct interior *state)
{
    const struct pri_problem *problem = state->problem;
    struct pri_tally total;
    pri_sweep(problem, start_shares, state, &total);
    state->point->sum =
        problem->summed ? 2 * (total.sum[0] - problem->nodes) : 0;
    pri_sweep(problem, start_prices, state, NULL);
    pri_sweep(problem, start_worths, state, &total);
    double sum = state->point->sum;
    state->target = (total.sum[0] + sum * sum / 2) / total.sum[1];
    if (!(state->target > PRI_NOTHING))
        state->target = PRI_NOTHING;
    pri_sweep(problem, start_slacks, state, NULL);
}

enum pricer_status pri_interior(struct pri_run *run)
{
    struct interior state;
    enum pricer_status status = PRICER_MEMORY;
    if (!new_state(run, &state))
        goto done;
    status = PRICER_OK;
    start(&state);
    while (!pri_run_stop(run)) {
        bool went = iterate(&state);
        if (!went)
            break;
    }
done:
    free_state(&state);
    return status;
}
