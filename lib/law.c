/*
 * From independent numbers to the law of their sum, bounded from one side.
 *
 * A sum is computed on several grids at once. Each has the same number of cells
 * and reaches a quarter as far as the one before, so that a law that spreads
 * over many orders of magnitude is resolved everywhere; what falls off a fine
 * grid is left to the coarser ones. Every grid by itself bounds the law, since
 * values are rounded to its side. Each value is looked up on the finest grid
 * that reaches it, and where the grids disagree the better bound is carried
 * on, so that the result is a law again.
 *
 * All terms are positive, so a mass has a relative error of a few units in the
 * last place for each step, whatever its size; the 1e-9 that pri_law_delta()
 * adds pays for it many times over.
 */
#include "law.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As many subsets are listed one by one. */
#define SUBSETS_MOST 2048

void pri_law_free(struct pri_law *law)
{
    free(law->value);
    free(law->mass);
    *law = (struct pri_law){0};
}

enum pricer_status pri_law_reserve(struct pri_law *law, int32_t count)
{
    if (count <= law->room)
        return PRICER_OK;
    int32_t room = count > 2 * law->room ? count : 2 * law->room;
    double *value = realloc(law->value, (size_t)room * sizeof *value);
    if (value != NULL)
        law->value = value;
    double *mass = realloc(law->mass, (size_t)room * sizeof *mass);
    if (mass != NULL)
        law->mass = mass;
    if (value == NULL || mass == NULL)
        return PRICER_MEMORY;
    law->room = room;
    return PRICER_OK;
}

void pri_law_add(struct pri_law *law, double value, double mass)
{
    if (!(mass > 0))
        return;
    assert(law->count < law->room);
    law->value[law->count] = value;
    law->mass[law->count++] = mass;
}

void pri_grid_free(struct pri_grid *grid)
{
    free(grid->mass);
    free(grid->sum);
    free(grid->spare);
    free(grid->tail);
    free(grid->cell);
    pri_law_free(&grid->one);
    pri_law_free(&grid->two);
    *grid = (struct pri_grid){0};
}

enum pricer_status pri_grid_reserve(struct pri_grid *grid, int32_t cells)
{
    int64_t row = (int64_t)cells + 2;
    if (row > grid->room) {
        free(grid->mass);
        free(grid->sum);
        free(grid->spare);
        free(grid->tail);
        free(grid->cell);
        grid->mass = pri_alloc(PRI_SCALES * row, sizeof(double));
        grid->sum = pri_alloc(row, sizeof(double));
        grid->spare = pri_alloc(row, sizeof(double));
        grid->tail = pri_alloc(row, sizeof(double));
        grid->cell = pri_alloc(row, sizeof(double));
        bool all =
            grid->mass && grid->sum && grid->spare && grid->tail && grid->cell;
        grid->room = all ? row : 0;
        if (!all)
            return PRICER_MEMORY;
    }
    grid->cells = cells;
    return PRICER_OK;
}

double *pri_grid_row(const struct pri_grid *grid, int32_t scale)
{
    return grid->mass + (int64_t)scale * (grid->cells + 1);
}

int32_t pri_grid_cell(double value, double step, enum pri_side side,
                      int32_t cells)
{
    double at = value / step;
    at = side == PRI_BELOW ? floor(at) : ceil(at);
    return at > cells ? cells + 1 : (int32_t)at;
}

/* --------------------------------------------------------------- subsets -- */

/* Add one number to a listed law: merge the law with itself, moved. */
static void list_another(double size, double chance, const struct pri_law *from,
                         struct pri_law *to)
{
    int32_t stay = 0, move = 0;
    to->count = 0;
    while (move < from->count) {
        double still = stay < from->count ? from->value[stay] : INFINITY;
        double moved = from->value[move] + size;
        double value = fmin(still, moved), mass = 0;
        if (still == value)
            mass += from->mass[stay++] * (1 - chance);
        if (moved == value)
            mass += from->mass[move++] * chance;
        pri_law_add(to, value, mass);
    }
}

static enum pricer_status list_subsets(const double *size, const double *chance,
                                       int32_t count, struct pri_grid *grid,
                                       struct pri_law *law)
{
    struct pri_law *from = &grid->one, *to = &grid->two;
    enum pricer_status status = pri_law_reserve(from, 2 * SUBSETS_MOST);
    if (status == PRICER_OK)
        status = pri_law_reserve(to, 2 * SUBSETS_MOST);
    if (status == PRICER_OK)
        status = pri_law_reserve(law, 2 * SUBSETS_MOST);
    if (status != PRICER_OK)
        return status;
    from->count = 0;
    pri_law_add(from, 0, 1);
    for (int32_t k = 0; k < count; k++) {
        list_another(size[k], chance[k], from, to);
        struct pri_law *swap = from;
        from = to;
        to = swap;
    }
    law->count = 0;
    for (int32_t k = 0; k < from->count; k++)
        pri_law_add(law, from->value[k], from->mass[k]);
    return PRICER_OK;
}

