/*
 * From a network and settings to the optimal plan with its certificate.
 *
 * The run: make the problem, move by one method after the other until the
 * certificate is good enough, write the plan. Whatever happens meanwhile, what
 * is handed out is the best feasible plan seen and a proof of how good it is.
 */
#include "optimise.h"
#include "run.h"
#include "calibrate/calibrate.h"

#include <stdlib.h>
#include <string.h>

/* Something feasible to begin with: every weight 0, or, where every node must
 * be heard, its first link alone. */
static bool keep_anything(struct pri_run *run)
{
    struct pri_problem *problem = run->problem;
    bool needed = problem->bias == PRICER_BIAS_UNBIASED;
    for (int32_t i = 0; i < problem->nodes; i++) {
        struct pri_arc *self = &problem->self[i];
        bool lone = needed;
        self->share = lone && self->cost < INFINITY;
        lone = lone && self->share == 0;
        for (int32_t l = problem->start[i]; l < problem->start[i + 1]; l++) {
            bool first = lone && pri_arc_cost(problem, l) < INFINITY;
            pri_arc_set_share(problem, l, first);
            lone = lone && !first;
        }
    }
    pri_halo_shares(problem);
    run->point.sum = -2 * problem->wanted_sum;
    run->kept.gap = INFINITY;
    return pri_run_certify(run);
}

/* Whether links, own ones aside, answer too steeply for Newton. */
static bool is_steep(const struct pri_problem *problem)
{
    for (int32_t l = 0; l < problem->arcs; l++)
        if (pri_arc_cost(problem, l) < 1e-2)
            return true;
    return false;
}

/*
 * The interior point goes as far as the set of links in use takes to settle,
 * and Newton ends what it began: later and later, if it must. Where links cost
 * next to nothing that set never settles, and the interior point goes to the
 * end; and where it may, it solves its systems exactly.
 */
static enum pricer_status solve_robustly(struct pri_run *run, bool steep)
{
    struct pri_system *system = &run->system;
    enum pricer_status status = PRICER_OK;
    if (run->problem->nodes <= PRI_DENSE_NODES && system->dense == NULL &&
        run->problem->part == NULL && !pri_system_densify(system))
        return PRICER_MEMORY;
    double enough[] = {steep || system->dense != NULL ? 0 : 5e-2, 1e-4, 0};
    for (int k = 0; k < 3 && status == PRICER_OK && !run->over; k++) {
        status = pri_interior(run, enough[k]);
        if (status == PRICER_OK && !run->over)
            status = pri_newton(run, PRI_BEGIN_INTERIOR);
    }
    return status;
}

/* Newton alone is fastest and usually enough; where links answer too steeply it
 * is not tried. */
static enum pricer_status solve(struct pri_run *run,
                                const struct pricer_plan *warm)
{
    enum pricer_status status = PRICER_OK;
    if (keep_anything(run) || run->problem->unreached == run->problem->whole)
        return PRICER_OK;
    bool steep = run->system.dense == NULL &&
                 pri_anywhere(run->problem, is_steep(run->problem));
    if (warm != NULL && pri_problem_point(run->problem, warm, &run->point))
        status = pri_newton(run, PRI_BEGIN_PLAN);
    if (status == PRICER_OK && !run->over && !steep)
        status = pri_newton(run, PRI_BEGIN_COLD);
    if (status == PRICER_OK && !run->over)
        status = solve_robustly(run, steep);
    return status;
}

static void free_run(struct pri_run *run)
{
    pri_system_free(&run->system);
    pri_certifier_free(&run->certifier);
    free(run->point.dual);
    free(run->trial.dual);
    pri_problem_free(run->problem);
}

static enum pricer_status new_run(struct pri_run *run)
{
    const struct pricer_settings *settings = run->settings;
    run->tolerance = settings->tolerance > 0 ? settings->tolerance : 1e-8;
    run->limit = settings->iterations > 0 ? settings->iterations : 300;
    bool made = pri_system_new(run->problem, &run->system) &&
                pri_certifier_new(run->problem, &run->certifier) &&
                pri_point_new(run->problem, &run->point) &&
                pri_point_new(run->problem, &run->trial);
    return made ? PRICER_OK : PRICER_MEMORY;
}

static void report(const struct pri_run *run, struct pricer_solve_info *info)
{
    const struct pricer_network *network = run->problem->network;
    double unit = network->radius / run->problem->whole;
    unit *= unit;
    info->outcome = run->outcome;
    info->objective = run->kept.primal * unit;
    info->bound = (run->kept.primal - run->kept.distance) * unit;
    info->gap = run->kept.gap;
    info->iterations = run->iterations;
    info->inner_steps = run->system.cg.steps;
}

