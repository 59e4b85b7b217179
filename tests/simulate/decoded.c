/*
 * Simulations with a decoder: trial by trial as by definition, the two engines
 * agree, no data go above the certified worst case, and nothing else changes.
 *
 * Statistics are held to 5 standard errors, two-sided; over the dozen
 * comparisons of this file a false alarm has a chance below 1e-5 for a seed.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "simulate/simulate.h"

#include <stdlib.h>

static struct pricer_network *network;
static struct pricer_plan *plan;
static struct pricer_decoder *decoder;

/* The paper's ten nodes, links between them up with probability p. */
static void build(const char *set)
{
    static const char text[] =
        "dimension: 16\n"
        "network: {generator: erdos-renyi, nodes: 10, p: 0.5, reciprocity: 1,\n"
        "  uplink: [0.1, 0.1, 0.8, 0.1, 0.1, 0.9, 0.1, 0.1, 0.9, 0.1]}\n"
        "trust: {eps: 1, delta: 1e-3, self: {eps: 1000}, ring: {hops: 1, eps: "
        "1000}}\n";
    struct pricer_scenario *scenario = NULL;
    struct pricer_settings settings = {0};
    struct pricer_decoder_settings ask = {.seed = 1};
    struct pricer_solve_info info;
    struct pricer_fault fault = {""};
    if (pricer_scenario_read(scratch_text("ten.yaml", text), &set, 1, &scenario,
                             &fault) ||
        pricer_scenario_network(scenario, NULL, &network, &fault) ||
        pricer_plan_optimise(network, &settings, NULL, &plan, &info, &fault) ||
        pricer_decoder_fit(network, plan, &ask, &decoder, &fault))
        fail_msg("%s", fault.text);
    pricer_scenario_free(scenario);
}

static void drop(void)
{
    pricer_decoder_free(decoder);
    pricer_plan_free(plan);
    pricer_network_free(network);
    decoder = NULL;
    plan = NULL;
    network = NULL;
}

static int set_up(void **state)
{
    (void)state;
    build("network.p=0.5");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    drop();
    return 0;
}

