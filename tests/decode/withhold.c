/*
 * Own parts that are withheld: decoding then is that of the plan without them,
 * with the same decoder, on small networks and large ones, minimax and
 * adaptive.
 */
#include "tests/sample.h"
#include "pricer_decode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 40, DIMENSION = 6 };

/* A ring where every node also hears the node after the next. */
static struct pricer_network *ring(int32_t n)
{
    struct pricer_node nodes[MOST];
    struct pricer_link links[2 * MOST];
    struct pricer_network *network = NULL;
    for (int32_t i = 0; i < n; i++) {
        nodes[i] = (struct pricer_node){.7, 10, 1e-3, NAN, NAN};
        for (int32_t k = 0; k < 2; k++)
            links[2 * i + k] =
                (struct pricer_link){i, (i + k + 1) % n, .6, NAN, 10, 1e-3};
    }
    struct pricer_network_parts parts = {
        DIMENSION, 1.5, 0, nodes, n, links, 2 * (int64_t)n, NULL, NULL};
    assert_int_equal(pricer_network_build(&parts, &network, NULL, NULL),
                     PRICER_OK);
    return network;
}

static struct pricer_plan *weigh(const struct pricer_network *network)
{
    struct pricer_plan *plan = NULL;
    assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
    for (int32_t i = 0; i < network->nodes; i++) {
        plan->self_weight[i] = .5 + .01 * i;
        plan->self_noise[i] = .2;
    }
    for (int32_t l = 0; l < network->links; l++) {
        plan->weight[l] = .3 + .005 * l;
        plan->noise[l] = .1 + .002 * l;
    }
    return plan;
}

/* The same round decoded by both receivers. */
static void check_round(struct pricer_receiver *whole,
                        struct pricer_receiver *without,
                        const struct pricer_network *network, uint64_t *seed)
{
    bool uplink[MOST], link[2 * MOST];
    double sums[MOST * DIMENSION], one[MOST], two[MOST];
    struct pricer_decoded first, second;
    for (int32_t i = 0; i < network->nodes; i++)
        uplink[i] = test_uniform(seed) < .8;
    for (int32_t l = 0; l < network->links; l++)
        link[l] = test_uniform(seed) < .5;
    for (int k = 0; k < MOST * DIMENSION; k++)
        sums[k] = test_uniform(seed) - .5;
    for (int adaptive = 0; adaptive < 2; adaptive++) {
        if (adaptive) {
            pricer_receiver_adapt(whole, uplink, link, sums, one, &first);
            pricer_receiver_adapt(without, uplink, link, sums, two, &second);
        } else {
            pricer_receiver_decode(whole, uplink, link, one, &first);
            pricer_receiver_decode(without, uplink, link, two, &second);
        }
        assert_int_equal(first.sums, second.sums);
        assert_close(first.bar, second.bar, adaptive ? 1e-6 : 1e-9);
        for (int32_t i = 0; i < network->nodes; i++)
            assert_true(fabs(one[i] - two[i]) < (adaptive ? 1e-5 : 1e-8));
    }
}

static void check_size(int32_t n)
{
    uint64_t seed = (uint64_t)n;
    bool withheld[MOST] = {false};
    struct pricer_network *network = ring(n);
    struct pricer_plan *plan = weigh(network), *other = weigh(network);
    struct pricer_decoder *decoder = NULL;
    struct pricer_receiver *whole = NULL, *without = NULL;
    struct pricer_decoder_settings ask = {.patterns = 2000};
    struct pricer_fault fault = {""};
    if (pricer_decoder_fit(network, plan, &ask, &decoder, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    for (int32_t i = 0; i < n; i += 3) {
        withheld[i] = true;
        other->self_weight[i] = other->self_noise[i] = 0;
    }
    assert_int_equal(pricer_receiver_new(network, plan, decoder, &whole, NULL),
                     PRICER_OK);
    assert_int_equal(
        pricer_receiver_new(network, other, decoder, &without, NULL),
        PRICER_OK);
    pricer_receiver_withhold(whole, withheld);
    for (int k = 0; k < 50; k++)
        check_round(whole, without, network, &seed);
    double coefficient[MOST];
    bool up[MOST] = {true}, none[2 * MOST] = {false};
    struct pricer_decoded decoded;
    pricer_receiver_decode(whole, up, none, coefficient, &decoded);
    assert_false(decoded.is_estimate); /* a sum of nothing */
    pricer_receiver_withhold(whole, NULL);
    pricer_receiver_decode(whole, up, none, coefficient, &decoded);
    assert_true(decoded.is_estimate && coefficient[0] > 0);
    pricer_receiver_free(whole);
    pricer_receiver_free(without);
    pricer_decoder_free(decoder);
    pricer_plan_free(plan);
    pricer_plan_free(other);
    pricer_network_free(network);
}

static void test_withheld(void **state)
{
    (void)state;
    check_size(5);
    check_size(40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_withheld),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
