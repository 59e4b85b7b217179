/*
 * From a moment generating function to a bracket around eps: where the line
 * should go, its values, and both ends. loss_line.h has the mathematics.
 *
 * Claim. Every value along the line comes with a bound on its error: what
 * groups of variances leave out (factor.h), what couplings leave out (exact.h),
 * and rounding, in proportion to the number of rounds. All of it is charged to
 * delta at the eps that is returned. The place of the line decides only how
 * much that is.
 */
#include "bracket.h"
#include "exact.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Parts of delta that the ends of the line should cost at most: where values
 * are known to rounding, and where not. */
#define PART_EXACT 1e-11
#define PART 1e-5

/* A bracket that is narrower, relative to eps, needs no further line. */
#define ENOUGH 5e-4

/* Nodes times groups of variances, at most, and nodes where more are many. */
#define STEPS_MOST 4e5
enum { NODES_MANY = 200, NODES_MOST = 20000, LINES = 3 };

/* A guess of eps, better than the bound: with Laplace's approximation of the
 * integral along the line. */
static double guess_eps(const struct pri_model *model, double delta,
                        struct pri_saddle saddle)
{
    double s = saddle.s, step = .02 * s, kernel = 0;
    double at = pri_model_log(model, s), curved = 0;
    for (int k = -1; k <= 1; k++) {
        double here = s + k * step, weight = k == 0 ? -2 : 1;
        curved +=
            weight * (pri_model_log(model, here) +
                      pri_log_phi(model->function.kernel, saddle.eps, here));
    }
    curved /= step * step;
    kernel = s * sqrt(2 * M_PI * fmax(curved, 1e-300));
    double guess = pri_chernoff_eps(model->function.kernel, at, s,
                                    delta * fmax(kernel, 1));
    return isfinite(guess) ? fmin(guess, saddle.eps) : saddle.eps;
}

/* A bound on |Z^rounds - unseen^rounds| beyond a place on the line, relative to
 * e^log_most. */
static double edge_at(const struct pri_model *model,
                      const struct pri_line *line, double over)
{
    double complex s = line->sigma + over * I;
    double rest = 1, more = 0, log_scale = 0;
    for (int32_t k = 0; k <= model->factors; k++) {
        double part, whole, unseen;
        if (k < model->factors) {
            const struct pri_mgf *factor = &model->factor[k];
            log_scale += pri_factor_real(&model->function, factor, line->sigma,
                                         &part, &unseen);
            whole = unseen + part;
            part = pri_factor_edge(&model->function, factor, s);
        } else if (model->exact != NULL) {
            log_scale +=
                pri_exact_real(model->exact, line->sigma, &part, &unseen);
            whole = unseen + part;
            part = pri_exact_edge(model->exact, s);
        } else {
            break;
        }
        more = (more * (unseen + part) + rest * part) / whole;
        rest *= unseen / whole;
        log_scale += log(whole);
    }
    double rounds = (double)model->rounds;
    double log_edge = pri_log_rounds(rest, more, rounds) + rounds * log_scale -
                      line->log_most;
    return fmin(exp(log_edge) * (1 + 1e-9), 1);
}

/* Where the line goes, how far apart its nodes are and how many. False if there
 * would be too many. */
static bool choose_line(const struct pri_model *model, double delta, double eps,
                        double sigma, double part, struct pri_line *line)
{
    static const double times[PRI_FURTHER] = {1.25, 1.5, 2, 3, 4};
    double rounds = (double)model->rounds, goal = part * delta;
    bool mean = model->function.kernel == PRI_MEAN;
    line->kernel = model->function.kernel;
    line->sigma = sigma;
    line->shift = mean ? rounds * model->shift * (1 + 1e-9) : 0;
    line->most = mean ? rounds * model->most : INFINITY;
    line->mass = fmin(rounds * model->seen * (1 + 1e-9), 1);
    line->log_most =
        pri_model_log(model, sigma) - (mean ? sigma * line->shift : 0);
    line->edge = 1;
    for (int k = 0; k < PRI_FURTHER; k++) {
        line->further[k] = times[k] * sigma;
        line->log_further[k] = pri_model_log(model, times[k] * sigma);
    }
    line->step = 2 * M_PI * sigma / log1p(line->mass / goal);
    for (int k = 0; k < 12; k++)
        if (pri_line_beyond(line, eps, line->step) > goal)
            line->step /= 1.25;
    int32_t groups = 1, most;
    for (int32_t k = 0; k < model->factors; k++)
        groups += model->factor[k].law.count;
    most = (int32_t)fmin(STEPS_MOST / groups, NODES_MOST) + NODES_MANY;
    for (line->count = 4; line->count < most;
         line->count += 2 + line->count / 12) {
        if (!mean)
            line->edge = edge_at(model, line, line->step * (line->count - 1));
        if (pri_line_tail(line, eps, line->count) <= goal)
            break;
    }
    return isfinite(line->log_most);
}

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

