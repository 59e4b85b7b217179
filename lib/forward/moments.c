/*
 * From arrival patterns to their moments: how often each node arrives, and how
 * often two nodes arrive together.
 *
 * Patterns lie as bits, 64 to a word. Counting words is enough where all
 * patterns have the same probability; sums with weights look up the bytes of a
 * word in tables. Every sum has a fixed order, whatever the threads.
 */
#include "forward.h"
#include "random/random.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 8, VALUES = 256 };

/* The sums of `weight` over all subsets of each byte of a word. */
static void fill_tables(const double *weight, double table[BYTES][VALUES])
{
    for (int b = 0; b < BYTES; b++) {
        table[b][0] = 0;
        for (int bit = 0, filled = 1; bit < 8; bit++, filled *= 2)
            for (int k = 0; k < filled; k++)
                table[b][filled + k] = table[b][k] + weight[8 * b + bit];
    }
}

PRI_INLINE double look_up(uint64_t word, double table[BYTES][VALUES])
{
    double low = 0, high = 0;
    for (int b = 0; b < BYTES; b += 2) {
        low += table[b][word >> (8 * b) & 255];
        high += table[b + 1][word >> (8 * b + 8) & 255];
    }
    return low + high;
}

/* ---------------------------------------------------------------- counts -- */

PRI_CLONES
static void count_rows(const struct pri_moments *of, double *out, int64_t low,
                       int64_t high, bool pairs)
{
    int64_t words = of->words;
    for (int64_t i = low; i < high; i++)
        for (int64_t l = i; l < (pairs ? of->nodes : i + 1); l++) {
            const uint64_t *a = of->bits + i * words;
            const uint64_t *b = of->bits + l * words;
            int64_t count = 0;
            for (int64_t k = 0; k < words; k++)
                count += __builtin_popcountll(a[k] & b[k]);
            out[pairs ? i * of->nodes + l : i] =
                (double)count / (double)of->patterns;
        }
}

static void count_dense(void *context, int64_t low, int64_t high)
{
    struct pri_moments *of = context;
    count_rows(of, of->dense, low, high, true);
}

static void count_single(void *context, int64_t low, int64_t high)
{
    struct pri_moments *of = context;
    count_rows(of, of->pi, low, high, false);
}

/* The same with probabilities, for few patterns: word by word. */
static void weigh(struct pri_moments *of)
{
    double table[BYTES][VALUES];
    for (int64_t k = 0; k < of->words; k++) {
        fill_tables(of->weight + 64 * k, table);
        for (int64_t i = 0; i < of->nodes; i++) {
            uint64_t word = of->bits[i * of->words + k];
            of->pi[i] += look_up(word, table);
            for (int64_t l = i; of->dense != NULL && l < of->nodes; l++)
                of->dense[i * of->nodes + l] +=
                    look_up(word & of->bits[l * of->words + k], table);
        }
    }
}

static void mirror(struct pri_moments *of)
{
    for (int64_t i = 0; i < of->nodes; i++) {
        of->pi[i] = of->dense[i * of->nodes + i];
        for (int64_t l = 0; l < i; l++)
            of->dense[i * of->nodes + l] = of->dense[l * of->nodes + i];
    }
}

enum pricer_status pri_moments_make(const struct pri_arrivals *arrivals,
                                    int32_t hops, uint64_t *bits,
                                    struct pri_team *team,
                                    struct pri_moments **moments)
{
    struct pri_moments *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    int64_t nodes = arrivals->nodes;
    bool dense = nodes <= PRI_DENSE_MAX;
    *made = (struct pri_moments){.nodes = arrivals->nodes,
                                 .patterns = arrivals->patterns,
                                 .words = arrivals->words,
                                 .bits = bits,
                                 .weight = arrivals->weight,
                                 .team = team};
    made->pi = pri_alloc(nodes, sizeof(double));
    made->dense = dense ? pri_alloc(nodes * nodes, sizeof(double)) : NULL;
    made->sums = dense ? NULL : pri_alloc(64 * made->words, sizeof(double));
    if (!made->pi || !(dense ? made->dense : made->sums)) {
        pri_moments_free(made);
        return PRICER_MEMORY;
    }
    pri_arrivals_within(arrivals, hops, bits);
    if (made->weight != NULL)
        weigh(made);
    else if (dense)
        pri_team_share(team, nodes, count_dense, made);
    else
        pri_team_share(team, nodes, count_single, made);
    if (dense)
        mirror(made);
    *moments = made;
    return PRICER_OK;
}

void pri_moments_free(struct pri_moments *moments)
{
    if (moments == NULL)
        return;
    free(moments->pi);
    free(moments->dense);
    free(moments->sums);
    free(moments);
}

/* -------------------------------------------------------------- products -- */

struct summing {
    const struct pri_moments *of;
    const double *values;
    double *sums;
};

