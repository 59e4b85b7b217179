/*
 * From an interval of the others' variance to how the divergences of presence.c
 * curve over it.
 *
 * More noise of the others smooths both laws alike, by the heat equation, so
 * that d delta / d v = -G is half the flow through the sphere on which the loss
 * is eps. With v0 = v, v1 = v + s, M = m^2/s, L = d ln(v1/v0),
 *
 *     G = s w f(w) / (v0 v1),  f the noncentral chi-square density,
 *     present from absent: w = (v0/s)(L + M + 2 eps), lambda = M v1/s,
 *     absent from present: w = (v1/s)(L + M - 2 eps), lambda = M v0/s,
 *
 * and w f(w) = const w^(d/2) e^(-(w + lambda)/2) 0F1(d/2; lambda w/4). Write
 * apart = sqrt w - sqrt lambda, y = sqrt(lambda w) and
 * kappa = y (1 - I_(nu+1)(y)/I_nu(y)), nu = d/2 - 1. Then (' is d/dv)
 *
 *     D = d ln G / dv = -1/v0 - 1/v1 + (d - kappa)/2 w'/w
 *                       - kappa/2 lambda'/lambda - apart apart',
 *     K = d ln G / d eps = +-(v/s) ((d - kappa)/sqrt w - apart) / sqrt w,
 *
 * with + and v0 for present from absent, - and v1 for the other. Nothing in
 * them cancels that is not small itself: apart = (w - lambda) / (sqrt w + sqrt
 * lambda). Every piece below is monotone in v, so that its values at the two
 * ends bound it; they are put together by interval arithmetic. Bounds of the
 * ratio of Bessel functions (Amos 1974; Segura 2011 for nu >= -1/2):
 *
 *     y / (nu + 1/2 + sqrt(y^2 + (nu + 3/2)^2)) <= I_(nu+1)/I_nu
 *                        <= y / (nu + 1/2 + sqrt(y^2 + (nu + 1/2)^2)).
 *
 * Errors of rounding are relative to the terms; what is added at the end is
 * thousands of times as much.
 */
#include "presence.h"

#include <math.h>

/* Room for rounding, relative to the parts of a sum. */
#define CURVATURE_ROOM 1e-12

/* All numbers from low to high. */
struct span {
    double low, high;
};

static struct span between(double one, double two)
{
    return (struct span){fmin(one, two), fmax(one, two)};
}

static struct span plus(struct span a, struct span b)
{
    return (struct span){a.low + b.low, a.high + b.high};
}

static struct span minus(struct span a, struct span b)
{
    return (struct span){a.low - b.high, a.high - b.low};
}

static struct span times(struct span a, struct span b)
{
    double p = a.low * b.low, q = a.low * b.high;
    double r = a.high * b.low, t = a.high * b.high;
    return (struct span){fmin(fmin(p, q), fmin(r, t)),
                         fmax(fmax(p, q), fmax(r, t))};
}

static struct span scaled(double factor, struct span a)
{
    return between(factor * a.low, factor * a.high);
}

/* a / b for b > 0. */
static struct span over(struct span a, struct span b)
{
    return times(a, (struct span){1 / b.high, 1 / b.low});
}

static struct span root(struct span a)
{
    return (struct span){sqrt(fmax(a.low, 0)), sqrt(a.high)};
}

static struct span widened(struct span a, double by)
{
    return (struct span){a.low - by, a.high + by};
}

static double size(struct span a)
{
    return fmax(fabs(a.low), fabs(a.high));
}

/* kappa, by Amos' bounds. That from below, 2 r half / (1 + r) with r =
 * y / (half + hypot(y, half)), grows with y; that from above need not, but is
 * the product of a factor that grows and one that falls. */