/*
 * From one round to all of them: value becomes
 * (rest + value)^rounds - rest^rounds, times e^log_scale. An error e of one
 * round is at most rounds e (rest + |value| + e)^(rounds - 1) of all, and
 * every multiplication of the power, of which rounding repeats `rounds` times
 * at most, adds some units.
 */
static void repeat(int64_t times, int32_t factors, double rest,
                   double log_scale, struct pri_line *line)
{
    double rounds = (double)times, scale = exp(log_scale);
    double nothing = scale * pow(rest, rounds);
    double units =
        DBL_EPSILON * ((32 + 4. * factors) * rounds + 4 * fabs(log_scale));
    for (int32_t n = 0; n < line->count; n++) {
        double complex now = line->value[n];
        double size = cabs(now) * (1 + 4 * DBL_EPSILON);
        double off = line->error[n], whole = rest + size + off, result;
        bool small = rounds * size < .5 * rest;
        if (small) {
            double most = nothing * expm1(rounds * log1p(size / rest));
            line->value[n] = nothing * power_less_1(now / rest, rounds);
            result = (32 * DBL_EPSILON + units) * most;
        } else {
            line->value[n] = scale * power(rest + now, times) - nothing;
            result = units * (scale * pow(whole, rounds) + nothing);
        }
        off = scale * rounds * pow(whole, rounds - 1) * off + result;
        bool useless = !(off < 1); /* at most 1 it is anyway */
        line->value[n] = useless ? 0 : line->value[n];
        line->error[n] = useless ? 1 : off * (1 + 1e-9);
    }
}

/* One sum more: shown becomes (rest + shown)(unseen + part) - rest unseen. */
static void multiply(int32_t count, double rest, double unseen,
                     const double complex *part, const double *error,
                     struct pri_line *line)
{
    for (int32_t n = 0; n < count; n++) {
        double complex whole = unseen + part[n];
        double off = error[n], size = cabs(line->value[n]);
        double rounding =
            8 * DBL_EPSILON * (size * cabs(whole) + rest * cabs(part[n]));
        line->error[n] = line->error[n] * (cabs(whole) + off) +
                         (size + rest) * off + rounding;
        line->value[n] = line->value[n] * whole + rest * part[n];
    }
}

static enum pricer_status reserve_values(struct pri_scratch *scratch,
                                         int32_t count)
{
    if (count <= scratch->value_room)
        return PRICER_OK;
    free(scratch->value);
    free(scratch->error);
    scratch->value = pri_alloc(count, sizeof *scratch->value);
    scratch->error = pri_alloc(count, sizeof *scratch->error);
    bool all = scratch->value && scratch->error;
    scratch->value_room = all ? count : 0;
    return all ? PRICER_OK : PRICER_MEMORY;
}

/* The values of the line: a product over all sums, each relative to its bound
 * at the real s; then of all rounds. */
static enum pricer_status walk(struct pri_model *model, double eps,
                               struct pri_scratch *scratch,
                               struct pri_line *line)
{
    int32_t count = line->count;
    double log_once = 0, shown, rest = 1;
    enum pricer_status status = pri_line_reserve(line, count);
    if (status == PRICER_OK)
        status = reserve_values(scratch, count);
    for (int32_t n = 0; n < count && status == PRICER_OK; n++)
        line->value[n] = line->error[n] = 0;
    for (int32_t k = 0; k <= model->factors && status == PRICER_OK; k++) {
        bool last = k == model->factors;
        double most = 1, unseen = 0;
        if (last && model->exact == NULL)
            break;
        double offset;
        if (last) {
            offset = pri_exact_real(model->exact, line->sigma, &shown, &unseen);
            status = pri_exact_along(model->exact, line, eps, model->rounds,
                                     scratch->value, scratch->error);
        } else {
            const struct pri_mgf *factor = &model->factor[k];
            offset = pri_factor_real(&model->function, factor, line->sigma,
                                     &shown, &unseen);
            pri_factor_along(&model->function, factor, line->sigma, line->step,
                             count, scratch->value, scratch->error);
        }
        most = unseen + shown;
        for (int32_t n = 0; n < count && status == PRICER_OK; n++) {
            scratch->value[n] /= most;
            scratch->error[n] /= most;
        }
        if (status == PRICER_OK)
            multiply(count, rest, unseen / most, scratch->value, scratch->error,
                     line);
        rest *= unseen / most;
        log_once += log(most) + offset;
    }
    if (status == PRICER_OK)
        repeat(model->rounds, model->factors, rest,
               (double)model->rounds * log_once - line->log_most, line);
    return status;
}

