/*
 * From the path of a study to what a verb works with.
 */
#include "material.h"

#include <math.h>
#include <stdio.h>

enum pricer_status material_open(const char *path, bool writable,
                                 struct material *material,
                                 struct pricer_fault *fault)
{
    enum pricer_status status =
        program_open(path, writable, &material->study, fault);
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

enum pricer_status material_plan(struct material *material, const char *plan,
                                 struct pricer_fault *fault)
{
    int64_t id = 0;
    enum pricer_status status =
        plan == NULL
            ? PRICER_OK
            : pricer_study_find_plan(material->study, plan, &id, fault);
    if (status != PRICER_OK)
        return status;
    return pricer_study_plan(material->study, id, &material->network,
                             &material->plan, &material->record, fault);
}

enum pricer_status material_name(struct pricer_study *study, const char *name,
                                 struct pricer_fault *fault)
{
    int64_t taken = 0;
    if (pricer_study_find_plan(study, name, &taken, NULL) != PRICER_OK)
        return PRICER_OK;
    snprintf(fault->text, sizeof fault->text,
             "plan %lld is called by this name already", (long long)taken);
    return PRICER_VALUE;
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

static bool has_lambda(enum pricer_bias bias)
{
    return bias == PRICER_BIAS_L1 || bias == PRICER_BIAS_L2;
}

enum pricer_status planner_override(const struct planner_request *ask,
                                    struct pricer_settings *settings,
                                    struct pricer_fault *fault)
{
    struct pricer_settings made = *settings;
    if (ask->bias >= 0)
        made.bias = (enum pricer_bias)ask->bias;
    if (ask->calibration >= 0)
        made.calibration = (enum pricer_calibration)ask->calibration;
    if (!isnan(ask->lambda))
        made.lambda = ask->lambda;
    const char *words = NULL;
    char range[80];
    snprintf(range, sizeof range,
             "lambda = %g is not a finite number of at least 0", made.lambda);
    if (!has_lambda(made.bias) && !isnan(ask->lambda))
        words = "--lambda belongs to --bias l1 and l2, and the scenario has "
                "another";
    /* A scenario of another bias keeps 0 where it gives no lambda. */
    else if (has_lambda(made.bias) && isnan(ask->lambda) &&
             !has_lambda(settings->bias) && settings->lambda == 0)
        words = "--bias l1 and l2 need a lambda: --lambda, or objective.lambda "
                "of the scenario";
    else if (!(made.lambda >= 0 && isfinite(made.lambda)))
        words = range;
    if (words != NULL) {
        snprintf(fault->text, sizeof fault->text, "%s", words);
        return PRICER_VALUE;
    }
    if (!has_lambda(made.bias))
        made.lambda = 0;
    *settings = made;
    return PRICER_OK;
}
