/*
 * From a fixed set of others to how well a relay can tell whether one node took
 * part.
 *
 * Claim. Without the node the relay sees z ~ N(0, v0 I), with it
 * N(m, v1 I), |m| = shift, v1 = v0 + s, after taking off what the others sent.
 * Completing the square in ln(dP/dQ) gives a ball around c = -m v0 / s:
 *
 *     ln(dP/dQ)(z) > t  <=>  |z - c|^2 < (v0 v1 / s)(d ln(v1/v0) - 2 t +
 * |m|^2/s).
 *
 * |z - c|^2 is a noncentral chi-square number times v0 or v1, with
 * noncentrality |m|^2 v0 / s^2 without the node and |m|^2 v1 / s^2 with it, so
 * each divergence P(set) - e^eps Q(set) is a difference of two of its tails, at
 * t = eps for absent against present and, over the complement, at t = -eps for
 * the other.
 *
 * Adding the same noise to both laws cannot help the observer: delta falls as
 * v0 grows. For v0 = 0 the node's noise alone gives it away.
 */
#include "identity.h"

#include <math.h>

/* Longer sums than this are not worth their time. */
#define LENGTH_MOST 2e4L

/* exp(first) - exp(eps + second), with the error of both to the side. */
static double difference(long double first, long double second, long double eps,
                         enum pri_side side)
{
    if (isnan(first) || isnan(second)) /* nothing is claimed */
        return side == PRI_ABOVE ? 1 : 0;
    if (isinf(first))
        return 0;
    long double part = -expm1l(eps + second - first);
    long double error = 4 * PRI_CHI_ERROR + eps * 0x1p-62L;
    part += side == PRI_ABOVE ? error : -error;
    if (!(part > 0))
        return 0;
    long double delta = expl(first) * part;
    return side == PRI_ABOVE ? pri_round_up(fminl(delta, 1))
                             : pri_round_down(delta);
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

/* Both divergences by the chi-square law. */
static void by_ball(const struct pri_presence *p, double eps,
                    enum pri_side side, double *absent, double *present)
{
    long double d = p->dimension, s = p->own, v0 = p->others, v1 = v0 + s;
    long double m2 = (long double)p->shift * p->shift;
    long double noncentral0 = m2 * v0 / (s * s),
                noncentral1 = m2 * v1 / (s * s);
    long double level = d * log1pl(s / v0) + m2 / s;
    long double ball = v0 * v1 / s * (level - 2 * eps);
    long double far = v0 * v1 / s * (level + 2 * eps);
    *absent = difference(pri_chi_lower(d, noncentral0, ball / v0),
                         pri_chi_lower(d, noncentral1, ball / v1), eps, side);
    *present = difference(pri_chi_upper(d, noncentral1, far / v1),
                          pri_chi_upper(d, noncentral0, far / v0), eps, side);
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

/*
 * exp(first) - exp(eps + second) to the side, where both logarithms have an
 * absolute error of `error` each.
 */
static double line_difference(long double first, long double second,
                              long double eps, long double error,
                              enum pri_side side)
{
    if (isnan(first) || isnan(second))
        return side == PRI_ABOVE ? 1 : 0;
    if (isinf(first))
        return 0;
    long double part = -expm1l(eps + second - first);
    part += side == PRI_ABOVE ? 2 * error : -2 * error;
    long double delta = expl(first + (side == PRI_ABOVE ? error : -error));
    if (!(part > 0) || isnan(delta))
        return isnan(delta) && side == PRI_ABOVE ? 1 : 0;
    delta *= fminl(part, 1);
    return side == PRI_ABOVE ? pri_round_up(fminl(delta, 1))
                             : pri_round_down(delta);
}

/*
 * One dimension: the ball is an interval from `left` to `right`, where
 * right = (radius^2 - c^2) / (radius + |c|) does not cancel. With the argument
 * t of a tail right within 32 units in the last place, its logarithm is right
 * within 64 (t^2 + 1) of them.
 */
static void by_line(const struct pri_presence *p, double eps,
                    enum pri_side side, double *absent, double *present)
{
    long double s = p->own, v0 = p->others, v1 = v0 + s, m = p->shift;
    long double centre = m * (v0 / s), ratio = log1pl(s / v0);
    for (int way = 0; way < 2; way++) {
        long double level = ratio + (way == 0 ? -2.0L : 2.0L) * eps;
        long double inner = (v0 / s) * v1 * level;
        long double square = inner + centre * centre * (v1 / v0);
        long double radius = square > 0 ? sqrtl(square) : 0;
        long double right = (inner + m * m * (v0 / s)) / (radius + centre);
        long double left = -(radius + centre);
        long double a = left / sqrtl(v0), b = right / sqrtl(v0);
        long double c = (left - m) / sqrtl(v1), d = (right - m) / sqrtl(v1);
        long double error =
            64 * 0x1p-63L * (b * b + d * d + 2) + eps * 0x1p-62L;
        if (way == 0) {
            *absent = square > 0
                          ? line_difference(between_log(a, b),
                                            between_log(c, d), eps, error, side)
                          : 0;
            continue;
        }
        /* The complement: right of the interval, and far left of it. */
        long double here = tail_log(d), there = tail_log(b);
        long double more = tail_log(-c), other = tail_log(-a);
        here += log1pl(expl(more - here));
        there += log1pl(expl(other - there));
        *present = line_difference(here, there, eps, error, side);
    }
}

/*
 * Where the node's noise is tiny beside the others' and its signal is not:
 * first the variance across m alone, then what lies along m, by
 *
 *     delta_AC(e1 + e2) <= delta_AB(e1) + e^e1 delta_BC(e2),
 *
 * for the best of some e1. From below: the part of z along m alone tells no
 * more than all of z.
 */
static void by_parts(const struct pri_presence *p, double eps,
                     enum pri_side side, double *absent, double *present)
{
    if (side == PRI_BELOW) {
        by_line(p, eps, side, absent, present);
        return;
    }
    struct pri_presence spread = *p;
    spread.shift = 0;
    spread.dimension = p->dimension - 1;
    *absent = *present = 1;
    double part = eps / 256;
    for (int step = 0; step < 14; step++, part /= 4) {
        double one = 0, two = 0, along, back;
        if (p->dimension > 1)
            by_ball(&spread, part, PRI_ABOVE, &one, &two);
        if (one >= *absent && two >= *present)
            break;
        by_line(p, eps - part, PRI_ABOVE, &along, &back);
        double more = exp(part) * (1 + 1e-15);
        *absent = fmin(*absent, one + (along > 0 ? more * along : 0));
        *present = fmin(*present, two + (back > 0 ? more * back : 0));
    }
}

void pri_presence_delta(const struct pri_presence *presence, double eps,
                        enum pri_side side, double *absent, double *present)
{
    const struct pri_presence *p = presence;
    if (p->own == 0 && p->shift == 0) {
        *absent = *present = 0;
    } else if (p->others == 0) {
        *absent = *present = 1;
    } else if (p->own == 0) {
        double mu = p->shift / sqrt(p->others);
        *absent = *present = side == PRI_ABOVE ? pri_gaussian_above(eps, mu)
                                               : pri_gaussian_below(eps, mu);
    } else {
        (too_long(p, eps) ? by_parts : by_ball)(p, eps, side, absent, present);
        *absent = fmin(*absent, 1);
        *present = fmin(*present, 1);
    }
}
