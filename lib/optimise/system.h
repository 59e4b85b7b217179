/*
 * The linear system of one step of either method, and its solvers.
 */
#ifndef PRICER_OPTIMISE_SYSTEM_H
#define PRICER_OPTIMISE_SYSTEM_H

#include "conjugate.h"

/*
 * A pair as the linear system sees it: how the two shares answer to their two
 * differences z. Single precision is enough, only conjugate gradients read it.
 */
struct pri_entry {
    int32_t to;
    float out, in, both; /* d out / d z_out, d in / d z_in, d out / d z_in */
};

/*
 * The symmetric positive definite system of one Newton step, in the unknowns
 * (gain, price, sum): the entries, plus
 *
 *     1/2 sum_i own_i (dv_i - dg_i)^2 + curvature_i dv_i^2
 *   + 1/2 sum_j ease_j (dg_j - dt)^2  + 1/4 dt^2
 *
 * in its quadratic form.
 */
struct pri_system {
    const struct pri_problem *problem;
    uint8_t *kind;           /* [nodes] the problem's, and what a method adds */
    struct pri_entry *entry; /* of the pairs that answer at all, those that a
                                block looks at from start[low] on */
    int32_t *until;          /* [nodes] where the entries of the node end */
    double *own;             /* [nodes] answer of the own link */
    double *curvature;       /* [nodes] of the bias term, in the gain */
    double *ease;            /* [nodes] 1 / (2 crowd); 0 where tied or fixed */
    double *block; /* [3 * nodes] in: sums of out, both, in over the pairs of a
                      node; then its inverse block of the preconditioner */
    double *arrow; /* [2 * nodes] that inverse times the column of the sum */
    double *exact; /* [3 * arcs] the entries in double, if dense */
    long double *dense; /* [(2 nodes + 1) (2 nodes + 2)] or NULL */
    struct pri_conjugate cg;
};

bool pri_system_new(const struct pri_problem *problem,
                    struct pri_system *system);

/* Give its memory back, which the weights of the plan may take when no more
 * systems are solved; the count of steps stays. */
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

/* Prepare to solve, when entries, own, curvature, ease and block are set. */
void pri_system_prepare(struct pri_system *system);

/* Solve for a right-hand side, to a relative residual or in `most` steps. False
 * if numbers ran out of range. */
bool pri_system_solve(struct pri_system *system, const double *right,
                      double right_sum, double relative, int32_t most,
                      struct pri_point *solution);

/* The same by Cholesky factors, from now on. */
bool pri_system_densify(struct pri_system *system);
void pri_cholesky(long double *matrix, int64_t size);
void pri_cholesky_solve(const long double *matrix, int64_t size,
                        long double *x);
void pri_dense_prepare(struct pri_system *system);
void pri_dense_solve(struct pri_system *system, const double *right,
                     double right_sum, struct pri_point *solution);

#endif
