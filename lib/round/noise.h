/*
 * The sampler's two decisions about a candidate: at a glance, and exactly.
 */
#ifndef PRICER_ROUND_NOISE_H
#define PRICER_ROUND_NOISE_H

#include "plan/plan.h"
#include "round.h"

enum {
    PRI_NOISE_SPLIT = 16, /* strips a standard deviation */
    PRI_NOISE_STRIPS = PRI_NOISE_REACH * PRI_NOISE_SPLIT,
};

/* Where a candidate for a sample lies. */
struct pri_candidate {
    uint32_t strip;
    uint64_t inside; /* (size - strip sigma / 16) 2^(fraction + 4), < sigma */
    uint64_t size;   /* its absolute value */
};

enum pri_verdict { PRI_REJECT, PRI_ACCEPT, PRI_UNSURE };

/* pri_noise_add() by arithmetic that every processor has, to the same bits. */
void pri_noise_add_plain(const struct pri_noise *noise,
                         struct pricer_random *random, int64_t count,
                         int64_t *values);

/* The number of random words that fall into a strip. */
uint64_t pri_noise_weight(uint32_t strip);

/* Accept, reject, or not sure from 64-bit arithmetic and the top 63 bits of
 * `coin`. */
enum pri_verdict pri_noise_glance(const struct pri_noise *noise,
                                  const struct pri_candidate *candidate,
                                  uint64_t coin);

/* The same decision by arithmetic of as many bits as it takes; the coin's bits
 * after the 63rd come from `random`. */
bool pri_noise_decide(const struct pri_noise *noise,
                      const struct pri_candidate *candidate, uint64_t coin,
                      struct pricer_random *random);

/*
 * scale / weight * exp(-(size / sigma)^2 / 2) in binary: `count` (at most 64)
 * words of 32 bits after the point, the first the most significant, low by less
 * than two units of the last or high by less than one. It must be less than 1,
 * and size less than 2048 sigma.
 */
void pri_noise_exponential(uint64_t scale, uint64_t weight, uint64_t size,
                           uint64_t sigma, int fraction, int count,
                           uint32_t *words);

#endif
