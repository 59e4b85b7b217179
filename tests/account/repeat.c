/*
 * Accounts where a round repeats its payloads: published values of the Gaussian
 * mechanism, sums over what each observer may see, and never less than the
 * account of one attempt.
 */
#include "tests/sample.h"

static struct pricer_statement *ask(const struct pricer_network *network,
                                    const struct pricer_plan *plan,
                                    struct pricer_question question,
                                    int64_t *count)
{
    struct pricer_statement *list = NULL;
    struct pricer_fault fault = {""};
    if (pricer_privacy_account(network, plan, &question, &list, count,
                               &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return list;
}

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

/* delta of ratio 1 at eps 1 (Balle and Wang) and what other ratios have. */
static void test_published(void **state)
{
    (void)state;
    struct pricer_plan *plan = NULL;
    struct pricer_network *network = fan(&plan);
    struct pricer_question question = {
        .repeat = 7, .eavesdropper = PRICER_RADIO, .delta = 0.126936737506644};
    int64_t count;
    struct pricer_statement *list = ask(network, plan, question, &count);
    assert_int_equal(count, 2);
    assert_close(list[0].eps, 1, 1e-9);
    assert_true(list[0].exact && list[0].eps_lower <= list[0].eps);
    assert_true(list[0].eps_lower > list[0].eps * (1 - 1e-9));
    pricer_statements_free(list);
    /* the relay is granted its packets */
    question.observer = PRICER_OBSERVER_RELAY;
    list = ask(network, plan, question, &count);
    assert_close(list[1].eps, 1, 1e-9);
    pricer_statements_free(list);
    /* nine rounds are one mechanism of three times the ratio */
    question = (struct pricer_question){.repeat = 2,
                                        .eavesdropper = PRICER_RADIO,
                                        .rounds = 9,
                                        .delta = 0.787600744};
    list = ask(network, plan, question, &count);
    assert_close(list[0].eps, 1, 1e-6);
    pricer_statements_free(list);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* The server sees 1 + 1 + 4 of node 0's squared ratios, a coalition with it
 * too, without it those of its members. */
static void test_sums_of_ratios(void **state)
{
    (void)state;
    struct pricer_plan *plan = NULL;
    struct pricer_network *network = fan(&plan);
    int32_t members[] = {1, 2};
    int64_t count;
    struct pricer_question question = {.repeat = 3,
                                       .eavesdropper = PRICER_RADIO,
                                       .observer = PRICER_OBSERVER_SERVER,
                                       .delta = 1e-3};
    struct pricer_statement *server = ask(network, plan, question, &count);
    assert_int_equal(count, 3);
    question.observer = PRICER_OBSERVER_COALITION;
    question.members = members;
    question.member_count = 2;
    struct pricer_statement *two = ask(network, plan, question, &count);
    assert_int_equal(count, 1);
    question.with_server = true;
    struct pricer_statement *both = ask(network, plan, question, &count);
    question = (struct pricer_question){
        .repeat = 3, .eavesdropper = PRICER_RADIO, .delta = 1e-3, .rounds = 6};
    struct pricer_statement *six = ask(network, plan, question, &count);
    question.rounds = 2;
    struct pricer_statement *pair = ask(network, plan, question, &count);
    assert_close(server[0].eps, six[0].eps, 1e-12);
    assert_close(both[0].eps, six[0].eps, 1e-12);
    assert_close(two[0].eps, pair[0].eps, 1e-12);
    assert_false(server[0].exact);
    pricer_statements_free(server);
    pricer_statements_free(two);
    pricer_statements_free(both);
    pricer_statements_free(six);
    pricer_statements_free(pair);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* No observer learns less from several attempts than from one. */
static void test_never_less(void **state)
{
    (void)state;
    for (uint64_t start = 1; start <= 10; start++) {
        uint64_t seed = start;
        struct pricer_network *network = sample_network(&seed, 4, .7, 3, 1);
        struct pricer_plan *plan = sample_plan(&seed, network);
        for (int observer = 0; observer < 6; observer++) {
            if (observer == PRICER_OBSERVER_COALITION)
                continue;
            int64_t count, same;
            struct pricer_question question = {
                .observer = (enum pricer_observer)observer,
                .eavesdropper = PRICER_RADIO};
            struct pricer_statement *once =
                ask(network, plan, question, &count);
            question.repeat = 2;
            struct pricer_statement *twice =
                ask(network, plan, question, &same);
            assert_int_equal(count, same);
            for (int64_t k = 0; k < count; k++)
                assert_true(twice[k].eps >= once[k].eps_lower * (1 - 1e-9));
            pricer_statements_free(once);
            pricer_statements_free(twice);
        }
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    struct pricer_plan *plan = NULL;
    struct pricer_network *network = fan(&plan);
    struct pricer_statement *list = NULL;
    struct pricer_fault fault;
    int64_t count;
    struct pricer_question question = {.repeat = 2};
    assert_int_equal(
        pricer_privacy_account(network, plan, &question, &list, &count, &fault),
        PRICER_VALUE);
    question.eavesdropper = PRICER_RADIO;
    question.observer = PRICER_OBSERVER_RELAY;
    question.protect = PRICER_PROTECT_IDENTITY;
    assert_int_equal(
        pricer_privacy_account(network, plan, &question, &list, &count, &fault),
        PRICER_VALUE);
    plan->self_noise[0] = 0; /* bare: no eps */
    question = (struct pricer_question){.repeat = 2,
                                        .eavesdropper = PRICER_RADIO,
                                        .observer = PRICER_OBSERVER_SERVER};
    list = ask(network, plan, question, &count);
    assert_true(isinf(list[0].eps) && list[0].floor == 1);
    assert_true(isfinite(list[1].eps));
    pricer_statements_free(list);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_sums_of_ratios),
        cmocka_unit_test(test_never_less),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
