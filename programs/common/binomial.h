/*
 * Exact tails of the binomial distribution, for tests of how often links deliver.
 */
#ifndef PROGRAM_BINOMIAL_H
#define PROGRAM_BINOMIAL_H

#include <stdint.h>

/* The chance that at least k of n arrive, each with probability 0 <= p <= 1. O(n)
 * at worst, O(sqrt(n)) near the mean. */
double binomial_upper_tail(int64_t n, int64_t k, double p);

/* Twice the smaller tail, at most 1: the level at which a two-sided test finds that
 * k of n are not what p makes of them. */
double binomial_level(int64_t n, int64_t k, double p);

#endif
