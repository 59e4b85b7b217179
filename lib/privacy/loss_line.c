/*
 * From values of a moment generating function along a line to the privacy it
 * costs: the expected delta at any eps, and the eps at which it meets a given
 * delta. loss_line.h has the mathematics.
 */
#include "loss_line.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

void pri_line_free(struct pri_line *line)
{
    free(line->value);
    *line = (struct pri_line){0};
}

enum pricer_status pri_line_reserve(struct pri_line *line, int32_t count)
{
    if (count <= line->room)
        return PRICER_OK;
    free(line->value);
    line->value = pri_alloc(4 * (int64_t)count, sizeof *line->value);
    line->slope = (long double complex *)(line->value + count);
    line->error = (double *)(line->slope + count);
    line->room = line->value != NULL ? count : 0;
    return line->value != NULL ? PRICER_OK : PRICER_MEMORY;
}

double pri_log_phi(enum pri_kernel kernel, double eps, double s)
{
    if (kernel == PRI_LOSS)
        return -s * eps - log1p(s);
    double root = sqrt(1 + 8 * s);
    return -4 * eps * s / (1 + root) - log(root);
}

/* By how much the least curve above delta_G(eps; sqrt(x)) with that growth is above
 * it, at most: docs/mathematics.md, Decoupling. */
static double raised_by(double eps, double growth)
{
    if (!(eps > 0))
        return INFINITY;
    struct pri_gaussian g;
    double from =
        eps * eps / (.5 + sqrt(.25 + 2 * eps * eps * (growth + .125)));
    double mu = sqrt(from);
    pri_gaussian_at(eps, mu, &g);
    double density = (double)expl(g.log_density);
    double delta = (double)expl(g.log_delta);
    double size = density / (2 * mu) / growth * (1 + 1e-9);
    return fmax(size * -expm1(-growth * from) - delta * (1 - 1e-9), 0) *
           (1 + 1e-9);
}

double pri_chernoff_eps(enum pri_kernel kernel, double log_bound, double s,
                        double delta)
{
    double root = sqrt(1 + 8 * s);
    double fixed = kernel == PRI_LOSS ? log1p(s) : log(root);
    double slope = kernel == PRI_LOSS ? s : 4 * s / (1 + root);
    double eps = (log_bound - fixed - log(delta)) / slope;
    double room = 1e-14 * (fabs(log_bound) + fixed + fabs(log(delta))) / slope;
    return fmax(eps + room, 0) * PRI_SLACK;
}

/* e^log_bound, upwards, where that is a sum of parts of these sizes. */
static double exp_up(double log_bound, double parts)
{
    return exp(log_bound + 8 * DBL_EPSILON * parts) * PRI_SLACK;
}

double pri_line_beyond(const struct pri_line *line, double eps, double step)
{
    double first = 2 * M_PI / step * (1 - 1e-12), least = INFINITY;
    if (line->most < first)
        return 0;
    for (int k = 0; k < PRI_FURTHER; k++) {
        double t = line->further[k], log_m = line->log_further[k];
        double away = (t - line->sigma) * first;
        double log_phi = pri_log_phi(line->kernel, eps, t);
        double bound =
            exp_up(log_m + log_phi - away, fabs(log_m) + fabs(log_phi) + away);
        if (away > 1 && bound < 1)
            least = fmin(least, bound / -expm1(-away) * PRI_SLACK);
    }
    return least;
}

/* Both bounds of PRI_MEAN from a place on; the size is that of M(sigma), inside
 * the exponent since either may be out of range by itself. */
static double mean_tail(double log_size, double sigma, double eps, double from)
{
    double r = sqrt(from + sigma), near = 2 / sqrt(from);
    double far = 2 * (1 + eps * r) / (eps * eps) / (from * sqrt(from));
    return exp_up(log_size + eps / 2 - eps * r,
                  fabs(log_size) + eps * (r + 1)) *
           (far < near ? far : near) / sqrt(8);
}

/* F = E e^(-sN) of the blur N, and how far it may be off: docs/mathematics.md,
 * Blurred lines. Returns ln of a bound on its size there and beyond. */
