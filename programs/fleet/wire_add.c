/*
 * From the vector in a message to a sum that it has been added to, if it is what it
 * may be: one look at each value, where it lies in the frame.
 */
#include "wire.h"

#include <endian.h>
#include <string.h>

/* Compiled once per instruction set; the loader picks one. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif
#define INLINE static inline __attribute__((always_inline))

/* Four at once. */
typedef uint64_t words __attribute__((vector_size(32)));
typedef int64_t integers __attribute__((vector_size(32)));
typedef double numbers __attribute__((vector_size(32)));

/* What was seen of the values so far. */
struct look {
    words bad; /* its highest bits: one was too large, or a sum was */
    numbers squares;
};

INLINE words fill(uint64_t word)
{
    return (words){word, word, word, word};
}

INLINE words load(const uint8_t *values)
{
    words found;
    memcpy(&found, values, sizeof found);
    for (int k = 0; k < 4; k++)
        found[k] = le64toh(found[k]);
    return found;
}

/*
 * As floating point, rounded to nearest: the lower half as the last bits of 2^52,
 * the upper half, above 2^31 where it is not negative, as the last of 2^84. All is
 * exact but the last addition.
 */
INLINE numbers convert(words value)
{
    words low = (value & UINT64_C(0xffffffff)) | UINT64_C(0x4330000000000000);
    words high = value >> 32 ^ UINT64_C(0x4530000080000000);
    return (numbers)high - (0x1p84 + 0x1p63 + 0x1p52) + (numbers)low;
}

INLINE void look_at(struct look *look, words value, words sum, words limit)
{
    words total = sum + value;
    look->bad |= (sum ^ total) & (value ^ total);
    look->bad |= (words)((integers)value > (integers)limit) |
                 (words)((integers)value < -(integers)limit);
    numbers number = convert(value);
    look->squares += number * number;
}

/* Add all values, or none of them if `sum` is NULL; true: each was within the
 * limit, and each sum can be. */
CLONES
static bool add(const uint8_t *values, int64_t count, int64_t limit,
                int64_t *sum, double *square)
{
    enum { WAYS = 2 };
    struct look look[WAYS] = {{fill(0), {0}}, {fill(0), {0}}};
    const words most = fill((uint64_t)limit);
    int64_t k = 0;
    for (; k + 4 * WAYS <= count; k += 4 * WAYS)
        for (int way = 0; way < WAYS; way++) {
            int64_t at = k + 4 * way;
            words value = load(values + 8 * at), before = fill(0);
            if (sum != NULL)
                memcpy(&before, sum + at, sizeof before);
            look_at(&look[way], value, before, most);
            before += value;
            if (sum != NULL)
                memcpy(sum + at, &before, sizeof before);
        }
    for (; k < count; k++) {
        words value = fill(0), before = fill(0);
        value[0] = (uint64_t)wire_integer(values, k);
        before[0] = sum != NULL ? (uint64_t)sum[k] : 0;
        look_at(&look[0], value, before, most);
        if (sum != NULL)
            sum[k] = (int64_t)(before[0] + value[0]);
    }
    words bad = look[0].bad | look[1].bad;
    numbers squares = look[0].squares + look[1].squares;
    *square = squares[0] + squares[1] + squares[2] + squares[3];
    return (bad[0] | bad[1] | bad[2] | bad[3]) >> 63 == 0;
}

/*
 * Sums of 64 bits that wrap around lose nothing: what should not have been added
 * is taken off again. Squares are rounded to nearest, up or down by count + 2 units
 * at most in whatever order, for which an honest message is not blamed.
 */
bool wire_add_within(const uint8_t *values, int64_t count, int64_t limit,
                     double length, int64_t *sum)
{
    double square;
    if (add(values, count, limit, sum, &square) &&
        square <= length * length * (1 + ((double)count + 4) * 0x1p-52))
        return true;
    for (int64_t k = 0; k < count && sum != NULL; k++)
        sum[k] =
            (int64_t)((uint64_t)sum[k] - (uint64_t)wire_integer(values, k));
    return false;
}
