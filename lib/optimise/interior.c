/*
 * The robust method: primal-dual interior point in the multipliers.
 *
 * Shares y and slacks s = 2 q y + c y' - z stay positive and their products are
 * driven to zero together. Linearised, the shares follow the multipliers,
 * dy = M (dz + f) with M the inverse of 2 q + s / y (of a 2 x 2 matrix for a
 * pair), so that one Newton step is a system in gains and prices alone, and a
 * link without cost does no harm: s / y stands in. A proximal term around the
 * share as it is bounds M where s / y vanishes, and with it the conjugate
 * gradients that a step takes; it grows weaker as the gap closes. The bounds of
 * a gain are treated alike: the bias below or above 1 is a share, the distance
 * of the gain to its bound its slack. Nothing but y and s is stored per link;
 * the changes are recomputed from those of the multipliers where they are
 * needed.
 */
#include "interior.h"

#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------- pairs -- */

/* A link that is not there. */
static const struct pri_arc nowhere = {.cost = INFINITY, .slack = 1};

/* A pair as the linearisation sees it: its shares change by
 * answer * (change of z + force), its slacks by aim - slack - ratio * that. */
struct pair {
    double answer[3]; /* M: out-out, out-in, in-in */
    double force[2];
    double ratio[2]; /* slack / share */
    double aim[2];   /* target / share */
};

static inline struct pair linearise(const struct pri_arc *out,
                                    const struct pri_arc *in, double z_out,
                                    double z_in, double target, double proximal)
{
    struct pair pair = {{0, 0, 0}, {0, 0}, {0, 0}, {0, 0}};
    double cross = out->cross, stiff = 0, stiff_in = 0;
    if (out->share > 0) {
        double inverse = 1 / out->share;
        pair.ratio[0] = out->slack * inverse;
        pair.aim[0] = target * inverse;
        stiff = 2 * out->cost + pair.ratio[0] + proximal;
        pair.force[0] = z_out - 2 * out->cost * out->share - cross * in->share +
                        pair.aim[0];
    }
    if (in->share > 0) {
        double inverse = 1 / in->share;
        pair.ratio[1] = in->slack * inverse;
        pair.aim[1] = target * inverse;
        stiff_in = 2 * in->cost + pair.ratio[1] + proximal;
        pair.force[1] =
            z_in - 2 * in->cost * in->share - cross * out->share + pair.aim[1];
    }
    double inverse = stiff_in > 0 ? 1 / stiff_in : 0;
    if (cross == 0) {
        pair.answer[0] = stiff > 0 ? 1 / stiff : 0;
        pair.answer[2] = inverse;
        return pair;
    }
    /* 4 q q' >= c^2, so eliminating one leaves the other its s / y. */
    double slope = cross * inverse;
    double left = 1 / pri_most(pair.ratio[0] + proximal, stiff - slope * cross);
    pair.answer[0] = left;
    pair.answer[1] = -slope * left;
    pair.answer[2] = inverse + slope * slope * left;
    return pair;
}

/* The pair at arc l of node i, or its own link for l < 0; *to is its end. */
static inline struct pair pair_at(const struct pri_interior *state, int32_t i,
                                  int32_t l, int32_t *to)
{
    const struct pri_problem *problem = state->problem;
    const double *here = &state->point->dual[2 * (int64_t)i];
    if (l < 0) {
        *to = i;
        return linearise(&problem->self[i], &nowhere, here[0] - here[1], 0,
                         state->target, state->proximal);
    }
    *to = problem->to[l];
    const double *there = &state->point->dual[2 * (int64_t)*to];
    return linearise(&problem->arc[l], &problem->arc[problem->partner[l]],
                     here[0] - there[1], there[0] - here[1], state->target,
                     state->proximal);
}

/* How shares and slacks change along the step. */
struct change {
    double share[2], slack[2];
};

static inline struct change change_of(const struct pair *pair,
                                      const struct pri_arc *out,
                                      const struct pri_arc *in,
                                      const double *here, const double *there)
{
    double force = here[0] - there[1] + pair->force[0];
    double force_in = there[0] - here[1] + pair->force[1];
    struct change c;
    c.share[0] = pair->answer[0] * force + pair->answer[1] * force_in;
    c.share[1] = pair->answer[1] * force + pair->answer[2] * force_in;
    c.slack[0] = pair->aim[0] - out->slack - pair->ratio[0] * c.share[0];
    c.slack[1] = pair->aim[1] - in->slack - pair->ratio[1] * c.share[1];
    return c;
}

