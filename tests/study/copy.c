/*
 * A copy of a study: rounds that are run on it come back whole or not at all,
 * what was withheld with them, and the study knows of nothing before.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "study/study.h"

#include <math.h>
#include <unistd.h>

static const char text[] =
    "dimension: 2\nradius: 1\n"
    "network: {generator: ring, nodes: 3, p: 0.5, uplink: 0.5}\n"
    "trust: {eps: 1, delta: 1e-3}\n";

static struct pricer_study *study;
static struct pricer_network *network;

static struct pricer_study *open_study(const char *name)
{
    struct pricer_study *found = NULL;
    struct pricer_fault fault = {""};
    if (pricer_study_open(scratch_path(name), true, &found, &fault))
        fail_msg("%s", fault.text);
    return found;
}

static int set_up(void **state)
{
    struct pricer_scenario *scenario = NULL;
    struct pricer_fault fault = {""};
    if (scratch_open(state) ||
        pricer_scenario_read(scratch_text("s.yaml", text), NULL, 0, &scenario,
                             &fault) ||
        pricer_scenario_network(scenario, NULL, &network, &fault) ||
        pricer_study_create(scratch_path("s.pricer"), false, scenario, network,
                            NULL, &fault)) {
        print_error("%s\n", fault.text);
        return 1;
    }
    pricer_scenario_free(scenario);
    study = open_study("s.pricer");
    sqlite3_exec(
        study->database,
        "PRAGMA foreign_keys = OFF; INSERT INTO member VALUES"
        " (0, 'k', 'a'); INSERT INTO plan VALUES (1, 1, 'worst-case', 0,"
        " 'analytic', 'exact', 1, 'none', NULL, NULL, NULL, NULL,"
        " NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0)",
        NULL, NULL, NULL);
    return 0;
}

static int tear_down(void **state)
{
    pricer_study_close(study);
    pricer_network_free(network);
    return scratch_close(state);
}

static int64_t ask(struct pricer_study *whom, const char *sql)
{
    int64_t found = -7;
    assert_int_equal(pri_study_count(whom, sql, &found, NULL), PRICER_OK);
    return found;
}

/* A round with an estimate, or with nothing but a refusal. */
static void run_round(struct pricer_study *whom, bool estimates)
{
    const double estimate[2] = {1, 2};
    const int8_t uplink[3] = {1, 0, -1}, own[3] = {-1, 3, -1};
    const int8_t link[6] = {1, 1, 0, -1, 1, 1};
    const int8_t withheld[6] = {-1, 0, -1, -1, 4, -1};
    int64_t round = 0;
    assert_int_equal(pricer_study_open_round(whom, 0, &round, NULL), PRICER_OK);
    struct pricer_round_record record = {.round = round,
                                         .plan = 1,
                                         .nodes = 3,
                                         .links = 6,
                                         .dimension = 2,
                                         .uplink = uplink,
                                         .link = link,
                                         .own = own,
                                         .withheld = withheld,
                                         .contributors = estimates ? 2 : 0,
                                         .weight = estimates ? .5 : 0,
                                         .estimate =
                                             estimates ? estimate : NULL,
                                         .error = 9,
                                         .dropped = {1}};
    struct pricer_fault fault = {""};
    sqlite3_exec(whom->database, "PRAGMA foreign_keys = OFF", NULL, NULL, NULL);
    if (pricer_study_add_round(whom, &record, 0, NULL, &fault))
        fail_msg("%s", fault.text);
}

static void test_copy(void **state)
{
    (void)state;
    int64_t last = -1;
    run_round(study, true);
    assert_int_equal(
        pricer_study_copy(study, scratch_path("copy.pricer"), NULL), PRICER_OK);
    assert_int_equal(
        pricer_study_copy(study, scratch_path("copy.pricer"), NULL),
        PRICER_FILE);
    struct pricer_study *copy = open_study("copy.pricer");
    sqlite3_exec(copy->database, "DELETE FROM member", NULL, NULL, NULL);
    run_round(copy, false);
    run_round(copy, true);
    pricer_study_close(copy);
    assert_int_equal(ask(study, "SELECT count(*) FROM round"), 1);
    assert_int_equal(
        pricer_study_join_rounds(study, scratch_path("copy.pricer"), 1, NULL),
        PRICER_OK);
    assert_int_equal(ask(study, "SELECT count(*) FROM round"), 3);
    assert_int_equal(ask(study, "SELECT count(*) FROM member"), 1);
    assert_int_equal(pricer_study_last_round(study, &last, NULL), PRICER_OK);
    assert_int_equal(last, 3);
    assert_int_equal(ask(study, "SELECT round FROM round WHERE estimate IS NULL"
                                " AND error IS NULL AND contributors = 0"),
                     2);
    assert_int_equal(ask(study, "SELECT count(*) FROM withheld"), 9);
    assert_int_equal(ask(study, "SELECT count(*) FROM withheld, link"
                                " WHERE withheld.link = link.link AND"
                                " node = from_node"),
                     6);
    assert_int_equal(ask(study, "SELECT count(*) FROM withheld WHERE link = -1"
                                " AND node = 1 AND reason = 'vector'"),
                     3);
    assert_int_equal(ask(study, "SELECT count(*) FROM delivery"), 15);
    assert_int_equal(ask(study, "SELECT count(*) FROM arrival"), 6);
    assert_int_equal(ask(study, "SELECT count(*) FROM dropped"), 3);
}

/* Once the study has gone on by itself, nothing of the copy is taken. */
static void test_meanwhile(void **state)
{
    (void)state;
    struct pricer_fault fault = {""};
    assert_int_equal(
        pricer_study_copy(study, scratch_path("late.pricer"), NULL), PRICER_OK);
    struct pricer_study *copy = open_study("late.pricer");
    run_round(copy, true);
    pricer_study_close(copy);
    run_round(study, false);
    int64_t before = ask(study, "SELECT count(*) FROM withheld");
    assert_int_equal(
        pricer_study_join_rounds(study, scratch_path("late.pricer"), 3, &fault),
        PRICER_VALUE);
    scratch_says(fault.text,
                 "s.pricer: rounds were run on this study meanwhile");
    assert_int_equal(ask(study, "SELECT count(*) FROM withheld"), before);
    assert_int_equal(ask(study, "SELECT contributors FROM round WHERE round = "
                                "4"),
                     0);
    assert_int_not_equal(
        pricer_study_join_rounds(study, scratch_path("none.pricer"), 5, NULL),
        PRICER_OK);
    assert_int_not_equal(access(scratch_path("none.pricer"), F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_meanwhile),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
