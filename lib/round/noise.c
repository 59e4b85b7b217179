/*
 * Discrete Gaussian noise: from random bits to integers y with
 *
 *     P(y) proportional to exp(-y^2 / (2 sigma^2)),   |y| < 2048 sigma.
 *
 * Claim. This law holds exactly, for sigma = noise->sigma / 2^fraction, but for
 * an event of probability below 2^-2000 a sample (noise_exact.c stops comparing
 * after 2048 bits). The cut at 2048 sigma leaves out exp(-2^21). No floating
 * point takes part. (The proof follows the idea of Canonne, Kamath and Steinke
 * 2020: only integers, and coins whose probability is a comparison of uniform
 * bits with a number known to as many bits as it takes.)
 *
 * Proof. Cut the half line into strips of width sigma / 16; strip k holds the
 * integers y with k sigma / 16 <= y < (k + 1) sigma / 16.
 *   1. Draw strip k with probability W_k / 2^64, where the integers
 *      W_k >= C exp(-k^2 / 512) are in noise_table.h (1 in the tail). What is
 *      left of the 2^64 values starts again.
 *   2. Draw one of `width` >= sigma / 16 places counted from the strip's first
 *      integer, each with the same probability; past the strip's end, start
 *      again. So every y in reach is the candidate with probability
 *      W_k / 2^64 / width, k being its strip.
 *   3. Accept with probability T = (C / W_k) exp(-y^2 / (2 sigma^2)) <= 1.
 * Hence y comes out with probability proportional to exp(-y^2 / (2 sigma^2)),
 * W_k and width having cancelled. A random sign, with -0 starting again,
 * spreads it over both sides.
 *
 * Step 3 first takes a glance in 64-bit arithmetic with an error bound, which
 * settles all but one in 10^7 cases, most by exp(-a) >= 1 - a; only what is
 * within the bound goes to noise_exact.c. 97 % of the candidates are accepted.
 *
 * Bits are drawn when they are needed, which changes no probability. For many
 * samples of a large sigma, step 1 draws the first 12 bits of its word: in all but 2 % of
 * the cases they decide the strip (noise_cells.h), otherwise the other 52 follow.
 * Step 3 draws the first 19 bits of its coin, and the others if those do not
 * accept. With the sign that is half a word, and a whole one for step 2.
 *
 * The number of words a sample takes depends on the sample. A node therefore
 * sends a message at a time that does not depend on when it was ready
 * (docs/protocol.md).
 */
#include "noise.h"
#include "noise_cells.h"
#include "noise_table.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

enum {
    GLANCED = 80,   /* strips beyond weigh less than 2^41; decided exactly */
    BLOCK = 64,     /* samples that are drawn together */
    COIN = 19,      /* bits of a coin that are drawn at first */
    WIDE = 1 << 20, /* integers of a strip from which on first sight sees */
};

enum pricer_status pri_noise_prepare(double sigma, struct pri_noise *noise,
                                     struct pricer_fault *fault)
{
    if (!(sigma >= 0 && sigma <= 0x1p50))
        return pri_fault(fault, PRICER_VALUE,
                         "a deviation of %g grid steps is outside [0, 2^50]",
                         sigma);
    struct pri_noise made = {0};
    if (sigma > 0) {
        int fraction = 52 - ilogb(fmax(sigma, 0x1p-4));
        made.fraction = fraction;
        made.sigma = (uint64_t)ceil(ldexp(sigma, fraction));
        int step = fraction + 4;
        made.width = (made.sigma + (UINT64_C(1) << step) - 1) >> step;
        made.shift = __builtin_clzll(made.sigma);
        made.inverse =
            (uint64_t)((((pri_wide)1 << 127) - 1) / (made.sigma << made.shift));
    }
    *noise = made;
    return PRICER_OK;
}

double pri_noise_sigma(const struct pri_noise *noise)
{
    return ldexp((double)noise->sigma, -noise->fraction);
}

