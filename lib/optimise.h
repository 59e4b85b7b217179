/*
 * The inside of the exact optimiser, shared by the files optimise*.c.
 *
 * The unknowns of the optimiser are shares: the expected weight of node i
 * through relay j, share = p_j p_ij weight. In shares, and divided by
 * radius^2 / nodes^2, the problem of docs/mathematics.md is
 *
 *     minimise  sum of cost share^2            over links, own links included
 *             + sum of cross share share'      over pairs of opposite links
 *             + sum of crowd_j T_j^2           over relays
 *             + (sum of S_i - nodes)^2 + bias term of S,
 *
 * S_i the sum of the shares that leave node i, T_j of those that relay j
 * carries. The multipliers have a meaning: worth_i is what one more unit of
 * S_i is worth, price_j what one more unit costs at relay j, so that a link is
 * used where worth_i > price_j. In the letters of the mathematics worth is v,
 * price_j is u_j + t, and links see only the difference z = v_i - price_j.
 */
#ifndef PRICER_OPTIMISE_H
#define PRICER_OPTIMISE_H

#include "internal.h"

#include <math.h>
#include <string.h>

/*
 * One direction of a pair of neighbours, kept with the node it leaves. Every
 * neighbour appears in both lists, also where only one direction is a link:
 * then the other has the cost INFINITY and never carries anything.
 */
struct pri_arc {
    double cost;  /* q */
    double cross; /* c, equal in both directions */
    double share; /* y; during Newton, 1 / (2 q) of the other direction */
    double slack; /* interior point: s; during Newton, 1 / (2 q) */
};

/*
 * A pair as the linear system sees it: how the two shares answer to their two
 * differences z. Single precision is enough, only conjugate gradients read it.
 */
struct pri_entry {
    int32_t to;
    float out, in, both; /* d out / d z_out, d in / d z_in, d out / d z_in */
};

enum {
    PRI_BLOCKS = 64,       /* most blocks of a sweep */
    PRI_FEW_NODES = 24,    /* up to here systems are solved by Cholesky */
    PRI_DENSE_NODES = 300, /* and up to here where nothing else helps */
};

/* An objective below this part of radius^2 / nodes is none: at the default
 * tolerance what is left is rounding. */
#define PRI_NOTHING 1e-7

/* What is peculiar about a node's two unknowns. */
enum {
    PRI_WORTH_FIXED = 1,  /* no link leaves the node, or a bound holds it */
    PRI_PRICE_TIED = 2,   /* crowd = 0: the price is the sum multiplier */
    PRI_PRICE_FIXED = 4,  /* nothing reaches the server through the node */
    PRI_UNREACHED = 8,    /* the node reaches the server by no path */
    PRI_PRICE_OWN = 16,   /* Newton: the price is the node's own worth */
    PRI_OWN_FREE = 32,    /* Newton: its own link costs nothing */
    PRI_WORTH_ALONE = 64, /* Newton: the worth moves by itself */
};

struct pri_problem {
    const struct pricer_network *network;
    enum pricer_bias bias;
    int32_t nodes, arcs;
    int32_t threads, blocks;
    int32_t *block;         /* [blocks + 1] nodes, about equal in arcs */
    int32_t *start;         /* [nodes + 1] arcs of each node, by neighbour */
    int32_t *upper;         /* [nodes] the first arc to a higher node */
    const int32_t *to;      /* [arcs] the neighbour */
    const int32_t *partner; /* [arcs] the same pair seen from the other end */
    const int32_t *link;    /* [arcs] the network's link, or -1; NULL where
                               arcs and links are the same: then `to` and
                               `partner` are the network's own */
    int32_t *lists;         /* room for the three where they are not */
    struct pri_arc *arc;    /* [arcs] */
    struct pri_arc *self;   /* [nodes] the own link; cross = 0 */
    double *crowd;          /* [nodes] h; INFINITY where p_j = 0 */
    uint8_t *kind;          /* [nodes] PRI_... */
    double penalty;         /* L of the l1 and l2 bias terms, else 0 */
    double upper_bound, lower_bound; /* of every worth */
    bool summed;                     /* the sum multiplier is an unknown */
    int32_t unreached;               /* nodes without any path to the server */
};

