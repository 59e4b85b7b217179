/*
 * Laws of sums of independent nonnegative numbers, bounded from one side.
 *
 * A law is a list of atoms. What a function hands out is not the true law but
 * one that bounds it, in an order made for what the laws are for. Write
 *
 *     f(x) = delta_G(eps; sqrt(x)),   f'(x) = c x^(-1/2) e^(-eps^2/2x - x/8),
 *
 * the privacy curve as a function of x = mu^2. A law is above another, X <= U,
 * if E f(a + X) <= E f(a + U) for every a >= 0 and eps >= 0; below the same way
 * round. Sums of independent laws and mixtures keep that order, so every step
 * of an account may replace a law by one above (or below) it and the end is a
 * bound. Two ways to do so with less than the error of rounding all values up:
 *
 * From f''/f' = eps^2/2x^2 - 1/8 - 1/2x >= -(1/8 + 1/2m) for x >= m it follows
 * that f is a convex function of u = e^(-curvature x), curvature = 1/8 + 1/2m, on
 * [m, oo). By Jensen, then, a group of atoms in [m, M] may be spread to its
 * ends, keeping its mean of u: a law above; or gathered at one point, keeping
 * that mean: a law below. Either changes expectations to the second order of
 * M - m only.
 *
 * The same holds for the variance z that divides a signal s: k(z) = f(a + s/z)
 * falls, k''/|k'| >= -(s/8z^2 - 3/2z), so k is convex in e^(curvature z), curvature =
 * max(0, s/8z^2 - 3/2z) at the least z of the group (the bound falls with z
 * while it is positive).
 */
#ifndef PRICER_LAW_H
#define PRICER_LAW_H

#include "calibrate/calibrate.h"

#include <string.h>

enum pri_side { PRI_BELOW, PRI_ABOVE };

/* Atoms in rising order; the last value may be INFINITY. Zeroed, it is empty;
 * it keeps its memory from use to use. */
struct pri_law {
    int32_t count, room;
    double *value, *mass;
};

void pri_law_free(struct pri_law *law);

/* The mass at infinity; the least positive and the largest finite value, or
 * 0. */
double pri_law_infinite(const struct pri_law *law);
double pri_law_least(const struct pri_law *law);
double pri_law_most(const struct pri_law *law);

enum pricer_status pri_law_reserve(struct pri_law *law, int32_t count);
enum pricer_status pri_law_copy(const struct pri_law *from, struct pri_law *to);

/* Add an atom at the end; there must be room. Nothing happens if mass is 0. */
void pri_law_add(struct pri_law *law, double value, double mass);

/* What the numbers of a law are, which decides how they are grouped. */
enum pri_kind {
    PRI_SIGNAL,   /* mu^2 */
    PRI_VARIANCE, /* the variance that divides a signal; sides are those of
                     mu^2: above is less noise */
    PRI_ORDERED,  /* a variance of which only the order is used: above takes the
                     least of a group, below the largest */
};

/* How to group atoms. */
struct pri_shape {
    enum pri_side side;
    enum pri_kind kind;
    int32_t bits;  /* a group reaches over 2^-bits of offset + value, or less
                      where that makes no more than some 2^(bits + 2) groups */
    double offset; /* of a variance: what is always there; of a signal: what is
                      smaller need not be resolved any better */
    double tail;   /* mass at either end that may be given up */
    double dust;   /* atoms of less mass may join a neighbour */
    double signal; /* of a variance: what it divides */
};

/* Scratch: atoms collected in groups. One for each thread. */
struct pri_bins {
    struct pri_shape shape;
    double pad; /* groups are by the leading bits of pad + distance */
    int64_t base;
    int32_t count, room, shift;
    double *mass, *moment, *least, *most; /* [room] */
    double infinite;
    double work; /* steps taken so far; the caller may reset it */
    struct pri_law one, two;
};

void pri_bins_free(struct pri_bins *bins);

/* The leading bits of a positive number: they grow with it. */
static inline int64_t pri_key_of(double value, int32_t shift)
{
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return (int64_t)(word >> shift);
}

/* One atom into its bin; 0 has one of its own. */
static inline void pri_bins_put(struct pri_bins *bins, double value,
                                double mass)
{
    int64_t bin =
        value > 0 ? pri_key_of(value + bins->pad, bins->shift) - bins->base + 1
                  : 0;
    if (bins->mass[bin] == 0)
        bins->least[bin] = bins->most[bin] = value;
    bins->least[bin] = value < bins->least[bin] ? value : bins->least[bin];
    bins->most[bin] = value > bins->most[bin] ? value : bins->most[bin];
    bins->mass[bin] += mass;
    bins->moment[bin] += mass * value;
}

/* Begin to collect: zeros, finite values from `least` to `most`, infinite ones.
 * Add all atoms of a law, times a weight. The bound. */
enum pricer_status pri_bins_begin(const struct pri_shape *shape, double least,
                                  double most, struct pri_bins *bins);
void pri_bins_add(const struct pri_law *law, double weight,
                  struct pri_bins *bins);
enum pricer_status pri_bins_end(struct pri_bins *bins, struct pri_law *law);

/* Let atoms of little mass join a neighbour, on the safe side. */
void pri_law_sweep(const struct pri_shape *shape, struct pri_law *law);

/* Group the atoms of a law. */
enum pricer_status pri_law_group(const struct pri_shape *shape,
                                 struct pri_bins *bins, struct pri_law *law);

/*
 * The law of the sum of size[k] over the k that are drawn, each by itself with
 * probability chance[k]. Exact (but for rounding to double) while there are few
 * atoms; grouped beyond.
 */
enum pricer_status pri_law_subset(const double *size, const double *chance,
                                  int32_t count, const struct pri_shape *shape,
                                  struct pri_bins *bins, struct pri_law *law);

/* *sum = the law of *sum + *term, independent; grouped. */
enum pricer_status pri_law_plus(const struct pri_law *term,
                                const struct pri_shape *shape,
                                struct pri_bins *bins, struct pri_law *sum);

/* The law of `times` independent copies, by doubling; the shape is that of the
 * whole sum. */
enum pricer_status pri_law_repeat(const struct pri_law *once, int64_t times,
                                  const struct pri_shape *shape,
                                  struct pri_bins *bins, struct pri_law *law);

/*
 * The expected delta of a Gaussian mechanism whose mu^2 has this law, and its
 * derivative by eps; to the side. Claim: with a law from above it is at least
 * the true expectation, floating point included. With a finite growth it is
 * that of the raised curve, the least one above f that begins at 0, whose f'
 * is at least that of f and nowhere grows by more than e^(growth x).
 */
double pri_law_delta(const struct pri_law *law, double eps, double growth,
                     enum pri_side side, double *by_eps);

/* By how much that curve is raised at most. */
double pri_raised_by(double eps, double growth);

/*
 * Where that is `delta`: above, an eps at which it is at most delta; below, one
 * at which it is at least delta, or 0. INFINITY if an infinite mu alone costs
 * more. `bins` and `spare` are scratch.
 */
enum pricer_status pri_law_eps(const struct pri_law *law, double delta,
                               double growth, enum pri_side side,
                               struct pri_bins *bins, struct pri_law *spare,
                               double *eps);

#endif
