/*
 * The interior point with server budgets in three files: its start, the system
 * of a step, and the step.
 */
#ifndef PRICER_OPTIMISE_SERVER_INTERIOR_H
#define PRICER_OPTIMISE_SERVER_INTERIOR_H

#include "run.h"

struct pri_server_interior {
    struct pri_run *run;
    struct pri_server *server;
    const struct pri_problem *problem;
    struct pri_server_system system;
    struct pri_point *point;
    double *step; /* [3 * nodes] of gain, price and k */
    double step_sum;
    double *right;   /* [3 * nodes] */
    double *spare;   /* [nodes] what is left of a row's budget */
    double *room[2]; /* [nodes] bias below and above 1 */
    double *edge[2]; /* [nodes] distance of the gain to its bounds */
    double proximal; /* curvature added to every share */
    double target;   /* product that is aimed at */
    double mean;     /* mean product as it is */
    double count;    /* number of products */
    double length;   /* of the last step, 1 for a whole one */
};

/* Whether gain i has an upper (k = 0) or lower (1) bound. */
static inline bool pri_server_edged(const struct pri_problem *problem,
                                    int32_t i, int k)
{
    return !(problem->kind[i] & PRI_GAIN_FIXED) &&
           (k == 0 ? problem->upper_bound < INFINITY
                   : problem->lower_bound > -INFINITY);
}

/* Where it begins; fills everything but step and right. */
void pri_server_start(struct pri_server_interior *state);

/* The longest step that keeps all positive (least), and the sum of the products
 * of changes (0). */
void pri_server_measure(struct pri_server_interior *state,
                        struct pri_sweep_sums *total);

/* Go along the step by its length; the sum of all products (0). */
void pri_server_move(struct pri_server_interior *state,
                     struct pri_sweep_sums *total);

#endif
