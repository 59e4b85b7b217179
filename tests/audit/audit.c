/*
 * The audit: the shipped code on many networks, which it must never contradict,
 * and code with something left out, which it must.
 */
#include "tests/test.h"
#include "tests/sample.h"
#include "audit/audit.h"

/* ------------------------------------------------------ the shipped code -- */

static struct pricer_audit attack(const struct pricer_network *network,
                                  const struct pricer_plan *plan,
                                  struct pricer_audit_settings settings)
{
    struct pricer_audit audit;
    struct pricer_fault fault = {""};
    if (pricer_audit_run(network, plan, &settings, &audit, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    assert_false(isnan(audit.eps_counted) || isnan(audit.sure_counted));
    assert_true(audit.eps_counted >= 0 && !isinf(audit.eps_counted));
    assert_true(isnan(audit.sure_fitted) || audit.sure_fitted >= 0);
    assert_false(pricer_audit_contradicts(&audit, INFINITY));
    assert_false(pricer_audit_contradicts(&audit, NAN));
    return audit;
}

/* All that a network can be asked: never contradicted, with an alarm of 1e-9
 * each; at 95 % the accounts are beaten no more often than they may be. */
static void test_shipped(void **state)
{
    (void)state;
    static const double radii[] = {1, 1e5, 1e-180, 1};
    uint64_t seed = 5;
    int tries = 0, beaten = 0, finite = 0;
    for (int round = 0; round < 20; round++) {
        int32_t n = 2 + (int32_t)(test_random(&seed) % 5);
        struct pricer_network *network = sample_network(
            &seed, n, .7, 1 + (int64_t)(round % 3) * 20, radii[round % 4]);
        struct pricer_plan *plan = sample_plan(&seed, network);
        for (int32_t l = 0; l < network->links; l++)
            plan->noise[l] *= network->radius * (round % 5 ? 2 : .01);
        for (int32_t i = 0; i < n; i++)
            plan->self_noise[i] *= network->radius;
        const int32_t members[] = {n - 1};
        for (int kind = 0; kind < 10 && network->links > 0; kind++) {
            int32_t link =
                (int32_t)(test_random(&seed) % (uint64_t)network->links);
            bool identity = kind >= 8;
            struct pricer_audit_settings settings = {
                .question = {.observer =
                                 identity ? PRICER_OBSERVER_RELAY : kind % 4,
                             .protect = identity,
                             .eavesdropper = kind % 8 >= 4,
                             .delta = round % 2 ? 1e-3 : .05,
                             .rounds = round % 4 == 0 ? 2 : 1,
                             .members = members,
                             .member_count = 1,
                             .with_server = round % 3 == 0},
                .node = network->from[link],
                .at = network->to[link],
                .trials = 1000,
                .alarm = 1e-9,
                .seed = test_random(&seed)};
            if (kind % 4 == 3 && settings.node == n - 1)
                continue;
            struct pricer_audit audit = attack(network, plan, settings);
            assert_false(pricer_audit_contradicts(&audit, audit.statement.eps));
            tries++;
            finite += isfinite(audit.statement.eps) && audit.statement.eps > 0;
            beaten += audit.eps_counted > audit.statement.eps ||
                      audit.eps_fitted > audit.statement.eps;
        }
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
    assert_true(tries > 120 && finite > 60);
    /* At most 10 % for two bounds at 95 %, and five deviations. */
    assert_true(beaten <= .1 * tries + 5 * sqrt(.09 * tries));
}

/* A plan keeps the budget of every link, for one round and for several. */
static void test_budgets(void **state)
{
    (void)state;
    uint64_t seed = 6;
    for (int64_t rounds = 1; rounds <= 5; rounds += 4) {
        struct pricer_network *network = sample_network(&seed, 6, .8, 4, 1);
        struct pricer_plan *plan = NULL;
        struct pricer_settings settings = {.rounds = rounds};
        struct pricer_solve_info info;
        assert_int_equal(
            pricer_plan_optimise(network, &settings, NULL, &plan, &info, NULL),
            PRICER_OK);
        for (int32_t l = 0; l < network->links; l++) {
            struct pricer_audit audit = attack(
                network, plan,
                (struct pricer_audit_settings){.question = {.rounds = rounds},
                                               .node = network->from[l],
                                               .at = network->to[l],
                                               .trials = 3000,
                                               .budget_rounds = rounds});
            assert_true(audit.budget == network->eps[l]);
            assert_false(pricer_audit_contradicts(&audit, audit.budget));
            assert_false(pricer_audit_contradicts(&audit, audit.statement.eps));
        }
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
}

/* Four nodes, each linked to each, eps = 1 for the whole. */
static struct pricer_network *square(double p, double eps)
{
    struct pricer_node nodes[4];
    struct pricer_link links[12];
    struct pricer_network *network = NULL;
    int count = 0;
    for (int i = 0; i < 4; i++) {
        nodes[i] = (struct pricer_node){.8, eps, 1e-3, NAN, NAN};
        for (int j = 0; j < 4; j++)
            if (i != j)
                links[count++] = (struct pricer_link){i, j, p, NAN, eps, 1e-3};
    }
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){
                             4, 1, 1, nodes, 4, links, count, NULL, NULL},
                         &network, NULL, NULL),
                     PRICER_OK);
    return network;
}

static struct pricer_plan *plan_for(const struct pricer_network *network)
{
    struct pricer_plan *plan = NULL;
    struct pricer_settings settings = {0};
    struct pricer_solve_info info;
    assert_int_equal(
        pricer_plan_optimise(network, &settings, NULL, &plan, &info, NULL),
        PRICER_OK);
    return plan;
}

/* The same to the bit for any threads; another seed gives something else. */
static void test_threads(void **state)
{
    (void)state;
    struct pricer_network *network = square(.8, 1);
    struct pricer_plan *plan = plan_for(network);
    struct pricer_audit_settings settings = {
        .question = {.observer = PRICER_OBSERVER_SERVER},
        .trials = 4000,
        .seed = 7};
    settings.question.threads = 1;
    struct pricer_audit one = attack(network, plan, settings);
    settings.question.threads = 3;
    struct pricer_audit three = attack(network, plan, settings);
    assert_true(one.eps_fitted == three.eps_fitted && one.eps_fitted > 0);
    assert_true(one.eps_counted == three.eps_counted);
    assert_true(one.hits == three.hits && one.other_hits == three.other_hits);
    assert_true(one.sure_fitted == three.sure_fitted);
    settings.seed = 8;
    struct pricer_audit other = attack(network, plan, settings);
    assert_true(one.eps_fitted != other.eps_fitted);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* --------------------------------------------------------------- mutants -- */

static enum pricer_status silent(const struct pricer_slice *slice,
                                 const struct pricer_share *share,
                                 const double *data,
                                 struct pricer_random *random, int64_t *message,
                                 struct pricer_fault *fault)
{
    struct pricer_share bare = *share;
    bare.noise = share->to == 1 ? 0 : share->noise;
    return pricer_round_share(slice, &bare, data, random, message, fault);
}

static enum pricer_status half(const struct pricer_slice *slice,
                               const struct pricer_share *share,
                               const double *data, struct pricer_random *random,
                               int64_t *message, struct pricer_fault *fault)
{
    struct pricer_share less = *share;
    less.noise /= 2;
    return pricer_round_share(slice, &less, data, random, message, fault);
}

static enum pricer_status unclipped(const struct pricer_slice *slice,
                                    const struct pricer_share *share,
                                    const double *data,
                                    struct pricer_random *random,
                                    int64_t *message,
                                    struct pricer_fault *fault)
{
    struct pricer_slice wide = *slice;
    wide.radius *= 2;
    return pricer_round_share(&wide, share, data, random, message, fault);
}

/* The same noise in every round. */
static enum pricer_status stale(const struct pricer_slice *slice,
                                const struct pricer_share *share,
                                const double *data,
                                struct pricer_random *random, int64_t *message,
                                struct pricer_fault *fault)
{
    pricer_random_replay(random, 1, PRICER_PURPOSE_NOISE, 1, slice->node,
                         share->to);
    return pricer_round_share(slice, share, data, random, message, fault);
}

static void test_mutants(void **state)
{
    (void)state;
    static const struct pri_audit_code codes[] = {
        {pricer_round_share}, {silent}, {half}, {unclipped}, {stale}};
    struct pricer_network *network = square(.8, 1);
    struct pricer_plan *plan = plan_for(network);
    for (int k = 0; k < 5; k++)
        for (int observer = 0; observer < 3; observer++) {
            struct pricer_audit_settings settings = {
                .question = {.observer = observer}, .at = 1, .trials = 30000};
            struct pricer_audit audit;
            assert_int_equal(pri_audit_run(network, plan, &settings, &codes[k],
                                           &audit, NULL),
                             PRICER_OK);
            bool caught = pricer_audit_contradicts(&audit, audit.statement.eps);
            /* At the server one bare link is hidden by the others' noise. */
            if (k != 1 || observer != PRICER_OBSERVER_SERVER)
                assert_true(caught == (k > 0));
        }
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* -------------------------------------------------------------- refusals -- */

static bool stop(void *context, double done)
{
    (void)done;
    ++*(int *)context;
    return false;
}

static void refused(const struct pricer_network *network,
                    const struct pricer_plan *plan,
                    struct pricer_audit_settings settings, const char *words)
{
    struct pricer_audit audit = {.trials = 77};
    struct pricer_fault fault = {""};
    assert_int_equal(pricer_audit_run(network, plan, &settings, &audit, &fault),
                     settings.question.watch == NULL ? PRICER_VALUE
                                                     : PRICER_STOPPED);
    assert_int_equal(audit.trials, 77);
    if (strstr(fault.text, words) == NULL)
        fail_msg("'%s' does not say '%s'", fault.text, words);
}

static void test_refusals(void **state)
{
    (void)state;
    struct pricer_network *network = square(.8, 1);
    struct pricer_plan *plan = plan_for(network);
    const int32_t members[] = {0, 2};
    int calls = 0;
    struct pricer_watch watch = {stop, &calls};
    typedef struct pricer_audit_settings ask;
    refused(network, plan, (ask){.node = 4}, "no node 4");
    refused(network, plan, (ask){.node = -1}, "no node -1");
    refused(network, plan, (ask){.at = 9}, "no node 9");
    refused(network, plan, (ask){.at = 0}, "no link from node 0 to 0");
    refused(network, plan, (ask){.at = 1, .trials = 10}, "trials = 10");
    refused(network, plan, (ask){.at = 1, .confidence = 1}, "confidence");
    refused(network, plan, (ask){.at = 1, .alarm = -1}, "alarm");
    refused(network, plan, (ask){.at = 1, .question = {.delta = 2}}, "delta");
    refused(network, plan,
            (ask){.question = {.observer = PRICER_OBSERVER_COALITION,
                               .members = members,
                               .member_count = 2}},
            "in the coalition itself");
    refused(network, plan, (ask){.at = 1, .question = {.watch = &watch}},
            "stop");
    assert_true(calls > 0);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* The one statement that an audit needs is that of all of them. */
static void test_one(void **state)
{
    (void)state;
    struct pricer_network *network = square(.6, 1);
    struct pricer_plan *plan = plan_for(network);
    for (int observer = 0; observer < 3; observer++) {
        struct pricer_question question = {.observer = observer};
        struct pricer_statement *all = NULL, one;
        int64_t count = 0;
        assert_int_equal(pricer_privacy_account(network, plan, &question, &all,
                                                &count, NULL),
                         PRICER_OK);
        for (int64_t k = 0; k < count; k++) {
            assert_int_equal(pri_privacy_one(network, plan, &question,
                                             all[k].node, all[k].at, &one,
                                             NULL),
                             PRICER_OK);
            assert_close(one.eps, all[k].eps, .01);
            assert_true(one.at == all[k].at && one.delta == all[k].delta);
        }
        pricer_statements_free(all);
    }
    pricer_plan_free(plan);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shipped),  cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_threads),  cmocka_unit_test(test_mutants),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
