/*
 * Plans with budgets towards the server, which are divided evenly among the
 * links of a node: no account of the server is above its budget on random
 * networks, nothing of a budget is wasted where it alone counts, certificates by
 * other code on networks at their extremes, prices by differences, and no change
 * where no budget binds.
 */
#include "tests/test.h"
#include "bench/hard_networks.h"

#include <string.h>

/* The paper's ten nodes, links in both directions up together. */
static struct pricer_network *ten_nodes(int64_t dimension, double p)
{
    static const double uplink[] = {.1, .1, .8, .1, .1, .9, .1, .1, .9, .1};
    struct pricer_node nodes[10];
    struct pricer_link links[90];
    struct pricer_network *network = NULL;
    int count = 0;
    for (int i = 0; i < 10; i++) {
        nodes[i] = (struct pricer_node){uplink[i], 1000, 1e-3, NAN, NAN};
        for (int j = 0; j < 10; j++) {
            int apart = abs(i - j);
            if (i != j)
                links[count++] = (struct pricer_link){
                    i, j, p, p, apart == 1 || apart == 9 ? 1000 : 1, 1e-3};
        }
    }
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){
                             dimension, 1, 0, nodes, 10, links, 90, NULL, NULL},
                         &network, NULL, NULL),
                     PRICER_OK);
    return network;
}

/* The same budget for every node. */
static void give(struct pricer_network *network, double eps)
{
    double *all = malloc((size_t)network->nodes * sizeof *all);
    double *delta = malloc((size_t)network->nodes * sizeof *delta);
    assert_true(all != NULL && delta != NULL);
    for (int32_t i = 0; i < network->nodes; i++) {
        all[i] = eps;
        delta[i] = 1e-3;
    }
    assert_int_equal(pri_network_budget(network, all, delta, NULL, NULL),
                     PRICER_OK);
    free(all);
    free(delta);
}

static struct pricer_plan *plan_for(const struct pricer_network *network,
                                    const struct pricer_settings *settings,
                                    double *objective)
{
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    assert_int_equal(
        pricer_plan_optimise(network, settings, NULL, &plan, &info, NULL),
        PRICER_OK);
    assert_int_equal(info.outcome, PRICER_OUTCOME_OPTIMAL);
    *objective = info.objective;
    return plan;
}

/* The sum of the squared ratios of all that node i sends. */
static double sent_ratio(const struct pricer_network *net,
                         const struct pricer_plan *plan, int32_t i)
{
    double sum = 0, width = net->node_diameter[i];
    if (plan->self_weight[i] > 0)
        sum += pow(width * plan->self_weight[i] / plan->self_noise[i], 2);
    for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++)
        if (plan->weight[l] > 0)
            sum += pow(width * plan->weight[l] / plan->noise[l], 2);
    return sum;
}

static void verify(const struct pricer_network *network,
                   const struct pricer_settings *settings,
                   const struct pricer_plan *plan)
{
    struct pricer_certificate found;
    assert_int_equal(pricer_plan_verify(network, settings, plan, &found, NULL),
                     PRICER_OK);
    assert_true(found.feasible);
    if (settings->calibration == PRICER_CALIBRATION_ANALYTIC)
        assert_int_equal(found.open_links + found.open_budgets, 0);
    if (!(found.gap <= 1.02e-8))
        fail_msg("gap %g", found.gap);
}

/* What the server learns about each node, by the account, which shares nothing
 * with the division: never more than the budget. Nor by all that a node sends,
 * were its noise the only one. */
static void test_account_keeps_budgets(void **state)
{
    (void)state;
    int64_t nodes = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct hard_network hard = hard_network_new(seed, 1, 6);
        struct pricer_network *net = hard.network;
        struct pricer_settings settings = hard.settings;
        struct pricer_statement *found = NULL;
        int64_t count = 0;
        double objective;
        settings.bias = PRICER_BIAS_WORST_CASE;
        settings.calibration = PRICER_CALIBRATION_ANALYTIC;
        settings.rounds = 1 + (int64_t)(seed % 3);
        hard_budgets(net, seed);
        struct pricer_plan *plan = plan_for(net, &settings, &objective);
        for (int32_t i = 0; net->server_eps != NULL && i < net->nodes; i++) {
            struct pricer_question ask = {.observer = PRICER_OBSERVER_SERVER,
                                          .eavesdropper = PRICER_RADIO,
                                          .delta = net->server_delta[i],
                                          .rounds = settings.rounds,
                                          .threads = 1};
            if (isinf(net->server_eps[i]) || net->server_delta[i] >= 1)
                continue;
            assert_int_equal(
                pricer_privacy_account(net, plan, &ask, &found, &count, NULL),
                PRICER_OK);
            for (int64_t k = 0; k < count; k++)
                if (found[k].node == i && found[k].eps > net->server_eps[i])
                    fail_msg("seed %d, node %d: eps %.17g, budget %.17g",
                             (int)seed, (int)i, found[k].eps,
                             net->server_eps[i]);
            pricer_statements_free(found);
            double ratio = sent_ratio(net, plan, i);
            assert_true(
                pricer_gaussian_delta(net->server_eps[i],
                                      sqrt((double)settings.rounds * ratio)) <=
                net->server_delta[i]);
            nodes++;
        }
        pricer_plan_free(plan);
        pricer_network_free(net);
    }
    assert_true(nodes > 100);
}