/* The strip a random word falls into; PRI_NOISE_STRIPS: none. */
static inline uint32_t find_strip(uint64_t word)
{
    uint32_t strip = pri_noise_guide[word >> 56];
    while (strip < PRI_NOISE_LISTED && word >= pri_noise_start[strip + 1])
        strip++;
    if (strip < PRI_NOISE_LISTED)
        return strip;
    uint64_t further = word - pri_noise_start[PRI_NOISE_LISTED];
    return further < PRI_NOISE_STRIPS - PRI_NOISE_LISTED
               ? PRI_NOISE_LISTED + (uint32_t)further
               : PRI_NOISE_STRIPS;
}

/*
 * Uniform on 0 to width - 1: the high word of word * width; the low words below
 * 2^64 mod width are the surplus that would favour some values, so they are
 * drawn again.
 */
static inline uint64_t draw_place(uint64_t width, struct pricer_random *random)
{
    pri_wide product = (pri_wide)pri_random_word(random) * width;
    if ((uint64_t)product < width) {
        uint64_t surplus = -width % width;
        while ((uint64_t)product < surplus)
            product = (pri_wide)pri_random_word(random) * width;
    }
    return (uint64_t)(product >> 64);
}

static inline uint64_t high(uint64_t a, uint64_t b)
{
    return (uint64_t)((pri_wide)a * b >> 64);
}

/*
 * 1 - exp(-a) in units of 2^-64, for a in the same units below 0.34, off by at
 * most 4: Horner, q <- a (1 - q) / n, where each step halves the error at least
 * and adds at most 2; the first term left out is below 2^-69.
 */
static uint64_t one_minus_exponential(uint64_t a)
{
    uint64_t q = a / 15;
#pragma GCC unroll 14
    for (uint64_t n = 14; n >= 1; n--)
        q = (q == 0 ? a : high(a, -q)) / n;
    return q;
}

/*
 * With r = inside / sigma, the place in the strip, T = rho exp(-a) with
 *
 *     a   = r (2 strip + r) / 512,
 *     rho = C exp(-strip^2 / 512) / W,   1 - 2^-41 <= rho <= 1.
 *
 * In units of 2^-64: `ratio` is at most r and less than 5 below; a is at least
 * `low` and less than 5 above it (5 (2 strip + 2) / 512 < 2, and three
 * cut-offs); 2^24 units cover rho and all the rest on one side, 2^10 on the
 * other. The coin's last bit is not used (it is the sign): 2 units. First come the
 * bounds 1 - a <= exp(-a) <= 1 - a + a^2 / 2, of which the second falls with a up to
 * 1, so that it holds with `low` for a.
 */
static inline enum pri_verdict glance(const struct pri_noise *noise,
                                      uint32_t strip, uint64_t inside,
                                      uint64_t coin)
{
    const uint64_t slack = UINT64_C(1) << 24;
    if (strip >= GLANCED)
        return PRI_UNSURE;
    uint64_t ratio = high(inside << noise->shift, noise->inverse) << 1;
    pri_wide twice = (pri_wide)ratio * (2 * strip);
    uint64_t low = (uint64_t)((twice + high(ratio, ratio)) >> 9);
    coin &= ~UINT64_C(1);
    if (coin < -(low + 2 * slack))
        return PRI_ACCEPT;
    uint64_t less = low - (high(low, low) >> 1);
    if (less >= 1024 && coin >= -(less - 1024))
        return PRI_REJECT;
    uint64_t q = one_minus_exponential(low);
    if (coin < -(q + slack))
        return PRI_ACCEPT;
    return q >= 1024 && coin >= -(q - 1024) ? PRI_REJECT : PRI_UNSURE;
}

enum pri_verdict pri_noise_glance(const struct pri_noise *noise,
                                  const struct pri_candidate *candidate,
                                  uint64_t coin)
{
    return glance(noise, candidate->strip, candidate->inside, coin);
}

/* The integer at a place of a strip; false: past its end. */
static inline bool find_candidate(const struct pri_noise *noise, uint32_t strip,
                                  uint64_t place,
                                  struct pri_candidate *candidate)
{
    int step = noise->fraction + 4;
    pri_wide edge = (pri_wide)noise->sigma * strip;
    uint64_t pad = -(uint64_t)edge & ((UINT64_C(1) << step) - 1);
    candidate->strip = strip;
    candidate->inside = pad + (place << step);
    candidate->size = (uint64_t)((edge + pad) >> step) + place;
    return strip < PRI_NOISE_STRIPS && candidate->inside < noise->sigma;
}

