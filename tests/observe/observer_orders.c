/*
 * What observers of a real fleet learn, in order: who sees more, with fewer who
 * help to hide it, never has a smaller eps.
 */
#include "tests/clique.h"
#include "tests/observe/worlds.h"

/* The eps of a question, of all nodes outside the coalition together. */
static double worst(const struct pricer_network *network,
                    const struct pricer_plan *plan,
                    struct pricer_question question, double *lower)
{
    struct pricer_statement s = ask(network, plan, question, 0);
    *lower = s.eps_lower;
    return s.eps;
}

/* Reader <= server <= listener; more members, more to see and fewer that help:
 * never less. */
static void test_orders(void **state)
{
    (void)state;
    static const int32_t members[] = {1, 2, 3, 4, 5, 6};
    uint64_t seed = 17;
    for (int trial = 0; trial < 24; trial++) {
        struct pricer_network *network =
            build(trial % 2 == 0 ? 7 : 4, &seed, trial % 3 * .5);
        struct pricer_plan *plan = random_plan(network, &seed);
        struct pricer_question ask_one = {.delta = 1e-3,
                                          .eavesdropper = trial % 4 < 2,
                                          .rounds = trial % 5 == 0 ? 10 : 1};
        double low, server_low;
        ask_one.observer = PRICER_OBSERVER_READER;
        double reader = worst(network, plan, ask_one, &low);
        ask_one.decodes = true;
        double decoded = worst(network, plan, ask_one, &low);
        ask_one.observer = PRICER_OBSERVER_SERVER;
        double server = worst(network, plan, ask_one, &server_low);
        ask_one.observer = PRICER_OBSERVER_LISTENER;
        double listener = worst(network, plan, ask_one, &low);
        assert_true(reader <= server && decoded == server);
        assert_true(server_low <= listener);
        ask_one.decodes = false;
        ask_one.observer = PRICER_OBSERVER_COALITION;
        ask_one.members = members;
        double last[4] = {0, reader, server_low, 0};
        for (int32_t k = 1; k < network->nodes; k++) {
            ask_one.member_count = k;
            double eps[4], lower[4];
            for (int kind = 0; kind < 4; kind++) {
                ask_one.with_reader = kind == 1;
                ask_one.with_server = kind == 2;
                ask_one.relays =
                    kind == 3 ? PRICER_RELAYS_SHARES : PRICER_RELAYS_SUMS;
                eps[kind] = worst(network, plan, ask_one, &lower[kind]);
                assert_true(eps[kind] >= last[kind] * .99);
                last[kind] = lower[kind];
            }
            assert_true(eps[1] <= eps[2] && lower[0] <= eps[1] * (1 + 1e-9) &&
                        lower[0] <= eps[3]);
        }
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
}

/* A network in which nodes use few or many links, of weights that differ by up to
 * a factor of fifty. */
static struct pricer_plan *sparse_plan(const struct pricer_network *network,
                                       int trial, uint64_t *seed)
{
    struct pricer_plan *plan = random_plan(network, seed);
    for (int32_t l = 0; l < network->links; l++) {
        bool used = test_uniform(seed) >= trial % 7 / 8.;
        double scale = used ? exp(4 * test_uniform(seed) - 2) : 0;
        plan->weight[l] *= trial % 2 == 0 && used ? 1 : scale;
        plan->noise[l] *= trial % 2 == 0 && used ? 1 : scale;
    }
    return plan;
}

/* What all coalitions of nodes 1 to nodes - 1 learn of node 0, with a reader or
 * the server: a coalition never less than a part of it. */
static void check_parts(const struct pricer_network *network,
                        const struct pricer_plan *plan,
                        struct pricer_question question)
{
    double eps[32];
    int32_t members[5];
    int sets = 1 << (network->nodes - 1);
    question.members = members;
    for (int set = 0; set < sets; set++) {
        question.member_count = 0;
        for (int32_t j = 1; j < network->nodes; j++)
            if (set >> (j - 1) & 1)
                members[question.member_count++] = j;
        eps[set] = ask(network, plan, question, 0).eps;
        for (int part = 0; part < set; part++)
            if ((part & set) == part)
                assert_true(eps[part] <= eps[set] * (1 + 1e-9));
    }
    question.observer =
        question.with_reader ? PRICER_OBSERVER_READER : PRICER_OBSERVER_SERVER;
    assert_true(ask(network, plan, question, 0).eps == eps[0]);
}

static void test_parts(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int trial = 0; trial < 120; trial++) {
        struct pricer_network *network =
            build(3 + trial % 4, &seed, trial % 3 * .5);
        struct pricer_plan *plan = sparse_plan(network, trial, &seed);
        struct pricer_question question = {
            .observer = PRICER_OBSERVER_COALITION,
            .delta = trial % 4 < 2 ? 1e-3 : 1e-5,
            .rounds = trial % 5 == 0 ? 10 : 1,
            .eavesdropper = trial / 2 % 2 == 0 ? PRICER_RECEIVER : PRICER_RADIO,
            .with_reader = true};
        check_parts(network, plan, question);
        question.relays = PRICER_RELAYS_SHARES;
        check_parts(network, plan, question);
        question.with_reader = false;
        question.with_server = true;
        check_parts(network, plan, question);
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
}

/* The more of the others send, the more noise the estimate has: what a reader
 * learns falls, what the server learns does not. */
static void test_reader_gains(void **state)
{
    (void)state;
    struct pricer_node nodes[12];
    double before = INFINITY;
    for (int32_t n = 2; n <= 12; n += 5) {
        struct pricer_network *network = NULL;
        struct pricer_plan *plan = NULL;
        for (int32_t i = 0; i < n; i++)
            nodes[i] = (struct pricer_node){1, 1, 1e-3, NAN, NAN};
        assert_int_equal(pricer_network_build(
                             &(struct pricer_network_parts){
                                 4, 1, 0, nodes, n, NULL, 0, NULL, NULL},
                             &network, NULL, NULL),
                         PRICER_OK);
        assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
        for (int32_t i = 0; i < n; i++)
            plan->self_weight[i] = plan->self_noise[i] = 1;
        struct pricer_statement s =
            ask(network, plan,
                (struct pricer_question){.observer = PRICER_OBSERVER_READER,
                                         .delta = 1e-3},
                0);
        /* One Gaussian: n noises of 1, a shift of 2. */
        double mu = 2 / sqrt(n), near = mu / 2 - s.eps / mu;
        double delta = .5 * erfc(-near / sqrt(2)) -
                       exp(s.eps) * .5 * erfc((mu - near) / sqrt(2));
        assert_close(delta, 1e-3, 1e-2);
        assert_true(s.eps < before);
        before = s.eps;
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
}

/* Without credit a share is seen whether it arrives in time, late or never: the
 * p of the node's links, and of all uplinks that carry its data, do not
 * enter. */
static void test_late_is_seen(void **state)
{
    (void)state;
    static const int32_t members[] = {1, 2};
    uint64_t seed = 18;
    struct pricer_network *network = build(4, &seed, 0);
    struct pricer_plan *plan = random_plan(network, &seed);
    double before[PRICER_OBSERVER_LISTENER + 1];
    for (int l = 0; l < network->links; l++)
        plan->weight[l] = plan->noise[l] = .5 + .1 * l;
    for (int step = 0; step < 3; step++) {
        for (int32_t l = 0; l < network->links; l++)
            if (network->from[l] == 0)
                network->p[l] = step == 0 ? 1 : step == 1 ? .5 : .01;
        for (int32_t i = 0; i < network->nodes; i++)
            network->uplink[i] = step == 0 ? 1 : step == 1 ? .5 : .01;
        for (int k = 0; k <= PRICER_OBSERVER_LISTENER; k++) {
            double eps =
                ask(network, plan,
                    (struct pricer_question){.observer = k,
                                             .delta = 1e-3,
                                             .rounds = 4,
                                             .members = members,
                                             .member_count = 2,
                                             .with_reader = true,
                                             .eavesdropper = PRICER_RADIO},
                    0)
                    .eps;
            assert_true(eps > 0);
            assert_true(step == 0 || eps == before[k]);
            before[k] = eps;
        }
    }
    pricer_plan_free(plan);
    pricer_network_free(network);
}

static void test_refuses(void **state)
{
    (void)state;
    uint64_t seed = 3;
    static const int32_t member = 1;
    struct pricer_network *network = build(3, &seed, 0);
    struct pricer_plan *plan = random_plan(network, &seed);
    const struct pricer_question bad[] = {
        {.observer = PRICER_OBSERVER_READER,
         .protect = PRICER_PROTECT_IDENTITY},
        {.observer = PRICER_OBSERVER_LISTENER,
         .protect = PRICER_PROTECT_IDENTITY},
        {.observer = PRICER_OBSERVER_RELAY,
         .protect = PRICER_PROTECT_IDENTITY,
         .relays = PRICER_RELAYS_SHARES},
        {.observer = PRICER_OBSERVER_COALITION,
         .protect = PRICER_PROTECT_IDENTITY,
         .members = &member,
         .member_count = 1,
         .with_reader = true},
        {.observer = PRICER_OBSERVER_COALITION},
    };
    assert_refused(network, plan, bad, sizeof bad / sizeof *bad);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_reader_gains),
        cmocka_unit_test(test_late_is_seen),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
