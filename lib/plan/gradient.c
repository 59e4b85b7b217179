/*
 * From a network to a plan by the paper's own method, projected gradient
 * descent (its Algorithm 3), to draw the paper's figures and to measure how far
 * from the optimum it ends.
 *
 * Weight and noise of a link are both variables here. Every iteration takes one
 * step of fixed length factor down the gradient of both and projects each pair
 * onto the private cone of its link. The paper starts from several random
 * points; so do we, each start addressed by (seed, start), and the best end is
 * handed out, unless the caller gives one starting point. O(links) an iteration.
 */
#include "plan.h"
#include "calibrate/calibrate.h"
#include "random/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* From here on slope^2 has no room in a double. */
#define SLOPE_UPRIGHT 1e150

/*
 * Project (weight, noise) onto the private cone of one link,
 *
 *     K = { (a, s) : a >= 0, s >= slope * a }.
 *
 * K has two edges: the nearest point is the point itself, a point of the
 * vertical edge a = 0, or the foot t * (1, slope) on the slanted edge, with
 * t clamped at 0, the apex.
 */
static void project(double slope, double *weight, double *noise)
{
    if (slope > SLOPE_UPRIGHT) {
        *weight = 0;
        *noise = fmax(*noise, 0);
    } else if (*noise >= 0 && *weight < 0) {
        *weight = 0;
    } else if (*noise < 0 || *noise < slope * *weight) {
        double foot = (*weight + slope * *noise) / (1 + slope * slope);
        *weight = fmax(foot, 0);
        *noise = slope * *weight;
    }
}

/* The next weight, uniform in [0, 1). */
static double start_weight(struct pricer_random *random)
{
    return (double)(pri_random_word(random) >> 11) * 0x1p-53;
}

/*
 * A random point on the slanted edges: uniform weights, the noise they need.
 * They are the words of the stream (seed, PRICER_PURPOSE_STARTS, start, 0, 0),
 * first those of the nodes, then those of the links.
 */
static void random_start(const struct pri_descent *descent, int32_t start,
                         struct pricer_plan *plan)
{
    struct pricer_random random;
    pricer_random_replay(&random, descent->options.seed, PRICER_PURPOSE_STARTS,
                         start, 0, 0);
    for (int32_t i = 0; i < plan->nodes; i++) {
        double weight = start_weight(&random);
        bool shared = descent->self_slope[i] <= SLOPE_UPRIGHT;
        plan->self_weight[i] = shared ? weight : 0;
        plan->self_noise[i] = shared ? descent->self_slope[i] * weight : 0;
    }
    for (int32_t l = 0; l < plan->links; l++) {
        double weight = start_weight(&random);
        bool shared = descent->slope[l] <= SLOPE_UPRIGHT;
        plan->weight[l] = shared ? weight : 0;
        plan->noise[l] = shared ? descent->slope[l] * weight : 0;
    }
}

/* The point that the caller gives, made private. */
static void given_start(const struct pri_descent *descent,
                        struct pricer_plan *plan)
{
    const struct pricer_plan *from = descent->options.from;
    for (int32_t i = 0; i < plan->nodes; i++) {
        plan->self_weight[i] = from->self_weight[i];
        plan->self_noise[i] = from->self_noise[i];
        project(descent->self_slope[i], &plan->self_weight[i],
                &plan->self_noise[i]);
    }
    for (int32_t l = 0; l < plan->links; l++) {
        plan->weight[l] = from->weight[l];
        plan->noise[l] = from->noise[l];
        project(descent->slope[l], &plan->weight[l], &plan->noise[l]);
    }
}

static void step(const struct pri_descent *descent,
                 const struct pri_gradient *gradient, struct pricer_plan *plan)
{
    double weight_step = descent->options.weight_step;
    double noise_step = descent->options.noise_step;
    for (int32_t i = 0; i < plan->nodes; i++) {
        plan->self_weight[i] -= weight_step * gradient->self_weight[i];
        plan->self_noise[i] -= noise_step * gradient->self_noise[i];
        project(descent->self_slope[i], &plan->self_weight[i],
                &plan->self_noise[i]);
    }
    for (int32_t l = 0; l < plan->links; l++) {
        plan->weight[l] -= weight_step * gradient->weight[l];
        plan->noise[l] -= noise_step * gradient->noise[l];
        project(descent->slope[l], &plan->weight[l], &plan->noise[l]);
    }
}

/* What an iteration computes, room that all of them share. */
struct workspace {
    struct pri_gradient gradient;
    double *relay_sum; /* [nodes] what each relay carries */
};

static void report(const struct pri_descent *descent, int32_t start,
                   int64_t iteration, double objective)
{
    const struct pricer_gradient *options = &descent->options;
    bool last = iteration == options->iterations;
    if (options->trace != NULL &&
        (last || iteration % options->trace_every == 0))
        options->trace(options->context, start, iteration, objective);
}

/*
 * Descend from one start. *objective is that of the plan at the end, INFINITY
 * if the descent climbed far above where it began: steps that are too long
 * leave the finite numbers, or are thrown back and forth between the edges of
 * the cones. False: the watch asked to stop.
 */
