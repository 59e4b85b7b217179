/*
 * What a study hands out of its tables: what was stored comes back, and what no
 * verb has written is a fault that leaves the outputs alone.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "study/study.h"

static const char text[] =
    "dimension: 2\nradius: 1\n"
    "network: {generator: erdos-renyi, nodes: 4, p: 0.5, uplink: 0.5}\n"
    "trust: {eps: 1, delta: 1e-3}\n";

static struct pricer_study *study;
static struct pricer_network *network;
static struct pricer_plan *plan;

/* A study with two plans, made anew for every test. */
static int set_up(void **state)
{
    struct pricer_fault fault = {""};
    struct pricer_scenario *scenario = NULL;
    struct pricer_plan_record record = {.method = PRICER_METHOD_GIVEN};
    const char *file = scratch_path("s.pricer");
    (void)state;
    if (pricer_scenario_read(scratch_text("s.yaml", text), NULL, 0, &scenario,
                             &fault) ||
        pricer_scenario_network(scenario, NULL, &network, &fault) ||
        pricer_study_create(file, true, scenario, network, NULL, &fault) ||
        pricer_study_open(file, true, &study, &fault) ||
        pricer_plan_new(network, &plan, &fault) ||
        pricer_study_add_plan(study, network, plan, &record, NULL, &fault) ||
        pricer_study_add_plan(study, network, plan, &record, NULL, &fault)) {
        print_error("%s\n", fault.text);
        return 1;
    }
    pricer_scenario_free(scenario);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pricer_study_close(study);
    pricer_plan_free(plan);
    pricer_network_free(network);
    return 0;
}

