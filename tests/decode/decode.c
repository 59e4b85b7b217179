/*
 * The minimax decoder of small networks against brute force over all patterns,
 * against saddle points of a conic solver, and on patterns at the edge.
 */
#include "brute.h"
#include "reference_saddle.h"

/* tr M X for random data: never above the certificate, near it at best. */
static double best_data(const struct brute *b, uint64_t *seed)
{
    double best = 0;
    for (int k = 0; k < 4000; k++) {
        double y[MOST][3], sum = 0;
        for (int i = 0; i < b->n; i++) {
            double length = 0;
            for (int c = 0; c < 3; c++) {
                y[i][c] = test_uniform(seed) - .5;
                length += y[i][c] * y[i][c];
            }
            for (int c = 0; c < 3; c++)
                y[i][c] *= b->part[i] / sqrt(length);
        }
        for (int turn = 0; turn < 2 * b->n; turn++) {
            double pull[3] = {0}, length = 0;
            int i = turn % b->n;
            for (int c = 0; c < 3; c++) {
                for (int l = 0; l < b->n; l++)
                    pull[c] += l == i ? 0 : b->m[i][l] * y[l][c];
                length += pull[c] * pull[c];
            }
            for (int c = 0; c < 3 && length > 0; c++)
                y[i][c] = b->part[i] * pull[c] / sqrt(length);
        }
        for (int i = 0; i < b->n; i++)
            for (int l = 0; l < b->n; l++)
                for (int c = 0; c < 3; c++)
                    sum += b->m[i][l] * y[i][c] * y[l][c];
        best = fmax(best, sum);
    }
    return best;
}

/* Radii of their own for the nodes. */
static void shorten(uint64_t *seed, struct pricer_network *network)
{
    for (int32_t i = 0; i < network->nodes; i++) {
        network->node_radius[i] *= .1 + .9 * test_uniform(seed);
        network->node_diameter[i] = 2 * network->node_radius[i];
    }
}

static void check_brute(uint64_t seed, int n, bool mixed)
{
    struct pricer_network *network =
        sample_network(&seed, n, 1, 1 + (int64_t)(20 * test_uniform(&seed)),
                       .5 + test_uniform(&seed));
    struct pricer_plan *plan = sample_plan(&seed, network);
    if (mixed)
        shorten(&seed, network);
    for (int32_t i = 0; i < n; i++)
        plan->self_noise[i] += .05;
    for (int32_t l = 0; l < network->links; l++)
        plan->noise[l] += .05;
    struct pricer_decoder *decoder =
        fit(network, plan, (struct pricer_decoder_settings){0});
    assert_true(decoder->exact);
    struct brute b = brute_of(network, plan, decoder);
    b.receiver = receive(network, plan, decoder);
    brute_all(&b);
    double scale = network->radius * network->radius;
    assert_true(b.worst < 1e-9);
    if (decoder->lower < decoder->constant * (1 - 1e-9))
        assert_close(decoder->lower, scale * b.g, 1e-9);
    assert_true(decoder->lower <= decoder->upper * (1 + 1e-9));
    assert_true(decoder->upper <= decoder->constant);
    if (decoder->blend > 0) {
        double found = scale * (best_data(&b, &seed) + b.heard);
        assert_close(decoder->upper, decoder->reached, 1e-9);
        assert_true(found <= decoder->upper * (1 + 1e-9));
        assert_close(found, decoder->upper, 1e-3);
    }
    pricer_receiver_free(b.receiver);
    pricer_decoder_free(decoder);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

static void test_brute_force(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++)
        check_brute(seed, 3, seed % 3 == 0);
    check_brute(100, 4, false);
    check_brute(101, 4, true);
}

/* One decoder, its target in the units of each network: the same coefficients
 * and bars of every pattern. */
static void check_twins(const struct pricer_network *one,
                        const struct pricer_network *two,
                        const struct pricer_plan *plan,
                        struct pricer_decoder *decoder)
{
    struct pricer_receiver *left = receive(one, plan, decoder);
    for (int i = 0; i < 3; i++)
        decoder->target[i] /= 3;
    struct pricer_receiver *right = receive(two, plan, decoder);
    for (int t = 0; t < 512; t++) {
        bool up[] = {t & 1, t >> 1 & 1, t >> 2 & 1}, link[6];
        double beta[2][3];
        struct pricer_decoded decoded[2];
        for (int l = 0; l < 6; l++)
            link[l] = t >> (3 + l) & 1;
        pricer_receiver_decode(left, up, link, beta[0], &decoded[0]);
        pricer_receiver_decode(right, up, link, beta[1], &decoded[1]);
        assert_close(decoded[0].bar, decoded[1].bar, 1e-9);
        for (int j = 0; j < 3; j++)
            assert_true(fabs(beta[0][j] - beta[1][j]) <= 1e-9);
    }
    pricer_receiver_free(left);
    pricer_receiver_free(right);
}

