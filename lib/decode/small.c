/*
 * Decoding four patterns of a small network side by side.
 *
 * For each pattern H = A X A' + V, scaled to a unit diagonal, is factored
 * (Cholesky) and H beta = A kappa solved. A sum that did not arrive is a row
 * of zeros with a one on the diagonal, or left out where none of the four has
 * it: it changes no other number, so that a pattern's result does not depend on
 * its neighbours, nor on the order of anything but the nodes. Elementwise
 * operations in fixed order, nothing fused: the same bits on every machine.
 * O(n^2 entries + n^3) for four.
 */
#include "rows.h"

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
    made.row = aligned(n);
    made.size = aligned(n);
    made.side = aligned(n);
    made.beta = aligned(n);
    made.excess = aligned(n);
    made.bar = aligned(1);
    made.heard = aligned(1);
    if (!made.entry || !made.noise || !made.chance || !made.up ||
        !made.factor || !made.row || !made.size || !made.side || !made.beta ||
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
    free(small->size);
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

/* The number where its bit is set, else 0. */
PRI_INLINE pri_four masked(double x, uint64_t bits)
{
    const four_bits places = {1, 2, 4, 8};
    int64_t b = (int64_t)bits;
    four_bits all = {b, b, b, b};
    return (pri_four)((four_bits)fill(x) & ((all & places) != 0));
}

PRI_INLINE uint64_t nibble_of(const uint64_t *bits, int m)
{
    return bits[m / 16] >> 4 * (m % 16) & 15;
}

/* Whether none of the four has the sum. */
PRI_INLINE bool is_absent(pri_four up)
{
    return !(up[0] + up[1] + up[2] + up[3] > 0);
}

/* A relay of which nothing arrived. */
PRI_INLINE void leave_out(struct pri_small *small, const struct pri_rows *rows,
                          int32_t j)
{
    small->noise[j] = small->chance[j] = fill(0);
    for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
        small->entry[k] = fill(0);
}

PRI_CLONES
static void load(struct pri_small *small, const struct pri_rows *rows,
                 const uint64_t *uplink, const uint64_t *entry, int m)
{
    for (int32_t j = 0; j < rows->nodes; j++) {
        pri_four noise = fill(0), chance = fill(0);
        small->up[j] = masked(1, nibble_of(uplink + (int64_t)j * PRI_LANES, m));
        if (is_absent(small->up[j])) {
            leave_out(small, rows, j);
            continue;
        }
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++) {
            uint64_t came = nibble_of(entry + (int64_t)k * PRI_LANES, m);
            small->entry[k] = masked(rows->weight[k], came);
            noise += masked(rows->noise[k], came);
            if (rows->blind)
                chance += masked(rows->spread[k], came);
        }
        small->noise[j] = noise;
        small->chance[j] = chance;
    }
}

void pri_small_load(struct pri_small *small, const struct pri_rows *rows,
                    const uint64_t *uplink, const uint64_t *entry, int m)
{
    load(small, rows, uplink, entry, m);
}

/* The number in the lanes whose word has the bit, else 0. */
PRI_INLINE pri_four chosen(double x, four_bits words, int64_t bit)
{
    four_bits one = {bit, bit, bit, bit};
    return (pri_four)((four_bits)fill(x) & ((words & one) != 0));
}

PRI_CLONES
static void load_words(struct pri_small *small, const struct pri_rows *rows,
                       const uint64_t *const *word)
{
    four_bits words = {0};
    for (int e = 0; e < 4; e++)
        words[e] = (int64_t)word[e][0];
    for (int32_t j = 0; j < rows->nodes; j++)
        small->up[j] = chosen(1, words, INT64_C(1) << j);
    int32_t held = 0;
    for (int32_t j = 0; j < rows->nodes; j++) {
        pri_four noise = fill(0);
        if (is_absent(small->up[j])) {
            leave_out(small, rows, j);
            continue;
        }
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++) {
            if (held != k / 64 + 1) {
                held = k / 64 + 1;
                for (int e = 0; e < 4; e++)
                    words[e] = (int64_t)word[e][held];
            }
            int64_t bit = (int64_t)(UINT64_C(1) << k % 64);
            small->entry[k] = chosen(rows->weight[k], words, bit);
            noise += chosen(rows->noise[k], words, bit);
        }
        small->noise[j] = noise;
        small->chance[j] = fill(0);
    }
}

void pri_small_load_words(struct pri_small *small, const struct pri_rows *rows,
                          const uint64_t *const *word)
{
    load_words(small, rows, word);
}

