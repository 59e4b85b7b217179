/*
 * From a fixed set of others to how well a relay can tell whether one node took
 * part: differences of two tails of a noncentral chi-square law, or of normal ones.
 * The former are sums over k of Poisson weights times incomplete gamma functions,
 * every step of which adds a positive number. Claims and proofs:
 * docs/mathematics.md, One round of one identity.
 */
#include "presence.h"

#include <float.h>
#include <math.h>

/* Longer sums than this are not worth their time. */
#define LENGTH_MOST 2e4L

#define ROOT_2PI_LOG 0.91893853320467274178032973640561764L

/* -------------------------------------------------------------- chi-square -- */

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

/* About how many steps either of the two below takes. */
static long double chi_length(long double degrees, long double noncentrality,
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

/* ------------------------------------------------------------- divergences -- */

/* One direction, between bounds. */
struct reach {
    double high, low;
};

/* A difference exp(first) - exp(eps + second) whose logarithms have an absolute
 * error of `error` each, to both sides. */
static struct reach difference(long double first, long double second,
                               long double eps, long double error)
{
    if (isnan(first) || isnan(second) || isnan(error)) /* nothing is claimed */
        return (struct reach){1, 0};
    if (isinf(first))
        return (struct reach){0};
    long double rise = eps + second, part = -expm1l(rise - first);
    long double more = fminl(part + 2 * error, 1), less = part - 2 * error;
    struct reach reach = {0};
    if (more > 0)
        reach.high = pri_round_up(fminl(expl(first + error) * more, 1));
    if (less > 0)
        reach.low = pri_round_down(fminl(expl(first - error) * less, 1));
    return reach;
}

/* Whether by_ball() would take too long. */
static bool too_long(const struct pri_presence *p, double eps)
{
    long double d = p->dimension, s = p->own, v0 = p->others, v1 = v0 + s;
    long double m2 = (long double)p->shift * p->shift;
    long double level = d * log1pl(s / v0) + m2 / s;
    return !(chi_length(d, m2 * v1 / (s * s), v1 / s * (level + 2 * eps)) <
             LENGTH_MOST);
}

/* Whether a noncentral chi-square number is next to never as far from its
 * noncentrality as `value`, on the side of it: less often than any double. */
static bool is_out_of_reach(long double degrees, long double noncentrality,
                            long double value, bool beyond)
{
    long double apart = sqrtl(fmaxl(value, 0)) - sqrtl(noncentrality);
    long double square = apart * apart;
    if ((apart > 0) != beyond || !(square > degrees))
        return false;
    return square - degrees - degrees * logl(square / degrees) > 1520;
}

/* Both divergences by the chi-square law. */
static void by_ball(const struct pri_presence *p, double eps,
                    struct reach direction[2])
{
    long double d = p->dimension, s = p->own, v0 = p->others, v1 = v0 + s;
    long double m2 = (long double)p->shift * p->shift;
    long double noncentral0 = m2 * v0 / (s * s),
                noncentral1 = m2 * v1 / (s * s);
    long double level = d * log1pl(s / v0) + m2 / s;
    long double ball = v0 * v1 / s * (level - 2 * eps);
    long double far = v0 * v1 / s * (level + 2 * eps);
    long double error = 2 * PRI_CHI_ERROR + eps * 0x1p-62L;
    direction[0] = direction[1] = (struct reach){DBL_TRUE_MIN, 0};
    if (!is_out_of_reach(d, noncentral0, ball / v0, false))
        direction[0] =
            difference(pri_chi_lower(d, noncentral0, ball / v0),
                       pri_chi_lower(d, noncentral1, ball / v1), eps, error);
    if (!is_out_of_reach(d, noncentral1, far / v1, true))
        direction[1] =
            difference(pri_chi_upper(d, noncentral1, far / v1),
                       pri_chi_upper(d, noncentral0, far / v0), eps, error);
}

/* ln of the normal tail beyond t, for any t. */
static long double tail_log(long double t)
{
    if (t < 0)
        return log1pl(-expl(tail_log(-t)));
    return logl(pri_mills(t)) - t * t / 2 - ROOT_2PI_LOG;
}

/* ln P(from < Z < to) of a standard normal Z; the larger part is not lost. */
static long double between_log(long double from, long double to)
{
    if (to <= from)
        return -INFINITY;
    if (from + to < 0) {
        long double turned = -from;
        from = -to;
        to = turned;
    }
    long double first = tail_log(from), second = tail_log(to);
    return first + log1pl(-expl(second - first));
}

/* One dimension: the ball is an interval. */
static void by_line(const struct pri_presence *p, double eps,
                    struct reach direction[2])
{
    long double s = p->own, v0 = p->others, v1 = v0 + s, m = p->shift;
    long double centre = m * (v0 / s), ratio = log1pl(s / v0);
    for (int present = 0; present < 2; present++) {
        long double level = ratio + (present ? 2.0L : -2.0L) * eps;
        long double inner = (v0 / s) * v1 * level;
        long double square = inner + centre * centre * (v1 / v0);
        long double radius = square > 0 ? sqrtl(square) : 0;
        long double right = (inner + m * m * (v0 / s)) / (radius + centre);
        long double left = -(radius + centre);
        long double a = left / sqrtl(v0), b = right / sqrtl(v0);
        long double c = (left - m) / sqrtl(v1), d = (right - m) / sqrtl(v1);
        long double error =
            64 * 0x1p-63L * (b * b + d * d + 2) + eps * 0x1p-62L;
        if (!present) {
            direction[0] = square > 0
                               ? difference(between_log(a, b),
                                            between_log(c, d), eps, error)
                               : (struct reach){0};
            continue;
        }
        /* The complement: right of the interval, and far left of it. */
        long double here = tail_log(d), there = tail_log(b);
        long double more = tail_log(-c), other = tail_log(-a);
        here += log1pl(expl(more - here));
        there += log1pl(expl(other - there));
        direction[1] = difference(here, there, eps, error);
    }
}

/* Where the node's noise is tiny beside the others' and its signal is not: first
 * the variance across m alone, then what lies along m. */
static void by_parts(const struct pri_presence *p, double eps,
                     struct reach direction[2])
{
    struct pri_presence spread = *p;
    spread.shift = 0;
    spread.dimension = p->dimension - 1;
    by_line(p, eps, direction);
    direction[0].high = direction[1].high = 1;
    double part = eps / 256;
    for (int step = 0; step < 14; step++, part /= 4) {
        struct reach across[2] = {0}, along[2];
        if (p->dimension > 1)
            by_ball(&spread, part, across);
        if (across[0].high >= direction[0].high &&
            across[1].high >= direction[1].high)
            break;
        by_line(p, eps - part, along);
        double more = exp(part) * (1 + 1e-15);
        for (int k = 0; k < 2; k++) {
            double rest = along[k].high > 0 ? more * along[k].high : 0;
            direction[k].high = fmin(direction[k].high, across[k].high + rest);
        }
    }
}

static void both_directions(const struct pri_presence *p, double eps,
                            struct reach direction[2])
{
    if (p->own == 0 && p->shift == 0) {
        direction[0] = direction[1] = (struct reach){0};
    } else if (p->others == 0) {
        direction[0] = direction[1] = (struct reach){1, 1};
    } else if (p->own == 0) { /* the node only moves the mean */
        double mu = p->shift / sqrt(p->others);
        direction[0] = direction[1] = (struct reach){
            pri_gaussian_above(eps, mu), pri_gaussian_below(eps, mu)};
    } else if (p->dimension == 1) {
        by_line(p, eps, direction);
    } else {
        (too_long(p, eps) ? by_parts : by_ball)(p, eps, direction);
    }
}

void pri_presence_delta(const struct pri_presence *presence, double eps,
                        enum pri_side side, double *absent, double *present)
{
    struct reach direction[2];
    both_directions(presence, eps, direction);
    *absent = side == PRI_ABOVE ? direction[0].high : direction[0].low;
    *present = side == PRI_ABOVE ? direction[1].high : direction[1].low;
}
