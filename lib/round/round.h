/*
 * Drawing links for 512 rounds at once; links.c says how.
 */
#ifndef PRICER_ROUND_H
#define PRICER_ROUND_H

#include "base/base.h"
#include "random/random.h"

enum {
    PRI_ROUNDS = 64 * PRI_LANES, /* rounds drawn together */
    PRI_NEVER = 3,               /* a fixed result in place of a level */
    PRI_ALWAYS = 4,              /* the other fixed result */
};

/* The distribution of a pair of links, ready to be drawn. */
struct pri_pair {
    pri_wide level[3]; /* different from each other, none 0 */
    int levels;
    int digits;                    /* bits after which all levels end */
    uint8_t forward, both, either; /* index into level[], or a fixed result */
};

/* p is the link from the lower node to the higher, or an uplink. */
struct pri_pair pri_pair_make(double p, double p_back, double joint);

struct pri_threefry_key pri_draw_key(uint64_t seed, int64_t group);

/*
 * Rounds 512 g to 512 g + 511 of the pair (low, high), where low < high or
 * high = PRICER_SERVER: one bit a round in eight words each. `backward` may be
 * NULL.
 */
void pri_draw_pair(const struct pri_pair *pair,
                   const struct pri_threefry_key *key, int32_t low,
                   int32_t high, uint64_t *forward, uint64_t *backward);

#endif
