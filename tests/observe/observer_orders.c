/*
 * What observers of a real fleet learn, in order: who sees more, with fewer who
 * help to hide it, never has a smaller eps.
 */
#include "tests/clique.h"
#include "tests/observe/worlds.h"

static struct pricer_plan *copy_plan(const struct pricer_network *network,
                                     const struct pricer_plan *plan)
{
    struct pricer_plan *copy = NULL;
    size_t links = (size_t)network->links * sizeof(double);
    size_t nodes = (size_t)network->nodes * sizeof(double);
    assert_int_equal(pricer_plan_new(network, &copy, NULL), PRICER_OK);
    memcpy(copy->weight, plan->weight, links);
    memcpy(copy->noise, plan->noise, links);
    memcpy(copy->self_weight, plan->self_weight, nodes);
    memcpy(copy->self_noise, plan->self_noise, nodes);
    return copy;
}

/* Whoever k of the others is, without its noise it is as bad or better. */
static void test_silent_choices(void **state)
{
    (void)state;
    uint64_t seed = 16;
    for (int trial = 0; trial < 20; trial++) {
        struct pricer_network *network = build(5, &seed, trial % 3 * .5);
        struct pricer_plan *plan = random_plan(network, &seed);
        static const int32_t member = 4;
        struct pricer_question question = {.observer = PRICER_OBSERVER_SERVER,
                                           .delta = 1e-2,
                                           .eavesdropper = trial & 1,
                                           .rounds = 1 + trial % 3,
                                           .members = &member,
                                           .member_count = 1,
                                           .with_server = trial & 2};
        if (trial % 5 == 0)
            question.observer = PRICER_OBSERVER_COALITION;
        double before = ask(network, plan, question, 0).eps_lower;
        for (int silent = 1; silent <= 3; silent++) {
            question.silent = silent;
            double bound = ask(network, plan, question, 0).eps;
            assert_true(bound >= before);
            before = bound * .99;
            question.silent = 0;
            for (int set = 0; set < 16; set++) {
                struct pricer_plan *less;
                if (__builtin_popcount((unsigned)set) != silent)
                    continue;
                less = copy_plan(network, plan);
                for (int32_t l = 0; l < network->links; l++)
                    if (network->from[l] > 0 &&
                        set >> (network->from[l] - 1) & 1)
                        less->noise[l] = 0;
                for (int32_t i = 1; i < 5; i++)
                    if (set >> (i - 1) & 1)
                        less->self_noise[i] = 0;
                assert_true(bound >= ask(network, less, question, 0).eps_lower);
                pricer_plan_free(less);
            }
        }
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
}

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
                /* The reader's are bounds, whose order is not that of what
                 * they bound. */
                assert_true(kind == 1 || eps[kind] >= last[kind] * .99);
                last[kind] = lower[kind];
            }
            assert_true(eps[1] <= eps[2] && lower[0] <= eps[1] * (1 + 1e-9) &&
                        lower[0] <= eps[3]);
        }
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
        {.silent = -1},
        {.observer = PRICER_OBSERVER_READER,
         .protect = PRICER_PROTECT_IDENTITY},
        {.observer = PRICER_OBSERVER_LISTENER,
         .protect = PRICER_PROTECT_IDENTITY},
        {.observer = PRICER_OBSERVER_RELAY,
         .protect = PRICER_PROTECT_IDENTITY,
         .relays = PRICER_RELAYS_SHARES},
        {.observer = PRICER_OBSERVER_RELAY,
         .protect = PRICER_PROTECT_IDENTITY,
         .silent = 1},
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
        cmocka_unit_test(test_silent_choices),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_reader_gains),
        cmocka_unit_test(test_late_is_seen),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
