/*
 * From the laws of independent terms to the law of their sum, on the nested
 * grids of law.c, and from the law of one round to that of many.
 */
#include "law.h"

#include <math.h>
#include <string.h>

enum pricer_status pri_law_sum_begin(double low, double top, int32_t terms,
                                     int32_t cells, struct pri_grid *grid)
{
    enum pricer_status status = pri_grid_reserve(grid, cells);
    if (status != PRICER_OK)
        return status;
    /* Each term may be rounded up by a cell. */
    top *= 1 + (terms + 1.) / cells;
    grid->scales = 0;
    do {
        grid->step[grid->scales] = top / cells;
        grid->over[grid->scales] = 0;
        grid->scales++;
        top /= 4;
    } while (top > low && grid->scales < PRI_SCALES);
    grid->infinite = 0;
    memset(grid->mass, 0,
           (size_t)grid->scales * ((size_t)cells + 1) * sizeof(double));
    return PRICER_OK;
}

/* One term on one grid, grid->cell[*first..*last], and what is beyond. */
static double place_term(const struct pri_law *term, double step,
                         enum pri_side side, struct pri_grid *grid,
                         int32_t *first, int32_t *last)
{
    double beyond = 0;
    int32_t cells = grid->cells;
    memset(grid->cell, 0, ((size_t)cells + 1) * sizeof(double));
    *first = cells + 1;
    *last = -1;
    for (int32_t k = 0; k < term->count; k++) {
        if (isinf(term->value[k]))
            continue;
        int32_t cell = pri_grid_cell(term->value[k], step, side, cells);
        if (cell > cells) {
            beyond += term->mass[k];
            continue;
        }
        grid->cell[cell] += term->mass[k];
        *first = cell < *first ? cell : *first;
        *last = cell > *last ? cell : *last;
    }
    return beyond;
}

/*
 * grid->sum[0..*reached] convolved with one term. The finite mass off the grid
 * is what was there before and stays finite, and every pair of cells (or cell
 * and term beyond) that add up to more than the grid. O(cells^2).
 */
static void convolve(const struct pri_law *term, double step,
                     enum pri_side side, struct pri_grid *grid, double *over,
                     int32_t *reached)
{
    int32_t cells = grid->cells, first, last;
    double *tail = grid->tail, lost = 0;
    tail[cells + 1] = place_term(term, step, side, grid, &first, &last);
    for (int32_t k = cells; k >= 0; k--)
        tail[k] = tail[k + 1] + grid->cell[k];
    for (int32_t z = *reached; z >= 0; z--)
        lost += grid->sum[z] * tail[cells - z + 1];
    *over = *over * tail[0] + lost;
    memset(grid->spare, 0, ((size_t)cells + 1) * sizeof(double));
    for (int32_t k = first; k <= last; k++) {
        double mass = grid->cell[k], *to = grid->spare + k;
        const double *from = grid->sum;
        int32_t end = *reached < cells - k ? *reached : cells - k;
        for (int32_t z = 0; mass > 0 && z <= end; z++)
            to[z] += mass * from[z];
    }
    *reached = last < 0 ? 0 : *reached + last;
    *reached = *reached > cells ? cells : *reached;
    double *swap = grid->sum;
    grid->sum = grid->spare;
    grid->spare = swap;
}

void pri_law_sum_add(const struct pri_law *const *terms, int32_t count,
                     enum pri_side side, double weight, struct pri_grid *grid)
{
    double infinite = 0;
    for (int32_t k = 0; k < count; k++) {
        const struct pri_law *term = terms[k];
        if (term->count > 0 && isinf(term->value[term->count - 1]))
            infinite += (1 - infinite) * term->mass[term->count - 1];
    }
    grid->infinite += weight * infinite;
    for (int32_t scale = 0; scale < grid->scales; scale++) {
        double over = 0, *mass = pri_grid_row(grid, scale);
        int32_t reached = 0;
        memset(grid->sum, 0, ((size_t)grid->cells + 1) * sizeof(double));
        grid->sum[0] = 1;
        for (int32_t k = 0; k < count; k++)
            convolve(terms[k], grid->step[scale], side, grid, &over, &reached);
        for (int32_t z = 0; z <= reached; z++)
            mass[z] += weight * grid->sum[z];
        grid->over[scale] += weight * over;
    }
}

