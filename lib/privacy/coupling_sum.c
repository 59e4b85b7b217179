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

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Indices of one path, at most. */
#define INDICES_MOST 3e7

/* How many sets of n edges have k, and how many have at most k. */
static int64_t choose(const struct pri_coupling *coupling, int32_t n, int32_t k)
{
    return coupling->binomial[n][k];
}

static int64_t sets_up_to(const struct pri_coupling *coupling, int32_t n,
                          int32_t k)
{
    int64_t all = 0;
    for (int32_t j = 0; j <= k && j <= n; j++)
        all += choose(coupling, n, j);
    return all;
}

/* The place of a set among those of n edges. */
static int32_t place_of(const struct pri_coupling *coupling, int32_t n,
                        uint64_t set)
{
    int32_t count = 0;
    int64_t place = 0;
    for (; set != 0; set &= set - 1) {
        place += choose(coupling, n, count);
        place += choose(coupling, __builtin_ctzll(set), ++count);
    }
    return (int32_t)place;
}

/* The next larger set of as many edges. */
static uint64_t next_set(uint64_t set)
{
    uint64_t low = set & -set, sum = set + low;
    return set == 0 || low == 0 ? 0 : sum | (((set ^ sum) >> 2) / low);
}

/* Edges in sets of positions, from the bits of a small set. */
static uint64_t spread(uint64_t set, const int32_t *position)
{
    uint64_t all = 0;
    for (; set != 0; set &= set - 1)
        all |= (uint64_t)1 << position[__builtin_ctzll(set)];
    return all;
}

/* ------------------------------------------------------------------ path -- */

/* The open edges of one moment, by position. */
struct open {
    int32_t count;
    int32_t edge[PRI_CUT_MOST + PRI_BITS_MOST];
};

static int32_t position_of(const struct open *open, int32_t edge)
{
    for (int32_t k = 0; k < open->count; k++)
        if (open->edge[k] == edge)
            return k;
    assert(false);
    return -1;
}

/* What is open behind a vertex. */
static struct open open_behind(const struct pri_vertex *vertex,
                               const struct open *before)
{
    struct open after = {0};
    for (int32_t k = 0; k < before->count; k++) {
        bool ends = false;
        for (int32_t b = 0; b < vertex->before; b++)
            ends = ends || vertex->bit[b].edge == before->edge[k];
        if (!ends)
            after.edge[after.count++] = before->edge[k];
    }
    for (int32_t b = vertex->before; b < vertex->degree; b++)
        after.edge[after.count++] = vertex->bit[b].edge;
    return after;
}

/* Rows of a step with `edges` edges, and sets that they meet and become. */
static void sizes_of(const struct pri_coupling *coupling,
                     const struct pri_step *step, int32_t depth, int32_t edges,
                     int64_t *rows, int32_t *in, int32_t *out)
{
    *rows = choose(coupling, step->rest, edges);
    *in = (int32_t)sets_up_to(coupling, step->before, depth - edges);
    *out = (int32_t)sets_up_to(coupling, step->after, depth - edges);
}

/* The steps without their indices, and what they take. */
static void measure(const struct pri_coupling *coupling, int32_t depth,
                    struct pri_path *path)
{
    int32_t open = 0;
    *path = (struct pri_path){.step = path->step, .entries = 1};
    for (int32_t v = 0; v < coupling->vertices; v++) {
        const struct pri_vertex *vertex = &coupling->vertex[v];
        struct pri_step step = {.before = vertex->before,
                                .after = vertex->degree - vertex->before,
                                .rest = open - vertex->before};
        int32_t in, out;
        int64_t rows, entries;
        open = step.rest + step.after;
        entries = sets_up_to(coupling, open, depth);
        path->entries = entries > path->entries ? entries : path->entries;
        for (int32_t j = 0; j <= depth; j++) {
            sizes_of(coupling, &step, depth, j, &rows, &in, &out);
            path->cost += (double)rows * ((double)in * out + 2 * (in + out));
            path->indices += (double)rows * (in + out);
        }
        if (path->step != NULL)
            path->step[v] = step;
    }
}

