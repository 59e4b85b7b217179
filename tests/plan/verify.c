/*
 * The verifier: it agrees with the definition, its bound is below every plan,
 * and it finds whatever is wrong with a plan.
 */
#include "tests/test.h"
#include "tests/plans.h"

static struct pricer_network *network_of(uint64_t seed, int n)
{
    return random_network(&seed, n, test_uniform);
}

static struct pricer_certificate verify(const struct pricer_network *network,
                                        const struct pricer_settings *ask,
                                        const struct pricer_plan *plan)
{
    struct pricer_certificate found;
    struct pricer_fault fault = {""};
    if (pricer_plan_verify(network, ask, plan, &found, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return found;
}

static struct pricer_plan *optimum(const struct pricer_network *network,
                                   const struct pricer_settings *ask)
{
    struct pricer_plan *plan = NULL;
    assert_int_equal(
        pricer_plan_optimise(network, ask, NULL, &plan, NULL, NULL), PRICER_OK);
    return plan;
}

/* Any weights, any multipliers: the objective is the definition's, and the
 * bound is below the optimum. */
static void test_value_and_bound(void **state)
{
    (void)state;
    uint64_t seed = 21;
    for (int trial = 0; trial < 30; trial++) {
        int n = 1 + trial % 10;
        struct pricer_network *network = network_of((uint64_t)trial, n);
        for (int bias = 0; bias < 4; bias++) {
            struct pricer_settings ask = {.bias = (enum pricer_bias)bias,
                                          .lambda = .05};
            struct pricer_plan *plan = optimum(network, &ask);
            struct pricer_certificate best = verify(network, &ask, plan);
            double wild = pow(10, 6 * test_uniform(&seed) - 3);
            for (int l = 0; l < network->links; l++) {
                plan->weight[l] *= 2 * test_uniform(&seed);
                plan->noise[l] *= 2 * test_uniform(&seed);
            }
            for (int i = 0; i < n; i++) {
                plan->self_weight[i] *= 2 * test_uniform(&seed);
                plan->row_multiplier[i] += wild * (2 * test_uniform(&seed) - 1);
                plan->relay_multiplier[i] +=
                    wild * (2 * test_uniform(&seed) - 1);
            }
            plan->sum_multiplier += wild * (2 * test_uniform(&seed) - 1);
            struct dense dense = dense_of(network, plan);
            struct pricer_certificate found = verify(network, &ask, plan);
            assert_close(found.objective, dense_error(&dense, &ask).objective,
                         1e-12);
            assert_true(found.bound <= best.objective * (1 + 1e-12));
            assert_true(best.gap <= 1.0001e-8);
            pricer_plan_free(plan);
        }
        pricer_network_free(network);
    }
}

static void test_finds_infeasible(void **state)
{
    (void)state;
    struct pricer_network *network = network_of(4, 5);
    struct pricer_settings ask = {.bias = PRICER_BIAS_UNBIASED};
    struct pricer_plan *plan = optimum(network, &ask);
    double bad[] = {-1e-30, NAN, INFINITY};
    assert_true(verify(network, &ask, plan).feasible);
    for (int k = 0; k < 3; k++) {
        double keep = plan->weight[7];
        plan->weight[7] = bad[k];
        struct pricer_certificate found = verify(network, &ask, plan);
        assert_false(found.feasible);
        assert_true(isinf(found.gap));
        assert_non_null(strstr(found.words, "the weight or noise of 1,4"));
        plan->weight[7] = keep;
        keep = plan->self_noise[2];
        plan->self_noise[2] = bad[k];
        assert_false(verify(network, &ask, plan).feasible);
        plan->self_noise[2] = keep;
    }
    plan->self_weight[3] += 1e-6;
    struct pricer_certificate found = verify(network, &ask, plan);
    assert_false(found.feasible);
    assert_non_null(strstr(found.words, "the bias of 3,3 is"));
    ask.bias = PRICER_BIAS_WORST_CASE;
    assert_false(verify(network, &ask, plan).feasible);
    plan->self_weight[3] -= 2e-6;
    assert_true(verify(network, &ask, plan).feasible);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* A noise lower by one part in a thousand million is found, for one round and
 * for many; the noise that was asked for passes. */
static void test_finds_open_links(void **state)
{
    (void)state;
    int64_t rounds[] = {0, 1, 2, 100};
    struct pricer_network *network = network_of(6, 6);
    for (int k = 0; k < 4; k++) {
        struct pricer_settings ask = {.bias = PRICER_BIAS_UNBIASED,
                                      .rounds = rounds[k]};
        struct pricer_plan *plan = optimum(network, &ask);
        assert_int_equal(verify(network, &ask, plan).open_links, 0);
        int64_t used = 0;
        for (int l = 0; l < network->links; l++) {
            used += plan->weight[l] > 0;
            plan->noise[l] *= 1 - 1e-9;
        }
        struct pricer_certificate found = verify(network, &ask, plan);
        assert_int_equal(found.open_links, used);
        assert_true(found.feasible);
        assert_non_null(strstr(found.words, "too small for its budget"));
        plan->self_noise[0] = 0;
        assert_int_equal(verify(network, &ask, plan).open_links,
                         found.open_links + (plan->self_weight[0] > 0));
        pricer_plan_free(plan);
    }
    pricer_network_free(network);
}

/* The paper's calibration does not keep its promise for large eps, and the
 * verifier says so. */
static void test_classic_is_no_guarantee(void **state)
{
    (void)state;
    struct pricer_network *network = paper_network(.5);
    struct pricer_settings ask = {.calibration = PRICER_CALIBRATION_CLASSIC};
    struct pricer_plan *plan = optimum(network, &ask);
    struct pricer_certificate found = verify(network, &ask, plan);
    assert_true(found.feasible && found.gap <= 1.0001e-8);
    int64_t large = 0;
    for (int i = 0; i < 10; i++)
        large += plan->self_weight[i] > 0;
    for (int l = 0; l < network->links; l++)
        large += plan->weight[l] > 0 && network->eps[l] == 1000;
    assert_int_equal(found.open_links, large);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

static void test_refuses_other_networks(void **state)
{
    (void)state;
    struct pricer_network *network = network_of(4, 5),
                          *other = network_of(4, 6);
    struct pricer_settings ask = {0};
    struct pricer_plan *plan = optimum(network, &ask), *warm = NULL;
    struct pricer_certificate found;
    struct pricer_fault fault = {""};
    assert_int_equal(pricer_plan_verify(other, &ask, plan, &found, &fault),
                     PRICER_VALUE);
    assert_non_null(strstr(fault.text, "5 nodes"));
    assert_int_equal(
        pricer_plan_optimise(other, &ask, plan, &warm, NULL, &fault),
        PRICER_VALUE);
    assert_null(warm);
    pricer_plan_free(plan);
    pricer_network_free(network);
    pricer_network_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value_and_bound),
        cmocka_unit_test(test_finds_infeasible),
        cmocka_unit_test(test_finds_open_links),
        cmocka_unit_test(test_classic_is_no_guarantee),
        cmocka_unit_test(test_refuses_other_networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
