/*
 * From the law of the variance in one sum to its moment generating function, at
 * one s or along a line: factor.h.
 */
#include "factor.h"

#include <float.h>
#include <math.h>

/* ln(1 + z), for small z as well. */
static double complex log_1p(double complex z)
{
    double re = creal(z), im = cimag(z);
    return .5 * log1p(re * (2 + re) + im * im) + atan2(im, 1 + re) * I;
}

/* u (1 + u) for PRI_LOSS; what takes its place, 2s, for PRI_MEAN. */
static double complex twice(const struct pri_function *function,
                            double complex s)
{
    return function->kernel == PRI_LOSS ? s * (1 + s) : 2 * s;
}

/* C of factor.h. */
static double complex middle(const struct pri_function *function, double own,
                             double v, double complex s)
{
    if (own == 0)
        return v;
    return function->direction == 0 ? v + (1 + s) * own : v - s * own;
}

/*
 * ln C - (1 + u) ln Q + u ln P = ln(C / Q) + u ln(P / Q): with r = own / v,
 * ln(1 + u r/(1 + r)) - u ln(1 + r) or ln(1 - u r) + u ln(1 + r). What cancels
 * is charged: units of the sizes of both parts.
 */
static double complex exponent(const struct pri_function *function,
                               double signal, double own, double v,
                               double complex s, double noises, double *units)
{
    double complex c = middle(function, own, v, s), size = twice(function, s);
    double complex g = size * signal / (2 * c);
    *units = cabs(g) * (noises + 12) + 8;
    if (own == 0 || function->dimension == 0)
        return g;
    double r = own / v, ratio = log1p(r), narrow = v / cabs(c);
    double complex part = function->direction == 0
                              ? log_1p(s * (r / (1 + r))) - s * ratio
                              : log_1p(-s * r) + s * ratio;
    double cancels =
        cabs(s) *
        (function->direction == 0 ? ratio : fmax(ratio, r * narrow * narrow));
    double moves = cabs(size) * own * own / (2 * (v + own) * cabs(c));
    *units += function->dimension * (8 * cancels + (noises + 8) * moves);
    return g - function->dimension / 2 * part;
}

double complex pri_entry(const struct pri_function *function, double signal,
                         double own, double variance, double complex s,
                         double noises, double *units)
{
    return cexp(exponent(function, signal, own, variance, s, noises, units));
}

/* The sizes of the first three derivatives of g at a variance. */
struct slopes {
    double first, second, third;
};

static struct slopes slopes_at(const struct pri_function *function,
                               double signal, double own, double v,
                               double complex s)
{
    double c = cabs(middle(function, own, v, s)),
           size = cabs(twice(function, s));
    double a = 1 / v, b = 1 / (v + own), e = 1 / c;
    double across = function->dimension * own * own / 2 * a * b * e;
    double along = signal / 2 * e * e;
    double sum = a + b + e, squares = a * a + b * b + e * e;
    return (struct slopes){
        size * (across + along), size * (across * sum + 2 * along * e),
        size * (across * (sum * sum + squares) + 6 * along * e * e)};
}

/* g' and g'' themselves, for g'^2 + g''. */
static double complex curvature(const struct pri_function *function,
                                double signal, double own, double v,
                                double complex s)
{
    double complex e = 1 / middle(function, own, v, s),
                   size = twice(function, s);
    double a = 1 / v, b = 1 / (v + own);
    double complex across = function->dimension * own * own / 2 * a * b * e;
    double complex along = signal / 2 * e * e;
    double complex first = -size * (across + along);
    double complex second = size * (across * (a + b + e) + 2 * along * e);
    return first * first + second;
}

/* The exponent that numbers are divided by at a real s, so that they stay in
 * range: that of the largest e^g. */
static double offset_at(const struct pri_function *function,
                        const struct pri_mgf *factor, double s)
{
    double units;
    if (factor->law.count == factor->loud)
        return 0;
    double g =
        creal(exponent(function, factor->signal, factor->own,
                       factor->law.group[factor->loud].low, s, 0, &units));
    return g > 100 ? g : 0;
}

/* A bound on e^(g - offset) over a group, at a real s. */
static double top_of(const struct pri_function *function,
                     const struct pri_mgf *factor,
                     const struct pri_variances *group, double s, double offset)
{
    double units;
    double g = creal(exponent(function, factor->signal, factor->own, group->low,
                              s, factor->law.noises, &units));
    return exp(g - offset + 2 * DBL_EPSILON * units) * PRI_SLACK;
}

