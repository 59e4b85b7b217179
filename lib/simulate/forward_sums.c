/*
 * From arrivals, 64 patterns to a word, to the error and the bar of each pattern.
 *
 * With x_i the data, c_i the coefficients and a_i the arrivals, the squared error
 * in expectation over the noise is
 *
 *     ( |sum_i (a_i c_i - 1) x_i|^2 + sum_i a_i c_i^2 E|z_i|^2 ) / n^2,
 *
 * and with rows f_i that have the products of the data (pri_factor) the first term
 * is a sum of squares of numbers that are linear in the arrivals. |a c - 1| is
 * linear in a, too, which is 0 or 1, and so are the two sums of the bar.
 *
 * Eight nodes are added at a time: their bits in a pattern are a byte, for which a
 * table has the sum of their values. Every sum has a fixed order.
 */
#include "forward_engines.h"
#include "random/random.h"
#include "release/release.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS = 4, /* of a block */
    NOISE = 0,   /* columns: noise for this data, */
    BAR = 1,     /* the bar's missing part, */
    BAR_NOISE = 2,
    FIRST = 3, /* and the first of the data */
    GROUP = 8, /* nodes to a byte */
};

/* ---------------------------------------------------------------- values -- */

/* E|y - x|^2 of a node's data; *last is the sphere release of the node before,
 * which often is the same. */
static enum pricer_status find_variance(const struct pri_job *job, int32_t i,
                                        struct pri_release *last,
                                        double *variance)
{
    const struct pricer_forward_node *node = &job->forward->node[i];
    const double *x = pri_data_row(job->data, i);
    double radius = job->network->node_radius[i], square = 0;
    *variance = node->variance;
    if (node->release != PRICER_RELEASE_SPHERE)
        return PRICER_OK;
    if (last->t != node->threshold || last->e0 != node->loss) {
        enum pricer_status status =
            pri_release_sphere(job->network->dimension, 1, node->threshold,
                               node->loss, last, NULL);
        if (status != PRICER_OK)
            return status;
    }
    for (int64_t c = 0; c < job->data->dimension; c++)
        square += x[c] / radius * (x[c] / radius);
    *variance =
        radius * radius * pri_release_variance(last, fmin(sqrt(square), 1));
    return PRICER_OK;
}

static void set_value(struct pri_arrival_sums *sums, int32_t node,
                      int32_t column, double value)
{
    int64_t at = (int64_t)(column / COLUMNS) * sums->nodes + node;
    sums->value[at][column % COLUMNS] = value;
}

/* Columns of the data, times the coefficients. */
static void fill_data(const struct pri_job *job,
                      const struct pri_factor *factor,
                      struct pri_arrival_sums *sums)
{
    const struct pricer_forward_node *node = job->forward->node;
    int32_t n = sums->nodes;
    for (int32_t i = 0; factor == NULL && i < n; i++) {
        double radius = job->network->node_radius[i];
        set_value(sums, i, FIRST, node[i].coefficient * radius);
        sums->base[FIRST] -= radius;
    }
    for (int32_t k = 0; factor != NULL && k < factor->rank; k++)
        for (int32_t row = 0; row < n; row++) {
            int32_t i = factor->order[row];
            double f = factor->packed[((int64_t)(k / PRI_COLUMNS) * n + row) *
                                          PRI_COLUMNS +
                                      k % PRI_COLUMNS];
            set_value(sums, i, FIRST + k, node[i].coefficient * f);
            sums->base[FIRST + k] -= f;
        }
}

enum pricer_status pri_arrival_sums_make(const struct pri_job *job,
                                         const struct pri_factor *factor,
                                         struct pri_arrival_sums *sums)
{
    int32_t n = job->network->nodes;
    int32_t columns = FIRST + (factor != NULL ? factor->rank : 1);
    struct pri_arrival_sums made = {
        .nodes = n, .blocks = (columns + COLUMNS - 1) / COLUMNS};
    struct pri_release last = {0};
    made.base = pri_alloc((int64_t)made.blocks * COLUMNS, sizeof *made.base);
    made.value = pri_alloc((int64_t)made.blocks * n, sizeof *made.value);
    enum pricer_status status =
        made.base != NULL && made.value != NULL ? PRICER_OK : PRICER_MEMORY;
    for (int32_t i = 0; i < n && status == PRICER_OK; i++) {
        const struct pricer_forward_node *node = &job->forward->node[i];
        double c = node->coefficient, radius = job->network->node_radius[i];
        double variance = 0;
        status = find_variance(job, i, &last, &variance);
        if (status != PRICER_OK)
            break;
        set_value(&made, i, NOISE, c * c * variance);
        set_value(&made, i, BAR, radius * (fabs(c - 1) - 1));
        set_value(&made, i, BAR_NOISE, c * c * node->variance);
        made.base[BAR] += radius;
    }
    if (status == PRICER_OK) {
        fill_data(job, factor, &made);
        *sums = made;
    } else {
        pri_arrival_sums_free(&made);
    }
    return status;
}

void pri_arrival_sums_free(struct pri_arrival_sums *sums)
{
    free(sums->base);
    free(sums->value);
    sums->base = NULL;
    sums->value = NULL;
}

