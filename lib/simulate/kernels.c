/*
 * The arithmetic kernels of the fast engine, on 512 trials: from bits to
 * weights, and from weights to the square of a vector.
 *
 * The weight of a node is the sum of the weights of those of its links that
 * carry. The bits of up to eight links are transposed to a byte per trial, and
 * the byte looks the sum up in a table of (weight, variance) pairs of all
 * subsets: one load and one addition per eight links and trial.
 *
 * The vector sum_i (w_i - 1) f_i, f_i the rows of the data's factor, is a
 * product of matrices, taken in blocks of 4 columns by 8 trials that stay in
 * registers.
 *
 * Every sum is taken in a fixed order and without fused operations, so that the
 * result depends neither on threads nor on the machine.
 */
#include "kernels.h"
#include "random/random.h"

#include <string.h>

enum {
    BATCH = 4, /* groups that are looked up together */
    SPAN = 16, /* blocks of columns that stay in the cache while tiles pass */
};

typedef double four __attribute__((vector_size(32)));

/* ---------------------------------------------------------------- lookup -- */

/* The sums of all subsets of a group: those without the last member first,
 * then the same with it, two at a time. */
PRI_INLINE void fill_table(const struct pri_group *group, pri_two *table)
{
    table[0] = (pri_two){0, 0};
    if (group->size > 0)
        table[1] = table[0] + group->amount[0];
    for (int m = 1, filled = 2; m < group->size; m++, filled *= 2) {
        pri_two more = group->amount[m];
        four amount = {more[0], more[1], more[0], more[1]}, sums;
        for (int k = 0; k < filled; k += 2) {
            memcpy(&sums, &table[k], sizeof sums);
            sums += amount;
            memcpy(&table[filled + k], &sums, sizeof sums);
        }
    }
}

/* Exchange the high part of a, `shift` bits up, with the low part of b. */
#define EXCHANGE(a, b, shift, low)                                             \
    do {                                                                       \
        pri_half moved = (((a) >> (shift)) ^ (b)) & (low);                     \
        (b) ^= moved;                                                          \
        (a) ^= moved << (shift);                                               \
    } while (0)

/* Transpose the 8 x 8 bits of each word. */
PRI_INLINE pri_half transpose_bits(pri_half x)
{
    const uint64_t near = UINT64_C(0x00aa00aa00aa00aa);
    const uint64_t wide = UINT64_C(0x0000cccc0000cccc);
    const uint64_t far = UINT64_C(0x00000000f0f0f0f0);
    pri_half moved = (x ^ (x >> 7)) & near;
    x ^= moved ^ (moved << 7);
    moved = (x ^ (x >> 14)) & wide;
    x ^= moved ^ (moved << 14);
    moved = (x ^ (x >> 28)) & far;
    return x ^ moved ^ (moved << 28);
}

/*
 * Eight rows of 64 trials become 64 bytes of eight bits: exchange bytes between
 * the words, then bits within each. Four words of trials go side by side.
 */
PRI_INLINE void transpose_words(const struct pri_group *group, int half,
                                uint8_t *bytes)
{
    pri_half x[PRI_GROUP];
    for (int m = 0; m < PRI_GROUP; m++) {
        if (m < group->size)
            memcpy(&x[m], group->bits[m]->word + 4 * half, sizeof x[m]);
        else
            x[m] = (pri_half){0, 0, 0, 0};
    }
    for (int m = 0; m < 4; m++)
        EXCHANGE(x[m], x[m + 4], 32, UINT64_C(0x00000000ffffffff));
    for (int m = 0; m < 8; m += m % 4 == 1 ? 3 : 1)
        EXCHANGE(x[m], x[m + 2], 16, UINT64_C(0x0000ffff0000ffff));
    for (int m = 0; m < 8; m += 2)
        EXCHANGE(x[m], x[m + 1], 8, UINT64_C(0x00ff00ff00ff00ff));
    for (int m = 0; m < PRI_GROUP; m++) {
        pri_half transposed = transpose_bits(x[m]);
        for (int w = 0; w < 4; w++) {
            uint64_t word = transposed[w];
            memcpy(bytes + 64 * (4 * half + w) + 8 * m, &word, sizeof word);
        }
    }
}

