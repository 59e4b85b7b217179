/*
 * Members, rounds and deliveries in a study: what goes in is counted right,
 * numbers are never used twice, and the measured network is a network.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "pricer_study.h"

#include <math.h>
#include <sqlite3.h>

static const char text[] =
    "dimension: 2\nradius: 1\n"
    "network: {generator: ring, nodes: 4, p: 0.5, uplink: 0.5}\n"
    "trust: {eps: 1, delta: 1e-3}\n";
static const char *const keys[] = {"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7",
                                   "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"};

static struct pricer_study *study;
static struct pricer_network *network;

static int set_up(void **state)
{
    struct pricer_fault fault = {""};
    struct pricer_scenario *scenario = NULL;
    struct pricer_plan *plan = NULL;
    struct pricer_plan_record record = {0};
    if (scratch_open(state) ||
        pricer_scenario_read(scratch_text("s.yaml", text), NULL, 0, &scenario,
                             &fault) ||
        pricer_scenario_network(scenario, NULL, &network, &fault) ||
        pricer_study_create(scratch_path("s.pricer"), false, scenario, network,
                            NULL, &fault) ||
        pricer_study_open(scratch_path("s.pricer"), true, &study, &fault) ||
        pricer_plan_new(network, &plan, &fault) ||
        pricer_study_add_plan(study, network, plan, &record, NULL, &fault)) {
        print_error("%s\n", fault.text);
        return 1;
    }
    pricer_plan_free(plan);
    pricer_scenario_free(scenario);
    return 0;
}

static int tear_down(void **state)
{
    pricer_study_close(study);
    pricer_network_free(network);
    return scratch_close(state);
}

static enum pricer_status enrol(int32_t node, const char *key,
                                const char *address)
{
    struct pricer_member member = {.node = node};
    snprintf(member.key, sizeof member.key, "%s", key);
    snprintf(member.address, sizeof member.address, "%s", address);
    return pricer_study_enrol(study, &member, NULL);
}

static void test_members(void **state)
{
    (void)state;
    struct pricer_member *members = NULL;
    int32_t count = 0;
    assert_int_equal(enrol(2, keys[0], "tcp://10.0.0.1:1"), PRICER_OK);
    assert_int_equal(enrol(PRICER_SERVER, keys[1], "tcp://h:65535"), PRICER_OK);
    assert_int_equal(enrol(1, keys[0], "tcp://h:2"), PRICER_VALUE);
    assert_int_equal(enrol(4, keys[0], "tcp://h:2"), PRICER_VALUE);
    assert_int_equal(enrol(2, "short", "tcp://h:2"), PRICER_VALUE);
    assert_int_equal(enrol(2, keys[0], "udp://h:2"), PRICER_VALUE);
    assert_int_equal(enrol(2, keys[0], "tcp://h"), PRICER_VALUE);
    assert_int_equal(enrol(2, keys[0], "tcp://h:2"), PRICER_OK);
    assert_int_equal(pricer_study_members(study, &members, &count, NULL),
                     PRICER_OK);
    assert_int_equal(count, 2);
    assert_int_equal(members[0].node, PRICER_SERVER);
    assert_string_equal(members[1].address, "tcp://h:2");
    pricer_members_free(members);
}

/* Store a round of two attempts in which these links were known and arrived. */
static int64_t store(int64_t round, const int8_t *uplink, const int8_t *link)
{
    double estimate[2] = {1, 2};
    int64_t next = 0;
    struct pricer_round_record record = {.round = round,
                                         .plan = 1,
                                         .nodes = network->nodes,
                                         .links = network->links,
                                         .dimension = 2,
                                         .attempts = 2,
                                         .uplink = uplink,
                                         .link = link,
                                         .estimate = estimate,
                                         .error = NAN,
                                         .dropped = {0, 3}};
    struct pricer_fault fault = {""};
    if (pricer_study_add_round(study, &record, 0, &next, &fault))
        fail_msg("%s", fault.text);
    /* The same round a second time is refused and changes nothing. */
    assert_int_not_equal(pricer_study_add_round(study, &record, 0, NULL, NULL),
                         PRICER_OK);
    return next;
}