/* Row j of A X, into `row`: five numbers at a time stay in registers. */
PRI_INLINE void spread_row(struct pri_small *small, const struct pri_rows *rows,
                           const double *x, int32_t j)
{
    int32_t n = rows->nodes, l = 0;
    for (; l + 5 <= n; l += 5) {
        pri_four a = fill(0), b = a, c = a, d = a, e = a;
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++) {
            const double *from = x + (int64_t)rows->from[k] * n + l;
            pri_four entry = small->entry[k];
            a += entry * fill(from[0]);
            b += entry * fill(from[1]);
            c += entry * fill(from[2]);
            d += entry * fill(from[3]);
            e += entry * fill(from[4]);
        }
        small->row[l] = a;
        small->row[l + 1] = b;
        small->row[l + 2] = c;
        small->row[l + 3] = d;
        small->row[l + 4] = e;
    }
    for (; l < n; l++) {
        pri_four a = fill(0);
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
            a += small->entry[k] * fill(x[(int64_t)rows->from[k] * n + l]);
        small->row[l] = a;
    }
}

/* Relays of which no pattern has a sum are left out. */
PRI_INLINE void choose_active(struct pri_small *small)
{
    small->sums = 0;
    for (int32_t j = 0; j < small->nodes; j++) {
        small->side[j] = fill(0);
        if (!is_absent(small->up[j]))
            small->active[small->sums++] = j;
    }
}

/* The lower triangle of H of active relays, and the right-hand side. */
PRI_INLINE void assemble(struct pri_small *small, const struct pri_rows *rows,
                         const struct pri_model *model)
{
    int32_t n = rows->nodes;
    for (int32_t a = 0; a < small->sums; a++) {
        int32_t j = small->active[a];
        pri_four *to = small->factor + (int64_t)a * n, side = fill(0);
        spread_row(small, rows, model->x, j);
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
            side += small->entry[k] * fill(model->target[rows->from[k]]);
        small->side[j] = side;
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

PRI_INLINE pri_four root(pri_four x)
{
    for (int e = 0; e < 4; e++)
        x[e] = __builtin_sqrt(x[e]);
    return x;
}

/* 1 / sqrt(H_jj), or 0 for a sum that holds nothing. */
PRI_INLINE void scale(struct pri_small *small)
{
    for (int32_t a = 0; a < small->sums; a++) {
        pri_four own = small->factor[(int64_t)a * (small->nodes + 1)];
        four_bits holds = own > fill(0x1p-900);
        pri_four safe = (pri_four)(((four_bits)own & holds) |
                                   ((four_bits)fill(1) & ~holds));
        small->size[small->active[a]] =
            (pri_four)((four_bits)(fill(1) / root(safe)) & holds);
    }
}

/* L of L L' = scaled H + ridge, below the diagonal; 1 / L_jj upon it. */
PRI_INLINE void factor(struct pri_small *small)
{
    int32_t n = small->nodes;
    pri_four *h = small->factor;
    for (int32_t a = 0; a < small->sums; a++) {
        pri_four *row = h + (int64_t)a * n,
                 size = small->size[small->active[a]];
        pri_four pivot = fill(1 + PRI_RIDGE);
        for (int32_t b = 0; b < a; b++) {
            pri_four sum = row[b] * (size * small->size[small->active[b]]);
            const pri_four *other = h + (int64_t)b * n;
            for (int32_t k = 0; k < b; k++)
                sum -= row[k] * other[k];
            row[b] = sum * other[b];
            pivot -= row[b] * row[b];
        }
        four_bits safe = pivot > fill(1e-13);
        pivot = (pri_four)(((four_bits)pivot & safe) |
                           ((four_bits)fill(1e-13) & ~safe));
        row[a] = fill(1) / root(pivot);
    }
}

PRI_INLINE void back_solve(const struct pri_small *small, pri_four *side)
{
    int32_t n = small->nodes, sums = small->sums;
    const pri_four *h = small->factor;
    const int32_t *active = small->active;
    for (int32_t a = 0; a < sums; a++) {
        pri_four sum = side[active[a]] * small->size[active[a]];
        for (int32_t k = 0; k < a; k++)
            sum -= h[(int64_t)a * n + k] * side[active[k]];
        side[active[a]] = sum * h[(int64_t)a * n + a];
    }
    for (int32_t a = sums - 1; a >= 0; a--) {
        pri_four sum = side[active[a]];
        for (int32_t k = a + 1; k < sums; k++)
            sum -= h[(int64_t)k * n + a] * side[active[k]];
        side[active[a]] = sum * h[(int64_t)a * n + a];
    }
    for (int32_t a = 0; a < sums; a++)
        side[active[a]] *= small->size[active[a]];
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
    for (int32_t j = 0; j < n; j++) {
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
    choose_active(small);
    assemble(small, rows, model);
    if (rows->pairs > 0)
        add_pairs(small, rows, model);
    scale(small);
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
        small->excess[i] = fill(-1.0 / n);
    for (int32_t j = 0; j < n; j++) {
        pri_four beta = small->beta[j];
        if (is_absent(small->up[j]))
            continue;
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
            sum += small->excess[l] * fill(x[l]);
        bar += (sum + sum + small->excess[i] * fill(x[i])) * small->excess[i];
    }
    *small->heard = heard;
    *small->bar = bar + heard;
}

void pri_small_value(struct pri_small *small, const struct pri_rows *rows,
                     const struct pri_model *model)
{
    value(small, rows, model);
}
