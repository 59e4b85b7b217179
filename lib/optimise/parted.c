/*
 * From a scenario to how good its best plan is, by ranks that each hold a part.
 */
#include "optimise.h"
#include "plan/plan.h"

#include <time.h>

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void describe(const struct pri_part *part, struct pricer_parted *found)
{
    const struct pricer_network *net = part->network;
    found->nodes = part->nodes;
    found->links = part->links;
    found->own_nodes = part->high - part->low;
    found->ghosts = net->nodes - found->own_nodes;
    found->own_links = net->out_start[part->high] - net->out_start[part->low];
    found->cut_links = 0;
    for (int32_t r = 0; part->crew != NULL && r < part->crew->ranks; r++)
        found->cut_links += part->give_links[r];
}

enum pricer_status pricer_scenario_plan(const struct pricer_scenario *scenario,
                                        const struct pricer_settings *settings,
                                        const struct pricer_crew *crew,
                                        struct pricer_parted *found,
                                        struct pricer_fault *fault)
{
    struct pricer_parted made = {0};
    struct pri_part *part = NULL;
    struct pricer_plan *plan = NULL;
    double began = seconds_now();
    enum pricer_status status =
        pri_part_make(scenario, crew, settings->watch, &part, fault);
    made.make_seconds = seconds_now() - began;
    if (status == PRICER_MEMORY)
        pri_fault(fault, status, "%s", pricer_status_text(status));
    if (status == PRICER_OK)
        status = pri_optimise_part(part, settings, &plan, &made.info, fault);
    began = seconds_now();
    if (status == PRICER_OK)
        status =
            pri_verify_part(part, settings, plan, &made.certificate, fault);
    made.check_seconds = seconds_now() - began;
    if (status == PRICER_OK) {
        describe(part, &made);
        *found = made;
    }
    pricer_plan_free(plan);
    pri_part_free(part);
    return status;
}
