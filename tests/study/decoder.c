/*
 * Decoders in a study: what goes in comes out to the bit, a plan without one
 * has none, and what no verb has written is a fault.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "pricer_decode.h"
#include "study/study.h"

static struct pricer_study *study;
static struct pricer_network *network;
static struct pricer_plan *plan;
static struct pricer_decoder *decoder;
static int64_t with_decoder, without;

static int set_up(void **state)
{
    struct pricer_scenario *scenario = NULL;
    struct pricer_fault fault = {""};
    struct pricer_settings settings = {0};
    struct pricer_solve_info info;
    struct pricer_decoder_settings ask = {.patterns = 512, .threads = 1};
    int failed = scratch_open(state);
    const char *path = scratch_text(
        "s.yaml", "dimension: 4\n"
                  "network: {generator: erdos-renyi, nodes: 5, uplink: 0.5, "
                  "p: 0.5}\n"
                  "trust: {eps: 10}\n");
    const char *file = scratch_path("s.pricer");
    struct pricer_plan_record record = {.method = PRICER_METHOD_GIVEN};
    if (failed || pricer_scenario_read(path, NULL, 0, &scenario, &fault) ||
        pricer_scenario_network(scenario, NULL, &network, &fault) ||
        pricer_study_create(file, true, scenario, network, NULL, &fault) ||
        pricer_study_open(file, true, &study, &fault) ||
        pricer_plan_optimise(network, &settings, NULL, &plan, &info, &fault) ||
        pricer_decoder_fit(network, plan, &ask, &decoder, &fault) ||
        pricer_study_add_plan(study, network, plan, &record, &without, &fault))
        return 1;
    decoder->unbiased = true;
    record.decoder = decoder;
    failed = pricer_study_add_plan(study, network, plan, &record, &with_decoder,
                                   &fault);
    pricer_scenario_free(scenario);
    return failed;
}

static int tear_down(void **state)
{
    pricer_study_close(study);
    pricer_decoder_free(decoder);
    pricer_plan_free(plan);
    pricer_network_free(network);
    return scratch_close(state);
}

static void edit(const char *sql)
{
    assert_int_equal(sqlite3_exec(study->database, "PRAGMA foreign_keys = OFF",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    if (sqlite3_exec(study->database, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(study->database));
}

static void test_stored(void **state)
{
    (void)state;
    struct pricer_decoder *found = NULL;
    size_t size = (size_t)decoder->nodes * sizeof(double);
    assert_int_equal(
        pricer_study_decoder(study, with_decoder, network, &found, NULL),
        PRICER_OK);
    assert_non_null(found);
    assert_int_equal(found->nodes, decoder->nodes);
    assert_int_equal(found->rank, decoder->rank);
    assert_int_equal(found->blind, decoder->blind);
    assert_int_equal(found->exact, decoder->exact);
    assert_int_equal(found->patterns, decoder->patterns);
    assert_true(found->blend == decoder->blend && found->blend > 0);
    assert_true(found->unbiased);
    assert_true(found->constant == decoder->constant);
    assert_true(found->lower == decoder->lower);
    assert_true(found->reached == decoder->reached);
    assert_true(found->upper == decoder->upper);
    assert_true(found->lower_stderr == decoder->lower_stderr);
    assert_true(found->upper_stderr == decoder->upper_stderr);
    assert_memory_equal(found->own, decoder->own, size);
    assert_memory_equal(found->target, decoder->target, size);
    assert_memory_equal(found->cap, decoder->cap, size);
    assert_memory_equal(found->shared, decoder->shared,
                        size * (size_t)decoder->rank);
    pricer_decoder_free(found);
}

static void test_none(void **state)
{
    (void)state;
    struct pricer_decoder *found = (void *)1;
    assert_int_equal(
        pricer_study_decoder(study, without, network, &found, NULL), PRICER_OK);
    assert_null(found);
}

/* One of another network takes its plan with it: nothing is stored. */
static void test_all_or_nothing(void **state)
{
    (void)state;
    struct pricer_decoder *other = NULL;
    struct pricer_plan_record record = {.method = PRICER_METHOD_GIVEN};
    int64_t before = 0, after = 0;
    assert_int_equal(pricer_study_latest_plan(study, &before, NULL), PRICER_OK);
    assert_int_equal(pricer_decoder_new(4, 1, &other, NULL), PRICER_OK);
    record.decoder = other;
    assert_int_equal(
        pricer_study_add_plan(study, network, plan, &record, NULL, NULL),
        PRICER_VALUE);
    pricer_decoder_free(other);
    assert_int_equal(pricer_decoder_new(5, 1, &other, NULL), PRICER_OK);
    other->cap[3] = NAN;
    record.decoder = other;
    assert_int_equal(
        pricer_study_add_plan(study, network, plan, &record, NULL, NULL),
        PRICER_VALUE);
    pricer_decoder_free(other);
    assert_int_equal(pricer_study_latest_plan(study, &after, NULL), PRICER_OK);
    assert_int_equal(before, after);
}

static void test_damaged(void **state)
{
    (void)state;
    static const char *const edits[] = {
        "UPDATE decoder SET rank = 0",
        "UPDATE decoder SET rank = 6",
        "UPDATE decoder SET rank = 4",
        "UPDATE decoder SET rank = 9e18",
        "UPDATE decoder SET rank = 'x'",
        "UPDATE decoder SET blend = 1.5",
        "UPDATE decoder SET blend = 'x'",
        "UPDATE decoder SET horizon = 0.5",
        "UPDATE decoder SET lower = -1",
        "UPDATE decoder SET upper = 9e999",
        "UPDATE decoder SET upper = constant * 2",
        "UPDATE decoder SET constant = x'00'",
        "UPDATE decoder SET upper_stderr = 'x'",
        "UPDATE decoder SET patterns = -1",
        "UPDATE decoder_node SET node = 99 WHERE node = 1",
        "UPDATE decoder_node SET node = -1 WHERE node = 1",
        "UPDATE decoder_node SET own = -0.5 WHERE node = 1",
        "UPDATE decoder_node SET own = own + 0.1 WHERE node = 4",
        "UPDATE decoder_node SET own = 'x'",
        "UPDATE decoder_node SET target = 9e999 WHERE node = 0",
        "UPDATE decoder_node SET cap = -1",
        "UPDATE decoder_node SET cap = 9e999",
        "UPDATE decoder_node SET shared = x'00ff' WHERE node = 2",
        "UPDATE decoder_node SET shared = 7",
        "UPDATE decoder_node SET shared = zeroblob(40)",
        "DELETE FROM decoder_node WHERE node = 3",
        "DELETE FROM decoder_node"};
    for (size_t k = 0; k < sizeof edits / sizeof *edits; k++) {
        struct pricer_decoder *found = (void *)1;
        struct pricer_fault fault = {""};
        edit("SAVEPOINT before");
        edit(edits[k]);
        if (pricer_study_decoder(study, with_decoder, network, &found,
                                 &fault) != PRICER_FORMAT)
            fail_msg("accepted: %s", edits[k]);
        assert_true(found == (void *)1);
        assert_non_null(strstr(fault.text, "is not in order"));
        edit("ROLLBACK TO before; RELEASE before");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stored),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_all_or_nothing),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
