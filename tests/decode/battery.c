/*
 * The decoder on networks of all kinds: never worse than the constant one,
 * brackets that hold for random data, one arithmetic for one round and for
 * many, any number of threads, blind relays and horizons. An argument: how many
 * networks.
 */
#include "tests/test.h"
#include "decode/rows.h"
#include "bench/hard_networks.h"
#include "bench/geometric.h"

static struct pricer_plan *plan_of(const struct pricer_network *network,
                                   const struct pricer_settings *settings)
{
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    struct pricer_fault fault = {""};
    if (pricer_plan_optimise(network, settings, NULL, &plan, &info, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    return plan;
}

static struct pricer_decoder *fit(const struct pricer_network *network,
                                  const struct pricer_plan *plan,
                                  struct pricer_decoder_settings ask)
{
    struct pricer_decoder *decoder = NULL;
    struct pricer_fault fault = {""};
    if (pricer_decoder_fit(network, plan, &ask, &decoder, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return decoder;
}

/* Radii of their own for the nodes, down to a tenth. */
static void shorten(struct pricer_network *network)
{
    for (int32_t i = 0; i < network->nodes; i++) {
        network->node_radius[i] *= 1 - .9 * (i % 5) / 4;
        network->node_diameter[i] =
            fmin(network->node_diameter[i], 2 * network->node_radius[i]);
    }
}

/* 512 rounds of fresh links as bits. */
struct rounds {
    uint64_t *uplink, *link;
    struct pri_decoded_group group;
};

static struct rounds rounds_new(const struct pricer_network *network)
{
    size_t n = (size_t)network->nodes, links = (size_t)network->links;
    struct rounds rounds = {calloc(n, 64), calloc(links + 1, 64), {0}};
    rounds.group.coefficient = calloc(n * PRI_ROUNDS, sizeof(double));
    rounds.group.excess = calloc(n * PRI_ROUNDS, sizeof(double));
    rounds.group.variance = calloc(PRI_ROUNDS, sizeof(double));
    rounds.group.bar = calloc(PRI_ROUNDS, sizeof(double));
    return rounds;
}

static void rounds_free(struct rounds *rounds)
{
    free(rounds->uplink);
    free(rounds->link);
    free(rounds->group.coefficient);
    free(rounds->group.excess);
    free(rounds->group.variance);
    free(rounds->group.bar);
}

static void rounds_draw(const struct pricer_network *network, int64_t group,
                        struct rounds *rounds)
{
    struct pri_threefry_key key = pri_draw_key(7, group);
    for (int32_t i = 0; i < network->nodes; i++) {
        struct pri_pair pair = pri_pair_make(network->uplink[i], 0, 0);
        pri_draw_pair(&pair, &key, i, PRICER_SERVER, rounds->uplink + 8 * i,
                      NULL);
    }
    for (int32_t l = 0; l < network->links; l++) {
        int32_t back = network->partner[l], i = network->from[l];
        int32_t j = network->to[l];
        uint64_t other[8];
        if (back >= 0 && i > j)
            continue;
        double q = back < 0 ? 0 : network->p[back];
        struct pri_pair pair =
            i < j ? pri_pair_make(network->p[l], q, network->joint[l])
                  : pri_pair_make(0, network->p[l], 0);
        uint64_t *mine = rounds->link + (size_t)8 * (size_t)l;
        uint64_t *theirs =
            back < 0 ? other : rounds->link + (size_t)8 * (size_t)back;
        if (i < j)
            pri_draw_pair(&pair, &key, i, j, mine, theirs);
        else
            pri_draw_pair(&pair, &key, j, i, other, mine);
    }
}

/* --------------------------------------------------------------- safety -- */

/* How many networks; more on request. */
static int networks = 400;

static void test_never_worse(void **state)
{
    (void)state;
    int gains = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)networks; seed++) {
        struct hard_network hard = hard_network_new(seed, 1, 7);
        if (seed % 7 == 0)
            shorten(hard.network);
        struct pricer_plan *plan = plan_of(hard.network, &hard.settings);
        struct pricer_decoder *decoder =
            fit(hard.network, plan,
                (struct pricer_decoder_settings){
                    .patterns = 2048, .threads = 1, .blind = seed % 5 == 0});
        if (!(decoder->upper <= decoder->constant) ||
            !(decoder->lower <= decoder->upper + 4 * decoder->upper_stderr +
                                    1e-9 * decoder->constant) ||
            !isfinite(decoder->lower))
            fail_msg("seed %d: W %g lower %g upper %g", (int)seed,
                     decoder->constant, decoder->lower, decoder->upper);
        gains += decoder->upper < .99 * decoder->constant;
        pricer_decoder_free(decoder);
        pricer_plan_free(plan);
        pricer_network_free(hard.network);
    }
    assert_true(gains > networks / 5);
}

/* --------------------------------------------------------- random data -- */

/* Gram matrix of random unit vectors, some of them alike or opposite. */
static void random_data(uint64_t *seed, int32_t n, double *x)
{
    enum { D = 3 };
    double y[12][D], common = test_uniform(seed);
    for (int32_t i = 0; i < n; i++) {
        double length = 0, sign = test_uniform(seed) < .3 ? -1 : 1;
        for (int c = 0; c < D; c++) {
            y[i][c] = (1 - common) * (test_uniform(seed) - .5) +
                      common * sign * (c == 0);
            length += y[i][c] * y[i][c];
        }
        for (int c = 0; c < D; c++)
            y[i][c] /= sqrt(length);
    }
    for (int32_t i = 0; i < n; i++)
        for (int32_t l = 0; l < n; l++) {
            x[i * n + l] = 0;
            for (int c = 0; c < D; c++)
                x[i * n + l] += y[i][c] * y[l][c];
        }
}

/* For 200 data sets: mean error of fresh rounds below upper + 4 standard
 * errors, its own and the bound's. A false alarm: 200 * 3e-5 a network if data
 * were at the bound, which few are. */
static void check_data(const struct pricer_network *network,
                       const struct pricer_plan *plan, bool blind)
{
    enum { GROUPS = 4 };
    uint64_t seed = 3;
    int32_t n = network->nodes;
    struct pricer_decoder *decoder =
        fit(network, plan, (struct pricer_decoder_settings){.blind = blind});
    struct pricer_receiver *receiver = NULL;
    assert_int_equal(
        pricer_receiver_new(network, plan, decoder, &receiver, NULL),
        PRICER_OK);
    struct rounds rounds = rounds_new(network);
    double sum[200] = {0}, square[200] = {0}, bars = 0;
    double *x = calloc((size_t)(200 * n * n), sizeof *x);
    for (int k = 0; k < 200; k++)
        random_data(&seed, n, x + k * n * n);
    for (int k = 0; k < 200 * n * n; k++)
        x[k] *= network->node_radius[k / n % n] * network->node_radius[k % n];
    for (int g = 0; g < GROUPS; g++) {
        rounds_draw(network, g, &rounds);
        pri_receiver_group(receiver, rounds.uplink, rounds.link, PRI_ROUNDS,
                           &rounds.group);
        for (int t = 0; t < PRI_ROUNDS; t++) {
            double noise =
                (double)network->dimension * rounds.group.variance[t];
            bars += rounds.group.bar[t] / (GROUPS * PRI_ROUNDS);
            for (int k = 0; k < 200; k++) {
                double error = 0;
                for (int32_t i = 0; i < n; i++)
                    for (int32_t l = 0; l < n; l++)
                        error += rounds.group.excess[i * PRI_ROUNDS + t] *
                                 x[(k * n + i) * n + l] *
                                 rounds.group.excess[l * PRI_ROUNDS + t];
                error = (error + noise) / ((double)n * n);
                sum[k] += error / (GROUPS * PRI_ROUNDS);
                square[k] += error * error / (GROUPS * PRI_ROUNDS);
            }
        }
    }
    for (int k = 0; k < 200; k++) {
        double spread = (square[k] - sum[k] * sum[k]) / (GROUPS * PRI_ROUNDS);
        double slack = 4 * (sqrt(fmax(spread, 0)) + decoder->upper_stderr);
        if (!(sum[k] <= decoder->upper + slack))
            fail_msg("data %d: %g above %g", k, sum[k], decoder->upper);
    }
    assert_true(bars >= .9 * decoder->lower);
    free(x);
    rounds_free(&rounds);
    pricer_receiver_free(receiver);
    pricer_decoder_free(decoder);
}

static void test_random_data(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct hard_network hard = hard_network_new(1000 + seed, 4, 10);
        if (seed % 2 == 0)
            shorten(hard.network);
        struct pricer_plan *plan = plan_of(hard.network, &hard.settings);
        check_data(hard.network, plan, false);
        check_data(hard.network, plan, true);
        pricer_plan_free(plan);
        pricer_network_free(hard.network);
    }
}

/* ------------------------------------------- one arithmetic, any threads -- */

/* One round by itself gives the bits that it gives among 512. */
static void check_same_bits(const struct pricer_network *network,
                            const struct pricer_plan *plan,
                            struct pricer_decoder_settings ask)
{
    struct pricer_decoder *decoder = fit(network, plan, ask);
    struct pricer_receiver *receiver = NULL;
    decoder->blend = .9;
    assert_int_equal(
        pricer_receiver_new(network, plan, decoder, &receiver, NULL),
        PRICER_OK);
    struct rounds rounds = rounds_new(network);
    rounds_draw(network, 3, &rounds);
    pri_receiver_group(receiver, rounds.uplink, rounds.link, 50, &rounds.group);
    size_t n = (size_t)network->nodes, links = (size_t)network->links;
    bool *up = calloc(n, 1), *link = calloc(links + 1, 1);
    double *beta = calloc(n, sizeof *beta);
    for (int t = 0; t < 50; t++) {
        struct pricer_decoded decoded;
        for (size_t i = 0; i < n; i++)
            up[i] = rounds.uplink[8 * i] >> t & 1;
        for (size_t l = 0; l < links; l++)
            link[l] = rounds.link[8 * l] >> t & 1;
        pricer_receiver_decode(receiver, up, link, beta, &decoded);
        for (size_t j = 0; j < n; j++)
            assert_true(beta[j] ==
                        rounds.group.coefficient[j * PRI_ROUNDS + (size_t)t]);
        assert_true(decoded.bar == rounds.group.bar[t]);
    }
    free(up);
    free(link);
    free(beta);
    rounds_free(&rounds);
    pricer_receiver_free(receiver);
    pricer_decoder_free(decoder);
}

static void check_threads(const struct pricer_network *network,
                          const struct pricer_plan *plan,
                          struct pricer_decoder_settings ask)
{
    ask.threads = 1;
    struct pricer_decoder *one = fit(network, plan, ask);
    ask.threads = 3;
    struct pricer_decoder *three = fit(network, plan, ask);
    assert_true(one->upper == three->upper && one->lower == three->lower);
    assert_true(one->blend == three->blend);
    size_t n = (size_t)one->nodes, rank = (size_t)one->rank;
    assert_memory_equal(one->own, three->own, n * sizeof(double));
    assert_memory_equal(one->shared, three->shared, n * rank * sizeof(double));
    assert_memory_equal(one->cap, three->cap, n * sizeof(double));
    pricer_decoder_free(one);
    pricer_decoder_free(three);
}

static void test_same_bits(void **state)
{
    (void)state;
    struct hard_network hard = hard_network_new(77, 9, 9);
    struct pricer_settings settings = {0};
    struct pricer_decoder_settings ask = {.patterns = 2048};
    struct pricer_plan *plan = plan_of(hard.network, &hard.settings);
    check_same_bits(hard.network, plan, ask);
    check_threads(hard.network, plan, ask);
    ask.blind = true;
    check_same_bits(hard.network, plan, ask);
    pricer_plan_free(plan);
    pricer_network_free(hard.network);
    struct pricer_network *network = geometric_network(100, "10");
    plan = plan_of(network, &settings);
    ask = (struct pricer_decoder_settings){.patterns = 1024};
    check_same_bits(network, plan, ask);
    check_threads(network, plan, ask);
    ask.blind = true;
    check_same_bits(network, plan, ask);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* ------------------------------------------- large against small, horizon --
 */

/* Conjugate gradients and the direct solution, on one network. */
static void test_two_solvers(void **state)
{
    (void)state;
    struct hard_network hard = hard_network_new(78, 12, 12);
    shorten(hard.network);
    struct pricer_plan *plan = plan_of(hard.network, &hard.settings);
    struct pri_rows rows;
    struct pri_large large;
    struct pri_small small;
    struct rounds rounds = rounds_new(hard.network);
    struct pricer_decoder *decoder = NULL;
    assert_int_equal(pricer_decoder_new(12, 1, &decoder, NULL), PRICER_OK);
    assert_int_equal(pri_rows_new(hard.network, plan, false, &rows), PRICER_OK);
    assert_int_equal(pri_large_new(&rows, &large), PRICER_OK);
    assert_int_equal(pri_small_new(&rows, &small), PRICER_OK);
    for (int i = 0; i < 12; i++) {
        decoder->own[i] = .4;
        decoder->shared[i] = sqrt(.6);
    }
    double x[144];
    struct pri_model model = {.nodes = 12,
                              .rank = 1,
                              .own = decoder->own,
                              .shared = decoder->shared,
                              .target = decoder->target,
                              .blend = 1};
    model.part = rows.part;
    pri_model_complete(&model, x);
    pri_model_target(&model, decoder->target);
    uint64_t *entry = calloc((size_t)rows.entries + 1, 64);
    rounds_draw(hard.network, 0, &rounds);
    for (int j = 0; j < 12; j++)
        for (int k = rows.start[j]; k < rows.start[j + 1]; k++)
            for (int w = 0; w < 8; w++)
                entry[8 * k + w] =
                    rounds.uplink[8 * j + w] &
                    (rows.link[k] < 0 ? ~UINT64_C(0)
                                      : rounds.link[8 * rows.link[k] + w]);
    for (int t = 0; t < 512; t++) {
        pri_small_load(&small, &rows, rounds.uplink, entry, t / 4);
        pri_small_solve(&small, &rows, &model);
        pri_small_value(&small, &rows, &model);
        pri_large_load(&large, &rows, rounds.uplink, entry, t);
        pri_large_solve(&large, &rows, &model);
        pri_large_value(&large, &rows, &model);
        if (!(fabs(large.bar - (*small.bar)[t % 4]) <= 1e-9 * model.base))
            fail_msg("round %d: %.12g and %.12g of %g", t, large.bar,
                     (*small.bar)[t % 4], model.base);
        assert_true(large.slack <= 1e-9 * model.base);
    }
    free(entry);
    rounds_free(&rounds);
    pri_rows_free(&rows);
    pri_large_free(&large);
    pri_small_free(&small);
    pricer_decoder_free(decoder);
    pricer_plan_free(plan);
    pricer_network_free(hard.network);
}

/* ------------------------------------------------------------ adaptive -- */

static double normal(uint64_t *seed)
{
    return sqrt(-2 * log(1 - test_uniform(seed))) *
           cos(6.283185307179586 * test_uniform(seed));
}

/* The sums of one round, noise and all. */
static void play(const struct pricer_network *network,
                 const struct pricer_plan *plan, const double *data,
                 const bool *link, uint64_t *seed, double *sums)
{
    int64_t d = network->dimension;
    for (int32_t j = 0; j < network->nodes; j++)
        for (int64_t c = 0; c < d; c++)
            sums[j * d + c] = plan->self_weight[j] * data[j * d + c] +
                              plan->self_noise[j] * normal(seed);
    for (int32_t l = 0; l < network->links; l++)
        for (int64_t c = 0; c < d && link[l]; c++)
            sums[network->to[l] * d + c] +=
                plan->weight[l] * data[network->from[l] * d + c] +
                plan->noise[l] * normal(seed);
}

enum { N = 10, D = 64, ROUNDS = 300 };

static struct pricer_network *ten_nodes(void)
{
    struct pricer_node nodes[N];
    struct pricer_link links[N * N];
    struct pricer_network *network = NULL;
    int64_t count = 0;
    for (int i = 0; i < N; i++) {
        nodes[i] = (struct pricer_node){i % 3 ? .2 : .9, 100, 1e-3, NAN, NAN};
        for (int j = 0; j < N; j++)
            if (i != j)
                links[count++] = (struct pricer_link){
                    i, j, .7, NAN, (i - j) * (i - j) == 1 ? 100 : 2, 1e-3};
    }
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){
                             D, 1, 1, nodes, N, links, count, NULL, NULL},
                         &network, NULL, NULL),
                     PRICER_OK);
    return network;
}

