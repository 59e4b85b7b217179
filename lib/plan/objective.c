/*
 * From a plan to the error of the server's estimate, split into its causes, and
 * to the gradient of that error.
 *
 * With w_i the random weight that node i's data gets at the server, the error
 * of n times the estimate is sum_i (w_i - 1) x_i plus noise. Hence three
 * parts: the variance of the weights, the squared bias, and the noise.
 *
 *     V   = sum_ij p_j p_ij (1 - p_ij) a_ij^2              the links
 *         + sum_j p_j (1 - p_j) C_j^2                      the uplinks
 *         + sum_{i != j} p_i p_j (E_ij - p_ij p_ji) a_ij a_ji  the pairs
 *     C_j = sum_i p_ij a_ij                                what relay j carries
 *     b_i = S_i - 1,  S_i = sum_j p_j p_ij a_ij            the bias of node i
 *
 * Where nodes have radii R_i of their own, R_i a_ij stands for R a_ij and R_i b_i
 * for R b_i: x_i = (R_i / R) u with |u| <= R is the same sum with these weights.
 *
 * V is the variance of sum_i w_i, so it is convex in the weights. Each sum is
 * one pass over the links: O(links), no memory. docs/mathematics.md has the
 * derivation.
 */
#include "plan.h"
#include "network/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the passes over a plan leave; every error is a formula of these. */
struct sums {
    double variance; /* V */
    double noise;    /* sum_ij p_j p_ij sigma_ij^2 */
    double bias;     /* sum b_i, in units of the network's radius */
    double absolute; /* sum |b_i| */
    double square;   /* sum b_i^2 */
};

static double squared(double x)
{
    return x * x;
}

/* C_j, what relay j is expected to carry when it is up. */
static double relay_load(const struct pricer_network *net,
                         const struct pricer_plan *plan, int32_t j)
{
    double load = pri_network_ratio(net, j) * plan->self_weight[j];
    for (int32_t k = net->in_start[j]; k < net->in_start[j + 1]; k++) {
        int32_t l = net->in_link[k];
        load +=
            net->p[l] * pri_network_ratio(net, net->from[l]) * plan->weight[l];
    }
    return load;
}

/* S_i - 1, how far node i's expected weight is from what it should be. */
static double node_bias(const struct pricer_network *net,
                        const struct pricer_plan *plan, int32_t i)
{
    double weight = net->uplink[i] * plan->self_weight[i];
    for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++)
        weight += net->uplink[net->to[l]] * net->p[l] * plan->weight[l];
    return weight - 1;
}

/* p_i p_j (E_ij - p_ij p_ji), how far a pair goes together; never negative. */
static double pair_covariance(const struct pricer_network *net, int32_t l)
{
    int32_t back = net->partner[l];
    if (back < 0)
        return 0;
    double excess = net->joint[l] - net->p[l] * net->p[back];
    return net->uplink[net->from[l]] * net->uplink[net->to[l]] *
           fmax(excess, 0);
}

/* The links that leave node i: their part of the variance and of the noise. */
static void add_links(const struct pricer_network *net,
                      const struct pricer_plan *plan, int32_t i,
                      struct sums *sums)
{
    double variance = 0, ratio = pri_network_ratio(net, i);
    double noise = net->uplink[i] * squared(plan->self_noise[i]);
    for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++) {
        double reach = net->uplink[net->to[l]] * net->p[l];
        double weight = ratio * plan->weight[l];
        variance += reach * (1 - net->p[l]) * squared(weight);
        noise += reach * squared(plan->noise[l]);
        if (net->partner[l] >= 0)
            variance += pair_covariance(net, l) * weight *
                        pri_network_ratio(net, net->to[l]) *
                        plan->weight[net->partner[l]];
    }
    sums->variance += variance;
    sums->noise += noise;
}

