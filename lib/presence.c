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
#define LENGTH_MOST 1e5L

/* exp(first) - exp(eps + second), with the error of both to the side. */
static double difference(long double first, long double second, long double eps,
                         enum pri_side side)
{
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

/*
 * Where the node's noise is tiny beside the others' and its signal is not:
 * first the variance alone, then the mean alone, by
 *
 *     delta_AC(e1 + e2) <= delta_AB(e1) + e^e1 delta_BC(e2).
 *
 * From below: the part of z along m alone tells no more than all of z, and the
 * same inequality turned round, delta_AB(e1) >= delta_AC(e1 + e2) - e^e1
 * delta_BC(e2), takes the variance out of it.
 */
static void by_parts(const struct pri_presence *p, double eps,
                     enum pri_side side, double *absent, double *present)
{
    struct pri_presence spread = *p;
    double part = eps * 1e-3, v1 = p->others + p->own, one, two;
    spread.shift = 0;
    if (side == PRI_BELOW)
        spread.dimension = 1;
    by_ball(&spread, part, PRI_ABOVE, &one, &two);
    double wide = p->shift / sqrt(v1), narrow = p->shift / sqrt(p->others);
    if (side == PRI_ABOVE) {
        double more = exp(part) * (1 + 1e-15);
        *absent = one + more * pri_gaussian_above(eps - part, wide);
        *present = two + more * pri_gaussian_above(eps - part, narrow);
        return;
    }
    double cost = exp(eps) * (1 + 1e-9);
    *absent = pri_gaussian_below(eps + part, narrow) - cost * two;
    *present = pri_gaussian_below(eps + part, wide) - cost * one;
    *absent = fmax(*absent, 0);
    *present = fmax(*present, 0);
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
