/*
 * The exact optimiser: published optima, optimality conditions, an independent
 * solver, and every hard case certified by the verifier.
 */
#include "tests/test.h"
#include "calibrate/calibrate.h"
#include "tests/plans.h"
#include "slow_optimum.h"
#include "bench/hard_networks.h"

/* Plan, check with the verifier, and hand back the plan. */
static struct pricer_plan *plan_certified(const struct pricer_network *network,
                                          const struct pricer_settings *ask,
                                          double tolerance,
                                          struct pricer_solve_info *info)
{
    struct pricer_plan *plan = NULL;
    struct pricer_certificate found;
    struct pricer_fault fault = {""};
    if (pricer_plan_optimise(network, ask, NULL, &plan, info, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    assert_int_equal(info->outcome, PRICER_OUTCOME_OPTIMAL);
    assert_true(info->gap <= tolerance);
    assert_int_equal(pricer_plan_verify(network, ask, plan, &found, &fault),
                     PRICER_OK);
    if (!found.feasible || !(found.gap <= tolerance * (1 + 1e-4)))
        fail_msg("verified gap %g: %s", found.gap, found.words);
    if (ask->calibration == PRICER_CALIBRATION_ANALYTIC)
        assert_int_equal(found.open_links, 0);
    if (found.objective > 1e-6 * network->radius * network->radius)
        assert_close(found.objective, info->objective, 1e-9);
    return plan;
}

/* ------------------------------------------------------ published values -- */

static void check_row(double p, enum pricer_bias bias, double lambda,
                      double objective, double paper, double bias_l1,
                      double worst_case)
{
    struct pricer_network *network = paper_network(p);
    struct pricer_settings ask = {.bias = bias,
                                  .lambda = lambda,
                                  .tolerance = 1e-12,
                                  .calibration = PRICER_CALIBRATION_CLASSIC};
    struct pricer_solve_info info;
    struct pricer_plan *plan = plan_certified(network, &ask, 1e-12, &info);
    struct dense dense = dense_of(network, plan);
    struct dense_error error = dense_error(&dense, &ask);
    assert_close(error.objective, info.objective, 1e-12);
    /* half a unit of the last digit printed */
    assert_true(fabs(info.objective - objective) <= 0.51e-5 ||
                (bias == PRICER_BIAS_WORST_CASE &&
                 fabs(info.objective - objective) <= 0.51e-4));
    assert_true(fabs(error.paper - paper) <= 0.51e-4);
    assert_true(fabs(error.bias_l1 - bias_l1) <= (bias_l1 > 10 ? 6e-3 : 6e-4));
    assert_true(fabs(error.worst_case - worst_case) <=
                (worst_case > 1 ? 6e-4 : 0.51e-4));
    pricer_plan_free(plan);
    pricer_network_free(network);
}

static void test_published_table(void **state)
{
    (void)state;
    enum pricer_bias l1 = PRICER_BIAS_L1, worst = PRICER_BIAS_WORST_CASE;
    check_row(.1, l1, 0, .04463, .0446, 12.84, 1.690);
    check_row(.1, l1, .1, .38328, .3436, .397, .3436);
    check_row(.1, l1, .5, .39688, .3969, 0, .3969);
    check_row(.1, worst, 0, .2204, .2204, 3.042, .2204);
    /* the mathematics prints W = 1.629 here; the plan is unique, and W flat
     * enough that a looser optimum moves it */
    check_row(.5, l1, 0, .04460, .0446, 12.60, 1.631);
    check_row(.5, l1, .1, .14957, .1496, 0, .1496);
    check_row(.5, l1, .5, .14957, .1496, 0, .1496);
    check_row(.5, worst, 0, .1027, .1027, 1.329, .1027);
    check_row(.9, l1, .1, .08161, .0816, 0, .0816);
    check_row(.9, worst, 0, .0565, .0565, .824, .0565);
}

/* ------------------------------------------------------------ conditions -- */

/* Stationarity and complementarity of every link, by finite differences of the
 * definition: no use of q, c or h. The slope of the objective in one weight is
 * at least 0, and 0 where the weight is not. */
static void check_slopes(const struct pricer_network *network,
                         const struct pricer_plan *plan,
                         const struct pricer_settings *ask)
{
    struct dense dense = dense_of(network, plan);
    struct pricer_settings smooth = *ask;
    smooth.bias = PRICER_BIAS_L2;
    smooth.lambda = 0;
    double square = (double)dense.n * dense.n;
    for (int i = 0; i < dense.n; i++)
        for (int j = 0; j < dense.n; j++) {
            double *weight = &dense.weight[i][j], *noise = &dense.noise[i][j];
            double keep = *weight, keep_noise = *noise, value[2], step = 1e-5;
            if (keep == 0)
                continue; /* noise per weight is unknown */
            for (int side = 0; side < 2; side++) {
                double by = side == 0 ? 1 - step : 1 + step;
                *weight = keep * by;
                *noise = keep_noise * by;
                value[side] = dense_error(&dense, &smooth).paper;
            }
            *weight = keep;
            *noise = keep_noise;
            double slope = (value[1] - value[0]) / (2 * step) * square;
            double share = dense.p[j] * dense.link[i][j] * keep;
            double gain = share * plan->row_multiplier[i];
            /* weight d objective / d weight = share gain + share slack */
            double scale = value[0] * square;
            assert_true(slope - gain >= -1e-5 * scale);
            assert_true(slope - gain <= 1e-5 * scale);
        }
}

static void test_conditions(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int trial = 0; trial < 40; trial++) {
        int n = 2 + trial % 9;
        struct pricer_network *network = random_network(&seed, n, test_uniform);
        for (int bias = 0; bias < 4; bias++) {
            struct pricer_settings ask = {.bias = (enum pricer_bias)bias,
                                          .lambda = trial % 2 ? .1 : .01,
                                          .tolerance = 1e-11};
            struct pricer_solve_info info;
            struct pricer_plan *plan =
                plan_certified(network, &ask, 1e-11, &info);
            check_slopes(network, plan, &ask);
            for (int i = 0; i < n; i++) {
                double gain = plan->row_multiplier[i];
                struct dense dense = dense_of(network, plan);
                double b = dense_bias(&dense, i), scale = n * n * ask.lambda;
                scale *= 1 + 1e-15;
                if (bias == PRICER_BIAS_UNBIASED)
                    assert_true(fabs(b) < 1e-12);
                if (bias == PRICER_BIAS_WORST_CASE)
                    assert_true(gain <= 0 && b <= 1e-12 &&
                                -gain * -b <= 1e-9 * n * n);
                if (bias == PRICER_BIAS_L1)
                    assert_true(fabs(gain) <= scale &&
                                (fabs(b) < 1e-9 ||
                                 fabs(gain + copysign(scale, b)) < 1e-4));
                if (bias == PRICER_BIAS_L2)
                    assert_true(fabs(gain + 2 * scale * b) < 1e-4 * scale);
            }
            pricer_plan_free(plan);
        }
        pricer_network_free(network);
    }
}

/* ------------------------------------------------ an independent optimum -- */

static void test_independent_solver(void **state)
{
    (void)state;
    uint64_t seed = 11;
    for (int trial = 0; trial < 12; trial++) {
        int n = 1 + trial % SLOW_NODES;
        struct pricer_network *network = random_network(&seed, n, test_uniform);
        for (int bias = 0; bias < 4; bias++) {
            struct pricer_settings ask = {.bias = (enum pricer_bias)bias,
                                          .lambda = trial % 2 ? .2 : .02};
            struct pricer_solve_info info;
            struct pricer_plan *plan =
                plan_certified(network, &ask, 1e-8, &info);
            double slow = slow_optimum(network, &ask);
            assert_close(info.objective, slow, 1e-5);
            assert_true(info.bound <= slow * (1 + 1e-12));
            pricer_plan_free(plan);
        }
        pricer_network_free(network);
    }
}

/* ----------------------------------------------- threads, limits, starts -- */

static void test_threads_change_nothing(void **state)
{
    (void)state;
    uint64_t seed = 3;
    struct pricer_network *network = random_network(&seed, 150, test_uniform);
    for (int bias = 0; bias < 4; bias++) {
        struct pricer_plan *first = NULL;
        for (int threads = 1; threads <= 4; threads++) {
            struct pricer_settings ask = {.bias = (enum pricer_bias)bias,
                                          .lambda = .001,
                                          .threads = threads};
            struct pricer_solve_info info;
            struct pricer_plan *plan =
                plan_certified(network, &ask, 1e-8, &info);
            if (first == NULL) {
                first = plan;
                continue;
            }
            size_t bytes = (size_t)network->links * sizeof(double);
            assert_memory_equal(first->weight, plan->weight, bytes);
            assert_memory_equal(first->noise, plan->noise, bytes);
            assert_true(first->sum_multiplier == plan->sum_multiplier);
            pricer_plan_free(plan);
        }
        pricer_plan_free(first);
    }
    pricer_network_free(network);
}

static bool count_down(void *context, double done)
{
    int *left = context;
    assert_true(done >= 0 && done <= 1);
    return (*left)-- > 0;
}

/* However early the run ends, the plan is feasible, private, and the bound is
 * below the optimum. */
static void test_stopping_early(void **state)
{
    (void)state;
    uint64_t seed = 8;
    struct pricer_network *network = random_network(&seed, 12, test_uniform);
    for (int bias = 0; bias < 4; bias++) {
        struct pricer_settings ask = {.bias = (enum pricer_bias)bias,
                                      .lambda = .01};
        struct pricer_solve_info best, info;
        pricer_plan_free(plan_certified(network, &ask, 1e-8, &best));
        for (int ticks = 0; ticks < 8; ticks++)
            for (int kind = 0; kind < 2; kind++) {
                int left = ticks;
                struct pricer_watch watch = {count_down, &left};
                struct pricer_settings short_ask = ask;
                struct pricer_certificate found;
                struct pricer_plan *plan = NULL;
                if (kind == 0)
                    short_ask.watch = &watch;
                else
                    short_ask.iterations = ticks + 1;
                assert_int_equal(pricer_plan_optimise(network, &short_ask, NULL,
                                                      &plan, &info, NULL),
                                 PRICER_OK);
                assert_int_equal(
                    pricer_plan_verify(network, &ask, plan, &found, NULL),
                    PRICER_OK);
                assert_true(found.feasible);
                assert_int_equal(found.open_links, 0);
                assert_true(info.bound <= best.objective * (1 + 1e-12));
                assert_true(info.objective >= best.bound * (1 - 1e-12));
                if (info.gap > 1e-8)
                    assert_int_equal(info.outcome, kind == 0
                                                       ? PRICER_OUTCOME_STOPPED
                                                       : PRICER_OUTCOME_LIMIT);
                if (info.gap > 1e-12)
                    assert_close(found.gap, info.gap, 1e-5);
                pricer_plan_free(plan);
            }
    }
    pricer_network_free(network);
}

/* ------------------------------------------------------------ hard cases -- */

static void test_infeasible_names_nodes(void **state)
{
    (void)state;
    struct pricer_node nodes[20];
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    struct pricer_settings ask = {.bias = PRICER_BIAS_UNBIASED};
    struct pricer_plan *plan = NULL;
    for (int i = 0; i < 20; i++)
        nodes[i] = (struct pricer_node){i < 2 ? .5 : 0, 1, .1, NAN, NAN};
    struct pricer_link links[] = {
        {2, 0, .5, NAN, 1, .1}, {3, 4, .5, NAN, 1, .1}, {5, 1, .5, NAN, 1, .1}};
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){3, 1, 0, nodes, 20,
                                                        links, 3, NULL, NULL},
                         &network, NULL, NULL),
                     PRICER_OK);
    assert_int_equal(
        pricer_plan_optimise(network, &ask, NULL, &plan, NULL, &fault),
        PRICER_INFEASIBLE);
    assert_null(plan);
    assert_string_equal(fault.text,
                        "no unbiased plan: 16 of 20 nodes reach the server by "
                        "no path: 3, 4, 6, 7, 8, 9, 10, 11, ...");
    ask.bias = PRICER_BIAS_WORST_CASE;
    struct pricer_solve_info info;
    plan = plan_certified(network, &ask, 1e-8, &info);
    for (int i = 6; i < 20; i++)
        assert_true(plan->self_weight[i] == 0);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* A complete network in which everything is the same. */
