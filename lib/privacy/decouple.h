/*
 * Pairs of links that are too many for exact.h, drawn independently instead:
 * bounds from above and below for data.
 */
#ifndef PRICER_DECOUPLE_H
#define PRICER_DECOUPLE_H

#include "floor.h"

/*
 * Set the probabilities of all noises so that every one may be drawn by itself.
 *
 * Claim. Let f be a curve that rises from 0, at least delta_G(eps; sqrt(x)) for
 * some eps >= least and with f' no smaller, with -(1/8 + 1/2x) or
 * -(1 + 1/least^2)/8 <= f''/f' <= growth. Then the mean of f(mu^2) with these
 * probabilities is at least (above) or at most (below) that over the patterns.
 */
enum pricer_status pri_decouple(const struct pri_view *view, enum pri_side side,
                                double growth, double least,
                                struct pri_chances *chances);

/* f''/f' = eps^2/2x^2 - 1/2x - 1/8 from x on, at most. */
double pri_growth_at(double eps, double x);

/*
 * By how much the raised curve is above delta_G(eps; sqrt(x)), at most: the
 * least curve above it that begins at 0, whose f' is at least as large and
 * nowhere grows by more than e^(growth x). f''/f' falls up to x = 2 eps^2 and
 * is negative beyond: it is `growth` at one x, `from`. Below, f' is replaced by
 * f'(from) e^(growth (x - from)), which is larger; the two curves are furthest
 * apart from there on.
 */
double pri_raised_by(double eps, double growth);

#endif