static double genie_of(const struct pricer_network *network)
{
    struct pricer_settings settings = {0};
    struct pricer_decoder_settings ask = {0};
    struct pricer_estimate genie;
    assert_int_equal(
        pricer_decoder_genie(network, &settings, &ask, &genie, NULL),
        PRICER_OK);
    return genie.value;
}

/* Nodes whose radii are all a third of the network's are a network of that
 * radius: the same bracket, genie's bound, coefficients and bars. */
static void test_equal_radii(void **state)
{
    (void)state;
    for (uint64_t k = 1; k <= 8; k++) {
        uint64_t seed = 40 + k, twin = 40 + k;
        struct pricer_network *one = sample_network(&seed, 3, 1, 5, .6);
        struct pricer_network *two = sample_network(&twin, 3, 1, 5, 1.8);
        for (int i = 0; i < 3; i++) {
            two->node_radius[i] = one->node_radius[i];
            two->node_diameter[i] = one->node_diameter[i];
        }
        struct pricer_plan *plan = sample_plan(&seed, one);
        struct pricer_decoder_settings ask = {.blind = k % 2 == 0};
        struct pricer_decoder *a = fit(one, plan, ask);
        struct pricer_decoder *b = fit(two, plan, ask);
        assert_close(a->constant, b->constant, 1e-12);
        assert_close(a->lower, b->lower, 1e-6);
        assert_close(a->upper, b->upper, 1e-3);
        check_twins(one, two, plan, a);
        assert_close(genie_of(one), genie_of(two), 1e-6);
        pricer_decoder_free(a);
        pricer_decoder_free(b);
        pricer_plan_free(plan);
        pricer_network_free(one);
        pricer_network_free(two);
    }
}

