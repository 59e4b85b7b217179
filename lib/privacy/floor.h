/*
 * The probability that some sum is seen without noise that hides: what no eps,
 * or none within reach, pays for.
 */
#ifndef PRICER_FLOOR_H
#define PRICER_FLOOR_H

#include "view.h"

/* A mass that products of probabilities may lose below the range of a double,
 * in one round. */
#define PRI_LOST 1e-309

/* By which part the probability of a pattern may be off: rounding, in proportion
 * to the links that decide about it, and links taken as independent. */
double pri_view_slack(const struct pri_view *view);

/* Scratch: the probabilities of all noises and links as a case has them. */
struct pri_chances {
    double *chance, *absent; /* [noises] */
    double *link, *broken;   /* [sources] */
};

/*
 * The probability that in some of `rounds` rounds a sum is seen with neither a
 * base nor a noise of at least `hide`; the least positive number means none at
 * all. To the side; *exact tells whether that is only rounding.
 */
double pri_view_bare(const struct pri_view *view, double hide, int64_t rounds,
                     enum pri_side side, struct pri_chances *chances,
                     bool *exact);

#endif
