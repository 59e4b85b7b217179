/*
 * Networks in which everyone is linked to everyone and all are alike, plans that
 * are too, and questions about their privacy.
 */
#ifndef PRICER_CLIQUE_H
#define PRICER_CLIQUE_H

#include "tests/test.h"
#include "pricer.h"

struct clique {
    int32_t nodes;
    double uplink, p;
    double reciprocity;
    double joint; /* P(both ways up); NAN: as the reciprocity has it */
    double radius;
    int64_t dimension;
};

/* Budgets of eps 1 and delta 1e-3. */
static inline struct pricer_network *clique_network(struct clique shape)
{
    int32_t n = shape.nodes;
    struct pricer_node *nodes = calloc((size_t)n, sizeof *nodes);
    struct pricer_link *links = calloc((size_t)n * (size_t)n, sizeof *links);
    struct pricer_network *network = NULL;
    int64_t count = 0;
    assert_true(nodes != NULL && links != NULL);
    for (int32_t i = 0; i < n; i++) {
        nodes[i] = (struct pricer_node){shape.uplink, 1, 1e-3, NAN, NAN};
        for (int32_t j = 0; j < n; j++)
            if (i != j)
                links[count++] =
                    (struct pricer_link){i, j, shape.p, shape.joint, 1, 1e-3};
    }
    const struct pricer_network_parts parts = {shape.dimension,
                                               shape.radius,
                                               shape.reciprocity,
                                               nodes,
                                               n,
                                               links,
                                               count,
                                               NULL,
                                               NULL};
    assert_int_equal(pricer_network_build(&parts, &network, NULL, NULL),
                     PRICER_OK);
    free(nodes);
    free(links);
    return network;
}

/* The same weight everywhere, and noise of links and of own parts. */
static inline struct pricer_plan *clique_plan(
    const struct pricer_network *network, double weight, double noise,
    double own_noise)
{
    struct pricer_plan *plan = NULL;
    assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
    for (int32_t l = 0; l < network->links; l++) {
        plan->weight[l] = weight;
        plan->noise[l] = noise;
    }
    for (int32_t i = 0; i < network->nodes; i++) {
        plan->self_weight[i] = weight;
        plan->self_noise[i] = own_noise;
    }
    return plan;
}

/* The first statement of a question; all must make sense. */
static inline struct pricer_statement ask_first(
    const struct pricer_network *network, const struct pricer_plan *plan,
    struct pricer_question question)
{
    struct pricer_statement *all = NULL, first;
    struct pricer_fault fault = {""};
    int64_t count = 0;
    if (pricer_privacy_account(network, plan, &question, &all, &count,
                               &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    assert_true(count > 0);
    for (int64_t k = 0; k < count; k++) {
        assert_true(all[k].eps >= all[k].eps_lower && all[k].eps_lower >= 0);
        assert_true(all[k].floor >= 0 && all[k].floor <= 1);
    }
    first = all[0];
    pricer_statements_free(all);
    return first;
}

/* Questions that have no answer: each is refused in words, and nothing else
 * changes. */
static inline void assert_refused(const struct pricer_network *network,
                                  const struct pricer_plan *plan,
                                  const struct pricer_question *questions,
                                  size_t count)
{
    for (size_t k = 0; k < count; k++) {
        struct pricer_statement *all = NULL;
        struct pricer_fault fault = {""};
        int64_t found = 42;
        assert_int_equal(pricer_privacy_account(network, plan, &questions[k],
                                                &all, &found, &fault),
                         PRICER_VALUE);
        assert_true(all == NULL && found == 42 && fault.text[0] != '\0');
    }
}

#endif