/* Step 3, and the sign; false: start again. */
static inline bool accept(const struct pri_noise *noise,
                          const struct pri_candidate *candidate, uint64_t coin,
                          bool negative, struct pricer_random *random)
{
    if (negative && candidate->size == 0)
        return false;
    enum pri_verdict verdict =
        glance(noise, candidate->strip, candidate->inside, coin);
    if (verdict == PRI_UNSURE)
        return pri_noise_decide(noise, candidate, coin, random);
    return verdict == PRI_ACCEPT;
}

static inline int64_t with_sign(uint64_t size, bool negative)
{
    return negative ? -(int64_t)size : (int64_t)size;
}

int64_t pri_noise_draw(const struct pri_noise *noise,
                       struct pricer_random *random)
{
    while (noise->sigma > 0) {
        struct pri_candidate candidate;
        uint32_t strip = find_strip(pri_random_word(random));
        uint64_t place = draw_place(noise->width, random);
        bool inside = find_candidate(noise, strip, place, &candidate);
        uint64_t coin = pri_random_word(random);
        bool negative = coin & 1;
        if (inside && accept(noise, &candidate, coin, negative, random))
            return with_sign(candidate.size, negative);
    }
    return 0;
}

/* ------------------------------------------------------------------ many -- */

/* The bits of half a word: where the strip is, the sign, and the coin's first. */
static inline uint32_t cell_of(uint32_t head)
{
    return head >> (COIN + 1);
}

static inline bool is_negative(uint32_t head)
{
    return head >> COIN & 1;
}

static inline uint32_t coin_of(uint32_t head)
{
    return head & ((1 << COIN) - 1);
}

/*
 * A sample from bits of which the first do not settle it: the others are drawn
 * now, and if it comes to starting again, that is from nothing.
 */
static int64_t draw_rest(const struct pri_noise *noise, uint32_t head,
                         uint64_t word, struct pricer_random *random)
{
    struct pri_candidate candidate;
    uint32_t strip = pri_noise_cell[cell_of(head)];
    if (strip == PRI_NOISE_MIXED)
        strip = find_strip((uint64_t)cell_of(head) << 52 |
                           pri_random_word(random) >> 12);
    pri_wide product = (pri_wide)word * noise->width;
    bool fair = (uint64_t)product >= noise->width ||
                (uint64_t)product >= -noise->width % noise->width;
    uint64_t coin = (uint64_t)coin_of(head) << (64 - COIN) |
                    pri_random_word(random) >> COIN;
    if (fair &&
        find_candidate(noise, strip, (uint64_t)(product >> 64), &candidate) &&
        accept(noise, &candidate, coin, is_negative(head), random))
        return with_sign(candidate.size, is_negative(head));
    return pri_noise_draw(noise, random);
}

/* Where the strips begin that 12 bits decide: the first integer of each. */
struct strips {
    uint64_t first[PRI_NOISE_MIXED + 1];
};

static void list_strips(const struct pri_noise *noise, struct strips *strips)
{
    for (uint32_t strip = 0; strip <= PRI_NOISE_MIXED; strip++) {
        struct pri_candidate candidate;
        find_candidate(noise, strip, 0, &candidate);
        strips->first[strip] = candidate.size;
    }
}

/*
 * Whether half a word and a word give a sample at first sight; `width` is above
 * WIDE. With a and r as in glance(), u = word / 2^64 and s = sigma / 16 in steps,
 * width - 1 < s <= width and the place is at most u width, so
 *
 *     r < (1 + u width) / s < u + 2 / (width - 1) <= u + 32 / 2^24.
 *
 * `ratio` is above r 2^24; where it is at most 2^24 the place is inside. a 2^19 is
 * less than the product shifted by 38 plus 1, one more unit covers rho, one more
 * the rest of the coin: so the coin is below 1 - a - 2^-41 <= T.
 */
