/*
 * The Erdos-Renyi closed form against the general error on the explicit
 * network: its slopes vanish there, which for a convex problem is optimality.
 * And the paper's two limits, MSE* with its correction.
 */
#include "tests/sample.h"
#include "optimise/optimise.h"
#include "plan/plan.h"
#include "base/base.h"

static struct pricer_network *explicit_network(
    const struct pricer_erdos_renyi *shape)
{
    struct pricer_node nodes[SAMPLE_NODES];
    struct pricer_link links[SAMPLE_NODES * SAMPLE_NODES];
    int64_t count = 0;
    for (int32_t i = 0; i < shape->nodes; i++) {
        bool reaching = i < shape->reaching;
        nodes[i] = (struct pricer_node){reaching ? shape->uplink : 0, INFINITY,
                                        1, NAN, NAN};
        for (int32_t j = 0; j < shape->reaching; j++)
            if (!reaching)
                links[count++] =
                    (struct pricer_link){i, j, shape->link, NAN, 1, 1e-3};
    }
    struct pricer_network *network = NULL;
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){
                             shape->dimension, shape->radius, 1, nodes,
                             shape->nodes, links, count, NULL, NULL},
                         &network, NULL, NULL),
                     PRICER_OK);
    return network;
}

static struct pricer_plan *explicit_plan(
    const struct pricer_network *network,
    const struct pricer_erdos_renyi *shape,
    const struct pricer_closed_form *solution)
{
    struct pricer_plan *plan = NULL;
    assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
    for (int32_t i = 0; i < shape->reaching; i++)
        plan->self_weight[i] = solution->self_weight;
    for (int32_t l = 0; l < network->links; l++) {
        plan->weight[l] = solution->weight;
        plan->noise[l] = solution->noise;
    }
    return plan;
}

static struct pricer_erdos_renyi sample_shape(uint64_t *seed)
{
    static const double slopes[] = {0, .01, 1, 30};
    static const double lambdas[] = {1e-6, .01, 1, 1e4};
    struct pricer_erdos_renyi shape = {
        .nodes = 1 + (int32_t)(test_random(seed) % SAMPLE_NODES),
        .link = test_uniform(seed) < .2 ? 1 : .05 + .9 * test_uniform(seed),
        .uplink = test_uniform(seed) < .2 ? 1 : .05 + .9 * test_uniform(seed),
        .dimension = 1 + (int64_t)(test_random(seed) % 100),
        .radius = .5 + test_uniform(seed),
        .slope = slopes[test_random(seed) % 4],
        .lambda = lambdas[test_random(seed) % 4],
    };
    shape.reaching = 1 + (int32_t)(test_random(seed) % (uint64_t)shape.nodes);
    return shape;
}

/* No slope is left: neither of a weight of its own nor, for a link, of the
 * weight together with the noise it needs. */
static void check_stationary(const struct pricer_network *net,
                             const struct pricer_erdos_renyi *shape,
                             const struct pricer_plan *plan, double objective)
{
    struct pricer_settings settings = {.bias = PRICER_BIAS_L2,
                                       .lambda = shape->lambda};
    struct pricer_plan *slopes = NULL;
    assert_int_equal(pricer_plan_new(net, &slopes, NULL), PRICER_OK);
    struct pri_gradient gradient = {slopes->weight, slopes->noise,
                                    slopes->self_weight, slopes->self_noise};
    struct pricer_error error;
    pri_objective_gradient(net, &settings, plan, slopes->row_multiplier, &error,
                           &gradient);
    assert_close(error.objective, objective, 1e-9);
    double size = 1e-12 * (1 + shape->lambda);
    for (int32_t i = 0; i < shape->reaching; i++)
        assert_true(fabs(gradient.self_weight[i]) < size);
    for (int32_t l = 0; l < net->links; l++)
        assert_true(
            fabs(gradient.weight[l] + shape->slope * gradient.noise[l]) < size);
    pricer_plan_free(slopes);
}

static void test_optimal(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int trial = 0; trial < 500; trial++) {
        struct pricer_erdos_renyi shape = sample_shape(&seed);
        struct pricer_closed_form solution;
        assert_int_equal(pricer_erdos_renyi_solve(&shape, &solution, NULL),
                         PRICER_OK);
        assert_true(solution.weight >= 0 && solution.self_weight >= 0);
        struct pricer_network *net = explicit_network(&shape);
        struct pricer_plan *plan = explicit_plan(net, &shape, &solution);
        check_stationary(net, &shape, plan, solution.objective);
        struct pricer_error error;
        struct pricer_settings settings = {0};
        assert_int_equal(
            pricer_plan_evaluate(net, &settings, plan, &error, NULL),
            PRICER_OK);
        assert_close(error.mse_paper, solution.mse, 1e-9);
        pricer_plan_free(plan);
        pricer_network_free(net);
    }
}

