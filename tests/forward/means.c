/*
 * Rounds of the mean with forwarding: those are heard whom the links of the round
 * let arrive, what the server reads is the release of that round with the planned
 * variance, and expectations are those of many rounds.
 */
#include "forward/forward.h"
#include "tests/test.h"

enum { NODES = 4, LINKS = 5, DIMENSION = 3 };

static struct pricer_network *make_network(void)
{
    static const double uplink[NODES] = {.9, .2, 0, .1};
    static const int32_t from[LINKS] = {1, 2, 3, 2, 3},
                         to[LINKS] = {0, 1, 2, 0, 1};
    static const double p[LINKS] = {.8, .7, .6, .3, .2};
    double inf[LINKS], one[LINKS], eps[NODES], zero[NODES] = {0};
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    for (int k = 0; k < LINKS; k++) {
        inf[k] = INFINITY;
        one[k] = 1;
        eps[k % NODES] = 4;
    }
    struct pricer_network_arrays arrays = {.dimension = DIMENSION,
                                           .radius = 2,
                                           .node_count = NODES,
                                           .uplink = uplink,
                                           .self_eps = inf,
                                           .self_delta = one,
                                           .everyone_eps = eps,
                                           .everyone_delta = zero,
                                           .link_count = LINKS,
                                           .from = from,
                                           .to = to,
                                           .p = p,
                                           .eps = inf,
                                           .delta = one};
    if (pricer_network_build_arrays(&arrays, &network, NULL, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    return network;
}

static struct pricer_forward_plan *make_plan(
    const struct pricer_network *network, int32_t repeat)
{
    struct pricer_forward_plan *plan = NULL;
    assert_int_equal(pricer_forward_plan_make(network,
                                              &(struct pricer_forward_settings){
                                                  .hops = 2, .repeat = repeat},
                                              &plan, NULL),
                     PRICER_OK);
    return plan;
}

static void open_means(struct pri_means *means,
                       const struct pricer_network *network,
                       const struct pricer_forward_plan *plan)
{
    assert_int_equal(pri_means_open(means, network,
                                    &(struct pri_scheme){NULL, plan}, DIMENSION,
                                    7, NULL),
                     PRICER_OK);
}

/* Who arrives over at most two relays with the links of a round. */
static void search(const struct pricer_network *network, int64_t round,
                   bool *arrived)
{
    bool up[LINKS];
    for (int32_t l = 0; l < LINKS; l++)
        up[l] = pri_link_is_up(network, 7, round, l);
    for (int32_t i = 0; i < NODES; i++)
        arrived[i] = pricer_round_up(
            7, round,
            &(struct pricer_pair){i, PRICER_SERVER, network->uplink[i], 0, 0});
    for (int hop = 0; hop < 2; hop++) {
        bool before[NODES];
        memcpy(before, arrived, sizeof before);
        for (int32_t l = 0; l < LINKS; l++)
            if (up[l] && before[network->to[l]])
                arrived[network->from[l]] = true;
    }
}

/* Rounds are asked for back and forth over the border of 512. With two attempts
 * at least those arrive who do with the links of one. */
static void links_say_who_is_heard(void **state)
{
    (void)state;
    struct pricer_network *network = make_network();
    for (int32_t repeat = 1; repeat <= 2; repeat++) {
        struct pricer_forward_plan *plan = make_plan(network, repeat);
        struct pri_means means;
        open_means(&means, network, plan);
        for (int64_t t = 0; t < 600; t++) {
            int64_t round = t % 2 == 0 ? t : 1100 - t;
            double likely = 0;
            pri_means_draw(&means, round);
            for (int attempt = 0; attempt < repeat; attempt++) {
                bool arrived[NODES];
                search(network, round * repeat + attempt, arrived);
                for (int i = 0; i < NODES; i++) {
                    assert_true(!arrived[i] || means.whole.up[i]);
                    assert_true(repeat > 1 || arrived[i] == means.whole.up[i]);
                }
            }
            for (int i = 0; i < NODES; i++) {
                double c = means.whole.up[i] ? plan->node[i].coefficient : 0;
                assert_true(means.whole.weight[i] == c);
                likely += c;
            }
            assert_close(means.whole.likely, likely, 1e-14);
        }
        pri_means_close(&means);
        pricer_forward_plan_free(plan);
    }
    pricer_network_free(network);
}

/* Means over 5,120 rounds against what is expected; each of the two is off by 6
 * standard errors once in 10^8. */
static void expectations_are_means_of_rounds(void **state)
{
    (void)state;
    enum { ROUNDS = 5120 };
    struct pricer_network *network = make_network();
    struct pricer_forward_plan *plan = make_plan(network, 1);
    struct pri_means means;
    double sum[2] = {0}, square[2] = {0};
    open_means(&means, network, plan);
    for (int64_t t = 0; t < ROUNDS; t++) {
        pri_means_draw(&means, t);
        double now[2] = {means.whole.likely, means.whole.variance};
        for (int k = 0; k < 2; k++) {
            sum[k] += now[k] / ROUNDS;
            square[k] += now[k] * now[k] / ROUNDS;
        }
    }
    for (int k = 0; k < 2; k++) {
        double error = sqrt((square[k] - sum[k] * sum[k]) / ROUNDS);
        double expected = k == 0 ? means.weight : means.variance;
        assert_true(fabs(sum[k] - expected) < 6 * error);
    }
    double weight, heard = pri_means_heard(&means, 2, &weight);
    assert_true(heard == plan->node[2].arrival &&
                weight == plan->node[2].coefficient);
    pri_means_close(&means);
    pricer_forward_plan_free(plan);
    pricer_network_free(network);
}

/*
 * A message of the full length, sent in many rounds as a seed and as a Gaussian:
 * the same round is the same release; the mean is the message, and the squared
 * distance from it the variance of the plan. Each of the 8 comparisons is off by
 * 6 standard errors once in 10^8.
 */
static void releases_have_the_planned_variance(void **state)
{
    (void)state;
    enum { ROUNDS = 20000 };
    static const double message[DIMENSION] = {1.2, -1.6, 0};
    struct pricer_network *network = make_network();
    for (int kind = PRICER_RELEASE_SPHERE; kind <= PRICER_RELEASE_GAUSSIAN;
         kind++) {
        struct pricer_forward_plan *plan = make_plan(network, 1);
        struct pricer_forward_node *node = &plan->node[1];
        if (kind == PRICER_RELEASE_GAUSSIAN) {
            node->release = PRICER_RELEASE_GAUSSIAN;
            node->noise = 1.5;
            node->variance = DIMENSION * 1.5 * 1.5;
        }
        assert_int_equal(node->release, kind);
        struct pri_means means;
        open_means(&means, network, plan);
        double mean[DIMENSION] = {0}, distance = 0, square = 0, part = 0;
        for (int64_t t = 0; t < ROUNDS; t++) {
            double y[DIMENSION], again[DIMENSION], off = 0;
            memcpy(y, message, sizeof y);
            assert_int_equal(pri_means_send(&means, t, 1, y), PRICER_OK);
            if (t < 10) {
                memcpy(again, message, sizeof again);
                assert_int_equal(pri_means_send(&means, t, 1, again),
                                 PRICER_OK);
                assert_memory_equal(y, again, sizeof y);
            }
            for (int c = 0; c < DIMENSION; c++) {
                mean[c] += y[c] / ROUNDS;
                off += (y[c] - message[c]) * (y[c] - message[c]);
            }
            part = fmax(part, off);
            distance += off / ROUNDS;
            square += off * off / ROUNDS;
        }
        double error = sqrt((square - distance * distance) / ROUNDS);
        assert_true(fabs(distance - node->variance) < 6 * error);
        for (int c = 0; c < DIMENSION; c++)
            assert_true(fabs(mean[c] - message[c]) <
                        6 * sqrt(node->variance / ROUNDS));
        /* The sum gets no noise of its own. */
        double sum = 3;
        pri_means_noise(&means, 1, 0, 1, &sum);
        assert_true(part > 0 && sum == 3);
        pri_means_close(&means);
        pricer_forward_plan_free(plan);
    }
    pricer_network_free(network);
}

static void faults(void **state)
{
    (void)state;
    struct pricer_network *network = make_network();
    struct pricer_forward_plan *plan = make_plan(network, 1);
    struct pri_scheme scheme = {NULL, plan};
    struct pricer_fault fault = {""};
    struct pri_means means;
    assert_int_equal(
        pri_means_open(&means, network, &scheme, DIMENSION + 1, 7, &fault),
        PRICER_VALUE);
    assert_string_equal(fault.text,
                        "messages have 4 numbers, and the network is for 3");
    pri_means_close(&means);
    plan->nodes = NODES - 1;
    assert_int_equal(
        pri_means_open(&means, network, &scheme, DIMENSION, 7, &fault),
        PRICER_VALUE);
    pri_means_close(&means);
    pricer_forward_plan_free(plan);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_say_who_is_heard),
        cmocka_unit_test(expectations_are_means_of_rounds),
        cmocka_unit_test(releases_have_the_planned_variance),
        cmocka_unit_test(faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