/* The sums of a batch of groups for trial t, on top of what is carried. */
PRI_INLINE pri_two look_up(int groups, bool carried, const pri_two *tables,
                           const uint8_t *bytes, const pri_two *carry, int t)
{
    pri_two sum = tables[bytes[t]];
    for (int g = 1; g < groups; g++)
        sum += tables[256 * g + bytes[PRI_ROUNDS * g + t]];
    return carried ? carry[t] + sum : sum;
}

/* The last batch of a node: two trials at a time, because their weights and
 * their variances part here. */
PRI_INLINE void finish_node(int groups, bool carried, const pri_two *tables,
                            const uint8_t *bytes, const pri_two *carry,
                            int stride, double *excess, double *variance)
{
    const pri_two one = {1, 1};
    for (int tile = 0; tile < PRI_TILES; tile++)
        for (int k = 0; k < PRI_TILE; k += 2) {
            int t = tile * PRI_TILE + k;
            pri_two a = look_up(groups, carried, tables, bytes, carry, t);
            pri_two b = look_up(groups, carried, tables, bytes, carry, t + 1);
            pri_two weights = __builtin_shufflevector(a, b, 0, 2);
            pri_two noises = __builtin_shufflevector(a, b, 1, 3), before;
            memcpy(&before, variance + t, sizeof before);
            weights -= one;
            noises += before;
            memcpy(excess + tile * stride * PRI_TILE + k, &weights,
                   sizeof weights);
            memcpy(variance + t, &noises, sizeof noises);
        }
}

/* One of the batches before the last. */
PRI_INLINE void carry_on(bool carried, const pri_two *tables,
                         const uint8_t *bytes, pri_two *carry)
{
    for (int t = 0; t < PRI_ROUNDS; t++)
        carry[t] = look_up(BATCH, carried, tables, bytes, carry, t);
}

/* The number of groups and whether something is carried are constants of each
 * call, so that the compiler unrolls look_up(). */
PRI_CLONES
static void sum_node(const struct pri_group *group, int count, pri_two *carry,
                     int stride, double *excess, double *variance)
{
    pri_two tables[BATCH * 256];
    uint8_t bytes[BATCH * PRI_ROUNDS];
    for (int first = 0; first < count; first += BATCH) {
        int groups = count - first < BATCH ? count - first : BATCH;
        for (int g = 0; g < groups; g++) {
            fill_table(&group[first + g], tables + 256 * g);
            transpose_words(&group[first + g], 0, bytes + PRI_ROUNDS * g);
            transpose_words(&group[first + g], 1, bytes + PRI_ROUNDS * g);
        }
        if (first + groups < count) {
            if (first == 0)
                carry_on(false, tables, bytes, carry);
            else
                carry_on(true, tables, bytes, carry);
            continue;
        }
#define FINISH(n, carried)                                                     \
    finish_node(n, carried, tables, bytes, carry, stride, excess, variance)
        if (first == 0 && groups == 1)
            FINISH(1, false);
        else if (first == 0 && groups == 2)
            FINISH(2, false);
        else if (first == 0 && groups == 3)
            FINISH(3, false);
        else if (first == 0)
            FINISH(4, false);
        else if (groups == 1)
            FINISH(1, true);
        else if (groups == 2)
            FINISH(2, true);
        else if (groups == 3)
            FINISH(3, true);
        else
            FINISH(4, true);
    }
}

/* The clones stay inside this file: the compiler would export them. */
void pri_kernel_node(const struct pri_group *groups, int count, pri_two *carry,
                     int stride, double *excess, double *variance)
{
    sum_node(groups, count, carry, stride, excess, variance);
}