static void test_deliveries(void **state)
{
    (void)state;
    struct pricer_deliveries *counted = NULL;
    struct pricer_network *measured = NULL;
    struct pricer_fault fault = {""};
    uint64_t seed = 11;
    int64_t round = 0, up[4] = {0}, known[8] = {0}, came[8] = {0};
    int64_t both[8] = {0}, both_known[8] = {0};
    assert_int_equal(network->links, 8);
    assert_int_equal(pricer_study_open_round(study, 0, &round, NULL),
                     PRICER_OK);
    assert_int_equal(round, 1);
    for (int r = 0; r < 200; r++) {
        int8_t uplink[2 * 4], link[2 * 8];
        for (int i = 0; i < 2 * 4; i++)
            up[i % 4] += uplink[i] = (int8_t)(test_random(&seed) % 2);
        for (int l = 0; l < 2 * 8; l++) {
            link[l] = (int8_t)(test_random(&seed) % 3) - 1;
            known[l % 8] += link[l] >= 0;
            came[l % 8] += link[l] == 1;
        }
        for (int l = 0; l < 2 * 8; l++) { /* partners in the same attempt */
            int8_t back = link[l / 8 * 8 + network->partner[l % 8]];
            both_known[l % 8] += link[l] >= 0 && back >= 0;
            both[l % 8] += link[l] == 1 && back == 1;
        }
        round = store(round, uplink, link);
        assert_int_equal(round, r + 2);
    }
    assert_int_equal(
        pricer_study_deliveries(study, network, 0, &counted, &fault),
        PRICER_OK);
    assert_int_equal(counted->rounds, 200);
    for (int i = 0; i < 4; i++)
        assert_int_equal(counted->uplink[i].arrived, up[i]);
    for (int l = 0; l < 8; l++) {
        assert_int_equal(counted->link[l].tried, known[l]);
        assert_int_equal(counted->link[l].arrived, came[l]);
        assert_int_equal(counted->both[l].tried, both_known[l]);
        assert_int_equal(counted->both[l].arrived, both[l]);
    }
    if (pricer_network_measured(network, counted, &measured, &fault))
        fail_msg("%s", fault.text);
    assert_int_equal(measured->links, 8);
    for (int l = 0; l < 8; l++)
        assert_close(measured->p[l],
                     ((double)came[l] + 1) / ((double)known[l] + 2), 1e-12);
    pricer_network_free(measured);
    pricer_deliveries_free(counted);
    assert_int_equal(
        pricer_study_deliveries(study, network, 10, &counted, &fault),
        PRICER_OK);
    assert_int_equal(counted->rounds, 10);
    assert_int_equal(counted->uplink[0].tried, 20);
    pricer_deliveries_free(counted);
}

/* After a crash the number that was open is not used again. */
static void test_numbers(void **state)
{
    (void)state;
    int64_t before = 0, after = 0;
    assert_int_equal(pricer_study_open_round(study, 0, &before, NULL),
                     PRICER_OK);
    assert_int_equal(pricer_study_open_round(study, 0, &after, NULL),
                     PRICER_OK);
    assert_int_equal(after, before + 1);
    assert_int_equal(pricer_study_open_round(study, 5000, &after, NULL),
                     PRICER_OK);
    assert_int_equal(after, 5000);
}

/* Published values of Wilson's interval: 10 of 20 at 95 %. */
static void test_interval(void **state)
{
    (void)state;
    double low, high;
    pricer_delivery_interval(&(struct pricer_delivery){10, 20}, .95, &low,
                             &high);
    assert_close(low, 0.299298, 1e-6);
    assert_close(high, 0.700702, 1e-6);
    pricer_delivery_interval(&(struct pricer_delivery){0, 10}, .95, &low,
                             &high);
    assert_true(low == 0);
    assert_close(high, 0.277533, 1e-6);
    pricer_delivery_interval(&(struct pricer_delivery){0, 0}, .95, &low, &high);
    assert_true(low == 0 && high == 1);
}

/* What a table says of an entry of a round; -1: it has no row. */
static int look_up(sqlite3_stmt *query, int64_t round, int64_t attempt,
                   int64_t number)
{
    sqlite3_bind_int64(query, 1, round);
    sqlite3_bind_int64(query, 2, attempt);
    sqlite3_bind_int64(query, 3, number);
    int found =
        sqlite3_step(query) == SQLITE_ROW ? sqlite3_column_int(query, 0) : -1;
    sqlite3_reset(query);
    return found;
}

/* Rounds with none to 200 rows, all there and nothing else: those around multiples
 * of 64 fill whole statements. */
