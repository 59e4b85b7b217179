/*
 * Random networks and plans for tests: small, every kind of link among them.
 */
#ifndef PRICER_SAMPLE_H
#define PRICER_SAMPLE_H

#include "tests/test.h"
#include "pricer.h"

#define SAMPLE_NODES 12

/* A probability: at times exactly 0 or 1. */
static inline double sample_probability(uint64_t *seed)
{
    double kind = test_uniform(seed);
    if (kind < .1)
        return 1;
    if (kind < .15)
        return 0;
    return .05 + .9 * test_uniform(seed);
}

static inline double sample_eps(uint64_t *seed)
{
    static const double choice[] = {.1, 1, 10, 1000, INFINITY};
    return choice[test_random(seed) % 5];
}

/*
 * A network of n nodes where each ordered pair has a link with probability
 * `density`, of any reciprocity.
 */
static inline struct pricer_network *sample_network(uint64_t *seed, int32_t n,
                                                    double density,
                                                    int64_t dimension,
                                                    double radius)
{
    struct pricer_node nodes[SAMPLE_NODES];
    struct pricer_link links[SAMPLE_NODES * SAMPLE_NODES];
    int64_t count = 0;
    for (int32_t i = 0; i < n; i++)
        nodes[i] = (struct pricer_node){sample_probability(seed),
                                        sample_eps(seed), 1e-3, NAN, NAN};
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++)
            if (i != j && test_uniform(seed) < density)
                links[count++] = (struct pricer_link){
                    i,   j, sample_probability(seed), NAN, sample_eps(seed),
                    1e-3};
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    if (pricer_network_build(&(struct pricer_network_parts){dimension, radius,
                                                            test_uniform(seed),
                                                            nodes, n, links,
                                                            count, NULL, NULL},
                             &network, NULL, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return network;
}

/* Any weights and noises, some zero. */
static inline struct pricer_plan *sample_plan(
    uint64_t *seed, const struct pricer_network *network)
{
    struct pricer_plan *plan = NULL;
    assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
    for (int32_t i = 0; i < network->nodes; i++) {
        plan->self_weight[i] = 2 * test_uniform(seed);
        plan->self_noise[i] = test_uniform(seed);
    }
    for (int32_t l = 0; l < network->links; l++) {
        plan->weight[l] = fmax(0, 2 * test_uniform(seed) - .5);
        plan->noise[l] = test_uniform(seed);
    }
    return plan;
}

#endif
