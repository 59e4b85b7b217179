/*
 * Scenarios: what is understood, and that every mistake is named with its file
 * and line and leaves nothing behind.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "read/keys.h"

/* A scenario that is right; tests break one line of it. */
static const char good[] = "dimension: 8\n"                 /* 1 */
                           "network:\n"                     /* 2 */
                           "  generator: ring\n"            /* 3 */
                           "  nodes: 6\n"                   /* 4 */
                           "  p: 0.5\n"                     /* 5 */
                           "  uplink: 0.3\n"                /* 6 */
                           "trust:\n"                       /* 7 */
                           "  eps: 2\n"                     /* 8 */
                           "  ring: {hops: 1, eps: inf}\n"; /* 9 */

static void refuse_text(const char *text, const char *words)
{
    const char *path = scratch_text("s.yaml", text);
    struct pricer_scenario *scenario = NULL;
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    enum pricer_status status =
        pricer_scenario_read(path, NULL, 0, &scenario, &fault);
    if (status == PRICER_OK)
        status = pricer_scenario_network(scenario, NULL, &network, &fault);
    assert_int_not_equal(status, PRICER_OK);
    assert_null(network);
    if (strstr(fault.text, words) == NULL)
        fail_msg("'%s' does not say '%s'", fault.text, words);
    if (strstr(fault.text, "s.yaml") == NULL)
        fail_msg("'%s' does not name the file", fault.text);
    pricer_scenario_free(scenario);
}

/* Break the good scenario: replace one piece of it by another. */
static void refuse(const char *piece, const char *by, const char *words)
{
    char text[1024];
    const char *at = strstr(good, piece);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, by,
             at + strlen(piece));
    refuse_text(text, words);
}

static void test_refuses(void **state)
{
    (void)state;
    refuse("dimension: 8", "dimention: 8",
           "s.yaml:1: there is no key dimention (did you mean dimension?)");
    refuse("  p: 0.5", "  pp: 0.5",
           "s.yaml:5: there is no key network.pp (did you mean network.p?)");
    refuse("p: 0.5", "p: 1.3",
           "s.yaml:5: network.p = 1.3 is not between 0 and 1 (percent? then "
           "divide by 100)");
    refuse("network:", "netwrok:",
           "s.yaml:2: there is no key netwrok (did you mean network?)");
    refuse("dimension: 8", "dimension: 8\neps: 1",
           "s.yaml:2: there is no key eps (did you mean trust.eps?)");
    refuse("dimension: 8", "dimension: 8\nbanana: 1",
           "s.yaml:2: there is no key banana");
    refuse("p: 0.5", "p: 0.5x", "s.yaml:5: network.p is '0.5x'");
    refuse("p: 0.5", "p: nan", "s.yaml:5: network.p is 'nan'");
    refuse("p: 0.5", "p: [0.5]", "s.yaml:5: network.p: expected a single");
    refuse("  p: 0.5\n", "", "the key network.p is missing");
    refuse("eps: 2", "eps: -1", "s.yaml:8: trust.eps = -1 is outside (0");
    refuse("eps: 2", "eps: 0", "s.yaml:8: trust.eps = 0 is outside (0");
    refuse("eps: 2", "delta: 2", "s.yaml:8: trust.delta = 2 is outside (0");
    refuse("nodes: 6", "nodes: 6.5", "s.yaml:4: network.nodes = 6.5");
    refuse("nodes: 6", "nodes: 0", "s.yaml:4: network.nodes = 0");
    refuse("uplink: 0.3", "uplink: [.1, .2]", "s.yaml:6: network.uplink has 2");
    refuse("uplink: 0.3", "uplink: []", "s.yaml:6: network.uplink is empty");
    refuse("uplink: 0.3", "density: 3",
           "s.yaml:6: network.density has no meaning");
    refuse("generator: ring", "generator: star", "s.yaml:3: network.generator");
    refuse("dimension: 8", "dimension: 8\ncredit: losses",
           "s.yaml:2: there is no key credit: budgets count every packet as "
           "heard");
    refuse("p: 0.5", "p: 0.5\n  p: 0.6", "s.yaml:6: network.p stands here a");
    refuse("trust:\n", "trust: 3\nfoo:\n", "s.yaml:7: trust holds keys");
    refuse("nodes: 6", "nodes: [6", "s.yaml:");
    refuse_text("", "the file is empty");
    refuse_text("- 1\n", "s.yaml: expected keys");
    refuse_text("dimension: 3\n", "network.generator");
    refuse_text("a: &a {b: *a}\n", "there is no key a");
}

