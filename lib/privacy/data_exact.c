/*
 * From a view whose links are coupled to a bracket around eps, all couplings at
 * once: the generating function of one round (coupling.h) along a line in the
 * complex plane, and the privacy it costs (loss_line.h).
 *
 * Claim. Both ends are on their side of the expectation that data.c
 * brackets. What the sum over couplings leaves out, rounding, what the line
 * leaves out and what sources left out of the view may add are bounded and
 * charged to delta at the eps that is returned. How long this takes depends on
 * how many sums there are and how strongly they are coupled, not on how many
 * cases there are.
 */
#include "account.h"
#include "loss_line.h"
#include "coupling.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Parts of delta that the ends of the line, and all couplings that are left
 * out, should cost at most. */
#define LINE_PART 1e-5
#define REST_PART 1e-3

/* Where all rounds together have more than this part of uncertainty even at the
 * real s, it is not worth it. */
#define HOPELESS 0.1

/* A case with less than this part of all is left out. */
#define NEGLIGIBLE 1e-13

/* No exponent is larger than this. */
#define EXPONENT_MOST 250

/* A bracket that is narrower, relative to eps, needs no further line. */
#define ENOUGH 2e-3

enum { NODES_MOST = 2000, TABLE_MOST = 1 << 19, LINES = 3 };

/* What one try works on. */
struct task {
    const struct pri_attempt *attempt;
    struct pri_scratch *scratch;
    struct pri_coupling coupling; /* of the view */
    struct pri_condition given;
    struct pri_coupling one; /* of one case */
    struct pri_contour contour;
    double log_unit;     /* generating functions are in units of e^this */
    double delta, eps;   /* the eps that the line is made for */
    double budget, work; /* at first, and left */
};

/* ln of a bound on the terms of the line through a real s. */
static double log_size(struct task *task, double s)
{
    pri_coupling_begin(&task->coupling, s);
    return (double)task->attempt->rounds * pri_coupling_parts(&task->coupling) +
           pri_contour_log_phi(task->eps, s) - log(s);
}

/* Where mu^2 matters for one Gaussian of this eps and delta, as an exponent. */
static double first_sigma(const struct task *task)
{
    double nats = fmax(-log(task->delta), 0.1);
    double mu = sqrt(2 * (nats + task->eps)) - sqrt(2 * nats);
    double ratio = 2 * task->eps / (mu * mu);
    return (ratio * ratio + 1) / 8;
}

/* The sigma at which the bound is least, within a tenth: a convex function, and
 * all that is wanted is that little cancels along the line. */
static double choose_sigma(struct task *task)
{
    double most = EXPONENT_MOST / task->coupling.highest;
    double sigma = fmin(first_sigma(task), most);
    pri_coupling_begin(&task->coupling, sigma);
    pri_coupling_balance(&task->coupling);
    double least = log_size(task, sigma);
    for (double factor = 1.5; factor > 1.1; factor = sqrt(factor))
        for (int direction = 0; direction < 2; direction++)
            for (int k = 0; k < 40; k++) {
                double next = direction == 0 ? sigma * factor : sigma / factor;
                double now = next > most ? INFINITY : log_size(task, next);
                if (!(now < least))
                    break;
                least = now;
                sigma = next;
            }
    return sigma;
}

/* How far apart the nodes of the line are, and how many. False if there would
 * be too many. */
static bool choose_line(struct task *task)
{
    struct pri_contour *contour = &task->contour;
    double part = LINE_PART * task->delta;
    double rounds = (double)task->attempt->rounds;
    double sigma = choose_sigma(task);
    contour->sigma = sigma;
    contour->most = rounds * task->coupling.most * (1 + 1e-9);
    contour->shift = rounds * task->attempt->little * (1 + 1e-9);
    for (int k = 0; k < PRI_FURTHER; k++) {
        static const double times[PRI_FURTHER] = {1.25, 1.5, 2, 3, 4};
        double t = times[k] * sigma;
        pri_coupling_begin(&task->coupling, t);
        double bound = t * task->coupling.highest < 2 * EXPONENT_MOST
                           ? pri_coupling_parts(&task->coupling)
                           : INFINITY;
        contour->further[k] = t;
        contour->log_further[k] = rounds * bound;
    }
    pri_coupling_begin(&task->coupling, sigma);
    pri_coupling_balance(&task->coupling);
    contour->log_most = rounds * pri_coupling_parts(&task->coupling);
    task->log_unit = task->coupling.log_scale;
    contour->step = 2 * M_PI * sigma / log1p(1 / part);
    for (int k = 0; k < 12; k++)
        if (pri_contour_beyond(contour, task->eps, contour->step) > part)
            contour->step /= 1.25;
    contour->count = 2;
    while (contour->count < NODES_MOST &&
           pri_contour_tail(contour, task->eps, contour->count) > part)
        contour->count += 1 + contour->count / 16;
    return contour->count < NODES_MOST && isfinite(contour->log_most);
}

