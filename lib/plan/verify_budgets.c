/*
 * From the weights and the noise of a plan to the budgets that it does not
 * keep, by the privacy curve itself.
 */
#include "verify.h"
#include "calibrate/calibrate.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>

/* Whether what the noise leaves of a weight is within the budget. */
static bool within_budget(const struct pri_audit *audit, int32_t node,
                          double weight, double noise, double eps, double delta,
                          struct pri_rounds *law)
{
    if (weight == 0 || isinf(eps) || delta >= 1)
        return true;
    if (!(noise > 0) || !(weight > 0))
        return false;
    const struct pricer_budget budget = {
        .eps = eps, .delta = delta, .rounds = audit->settings->rounds, .p = 1};
    long double move = (long double)audit->network->node_diameter[node];
    return pri_budget_holds(&budget, move * weight / noise, law);
}

/* The budgets that are not kept: how many, and the first. */
struct broken {
    const struct pri_audit *audit;
    _Atomic int64_t open, first; /* nodes first, then links */
};

static bool keeps_budget(const struct pri_audit *audit, int64_t k,
                         struct pri_rounds *law)
{
    const struct pricer_network *net = audit->network;
    const struct pricer_plan *plan = audit->plan;
    int64_t l = k - net->nodes;
    return l < 0
               ? within_budget(audit, (int32_t)k, plan->self_weight[k],
                               plan->self_noise[k], net->self_eps[k],
                               net->self_delta[k], law)
               : within_budget(audit, net->from[l], plan->weight[l],
                               plan->noise[l], net->eps[l], net->delta[l], law);
}

static void check_some(void *context, int64_t low, int64_t high)
{
    struct broken *broken = context;
    struct pri_rounds law = {0};
    int64_t open = 0, first = INT64_MAX;
    for (int64_t k = low; k < high; k++)
        if (!keeps_budget(broken->audit, k, &law)) {
            open++;
            first = first < k ? first : k;
        }
    pri_rounds_free(&law);
    atomic_fetch_add(&broken->open, open);
    int64_t before = atomic_load(&broken->first);
    while (first < before &&
           !atomic_compare_exchange_weak(&broken->first, &before, first))
        ;
}

void pri_check_noise(struct pri_audit *audit)
{
    const struct pricer_network *net = audit->network;
    const struct pricer_plan *plan = audit->plan;
    struct broken broken = {.audit = audit, .first = INT64_MAX};
    int64_t nodes = net->nodes;
    pri_share_out(audit->threads, nodes + net->links, check_some, &broken);
    int64_t open = broken.open, first = broken.first;
    audit->certificate->open_links = open;
    if (first < nodes)
        pri_complain(audit, "too small for its budget, the noise",
                     (int32_t)first, (int32_t)first, plan->self_noise[first]);
    else if (open > 0)
        pri_complain(audit, "too small for its budget, the noise",
                     net->from[first - nodes], net->to[first - nodes],
                     plan->noise[first - nodes]);
}

/*
 * The sum of the squared ratios of all that node i sends, lost or not,
 * rounded up: a term has at most 6 roundings of half an LDBL_EPSILON, the sum
 * one more for each term, and what uses it has 3.
 */
static long double server_ratio(const struct pri_audit *audit, int32_t i)
{
    const struct pricer_network *net = audit->network;
    const struct pricer_plan *plan = audit->plan;
    long double sum = 0, width = net->node_diameter[i];
    if (plan->self_weight[i] > 0) {
        long double ratio =
            (long double)plan->self_weight[i] / plan->self_noise[i];
        sum += width * ratio * width * ratio;
    }
    for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++)
        if (plan->weight[l] > 0) {
            long double ratio = (long double)plan->weight[l] / plan->noise[l];
            sum += width * ratio * width * ratio;
        }
    int32_t terms = net->out_start[i + 1] - net->out_start[i] + 1;
    return sum * (1 + (terms + 10) * LDBL_EPSILON);
}

/*
 * Claim: a node that is not counted keeps its budget towards the server,
 * whatever links are up. Given the links, what reaches the server of node i is
 * one Gaussian mechanism; the noise of others only hides more, and links that
 * are down show less, so that its squared ratio is at most the sum of those of
 * all links, in each of the rounds.
 */
void pri_check_server(struct pri_audit *audit)
{
    const struct pricer_network *net = audit->network;
    int64_t rounds = audit->settings->rounds > 1 ? audit->settings->rounds : 1;
    for (int32_t i = 0; i < net->nodes && net->server_eps != NULL; i++) {
        double eps = net->server_eps[i], delta = net->server_delta[i];
        if (isinf(eps) || delta >= 1)
            continue;
        long double ratio = sqrtl((long double)rounds * server_ratio(audit, i));
        if (pri_gaussian_above(eps, ratio) <= delta)
            continue;
        audit->certificate->open_budgets++;
        pri_complain(audit, "too large for its server budget, the ratio", i, i,
                     ratio);
    }
}
