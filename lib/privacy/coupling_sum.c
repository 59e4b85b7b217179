/*
 * From the parts of a coupling to its generating function: vertices are
 * absorbed one by one, and an entry is kept for every set of at most `depth`
 * edges that are open between those absorbed and those to come.
 *
 * The open edges of one moment have positions; sets are ordered by how many
 * edges they have, and among those by the combinatorial number system. A set of
 * edges that pass a vertex by, a row, meets all sets of edges that end at the
 * vertex and becomes all sets with edges that begin there: a small matrix
 * product, in which only sets of at most depth - (edges of the row) count.
 */
#include "coupling.h"
#include "random/random.h"

#include <math.h>
#include <stdlib.h>

/* Entries between two steps, at most. */
#define ENTRIES_MOST (1 << 20)

/* How many sets of n edges have at most k. */
static int64_t sets_up_to(const struct pri_coupling *coupling, int32_t n,
                          int32_t k)
{
    int64_t all = 0;
    for (int32_t j = 0; j <= k && j <= n; j++)
        all += coupling->binomial[n][j];
    return all;
}

/* The place of a set among those of n edges; or what it adds to the place of
 * `count` others that stand before all of its own. */
static int64_t place_of(const struct pri_coupling *coupling, int32_t n,
                        int32_t count, uint64_t set)
{
    int64_t place = 0;
    for (; set != 0; set &= set - 1) {
        place += coupling->binomial[n][count];
        place += coupling->binomial[__builtin_ctzll(set)][++count];
    }
    return place;
}

/* The next larger set of as many edges; behind the empty set there is none. */
static uint64_t next_set(uint64_t set)
{
    uint64_t low = set & -set, sum = set + low;
    return set == 0 ? UINT64_MAX : sum | (((set ^ sum) >> 2) / low);
}

/* All sets of at most `depth` edges in their order; returns how many. */
static int32_t list_sets(int32_t edges, int32_t depth, uint64_t *set)
{
    int32_t count = 0;
    for (int32_t k = 0; k <= depth && k <= edges; k++)
        for (uint64_t x = ((uint64_t)1 << k) - 1; x >> edges == 0;
             x = next_set(x))
            set[count++] = x;
    return count;
}

/* A set of some edges, at their positions among all. */
static uint64_t put_at(uint64_t set, uint64_t positions)
{
    uint64_t all = 0;
    for (; set != 0; set >>= 1, positions &= positions - 1)
        if (set & 1)
            all |= positions & -positions;
    return all;
}

/* Rows of a vertex with so many edges, and sets that they meet and become. */
static void sizes_of(const struct pri_coupling *coupling,
                     const struct pri_vertex *vertex, int32_t depth,
                     int32_t edges, int64_t *rows, int32_t *in, int32_t *out)
{
    int32_t left = depth - edges, begins = vertex->degree - vertex->before;
    *rows = coupling->binomial[vertex->open - vertex->before][edges];
    *in = (int32_t)sets_up_to(coupling, vertex->before, left);
    *out = (int32_t)sets_up_to(coupling, begins, left);
}

double pri_coupling_cost(const struct pri_coupling *coupling, int32_t depth)
{
    double cost = 0;
    for (int32_t v = 0; v < coupling->vertices; v++)
        for (int32_t j = 0; j <= depth; j++) {
            int32_t in, out;
            int64_t rows;
            sizes_of(coupling, &coupling->vertex[v], depth, j, &rows, &in,
                     &out);
            cost += (double)rows * ((double)in * out + 5. * in + 2. * out);
        }
    return sets_up_to(coupling, coupling->widest, depth) > ENTRIES_MOST
               ? INFINITY
               : 2 * cost;
}

/* Room for the entries between two steps. */
static enum pricer_status reserve(struct pri_coupling *coupling, int64_t room)
{
    if (room <= coupling->room)
        return PRICER_OK;
    free(coupling->memory);
    coupling->room = 0;
    coupling->memory = pri_alloc(4 * room, sizeof(double));
    if (coupling->memory == NULL)
        return PRICER_MEMORY;
    for (int k = 0; k < 2; k++) {
        coupling->here[k] = coupling->memory + k * room;
        coupling->there[k] = coupling->memory + (2 + k) * room;
    }
    coupling->room = room;
    return PRICER_OK;
}

/* A vertex as a matrix: sets of edges that end there, by those that begin.
 * Returns how many begin; sets stand at their positions afterwards. */
