/*
 * From (eps, mu) to delta: the exact privacy curve of the Gaussian mechanism,
 * in logarithms, with a bound on its own rounding error.
 *
 * Claim (Balle and Wang 2018, theorem 8): two normal laws of the same
 * covariance whose means are mu standard deviations apart have the hockey-stick
 * divergence of order e^eps, the least delta for which (eps, delta) holds,
 *
 *     delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).
 *
 * With a = eps/mu - mu/2, b = eps/mu + mu/2 and e^eps = phi(a)/phi(b) this is
 *
 *     delta = phi(a) (M(a) - M(b)),   1 - delta = phi(a) (M(-a) + M(b)),
 *
 * where M is Mills' ratio. Nothing here overflows, and only the difference of
 * two Mills' ratios can cancel. It is a series where it would,
 *
 *     M(m - h) - M(m + h) = 2 sum over odd k of h^k / k! I_k(m),
 *     I_k(m) = integral over t > 0 of t^k exp(-m t - t^2/2),
 *
 * in which every term is positive.
 *
 * Error. `u` is half a unit in the last place, LDBL_EPSILON / 2. The functions
 * of the C library are taken to be right within 8 u relative (glibc states 5 or
 * better), Mills' ratio is then right within 100 u, and the cancellation that
 * remains costs a factor of 20 at most: 4000 u. The rounding of a is at most
 * (eps/mu + |a|) u and changes either logarithm by at most 16 (|a| + 1) times
 * as much. The tests compare with 128-bit arithmetic on a grid of extremes.
 */
#include "calibrate.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#define HALF_ULP (LDBL_EPSILON / 2)
#define LOG_ROOT_2PI 0.91893853320467274178032973640561764L
#define ROOT_HALF_PI 1.25331413731550025120788264240552263L
#define ROOT_HALF 0.70710678118654752440084436210484904L

/* How many odd terms the series takes: each is below the last by 1/144. */
#define SERIES_TERMS 10

/*
 * Laplace's continued fraction r_k = k / (x + r_{k+1}), for the ratio of two
 * neighbouring moments I_k / I_{k-1}, from a depth at which its own limit
 * ( -x + sqrt(x^2 + 4 k)) / 2 is close enough: all positive, so it is stable.
 * Depths were found with 40-digit arithmetic for a truncation below 2^-66.
 */
static long double moment_ratio(long double x, int depth)
{
    return (sqrtl(x * x + 4 * (depth + 1)) - x) / 2;
}

long double pri_mills(long double x)
{
    if (x < 4)
        return ROOT_HALF_PI * erfcl(x * ROOT_HALF) * expl(x * x / 2);
    if (x > 1e6L)
        return 1 / (x + 1 / x);
    int depth = x < 6 ? 40 : x < 10 ? 24 : x < 16 ? 14 : 10;
    long double ratio = moment_ratio(x, depth);
    for (int k = depth; k > 0; k--)
        ratio = k / (x + ratio);
    return 1 / (x + ratio);
}

/* I_0 .. I_{count-1} at m: forwards from Mills' ratio while m is small, and
 * backwards through the ratios where forwards would cancel. */
static void moments(long double m, int count, long double *moment)
{
    if (m < 4) {
        moment[0] = pri_mills(m);
        moment[1] = 1 - m * moment[0];
        for (int k = 2; k < count; k++)
            moment[k] = (k - 1) * moment[k - 2] - m * moment[k - 1];
        return;
    }
    int depth = m < 8 ? 72 : 44;
    long double ratio = moment_ratio(m, depth);
    for (int k = depth; k > 0; k--) {
        ratio = k / (m + ratio);
        if (k < count)
            moment[k] = ratio;
    }
    moment[0] = 1 / (m + moment[1]);
    for (int k = 1; k < count; k++)
        moment[k] *= moment[k - 1];
}

/*
 * M(m - h) - M(m + h) by the series. The terms fall by (h/m)^2 <= 1/144 for
 * m >= 3 and by h^2/(k + 2) <= 1/48 below, so ten leave less than 2^-64.
 */
static long double mills_difference(long double m, long double h)
{
    long double moment[2 * SERIES_TERMS], power = h, sum = 0;
    moments(m, 2 * SERIES_TERMS, moment);
    for (int k = 1; k < 2 * SERIES_TERMS; k += 2) {
        sum += power * moment[k];
        power *= h / (k + 1) * h / (k + 2);
    }
    return 2 * sum;
}

/* mu of 0 or infinity, or infinite eps: delta is 0 or 1. */
static bool is_limit(long double eps, long double mu,
                     struct pri_gaussian *gaussian)
{
    bool none = mu == 0 || (isinf(eps) && !isinf(mu));
    if (!none && !isinf(mu))
        return false;
    *gaussian = (struct pri_gaussian){
        .log_delta = none ? -INFINITY : 0,
        .log_rest = none ? 0 : -INFINITY,
        .log_density = -INFINITY,
    };
    return true;
}

void pri_gaussian_at(long double eps, long double mu,
                     struct pri_gaussian *gaussian)
{
    assert(eps >= 0 && mu >= 0);
    if (is_limit(eps, mu, gaussian))
        return;
    long double m = eps / mu, h = mu / 2, a = m - h;
    long double density = -a * a / 2 - LOG_ROOT_2PI;
    long double mills = pri_mills(m + h), delta, rest;
    if (h < fmaxl(0.25L, m / 16)) {
        delta = density + logl(mills_difference(m, h));
        rest = log1pl(-expl(delta));
    } else if (a >= 0) {
        delta = density + logl(pri_mills(a) - mills);
        rest = log1pl(-expl(delta));
    } else {
        rest = density + logl(pri_mills(-a) + mills);
        delta = log1pl(-expl(rest));
    }
    gaussian->log_delta = fminl(delta, 0);
    gaussian->log_rest = fminl(rest, 0);
    gaussian->log_density = density;
    gaussian->mills = mills;
    gaussian->error = HALF_ULP * (4000 + 16 * (m + fabsl(a)) * (fabsl(a) + 1));
}

double pri_round_up(long double x)
{
    double rounded = (double)x;
    return rounded < x ? nextafter(rounded, INFINITY) : rounded;
}

double pri_round_down(long double x)
{
    double rounded = (double)x;
    return rounded > x ? nextafter(rounded, -INFINITY) : rounded;
}

/*
 * Take whichever of delta and 1 - delta is small, so that no digit is lost. An
 * infinite error (eps of 1e300 and mu near its root) leaves 1, or 0 below.
 */
double pri_gaussian_above(long double eps, long double mu)
{
    struct pri_gaussian g;
    pri_gaussian_at(eps, mu, &g);
    long double above = g.log_delta < -1 ? expl(g.log_delta + g.error)
                                         : 1 - expl(g.log_rest - g.error);
    if (isinf(g.log_delta))
        return 0;
    above = fmaxl(above * (1 + 8 * HALF_ULP), DBL_TRUE_MIN);
    return pri_round_up(fminl(above, 1));
}

double pri_gaussian_below(long double eps, long double mu)
{
    struct pri_gaussian g;
    pri_gaussian_at(eps, mu, &g);
    long double below = g.log_delta < -1 ? expl(g.log_delta - g.error)
                                         : 1 - expl(g.log_rest + g.error);
    return pri_round_down(fmaxl(below * (1 - 8 * HALF_ULP), 0));
}

double pricer_gaussian_delta(double eps, double mu)
{
    if (!(eps >= 0) || !(mu >= 0))
        return 1;
    return pri_gaussian_above(eps, mu);
}
