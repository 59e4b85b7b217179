/*
 * Plans for nodes with radii and diameters of their own: a network with one
 * radius for all is what it was, one in other units is the same, and one whose
 * nodes differ is held against the definition of the error and against steps away
 * from its optimum.
 */
#include "tests/radii.h"

static struct pricer_plan *plan_for(const struct pricer_network *network,
                                    const struct pricer_settings *settings)
{
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    struct pricer_certificate found;
    struct pricer_fault fault = {""};
    if (pricer_plan_optimise(network, settings, NULL, &plan, &info, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    assert_int_equal(pricer_plan_verify(network, settings, plan, &found, NULL),
                     PRICER_OK);
    assert_true(found.feasible && found.gap < 1e-6);
    assert_int_equal(found.open_links, 0);
    assert_int_equal(found.open_budgets, 0);
    assert_close(found.objective, info.objective, 1e-6);
    return plan;
}

static struct pricer_error error_of(const struct pricer_network *network,
                                    const struct pricer_settings *settings,
                                    const struct pricer_plan *plan)
{
    struct pricer_error error;
    assert_int_equal(
        pricer_plan_evaluate(network, settings, plan, &error, NULL), PRICER_OK);
    return error;
}

/* One radius for all, said by node: the same bits. */
static void test_one_radius(void **state)
{
    (void)state;
    static const double ones[N] = {1, 1, 1, 1}, twos[N] = {2, 2, 2, 2};
    for (int kind = 0; kind < 5; kind++) {
        struct pricer_settings settings = {.bias = (enum pricer_bias)(kind % 4),
                                           .lambda = kind % 4 > 1 ? .05 : 0};
        struct world plain = {.radius = 1, .server_eps = kind == 4 ? 6 : 0};
        struct world said = plain;
        said.radii = ones;
        said.diameters = twos;
        struct pricer_network *a = make(&plain), *b = make(&said);
        struct pricer_plan *one = plan_for(a, &settings);
        struct pricer_plan *two = plan_for(b, &settings);
        assert_memory_equal(one->weight, two->weight, LINKS * sizeof(double));
        assert_memory_equal(one->noise, two->noise, LINKS * sizeof(double));
        assert_memory_equal(one->self_noise, two->self_noise,
                            N * sizeof(double));
        if (kind == 0)
            same_accounts(a, one, b, two, 0);
        pricer_plan_free(one);
        pricer_plan_free(two);
        pricer_network_free(a);
        pricer_network_free(b);
    }
}

/* Other units: all radii and diameters times c. The same weights and accounts,
 * c times the noise, c^2 times the error. By one radius for all, or by node
 * below a larger one. */
static void test_units(void **state)
{
    (void)state;
    const double c = .37;
    double radii[N], alike[N];
    for (int i = 0; i < N; i++) {
        radii[i] = c * mixed[i];
        alike[i] = c;
    }
    for (int kind = 0; kind < 5; kind++) {
        struct pricer_settings here = {.bias = (enum pricer_bias)(kind % 4),
                                       .lambda = kind % 4 > 1 ? .05 : 0,
                                       .tolerance = 1e-11};
        struct pricer_settings there = here;
        double budget = kind == 4 ? 6 : 0;
        struct pricer_network *a =
            make(&(struct world){1, 0, mixed, NULL, budget});
        struct pricer_network *b =
            make(&(struct world){c, 0, radii, NULL, budget});
        there.lambda *= c * c;
        struct pricer_plan *one = plan_for(a, &here);
        struct pricer_plan *two = plan_for(b, &there);
        struct pricer_error small = error_of(b, &there, two);
        struct pricer_error large = error_of(a, &here, one);
        assert_close(small.objective, c * c * large.objective, 1e-9);
        assert_close(small.bias_l1 + 1, large.bias_l1 + 1, 1e-4);
        for (int l = 0; l < LINKS; l++)
            two->noise[l] = one->noise[l] * c, two->weight[l] = one->weight[l];
        for (int i = 0; i < N; i++) {
            two->self_noise[i] = one->self_noise[i] * c;
            two->self_weight[i] = one->self_weight[i];
        }
        small = error_of(b, &there, two);
        assert_close(small.mse_worst_case, c * c * large.mse_worst_case, 1e-12);
        if (kind == 0)
            same_accounts(a, one, b, two, 1e-6);
        pricer_plan_free(two);
        pricer_network_free(b);
        pricer_plan_free(one);
        pricer_network_free(a);
        /* All c below a radius of 1 is a radius of c: the unit is another, and
         * lambda counts biases in it. */
        a = make(&(struct world){1, 0, alike, NULL, budget});
        b = make(&(struct world){c, 0, NULL, NULL, budget});
        here.lambda = kind % 4 == 2 ? .05 / c : kind % 4 == 3 ? .05 / c / c : 0;
        there.lambda = kind % 4 > 1 ? .05 : 0;
        one = plan_for(a, &here);
        two = plan_for(b, &there);
        assert_close(error_of(a, &here, one).objective,
                     error_of(b, &there, two).objective, 1e-9);
        pricer_plan_free(one);
        pricer_plan_free(two);
        pricer_network_free(a);
        pricer_network_free(b);
    }
}

/* The error by its definition, for vectors along one line as long as the
 * radii: every pattern, the noise as its variance. */
static void test_error(void **state)
{
    (void)state;
    struct pricer_network *net =
        make(&(struct world){.radius = 1, .radii = mixed});
    struct pricer_plan *plan = some_plan(net);
    const struct pricer_settings settings = {0};
    double mean = 0;
    for (int32_t k = 0; k < PATTERNS; k++) {
        bool up[N], link[LINKS];
        double chance = pattern(net, k, up, link), off = 0, noise = 0;
        for (int i = 0; i < N; i++) {
            off += mixed[i] * (up[i] * plan->self_weight[i] - 1);
            noise += up[i] * plan->self_noise[i] * plan->self_noise[i];
        }
        for (int l = 0; l < LINKS; l++)
            if (link[l] && up[net->to[l]]) {
                off += mixed[net->from[l]] * plan->weight[l];
                noise += plan->noise[l] * plan->noise[l];
            }
        mean += chance * (off * off + 6 * noise) / N / N;
    }
    struct pricer_error error = error_of(net, &settings, plan);
    assert_close(error.mse_paper, mean, 1e-12);
    double sum = 0;
    for (int i = 0; i < N; i++) {
        double weight = net->uplink[i] * plan->self_weight[i] - 1;
        for (int l = net->out_start[i]; l < net->out_start[i + 1]; l++)
            weight += net->uplink[net->to[l]] * net->p[l] * plan->weight[l];
        sum += mixed[i] * fabs(weight);
    }
    assert_close(error.bias_l1, sum, 1e-12);
    pricer_plan_free(plan);
    pricer_network_free(net);
}

/* No step away from the optimum leads below it, for every bias term. */
static void test_optimum(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int kind = 0; kind < 4; kind++) {
        struct pricer_settings settings = {.bias = (enum pricer_bias)kind,
                                           .lambda = kind > 1 ? .02 : 0,
                                           .tolerance = 1e-11};
        struct pricer_network *net = make(&(struct world){
            .radius = 1, .radii = mixed, .diameters = NULL, .diameter = .9});
        struct pricer_plan *best = plan_for(net, &settings);
        double least = error_of(net, &settings, best).objective;
        for (int trial = 0; trial < 2000 && kind != PRICER_BIAS_UNBIASED;
             trial++) {
            struct pricer_plan *plan = some_plan(net);
            double step = pow(10, -5 * test_uniform(&seed));
            for (int l = 0; l < LINKS; l++) {
                double slope = best->weight[l] > 0
                                   ? best->noise[l] / best->weight[l]
                                   : 100;
                plan->weight[l] = fmax(
                    0, best->weight[l] + step * (test_uniform(&seed) - .5));
                plan->noise[l] = slope * plan->weight[l];
            }
            for (int i = 0; i < N; i++) {
                double slope = best->self_weight[i] > 0
                                   ? best->self_noise[i] / best->self_weight[i]
                                   : 100;
                plan->self_weight[i] =
                    fmax(0, best->self_weight[i] +
                                step * (test_uniform(&seed) - .5));
                plan->self_noise[i] = slope * plan->self_weight[i];
            }
            assert_true(error_of(net, &settings, plan).objective >=
                        least * (1 - 1e-9));
            pricer_plan_free(plan);
        }
        pricer_plan_free(best);
        pricer_network_free(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_radius),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_optimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
