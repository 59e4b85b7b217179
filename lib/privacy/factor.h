/*
 * The moment generating function of what one sum shows in a round,
 * Z(s) = unseen + seen E e^g, g the cumulant generating function of the loss
 * given the variance v of the noise. Data: g = s signal / v (PRI_MEAN) or
 * u (u + 1) signal / 2v (PRI_LOSS). Identities, their derivatives in v and how e^g
 * falls along a line: docs/mathematics.md, One sum.
 */
#ifndef PRICER_FACTOR_H
#define PRICER_FACTOR_H

#include "loss_line.h"

/* The variance in one sum: which of its noises are present is random, so it has
 * a law, a list of groups of values: a mass with a mean, a variance and the ends of
 * an interval, which is enough for the expectation of a smooth function. */
struct pri_variances {
    double mass, mean, spread, low, high;
    double mass_off, mean_off; /* in half units in the last place, at most */
};

/* Zeroed, it is empty; it keeps its memory from use to use. */
struct pri_law {
    int32_t count, room;
    double bare; /* mass of the patterns without a noise that hides */
    struct pri_variances *group;
};

void pri_law_free(struct pri_law *law);

/* The law of base + the noises present in a source, over the patterns with at
 * least `hide` in base or in one of the noises: what is left is as good as bare
 * (bare.c). chance and absent are indexed by noise; groups are no wider than
 * `width` times their low end, nor than what changes signal / variance by
 * `grain`, or some more where they are very many. O(noises groups). */
enum pricer_status pri_law_build(const struct pri_view *view, int32_t source,
                                 const double *chance, const double *absent,
                                 double hide, double width, double grain,
                                 struct pri_law *spare, struct pri_law *law);

/* The groups of a law from `loud` on, the last `quiet` apart, as few values, the
 * loud ones finer: for guesses, not for bounds. *still of them are quiet. Fails only where
 * the sketch has not had a law of as many groups before. */
enum pricer_status pri_law_sketch(const struct pri_law *law, int32_t loud,
                                  int32_t quiet, struct pri_law *sketch,
                                  int32_t *still);

/* Which generating function: of the data (dimension 0) or of the identity, in
 * one of the two directions. */
struct pri_function {
    enum pri_kernel kernel;
    int direction;
    double dimension;
};

/* Data: the s of PRI_MEAN at which its generating function is that of PRI_LOSS
 * at s. */
static inline double complex pri_mean_place(const struct pri_function *function,
                                            double complex s)
{
    return function->kernel == PRI_LOSS ? s * (1 + s) / 2 : s;
}

/* One sum, by itself, or a shell of it: the first `loud` groups, those with the
 * least noise, are left out, and the last `quiet` ones count with what is not
 * seen. Zeros are the whole law. */
struct pri_mgf {
    double signal, own, seen, unseen;
    struct pri_law law;
    int32_t loud, quiet;
    struct pri_law sketch; /* of the shell: so many of its values are quiet */
    int32_t still;
};

/* A bound on Z(s) = unseen + shown at a real s, both divided by e^offset, which
 * is returned; the quiet groups are in `unseen`. The functions below divide by
 * the offset at the real part of s as well. Unless s is real: a bound on the
 * size of both for all s with this real part and an imaginary part that is no
 * smaller. */
double pri_factor_real(const struct pri_function *function,
                       const struct pri_mgf *factor, double complex s,
                       double *shown, double *unseen);

/* The largest s for which that is finite, or INFINITY. */
double pri_factor_most(const struct pri_function *function,
                       const struct pri_mgf *factor);

/* What is shown, or the quiet groups, and how far it may be off, at
 * sigma + i n step for n < count. */
void pri_factor_along(const struct pri_function *function,
                      const struct pri_mgf *factor, bool quiet, double sigma,
                      double step, int32_t count, double complex *value,
                      double *error);

/* e^g at one variance; *units is how many units in the last place its relative
 * error has, if the variance has `off` of them. */
double complex pri_entry(const struct pri_function *function, double signal,
                         double own, double variance, double complex s,
                         double off, double *units);

#endif
