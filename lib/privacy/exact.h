/*
 * Coupled sums as one factor of a model: the moment generating function of all
 * of them in a round, along a line (coupling.h has the mathematics).
 */
#ifndef PRICER_EXACT_H
#define PRICER_EXACT_H

#include "bracket.h"
#include "coupling.h"

struct pri_exact {
    struct pri_coupling coupling;
    double strip;         /* of real parts */
    double unseen;        /* P(none of the sums is seen) */
    double budget, nodes; /* the effort along a line, and its nodes, at most */
};

/* The sums of a view that pairs are about; *exact is NULL where their tables
 * would be too large. `apart` is set for the other sums. `work` bounds the
 * effort along one line, in steps of about a nanosecond. */
enum pricer_status pri_exact_build(const struct pri_view *view,
                                   const struct pri_function *function,
                                   double hide, double work, bool *apart,
                                   struct pri_exact **exact);
void pri_exact_free(struct pri_exact *exact);

/* Z(s), as the functions of factor.h: a bound at a real s, or on what is shown
 * beyond s; Z - unseen along a line, for an account of so many rounds that
 * looks for this eps. Where that takes too long, errors are large. */
double pri_exact_real(struct pri_exact *exact, double complex s, double *shown,
                      double *unseen);
enum pricer_status pri_exact_along(struct pri_exact *exact,
                                   const struct pri_line *line, double eps,
                                   int64_t rounds, double complex *value,
                                   double *error);

#endif
