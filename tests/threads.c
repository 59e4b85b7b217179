/*
 * Everything that runs on several threads, on one and on three: the results are
 * the same. Built a second time with a race detector (tests/check.sh), where
 * what matters is that nothing is read while it is written.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "base/base.h"
#include "pricer_audit.h"

static struct pricer_network *network;

static int set_up(void **state)
{
    struct pricer_scenario *scenario = NULL;
    struct pricer_fault fault = {""};
    int failed = scratch_open(state);
    const char *path = scratch_text(
        "s.yaml", "dimension: 5\n"
                  "network: {generator: geometric, nodes: 700}\n"
                  "trust: {eps: 1, probable: {above: 0.5, eps: 30}}\n");
    if (failed || pricer_scenario_read(path, NULL, 0, &scenario, &fault) ||
        pricer_scenario_network(scenario, NULL, &network, &fault))
        return 1;
    pricer_scenario_free(scenario);
    return 0;
}

static int tear_down(void **state)
{
    pricer_network_free(network);
    return scratch_close(state);
}

static struct pricer_plan *plan_with(int32_t threads)
{
    struct pricer_settings settings = {.threads = threads, .tolerance = 1e-5};
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    struct pricer_fault fault = {""};
    if (pricer_plan_optimise(network, &settings, NULL, &plan, &info, &fault))
        fail_msg("%s", fault.text);
    struct pricer_certificate certificate;
    assert_int_equal(
        pricer_plan_verify(network, &settings, plan, &certificate, &fault),
        PRICER_OK);
    assert_true(certificate.gap <= 1.1e-5);
    assert_true(certificate.feasible);
    assert_int_equal(certificate.open_links, 0);
    return plan;
}

/* Bit for bit with a fixed number of threads, to the tolerance otherwise. */
static void test_plans(void **state)
{
    (void)state;
    struct pricer_plan *first = plan_with(3), *again = plan_with(3);
    assert_memory_equal(first->weight, again->weight,
                        (size_t)network->links * sizeof(double));
    pricer_plan_free(plan_with(1));
    pricer_plan_free(first);
    pricer_plan_free(again);
}

static void test_simulations(void **state)
{
    (void)state;
    struct pricer_plan *plan = plan_with(2);
    const struct pricer_plan *plans[] = {plan};
    double mse[2][2];
    for (int engine = 0; engine < 2; engine++)
        for (int k = 0; k < 2; k++) {
            struct pricer_simulation_settings settings = {
                .engine = (enum pricer_engine)engine,
                .data = PRICER_DATA_RANDOM,
                .seed = 7,
                .trials = engine == 0 ? 5000 : 60,
                .threads = k == 0 ? 1 : 3};
            struct pricer_simulation *simulation = NULL;
            assert_int_equal(pricer_simulation_run(network, plans, 1, &settings,
                                                   &simulation, NULL),
                             PRICER_OK);
            mse[engine][k] = simulation->outcomes[0].mse;
            pricer_simulation_free(simulation);
        }
    assert_true(mse[0][0] == mse[0][1]);
    assert_true(mse[1][0] == mse[1][1]);
    pricer_plan_free(plan);
}

static void test_audits(void **state)
{
    (void)state;
    struct pricer_plan *plan = plan_with(2);
    struct pricer_audit audit[2];
    for (int k = 0; k < 2; k++) {
        struct pricer_audit_settings settings = {
            .question = {.observer = PRICER_OBSERVER_SERVER,
                         .threads = k == 0 ? 1 : 3},
            .trials = 1000};
        assert_int_equal(
            pricer_audit_run(network, plan, &settings, &audit[k], NULL),
            PRICER_OK);
    }
    assert_true(audit[0].eps_counted == audit[1].eps_counted);
    assert_true(audit[0].hits == audit[1].hits);
    pricer_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_simulations),
        cmocka_unit_test(test_audits),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
