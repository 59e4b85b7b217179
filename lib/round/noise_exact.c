/*
 * The noise's decision when 64 bits are not enough: is a coin, a real number
 * uniform on [0, 1) of which only some bits have been drawn, below
 *
 *     T = scale / weight * exp(-(size / sigma)^2 / 2)?
 *
 * T is computed to more and more bits, as many more bits of the coin are drawn,
 * until the two differ by more than the error of T. Integers only. It is needed
 * about once in ten million samples, so it is written to be checked, not to be
 * fast: some ten microseconds.
 *
 * Numbers in [0, 1) are arrays of 32-bit words after the binary point, the most
 * significant first. GUARD words more than asked for absorb the rounding:
 *
 *   ratio = size / (2048 sigma)        low by less than 1 unit;
 *   x     = ratio^2 / 2                low by less than 2 units;
 *                                      (size / sigma)^2 / 2 is 2^22 x;
 *   q     = 1 - exp(-x), by Horner     off by less than 8 units: each step
 *                                      q <- x (1 - q) / n damps the error by
 *                                      x / n < 1/2 and adds at most 3;
 *   z     = 1 - q, squared 22 times    off by less than 2^26 units: a square
 *                                      at most doubles the error and adds 1;
 *   T     = scale z / weight           off by less than 2^26 scale / weight.
 *
 * scale / weight < 2^64, so T is off by less than 2^90 units of the last of
 * count + GUARD words, far below one unit of word `count`, where it is cut off.
 */
#include "noise.h"
#include "noise_table.h"

#include <string.h>

enum {
    GUARD = 4,
    MOST = 64, /* words; undecided after 2048 bits with probability 2^-2046 */
    ROOM = MOST + GUARD,
    SQUARES = 22, /* 2^22 x = (size / sigma)^2 / 2, as 2048^2 = 2^22 */
};

/* product = a b, cut off after n words. */
static void multiply(int n, const uint32_t *a, const uint32_t *b,
                     uint32_t *product)
{
    uint32_t full[2 * ROOM] = {0};
    for (int i = n - 1; i >= 0; i--) {
        uint64_t carry = 0;
        for (int j = n - 1; j >= 0; j--) {
            carry += (uint64_t)a[i] * b[j] + full[i + j + 1];
            full[i + j + 1] = (uint32_t)carry;
            carry >>= 32;
        }
        full[i] = (uint32_t)carry;
    }
    memcpy(product, full, (size_t)n * sizeof *product);
}

