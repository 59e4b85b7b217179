/*
 * From the path of a study to what a verb works with.
 */
#include "material.h"

#include <math.h>

enum pricer_status material_open(const char *path, bool writable,
                                 struct material *material,
                                 struct pricer_fault *fault)
{
    enum pricer_status status =
        pricer_study_open(path, writable, &material->study, fault);
    if (status == PRICER_OK)
        status = pricer_study_settings(material->study, &material->settings,
                                       &material->seed, fault);
    return status;
}

enum pricer_status material_network(struct material *material,
                                    struct pricer_fault *fault)
{
    return pricer_study_network(material->study, &material->network, fault);
}

enum pricer_status material_plan(struct material *material, int64_t id,
                                 struct pricer_fault *fault)
{
    return pricer_study_plan(material->study, id, &material->network,
                             &material->plan, &material->record, fault);
}

void material_close(struct material *material)
{
    pricer_plan_free(material->plan);
    pricer_network_free(material->network);
    pricer_study_close(material->study);
}

bool planner_stray_lambda(const struct planner_request *ask)
{
    return ask->bias >= 0 && ask->bias < PRICER_BIAS_L1 && !isnan(ask->lambda);
}

void planner_override(const struct planner_request *ask,
                      struct pricer_settings *settings)
{
    if (ask->bias >= 0)
        settings->bias = (enum pricer_bias)ask->bias;
    if (ask->calibration >= 0)
        settings->calibration = (enum pricer_calibration)ask->calibration;
    if (!isnan(ask->lambda))
        settings->lambda = ask->lambda;
}
