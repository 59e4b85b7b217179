/*
 * A run of the optimiser, and the methods that it can be driven by.
 */
#ifndef PRICER_OPTIMISE_RUN_H
#define PRICER_OPTIMISE_RUN_H

#include "system.h"

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
    struct pri_point trial;   /* a copy of it with the certificate's clipping */
    struct pri_proof proof;   /* what the trial was certified to */
    struct pri_proof kept;    /* what the plan was certified to */
    struct pricer_plan *plan; /* the best so far; noise is filled at the end */
    double tolerance;
    int32_t iterations, limit;
    enum pricer_solve_outcome outcome;
    bool over;  /* the outcome is settled */
    bool later; /* plans that are not the last need not be written at once: the
                   method can make them again, and weights take memory */
    bool owed;  /* the last certificate left its plan unwritten for that */
};

/*
 * Whether to end the run before another iteration: the limit is reached or the
 * watch asks. gap is what the method believes it to be.
 */
bool pri_run_interrupted(struct pri_run *run, double gap);

/* Certify the shares and the point, keep the plan if it is the best so far, and
 * say whether the run is over. */
bool pri_run_certify(struct pri_run *run);

/* Write what was certified last into the plan. */
void pri_run_write(struct pri_run *run);

/* --------------------------------------------------------------- methods -- */

/* Interior point from its own start, until the gap is small enough, the run is
 * over or the digits are used up. Leaves shares and slacks. */
enum pricer_status pri_interior(struct pri_run *run, double enough);

/* Where Newton begins. */
enum pri_begin {
    PRI_BEGIN_COLD,     /* its own start */
    PRI_BEGIN_INTERIOR, /* the point, shares and slacks of the interior point */
    PRI_BEGIN_PLAN,     /* the point, and the shares of the own links */
};

/* Semismooth Newton; gives up when it gets nowhere. */
enum pricer_status pri_newton(struct pri_run *run, enum pri_begin begin);

#endif
