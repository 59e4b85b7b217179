/*
 * Small networks in which everyone is linked to everyone, at random, and one
 * statement about a plan of theirs.
 */
#ifndef PRICER_TEST_WORLDS_H
#define PRICER_TEST_WORLDS_H

#include "tests/test.h"
#include "pricer.h"

static inline struct pricer_network *build(int32_t n, uint64_t *seed,
                                           double reciprocity)
{
    struct pricer_node nodes[12];
    struct pricer_link links[132];
    struct pricer_network *network = NULL;
    int64_t count = 0;
    for (int32_t i = 0; i < n; i++) {
        nodes[i] = (struct pricer_node){.2 + .8 * test_uniform(seed), 1, 1e-3,
                                        NAN, NAN};
        for (int32_t j = 0; j < n; j++)
            if (i != j)
                links[count++] = (struct pricer_link){
                    i, j, .2 + .8 * test_uniform(seed), NAN, 1, 1e-3};
    }
    assert_int_equal(
        pricer_network_build(&(struct pricer_network_parts){4, 1, reciprocity,
                                                            nodes, n, links,
                                                            count, NULL, NULL},
                             &network, NULL, NULL),
        PRICER_OK);
    return network;
}

/* Some weights are 0, with their noise; some own parts bare. */
static inline struct pricer_plan *random_plan(
    const struct pricer_network *network, uint64_t *seed)
{
    struct pricer_plan *plan = NULL;
    assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
    for (int32_t l = 0; l < network->links; l++)
        if (test_uniform(seed) > .3) {
            plan->weight[l] = .1 + test_uniform(seed);
            plan->noise[l] = plan->weight[l] * (.5 + 3 * test_uniform(seed));
        }
    for (int32_t i = 0; i < network->nodes; i++)
        if (test_uniform(seed) > .3) {
            plan->self_weight[i] = .1 + test_uniform(seed);
            plan->self_noise[i] =
                test_uniform(seed) < .2
                    ? 0
                    : plan->self_weight[i] * (.5 + 3 * test_uniform(seed));
        }
    return plan;
}

static inline struct pricer_statement ask(const struct pricer_network *network,
                                          const struct pricer_plan *plan,
                                          struct pricer_question question,
                                          int32_t node)
{
    struct pricer_statement *all = NULL, found = {.node = -1};
    int64_t count = 0;
    question.threads = 1;
    assert_int_equal(
        pricer_privacy_account(network, plan, &question, &all, &count, NULL),
        PRICER_OK);
    for (int64_t k = 0; k < count; k++)
        if (all[k].node == node)
            found = all[k];
    pricer_statements_free(all);
    assert_int_equal(found.node, node);
    return found;
}

#endif