static void test_rows(void **state)
{
    (void)state;
    enum { NODES = 4, ATTEMPTS = 50, ALL = NODES * ATTEMPTS };
    const int known[] = {0, 1, 63, 64, 65, 127, 128, 129, 150, ALL};
    uint64_t seed = 9;
    sqlite3 *database;
    sqlite3_stmt *query;
    assert_int_equal(sqlite3_open(scratch_path("s.pricer"), &database), 0);
    assert_int_equal(
        sqlite3_prepare_v2(database,
                           "SELECT arrived FROM arrival WHERE round = ? AND"
                           " attempt = ? AND node = ?",
                           -1, &query, NULL),
        SQLITE_OK);
    for (size_t t = 0; t < sizeof known / sizeof *known; t++) {
        int8_t uplink[ALL], *link = calloc((size_t)network->links, ATTEMPTS);
        int64_t round = 1000 + (int64_t)t;
        assert_non_null(link);
        memset(uplink, -1, sizeof uplink);
        for (int left = known[t]; left > 0;) {
            int8_t *entry = &uplink[test_random(&seed) % ALL];
            left -= *entry < 0;
            *entry = (int8_t)(test_random(&seed) % 2);
        }
        const struct pricer_round_record record = {.round = round,
                                                   .plan = 1,
                                                   .nodes = NODES,
                                                   .links = network->links,
                                                   .dimension = 2,
                                                   .attempts = ATTEMPTS,
                                                   .uplink = uplink,
                                                   .link = link,
                                                   .error = NAN};
        assert_int_equal(pricer_study_add_round(study, &record, 0, NULL, NULL),
                         PRICER_OK);
        for (int k = 0; k < ALL; k++)
            assert_int_equal(look_up(query, round, k / NODES, k % NODES),
                             uplink[k]);
        free(link);
    }
    sqlite3_finalize(query);
    sqlite3_close(database);
}

/* Statements serve many rounds: nothing of one is in the next. Every other round has
 * an estimate, and each has a part withheld and messages dropped of its own. */
static void test_kept(void **state)
{
    (void)state;
    enum { NODES = 4, ROUNDS = 24 };
    int8_t uplink[NODES] = {1, 1, 1, 1}, *link = calloc(NODES * NODES, 1);
    sqlite3 *database;
    sqlite3_stmt *query;
    assert_non_null(link);
    for (int t = 0; t < ROUNDS; t++) {
        int8_t own[NODES] = {-1, -1, -1, -1};
        double *estimate = malloc(2 * sizeof *estimate);
        assert_non_null(estimate);
        estimate[0] = estimate[1] = t;
        own[t % NODES] = (int8_t)(t % 3);
        struct pricer_round_record record = {.round = 2000 + t,
                                             .plan = 1,
                                             .nodes = NODES,
                                             .links = network->links,
                                             .dimension = 2,
                                             .uplink = uplink,
                                             .link = link,
                                             .own = own,
                                             .error = t,
                                             .bar = t};
        record.estimate = t % 2 ? estimate : NULL;
        record.dropped[t % PRICER_DROP_KINDS] = 1 + t;
        assert_int_equal(pricer_study_add_round(study, &record, 0, NULL, NULL),
                         PRICER_OK);
        free(estimate);
    }
    free(link);
    assert_int_equal(sqlite3_open(scratch_path("s.pricer"), &database), 0);
    assert_int_equal(
        sqlite3_prepare_v2(
            database,
            "SELECT round - 2000, estimate IS NULL, error, bar,"
            " (SELECT group_concat(node || ' ' || reason) FROM withheld w WHERE"
            " w.round = r.round), (SELECT sum(messages) FROM dropped d WHERE"
            " d.round = r.round), estimate FROM round r WHERE round >= 2000"
            " ORDER BY round",
            -1, &query, NULL),
        SQLITE_OK);
    for (int t = 0; t < ROUNDS; t++) {
        char withheld[64];
        assert_int_equal(sqlite3_step(query), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(query, 0), t);
        assert_int_equal(sqlite3_column_int(query, 1), t % 2 == 0);
        for (int column = 2; column <= 3; column++)
            assert_int_equal(sqlite3_column_type(query, column),
                             t % 2 ? SQLITE_FLOAT : SQLITE_NULL);
        snprintf(withheld, sizeof withheld, "%d %s", t % NODES,
                 pricer_word(PRICER_WORDS_WITHHELD, t % 3));
        assert_string_equal((const char *)sqlite3_column_text(query, 4),
                            withheld);
        assert_int_equal(sqlite3_column_int(query, 5), 1 + t);
        const double expected[2] = {t, t};
        if (t % 2)
            assert_memory_equal(sqlite3_column_blob(query, 6), expected,
                                sizeof expected);
    }
    sqlite3_finalize(query);
    sqlite3_close(database);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members), cmocka_unit_test(test_deliveries),
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_interval),
        cmocka_unit_test(test_rows),    cmocka_unit_test(test_kept),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
