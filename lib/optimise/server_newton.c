/*
 * The exact method with server budgets: semismooth Newton on the dual.
 *
 * With k = root^2 a link that its own budget does not hold costs
 * a y^2 + 2 sqrt(b) root y, and one that it holds q y^2 + root^2 most, so that
 * the negative dual is piecewise quadratic in gains, prices, sum multiplier and
 * roots, and once differentiable:
 *
 *     sum of phi(z - lean root) + sum of phi(z) - root^2 most  over held links
 *   + sum root^2 + what newton.c has for prices, sum and bias.
 *
 * It is convex in k, and in the roots where no row's held links spend more than
 * the budget; where they do, the curvature of the root is replaced by a small
 * one, which leaves a direction of descent. Links with a next to 0 answer all
 * too steeply: they are given a proximal term around an earlier share.
 */
#include "server_newton.h"

/* Least curvature of a root, as a part of what it has with no link held. */
static const double least_spread = 1e-2;

/* -------------------------------------------------------------- function -- */

/* Add the answer of side e to the node it leaves; returns twice its value. */
static double add_side(struct pri_server_newton *state, int32_t i,
                       const struct pri_reply_pair *reply,
                       const struct pri_split *split, int e)
{
    struct pri_server_system *system = &state->system;
    double *slope = &state->slope[3 * (int64_t)i];
    double *b = &system->block[6 * (int64_t)i];
    double share = reply->answer.share[e], own = reply->answer.own[e];
    double both = reply->answer.cross, lean = reply->lean[e];
    double value = share * reply->bid[e];
    slope[0] += share;
    slope[1] -= reply->answer.share[1 - e];
    slope[2] -= lean * share;
    b[0] += own;
    b[1] -= both;
    b[2] -= lean * own;
    b[3] += reply->answer.own[1 - e];
    b[4] += lean * both;
    b[5] += lean * lean * own;
    if (reply->held[e]) {
        double root = state->next.dual[3 * (int64_t)i + 2];
        system->spread[i] -= 2 * split->most;
        slope[2] -= 2 * split->most * root;
        value -= 2 * split->most * root * root;
    }
    return value;
}

/* The pairs of node i; returns where the next entry goes. */
static int32_t add_pairs(struct pri_server_newton *state, int32_t i,
                         int32_t low, int32_t high, int32_t at, double *twice)
{
    const struct pri_problem *problem = state->problem;
    const struct pri_split *arc = state->server->arc;
    const double *here = &state->next.dual[3 * (int64_t)i];
    for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
        int32_t to = problem->to[l];
        bool inside = to >= low && to < high;
        if (inside && to < i) {
            l = problem->upper[i] - 1;
            continue;
        }
        const double *there = &state->next.dual[3 * (int64_t)to];
        const struct pri_offer *offer = &state->offer[l];
        pri_two z = {here[0] - there[1], there[0] - here[1]};
        pri_two root = {here[2], there[2]};
        pri_two left = z + offer->pull - offer->lean * root;
        if (!(left[0] > 0 || left[1] > 0) && !state->system.dense)
            continue;
        const struct pri_split *split[2] = {&arc[l], &arc[problem->partner[l]]};
        struct pri_reply_pair reply = pri_reply_both(
            split, offer, problem->arc[l].cross, state->firm, z, root);
        const struct pri_answer *a = &reply.answer;
        double answer[3] = {a->own[0], a->cross, a->own[1]};
        double lean[2] = {reply.lean[0], reply.lean[1]};
        at = pri_server_enter(&state->system, at, l, inside, answer, lean);
        *twice += add_side(state, i, &reply, split[0], 0);
        if (inside)
            *twice += add_side(state, to, &reply, split[1], 1);
    }
    return at;
}

/* The node's own part; returns its part of the value. */
static double add_node(struct pri_server_newton *state, int32_t i,
                       double *slope_sum)
{
    struct pri_server_system *system = &state->system;
    const double *dual = &state->next.dual[3 * (int64_t)i];
    double *slope = &state->slope[3 * (int64_t)i];
    const struct pri_split *split = &state->server->self[i];
    const struct pri_offer *offer = &state->own[i];
    double z = dual[0] - dual[1], root = dual[2], value = 0;
    double lean = offer->lean[0], rise = dual[1] - state->next.sum;
    struct pri_reply own =
        pri_reply_to(split, lean, offer->pull[0], state->firm, z, root);
    double bid = z + offer->pull[0] - (own.held ? 0 : lean * root);
    system->own[i] = own.slope;
    system->own_lean[i] = own.held ? 0 : lean;
    slope[0] += own.share;
    slope[1] -= own.share;
    slope[2] -= system->own_lean[i] * own.share;
    value += own.share * bid / 2;
    if (own.held) {
        system->spread[i] -= 2 * split->most;
        slope[2] -= 2 * split->most * root;
        value -= split->most * root * root;
    }
    if (state->server->bound[i]) {
        slope[2] += 2 * root;
        value += root * root;
        system->spread[i] = pri_most(2 * least_spread, 2 + system->spread[i]);
    }
    if (system->kind[i] & PRI_PRICE_TIED)
        *slope_sum += slope[1];
    slope[1] += system->ease[i] * rise;
    *slope_sum -= system->ease[i] * rise;
    value += system->ease[i] * rise * rise / 2;
    double wanted = state->problem->wanted[i];
    slope[0] += state->curvature * dual[0] - wanted;
    system->curvature[i] = state->curvature;
    return value + (state->curvature * dual[0] / 2 - wanted) * dual[0];
}

