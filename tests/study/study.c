/*
 * Studies: what goes in comes out to the bit, two of a kind are equal table by
 * table, and a file that is no study is refused in words of its own.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "pricer_study.h"

#include <sqlite3.h>

static const char text[] =
    "dimension: 7\nradius: 0.1\nseed: 3\nrounds: 5\n"
    "network: {generator: geometric, nodes: 120, density: 300}\n"
    "trust: {eps: 0.3, delta: 1e-7, probable: {above: 0.5, eps: inf}}\n"
    "objective: {bias: l1, lambda: 0.1, calibration: classic}\n";

static struct pricer_scenario *scenario;
static struct pricer_network *network;

static int set_up(void **state)
{
    struct pricer_fault fault = {""};
    return scratch_open(state) ||
           pricer_scenario_read(scratch_text("s.yaml", text), NULL, 0,
                                &scenario, &fault) ||
           pricer_scenario_network(scenario, NULL, &network, &fault);
}

static int tear_down(void **state)
{
    pricer_scenario_free(scenario);
    pricer_network_free(network);
    return scratch_close(state);
}

static struct pricer_study *create_and_open(const char *name)
{
    struct pricer_study *study = NULL;
    struct pricer_fault fault = {""};
    const char *path = scratch_path(name);
    if (pricer_study_create(path, true, scenario, network, NULL, &fault) ||
        pricer_study_open(path, true, &study, &fault))
        fail_msg("%s", fault.text);
    return study;
}

static void assert_same(const void *a, const void *b, int64_t count,
                        size_t size)
{
    assert_memory_equal(a, b, (size_t)count * size);
}

static void test_round_trip(void **state)
{
    (void)state;
    struct pricer_study *study = create_and_open("a.pricer");
    struct pricer_network *back = NULL;
    struct pricer_settings settings;
    int64_t seed = 0;
    assert_int_equal(pricer_study_network(study, &back, NULL), PRICER_OK);
    assert_int_equal(back->links, network->links);
    assert_true(back->radius == network->radius);
    assert_int_equal(back->dimension, 7);
    const int64_t m = network->links, n = network->nodes;
    assert_same(back->uplink, network->uplink, n, 8);
    assert_same(back->x, network->x, n, 8);
    assert_same(back->self_eps, network->self_eps, n, 8);
    assert_same(back->self_delta, network->self_delta, n, 8);
    assert_same(back->from, network->from, m, 4);
    assert_same(back->to, network->to, m, 4);
    assert_same(back->partner, network->partner, m, 4);
    assert_same(back->in_link, network->in_link, m, 4);
    assert_same(back->in_start, network->in_start, n + 1, 4);
    assert_same(back->p, network->p, m, 8);
    assert_same(back->joint, network->joint, m, 8);
    assert_same(back->eps, network->eps, m, 8);
    assert_same(back->delta, network->delta, m, 8);
    assert_int_equal(pricer_study_settings(study, &settings, &seed, NULL),
                     PRICER_OK);
    assert_int_equal(seed, 3);
    assert_int_equal(settings.rounds, 5);
    assert_int_equal(settings.bias, PRICER_BIAS_L1);
    assert_int_equal(settings.calibration, PRICER_CALIBRATION_CLASSIC);
    assert_true(settings.lambda == 0.1);
    pricer_network_free(back);
    pricer_study_close(study);
}

static void test_plan_round_trip(void **state)
{
    (void)state;
    struct pricer_study *study = create_and_open("p.pricer");
    struct pricer_plan *plan = NULL, *back = NULL;
    struct pricer_plan_record record = {
        .objective = 0.125, .gap = 1e-9, .bound = NAN, .iterations = 12};
    struct pricer_plan_record found;
    struct pricer_fault fault = {""};
    assert_int_equal(pricer_study_plan(study, 0, NULL, &back, NULL, &fault),
                     PRICER_VALUE);
    assert_non_null(strstr(fault.text, "no plan yet"));
    assert_int_equal(pricer_plan_new(network, &plan, &fault), PRICER_OK);
    uint64_t seed = 4;
    for (int l = 0; l < plan->links; l++)
        if (l % 3 != 0) {
            plan->weight[l] = test_uniform(&seed);
            plan->noise[l] = test_uniform(&seed);
        }
    for (int i = 0; i < plan->nodes; i++) {
        plan->self_weight[i] = test_uniform(&seed);
        plan->row_multiplier[i] = -test_uniform(&seed);
    }
    plan->sum_multiplier = 1. / 3;
    int64_t id = 0;
    for (int k = 1; k <= 2; k++) {
        assert_int_equal(
            pricer_study_add_plan(study, network, plan, &record, &id, &fault),
            PRICER_OK);
        assert_int_equal(id, k);
        record.iterations = 99;
    }
    assert_int_equal(pricer_study_plan(study, 1, NULL, &back, &found, NULL),
                     PRICER_OK);
    assert_int_equal(found.iterations, 12);
    assert_true(found.objective == 0.125 && isnan(found.bound));
    assert_true(back->sum_multiplier == plan->sum_multiplier);
    assert_same(back->weight, plan->weight, plan->links, 8);
    assert_same(back->noise, plan->noise, plan->links, 8);
    assert_same(back->self_weight, plan->self_weight, plan->nodes, 8);
    assert_same(back->row_multiplier, plan->row_multiplier, plan->nodes, 8);
    pricer_plan_free(back);
    back = NULL;
    assert_int_equal(pricer_study_plan(study, 0, NULL, &back, &found, NULL),
                     PRICER_OK);
    assert_int_equal(found.id, 2);
    pricer_plan_free(back);
    pricer_plan_free(plan);
    pricer_study_close(study);
}

/* Expect that opening fails with these words. */
static void refuse(const char *path, bool writable, enum pricer_status expected,
                   const char *words)
{
    struct pricer_study *study = NULL;
    struct pricer_fault fault = {""};
    assert_int_equal(pricer_study_open(path, writable, &study, &fault),
                     expected);
    assert_null(study);
    if (strstr(fault.text, words) == NULL)
        fail_msg("'%s' does not say '%s'", fault.text, words);
}

