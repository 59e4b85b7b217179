/*
 * A pair of opposite links as one step of the interior point with server
 * budgets sees it: linearised, and how it changes along the step. For the file
 * that assembles the system and the one that takes the step.
 */
#ifndef PRICER_OPTIMISE_SERVER_PAIR_H
#define PRICER_OPTIMISE_SERVER_PAIR_H

#include "server_interior.h"

/* One side of a pair, linearised. */
struct pri_server_side {
    double stiff; /* what resists a change of the share, without 2 a */
    double force; /* what moves the share */
    double lean;  /* d part / d share */
    double yield; /* 1 / D, d part / d force_part */
    double force_part;
};

struct pri_server_pair {
    struct pri_server_side side[2];
    double answer[3]; /* M: out-out, out-in, in-in */
};

/* The links of a pair, out and in; `in` is empty for an own link. */
struct pri_server_ends {
    struct pri_arc *arc[2];
    struct pri_split *split[2];
    int32_t node[2]; /* whose shares they are */
};

/* ----------------------------------------------------------------- pairs -- */

static inline struct pri_server_side pri_linearise_side(
    const struct pri_arc *arc, const struct pri_split *split, double z,
    double k, double other, double target, double proximal)
{
    struct pri_server_side side = {0, 0, 0, 0, 0};
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
static inline void pri_invert_pair(const struct pri_server_ends *ends,
                                   struct pri_server_pair *pair)
{
    const struct pri_server_side *out = &pair->side[0], *in = &pair->side[1];
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
static inline struct pri_server_ends pri_ends_at(
    const struct pri_server_interior *state, int32_t i, int32_t l)
{
    const struct pri_problem *problem = state->problem;
    struct pri_server *server = state->server;
    if (l < 0)
        return (struct pri_server_ends){
            {&problem->self[i], NULL}, {&server->self[i], NULL}, {i, i}};
    int32_t partner = problem->partner[l];
    return (struct pri_server_ends){{&problem->arc[l], &problem->arc[partner]},
                                    {&server->arc[l], &server->arc[partner]},
                                    {i, problem->to[l]}};
}

static inline struct pri_server_pair pri_linearise(
    const struct pri_server_interior *state, const struct pri_server_ends *ends)
{
    struct pri_server_pair pair = {{{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}},
                                   {0, 0, 0}};
    const double *dual = state->point->dual;
    for (int e = 0; e < 2 && ends->arc[e] != NULL; e++) {
        const struct pri_arc *arc = ends->arc[e], *back = ends->arc[1 - e];
        int64_t from = ends->node[e], to = ends->node[1 - e];
        if (!(arc->share > 0))
            continue;
        pair.side[e] = pri_linearise_side(
            arc, ends->split[e], dual[2 * from] - dual[2 * to + 1],
            state->server->multiplier[from],
            arc->cross > 0 ? arc->cross * back->share : 0, state->target,
            state->proximal);
    }
    pri_invert_pair(ends, &pair);
    return pair;
}

/* How a link's numbers change along the step. */
struct pri_server_change {
    double share, slack, part, floor, roof;
};

static inline void pri_change_of(const struct pri_server_interior *state,
                                 const struct pri_server_ends *ends,
                                 const struct pri_server_pair *pair,
                                 struct pri_server_change change[2])
{
    double force[2] = {0, 0};
    for (int e = 0; e < 2 && ends->arc[e] != NULL; e++) {
        const double *here = &state->step[3 * (int64_t)ends->node[e]];
        const double *there = &state->step[3 * (int64_t)ends->node[1 - e]];
        const struct pri_server_side *side = &pair->side[e];
        force[e] = here[0] - there[1] - side->lean * here[2] + side->force;
    }
    for (int e = 0; e < 2 && ends->arc[e] != NULL; e++) {
        const struct pri_arc *arc = ends->arc[e];
        const struct pri_split *split = ends->split[e];
        const struct pri_server_side *side = &pair->side[e];
        struct pri_server_change *c = &change[e];
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

#endif
