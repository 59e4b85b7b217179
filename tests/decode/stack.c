/*
 * Sums of several attempts decoded together: over all patterns, against the
 * definition by payloads, each with one noise whichever sums hold it.
 */
#include "tests/sample.h"
#include "decode/rows.h"

enum { NODES = 3, ATTEMPTS = 2, LINKS = 2, STATES = 1 << (NODES + LINKS) };

/* Three nodes, two links into node 1; all patterns of two attempts are 1,024. */
static struct pricer_network *small(struct pricer_plan **plan)
{
    const struct pricer_node nodes[NODES] = {{.6, 10, 1e-3, NAN, NAN},
                                             {.7, 10, 1e-3, NAN, NAN},
                                             {.4, 10, 1e-3, NAN, NAN}};
    const struct pricer_link links[LINKS] = {{0, 1, .8, NAN, 10, 1e-3},
                                             {2, 1, .5, NAN, 10, 1e-3}};
    struct pricer_network *network = NULL;
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){
                             4, 1.5, 0, nodes, NODES, links, LINKS, NULL, NULL},
                         &network, NULL, NULL),
                     PRICER_OK);
    assert_int_equal(pricer_plan_new(network, plan, NULL), PRICER_OK);
    for (int i = 0; i < NODES; i++) {
        (*plan)->self_weight[i] = .5 + .2 * i;
        (*plan)->self_noise[i] = .3 + .1 * i;
    }
    for (int l = 0; l < LINKS; l++) {
        (*plan)->weight[l] = 1.1 - .3 * l;
        (*plan)->noise[l] = .2 + .2 * l;
    }
    return network;
}

