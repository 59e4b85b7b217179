/*
 * From the law of the variance in one sum to its moment generating function, at
 * one s = sigma + i w or along a line: factor.h.
 */
#include "factor.h"

#include <float.h>
#include <math.h>

/* hypot(), which takes long, only where squares leave the range. */
static double length(double a, double b)
{
    double square = a * a + b * b;
    return square > 1e-280 && square < 1e280 ? sqrt(square) : hypot(a, b);
}

/* A place s, and U = u (1 + u) of PRI_LOSS or what takes its place, 2s. */
struct place {
    double sigma, w, ur, ui, us; /* the last is the size of U */
};

static struct place place_at(const struct pri_function *function, double sigma,
                             double w)
{
    struct place at = {sigma, w, 2 * sigma, 2 * w, 0};
    if (function->kernel == PRI_LOSS) {
        at.ur = sigma * (1 + sigma) - w * w;
        at.ui = w * (1 + 2 * sigma);
    }
    at.us = w == 0 ? fabs(at.ur) : length(at.ur, at.ui);
    return at;
}

/* A variance of the others, and what of g does not depend on s: with r = own/v,
 * ln(Q/P) but for its sign, and (C/Q - 1) / u. */
struct term {
    bool first; /* without against with */
    double d, signal, own, v, ratio, part;
};

static struct term term_at(const struct pri_function *function, double signal,
                           double own, double v)
{
    bool first = function->direction == 0;
    double r = function->dimension > 0 ? own / v : 0;
    return (struct term){first,
                         function->dimension,
                         signal,
                         function->dimension > 0 ? own : 0,
                         v,
                         log1p(r),
                         first ? r / (1 + r) : -r};
}

static struct term term_of(const struct pri_function *function,
                           const struct pri_mgf *factor, double v)
{
    return term_at(function, factor->signal, factor->own, v);
}

/* 1 / C of factor.h. */
struct inverse {
    double re, im, size;
};

static struct inverse inverse_at(const struct term *term,
                                 const struct place *at)
{
    double turn = term->first ? term->own : -term->own;
    double near = term->v + (term->first ? 1 + at->sigma : at->sigma) * turn;
    double far = at->w * turn, size = 1 / (far == 0 ? near : length(near, far));
    return (struct inverse){near * size * size, -far * size * size, size};
}

/* g, and by how many units in the last place it may be off. */
struct exponent {
    double re, im, units;
};

/* What cancels is charged. The variance may be off by `off` of these units. */
static struct exponent exponent_at(const struct term *term,
                                   const struct place *at,
                                   const struct inverse *c, double off)
{
    double half = term->signal / 2, d = term->d, own = term->own;
    double narrow = term->v * c->size, units = (off + 12) * fmax(narrow, 1);
    struct exponent g = {half * (at->ur * c->re - at->ui * c->im),
                         half * (at->ur * c->im + at->ui * c->re),
                         half * at->us * c->size * units + 8};
    if (own == 0)
        return g;
    double x = at->sigma * term->part, y = at->w * term->part;
    double log_p = term->first ? -term->ratio : term->ratio;
    double size = fabs(at->sigma) + fabs(at->w);
    double cancels = term->first
                         ? term->ratio
                         : fmax(term->ratio, -term->part * narrow * narrow);
    double moves = at->us * own * own * c->size / (2 * (term->v + own));
    g.units += d * (8 * size * cancels + (off + 8) * moves);
    g.re -= d / 2 *
            ((y == 0 ? log1p(x) : log1p(x * (2 + x) + y * y) / 2) +
             at->sigma * log_p);
    if (at->w != 0)
        g.im -= d / 2 * (atan2(y, 1 + x) + at->w * log_p);
    return g;
}

double complex pri_entry(const struct pri_function *function, double signal,
                         double own, double variance, double complex s,
                         double off, double *units)
{
    struct place at = place_at(function, creal(s), cimag(s));
    struct term term = term_at(function, signal, own, variance);
    struct inverse c = inverse_at(&term, &at);
    struct exponent g = exponent_at(&term, &at, &c, off);
    *units = g.units;
    return exp(g.re) * (cos(g.im) + sin(g.im) * I);
}

/* The size of g', and Taylor's remainder over a group of this low end, relative
 * to the bound on e^g. */
static double remainder_of(const struct term *low, const struct place *at,
                           const struct inverse *c,
                           const struct pri_variances *group, double *first)
{
    double a = 1 / low->v, b = 1 / (low->v + low->own), e = c->size;
    double across = low->d * low->own * low->own / 2 * a * b * e;
    double along = low->signal / 2 * e * e;
    double sum = a + b + e, squares = a * a + b * b + e * e;
    double one = at->us * (across + along);
    double two = at->us * (across * sum + 2 * along * e);
    double three =
        at->us * (across * (sum * sum + squares) + 6 * along * e * e);
    double third = one * (one * one + 3 * two) + three;
    *first = one;
    return third * group->spread * (group->high - group->low) / 6 * PRI_SLACK;
}