static struct pricer_network *uniform_network(int n, double uplink, double p,
                                              double eps, double self_eps,
                                              int64_t dimension, double radius)
{
    struct pricer_node nodes[10];
    struct pricer_link links[90];
    struct pricer_network *network = NULL;
    int count = 0;
    for (int i = 0; i < n; i++)
        nodes[i] = (struct pricer_node){uplink, self_eps, 1e-3, NAN, NAN};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (i != j && p > 0)
                links[count++] = (struct pricer_link){i, j, p, NAN, eps, 1e-3};
    assert_int_equal(
        pricer_network_build(&(struct pricer_network_parts){dimension, radius,
                                                            1, nodes, n, links,
                                                            count, NULL, NULL},
                             &network, NULL, NULL),
        PRICER_OK);
    return network;
}

static void try_uniform(int n, double uplink, double p, double eps,
                        double self_eps, int64_t dimension, double radius)
{
    struct pricer_network *network =
        uniform_network(n, uplink, p, eps, self_eps, dimension, radius);
    double lambdas[] = {0, 1e-9, .1, 1e9};
    for (int bias = 0; bias < 4; bias++)
        for (int k = 0; k < 4; k++) {
            struct pricer_settings ask = {.bias = (enum pricer_bias)bias,
                                          .lambda = lambdas[k]};
            struct pricer_solve_info info;
            struct pricer_plan *plan = NULL;
            struct pricer_fault fault = {""};
            if (bias == PRICER_BIAS_UNBIASED && uplink == 0)
                assert_int_equal(pricer_plan_optimise(network, &ask, NULL,
                                                      &plan, &info, &fault),
                                 PRICER_INFEASIBLE);
            else
                pricer_plan_free(plan_certified(network, &ask, 1e-8, &info));
        }
    pricer_network_free(network);
}

