/*
 * Simulations in a study: what goes in is there, all or nothing.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "study/study.h"

static struct pricer_study *study;
static struct pricer_network *network;
static struct pricer_plan *plan;
static int64_t plan_id;

static int set_up(void **state)
{
    struct pricer_scenario *scenario = NULL;
    struct pricer_fault fault = {""};
    int failed = scratch_open(state);
    const char *path = scratch_text(
        "s.yaml", "dimension: 4\n"
                  "network: {generator: erdos-renyi, nodes: 5, uplink: 0.5, "
                  "p: 0.5}\n"
                  "trust: {eps: 1}\n");
    if (failed || pricer_scenario_read(path, NULL, 0, &scenario, &fault) ||
        pricer_scenario_network(scenario, NULL, &network, &fault))
        return 1;
    const char *file = scratch_path("s.pricer");
    if (pricer_study_create(file, true, scenario, network, NULL, &fault) ||
        pricer_study_open(file, true, &study, &fault) ||
        pricer_plan_new(network, &plan, &fault))
        return 1;
    for (int32_t l = 0; l < network->links; l++)
        plan->weight[l] = .1;
    struct pricer_plan_record record = {.method = PRICER_METHOD_GIVEN};
    failed =
        pricer_study_add_plan(study, network, plan, &record, &plan_id, &fault);
    pricer_scenario_free(scenario);
    return failed;
}

static int tear_down(void **state)
{
    pricer_study_close(study);
    pricer_plan_free(plan);
    pricer_network_free(network);
    return scratch_close(state);
}

/* One number from the study. */
static double query(const char *sql)
{
    sqlite3_stmt *statement = NULL;
    double value = NAN;
    assert_int_equal(
        sqlite3_prepare_v2(study->database, sql, -1, &statement, NULL),
        SQLITE_OK);
    if (sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static struct pricer_simulation *simulate(void)
{
    const struct pricer_plan *plans[] = {plan, plan};
    struct pricer_simulation_settings settings = {.trials = 700, .seed = 3};
    struct pricer_simulation *simulation = NULL;
    assert_int_equal(
        pricer_simulation_run(network, plans, 2, &settings, &simulation, NULL),
        PRICER_OK);
    return simulation;
}

static void test_stored(void **state)
{
    (void)state;
    struct pricer_simulation *simulation = simulate();
    const char *names[] = {"plan", "other"};
    int64_t id = 0;
    assert_int_equal(pricer_study_add_simulation(study, plan_id, names,
                                                 simulation, &id, NULL),
                     PRICER_OK);
    assert_int_equal(id, 1);
    const struct pricer_outcome *outcome = &simulation->outcomes[1];
    assert_true(query("SELECT trials FROM simulation WHERE simulation = 1") ==
                700);
    assert_true(query("SELECT mse FROM simulation_strategy"
                      " WHERE strategy = 'other'") == outcome->mse);
    assert_true(query("SELECT difference_stderr FROM simulation_strategy"
                      " WHERE strategy = 'other'") ==
                outcome->difference_stderr);
    assert_true(query("SELECT sum(trials) FROM simulation_bin"
                      " WHERE strategy = 'plan'") == 700);
    assert_true(query("SELECT up FROM simulation_node WHERE node = 2") ==
                (double)simulation->uplink[2]);
    assert_true(query("SELECT both FROM simulation_link WHERE link = 7") ==
                (double)simulation->both[7]);
    assert_true(query("SELECT count(*) FROM simulation_link") ==
                network->links);
    pricer_simulation_free(simulation);
}

/* A plan that is not there, or a name twice: nothing is left of it. */
static void test_all_or_nothing(void **state)
{
    (void)state;
    struct pricer_simulation *simulation = simulate();
    const char *names[] = {"plan", "other"}, *twice[] = {"plan", "plan"};
    struct pricer_fault fault = {""};
    int64_t id = 77;
    double before = query("SELECT count(*) FROM simulation");
    assert_int_not_equal(
        pricer_study_add_simulation(study, 99, names, simulation, &id, &fault),
        PRICER_OK);
    assert_int_not_equal(pricer_study_add_simulation(study, plan_id, twice,
                                                     simulation, &id, &fault),
                         PRICER_OK);
    assert_int_equal(id, 77);
    assert_true(query("SELECT count(*) FROM simulation") == before);
    pricer_simulation_free(simulation);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stored),
        cmocka_unit_test(test_all_or_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
