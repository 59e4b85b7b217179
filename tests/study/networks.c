/*
 * A plan comes back with the network that it was made for, damaged ones are
 * refused, and a study that is claimed is neither claimed twice nor replaced.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "study/study.h"

#include <sys/wait.h>
#include <unistd.h>

static const char text[] =
    "dimension: 2\nrounds: 7\n"
    "network: {generator: erdos-renyi, nodes: 4, p: 0.5, uplink: 0.5}\n"
    "trust: {eps: 1, delta: 1e-3}\n";

static struct pricer_scenario *scenario;
static struct pricer_network *network, *measured;
static struct pricer_plan *plan;
static struct pricer_study *study;

/* The network with other probabilities, as rounds might have shown them. */
static void measure(void)
{
    for (int32_t i = 0; i < measured->nodes; i++)
        measured->uplink[i] = 1. / (i + 3);
    for (int32_t l = 0; l < measured->links; l++) {
        measured->p[l] = .25 + .125 * (measured->from[l] % 2);
        measured->joint[l] = .2;
    }
}

/* A study with a plan for each of the two networks, for every test anew. */
static int set_up(void **state)
{
    struct pricer_fault fault = {""};
    struct pricer_plan_record first = {.settings.rounds = 7};
    struct pricer_plan_record second = {
        .network = {.origin = PRICER_ORIGIN_MEASURED,
                    .rounds = 40,
                    .first = 3,
                    .last = 44},
        .settings = {.rounds = 9}};
    const char *file = scratch_path("s.pricer");
    (void)state;
    if (pricer_scenario_read(scratch_text("s.yaml", text), NULL, 0, &scenario,
                             &fault) ||
        pricer_scenario_network(scenario, NULL, &network, &fault) ||
        pricer_scenario_network(scenario, NULL, &measured, &fault) ||
        pricer_study_create(file, true, scenario, network, NULL, &fault) ||
        pricer_study_open(file, true, &study, &fault) ||
        pricer_plan_new(network, &plan, &fault))
        fail_msg("%s", fault.text);
    measure();
    if (pricer_study_add_plan(study, network, plan, &first, NULL, &fault) ||
        pricer_study_add_plan(study, measured, plan, &second, NULL, &fault))
        fail_msg("%s", fault.text);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pricer_study_close(study);
    pricer_plan_free(plan);
    pricer_network_free(network);
    pricer_network_free(measured);
    pricer_scenario_free(scenario);
    return 0;
}

static void assert_network(const struct pricer_network *found,
                           const struct pricer_network *expected)
{
    size_t nodes = (size_t)expected->nodes, links = (size_t)expected->links;
    assert_int_equal(found->nodes, expected->nodes);
    assert_int_equal(found->links, expected->links);
    assert_true(found->radius == expected->radius);
    assert_memory_equal(found->uplink, expected->uplink, 8 * nodes);
    assert_memory_equal(found->p, expected->p, 8 * links);
    assert_memory_equal(found->joint, expected->joint, 8 * links);
    assert_memory_equal(found->eps, expected->eps, 8 * links);
    assert_memory_equal(found->delta, expected->delta, 8 * links);
    assert_memory_equal(found->partner, expected->partner, 4 * links);
}

static void test_each_plan_has_its_network(void **state)
{
    (void)state;
    for (int64_t id = 0; id <= 2; id++) {
        struct pricer_network *net = NULL;
        struct pricer_plan *back = NULL;
        struct pricer_plan_record found;
        assert_int_equal(
            pricer_study_plan(study, id, &net, &back, &found, NULL), PRICER_OK);
        bool second = id != 1;
        assert_network(net, second ? measured : network);
        assert_int_equal(found.id, second ? 2 : 1);
        assert_int_equal(found.network.id, second ? 2 : 1);
        assert_int_equal(found.network.origin, second ? PRICER_ORIGIN_MEASURED
                                                      : PRICER_ORIGIN_SCENARIO);
        assert_int_equal(found.network.rounds, second ? 40 : 0);
        assert_int_equal(found.network.first, second ? 3 : 0);
        assert_int_equal(found.network.last, second ? 44 : 0);
        assert_int_equal(found.settings.rounds, second ? 9 : 7);
        pricer_network_free(net);
        pricer_plan_free(back);
    }
    struct pricer_network *net = NULL;
    assert_int_equal(pricer_study_network(study, &net, NULL), PRICER_OK);
    assert_network(net, network);
    pricer_network_free(net);
}