static int32_t set_matrix(struct pri_coupling *coupling,
                          const struct pri_vertex *vertex, int32_t depth)
{
    int32_t before = vertex->before, rest = vertex->open - before;
    int32_t ins = list_sets(before, depth, coupling->end);
    int32_t outs = list_sets(vertex->degree - before, depth, coupling->begin);
    for (int32_t in = 0; in < ins; in++) {
        for (int32_t out = 0; out < outs; out++) {
            uint64_t x = coupling->end[in] | coupling->begin[out] << before;
            int64_t at = (int64_t)in * outs + out;
            coupling->matrix[0][at] = creal(vertex->part[x]);
            coupling->matrix[1][at] = cimag(vertex->part[x]);
        }
        coupling->end[in] = put_at(coupling->end[in], vertex->ends);
    }
    /* Those that pass come first behind the vertex. */
    for (int32_t out = 0; out < outs && rest < PRI_CUT_MOST; out++)
        coupling->begin[out] <<= rest;
    return outs;
}

/* Some entries of a matrix, or of a row of one. */
struct entries {
    double *re, *im;
};

/* *sum = a row of `in` entries times `out` columns of the matrix. */
PRI_INLINE void times_matrix(struct entries row, int32_t in,
                             struct entries matrix, int64_t stride, int32_t out,
                             struct entries sum)
{
    double *restrict sum_re = sum.re, *restrict sum_im = sum.im;
    for (int32_t k = 0; k < out; k++)
        sum_re[k] = sum_im[k] = 0;
    for (int32_t j = 0; j < in; j++) {
        const double *re = matrix.re + j * stride, *im = matrix.im + j * stride;
        double a = row.re[j], b = row.im[j];
        for (int32_t k = 0; k < out; k++) {
            sum_re[k] += a * re[k] - b * im[k];
            sum_im[k] += a * im[k] + b * re[k];
        }
    }
}

/* One row of a vertex: from the entries before it to those behind, from
 * `there` on. */
PRI_CLONES static void absorb_row(const struct pri_coupling *coupling,
                                  const struct pri_vertex *vertex,
                                  uint64_t pass, int32_t in, int32_t out,
                                  int32_t stride, struct entries there)
{
    enum { SOME = 64 };
    double sum_re[SOME], sum_im[SOME];
    struct entries row = {coupling->row[0], coupling->row[1]};
    struct entries sum = {sum_re, sum_im};
    for (int32_t k = 0; k < in; k++) {
        int64_t from =
            place_of(coupling, vertex->open, 0, pass | coupling->end[k]);
        row.re[k] = coupling->here[0][from];
        row.im[k] = coupling->here[1][from];
    }
    for (int32_t first = 0; first < out; first += SOME) {
        int32_t some = out - first < SOME ? out - first : SOME;
        const int64_t *to = coupling->to + first;
        struct entries matrix = {coupling->matrix[0] + first,
                                 coupling->matrix[1] + first};
        times_matrix(row, in, matrix, stride, some, sum);
        for (int32_t k = 0; k < some; k++) {
            there.re[to[k]] = sum_re[k];
            there.im[to[k]] = sum_im[k];
        }
    }
}

/* Absorb one vertex. */
static void absorb(struct pri_coupling *coupling,
                   const struct pri_vertex *vertex, int32_t depth)
{
    int32_t stride = set_matrix(coupling, vertex, depth), in, out;
    int32_t behind = vertex->open + vertex->degree - 2 * vertex->before;
    for (int32_t j = 0; j <= depth; j++) {
        int64_t rows;
        uint64_t set = ((uint64_t)1 << j) - 1;
        sizes_of(coupling, vertex, depth, j, &rows, &in, &out);
        for (int32_t k = 0; k < out; k++)
            coupling->to[k] = place_of(coupling, behind, j, coupling->begin[k]);
        for (int64_t r = 0; r < rows; r++, set = next_set(set)) {
            int64_t first = place_of(coupling, behind, 0, set);
            absorb_row(coupling, vertex, put_at(set, ~vertex->ends), in, out,
                       stride,
                       (struct entries){coupling->there[0] + first,
                                        coupling->there[1] + first});
        }
    }
}

enum pricer_status pri_coupling_sum(struct pri_coupling *coupling,
                                    int32_t depth, double complex *sum)
{
    enum pricer_status status =
        reserve(coupling, sets_up_to(coupling, coupling->widest, depth));
    if (status != PRICER_OK)
        return status;
    coupling->here[0][0] = 1;
    coupling->here[1][0] = 0;
    for (int32_t v = 0; v < coupling->vertices; v++) {
        absorb(coupling, &coupling->vertex[v], depth);
        for (int k = 0; k < 2; k++) {
            double *swap = coupling->here[k];
            coupling->here[k] = coupling->there[k];
            coupling->there[k] = swap;
        }
    }
    *sum = coupling->here[0][0] + coupling->here[1][0] * I;
    return PRICER_OK;
}