/* --------------------------------------------------------------- product -- */

PRI_INLINE four load(const double *from)
{
    four values;
    memcpy(&values, from, sizeof values);
    return values;
}

PRI_INLINE void store(double *to, four values)
{
    memcpy(to, &values, sizeof values);
}

/* One block of columns and one tile of trials. */
PRI_INLINE void project_tile(const double *factor, const double *excess,
                             int from, int rows, bool first, bool last,
                             double *projection, double *square)
{
    four low[PRI_COLUMNS], high[PRI_COLUMNS];
    for (int c = 0; c < PRI_COLUMNS; c++) {
        const four none = {0, 0, 0, 0};
        low[c] = first ? none : load(projection + c * PRI_TILE);
        high[c] = first ? none : load(projection + c * PRI_TILE + 4);
    }
    for (int row = from; row < rows; row++) {
        four left = load(excess + row * PRI_TILE);
        four right = load(excess + row * PRI_TILE + 4);
        for (int c = 0; c < PRI_COLUMNS; c++) {
            double f = factor[row * PRI_COLUMNS + c];
            low[c] += f * left;
            high[c] += f * right;
        }
    }
    if (last) {
        four left = load(square), right = load(square + 4);
        for (int c = 0; c < PRI_COLUMNS; c++) {
            left += low[c] * low[c];
            right += high[c] * high[c];
        }
        store(square, left);
        store(square + 4, right);
        return;
    }
    for (int c = 0; c < PRI_COLUMNS; c++) {
        store(projection + c * PRI_TILE, low[c]);
        store(projection + c * PRI_TILE + 4, high[c]);
    }
}

/* All blocks of columns that the chunk's rows reach: the rows of a triangular
 * factor end at the diagonal. */
PRI_INLINE void project(const struct pri_factor *factor,
                        const struct pri_chunk *chunk, bool first, bool last,
                        int stride, const double *excess, double *projection,
                        double *square)
{
    int32_t blocks = factor->blocks, seen = blocks;
    if (factor->triangular && chunk->start + chunk->rows < blocks * PRI_COLUMNS)
        seen = (chunk->start + chunk->rows + PRI_COLUMNS - 1) / PRI_COLUMNS;
    if (first || last)
        seen = blocks;
    for (int32_t span = 0; span < seen; span += SPAN)
        for (int tile = 0; tile < PRI_TILES; tile++)
            for (int32_t b = span; b < span + SPAN && b < seen; b++) {
                int64_t block = (int64_t)b * factor->nodes + chunk->start;
                int64_t place = (int64_t)b * PRI_TILES + tile;
                int32_t skip = b * PRI_COLUMNS - chunk->start;
                project_tile(factor->packed + block * PRI_COLUMNS,
                             excess + tile * stride * PRI_TILE,
                             factor->triangular && skip > 0 ? skip : 0,
                             chunk->rows, first, last,
                             projection + place * PRI_COLUMNS * PRI_TILE,
                             square + tile * PRI_TILE);
            }
}

PRI_CLONES
static void project_chunk(const struct pri_factor *factor,
                          const struct pri_chunk *chunk, int stride,
                          const double *excess, double *projection,
                          double *square)
{
    if (chunk->first && chunk->last)
        project(factor, chunk, true, true, stride, excess, projection, square);
    else if (chunk->first)
        project(factor, chunk, true, false, stride, excess, projection, square);
    else if (chunk->last)
        project(factor, chunk, false, true, stride, excess, projection, square);
    else
        project(factor, chunk, false, false, stride, excess, projection,
                square);
}

void pri_kernel_project(const struct pri_factor *factor,
                        const struct pri_chunk *chunk, int stride,
                        const double *excess, double *projection,
                        double *square)
{
    project_chunk(factor, chunk, stride, excess, projection, square);
}