/* 1 + (g'^2 + g'') spread / 2. */
static void curve_at(const struct term *mean, const struct place *at,
                     const struct inverse *c, double spread, double *x,
                     double *y)
{
    double a = 1 / mean->v, b = 1 / (mean->v + mean->own);
    double across = mean->d * mean->own * mean->own / 2 * a * b;
    double er = c->re, ei = c->im, cr = er * er - ei * ei, ci = 2 * er * ei;
    double pr = across * er + mean->signal / 2 * cr;
    double pi = across * ei + mean->signal / 2 * ci;
    double fr = -(at->ur * pr - at->ui * pi), fi = -(at->ur * pi + at->ui * pr);
    double sr = a + b + er;
    double qr =
        across * (er * sr - ei * ei) + mean->signal * (cr * er - ci * ei);
    double qi =
        across * (ei * sr + er * ei) + mean->signal * (cr * ei + ci * er);
    double kr = fr * fr - fi * fi + at->ur * qr - at->ui * qi;
    double ki = 2 * fr * fi + at->ur * qi + at->ui * qr;
    *x = 1 + kr * spread / 2;
    *y = ki * spread / 2;
}

/* The exponent that numbers are divided by at a real s, so that they stay in
 * range: that of the largest e^g. */
static double offset_at(const struct pri_function *function,
                        const struct pri_mgf *factor, double s)
{
    const struct place at = place_at(function, s, 0);
    if (factor->law.count == factor->loud)
        return 0;
    struct term loudest =
        term_of(function, factor, factor->law.group[factor->loud].low);
    struct inverse c = inverse_at(&loudest, &at);
    double most = exponent_at(&loudest, &at, &c, 0).re;
    return most > 100 ? most : 0;
}

/* |e^(g - offset)| at s, rounded up. */
static double size_of(const struct term *term, const struct place *at,
                      const struct inverse *c,
                      const struct pri_variances *group, double offset)
{
    struct exponent g = exponent_at(term, at, c, group->mean_off);
    return exp(g.re - offset + 4 * DBL_EPSILON * g.units) * PRI_SLACK;
}

/* The same at the low end of a group and a real s, which bounds it all along. */
static double top_of(const struct term *low,
                     const struct pri_function *function,
                     const struct pri_variances *group, double sigma,
                     double offset)
{
    const struct place at = place_at(function, sigma, 0);
    struct inverse c = inverse_at(low, &at);
    return size_of(low, &at, &c, group, offset);
}

/* A bound on that over a group: at its low end, or at s = -1/2, where e^g grows
 * with the variance, at its high end; and, where it has several values, at a real
 * s by Taylor at the mean, beyond a place on the line by how much g can vary in
 * it and by the real part, whichever is less. */
static double bound_of(const struct pri_function *function,
                       const struct pri_mgf *factor,
                       const struct pri_variances *group,
                       const struct place *at, double offset)
{
    double first, x, y;
    struct term end =
        term_of(function, factor, at->sigma < 0 ? group->high : group->low);
    struct inverse c = inverse_at(&end, at);
    double size = size_of(&end, at, &c, group, offset);
    if (group->high == group->low || at->sigma < 0)
        return size;
    double rest = remainder_of(&end, at, &c, group, &first);
    if (at->w != 0)
        return fmin(size * exp(first * (group->high - group->low)),
                    top_of(&end, function, group, at->sigma, offset));
    struct term mean = term_of(function, factor, group->mean);
    c = inverse_at(&mean, at);
    curve_at(&mean, at, &c, group->spread, &x, &y);
    return fmin(size, x * size_of(&mean, at, &c, group, offset) + size * rest);
}

double pri_factor_real(const struct pri_function *function,
                       const struct pri_mgf *factor, double complex s,
                       double *shown, double *unseen)
{
    const struct place at = place_at(function, creal(s), cimag(s));
    const struct pri_law *law = &factor->law;
    double offset = offset_at(function, factor, creal(s)), sum[2] = {0, 0};
    for (int32_t k = factor->loud; k < law->count; k++)
        sum[k >= law->count - factor->quiet] +=
            law->group[k].mass *
            bound_of(function, factor, &law->group[k], &at, offset);
    *shown = factor->seen * sum[0] * PRI_SLACK;
    *unseen = factor->unseen * exp(-offset) + factor->seen * sum[1] * PRI_SLACK;
    return offset;
}

double pri_factor_most(const struct pri_function *function,
                       const struct pri_mgf *factor)
{
    if (function->dimension == 0 || function->direction == 0 ||
        factor->own == 0 || factor->law.count == factor->loud)
        return INFINITY;
    return factor->law.group[factor->loud].low / factor->own;
}