/* Shorter data are easier, and the genie stays below every bracket. */
static void test_mixed_radii(void **state)
{
    (void)state;
    for (uint64_t seed = 61; seed <= 66; seed++) {
        uint64_t at = seed;
        struct pricer_network *network = sample_network(&at, 3, 1, 5, 1);
        double before = genie_of(network);
        struct pricer_settings settings = {0};
        struct pricer_solve_info info;
        struct pricer_plan *plan = NULL;
        shorten(&at, network);
        assert_int_equal(
            pricer_plan_optimise(network, &settings, NULL, &plan, &info, NULL),
            PRICER_OK);
        struct pricer_decoder *decoder =
            fit(network, plan, (struct pricer_decoder_settings){0});
        assert_true(genie_of(network) <= decoder->lower * (1 + 1e-9));
        assert_true(genie_of(network) < before);
        assert_true(decoder->upper <= decoder->constant);
        pricer_decoder_free(decoder);
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
}

/* ----------------------------------------------------------- cvxopt's -- */

static void test_saddle_points(void **state)
{
    (void)state;
    size_t count = sizeof reference_saddles / sizeof *reference_saddles;
    for (size_t k = 0; k < count; k++) {
        const struct reference_saddle *ref = &reference_saddles[k];
        struct pricer_node nodes[3];
        struct pricer_link links[6];
        int64_t at = 0;
        for (int i = 0; i < 3; i++) {
            nodes[i] = (struct pricer_node){ref->uplink[i], 1, 1e-3, NAN, NAN};
            for (int j = 0; j < 3; j++)
                if (i != j)
                    links[at++] = (struct pricer_link){i,   j, ref->link[i][j],
                                                       NAN, 1, 1e-3};
        }
        struct pricer_network *network = NULL;
        struct pricer_plan *plan = NULL;
        struct pricer_network_parts parts = {
            4, 1, ref->reciprocity, nodes, 3, links, 6, NULL, NULL};
        assert_int_equal(pricer_network_build(&parts, &network, NULL, NULL),
                         PRICER_OK);
        assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
        for (int i = 0; i < 3; i++) {
            plan->self_weight[i] = ref->weight[i][i];
            plan->self_noise[i] = ref->noise[i][i];
        }
        for (int l = 0; l < 6; l++) {
            int i = network->from[l], j = network->to[l];
            plan->weight[l] = ref->weight[i][j];
            plan->noise[l] = ref->noise[i][j];
        }
        struct pricer_decoder *decoder =
            fit(network, plan, (struct pricer_decoder_settings){.spread = -1});
        assert_true(decoder->lower <= ref->value * (1 + 1e-7));
        assert_close(decoder->lower, ref->value, 1e-6);
        assert_true(decoder->upper >= ref->value * (1 - 1e-7));
        assert_close(decoder->upper, ref->value, 2e-4);
        pricer_decoder_free(decoder);
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
}

/* -------------------------------------------------------- odd patterns -- */

/* A network of four nodes, all links up, whose plan the test changes. */
static struct pricer_network *plain(double eps, struct pricer_plan **plan)
{
    struct pricer_node nodes[4];
    struct pricer_link links[12];
    int64_t at = 0;
    for (int i = 0; i < 4; i++) {
        nodes[i] = (struct pricer_node){.7, eps, 1e-3, NAN, NAN};
        for (int j = 0; j < 4; j++)
            if (i != j)
                links[at++] = (struct pricer_link){i, j, .8, NAN, eps, 1e-3};
    }
    struct pricer_network *network = NULL;
    struct pricer_network_parts parts = {8,     1,  1,    nodes, 4,
                                         links, 12, NULL, NULL};
    assert_int_equal(pricer_network_build(&parts, &network, NULL, NULL),
                     PRICER_OK);
    assert_int_equal(pricer_plan_new(network, plan, NULL), PRICER_OK);
    for (int l = 0; l < 12; l++)
        (*plan)->weight[l] = .4;
    for (int i = 0; i < 4; i++)
        (*plan)->self_weight[i] = .4;
    return network;
}

static void check_patterns(const struct pricer_network *network,
                           const struct pricer_plan *plan)
{
    struct pricer_decoder *decoder =
        fit(network, plan, (struct pricer_decoder_settings){0});
    struct pricer_receiver *receiver = receive(network, plan, decoder);
    assert_true(isfinite(decoder->lower) && isfinite(decoder->upper));
    assert_true(decoder->upper <= decoder->constant);
    for (int u = 0; u < 16; u++)
        for (int t = 0; t < 4096; t += 7) {
            bool up[4], link[12];
            double beta[4];
            struct pricer_decoded decoded;
            for (int i = 0; i < 4; i++)
                up[i] = u >> i & 1;
            for (int l = 0; l < 12; l++)
                link[l] = t >> l & 1;
            pricer_receiver_decode(receiver, up, link, beta, &decoded);
            assert_true(isfinite(decoded.bar) && decoded.bar >= 0);
            assert_true(decoded.bar <= 4 * network->radius * network->radius);
            for (int i = 0; i < 4; i++)
                assert_true(isfinite(beta[i]) && (up[i] || beta[i] == 0));
            if (u == 0)
                assert_false(decoded.is_estimate);
            if (u == 0)
                assert_int_equal(decoded.sums, 0);
        }
    pricer_receiver_free(receiver);
    pricer_decoder_free(decoder);
}

/* Decode one pattern of the plain network by the minimax decoder alone. */
static struct pricer_decoded decode_one(const struct pricer_network *network,
                                        const struct pricer_plan *plan,
                                        const bool *up, double *beta)
{
    bool link[12];
    struct pricer_decoded decoded;
    struct pricer_decoder *decoder =
        fit(network, plan, (struct pricer_decoder_settings){0});
    decoder->blend = 1;
    struct pricer_receiver *receiver = receive(network, plan, decoder);
    memset(link, true, sizeof link);
    pricer_receiver_decode(receiver, up, link, beta, &decoded);
    pricer_receiver_free(receiver);
    pricer_decoder_free(decoder);
    return decoded;
}

/* All sums alike and without noise: full trust. Nothing arrived: no estimate,
 * and the bar of answering 0. One sum: the mean, but for the ridge. The same
 * sum twice or four times: nothing more, shared among them. */
static void test_full_trust(void **state)
{
    (void)state;
    struct pricer_plan *plan = NULL;
    struct pricer_network *network = plain(1, &plan);
    check_patterns(network, plan);
    for (int u = 0; u < 16; u++) {
        bool up[] = {u & 1, u >> 1 & 1, u >> 2 & 1, u >> 3 & 1};
        double beta[4], sum = 0;
        struct pricer_decoded decoded = decode_one(network, plan, up, beta);
        assert_int_equal(decoded.sums, up[0] + up[1] + up[2] + up[3]);
        assert_int_equal(decoded.is_estimate, u != 0);
        assert_true(u == 0 ? decoded.bar > .01 && decoded.bar <= 1
                           : decoded.bar < 1e-9);
        for (int j = 0; j < 4; j++)
            sum += beta[j];
        if (u != 0)
            assert_close(sum, 1 / 1.6, 1e-6); /* 4 weights of 0.4 */
    }
    pricer_plan_free(plan);
    pricer_network_free(network);
}

static void test_tiny_weights(void **state)
{
    (void)state;
    struct pricer_plan *plan = NULL;
    struct pricer_network *network = plain(1, &plan);
    for (int i = 0; i < 4; i++)
        plan->self_weight[i] = 1e-300;
    check_patterns(network, plan);
    for (int l = 0; l < 12; l++)
        plan->weight[l] = l < 6 ? 1e-300 : 1e-160;
    check_patterns(network, plan);
    for (int l = 0; l < 12; l++)
        plan->noise[l] = 1e-300;
    check_patterns(network, plan);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

static void test_nothing_sent(void **state)
{
    (void)state;
    struct pricer_plan *plan = NULL;
    struct pricer_network *network = plain(1, &plan);
    for (int l = 0; l < 12; l++)
        plan->weight[l] = 0;
    for (int i = 0; i < 4; i++)
        plan->self_weight[i] = 0;
    check_patterns(network, plan);
    bool up[] = {true, true, true, true};
    double beta[4];
    assert_false(decode_one(network, plan, up, beta).is_estimate);
    plan->self_weight[2] = 3; /* and one that is nothing but noise */
    plan->self_noise[2] = 1e100;
    check_patterns(network, plan);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* ------------------------------------------------------------ the liar -- */

/* Whatever masks a relay makes up, no sum enters with more than it does in
 * some honest round, and not with more than 1/n where that is less. */
static void test_liar_gains_nothing(void **state)
{
    (void)state;
    uint64_t seed = 5;
    struct pricer_network *network = sample_network(&seed, 3, 1, 8, 1);
    for (int l = 0; l < network->links; l++) /* no link is ever down: */
        network->p[l] = network->joint[l] = 1;
    struct pricer_plan *plan = sample_plan(&seed, network);
    struct pricer_decoder *decoder =
        fit(network, plan, (struct pricer_decoder_settings){0});
    decoder->blend = 1;
    struct pricer_receiver *receiver = receive(network, plan, decoder);
    double honest[3] = {1. / 3, 1. / 3, 1. / 3}, beta[3];
    struct pricer_decoded decoded;
    bool link[6] = {true, true, true, true, true, true};
    for (int u = 0; u < 8; u++) {
        bool up[] = {u & 1, u >> 1 & 1, u >> 2 & 1};
        pricer_receiver_decode(receiver, up, link, beta, &decoded);
        for (int j = 0; j < 3; j++)
            honest[j] = fmax(honest[j], fabs(beta[j]));
    }
    int raised = 0;
    for (int u = 0; u < 8; u++)
        for (int t = 0; t < 64; t++) { /* masks that cannot be true */
            bool up[] = {u & 1, u >> 1 & 1, u >> 2 & 1};
            for (int l = 0; l < 6; l++)
                link[l] = t >> l & 1;
            pricer_receiver_decode(receiver, up, link, beta, &decoded);
            for (int j = 0; j < 3; j++) {
                assert_true(fabs(beta[j]) <= honest[j] * (1 + 1e-12));
                raised += fabs(beta[j]) > honest[j] * (1 - 1e-12);
            }
        }
    assert_true(raised > 20); /* the caps are at work */
    pricer_receiver_free(receiver);
    pricer_decoder_free(decoder);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* Whatever the sums teach the adaptive decoder, four times the cap is its
 * limit, and it is reached where caps are small. */
static void test_adaptive_keeps_caps(void **state)
{
    (void)state;
    enum { N = 3, D = 8 };
    uint64_t seed = 6;
    struct pricer_network *network = sample_network(&seed, N, 1, D, 1);
    struct pricer_plan *plan = sample_plan(&seed, network);
    struct pricer_decoder *decoder =
        fit(network, plan, (struct pricer_decoder_settings){0});
    decoder->blend = 1;
    for (int j = 0; j < N; j++)
        decoder->cap[j] = .01;
    struct pricer_receiver *receiver = receive(network, plan, decoder);
    bool up[N] = {true, true, true}, link[N * (N - 1)];
    double sums[N * D], beta[N];
    struct pricer_decoded decoded;
    int reached = 0;
    for (int t = 0; t < 64; t++) {
        for (int l = 0; l < N * (N - 1); l++)
            link[l] = t >> l & 1;
        for (int k = 0; k < N * D; k++)
            sums[k] = (t % 2 ? 1e3 : .1) * (test_uniform(&seed) - .3);
        pricer_receiver_adapt(receiver, up, link, sums, beta, &decoded);
        for (int j = 0; j < N; j++) {
            assert_true(fabs(beta[j]) <= .04 * (1 + 1e-12));
            reached += fabs(beta[j]) > .04 * (1 - 1e-12);
        }
    }
    assert_true(reached > 20);
    pricer_receiver_free(receiver);
    pricer_decoder_free(decoder);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_brute_force),
        cmocka_unit_test(test_equal_radii),
        cmocka_unit_test(test_mixed_radii),
        cmocka_unit_test(test_saddle_points),
        cmocka_unit_test(test_full_trust),
        cmocka_unit_test(test_tiny_weights),
        cmocka_unit_test(test_nothing_sent),
        cmocka_unit_test(test_liar_gains_nothing),
        cmocka_unit_test(test_adaptive_keeps_caps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
