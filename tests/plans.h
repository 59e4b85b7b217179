/*
 * Plans by the definition, for tests: dense matrices, triple loops, nothing
 * shared with the library.
 */
#ifndef PRICER_TEST_PLANS_H
#define PRICER_TEST_PLANS_H

#include "pricer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DENSE_MOST 12

/* A small network and plan as matrices; index [whose data][which relay]. */
struct dense {
    int n;
    double d, radius;
    double p[DENSE_MOST], link[DENSE_MOST][DENSE_MOST];
    double joint[DENSE_MOST][DENSE_MOST];
    double weight[DENSE_MOST][DENSE_MOST], noise[DENSE_MOST][DENSE_MOST];
};

static inline struct dense dense_of(const struct pricer_network *net,
                                    const struct pricer_plan *plan)
{
    struct dense dense = {
        .n = net->nodes, .d = (double)net->dimension, .radius = net->radius};
    for (int i = 0; i < net->nodes; i++) {
        dense.p[i] = net->uplink[i];
        dense.link[i][i] = 1;
        if (plan != NULL) {
            dense.weight[i][i] = plan->self_weight[i];
            dense.noise[i][i] = plan->self_noise[i];
        }
    }
    for (int l = 0; l < net->links; l++) {
        int i = net->from[l], j = net->to[l];
        dense.link[i][j] = net->p[l];
        dense.joint[i][j] = net->joint[l];
        if (plan != NULL) {
            dense.weight[i][j] = plan->weight[l];
            dense.noise[i][j] = plan->noise[l];
        }
    }
    return dense;
}

/* b_i. */
static inline double dense_bias(const struct dense *a, int i)
{
    double sum = 0;
    for (int j = 0; j < a->n; j++)
        sum += a->p[j] * a->link[i][j] * a->weight[i][j];
    return sum - 1;
}

/* V of MATH.md section 2, term by term. */
static inline double dense_variance(const struct dense *a)
{
    double v = 0;
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < a->n; j++) {
            double w = a->weight[i][j], q = a->link[i][j];
            v += a->p[j] * q * (1 - q) * w * w;
            if (i != j && a->link[i][j] > 0 && a->link[j][i] > 0)
                v += a->p[i] * a->p[j] * (a->joint[i][j] - q * a->link[j][i]) *
                     w * a->weight[j][i];
            for (int k = 0; k < a->n; k++)
                v += a->p[j] * (1 - a->p[j]) * q * w * a->link[k][j] *
                     a->weight[k][j];
        }
    return v;
}

static inline double dense_noise(const struct dense *a)
{
    double sum = 0;
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < a->n; j++)
            sum += a->p[j] * a->link[i][j] * a->noise[i][j] * a->noise[i][j];
    return a->d * sum / ((double)a->n * a->n);
}

/* The error and its parts as MATH.md writes them. */
struct dense_error {
    double paper, worst_case, bias_l1, objective;
};

static inline struct dense_error dense_error(
    const struct dense *a, const struct pricer_settings *settings)
{
    double unit = a->radius * a->radius / ((double)a->n * a->n);
    double sum = 0, sizes = 0, squares = 0;
    for (int i = 0; i < a->n; i++) {
        double b = dense_bias(a, i);
        sum += b;
        sizes += fabs(b);
        squares += b * b;
    }
    double base = unit * dense_variance(a) + dense_noise(a);
    struct dense_error e = {base + unit * sum * sum,
                            base + unit * sizes * sizes, sizes, 0};
    e.objective = e.paper;
    if (settings->bias == PRICER_BIAS_WORST_CASE)
        e.objective = e.worst_case;
    if (settings->bias == PRICER_BIAS_L1)
        e.objective += settings->lambda * sizes;
    if (settings->bias == PRICER_BIAS_L2)
        e.objective += settings->lambda * squares;
    return e;
}

/* The ten nodes of the paper's table: trust in self and ring neighbours. */
static inline struct pricer_network *paper_network(double p)
{
    static const double uplink[] = {.1, .1, .8, .1, .1, .9, .1, .1, .9, .1};
    struct pricer_node nodes[10];
    struct pricer_link links[90];
    struct pricer_network *network = NULL;
    int count = 0;
    for (int i = 0; i < 10; i++)
        nodes[i] = (struct pricer_node){uplink[i], 1000, 1e-3, NAN, NAN};
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++) {
            int apart = (i - j + 10) % 10;
            bool friends = apart == 1 || apart == 9;
            if (i != j)
                links[count++] =
                    (struct pricer_link){i, j, p, p, friends ? 1000 : 1, 1e-3};
        }
    if (pricer_network_build(&(struct pricer_network_parts){128, 1, 1, nodes,
                                                            10, links, count,
                                                            NULL, NULL},
                             &network, NULL, NULL) != PRICER_OK)
        abort();
    return network;
}

/* An ordinary random network, all links there. */
static inline struct pricer_network *random_network(
    uint64_t *seed, int n, double (*uniform)(uint64_t *))
{
    static const double eps[] = {0.1, 1, 10, 1000};
    struct pricer_node *nodes = malloc((size_t)n * sizeof *nodes);
    struct pricer_link *links =
        malloc(((size_t)n * (size_t)n + 1) * sizeof *links);
    struct pricer_network *network = NULL;
    int64_t count = 0;
    if (nodes == NULL || links == NULL)
        abort();
    for (int i = 0; i < n; i++)
        nodes[i] =
            (struct pricer_node){.05 + .9 * uniform(seed),
                                 eps[(int)(4 * uniform(seed))], 1e-3, NAN, NAN};
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            double p = .05 + .9 * uniform(seed);
            double joint = p * p + uniform(seed) * (p - p * p);
            links[count++] = (struct pricer_link){
                i, j, p, joint, eps[(int)(4 * uniform(seed))], 1e-3};
            links[count++] = (struct pricer_link){
                j, i, p, joint, eps[(int)(4 * uniform(seed))], 1e-3};
        }
    if (pricer_network_build(&(struct pricer_network_parts){16, 1, 0, nodes, n,
                                                            links, count, NULL,
                                                            NULL},
                             &network, NULL, NULL) != PRICER_OK)
        abort();
    free(nodes);
    free(links);
    return network;
}

#endif
