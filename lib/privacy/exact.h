/*
 * Coupled sums as one factor of a model: the moment generating function of all
 * of them in a round, along a line (coupling.h has the mathematics).
 *
 * Claim. Conditioned on which of the sums that pairs are about are seen (but
 * for those that are only the second of gates), a gate has its first link
 * known up to what is independent of all else, and the second its conditional
 * probability; a pair with an end in a sum that is not seen leaves the other
 * with its own probability. What is left are pairs of two noises in sums that
 * are both seen. Z is the mixture of these cases, each of which coupling.h
 * gives with a bound on its error.
 */
#ifndef PRICER_EXACT_H
#define PRICER_EXACT_H

#include "bracket.h"

/*
 * The sums of a view that pairs are about; *exact is NULL where there would be
 * too many cases or tables. `apart` is set for the other sums. `work` bounds
 * the effort along one line, in steps of about a nanosecond.
 */
enum pricer_status pri_exact_build(const struct pri_view *view,
                                   const struct pri_function *function,
                                   double hide, double work, bool *apart,
                                   struct pri_exact **exact);
void pri_exact_free(struct pri_exact *exact);

/* What a model needs to know of it: mu^2 of a round at most, of one sum, and
 * the strip of real parts. */
void pri_exact_range(const struct pri_exact *exact, double *most,
                     double *highest, double *strip);

/* The cases, for tests: how many there are, and the view of one with its
 * probability, which is returned. */
uint64_t pri_exact_cases(const struct pri_exact *exact);
double pri_exact_case(struct pri_exact *exact, uint64_t number,
                      const struct pri_view **one);

/*
 * Z(s), as the functions of factor.h: a bound at a real s; a bound on
 * |Z - unseen| beyond s; Z - unseen along a line, for an account of so many
 * rounds that looks for this eps. Where that takes too long, errors are large.
 */
double pri_exact_real(struct pri_exact *exact, double s, double *shown,
                      double *unseen);
double pri_exact_edge(struct pri_exact *exact, double complex s);
enum pricer_status pri_exact_along(struct pri_exact *exact,
                                   const struct pri_line *line, double eps,
                                   int64_t rounds, double complex *value,
                                   double *error);

#endif