/* Short vectors that are alike: the adaptive decoder finds out, and what it
 * believes is about true. */
static void test_adaptive_learns(void **state)
{
    (void)state;
    uint64_t seed = 11;
    struct pricer_network *network = ten_nodes();
    struct pricer_settings settings = {0};
    struct pricer_plan *plan = plan_of(network, &settings);
    struct pricer_decoder *decoder =
        fit(network, plan, (struct pricer_decoder_settings){0});
    struct pricer_receiver *receiver = NULL;
    assert_int_equal(
        pricer_receiver_new(network, plan, decoder, &receiver, NULL),
        PRICER_OK);
    static double data[N * D], sums[N * D];
    double error[2] = {0}, bars = 0, beta[2][N];
    for (int k = 0; k < N * D; k++)
        data[k] = (k % D == 0 ? .4 : 0) + .01 * normal(&seed);
    for (int t = 0; t < ROUNDS; t++) {
        bool up[N], link[N * N];
        struct pricer_decoded decoded;
        for (int i = 0; i < N; i++)
            up[i] = test_uniform(&seed) < network->uplink[i];
        for (int l = 0; l < network->links; l++)
            link[l] = test_uniform(&seed) < network->p[l];
        play(network, plan, data, link, &seed, sums);
        for (int j = 0; j < N; j++)
            beta[0][j] = up[j] / (double)N;
        pricer_receiver_adapt(receiver, up, link, sums, beta[1], &decoded);
        bars += decoded.bar;
        for (int c = 0; c < D; c++) {
            double off[2] = {0, 0};
            for (int k = 0; k < 2; k++)
                for (int j = 0; j < N; j++)
                    off[k] +=
                        beta[k][j] * sums[j * D + c] - data[j * D + c] / N;
            error[0] += off[0] * off[0];
            error[1] += off[1] * off[1];
        }
    }
    if (!(error[1] < .75 * error[0]))
        fail_msg("adaptive %g, constant %g", error[1], error[0]);
    if (!(bars > .5 * error[1] && bars < 2 * error[1]))
        fail_msg("bars %g, measured %g", bars, error[1]);
    bool up[N] = {false}, link[N * N] = {false};
    struct pricer_decoded decoded;
    pricer_receiver_adapt(receiver, up, link, sums, beta[0], &decoded);
    assert_false(decoded.is_estimate);
    assert_true(isfinite(decoded.bar));
    pricer_receiver_free(receiver);
    pricer_decoder_free(decoder);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_never_worse),
        cmocka_unit_test(test_random_data),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_two_solvers),
        cmocka_unit_test(test_adaptive_learns),
    };
    if (argc > 1)
        networks = atoi(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
