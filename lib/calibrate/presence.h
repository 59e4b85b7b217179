/*
 * Tails of the chi-square law, by which the laws with and without a node are told
 * apart.
 */
#ifndef PRICER_PRESENCE_H
#define PRICER_PRESENCE_H

#include "calibrate.h"

/* The absolute error of the two functions below. */
#define PRI_CHI_ERROR 1e-11L

/* ln P(X <= value) and ln P(X > value) of a noncentral chi-square X. */
long double pri_chi_lower(long double degrees, long double noncentrality,
                          long double value);
long double pri_chi_upper(long double degrees, long double noncentrality,
                          long double value);

#endif