/* The exact planner, which knows nothing of symmetry, finds the same. */
static void test_optimiser(void **state)
{
    (void)state;
    uint64_t seed = 3;
    double self_slope[SAMPLE_NODES] = {0}, slope[SAMPLE_NODES * SAMPLE_NODES];
    for (int trial = 0; trial < 60; trial++) {
        struct pricer_erdos_renyi shape = sample_shape(&seed);
        struct pricer_closed_form solution;
        struct pricer_network *net = explicit_network(&shape);
        struct pricer_settings settings = {
            .bias = PRICER_BIAS_L2, .lambda = shape.lambda, .threads = 1};
        struct pricer_plan *plan = NULL;
        struct pricer_solve_info info;
        for (int32_t l = 0; l < net->links; l++)
            slope[l] = shape.slope;
        assert_int_equal(pricer_erdos_renyi_solve(&shape, &solution, NULL),
                         PRICER_OK);
        assert_int_equal(pri_optimise(net, &settings, slope, self_slope, NULL,
                                      &plan, &info, NULL),
                         PRICER_OK);
        assert_true(fabs(info.objective - solution.objective) <=
                    2e-8 * solution.objective + 1e-14);
        pricer_plan_free(plan);
        pricer_network_free(net);
    }
}

/* lambda to infinity: the paper's weights, and its MSE* with the missing m. */
static void test_unbiased_limit(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int trial = 0; trial < 100; trial++) {
        struct pricer_erdos_renyi shape = sample_shape(&seed);
        struct pricer_closed_form limit, near;
        double n = shape.nodes, m = shape.reaching, p = shape.link;
        double q = shape.uplink, square = shape.radius * shape.radius;
        double slope = shape.slope / shape.radius; /* xi / eps */
        double noise = slope * slope * (double)shape.dimension / m;
        shape.lambda = INFINITY;
        assert_int_equal(pricer_erdos_renyi_solve(&shape, &limit, NULL),
                         PRICER_OK);
        assert_close(limit.self_weight, 1 / q, 1e-15);
        if (shape.nodes > shape.reaching)
            assert_close(limit.weight, 1 / (m * p * q), 1e-15);
        double star =
            square * ((n - m) / (n * n * p * q) * ((1 - p) / m + noise) +
                      (1 - q) / (m * q));
        if (star > 1e-12)
            assert_close(limit.mse, star, 1e-12);
        assert_true(limit.bias_l2 == 0 && limit.objective == limit.mse);
        shape.lambda = 1e12;
        assert_int_equal(pricer_erdos_renyi_solve(&shape, &near, NULL),
                         PRICER_OK);
        assert_close(near.weight, limit.weight, 1e-6);
        assert_true(fabs(near.objective - limit.mse) <= 1e-6 * (1 + limit.mse));
    }
}

/* lambda = 0: links that cost something stay unused. */
static void test_free_limit(void **state)
{
    (void)state;
    struct pricer_erdos_renyi shape = {10, 4, .5, .7, 8, 1, 2, 0};
    struct pricer_closed_form zero, near;
    assert_int_equal(pricer_erdos_renyi_solve(&shape, &zero, NULL), PRICER_OK);
    assert_true(zero.weight == 0);
    assert_close(zero.self_weight, 10 / (1 + 3 * .7), 1e-15);
    shape.lambda = 1e-13;
    assert_int_equal(pricer_erdos_renyi_solve(&shape, &near, NULL), PRICER_OK);
    assert_close(near.mse, zero.mse, 1e-9);
}

static void test_refuses(void **state)
{
    (void)state;
    const struct pricer_erdos_renyi good = {10, 4, .5, .7, 8, 1, 2, 1};
    struct pricer_erdos_renyi bad[8];
    for (int k = 0; k < 8; k++)
        bad[k] = good;
    bad[0].reaching = 0;
    bad[1].reaching = 11;
    bad[2].link = 0;
    bad[3].uplink = NAN;
    bad[4].slope = INFINITY;
    bad[5].lambda = -1;
    bad[6].radius = 0;
    bad[7].dimension = 0;
    struct pricer_closed_form solution;
    for (int k = 0; k < 8; k++)
        assert_int_equal(pricer_erdos_renyi_solve(&bad[k], &solution, NULL),
                         PRICER_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_optimal),
        cmocka_unit_test(test_optimiser),
        cmocka_unit_test(test_unbiased_limit),
        cmocka_unit_test(test_free_limit),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