static void test_hard_cases(void **state)
{
    (void)state;
    double none = INFINITY;
    for (int n = 1; n <= 10; n += 3) {
        try_uniform(n, .5, 0, 1, 1, 8, 1);              /* no links */
        try_uniform(n, 0, .5, 1, 1, 8, 1);              /* no uplinks */
        try_uniform(n, 1, .5, 1, none, 8, 1);           /* perfect uplinks */
        try_uniform(n, 1, 1, none, none, 8, 1);         /* nothing to lose */
        try_uniform(n, .5, 1, none, none, 8, 1);        /* all full trust */
        try_uniform(n, .5, .5, none, none, 8, 1);       /* the same, lossy */
        try_uniform(n, .3, .5, 1e-3, 1e-3, 1000000, 1); /* sharing is useless */
        try_uniform(n, .3, .5, 1e-3, none, 1000000, 1e6);
        try_uniform(n, 1e-9, .5, 1, none, 100, 1e-6);
        try_uniform(n, .9, 1e-9, 10, 1000, 100, 1e3);
    }
}

static void try_random(uint64_t first, uint64_t last, int32_t least,
                       int32_t most)
{
    for (uint64_t seed = first; seed <= last; seed++) {
        struct hard_network hard = hard_network_new(seed, least, most);
        for (int bias = 0; bias < 4; bias++) {
            struct pricer_settings ask = hard.settings;
            struct pricer_solve_info info;
            ask.bias = (enum pricer_bias)bias;
            if (bias == PRICER_BIAS_UNBIASED && hard.unreached > 0)
                continue;
            pricer_plan_free(plan_certified(hard.network, &ask, 1e-8, &info));
        }
        pricer_network_free(hard.network);
    }
}

