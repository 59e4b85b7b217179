/*
 * Sums of independent privacy losses, bounded from one side.
 *
 * A pair of laws is given by its loss under the first of them; its cost is
 * delta(eps) = E (1 - e^(eps - loss))_+, a convex function of e^-loss. Losses
 * lie on lattices, level j of step * 2^j, which reaches to `reach` of its steps
 * either way: a loss is known to a part of 1/reach or better, or to a step.
 * Convolution on a lattice is exact; what it moves out of reach goes to the
 * next level.
 *
 * Above: a loss between two points of a lattice is spread to them keeping its
 * mean of e^-loss, which costs more, by Jensen. Below: outcomes are merged, and
 * what is kept is the mass of each point under both laws; merging outcomes
 * never helps to tell two laws apart, so that here the proof asks for nothing
 * else, and the points are only labels. A loss that is infinite in some round
 * is so in the sum.
 */
#ifndef PRICER_LOSSES_H
#define PRICER_LOSSES_H

#include "law.h"

struct pri_losses;

/* Begin a law of one round that reaches over this many steps; memory is kept
 * from use to use. The workspace is made if it is NULL. */
enum pricer_status pri_losses_begin(enum pri_side side, int32_t reach,
                                    double step, struct pri_losses **losses);
void pri_losses_free(struct pri_losses *losses);

/* A loss of one round, with its mass under the first law; it may be infinite.
 */
void pri_losses_put(struct pri_losses *losses, double loss, double mass);

/* From one round to `times`; masses at either end may be given up that cost no
 * more than `tail` together. O(log(times) levels reach^2). */
void pri_losses_repeat(struct pri_losses *losses, int64_t times, double tail);

/* Where the sum costs delta: above, an eps at which it is at most delta; below,
 * one at which it is at least delta, or 0. INFINITY if infinite losses alone
 * cost more. */
double pri_losses_eps(struct pri_losses *losses, double delta);

#endif
