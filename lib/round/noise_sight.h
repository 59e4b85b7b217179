/*
 * First sight of many samples (noise.c): a word each, of which most are settled.
 */
#ifndef PRICER_ROUND_NOISE_SIGHT_H
#define PRICER_ROUND_NOISE_SIGHT_H

#include "noise.h"
#include "noise_cells.h"

enum {
    PRI_BLOCK = 64,                  /* samples that are looked at together */
    PRI_PLACE = 63 - PRI_NOISE_BITS, /* bits of a word for place and coin */
    PRI_COIN = PRI_PLACE - 32,       /* bits of a coin that are looked at */
    PRI_KNOWN = 16,                  /* of which so many are the coin's */
};

/* The bits of a word: where the strip is, the sign, and those of the place. */
static inline uint32_t pri_cell_of(uint64_t word)
{
    return (uint32_t)(word >> (PRI_PLACE + 1));
}

static inline bool pri_is_negative(uint64_t word)
{
    return word >> PRI_PLACE & 1;
}

static inline uint64_t pri_place_of(uint64_t word)
{
    return word & ((UINT64_C(1) << PRI_PLACE) - 1);
}

/* A strip: its first integer and its number times 2^25. Where a cell does not decide
 * which it is, `first` is beyond 2^63. */
struct pri_strip {
    uint64_t first, steep;
};

/* A noise, prepared for first sight; `spread` is in units of 2^-PRI_COIN. */
struct pri_first_sight {
    uint64_t width, spread;
    struct pri_strip strips[PRI_NOISE_MIXED + 1];
};

void pri_noise_sight(const struct pri_noise *noise,
                     struct pri_first_sight *sight);

/*
 * What a word says of a sample in a strip below 80, `width` above 2^20.
 *
 * The word's last 50 bits x are the first of a real number u, uniform on [0, 1). The
 * place is floor(u width); the coin is another real number that has its first 16 bits
 * in common with f = frac(u width), so it is in (f - 2^-16, f + 2^-16). u width is in
 * [x width, x width + width) / 2^50, hence as long as
 *
 *     coin + 1 + width / 2^32 <= 2^18,   coin = floor(2^18 frac(x width / 2^50)),
 *
 * the place is that of x, and 2^18 times the coin is in
 *
 *     (coin - 4, coin + 5 + width / 2^32).
 *
 * `spread` is width / 2^32 rounded up plus 7: two units more.
 *
 * With a, r and rho as in glance() and s = sigma / 16 in steps, width - 1 < s <= width
 * and the integer's distance from the strip's begin is at least the place and less
 * than 1 more, so
 *
 *     r < (1 + u width) / s < u + 2 / (width - 1) <= u + 32 / 2^24,
 *     r >= place / width > u - 1 / width > u - 16 / 2^24.
 *
 * `ratio` is above r 2^24, and less 49 it is below; where it is at most 2^24 the integer
 * is inside. a 2^18 is less than the product shifted by 39 plus 1, and one more unit
 * covers rho: if coin + a + spread <= 2^18, the coin is below 1 - a - 2^-41 <= T,
 * accept. With the ratio less 49 the product is at most a 2^18: if the coin is no less
 * than 1 - a + a^2 / 2 >= T, which falls with a up to 1, reject; past the strip's end
 * that is right as well.
 */
static inline enum pri_verdict pri_noise_look(
    const struct pri_first_sight *sight, struct pri_strip strip, uint64_t word,
    uint64_t *size)
{
    const uint64_t one = UINT64_C(1) << PRI_COIN;
    pri_wide product = (pri_wide)pri_place_of(word) * sight->width;
    uint64_t coin = (uint64_t)(product >> 32) & (one - 1);
    uint64_t ratio = (pri_place_of(word) >> (PRI_PLACE - 24)) + 33;
    uint64_t a = ratio * (strip.steep + ratio) >> (57 - PRI_COIN);
    *size = strip.first + (uint64_t)(product >> PRI_PLACE);
    if ((coin + a + sight->spread <= one) & (ratio <= UINT64_C(1) << 24) &
        (*size - 1 < UINT64_C(1) << 63))
        return PRI_ACCEPT;
    ratio = ratio < 49 ? 0 : ratio - 49;
    a = ratio * (strip.steep + ratio) >> (57 - PRI_COIN);
    uint64_t most = one - a + (a * a >> (PRI_COIN + 1)) + 1;
    return coin + sight->spread <= one && coin >= most + (one >> PRI_KNOWN)
               ? PRI_REJECT
               : PRI_UNSURE;
}

/*
 * First sight of at most PRI_BLOCK samples, a word each: adds those that are accepted
 * to the values and returns a bit each for the others. Four at a time where the
 * processor has AVX2 and the caller wants it, to the same bits.
 */
uint64_t pri_noise_see(const struct pri_first_sight *sight, bool wide,
                       int count, const uint64_t *words, int64_t *values);

/* floor(u size) for u uniform on [0, 1), whose first bits are those of a word's place;
 * size is at most 2^62. */
uint64_t pri_noise_scale(uint64_t word, uint64_t size,
                         struct pricer_random *random);

#endif