/* ---------------------------------------------------------------- bounds -- */

/* How the bias and the distance of bound k change along the step. */
static void change_bound(const struct pri_interior *state, int32_t i, int k,
                         double *room, double *edge)
{
    double side = k == 0 ? 1 : -1;
    double move = side * state->step.dual[2 * (int64_t)i];
    double inverse = 1 / state->edge[k][i];
    *room = state->room[k][i] * (move * inverse - 1) + state->target * inverse;
    *edge = -move;
}

/* ------------------------------------------------------------ the system -- */

/* Add the pair at arc l of node i to the sums of its nodes in the block: their
 * rows and loads after the step with all z unchanged, and the answers. */
static inline void add_pair(struct pri_interior *state, int32_t i, int32_t l,
                            int32_t low, int32_t high, int32_t *at)
{
    const struct pri_problem *problem = state->problem;
    struct pri_system *system = state->system;
    int32_t to, partner = problem->partner[l];
    struct pair pair = pair_at(state, i, l, &to);
    const double *a = pair.answer;
    double out =
        problem->arc[l].share + a[0] * pair.force[0] + a[1] * pair.force[1];
    double in = problem->arc[partner].share + a[1] * pair.force[0] +
                a[2] * pair.force[1];
    double *right = &state->right[2 * (int64_t)i];
    double *block = &system->block[3 * (int64_t)i];
    right[0] += out;
    right[1] += in;
    block[0] += a[0];
    block[1] += a[1];
    block[2] += a[2];
    bool inside = to >= low && to < high;
    *at = pri_system_enter(system, *at, l, inside, (pri_two){a[0], a[2]}, a[1]);
    if (!inside)
        return;
    right = &state->right[2 * (int64_t)to];
    block = &system->block[3 * (int64_t)to];
    right[0] += in;
    right[1] += out;
    block[0] += a[2];
    block[1] += a[1];
    block[2] += a[0];
}

