/*
 * The result of a simulation: made, filled with what to expect, and read.
 */
#include "simulate.h"
#include "plan/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OCTAVES_BELOW = 11 }; /* of the bins' 16, below the expected error */

double pricer_outcome_edge(const struct pricer_outcome *outcome, int bin)
{
    return ldexp(1 + (bin % 8) / 8.0, outcome->first_octave + bin / 8);
}

double pri_bias_length(const struct pri_data *data, const double *coefficient,
                       double *vector)
{
    double square = 0;
    memset(vector, 0, (size_t)data->dimension * sizeof *vector);
    for (int32_t i = 0; i < data->nodes; i++)
        for (int64_t c = 0; c < data->dimension; c++)
            vector[c] += coefficient[i] * pri_data_row(data, i)[c];
    for (int64_t c = 0; c < data->dimension; c++) {
        square += vector[c] * vector[c];
        vector[c] /= data->nodes;
    }
    return sqrt(square) / data->nodes;
}

double pri_given_mse(const struct pri_data *data, double mse,
                     const double *vector)
{
    for (int64_t c = 0; data->shift != NULL && c < data->dimension; c++)
        mse += data->shift[c] * (2 * vector[c] + data->shift[c]);
    return mse;
}

void pri_mean_excess(const struct pri_job *job, const struct pricer_plan *plan,
                     const struct pricer_simulation *counts,
                     const int64_t *used, double *excess)
{
    const struct pricer_network *network = job->network;
    for (int32_t i = 0; i < network->nodes; i++) {
        double up = counts == NULL
                        ? network->uplink[i]
                        : (double)counts->uplink[i] / (double)counts->trials;
        excess[i] = plan->self_weight[i] * up - 1;
        for (int32_t l = network->out_start[i]; l < network->out_start[i + 1];
             l++)
            excess[i] += plan->weight[l] *
                         (counts == NULL
                              ? network->p[l] * network->uplink[network->to[l]]
                              : (double)used[l] / (double)counts->trials);
    }
}

/* What is known of a decoded plan: no expectation for given data has a closed
 * form, and the adaptive decoder has no worst case. */
static void expect_decoded(const struct pri_job *job,
                           struct pricer_outcome *outcome)
{
    outcome->predicted = NAN;
    outcome->worst_case =
        job->decode == PRICER_DECODE_MINIMAX ? job->decoder->upper : NAN;
}

void pri_outcome_centre(double scale, struct pricer_outcome *outcome)
{
    bool usable = scale > 1e-290 && scale < 1e290;
    outcome->first_octave = (usable ? ilogb(scale) : 0) - OCTAVES_BELOW;
}

enum pricer_status pri_simulation_predict(const struct pri_job *job,
                                          struct pricer_simulation *simulation)
{
    const struct pricer_settings settings = {0};
    for (int32_t k = 0; k < simulation->plans; k++) {
        struct pricer_outcome *outcome = &simulation->outcomes[k];
        const struct pricer_plan *plan = job->plans[k];
        struct pricer_error error;
        enum pricer_status status =
            pricer_plan_evaluate(job->network, &settings, plan, &error, NULL);
        if (status == PRICER_OK && job->data->shared)
            outcome->predicted = error.mse_paper;
        else if (status == PRICER_OK)
            status = pri_plan_mse(job->network, plan, job->data->values,
                                  &outcome->predicted, NULL);
        if (status != PRICER_OK)
            return status;
        outcome->worst_case = error.mse_worst_case;
        pri_outcome_centre(outcome->predicted, outcome);
        outcome->bar = NAN;
    }
    if (job->decoder != NULL)
        expect_decoded(job, &simulation->outcomes[0]);
    return PRICER_OK;
}

enum pricer_status pri_simulation_new(const struct pricer_network *network,
                                      int32_t plans,
                                      struct pricer_simulation **simulation)
{
    struct pricer_simulation *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->nodes = network->nodes;
    made->links = network->links;
    made->plans = plans;
    made->outcomes = pri_alloc(plans, sizeof *made->outcomes);
    made->uplink = pri_alloc(network->nodes, sizeof *made->uplink);
    made->link = pri_alloc(network->links, sizeof *made->link);
    made->both = pri_alloc(network->links, sizeof *made->both);
    if (!made->outcomes || !made->uplink || !made->link || !made->both) {
        pricer_simulation_free(made);
        return PRICER_MEMORY;
    }
    *simulation = made;
    return PRICER_OK;
}

void pricer_simulation_free(struct pricer_simulation *simulation)
{
    if (simulation == NULL)
        return;
    free(simulation->outcomes);
    free(simulation->uplink);
    free(simulation->link);
    free(simulation->both);
    free(simulation);
}
