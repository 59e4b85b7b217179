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

enum { BYTES = 8, VALUES = 256, BLOCK = 8 };

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

/* Add a value to the sums of the patterns whose bit is set. */
PRI_INLINE void add_where(uint64_t word, double value, double *sums)
{
    pri_half shift = {0, 1, 2, 3}, bits;
    pri_half all = {word, word, word, word};
    typedef double four __attribute__((vector_size(32)));
    four sum, amount = {value, value, value, value};
    memcpy(&bits, &amount, sizeof bits);
    for (int k = 0; k < 64; k += 4) {
        pri_half mask = -((all >> (shift + (uint64_t)k)) & 1);
        pri_half some = bits & mask;
        four add;
        memcpy(&add, &some, sizeof add);
        memcpy(&sum, sums + k, sizeof sum);
        sum += add;
        memcpy(sums + k, &sum, sizeof sum);
    }
}

struct summing {
    const struct pri_moments *of;
    const double *values;
    double *sums;
};

/* Blocks of words, so that a row's words are read together. */
PRI_CLONES
static void sum_words(const struct summing *work, int64_t low, int64_t high)
{
    const struct pri_moments *of = work->of;
    for (int64_t first = low; first < high; first += BLOCK) {
        int64_t end = first + BLOCK < high ? first + BLOCK : high;
        memset(work->sums + 64 * first, 0,
               (size_t)(end - first) * 64 * sizeof(double));
        for (int64_t i = 0; i < of->nodes; i++) {
            if (work->values[i] == 0)
                continue;
            for (int64_t k = first; k < end; k++)
                add_where(of->bits[i * of->words + k], work->values[i],
                          work->sums + 64 * k);
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

/* out_i = the sum of weight[k] sums[k] over the patterns in which i arrives. */
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