/* Whatever is edited in the tables is found when the plan is read. */
static void test_refuses_edits(void **state)
{
    (void)state;
    static const char *const edits[] = {
        "UPDATE network_link SET p = 1.3 WHERE link = 5",
        "UPDATE network_link SET p = 0 WHERE link = 5",
        "UPDATE network_link SET p = 'x' WHERE link = 5",
        "UPDATE network_link SET joint = 0.9 WHERE link = 5",
        "UPDATE network_link SET link = 50 WHERE link = 5",
        "DELETE FROM network_link WHERE link = 11",
        "INSERT INTO network_link VALUES (2, 12, 0.5, 0.5)",
        "UPDATE network_node SET p = 2 WHERE node = 1",
        "DELETE FROM network_node WHERE node = 0",
        "DELETE FROM network WHERE network = 2",
        "UPDATE network SET origin = 'zzz'",
        "UPDATE network SET origin = 'scenario'",
        "UPDATE network SET rounds = -1",
        "UPDATE plan SET network = 7",
        "UPDATE plan SET credit = 'losses'",
        "UPDATE plan SET rounds = 0",
        "UPDATE plan SET rounds = 9e999",
        "UPDATE plan SET lambda = 9e999",
    };
    sqlite3_exec(study->database, "PRAGMA foreign_keys = OFF", NULL, NULL,
                 NULL);
    for (size_t k = 0; k < sizeof edits / sizeof *edits; k++) {
        struct pricer_network *net = (void *)1;
        struct pricer_plan *back = (void *)1;
        struct pricer_fault fault = {""};
        sqlite3_exec(study->database, "SAVEPOINT before", NULL, NULL, NULL);
        assert_int_equal(
            sqlite3_exec(study->database, edits[k], NULL, NULL, NULL),
            SQLITE_OK);
        if (pricer_study_plan(study, 0, &net, &back, NULL, &fault) == PRICER_OK)
            fail_msg("'%s' went unseen", edits[k]);
        assert_true(net == (void *)1 && back == (void *)1);
        assert_non_null(strstr(fault.text, "s.pricer: "));
        sqlite3_exec(study->database, "ROLLBACK TO before; RELEASE before",
                     NULL, NULL, NULL);
    }
}

/* A number that is none is refused in words, and nothing of it is stored. */
static void test_not_finite(void **state)
{
    (void)state;
    struct pricer_plan_record record = {.network.origin =
                                            PRICER_ORIGIN_MEASURED};
    struct pricer_fault fault = {""};
    int64_t plans = 0, networks = 0;
    plan->weight[1] = 1;
    plan->noise[1] = NAN;
    assert_int_equal(
        pricer_study_add_plan(study, measured, plan, &record, NULL, &fault),
        PRICER_VALUE);
    assert_non_null(strstr(fault.text, "is not a finite number"));
    assert_null(strstr(fault.text, "constraint"));
    assert_int_equal(pricer_study_latest_plan(study, &plans, NULL), PRICER_OK);
    assert_int_equal(plans, 2);
    assert_int_equal(pri_study_count(study, "SELECT max(network) FROM network",
                                     &networks, NULL),
                     PRICER_OK);
    assert_int_equal(networks, 2);
}

/* ------------------------------------------------------------------ claim --
 */

static enum pricer_status create_anew(struct pricer_fault *fault)
{
    return pricer_study_create(scratch_path("s.pricer"), true, scenario,
                               network, NULL, fault);
}

static void test_claim(void **state)
{
    (void)state;
    struct pricer_study *second = NULL;
    struct pricer_fault fault = {""};
    int64_t latest = 0;
    assert_int_equal(
        pricer_study_open(scratch_path("s.pricer"), true, &second, &fault),
        PRICER_OK);
    assert_int_equal(pricer_study_claim(study, &fault), PRICER_OK);
    assert_int_equal(pricer_study_claim(study, &fault), PRICER_OK);
    for (int k = 0; k < 2; k++)
        assert_int_equal(pricer_study_claim(second, &fault), PRICER_BUSY);
    assert_non_null(strstr(fault.text, "a server has this study open"));
    assert_int_equal(create_anew(&fault), PRICER_BUSY);
    /* Others go on reading and writing. */
    struct pricer_plan_record record = {0};
    assert_int_equal(
        pricer_study_add_plan(second, network, plan, &record, NULL, NULL),
        PRICER_OK);
    assert_int_equal(pricer_study_latest_plan(study, &latest, NULL), PRICER_OK);
    assert_int_equal(latest, 3);
    pricer_study_close(study);
    study = second;
    assert_int_equal(pricer_study_claim(study, &fault), PRICER_OK);
    pricer_study_close(study);
    study = NULL;
    assert_int_equal(create_anew(&fault), PRICER_OK);
}

/* A claim ends with its program, and a replaced study cannot be claimed. */
static void test_claim_ends(void **state)
{
    (void)state;
    struct pricer_fault fault = {""};
    pid_t child = fork();
    if (child == 0) {
        struct pricer_study *own = NULL;
        bool good = pricer_study_open(scratch_path("s.pricer"), true, &own,
                                      NULL) == PRICER_OK &&
                    pricer_study_claim(own, NULL) == PRICER_OK;
        _exit(good ? 0 : 1);
    }
    int how = -1;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    assert_int_equal(create_anew(&fault), PRICER_OK);
    assert_int_equal(pricer_study_claim(study, &fault), PRICER_BUSY);
    assert_non_null(strstr(fault.text, "replaced"));
}

/* Only studies are replaced. */
static void test_replaces_studies_only(void **state)
{
    (void)state;
    static const char *const files[] = {"", "letters to my mother\n"};
    for (int k = 0; k < 2; k++) {
        struct pricer_fault fault = {""};
        const char *path = scratch_text("letters", files[k]);
        assert_int_equal(
            pricer_study_create(path, true, scenario, network, NULL, &fault),
            PRICER_FORMAT);
        assert_non_null(strstr(fault.text, "not a study"));
        assert_int_equal(
            pricer_study_create(scratch, true, scenario, network, NULL, &fault),
            PRICER_FILE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_plan_has_its_network, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_refuses_edits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_finite, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_claim, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_claim_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_replaces_studies_only, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