/* The subset sums on one grid; what falls off it is lost. O(count cells). */
static void draw_on_scale(const double *size, const double *chance,
                          int32_t count, enum pri_side side, int32_t scale,
                          struct pri_grid *grid)
{
    double *mass = pri_grid_row(grid, scale);
    int32_t cells = grid->cells, reached = 0;
    memset(mass, 0, ((size_t)cells + 1) * sizeof *mass);
    mass[0] = 1;
    for (int32_t k = 0; k < count; k++) {
        int32_t move = pri_grid_cell(size[k], grid->step[scale], side, cells);
        double yes = chance[k], no = 1 - yes;
        if (move == 0)
            continue;
        reached = reached + move > cells ? cells : reached + move;
        for (int32_t z = reached; z >= move; z--)
            mass[z] = no * mass[z] + yes * mass[z - move];
        for (int32_t z = (move > cells ? cells + 1 : move) - 1; z >= 0; z--)
            mass[z] *= no;
    }
}

void pri_make_monotone(double *cum, int32_t count, bool upper)
{
    if (upper)
        for (int32_t k = count - 2; k >= 0; k--)
            cum[k] = fmin(cum[k], cum[k + 1]);
    else
        for (int32_t k = 1; k < count; k++)
            cum[k] = fmax(cum[k], cum[k - 1]);
}

/* P(sum <= z) for rising z, each from the finest grid that reaches it. */
static enum pricer_status join_scales_up(const struct pri_grid *grid,
                                         enum pri_side side,
                                         struct pri_law *law)
{
    int32_t cells = grid->cells, border = cells / 4, last = grid->scales - 1;
    enum pricer_status status =
        pri_law_reserve(law, grid->scales * (cells + 1) + 1);
    if (status != PRICER_OK)
        return status;
    law->count = 0;
    for (int32_t scale = last; scale >= 0; scale--) {
        const double *mass = pri_grid_row(grid, scale);
        double sum = 0;
        for (int32_t z = 0; z <= cells; z++) {
            sum += mass[z];
            if (scale < last && z <= border)
                continue;
            law->value[law->count] = z * grid->step[scale];
            law->mass[law->count++] = sum;
        }
    }
    pri_make_monotone(law->mass, law->count, side == PRI_BELOW);
    int32_t kept = 0;
    double before = 0;
    for (int32_t k = 0; k < law->count; k++) {
        double now = law->mass[k];
        if (now > before) {
            law->value[kept] = law->value[k];
            law->mass[kept++] = now - before;
            before = now;
        }
    }
    law->count = kept;
    double top = side == PRI_BELOW ? cells * grid->step[0] : INFINITY;
    pri_law_add(law, top, before < 1 ? 1 - before : 0);
    return PRICER_OK;
}

/*
 * Whether the law below the border of the last grid is worth a finer one: some
 * mass is there, something can be there, and the grid is coarse for it.
 */
static bool worth_finer(const double *size, int32_t count, double offset,
                        double ignore, const struct pri_grid *grid)
{
    int32_t last = grid->scales - 1, border = grid->cells / 4;
    const double *mass = pri_grid_row(grid, last);
    double reach = grid->step[last] * border, smallest = INFINITY, sum = 0;
    if (grid->scales == PRI_SCALES)
        return false;
    for (int32_t k = 0; k < count; k++)
        smallest = fmin(smallest, size[k]);
    for (int32_t z = 0; z <= border; z++)
        sum += mass[z];
    return sum > ignore && smallest < reach &&
           count * grid->step[last] > 1e-3 * (offset + reach);
}

enum pricer_status pri_law_subset(const double *size, const double *chance,
                                  int32_t count, double offset,
                                  enum pri_side side, int32_t cells,
                                  double ignore, struct pri_grid *grid,
                                  struct pri_law *law)
{
    if (count <= 30 && (1 << count) <= SUBSETS_MOST)
        return list_subsets(size, chance, count, grid, law);
    enum pricer_status status = pri_grid_reserve(grid, cells);
    if (status != PRICER_OK)
        return status;
    double sum = 0;
    for (int32_t k = 0; k < count; k++)
        sum += size[k];
    /* From above each term may grow by one cell. */
    int32_t fit =
        side == PRI_ABOVE && count < cells / 2 ? cells - count : cells;
    double step = sum / fit * (1 + 1e-12);
    grid->scales = 0;
    do {
        grid->step[grid->scales] = step;
        grid->scales++;
        draw_on_scale(size, chance, count, side, grid->scales - 1, grid);
        step /= 4;
    } while (worth_finer(size, count, offset, ignore, grid));
    return join_scales_up(grid, side, law);
}