/* Multipliers, (worth, price) of each node side by side. */
struct pri_point {
    double *dual; /* [2 * nodes] */
    double sum;   /* t */
};

/* fmax and fmin, without the function call that their care for NAN costs. */
static inline double pri_most(double a, double b)
{
    return a > b ? a : b;
}

static inline double pri_least(double a, double b)
{
    return a < b ? a : b;
}

/* The two numbers of a pair, in vectors: out and in, or worth and price. */
typedef int64_t pri_mask __attribute__((vector_size(16)));

static inline pri_two pri_swap(pri_two a)
{
    return __builtin_shufflevector(a, a, 1, 0);
}

static inline pri_two pri_choose(pri_mask mask, pri_two yes, pri_two no)
{
    return (pri_two)((mask & (pri_mask)yes) | (~mask & (pri_mask)no));
}

static inline pri_two pri_load(const double *from)
{
    pri_two a;
    memcpy(&a, from, sizeof a);
    return a;
}

static inline void pri_store(double *to, pri_two a)
{
    memcpy(to, &a, sizeof a);
}

/* ----------------------------------------------------------------- sweep -- */

/* What one pass over the nodes adds up; `least` is a minimum, from INFINITY. */
struct pri_tally {
    double sum[5];
    double least;
};

/*
 * Call part() for every block of nodes, on all threads, and add up what it
 * tallies in the order of the blocks, so that the result does not depend on
 * the number of threads. total may be NULL.
 *
 * A part may write to the nodes of its block only. It looks at each pair inside
 * its block once, from the lower end, and at each pair that leaves the block
 * from its own end: a loop over the arcs of node i passes over those with
 * low <= to < i by going on at upper[i].
 */
void pri_sweep(const struct pri_problem *problem,
               void (*part)(void *context, int32_t low, int32_t high,
                            struct pri_tally *tally),
               void *context, struct pri_tally *total);

/* --------------------------------------------------------------- problem -- */

/*
 * Make the problem of one network. slope[l] is the standard deviation of the
 * noise per unit weight on link l, self_slope[i] that of node i's own link.
 * Refuses an unbiased plan where a node has no path to the server.
 */
enum pricer_status pri_problem_new(const struct pricer_network *network,
                                   const struct pricer_settings *settings,
                                   const double *slope,
                                   const double *self_slope,
                                   struct pri_problem **problem,
                                   struct pricer_fault *fault);

void pri_problem_free(struct pri_problem *problem);

/* Room for a point, all zero. */
bool pri_point_new(const struct pri_problem *problem, struct pri_point *point);
void pri_point_copy(const struct pri_problem *problem,
                    const struct pri_point *from, struct pri_point *to);

/* Write scale_i share as weights, and the multipliers, into a plan. Noise is
 * left alone. */
void pri_problem_plan(const struct pri_problem *problem, const double *scale,
                      const struct pri_point *point, struct pricer_plan *plan);

/* The other way: the multipliers of a plan as a point, and the shares of the
 * own links. False if one is not a number. */
bool pri_problem_point(const struct pri_problem *problem,
                       const struct pricer_plan *plan, struct pri_point *point);

/* The worth that makes the most of a node without a path: a constant. */
static inline double pri_unreached_worth(const struct pri_problem *problem)
{
    if (problem->bias == PRICER_BIAS_L1)
        return problem->penalty;
    return problem->bias == PRICER_BIAS_L2 ? 2 * problem->penalty : 0;
}

/* ----------------------------------------------------------- certificate -- */

/* A feasible plan's value and how far below it the optimum may lie. */
struct pri_proof {
    double primal;   /* value, in units of radius^2 / nodes^2 */
    double distance; /* primal - bound, added up term by term, >= 0 */
    double gap;      /* distance relative to the primal */
};