/* Where the sets of `bits` bits go: by the number of bits, then by size. */
static bool rank_sets(struct pri_coupling *coupling, int32_t bits)
{
    if (coupling->rank[bits] != NULL)
        return true;
    int32_t *rank = pri_alloc((int64_t)1 << bits, sizeof *rank);
    coupling->rank[bits] = rank;
    for (uint32_t x = 0; rank != NULL && x < (uint32_t)1 << bits; x++)
        rank[x] = place_of(coupling, bits, x);
    return rank != NULL;
}

/* Positions of the edges of a vertex, and of those that pass it by, in the
 * moments before and behind it. */
struct positions {
    int32_t pass[2][PRI_CUT_MOST + PRI_BITS_MOST];
    int32_t end[PRI_BITS_MOST], begin[PRI_BITS_MOST];
};

static void set_positions(const struct pri_vertex *vertex,
                          const struct open *before, const struct open *after,
                          int32_t rest, struct positions *at)
{
    for (int32_t k = 0; k < rest; k++) {
        at->pass[0][k] = position_of(before, after->edge[k]);
        at->pass[1][k] = k;
    }
    for (int32_t b = 0; b < vertex->before; b++)
        at->end[b] = position_of(before, vertex->bit[b].edge);
    for (int32_t b = vertex->before; b < vertex->degree; b++)
        at->begin[b - vertex->before] = rest + b - vertex->before;
}

/* The places of the sets that a row has together with all sets of `bits` bits
 * that are among the first `count`. */
static void fill_row(const struct pri_coupling *coupling, int32_t bits,
                     int32_t count, int32_t open, uint64_t row,
                     const int32_t *position, int32_t *place)
{
    const int32_t *rank = coupling->rank[bits];
    for (uint32_t x = 0; x < (uint32_t)1 << bits; x++)
        if (rank[x] < count)
            place[rank[x]] =
                place_of(coupling, open, row | spread(x, position));
}

/* Indices of one step. */
static enum pricer_status fill_step(const struct pri_coupling *coupling,
                                    int32_t v, const struct open *before,
                                    const struct open *after, int32_t depth,
                                    struct pri_step *step)
{
    struct positions at;
    int32_t in, out;
    int64_t rows, ins = 0, outs = 0;
    for (int32_t j = 0; j <= depth; j++) {
        sizes_of(coupling, step, depth, j, &rows, &in, &out);
        ins += rows * in;
        outs += rows * out;
    }
    int32_t *from = step->from = pri_alloc(ins, sizeof *step->from);
    int32_t *to = step->to = pri_alloc(outs, sizeof *step->to);
    if (from == NULL || to == NULL)
        return PRICER_MEMORY;
    set_positions(&coupling->vertex[v], before, after, step->rest, &at);
    for (int32_t j = 0; j <= depth; j++) {
        sizes_of(coupling, step, depth, j, &rows, &in, &out);
        uint64_t row = ((uint64_t)1 << j) - 1;
        for (int64_t r = 0; r < rows; r++, row = next_set(row)) {
            fill_row(coupling, step->before, in, before->count,
                     spread(row, at.pass[0]), at.end, from);
            fill_row(coupling, step->after, out, after->count,
                     spread(row, at.pass[1]), at.begin, to);
            from += in;
            to += out;
        }
    }
    return PRICER_OK;
}