/* Of the larger ones, number 20 has fully reciprocal pairs of equal cost, whose
 * best answer is not unique. */
static void test_random_extremes(void **state)
{
    (void)state;
    try_random(100001, 100400, 1, 12);
    try_random(1, 30, 25, 55);
}

/*
 * Nodes on a ring with full trust in their neighbours, the nearest of which are
 * always up: such links cost nothing, and there are too many nodes to solve
 * systems by Cholesky.
 */
static void test_sparse_full_trust(void **state)
{
    enum { NODES = 400, REACH = 6, SURE = 3 };
    struct pricer_node nodes[NODES];
    static struct pricer_link links[2 * REACH * NODES];
    struct pricer_network *network = NULL;
    int64_t count = 0;
    (void)state;
    for (int32_t i = 0; i < NODES; i++) {
        double uplink = i % 17 == 0 ? .9 : .05 + .1 * (i % 5);
        nodes[i] = (struct pricer_node){uplink, INFINITY, 1e-3, NAN, NAN};
        for (int32_t step = -REACH; step <= REACH; step++)
            if (step != 0)
                links[count++] =
                    (struct pricer_link){i,
                                         (i + step + NODES) % NODES,
                                         abs(step) <= SURE ? 1 : .6,
                                         NAN,
                                         INFINITY,
                                         1e-3};
    }
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){
                             16, 1, 1, nodes, NODES, links, count, NULL, NULL},
                         &network, NULL, NULL),
                     PRICER_OK);
    for (int bias = 0; bias < 4; bias++) {
        struct pricer_settings ask = {.bias = (enum pricer_bias)bias,
                                      .lambda = 1e-6};
        struct pricer_solve_info info;
        pricer_plan_free(plan_certified(network, &ask, 1e-8, &info));
    }
    pricer_network_free(network);
}

static void test_refuses_settings(void **state)
{
    (void)state;
    struct pricer_network *network = uniform_network(3, .5, .5, 1, 1, 8, 1);
    struct pricer_settings bad[] = {
        {.lambda = -1},       {.lambda = NAN},
        {.lambda = INFINITY}, {.tolerance = -1},
        {.tolerance = NAN},   {.iterations = -1},
        {.threads = -1},      {.bias = (enum pricer_bias)7},
        {.lambda = 1e300},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        struct pricer_plan *plan = NULL;
        struct pricer_fault fault = {""};
        assert_int_equal(
            pricer_plan_optimise(network, &bad[k], NULL, &plan, NULL, &fault),
            PRICER_VALUE);
        assert_null(plan);
        assert_true(strlen(fault.text) > 10);
    }
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_table),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_independent_solver),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_stopping_early),
        cmocka_unit_test(test_infeasible_names_nodes),
        cmocka_unit_test(test_hard_cases),
        cmocka_unit_test(test_random_extremes),
        cmocka_unit_test(test_sparse_full_trust),
        cmocka_unit_test(test_refuses_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
