/*
 * From a fixed set of others to how well a relay can tell whether one node took
 * part: differences of two tails of a noncentral chi-square law, or of normal ones.
 * Claim and proof: docs/mathematics.md, One round of one identity.
 */
#include "presence.h"

#include <float.h>
#include <math.h>

/* Longer sums than this are not worth their time. */
#define LENGTH_MOST 2e4L

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
    return !(pri_chi_length(d, m2 * v1 / (s * s), v1 / s * (level + 2 * eps)) <
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
    return logl(pri_mills(t)) - t * t / 2 - 0.91893853320467274178L;
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
