/*
 * Everything that runs on several threads, on one to four: the results are the
 * same, bit for bit. Built a second time with a race detector (tests/check.sh),
 * where what matters is that nothing is read while it is written.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "base/base.h"
#include "pricer_audit.h"

/* The optimiser divides its sweeps from some 65,000 links on, into a number of
 * blocks that does not depend on the threads: here two. */
static struct pricer_network *city, *trusting_city;
static struct pricer_network *town;   /* for simulations and audits */
static struct pricer_network *hamlet; /* for accounts */

static struct pricer_network *make_network(int nodes, const char *trust)
{
    char text[256];
    (void)snprintf(text, sizeof text,
                   "dimension: 5\n"
                   "network: {generator: geometric, nodes: %d}\n"
                   "trust: %s\n",
                   nodes, trust);
    struct pricer_scenario *scenario = NULL;
    struct pricer_network *made = NULL;
    struct pricer_fault fault = {""};
    const char *path = scratch_text("s.yaml", text);
    if (pricer_scenario_read(path, NULL, 0, &scenario, &fault) == PRICER_OK)
        (void)pricer_scenario_network(scenario, NULL, &made, &fault);
    pricer_scenario_free(scenario);
    return made;
}

static int set_up(void **state)
{
    if (scratch_open(state))
        return 1;
    city = make_network(2800, "{eps: 1, probable: {above: 0.5, eps: 30}}");
    trusting_city = make_network(2800, "{eps: inf}");
    town = make_network(700, "{eps: 1, probable: {above: 0.5, eps: 30}}");
    hamlet = make_network(40, "{eps: 1, probable: {above: 0.5, eps: 30}}");
    return city == NULL || trusting_city == NULL || town == NULL ||
           hamlet == NULL;
}

static int tear_down(void **state)
{
    pricer_network_free(city);
    pricer_network_free(trusting_city);
    pricer_network_free(town);
    pricer_network_free(hamlet);
    return scratch_close(state);
}

enum { THREADS = 4 }; /* every test runs on 1 to so many */

/* At most so many iterations, or 0: to the end. */
static struct pricer_plan *plan_with(const struct pricer_network *of,
                                     int32_t iterations, int32_t threads)
{
    struct pricer_settings settings = {
        .threads = threads, .tolerance = 1e-5, .iterations = iterations};
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    struct pricer_fault fault = {""};
    if (pricer_plan_optimise(of, &settings, NULL, &plan, &info, &fault))
        fail_msg("%s", fault.text);
    struct pricer_certificate certificate;
    assert_int_equal(
        pricer_plan_verify(of, &settings, plan, &certificate, &fault),
        PRICER_OK);
    assert_true(iterations > 0 || certificate.gap <= 1.1e-5);
    assert_true(certificate.feasible);
    assert_int_equal(certificate.open_links, 0);
    return plan;
}

static void assert_same_plan(const struct pricer_plan *a,
                             const struct pricer_plan *b)
{
    size_t links = (size_t)a->links * sizeof(double);
    size_t nodes = (size_t)a->nodes * sizeof(double);
    assert_memory_equal(a->weight, b->weight, links);
    assert_memory_equal(a->noise, b->noise, links);
    assert_memory_equal(a->self_weight, b->self_weight, nodes);
    assert_memory_equal(a->self_noise, b->self_noise, nodes);
    assert_memory_equal(a->row_multiplier, b->row_multiplier, nodes);
    assert_memory_equal(a->relay_multiplier, b->relay_multiplier, nodes);
    assert_memory_equal(&a->sum_multiplier, &b->sum_multiplier, sizeof(double));
}

static void compare_plans(const struct pricer_network *of, int32_t iterations)
{
    struct pricer_plan *alone = plan_with(of, iterations, 1);
    for (int32_t threads = 2; threads <= THREADS; threads++) {
        struct pricer_plan *plan = plan_with(of, iterations, threads);
        assert_same_plan(alone, plan);
        pricer_plan_free(plan);
    }
    pricer_plan_free(alone);
}

