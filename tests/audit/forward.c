/*
 * The audit of releases that are forwarded: the shipped code is never
 * contradicted, and what is counted is close to what is claimed. That wrong code
 * is contradicted is for tests/audit/mutants.py.
 */
#include "tests/test.h"
#include "pricer_audit.h"
#include "release/release.h"

/* Two nodes without links; the release of node 1 is attacked. */
static struct pricer_network *make_network(int64_t dimension, double eps)
{
    static const double uplink[] = {.9, .5}, one[] = {1, 1},
                        inf[] = {INFINITY, INFINITY}, radius[] = {2, .5};
    const double everyone[] = {eps, eps}, delta[] = {1e-3, 1e-3};
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    struct pricer_network_arrays arrays = {.dimension = dimension,
                                           .radius = 2,
                                           .node_count = 2,
                                           .uplink = uplink,
                                           .node_radius = radius,
                                           .self_eps = inf,
                                           .self_delta = one,
                                           .everyone_eps = everyone,
                                           .everyone_delta = delta};
    if (pricer_network_build_arrays(&arrays, &network, NULL, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    return network;
}

static struct pricer_forward_plan *make_plan(const struct pricer_network *net,
                                             int64_t rounds,
                                             enum pricer_release kind)
{
    struct pricer_forward_plan *plan = NULL;
    struct pricer_fault fault = {""};
    if (pricer_forward_plan_make(net,
                                 &(struct pricer_forward_settings){
                                     .rounds = rounds, .release = kind},
                                 &plan, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return plan;
}

static struct pricer_forward_audit attack(
    const struct pricer_network *network,
    const struct pricer_forward_plan *plan, int64_t rounds, int64_t trials,
    uint64_t seed)
{
    struct pricer_forward_audit found;
    struct pricer_fault fault = {""};
    struct pricer_audit_settings settings = {.question = {.rounds = rounds},
                                             .node = 1,
                                             .trials = trials,
                                             .budget_rounds = rounds,
                                             .alarm = 1e-6,
                                             .seed = seed};
    if (pricer_audit_forward(network, plan, &settings, seed == 0, &found,
                             &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return found;
}

/* Seed 0 stands for the kernel's random bits: 12 audits, each wrong with a
 * probability of at most 1e-6. Those with other seeds cannot fail by chance, and
 * how much they find is asserted of these alone. */
static void test_shipped(void **state)
{
    static const struct {
        int64_t dimension, rounds, trials;
        double eps, counted;
    } cases[] = {{1, 1, 20000, 1, .9},  {2, 1, 20000, 4, .8},
                 {16, 1, 8000, 2, .75}, {128, 1, 2000, 8, .5},
                 {3, 4, 8000, 2, .6},   {16, 10, 3000, 4, .4}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int kind = PRICER_RELEASE_SPHERE; kind <= PRICER_RELEASE_GAUSSIAN;
             kind++) {
            struct pricer_network *net =
                make_network(cases[k].dimension, cases[k].eps);
            struct pricer_forward_plan *plan =
                make_plan(net, cases[k].rounds, (enum pricer_release)kind);
            for (uint64_t seed = 0; seed < 3; seed++) {
                struct pricer_forward_audit found =
                    attack(net, plan, cases[k].rounds, cases[k].trials, seed);
                const struct pricer_audit *audit = &found.audit;
                if (found.law[0] != '\0')
                    fail_msg("case %d: %s", (int)k, found.law);
                assert_true(audit->statement.eps <= cases[k].eps);
                assert_true(audit->budget == cases[k].eps);
                assert_false(
                    pricer_audit_contradicts(audit, audit->statement.eps));
                assert_true(seed == 0 ||
                            audit->eps_counted <= audit->statement.eps);
                if (seed > 0 && kind == PRICER_RELEASE_GAUSSIAN)
                    assert_true(audit->eps_fitted > .85 * cases[k].eps);
                else if (seed > 0)
                    assert_true(audit->eps_counted >
                                cases[k].counted * cases[k].eps);
                assert_int_equal(audit->trials, cases[k].trials);
            }
            pricer_forward_plan_free(plan);
            pricer_network_free(net);
        }
}

/* One seed, one result; what is counted is what the law says. */
static void test_same_seed(void **state)
{
    struct pricer_network *net = make_network(2, 3);
    struct pricer_forward_plan *plan = make_plan(net, 1, PRICER_RELEASE_SPHERE);
    struct pricer_forward_audit one = attack(net, plan, 1, 2000, 7);
    struct pricer_forward_audit two = attack(net, plan, 1, 2000, 7);
    (void)state;
    assert_true(one.audit.eps_counted == two.audit.eps_counted);
    assert_int_equal(one.own, two.own);
    assert_int_equal(one.releases, 4000);
    assert_true(one.own_stated > .5 && one.opposite_stated < .1);
    assert_true(fabs((double)one.own / 4000 - one.own_stated) < .05);
    two = attack(net, plan, 1, 2000, 8);
    assert_int_not_equal(one.own, two.own);
    pricer_forward_plan_free(plan);
    pricer_network_free(net);
}

static void test_refusals(void **state)
{
    struct pricer_network *net = make_network(2, 3);
    struct pricer_forward_plan *plan = make_plan(net, 1, PRICER_RELEASE_SPHERE);
    struct pricer_forward_audit found;
    struct pricer_audit_settings bad[] = {
        {.node = 2}, {.node = -1}, {.trials = 5}, {.confidence = 1.5}};
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        struct pricer_fault fault = {""};
        assert_int_equal(
            pricer_audit_forward(net, plan, &bad[k], false, &found, &fault),
            PRICER_VALUE);
        assert_true(fault.text[0] != '\0');
    }
    pricer_forward_plan_free(plan);
    pricer_network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shipped),
                                       cmocka_unit_test(test_same_seed),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
