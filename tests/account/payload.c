/*
 * The bound of accounts by payloads: the Gaussian mechanism of all payloads that
 * an observer may see.
 */
#include "account/payload.h"
#include "tests/sample.h"

/* Node 0 sends to 1 and 2; ratios 1 over the links, 2 for its own part. */
static struct pricer_network *fan(struct pricer_plan **plan)
{
    struct pricer_node nodes[3];
    struct pricer_link links[2];
    for (int i = 0; i < 3; i++)
        nodes[i] = (struct pricer_node){.5, 1, 1e-3, NAN, NAN};
    for (int l = 0; l < 2; l++)
        links[l] = (struct pricer_link){0, l + 1, .5, NAN, 1, 1e-3};
    struct pricer_network *network = NULL;
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){2, .5, 0, nodes, 3,
                                                        links, 2, NULL, NULL},
                         &network, NULL, NULL),
                     PRICER_OK);
    assert_int_equal(pricer_plan_new(network, plan, NULL), PRICER_OK);
    for (int i = 0; i < 3; i++) {
        (*plan)->self_weight[i] = 2;
        (*plan)->self_noise[i] = 1;
    }
    for (int l = 0; l < 2; l++)
        (*plan)->weight[l] = (*plan)->noise[l] = 3;
    return network;
}

/* The bound on what is learnt about node 0. */
static struct pricer_statement bound(const struct pricer_network *network,
                                     const struct pricer_plan *plan,
                                     const struct pricer_question *question,
                                     const bool *member)
{
    struct pricer_statement found = {.observer = question->observer,
                                     .node = 0,
                                     .at = 1,
                                     .delta = 1e-3,
                                     .eps = INFINITY,
                                     .eps_lower = INFINITY};
    pri_payload_bound(network, plan, question, member, &found);
    return found;
}

/* Its eps is the least at which a mechanism of that ratio has delta. */
static void check(struct pricer_statement found, double square)
{
    double mu = sqrt(square);
    assert_true(pricer_gaussian_delta(found.eps, mu) <= 1e-3);
    assert_true(pricer_gaussian_delta(found.eps * (1 - 1e-9), mu) > 1e-3);
    assert_true(found.eps_lower <= found.eps);
}

/* A relay sees one payload of ratio 1, the server 1 + 1 + 4 of node 0's squared
 * ratios, a coalition with it too, without it those of its members; rounds add
 * up. */
static void test_sums_of_ratios(void **state)
{
    (void)state;
    struct pricer_plan *plan = NULL;
    struct pricer_network *network = fan(&plan);
    const bool nobody[3] = {false, false, false}, two[3] = {false, true, true};
    struct pricer_question question = {.observer = PRICER_OBSERVER_RELAY,
                                       .eavesdropper = PRICER_RADIO};
    check(bound(network, plan, &question, nobody), 1);
    question.rounds = 9;
    check(bound(network, plan, &question, nobody), 9);
    question.rounds = 1;
    question.observer = PRICER_OBSERVER_SERVER;
    check(bound(network, plan, &question, nobody), 6);
    question.observer = PRICER_OBSERVER_COALITION;
    check(bound(network, plan, &question, two), 2);
    question.with_server = true;
    check(bound(network, plan, &question, two), 6);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* Only ever lower, and nothing where a payload has no noise. */
static void test_only_lowers(void **state)
{
    (void)state;
    struct pricer_plan *plan = NULL;
    struct pricer_network *network = fan(&plan);
    const bool nobody[3] = {false, false, false};
    const struct pricer_question question = {.observer = PRICER_OBSERVER_SERVER,
                                             .eavesdropper = PRICER_RADIO};
    double eps = bound(network, plan, &question, nobody).eps;
    struct pricer_statement found = {.observer = PRICER_OBSERVER_SERVER,
                                     .delta = 1e-3,
                                     .eps = eps / 2,
                                     .eps_lower = eps / 2};
    pri_payload_bound(network, plan, &question, nobody, &found);
    assert_true(found.eps == eps / 2);
    plan->self_noise[0] = 0;
    assert_true(isinf(bound(network, plan, &question, nobody).eps));
    pricer_plan_free(plan);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_of_ratios),
        cmocka_unit_test(test_only_lowers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