/* Taylor's remainder, relative to the bound on e^g. */
static double remainder_of(const struct pri_function *function,
                           const struct pri_mgf *factor,
                           const struct pri_variances *group, double complex s)
{
    if (group->high == group->low)
        return 0;
    struct slopes at =
        slopes_at(function, factor->signal, factor->own, group->low, s);
    double third = at.first * (at.first * at.first + 3 * at.second) + at.third;
    return third * group->spread * (group->high - group->low) / 6 * PRI_SLACK;
}

/* g at a real s, as exponent(), without its error. */
static double real_exponent(const struct pri_function *function, double signal,
                            double own, double v, double s)
{
    double size = function->kernel == PRI_LOSS ? s * (1 + s) : 2 * s;
    if (own == 0 || function->dimension == 0)
        return size * signal / (2 * v);
    double r = own / v, ratio = log1p(r);
    double part = function->direction == 0
                      ? log1p(s * (r / (1 + r))) - s * ratio
                      : log1p(-s * r) + s * ratio;
    double c = function->direction == 0 ? v + (1 + s) * own : v - s * own;
    return size * signal / (2 * c) - function->dimension / 2 * part;
}

/*
 * Every factor is a bound at its low ends and, where a group has several
 * values, by Taylor at its mean, whichever is less. The rounding of all
 * exponents is bounded by that of the largest, at the low end of the first
 * group.
 */
double pri_factor_real(const struct pri_function *function,
                       const struct pri_mgf *factor, double s, double *shown,
                       double *unseen)
{
    const struct pri_law *law = &factor->law;
    double sum[2] = {0, 0}, offset = 0, units = 0;
    if (law->count > factor->loud) {
        double g = creal(exponent(function, factor->signal, factor->own,
                                  law->group[factor->loud].low, s,
                                  8. * law->noises, &units));
        offset = g > 100 ? g : 0;
    }
    for (int32_t k = factor->loud; k < law->count; k++) {
        const struct pri_variances *group = &law->group[k];
        double low = exp(real_exponent(function, factor->signal, factor->own,
                                       group->low, s) -
                         offset);
        if (group->high > group->low) {
            double rest = remainder_of(function, factor, group, s);
            double curved = creal(curvature(function, factor->signal,
                                            factor->own, group->mean, s));
            double mean = exp(real_exponent(function, factor->signal,
                                            factor->own, group->mean, s) -
                              offset);
            low =
                fmin(low, mean * (1 + curved * group->spread / 2) + low * rest);
        }
        sum[k >= law->count - factor->quiet] += group->mass * low;
    }
    double slack = exp(4 * DBL_EPSILON * units) * PRI_SLACK;
    *shown = factor->seen * sum[0] * slack;
    *unseen = factor->unseen * exp(-offset) + factor->seen * sum[1] * slack;
    return offset;
}

void pri_factor_left(const struct pri_function *function,
                     const struct pri_mgf *factor, double *shown,
                     double *unseen)
{
    const struct pri_function loss = {PRI_LOSS, function->direction,
                                      function->dimension};
    const struct pri_law *law = &factor->law;
    double sum[2] = {0, 0}, units;
    for (int32_t k = factor->loud; k < law->count; k++) {
        double g =
            creal(exponent(&loss, factor->signal, factor->own,
                           law->group[k].high, -.5, 8. * law->noises, &units));
        sum[k >= law->count - factor->quiet] +=
            law->group[k].mass * fmin(exp(g + 4 * DBL_EPSILON * units), 1);
    }
    *shown = factor->seen * sum[0] * PRI_SLACK;
    *unseen = factor->unseen + factor->seen * sum[1] * PRI_SLACK;
}

double pri_factor_most(const struct pri_function *function,
                       const struct pri_mgf *factor)
{
    double least = INFINITY;
    for (int32_t k = factor->loud; k < factor->law.count; k++)
        least = fmin(least, factor->law.group[k].low);
    if (function->dimension == 0 || function->direction == 0 ||
        factor->own == 0)
        return INFINITY;
    return least / factor->own;
}

