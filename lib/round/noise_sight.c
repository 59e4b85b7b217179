/*
 * From random words to samples of noise at first sight: pri_noise_look() of every
 * word, four at a time where the processor has AVX2, to the same bits.
 */
#include "noise_sight.h"

/* Samples `from` to count - 1, one by one, without a branch. */
static inline uint64_t see_each(const struct pri_first_sight *sight, int from,
                                int count, const uint64_t *words,
                                int64_t *values)
{
    uint64_t left = 0;
    for (int k = from; k < count; k++) {
        uint64_t size, sign = -(uint64_t)pri_is_negative(words[k]);
        struct pri_strip strip =
            sight->strips[pri_noise_cell[pri_cell_of(words[k])]];
        bool good = pri_noise_look(sight, strip, words[k], &size) == PRI_ACCEPT;
        values[k] += (int64_t)(((size ^ sign) - sign) & -(uint64_t)good);
        left |= (uint64_t)!good << k;
    }
    return left;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define WIDE_TARGET __attribute__((target("avx2")))
typedef __m256i four;

WIDE_TARGET static inline four fill(uint64_t value)
{
    return _mm256_set1_epi64x((int64_t)value);
}

/* The second where the top bit of `which` is set, else the first. */
WIDE_TARGET static inline four choose(four one, four two, four which)
{
    return _mm256_castpd_si256(_mm256_blendv_pd(_mm256_castsi256_pd(one),
                                                _mm256_castsi256_pd(two),
                                                _mm256_castsi256_pd(which)));
}

/* Two strips side by side. */
WIDE_TARGET static inline four find_two(const struct pri_first_sight *sight,
                                        uint64_t one, uint64_t two)
{
    const struct pri_strip *low =
        &sight->strips[pri_noise_cell[pri_cell_of(one)]];
    const struct pri_strip *high =
        &sight->strips[pri_noise_cell[pri_cell_of(two)]];
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low)),
        _mm_loadu_si128((const __m128i *)high), 1);
}

/* What is the same for all samples, kept where no value can be a part of it. */
struct same {
    four width, width_high, coin_end, ratio_end, coin_mask, more;
};

WIDE_TARGET static inline struct same spread_out(
    const struct pri_first_sight *sight)
{
    const uint64_t one = UINT64_C(1) << PRI_COIN;
    return (struct same){fill(sight->width),
                         fill(sight->width >> 32),
                         fill(one - sight->spread),
                         fill(UINT64_C(1) << 24),
                         fill(one - 1),
                         fill(33)};
}

/*
 * Every line of pri_noise_look() up to where it accepts. The product of 51 and at most
 * 47 bits is made of four; those of the middle stay below 2^53. All that is multiplied
 * for `a` is below 2^32. Of what is compared the difference is negative where it is
 * not good: `bad` has the top bit then.
 */
WIDE_TARGET static inline unsigned see_four(const struct pri_first_sight *sight,
                                            const struct same *same,
                                            const uint64_t *words,
                                            int64_t *values)
{
    const four zero = _mm256_setzero_si256();
    four word = _mm256_loadu_si256((const four *)words);
    four even = find_two(sight, words[0], words[2]);
    four odd = find_two(sight, words[1], words[3]);
    four first = _mm256_unpacklo_epi64(even, odd);
    four steep = _mm256_unpackhi_epi64(even, odd);
    four place = _mm256_slli_epi64(word, 64 - PRI_PLACE);
    four high = _mm256_srli_epi64(place, 96 - PRI_PLACE);
    four ratio = _mm256_add_epi64(_mm256_srli_epi64(place, 40), same->more);
    four middle = _mm256_add_epi64(
        _mm256_add_epi64(_mm256_mul_epu32(high, same->width),
                         _mm256_mul_epu32(word, same->width_high)),
        _mm256_srli_epi64(_mm256_mul_epu32(word, same->width), 32));
    four top = _mm256_slli_epi64(_mm256_mul_epu32(high, same->width_high),
                                 64 - PRI_PLACE);
    four size = _mm256_add_epi64(
        first, _mm256_add_epi64(top, _mm256_srli_epi64(middle, PRI_COIN)));
    four a = _mm256_srli_epi64(
        _mm256_mul_epu32(ratio, _mm256_add_epi64(steep, ratio)), 57 - PRI_COIN);
    four coin = _mm256_add_epi64(_mm256_and_si256(middle, same->coin_mask), a);
    four bad = _mm256_or_si256(
        _mm256_or_si256(_mm256_sub_epi64(same->coin_end, coin),
                        _mm256_sub_epi64(same->ratio_end, ratio)),
        _mm256_add_epi64(size, _mm256_cmpeq_epi64(zero, zero)));
    four old = _mm256_loadu_si256((const four *)values);
    four sum = choose(_mm256_add_epi64(old, size), _mm256_sub_epi64(old, size),
                      _mm256_slli_epi64(word, 63 - PRI_PLACE));
    _mm256_storeu_si256((four *)values, choose(sum, old, bad));
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(bad));
}

WIDE_TARGET static uint64_t see_fours(const struct pri_first_sight *sight,
                                      int seen, const uint64_t *words,
                                      int64_t *values)
{
    const struct same same = spread_out(sight);
    uint64_t left = 0;
    for (int k = 0; k < seen; k += 4)
        left |= (uint64_t)see_four(sight, &same, words + k, values + k) << k;
    return left;
}

uint64_t pri_noise_see(const struct pri_first_sight *sight, bool wide,
                       int count, const uint64_t *words, int64_t *values)
{
    bool can = wide && __builtin_cpu_supports("avx2");
    int seen = can ? count - count % 4 : 0;
    uint64_t left = can ? see_fours(sight, seen, words, values) : 0;
    return left | see_each(sight, seen, count, words, values);
}

#else

uint64_t pri_noise_see(const struct pri_first_sight *sight, bool wide,
                       int count, const uint64_t *words, int64_t *values)
{
    (void)wide;
    return see_each(sight, 0, count, words, values);
}

#endif