struct pri_certifier {
    const struct pri_problem *problem;
    double *scale; /* [nodes] out: the factor that makes a row feasible */
    double *cap;   /* [nodes] the most that a link to the relay carries */
    double best;   /* least primal value seen: bounds every optimal share */
    struct pri_point *point; /* of the certificate in progress */
};

bool pri_certifier_new(const struct pri_problem *problem,
                       struct pri_certifier *certifier);
void pri_certifier_free(struct pri_certifier *certifier);

/*
 * Make the shares feasible row by row and bound the distance to the optimum by
 * the point, whose worths are clipped to their bounds in place. Two passes over
 * the links.
 */
void pri_certify(struct pri_certifier *certifier, struct pri_point *point,
                 struct pri_proof *proof);

/* ---------------------------------------------------------------- system -- */

/*
 * The symmetric positive definite system of one Newton step, in the unknowns
 * (worth, price, sum): the entries, plus
 *   own_i (dv_i - dg_i)^2 + bend_i dv_i^2 + ease_j (dg_j - dt)^2 + dt^2 / 2
 * in its quadratic form (times 1/2).
 */
struct pri_system {
    const struct pri_problem *problem;
    bool summed;             /* the sum multiplier moves */
    uint8_t *kind;           /* [nodes] the problem's, and what a method adds */
    struct pri_entry *entry; /* of the pairs that answer at all, those that a
                                block looks at from start[low] on */
    int32_t *until;          /* [nodes] where the entries of the node end */
    double *own;             /* [nodes] answer of the own link */
    double *bend;  /* [nodes] curvature of the bias term in the worth */
    double *ease;  /* [nodes] 1 / (2 crowd); 0 where tied or fixed */
    double *block; /* [3 * nodes] in: sums of out, both, in over the pairs of a
                      node; then its inverse block of the preconditioner */
    double *arrow; /* [2 * nodes] that inverse times the column of the sum */
    double schur;  /* what is left of the sum's diagonal */
    double common; /* curvature of moving all unknowns together */
    double *exact; /* [3 * arcs] the entries in double, if dense */
    long double *dense; /* [(2 nodes + 1) (2 nodes + 2)] or NULL */
    int64_t steps;      /* of conjugate gradients, in all */
    /* of the solve in progress: */
    double *residual, *direction, *product, *solution; /* [2 * nodes] */
    double residual_sum, direction_sum, product_sum;
    double alpha, beta, shift, lift;
};

bool pri_system_new(const struct pri_problem *problem,
                    struct pri_system *system);
void pri_system_free(struct pri_system *system);

/*
 * Enter the answers of a pair, out-out, out-in and in-in, at `at` if it answers
 * at all; returns where the next one goes. Most pairs of a large network never
 * answer in Newton's method, and every step of conjugate gradients reads all
 * entries: leaving those out saves most of the traffic.
 */
static inline int32_t pri_system_enter(struct pri_system *system, int32_t at,
                                       int32_t arc, bool inside, pri_two answer,
                                       double both)
{
    const struct pri_problem *problem = system->problem;
    if (system->exact != NULL) {
        double *exact = &system->exact[3 * (int64_t)arc];
        exact[0] = answer[0];
        exact[1] = both;
        exact[2] = answer[1];
        if (!inside)
            return at;
        exact = &system->exact[3 * (int64_t)problem->partner[arc]];
        exact[0] = answer[1];
        exact[1] = both;
        exact[2] = answer[0];
        return at;
    }
    if (answer[0] == 0 && answer[1] == 0)
        return at;
    struct pri_entry *entry = &system->entry[at];
    entry->to = problem->to[arc];
    entry->out = (float)pri_least(answer[0], 1e37);
    entry->in = (float)pri_least(answer[1], 1e37);
    entry->both = (float)pri_most(both, -1e37);
    return at + 1;
}

/* After the entries, own, bend, ease and block are set: prepare to solve. */
void pri_system_prepare(struct pri_system *system);

/* Solve for a right-hand side, to a relative residual or in `most` steps. False
 * if numbers ran out of range. */
bool pri_system_solve(struct pri_system *system, const double *right,
                      double right_sum, double relative, int32_t most,
                      struct pri_point *solution);