/* ------------------------------------------------------------------ line -- */

/* One group of data along PRI_MEAN: e^(s x) by multiplication, four half units a
 * step, anew every 16; with y = s x, g'^2 + g'' is (y^2 + 2y) / mean^2. */
static void add_mean(const struct pri_mgf *factor,
                     const struct pri_variances *group, double sigma,
                     double step, double offset, int32_t count, double *all,
                     double complex *value, double *error)
{
    static const struct pri_function mean = {PRI_MEAN, 0, 0};
    long double ratio = factor->signal / (long double)group->mean;
    double x = (double)ratio, angle = (double)(step * ratio);
    double mass = factor->seen * group->mass, c = cos(angle), q = sin(angle);
    double most = mass * exp((double)(sigma * ratio - offset)), re = 0, im = 0;
    struct term end = term_of(&mean, factor, group->low);
    double top = mass * top_of(&end, &mean, group, sigma, offset);
    double add = DBL_EPSILON / 2 * (*all += top);
    double curved = group->spread / (2 * group->mean * group->mean);
    double low = group->low, high = factor->signal / low,
           wide = group->high - low;
    double third = group->spread * wide / (6 * low * low * low) * PRI_SLACK;
    double fixed = group->mass_off + 4 * offset + 16;
    for (int32_t n = 0; n < count; n++) {
        double over = step * n, size = sigma + over;
        double y = sigma * x, z = over * x, at = length(sigma, over) * high;
        if (n % 16 == 0) {
            angle = (double)(step * ratio * n);
            re = most * cos(angle);
            im = most * sin(angle);
        }
        double a = 1 + curved * (y * y - z * z + 2 * y);
        double b = curved * (2 * y * z + 2 * z);
        double steps = n % 16, off = steps * (4 + step * high) +
                                     size * high * (group->mean_off + 1.01);
        double rest = third * at * (at * at + 6 * at + 6) +
                      DBL_EPSILON / 2 * (off + fixed) +
                      1e-12 * (fabs(a - 1) + fabs(b));
        value[n] += rest < 1 ? re * a - im * b + (re * b + im * a) * I : 0;
        error[n] += rest < 1 ? top * rest + add : top;
        double next = re * c - im * q;
        im = re * q + im * c;
        re = next;
    }
}

/* One group along PRI_LOSS. */
static void add_loss(const struct pri_function *function,
                     const struct pri_mgf *factor,
                     const struct pri_variances *group, double sigma,
                     double step, double offset, int32_t count, double *all,
                     double complex *value, double *error)
{
    double mass = factor->seen * group->mass;
    struct term mean = term_of(function, factor, group->mean);
    struct term low = term_of(function, factor, group->low);
    double top = mass * top_of(&low, function, group, sigma, offset);
    double add = DBL_EPSILON / 2 * (*all += top);
    for (int32_t n = 0; n < count; n++) {
        struct place at = place_at(function, sigma, step * n);
        struct inverse e = inverse_at(&mean, &at);
        struct exponent g = exponent_at(&mean, &at, &e, group->mean_off / 4);
        double rest =
            2 * DBL_EPSILON * (g.units + group->mass_off / 4 + offset);
        double x = 1, y = 0, first;
        if (group->high > group->low) {
            curve_at(&mean, &at, &e, group->spread, &x, &y);
            struct inverse c = inverse_at(&low, &at);
            rest += remainder_of(&low, &at, &c, group, &first) +
                    1e-12 * (fabs(x - 1) + fabs(y));
        }
        error[n] += rest < 1 ? top * rest + add : top;
        if (!(rest < 1))
            continue;
        double size = mass * exp(g.re - offset), re = cos(g.im), im = sin(g.im);
        value[n] += size * (re * x - im * y) + size * (re * y + im * x) * I;
    }
}

void pri_factor_along(const struct pri_function *function,
                      const struct pri_mgf *factor, bool quiet, double sigma,
                      double step, int32_t count, double complex *value,
                      double *error)
{
    double offset = offset_at(function, factor, sigma);
    double all = 0; /* of the sizes of what was added up: small ones first */
    int32_t split = factor->law.count - factor->quiet;
    int32_t first = quiet ? split : factor->loud;
    for (int32_t n = 0; n < count; n++)
        value[n] = error[n] = 0;
    for (int32_t k = (quiet ? factor->law.count : split) - 1; k >= first; k--) {
        const struct pri_variances *group = &factor->law.group[k];
        if (function->kernel == PRI_MEAN)
            add_mean(factor, group, sigma, step, offset, count, &all, value,
                     error);
        else
            add_loss(function, factor, group, sigma, step, offset, count, &all,
                     value, error);
    }
}
