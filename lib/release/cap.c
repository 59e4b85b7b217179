/*
 * The share and the mean of a cap of the unit sphere.
 *
 * S = <V, u> of a uniform direction V in R^k has the density
 * C (1 - s^2)^(a - 1), a = (k - 1)/2, C = Gamma(a + 1/2) / (sqrt(pi) Gamma(a)).
 * With g = E[S; S > t] = C (1 - t^2)^a / (2 a) the share of the cap is
 *
 *     q = P(S > t) = (g / t) F,   F = 2F1(1/2, 1; a + 1; -z),   z = 1/t^2 - 1.
 *
 * Gauss's continued fraction F = 1 / (1 + c_1 z / (1 + c_2 z / (1 + ...))),
 *
 *     c_{2m+1} = (m + 1/2) (a + m) / ((a + 2m) (a + 2m + 1)),
 *     c_{2m}   = m (a + m - 1/2) / ((a + 2m - 1) (a + 2m)),
 *
 * has positive coefficients, so that any two neighbouring convergents have F
 * between them: the truncation is known, not estimated. Where k t^2 is small it
 * is slow, and there the complement is a series of positive terms,
 *
 *     1/2 - q = C t (1 - t^2)^a sum over n of t^2n prod_{j<n} (k/2 + j)/(3/2 + j),
 *
 * which leaves q > 1/1000 with no more than ten bits lost.
 *
 * Error, in units of u = LDBL_EPSILON / 2, relative: the C library is taken to
 * be right within 8 u. ln(C) is right within 40 u; a ln(1 - t^2) within 12 u of
 * its value; each step of the fraction or the series adds at most 8 u. The
 * tests compare with ball arithmetic.
 */
#include "release.h"

#include <assert.h>
#include <math.h>

#define LOG_ROOT_PI 0.57236494292470008707171367567652936L

/*
 * ln(Gamma(a + 1/2) / Gamma(a)): an alternating asymptotic series, whose error
 * is below the first term left out (691/(22528 a^11) < 2^-65 for a >= 64), after
 * shifting a by Gamma(a + 1) = a Gamma(a).
 */
static long double log_gamma_step(long double a)
{
    long double product = 1;
    for (; a < 64; a++)
        product *= a / (a + .5L);
    long double w = 1 / (a * a);
    long double sum =
        1 / 8.L - w * (1 / 192.L - w * (1 / 640.L - w * (17 / 14336.L -
                                                         w * (31 / 18432.L))));
    return logl(a) / 2 - sum / a + logl(product);
}

/* F by the modified Lentz method; *error gets the truncation and rounding. */
static long double fraction(long double a, long double z, long double *error)
{
    long double value = 1, c = 1, d = 0, change = 1;
    int n = 0;
    while (n < 20000 && fabsl(change) > PRI_HALF_ULP) {
        long double m = (long double)(++n / 2), top, bottom;
        if (n % 2 == 1) {
            top = (m + .5L) * (a + m);
            bottom = (a + 2 * m) * (a + 2 * m + 1);
        } else {
            top = m * (a + m - .5L);
            bottom = (a + 2 * m - 1) * (a + 2 * m);
        }
        long double step = top / bottom * z;
        c = 1 + step / c;
        d = 1 / (1 + step * d);
        change = c * d - 1;
        value *= c * d;
    }
    *error = fabsl(change) + 8 * PRI_HALF_ULP * (n + 1);
    return 1 / value;
}

/* The sum of the series of the complement. */
static long double series(long double a, long double square, long double *error)
{
    long double term = 1, sum = 1, ratio;
    int n = 0;
    do {
        ratio = (a + .5L + n) / (1.5L + n) * square;
        term *= ratio;
        sum += term;
        n++;
    } while (ratio > .75L || term > sum * PRI_HALF_ULP / 4);
    *error = 8 * PRI_HALF_ULP * (n + 1);
    return sum;
}

void pri_cap_at(int64_t coordinates, long double t, struct pri_cap *cap)
{
    assert(coordinates >= 2 && t > 0 && t < 1);
    long double k = (long double)coordinates, a = (k - 1) / 2;
    long double rest = (1 - t) * (1 + t), square = t * t, error;
    long double power = a * (t < .5L ? log1pl(-square) : logl(rest));
    long double log_c = log_gamma_step(a) - LOG_ROOT_PI;
    long double log_g = log_c + power - logl(2 * a);
    long double base = PRI_HALF_ULP * (64 + 12 * fabsl(power) + fabsl(log_c));
    if (k * square >= 9 || square >= .5L) {
        long double f = fraction(a, rest / square, &error);
        cap->log_share = log_g + logl(f / t);
        cap->share = expl(cap->log_share);
        cap->mean = t / f;
        cap->error = base + error + 8 * PRI_HALF_ULP * fabsl(cap->log_share);
    } else {
        long double sum = series(a, square, &error);
        long double inner = expl(log_c + power) * t * sum;
        cap->share = .5L - inner;
        cap->log_share = logl(cap->share);
        cap->mean = expl(log_g) / cap->share;
        cap->error = (base + error) / cap->share;
    }
    cap->hazard = 2 * a * cap->mean / rest;
}
