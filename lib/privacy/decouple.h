/*
 * Pairs of links that are too many for exact.h, drawn independently instead:
 * bounds from above and below.
 */
#ifndef PRICER_DECOUPLE_H
#define PRICER_DECOUPLE_H

#include "bare.h"

/* The second noise of every pair by itself, with its least (above) or largest
 * (below) probability given the first: less noise never helps the node. */
void pri_order_chances(const struct pri_view *view, enum pri_side side,
                       struct pri_chances *chances);

/* Data: set the probabilities of all noises so that every one may be drawn by
 * itself: the mean of a curve raised to `growth`, at any eps >= least, is then at
 * least (above) or at most (below) that over the patterns. */
enum pricer_status pri_decouple(const struct pri_view *view, enum pri_side side,
                                double growth, double least,
                                struct pri_chances *chances);

#endif
