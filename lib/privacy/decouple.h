/*
 * Pairs of links that are too many for exact.h, drawn independently instead:
 * bounds from above and below for data.
 */
#ifndef PRICER_DECOUPLE_H
#define PRICER_DECOUPLE_H

#include "floor.h"

/* Set the probabilities of all noises so that every one may be drawn by itself: the
 * mean of a curve raised to `growth`, at any eps >= least, is then at least (above)
 * or at most (below) that over the patterns. */
enum pricer_status pri_decouple(const struct pri_view *view, enum pri_side side,
                                double growth, double least,
                                struct pri_chances *chances);

/* f''/f' = eps^2/2x^2 - 1/2x - 1/8 from x on, at most. */
double pri_growth_at(double eps, double x);

/* By how much the least curve above delta_G(eps; sqrt(x)) with that growth is above
 * it, at most. */
double pri_raised_by(double eps, double growth);

#endif