static bool descend(const struct pri_descent *descent, int32_t start,
                    const struct workspace *work, struct pricer_plan *plan,
                    double *objective)
{
    const struct pricer_gradient *options = &descent->options;
    struct pricer_error error;
    double most = INFINITY;
    bool go = true;
    for (int64_t iteration = 0;; iteration++) {
        pri_objective_gradient(descent->network, descent->settings, plan,
                               work->relay_sum, &error, &work->gradient);
        report(descent, start, iteration, error.objective);
        if (iteration == 0)
            most = 10 * error.objective;
        if (iteration % 64 == 0)
            go = pri_tick(
                descent->settings->watch,
                (start + (double)iteration / (double)options->iterations) /
                    options->starts);
        if (!go || iteration == options->iterations ||
            !(error.objective <= most))
            break;
        step(descent, &work->gradient, plan);
    }
    *objective = error.objective <= most ? error.objective : INFINITY;
    return go;
}

static void fill_defaults(struct pricer_gradient *options)
{
    if (options->weight_step == 0)
        options->weight_step = 0.01;
    if (options->noise_step == 0)
        options->noise_step = options->weight_step;
    if (options->iterations == 0)
        options->iterations = 100000;
    if (options->starts == 0)
        options->starts = options->from != NULL ? 1 : 4;
    if (options->trace_every == 0)
        options->trace_every = 1;
}

static enum pricer_status check(const struct pri_descent *descent,
                                struct pricer_fault *fault)
{
    const struct pricer_settings *settings = descent->settings;
    const struct pricer_gradient *options = &descent->options;
    const struct pricer_plan *from = options->from;
    if (settings->bias == PRICER_BIAS_UNBIASED)
        return pri_fault(fault, PRICER_VALUE,
                         "gradient descent cannot hold a plan unbiased; ask "
                         "for l1 with a large lambda, or for the exact method");
    if (!(options->weight_step > 0) || !(options->noise_step > 0) ||
        isinf(options->weight_step) || isinf(options->noise_step))
        return pri_fault(fault, PRICER_VALUE,
                         "the steps %g and %g of the descent must be positive",
                         options->weight_step, options->noise_step);
    if (options->iterations < 0 || options->starts < 0 ||
        options->trace_every < 0)
        return pri_fault(fault, PRICER_VALUE,
                         "a descent cannot have a negative number of "
                         "iterations or starts");
    if (from != NULL && (from->nodes != descent->network->nodes ||
                         from->links != descent->network->links))
        return pri_fault(fault, PRICER_VALUE,
                         "the starting point was made for another network");
    if (from != NULL && options->starts > 1)
        return pri_fault(fault, PRICER_VALUE,
                         "a descent from a given point has one start, not %d",
                         (int)options->starts);
    return PRICER_OK;
}

/* Run every start in `trial` and keep the best end in `best`. */
static enum pricer_status run_starts(const struct pri_descent *descent,
                                     const struct workspace *work,
                                     struct pricer_plan **trial,
                                     struct pricer_plan **best,
                                     struct pricer_fault *fault)
{
    double least = INFINITY;
    bool go = true;
    for (int32_t start = 0; go && start < descent->options.starts; start++) {
        double objective = INFINITY;
        if (descent->options.from != NULL)
            given_start(descent, *trial);
        else
            random_start(descent, start, *trial);
        go = descend(descent, start, work, *trial, &objective);
        if (objective < least) {
            struct pricer_plan *swapped = *best;
            *best = *trial;
            *trial = swapped;
            least = objective;
        }
    }
    if (isinf(least))
        return pri_fault(fault, PRICER_VALUE,
                         "gradient descent diverges: steps of %g and %g are "
                         "too long for this network",
                         descent->options.weight_step,
                         descent->options.noise_step);
    return PRICER_OK;
}

enum pricer_status pri_descend(struct pri_descent *descent,
                               struct pricer_plan **plan,
                               struct pricer_fault *fault)
{
    struct pricer_plan *best = NULL, *work = NULL, *slopes = NULL;
    double *relay_sum = pri_alloc(descent->network->nodes, sizeof *relay_sum);
    fill_defaults(&descent->options);
    enum pricer_status status =
        relay_sum == NULL ? PRICER_MEMORY : check(descent, fault);
    if (status == PRICER_OK)
        status = pricer_plan_new(descent->network, &best, fault);
    if (status == PRICER_OK)
        status = pricer_plan_new(descent->network, &work, fault);
    if (status == PRICER_OK)
        status = pricer_plan_new(descent->network, &slopes, fault);
    if (status != PRICER_OK)
        goto done;
    struct workspace room = {{slopes->weight, slopes->noise,
                              slopes->self_weight, slopes->self_noise},
                             relay_sum};
    status = run_starts(descent, &room, &work, &best, fault);
    if (status != PRICER_OK)
        goto done;
    *plan = best;
    best = NULL;
done:
    free(relay_sum);
    pricer_plan_free(best);
    pricer_plan_free(work);
    pricer_plan_free(slopes);
    return status;
}

enum pricer_status pricer_plan_descend(const struct pricer_network *network,
                                       const struct pricer_settings *settings,
                                       const struct pricer_gradient *options,
                                       struct pricer_plan **plan,
                                       struct pricer_fault *fault)
{
    double *slope = pri_alloc(network->links, sizeof *slope);
    double *self_slope = pri_alloc(network->nodes, sizeof *self_slope);
    enum pricer_status status = PRICER_MEMORY;
    if (slope != NULL && self_slope != NULL)
        status = pri_noise_slopes(network, settings, slope, self_slope, fault);
    struct pri_descent descent = {network, settings, slope, self_slope,
                                  *options};
    if (status == PRICER_OK)
        status = pri_descend(&descent, plan, fault);
    free(slope);
    free(self_slope);
    return status;
}
