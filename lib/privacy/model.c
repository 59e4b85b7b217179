/*
 * From the sums of a view to their moment generating function over all rounds,
 * the real s at which Chernoff's bound is best, and the values along a line, each
 * with a bound on its error (docs/mathematics.md, Rounds).
 */
#include "bracket.h"
#include "exact.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* The saddle is looked for from this exponent of one sum on; of coupled ones up to
 * that, so that there are bounds beyond it as well. */
#define SADDLE_MOST 1000
#define SADDLE_COUPLED 200

/* How much louder a shell's loudest pattern is than its quietest. */
#define SHELL 16
#define SHELL_IDENTITY 2

static enum pricer_status reserve_factors(struct pri_sums *model, int32_t count)
{
    if (count <= model->room)
        return PRICER_OK;
    struct pri_mgf *more = realloc(model->factor, (size_t)count * sizeof *more);
    if (more == NULL)
        return PRICER_MEMORY;
    model->factor = more;
    while (model->room < count)
        more[model->room++] = (struct pri_mgf){0};
    return PRICER_OK;
}

enum pricer_status pri_sums_set(const struct pri_view *view, const bool *which,
                                double hide, double width,
                                struct pri_scratch *scratch)
{
    struct pri_sums *model = &scratch->model;
    enum pricer_status status = reserve_factors(model, view->sources);
    double none = 1;
    model->factors = 0;
    model->bare = 0;
    model->loose = view->loose;
    for (int32_t k = 0; k < view->sources && status == PRICER_OK; k++) {
        const struct pri_source *source = &view->source[k];
        if (which != NULL && !which[k])
            continue;
        struct pri_mgf *factor = &model->factor[model->factors++];
        factor->signal = source->signal;
        factor->own = view->dimension > 0 ? source->own : 0;
        factor->seen = pri_seen(source);
        factor->unseen = pri_unseen(source);
        status = pri_law_build(view, k, scratch->chances.chance,
                               scratch->chances.absent, hide, width,
                               model->grain, &scratch->spare, &factor->law);
        double bare = factor->seen * factor->law.bare;
        model->bare += none * bare;
        none *= 1 - bare;
    }
    return status == PRICER_OK ? pri_sums_shell(model, INFINITY, 0) : status;
}

/* The signal of a group of variances, relative to its noise. */
static double loudness(const struct pri_mgf *factor, int32_t group)
{
    return fmax(factor->signal, factor->own) / factor->law.group[group].low;
}

enum pricer_status pri_sums_shell(struct pri_sums *model, double most,
                                  double least)
{
    enum pricer_status status = PRICER_OK;
    model->most = model->highest = model->seen = 0;
    model->strip = INFINITY;
    model->exact_laws = true;
    for (int32_t k = 0; k < model->factors && status == PRICER_OK; k++) {
        struct pri_mgf *factor = &model->factor[k];
        const struct pri_variances *group = factor->law.group;
        int32_t at = 0, count = factor->law.count;
        while (at < count && loudness(factor, at) > most)
            at++;
        factor->loud = at;
        double high = at < count ? factor->signal / group[at].low : 0;
        for (; at < count && loudness(factor, at) > least; at++)
            model->seen += factor->seen * group[at].mass;
        factor->quiet = count - at;
        for (at = factor->loud; at < count && model->exact_laws; at++)
            model->exact_laws = group[at].high == group[at].low;
        model->most += high * (1 + 1e-9);
        model->highest = fmax(model->highest, high);
        model->strip =
            fmin(model->strip, pri_factor_most(&model->function, factor));
        status = pri_law_sketch(&factor->law, factor->loud, factor->quiet,
                                &factor->sketch, &factor->still);
    }
    return status;
}

int32_t pri_sums_cut(struct pri_sums *model, double *cut)
{
    double most = 0, least = INFINITY;
    double ratio = model->function.dimension > 0 ? SHELL_IDENTITY : SHELL;
    int32_t shells = 0;
    for (int32_t k = 0; k < model->factors; k++) {
        const struct pri_mgf *factor = &model->factor[k];
        if (factor->law.count > 0) {
            most = fmax(most, loudness(factor, 0));
            least = fmin(least, loudness(factor, factor->law.count - 1));
        }
    }
    cut[0] = INFINITY;
    for (double next = most / ratio; next > least && shells < PRI_SHELLS - 1;
         next /= ratio) {
        pri_sums_shell(model, cut[shells], next);
        if (model->seen > 0)
            cut[++shells] = next;
    }
    cut[++shells] = 0;
    pri_sums_shell(model, INFINITY, 0);
    return shells;
}