static double blur_at(const struct pri_line *line, double complex s,
                      double complex *factor, double *off)
{
    *factor = 1;
    *off = 0;
    if (line->blur == 0)
        return 0;
    double shape = line->shape;
    double complex z = s * (line->blur / 2), q = csqrt(shape * shape + z * z);
    double most = shape / sinh(shape) * exp(creal(q) - creal(z));
    bool falls = cimag(z) > hypot(shape, creal(z)) && most < cabs(q);
    *factor = most * exp(-creal(q)) * cexp(-cimag(z) * I) * csinh(q) / q;
    *off = 16 * DBL_EPSILON * (shape * shape + cabs(z) * cabs(z)) * most;
    return falls ? log(most / cabs(q)) : 0;
}

double pri_line_tail(const struct pri_line *line, double eps, int32_t count)
{
    double from = line->step * (count - 1), sigma = line->sigma, sum = 0;
    double log_size = line->log_most + sigma * line->shift, off;
    double parts = fabs(line->log_most) + sigma * line->shift + 100;
    double complex blur;
    if (line->kernel == PRI_LOSS) {
        log_size += blur_at(line, sigma + from * I, &blur, &off);
        sum = line->edge * (from < 1 ? 1 - log(from) : 1 / from) / M_PI;
        return exp_up(log_size - sigma * eps, parts + sigma * eps) * sum +
               DBL_MIN;
    }
    /* |phi| falls along the line and 1 / w has the integral ln 2 over an
     * octave: octave by octave, until the formula is no worse. */
    for (int k = 0; k < 60; k++, from *= 2) {
        double complex s = sigma + from * I, root = csqrt(1 + 8 * s);
        double log_here = log_size + blur_at(line, s, &blur, &off);
        double complex slope = 4 * s / (1 + root);
        double octave =
            exp_up(log_here - eps * creal(slope), parts + eps * cabs(slope)) /
            cabs(root) * M_LN2;
        double rest = mean_tail(log_here, sigma, eps, from);
        if (rest <= 2 * octave) {
            sum += rest;
            break;
        }
        sum += k == 59 ? rest : octave;
    }
    return (sum + DBL_MIN) / M_PI * PRI_SLACK;
}

void pri_line_prepare(struct pri_line *line)
{
    double scale = line->step / (2 * M_PI), off;
    double complex blur;
    for (int32_t n = 0; n < line->count; n++) {
        /* phi(s) / s = e^(-eps slope) fixed. */
        long double complex s = line->sigma + (long double)line->step * n * I;
        long double complex fixed = 1 / (s * (1 + s));
        line->slope[n] = s;
        if (line->kernel == PRI_MEAN) {
            long double complex root = csqrtl(1 + 8 * s);
            line->slope[n] = 4 * s / (1 + root);
            fixed = 1 / (root * s);
        }
        double complex times = fixed * (n == 0 ? scale : 2 * scale);
        blur_at(line, s, &blur, &off);
        double size = cabs(line->value[n]);
        line->value[n] *= blur;
        line->error[n] *= fmin(cabs(blur) + off, 1);
        size = size * off + cabs(line->value[n]) * 16 * DBL_EPSILON;
        line->value[n] *= times;
        line->error[n] = (line->error[n] + size) * cabs(times) * PRI_SLACK;
    }
}

/* One part of the law; the rounding of every term is charged, and that of adding
 * `count` of them up: units of their sizes, however much they cancel. */
