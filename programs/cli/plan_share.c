/*
 * From a study's network to its optimal plan, by this process or by all ranks of
 * its crew.
 */
#include "plan_job.h"
#include "common/crew.h"

enum pricer_status plan_job_optimise(struct plan_job *job,
                                     const struct pricer_plan *warm,
                                     struct pricer_solve_info *info)
{
    const struct pricer_crew *crew = program_crew();
    struct pricer_parted found;
    if (crew == NULL || warm != NULL)
        return pricer_plan_optimise(job->from.network, &job->view.settings,
                                    warm, &job->from.plan, info, &job->fault);
    program_call(job->request.threads);
    enum pricer_status status =
        pricer_plan_share(job->from.network, &job->view.settings, crew,
                          &job->from.plan, &found, &job->fault);
    if (status != PRICER_OK)
        return status;
    *info = found.info;
    if (crew->ranks > 1 && found.own_nodes == found.nodes)
        program_warn("rank 0 planned alone: %s",
                     job->from.network->server_eps != NULL
                         ? "ranks cannot divide budgets towards the server"
                         : "the network is too small to be divided");
    return PRICER_OK;
}
