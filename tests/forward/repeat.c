/*
 * Rounds of several attempts with forwarding: arrivals against a search of every
 * round by itself, enumerated patterns against formulas, and the two engines of
 * simulations against each other and against what is predicted.
 */
#include "tests/test.h"
#include "forward/forward.h"
#include "pricer_forward.h"
#include "round/round.h"

enum { NODES = 6, LINKS = NODES * (NODES - 1) };

/* A network in which most pairs have links, some only one way. */
static struct pricer_network *draw_network(int nodes, double density,
                                           uint64_t *state)
{
    double uplink[NODES], one[LINKS], inf[LINKS], p[LINKS], joint[LINKS];
    double budget[NODES], delta[NODES];
    int32_t from[LINKS], to[LINKS];
    int links = 0;
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    for (int i = 0; i < nodes; i++) {
        uplink[i] = i % 2 == 0 ? .1 + .5 * test_uniform(state) : 0;
        budget[i] = 4;
        delta[i] = 1e-5;
    }
    for (int i = 0; i < nodes; i++)
        for (int j = i + 1; j < nodes; j++) {
            double a = .8 * test_uniform(state), b = .8 * test_uniform(state);
            int ways = (int)(test_random(state) % 3);
            if (test_uniform(state) > density)
                continue;
            if (ways != 0) {
                from[links] = i;
                to[links] = j;
                p[links] = a;
                joint[links++] = ways == 1 ? fmin(a, b) : NAN;
            }
            if (ways != 2) {
                from[links] = j;
                to[links] = i;
                p[links] = b;
                joint[links++] = ways == 1 ? fmin(a, b) : NAN;
            }
        }
    for (int k = 0; k < LINKS; k++) {
        one[k] = 1;
        inf[k] = INFINITY;
    }
    struct pricer_network_arrays arrays = {.dimension = 2,
                                           .radius = 1,
                                           .node_count = nodes,
                                           .uplink = uplink,
                                           .self_eps = inf,
                                           .self_delta = one,
                                           .link_count = links,
                                           .from = from,
                                           .to = to,
                                           .p = p,
                                           .joint = joint,
                                           .eps = inf,
                                           .delta = one,
                                           .everyone_eps = budget,
                                           .everyone_delta = delta};
    if (pricer_network_build_arrays(&arrays, &network, NULL, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    return network;
}

static bool is_up(const struct pricer_network *net, int64_t round, int link)
{
    int back = net->partner[link];
    return pricer_round_up(
        9, round,
        &(struct pricer_pair){net->from[link], net->to[link], net->p[link],
                              back < 0 ? 0 : net->p[back], net->joint[link]});
}

/* The fewest relays over which a node's release arrives in a round, or -1: every
 * path of links in time is tried. */
static int find_relays(const struct pricer_network *net, int attempts,
                       int64_t round, int node, int attempt, int left)
{
    int best = -1;
    for (int t = attempt; t < attempts; t++) {
        int64_t time = round * attempts + t;
        if (pricer_round_up(9, time,
                            &(struct pricer_pair){node, PRICER_SERVER,
                                                  net->uplink[node], 0, 0}))
            return 0;
        for (int l = net->out_start[node];
             left > 0 && l < net->out_start[node + 1]; l++) {
            if (!is_up(net, time, l))
                continue;
            int rest = find_relays(net, attempts, round, net->to[l], t,
                                   best >= 0 ? best - 2 : left - 1);
            if (rest >= 0 && (best < 0 || rest + 1 < best))
                best = rest + 1;
            if (best == 1)
                left = 0; /* only an uplink is better */
        }
    }
    return best;
}

/* Whole groups and parts of one: 8 words, and fewer. */
static void test_draw(void **state)
{
    static const int attempts[] = {1, 2, 3, 7, 64};
    uint64_t random = 1;
    (void)state;
    for (int a = 0; a < 5; a++)
        for (int whole = 0; whole < 2; whole++) {
            struct pricer_network *net = draw_network(5, .5, &random);
            struct pri_arrivals *drawn = NULL;
            for (int i = 0; i < net->nodes && attempts[a] == 64; i++)
                net->uplink[i] /= 40;
            for (int l = 0; l < net->links && attempts[a] == 64; l++) {
                net->p[l] /= 20;
                net->joint[l] /= 20;
            }
            assert_int_equal(
                pri_arrivals_draw(net,
                                  &(struct pri_arrivals_settings){
                                      .seed = 9,
                                      .first = 3,
                                      .patterns = whole ? 512 : 192,
                                      .hops = 3,
                                      .attempts = attempts[a],
                                      .threads = 1},
                                  &drawn),
                PRICER_OK);
            int64_t count = net->nodes * drawn->words, step = whole ? 11 : 5;
            uint64_t *bits = calloc((size_t)(4 * count), sizeof *bits);
            for (int hops = 0; hops < 4; hops++)
                pri_arrivals_within(drawn, hops, bits + hops * count);
            for (int64_t k = 0; k < drawn->patterns; k += step)
                for (int i = 0; i < net->nodes; i++) {
                    int relays =
                        find_relays(net, attempts[a], 3 * 512 + k, i, 0, 3);
                    for (int hops = 0; hops < 4; hops++) {
                        bool came =
                            bits[hops * count + i * drawn->words + k / 64] >>
                                k % 64 &
                            1;
                        assert_int_equal(came, relays >= 0 && relays <= hops);
                    }
                }
            free(bits);
            pri_arrivals_free(drawn);
            pricer_network_free(net);
        }
}

static double plan_error(const struct pricer_network *net, int32_t repeat,
                         int32_t hops, double arrival[NODES])
{
    struct pricer_forward_plan *plan = NULL;
    struct pricer_fault fault = {""};
    if (pricer_forward_plan_make(
            net,
            &(struct pricer_forward_settings){.hops = hops, .repeat = repeat},
            &plan, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    double error = plan->mse_worst_case;
    assert_int_equal(plan->repeat, repeat);
    for (int i = 0; i < net->nodes; i++)
        arrival[i] = plan->node[i].arrival;
    pricer_forward_plan_free(plan);
    return error;
}

/* Two nodes, a link from the second to the first, and one uplink: the second
 * arrives if the uplink is up in the attempt of the link's first time or later. */
static void test_formula(void **state)
{
    static const double uplink[] = {.3, 0}, link = .4;
    static const int32_t from[] = {1}, to[] = {0};
    double inf[] = {INFINITY, INFINITY}, one[] = {1, 1}, eps[] = {4, 4};
    double delta[] = {0, 0}, arrival[NODES], before = INFINITY;
    struct pricer_network *net = NULL;
    struct pricer_network_arrays arrays = {.dimension = 2,
                                           .radius = 1,
                                           .node_count = 2,
                                           .uplink = uplink,
                                           .self_eps = inf,
                                           .self_delta = one,
                                           .link_count = 1,
                                           .from = from,
                                           .to = to,
                                           .p = &link,
                                           .eps = inf,
                                           .delta = one,
                                           .everyone_eps = eps,
                                           .everyone_delta = delta};
    (void)state;
    assert_int_equal(pricer_network_build_arrays(&arrays, &net, NULL, NULL),
                     PRICER_OK);
    for (int repeat = 1; repeat <= 5; repeat++) {
        double second = 0;
        for (int t = 0; t < repeat; t++)
            second += link * pow(1 - link, t) * (1 - pow(.7, repeat - t));
        double error = plan_error(net, repeat, 1, arrival);
        assert_close(arrival[0], 1 - pow(.7, repeat), 1e-13);
        assert_close(arrival[1], second, 1e-13);
        assert_true(error < before);
        before = error;
        plan_error(net, repeat, 0, arrival);
        assert_close(arrival[0], 1 - pow(.7, repeat), 1e-13);
        assert_true(arrival[1] == 0);
    }
    pricer_network_free(net);
}

/* Engines agree on who arrives, and within 5 standard errors with each other and
 * with what is predicted where patterns are enumerated: one of ten comparisons
 * fails once in 10^5. */
static void test_engines(void **state)
{
    uint64_t random = 5;
    (void)state;
    for (int repeat = 2; repeat <= 6; repeat++) {
        struct pricer_network *net =
            draw_network(repeat == 2 ? 3 : NODES, .5, &random);
        struct pricer_forward_plan *plan = NULL;
        struct pricer_simulation *found[2] = {NULL};
        assert_int_equal(
            pricer_forward_plan_make(
                net,
                &(struct pricer_forward_settings){.hops = 2, .repeat = repeat},
                &plan, NULL),
            PRICER_OK);
        for (int engine = 0; engine < 2; engine++)
            assert_int_equal(pricer_forward_simulate(
                                 net, plan,
                                 &(struct pricer_simulation_settings){
                                     .engine = (enum pricer_engine)engine,
                                     .trials = 3000,
                                     .data = PRICER_DATA_RANDOM},
                                 &found[engine], NULL),
                             PRICER_OK);
        const struct pricer_outcome *a = found[0]->outcomes,
                                    *b = found[1]->outcomes;
        assert_close(a->bar, b->bar, 1e-12);
        assert_memory_equal(found[0]->link, found[1]->link,
                            (size_t)net->links * sizeof(int64_t));
        assert_true(fabs(a->mse - b->mse) <
                    5 * hypot(a->mse_stderr, b->mse_stderr));
        assert_true(repeat > 2 || plan->patterns == 0);
        assert_true(isnan(a->predicted) ||
                    fabs(a->mse - a->predicted) < 5 * a->mse_stderr);
        for (int engine = 0; engine < 2; engine++)
            pricer_simulation_free(found[engine]);
        pricer_forward_plan_free(plan);
        pricer_network_free(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draw),
        cmocka_unit_test(test_formula),
        cmocka_unit_test(test_engines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
