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
 * Bits are drawn when they are needed, which changes no probability. Many samples of
 * a large sigma take a word each, and more where that does not settle it:
 *   - Step 1's word has its first 13 bits from there. In all but 1 % of the cases they
 *     decide the strip (noise_cells.h), otherwise the other 51 are drawn.
 *   - One bit is the sign.
 *   - The last 50 are the first bits of a real number u, uniform on [0, 1). As width is
 *     an integer, floor(u width) and frac(u width) are independent, the one with equal
 *     probabilities, the other uniform: step 2's place, and the first 16 bits of step
 *     3's coin. The others of the coin are drawn, and what else of u is known is
 *     forgotten: given those 16 it is of no account.
 * noise_sight.h says what the word alone settles. Where that is not all,
 * floor(u width 2^16), which is the place and the 16 bits, is found by drawing as many
 * bits of u as it takes.
 *
 * The number of words a sample takes depends on the sample. A node therefore
 * sends a message at a time that does not depend on when it was ready
 * (docs/protocol.md).
 */
#include "noise.h"
#include "noise_sight.h"
#include "noise_table.h"

#include <math.h>
#include <string.h>

enum {
    GLANCED = 80,   /* strips beyond weigh less than 2^41; decided exactly */
    BATCH = 1024,   /* samples whose words are drawn together */
    SPARE = 16,     /* and a word for one in so many that start again */
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

/* Whether u size >= gap, for u uniform on [0, 1) and gap at most `size`, which is at
 * most 2^63: as many bits of u as it takes. What is left of u after a word is uniform
 * again, and has to bring what is left of the gap in units of 2^-64. */
static bool passes(uint64_t size, uint64_t gap, struct pricer_random *random)
{
    for (;;) {
        pri_wide part = (pri_wide)pri_random_word(random) * size;
        pri_wide wanted = (pri_wide)gap << 64;
        if (part >= wanted)
            return true;
        if (wanted - part >= size)
            return false;
        gap = (uint64_t)(wanted - part);
    }
}

/* With 64 bits more it is known but for what the rest of u can add, which is less
 * than `size` in units of 2^-114. */
uint64_t pri_noise_scale(uint64_t word, uint64_t size,
                         struct pricer_random *random)
{
    const int after = PRI_PLACE + 64;
    const pri_wide unit = (pri_wide)1 << after;
    pri_wide product = (pri_wide)pri_place_of(word) * size;
    pri_wide rest = ((pri_wide)pri_place_of((uint64_t)product) << 64) +
                    (pri_wide)pri_random_word(random) * size;
    pri_wide gap = unit - (rest & (unit - 1));
    bool one_more = gap < size && passes(size, (uint64_t)gap, random);
    return (uint64_t)(product >> PRI_PLACE) + (uint64_t)(rest >> after) +
           one_more;
}

static struct pri_strip find_start(const struct pri_noise *noise,
                                   uint32_t strip)
{
    struct pri_candidate candidate;
    find_candidate(noise, strip, 0, &candidate);
    return (struct pri_strip){candidate.size, (uint64_t)strip << 25};
}

void pri_noise_sight(const struct pri_noise *noise,
                     struct pri_first_sight *sight)
{
    sight->width = noise->width;
    sight->spread = (noise->width + UINT32_MAX) / (UINT64_C(1) << 32) + 7;
    for (uint32_t strip = 0; strip < PRI_NOISE_MIXED; strip++)
        sight->strips[strip] = find_start(noise, strip);
    sight->strips[PRI_NOISE_MIXED] =
        (struct pri_strip){(UINT64_C(1) << 63) + 1, 0};
}

/* Whether a word is refused beyond doubt, which most are that first sight leaves. */
static inline bool is_refused(const struct pri_first_sight *sight,
                              uint64_t word)
{
    uint32_t strip = pri_noise_cell[pri_cell_of(word)];
    uint64_t size;
    return strip != PRI_NOISE_MIXED &&
           pri_noise_look(sight, sight->strips[strip], word, &size) ==
               PRI_REJECT;
}

/* A sample that first sight does not settle: the bits that it needs are drawn now.
 * False: start again. */
static __attribute__((noinline)) bool draw_rest(
    const struct pri_noise *noise, const struct pri_first_sight *sight,
    uint64_t word, struct pricer_random *random, int64_t *value)
{
    struct pri_candidate candidate;
    enum pri_verdict verdict = PRI_UNSURE;
    bool negative = pri_is_negative(word);
    uint32_t strip = pri_noise_cell[pri_cell_of(word)];
    if (strip == PRI_NOISE_MIXED)
        strip =
            find_strip((uint64_t)pri_cell_of(word) << (64 - PRI_NOISE_BITS) |
                       pri_random_word(random) >> PRI_NOISE_BITS);
    if (strip < GLANCED)
        verdict =
            pri_noise_look(sight,
                           strip < PRI_NOISE_MIXED ? sight->strips[strip]
                                                   : find_start(noise, strip),
                           word, &candidate.size);
    if (verdict == PRI_UNSURE) {
        uint64_t both =
            pri_noise_scale(word, noise->width << PRI_KNOWN, random);
        uint64_t coin =
            both << (64 - PRI_KNOWN) | pri_random_word(random) >> PRI_KNOWN;
        if (find_candidate(noise, strip, both >> PRI_KNOWN, &candidate) &&
            accept(noise, &candidate, coin, negative, random))
            verdict = PRI_ACCEPT;
    }
    *value = with_sign(candidate.size, negative);
    return verdict == PRI_ACCEPT;
}

/* What samples are drawn from, by batches: secret, as they are. */
struct batch {
    uint64_t words[BATCH + BATCH / SPARE];
    int64_t fresh[BATCH / SPARE];
    int16_t again[BATCH], more[BATCH / SPARE];
};

/* What drawing needs beside them. */
struct draw {
    struct pri_noise noise;
    struct pri_first_sight sight;
    struct pricer_random *random;
    bool wide;
};

/* Samples of a word each; returns how many start again, and which. No branch depends
 * on a sample but for those few that first sight leaves. */
static int add_words(const struct draw *draw, int count, const uint64_t *words,
                     int64_t *values, int16_t *again)
{
    int found = 0;
    for (int from = 0; from < count; from += PRI_BLOCK) {
        int some = count - from < PRI_BLOCK ? count - from : PRI_BLOCK;
        uint64_t left = pri_noise_see(&draw->sight, draw->wide, some,
                                      words + from, values + from);
        for (; left != 0; left &= left - 1) {
            int k = from + __builtin_ctzll(left);
            int64_t value;
            if (!is_refused(&draw->sight, words[k]) &&
                draw_rest(&draw->noise, &draw->sight, words[k], draw->random,
                          &value))
                values[k] += value;
            else
                again[found++] = (int16_t)k;
        }
    }
    return found;
}

/* Those that start again have words that were drawn with the others; what is left
 * then is drawn one by one. */
static void add_batch(const struct draw *draw, struct pri_flow *flow, int count,
                      struct batch *batch, int64_t *values)
{
    int spare = count / SPARE;
    pri_flow_words(flow, count + spare, batch->words);
    int found = add_words(draw, count, batch->words, values, batch->again);
    int second = found < spare ? found : spare;
    memset(batch->fresh, 0, sizeof batch->fresh);
    int more = add_words(draw, second, batch->words + count, batch->fresh,
                         batch->more);
    for (int k = 0; k < second; k++)
        values[batch->again[k]] += batch->fresh[k];
    for (int k = 0; k < more; k++)
        values[batch->again[batch->more[k]]] +=
            pri_noise_draw(&draw->noise, draw->random);
    for (int k = second; k < found; k++)
        values[batch->again[k]] += pri_noise_draw(&draw->noise, draw->random);
}

static void add_many(const struct pri_noise *noise,
                     struct pricer_random *random, int64_t count, bool wide,
                     int64_t *values)
{
    struct draw draw = {.noise = *noise, .random = random, .wide = wide};
    struct pri_flow flow;
    struct batch batch;
    pri_noise_sight(noise, &draw.sight);
    pri_flow_open(&flow, random, count);
    for (int64_t k = 0; k < count; k += BATCH)
        add_batch(&draw, &flow, (int)(count - k < BATCH ? count - k : BATCH),
                  &batch, values + k);
    pri_flow_close(&flow);
    explicit_bzero(&batch, sizeof batch);
}

/* Few samples, or strips of few integers, one by one. */
static void add(const struct pri_noise *noise, struct pricer_random *random,
                int64_t count, bool wide, int64_t *values)
{
    const struct pri_noise own = *noise; /* which no value can be a part of */
    if (count >= PRI_BLOCK && own.width > WIDE)
        add_many(&own, random, count, wide, values);
    else if (own.sigma > 0)
        for (int64_t k = 0; k < count; k++)
            values[k] += pri_noise_draw(&own, random);
}

void pri_noise_add(const struct pri_noise *noise, struct pricer_random *random,
                   int64_t count, int64_t *values)
{
    add(noise, random, count, true, values);
}

void pri_noise_add_plain(const struct pri_noise *noise,
                         struct pricer_random *random, int64_t count,
                         int64_t *values)
{
    add(noise, random, count, false, values);
}
