/*
 * The step of the interior point with server budgets: how far it may go, and
 * going there.
 */
#include "server_pair.h"

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

/* ----------------------------------------------------------------- links -- */

static inline void limit(double value, double change, double *longest)
{
    if (value + *longest * change <= 0)
        *longest = -value / change;
}

/* One pass over links and rows along the step. With length 0 it tallies the
 * longest step that keeps all positive (least) and the sum of the products of
 * changes (0); else it moves, and tallies the products (0). */
static void follow(struct pri_server_interior *state,
                   const struct pri_server_ends *ends, int e,
                   const struct pri_server_change *c, double length,
                   double *sum, double *longest)
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
            struct pri_server_ends ends = pri_ends_at(state, i, own ? -1 : l);
            struct pri_server_pair pair = pri_linearise(state, &ends);
            struct pri_server_change change[2] = {{0, 0, 0, 0, 0},
                                                  {0, 0, 0, 0, 0}};
            pri_change_of(state, &ends, &pair, change);
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

void pri_server_measure(struct pri_server_interior *state,
                        struct pri_sweep_sums *total)
{
    pri_sweep(state->problem, measure, state, total);
}

void pri_server_move(struct pri_server_interior *state,
                     struct pri_sweep_sums *total)
{
    pri_sweep(state->problem, move, state, total);
    move_point(state);
}