/* Semismooth Newton. */
static void test_plans(void **state)
{
    (void)state;
    compare_plans(city, 0);
}

/* Links that cost nothing (full trust, always up) take the interior point; its
 * first steps will do. */
static void test_interior_plans(void **state)
{
    (void)state;
    compare_plans(trusting_city, 5);
}

static void test_accounts(void **state)
{
    (void)state;
    struct pricer_plan *plan = plan_with(hamlet, 0, THREADS);
    for (int observer = 0; observer <= PRICER_OBSERVER_SERVER; observer++) {
        struct pricer_statement *alone = NULL;
        for (int32_t threads = 1; threads <= THREADS; threads++) {
            struct pricer_question question = {
                .observer = (enum pricer_observer)observer, .threads = threads};
            struct pricer_statement *statements = NULL;
            int64_t count = 0;
            assert_int_equal(pricer_privacy_account(hamlet, plan, &question,
                                                    &statements, &count, NULL),
                             PRICER_OK);
            for (int64_t k = 0; alone != NULL && k < count; k++) {
                assert_true(statements[k].eps == alone[k].eps);
                assert_true(statements[k].eps_lower == alone[k].eps_lower);
                assert_true(statements[k].floor == alone[k].floor);
            }
            if (alone == NULL)
                alone = statements;
            else
                pricer_statements_free(statements);
        }
        pricer_statements_free(alone);
    }
    pricer_plan_free(plan);
}

static void assert_same_simulation(const struct pricer_simulation *a,
                                   const struct pricer_simulation *b)
{
    const struct pricer_outcome *one = a->outcomes, *other = b->outcomes;
    assert_int_equal(a->trials, b->trials);
    assert_true(one->mse == other->mse);
    assert_true(one->mse_stderr == other->mse_stderr);
    assert_true(one->bias == other->bias);
    assert_memory_equal(one->bins, other->bins, sizeof one->bins);
    assert_memory_equal(a->link, b->link, (size_t)a->links * sizeof(int64_t));
    assert_memory_equal(a->both, b->both, (size_t)a->links * sizeof(int64_t));
}

static void test_simulations(void **state)
{
    (void)state;
    struct pricer_plan *plan = plan_with(town, 0, THREADS);
    const struct pricer_plan *plans[] = {plan};
    for (int engine = 0; engine < 2; engine++) {
        struct pricer_simulation *alone = NULL, *simulation = NULL;
        for (int32_t threads = 1; threads <= THREADS; threads++) {
            struct pricer_simulation_settings settings = {
                .engine = (enum pricer_engine)engine,
                .data = PRICER_DATA_RANDOM,
                .seed = 7,
                .trials = engine == PRICER_ENGINE_FAST ? 5000 : 60,
                .threads = threads};
            assert_int_equal(pricer_simulation_run(town, plans, 1, &settings,
                                                   &simulation, NULL),
                             PRICER_OK);
            if (alone == NULL) {
                alone = simulation;
                continue;
            }
            assert_same_simulation(alone, simulation);
            pricer_simulation_free(simulation);
        }
        pricer_simulation_free(alone);
    }
    pricer_plan_free(plan);
}

static void test_audits(void **state)
{
    (void)state;
    struct pricer_plan *plan = plan_with(town, 0, THREADS);
    struct pricer_audit audit[THREADS];
    for (int32_t k = 0; k < THREADS; k++) {
        struct pricer_audit_settings settings = {
            .question = {.observer = PRICER_OBSERVER_SERVER, .threads = k + 1},
            .trials = 1000};
        assert_int_equal(
            pricer_audit_run(town, plan, &settings, &audit[k], NULL),
            PRICER_OK);
        assert_true(audit[k].eps_counted == audit[0].eps_counted);
        assert_true(audit[k].hits == audit[0].hits);
        assert_true(audit[k].other_hits == audit[0].other_hits);
    }
    pricer_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),    cmocka_unit_test(test_interior_plans),
        cmocka_unit_test(test_accounts), cmocka_unit_test(test_simulations),
        cmocka_unit_test(test_audits),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
