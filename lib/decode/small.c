/*
 * Decoding four patterns of a small network side by side.
 *
 * For each pattern H = A X A' + V, its diagonal raised by 1e-11 of itself, is
 * factored, H = L D L', and H beta = A kappa solved. Raising the diagonal by
 * parts is what a ridge does to H scaled to a unit diagonal, without the roots
 * that scaling takes. A sum that did not arrive is a row of zeros whose
 * 1 / D is taken for 0, or left out where none of the four has it: it changes
 * no other number, so that a pattern's result does not depend on its
 * neighbours, nor on the order of anything but the nodes. Elementwise
 * operations in fixed order, nothing fused: the same bits on every machine.
 * O(n^2 entries + n^3) for four.
 */
#include "rows.h"

/* Numbers of X go to all four lanes straight from memory; four of them loaded
 * at once would have to be shuffled apart. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t four_bits __attribute__((vector_size(32)));

static void *aligned(int64_t count)
{
    size_t bytes = ((size_t)count + 1) * sizeof(pri_four);
    void *room = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    if (room != NULL)
        memset(room, 0, bytes);
    return room;
}

enum pricer_status pri_small_new(const struct pri_rows *rows,
                                 struct pri_small *small)
{
    int64_t n = rows->nodes;
    struct pri_small made = {.nodes = rows->nodes};
    made.entry = aligned(rows->entries);
    made.noise = aligned(n);
    made.chance = aligned(n);
    made.up = aligned(n);
    made.factor = aligned(n * n);
    made.row = aligned(n + 5);
    made.pivot = aligned(n);
    made.side = aligned(n);
    made.beta = aligned(n);
    made.excess = aligned(n);
    made.bar = aligned(1);
    made.heard = aligned(1);
    if (!made.entry || !made.noise || !made.chance || !made.up ||
        !made.factor || !made.row || !made.pivot || !made.side || !made.beta ||
        !made.excess || !made.bar || !made.heard) {
        pri_small_free(&made);
        return PRICER_MEMORY;
    }
    *small = made;
    return PRICER_OK;
}

void pri_small_free(struct pri_small *small)
{
    free(small->entry);
    free(small->noise);
    free(small->chance);
    free(small->up);
    free(small->factor);
    free(small->row);
    free(small->pivot);
    free(small->side);
    free(small->beta);
    free(small->excess);
    free(small->bar);
    free(small->heard);
    memset(small, 0, sizeof *small);
}

PRI_INLINE pri_four fill(double x)
{
    return (pri_four){x, x, x, x};
}

PRI_INLINE pri_four four_at(const double *from)
{
    pri_four values;
    memcpy(&values, from, sizeof values);
    return values;
}

/* Rows of four patterns become numbers of four patterns. */
PRI_INLINE void transpose(const pri_four row[4], pri_four *to)
{
    pri_four a = __builtin_shufflevector(row[0], row[1], 0, 4, 2, 6);
    pri_four b = __builtin_shufflevector(row[0], row[1], 1, 5, 3, 7);
    pri_four c = __builtin_shufflevector(row[2], row[3], 0, 4, 2, 6);
    pri_four d = __builtin_shufflevector(row[2], row[3], 1, 5, 3, 7);
    to[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    to[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    to[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    to[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

/* The sums of pattern e's subset of a handful. */
PRI_INLINE const double *subset(const struct pri_small *small,
                                const struct pri_handful *handful, int e)
{
    uint32_t first = (uint32_t)handful->begin;
    uint64_t bits = small->word[e][first / 64] >> first % 64;
    bits &= (UINT64_C(1) << (handful->end - handful->begin)) - 1;
    return handful->sums + bits * (uint64_t)small->tables->width;
}

/* The sum of `count` rows of each pattern, at least one. */
PRI_INLINE void add_rows(struct pri_small *small, const int count)
{
    const double *(*from)[4] = small->from;
    for (int32_t l = 0; l < small->tables->width; l += 4) {
        pri_four row[] = {four_at(from[0][0] + l), four_at(from[0][1] + l),
                          four_at(from[0][2] + l), four_at(from[0][3] + l)};
        for (int h = 1; h < count; h++) {
            row[0] += four_at(from[h][0] + l);
            row[1] += four_at(from[h][1] + l);
            row[2] += four_at(from[h][2] + l);
            row[3] += four_at(from[h][3] + l);
        }
        transpose(row, small->row + l);
    }
}

/* Row j of A X and of A kappa and its noise, handful by handful. */
PRI_INLINE void look_up_row(struct pri_small *small, int32_t j)
{
    const struct pri_tables *tables = small->tables;
    const struct pri_handful *handful = tables->handful + tables->first[j];
    int count = tables->first[j + 1] - tables->first[j];
    for (int h = 0; h < count; h++)
        for (int e = 0; e < 4; e++)
            small->from[h][e] = subset(small, &handful[h], e);
    if (count == 2) /* ten shares: a constant is unrolled */
        add_rows(small, 2);
    else if (count > 0)
        add_rows(small, count);
    else
        memset(small->row, 0, (size_t)tables->width * sizeof *small->row);
    small->side[j] = small->row[small->nodes];
    small->noise[j] = small->row[small->nodes + 1];
}

/* Numbers l to l + width - 1 of row j of A X, into `row`; they stay in
 * registers, and as many chains of sums run side by side. With the first of
 * them, number j of A kappa. */
PRI_INLINE void spread_part(struct pri_small *small,
                            const struct pri_rows *rows,
                            const struct pri_model *model, int32_t j, int32_t l,
                            const int width)
{
    pri_four sum[10], side = fill(0);
    for (int c = 0; c < width; c++)
        sum[c] = fill(0);
    for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++) {
        const double *from =
            model->x + (int64_t)rows->from[k] * rows->nodes + l;
        pri_four entry = small->entry[k];
        side += entry * model->target[rows->from[k]];
#pragma GCC unroll 10
        for (int c = 0; c < width; c++)
            sum[c] += entry * from[c];
    }
    for (int c = 0; c < width; c++)
        small->row[l + c] = sum[c];
    if (l == 0)
        small->side[j] = side;
}

/* Row j of A X and of A kappa. */
PRI_INLINE void spread_row(struct pri_small *small, const struct pri_rows *rows,
                           const struct pri_model *model, int32_t j)
{
    int32_t n = rows->nodes, l = 0;
    for (; l + 10 <= n; l += 10)
        spread_part(small, rows, model, j, l, 10);
    for (; l + 3 <= n; l += 3)
        spread_part(small, rows, model, j, l, 3);
    for (; l < n; l++)
        spread_part(small, rows, model, j, l, 1);
}

/* The lower triangle of H of active relays, and the right-hand side. */
PRI_INLINE void assemble(struct pri_small *small, const struct pri_rows *rows,
                         const struct pri_model *model)
{
    int32_t n = rows->nodes;
    for (int32_t a = 0; a < small->sums; a++) {
        int32_t j = small->active[a];
        pri_four *to = small->factor + (int64_t)a * n;
        if (small->tables == NULL)
            spread_row(small, rows, model, j);
        else
            look_up_row(small, j);
        for (int32_t b = 0; b <= a; b++) {
            int32_t k = rows->start[small->active[b]];
            int32_t end = rows->start[small->active[b] + 1];
            pri_four even = fill(0), odd = fill(0);
            for (; k + 2 <= end; k += 2) {
                even += small->row[rows->from[k]] * small->entry[k];
                odd += small->row[rows->from[k + 1]] * small->entry[k + 1];
            }
            if (k < end)
                even += small->row[rows->from[k]] * small->entry[k];
            to[b] = even + odd;
        }
        to[a] += small->noise[j];
        if (rows->blind)
            to[a] += small->chance[j] * fill(model->diagonal);
    }
}

/* What pairs of opposite links that go together add to H of blind rows. */
PRI_INLINE void add_pairs(struct pri_small *small, const struct pri_rows *rows,
                          const struct pri_model *model)
{
    int32_t n = rows->nodes, place[PRI_SMALL];
    for (int32_t j = 0; j < n; j++)
        place[j] = -1;
    for (int32_t a = 0; a < small->sums; a++)
        place[small->active[a]] = a;
    for (int32_t k = 0; k < rows->pairs; k++) {
        int32_t low = rows->low[k], high = rows->high[k];
        double together = rows->together[k] * model->x[(int64_t)low * n + high];
        if (place[low] >= 0 && place[high] >= 0)
            small->factor[(int64_t)place[high] * n + place[low]] +=
                small->up[low] * small->up[high] * fill(together);
    }
}

/*
 * L of L D L' = H + ridge, below the diagonal, row by row; 1 / D_j upon it.
 * U_ab = L_ab D_b is what is left of H_ab, and stays in `pivot` while its row is
 * made. A pivot that cancels to less than 1e-13 of H_jj counts as that.
 */
PRI_INLINE void factor(struct pri_small *small)
{
    int32_t n = small->nodes;
    pri_four *h = small->factor, *left = small->pivot;
    for (int32_t a = 0; a < small->sums; a++) {
        pri_four *row = h + (int64_t)a * n, own = row[a];
        pri_four pivot = own * fill(1 + PRI_RIDGE), least = own * fill(1e-13);
        for (int32_t b = 0; b < a; b++) {
            const pri_four *other = h + (int64_t)b * n;
            pri_four sum = row[b];
            for (int32_t k = 0; k < b; k++)
                sum -= left[k] * other[k];
            left[b] = sum;
            row[b] = sum * other[b];
            pivot -= sum * row[b];
        }
        four_bits safe = pivot > least, holds = own > fill(0x1p-900);
        pivot =
            (pri_four)(((four_bits)pivot & safe) | ((four_bits)least & ~safe));
        pivot = (pri_four)(((four_bits)pivot & holds) |
                           ((four_bits)fill(1) & ~holds));
        row[a] = (pri_four)((four_bits)(fill(1) / pivot) & holds);
    }
}

PRI_INLINE void back_solve(const struct pri_small *small, pri_four *side)
{
    int32_t n = small->nodes, sums = small->sums;
    const pri_four *h = small->factor;
    const int32_t *active = small->active;
    for (int32_t a = 0; a < sums; a++) {
        pri_four sum = side[active[a]];
        for (int32_t k = 0; k < a; k++)
            sum -= h[(int64_t)a * n + k] * side[active[k]];
        side[active[a]] = sum;
    }
    for (int32_t a = sums - 1; a >= 0; a--) {
        pri_four sum = side[active[a]] * h[(int64_t)a * n + a];
        for (int32_t k = a + 1; k < sums; k++)
            sum -= h[(int64_t)k * n + a] * side[active[k]];
        side[active[a]] = sum;
    }
}

PRI_INLINE pri_four least(pri_four a, pri_four b)
{
    four_bits less = a < b;
    return (pri_four)(((four_bits)a & less) | ((four_bits)b & ~less));
}

/* The cap, and the mixture with the constant decoder. */
PRI_INLINE void temper(struct pri_small *small, const struct pri_rows *rows,
                       const struct pri_model *model)
{
    int32_t n = rows->nodes;
    for (int32_t j = 0; j < n; j++)
        small->beta[j] = fill(0);
    for (int32_t a = 0; a < small->sums; a++) {
        int32_t j = small->active[a];
        pri_four beta = small->side[j];
        if (model->cap != NULL) {
            pri_four cap = fill(model->cap[j] * rows->scale[j]);
            beta = -least(-least(beta, cap), cap);
        }
        if (model->blend != 1) {
            double constant = rows->scale[j] / n * (1 - model->blend);
            beta = beta * fill(model->blend) + small->up[j] * fill(constant);
        }
        small->beta[j] = beta;
    }
}

PRI_CLONES
static void solve(struct pri_small *small, const struct pri_rows *rows,
                  const struct pri_model *model)
{
    assemble(small, rows, model);
    if (rows->pairs > 0)
        add_pairs(small, rows, model);
    factor(small);
    back_solve(small, small->side);
    temper(small, rows, model);
}

void pri_small_solve(struct pri_small *small, const struct pri_rows *rows,
                     const struct pri_model *model)
{
    solve(small, rows, model);
}

PRI_CLONES
static void again(const struct pri_small *small, pri_four *side)
{
    back_solve(small, side);
}

void pri_small_again(struct pri_small *small, pri_four *side)
{
    again(small, side);
}

PRI_CLONES
static void value(struct pri_small *small, const struct pri_rows *rows,
                  const struct pri_model *model)
{
    int32_t n = rows->nodes;
    pri_four bar = fill(0), heard = fill(0);
    for (int32_t i = 0; i < n; i++)
        small->excess[i] = fill(-rows->part[i] / n);
    for (int32_t a = 0; a < small->sums; a++) {
        int32_t j = small->active[a];
        pri_four beta = small->beta[j];
        heard += beta * beta * small->noise[j];
        if (rows->blind)
            bar += beta * beta * small->chance[j] * fill(model->diagonal);
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
            small->excess[rows->from[k]] += beta * small->entry[k];
    }
    for (int32_t k = 0; k < rows->pairs; k++) {
        int32_t low = rows->low[k], high = rows->high[k];
        double together = rows->together[k] * model->x[(int64_t)low * n + high];
        bar += small->beta[low] * small->beta[high] * fill(2 * together);
    }
    for (int32_t i = 0; i < n; i++) {
        const double *x = model->x + (int64_t)i * n;
        pri_four sum = fill(0);
        for (int32_t l = 0; l < i; l++)
            sum += small->excess[l] * x[l];
        bar += (sum + sum + small->excess[i] * x[i]) * small->excess[i];
    }
    *small->heard = heard;
    *small->bar = bar + heard;
}

void pri_small_value(struct pri_small *small, const struct pri_rows *rows,
                     const struct pri_model *model)
{
    value(small, rows, model);
}