/* What the tables of one node cost, in steps of about a nanosecond. */
static double table_cost(const struct pri_coupling *coupling)
{
    return (double)coupling->table * 8 +
           (double)coupling->vertices * (coupling->vertices * 64 + 200);
}

/* The tables of all cases: half of the sums are seen. */
static double all_tables(const struct task *task)
{
    return ldexp(table_cost(&task->coupling), task->given.count) / 4;
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

/* ----------------------------------------------------------------- cases -- */

/* How much a node weighs in the sum over the line, as a logarithm. */
static double log_weight(const struct task *task, int32_t n)
{
    double complex s = task->contour.sigma + task->contour.step * n * I;
    double complex root = csqrt(1 + 8 * s);
    return -task->eps / 2 * creal(root) - log(cabs(root * s));
}

/* How much the rest of a node may be, as a part of the generating function at
 * the real s: more where phi is small. */
static double enough_at(const struct task *task, int32_t n)
{
    return REST_PART / task->contour.count / (double)task->attempt->rounds *
           exp(log_weight(task, 0) - log_weight(task, n));
}

/* The least depth at which the rest is small enough, or the most that can be
 * afforded. */
static int32_t choose_depth(struct pri_coupling *coupling, const double *rest,
                            double enough, double afford)
{
    int32_t depth = 0;
    while (depth < PRI_DEPTH_MOST && rest[depth] > enough &&
           pri_coupling_cost(coupling, depth + 1) < afford)
        depth++;
    return depth;
}

/* One case at one node, added to what the others have. */
static enum pricer_status add_node(struct task *task, int32_t n, double weight,
                                   double alike)
{
    struct pri_coupling *coupling = &task->one;
    double afford = task->budget / task->contour.count / alike / 3;
    double rest[PRI_DEPTH_MOST + 1];
    double complex sum;
    pri_coupling_parts(coupling);
    pri_coupling_rest(coupling, rest);
    int32_t depth = choose_depth(coupling, rest,
                                 enough_at(task, n) /
                                     (alike * (task->given.count + 1) * weight),
                                 afford);
    double error = rest[depth] + pri_coupling_rounding(coupling);
    task->work -= table_cost(coupling) + pri_coupling_cost(coupling, depth);
    enum pricer_status status = pri_coupling_sum(coupling, depth, &sum);
    task->contour.value[n] += weight * sum;
    task->contour.error[n] += weight * error;
    return status;
}

/* One case at all nodes. */
static enum pricer_status add_case(struct task *task, double weight,
                                   double alike)
{
    struct pri_coupling *coupling = &task->one;
    struct pri_contour *contour = &task->contour;
    enum pricer_status status = PRICER_OK;
    pri_coupling_begin(coupling, contour->sigma);
    pri_coupling_balance(coupling);
    double all = weight * exp(pri_coupling_parts(coupling) - task->log_unit);
    if (all < NEGLIGIBLE) {
        for (int32_t n = 0; n < contour->count; n++)
            contour->error[n] += all;
        return PRICER_OK;
    }
    weight *= exp(coupling->log_scale - task->log_unit);
    pri_coupling_aim(coupling, contour->step);
    for (int32_t n = 0; n < contour->count && status == PRICER_OK; n++) {
        if (n > 0)
            pri_coupling_advance(coupling);
        status = add_node(task, n, weight, alike);
    }
    return status;
}

/* All cases. *able is false where they turn out to be too much. */
static enum pricer_status add_cases(struct task *task, bool *able)
{
    uint64_t cases = (uint64_t)1 << task->given.count;
    double rounds = (double)task->attempt->rounds;
    enum pricer_status status = PRICER_OK;
    for (uint64_t k = cases; k > 0 && *able && status == PRICER_OK; k--) {
        double weight = pri_condition_case(task->attempt, k - 1, task->scratch,
                                           &task->given);
        if (weight == 0)
            continue;
        status =
            pri_coupling_build(&task->given.view, TABLE_MOST, &task->one, able);
        double alike = 1; /* cases with as many sums */
        for (int32_t j = 0; j < __builtin_popcountll(k - 1); j++)
            alike = alike * (task->given.count - j) / (j + 1);
        if (*able && status == PRICER_OK)
            status = add_case(task, weight, alike);
        pri_coupling_free(&task->one);
        *able = *able && task->work > -task->budget &&
                rounds * task->contour.error[0] < HOPELESS;
    }
    return status;
}

/*
 * From one round to all of them, relative to the bound at the real s: value
 * becomes (value / most)^rounds. Sums over cases have positive weights, so
 * their rounding is a few units for each of them.
 */
static void repeat(struct task *task, double most)
{
    double rounds = (double)task->attempt->rounds;
    double units = 64 + 2 * (double)((uint64_t)1 << task->given.count);
    for (int32_t n = 0; n < task->contour.count; n++) {
        double complex once = task->contour.value[n] / most;
        double error = task->contour.error[n] / most + units * DBL_EPSILON;
        double size = cabs(once) * (1 + 4 * DBL_EPSILON);
        double off = pow(size + error, rounds) - pow(size, rounds);
        off += 16 * rounds * DBL_EPSILON * pow(size, rounds);
        bool useless = !(off < 1); /* at most 1 it is anyway */
        task->contour.value[n] =
            useless ? 0 : power(once, task->attempt->rounds);
        task->contour.error[n] = useless ? 1 : off * (1 + 1e-9);
    }
}

/* All nodes of the line. *able is false where it is not worth it. */
static enum pricer_status walk(struct task *task, bool *able)
{
    struct pri_contour *contour = &task->contour;
    double rounds = (double)task->attempt->rounds;
    enum pricer_status status = add_cases(task, able);
    if (!*able || status != PRICER_OK)
        return status;
    double units = 64 + 2 * (double)((uint64_t)1 << task->given.count);
    double most = creal(contour->value[0]) * (1 + units * DBL_EPSILON) +
                  contour->error[0];
    contour->log_most = rounds * (task->log_unit + log(most)) +
                        16 * DBL_EPSILON * rounds * (1 + fabs(task->log_unit));
    repeat(task, most);
    return status;
}

/* One line, made for task->eps, and what it says about both ends. */
static enum pricer_status try_line(struct task *task, struct pri_bracket *found,
                                   bool *able)
{
    struct pri_contour *contour = &task->contour;
    enum pricer_status status = PRICER_OK;
    *able = choose_line(task) &&
            (double)contour->count * all_tables(task) < task->work;
    if (!*able)
        return PRICER_OK;
    contour->value = pri_alloc(contour->count, sizeof *contour->value);
    contour->error = pri_alloc(contour->count, sizeof *contour->error);
    if (contour->value == NULL || contour->error == NULL)
        status = PRICER_MEMORY;
    if (status == PRICER_OK)
        status = walk(task, able);
    if (status == PRICER_OK && *able) {
        double eps = pri_contour_eps(contour, task->delta, PRI_ABOVE,
                                     found->eps_lower, found->eps);
        found->eps_lower =
            pri_contour_eps(contour, pri_delta_for(task->delta, PRI_BELOW),
                            PRI_BELOW, found->eps_lower, found->eps);
        found->eps = eps;
    }
    pri_contour_free(contour);
    return status;
}

enum pricer_status pri_exact_account(const struct pri_attempt *attempt,
                                     double delta, double work,
                                     struct pri_scratch *scratch,
                                     struct pri_bracket *found)
{
    struct task task = {.attempt = attempt,
                        .scratch = scratch,
                        .delta = delta,
                        .budget = work,
                        .work = work};
    bool able = false;
    if (!(found->eps > 0) || isinf(found->eps))
        return PRICER_OK;
    enum pricer_status status =
        pri_coupling_build(attempt->view, TABLE_MOST, &task.coupling, &able);
    if (able && status == PRICER_OK)
        status = pri_condition_build(attempt->view, &task.given, &able);
    task.eps = found->eps_lower > found->eps / 4
                   ? sqrt(found->eps_lower * found->eps)
                   : found->eps / 2;
    for (int line = 0; line < LINES && able && status == PRICER_OK; line++) {
        status = try_line(&task, found, &able);
        /* Another one, where the eps of the last was a bad guess. */
        double next = fmin(found->eps, 1.2 * task.eps);
        if (found->eps - found->eps_lower < ENOUGH * found->eps ||
            fabs(next - task.eps) < ENOUGH * next)
            break;
        task.eps = next;
    }
    pri_coupling_free(&task.coupling);
    pri_condition_free(&task.given);
    return status;
}
