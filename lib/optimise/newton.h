/*
 * Semismooth Newton in two files: the step (newton.c) and what comes
 * before, between and after the steps (newton_run.c).
 */
#ifndef PRICER_OPTIMISE_NEWTON_H
#define PRICER_OPTIMISE_NEWTON_H

#include "run.h"

struct pri_newton {
    struct pri_run *run;
    struct pri_problem *problem;
    struct pri_system *system;
    struct pri_point here, next, step;
    double *slope;  /* [2 * nodes] gradient of the function at `next` */
    double *before; /* [2 * nodes] gradient at `here`, during a search */
    double *right;  /* [2 * nodes] minus the gradient, 0 for what is held */
    double *alone;  /* [nodes] where a row held alone goes */
    uint8_t *given; /* [nodes] kinds, with free own links */
    bool full;      /* no bias term yet: rows are to be full */
    double upper, lower; /* bounds of the gains, as they are now */
    double value, slope_sum;
    double gap;    /* estimate of what `here` would be certified to */
    double least;  /* cost that cheaper links are given; the certificate takes
                      the true one, and where it is not content this falls */
    double length; /* of the last step, 1 for a whole one */
    struct pri_point owed; /* the best so far, if it is not in the plan yet */
    double owed_least;     /* what `least` was there; 0 where nothing is owed */
};

/* What a pair answers to its two differences z: shares, and how they change. */
struct pri_answer {
    pri_two share;
    pri_two own;  /* d share / d z of the same link */
    double cross; /* d share / d z of the other */
};

/*
 * The answer of one pair, w the ease of its links. A share is w z alone, and
 * 0 if that or what the other leaves of it is below 0; two shares that are both
 * in use share. No branches: which links are in use is not to be guessed.
 */
static inline struct pri_answer pri_answer_pair(pri_two w, double cross,
                                                pri_two z)
{
    const pri_two none = {0, 0}, one = {1, 1}, tiny = {1e-12, 1e-12};
    pri_two alone = pri_choose(z > 0, w * z, none);
    pri_two left = z - cross * pri_swap(alone);
    pri_mask used = left > 0, both = used & (none + cross > 0);
    both &= __builtin_shufflevector(both, both, 1, 0);
    pri_two part = one - cross * w * (cross * pri_swap(w));
    part = pri_choose(both, pri_choose(part > tiny, part, tiny), one);
    struct pri_answer answer;
    answer.own = pri_choose(used, w * (1 / part), none);
    answer.share = answer.own * pri_choose(both, left, z);
    answer.cross = pri_choose(both, -cross * w * pri_swap(answer.own), none)[0];
    return answer;
}

/* Value, slope and curvature of the function at `next`. */
void pri_newton_evaluate(struct pri_newton *state);

/* `next` becomes `here`. */
void pri_newton_arrive(struct pri_newton *state);

/* Decide what the bounds hold at `here`, and estimate its gap. */
void pri_newton_hold(struct pri_newton *state);

/* One step from `here`, which has been held; false if it gets nowhere. */
bool pri_newton_step(struct pri_newton *state);

/* ----------------------------------------------------------------- start -- */

/*
 * A cold start: gains and prices for which, one after the other, rows and loads
 * are what they should be. kind says which own links are free; the arcs hold
 * ease and ease_back.
 */
void pri_start(const struct pri_system *system, const uint8_t *kind,
               struct pri_point *point);

/* From such a point, at which rows are full, to one with as much bias as the
 * bias term asks for. */
void pri_start_level(const struct pri_system *system, const uint8_t *kind,
                     struct pri_point *point);

/* One round of coordinate descent: prices, then gains within bounds. */
void pri_start_relax(const struct pri_system *system, const uint8_t *kind,
                     double lower, double upper, struct pri_point *point);

/* The gain at which row i adds up to what it should, prices given. */
double pri_start_row(const struct pri_system *system, const uint8_t *kind,
                     const double *dual, int32_t i);

#endif