/* With full trust in every neighbour the links of a node get equal parts of the
 * budget, and all of it. */
static void test_even_parts(void **state)
{
    (void)state;
    struct pricer_settings settings = {.threads = 1};
    struct pricer_network *network = ten_nodes(16, .5);
    double objective, mu;
    for (int32_t l = 0; l < network->links; l++)
        network->eps[l] = INFINITY;
    for (int32_t i = 0; i < network->nodes; i++)
        network->self_eps[i] = INFINITY;
    give(network, 5);
    struct pricer_plan *plan = plan_for(network, &settings, &objective);
    assert_int_equal(pricer_calibrate(
                         &(struct pricer_budget){
                             .eps = 5, .delta = 1e-3, .rounds = 1, .p = 1},
                         &mu, NULL, NULL),
                     PRICER_OK);
    for (int32_t l = 0; l < network->links; l++)
        if (plan->weight[l] > 0) {
            double ratio = 2 * plan->weight[l] / plan->noise[l];
            assert_true(fabs(ratio * sqrt(10) / mu - 1) < 1e-9);
        }
    pricer_plan_free(plan);
    pricer_network_free(network);
}

static void test_hard_networks(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct hard_network hard = hard_network_new(seed, 1, 12);
        hard_budgets(hard.network, seed);
        for (int bias = 0; bias < 4; bias++) {
            struct pricer_settings settings = hard.settings;
            double objective;
            settings.bias = (enum pricer_bias)bias;
            if (bias == PRICER_BIAS_UNBIASED && hard.unreached > 0)
                continue;
            struct pricer_plan *plan =
                plan_for(hard.network, &settings, &objective);
            verify(hard.network, &settings, plan);
            pricer_plan_free(plan);
        }
        pricer_network_free(hard.network);
    }
}

/* Large enough for conjugate gradients instead of Cholesky factors. */
static void test_conjugate_gradients(void **state)
{
    (void)state;
    struct hard_network hard = {NULL, {0}, 0};
    for (uint64_t seed = 1; hard.network == NULL; seed++) {
        hard = hard_network_new(seed, 120, 120);
        if (hard.settings.calibration != PRICER_CALIBRATION_ANALYTIC) {
            pricer_network_free(hard.network);
            hard.network = NULL;
        }
    }
    struct pricer_settings settings = {.tolerance = 1e-6, .threads = 1};
    struct pricer_certificate found;
    double objective;
    give(hard.network, 10);
    struct pricer_plan *plan = plan_for(hard.network, &settings, &objective);
    assert_int_equal(
        pricer_plan_verify(hard.network, &settings, plan, &found, NULL),
        PRICER_OK);
    assert_true(found.feasible && found.gap <= 1.1e-6);
    assert_int_equal(found.open_links + found.open_budgets, 0);
    pricer_plan_free(plan);
    pricer_network_free(hard.network);
}

/* A copy with other trust keeps the budgets towards the server. */
static void test_retrust(void **state)
{
    (void)state;
    struct pricer_network *network = ten_nodes(4, .5), *copy = NULL;
    give(network, 20);
    assert_int_equal(pricer_network_retrust(network,
                                            &(struct pricer_trust){0, 1, 5}, 1,
                                            &copy, NULL),
                     PRICER_OK);
    assert_non_null(copy->server_eps);
    for (int32_t i = 0; i < 10; i++)
        assert_true(copy->server_eps[i] == 20 &&
                    copy->server_delta[i] == network->server_delta[i]);
    pricer_network_free(copy);
    pricer_network_free(network);
}