static struct sums add_up(const struct pricer_network *net,
                          const struct pricer_plan *plan)
{
    struct sums sums = {0, 0, 0, 0, 0};
    for (int32_t i = 0; i < net->nodes; i++) {
        double p = net->uplink[i];
        double bias = pri_network_ratio(net, i) * node_bias(net, plan, i);
        add_links(net, plan, i, &sums);
        sums.variance += p * (1 - p) * squared(relay_load(net, plan, i));
        sums.bias += bias;
        sums.absolute += fabs(bias);
        sums.square += bias * bias;
    }
    return sums;
}

/* TIV and PIV are the paper's words: the parts of its error without and with
 * the privacy noise. */
static struct pricer_error error_of(const struct pricer_network *net,
                                    const struct pricer_settings *settings,
                                    const struct sums *sums)
{
    double count = (double)net->nodes;
    double scale = squared(net->radius / count);
    struct pricer_error error;
    error.variance = scale * sums->variance;
    error.piv = (double)net->dimension / count / count * sums->noise;
    error.tiv = error.variance + scale * squared(sums->bias);
    error.mse_paper = error.tiv + error.piv;
    error.mse_worst_case =
        error.variance + scale * squared(sums->absolute) + error.piv;
    error.bias_l1 = sums->absolute;
    switch (settings->bias) {
    case PRICER_BIAS_L1:
        error.objective = error.mse_paper + settings->lambda * sums->absolute;
        break;
    case PRICER_BIAS_L2:
        error.objective = error.mse_paper + settings->lambda * sums->square;
        break;
    default:
        error.objective = error.mse_worst_case;
    }
    return error;
}

static bool fits(const struct pricer_network *net,
                 const struct pricer_plan *plan)
{
    return plan->nodes == net->nodes && plan->links == net->links;
}

static enum pricer_status misfit(struct pricer_fault *fault)
{
    return pri_fault(fault, PRICER_VALUE, "the plan is not for this network");
}

enum pricer_status pricer_plan_evaluate(const struct pricer_network *network,
                                        const struct pricer_settings *settings,
                                        const struct pricer_plan *plan,
                                        struct pricer_error *error,
                                        struct pricer_fault *fault)
{
    if (!fits(network, plan))
        return misfit(fault);
    struct sums sums = add_up(network, plan);
    *error = error_of(network, settings, &sums);
    return PRICER_OK;
}

/*
 * The derivative of the bias term by S_i. For l1 and l2 it is that of
 * (R^2/n^2) (sum b)^2 + lambda sum |b| or lambda sum b^2, otherwise that of
 * (R^2/n^2) (sum |b|)^2.
 */
static double bias_derivative(const struct pricer_network *net,
                              const struct pricer_settings *settings,
                              const struct sums *sums, double bias)
{
    double scale = squared(net->radius / (double)net->nodes);
    double sign = (bias > 0) - (bias < 0);
    switch (settings->bias) {
    case PRICER_BIAS_L1:
        return 2 * scale * sums->bias + settings->lambda * sign;
    case PRICER_BIAS_L2:
        return 2 * scale * sums->bias + 2 * settings->lambda * bias;
    default:
        return 2 * scale * sums->absolute * sign;
    }
}

/* The derivatives by the weights and noises that node i sends with;
 * `by_weight` is the bias term's by its expected weight. */
static void row_gradient(const struct pricer_network *net,
                         const struct pricer_plan *plan,
                         const double *relay_sum, int32_t i, double by_weight,
                         const struct pri_gradient *gradient)
{
    double count = (double)net->nodes, ratio = pri_network_ratio(net, i);
    double scale = squared(net->radius / count) * ratio;
    double noise = 2 * (double)net->dimension / count / count;
    double p = net->uplink[i];
    gradient->self_weight[i] =
        p * (2 * scale * (1 - p) * relay_sum[i] + by_weight);
    gradient->self_noise[i] = noise * p * plan->self_noise[i];
    for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++) {
        int32_t j = net->to[l];
        double relay = net->uplink[j], reach = relay * net->p[l];
        double half = (1 - net->p[l]) * ratio * plan->weight[l] +
                      (1 - relay) * relay_sum[j];
        gradient->weight[l] = reach * (2 * scale * half + by_weight);
        if (net->partner[l] >= 0)
            gradient->weight[l] += 2 * scale * pair_covariance(net, l) *
                                   pri_network_ratio(net, j) *
                                   plan->weight[net->partner[l]];
        gradient->noise[l] = noise * reach * plan->noise[l];
    }
}