/* Edit the study as a stranger would. */
static void edit(const char *sql)
{
    assert_int_equal(sqlite3_exec(study->database, "PRAGMA foreign_keys = OFF",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_exec(study->database, sql, NULL, NULL, NULL),
                     SQLITE_OK);
}

/* ------------------------------------------------------ scenario and plan --
 */

static void test_scenario(void **state)
{
    (void)state;
    char *found = NULL;
    assert_int_equal(pricer_study_scenario(study, &found, NULL), PRICER_OK);
    assert_string_equal(found, text);
    pricer_study_text_free(found);

    static const char *const edits[] = {
        "UPDATE setting SET value = 7 WHERE key = 'scenario'",
        "UPDATE setting SET value = x'00ff' WHERE key = 'scenario'",
        "DELETE FROM setting WHERE key = 'scenario'"};
    for (size_t k = 0; k < sizeof edits / sizeof *edits; k++) {
        struct pricer_fault fault = {""};
        char *kept = NULL;
        edit(edits[k]);
        assert_int_equal(pricer_study_scenario(study, &kept, &fault),
                         PRICER_FORMAT);
        assert_null(kept);
        scratch_says(fault.text, "s.pricer: the setting scenario is missing or "
                                 "not a text");
    }
}

static void test_latest_plan(void **state)
{
    (void)state;
    int64_t id = -1;
    assert_int_equal(pricer_study_latest_plan(study, &id, NULL), PRICER_OK);
    assert_int_equal(id, 2);
    edit("DELETE FROM plan");
    assert_int_equal(pricer_study_latest_plan(study, &id, NULL), PRICER_OK);
    assert_int_equal(id, 0);
}

/* ------------------------------------------------------------- simulation --
 */

/* Store a simulation of three plans; the caller frees it. */
static struct pricer_simulation *simulate(int64_t trials)
{
    const struct pricer_plan *plans[] = {plan, plan, plan};
    const char *const names[] = {"other", "plan", "third"};
    struct pricer_simulation_settings settings = {
        .trials = trials, .seed = 3, .data = PRICER_DATA_RANDOM};
    struct pricer_simulation *simulation = NULL;
    assert_int_equal(
        pricer_simulation_run(network, plans, 3, &settings, &simulation, NULL),
        PRICER_OK);
    for (int k = 0; k < 3; k++)
        simulation->outcomes[k].mse = 3 - k;
    assert_int_equal(
        pricer_study_add_simulation(study, 1, names, simulation, NULL, NULL),
        PRICER_OK);
    return simulation;
}

static void test_simulation(void **state)
{
    (void)state;
    struct pricer_simulation_record *found = (void *)1;
    assert_int_equal(pricer_study_simulation(study, 0, &found, NULL),
                     PRICER_OK);
    assert_null(found);
    pricer_simulation_free(simulate(50));
    struct pricer_simulation *latest = simulate(1);
    found = (void *)1;
    assert_int_equal(pricer_study_simulation(study, 2, &found, NULL),
                     PRICER_OK);
    assert_null(found); /* both are of plan 1 */
    assert_int_equal(pricer_study_simulation(study, 0, &found, NULL),
                     PRICER_OK);
    assert_int_equal(found->id, 2);
    assert_int_equal(found->plan, 1);
    assert_int_equal(found->engine, PRICER_ENGINE_FAST);
    assert_int_equal(found->data, PRICER_DATA_RANDOM);
    assert_int_equal(found->seed, 3);
    assert_int_equal(found->trials, 1);
    assert_int_equal(found->clipped, latest->clipped);
    assert_int_equal(found->count, 3);
    assert_string_equal(found->strategies[0].name, "plan");
    assert_string_equal(found->strategies[1].name, "third");
    assert_string_equal(found->strategies[2].name, "other");
    const struct pricer_outcome *outcome = &latest->outcomes[0];
    const struct pricer_strategy *other = &found->strategies[2];
    assert_true(other->mse == 3);
    assert_true(isnan(other->mse_stderr)); /* of one trial */
    assert_true(other->predicted == outcome->predicted);
    assert_true(other->worst_case == outcome->worst_case);
    assert_true(other->bias == outcome->bias);
    assert_true(other->bias_predicted == outcome->bias_predicted);
    assert_true(other->difference == outcome->difference);
    pricer_simulation_record_free(found);
    pricer_simulation_free(latest);
}

static void test_simulation_damaged(void **state)
{
    (void)state;
    static const char *const edits[] = {
        "UPDATE simulation SET engine = 'zzz'",
        "UPDATE simulation SET data = x'00'",
        "UPDATE simulation SET trials = 0",
        "UPDATE simulation SET trials = 'many'",
        "UPDATE simulation SET clipped = -1",
        "UPDATE simulation SET simulation = -5",
        "UPDATE simulation_strategy SET mse = 'x' WHERE strategy = 'third'",
        "UPDATE simulation_strategy SET difference_stderr = x'01'",
        "UPDATE simulation_strategy SET predicted = 'x'"};
    pricer_simulation_free(simulate(2));
    for (size_t k = 0; k < sizeof edits / sizeof *edits; k++) {
        struct pricer_simulation_record *found = (void *)1;
        struct pricer_fault fault = {""};
        edit("SAVEPOINT before");
        edit(edits[k]);
        if (pricer_study_simulation(study, 0, &found, &fault) != PRICER_FORMAT)
            fail_msg("accepted: %s", edits[k]);
        assert_true(found == (void *)1);
        assert_non_null(strstr(fault.text, "is not in order"));
        edit("ROLLBACK TO before; RELEASE before");
    }
}

/* ---------------------------------------------------------------- privacy --
 */

static void add_answers(int64_t id, enum pricer_observer observer, double eps)
{
    const int32_t members[] = {1, 3};
    const struct pricer_question question = {.observer = observer,
                                             .rounds = 5,
                                             .members = members,
                                             .member_count = 2,
                                             .with_server = true};
    const struct pricer_statement statements[] = {
        {.observer = observer, .node = 0, .at = 1, .delta = .5, .eps = eps},
        {.observer = observer, .node = 1, .at = 2, .delta = .5, .eps = 3 * eps},
        {.observer = observer,
         .node = 2,
         .at = 3,
         .delta = .1,
         .eps = INFINITY},
    };
    assert_int_equal(
        pricer_study_add_statements(
            study,
            &(struct pricer_privacy_record){id, &question, statements, NULL, 3},
            NULL, NULL),
        PRICER_OK);
}

/* The later answer to a question counts, and only those about the plan. */
static void test_privacy(void **state)
{
    (void)state;
    struct pricer_privacy_summary *found = NULL;
    int32_t count = -1;
    add_answers(1, PRICER_OBSERVER_RELAY, 7);
    assert_int_equal(pricer_study_privacy(study, 2, &found, &count, NULL),
                     PRICER_OK);
    assert_int_equal(count, 0);
    pricer_privacy_summaries_free(found, count);
    add_answers(2, PRICER_OBSERVER_COALITION, 4);
    add_answers(2, PRICER_OBSERVER_LINK, 9);
    add_answers(2, PRICER_OBSERVER_LINK, 1);
    assert_int_equal(pricer_study_privacy(study, 2, &found, &count, NULL),
                     PRICER_OK);
    assert_int_equal(count, 4);
    assert_int_equal(found[0].observer, PRICER_OBSERVER_COALITION);
    assert_string_equal(found[0].coalition, "1,3,server");
    assert_true(found[0].delta == .1 && found[1].delta == .5);
    assert_true(isinf(found[0].eps_least) && isinf(found[0].eps_mean));
    assert_int_equal(found[3].observer, PRICER_OBSERVER_LINK);
    assert_null(found[3].coalition);
    assert_int_equal(found[3].protect, PRICER_PROTECT_DATA);
    assert_int_equal(found[3].rounds, 5);
    assert_int_equal(found[3].statements, 2);
    assert_true(found[3].eps_least == 1 && found[3].eps_mean == 2 &&
                found[3].eps_most == 3);
    pricer_privacy_summaries_free(found, count);
}

static void test_privacy_damaged(void **state)
{
    (void)state;
    static const char *const edits[] = {
        "UPDATE privacy SET observer = 'zzz'",
        "UPDATE privacy SET protect = x'00'",
        "UPDATE privacy SET rounds = 0",
        "UPDATE privacy SET rounds = 'x'",
        "UPDATE privacy_statement SET delta = 2",
        "UPDATE privacy_statement SET delta = 'x' WHERE node = 1",
        "UPDATE privacy_statement SET epsilon = 'x' WHERE node = 1",
        "UPDATE privacy_statement SET epsilon = x'00' WHERE node = 2",
        "UPDATE privacy_statement SET epsilon = -1 WHERE node = 0",
        "ALTER TABLE privacy_statement DROP COLUMN epsilon;"
        "ALTER TABLE privacy_statement ADD COLUMN epsilon;"
        "UPDATE privacy_statement SET epsilon = 1 WHERE node <> 1"};
    add_answers(1, PRICER_OBSERVER_COALITION, 4);
    add_answers(1, PRICER_OBSERVER_RELAY, 4);
    for (size_t k = 0; k < sizeof edits / sizeof *edits; k++) {
        struct pricer_privacy_summary *found = (void *)1;
        struct pricer_fault fault = {""};
        int32_t count = -1;
        edit("SAVEPOINT before");
        edit(edits[k]);
        if (pricer_study_privacy(study, 1, &found, &count, &fault) !=
            PRICER_FORMAT)
            fail_msg("accepted: %s", edits[k]);
        assert_true(found == (void *)1 && count == -1);
        scratch_says(fault.text, "s.pricer: the privacy statements about plan "
                                 "1 are damaged");
        edit("ROLLBACK TO before; RELEASE before");
    }
}

/* ----------------------------------------------------------------- rounds --
 */

static void test_rounds(void **state)
{
    (void)state;
    struct pricer_rounds_summary found;
    assert_int_equal(pricer_study_rounds(study, 0, &found, NULL), PRICER_OK);
    assert_true(found.rounds == 0 && found.measured == 0);
    assert_true(isnan(found.mse) && isnan(found.mse_stderr) &&
                isnan(found.arrived));
    edit("INSERT INTO round VALUES (1, 1, 1, 4, 4, 1, 100, x'', 'constant', 7),"
         " (2, 1, 1, 2, 3, .5, 1, x'', 'minimax', 4),"
         " (5, 1, 3, 3, 0, 0, NULL, NULL, 'minimax', NULL),"
         " (9, 1, 1, 4, 3, .25, 3, x'', 'adaptive', 2)");
    assert_int_equal(pricer_study_rounds(study, 3, &found, NULL), PRICER_OK);
    assert_true(found.rounds == 3 && found.measured == 2);
    assert_true(found.mse == 2 && found.arrived == 3);
    assert_true(found.estimates == 2 && found.contributors == 2 &&
                found.weight == .25 && found.bar == 3);
    assert_close(found.mse_stderr, 1, 1e-15); /* sqrt(((1+1)/2) / (2-1)) */
    assert_int_equal(pricer_study_rounds(study, 1, &found, NULL), PRICER_OK);
    assert_true(found.mse == 3 && isnan(found.mse_stderr));
    assert_int_equal(pricer_study_rounds(study, 0, &found, NULL), PRICER_OK);
    assert_true(found.rounds == 4 && found.measured == 3);
    edit("UPDATE round SET plan = 2 WHERE round > 2");
    for (int64_t of = 1; of <= 3; of++) {
        assert_int_equal(pricer_study_plan_rounds(study, of, &found, NULL),
                         PRICER_OK);
        assert_int_equal(found.rounds, of == 3 ? 0 : 2);
        assert_int_equal(found.measured, of == 3 ? 0 : 3 - of);
    }
}

static void test_rounds_damaged(void **state)
{
    (void)state;
    static const char *const edits[] = {"UPDATE round SET error = 'x'",
                                        "UPDATE round SET error = -1",
                                        "UPDATE round SET arrived = 'x'",
                                        "UPDATE round SET arrived = -3",
                                        "UPDATE round SET contributors = -1",
                                        "UPDATE round SET weight = 'half'",
                                        "UPDATE round SET bar = -1",
                                        "UPDATE round SET bar = 'x'"};
    edit("INSERT INTO round VALUES (1, 1, 1, 4, 4, 1, 100, x'', 'minimax', 1)");
    for (size_t k = 0; k < sizeof edits / sizeof *edits; k++) {
        struct pricer_rounds_summary found = {.rounds = -1};
        edit("SAVEPOINT before");
        edit(edits[k]);
        assert_int_equal(pricer_study_rounds(study, 0, &found, NULL),
                         PRICER_FORMAT);
        assert_int_equal(found.rounds, -1);
        edit("ROLLBACK TO before; RELEASE before");
    }
}

/* ----------------------------------------------------------------- tables --
 */

static void test_tables(void **state)
{
    (void)state;
    struct pricer_table *tables = NULL;
    int32_t count = 0;
    edit("CREATE TABLE \"a \"\" ; odd\" (x); INSERT INTO \"a \"\" ; odd\""
         " VALUES (1), (2)");
    assert_int_equal(pricer_study_tables(study, &tables, &count, NULL),
                     PRICER_OK);
    assert_string_equal(tables[0].name, "setting");
    assert_int_equal(tables[0].rows, 10);
    assert_string_equal(tables[1].name, "node");
    assert_int_equal(tables[1].rows, 4);
    assert_string_equal(tables[count - 1].name, "a \" ; odd");
    assert_int_equal(tables[count - 1].rows, 2);
    pricer_tables_free(tables, count);
}

/* What a visit has shown. */
struct seen {
    int32_t columns;
    int64_t rows;
    int64_t most; /* rows after which the visitor has enough */
    char names[200];
    struct pricer_cell last[8]; /* the last row */
    char last_text[40];         /* and its last text */
};

static bool see_columns(void *context, const char *const *names, int32_t count)
{
    struct seen *seen = context;
    seen->columns = count;
    for (int32_t c = 0; c < count; c++) {
        strcat(seen->names, names[c]);
        strcat(seen->names, " ");
    }
    return true;
}

static bool see_row(void *context, const struct pricer_cell *cells,
                    int32_t count)
{
    struct seen *seen = context;
    for (int32_t c = 0; c < count && c < 8; c++) {
        seen->last[c] = cells[c];
        if (cells[c].kind == PRICER_CELL_TEXT)
            snprintf(seen->last_text, sizeof seen->last_text, "%s",
                     cells[c].text);
    }
    return ++seen->rows < seen->most;
}

static void test_visit(void **state)
{
    (void)state;
    struct seen seen = {.most = 100};
    struct pricer_visitor visitor = {see_columns, see_row, &seen};
    edit("CREATE TABLE t (a, b, c, d, \"e,\"); INSERT INTO t VALUES"
         " (0, 0, 0, 0, 0), (-3, 0.5, 'words', NULL, x'0102')");
    assert_int_equal(pricer_study_visit(study, "t", &visitor, NULL), PRICER_OK);
    assert_int_equal(seen.columns, 5);
    assert_int_equal(seen.rows, 2);
    assert_string_equal(seen.names, "a b c d e, ");
    static const enum pricer_cell_kind kinds[] = {
        PRICER_CELL_COUNT, PRICER_CELL_NUMBER, PRICER_CELL_TEXT,
        PRICER_CELL_EMPTY, PRICER_CELL_BYTES};
    for (int c = 0; c < 5; c++)
        assert_int_equal(seen.last[c].kind, kinds[c]);
    assert_true(seen.last[0].count == -3 && seen.last[0].number == -3);
    assert_true(seen.last[1].count == 0 && seen.last[1].number == .5);
    assert_string_equal(seen.last_text, "words");
    for (int c = 2; c < 5; c++)
        assert_true(isnan(seen.last[c].number) && seen.last[c].count == 0);

    seen = (struct seen){.most = 1};
    visitor.columns = NULL;
    assert_int_equal(pricer_study_visit(study, "t", &visitor, NULL),
                     PRICER_STOPPED);
    assert_int_equal(seen.rows, 1);
    struct pricer_fault fault = {""};
    assert_int_equal(
        pricer_study_visit(study, "x\"; DROP TABLE t; --", &visitor, &fault),
        PRICER_FILE);
    assert_non_null(strstr(fault.text, "no such table"));
    assert_int_equal(pricer_study_visit(study, "t", &visitor, NULL),
                     PRICER_STOPPED);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* What is known of a key only grows, and of one that never came nothing is. */
static void test_seen(void **state)
{
    static const char *const keys[] = {
        "0123456789012345678901234567890123456789",
        "9876543210987654321098765432109876543210"};
    struct pricer_fault fault = {""};
    struct pricer_seen seen[2] = {{.round = 7, .session = 3},
                                  {.round = 9, .session = 9}};
    (void)state;
    for (int k = 0; k < 2; k++)
        strcpy(seen[k].key, keys[k]);
    assert_int_equal(pricer_study_note_seen(study, seen, 1, &fault), PRICER_OK);
    seen[0].round = 5;
    seen[0].session = 4;
    assert_int_equal(pricer_study_note_seen(study, seen, 1, &fault), PRICER_OK);
    assert_int_equal(pricer_study_seen(study, seen, 2, &fault), PRICER_OK);
    assert_int_equal(seen[0].round, 7);
    assert_int_equal(seen[0].session, 4);
    assert_int_equal(seen[1].round, 0);
    assert_int_equal(seen[1].session, 0);
    sqlite3_exec(study->database, "UPDATE member_seen SET round = -1", NULL,
                 NULL, NULL);
    assert_int_equal(pricer_study_seen(study, seen, 2, &fault), PRICER_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(test_scenario),   EACH(test_latest_plan),
        EACH(test_simulation), EACH(test_simulation_damaged),
        EACH(test_privacy),    EACH(test_privacy_damaged),
        EACH(test_rounds),     EACH(test_rounds_damaged),
        EACH(test_tables),     EACH(test_visit),
        EACH(test_seen),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