static bool close_enough(const struct pri_bracket *found)
{
    return found->eps - found->eps_lower <= ENOUGH * found->eps;
}

/* The line for a guess of eps. Data has two kernels: where PRI_MEAN would need
 * many nodes (a small eps), or has said nothing, PRI_LOSS is tried. */
static bool place_line(struct pri_model *model, double delta, double part,
                       bool again, struct pri_saddle *saddle, double *guess,
                       struct pri_line *line)
{
    *guess = guess_eps(model, delta, *saddle);
    bool able = choose_line(model, delta, *guess, saddle->s, part, line);
    if (model->function.dimension > 0 || model->exact != NULL ||
        model->shift > 0 || model->function.kernel == PRI_LOSS ||
        (able && line->count <= NODES_MANY && !again))
        return able;
    int32_t before = able && !again ? line->count : INT32_MAX;
    model->function.kernel = PRI_LOSS;
    struct pri_saddle other = pri_model_saddle(model, delta);
    double there = guess_eps(model, delta, other);
    other.eps = fmin(other.eps, saddle->eps);
    if (isfinite(other.eps) &&
        choose_line(model, delta, there, other.s, part, line) &&
        line->count < before) {
        *saddle = other;
        *guess = there;
        return true;
    }
    model->function.kernel = PRI_MEAN;
    return choose_line(model, delta, *guess, saddle->s, part, line);
}

enum pricer_status pri_model_bracket(struct pri_model *model, double delta,
                                     struct pri_saddle saddle, int sides,
                                     struct pri_scratch *scratch,
                                     struct pri_bracket *found)
{
    struct pri_line *line = &scratch->line;
    enum pri_kernel kernel = model->function.kernel;
    double left = delta - model->more[PRI_ABOVE], guess;
    bool sharp = model->exact_laws && model->exact == NULL &&
                 model->function.dimension == 0;
    double part = sharp ? PART_EXACT : PART;
    enum pricer_status status = PRICER_OK;
    bool able = place_line(model, left, part, false, &saddle, &guess, line);
    for (int try = 0; try < LINES && able; try++) {
        line->growth = model->growth;
        line->loose = expm1((double)model->rounds * model->loose) * (1 + 1e-9);
        for (int side = 0; side < 2; side++)
            line->more[side] = model->more[side];
        status = walk(model, guess, scratch, line);
        if (status != PRICER_OK)
            break;
        pri_line_prepare(line);
        double high = fmin(saddle.eps, found->eps), low = found->eps_lower;
        double eps = high;
        if (sides >> PRI_ABOVE & 1)
            eps = pri_line_eps(line, delta, PRI_ABOVE, 0, high, guess);
        if (sides >> PRI_BELOW & 1)
            low = pri_line_eps(line, pri_delta_for(delta, PRI_BELOW), PRI_BELOW,
                               low, fmin(eps, found->eps), eps * (1 - 1e-9));
        /* A model that proves the lower end only says nothing of the upper. */
        if (sides >> PRI_ABOVE & 1)
            found->eps = fmin(found->eps, eps);
        found->eps_lower = fmax(found->eps_lower, low);
        double next = sides >> PRI_ABOVE & 1 ? eps : low;
        if (close_enough(found) || fabs(next - guess) < .003 * guess)
            break;
        guess = next;
        bool again = found->eps_lower == 0 && line->kernel == PRI_MEAN;
        able = again
                   ? place_line(model, left, part, again, &saddle, &guess, line)
                   : choose_line(model, left, guess, saddle.s, part, line);
    }
    model->function.kernel = kernel;
    return status;
}
