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
    free(line->error);
    free(line->slope);
    *line = (struct pri_line){0};
}

enum pricer_status pri_line_reserve(struct pri_line *line, int32_t count)
{
    if (count <= line->room)
        return PRICER_OK;
    free(line->value);
    free(line->error);
    free(line->slope);
    line->value = pri_alloc(count, sizeof *line->value);
    line->error = pri_alloc(count, sizeof *line->error);
    line->slope = pri_alloc(count, sizeof *line->slope);
    bool all = line->value && line->error && line->slope;
    line->room = all ? count : 0;
    return all ? PRICER_OK : PRICER_MEMORY;
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
    if (!(growth < INFINITY))
        return 0;
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

double pri_line_beyond(const struct pri_line *line, double eps, double step)
{
    double first = 2 * M_PI / step * (1 - 1e-12), least = INFINITY;
    if (line->most < first)
        return 0;
    for (int k = 0; k < PRI_FURTHER; k++) {
        double t = line->further[k];
        double away = (t - line->sigma) * first;
        double log_bound =
            line->log_further[k] + pri_log_phi(line->kernel, eps, t) - away;
        if (away > 1 && log_bound < 0)
            least = fmin(least, exp(log_bound) / -expm1(-away));
    }
    return least * PRI_SLACK;
}

/* Both bounds of PRI_MEAN from a place on; the size is that of M(sigma), inside
 * the exponent since either may be out of range by itself. */
static double mean_tail(double log_size, double sigma, double eps, double from)
{
    double r = sqrt(from + sigma), near = 2 / sqrt(from);
    double far = 2 * (1 + eps * r) / (eps * eps) / (from * sqrt(from));
    return exp(log_size + eps / 2 - eps * r) * (far < near ? far : near) /
           sqrt(8);
}

/* E e^(-sN) of the sum N of uniform numbers: the power of (1 - e^-z) / z. */
static double complex blur_at(const struct pri_line *line, double complex s)
{
    double x = -creal(s) * line->blur, y = -cimag(s) * line->blur;
    double half = sin(y / 2);
    double complex part =
        (expm1(x) * cos(y) - 2 * half * half + exp(x) * sin(y) * I) /
        (x + y * I);
    for (int k = 1; k < PRI_BLURS; k *= 2)
        part *= part;
    return part;
}

double pri_line_tail(const struct pri_line *line, double eps, int32_t count)
{
    double from = line->step * (count - 1), sigma = line->sigma, sum = 0;
    double log_size = line->log_most + sigma * line->shift;
    if (line->blur > 0)
        log_size += PRI_BLURS * fmin(log(2 / (from * line->blur)), 0);
    if (line->kernel == PRI_LOSS)
        return exp(log_size - sigma * eps) * line->edge / (M_PI * from) *
                   PRI_SLACK +
               DBL_MIN;
    /* |phi| falls along the line and 1 / w has the integral ln 2 over an
     * octave: octave by octave, until the formula is no worse. */
    for (int k = 0; k < 60; k++, from *= 2) {
        double complex s = sigma + from * I, root = csqrt(1 + 8 * s);
        double octave = exp(log_size - 2 * eps * creal(2 * s / (1 + root))) /
                        cabs(root) * M_LN2;
        double rest = mean_tail(log_size, sigma, eps, from);
        if (rest <= 2 * octave) {
            sum += rest;
            break;
        }
        sum += k == 59 ? rest : octave;
    }
    return (sum + DBL_MIN) / M_PI * PRI_SLACK;
}

/* phi(s) / s = e^(-eps slope) fixed. */
void pri_line_prepare(struct pri_line *line)
{
    double scale = line->step / (2 * M_PI);
    for (int32_t n = 0; n < line->count; n++) {
        double complex s = line->sigma + line->step * n * I;
        double complex root = csqrt(1 + 8 * s);
        double complex fixed =
            line->kernel == PRI_LOSS ? 1 / (s * (1 + s)) : 1 / (root * s);
        double times = (n == 0 ? 1 : 2) * scale;
        double complex blurred = line->blur > 0 ? blur_at(line, s) : 1;
        double size =
            cabs(line->value[n]) * pow(cabs(blurred), .875) * 128 * DBL_EPSILON;
        line->value[n] *= blurred;
        line->error[n] *= cabs(blurred) * PRI_SLACK;
        line->slope[n] = line->kernel == PRI_LOSS ? s : 4 * s / (1 + root);
        line->value[n] *= fixed * times;
        line->error[n] =
            (line->error[n] + size) * cabs(fixed) * times * PRI_SLACK;
    }
}

/* One part of the law; the rounding of every term is charged, and that of adding
 * `count` of them up: half a unit of their sizes for each, however much they cancel. */
static double part_delta(const struct pri_line *line, double eps,
                         enum pri_side side)
{
    double shift = side == PRI_ABOVE ? line->shift : 0;
    double sum = 0, error = 0;
    if (line->count == 0) {
        double log_bound = line->log_most + line->sigma * shift +
                           pri_log_phi(line->kernel, eps, line->sigma);
        if (side == PRI_ABOVE)
            return fmin(exp(log_bound) * PRI_SLACK, line->mass);
        return fmax(line->least - exp(eps / 2) * line->left * PRI_SLACK, 0);
    }
    for (int32_t n = 0; n < line->count; n++) {
        double over = line->step * n;
        double re =
            line->log_most - eps * creal(line->slope[n]) + line->sigma * shift;
        double im = over * shift - eps * cimag(line->slope[n]);
        double units = 8 + line->count / 2. + fabs(line->log_most) +
                       2 * eps * cabs(line->slope[n]) +
                       2 * (line->sigma + over) * shift;
        double size = exp(re);
        double a = creal(line->value[n]), b = cimag(line->value[n]);
        sum += size * (a * cos(im) - b * sin(im));
        error += size * (line->error[n] +
                         4 * DBL_EPSILON * units * (fabs(a) + fabs(b)));
    }
    error += pri_line_tail(line, eps, line->count);
    error *= PRI_SLACK;
    /* What is not a number is no bound. */
    if (side == PRI_ABOVE)
        return sum + error < line->mass ? fmax(sum + error, 0) : line->mass;
    double before =
        line->mass / expm1(2 * M_PI * line->sigma / line->step * (1 - 1e-12));
    double low = sum - error - before * PRI_SLACK -
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
        return ((sum + least) * PRI_SLACK * (1 + line->loose) + raised) *
                   PRI_SLACK +
               line->more[PRI_ABOVE];
    return (sum * (1 - line->loose) - raised) +
           line->more[PRI_BELOW] * (1 - line->loose);
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
    /* A grain to the safe side, where the two straight ends may meet. */
    double aim = delta * (side == PRI_ABOVE ? 1 - 3e-12 : 1 + 3e-12);
    for (int k = 0; k < 100 && b - a > 1e-10 * b; k++) {
        double now = log(pri_line_delta(line, at, side) / aim);
        bool above = side == PRI_ABOVE ? !(now <= 0) : now >= 0;
        *(above ? &a : &b) = at;
        *(above ? &at_a : &at_b) = isnan(now) ? -INFINITY : now;
        if (fabs(now) < 1e-11 && above == (side == PRI_BELOW))
            break;
        /* Where ln delta would meet its goal if it were straight, now and then
         * the middle. Until both ends are known by values, go on in steps. */
        double part = k % 4 == 3 ? .5 : at_a / (at_a - at_b);
        if (isfinite(at_a) && isfinite(at_b)) {
            at = a + fmin(fmax(part, 1e-4), 1 - 1e-4) * (b - a);
        } else {
            at = above ? fmin(a + step, (a + 3 * b) / 4)
                       : fmax(b - step, (3 * a + b) / 4);
            step *= 8;
        }
    }
    return side == PRI_ABOVE ? b : a;
}
