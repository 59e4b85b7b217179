/*
 * Semismooth Newton in two files: the step (optimise_newton.c) and what comes
 * before, between and after the steps (optimise_newton_run.c).
 */
#ifndef PRICER_OPTIMISE_NEWTON_H
#define PRICER_OPTIMISE_NEWTON_H

#include "optimise.h"

struct pri_newton {
    struct pri_run *run;
    struct pri_problem *problem;
    struct pri_system *system;
    struct pri_point here, next, step;
    double *slope;  /* [2 * nodes] of the function, at `next` */
    double *before; /* [2 * nodes] the same at `here`, during a search */
    double *right;  /* [2 * nodes] minus the slope, what is held left out */
    double *alone;  /* [nodes] where a row held alone goes */
    uint8_t *given; /* [nodes] kinds, with free own links */
    bool full;      /* no bias term yet: rows are to be full */
    double upper, lower; /* bounds of the worths, as they are now */
    double value, slope_sum;
    double gap;    /* estimate of what `here` would be certified to */
    double least;  /* links that cost less count as this: the certificate takes
                      the truth, and if it asks for it this is lowered */
    double length; /* of the step */
};

/* Answer of one pair: shares y for z, and their derivatives; w = 1 / (2 q). */
static inline void pri_answer_pair(double w1, double w2, double cross,
                                   double z1, double z2, double y[2],
                                   double d[3])
{
    double a1 = z1 > 0 ? w1 * z1 : 0, a2 = z2 > 0 ? w2 * z2 : 0;
    double e1 = z1 - cross * a2, e2 = z2 - cross * a1;
    d[1] = 0;
    if (e1 > 0 && e2 > 0 && cross > 0) {
        double share = pri_most(1 - cross * w1 * (cross * w2), 1e-12);
        double inverse = 1 / share;
        d[0] = w1 * inverse;
        d[2] = w2 * inverse;
        d[1] = -cross * w1 * d[2];
        y[0] = d[0] * e1;
        y[1] = d[2] * e2;
        return;
    }
    y[0] = e1 > 0 ? a1 : 0;
    y[1] = e2 > 0 ? a2 : 0;
    d[0] = e1 > 0 ? w1 : 0;
    d[2] = e2 > 0 ? w2 : 0;
}

/* Value, slope and curvature of the function at `next`. */
void pri_newton_evaluate(struct pri_newton *state);

/* `next` becomes `here`. */
void pri_newton_arrive(struct pri_newton *state);

/* Decide what the bounds hold at `here`, and estimate its gap. */
void pri_newton_hold(struct pri_newton *state);

/* One step from `here`, which has been held; false if it gets nowhere. */
bool pri_newton_step(struct pri_newton *state);

#endif
