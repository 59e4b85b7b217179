/*
 * From random bits to samples of noise at first sight, four at a time where the
 * processor has AVX2: every line of draw_first() (noise.c), in the same order.
 */
#include "noise_sight.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

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
                                        struct pri_block *block,
                                        int64_t *values)
{
    const four one = _mm256_set1_epi64x(1), all = _mm256_set1_epi64x(-1);
    const four first_ratio = _mm256_set1_epi64x(33);
    const four coin_end = _mm256_set1_epi64x((1 << PRI_COIN) - 2);
    four head = widen(block->heads + k), word = load(block->words + k);
    four strip = load(block->strips + k), low;
    four size =
        _mm256_add_epi64(load(block->first + k), multiply(word, width, &low));
    four ratio = _mm256_add_epi64(_mm256_srli_epi64(word, 40), first_ratio);
    four a = _mm256_srli_epi64(
        _mm256_mul_epu32(ratio,
                         _mm256_add_epi64(_mm256_slli_epi64(strip, 25), ratio)),
        57 - PRI_COIN);
    four coin = _mm256_and_si256(head, _mm256_set1_epi64x((1 << PRI_COIN) - 1));
    four bad = _mm256_or_si256(
        _mm256_or_si256(
            _mm256_cmpeq_epi64(strip, _mm256_set1_epi64x(PRI_NOISE_MIXED)),
            is_below(low, _mm256_set1_epi64x((int64_t)width))),
        _mm256_or_si256(_mm256_cmpgt_epi64(ratio, _mm256_set1_epi64x(1 << 24)),
                        _mm256_cmpeq_epi64(size, _mm256_setzero_si256())));
    four good = _mm256_andnot_si256(
        bad, _mm256_cmpgt_epi64(coin_end, _mm256_add_epi64(coin, a)));
    four sign = _mm256_sub_epi64(
        _mm256_setzero_si256(),
        _mm256_and_si256(_mm256_srli_epi64(head, PRI_COIN), one));
    four sample = _mm256_and_si256(
        _mm256_sub_epi64(_mm256_xor_si256(size, sign), sign), good);
    _mm256_storeu_si256(
        (four *)(values + k),
        _mm256_add_epi64(load((const uint64_t *)values + k), sample));
    unsigned left = (unsigned)_mm256_movemask_pd(
        _mm256_castsi256_pd(_mm256_xor_si256(good, all)));
    block->left |= (uint64_t)left << k;
}

WIDE_TARGET static int see_all(uint64_t width, const struct pri_strips *strips,
                               int count, struct pri_block *block,
                               int64_t *values)
{
    int seen = count - count % 4;
    for (int k = 0; k < seen; k++) {
        block->strips[k] = pri_noise_cell[pri_cell_of(block->heads[k])];
        block->first[k] = strips->first[block->strips[k]];
    }
    for (int k = 0; k < seen; k += 4)
        see_four(width, k, block, values);
    return seen;
}

int pri_noise_see_four(uint64_t width, const struct pri_strips *strips,
                       int count, struct pri_block *block, int64_t *values)
{
    return __builtin_cpu_supports("avx2")
               ? see_all(width, strips, count, block, values)
               : 0;
}

#else

int pri_noise_see_four(uint64_t width, const struct pri_strips *strips,
                       int count, struct pri_block *block, int64_t *values)
{
    (void)width, (void)strips, (void)count, (void)block, (void)values;
    return 0;
}

#endif