/* Value (0), slope and curvature at `next`, and the slope in the sum (1). */
static void evaluate(void *context, int32_t low, int32_t high,
                     struct pri_sweep_sums *tally)
{
    struct pri_server_newton *state = context;
    struct pri_server_system *system = &state->system;
    size_t nodes = (size_t)(high - low);
    int32_t at = state->problem->start[low];
    double twice = 0, value = 0;
    memset(&state->slope[3 * (int64_t)low], 0, 3 * nodes * sizeof(double));
    memset(&system->block[6 * (int64_t)low], 0, 6 * nodes * sizeof(double));
    memset(&system->spread[low], 0, nodes * sizeof(double));
    for (int32_t i = low; i < high; i++) {
        at = add_pairs(state, i, low, high, at, &twice);
        system->until[i] = at;
    }
    for (int32_t i = low; i < high; i++)
        value += add_node(state, i, &tally->sum[1]);
    tally->sum[0] += value + twice / 2;
}

void pri_server_newton_evaluate(struct pri_server_newton *state)
{
    const struct pri_problem *problem = state->problem;
    struct pri_sweep_sums total;
    double sum = state->next.sum;
    pri_sweep(problem, evaluate, state, &total);
    state->value = total.sum[0] + sum * sum / 4 + problem->wanted_sum * sum;
    state->slope_sum =
        problem->summed ? total.sum[1] + sum / 2 + problem->wanted_sum : 0;
}

/* ------------------------------------------------------------ active set -- */

/* What its bounds hold of node i, at `here`. */
static uint8_t held(const struct pri_server_newton *state, int32_t i)
{
    const struct pri_server_system *system = &state->system;
    double gain = state->here.dual[3 * (int64_t)i];
    double pull = state->slope[3 * (int64_t)i];
    double curve = system->block[6 * (int64_t)i] + system->own[i];
    uint8_t kind = state->problem->kind[i];
    if (!state->server->bound[i])
        kind |= PRI_NO_BUDGET;
    if ((gain >= state->upper && pull < 0) ||
        (gain <= state->lower && pull > 0))
        kind |= PRI_GAIN_FIXED;
    if (!(curve > 0) && !(state->problem->kind[i] & PRI_GAIN_FIXED))
        kind |= PRI_GAIN_FIXED | PRI_GAIN_ALONE | PRI_NO_BUDGET;
    return kind;
}

static void find_alone(struct pri_server_newton *state, int32_t i)
{
    double here[3];
    memcpy(here, &state->here.dual[3 * (int64_t)i], sizeof here);
    pri_server_newton_row(state, state->here.dual, i, here);
    state->alone[2 * (int64_t)i] = here[0];
    state->alone[2 * (int64_t)i + 1] = here[2];
}

/*
 * Decide for each node what is held, and set the right-hand side. Tallies an
 * estimate of the distance: what is off at a relay costs crowd times its
 * square, in a row its gain, in a budget its k.
 */
static void hold(void *context, int32_t low, int32_t high,
                 struct pri_sweep_sums *tally)
{
    struct pri_server_newton *state = context;
    const struct pri_problem *problem = state->problem;
    for (int32_t i = low; i < high; i++) {
        const double *slope = &state->slope[3 * (int64_t)i];
        const double *dual = &state->here.dual[3 * (int64_t)i];
        const double *block = &state->system.block[6 * (int64_t)i];
        double *right = &state->right[3 * (int64_t)i];
        uint8_t kind = held(state, i);
        double own = state->system.own[i], lean = state->system.own_lean[i];
        double rise = lean * own - block[2];
        double curve = block[5] + lean * lean * own + state->system.spread[i];
        state->system.kind[i] = kind;
        state->follow[i] =
            kind & (PRI_NO_BUDGET | PRI_GAIN_FIXED) ? 0 : rise / curve;
        if (kind & PRI_GAIN_ALONE)
            find_alone(state, i);
        right[0] = kind & PRI_GAIN_FIXED ? 0 : -slope[0];
        right[1] = kind & (PRI_PRICE_FIXED | PRI_PRICE_TIED) ? 0 : -slope[1];
        right[2] = kind & PRI_NO_BUDGET ? 0 : -slope[2];
        bool stays = dual[0] >= state->upper && slope[0] < 0;
        double off = kind & PRI_GAIN_ALONE && !stays ? slope[0] : right[0];
        tally->sum[0] += off * off * (fabs(dual[0] - state->here.sum) + 1);
        tally->sum[0] += right[2] * right[2] / 4;
        if (right[1] != 0)
            tally->sum[0] += problem->crowd[i] * right[1] * right[1];
    }
}

