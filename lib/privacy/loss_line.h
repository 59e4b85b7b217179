/*
 * From the moment generating function of mu^2 to the privacy it costs.
 *
 * Write f(x) = delta_G(eps; sqrt(x)). f rises from 0 to 1, so it is the
 * distribution function of some Y > 0, and with
 *
 *     f'(x) = e^(eps/2) / (2 sqrt(2 pi)) x^(-1/2) e^(-eps^2/2x - x/8),
 *     phi(s) = E e^(-s Y) = (1 + 8s)^(-1/2) e^((eps/2)(1 - sqrt(1 + 8s))).
 *
 * (phi follows from the integral of x^(-1/2) e^(-p/x - q x), which is
 * sqrt(pi/q) e^(-2 sqrt(p q)).) The expected delta is P(Y <= X) = P(D >= 0) for
 * D = X - Y, X = mu^2 over all rounds, independent of Y.
 *
 * Claim. Let M(s) = E e^(s X), sigma > 0, h > 0 and s_n = sigma + i n h. Then
 *
 *     (h / 2 pi) sum over integers n of M(s_n) phi(s_n) / s_n
 *         = sum over integers m of e^(sigma a_m) P(D >= a_m),  a_m = 2 pi m/h.
 *
 * Poisson summation, since M phi / s is the Laplace transform of P(D >= a). All
 * terms on the right are positive and that of m = 0 is the delta looked for:
 * the sum is a bound from above. The terms m < 0 add up to at most 1 /
 * (e^(sigma a_1) - 1). Those with m > 0 vanish where X < a_1, and by Chernoff
 * are at most M(t) phi(t) / (e^((t - sigma) a_1) - 1) for any t > sigma.
 *
 * What is left out beyond |n| < count: |M(s)| <= M(sigma), |s| >= w, and for
 * s = sigma + i w Re sqrt(1 + 8s) >= 2 sqrt(w + sigma), |1 + 8s| >= 8w, so the
 * terms are below e^(eps/2 - eps sqrt(w + sigma)) / sqrt(8 w^3) M(sigma), which
 * falls: their sum is at most an integral, from W = (count - 1) h on, and
 *
 *     integral of e^(-eps sqrt(w)) = 2 (1 + eps r) e^(-eps r) / eps^2,
 *
 * r = sqrt(W + sigma).
 */
#ifndef PRICER_CONTOUR_H
#define PRICER_CONTOUR_H

#include "law.h"

#include <complex.h>

enum { PRI_FURTHER = 5 };

struct pri_contour {
    double sigma, step;
    int32_t count;
    double complex *value;           /* [count] M(s_n) / e^log_most */
    double *error;                   /* [count] how far they may be off */
    double log_most;                 /* of a bound on M(sigma) */
    double most;                     /* X is at most this */
    double shift;                    /* from above, X may be larger by this */
    double further[PRI_FURTHER];     /* some t > sigma, */
    double log_further[PRI_FURTHER]; /* and the logarithm of a bound on M(t) */
};

void pri_contour_free(struct pri_contour *contour);

/* ln phi at a real s. */
double pri_contour_log_phi(double eps, double s);

/* What the terms with m > 0 can add up to, at a step. */
double pri_contour_beyond(const struct pri_contour *contour, double eps,
                          double step);

/* What the terms beyond |n| < count add up to, at most. */
double pri_contour_tail(const struct pri_contour *contour, double eps,
                        int32_t count);

/* The expected delta, to the side, floating point included. */
double pri_contour_delta(const struct pri_contour *contour, double eps,
                         enum pri_side side);

/*
 * An eps between two at which the delta is at most `delta` (above), or at least
 * so (below), as close to the least or the largest as it gets; or the end of
 * the range that is known anyway: high above, low below.
 */
double pri_contour_eps(const struct pri_contour *contour, double delta,
                       enum pri_side side, double low, double high);

#endif