void pri_objective_gradient(const struct pricer_network *network,
                            const struct pricer_settings *settings,
                            const struct pricer_plan *plan, double *relay_sum,
                            struct pricer_error *error,
                            const struct pri_gradient *gradient)
{
    struct sums sums = add_up(network, plan);
    for (int32_t j = 0; j < network->nodes; j++)
        relay_sum[j] = relay_load(network, plan, j);
    for (int32_t i = 0; i < network->nodes; i++) {
        double ratio = pri_network_ratio(network, i);
        double bias = ratio * node_bias(network, plan, i);
        row_gradient(network, plan, relay_sum, i,
                     ratio * bias_derivative(network, settings, &sums, bias),
                     gradient);
    }
    *error = error_of(network, settings, &sums);
}

/* to += factor * from, over the coordinates. */
static void add_vector(int64_t dimension, double factor, const double *from,
                       double *to)
{
    for (int64_t k = 0; k < dimension; k++)
        to[k] += factor * from[k];
}

static double inner(int64_t dimension, const double *one, const double *other)
{
    double sum = 0;
    for (int64_t k = 0; k < dimension; k++)
        sum += one[k] * other[k];
    return sum;
}

/* |sum_i p_ij a_ij x_i|^2, the square of what relay j carries on average. */
static double relay_square(const struct pricer_network *net,
                           const struct pricer_plan *plan, const double *data,
                           int32_t j, double *vector)
{
    int64_t dimension = net->dimension;
    memset(vector, 0, (size_t)dimension * sizeof *vector);
    add_vector(dimension, plan->self_weight[j], data + j * dimension, vector);
    for (int32_t k = net->in_start[j]; k < net->in_start[j + 1]; k++) {
        int32_t l = net->in_link[k];
        add_vector(dimension, net->p[l] * plan->weight[l],
                   data + net->from[l] * dimension, vector);
    }
    return inner(dimension, vector, vector);
}

/* What the links leaving node i add to the error for these data. */
static double row_square(const struct pricer_network *net,
                         const struct pricer_plan *plan, const double *data,
                         int32_t i)
{
    int64_t dimension = net->dimension;
    const double *own = data + i * dimension;
    double single = 0, pairs = 0;
    for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++) {
        double weight = plan->weight[l];
        single += net->uplink[net->to[l]] * net->p[l] * (1 - net->p[l]) *
                  squared(weight);
        double covariance = pair_covariance(net, l);
        if (covariance > 0)
            pairs += covariance * weight * plan->weight[net->partner[l]] *
                     inner(dimension, own, data + net->to[l] * dimension);
    }
    return single * inner(dimension, own, own) + pairs;
}

enum pricer_status pri_plan_mse(const struct pricer_network *network,
                                const struct pricer_plan *plan,
                                const double *data, double *mse,
                                struct pricer_fault *fault)
{
    if (!fits(network, plan))
        return misfit(fault);
    int64_t dimension = network->dimension;
    double *mean = pri_alloc(dimension, sizeof *mean);
    double *vector = pri_alloc(dimension, sizeof *vector);
    if (mean == NULL || vector == NULL) {
        free(mean);
        free(vector);
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    }
    struct sums sums = add_up(network, plan);
    double square = (double)dimension * sums.noise;
    for (int32_t i = 0; i < network->nodes; i++) {
        double p = network->uplink[i];
        if (p > 0 && p < 1)
            square +=
                p * (1 - p) * relay_square(network, plan, data, i, vector);
        square += row_square(network, plan, data, i);
        add_vector(dimension, node_bias(network, plan, i), data + i * dimension,
                   mean);
    }
    square += inner(dimension, mean, mean);
    *mse = square / (double)network->nodes / (double)network->nodes;
    free(mean);
    free(vector);
    return PRICER_OK;
}