/* a /= divisor, with what stands before the point in `whole`. */
static void divide(int n, uint64_t whole, uint64_t divisor, uint32_t *a)
{
    pri_wide rest = whole % divisor;
    for (int i = 0; i < n; i++) {
        rest = rest << 32 | a[i];
        a[i] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
}

/* a <- 1 - a, for a > 0: every bit inverted, plus one unit. */
static void complement(int n, uint32_t *a)
{
    uint64_t carry = 1;
    for (int i = n - 1; i >= 0; i--) {
        carry += (uint32_t)~a[i];
        a[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static void halve(int n, uint32_t *a)
{
    for (int i = n - 1; i >= 0; i--)
        a[i] = a[i] >> 1 | (i > 0 ? a[i - 1] << 31 : 0);
}

static bool is_zero(int n, const uint32_t *a)
{
    for (int i = 0; i < n; i++)
        if (a[i] != 0)
            return false;
    return true;
}

/* z = exp(-x) for 0 < x < 1/2. Seven terms a word are enough: after m = 7 n
 * terms the rest is below 2^-m / m! < 2^-(32 n) for all n >= 5. */
static void exponential(int n, const uint32_t *x, uint32_t *z)
{
    uint32_t q[ROOM];
    memcpy(q, x, (size_t)n * sizeof *q);
    divide(n, 0, (uint64_t)(7 * n), q);
    for (int term = 7 * n - 1; term >= 1; term--) {
        if (!is_zero(n, q))
            complement(n, q);
        else
            memset(q, 0xff, (size_t)n * sizeof *q);
        multiply(n, x, q, q);
        divide(n, 0, (uint64_t)term, q);
    }
    memcpy(z, q, (size_t)n * sizeof *z);
    if (!is_zero(n, z))
        complement(n, z);
    else
        memset(z, 0xff, (size_t)n * sizeof *z);
}

/* a <- scale a / weight, where the result is below 1. Rounding may lift it to
 * 1; the largest number below stands for that. */
static void rescale(int n, uint64_t scale, uint64_t weight, uint32_t *a)
{
    pri_wide carry = 0;
    for (int i = n - 1; i >= 0; i--) {
        carry += (pri_wide)a[i] * scale;
        a[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if ((uint64_t)carry >= weight)
        memset(a, 0xff, (size_t)n * sizeof *a);
    else
        divide(n, (uint64_t)carry, weight, a);
}

void pri_noise_exponential(uint64_t scale, uint64_t weight, uint64_t size,
                           uint64_t sigma, int fraction, int count,
                           uint32_t *words)
{
    int n = count + GUARD;
    uint32_t x[ROOM] = {0}, z[ROOM];
    pri_wide rest = (pri_wide)size << fraction;
    pri_wide divisor = (pri_wide)sigma * PRI_NOISE_REACH;
    for (int i = 0; i < n; i++) {
        rest <<= 32;
        x[i] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
    multiply(n, x, x, x);
    halve(n, x);
    exponential(n, x, z);
    for (int k = 0; k < SQUARES; k++)
        multiply(n, z, z, z);
    rescale(n, scale, weight, z);
    memcpy(words, z, (size_t)count * sizeof *words);
}

uint64_t pri_noise_weight(uint32_t strip)
{
    if (strip >= PRI_NOISE_LISTED)
        return 1;
    return pri_noise_start[strip + 1] - pri_noise_start[strip];
}

/* The coin lies less than one unit above `coin`, the threshold between one
 * below and two above `threshold`: a gap of 2 units settles it. */
static enum pri_verdict compare(int n, const uint32_t *coin,
                                const uint32_t *threshold)
{
    uint32_t gap[MOST];
    int first = 0;
    while (first < n - 1 && coin[first] == threshold[first])
        first++;
    bool below = coin[first] < threshold[first];
    const uint32_t *large = below ? threshold : coin;
    const uint32_t *small = below ? coin : threshold;
    int64_t borrow = 0;
    for (int i = n - 1; i >= 0; i--) {
        borrow += (int64_t)large[i] - small[i];
        gap[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    if (is_zero(n - 1, gap) && gap[n - 1] < 2)
        return PRI_UNSURE;
    return below ? PRI_ACCEPT : PRI_REJECT;
}

bool pri_noise_decide(const struct pri_noise *noise,
                      const struct pri_candidate *candidate, uint64_t coin,
                      struct pricer_random *random)
{
    uint32_t bits[MOST], threshold[MOST];
    uint64_t weight = pri_noise_weight(candidate->strip);
    int known = 2;
    if (candidate->size == 0)
        return true;
    bits[0] = (uint32_t)(coin >> 32);
    bits[1] = ((uint32_t)coin & ~1u) | (uint32_t)(pri_random_word(random) & 1);
    for (int n = 8; n <= MOST; n *= 2) {
        while (known < n) {
            uint64_t word = pri_random_word(random);
            bits[known++] = (uint32_t)(word >> 32);
            bits[known++] = (uint32_t)word;
        }
        pri_noise_exponential(PRI_NOISE_SCALE, weight, candidate->size,
                              noise->sigma, noise->fraction, n, threshold);
        enum pri_verdict verdict = compare(n, bits, threshold);
        if (verdict != PRI_UNSURE)
            return verdict == PRI_ACCEPT;
    }
    return false;
}
