/*
 * The interior point in two files: its start, and its steps.
 */
#ifndef PRICER_OPTIMISE_INTERIOR_H
#define PRICER_OPTIMISE_INTERIOR_H

#include "run.h"

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
    double *edge[2]; /* [nodes] distance of the gain to its bounds */
    double proximal; /* curvature added to every share */
    double firm;     /* least proximal term, relative to a node's value */
    double target;   /* product share times slack that is aimed at */
    double mean;     /* mean product as it is */
    double count;    /* number of products */
    double length;   /* of the last step, 1 for a whole one */
};

/* Whether gain i has an upper (k = 0) or lower (1) bound. */
static inline bool pri_bounded(const struct pri_problem *problem, int32_t i,
                               int k)
{
    return !(problem->kind[i] & PRI_GAIN_FIXED) &&
           (k == 0 ? problem->upper_bound < INFINITY
                   : problem->lower_bound > -INFINITY);
}

/* Where it begins; fills everything but step and right. */
void pri_interior_start(struct pri_interior *state);

#endif
