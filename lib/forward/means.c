/*
 * From a plan of either scheme to many rounds of the mean.
 *
 * In both schemes the server gets, of messages m_i,
 *
 *     sum_i w_i m_i + noise,
 *
 * where w_i depends on the links of the round and the noise has mean 0 and, in
 * each number, a variance that is known. With sums w_i adds the weights of the
 * paths of node i, and the noise is one Gaussian (lib/round/whole.c). With
 * forwarding w_i = c_i where the release of node i arrives, else 0; the noise is
 * that of the releases, which are made and read as in real rounds
 * (lib/forward/round.c). Its variance is at most
 *
 *     sum_i w_i^2 v_i / d
 *
 * in a number of the sum, mean over the d of them. The server knows who has
 * arrived, so it expects what there is.
 */
#include "forward.h"
#include "random/random.h"

#include <math.h>
#include <stdlib.h>

/* ---------------------------------------------------------- expectations -- */

static void expect_sum(struct pri_means *means)
{
    const struct pricer_network *net = means->network;
    const struct pricer_plan *plan = means->scheme.sum;
    double weight = 0, variance = 0;
    for (int32_t i = 0; i < net->nodes; i++) {
        weight += net->uplink[i] * plan->self_weight[i];
        variance += net->uplink[i] * plan->self_noise[i] * plan->self_noise[i];
    }
    for (int32_t l = 0; l < net->links; l++) {
        double p = net->uplink[net->to[l]] * net->p[l];
        weight += p * plan->weight[l];
        variance += p * plan->noise[l] * plan->noise[l];
    }
    means->weight = weight;
    means->variance = variance;
}

/* The variance that a release has in each number of the sum, if it arrives. */
static double release_variance(const struct pri_means *means, int32_t node)
{
    const struct pricer_forward_node *part = &means->scheme.forward->node[node];
    return part->coefficient * part->coefficient * part->variance /
           (double)means->network->dimension;
}

static void expect_forward(struct pri_means *means)
{
    const struct pricer_forward_plan *plan = means->scheme.forward;
    means->weight = means->variance = 0;
    for (int32_t i = 0; i < plan->nodes; i++) {
        double p = plan->node[i].arrival;
        means->weight += p * plan->node[i].coefficient;
        means->variance += p * release_variance(means, i);
    }
}

static double heard_sum(const struct pri_means *means, int32_t node,
                        double *weight)
{
    const struct pricer_network *net = means->network;
    const struct pricer_plan *plan = means->scheme.sum;
    double silent = plan->self_weight[node] > 0 ? 1 - net->uplink[node] : 1;
    double expected = net->uplink[node] * plan->self_weight[node];
    for (int32_t l = net->out_start[node]; l < net->out_start[node + 1]; l++)
        if (plan->weight[l] > 0) {
            double p = net->p[l] * net->uplink[net->to[l]];
            silent *= 1 - p;
            expected += p * plan->weight[l];
        }
    *weight = silent < 1 ? expected / (1 - silent) : 0;
    return 1 - silent;
}

double pri_means_heard(const struct pri_means *means, int32_t node,
                       double *weight)
{
    if (means->scheme.sum != NULL)
        return heard_sum(means, node, weight);
    *weight = 1;
    if (means->scheme.forward == NULL)
        return 1;
    *weight = means->scheme.forward->node[node].coefficient;
    return means->scheme.forward->node[node].arrival;
}

/* ------------------------------------------------------------- beginning -- */

static enum pricer_status open_forward(struct pri_means *means, int64_t length,
                                       struct pricer_fault *fault)
{
    const struct pricer_network *net = means->network;
    const struct pricer_forward_plan *plan = means->scheme.forward;
    if (plan->nodes != net->nodes)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan is for another network");
    if (net->dimension != length)
        return pri_fault(fault, PRICER_VALUE,
                         "messages have %lld numbers, and the network is for "
                         "%lld",
                         (long long)length, (long long)net->dimension);
    expect_forward(means);
    enum pricer_status status = pri_search_new(
        net, plan->hops, plan->repeat > 1 ? plan->repeat : 1, &means->search);
    return status == PRICER_OK ? status
                               : pri_fault(fault, status, "out of memory");
}

enum pricer_status pri_means_open(struct pri_means *means,
                                  const struct pricer_network *network,
                                  const struct pri_scheme *scheme,
                                  int64_t length, uint64_t seed,
                                  struct pricer_fault *fault)
{
    const struct pricer_plan *plan = scheme->sum;
    *means = (struct pri_means){
        .network = network,
        .scheme = *scheme,
        .seed = seed,
        .whole = {pri_alloc(network->nodes, sizeof(double)),
                  pri_alloc(network->nodes, sizeof(bool)), 0, 0, 0},
        .group = -1};
    if (means->whole.weight == NULL || means->whole.up == NULL)
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    if (plan != NULL && scheme->forward != NULL)
        return pri_fault(fault, PRICER_VALUE, "a run has a plan of one scheme");
    if (scheme->forward != NULL)
        return open_forward(means, length, fault);
    if (plan == NULL)
        return PRICER_OK;
    if (plan->nodes != network->nodes || plan->links != network->links)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan is for another network");
    expect_sum(means);
    return PRICER_OK;
}

void pri_means_close(struct pri_means *means)
{
    free(means->whole.weight);
    free(means->whole.up);
    pri_search_free(means->search);
}

/* ---------------------------------------------------------------- rounds -- */

static void draw_forward(struct pri_means *means, int64_t round)
{
    const struct pricer_forward_plan *plan = means->scheme.forward;
    struct pri_whole *whole = &means->whole;
    const int64_t at = round % PRI_ROUNDS;
    if (means->group != round / PRI_ROUNDS) {
        means->group = round / PRI_ROUNDS;
        means->found =
            pri_search_play(means->search, means->seed, means->group);
    }
    whole->variance = whole->likely = 0;
    for (int32_t i = 0; i < plan->nodes; i++) {
        uint64_t word = means->found.arrived[i * PRI_LANES + at / 64];
        whole->up[i] = word >> at % 64 & 1;
        whole->weight[i] = whole->up[i] ? plan->node[i].coefficient : 0;
        whole->likely += whole->weight[i];
        whole->variance += whole->up[i] ? release_variance(means, i) : 0;
    }
    whole->expected = whole->variance;
}

void pri_means_draw(struct pri_means *means, int64_t round)
{
    if (means->scheme.forward != NULL)
        draw_forward(means, round);
    else
        pri_whole_draw(means->network, means->scheme.sum, means->seed, round,
                       &means->whole);
}

enum pricer_status pri_means_send(const struct pri_means *means, int64_t round,
                                  int32_t node, double *message)
{
    const struct pricer_network *net = means->network;
    struct pricer_random random;
    if (means->scheme.forward == NULL)
        return PRICER_OK;
    pricer_random_replay(&random, means->seed, PRICER_PURPOSE_NOISE, round,
                         node, PRICER_SERVER);
    return pri_forward_pass(&means->scheme.forward->node[node],
                            net->node_radius[node], net->dimension, &random,
                            message);
}

void pri_means_noise(const struct pri_means *means, double variance,
                     int64_t round, int64_t count, double *sum)
{
    if (means->scheme.forward == NULL)
        pri_whole_noise(variance, means->seed, round, count, sum);
}