/* Budgets that no plan can spend leave every bit of the plan as it was. */
static void test_loose_budgets(void **state)
{
    struct pricer_settings settings = {.threads = 1};
    struct pricer_network *network = ten_nodes(128, .5);
    double before, after;
    struct pricer_plan *plain = plan_for(network, &settings, &before);
    (void)state;
    give(network, 1e6);
    struct pricer_plan *plan = plan_for(network, &settings, &after);
    assert_true(before == after);
    assert_memory_equal(plan->weight, plain->weight, 90 * sizeof(double));
    assert_memory_equal(plan->noise, plain->noise, 90 * sizeof(double));
    assert_memory_equal(plan->self_noise, plain->self_noise,
                        10 * sizeof(double));
    pricer_plan_free(plain);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* The check finds a node whose noise is a little too small for its budget, and
 * no node whose noise is a little larger than that; ColRel keeps nothing, and
 * the other baselines keep their budgets. */
static void test_check(void **state)
{
    struct pricer_settings settings = {.threads = 1};
    struct pricer_network *network = ten_nodes(4, .9);
    struct pricer_certificate found;
    double objective, mu;
    (void)state;
    give(network, 20);
    struct pricer_plan *plan = plan_for(network, &settings, &objective);
    assert_int_equal(pricer_calibrate(
                         &(struct pricer_budget){
                             .eps = 20, .delta = 1e-3, .rounds = 1, .p = 1},
                         &mu, NULL, NULL),
                     PRICER_OK);
    for (int32_t i = 0; i < network->nodes; i++)
        for (int side = 0; side < 2; side++) {
            double ratio = sqrt(sent_ratio(network, plan, i)) / mu;
            double factor = ratio * (side == 0 ? .999 : 1.001);
            plan->self_noise[i] *= factor;
            for (int32_t l = network->out_start[i];
                 l < network->out_start[i + 1]; l++)
                plan->noise[l] *= factor;
            assert_int_equal(
                pricer_plan_verify(network, &settings, plan, &found, NULL),
                PRICER_OK);
            assert_int_equal(found.open_budgets, side == 0);
        }
    pricer_plan_free(plan);
    for (int k = 0; k < PRICER_BASELINES; k++) {
        assert_int_equal(pricer_plan_baseline(network, &settings,
                                              (enum pricer_baseline)k, &plan,
                                              NULL),
                         PRICER_OK);
        assert_int_equal(
            pricer_plan_verify(network, &settings, plan, &found, NULL),
            PRICER_OK);
        assert_true((found.open_budgets > 0) == (k == PRICER_BASELINE_COLREL));
        pricer_plan_free(plan);
    }
    pricer_network_free(network);
}

/* Any multipliers give a bound below the optimum. */
static void test_bound_is_valid(void **state)
{
    struct pricer_settings settings = {.threads = 1};
    struct pricer_network *network = ten_nodes(4, .9);
    struct pricer_certificate found;
    uint64_t seed = 7;
    double objective;
    (void)state;
    give(network, 20);
    struct pricer_plan *plan = plan_for(network, &settings, &objective);
    for (int trial = 0; trial < 200; trial++) {
        double wild = hard_logarithmic(&seed, 1e-6, 10);
        struct pricer_plan other = *plan;
        double row[10], relay[10];
        for (int i = 0; i < 10; i++) {
            row[i] = plan->row_multiplier[i] *
                     (1 + wild * (2 * hard_uniform(&seed) - 1));
            relay[i] = plan->relay_multiplier[i] *
                       (1 + wild * (2 * hard_uniform(&seed) - 1));
        }
        other.row_multiplier = row;
        other.relay_multiplier = relay;
        assert_int_equal(
            pricer_plan_verify(network, &settings, &other, &found, NULL),
            PRICER_OK);
        assert_true(found.bound <= objective * (1 + 1e-12));
    }
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* Central differences of optima that are known to 1e-10. */
static void test_prices(void **state)
{
    struct pricer_settings settings = {.tolerance = 1e-10, .threads = 1};
    struct pricer_network *network = ten_nodes(4, .5);
    double price[90], self_price[10], server_price[10], objective;
    const double step = 1e-3;
    (void)state;
    give(network, 40);
    struct pricer_plan *plan = plan_for(network, &settings, &objective);
    assert_int_equal(
        pricer_trust_price(network, &settings, plan, price, self_price, NULL),
        PRICER_OK);
    assert_int_equal(
        pricer_trust_server_price(network, &settings, plan, server_price, NULL),
        PRICER_OK);
    for (int k = 0; k < 30; k++) {
        int32_t l = 9 * (k - 20), i = k % 10;
        double *eps = k < 10   ? &network->server_eps[i]
                      : k < 20 ? &network->self_eps[i]
                               : &network->eps[l];
        double expected = k < 10   ? server_price[i]
                          : k < 20 ? self_price[i]
                                   : price[l];
        double here = *eps, value[2];
        for (int side = 0; side < 2; side++) {
            *eps = here * exp(side ? step : -step);
            pricer_plan_free(plan_for(network, &settings, &value[side]));
        }
        *eps = here;
        double difference = (value[1] - value[0]) / (2 * step);
        if (fabs(difference - expected) >
            1e-3 * fabs(expected) + 2e-7 * objective)
            fail_msg("%d: price %.9g, by differences %.9g", k, expected,
                     difference);
    }
    pricer_plan_free(plan);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_account_keeps_budgets),
        cmocka_unit_test(test_even_parts),
        cmocka_unit_test(test_hard_networks),
        cmocka_unit_test(test_conjugate_gradients),
        cmocka_unit_test(test_retrust),
        cmocka_unit_test(test_loose_budgets),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_bound_is_valid),
        cmocka_unit_test(test_prices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
