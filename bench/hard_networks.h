/*
 * Random networks for tests and the robustness battery, every parameter now and
 * then at its extreme. The same seed gives the same network.
 */
#ifndef HARD_NETWORKS_H
#define HARD_NETWORKS_H

#include "network/network.h"

#include <math.h>
#include <stdlib.h>

struct hard_network {
    struct pricer_network *network;
    struct pricer_settings settings;
    int32_t unreached; /* nodes without a path to the server */
};

static inline double hard_uniform(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static inline double hard_logarithmic(uint64_t *state, double low, double high)
{
    return low * exp(hard_uniform(state) * log(high / low));
}

/* A probability: mostly ordinary, else 0, 1, tiny or all but 1. `extreme` is
 * how often. */
static inline double hard_probability(uint64_t *state, double extreme)
{
    double u = hard_uniform(state);
    if (u >= extreme)
        return hard_uniform(state);
    if (u < 0.3 * extreme)
        return 0;
    if (u < 0.6 * extreme)
        return 1;
    if (u < 0.8 * extreme)
        return hard_logarithmic(state, 1e-9, 1);
    return 1 - hard_logarithmic(state, 1e-12, 1);
}

static inline double hard_eps(uint64_t *state, double extreme)
{
    static const double common[] = {0.1, 1, 10, 1000};
    double u = hard_uniform(state);
    if (u < 0.4 * extreme)
        return INFINITY;
    if (u < extreme)
        return hard_logarithmic(state, 1e-3, 1e6);
    return common[(int)(4 * hard_uniform(state))];
}

static inline double hard_delta(uint64_t *state, double extreme)
{
    double u = hard_uniform(state);
    if (u < 0.1 * extreme)
        return 1;
    return u < extreme ? hard_logarithmic(state, 1e-12, 1) : 1e-3;
}

/* How many nodes reach the server by no path, from the definition. */
static inline int32_t hard_unreached(const struct pricer_network *net)
{
    int32_t lost = 0;
    for (int32_t i = 0; i < net->nodes; i++) {
        bool reaches = net->uplink[i] > 0;
        for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++)
            reaches = reaches || net->uplink[net->to[l]] > 0;
        lost += !reaches;
    }
    return lost;
}

/* The links of a network of n nodes; returns how many. */
static inline int64_t hard_links(uint64_t *state, int32_t n, double extreme,
                                 struct pricer_link *links)
{
    double density = hard_uniform(state) < 0.3 ? 1 : hard_uniform(state);
    bool alike = hard_uniform(state) < 0.3; /* both directions */
    int64_t count = 0;
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++) {
            if (i == j || hard_uniform(state) >= density)
                continue;
            double p = hard_probability(state, extreme);
            if (alike)
                p = hard_uniform(&(uint64_t){(uint64_t)(i * j + i + j)});
            links[count++] = (struct pricer_link){i,
                                                  j,
                                                  p,
                                                  NAN,
                                                  hard_eps(state, extreme),
                                                  hard_delta(state, extreme)};
        }
    return count;
}

/* Budgets towards the server for some or all nodes. */
static inline void hard_budgets(struct pricer_network *network, uint64_t seed)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    size_t bytes = (size_t)network->nodes * sizeof(double);
    double *eps = malloc(bytes), *delta = malloc(bytes);
    double extreme = hard_uniform(&state) < 0.3 ? 0 : hard_uniform(&state);
    bool all = hard_uniform(&state) < 0.5;
    if (eps == NULL || delta == NULL)
        abort();
    for (int32_t i = 0; i < network->nodes; i++) {
        eps[i] = hard_eps(&state, extreme);
        delta[i] = hard_delta(&state, extreme);
        if (!all && hard_uniform(&state) < 0.5)
            eps[i] = INFINITY;
    }
    if (pri_network_budget(network, eps, delta, NULL, NULL) != PRICER_OK)
        abort();
    free(eps);
    free(delta);
}

/* A network of `least` to `most` nodes. */
static inline struct hard_network hard_network_new(uint64_t seed, int32_t least,
                                                   int32_t most)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u;
    struct hard_network hard = {NULL, {0}, 0};
    double sizes = most - least + 1;
    int32_t n = least + (int32_t)(sizes * hard_uniform(&state));
    struct pricer_node *nodes = calloc((size_t)n, sizeof *nodes);
    struct pricer_link *links = calloc((size_t)n * (size_t)n, sizeof *links);
    if (nodes == NULL || links == NULL)
        abort();
    double extreme = hard_uniform(&state) < 0.3 ? 0 : hard_uniform(&state);
    for (int32_t i = 0; i < n; i++)
        nodes[i] = (struct pricer_node){hard_probability(&state, extreme),
                                        hard_eps(&state, extreme),
                                        hard_delta(&state, extreme), NAN, NAN};
    if (hard_uniform(&state) < 0.3) /* often: full trust in the uplink */
        for (int32_t i = 0; i < n; i++)
            nodes[i].eps = INFINITY;
    int64_t count = hard_links(&state, n, extreme, links);
    double reach = hard_uniform(&state), reciprocity = hard_uniform(&state);
    if (reach < 0.6)
        reciprocity = reach < 0.3;
    double dimension = floor(hard_logarithmic(&state, 1, 1e6));
    double radius =
        hard_uniform(&state) < 0.5 ? 1 : hard_logarithmic(&state, 1e-6, 1e6);
    double u = hard_uniform(&state);
    hard.settings.lambda =
        u < 0.1 ? 0
                : radius * radius *
                      (u < 0.5 ? 0.1 : hard_logarithmic(&state, 1e-9, 1e9));
    if (u > 0.9)
        hard.settings.lambda = hard_logarithmic(&state, 1e-6, 1e6);
    hard.settings.calibration = hard_uniform(&state) < 0.7
                                    ? PRICER_CALIBRATION_ANALYTIC
                                    : PRICER_CALIBRATION_CLASSIC;
    hard.settings.threads = 1;
    if (pricer_network_build(&(struct pricer_network_parts){(int64_t)dimension,
                                                            radius, reciprocity,
                                                            nodes, n, links,
                                                            count, NULL, NULL},
                             &hard.network, NULL, NULL) != PRICER_OK)
        abort();
    free(nodes);
    free(links);
    hard.unreached = hard_unreached(hard.network);
    return hard;
}

#endif
