/*
 * First sight of many samples (noise.c): what it looks at, and four at a time.
 */
#ifndef PRICER_ROUND_NOISE_SIGHT_H
#define PRICER_ROUND_NOISE_SIGHT_H

#include "noise.h"
#include "noise_cells.h"

enum {
    PRI_BLOCK = 64, /* samples that are looked at together */
    PRI_COIN = 19,  /* bits of a coin that are drawn at first */
};

/* The bits of half a word: where the strip is, the sign, and the coin's first. */
static inline uint32_t pri_cell_of(uint32_t head)
{
    return head >> (PRI_COIN + 1);
}

static inline bool pri_is_negative(uint32_t head)
{
    return head >> PRI_COIN & 1;
}

static inline uint32_t pri_coin_of(uint32_t head)
{
    return head & ((1 << PRI_COIN) - 1);
}

/* Where the strips begin that 12 bits decide: the first integer of each. */
struct pri_strips {
    uint64_t first[PRI_NOISE_MIXED + 1];
};

/* What a block of samples is drawn from, and which of them first sight leaves. */
struct pri_block {
    const uint64_t *words; /* of step 2, then the halves */
    uint32_t heads[PRI_BLOCK];
    uint64_t strips[PRI_BLOCK], first[PRI_BLOCK];
    uint64_t left; /* a bit each */
};

/*
 * First sight of as many of the samples as come four at a time, into the values and
 * block->left; returns how many, 0 where the processor cannot. As draw_first() does
 * it, to the same bits.
 */
int pri_noise_see_four(uint64_t width, const struct pri_strips *strips,
                       int count, struct pri_block *block, int64_t *values);

#endif