static void reverse(struct pri_law *law)
{
    for (int32_t a = 0, b = law->count - 1; a < b; a++, b--) {
        double value = law->value[a], mass = law->mass[a];
        law->value[a] = law->value[b];
        law->mass[a] = law->mass[b];
        law->value[b] = value;
        law->mass[b] = mass;
    }
}

/* P(sum >= z) for falling z, each from the finest grid that reaches it. */
enum pricer_status pri_law_sum_end(enum pri_side side, struct pri_grid *grid,
                                   struct pri_law *law)
{
    int32_t cells = grid->cells, border = cells / 4, last = grid->scales - 1;
    enum pricer_status status =
        pri_law_reserve(law, grid->scales * (cells + 1) + 1);
    if (status != PRICER_OK)
        return status;
    double before = grid->infinite;
    before += side == PRI_ABOVE ? grid->over[0] : 0;
    law->count = 0;
    for (int32_t scale = 0; scale <= last; scale++) {
        const double *mass = pri_grid_row(grid, scale);
        double sum = grid->infinite + grid->over[scale];
        for (int32_t z = cells; z > (scale < last ? border : -1); z--) {
            sum += mass[z];
            law->value[law->count] = z * grid->step[scale];
            law->mass[law->count++] = sum;
        }
    }
    pri_make_monotone(law->mass, law->count, side == PRI_ABOVE);
    int32_t points = law->count;
    double infinite = before;
    law->count = 0;
    for (int32_t k = 0; k < points; k++) {
        double now = law->mass[k], value = law->value[k];
        if (now > before) {
            law->value[law->count] = value;
            law->mass[law->count++] = now - before;
            before = now;
        }
    }
    reverse(law);
    pri_law_add(law, INFINITY, infinite);
    return PRICER_OK;
}

static enum pricer_status copy_law(const struct pri_law *from,
                                   struct pri_law *to)
{
    enum pricer_status status = pri_law_reserve(to, from->count);
    if (status != PRICER_OK)
        return status;
    memcpy(to->value, from->value, (size_t)from->count * sizeof(double));
    memcpy(to->mass, from->mass, (size_t)from->count * sizeof(double));
    to->count = from->count;
    return PRICER_OK;
}

/* *sum = *sum + term, on the grids between low and top. */
static enum pricer_status add_law(const struct pri_law *term,
                                  enum pri_side side, double low, double top,
                                  int32_t cells, struct pri_grid *grid,
                                  struct pri_law *sum)
{
    const struct pri_law *terms[] = {sum, term};
    enum pricer_status status = pri_law_sum_begin(low, top, 2, cells, grid);
    if (status != PRICER_OK)
        return status;
    pri_law_sum_add(terms, 2, side, 1, grid);
    return pri_law_sum_end(side, grid, sum);
}

/*
 * By doubling: each step rounds once, so the error is about 2 log2(times) cells
 * and not `times`. Fewer rounds have smaller sums and get a lower `low`.
 */
enum pricer_status pri_law_repeat(const struct pri_law *once, int64_t times,
                                  enum pri_side side, double low, double top,
                                  int32_t cells, struct pri_grid *grid,
                                  struct pri_law *law)
{
    struct pri_law power = {0};
    double share = low / (double)times;
    top *= 1 + 4 * (1 + log2((double)times)) / cells; /* room to round up */
    bool begun = false;
    enum pricer_status status = copy_law(once, &power);
    for (int64_t left = times, rounds = 1; left > 0 && status == PRICER_OK;
         left /= 2, rounds *= 2) {
        if (left % 2 == 1 && begun)
            status = add_law(&power, side, share * (double)rounds, top, cells,
                             grid, law);
        else if (left % 2 == 1)
            status = copy_law(&power, law);
        begun = begun || left % 2 == 1;
        if (left > 1 && status == PRICER_OK)
            status = add_law(&power, side, share * (double)rounds, top, cells,
                             grid, &power);
    }
    pri_law_free(&power);
    return status;
}

void pri_law_thin(double low, double ratio, enum pri_side side,
                  struct pri_law *law)
{
    int32_t kept = 0;
    for (int32_t k = 0; k < law->count;) {
        double first = law->value[k], reach = fmax(first * ratio, low);
        double mass = 0, value = first;
        for (; k < law->count && law->value[k] <= reach; k++) {
            mass += law->mass[k];
            value = side == PRI_ABOVE ? law->value[k] : first;
        }
        law->value[kept] = value;
        law->mass[kept++] = mass;
    }
    law->count = kept;
}
