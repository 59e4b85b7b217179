/*
 * The variance in one sum: which of its noises are present is random, so it has
 * a law, a list of groups of values: a mass with a mean, a variance and the ends of
 * an interval, which is enough for the expectation of a smooth function
 * (docs/mathematics.md, One sum).
 */
#ifndef PRICER_LAW_H
#define PRICER_LAW_H

#include "privacy.h"

struct pri_variances {
    double mass, mean, spread, low, high;
};

/* Zeroed, it is empty; it keeps its memory from use to use. */
struct pri_law {
    int32_t count, room;
    int32_t noises; /* that it was made of: roundings of a value or a mass */
    double bare;    /* mass of the patterns without a noise that hides */
    struct pri_variances *group;
};

void pri_law_free(struct pri_law *law);

/*
 * The law of base + the noises present in a source, over the patterns with at
 * least `hide` in base or in one of the noises: what is left is as good as
 * bare (floor.c). chance and absent are indexed by noise; groups are no wider
 * than `width` times their low end, nor than what changes signal / variance by
 * `grain`, or some more where they are very many. O(noises groups).
 */
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

#endif