static inline bool draw_first(uint64_t width, const struct strips *strips,
                              uint32_t head, uint64_t word, uint64_t *size)
{
    uint64_t strip = pri_noise_cell[cell_of(head)];
    pri_wide product = (pri_wide)word * width;
    uint64_t ratio = (word >> 40) + 33;
    uint64_t a = ratio * ((strip << 25) + ratio) >> (57 - COIN);
    *size = strips->first[strip] + (uint64_t)(product >> 64);
    return (strip != PRI_NOISE_MIXED) & ((uint64_t)product >= width) &
           (ratio <= UINT64_C(1) << 24) & (*size != 0) &
           (coin_of(head) + a + 3 <= UINT64_C(1) << COIN);
}

/* What a block of samples is drawn from, and which of them first sight leaves. */
struct block {
    uint64_t words[BLOCK + BLOCK / 2]; /* of step 2, then the halves */
    uint32_t heads[BLOCK];
    uint64_t strips[BLOCK], first[BLOCK];
    uint64_t left; /* a bit each */
};

/* First sight of samples `from` to count - 1, one by one. */
static inline void see_each(uint64_t width, const struct strips *strips,
                            int from, int count, struct block *block,
                            int64_t *values)
{
    for (int k = from; k < count; k++) {
        uint64_t size, sign = -(uint64_t)is_negative(block->heads[k]);
        bool good =
            draw_first(width, strips, block->heads[k], block->words[k], &size);
        values[k] += (int64_t)(((size ^ sign) - sign) & -(uint64_t)good);
        block->left |= (uint64_t)!good << k;
    }
}

#if defined(__x86_64__) && defined(__GNUC__)
#define WIDE_TARGET __attribute__((target("avx2")))
typedef __m256i four;

/* Four 64-bit numbers from four of 32. */
WIDE_TARGET static inline four widen(const uint32_t *from)
{
    return _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)from));
}

WIDE_TARGET static inline four load(const uint64_t *from)
{
    return _mm256_loadu_si256((const four *)from);
}

/* a < b, unsigned, all bits of a lane or none. */
WIDE_TARGET static inline four is_below(four a, four b)
{
    const four top = _mm256_set1_epi64x(INT64_MIN);
    return _mm256_cmpgt_epi64(_mm256_xor_si256(b, top),
                              _mm256_xor_si256(a, top));
}

/* Both halves of the products of 128 bits, from those of the halves. */
WIDE_TARGET static inline four multiply(four a, uint64_t width, four *low)
{
    const four mask = _mm256_set1_epi64x(UINT32_MAX);
    const four b = _mm256_set1_epi64x((int64_t)width);
    const four b_high = _mm256_srli_epi64(b, 32);
    four a_high = _mm256_srli_epi64(a, 32);
    four bottom = _mm256_mul_epu32(a, b), cross = _mm256_mul_epu32(a, b_high);
    four middle =
        _mm256_add_epi64(_mm256_mul_epu32(a_high, b),
                         _mm256_add_epi64(_mm256_srli_epi64(bottom, 32),
                                          _mm256_and_si256(cross, mask)));
    *low = _mm256_or_si256(_mm256_slli_epi64(middle, 32),
                           _mm256_and_si256(bottom, mask));
    return _mm256_add_epi64(_mm256_mul_epu32(a_high, b_high),
                            _mm256_add_epi64(_mm256_srli_epi64(cross, 32),
                                             _mm256_srli_epi64(middle, 32)));
}

/* draw_first() of four samples: every line of it, in the same order. All that is
 * multiplied for `a` is below 2^32: strips are at most 63. */
