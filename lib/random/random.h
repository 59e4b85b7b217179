/*
 * Threefry-4x64-20 on eight counters at once.
 *
 * A lane is one 64-bit word; eight of them lie in two vectors of four, which
 * the compiler translates to whatever the processor has: the two halves also
 * give it independent work to overlap. Additions, rotations and exclusive ors
 * of 64-bit words are the same on every machine, so the numbers are too. The
 * rotations and the parity constant are Random123's, and a test compares each
 * lane with Random123's own function.
 *
 * Functions that use this carry PRI_CLONES: they are compiled once per
 * instruction set and the loader picks one. Only integers and element-wise
 * double operations in fixed order happen there, hence the results do not
 * depend on the pick. They must be static, or the clones would be exported.
 */
#ifndef PRICER_RANDOM_H
#define PRICER_RANDOM_H

#include "base/base.h"

#include <Random123/threefry.h>
#include <string.h>

#if defined(PRI_CLONES) /* a build may choose: -DPRI_CLONES= for none */
#elif defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
/* x86-64-v4 is AVX-512: its rotations are one instruction instead of three. */
#if __GNUC__ >= 12
#define PRI_CLONES                                                             \
    __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define PRI_CLONES __attribute__((target_clones("avx2", "default")))
#endif
#else
#define PRI_CLONES
#endif
#define PRI_INLINE static inline __attribute__((always_inline))

enum { PRI_LANES = 8 };

typedef uint64_t pri_half __attribute__((vector_size(32)));

/* Eight lanes. */
struct pri_lanes {
    pri_half half[2];
};

/* The key with its parity word, as every block needs it. */
struct pri_threefry_key {
    uint64_t word[5];
};

PRI_INLINE struct pri_threefry_key pri_threefry_key(uint64_t a, uint64_t b,
                                                    uint64_t c, uint64_t d)
{
    return (struct pri_threefry_key){
        {a, b, c, d, a ^ b ^ c ^ d ^ UINT64_C(0x1bd11bdaa9fc1a22)}};
}

/* All eight lanes the same word. */
PRI_INLINE struct pri_lanes pri_lanes_fill(uint64_t word)
{
    pri_half half = {word, word, word, word};
    return (struct pri_lanes){{half, half}};
}

/* first, first + 1, ... first + 7. */
PRI_INLINE struct pri_lanes pri_lanes_count(uint64_t first)
{
    pri_half low = {0, 1, 2, 3}, high = {4, 5, 6, 7};
    return (struct pri_lanes){{low + first, high + first}};
}

/* Rotate each word to the left. By 32 it is an exchange of halves, which is one
 * instruction; r is a constant. */
PRI_INLINE pri_half pri_rotate(pri_half x, int r)
{
    typedef uint32_t narrow __attribute__((vector_size(32)));
    if (r == 32)
        return (pri_half)__builtin_shufflevector((narrow)x, (narrow)x, 1, 0, 3,
                                                 2, 5, 4, 7, 6);
    return x << r | x >> (64 - r);
}

/* Two of the four words mixed into the other two. */
#define PRI_MIX(a, b, c, d, r, q)                                              \
    for (int h = 0; h < 2; h++) {                                              \
        (a)->half[h] += (b)->half[h];                                          \
        (b)->half[h] = pri_rotate((b)->half[h], r) ^ (a)->half[h];             \
        (c)->half[h] += (d)->half[h];                                          \
        (d)->half[h] = pri_rotate((d)->half[h], q) ^ (c)->half[h];             \
    }

/* Add the key, rotated by `step` words, and the step to the last word. */
PRI_INLINE void pri_threefry_add(const struct pri_threefry_key *key,
                                 uint64_t step, struct pri_lanes x[4])
{
    for (int w = 0; w < 4; w++)
        for (int h = 0; h < 2; h++)
            x[w].half[h] += key->word[(step + (uint64_t)w) % 5];
    for (int h = 0; h < 2; h++)
        x[3].half[h] += step;
}

/* From eight counters of four words each to 32 random words, in place. */
PRI_INLINE void pri_threefry(const struct pri_threefry_key *key,
                             struct pri_lanes x[4])
{
    struct pri_lanes *a = &x[0], *b = &x[1], *c = &x[2], *d = &x[3];
    pri_threefry_add(key, 0, x);
#pragma GCC unroll 5
    for (uint64_t step = 1; step <= 5; step++) {
        if (step % 2 == 1) {
            PRI_MIX(a, b, c, d, R_64x4_0_0, R_64x4_0_1)
            PRI_MIX(a, d, c, b, R_64x4_1_0, R_64x4_1_1)
            PRI_MIX(a, b, c, d, R_64x4_2_0, R_64x4_2_1)
            PRI_MIX(a, d, c, b, R_64x4_3_0, R_64x4_3_1)
        } else {
            PRI_MIX(a, b, c, d, R_64x4_4_0, R_64x4_4_1)
            PRI_MIX(a, d, c, b, R_64x4_5_0, R_64x4_5_1)
            PRI_MIX(a, b, c, d, R_64x4_6_0, R_64x4_6_1)
            PRI_MIX(a, d, c, b, R_64x4_7_0, R_64x4_7_1)
        }
        pri_threefry_add(key, step, x);
    }
}

/* ---------------------------------------------------------------- stream -- */

void pri_random_refill(struct pricer_random *random);

/* The next 64 bits, inline because the noise needs three of them a sample. */
static inline uint64_t pri_random_word(struct pricer_random *random)
{
    if (random->left == 0)
        pri_random_refill(random);
    return random->words[PRICER_RANDOM_WORDS - random->left--];
}

/* The next `count` of them. */
static inline void pri_random_words(struct pricer_random *random, int count,
                                    uint64_t *words)
{
    while (count > 0) {
        if (random->left == 0)
            pri_random_refill(random);
        int some = random->left < count ? (int)random->left : count;
        memcpy(words, random->words + PRICER_RANDOM_WORDS - random->left,
               (size_t)some * sizeof *words);
        random->left -= some;
        words += some;
        count -= some;
    }
}

/*
 * Many words, some at a time. A replayed stream's are the next ones; a secret
 * stream's come from AES-256 in counter mode under keys of that stream, each for
 * PRI_FLOW words at most and forgotten with the flow. `count` says about how many
 * it will be: for few a key is not worth its making.
 */
enum { PRI_MANY = 192, PRI_FLOW = 1 << 16 };

struct pri_flow {
    struct pricer_random *random;
    void *cipher; /* NULL: the next ones */
    int left;     /* words of the key */
};

void pri_flow_open(struct pri_flow *flow, struct pricer_random *random,
                   int64_t count);

/* At most PRI_FLOW of them. */
void pri_flow_words(struct pri_flow *flow, int count, uint64_t *words);

void pri_flow_close(struct pri_flow *flow);

#endif