/* Transpose the 8 x 8 bits of a word. */
PRI_INLINE uint64_t transpose(uint64_t x)
{
    uint64_t moved = (x ^ (x >> 7)) & UINT64_C(0x00aa00aa00aa00aa);
    x ^= moved ^ (moved << 7);
    moved = (x ^ (x >> 14)) & UINT64_C(0x0000cccc0000cccc);
    x ^= moved ^ (moved << 14);
    moved = (x ^ (x >> 28)) & UINT64_C(0x00000000f0f0f0f0);
    return x ^ moved ^ (moved << 28);
}

/* The sums over eight nodes, of every subset of them. */
static void fill_subsets(const double *values, int count, double *table)
{
    table[0] = 0;
    for (int m = 0, filled = 1; m < 8; m++, filled *= 2)
        for (int k = 0; k < filled; k++)
            table[filled + k] = table[k] + (m < count ? values[m] : 0);
}

enum { FEW = 32 }; /* of 512 bits, one by one rather than by tables */

static int count_bits(const uint64_t row[8], uint64_t flip, int count)
{
    int bits = 0;
    for (int m = 0; m < count; m++)
        bits += __builtin_popcountll(row[m] ^ flip);
    return bits;
}

/* Add sign times the value of each row where its bits, flipped, are set. */
PRI_INLINE void add_bits(const uint64_t row[8], uint64_t flip, int count,
                         double sign, const double *values, double *sums)
{
    for (int m = 0; m < count; m++)
        for (uint64_t bits = row[m] ^ flip; bits != 0; bits &= bits - 1)
            sums[__builtin_ctzll(bits)] += sign * values[m];
}

/*
 * Nodes go in eights: byte b of the eight rows of a word makes an 8 x 8 square
 * of bits, and a column of it, the nodes that arrive in one pattern, is the
 * index of their sum. Where nearly all or nearly none arrive, the others are
 * counted one by one.
 */
PRI_CLONES
static void sum_words(const struct summing *work, int64_t low, int64_t high)
{
    const struct pri_moments *of = work->of;
    double table[VALUES];
    memset(work->sums + 64 * low, 0,
           (size_t)(high - low) * 64 * sizeof(double));
    for (int64_t i = 0; i < of->nodes; i += 8) {
        int count = of->nodes - i < 8 ? (int)(of->nodes - i) : 8;
        fill_subsets(work->values + i, count, table);
        for (int64_t k = low; k < high; k++) {
            double *sums = work->sums + 64 * k;
            uint64_t row[8] = {0};
            for (int m = 0; m < count; m++)
                row[m] = of->bits[(i + m) * of->words + k];
            if (count_bits(row, 0, count) < FEW) {
                add_bits(row, 0, count, 1, work->values + i, sums);
                continue;
            }
            if (count_bits(row, ~UINT64_C(0), count) < FEW) {
                for (int m = 0; m < 64; m++)
                    sums[m] += table[(1 << count) - 1];
                add_bits(row, ~UINT64_C(0), count, -1, work->values + i, sums);
                continue;
            }
            for (int b = 0; b < 8; b++) {
                uint64_t square = 0;
                for (int m = 0; m < 8; m++)
                    square |= (row[m] >> (8 * b) & 255) << (8 * m);
                square = transpose(square);
                for (int m = 0; m < 8; m++)
                    sums[8 * b + m] += table[square >> (8 * m) & 255];
            }
        }
    }
}

static void sum_some(void *context, int64_t low, int64_t high)
{
    sum_words(context, low, high);
}

void pri_moments_sums(const struct pri_moments *moments, const double *values,
                      double *sums)
{
    struct summing work = {moments, values, sums};
    pri_team_share(moments->team, moments->words, sum_some, &work);
}

/* out_i = the sum of sums[k] over the patterns in which i arrives. */
static void gather(void *context, int64_t low, int64_t high)
{
    struct summing *work = context;
    const struct pri_moments *of = work->of;
    double table[BYTES][VALUES];
    for (int64_t i = low; i < high; i++)
        work->sums[i] = 0;
    for (int64_t k = 0; k < of->words; k++) {
        fill_tables(work->values + 64 * k, table);
        for (int64_t i = low; i < high; i++)
            work->sums[i] += look_up(of->bits[i * of->words + k], table);
    }
}

static void multiply_rows(void *context, int64_t low, int64_t high)
{
    struct summing *work = context;
    const struct pri_moments *of = work->of;
    for (int64_t i = low; i < high; i++) {
        const double *row = of->dense + i * of->nodes;
        double sum[4] = {0, 0, 0, 0};
        for (int32_t l = 0; l < of->nodes; l++)
            sum[l % 4] += row[l] * work->values[l];
        work->sums[i] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
}

void pri_moments_product(struct pri_moments *moments, const double *values,
                         double *out)
{
    struct summing work = {moments, values, out};
    if (moments->dense != NULL) {
        multiply_rows(&work, 0, moments->nodes);
        return;
    }
    pri_moments_sums(moments, values, moments->sums);
    for (int64_t k = 0; k < moments->patterns; k++)
        moments->sums[k] *= moments->weight != NULL
                                ? moments->weight[k]
                                : 1 / (double)moments->patterns;
    work.values = moments->sums;
    pri_team_share(moments->team, moments->nodes, gather, &work);
}