static void change(const char *path, const char *sql)
{
    sqlite3 *database = NULL;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(database);
}

static void test_refuses_files(void **state)
{
    (void)state;
    pricer_study_close(create_and_open("b.pricer"));
    refuse(scratch_path("none"), false, PRICER_FILE, "No such file");
    refuse(scratch, false, PRICER_FILE, "Is a directory");
    refuse(scratch_text("empty", ""), false, PRICER_FORMAT, "empty");
    refuse(scratch_text("words", "hello, this is not a database at all\n"),
           false, PRICER_FORMAT, "not a study");
    const char *path = scratch_path("other.db");
    change(path, "CREATE TABLE t (x)");
    refuse(path, false, PRICER_FORMAT, "not a study");
    path = scratch_path("b.pricer");
    change(path, "PRAGMA user_version = 9");
    refuse(path, false, PRICER_FORMAT, "newer pricer");
    change(path, "PRAGMA user_version = 1");
    refuse(path, false, PRICER_FORMAT, "older pricer");
    change(path, "PRAGMA user_version = 8; DROP TABLE plan_node;"
                 "DROP TABLE plan_link; DROP TABLE plan");
    refuse(path, false, PRICER_FORMAT, "damaged");
}

static void test_locked(void **state)
{
    (void)state;
    pricer_study_close(create_and_open("c.pricer"));
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(scratch_path("c.pricer"), &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL),
                     SQLITE_OK);
    refuse(scratch_path("c.pricer"), true, PRICER_BUSY,
           "another program is writing");
    sqlite3_close(other);
}

/* Whatever is edited in the tables is found when the network is read. */
static void test_refuses_edits(void **state)
{
    (void)state;
    static const char *const edits[] = {
        "UPDATE link SET p = 1.3 WHERE link = 5",
        "UPDATE link SET p = 0 WHERE link = 5",
        "UPDATE link SET to_node = 4000 WHERE link = 5",
        "UPDATE link SET to_node = from_node WHERE link = 5",
        "UPDATE link SET eps = -1 WHERE link = 5",
        "UPDATE link SET joint = 0 WHERE link = 5",
        "UPDATE link SET delta = 'x' WHERE link = 5",
        "DELETE FROM link WHERE link = 5",
        "UPDATE link SET link = -1 WHERE link = 5",
        "UPDATE node SET p = 2 WHERE node = 5",
        "DELETE FROM node WHERE node = 5",
        "UPDATE setting SET value = 'x' WHERE key = 'dimension'",
        "UPDATE setting SET value = -1 WHERE key = 'radius'",
        "DELETE FROM setting WHERE key = 'radius'",
    };
    for (size_t k = 0; k < sizeof edits / sizeof *edits; k++) {
        pricer_study_close(create_and_open("d.pricer"));
        change(scratch_path("d.pricer"), edits[k]);
        struct pricer_study *study = NULL;
        struct pricer_network *back = NULL;
        struct pricer_fault fault = {""};
        assert_int_equal(
            pricer_study_open(scratch_path("d.pricer"), false, &study, &fault),
            PRICER_OK);
        if (pricer_study_network(study, &back, &fault) == PRICER_OK)
            fail_msg("'%s' went unseen", edits[k]);
        assert_null(back);
        assert_non_null(strstr(fault.text, "d.pricer: "));
        pricer_study_close(study);
    }
}

static bool stop(void *context, double done)
{
    (void)context;
    (void)done;
    return false;
}

/* No file is left behind when making one fails or is stopped. */
static void test_nothing_left(void **state)
{
    (void)state;
    const struct pricer_watch watch = {stop, NULL};
    struct pricer_fault fault = {""};
    const char *path = scratch_path("stopped/e.pricer");
    assert_int_equal(mkdir(scratch_path("stopped"), 0777), 0);
    assert_int_equal(
        pricer_study_create(path, false, scenario, network, &watch, &fault),
        PRICER_STOPPED);
    assert_int_equal(rmdir(scratch_path("stopped")), 0);
    assert_int_equal(pricer_study_create("/nowhere/x.pricer", false, scenario,
                                         network, NULL, &fault),
                     PRICER_FILE);
    path = scratch_text("taken", "precious");
    assert_int_equal(
        pricer_study_create(path, false, scenario, network, NULL, &fault),
        PRICER_FILE);
    assert_non_null(strstr(fault.text, "exists already"));
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_size, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_plan_round_trip),
        cmocka_unit_test(test_refuses_files),
        cmocka_unit_test(test_locked),
        cmocka_unit_test(test_refuses_edits),
        cmocka_unit_test(test_nothing_left),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
