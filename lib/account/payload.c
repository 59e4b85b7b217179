/*
 * From a plan to a bound on what observers learn, by the payloads that they may
 * see. Claim and proof: docs/mathematics.md, Payloads.
 */
#include "payload.h"
#include "privacy/privacy.h"

#include <float.h>
#include <math.h>

/* The squared ratio of one payload, rounded up by the caller. */
static long double ratio_square(double diameter, double weight, double noise)
{
    if (weight == 0)
        return 0;
    if (!(noise > 0))
        return INFINITY;
    long double ratio = (long double)diameter * weight / noise;
    return ratio * ratio;
}

/* mu of T rounds of all that is seen of the node; each of the roundings is at
 * most half an LDBL_EPSILON. */
static long double ratio_of(const struct pricer_network *network,
                            const struct pricer_plan *plan,
                            const struct pricer_question *question,
                            const bool *member,
                            const struct pricer_statement *statement)
{
    int32_t i = statement->node;
    bool coalition = question->observer == PRICER_OBSERVER_COALITION;
    bool single = question->observer == PRICER_OBSERVER_LINK ||
                  question->observer == PRICER_OBSERVER_RELAY;
    bool server =
        coalition ? question->with_server || question->with_reader : !single;
    long double sum = 0;
    int64_t terms = 1, rounds = question->rounds > 0 ? question->rounds : 1;
    if (server)
        sum += ratio_square(network->node_diameter[i], plan->self_weight[i],
                            plan->self_noise[i]);
    for (int32_t l = network->out_start[i]; l < network->out_start[i + 1];
         l++) {
        int32_t j = network->to[l];
        bool seen = coalition ? member[j] : j == statement->at;
        if (!seen && !server)
            continue;
        sum += ratio_square(network->node_diameter[i], plan->weight[l],
                            plan->noise[l]);
        terms++;
    }
    return sqrtl((long double)rounds * sum) *
           (1 + (long double)(terms + 10) * LDBL_EPSILON);
}

/* The budget that a statement is compared with; NAN: none. */
static double budget_of(const struct pricer_network *network,
                        const struct pricer_statement *statement)
{
    if (statement->observer == PRICER_OBSERVER_SERVER &&
        network->server_eps != NULL)
        return network->server_eps[statement->node];
    return NAN;
}

static double gaussian_at(const void *of, double eps)
{
    return pri_gaussian_above(eps, *(const long double *)of);
}

/* The least eps, rounded to either side, at which delta holds; a budget itself
 * where it does and rounding would pass it. */
static void find_eps(long double mu, double budget,
                     struct pricer_statement *statement)
{
    struct pri_range range =
        pri_search_eps(gaussian_at, &mu, statement->delta, 1e-14);
    double low = range.low, high = range.high;
    if (high == 0 || isinf(high)) {
        statement->eps = statement->eps_lower = high;
        return;
    }
    if (budget < high && pri_gaussian_above(budget, mu) <= statement->delta)
        high = budget;
    statement->eps = high;
    while (low > 0 && !(pri_gaussian_below(low, mu) > statement->delta))
        low = low * (1 - 1e-12) - DBL_MIN;
    statement->eps_lower = fmin(fmax(low, 0), high);
}

void pri_payload_bound(const struct pricer_network *network,
                       const struct pricer_plan *plan,
                       const struct pricer_question *question,
                       const bool *member, struct pricer_statement *statement)
{
    struct pricer_statement bound = *statement;
    long double mu = ratio_of(network, plan, question, member, statement);
    if (isinf(mu) ||
        !(pri_gaussian_above(statement->eps, mu) <= statement->delta))
        return;
    find_eps(mu, budget_of(network, statement), &bound);
    statement->eps = fmin(statement->eps, bound.eps);
    statement->eps_lower = fmin(statement->eps_lower, statement->eps);
}
