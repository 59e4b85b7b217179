/*
 * The engine of all accounts: from a moment generating function along a
 * vertical line to the hockey-stick divergence, and to the eps at which it
 * meets a delta.
 *
 * Every delta here is a probability P(D >= 0), D = X - Y with Y independent of
 * X, whose two transforms are known:
 *
 *  PRI_LOSS. X is the privacy loss L = ln dP/dQ under P. The hockey-stick
 *  divergence is E (1 - e^(eps - L))_+ = P(L - eps >= Y') for Y' exponential,
 *  so Y = eps + Y' and E e^(-sY) = phi(s) = e^(-s eps) / (1 + s).
 *
 *  PRI_MEAN. Given the pattern of links the loss is Gaussian and the divergence
 *  is f(mu^2), f(x) = delta_G(eps; sqrt(x)). f rises from 0 to 1, so it is the
 *  distribution function of some Y > 0, and with X = mu^2
 *
 *      f'(x) = e^(eps/2) / (2 sqrt(2 pi)) x^(-1/2) e^(-eps^2/2x - x/8),
 *      phi(s) = (1 + 8s)^(-1/2) e^((eps/2)(1 - sqrt(1 + 8s))).
 *
 *  (From the integral of x^(-1/2) e^(-p/x - q x) = sqrt(pi/q) e^(-2 sqrt(p q)).
 *  It is PRI_LOSS with s = u (u + 1) / 2; phi falls fast whatever the law of
 * X.)
 *
 * Claim. Let M(s) = E e^(s X), sigma > 0, h > 0 and s_n = sigma + i n h. Then
 *
 *     (h / 2 pi) sum over integers n of M(s_n) phi(s_n) / s_n
 *         = sum over integers m of e^(sigma a_m) P(D >= a_m),  a_m = 2 pi m/h:
 *
 * Poisson summation, since M phi / s is the Laplace transform of P(D >= a). All
 * terms on the right are positive and that of m = 0 is the delta looked for:
 * the sum is a bound from above. The terms m < 0 add up to at most
 * mass / (e^(sigma a_1) - 1); those with m > 0 vanish where X < a_1, and by
 * Chernoff are at most M(t) phi(t) / (e^((t - sigma) a_1) - 1) for any
 * t > sigma. X may be a part of a law, of any mass up to 1: patterns that show
 * nothing have X = 0 <= Y and are left out, patterns that are as good as bare
 * are left out and count as 1.
 *
 * Without a line: delta is at most the mass and M(s) phi(s) for any s > 0, and
 * at least mass - e^(eps/2) E e^(-L/2), as min(1, e^x) <= e^(x/2).
 *
 * What is left out beyond |n| < count, W = (count - 1) h:
 *  PRI_LOSS: |phi(s) / s| <= e^(-sigma eps) / w^2, so at most
 *      M(sigma) edge e^(-sigma eps) / (pi W),
 *  edge M(sigma) a bound on |M(sigma + i w)| for all |w| >= W.
 *  PRI_MEAN: |M(s)| <= M(sigma), and for s = sigma + i w, r = sqrt(w + sigma),
 *  Re sqrt(1 + 8s) >= 2 r and |1 + 8s| >= 8w, so the terms are at most
 *  e^(eps/2 - eps r) / sqrt(8 w^3) M(sigma): they fall, and so their sum is at
 *  most an integral, for which 2 / sqrt(W) e^(-eps r) and, from
 *  integral of e^(-eps sqrt(w)) = 2 (1 + eps r) e^(-eps r) / eps^2, another
 *  bound, are known.
 */
#ifndef PRICER_LOSS_LINE_H
#define PRICER_LOSS_LINE_H

#include "view.h"

#include <complex.h>

enum pri_kernel { PRI_MEAN, PRI_LOSS };
enum { PRI_FURTHER = 5 };

struct pri_line {
    enum pri_kernel kernel;
    double sigma, step;
    int32_t count, room;
    double complex *value; /* [count] M(s_n) / e^log_most; once prepared, times
                              what does not depend on eps */
    double *error;         /* [count] how far they may be off, the same */
    double complex *slope; /* [count] once prepared: -d ln phi / d eps */
    double log_most;       /* of a bound on M(sigma) */
    double mass;           /* of X, at most */
    double least, left;    /* without nodes: of X at least, and E e^(-L/2), at
                              most */
    double most;           /* X is at most this */
    double shift;          /* from above, X may be larger by this */
    double edge;           /* PRI_LOSS: see above */
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

/*
 * An eps from `low` to `high` at which that is at most `delta` (above), or at
 * least so (below), as close to the least or the largest as it gets; or the end
 * that is known anyway: high above, low below. `guess` is where to begin.
 */
double pri_line_eps(const struct pri_line *line, double delta,
                    enum pri_side side, double low, double high, double guess);

#endif
