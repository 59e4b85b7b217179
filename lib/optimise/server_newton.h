/*
 * Semismooth Newton with server budgets in three files: the step
 * (server_newton.c), where it begins (server_newton_start.c) and what comes
 * before, between and after the steps (server_newton_run.c).
 */
#ifndef PRICER_OPTIMISE_SERVER_NEWTON_H
#define PRICER_OPTIMISE_SERVER_NEWTON_H

#include "newton.h"

/* (gain, price, root of k) of each node side by side, and the sum multiplier */
struct pri_server_point {
    double *dual; /* [3 * nodes] */
    double sum;
};

/* What decides whether the links of a pair answer, out and in. */
struct pri_offer {
    pri_two lean; /* 2 sqrt(b): what the root of k takes from z */
    pri_two pull; /* what the proximal term adds to z */
};

struct pri_server_newton {
    struct pri_run *run;
    struct pri_server *server;
    const struct pri_problem *problem;
    struct pri_server_system system;
    struct pri_server_point here, next, step;
    struct pri_offer *offer; /* [arcs] */
    struct pri_offer *own;   /* [nodes] the own link */
    double *slope;           /* [3 * nodes] gradient at `next` */
    double *before;          /* [3 * nodes] gradient at `here`, in a search */
    double *right;           /* [3 * nodes] minus the gradient, 0 if held */
    double *alone;           /* [2 * nodes] where gain and root of a row that
                                does not answer go */
    double *follow;          /* [nodes] how the root follows a gain that its
                                bound stops */
    bool full;               /* no bias term yet: rows are to be full */
    double upper, lower;     /* bounds of the gains, as they are now */
    double curvature;        /* of the bias term in a gain, as it is now */
    double firm; /* least curvature of a share; the proximal term adds what
                      its link lacks of it */
    double aim;  /* gap at which the proximal terms move on */
    double certified, best; /* gaps, the last and the least */
    int stale;              /* certificates since it got clearly better */
    double value, slope_sum;
    double gap;    /* estimate of what `here` would be certified to */
    double length; /* of the last step, 1 for a whole one */
};

/* A link on its own: what it answers to z, and how that changes with z. */
struct pri_reply {
    double share, slope, part;
    bool held; /* at the most that its own budget allows */
};

static inline struct pri_reply pri_reply_to(const struct pri_split *split,
                                            double lean, double pull,
                                            double firm, double z, double root)
{
    struct pri_reply reply = {0, 0, 0, false};
    double cost = pri_most(split->plain, firm), bid = z + pull;
    double left = bid - lean * root;
    if (!(left > 0) || cost == INFINITY)
        return reply;
    reply.slope = 1 / (2 * cost);
    reply.share = left * reply.slope;
    if (!(split->noise > 0))
        return reply;
    reply.part = lean / 2 * reply.share / root;
    if (reply.part > split->most) {
        cost += split->noise / split->most;
        reply.slope = 1 / (2 * cost);
        reply.share = bid * reply.slope;
        reply.part = split->most;
        reply.held = true;
    }
    return reply;
}

/* The links of a pair together. */
struct pri_reply_pair {
    struct pri_answer answer;
    pri_two lean; /* 0 where the link's own budget holds it */
    pri_two bid;  /* what the shares answer to */
    bool held[2];
};

static inline struct pri_reply_pair pri_reply_both(
    const struct pri_split *const split[2], const struct pri_offer *offer,
    double cross, double firm, pri_two z, pri_two root)
{
    struct pri_reply_pair reply = {.held = {false, false}};
    for (int trial = 0; trial < 8; trial++) {
        pri_two ease;
        reply.lean = offer->lean;
        reply.bid = z + offer->pull;
        for (int e = 0; e < 2; e++) {
            double cost = pri_most(split[e]->plain, firm);
            if (reply.held[e]) {
                cost += split[e]->noise / split[e]->most;
                reply.lean[e] = 0;
            }
            ease[e] = 1 / (2 * cost);
        }
        reply.bid -= reply.lean * root;
        reply.answer = pri_answer_pair(ease, cross, reply.bid);
        bool same = true;
        for (int e = 0; e < 2; e++) {
            bool held = split[e]->noise > 0 &&
                        offer->lean[e] / 2 * reply.answer.share[e] >
                            split[e]->most * root[e];
            same = same && held == reply.held[e];
            reply.held[e] = held;
        }
        if (same)
            break;
    }
    return reply;
}

/* Value, slope and curvature of the function at `next`. */
void pri_server_newton_evaluate(struct pri_server_newton *state);

/* `next` becomes `here`. */
void pri_server_newton_arrive(struct pri_server_newton *state);

/* Decide what the bounds hold at `here`, and estimate its gap. */
void pri_server_newton_hold(struct pri_server_newton *state);

/* One step from `here`, which has been held; false if it gets nowhere. */
bool pri_server_newton_step(struct pri_server_newton *state);

/* ----------------------------------------------------------------- start -- */

/* A cold start at `next`, with full rows. */
void pri_server_newton_start(struct pri_server_newton *state);

/* From full rows to as much bias as the bias term asks for, at `next`. */
void pri_server_newton_level(struct pri_server_newton *state);

/* Gains and roots of all rows at `next`, prices given. */
void pri_server_newton_rows(struct pri_server_newton *state);

/* One round of coordinate descent at `next`: prices, then gains and roots. */
void pri_server_newton_relax(struct pri_server_newton *state);

/* Gain and root at which row i adds up to what it should and spends its budget,
 * prices given: from here[0] and here[2], where they are left. */
void pri_server_newton_row(const struct pri_server_newton *state,
                           const double *dual, int32_t i, double here[3]);

#endif
