/*
 * The plans that ours is compared with: their weights where they are formulas,
 * and where they are optima that nothing of their kind is better.
 */
#include "tests/sample.h"

static struct pricer_error error_of(const struct pricer_network *net,
                                    const struct pricer_settings *settings,
                                    const struct pricer_plan *plan)
{
    struct pricer_error error;
    assert_int_equal(pricer_plan_evaluate(net, settings, plan, &error, NULL),
                     PRICER_OK);
    return error;
}

static struct pricer_plan *make(const struct pricer_network *net,
                                const struct pricer_settings *settings,
                                enum pricer_baseline baseline)
{
    struct pricer_plan *plan = NULL;
    struct pricer_fault fault = {""};
    if (pricer_plan_baseline(net, settings, baseline, &plan, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    for (int32_t l = 0; l < net->links && baseline != PRICER_BASELINE_COLREL;
         l++)
        assert_true(plan->weight[l] == 0 && plan->noise[l] == 0);
    return plan;
}

/* A network in which every node reaches the server at times. */
static struct pricer_network *reaching_network(uint64_t *seed, double density)
{
    struct pricer_network *net = sample_network(seed, 6, density, 3, 1.5);
    for (int32_t i = 0; i < net->nodes; i++)
        if (net->uplink[i] == 0)
            net->uplink[i] = .1;
    return net;
}

static void test_fixed(void **state)
{
    (void)state;
    uint64_t seed = 1;
    struct pricer_settings settings = {.calibration =
                                           PRICER_CALIBRATION_CLASSIC};
    struct pricer_network *net = reaching_network(&seed, .5);
    struct pricer_plan *naive = make(net, &settings, PRICER_BASELINE_NAIVE);
    struct pricer_plan *unbiased =
        make(net, &settings, PRICER_BASELINE_UNBIASED);
    for (int32_t i = 0; i < net->nodes; i++) {
        double slope = 2 * net->radius / net->self_eps[i] *
                       sqrt(2 * log(1.25 / net->self_delta[i]));
        assert_true(naive->self_weight[i] == 1);
        assert_true(unbiased->self_weight[i] == 1 / net->uplink[i]);
        assert_close(naive->self_noise[i], slope, 1e-12);
        assert_close(unbiased->self_noise[i], slope / net->uplink[i], 1e-12);
    }
    assert_true(error_of(net, &settings, unbiased).bias_l1 < 1e-14);
    pricer_plan_free(naive);
    pricer_plan_free(unbiased);
    pricer_network_free(net);
}

/* The best without links beats the other two and every other try. */
static void check_best(uint64_t *seed, const struct pricer_network *net,
                       const struct pricer_settings *settings)
{
    struct pricer_plan *best = make(net, settings, PRICER_BASELINE_BEST);
    struct pricer_plan *naive = make(net, settings, PRICER_BASELINE_NAIVE);
    struct pricer_plan *other = make(net, settings, PRICER_BASELINE_UNBIASED);
    double least = error_of(net, settings, best).objective;
    bool free_bias = settings->bias != PRICER_BIAS_UNBIASED;
    assert_true(error_of(net, settings, other).objective >= least * (1 - 1e-7));
    assert_true(!free_bias ||
                error_of(net, settings, naive).objective >= least * (1 - 1e-7));
    for (int k = 0; free_bias && k < 200; k++) {
        for (int32_t i = 0; i < net->nodes; i++) {
            other->self_weight[i] =
                best->self_weight[i] * (.5 + test_uniform(seed));
            other->self_noise[i] = naive->self_noise[i] * other->self_weight[i];
        }
        assert_true(error_of(net, settings, other).objective >=
                    least * (1 - 1e-7));
    }
    pricer_plan_free(best);
    pricer_plan_free(naive);
    pricer_plan_free(other);
}

static void test_best(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int trial = 0; trial < 40; trial++) {
        struct pricer_network *net = reaching_network(&seed, .5);
        struct pricer_settings settings = {.bias = trial % 4, .lambda = .03};
        check_best(&seed, net, &settings);
        pricer_network_free(net);
    }
}

/* ColRel is the unbiased optimum when everyone trusts everyone, and a lower
 * bound on every unbiased plan otherwise. */
static void test_colrel(void **state)
{
    (void)state;
    uint64_t seed = 3;
    struct pricer_settings settings = {.bias = PRICER_BIAS_UNBIASED};
    for (int trial = 0; trial < 20; trial++) {
        struct pricer_network *net = reaching_network(&seed, .7);
        struct pricer_plan *colrel =
            make(net, &settings, PRICER_BASELINE_COLREL);
        struct pricer_plan *plan = NULL;
        struct pricer_solve_info info;
        struct pricer_error free_of_noise = error_of(net, &settings, colrel);
        assert_true(free_of_noise.piv == 0 && free_of_noise.bias_l1 < 1e-8);
        assert_int_equal(
            pricer_plan_optimise(net, &settings, NULL, &plan, &info, NULL),
            PRICER_OK);
        assert_true(info.objective >= free_of_noise.objective * (1 - 1e-7));
        pricer_plan_free(plan);
        plan = NULL;
        for (int32_t l = 0; l < net->links; l++)
            net->eps[l] = INFINITY;
        for (int32_t i = 0; i < net->nodes; i++)
            net->self_eps[i] = INFINITY;
        assert_int_equal(
            pricer_plan_optimise(net, &settings, NULL, &plan, &info, NULL),
            PRICER_OK);
        assert_close(info.objective, free_of_noise.objective, 1e-7);
        pricer_plan_free(plan);
        pricer_plan_free(colrel);
        pricer_network_free(net);
    }
}

static void test_refuses(void **state)
{
    (void)state;
    uint64_t seed = 4;
    struct pricer_settings settings = {0};
    struct pricer_network *net = reaching_network(&seed, 0);
    struct pricer_plan *plan = NULL;
    struct pricer_fault fault = {""};
    net->uplink[4] = 0;
    assert_int_equal(pricer_plan_baseline(net, &settings,
                                          PRICER_BASELINE_UNBIASED, &plan,
                                          &fault),
                     PRICER_INFEASIBLE);
    assert_string_equal(fault.text,
                        "node 4 never reaches the server by itself");
    assert_int_equal(pricer_plan_baseline(
                         net, &settings, PRICER_BASELINE_COLREL, &plan, &fault),
                     PRICER_INFEASIBLE);
    assert_null(plan);
    for (int k = 0; k < PRICER_BASELINES; k++)
        assert_non_null(pricer_word(PRICER_WORDS_BASELINE, k));
    pricer_network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_best),
        cmocka_unit_test(test_colrel),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
