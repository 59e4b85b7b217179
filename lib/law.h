/*
 * Laws of sums of independent nonnegative numbers, bounded from one side.
 *
 * A law is a list of atoms. The law that a function hands out is not the true
 * one but lies to a known side of it: below (P(law > z) <= P(true > z) for
 * every z) or above. Every rounding, of a value to a grid or of a sum that
 * falls off it, is to that side, so the expectation of a growing function over
 * the law is a bound on the true one.
 */
#ifndef PRICER_LAW_H
#define PRICER_LAW_H

#include "privacy.h"

enum pri_side { PRI_BELOW, PRI_ABOVE };

/* Atoms in rising order; the last value may be INFINITY. Zeroed, it is empty;
 * it keeps its memory from use to use. */
struct pri_law {
    int32_t count, room;
    double *value, *mass;
};

void pri_law_free(struct pri_law *law);
enum pricer_status pri_law_reserve(struct pri_law *law, int32_t count);

/* Add an atom at the end; there must be room. Nothing happens if mass is 0. */
void pri_law_add(struct pri_law *law, double value, double mass);

enum { PRI_SCALES = 24 };

/*
 * Scratch of the sums: nested grids from 0, each with the same number of cells
 * and a quarter of the reach of the one before. One for each thread.
 */
struct pri_grid {
    int32_t cells, scales;
    double step[PRI_SCALES];
    double over[PRI_SCALES]; /* finite, but beyond the last cell */
    double infinite;
    double *mass;                      /* [scales][cells + 1] */
    double *sum, *spare, *tail, *cell; /* [cells + 2] */
    int64_t room;
    struct pri_law one, two;
};

void pri_grid_free(struct pri_grid *grid);
enum pricer_status pri_grid_reserve(struct pri_grid *grid, int32_t cells);

/* The masses of one scale. */
double *pri_grid_row(const struct pri_grid *grid, int32_t scale);

/* The cell of a value, rounded to its side; cells + 1 if it is beyond. */
int32_t pri_grid_cell(double value, double step, enum pri_side side,
                      int32_t cells);

/*
 * Bounds cum[0..count-1] on a probability that grows along the list, each valid
 * by itself: of an upper bound and a smaller one further on the smaller holds,
 * of a lower bound and a larger one before it the larger.
 */
void pri_make_monotone(double *cum, int32_t count, bool upper);

/*
 * The law of the sum of size[k] over the k that are drawn, each by itself with
 * probability chance[k]. Exact (but for rounding to double) up to 2^11 subsets;
 * beyond, on grids of `cells` cells, fine enough relative to `offset` + the
 * sum, wherever the law has more than `ignore` of its mass below.
 */
enum pricer_status pri_law_subset(const double *size, const double *chance,
                                  int32_t count, double offset,
                                  enum pri_side side, int32_t cells,
                                  double ignore, struct pri_grid *grid,
                                  struct pri_law *law);

/*
 * Sums of up to `terms` independent terms, collected with weights that add up
 * to 1: begin, add as many as there are, end. Values between `low` and `top`
 * are resolved to about one part in `cells` / 4; a finite sum above `top`
 * becomes `top` below and INFINITY above, one under `low` keeps an error of low
 * / cells.
 */
enum pricer_status pri_law_sum_begin(double low, double top, int32_t terms,
                                     int32_t cells, struct pri_grid *grid);
void pri_law_sum_add(const struct pri_law *const *terms, int32_t count,
                     enum pri_side side, double weight, struct pri_grid *grid);
enum pricer_status pri_law_sum_end(enum pri_side side, struct pri_grid *grid,
                                   struct pri_law *law);

/* The law of `times` independent copies, by doubling, on the same grids. */
enum pricer_status pri_law_repeat(const struct pri_law *once, int64_t times,
                                  enum pri_side side, double low, double top,
                                  int32_t cells, struct pri_grid *grid,
                                  struct pri_law *law);

/* Join atoms whose values lie within the factor `ratio`, and those under
 * `low`, each to its side. */
void pri_law_thin(double low, double ratio, enum pri_side side,
                  struct pri_law *law);

/*
 * The expected delta of a Gaussian mechanism whose mu^2 has this law, and its
 * derivative by eps; to the side. Claim: with a law from above it is at least
 * the true expectation, floating point included.
 */
double pri_law_delta(const struct pri_law *law, double eps, enum pri_side side,
                     double *by_eps);

/*
 * Where that is `delta`: above, an eps at which it is at most delta; below, one
 * at which it is at least delta, or 0. INFINITY if an infinite mu alone costs
 * more. `spare` is scratch.
 */
enum pricer_status pri_law_eps(const struct pri_law *law, double delta,
                               enum pri_side side, struct pri_law *spare,
                               double *eps);

#endif
