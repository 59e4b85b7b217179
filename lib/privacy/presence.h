/*
 * Whether a node took part: tails of the chi-square law, and how well two laws
 * of different variance can be told apart.
 */
#ifndef PRICER_IDENTITY_H
#define PRICER_IDENTITY_H

#include "view.h"

/* The absolute error of the two functions below. */
#define PRI_CHI_ERROR 1e-11L

/* ln P(X <= value) and ln P(X > value) of a noncentral chi-square X. */
long double pri_chi_lower(long double degrees, long double noncentrality,
                          long double value);
long double pri_chi_upper(long double degrees, long double noncentrality,
                          long double value);

/* About how many steps either of them takes. */
long double pri_chi_length(long double degrees, long double noncentrality,
                           long double value);

/*
 * Two laws to tell apart: without the node N(0, others I), with it
 * N(shift e, (others + own) I), in `dimension` dimensions.
 */
struct pri_presence {
    double dimension, shift, own, others;
};

/* The divergences at one eps, to the side: of absent from present, and of
 * present from absent. */
void pri_presence_delta(const struct pri_presence *presence, double eps,
                        enum pri_side side, double *absent, double *present);

#endif