/* ------------------------------------------------------------------ sums -- */

/* Exchange the part of a that the mask, moved up by `shift`, covers with the part
 * of b that it covers. */
PRI_INLINE void exchange(pri_half *a, pri_half *b, int shift, uint64_t mask)
{
    pri_half swap = ((*a >> shift) ^ *b) & mask;
    *b ^= swap;
    *a ^= swap << shift;
}

/* Transpose 8 x 8 bits of each word: bit k of byte i becomes bit i of byte k. */
PRI_INLINE pri_half transpose(pri_half x)
{
    pri_half swap = (x ^ (x >> 7)) & UINT64_C(0x00aa00aa00aa00aa);
    x ^= swap ^ (swap << 7);
    swap = (x ^ (x >> 14)) & UINT64_C(0x0000cccc0000cccc);
    x ^= swap ^ (swap << 14);
    swap = (x ^ (x >> 28)) & UINT64_C(0x00000000f0f0f0f0);
    return x ^ swap ^ (swap << 28);
}

/* From the rows of up to eight nodes to a byte a pattern, that of pattern t at
 * place_of(t): first byte p of row i becomes byte i of word p, for all eight words
 * of a row at once. */
PRI_INLINE void gather(const uint64_t *bits, int64_t stride, int words,
                       int rows, uint8_t *bytes)
{
    struct pri_lanes x[GROUP] = {0};
    for (int i = 0; i < rows; i++)
        memcpy(&x[i], bits + i * stride, (size_t)words * sizeof *bits);
    for (int h = 0; h < 2; h++) {
        for (int i = 0; i < 4; i++)
            exchange(&x[i].half[h], &x[i + 4].half[h], 32,
                     UINT64_C(0x00000000ffffffff));
        for (int i = 0; i < 8; i += i % 2 == 0 ? 1 : 3)
            exchange(&x[i].half[h], &x[i + 2].half[h], 16,
                     UINT64_C(0x0000ffff0000ffff));
        for (int i = 0; i < 8; i += 2)
            exchange(&x[i].half[h], &x[i + 1].half[h], 8,
                     UINT64_C(0x00ff00ff00ff00ff));
        for (int p = 0; p < GROUP; p++) {
            pri_half out = transpose(x[p].half[h]);
            for (int w = 0; w < 4; w++)
                out[w] = htole64(out[w]);
            memcpy(bytes + 64 * p + 32 * h, &out, sizeof out);
        }
    }
}

/* Pattern 64 w + 8 p + k is at 64 p + 8 w + k, and the other way round. */
PRI_INLINE int place_of(int t)
{
    return (t >> 3 & 7) << 6 | t >> 6 << 3 | (t & 7);
}

PRI_INLINE void add_values(const pri_four *value, int rows,
                           const uint8_t *bytes, pri_four *sum)
{
    pri_four table[1 << GROUP];
    table[0] = (pri_four){0, 0, 0, 0};
    for (int bit = 0, filled = 1; bit < rows; bit++, filled *= 2)
        for (int k = 0; k < filled; k++)
            table[filled + k] = table[k] + value[bit];
    for (int t = 0; t < PRI_ROUNDS; t++)
        sum[t] += table[bytes[t]];
}

PRI_CLONES
static void add_up(const struct pri_arrival_sums *sums, const uint64_t *bits,
                   int64_t stride, int words, pri_four *room)
{
    uint8_t bytes[PRI_ROUNDS];
    for (int32_t b = 0; b < sums->blocks; b++)
        for (int t = 0; t < PRI_ROUNDS; t++)
            memcpy(&room[(int64_t)b * PRI_ROUNDS + t],
                   sums->base + (int64_t)b * COLUMNS, sizeof *room);
    for (int32_t first = 0; first < sums->nodes; first += GROUP) {
        int32_t left = sums->nodes - first;
        int rows = left < GROUP ? (int)left : GROUP;
        gather(bits + first * stride, stride, words, rows, bytes);
        for (int32_t b = 0; b < sums->blocks; b++)
            add_values(sums->value + (int64_t)b * sums->nodes + first, rows,
                       bytes, room + (int64_t)b * PRI_ROUNDS);
    }
}

void pri_arrival_sums_find(const struct pri_arrival_sums *sums,
                           const uint64_t *bits, int64_t stride, int words,
                           pri_four *room, double *errors, double *bars)
{
    double n2 = (double)sums->nodes * sums->nodes;
    add_up(sums, bits, stride, words, room);
    for (int t = 0; t < 64 * words; t++) {
        int at = place_of(t);
        double square = room[at][FIRST] * room[at][FIRST];
        for (int32_t b = 1; b < sums->blocks; b++) {
            pri_four total = room[(int64_t)b * PRI_ROUNDS + at];
            total *= total;
            square += (total[0] + total[1]) + (total[2] + total[3]);
        }
        errors[t] = (room[at][NOISE] + square) / n2;
        bars[t] = (room[at][BAR] * room[at][BAR] + room[at][BAR_NOISE]) / n2;
    }
}
