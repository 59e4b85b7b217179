/*
 * What the planner's benchmarks share: the dense random networks, and the same
 * planning problem as a quadratic program for generic solvers.
 */
#ifndef BENCH_DENSE_H
#define BENCH_DENSE_H

#include "pricer.h"

/* A network with the noise per weight of each link (classic calibration). */
struct dense {
    struct pricer_network *network;
    double *slope, *self_slope;
};

/*
 * n nodes that all reach each other: uplinks and links uniform in [.05, .95],
 * links equal in both directions, joint probabilities uniform between their
 * bounds, eps one of 0.1, 1, 10 and 1000, delta 1e-3, dimension 128, radius 1;
 * full trust in the uplink. The same for the same n, everywhere.
 */
struct dense dense_make(int32_t n);
void dense_free(struct dense *dense);

/* One case of the table. */
struct bench_case {
    const char *name;
    enum pricer_bias bias;
    double lambda;
};

/* The four bias terms, l1 twice; the second one leaves bias. */
#define BENCH_CASES 5
struct bench_case bench_case_at(int k, int32_t n);

/*
 * The planning problem as a generic solver wants it, times nodes^2: minimise
 *
 *   sum square x^2 + sum cross x_a x_b + sum linear x
 *
 * with lower <= x and row_lower <= A x <= row_upper. The variables are the
 * shares p_j p_ij weight_ij of all links, own links included, then the sums
 * over each relay, what their sum lacks of n, and what the bias term needs:
 * with these as variables the Hessian has 2 x 2 blocks only and no digits
 * cancel.
 */
struct program {
    int variables, rows, crosses, entries;
    int shares; /* the first so many variables */
    double *square, *linear, *lower, *start;
    int *cross_a, *cross_b;
    double *cross;
    int *row, *column; /* entries of A, all of them +1 or -1 */
    double *value;
    double *row_lower, *row_upper;
};
struct program program_make(const struct dense *dense, struct bench_case which);
void program_free(struct program *program);
double program_value(const struct program *program, const double *x);

/* Seconds of a monotonic clock. */
double bench_now(void);

#endif
