/*
 * From a study of 'scheme: forward' to the numbers that a report draws: the plan,
 * its error with other hops and budgets, and what every link and budget would save.
 */
#include "report.h"
#include "cli/report_stored.h"
#include "common/meaning.h"
#include "levers.h"
#include "page/hops.h"

#include <math.h>
#include <stdlib.h>

/* Networks of more links are not planned again for a curve; hops that the curve
 * shows at least, and points of the curve over budgets. */
enum { CURVE_LINKS = 3000, CURVE_HOPS = 5, CURVE_POINTS = 7 };

enum pricer_status report_forward_open(struct report *report,
                                       struct material *from, const char *plan,
                                       struct pricer_fault *fault)
{
    struct pricer_forward_record record;
    struct pricer_forward_settings settings;
    int64_t id = 0;
    enum pricer_status status =
        pricer_study_open(report->path, false, &from->study, fault);
    if (status == PRICER_OK)
        status = pricer_study_scenario(from->study, &report->scenario, fault);
    if (status == PRICER_OK)
        status = material_network(from, fault);
    if (status == PRICER_OK)
        status = pricer_study_forward_settings(from->study, &settings, fault);
    if (status == PRICER_OK && plan != NULL)
        status = pricer_study_find_plan(from->study, plan, &id, fault);
    else if (status == PRICER_OK)
        status = pricer_study_latest_plan(from->study, &id, fault);
    report->network = from->network;
    if (status != PRICER_OK || id == 0)
        return status;
    report->settings.rounds = settings.rounds;
    status = pricer_study_forward_plan(from->study, id, &report->forward,
                                       &record, fault);
    if (status != PRICER_OK)
        return status;
    report->settings.rounds = record.settings.rounds;
    report->release = record.settings.release;
    report->record.id = record.id;
    report->record.made = record.made;
    snprintf(report->record.name, sizeof report->record.name, "%s",
             record.name);
    report->error.objective = report->error.mse_worst_case =
        record.mse_worst_case;
    report->error.piv = report->forward->noise;
    return PRICER_OK;
}

/* The worst case of a plan with other hops or budgets; NAN: there is none. */
static double plan_again(const struct pricer_network *network,
                         const struct pricer_forward_settings *settings)
{
    struct pricer_forward_plan *plan = NULL;
    if (pricer_forward_plan_make(network, settings, &plan, NULL) != PRICER_OK)
        return NAN;
    double error = plan->mse_worst_case;
    pricer_forward_plan_free(plan);
    return error;
}

static bool add_hops(struct report *report,
                     const struct pricer_forward_settings *settings)
{
    const struct pricer_forward_plan *plan = report->forward;
    struct pricer_forward_settings other = *settings;
    int32_t most = plan->hops > CURVE_HOPS ? plan->hops : CURVE_HOPS;
    for (int32_t hops = 0; hops <= most; hops++) {
        other.hops = hops;
        const double numbers[6] = {
            hops, hops == plan->hops ? plan->mse_worst_case
                  : hops == 0        ? plan->mse_alone
                                     : plan_again(report->network, &other)};
        if (!report_stored_add(&report->by_hops, numbers))
            return false;
    }
    return true;
}

/* The error with every budget times 1/8 to 8, with the plan's hops. */
static bool add_budgets(struct report *report,
                        const struct pricer_forward_settings *settings)
{
    struct pricer_network other = *report->network;
    double *eps = calloc((size_t)other.nodes, sizeof *eps);
    bool good = eps != NULL;
    for (int k = 0; k < CURVE_POINTS && good; k++) {
        double factor = exp2(k - CURVE_POINTS / 2);
        for (int32_t i = 0; i < other.nodes; i++)
            eps[i] = factor * report->network->everyone_eps[i];
        other.everyone_eps = eps;
        const double numbers[6] = {factor,
                                   factor == 1 ? report->error.mse_worst_case
                                               : plan_again(&other, settings),
                                   NAN, NAN};
        if (isfinite(numbers[1]))
            good = report_stored_add(&report->curve, numbers);
    }
    free(eps);
    return good;
}

/* Derivatives into the report; what cannot be had is left out. */
static bool add_prices(struct report *report,
                       const struct pricer_forward_settings *settings)
{
    const struct pricer_network *net = report->network;
    struct pricer_forward_slopes *slopes = NULL;
    report->hop_saves = NAN;
    if (net->nodes > SLOPE_NODES ||
        pricer_forward_slopes_make(net, settings, report->forward, &slopes,
                                   NULL) != PRICER_OK)
        return true;
    report->p_price = calloc((size_t)net->links + 1, sizeof(double));
    report->uplink_price = calloc((size_t)net->nodes, sizeof(double));
    report->everyone_price = calloc((size_t)net->nodes, sizeof(double));
    bool good = report->p_price != NULL && report->uplink_price != NULL &&
                report->everyone_price != NULL;
    for (int32_t l = 0; l < net->links && good; l++)
        report->p_price[l] = slopes->link[l];
    for (int32_t i = 0; i < net->nodes && good; i++) {
        report->uplink_price[i] = slopes->uplink[i];
        report->everyone_price[i] = net->everyone_eps[i] * slopes->eps[i];
    }
    report->hop_saves = -slopes->hop;
    pricer_forward_slopes_free(slopes);
    return good;
}

enum pricer_status report_forward_compare(struct report *report,
                                          const struct material *from,
                                          struct pricer_fault *fault)
{
    const struct pricer_network *net = report->network;
    struct pricer_forward_settings settings;
    enum pricer_status status =
        pricer_study_forward_settings(from->study, &settings, fault);
    if (status != PRICER_OK)
        return status;
    settings.rounds = report->settings.rounds;
    settings.release = report->release;
    settings.hops = report->forward->hops;
    report->path_relays = calloc((size_t)net->nodes, sizeof(int32_t));
    report->path_link = calloc((size_t)net->nodes, sizeof(int32_t));
    bool good =
        report->path_relays != NULL && report->path_link != NULL &&
        hops_find(net, settings.hops, report->path_relays, report->path_link);
    report->mse_sum = forward_sum_error(net, settings.rounds, NULL);
    good = good && add_prices(report, &settings);
    if (good && net->links <= CURVE_LINKS)
        good = add_hops(report, &settings) && add_budgets(report, &settings);
    meaning_guarantees(from->network, report->forward);
    return good ? PRICER_OK : PRICER_MEMORY;
}