/* From the sums of node i to its part of the right-hand side. */
static void finish_node(struct pri_interior *state, int32_t i,
                        struct pri_sweep_sums *tally)
{
    const struct pri_problem *problem = state->problem;
    struct pri_system *system = state->system;
    const double *dual = &state->point->dual[2 * (int64_t)i];
    double *right = &state->right[2 * (int64_t)i], curvature = 0;
    double lean = system->ease[i] * (dual[1] - state->point->sum);
    right[0] = problem->wanted[i] - right[0];
    right[1] -= lean;
    if (problem->bias == PRICER_BIAS_L2 && problem->penalty > 0) {
        curvature = 1 / (2 * problem->penalty);
        right[0] -= curvature * dual[0];
    }
    for (int k = 0; k < 2; k++)
        if (pri_bounded(problem, i, k)) {
            double inverse = 1 / state->edge[k][i];
            curvature += state->room[k][i] * inverse;
            right[0] -= (k == 0 ? 1 : -1) * state->target * inverse;
        }
    system->curvature[i] = curvature;
    tally->sum[0] += lean;
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
    struct pri_interior *state = context;
    const struct pri_problem *problem = state->problem;
    size_t nodes = (size_t)(high - low);
    int32_t at = problem->start[low];
    memset(&state->right[2 * (int64_t)low], 0, 2 * nodes * sizeof(double));
    memset(&state->system->block[3 * (int64_t)low], 0,
           3 * nodes * sizeof(double));
    for (int32_t i = low; i < high; i++) {
        int32_t to;
        struct pair own = pair_at(state, i, -1, &to);
        double share = problem->self[i].share + own.answer[0] * own.force[0];
        state->system->own[i] = own.answer[0];
        state->right[2 * (int64_t)i] += share;
        state->right[2 * (int64_t)i + 1] += share;
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            to = problem->to[l];
            if (to < i && to >= low)
                l = problem->upper[i] - 1;
            else
                add_pair(state, i, l, low, high, &at);
        }
        state->system->until[i] = at;
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

/* The longest step that keeps all positive (least), and the sum of the products
 * of changes (0). */
static void measure(void *context, int32_t low, int32_t high,
                    struct pri_sweep_sums *tally)
{
    struct pri_interior *state = context;
    const struct pri_problem *problem = state->problem;
    const double *step = state->step.dual;
    double longest = 1, curve = 0;
    for (int32_t i = low; i < high; i++) {
        for (int32_t l = problem->upper[i] - 1; l < problem->start[i + 1];
             l++) {
            bool self = l < problem->upper[i];
            const struct pri_arc *out =
                self ? &problem->self[i] : &problem->arc[l];
            const struct pri_arc *in =
                self ? &nowhere : &problem->arc[problem->partner[l]];
            int32_t to;
            struct pair pair = pair_at(state, i, self ? -1 : l, &to);
            struct change c = change_of(&pair, out, in, &step[2 * (int64_t)i],
                                        &step[2 * (int64_t)to]);
            if (out->share > 0) {
                limit(out->share, c.share[0], &longest);
                limit(out->slack, c.slack[0], &longest);
                curve += c.share[0] * c.slack[0];
            }
            if (in->share > 0) {
                limit(in->share, c.share[1], &longest);
                limit(in->slack, c.slack[1], &longest);
                curve += c.share[1] * c.slack[1];
            }
        }
        for (int k = 0; k < 2; k++)
            if (pri_bounded(problem, i, k)) {
                double room, edge;
                change_bound(state, i, k, &room, &edge);
                limit(state->room[k][i], room, &longest);
                limit(state->edge[k][i], edge, &longest);
                curve += room * edge;
            }
    }
    tally->sum[0] += curve;
    tally->least = longest;
}

/* Move shares, slacks and bounds; tallies the products. The multipliers move
 * afterwards: the changes are recomputed from them. */
static void move(void *context, int32_t low, int32_t high,
                 struct pri_sweep_sums *tally)
{
    struct pri_interior *state = context;
    const struct pri_problem *problem = state->problem;
    const double *step = state->step.dual;
    double length = state->length, sum = 0;
    for (int32_t i = low; i < high; i++) {
        for (int32_t l = problem->upper[i] - 1; l < problem->start[i + 1];
             l++) {
            bool self = l < problem->upper[i];
            struct pri_arc spare = nowhere;
            struct pri_arc *out = self ? &problem->self[i] : &problem->arc[l];
            struct pri_arc *in =
                self ? &spare : &problem->arc[problem->partner[l]];
            int32_t to;
            struct pair pair = pair_at(state, i, self ? -1 : l, &to);
            struct change c = change_of(&pair, out, in, &step[2 * (int64_t)i],
                                        &step[2 * (int64_t)to]);
            if (out->share > 0) {
                out->share += length * c.share[0];
                out->slack += length * c.slack[0];
            }
            if (in->share > 0) {
                in->share += length * c.share[1];
                in->slack += length * c.slack[1];
            }
            sum += out->share * out->slack + in->share * in->slack;
        }
        for (int k = 0; k < 2; k++)
            if (pri_bounded(problem, i, k)) {
                double room, edge;
                change_bound(state, i, k, &room, &edge);
                state->room[k][i] += length * room;
                state->edge[k][i] += length * edge;
                sum += state->room[k][i] * state->edge[k][i];
            }
    }
    tally->sum[0] += sum;
}

/* Pairs are moved from their lower end: so is an own node's from a ghost below
 * it, by the same numbers as where that is owned. */
static void move_ghosts(struct pri_interior *state)
{
    struct pri_sweep_sums none = {.least = INFINITY};
    if (state->problem->part != NULL)
        move(state, 0, state->problem->part->low, &none);
}

/* The products as a part of the best value: what the gap would be if rows and
 * loads were what they should be. */
static double product_gap(const struct pri_interior *state)
{
    double least = PRI_NOTHING * state->problem->whole;
    double best = pri_most(state->run->certifier.best, least);
    return state->mean * state->count / best;
}

/* A part of the curvature that an average share has: the value of a node, as
 * rows are about 1. */
static double proximal_of(const struct pri_interior *state, double gap)
{
    double value = state->run->certifier.best / state->problem->whole;
    double firm = pri_most(state->firm, sqrt(pri_least(1, gap)));
    return firm * pri_least(1, value / 7);
}

/*
 * One step; false if the numbers gave out. A step never goes far beyond the
 * point where the sum of the products is least: that keeps them together. What
 * is aimed at next depends on how far this one got.
 *
 * Where conjugate gradients solve the system, steps are not exact. If the
 * products get far ahead of the certified gap, they wait for rows and loads to
 * follow, and shares are held less firmly.
 */
static bool iterate(struct pri_interior *state)
{
    const struct pri_problem *problem = state->problem;
    struct pri_sweep_sums total;
    double gap = product_gap(state), part = 0.4;
    bool exact = state->system->dense != NULL;
    bool ahead = !exact && gap < 0.03 * pri_least(1, state->run->proof.gap);
    if (state->length > 0.5)
        part = state->length > 0.9 ? 0.05 : 0.2;
    if (ahead) {
        part = 1;
        state->firm *= 0.7;
    }
    state->proximal = exact ? 0 : proximal_of(state, gap);
    state->target = part * state->mean;
    pri_sweep(problem, assemble, state, &total);
    state->right_sum =
        total.sum[0] - state->point->sum / 2 - problem->wanted_sum;
    pri_system_prepare(state->system);
    if (!pri_system_solve(state->system, state->right, state->right_sum, 0.03,
                          500, &state->step))
        return false;
    pri_halo(problem, state->step.dual, 2);
    pri_sweep(problem, measure, state, &total);
    double fall = (1 - part) * state->mean * state->count;
    double best = total.sum[0] > 0 ? fall / (2 * total.sum[0]) : 1;
    state->length = total.least < 1 ? 0.995 * total.least : 1;
    if (!ahead)
        state->length = pri_least(state->length, pri_most(best, 0.1));
    move_ghosts(state);
    pri_sweep(problem, move, state, &total);
    for (int64_t k = 0; k < 2 * (int64_t)problem->nodes; k++)
        state->point->dual[k] += state->length * state->step.dual[k];
    state->point->sum += state->length * state->step.sum;
    state->mean = total.sum[0] / state->count;
    return isfinite(state->mean) && state->mean > 0 && state->length > 1e-12;
}

/* ------------------------------------------------------------------- run -- */

static void free_state(struct pri_interior *state)
{
    free(state->step.dual);
    free(state->right);
    for (int k = 0; k < 2; k++) {
        free(state->room[k]);
        free(state->edge[k]);
    }
}

static bool new_state(struct pri_run *run, struct pri_interior *state)
{
    int64_t nodes = run->problem->nodes;
    *state = (struct pri_interior){.run = run,
                                   .problem = run->problem,
                                   .system = &run->system,
                                   .point = &run->point};
    bool made = pri_point_new(run->problem, &state->step);
    state->right = pri_alloc(2 * nodes, sizeof(double));
    made = made && state->right != NULL;
    for (int k = 0; k < 2; k++) {
        state->room[k] = pri_alloc(nodes, sizeof(double));
        state->edge[k] = pri_alloc(nodes, sizeof(double));
        made = made && state->room[k] != NULL && state->edge[k] != NULL;
    }
    return made;
}

/* Gains that their bound is about to hold, onto it. */
static void settle(struct pri_interior *state)
{
    for (int32_t i = 0; i < state->problem->nodes; i++)
        for (int k = 0; k < 2; k++)
            if (pri_bounded(state->problem, i, k) &&
                state->room[k][i] > state->edge[k][i])
                state->point->dual[2 * (int64_t)i] =
                    k == 0 ? state->problem->upper_bound
                           : state->problem->lower_bound;
}

enum pricer_status pri_interior(struct pri_run *run, double enough)
{
    struct pri_interior state;
    enum pricer_status status = PRICER_MEMORY;
    if (!new_state(run, &state) || !pri_problem_widen(run->problem))
        goto done;
    status = PRICER_OK;
    pri_interior_start(&state);
    memcpy(run->system.kind, run->problem->kind, (size_t)run->problem->nodes);
    enough = pri_most(enough, run->tolerance);
    while (!pri_run_certify(run) && run->proof.gap > enough) {
        double gap = INFINITY;
        bool went = true;
        for (int k = 0; k < 4 && went && gap > enough; k++) {
            if (pri_run_interrupted(run, gap))
                break;
            went = iterate(&state);
            gap = product_gap(&state);
        }
        if (!went)
            break;
    }
    settle(&state);
done:
    free_state(&state);
    return status;
}