/* The scheme: what chooses it, and that each refuses the keys of the other. */
static void check_scheme(const char *piece, const char *by, int scheme)
{
    char text[1024];
    const char *at = strstr(good, piece);
    struct pricer_scenario *scenario = NULL;
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s", (int)(at - good), good, by);
    if (pricer_scenario_read(scratch_text("s.yaml", text), NULL, 0, &scenario,
                             &fault) != PRICER_OK ||
        pricer_scenario_network(scenario, NULL, &network, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    assert_int_equal(scenario->scheme, scheme);
    assert_true((network->everyone_eps != NULL) ==
                (scheme == PRICER_SCHEME_FORWARD));
    for (int i = 0; i < 6 && network->everyone_eps != NULL; i++)
        assert_true(network->everyone_eps[i] == 4 &&
                    network->everyone_delta[i] == 1e-5 &&
                    isinf(network->self_eps[i]));
    for (int l = 0; l < network->links && network->everyone_eps != NULL; l++)
        assert_true(isinf(network->eps[l]));
    pricer_network_free(network);
    pricer_scenario_free(scenario);
}

static void test_scheme(void **state)
{
    (void)state;
    check_scheme("trust:", "trust: {eps: 2}\n", PRICER_SCHEME_SUM);
    check_scheme("trust:", "scheme: sum\ntrust: {eps: 2}\n", PRICER_SCHEME_SUM);
    check_scheme("trust:", "trust: {everyone: {eps: 4}}\n",
                 PRICER_SCHEME_FORWARD);
    check_scheme("trust:",
                 "scheme: forward\nhops: 0\nrelease: gaussian\n"
                 "trust: {everyone: {eps: 4, delta: 1e-5}}\n",
                 PRICER_SCHEME_FORWARD);
    refuse("trust:", "scheme: forward\ntrust:",
           "s.yaml:9: trust.eps belongs to 'scheme: sum': with forward a node "
           "has one budget, trust.everyone");
    refuse("  eps: 2", "  everyone: {eps: 4}",
           "s.yaml:9: trust.ring.hops belongs to 'scheme: sum'");
    refuse(
        "trust:", "hops: 2\ntrust:",
        "s.yaml:7: hops belongs to 'scheme: forward', and the scheme is sum");
    refuse("trust:", "release: best\ntrust:",
           "s.yaml:7: release belongs to 'scheme: forward'");
    refuse("trust:", "scheme: sum\ntrust:\n  everyone: {eps: 4}",
           "s.yaml:9: trust.everyone.eps belongs to 'scheme: forward'");
    static const char *const forward[] = {"repeat", "reference", "step"};
    static const char *const values[] = {"3", "last", ".1"};
    for (int k = 0; k < 3; k++) {
        char line[40], words[100];
        snprintf(line, sizeof line, "%s: %s\ntrust:", forward[k], values[k]);
        snprintf(words, sizeof words,
                 "s.yaml:7: %s belongs to 'scheme: forward', and the scheme is "
                 "sum",
                 forward[k]);
        refuse("trust:", line, words);
    }
    refuse(
        "trust:", "horizon: 5\ntrust:",
        "s.yaml:7: there is no key horizon: for averages of rounds plan with "
        "'bias: unbiased', or use 'scheme: forward'");
    static const char *const sum[] = {"objective: {lambda: 1}",
                                      "objective: {bias: l1}",
                                      "objective: {calibration: classic}"};
    const char *head = "dimension: 8\n"
                       "network: {generator: ring, nodes: 6, p: 1, uplink: 1}\n"
                       "trust: {everyone: {eps: 4}}\n";
    char text[300];
    refuse_text("dimension: 8\n"
                "network: {generator: ring, nodes: 6, p: 1, uplink: 1}\n"
                "trust: {everyone: {eps: 4, delta: 1}}\n",
                "s.yaml:3: trust.everyone.delta = 1 is not below 1");
    snprintf(text, sizeof text, "%sdiameter: 3\n", head);
    refuse_text(text, "s.yaml:4: diameter = 3 is above 2, twice the radius");
    snprintf(text, sizeof text, "%sreference: last\n", head);
    refuse_text(text, "s.yaml:4: reference is last and the key step");
    for (int k = 0; k < 3; k++) {
        snprintf(text, sizeof text, "%s%s\n", head, sum[k]);
        refuse_text(text,
                    "belongs to 'scheme: sum', and the scheme is forward");
        refuse_text(text, "s.yaml:4: ");
    }
    snprintf(text, sizeof text, "%shops: 31\n", head);
    refuse_text(text, "s.yaml:4: hops = 31 is outside [0, 30]");
    refuse("eps: 2\n  ring: {hops: 1, eps: inf}", "everyone: {delta: 0}",
           "the key trust.everyone.eps is missing");
    refuse("eps: 2\n  ring: {hops: 1, eps: inf}", "everyone: {eps: inf}",
           "s.yaml:8: trust.everyone.eps = inf is outside (0, 1e+300]");
}

/* The file of nodes decides where no key does, and keys are checked then. */
static void test_scheme_by_columns(void **state)
{
    (void)state;
    const char *head = "dimension: 8\nnetwork: {files: {nodes: n.csv, links: "
                       "l.csv}}\n";
    char text[300];
    scratch_text("n.csv", "node,p,everyone_eps\n0,1,4\n1,1,4\n");
    scratch_text("l.csv", "from,to,p\n0,1,.5\n");
    snprintf(text, sizeof text, "%strust: {eps: 1}\n", head);
    refuse_text(text, "s.yaml:3: trust.eps belongs to 'scheme: sum'");
    struct pricer_scenario *scenario = NULL;
    struct pricer_network *network = NULL;
    snprintf(text, sizeof text, "%shops: 2\n", head);
    assert_int_equal(pricer_scenario_read(scratch_text("s.yaml", text), NULL, 0,
                                          &scenario, NULL),
                     PRICER_OK);
    assert_int_equal(pricer_scenario_network(scenario, NULL, &network, NULL),
                     PRICER_OK);
    assert_true(network->everyone_eps[1] == 4 && isinf(network->eps[0]));
    pricer_network_free(network);
    pricer_scenario_free(scenario);
    scratch_text("n.csv", "node,p\n0,1\n1,1\n");
    snprintf(text, sizeof text, "%shops: 2\ntrust: {eps: 1}\n", head);
    refuse_text(text, "s.yaml:3: hops belongs to 'scheme: forward'");
}

static void test_missing_files(void **state)
{
    (void)state;
    struct pricer_scenario *scenario = NULL;
    struct pricer_fault fault = {""};
    assert_int_equal(
        pricer_scenario_read("/nowhere/s.yaml", NULL, 0, &scenario, &fault),
        PRICER_FILE);
    assert_string_equal(fault.text,
                        "/nowhere/s.yaml: No such file or directory");
    assert_int_equal(pricer_scenario_read("/", NULL, 0, &scenario, &fault),
                     PRICER_FILE);
    assert_string_equal(fault.text, "/: Is a directory");
    assert_null(scenario);
    refuse_text("dimension: 1\nnetwork: {files: {nodes: n.csv, links: l.csv}}\n"
                "s.yaml: 1\n",
                "there is no key s.yaml");
}

static void test_overrides(void **state)
{
    (void)state;
    const char *path = scratch_text("s.yaml", good);
    const char *sets[] = {"network.p=0.25", "trust.ring.hops=2",
                          "objective.bias=l1", "objective.lambda=0.5"};
    struct pricer_scenario *scenario = NULL;
    struct pricer_fault fault = {""};
    assert_int_equal(pricer_scenario_read(path, sets, 4, &scenario, &fault),
                     PRICER_OK);
    assert_true(scenario->p == 0.25);
    assert_int_equal(scenario->ring_hops, 2);
    struct pricer_settings settings;
    pricer_scenario_settings(scenario, &settings);
    assert_int_equal(settings.bias, PRICER_BIAS_L1);
    assert_true(settings.lambda == 0.5);
    pricer_scenario_free(scenario);
    const char *wrong[] = {"network.q=1", "network.p=2", "network.p"};
    for (int k = 0; k < 3; k++) {
        scenario = NULL;
        assert_int_not_equal(
            pricer_scenario_read(path, &wrong[k], 1, &scenario, &fault),
            PRICER_OK);
        assert_null(scenario);
    }
    const char *mistyped = "trust.epz=1";
    assert_int_equal(
        pricer_scenario_read(path, &mistyped, 1, &scenario, &fault),
        PRICER_VALUE);
    assert_string_equal(fault.text,
                        "there is no key trust.epz (did you mean trust.eps?)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_scheme),
        cmocka_unit_test(test_scheme_by_columns),
        cmocka_unit_test(test_missing_files),
        cmocka_unit_test(test_overrides),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
