/*
 * Plans of forwarding from a network with budgets: the releases are those of the
 * budgets, errors are those that were worked out by hand or by other programs,
 * and what only knows sums refuses such a network.
 */
#include "tests/test.h"
#include "forward/forward.h"
#include "pricer_forward.h"
#include "release/release.h"

/* The network of four nodes, all with the same budget. */
static struct pricer_network *make_four(double eps)
{
    static const double uplink[] = {.9, .2, 0, .1};
    static const int32_t from[] = {1, 2, 3, 2, 3}, to[] = {0, 1, 2, 0, 1};
    static const double p[] = {.8, .7, .6, .3, .2};
    double inf[5], one[5], budget[4], delta[4];
    struct pricer_network *network = NULL;
    for (int k = 0; k < 5; k++) {
        inf[k] = INFINITY;
        one[k] = 1;
    }
    for (int k = 0; k < 4; k++) {
        budget[k] = eps;
        delta[k] = 1e-5;
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
    assert_int_equal(pricer_network_build_arrays(&arrays, &network, NULL, NULL),
                     PRICER_OK);
    return network;
}

static struct pricer_forward_plan *make_plan(const struct pricer_network *net,
                                             int64_t rounds, int32_t hops,
                                             enum pricer_release release)
{
    struct pricer_forward_plan *plan = NULL;
    struct pricer_fault fault = {""};
    if (pricer_forward_plan_make(
            net,
            &(struct pricer_forward_settings){
                .rounds = rounds, .hops = hops, .release = release},
            &plan, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return plan;
}

static void test_four(void **state)
{
    (void)state;
    static const double expected[2][3] = {{.296581048, .262385278, .259830408},
                                          {.832470472, .800371878, .793873266}};
    /* By hand, in packets of 108 bytes: with one hop the nodes send 3, 4, 2 and
     * 3; with two 4, 6 (3 to node 0 and 3 to the server), 4 and 3. */
    static const double bytes[] = {324, 459, 459};
    for (int e = 0; e < 2; e++) {
        struct pricer_network *net = make_four(e == 0 ? 4 : 1);
        for (int hops = 1; hops <= 3; hops++) {
            struct pricer_forward_plan *plan =
                make_plan(net, 1, hops, PRICER_RELEASE_BEST);
            assert_close(plan->mse_worst_case, expected[e][hops - 1], 5e-9);
            assert_true(plan->mse_stderr == 0 && plan->patterns == 0);
            assert_close(plan->missing + plan->noise, plan->mse_worst_case,
                         1e-15);
            assert_int_equal(plan->heard, 4);
            assert_int_equal(plan->hops, hops);
            assert_close(plan->bytes, bytes[hops - 1], 1e-12);
            assert_close(plan->zero_mse, 1, 1e-15);
            pricer_forward_plan_free(plan);
        }
        struct pricer_forward_plan *plan =
            make_plan(net, 1, 0, PRICER_RELEASE_BEST);
        assert_int_equal(plan->heard, 3);
        assert_int_equal(plan->node[2].relays, 1);
        assert_true(plan->node[2].arrival == 0);
        assert_true(plan->mse_alone == plan->mse_worst_case);
        pricer_forward_plan_free(plan);
        pricer_network_free(net);
    }
}

/* Every node has the release of its own budget and radius. */
static void test_releases(void **state)
{
    (void)state;
    static const double eps[] = {4, 1, 4, 8}, delta[] = {1e-5, 1e-5, 0, 1e-6};
    struct pricer_network *net = make_four(4);
    for (int i = 0; i < 4; i++) {
        net->everyone_eps[i] = eps[i];
        net->everyone_delta[i] = delta[i];
        net->node_radius[i] = 1 - .2 * i;
    }
    for (int64_t rounds = 1; rounds <= 5; rounds += 4) {
        struct pricer_forward_plan *plan =
            make_plan(net, rounds, 3, PRICER_RELEASE_BEST);
        for (int i = 0; i < 4; i++) {
            struct pri_release own;
            assert_int_equal(pri_release_for_budget(
                                 &(struct pri_release_wish){
                                     PRI_RELEASE_BEST, 2, net->node_radius[i],
                                     eps[i], delta[i], rounds, 0},
                                 &own, NULL),
                             PRICER_OK);
            assert_int_equal(plan->node[i].release, own.kind);
            assert_true(plan->node[i].loss == own.e0);
            assert_true(plan->node[i].threshold == own.t);
            assert_close(plan->node[i].variance, own.variance,
                         1e-14 * own.variance);
        }
        assert_close(plan->zero_mse, .7 * .7, 1e-15);
        pricer_forward_plan_free(plan);
    }
    pricer_network_free(net);
}

static void test_kinds(void **state)
{
    (void)state;
    struct pricer_network *net = make_four(4);
    struct pricer_forward_plan *plan =
        make_plan(net, 1, 3, PRICER_RELEASE_GAUSSIAN);
    assert_int_equal(plan->node[0].release, PRICER_RELEASE_GAUSSIAN);
    assert_close(plan->node[0].variance, 9.351288, 1e-6);
    assert_close(plan->bytes, 459. / 108 * 100, 1e-12);
    pricer_forward_plan_free(plan);
    plan = NULL;
    struct pricer_fault fault = {""};
    net->everyone_delta[2] = 0;
    assert_int_equal(
        pricer_forward_plan_make(net,
                                 &(struct pricer_forward_settings){
                                     .release = PRICER_RELEASE_GAUSSIAN},
                                 &plan, &fault),
        PRICER_INFEASIBLE);
    assert_null(plan);
    assert_string_equal(fault.text, "node 2 has no release: a Gaussian release "
                                    "needs a delta above 0");
    pricer_network_free(net);
}

/* Links without budgets would carry data without noise: nothing that knows only
 * sums may take such a network, nor this plan one with budgets of links. */
static void test_refused(void **state)
{
    (void)state;
    struct pricer_network *net = make_four(4), *copy = NULL;
    struct pricer_settings settings = {0};
    struct pricer_plan *sum = NULL;
    struct pricer_solve_info info;
    struct pricer_fault fault = {""};
    assert_int_equal(
        pricer_plan_optimise(net, &settings, NULL, &sum, &info, &fault),
        PRICER_VALUE);
    assert_non_null(strstr(fault.text, "'scheme: forward'"));
    assert_int_equal(
        pricer_plan_baseline(net, &settings, PRICER_BASELINE_BEST, &sum, NULL),
        PRICER_VALUE);
    assert_null(sum);
    /* A copy keeps the budgets. */
    assert_int_equal(pricer_network_retrust(net, NULL, 0, &copy, NULL),
                     PRICER_OK);
    assert_true(copy->everyone_eps[3] == 4 && copy->everyone_delta[3] == 1e-5);
    free(copy->everyone_eps);
    free(copy->everyone_delta);
    copy->everyone_eps = copy->everyone_delta = NULL;
    struct pricer_forward_plan *plan = NULL;
    assert_int_equal(
        pricer_forward_plan_make(copy, &(struct pricer_forward_settings){0},
                                 &plan, &fault),
        PRICER_VALUE);
    assert_string_equal(fault.text,
                        "the nodes have no budgets towards everyone");
    pricer_network_free(copy);
    pricer_network_free(net);
}

/* d W / d eps of each node against plans for other budgets. */
static void test_slopes(void **state)
{
    (void)state;
    struct pricer_network *net = make_four(3);
    struct pricer_forward_settings settings = {.rounds = 2, .hops = 2};
    struct pricer_forward_plan *plan =
        make_plan(net, 2, 2, PRICER_RELEASE_BEST);
    struct pricer_forward_slopes *slopes = NULL;
    assert_int_equal(
        pricer_forward_slopes_make(net, &settings, plan, &slopes, NULL),
        PRICER_OK);
    assert_int_equal(slopes->patterns, 0);
    assert_true(slopes->hop < 0);
    for (int i = 0; i < 4; i++) {
        double mse[2], step = 3e-3;
        for (int side = 0; side < 2; side++) {
            net->everyone_eps[i] = 3 + (side ? step : -step);
            struct pricer_forward_plan *other =
                make_plan(net, 2, 2, PRICER_RELEASE_BEST);
            mse[side] = other->mse_worst_case;
            pricer_forward_plan_free(other);
        }
        net->everyone_eps[i] = 3;
        double truth = (mse[1] - mse[0]) / (2 * step);
        assert_true(truth < 0);
        assert_close(slopes->eps[i], truth, 1e-3);
        assert_true(slopes->uplink[i] < 0 && slopes->uplink_stderr[i] == 0);
    }
    pricer_forward_slopes_free(slopes);
    pricer_forward_plan_free(plan);
    pricer_network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four),   cmocka_unit_test(test_releases),
        cmocka_unit_test(test_kinds),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_slopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