WIDE_TARGET static inline void see_four(uint64_t width, int k,
                                        struct block *block, int64_t *values)
{
    const four one = _mm256_set1_epi64x(1), all = _mm256_set1_epi64x(-1);
    const four first_ratio = _mm256_set1_epi64x(33);
    const four coin_end = _mm256_set1_epi64x((1 << COIN) - 2);
    four head = widen(block->heads + k), word = load(block->words + k);
    four strip = load(block->strips + k), low;
    four size =
        _mm256_add_epi64(load(block->first + k), multiply(word, width, &low));
    four ratio = _mm256_add_epi64(_mm256_srli_epi64(word, 40), first_ratio);
    four a = _mm256_srli_epi64(
        _mm256_mul_epu32(ratio,
                         _mm256_add_epi64(_mm256_slli_epi64(strip, 25), ratio)),
        57 - COIN);
    four coin = _mm256_and_si256(head, _mm256_set1_epi64x((1 << COIN) - 1));
    four bad = _mm256_or_si256(
        _mm256_or_si256(
            _mm256_cmpeq_epi64(strip, _mm256_set1_epi64x(PRI_NOISE_MIXED)),
            is_below(low, _mm256_set1_epi64x((int64_t)width))),
        _mm256_or_si256(_mm256_cmpgt_epi64(ratio, _mm256_set1_epi64x(1 << 24)),
                        _mm256_cmpeq_epi64(size, _mm256_setzero_si256())));
    four good = _mm256_andnot_si256(
        bad, _mm256_cmpgt_epi64(coin_end, _mm256_add_epi64(coin, a)));
    four sign =
        _mm256_sub_epi64(_mm256_setzero_si256(),
                         _mm256_and_si256(_mm256_srli_epi64(head, COIN), one));
    four sample = _mm256_and_si256(
        _mm256_sub_epi64(_mm256_xor_si256(size, sign), sign), good);
    _mm256_storeu_si256(
        (four *)(values + k),
        _mm256_add_epi64(load((const uint64_t *)values + k), sample));
    unsigned left = (unsigned)_mm256_movemask_pd(
        _mm256_castsi256_pd(_mm256_xor_si256(good, all)));
    block->left |= (uint64_t)left << k;
}

WIDE_TARGET static void see_wide(uint64_t width, const struct strips *strips,
                                 int count, struct block *block,
                                 int64_t *values)
{
    int k = 0;
    for (int j = 0; j < count; j++) {
        block->strips[j] = pri_noise_cell[cell_of(block->heads[j])];
        block->first[j] = strips->first[block->strips[j]];
    }
    for (; k + 4 <= count; k += 4)
        see_four(width, k, block, values);
    see_each(width, strips, k, count, block, values);
}

static bool is_wide(void)
{
    return __builtin_cpu_supports("avx2");
}
#else
static void see_wide(uint64_t width, const struct strips *strips, int count,
                     struct block *block, int64_t *values)
{
    see_each(width, strips, 0, count, block, values);
}

static bool is_wide(void)
{
    return false;
}
#endif

/* No branch depends on a sample but for those few that first sight leaves. */
static void add_block(const struct pri_noise *noise,
                      const struct strips *strips, bool wide,
                      struct pricer_random *random, int count,
                      struct block *block, int64_t *values)
{
    block->left = 0;
    pri_random_words(random, count + (count + 1) / 2, block->words);
    for (int k = 0; k < (count + 1) / 2; k++) {
        block->heads[2 * k] = (uint32_t)block->words[count + k];
        block->heads[2 * k + 1] = (uint32_t)(block->words[count + k] >> 32);
    }
    if (wide)
        see_wide(noise->width, strips, count, block, values);
    else
        see_each(noise->width, strips, 0, count, block, values);
    for (uint64_t left = block->left; left != 0; left &= left - 1) {
        int k = __builtin_ctzll(left);
        values[k] += draw_rest(noise, block->heads[k], block->words[k], random);
    }
}

/* Few samples, or strips of few integers, one by one. */
static void add(const struct pri_noise *noise, struct pricer_random *random,
                int64_t count, bool wide, int64_t *values)
{
    const struct pri_noise own = *noise; /* which no value can be a part of */
    struct strips strips;
    struct block block;
    bool many = count >= BLOCK && own.width > WIDE;
    if (own.sigma == 0)
        return;
    for (int64_t k = 0; k < count && !many; k++)
        values[k] += pri_noise_draw(&own, random);
    if (!many)
        return;
    list_strips(&own, &strips);
    for (int64_t k = 0; k < count; k += BLOCK)
        add_block(&own, &strips, wide, random,
                  (int)(count - k < BLOCK ? count - k : BLOCK), &block,
                  values + k);
    explicit_bzero(&block, sizeof block);
}

void pri_noise_add(const struct pri_noise *noise, struct pricer_random *random,
                   int64_t count, int64_t *values)
{
    add(noise, random, count, is_wide(), values);
}

void pri_noise_add_plain(const struct pri_noise *noise,
                         struct pricer_random *random, int64_t count,
                         int64_t *values)
{
    add(noise, random, count, false, values);
}
