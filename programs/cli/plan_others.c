/*
 * From a plan that keeps the budgets towards the server by itself to what a plan
 * could do if the noise that others add to the same sums were counted.
 *
 * The exact account of the server knows that noise. Each node's limit M_i on the
 * sum of its squared ratios is scaled up by what the account leaves of its
 * budget, the network is planned anew, and the account decides: only a plan in
 * which every node keeps its budget counts, so that the figure is true at every
 * step, wherever the iteration ends. It holds only if the others are there and
 * add their noise; so it is shown and not stored, and no node has to trust it.
 */
#include "plan_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 8 };

/* The ratio that a budget allows; INFINITY where it allows any. */
static double ratio_of(double eps, double delta)
{
    const struct pricer_budget budget = {PRICER_CALIBRATION_ANALYTIC, eps,
                                         delta, 1, 1};
    double mu = 0;
    if (isinf(eps))
        return INFINITY;
    return pricer_calibrate(&budget, &mu, NULL, NULL) == PRICER_OK ? mu : 0;
}

/* The least eps that holds for a ratio, within 1e-9 and not below. */
static double eps_of(double mu, double delta)
{
    double low = 0, high = 1;
    while (pricer_gaussian_delta(high, mu) > delta && high < 1e12)
        high *= 2;
    while (high - low > 1e-9 * high) {
        double middle = (low + high) / 2;
        *(pricer_gaussian_delta(middle, mu) > delta ? &low : &high) = middle;
    }
    return high;
}

/* What the account says of every node, at the smallest delta of all budgets. */
static enum pricer_status account(struct plan_job *job,
                                  const struct pricer_plan *plan,
                                  struct pricer_statement **statements,
                                  int64_t *count)
{
    const struct pricer_network *network = job->from.network;
    const struct pricer_settings *settings = &job->view.settings;
    struct pricer_question question = {
        .observer = PRICER_OBSERVER_SERVER,
        .eavesdropper = settings->credit == PRICER_CREDIT_LOSSES
                            ? PRICER_RECEIVER
                            : PRICER_RADIO,
        .delta = 1,
        .rounds = settings->rounds > 0 ? settings->rounds : 1,
        .threads = settings->threads,
        .watch = settings->watch};
    for (int32_t i = 0; i < network->nodes; i++)
        question.delta = fmin(question.delta, network->server_delta[i]);
    return pricer_privacy_account(network, plan, &question, statements, count,
                                  &job->fault);
}

/* Scale the limits of the copy; true if every node keeps its budget. */
static bool scale(const struct pricer_network *network,
                  const struct pricer_statement *statements, int64_t count,
                  double *factor, struct pricer_network *copy)
{
    bool kept = true;
    for (int64_t k = 0; k < count; k++) {
        int32_t i = statements[k].node;
        double eps = network->server_eps[i], delta = network->server_delta[i];
        if (!(eps < INFINITY))
            continue;
        bool keeps = statements[k].eps <= eps;
        double most = ratio_of(eps, delta);
        double spent = ratio_of(fmax(statements[k].eps, 1e-6), delta);
        double left = most / spent * (most / spent);
        factor[i] *= keeps ? pow(left, 0.7) : 0.95 * left;
        factor[i] = fmin(fmax(factor[i], 1), network->nodes);
        copy->server_eps[i] =
            factor[i] > 1 ? eps_of(most * sqrt(factor[i]), delta) : eps;
        kept = kept && keeps;
    }
    return kept;
}

enum pricer_status plan_job_others(struct plan_job *job)
{
    const struct pricer_network *network = job->from.network;
    struct plan_others *others = &job->view.others;
    struct pricer_network *copy = NULL;
    struct pricer_plan *plan = NULL, *next = NULL;
    struct pricer_statement *statements = NULL;
    struct pricer_error error;
    int64_t count = 0;
    double *factor = calloc((size_t)network->nodes, sizeof *factor);
    enum pricer_status status =
        factor == NULL
            ? PRICER_MEMORY
            : pricer_network_retrust(network, NULL, 0, &copy, &job->fault);
    for (int32_t i = 0; i < network->nodes && factor != NULL; i++)
        factor[i] = 1;
    for (int step = 0; step < STEPS && status == PRICER_OK; step++) {
        const struct pricer_plan *now = plan != NULL ? plan : job->from.plan;
        status = account(job, now, &statements, &count);
        if (status == PRICER_OK)
            status = pricer_plan_evaluate(network, &job->view.settings, now,
                                          &error, &job->fault);
        if (status != PRICER_OK)
            break;
        bool kept = scale(network, statements, count, factor, copy);
        double before = others->objective;
        if (kept && (!others->known || error.objective < before)) {
            others->objective = error.objective;
            others->known = true;
            if (step > 0 && error.objective > (1 - 1e-3) * before)
                break;
        }
        pricer_statements_free(statements);
        statements = NULL;
        status = pricer_plan_optimise(copy, &job->view.settings, now, &next,
                                      NULL, &job->fault);
        if (status == PRICER_OK) {
            pricer_plan_free(plan);
            plan = next;
            next = NULL;
        }
    }
    pricer_statements_free(statements);
    pricer_plan_free(plan);
    pricer_network_free(copy);
    free(factor);
    return status;
}

void plan_others_text(const struct plan_view *view)
{
    if (view->others.known)
        printf(
            "If the others do their part, plans that keep these budgets reach "
            "an objective of\n%.6g (%.1f %% less), by the exact account; "
            "nothing is stored that relies on it.\n",
            view->others.objective,
            100 * (1 - view->others.objective / view->error.objective));
}

void plan_others_json(struct json *json, const struct plan_view *view)
{
    if (view->network->server_eps != NULL)
        json_count(json, "open_budgets", view->certificate.open_budgets);
    if (view->others.known)
        json_number(json, "objective_relying_on_others",
                    view->others.objective);
}
