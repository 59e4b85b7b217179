/*
 * Simulations of forwarding: the two engines against each other, against the
 * expectation over all patterns, and against the worst case of the plan; the same
 * bits for any number of threads; and networks in which nothing arrives.
 */
#include "tests/test.h"
#include "forward/forward.h"
#include "pricer_forward.h"
#include "release/release.h"

enum { MOST = 40 };

/* A probability that is 1 in one of ten cases. */
static double draw_chance(uint64_t *state)
{
    double p = test_uniform(state);
    return p > .9 ? 1 : p;
}

/* A network with budgets, drawn from `state`: nodes with radii of their own,
 * some pairs of links that are correlated, some that are always up. */
static struct pricer_network *draw_network(int nodes, int64_t dimension,
                                           double density, double eps,
                                           uint64_t *state)
{
    double uplink[MOST], one[MOST * MOST], inf[MOST * MOST], radius[MOST];
    double budget[MOST], delta[MOST], p[MOST * MOST], joint[MOST * MOST];
    int32_t from[MOST * MOST], to[MOST * MOST];
    int links = 0;
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    for (int i = 0; i < nodes; i++) {
        uplink[i] = test_uniform(state) < .4 ? 0 : draw_chance(state);
        radius[i] = .2 + .8 * test_uniform(state);
        budget[i] = eps;
        delta[i] = 1e-5;
    }
    for (int i = 0; i < nodes; i++)
        for (int j = i + 1; j < nodes; j++) {
            if (test_uniform(state) > density)
                continue;
            double a = draw_chance(state), b = draw_chance(state);
            double both = a * b + test_uniform(state) * (fmin(a, b) - a * b);
            bool back = test_random(state) % 3 > 0;
            from[links] = i;
            to[links] = j;
            p[links] = a;
            joint[links++] = back ? both : NAN;
            if (!back)
                continue;
            from[links] = j;
            to[links] = i;
            p[links] = b;
            joint[links++] = both;
        }
    for (int k = 0; k < MOST * MOST; k++) {
        one[k] = 1;
        inf[k] = INFINITY;
    }
    struct pricer_network_arrays arrays = {.dimension = dimension,
                                           .radius = 1,
                                           .node_count = nodes,
                                           .node_radius = radius,
                                           .uplink = uplink,
                                           .self_eps = inf,
                                           .self_delta = one,
                                           .link_count = links,
                                           .from = from,
                                           .to = to,
                                           .p = p,
                                           .joint = joint,
                                           .eps = inf,
                                           .delta = one,
                                           .everyone_eps = budget,
                                           .everyone_delta = delta};
    if (pricer_network_build_arrays(&arrays, &network, NULL, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    return network;
}

static struct pricer_forward_plan *plan_of(const struct pricer_network *network,
                                           int64_t rounds, int32_t hops,
                                           enum pricer_release release)
{
    struct pricer_forward_plan *plan = NULL;
    struct pricer_fault fault = {""};
    if (pricer_forward_plan_make(
            network,
            &(struct pricer_forward_settings){
                .rounds = rounds, .hops = hops, .release = release, .seed = 5},
            &plan, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return plan;
}

static struct pricer_simulation *play(
    const struct pricer_network *network,
    const struct pricer_forward_plan *plan,
    const struct pricer_simulation_settings *settings)
{
    struct pricer_simulation *simulation = NULL;
    struct pricer_fault fault = {""};
    if (pricer_forward_simulate(network, plan, settings, &simulation, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    return simulation;
}

/* ----------------------------------------------------------------- facts -- */

/* The four nodes of docs/forwarding.md's tests, at eps 4: the expectation is W,
 * and trials are within 5 standard errors of it. Once in 10^6 one of the six
 * comparisons is not. */
static void test_four(void **state)
{
    static const double uplink[] = {.9, .2, 0, .1};
    static const int32_t from[] = {1, 2, 3, 2, 3}, to[] = {0, 1, 2, 0, 1};
    static const double p[] = {.8, .7, .6, .3, .2};
    static const double expected[] = {.296581048, .262385278, .259830408};
    double inf[5], one[5], budget[4] = {4, 4, 4, 4}, delta[4] = {0};
    struct pricer_network *net = NULL;
    (void)state;
    for (int k = 0; k < 5; k++) {
        inf[k] = INFINITY;
        one[k] = 1;
    }
    struct pricer_network_arrays arrays = {.dimension = 2,
                                           .radius = 1,
                                           .node_count = 4,
                                           .uplink = uplink,
                                           .self_eps = inf,
                                           .self_delta = one,
                                           .link_count = 5,
                                           .from = from,
                                           .to = to,
                                           .p = p,
                                           .eps = inf,
                                           .delta = one,
                                           .everyone_eps = budget,
                                           .everyone_delta = delta};
    assert_int_equal(pricer_network_build_arrays(&arrays, &net, NULL, NULL),
                     PRICER_OK);
    for (int hops = 1; hops <= 3; hops++) {
        struct pricer_forward_plan *plan =
            plan_of(net, 1, hops, PRICER_RELEASE_BEST);
        for (int engine = 0; engine < 2; engine++) {
            struct pricer_simulation *found =
                play(net, plan,
                     &(struct pricer_simulation_settings){
                         .engine = (enum pricer_engine)engine,
                         .trials = engine == 0 ? 1000000 : 20000,
                         .seed = 11});
            const struct pricer_outcome *outcome = found->outcomes;
            assert_close(outcome->predicted, expected[hops - 1], 5e-9);
            assert_close(outcome->worst_case, expected[hops - 1], 5e-9);
            assert_true(fabs(outcome->mse - outcome->predicted) <
                        5 * outcome->mse_stderr);
            assert_true(outcome->bar > outcome->worst_case);
            assert_true(fabs(outcome->bias - outcome->bias_predicted) < .03);
            pricer_simulation_free(found);
        }
        pricer_forward_plan_free(plan);
    }
    pricer_network_free(net);
}

/* Errors of the fast engine's kernel, and what is predicted, by one sum over all
 * patterns at a time. */
static void test_predicted(void **state)
{
    uint64_t random = 3;
    (void)state;
    for (int round = 0; round < 6; round++) {
        int nodes = 2 + round / 2;
        struct pricer_network *net = draw_network(nodes, 3, .8, 2, &random);
        struct pricer_forward_plan *plan =
            plan_of(net, 1 + 3 * (round % 2), 2, PRICER_RELEASE_BEST);
        struct pricer_matrix *data = NULL;
        struct pri_arrivals *all = NULL;
        pricer_matrix_new(nodes, 3, PRICER_FLOAT64, &data, NULL);
        double *x = data->values, mse = 0;
        for (int k = 0; k < 3 * nodes; k++)
            x[k] = .2 * (test_uniform(&random) - .5);
        assert_int_equal(plan->patterns, 0);
        assert_int_equal(pri_arrivals_enumerate(net, 2, 1, &all), PRICER_OK);
        uint64_t *bits = calloc((size_t)(nodes * all->words), 8);
        pri_arrivals_within(all, 2, bits);
        for (int64_t k = 0; k < all->patterns; k++) {
            double off[3] = {0}, error = 0;
            for (int i = 0; i < nodes; i++) {
                bool a = bits[i * all->words + k / 64] >> k % 64 & 1;
                const struct pricer_forward_node *node = &plan->node[i];
                double c = a ? node->coefficient : 0, square = 0;
                for (int d = 0; d < 3; d++) {
                    off[d] += (c - 1) * x[3 * i + d];
                    square += x[3 * i + d] * x[3 * i + d];
                }
                /* The variance is linear in |x|^2: docs/release.md. */
                double r = net->node_radius[i];
                struct pri_release release;
                assert_int_equal(pri_release_sphere(3, r, node->threshold,
                                                    node->loss, &release, NULL),
                                 PRICER_OK);
                double m = release.m, t = release.t;
                double v = r * r * 3 * (1 - t * m) / (4 * m * m) +
                           square * (t / m - 1);
                error += c * c * v;
            }
            for (int d = 0; d < 3; d++)
                error += off[d] * off[d];
            mse += all->weight[k] * error / (nodes * nodes);
        }
        struct pricer_simulation *found =
            play(net, plan,
                 &(struct pricer_simulation_settings){
                     .trials = 512, .data = PRICER_DATA_GIVEN, .given = data});
        assert_close(found->outcomes->predicted, mse, 1e-12);
        pricer_simulation_free(found);
        free(bits);
        pri_arrivals_free(all);
        pricer_matrix_free(data);
        pricer_forward_plan_free(plan);
        pricer_network_free(net);
    }
}

/* The engines draw the same links, so counts and bars are the same; their errors
 * agree within 5 standard errors: one of ten fails once in 10^5. */
static void test_engines(void **state)
{
    uint64_t random = 17;
    (void)state;
    for (int round = 0; round < 10; round++) {
        struct pricer_network *net =
            draw_network(3 + 3 * round, 1 + round % 5, .3, 3, &random);
        struct pricer_forward_plan *plan = plan_of(
            net, 1, round % 4,
            round % 3 == 0 ? PRICER_RELEASE_GAUSSIAN : PRICER_RELEASE_SPHERE);
        struct pricer_simulation_settings settings = {
            .trials = 1500,
            .seed = (uint64_t)round,
            .data =
                round % 2 == 0 ? PRICER_DATA_RANDOM : PRICER_DATA_WORST_CASE};
        struct pricer_simulation *fast = play(net, plan, &settings);
        settings.engine = PRICER_ENGINE_FAITHFUL;
        struct pricer_simulation *faithful = play(net, plan, &settings);
        const struct pricer_outcome *a = fast->outcomes,
                                    *b = faithful->outcomes;
        assert_memory_equal(fast->uplink, faithful->uplink,
                            (size_t)net->nodes * sizeof(int64_t));
        assert_memory_equal(fast->link, faithful->link,
                            (size_t)net->links * sizeof(int64_t));
        assert_memory_equal(fast->both, faithful->both,
                            (size_t)net->links * sizeof(int64_t));
        assert_close(a->bar, b->bar, 1e-12);
        assert_true(fabs(a->mse - b->mse) <
                    5 * hypot(a->mse_stderr, b->mse_stderr));
        assert_true(a->mse_stderr < b->mse_stderr);
        pricer_simulation_free(fast);
        pricer_simulation_free(faithful);
        pricer_forward_plan_free(plan);
        pricer_network_free(net);
    }
}

/* Data of many kinds: no rows are longer than the radii. */
static void draw_data(const struct pricer_network *net, int kind,
                      uint64_t *random, double *x)
{
    int64_t d = net->dimension;
    for (int32_t i = 0; i < net->nodes; i++) {
        double length = 0, r = net->node_radius[i];
        for (int64_t c = 0; c < d; c++) {
            x[i * d + c] = kind % 3 == 0 ? test_uniform(random) - .5
                                         : (double)(c == i % (1 + kind % d));
            length += x[i * d + c] * x[i * d + c];
        }
        double factor = kind % 5 == 4 ? r * test_uniform(random) : r;
        if (kind % 4 == 1 && i % 2 == 1)
            factor = -factor;
        if (kind % 4 == 2 && net->uplink[i] > 0)
            factor = -factor;
        for (int64_t c = 0; c < d; c++)
            x[i * d + c] *= factor / sqrt(length);
    }
}

/* 200 data sets on each of 20 networks: never above W by 5 standard errors. */
static void test_worst_case(void **state)
{
    uint64_t random = 99;
    double closest = -INFINITY;
    (void)state;
    for (int k = 0; k < 20; k++) {
        struct pricer_network *net = draw_network(
            2 + k, 1 + k % 4, k < 8 ? .4 : .25, .5 + k % 7, &random);
        struct pricer_forward_plan *plan = plan_of(
            net, 1 + k % 3 * 4, k % 5 - 1,
            (enum pricer_release)(k % 2 == 0 ? PRICER_RELEASE_BEST
                                             : PRICER_RELEASE_GAUSSIAN));
        struct pricer_matrix *data = NULL;
        pricer_matrix_new(net->nodes, net->dimension, PRICER_FLOAT64, &data,
                          NULL);
        for (int set = 0; set < 200; set++) {
            draw_data(net, set, &random, data->values);
            struct pricer_simulation *found = play(
                net, plan,
                &(struct pricer_simulation_settings){.trials = 4096,
                                                     .seed = (uint64_t)set,
                                                     .data = PRICER_DATA_GIVEN,
                                                     .given = data});
            const struct pricer_outcome *outcome = found->outcomes;
            double error = hypot(outcome->mse_stderr, plan->mse_stderr);
            double above = (outcome->mse - outcome->worst_case) / error;
            closest = fmax(closest, above);
            assert_true(above < 5 ||
                        outcome->mse < outcome->worst_case * (1 + 1e-12));
            assert_int_equal(found->clipped, 0);
            pricer_simulation_free(found);
        }
        pricer_matrix_free(data);
        pricer_forward_plan_free(plan);
        pricer_network_free(net);
    }
    assert_true(closest > -5); /* some data are near the worst case */
}

static void test_threads(void **state)
{
    uint64_t random = 4;
    struct pricer_network *net = draw_network(25, 4, .3, 4, &random);
    struct pricer_forward_plan *plan = plan_of(net, 1, 3, PRICER_RELEASE_BEST);
    (void)state;
    for (int engine = 0; engine < 2; engine++) {
        struct pricer_simulation *one = NULL;
        for (int threads = 1; threads <= 4; threads++) {
            struct pricer_simulation *found =
                play(net, plan,
                     &(struct pricer_simulation_settings){
                         .engine = (enum pricer_engine)engine,
                         .trials = engine == 0 ? 70001 : 301,
                         .seed = 8,
                         .data = PRICER_DATA_RANDOM,
                         .threads = threads});
            if (one == NULL) {
                one = found;
                continue;
            }
            assert_memory_equal(one->outcomes, found->outcomes,
                                sizeof *one->outcomes);
            assert_memory_equal(one->uplink, found->uplink,
                                (size_t)net->nodes * sizeof(int64_t));
            assert_memory_equal(one->link, found->link,
                                (size_t)net->links * sizeof(int64_t));
            pricer_simulation_free(found);
        }
        pricer_simulation_free(one);
    }
    pricer_forward_plan_free(plan);
    pricer_network_free(net);
}

/* Without relays the expectation is known for any size, and within 5 standard
 * errors: once in 10^6 it is not. */
static void test_alone(void **state)
{
    uint64_t random = 21;
    struct pricer_network *net = draw_network(35, 2, .3, 4, &random);
    struct pricer_forward_plan *plan = plan_of(net, 1, 0, PRICER_RELEASE_BEST);
    (void)state;
    for (int data = 0; data < 2; data++) {
        struct pricer_simulation *found =
            play(net, plan,
                 &(struct pricer_simulation_settings){
                     .trials = 100000, .data = (enum pricer_data)data});
        assert_true(fabs(found->outcomes->mse - found->outcomes->predicted) <
                    5 * found->outcomes->mse_stderr);
        pricer_simulation_free(found);
    }
    pricer_forward_plan_free(plan);
    pricer_network_free(net);
}

/* One node; and nodes that nobody hears, whose estimate is always zero. */
static void test_ends(void **state)
{
    uint64_t random = 6;
    (void)state;
    for (int silent = 0; silent < 2; silent++)
        for (int engine = 0; engine < 2; engine++) {
            struct pricer_network *net =
                draw_network(silent ? 5 : 1, 2, .5, 4, &random);
            double sum = 0;
            for (int i = 0; i < net->nodes; i++) {
                net->uplink[i] = silent ? 0 : .5;
                sum += net->node_radius[i] / net->nodes;
            }
            struct pricer_forward_plan *plan =
                plan_of(net, 1, 2, PRICER_RELEASE_BEST);
            struct pricer_simulation *found =
                play(net, plan,
                     &(struct pricer_simulation_settings){
                         .engine = (enum pricer_engine)engine, .trials = 5000});
            const struct pricer_outcome *outcome = found->outcomes;
            if (silent) {
                assert_close(outcome->mse, sum * sum, 1e-12);
                assert_close(outcome->bar, sum * sum, 1e-12);
                assert_close(outcome->predicted, sum * sum, 1e-12);
                assert_close(outcome->bias, sum, 1e-9);
            } else {
                assert_true(fabs(outcome->mse - outcome->predicted) <
                            5 * outcome->mse_stderr);
            }
            pricer_simulation_free(found);
            pricer_forward_plan_free(plan);
            pricer_network_free(net);
        }
}

static void test_refused(void **state)
{
    uint64_t random = 6;
    struct pricer_network *net = draw_network(3, 2, .5, 4, &random),
                          *other = draw_network(4, 2, .5, 4, &random);
    struct pricer_forward_plan *plan = plan_of(net, 1, 1, PRICER_RELEASE_BEST);
    struct pricer_simulation *found = NULL;
    struct pricer_fault fault = {""};
    (void)state;
    assert_int_equal(pricer_forward_simulate(
                         other, plan, &(struct pricer_simulation_settings){0},
                         &found, &fault),
                     PRICER_VALUE);
    assert_int_equal(pricer_forward_simulate(
                         net, plan,
                         &(struct pricer_simulation_settings){.trials = -1},
                         &found, &fault),
                     PRICER_VALUE);
    assert_null(found);
    pricer_forward_plan_free(plan);
    pricer_network_free(net);
    pricer_network_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four),    cmocka_unit_test(test_predicted),
        cmocka_unit_test(test_engines), cmocka_unit_test(test_worst_case),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_ends),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
