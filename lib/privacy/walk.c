/*
 * From a model to its values along a line: the product over all sums, then over
 * all rounds, each with a bound on its error (docs/mathematics.md, Rounds).
 */
#include "bracket.h"
#include "exact.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* x^n, for a whole number n. */
static double complex power(double complex x, int64_t n)
{
    double complex result = 1;
    for (; n > 0; n >>= 1, x *= x)
        if (n & 1)
            result *= x;
    return result;
}

/* (1 + x)^n - 1, where that is small. */
static double complex power_less_1(double complex x, double n)
{
    double re = creal(x), im = cimag(x);
    double a = n / 2 * log1p(re * (2 + re) + im * im);
    double b = n * atan2(im, 1 + re), half = sin(b / 2);
    return expm1(a) * cos(b) - 2 * half * half + exp(a) * sin(b) * I;
}

/* From one round to all of them: value becomes (rest + value)^rounds -
 * rest^rounds, times e^log_scale. */
static void repeat(int64_t times, int32_t factors, double log_scale,
                   const struct pri_values *rest, struct pri_line *line)
{
    double rounds = (double)times, scale = exp(log_scale);
    double units =
        DBL_EPSILON * ((64 + 8. * factors) * rounds + 4 * fabs(log_scale));
    for (int32_t n = 0; n < line->count; n++) {
        double complex now = line->value[n], before = rest->value[n];
        double size = cabs(now) * (1 + 4 * DBL_EPSILON);
        double quiet = cabs(before) * (1 + 4 * DBL_EPSILON);
        double off = line->error[n], off_rest = rest->error[n];
        double whole = quiet + size + off + off_rest, result;
        double complex nothing = scale * power(before, times);
        if (rounds * size < .5 * quiet) {
            double most = cabs(nothing) * expm1(rounds * log1p(size / quiet));
            line->value[n] = nothing * power_less_1(now / before, rounds);
            result = (64 * DBL_EPSILON + 2 * units) * most;
        } else {
            line->value[n] = scale * power(before + now, times) - nothing;
            result = units * (scale * pow(whole, rounds) + cabs(nothing));
        }
        off = scale * rounds * pow(whole, rounds - 1) *
                  (off + (rounds - 1) * (size + off) * off_rest / whole) +
              result;
        bool useless = !(off < 1); /* at most 1 it is anyway */
        line->value[n] = useless ? 0 : line->value[n];
        line->error[n] = useless ? 1 : off * (1 + 1e-9);
    }
}

/* One sum more: what is shown becomes (rest + shown)(quiet + part) - rest quiet
 * and the rest becomes rest quiet. */
static void multiply(const struct pri_values *part,
                     const struct pri_values *quiet, struct pri_values *rest,
                     struct pri_line *line)
{
    for (int32_t n = 0; n < line->count; n++) {
        double complex before = rest->value[n], now = line->value[n];
        double complex whole = quiet->value[n] + part->value[n];
        double off = part->error[n], off_quiet = quiet->error[n];
        double off_rest = rest->error[n], shown = cabs(part->value[n]);
        double size = cabs(now), most = cabs(whole) + off + off_quiet;
        double still = cabs(quiet->value[n]);
        line->value[n] = now * whole + before * part->value[n];
        line->error[n] =
            line->error[n] * most + size * (off + off_quiet) +
            cabs(before) * off + off_rest * (shown + off) +
            8 * DBL_EPSILON * (size * cabs(whole) + cabs(before) * shown);
        rest->value[n] = before * quiet->value[n];
        rest->error[n] = off_rest * (still + off_quiet) +
                         cabs(before) * off_quiet +
                         8 * DBL_EPSILON * cabs(before) * still;
    }
}

static enum pricer_status reserve(struct pri_values *values, int32_t count)
{
    if (count <= values->room)
        return PRICER_OK;
    free(values->value);
    free(values->error);
    values->value = pri_alloc(count, sizeof *values->value);
    values->error = pri_alloc(count, sizeof *values->error);
    bool all = values->value && values->error;
    values->room = all ? count : 0;
    return all ? PRICER_OK : PRICER_MEMORY;
}

/* One sum, or the last, all that are coupled: its part and its quiet patterns
 * along the line, both divided by a bound at the real s, ln of which is
 * returned in *log_most. */
static enum pricer_status one_part(struct pri_sums *model, int32_t number,
                                   double eps, const struct pri_line *line,
                                   struct pri_scratch *scratch,
                                   double *log_most)
{
    struct pri_values *part = &scratch->part, *quiet = &scratch->quiet;
    const struct pri_mgf *factor = &model->factor[number];
    bool coupled = number == model->factors;
    double shown, unseen, sure;
    enum pricer_status status = PRICER_OK;
    double offset =
        coupled ? pri_exact_real(model->exact, line->sigma, &shown, &unseen)
                : pri_factor_real(&model->function, factor, line->sigma, &shown,
                                  &unseen);
    double most = unseen + shown;
    sure = coupled ? unseen : factor->unseen * exp(-offset);
    for (int32_t n = 0; n < line->count; n++)
        quiet->value[n] = quiet->error[n] = 0;
    if (coupled) {
        status = pri_exact_along(model->exact, line, eps, model->rounds,
                                 part->value, part->error);
    } else {
        pri_factor_along(&model->function, factor, false, line->sigma,
                         line->step, line->count, part->value, part->error);
        if (factor->quiet > 0)
            pri_factor_along(&model->function, factor, true, line->sigma,
                             line->step, line->count, quiet->value,
                             quiet->error);
    }
    for (int32_t n = 0; n < line->count && status == PRICER_OK; n++) {
        part->value[n] /= most;
        part->error[n] /= most;
        quiet->value[n] = (quiet->value[n] + sure) / most;
        quiet->error[n] =
            quiet->error[n] / most + 4 * DBL_EPSILON * cabs(quiet->value[n]);
    }
    *log_most = log(most) + offset;
    return status;
}

enum pricer_status pri_sums_walk(struct pri_sums *model, double eps,
                                 struct pri_scratch *scratch,
                                 struct pri_line *line)
{
    int32_t parts = model->factors + (model->exact != NULL);
    double log_once = 0, log_part;
    enum pricer_status status = pri_line_reserve(line, line->count);
    struct pri_values *values[] = {&scratch->part, &scratch->rest,
                                   &scratch->quiet};
    for (int k = 0; k < 3 && status == PRICER_OK; k++)
        status = reserve(values[k], line->count);
    for (int32_t n = 0; n < line->count && status == PRICER_OK; n++) {
        line->value[n] = line->error[n] = scratch->rest.error[n] = 0;
        scratch->rest.value[n] = 1;
    }
    for (int32_t k = 0; k < parts && status == PRICER_OK; k++) {
        status = one_part(model, k, eps, line, scratch, &log_part);
        if (status == PRICER_OK)
            multiply(&scratch->part, &scratch->quiet, &scratch->rest, line);
        log_once += log_part;
    }
    if (status == PRICER_OK)
        repeat(model->rounds, model->factors,
               (double)model->rounds * log_once - line->log_most,
               &scratch->rest, line);
    return status;
}
