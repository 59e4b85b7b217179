/*
 * The reference of a study: rounds relative to the last estimate come back as
 * they were stored, the last estimate is of the right length and finite, or
 * none, and it outlives the rounds around it.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "study/study.h"

static struct pricer_study *study;

/* With more digits than SQLite writes in text. */
#define STEP 0.30000000000000004

static void edit(const char *sql)
{
    char *text = NULL;
    if (sqlite3_exec(study->database, sql, NULL, NULL, &text) != SQLITE_OK)
        fail_msg("%s: %s", sql, text);
}

static int set_up(void **state)
{
    struct pricer_fault fault = {""};
    struct pricer_scenario *scenario = NULL;
    struct pricer_network *network = NULL;
    const char *file = scratch_path("s.pricer");
    (void)state;
    if (pricer_scenario_read(
            scratch_text("s.yaml", "dimension: 2\nradius: 4\nreference: last\n"
                                   "step: 0.30000000000000004\nnetwork: "
                                   "{generator: ring, nodes: 3, p: "
                                   "1, uplink: 1}\ntrust: "
                                   "{everyone: {eps: 1}}\n"),
            NULL, 0, &scenario, &fault) ||
        pricer_scenario_network(scenario, NULL, &network, &fault) ||
        pricer_study_create(file, true, scenario, network, NULL, &fault) ||
        pricer_study_open(file, true, &study, &fault)) {
        print_error("%s\n", fault.text);
        return 1;
    }
    pricer_network_free(network);
    pricer_scenario_free(scenario);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pricer_study_close(study);
    return 0;
}

static void test_network(void **state)
{
    (void)state;
    static const char *const damage[] = {"0.2", "-1", "'x'", "1e999"};
    struct pricer_network *network = NULL;
    assert_int_equal(pricer_study_network(study, &network, NULL), PRICER_OK);
    assert_true(network->radius == STEP && network->reach == 4);
    for (int i = 0; i < 3; i++)
        assert_true(network->node_radius[i] == STEP &&
                    network->node_diameter[i] == 2 * STEP);
    pricer_network_free(network);
    for (size_t k = 0; k < sizeof damage / sizeof *damage; k++) {
        char sql[80];
        snprintf(sql, sizeof sql,
                 "UPDATE setting SET value = %s WHERE key = 'reach'",
                 damage[k]);
        edit(sql);
        assert_int_not_equal(pricer_study_network(study, &network, NULL),
                             PRICER_OK);
    }
    edit("DELETE FROM setting WHERE key = 'reach'"); /* as studies were */
    assert_int_equal(pricer_study_network(study, &network, NULL), PRICER_OK);
    assert_true(network->reach == 0);
    pricer_network_free(network);
}

static void test_estimate(void **state)
{
    (void)state;
    edit("PRAGMA foreign_keys = OFF");
    static const struct {
        const char *sql;
        int64_t round;
    } cases[] = {
        {"SELECT 1", 0},
        {"INSERT INTO round VALUES (3, 1, 1, 1, 1, 1, NULL, x'"
         "000000000000f03f00000000000000c0', 'constant', 1)",
         3},
        {"INSERT INTO round VALUES (7, 1, 1, 0, 0, 0, NULL, NULL, 'constant',"
         " NULL)",
         3},
        {"UPDATE round SET estimate = x'000000000000f03f' WHERE round = 3", 0},
        {"UPDATE round SET estimate = x'000000000000f03f000000000000f07f' "
         "WHERE round = 3",
         0},
        {"UPDATE round SET estimate = 'sixteen letters.' WHERE round = 3", 3},
        {"UPDATE round SET estimate = x'000000000000f03f00000000000000c0' "
         "WHERE round = 3",
         3},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double estimate[2] = {5, 5};
        int64_t round = -1;
        edit(cases[k].sql);
        assert_int_equal(
            pricer_study_estimate(study, 2, &round, estimate, NULL), PRICER_OK);
        assert_int_equal(round, cases[k].round);
        assert_true(round == 3 ? estimate[0] != 5 : estimate[0] == 5);
        if (k == 1 || k == 6)
            assert_true(estimate[0] == 1 && estimate[1] == -2);
    }
    for (int k = 8; k < 20; k++) {
        char sql[120];
        snprintf(sql, sizeof sql,
                 "INSERT INTO round VALUES (%d, 1, 1, 0, 0, 0, NULL, NULL,"
                 " 'constant', NULL)",
                 k);
        edit(sql);
    }
    struct pricer_rounds_summary found;
    double estimate[2];
    int64_t round = 0;
    assert_int_equal(pricer_study_prune(study, 4, NULL), PRICER_OK);
    assert_int_equal(pricer_study_rounds(study, 0, &found, NULL), PRICER_OK);
    assert_true(found.rounds == 5 && found.estimates == 1);
    assert_int_equal(pricer_study_estimate(study, 2, &round, estimate, NULL),
                     PRICER_OK);
    assert_int_equal(round, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_network, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_estimate, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