/* The same by Cholesky factors, from now on. */
bool pri_system_densify(struct pri_system *system);
void pri_dense_prepare(struct pri_system *system);
void pri_dense_solve(struct pri_system *system, const double *right,
                     double right_sum, struct pri_point *solution);

/* ------------------------------------------------------------------- run -- */

/*
 * One run of the optimiser: where it is, the best plan so far, and when to
 * stop. Methods move the point and the shares.
 */
struct pri_run {
    struct pri_problem *problem;
    const struct pricer_settings *settings;
    struct pri_system system;
    struct pri_certifier certifier;
    struct pri_point point;   /* where the method is */
    struct pri_point trial;   /* the same, as certified */
    struct pri_proof proof;   /* of the trial */
    struct pri_proof kept;    /* of the plan */
    struct pricer_plan *plan; /* the best so far; noise is filled at the end */
    double tolerance;
    int32_t iterations, limit;
    enum pricer_solve_outcome outcome;
    bool over; /* the outcome is settled */
};

/*
 * Whether to end the run before another iteration: the limit is reached or the
 * watch asks. gap is what the method believes it to be.
 */
bool pri_run_interrupted(struct pri_run *run, double gap);

/* Certify the shares and the point, keep the plan if it is the best so far, and
 * say whether the run is over. */
bool pri_run_certify(struct pri_run *run);

/* --------------------------------------------------------------- methods -- */

/* Interior point from its own start, until the gap is small enough, the run is
 * over or the digits are used up. Leaves shares and slacks. */
enum pricer_status pri_interior(struct pri_run *run, double enough);

/* The state of the interior point, for the two files that it takes. */
struct pri_interior {
    struct pri_run *run;
    const struct pri_problem *problem;
    struct pri_system *system;
    struct pri_point *point;
    struct pri_point step;
    double *right; /* [2 * nodes] */
    double right_sum;
    double *room[2]; /* [nodes] bias below and above 1 */
    double *edge[2]; /* [nodes] distance of the worth to its bounds */
    double proximal; /* curvature added to every share */
    double firm;     /* the least that it may be */
    double target;   /* product aimed at */
    double mean;     /* product as it is */
    double count;    /* of the products */
    double length;   /* of the last step */
};

/* Whether worth i has an upper (k = 0) or lower (1) bound. */
static inline bool pri_bounded(const struct pri_problem *problem, int32_t i,
                               int k)
{
    return !(problem->kind[i] & PRI_WORTH_FIXED) &&
           (k == 0 ? problem->upper_bound < INFINITY
                   : problem->lower_bound > -INFINITY);
}

/* Where it begins; fills everything but step and right. */
void pri_interior_start(struct pri_interior *state);

/* Where Newton begins. */
enum pri_begin {
    PRI_BEGIN_COLD,     /* its own start */
    PRI_BEGIN_INTERIOR, /* the point, shares and slacks of the interior point */
    PRI_BEGIN_PLAN,     /* the point, and the shares of the own links */
};

/* Semismooth Newton; gives up when it gets nowhere. */
enum pricer_status pri_newton(struct pri_run *run, enum pri_begin begin);

/*
 * A cold start: worths and prices for which, by turns, rows and loads are what
 * they should be. kind says which own links are free; slack and share of the
 * arcs hold 1 / (2 q) of both directions, as for Newton.
 */
void pri_start(const struct pri_system *system, const uint8_t *kind,
               struct pri_point *point);

/* From such a point, at which rows are full, to one with as much bias as the
 * bias term asks for. */
void pri_start_level(const struct pri_system *system, const uint8_t *kind,
                     struct pri_point *point);

/* One round of coordinate descent: prices, then worths within bounds. */
void pri_start_relax(const struct pri_system *system, const uint8_t *kind,
                     double lower, double upper, struct pri_point *point);

/* The worth at which row i adds up to what it should, prices given. */
double pri_start_row(const struct pri_system *system, const uint8_t *kind,
                     const double *dual, int32_t i);

#endif
