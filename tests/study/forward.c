/*
 * A study of 'scheme: forward': scheme, settings, budgets and plans come back as
 * they were stored, and what was edited by hand is checked.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "pricer_forward.h"
#include "study/study.h"

static struct pricer_study *study;

static void edit(const char *sql)
{
    char *text = NULL;
    if (sqlite3_exec(study->database, sql, NULL, NULL, &text) != SQLITE_OK)
        fail_msg("%s: %s", sql, text);
}

static void make_study(const char *text)
{
    struct pricer_fault fault = {""};
    struct pricer_scenario *scenario = NULL;
    struct pricer_network *network = NULL;
    const char *file = scratch_path("s.pricer");
    if (pricer_scenario_read(scratch_text("s.yaml", text), NULL, 0, &scenario,
                             &fault) ||
        pricer_scenario_network(scenario, NULL, &network, &fault) ||
        pricer_study_create(file, true, scenario, network, NULL, &fault) ||
        pricer_study_open(file, true, &study, &fault))
        fail_msg("%s", fault.text);
    pricer_network_free(network);
    pricer_scenario_free(scenario);
}

static const char four[] =
    "dimension: 2\nrounds: 3\nseed: 7\nhops: 2\nrelease: sphere\n"
    "network: {files: {nodes: n.csv, links: l.csv}}\n";

static int set_up(void **state)
{
    (void)state;
    scratch_text("n.csv", "node,p,everyone_eps,everyone_delta,radius\n"
                          "0,.9,4,1e-5,1\n1,.2,3.0000000000000004,0,.5\n"
                          "2,0,2,1e-6,1\n3,0,1,1e-7,1\n");
    scratch_text("l.csv", "from,to,p\n1,0,.8\n2,1,.7\n");
    make_study(four);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pricer_study_close(study);
    return 0;
}

static void test_settings(void **state)
{
    (void)state;
    enum pricer_scheme scheme = PRICER_SCHEME_SUM;
    struct pricer_forward_settings settings = {0};
    assert_int_equal(pricer_study_scheme(study, &scheme, NULL), PRICER_OK);
    assert_int_equal(scheme, PRICER_SCHEME_FORWARD);
    assert_int_equal(pricer_study_forward_settings(study, &settings, NULL),
                     PRICER_OK);
    assert_true(settings.rounds == 3 && settings.hops == 2 &&
                settings.seed == 7 &&
                settings.release == PRICER_RELEASE_SPHERE);
    static const char *const damage[] = {
        "value = 31 WHERE key = 'hops'",     "value = -2 WHERE key = 'hops'",
        "value = .5 WHERE key = 'hops'",     "value = 'x' WHERE key = 'hops'",
        "value = 'x' WHERE key = 'release'", "value = 0 WHERE key = 'rounds'"};
    for (size_t k = 0; k < sizeof damage / sizeof *damage; k++) {
        char sql[120];
        edit("SAVEPOINT before");
        snprintf(sql, sizeof sql, "UPDATE setting SET %s", damage[k]);
        edit(sql);
        assert_int_not_equal(
            pricer_study_forward_settings(study, &settings, NULL), PRICER_OK);
        edit("ROLLBACK TO before");
        edit("RELEASE before");
    }
    edit("UPDATE setting SET value = 'other' WHERE key = 'scheme'");
    assert_int_equal(pricer_study_scheme(study, &scheme, NULL), PRICER_FORMAT);
    edit("DELETE FROM setting WHERE key = 'scheme'");
    assert_int_equal(pricer_study_scheme(study, &scheme, NULL), PRICER_FORMAT);
    assert_int_equal(scheme, PRICER_SCHEME_FORWARD);
}

static void test_network(void **state)
{
    (void)state;
    struct pricer_network *network = NULL;
    assert_int_equal(pricer_study_network(study, &network, NULL), PRICER_OK);
    assert_true(network->everyone_eps[1] == 3.0000000000000004 &&
                network->everyone_delta[1] == 0);
    assert_true(network->everyone_eps[3] == 1 &&
                network->everyone_delta[3] == 1e-7);
    assert_true(isinf(network->eps[0]));
    pricer_network_free(network);
    network = NULL;
    static const char *const damage[] = {
        "UPDATE node SET everyone_eps = -1 WHERE node = 1",
        "UPDATE node SET everyone_eps = 9e999 WHERE node = 1",
        "UPDATE node SET everyone_delta = NULL",
        "UPDATE node SET everyone_eps = NULL WHERE node = 1"};
    for (size_t k = 0; k < sizeof damage / sizeof *damage; k++) {
        edit("SAVEPOINT before");
        edit(damage[k]);
        assert_int_not_equal(pricer_study_network(study, &network, NULL),
                             PRICER_OK);
        assert_null(network);
        edit("ROLLBACK TO before");
        edit("RELEASE before");
    }
}

static void test_sum(void **state)
{
    (void)state;
    enum pricer_scheme scheme = PRICER_SCHEME_FORWARD;
    struct pricer_network *network = NULL;
    struct pricer_forward_settings settings;
    pricer_study_close(study);
    make_study("dimension: 2\nnetwork: {generator: ring, nodes: 3, p: 1, "
               "uplink: 1}\ntrust: {eps: 1}\n");
    assert_int_equal(pricer_study_scheme(study, &scheme, NULL), PRICER_OK);
    assert_int_equal(scheme, PRICER_SCHEME_SUM);
    assert_int_equal(pricer_study_network(study, &network, NULL), PRICER_OK);
    assert_null(network->everyone_eps);
    pricer_network_free(network);
    assert_int_equal(pricer_study_forward_settings(study, &settings, NULL),
                     PRICER_FORMAT);
}

static void test_plan(void **state)
{
    (void)state;
    struct pricer_network *network = NULL;
    struct pricer_forward_plan *made = NULL, *read = NULL;
    struct pricer_forward_record record = {.made = 12, .name = "first"}, found;
    int64_t id = 0;
    assert_int_equal(pricer_study_forward_plan(study, 0, &read, NULL, NULL),
                     PRICER_VALUE);
    pricer_study_forward_settings(study, &record.settings, NULL);
    assert_int_equal(pricer_study_network(study, &network, NULL), PRICER_OK);
    assert_int_equal(
        pricer_forward_plan_make(network, &record.settings, &made, NULL),
        PRICER_OK);
    for (int k = 1; k <= 2; k++) {
        assert_int_equal(
            pricer_study_add_forward_plan(study, made, &record, &id, NULL),
            PRICER_OK);
        assert_int_equal(id, k);
        record.name[0] = '\0';
    }
    assert_int_equal(pricer_study_forward_plan(study, 0, &read, &found, NULL),
                     PRICER_OK);
    assert_true(found.id == 2 && found.made == 12 && found.name[0] == '\0' &&
                found.settings.rounds == 3 && found.settings.hops == 2 &&
                found.settings.release == PRICER_RELEASE_SPHERE);
    assert_int_equal(read->nodes, 4);
    assert_int_equal(read->heard, 3);
    assert_int_equal(read->node[3].relays, -1);
    for (int i = 0; i < 4; i++)
        assert_memory_equal(&read->node[i], &made->node[i],
                            offsetof(struct pricer_forward_node, relays));
    free(made->node);
    assert_true(read->mse_worst_case == made->mse_worst_case &&
                read->mse_stderr == made->mse_stderr &&
                read->missing == made->missing && read->noise == made->noise &&
                read->mse_alone == made->mse_alone &&
                read->mse_perfect == made->mse_perfect &&
                read->zero_mse == made->zero_mse && read->gap == made->gap &&
                read->bytes == made->bytes && read->patterns == made->patterns);
    free(made);
    pricer_forward_plan_free(read);
    pricer_network_free(network);
    assert_int_equal(pricer_study_forward_plan(study, 3, &read, NULL, NULL),
                     PRICER_VALUE);
    static const char *const damage[] = {
        "UPDATE forward_plan SET hops = 99",
        "UPDATE forward_plan SET gap = 'x'",
        "UPDATE forward_plan SET release = 'x'",
        "UPDATE forward_plan_node SET release = 'best'",
        "UPDATE forward_plan_node SET arrival = 2",
        "UPDATE forward_plan_node SET coefficient = -1",
        "DELETE FROM forward_plan_node WHERE node = 2",
        "DELETE FROM forward_plan_node WHERE node = 3"};
    for (size_t k = 0; k < sizeof damage / sizeof *damage; k++) {
        edit("SAVEPOINT before");
        edit(damage[k]);
        assert_int_equal(pricer_study_forward_plan(study, 2, &read, NULL, NULL),
                         PRICER_FORMAT);
        edit("ROLLBACK TO before");
        edit("RELEASE before");
    }
}

/* Plans are listed, found, named and deleted as those of sums are. */
static void test_plans(void **state)
{
    (void)state;
    struct pricer_network *network = NULL;
    struct pricer_forward_plan *made = NULL;
    struct pricer_forward_record record = {.made = 12, .name = "first"};
    struct pricer_forward_record *list = NULL;
    int32_t count = 9;
    int64_t id = 0;
    assert_int_equal(pricer_study_forward_plans(study, &list, &count, NULL),
                     PRICER_OK);
    assert_int_equal(count, 0);
    pricer_forward_records_free(list);
    pricer_study_forward_settings(study, &record.settings, NULL);
    assert_int_equal(pricer_study_network(study, &network, NULL), PRICER_OK);
    assert_int_equal(
        pricer_forward_plan_make(network, &record.settings, &made, NULL),
        PRICER_OK);
    assert_int_equal(
        pricer_study_add_forward_plan(study, made, &record, NULL, NULL),
        PRICER_OK);
    assert_int_not_equal(/* the name is taken, and nothing is stored */
                         pricer_study_add_forward_plan(study, made, &record,
                                                       NULL, NULL),
                         PRICER_OK);
    record.name[0] = '\0';
    assert_int_equal(
        pricer_study_add_forward_plan(study, made, &record, NULL, NULL),
        PRICER_OK);
    assert_int_equal(pricer_study_latest_plan(study, &id, NULL), PRICER_OK);
    assert_int_equal(id, 2);
    assert_int_equal(pricer_study_find_plan(study, "first", &id, NULL),
                     PRICER_OK);
    assert_int_equal(id, 1);
    assert_int_equal(pricer_study_find_plan(study, "3", &id, NULL),
                     PRICER_VALUE);
    assert_int_equal(pricer_study_name_plan(study, 2, "first", NULL),
                     PRICER_VALUE);
    assert_int_equal(pricer_study_name_plan(study, 2, "second", NULL),
                     PRICER_OK);
    assert_int_equal(pricer_study_forward_plans(study, &list, &count, NULL),
                     PRICER_OK);
    assert_int_equal(count, 2);
    assert_string_equal(list[0].name, "first");
    assert_string_equal(list[1].name, "second");
    assert_true(list[0].id == 1 && list[1].id == 2 && list[1].made == 12 &&
                list[1].settings.rounds == 3 && list[1].settings.hops == 2 &&
                list[1].mse_worst_case == made->mse_worst_case &&
                list[1].gap == made->gap);
    pricer_forward_records_free(list);
    edit("INSERT INTO round VALUES (1, 2, 1, 1, 1, 1, NULL, NULL, 'constant',"
         " NULL)");
    assert_int_equal(pricer_study_delete_plan(study, 2, NULL), PRICER_VALUE);
    assert_int_equal(pricer_study_delete_plan(study, 1, NULL), PRICER_OK);
    assert_int_equal(pricer_study_find_plan(study, "first", &id, NULL),
                     PRICER_VALUE);
    int64_t rows = 0;
    assert_int_equal(pri_study_count(study,
                                     "SELECT count(*) FROM forward_plan_node",
                                     &rows, NULL),
                     PRICER_OK);
    assert_int_equal(rows, 4);
    pricer_forward_plan_free(made);
    pricer_network_free(network);
}