static struct span kappa_of(double dimension, struct span y)
{
    double half = (dimension - 1) / 2; /* nu + 1/2 */
    double near = hypot(y.low, half), far = hypot(y.high, half + 1);
    double rest = near + y.low > 0 ? half * half / (near + y.low) : 0;
    double start = hypot(y.low, half + 1); /* hypot - y falls */
    double more = (half + 1) * (half + 1) / (start + y.low);
    double least = near + half > 0 ? y.low * (half + rest) / (half + near) : 0;
    return (struct span){least, y.high * (half + more) / (half + far)};
}

/* What both directions are made of, over the interval. */
struct pieces {
    double d, s, m2, eps;
    struct span v0, v1, one_by_v0, one_by_v1;
    struct span log0, log1; /* v0 L, which grows, and v1 L, which falls */
    struct span gap0, gap1; /* d s/v0 - L and L - d s/v1, which fall */
};

/* One direction: w, lambda, their logarithmic derivatives, and w - lambda with
 * its derivative; whether all of that is known. */
struct sphere {
    struct span w, lambda, w_by, lambda_by, excess, excess_by;
    bool known, falls;
};

/* A sum of two spans that is positive, and not by its last digits. */
static bool is_clear(struct span a, struct span b)
{
    return a.low + b.low > 1e-3 * (size(a) + size(b));
}

/* Products of such numbers are numbers. */
static bool is_tame(struct span a)
{
    return size(a) < 1e70;
}

static struct sphere sphere_of(const struct pieces *p, bool present)
{
    struct sphere out;
    double level = p->m2 / p->s + (present ? 2 : -2) * p->eps;
    double by_s = 1 / p->s, sign = present ? 1 : -1;
    struct span own = present ? p->v0 : p->v1, other = present ? p->v1 : p->v0;
    struct span log_own = present ? p->log0 : p->log1;
    struct span log_other = present ? p->log1 : p->log0;
    struct span by_own = present ? p->one_by_v0 : p->one_by_v1;
    struct span by_other = present ? p->one_by_v1 : p->one_by_v0;
    struct span one = {1, 1};
    /* With level < 0 the ball shrinks as its centre moves away. */
    out.falls = !present && level < 0;
    out.known = is_clear(log_own, scaled(level, own)) &&
                is_clear(log_other, scaled(level, other));
    out.w = scaled(by_s, plus(log_own, scaled(level, own)));
    out.lambda = scaled(by_s * by_s * p->m2, other);
    out.lambda_by = by_other;
    /* w'/w = (1 - d s / (other (L + level))) / own */
    struct span share = over(between(p->d * p->s, p->d * p->s),
                             plus(log_other, scaled(level, other)));
    out.w_by = times(minus(one, share), by_own);
    struct span moved = scaled(2 * sign * p->eps, own);
    double room = CURVATURE_ROOM * (size(log_own) + size(moved) + p->m2) * by_s;
    double m2_by_s = -sign * p->m2 * by_s;
    out.excess = widened(
        plus(scaled(by_s, plus(log_own, moved)), between(m2_by_s, m2_by_s)),
        room);
    struct span slope =
        widened(present ? p->gap1 : scaled(-1, p->gap0),
                CURVATURE_ROOM * p->d * p->s * p->one_by_v0.high);
    double twice = 2 * sign * p->eps;
    out.excess_by = scaled(by_s, plus(slope, between(twice, twice)));
    out.known = out.known && out.w.low > 1e-70 && is_tame(out.w) &&
                is_tame(out.lambda) && is_tame(out.w_by) && is_tame(by_other) &&
                is_tame(out.excess) && is_tame(out.excess_by);
    return out;
}