static int32_t parts_of(const struct pri_sums *model)
{
    return model->factors + (model->exact != NULL);
}

/* One sum, or the last, all that are coupled: Z = unseen + shown at s, or a
 * bound on both beyond s, divided by e^(what is returned). */
static double part_at(const struct pri_sums *model, int32_t number,
                      double complex s, bool rough, double *shown,
                      double *unseen)
{
    if (number < model->factors) {
        struct pri_mgf factor = model->factor[number];
        if (rough) {
            factor.law = factor.sketch;
            factor.loud = 0;
            factor.quiet = factor.still;
        }
        return pri_factor_real(&model->function, &factor, s, shown, unseen);
    }
    return pri_exact_real(model->exact, s, shown, unseen);
}

/* The same of all that one round shows. */
static double once(const struct pri_sums *model, double complex s, bool rough,
                   double *shown, double *unseen)
{
    double log_scale = 0;
    *unseen = 1;
    *shown = 0;
    for (int32_t k = 0; k < parts_of(model); k++) {
        double part, rest;
        log_scale += part_at(model, k, s, rough, &part, &rest);
        *shown = *shown * (rest + part) + *unseen * part;
        *unseen *= rest;
        double most = *shown + *unseen;
        if (!(most > 1e-100 && most < 1e100) && most > 0) {
            *shown /= most;
            *unseen /= most;
            log_scale += log(most);
        }
    }
    return log_scale;
}

/* ln((unseen + shown)^rounds - unseen^rounds). */
static double log_rounds(double unseen, double shown, double rounds)
{
    if (shown == 0)
        return -INFINITY;
    double most = rounds * log(unseen + shown);
    double more = unseen > 0 ? rounds * log1p(shown / unseen) : INFINITY;
    if (more < 30)
        most = rounds * log(unseen) + log(expm1(more));
    return most + 1e-14 * (rounds + fabs(most));
}

double pri_sums_log(const struct pri_sums *model, double complex s, bool rough)
{
    double shown, unseen, rounds = (double)model->rounds;
    if (!(creal(s) < model->strip * .98))
        return INFINITY;
    double all = rounds * once(model, s, rough, &shown, &unseen);
    return log_rounds(unseen, shown, rounds) + all + 1e-15 * fabs(all);
}

void pri_sums_mass(const struct pri_sums *model, double *mass, double *left)
{
    struct pri_sums loss = *model;
    loss.function.kernel = PRI_LOSS;
    *mass = fmin(exp(pri_sums_log(model, 0, false)), 1);
    *left =
        model->exact == NULL ? exp(pri_sums_log(&loss, -.5, false)) : INFINITY;
}

/* What a search for s makes least: Chernoff's eps for a delta, or without one ln
 * of his bound at an eps. */
static double cost(const struct pri_sums *model, double delta, double eps,
                   double s, bool rough)
{
    enum pri_kernel kernel = model->function.kernel;
    bool far = model->exact != NULL && model->function.dimension == 0 &&
               s * model->highest > SADDLE_COUPLED;
    double log_bound = far ? INFINITY : pri_sums_log(model, s, rough);
    if (!isfinite(log_bound))
        return INFINITY;
    return delta > 0 ? pri_chernoff_eps(kernel, log_bound, s, delta)
                     : log_bound + pri_log_phi(kernel, eps, s);
}

/* Either has one minimum in s; it is looked for in ever smaller factors. */
static double search(const struct pri_sums *model, double delta, double eps,
                     bool rough, double *least)
{
    double top =
        fmin(model->strip * .97, SADDLE_MOST / fmax(model->highest, 1e-290));
    double s = fmin(model->function.kernel == PRI_LOSS ? 4 : INFINITY, top);
    *least = cost(model, delta, eps, s, rough);
    for (int k = 0; k < 600 && isinf(*least); k++)
        *least = cost(model, delta, eps, s /= 4, rough);
    for (double factor = 4; factor > 1.05; factor = sqrt(factor))
        for (int up = 0; up < 2; up++)
            for (int k = 0; k < 600; k++) {
                double next = up ? s * factor : s / factor;
                double now = cost(model, delta, eps, next, rough);
                if (!(now < *least))
                    break;
                *least = now;
                s = next;
            }
    if (rough) /* what is proved there, or where something is proved */
        *least = cost(model, delta, eps, s, false);
    return rough && isinf(*least) ? search(model, delta, eps, false, least) : s;
}