static struct pricer_simulation *simulate(
    struct pricer_simulation_settings settings)
{
    const struct pricer_plan *plans[] = {plan, plan};
    struct pricer_simulation *simulation = NULL;
    struct pricer_fault fault = {""};
    if (pricer_simulation_run(network, plans, 2, &settings, &simulation,
                              &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return simulation;
}

/* ------------------------------------------------------------- definition --
 */

static void draw(uint64_t seed, int64_t round, bool *uplink, bool *link)
{
    for (int32_t i = 0; i < network->nodes; i++)
        uplink[i] = pricer_round_up(
            seed, round,
            &(struct pricer_pair){i, PRICER_SERVER, network->uplink[i], 0, 0});
    for (int32_t l = 0; l < network->links; l++)
        link[l] = pricer_round_up(
            seed, round,
            &(struct pricer_pair){
                network->from[l], network->to[l], network->p[l],
                network->partner[l] < 0 ? 0 : network->p[network->partner[l]],
                network->joint[l]});
}

/* |E estimate - mean|^2 + d variance of one pattern; weight[i] is what node i's
 * data count for. */
static double by_definition(const struct pri_data *data, const bool *uplink,
                            const bool *link, const double *beta,
                            double *weight)
{
    int32_t n = network->nodes;
    double variance = 0, square = 0;
    for (int32_t i = 0; i < n; i++) {
        double noise = plan->self_noise[i] * beta[i];
        weight[i] = uplink[i] ? plan->self_weight[i] * beta[i] : 0;
        variance += uplink[i] ? noise * noise : 0;
    }
    for (int32_t l = 0; l < network->links; l++) {
        int32_t j = network->to[l];
        if (!uplink[j] || !link[l])
            continue;
        weight[network->from[l]] += plan->weight[l] * beta[j];
        variance += plan->noise[l] * plan->noise[l] * beta[j] * beta[j];
    }
    for (int64_t c = 0; c < network->dimension; c++) {
        double off = 0;
        for (int32_t i = 0; i < n; i++)
            off += (weight[i] - 1.0 / n) * pri_data_row(data, i)[c];
        square += off * off;
    }
    return square + (double)network->dimension * variance;
}

/* The fast engine's means over `trials` rounds are those of the definition. */
static void check_definition(int trials)
{
    const struct pricer_simulation_settings settings = {.trials = trials,
                                                        .seed = 3,
                                                        .data =
                                                            PRICER_DATA_RANDOM,
                                                        .decoder = decoder};
    int32_t n = network->nodes;
    bool *uplink = pri_alloc(n, sizeof *uplink);
    bool *link = pri_alloc(network->links, sizeof *link);
    double *beta = pri_alloc(n, sizeof *beta), mse = 0, bar = 0;
    double *weight = pri_alloc(n, sizeof *weight);
    double *mean = pri_alloc(n, sizeof *mean), vector[16];
    struct pricer_receiver *receiver = NULL;
    struct pri_data data;
    assert_int_equal(
        pricer_receiver_new(network, plan, decoder, &receiver, NULL),
        PRICER_OK);
    assert_int_equal(pri_data_make(network, &settings, &data, NULL), PRICER_OK);
    for (int t = 0; t < trials; t++) {
        struct pricer_decoded decoded;
        draw(3, t, uplink, link);
        pricer_receiver_decode(receiver, uplink, link, beta, &decoded);
        mse += by_definition(&data, uplink, link, beta, weight) / trials;
        bar += decoded.bar / trials;
        for (int i = 0; i < n; i++)
            mean[i] += (n * weight[i] - 1) / trials;
    }
    double bias = pri_bias_length(&data, mean, vector);
    struct pricer_simulation *found = simulate(settings);
    assert_int_equal(found->decode, PRICER_DECODE_MINIMAX);
    assert_true(fabs(found->outcomes[0].mse / mse - 1) < 1e-10);
    assert_true(fabs(found->outcomes[0].bar / bar - 1) < 1e-10);
    assert_true(fabs(found->outcomes[0].bias / bias - 1) < 1e-8);
    pricer_simulation_free(found);
    pri_data_free(&data);
    pricer_receiver_free(receiver);
    free(uplink);
    free(link);
    free(beta);
    free(weight);
    free(mean);
}

static void test_definition(void **state)
{
    (void)state;
    check_definition(700);
}

/* More nodes than a chunk of the kernels or a small solver takes, and
 * a decoder for data that are half alike. */
static void test_large(void **state)
{
    (void)state;
    static const char text[] =
        "dimension: 16\n"
        "network: {generator: erdos-renyi, nodes: 150, p: 0.1, uplink: 0.3}\n"
        "trust: {eps: 10, delta: 1e-3}\n";
    struct pricer_scenario *scenario = NULL;
    struct pricer_settings settings = {0};
    struct pricer_solve_info info;
    struct pricer_fault fault = {""};
    drop();
    if (pricer_scenario_read(scratch_text("large.yaml", text), NULL, 0,
                             &scenario, &fault) ||
        pricer_scenario_network(scenario, NULL, &network, &fault) ||
        pricer_plan_optimise(network, &settings, NULL, &plan, &info, &fault) ||
        pricer_decoder_new(150, 1, &decoder, &fault))
        fail_msg("%s", fault.text);
    pricer_scenario_free(scenario);
    for (int i = 0; i < 150; i++) {
        decoder->own[i] = .5;
        decoder->shared[i] = sqrt(.5);
        decoder->target[i] = (.5 + .5 * 150) / 150;
        decoder->cap[i] = 1;
    }
    check_definition(600);
}

/* ---------------------------------------------------------------- engines --
 */

/* Every message sent and decoded, against the noise integrated out. */
static void test_engines(void **state)
{
    (void)state;
    for (int data = 0; data < 2; data++) {
        struct pricer_simulation_settings settings = {
            .trials = 4000,
            .seed = 5,
            .data = (enum pricer_data)data,
            .decoder = decoder};
        struct pricer_simulation *fast = simulate(settings);
        settings.engine = PRICER_ENGINE_FAITHFUL;
        struct pricer_simulation *same = simulate(settings);
        settings.seed = 6;
        struct pricer_simulation *other = simulate(settings);
        const struct pricer_outcome *a = fast->outcomes, *b = other->outcomes;
        assert_true(fabs(same->outcomes[0].bar / a->bar - 1) < 1e-12);
        assert_true(fabs(a->mse - same->outcomes[0].mse) <
                    5 * same->outcomes[0].mse_stderr);
        assert_true(fabs(a->mse - b->mse) <
                    5 * hypot(a->mse_stderr, b->mse_stderr));
        assert_true(fabs(a->bias - same->outcomes[0].bias) < 0.03);
        assert_true(isnan(b->predicted) && b->worst_case == decoder->upper);
        pricer_simulation_free(fast);
        pricer_simulation_free(same);
        pricer_simulation_free(other);
    }
}

/* The same bits for any number of threads, by each engine and decoder. */
static void test_threads(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct pricer_simulation_settings settings = {
            .engine = kind == 0 ? PRICER_ENGINE_FAST : PRICER_ENGINE_FAITHFUL,
            .decode =
                kind == 2 ? PRICER_DECODE_ADAPTIVE : PRICER_DECODE_MINIMAX,
            .trials = kind == 0 ? 9000 : 100,
            .threads = 1,
            .data = PRICER_DATA_RANDOM,
            .decoder = decoder};
        struct pricer_simulation *one = simulate(settings);
        settings.threads = 3;
        struct pricer_simulation *three = simulate(settings);
        assert_true(one->outcomes[0].mse == three->outcomes[0].mse);
        assert_true(one->outcomes[0].bar == three->outcomes[0].bar);
        assert_true(one->outcomes[0].bias == three->outcomes[0].bias);
        assert_memory_equal(one->outcomes[0].bins, three->outcomes[0].bins,
                            sizeof one->outcomes[0].bins);
        pricer_simulation_free(one);
        pricer_simulation_free(three);
    }
}

/* The second plan is played as if there were no decoder, and so is the first
 * where the constant one is asked for. */
static void test_constant(void **state)
{
    (void)state;
    for (int engine = 0; engine < 2; engine++) {
        struct pricer_simulation_settings settings = {
            .engine = (enum pricer_engine)engine, .trials = 600};
        struct pricer_simulation *plain = simulate(settings);
        settings.decoder = decoder;
        struct pricer_simulation *decoded = simulate(settings);
        settings.decode = PRICER_DECODE_CONSTANT;
        struct pricer_simulation *constant = simulate(settings);
        assert_int_equal(plain->decode, PRICER_DECODE_CONSTANT);
        assert_int_equal(constant->decode, PRICER_DECODE_CONSTANT);
        assert_true(isnan(plain->outcomes[0].bar));
        assert_true(plain->outcomes[0].mse == constant->outcomes[0].mse);
        assert_true(plain->outcomes[1].mse == decoded->outcomes[1].mse);
        assert_true(plain->outcomes[1].bias == decoded->outcomes[1].bias);
        assert_true(plain->outcomes[1].predicted ==
                    decoded->outcomes[1].predicted);
        assert_true(decoded->outcomes[0].mse < plain->outcomes[0].mse);
        pricer_simulation_free(plain);
        pricer_simulation_free(decoded);
        pricer_simulation_free(constant);
    }
}

/* ------------------------------------------------------------------ worth --
 */

/* No data above B; the mean bar not below the error by more than the bracket
 * leaves open; and the worst data are less bad than with the constant one. */
static void test_worst_case(void **state)
{
    (void)state;
    static const char *const sets[] = {"network.p=0.1", "network.p=0.9"};
    for (int k = 0; k < 2; k++) {
        drop();
        build(sets[k]);
        for (int data = 0; data < 2; data++) {
            struct pricer_simulation_settings settings = {
                .trials = 60000,
                .seed = 11,
                .data = (enum pricer_data)data,
                .decoder = decoder};
            struct pricer_simulation *found = simulate(settings);
            const struct pricer_outcome *outcome = found->outcomes;
            double error = hypot(outcome->mse_stderr, decoder->upper_stderr);
            assert_true(outcome->mse < decoder->upper + 4 * error);
            assert_true(outcome->bar > outcome->mse - 4 * error -
                                           (decoder->upper - decoder->lower));
            if (data == PRICER_DATA_WORST_CASE) {
                assert_true(outcome[1].difference >
                            5 * outcome[1].difference_stderr);
                assert_true(outcome->mse < .9 * outcome[1].mse);
            }
            pricer_simulation_free(found);
        }
    }
}

/* Data of which no two are alike: the adaptive decoder notices. */
static void test_adaptive(void **state)
{
    (void)state;
    struct pricer_simulation_settings settings = {.engine =
                                                      PRICER_ENGINE_FAITHFUL,
                                                  .data = PRICER_DATA_RANDOM,
                                                  .trials = 800,
                                                  .decoder = decoder};
    struct pricer_simulation *minimax = simulate(settings);
    settings.decode = PRICER_DECODE_ADAPTIVE;
    struct pricer_simulation *adaptive = simulate(settings);
    assert_int_equal(adaptive->decode, PRICER_DECODE_ADAPTIVE);
    assert_true(isnan(adaptive->outcomes[0].worst_case));
    assert_true(isfinite(adaptive->outcomes[0].bar));
    assert_true(adaptive->outcomes[0].mse < minimax->outcomes[0].mse);
    pricer_simulation_free(minimax);
    pricer_simulation_free(adaptive);
}

static void test_refused(void **state)
{
    (void)state;
    const struct pricer_plan *plans[] = {plan};
    struct pricer_simulation *simulation = (void *)1;
    struct pricer_decoder *other = NULL;
    struct pricer_fault fault = {""};
    struct pricer_simulation_settings settings = {
        .trials = 10, .decoder = decoder, .decode = PRICER_DECODE_ADAPTIVE};
    assert_int_equal(pricer_simulation_run(network, plans, 1, &settings,
                                           &simulation, &fault),
                     PRICER_VALUE);
    assert_non_null(strstr(fault.text, "only the faithful engine"));
    assert_int_equal(pricer_decoder_new(9, 1, &other, NULL), PRICER_OK);
    settings = (struct pricer_simulation_settings){.decoder = other};
    for (int engine = 0; engine < 2; engine++) {
        settings.engine = (enum pricer_engine)engine;
        assert_int_equal(pricer_simulation_run(network, plans, 1, &settings,
                                               &simulation, &fault),
                         PRICER_VALUE);
        assert_non_null(strstr(fault.text, "not one of this network"));
    }
    assert_true(simulation == (void *)1);
    pricer_decoder_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_definition, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_engines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_constant, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_worst_case, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_adaptive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
