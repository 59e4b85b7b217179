/*
 * From a noncentral chi-square law to its tails, in logarithms: sums over k of
 * Poisson weights times incomplete gamma functions, every step of which adds a
 * positive number. Why they are right within PRI_CHI_ERROR: docs/mathematics.md, One
 * round of one identity.
 */
#include "presence.h"

#include <math.h>

#define ROOT_2PI_LOG 0.91893853320467274178032973640561764L

/* u - 1 - ln u, without losing digits near u = 1. */
static long double excess(long double u)
{
    long double t = u - 1;
    if (fabsl(t) > 0.05L)
        return t - logl(u);
    /* t^2/2 - t^3/3 + t^4/4 - ... */
    long double sum = 0, power = t * t;
    for (int k = 2; k < 24; k++, power *= -t)
        sum += power / k;
    return sum;
}

/* ln( x^a e^-x / Gamma(a + 1) ), the Poisson weight of a real a at mean x. */
static long double weight_log(long double a, long double x)
{
    if (x == 0)
        return a == 0 ? 0 : -INFINITY;
    if (a < 32)
        return a * logl(x) - x - lgammal(a + 1);
    long double r = 1 / (a * a);
    long double series =
        (1.0L / 12 - r * (1.0L / 360 - r * (1.0L / 1260 - r * (1.0L / 1680)))) /
        a;
    return -a * excess(x / a) - 0.5L * logl(a) - ROOT_2PI_LOG - series;
}

/* ln of the lower regularised gamma function by its series, for x < a + 1. */
static long double lower_series(long double a, long double x)
{
    long double term = 1, sum = 1;
    for (long double n = a + 1; term > sum * 1e-22L; n++) {
        term *= x / n;
        sum += term;
    }
    return weight_log(a, x) + logl(sum);
}

/* ln of the upper one by Legendre's continued fraction, for x >= a + 1. */
static long double upper_fraction(long double a, long double x)
{
    if (!isfinite(x))
        return x > 0 ? -INFINITY : x;
    long double b = x + 1 - a, c = 1e300L, d = 1 / b, h = d;
    for (long double n = 1; n < 1e6L; n++) {
        long double an = -n * (n - a);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        h *= c * d;
        if (fabsl(c * d - 1) < 4e-19L)
            break;
    }
    return weight_log(a, x) + logl(a) + logl(h);
}

static long double gamma_lower(long double a, long double x)
{
    if (x <= 0)
        return -INFINITY;
    if (x < a + 1)
        return lower_series(a, x);
    return log1pl(-expl(upper_fraction(a, x)));
}

static long double gamma_upper(long double a, long double x)
{
    if (x <= 0)
        return 0;
    if (x < a + 1)
        return log1pl(-expl(lower_series(a, x)));
    return upper_fraction(a, x);
}

/* The k where the terms are largest, before the gamma function levels off;
 * sqrt(a^2 + 4 mean x) - a, without cancelling. */
static long double centre(long double a, long double mean, long double x)
{
    return 2 * mean * x / (sqrtl(a * a + 4 * mean * x) + a);
}

/* How far to go to either side of it. */
static long double spread(long double around)
{
    return 8 * sqrtl(around + 1) + 20;
}

long double pri_chi_length(long double degrees, long double noncentrality,
                           long double value)
{
    long double mean = noncentrality / 2;
    if (mean == 0 || value <= 0)
        return 0;
    return spread(fmaxl(mean, centre(degrees / 2, mean, value / 2)));
}

long double pri_chi_lower(long double degrees, long double noncentrality,
                          long double value)
{
    long double a = degrees / 2, mean = noncentrality / 2, x = value / 2;
    if (x <= 0)
        return -INFINITY;
    if (mean == 0)
        return gamma_lower(a, x);
    long double around = fminl(centre(a, mean, x), mean);
    long double last = ceill(around + spread(fmaxl(around, mean)));
    long double first = fmaxl(0, floorl(around - spread(around)));
    long double start = gamma_lower(a + last, x);
    long double gamma = 1, weight = 1, sum = 1;
    long double step = expl(weight_log(a + last - 1, x) - start);
    long double even = fmaxl(around, 1) / mean, odd = 1 / even;
    long double by_mean = odd / mean, by_x = even / x;
    for (long double k = last - 1; k >= first; k--) {
        gamma = (gamma + step) * even; /* of a + k over that of a + last */
        weight *= (k + 1) * by_mean;
        sum += weight * gamma;
        step *= (a + k) * by_x;
    }
    return weight_log(last, mean) + start + logl(sum);
}

long double pri_chi_upper(long double degrees, long double noncentrality,
                          long double value)
{
    long double a = degrees / 2, mean = noncentrality / 2, x = value / 2;
    if (x <= 0)
        return 0;
    if (mean == 0)
        return gamma_upper(a, x);
    long double around = fmaxl(centre(a, mean, x), mean);
    long double first = fmaxl(0, floorl(around - spread(around)));
    long double last = ceill(around + spread(around));
    long double start = gamma_upper(a + first, x);
    long double gamma = 1, weight = 1, sum = 1;
    long double step = expl(weight_log(a + first, x) - start);
    long double even = mean / fmaxl(around, 1), odd = 1 / even;
    long double up = mean * odd, by_x = x * even;
    for (long double k = first + 1; k <= last; k++) {
        gamma = (gamma + step) * even;
        weight *= up / k;
        sum += weight * gamma;
        step *= by_x / (a + k);
    }
    return fminl(weight_log(first, mean) + start + logl(sum), 0);
}