static struct pri_curvature curvature_of(const struct pieces *p, bool present)
{
    struct pri_curvature unknown = {-INFINITY, INFINITY, -INFINITY, INFINITY,
                                    false};
    struct sphere s = sphere_of(p, present);
    struct span own = present ? p->v0 : p->v1, d = {p->d, p->d};
    if (!s.known) {
        unknown.falls = s.falls;
        return unknown;
    }
    struct span w_root = root(s.w), l_root = root(s.lambda);
    struct span sum = plus(w_root, l_root);
    struct span kappa = kappa_of(p->d, times(w_root, l_root));
    struct span apart = over(s.excess, sum);
    struct span sum_by =
        scaled(.5, plus(times(w_root, s.w_by), times(l_root, s.lambda_by)));
    struct span apart_by = over(minus(s.excess_by, times(apart, sum_by)), sum);
    struct span first = scaled(.5, times(minus(d, kappa), s.w_by));
    struct span second = scaled(.5, times(kappa, s.lambda_by));
    struct span third = times(apart, apart_by);
    struct span curvature = minus(minus(first, second), third);
    curvature = minus(curvature, plus(p->one_by_v0, p->one_by_v1));
    double room = CURVATURE_ROOM * (size(first) + size(second) + size(third) +
                                    (p->d + 2) * p->one_by_v0.high);
    curvature = widened(curvature, room);
    struct span one = over(minus(d, kappa), w_root);
    struct span by_eps = over(minus(one, apart), w_root);
    by_eps = scaled(present ? 1 / p->s : -1 / p->s, times(own, by_eps));
    room = CURVATURE_ROOM * own.high / (p->s * w_root.low) *
           (size(one) + size(apart));
    by_eps = widened(by_eps, room);
    struct pri_curvature out = {curvature.low, curvature.high, by_eps.low,
                                by_eps.high, false};
    bool known = isfinite(out.low) && isfinite(out.high) &&
                 isfinite(out.by_eps_low) && isfinite(out.by_eps_high);
    return known ? out : unknown;
}

/* Without noise of its own: D = -3/2v - eps^2/2m^2 + m^2/8v^2 and
 * K = 1/2 - eps v/m^2, the same in both directions. */
static struct pri_curvature curvature_of_shift(double m, struct span v,
                                               double eps)
{
    double ratio = eps / m, square = ratio * ratio / 2;
    struct span one = {1.5 / v.high, 1.5 / v.low};
    struct span two =
        between(m / v.high * (m / v.high) / 8, m / v.low * (m / v.low) / 8);
    struct span curvature = minus(two, plus(one, between(square, square)));
    curvature =
        widened(curvature, CURVATURE_ROOM * (one.high + two.high + square));
    struct span by_eps = scaled(-ratio / m, v);
    by_eps = widened(plus(by_eps, between(.5, .5)),
                     CURVATURE_ROOM * (size(by_eps) + 1));
    return (struct pri_curvature){curvature.low, curvature.high, by_eps.low,
                                  by_eps.high, false};
}

void pri_presence_curvature(const struct pri_presence *presence, double far,
                            double eps, struct pri_curvature direction[2])
{
    double a = presence->others, s = presence->own, d = presence->dimension;
    double m = presence->shift;
    direction[0] = direction[1] =
        (struct pri_curvature){-INFINITY, INFINITY, -INFINITY, INFINITY, false};
    if (!(a > 0) || !(far >= a) || (s == 0 && m == 0))
        return;
    if (s == 0) {
        struct pri_curvature curvature =
            curvature_of_shift(m, (struct span){a, far}, eps);
        if (isfinite(curvature.low) && isfinite(curvature.high) &&
            isfinite(curvature.by_eps_low))
            direction[0] = direction[1] = curvature;
        return;
    }
    double near_log = d * log1p(s / a), far_log = d * log1p(s / far);
    struct pieces p = {
        .d = d,
        .s = s,
        .m2 = m * m,
        .eps = eps,
        .v0 = {a, far},
        .v1 = {a + s, far + s},
        .one_by_v0 = {1 / far, 1 / a},
        .one_by_v1 = {1 / (far + s), 1 / (a + s)},
        .log0 = between(a * near_log, far * far_log),
        .log1 = between((a + s) * near_log, (far + s) * far_log),
        .gap0 = between(d * s / a - near_log, d * s / far - far_log),
        .gap1 =
            between(near_log - d * s / (a + s), far_log - d * s / (far + s)),
    };
    for (int present = 0; present < 2; present++)
        direction[present] = curvature_of(&p, present);
}