/* Who arrived in rounds that are stored, and the latest of them alone. */
static void test_arrivals(void **state)
{
    (void)state;
    struct pricer_forward_arrivals *found = NULL;
    struct pricer_forward_record record = {.made = 12};
    struct pricer_forward_plan *plan = NULL;
    struct pricer_network *network = NULL;
    pricer_study_forward_settings(study, &record.settings, NULL);
    pricer_study_network(study, &network, NULL);
    pricer_forward_plan_make(network, &record.settings, &plan, NULL);
    assert_int_equal(
        pricer_study_add_forward_plan(study, plan, &record, NULL, NULL),
        PRICER_OK);
    pricer_forward_plan_free(plan);
    pricer_network_free(network);
    assert_int_equal(pricer_study_arrivals(study, 0, &found, NULL), PRICER_OK);
    assert_int_equal(found->rounds, 0);
    pricer_forward_arrivals_free(found);
    for (int round = 5; round <= 9; round += 2) {
        int32_t hops[] = {round == 7 ? -1 : 0, 2, -1, round == 9 ? 30 : -1};
        int32_t attempt[] = {0, 0, 0, 0};
        assert_int_equal(pricer_study_add_round(
                             study,
                             &(struct pricer_round_record){.round = round,
                                                           .plan = 1,
                                                           .attempts = 1,
                                                           .nodes = 4,
                                                           .hops = hops,
                                                           .arrival = attempt,
                                                           .error = NAN,
                                                           .bar = NAN},
                             0, NULL, NULL),
                         PRICER_OK);
    }
    edit("INSERT INTO round_arrival VALUES (9, 2, 99, 0)");
    static const int8_t rows[] = {0, 2, -1, -1, -1, 2, -1, -1, 0, 2, -1, 30};
    assert_int_equal(pricer_study_arrivals(study, 0, &found, NULL), PRICER_OK);
    assert_true(found->nodes == 4 && found->rounds == 3 && found->first == 5 &&
                found->last == 9);
    assert_memory_equal(found->relays, rows, sizeof rows);
    pricer_forward_arrivals_free(found);
    assert_int_equal(pricer_study_arrivals(study, 2, &found, NULL), PRICER_OK);
    assert_true(found->rounds == 2 && found->first == 7);
    assert_memory_equal(found->relays, rows + 4, 8);
    pricer_forward_arrivals_free(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_settings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_network, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sum, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_plan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_plans, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_arrivals, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
