/*
 * The engine of all accounts: from a moment generating function along a
 * vertical line to the hockey-stick divergence, and to the eps at which it
 * meets a delta. Every delta is P(X >= Y), Y independent of X with the known
 * transform phi; PRI_LOSS: X is the privacy loss, PRI_MEAN: mu^2 of data.
 * X may be a part of a law, of any mass up to 1. Claims and proofs:
 * docs/mathematics.md, The engine.
 */
#ifndef PRICER_LOSS_LINE_H
#define PRICER_LOSS_LINE_H

#include "privacy.h"

#include <complex.h>

enum pri_kernel { PRI_MEAN, PRI_LOSS };
enum { PRI_FURTHER = 6 };

struct pri_line {
    enum pri_kernel kernel;
    double sigma, step;
    int32_t count, room;
    double complex *value; /* [count] M(s_n) / e^log_most; once prepared, times
                              what does not depend on eps */
    double *error;         /* [count] how far they may be off, the same */
    long double complex *slope; /* [count] once prepared: -d ln phi / d eps */
    double log_most;            /* of a bound on M(sigma) */
    double mass;                /* of X, at most */
    double goal;        /* what each of its errors should cost at most */
    double least, left; /* without nodes: least mass, most E e^(-L/2) */
    double most;        /* X is at most this */
    double shift;       /* from above, X may be larger by this */
    double blur, shape; /* or 0: M is of X less a number of up to this */
    double edge;        /* PRI_LOSS: |M| beyond the nodes / M(sigma) */
    double further[PRI_FURTHER];     /* some t > sigma, */
    double log_further[PRI_FURTHER]; /* and the logarithm of a bound on M(t) */
    double more[2]; /* by side: what is added to delta at every eps */
    double growth;  /* of a raised curve (decouple.c), or INFINITY */
    double loose;   /* masses may be off by this part */
    const struct pri_line *next; /* of other parts of the law, or NULL; all that
                                    is not of one part is the first's */
};

void pri_line_free(struct pri_line *line);
enum pricer_status pri_line_reserve(struct pri_line *line, int32_t count);

/* ln phi at a real s. */
double pri_log_phi(enum pri_kernel kernel, double eps, double s);

/* The eps at which e^log_bound phi(s) is delta, or 0: Chernoff's bound. */
double pri_chernoff_eps(enum pri_kernel kernel, double log_bound, double s,
                        double delta);

/* What the terms with m > 0 can add up to, at a step. */
double pri_line_beyond(const struct pri_line *line, double eps, double step);

/* What the terms beyond |n| < count add up to, at most. */
double pri_line_tail(const struct pri_line *line, double eps, int32_t count);

/* Multiply the values by what does not depend on eps. */
void pri_line_prepare(struct pri_line *line);

/* The expected delta of a line that is prepared and those that follow, to the
 * side, floating point included. A line without nodes is bounds without a line. */
double pri_line_delta(const struct pri_line *line, double eps,
                      enum pri_side side);

/* An eps from `low` to `high` at which that is at most `delta` (above), or at
 * least so (below), as close to the least or the largest as it gets; or the end
 * that is known anyway: high above, low below. `guess` is where to begin. */
double pri_line_eps(const struct pri_line *line, double delta,
                    enum pri_side side, double low, double high, double guess);

#endif