double pri_factor_edge(const struct pri_function *function,
                       const struct pri_mgf *factor, double complex s)
{
    double sum = 0, offset = offset_at(function, factor, creal(s));
    for (int32_t k = factor->loud; k < factor->law.count - factor->quiet; k++) {
        const struct pri_variances *group = &factor->law.group[k];
        double units;
        double g = creal(exponent(function, factor->signal, factor->own,
                                  group->low, s, factor->law.noises, &units));
        struct slopes at =
            slopes_at(function, factor->signal, factor->own, group->low, s);
        double within = exp(g - offset + 2 * DBL_EPSILON * units +
                            at.first * (group->high - group->low));
        sum += group->mass *
               fmin(within, top_of(function, factor, group, creal(s), offset));
    }
    return factor->seen * sum * PRI_SLACK;
}

/* One group of data along PRI_MEAN: e^(s x) by multiplication, 4 units a step;
 * with y = s x, g'^2 + g'' is (y^2 + 2y) / mean^2. */
static void add_mean(const struct pri_mgf *factor,
                     const struct pri_variances *group, double sigma,
                     double step, double offset, int32_t count,
                     double complex *value, double *error)
{
    static const struct pri_function mean = {PRI_MEAN, 0, 0};
    double x = factor->signal / group->mean, angle = step * x;
    double mass = factor->seen * group->mass;
    double re = mass * exp(sigma * x - offset), im = 0, c = cos(angle),
           q = sin(angle);
    double top = mass * top_of(&mean, factor, group, sigma, offset);
    double noises = 8. * factor->law.noises, wide = group->high - group->low;
    double curved = group->spread / (2 * group->mean * group->mean);
    double low = group->low, high = factor->signal / low;
    double third = group->spread * wide / (6 * low * low * low) * PRI_SLACK;
    for (int32_t n = 0; n < count; n++) {
        double over = step * n, size = sigma + over;
        double y = sigma * x, z = over * x, at = hypot(sigma, over) * high;
        double a = 1 + curved * (y * y - z * z + 2 * y);
        double b = curved * (2 * y * z + 2 * z);
        double rest = third * at * (at * at + 6 * at + 6) +
                      2 * DBL_EPSILON *
                          (size * high * (noises + 12) + 8 + 4. * n + noises) +
                      1e-12 * (fabs(a - 1) + fabs(b));
        if (rest < 1) {
            value[n] += re * a - im * b + (re * b + im * a) * I;
            error[n] += top * rest;
        } else {
            error[n] += top;
        }
        double next = re * c - im * q;
        im = re * q + im * c;
        re = next;
    }
}

/* One group along PRI_LOSS, in real arithmetic: what does not change. */
struct loss {
    bool first;
    double d, own, signal, v, low, noises, spread, scale, sigma;
    double ratio, part, near, low_near, turn;
};

/* What changes from node to node: U = u (1 + u), 1 / C, and their sizes. */
struct place {
    double w, ur, ui, us, er, ei, e, far;
};

static struct place place_at(const struct loss *loss, double w)
{
    double sigma = loss->sigma;
    struct place at = {.w = w,
                       .ur = sigma * (1 + sigma) - w * w,
                       .ui = w * (1 + 2 * sigma),
                       .far = loss->turn * w};
    double size2 = loss->near * loss->near + at.far * at.far;
    at.us = sqrt(at.ur * at.ur + at.ui * at.ui);
    at.er = loss->near / size2;
    at.ei = -at.far / size2;
    at.e = 1 / sqrt(size2);
    return at;
}

/* g; returns the units of exponent(). */
static double loss_exponent(const struct loss *loss, const struct place *at,
                            double *re, double *im)
{
    double half = loss->signal / 2, r = loss->own / loss->v;
    double x = loss->sigma * loss->part, y = at->w * loss->part;
    double sign = loss->first ? -loss->ratio : loss->ratio;
    double narrow = loss->v * at->e;
    double s = sqrt(loss->sigma * loss->sigma + at->w * at->w);
    double least =
        loss->first ? loss->ratio : fmax(loss->ratio, r * narrow * narrow);
    double moves =
        at->us * loss->own * loss->own * at->e / (2 * (loss->v + loss->own));
    *re = half * (at->ur * at->er - at->ui * at->ei);
    *im = half * (at->ur * at->ei + at->ui * at->er);
    double units = half * at->us * at->e * (8 * loss->noises + 12) + 8;
    if (loss->own == 0)
        return units;
    *re -= loss->d / 2 * (log1p(x * (2 + x) + y * y) / 2 + loss->sigma * sign);
    *im -= loss->d / 2 * (atan2(y, 1 + x) + at->w * sign);
    return units + loss->d * (8 * s * least + (8 * loss->noises + 8) * moves);
}