static struct pricer_decoder *fit(const struct pricer_network *network,
                                  const struct pricer_plan *plan, int attempts)
{
    struct pricer_decoder_settings ask = {.spread = -1};
    struct pricer_decoder *decoder = NULL;
    struct pricer_fault fault = {""};
    if (pricer_stack_fit(network, plan, &ask, attempts, &decoder, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    return decoder;
}

/* Whether the share of payload k (own parts, then links) is in sum j. */
static bool holds(const struct pricer_network *network, int k, int j,
                  const bool *link)
{
    return k < NODES ? k == j : network->to[k - NODES] == j && link[k - NODES];
}

static double weight_of(const struct pricer_plan *plan, int k)
{
    return k < NODES ? plan->self_weight[k] : plan->weight[k - NODES];
}

/* f of the coefficients and its derivative, by payloads: the noise of payload k
 * is multiplied with the sum of the coefficients of all sums that hold it. */
static double by_payloads(const struct pricer_network *network,
                          const struct pricer_plan *plan,
                          double x[NODES][NODES], const bool *uplink,
                          const bool *link, const double *beta, double *slope,
                          double *r)
{
    double unit = 4 / 1.5 / 1.5, value = 0, xr[NODES] = {0};
    double noise[NODES + LINKS] = {0};
    for (int i = 0; i < NODES; i++)
        r[i] = -1.0 / NODES;
    for (int s = 0; s < ATTEMPTS * NODES; s++)
        for (int k = 0; k < NODES + LINKS && uplink[s]; k++)
            if (holds(network, k, s % NODES, link + s / NODES * LINKS)) {
                int from = k < NODES ? k : network->from[k - NODES];
                r[from] += beta[s] * weight_of(plan, k);
                noise[k] += beta[s];
            }
    for (int i = 0; i < NODES; i++)
        for (int l = 0; l < NODES; l++) {
            xr[i] += x[i][l] * r[l];
            value += r[i] * x[i][l] * r[l];
        }
    double variance[NODES + LINKS];
    for (int k = 0; k < NODES + LINKS; k++) {
        double sigma = k < NODES ? plan->self_noise[k] : plan->noise[k - NODES];
        variance[k] = unit * sigma * sigma;
        value += variance[k] * noise[k] * noise[k];
    }
    for (int s = 0; s < ATTEMPTS * NODES; s++) {
        slope[s] = 0;
        for (int k = 0; k < NODES + LINKS && uplink[s]; k++)
            if (holds(network, k, s % NODES, link + s / NODES * LINKS)) {
                int from = k < NODES ? k : network->from[k - NODES];
                slope[s] += 2 * (weight_of(plan, k) * xr[from] +
                                 variance[k] * noise[k]);
            }
    }
    return value;
}

/* The links of pattern `state`, and its probability. */
static double unpack(const struct pricer_network *network, int state,
                     bool *uplink, bool *link)
{
    double chance = 1;
    for (int i = 0; i < NODES; i++) {
        uplink[i] = state >> i & 1;
        chance *= uplink[i] ? network->uplink[i] : 1 - network->uplink[i];
    }
    for (int l = 0; l < LINKS; l++) {
        link[l] = state >> (NODES + l) & 1;
        chance *= link[l] ? network->p[l] : 1 - network->p[l];
    }
    return chance;
}

static void test_all_patterns(void **state)
{
    (void)state;
    struct pricer_plan *plan = NULL;
    struct pricer_network *network = small(&plan);
    struct pricer_decoder *decoder = fit(network, plan, ATTEMPTS);
    struct pricer_stack *stack = NULL;
    double x[NODES][NODES], g = 0, worst = 0, all = 0;
    assert_true(decoder->exact && decoder->blend == 1);
    for (int i = 0; i < NODES; i++) {
        decoder->cap[i] = 1e6; /* g is without caps */
        for (int l = 0; l < NODES; l++) {
            x[i][l] = i == l ? decoder->own[i] : 0;
            for (int c = 0; c < NODES; c++)
                x[i][l] += decoder->shared[i * NODES + c] *
                           decoder->shared[l * NODES + c];
        }
    }
    assert_int_equal(
        pricer_stack_new(network, plan, decoder, ATTEMPTS, &stack, NULL),
        PRICER_OK);
    for (int s = 0; s < STATES * STATES; s++) {
        bool uplink[ATTEMPTS * NODES], link[ATTEMPTS * LINKS];
        double beta[ATTEMPTS * NODES], slope[ATTEMPTS * NODES], r[NODES];
        struct pricer_decoded decoded;
        double chance =
            unpack(network, s % STATES, uplink, link) *
            unpack(network, s / STATES, uplink + NODES, link + LINKS);
        pricer_stack_decode(stack, uplink, link, beta, &decoded);
        double value =
            by_payloads(network, plan, x, uplink, link, beta, slope, r);
        assert_close(decoded.bar, 2.25 * value, 1e-9);
        for (int k = 0; k < ATTEMPTS * NODES; k++)
            worst = fmax(worst, fabs(slope[k]));
        g += chance * value;
        all += chance;
    }
    assert_close(all, 1, 1e-12);
    assert_true(worst < 1e-8); /* nothing is better, in any pattern */
    assert_close(decoder->lower, 2.25 * g, 1e-9);
    assert_true(decoder->lower <= decoder->upper * (1 + 1e-9));
    assert_close(decoder->lower, decoder->upper, 1e-4); /* the saddle */
    assert_true(decoder->upper < decoder->constant);
    pricer_stack_free(stack);
    pricer_decoder_free(decoder);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* One attempt is the decoder that is known; more are never worse. */
static void test_more_attempts(void **state)
{
    (void)state;
    struct pricer_plan *plan = NULL;
    struct pricer_network *network = small(&plan);
    struct pricer_decoder_settings ask = {.spread = -1};
    struct pricer_decoder *one = NULL, *few[3];
    assert_int_equal(pricer_decoder_fit(network, plan, &ask, &one, NULL),
                     PRICER_OK);
    for (int k = 0; k < 3; k++) {
        few[k] = fit(network, plan, k + 1);
        assert_true(k == 0 || few[k]->upper < few[k - 1]->upper);
    }
    assert_close(few[0]->lower, one->lower, 1e-6);
    assert_close(few[0]->constant, one->constant, 1e-6);
    struct pricer_simulation_settings settings = {
        .trials = 20000, .seed = 3, .decoder = few[1]};
    struct pricer_repeated found;
    assert_int_equal(
        pricer_stack_simulate(network, plan, &settings, 2, &found, NULL),
        PRICER_OK);
    /* false alarms: 3e-5 each */
    assert_true(found.stacked.value <= few[1]->upper + 4 * found.stacked.error);
    assert_true(found.equal.value <= few[1]->constant + 4 * found.equal.error);
    settings.threads = 3;
    struct pricer_repeated again;
    assert_int_equal(
        pricer_stack_simulate(network, plan, &settings, 2, &again, NULL),
        PRICER_OK);
    assert_true(found.stacked.value == again.stacked.value);
    for (int k = 0; k < 3; k++)
        pricer_decoder_free(few[k]);
    pricer_decoder_free(one);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* An own part that is withheld is as if the plan had none; the decoder of a
 * stack is for stacks of as many attempts alone. */
static void test_withheld(void **state)
{
    (void)state;
    struct pricer_plan *plan = NULL, *without = NULL;
    struct pricer_network *network = small(&plan), *twin = small(&without);
    struct pricer_decoder *decoder = fit(network, plan, ATTEMPTS);
    struct pricer_stack *stack = NULL, *other = NULL;
    struct pricer_receiver *receiver = NULL;
    without->self_weight[1] = without->self_noise[1] = 0;
    assert_int_equal(
        pricer_stack_new(network, plan, decoder, ATTEMPTS, &stack, NULL),
        PRICER_OK);
    assert_int_equal(
        pricer_stack_new(twin, without, decoder, ATTEMPTS, &other, NULL),
        PRICER_OK);
    const bool withheld[ATTEMPTS * NODES] = {false, true, false,
                                             false, true, false};
    for (int s = 0; s < STATES * STATES; s++) {
        bool uplink[ATTEMPTS * NODES], link[ATTEMPTS * LINKS];
        double one[ATTEMPTS * NODES], two[ATTEMPTS * NODES];
        struct pricer_decoded a, b;
        unpack(network, s % STATES, uplink, link);
        unpack(network, s / STATES, uplink + NODES, link + LINKS);
        pricer_stack_withhold(stack, withheld);
        pricer_stack_decode(stack, uplink, link, one, &a);
        pricer_stack_decode(other, uplink, link, two, &b);
        assert_int_equal(a.sums, b.sums);
        assert_close(a.bar, b.bar, 1e-9);
        for (int k = 0; k < ATTEMPTS * NODES; k++)
            assert_true(fabs(one[k] - two[k]) < 1e-7);
        pricer_stack_withhold(stack, NULL);
        pricer_stack_decode(stack, uplink, link, one, &b);
        assert_true(b.bar <= a.bar * (1 + 1e-9)); /* more is never worse */
    }
    assert_int_equal(
        pricer_receiver_new(network, plan, decoder, &receiver, NULL),
        PRICER_VALUE);
    pricer_stack_free(other);
    other = NULL;
    assert_int_equal(
        pricer_stack_new(network, plan, decoder, ATTEMPTS + 1, &other, NULL),
        PRICER_VALUE);
    pricer_stack_free(stack);
    pricer_decoder_free(decoder);
    pricer_plan_free(plan);
    pricer_plan_free(without);
    pricer_network_free(network);
    pricer_network_free(twin);
}

static void test_refusals(void **state)
{
    (void)state;
    struct pricer_plan *plan = NULL;
    struct pricer_network *network = small(&plan);
    struct pricer_decoder *decoder = NULL;
    struct pricer_decoder_settings ask = {.horizon = 3};
    struct pricer_fault fault;
    assert_int_equal(pricer_stack_fit(network, plan, &ask, 2, &decoder, &fault),
                     PRICER_VALUE);
    ask.horizon = 1;
    assert_int_equal(
        pricer_stack_fit(network, plan, &ask, 65, &decoder, &fault),
        PRICER_VALUE);
    assert_null(decoder);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_patterns),
        cmocka_unit_test(test_more_attempts),
        cmocka_unit_test(test_withheld),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