double pri_coupling_cost(struct pri_coupling *coupling, int32_t depth)
{
    struct pri_path *path = &coupling->path[depth];
    if (path->cost == 0)
        measure(coupling, depth, path);
    return path->indices > INDICES_MOST ? INFINITY : 2 * path->cost;
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

static enum pricer_status prepare(struct pri_coupling *coupling, int32_t depth)
{
    struct pri_path *path = &coupling->path[depth];
    struct open before = {0};
    enum pricer_status status = PRICER_OK;
    if (path->step != NULL)
        return reserve(coupling, path->entries);
    path->step = pri_alloc(coupling->vertices, sizeof *path->step);
    if (path->step == NULL)
        return PRICER_MEMORY;
    measure(coupling, depth, path);
    for (int32_t v = 0; v < coupling->vertices && status == PRICER_OK; v++) {
        struct open after = open_behind(&coupling->vertex[v], &before);
        struct pri_step *step = &path->step[v];
        status = rank_sets(coupling, step->before) &&
                         rank_sets(coupling, step->after)
                     ? fill_step(coupling, v, &before, &after, depth, step)
                     : PRICER_MEMORY;
        before = after;
    }
    return status == PRICER_OK ? reserve(coupling, path->entries) : status;
}

/* ------------------------------------------------------------------- sum -- */

/* A vertex as a matrix: sets of edges that end there, by those that begin. */
static void set_matrix(struct pri_coupling *coupling,
                       const struct pri_vertex *vertex,
                       const struct pri_step *step)
{
    const int32_t *end = coupling->rank[step->before];
    const int32_t *begin = coupling->rank[step->after];
    for (uint32_t out = 0; out < (uint32_t)1 << step->after; out++)
        for (uint32_t in = 0; in < (uint32_t)1 << step->before; in++) {
            int64_t at = ((int64_t)end[in] << step->after) + begin[out];
            uint32_t x = in | out << step->before;
            coupling->even_re[at] = vertex->part_re[x];
            coupling->even_im[at] = vertex->part_im[x];
        }
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

/* Absorb one vertex. */
PRI_CLONES static void absorb(struct pri_coupling *coupling,
                              const struct pri_step *step, int32_t depth)
{
    enum { SOME = 64 };
    double sum_re[SOME], sum_im[SOME];
    const int32_t *from = step->from, *to = step->to;
    struct entries row = {coupling->work_re, coupling->work_im};
    struct entries sum = {sum_re, sum_im};
    int32_t in, out;
    int64_t rows;
    for (int32_t j = 0; j <= depth; j++) {
        sizes_of(coupling, step, depth, j, &rows, &in, &out);
        for (int64_t r = 0; r < rows; r++, from += in, to += out) {
            for (int32_t k = 0; k < in; k++) {
                row.re[k] = coupling->here[0][from[k]];
                row.im[k] = coupling->here[1][from[k]];
            }
            for (int32_t first = 0; first < out; first += SOME) {
                int32_t some = out - first < SOME ? out - first : SOME;
                struct entries matrix = {coupling->even_re + first,
                                         coupling->even_im + first};
                times_matrix(row, in, matrix, (int64_t)1 << step->after, some,
                             sum);
                for (int32_t k = 0; k < some; k++) {
                    coupling->there[0][to[first + k]] = sum_re[k];
                    coupling->there[1][to[first + k]] = sum_im[k];
                }
            }
        }
    }
}

enum pricer_status pri_coupling_sum(struct pri_coupling *coupling,
                                    int32_t depth, double complex *sum)
{
    enum pricer_status status = prepare(coupling, depth);
    if (status != PRICER_OK)
        return status;
    coupling->here[0][0] = 1;
    coupling->here[1][0] = 0;
    for (int32_t v = 0; v < coupling->vertices; v++) {
        const struct pri_step *step = &coupling->path[depth].step[v];
        set_matrix(coupling, &coupling->vertex[v], step);
        absorb(coupling, step, depth);
        for (int k = 0; k < 2; k++) {
            double *swap = coupling->here[k];
            coupling->here[k] = coupling->there[k];
            coupling->there[k] = swap;
        }
    }
    *sum = coupling->here[0][0] + coupling->here[1][0] * I;
    return PRICER_OK;
}
