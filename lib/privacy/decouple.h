/*
 * Pairs of links that are too many for exact.h, drawn independently instead:
 * bounds from above and below.
 */
#ifndef PRICER_DECOUPLE_H
#define PRICER_DECOUPLE_H

#include "bare.h"

/*
 * Set the probabilities of all noises so that every one may be drawn by itself.
 * By the order alone, with a growth of INFINITY: the second noise of a pair with
 * its least (above) or largest (below) probability given the first, as less noise
 * never helps the node. Data: the mean of a curve raised to `growth`, at any
 * eps >= least, is then at least (above) or at most (below) that over the patterns.
 */
enum pricer_status pri_decouple(const struct pri_view *view, enum pri_side side,
                                double growth, double least,
                                struct pri_chances *chances);

#endif