/* 1 + (g'^2 + g'') spread / 2 as curvature() has it. */
static void loss_curvature(const struct loss *loss, const struct place *at,
                           double *x, double *y)
{
    double a = 1 / loss->v, b = 1 / (loss->v + loss->own);
    double across = loss->d * loss->own * loss->own / 2 * a * b;
    double er = at->er, ei = at->ei, cr = er * er - ei * ei, ci = 2 * er * ei;
    double pr = across * er + loss->signal / 2 * cr;
    double pi = across * ei + loss->signal / 2 * ci;
    double fr = -(at->ur * pr - at->ui * pi), fi = -(at->ur * pi + at->ui * pr);
    double sr = a + b + er;
    double qr =
        across * (er * sr - ei * ei) + loss->signal * (cr * er - ci * ei);
    double qi =
        across * (ei * sr + er * ei) + loss->signal * (cr * ei + ci * er);
    double kr = fr * fr - fi * fi + at->ur * qr - at->ui * qi;
    double ki = 2 * fr * fi + at->ur * qi + at->ui * qr;
    *x = 1 + kr * loss->spread / 2;
    *y = ki * loss->spread / 2;
}

/* Taylor's remainder as remainder_of() has it. */
static double loss_remainder(const struct loss *loss, const struct place *at)
{
    double a = 1 / loss->low, b = 1 / (loss->low + loss->own);
    double e = 1 / sqrt(loss->low_near * loss->low_near + at->far * at->far);
    double across = loss->d * loss->own * loss->own / 2 * a * b * e;
    double along = loss->signal / 2 * e * e;
    double sum = a + b + e, squares = a * a + b * b + e * e;
    double one = at->us * (across + along);
    double two = at->us * (across * sum + 2 * along * e);
    double three =
        at->us * (across * (sum * sum + squares) + 6 * along * e * e);
    return (one * (one * one + 3 * two) + three) * loss->scale;
}

static void add_loss(const struct pri_function *function,
                     const struct pri_mgf *factor,
                     const struct pri_variances *group, double sigma,
                     double step, double offset, int32_t count,
                     double complex *value, double *error)
{
    bool first = function->direction == 0;
    double own = function->dimension > 0 ? factor->own : 0;
    double v = group->mean, wide = group->high - group->low, r = own / v;
    double mass = factor->seen * group->mass;
    double top = mass * top_of(function, factor, group, sigma, offset);
    double near = first ? v + (1 + sigma) * own : v - sigma * own;
    struct loss loss = {first,
                        function->dimension,
                        own,
                        factor->signal,
                        v,
                        group->low,
                        factor->law.noises,
                        group->spread,
                        group->spread * wide / 6 * PRI_SLACK,
                        sigma,
                        log1p(r),
                        first ? r / (1 + r) : -r,
                        near,
                        near - (v - group->low),
                        first ? own : -own};
    for (int32_t n = 0; n < count; n++) {
        struct place at = place_at(&loss, step * n);
        double re, im, x = 1, y = 0;
        double units = loss_exponent(&loss, &at, &re, &im);
        double rest = 2 * DBL_EPSILON * (units + 8 * loss.noises);
        double size = mass * exp(re - offset), c = cos(im), s = sin(im);
        if (wide > 0) {
            loss_curvature(&loss, &at, &x, &y);
            rest +=
                loss_remainder(&loss, &at) + 1e-12 * (fabs(x - 1) + fabs(y));
        }
        error[n] += rest < 1 ? top * rest : top;
        if (rest < 1)
            value[n] += size * (c * x - s * y) + size * (c * y + s * x) * I;
    }
}

void pri_factor_along(const struct pri_function *function,
                      const struct pri_mgf *factor, bool quiet, double sigma,
                      double step, int32_t count, double complex *value,
                      double *error)
{
    double offset = offset_at(function, factor, sigma);
    int32_t split = factor->law.count - factor->quiet;
    for (int32_t n = 0; n < count; n++)
        value[n] = error[n] = 0;
    for (int32_t k = quiet ? split : factor->loud;
         k < (quiet ? factor->law.count : split); k++) {
        const struct pri_variances *group = &factor->law.group[k];
        if (function->kernel == PRI_MEAN)
            add_mean(factor, group, sigma, step, offset, count, value, error);
        else
            add_loss(function, factor, group, sigma, step, offset, count, value,
                     error);
    }
}