struct pri_saddle pri_sums_saddle(const struct pri_sums *model, double delta)
{
    struct pri_saddle saddle;
    saddle.s = search(model, delta, 0, model->exact == NULL, &saddle.eps);
    return saddle;
}

double pri_sums_place(const struct pri_sums *model, double eps,
                      double *log_bound)
{
    double s = search(model, 0, eps, model->exact == NULL, log_bound);
    bool down = model->exact != NULL && eps < PRI_LARGE;
    double far = s, room = model->fine && !down ? .1 : 1;
    double most = cost(model, 0, eps, s, true) + room;
    /* Further up there are fewer nodes; further down less coupling is left out. */
    double times = down ? .87 : 1.3, steps = down ? 5 : 200;
    while (steps-- > 0 && cost(model, 0, eps, far * times, true) < most)
        far *= times;
    return isfinite(pri_sums_log(model, far, false)) ? far : s;
}

/* ------------------------------------------------------------------ line -- */

/* Values along a line and how far each may be off. */
struct values {
    double complex *value;
    double *error;
};

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
static void repeat(int64_t times, double log_scale, const struct values *rest,
                   struct pri_line *line)
{
    double rounds = (double)times, scale = exp(log_scale);
    double units = DBL_EPSILON * (8 * rounds + 4 * fabs(log_scale));
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
static void multiply(const struct values *part, const struct values *quiet,
                     struct values *rest, struct pri_line *line)
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
            4 * DBL_EPSILON * (size * cabs(whole) + cabs(before) * shown);
        rest->value[n] = before * quiet->value[n];
        rest->error[n] = off_rest * (still + off_quiet) +
                         cabs(before) * off_quiet +
                         4 * DBL_EPSILON * cabs(before) * still;
    }
}

/* One sum, or the last, all that are coupled: its part and its quiet patterns
 * along the line, both divided by a bound at the real s, ln of which is
 * returned in *log_most. */
static enum pricer_status one_part(struct pri_sums *model, int32_t number,
                                   double eps, const struct pri_line *line,
                                   struct values *part, struct values *quiet,
                                   long double *log_most)
{
    const struct pri_mgf *factor = &model->factor[number];
    bool coupled = number == model->factors;
    double shown, unseen;
    enum pricer_status status = PRICER_OK;
    double offset = part_at(model, number, line->sigma, false, &shown, &unseen);
    double most = unseen + shown;
    double sure = coupled ? unseen : factor->unseen * exp(-offset);
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
    *log_most = logl(most) + offset;
    return status;
}

enum pricer_status pri_sums_walk(struct pri_sums *model, double eps,
                                 struct pri_scratch *scratch,
                                 struct pri_line *line)
{
    long double log_once = 0, log_part;
    struct pri_line *room = &scratch->along;
    enum pricer_status status = pri_line_reserve(line, line->count);
    if (status == PRICER_OK)
        status = pri_line_reserve(room, 3 * line->count);
    if (status != PRICER_OK)
        return status;
    int32_t all = line->count;
    struct values part = {room->value, room->error};
    struct values rest = {part.value + all, part.error + all};
    struct values quiet = {rest.value + all, rest.error + all};
    for (int32_t n = 0; n < all; n++) {
        line->value[n] = line->error[n] = rest.error[n] = 0;
        rest.value[n] = 1;
    }
    for (int32_t k = 0; k < parts_of(model) && status == PRICER_OK; k++) {
        status = one_part(model, k, eps, line, &part, &quiet, &log_part);
        if (status == PRICER_OK)
            multiply(&part, &quiet, &rest, line);
        log_once += log_part;
    }
    double log_scale = (double)(model->rounds * log_once - line->log_most);
    if (status == PRICER_OK)
        repeat(model->rounds, log_scale, &rest, line);
    return status;
}