void pri_server_newton_hold(struct pri_server_newton *state)
{
    struct pri_sweep_sums total;
    pri_sweep(state->problem, hold, state, &total);
    double sum = state->system.cg.summed ? state->slope_sum : 0;
    double least = PRI_NOTHING * state->problem->nodes;
    state->gap =
        (total.sum[0] + sum * sum) / pri_most(fabs(state->value), least);
}

/* ------------------------------------------------------------------ step -- */

/* next = here + length * step, back onto the bounds; tallies slope times
 * movement. A root falls to a tenth at most. */
static void move(void *context, int32_t low, int32_t high,
                 struct pri_sweep_sums *tally)
{
    struct pri_server_newton *state = context;
    double length = state->length, along = 0;
    for (int32_t i = low; i < high; i++) {
        const double *here = &state->here.dual[3 * (int64_t)i];
        const double *step = &state->step.dual[3 * (int64_t)i];
        const double *slope = &state->before[3 * (int64_t)i];
        double *next = &state->next.dual[3 * (int64_t)i];
        uint8_t kind = state->system.kind[i];
        for (int k = 0; k < 3; k++)
            next[k] = here[k] + length * step[k];
        if (kind & PRI_GAIN_ALONE) {
            const double *goal = &state->alone[2 * (int64_t)i];
            next[0] += length * (goal[0] - here[0] + state->step.sum);
            next[2] += length * (goal[1] - here[2]);
        }
        double gain = pri_most(state->lower, pri_least(state->upper, next[0]));
        if (!(kind & PRI_GAIN_ALONE))
            next[2] += state->follow[i] * (gain - next[0]);
        next[0] = gain;
        if (kind & PRI_GAIN_FIXED && !(kind & PRI_GAIN_ALONE))
            next[0] = here[0];
        if (kind & PRI_PRICE_TIED)
            next[1] = state->next.sum;
        else if (kind & PRI_PRICE_FIXED)
            next[1] = here[1];
        next[2] = pri_most(next[2], here[2] / 10);
        along += slope[0] * (next[0] - here[0]);
        along += slope[2] * (next[2] - here[2]);
        if (!(kind & PRI_PRICE_TIED))
            along += slope[1] * (next[1] - here[1]);
    }
    tally->sum[0] += along;
}

/*
 * Go along the step until the function falls enough. Close to the end its
 * differences drown in rounding: then the step is taken as it is.
 */
static bool search(struct pri_server_newton *state)
{
    double value = state->value, slope_sum = state->slope_sum;
    double *before = state->before;
    struct pri_sweep_sums total;
    state->before = state->slope;
    state->slope = before;
    state->length = 1;
    for (int trial = 0; trial < 40; trial++) {
        state->next.sum = state->here.sum + state->length * state->step.sum;
        pri_sweep(state->problem, move, state, &total);
        double along =
            total.sum[0] + slope_sum * (state->next.sum - state->here.sum);
        pri_server_newton_evaluate(state);
        double fall = state->value - value, curve = fall - along;
        if (fall <= 1e-4 * along || fabs(along) <= 1e-13 * fabs(value))
            return true;
        double best = curve > 0 ? -along / (2 * curve) : 0.5;
        state->length *= pri_most(0.1, pri_least(0.6, best));
    }
    return false;
}

void pri_server_newton_arrive(struct pri_server_newton *state)
{
    struct pri_server_point swap = state->here;
    state->here = state->next;
    state->next = swap;
}

bool pri_server_newton_step(struct pri_server_newton *state)
{
    double ratio = state->run->tolerance / pri_most(state->gap, 1e-300);
    double relative = pri_most(1e-9, pri_least(0.01, 0.1 * sqrt(ratio)));
    pri_server_prepare(&state->system);
    if (!pri_server_solve(&state->system, state->right, -state->slope_sum,
                          relative, 500, state->step.dual, &state->step.sum) ||
        !search(state))
        return false;
    pri_server_newton_arrive(state);
    return true;
}