/* Fill the plan's weights and multipliers; slope may be the plan's noise. */
static enum pricer_status optimise(
    const struct pricer_network *network,
    const struct pricer_settings *settings, const double *slope,
    const double *self_slope, const struct pri_part *part,
    const struct pricer_plan *warm, struct pricer_plan *plan,
    struct pricer_solve_info *info, struct pricer_fault *fault)
{
    struct pri_run run = {
        .settings = settings, .plan = plan, .outcome = PRICER_OUTCOME_LIMIT};
    enum pricer_status status;
    if (warm != NULL &&
        (warm->nodes != network->nodes || warm->links != network->links))
        return pri_fault(fault, PRICER_VALUE,
                         "the plan to begin with has %d nodes and %d links, "
                         "the network %d and %d",
                         (int)warm->nodes, (int)warm->links,
                         (int)network->nodes, (int)network->links);
    status = pri_problem_new(network, settings, slope, self_slope, part,
                             &run.problem, fault);
    if (status != PRICER_OK)
        return status;
    status = new_run(&run);
    if (status == PRICER_OK)
        status = solve(&run, warm);
    if (status == PRICER_OK)
        report(&run, info);
    free_run(&run);
    return status;
}

static void fill_noise(const double *slope, const double *self_slope,
                       struct pricer_plan *plan)
{
    for (int32_t l = 0; l < plan->links; l++)
        plan->noise[l] = slope[l] * plan->weight[l];
    for (int32_t i = 0; i < plan->nodes; i++)
        plan->self_noise[i] = self_slope[i] * plan->self_weight[i];
}

enum pricer_status pri_optimise(const struct pricer_network *network,
                                const struct pricer_settings *settings,
                                const double *slope, const double *self_slope,
                                const struct pricer_plan *warm,
                                struct pricer_plan **plan,
                                struct pricer_solve_info *info,
                                struct pricer_fault *fault)
{
    struct pricer_plan *made = NULL;
    struct pricer_solve_info found = {0};
    double began = pri_seconds();
    enum pricer_status status = pricer_plan_new(network, &made, fault);
    if (status == PRICER_OK)
        status = optimise(network, settings, slope, self_slope, NULL, warm,
                          made, &found, fault);
    if (status != PRICER_OK) {
        pricer_plan_free(made);
        return status == PRICER_MEMORY
                   ? pri_fault(fault, status, "%s", pricer_status_text(status))
                   : status;
    }
    fill_noise(slope, self_slope, made);
    found.seconds = pri_seconds() - began;
    *plan = made;
    if (info != NULL)
        *info = found;
    return PRICER_OK;
}

/* The slopes wait in the plan's noise until the weights are known: that saves
 * 8 bytes a link. */
enum pricer_status pricer_plan_optimise(const struct pricer_network *network,
                                        const struct pricer_settings *settings,
                                        const struct pricer_plan *warm,
                                        struct pricer_plan **plan,
                                        struct pricer_solve_info *info,
                                        struct pricer_fault *fault)
{
    struct pricer_plan *made = NULL;
    struct pricer_solve_info found = {0};
    double began = pri_seconds();
    enum pricer_status status = pricer_plan_new(network, &made, fault);
    if (status == PRICER_OK)
        status = pri_noise_slopes(network, settings, made->noise,
                                  made->self_noise, fault);
    if (status == PRICER_OK)
        status = optimise(network, settings, made->noise, made->self_noise,
                          NULL, warm, made, &found, fault);
    if (status == PRICER_MEMORY)
        pri_fault(fault, status, "%s", pricer_status_text(status));
    if (status != PRICER_OK) {
        pricer_plan_free(made);
        return status;
    }
    fill_noise(made->noise, made->self_noise, made);
    found.seconds = pri_seconds() - began;
    *plan = made;
    if (info != NULL)
        *info = found;
    return PRICER_OK;
}

enum pricer_status pri_optimise_part(const struct pri_part *part,
                                     const struct pricer_settings *settings,
                                     struct pricer_plan **plan,
                                     struct pricer_solve_info *info,
                                     struct pricer_fault *fault)
{
    const struct pricer_network *network = part->network;
    struct pricer_plan *made = NULL;
    double began = pri_seconds();
    enum pricer_status status = pricer_plan_new(network, &made, fault);
    if (status == PRICER_OK)
        status = pri_noise_slopes(network, settings, made->noise,
                                  made->self_noise, fault);
    if (status == PRICER_OK)
        status = optimise(network, settings, made->noise, made->self_noise,
                          part, NULL, made, info, fault);
    if (status == PRICER_MEMORY)
        pri_fault(fault, status, "%s", pricer_status_text(status));
    if (status != PRICER_OK) {
        pricer_plan_free(made);
        return status;
    }
    fill_noise(made->noise, made->self_noise, made);
    info->seconds = pri_seconds() - began;
    *plan = made;
    return PRICER_OK;
}