static double part_delta(const struct pri_line *line, double eps,
                         enum pri_side side)
{
    double shift = side == PRI_ABOVE ? line->shift : 0;
    long double total = 0, turn = (long double)line->step * shift;
    long double top = line->log_most + (long double)line->sigma * shift;
    double error = 0, parts = 2 * (fabs(line->log_most) + line->sigma * shift);
    if (line->count == 0) {
        double log_phi = pri_log_phi(line->kernel, eps, line->sigma);
        if (side == PRI_ABOVE)
            return fmin(exp_up(line->log_most + log_phi,
                               fabs(line->log_most) + fabs(log_phi)),
                        line->mass);
        return fmax(line->least - exp(eps / 2) * line->left * PRI_SLACK, 0);
    }
    for (int32_t n = 0; n < line->count; n++) {
        double re = (double)(top - eps * creall(line->slope[n]));
        double im = (double)(turn * n - eps * cimagl(line->slope[n]));
        double a = creal(line->value[n]), b = cimag(line->value[n]);
        double size = exp(re), far = fabs(re) + fabs(im);
        double off = DBL_EPSILON * (8 + far) +
                     LDBL_EPSILON * (line->count +
                                     32 * (parts + far + 2 * n * (double)turn));
        off = off < .01 ? 1.01 * off : expm1(off);
        total += size * (a * cos(im) - b * sin(im));
        error +=
            size * (line->error[n] * (1 + off) + off * (fabs(a) + fabs(b)));
    }
    error = (error + pri_line_tail(line, eps, line->count)) * PRI_SLACK;
    double sum = (double)total;
    /* What is not a number is no bound. */
    if (side == PRI_ABOVE)
        return sum + error < line->mass ? fmax(sum + error, 0) : line->mass;
    double turns = 2 * M_PI * line->sigma / line->step * (1 - 1e-12);
    double low = sum - error - line->mass / expm1(turns) * PRI_SLACK -
                 pri_line_beyond(line, eps, line->step);
    return fmax(low, 0);
}

double pri_line_delta(const struct pri_line *line, double eps,
                      enum pri_side side)
{
    double sum = 0, least = side == PRI_ABOVE && line->shift > 0
                                ? pri_gaussian_above(eps, sqrt(line->shift))
                                : 0;
    double raised = isfinite(line->growth) ? raised_by(eps, line->growth) : 0;
    for (const struct pri_line *at = line; at != NULL; at = at->next)
        sum += part_delta(at, eps, side);
    if (side == PRI_ABOVE)
        return ((sum + least) * (1 + line->loose) + raised +
                line->more[PRI_ABOVE]) *
               (1 + 1e-14);
    return (sum + line->more[PRI_BELOW]) * (1 - line->loose) - raised;
}

/* ------------------------------------------------------------------- eps -- */

/* How far to go at first: not so far that delta changes by more than a part,
 * since a line knows only values of about the one it was drawn for. */
static double first_step(const struct pri_line *line, double eps)
{
    double step = 1e-3 * (eps + DBL_MIN);
    for (; line != NULL; line = line->next)
        if (line->count > 0)
            step = fmin(step, .05 / creal(line->slope[0]));
    return step;
}

double pri_line_eps(const struct pri_line *line, double delta,
                    enum pri_side side, double low, double high, double guess)
{
    double a = low, b = high, at_a = INFINITY, at_b = -INFINITY;
    double at = guess > low && guess < high ? guess : (low + high) / 2;
    double step = first_step(line, at);
    if (side == PRI_ABOVE && low == 0 && pri_line_delta(line, 0, side) <= delta)
        return 0;
    /* A grain to the safe side, for the rounding of what is compared. */
    double aim = delta * (side == PRI_ABOVE ? 1 - 1e-13 : 1 + 1e-13);
    double close = line->shift > 0 ? 1e-6 : 1e-10;
    for (int k = 0; k < 100 && b - a > close * b; k++) {
        double now = log(pri_line_delta(line, at, side) / aim);
        bool above = side == PRI_ABOVE ? !(now <= 0) : now >= 0;
        *(above ? &a : &b) = at;
        *(above ? &at_a : &at_b) = isnan(now) ? -INFINITY : now;
        if (fabs(now) < 2e-13 && above == (side == PRI_BELOW))
            break;
        /* Where ln delta would meet its goal if it were straight, now and then
         * the middle. Until both ends are known by values, go on in steps. */
        double part = k % 4 == 3 ? .5 : at_a / (at_a - at_b);
        if (isfinite(at_a) && isfinite(at_b)) {
            at = a + fmin(fmax(part, 1e-4), 1 - 1e-4) * (b - a);
        } else {
            at = above ? fmin(a + step, (a + 3 * b) / 4)
                       : fmax(b - step, (3 * a + b) / 4);
            step *= side == PRI_ABOVE ? 8 : 2;
        }
    }
    return side == PRI_ABOVE ? b : a;
}
