/*
 * Whether a node took part: tails of the chi-square law, and how well two laws
 * of different variance can be told apart.
 */
#ifndef PRICER_IDENTITY_H
#define PRICER_IDENTITY_H

#include "law.h"

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

/*
 * One direction at one eps, between bounds: delta, the divergence of the first
 * law from the second, and rise = -d delta / d eps = e^eps times the second
 * law's probability of a loss beyond eps.
 */
struct pri_reach {
    double high, low, rise_high, rise_low;
};

/* direction[0] of absent from present, direction[1] of present from absent. */
void pri_presence_at(const struct pri_presence *presence, double eps,
                     struct pri_reach direction[2]);

/* The two deltas alone, to the side. */
void pri_presence_delta(const struct pri_presence *presence, double eps,
                        enum pri_side side, double *absent, double *present);

/*
 * With G = -d delta / d others: the least and the largest value over an
 * interval of the others' variance of d ln G / d others and of
 * d ln G / d eps. All infinite where nothing is known but perhaps that the
 * probability of a loss beyond eps under the first law falls.
 */
struct pri_curvature {
    double low, high, by_eps_low, by_eps_high;
    bool falls;
};

/* For the variances from presence->others to `far`, in both directions. */
void pri_presence_curvature(const struct pri_presence *presence, double far,
                            double eps, struct pri_curvature direction[2]);

#endif
