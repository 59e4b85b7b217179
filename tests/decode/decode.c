/*
 * The minimax decoder of small networks against brute force over all patterns,
 * against saddle points of a conic solver, and on patterns at the edge.
 */
#include "tests/sample.h"
#include "decode/rows.h"
#include "reference_saddle.h"

enum { MOST = 4 };

/* Network and plan as matrices, X, and what brute force adds up. */
struct brute {
    int n;
    double d, link[MOST][MOST], joint[MOST][MOST], up[MOST];
    double weight[MOST][MOST], noise[MOST][MOST], x[MOST][MOST];
    double g, heard, bar, m[MOST][MOST], worst;
    double mean[MOST]; /* E r of what the receiver answers */
    bool other;        /* its coefficients are not those for one round */
    const struct pricer_network *network;
    const struct pricer_decoder *decoder;
    struct pricer_receiver *receiver;
};

static struct brute brute_of(const struct pricer_network *net,
                             const struct pricer_plan *plan,
                             const struct pricer_decoder *decoder)
{
    struct brute b = {.n = net->nodes, .network = net, .decoder = decoder};
    b.d = (double)net->dimension / net->radius / net->radius;
    for (int i = 0; i < b.n; i++) {
        b.up[i] = net->uplink[i];
        b.link[i][i] = b.joint[i][i] = 1;
        b.weight[i][i] = plan->self_weight[i];
        b.noise[i][i] = plan->self_noise[i];
        for (int l = 0; l < b.n; l++) {
            b.x[i][l] = i == l ? decoder->own[i] : 0;
            for (int c = 0; c < decoder->rank; c++)
                b.x[i][l] += decoder->shared[i * decoder->rank + c] *
                             decoder->shared[l * decoder->rank + c];
        }
    }
    for (int l = 0; l < net->links; l++) {
        int i = net->from[l], j = net->to[l];
        b.link[i][j] = net->p[l];
        b.joint[i][j] = net->joint[l];
        b.weight[i][j] = plan->weight[l];
        b.noise[i][j] = plan->noise[l];
    }
    return b;
}

/* H beta = A X q by elimination with pivots; rows that hold nothing give 0. */
static void brute_solve(int n, double h[MOST][MOST], double *y)
{
    for (int c = 0; c < n; c++) {
        int best = c;
        for (int i = c; i < n; i++)
            if (fabs(h[i][c]) > fabs(h[best][c]))
                best = i;
        for (int k = 0; k < n; k++) {
            double kept = h[c][k];
            h[c][k] = h[best][k];
            h[best][k] = kept;
        }
        double kept = y[c];
        y[c] = y[best];
        y[best] = kept;
        for (int i = 0; i < n; i++) {
            double ratio = i == c ? 0 : h[i][c] / h[c][c];
            for (int k = 0; k < n; k++)
                h[i][k] -= ratio * h[c][k];
            y[i] -= ratio * y[c];
        }
    }
    for (int c = 0; c < n; c++)
        y[c] /= h[c][c];
}

/* The quadratic, and r, of some coefficients. */
static double brute_value(const struct brute *b, double a[MOST][MOST],
                          const double *v, const double *beta, double *r)
{
    double sum = 0;
    for (int i = 0; i < b->n; i++) {
        r[i] = -1.0 / b->n;
        for (int j = 0; j < b->n; j++)
            r[i] += beta[j] * a[j][i];
        sum += beta[i] * beta[i] * v[i];
    }
    for (int i = 0; i < b->n; i++)
        for (int l = 0; l < b->n; l++)
            sum += r[i] * b->x[i][l] * r[l];
    return sum;
}

/* One pattern: the optimum by definition, and what the receiver answers. */
static void brute_pattern(struct brute *b, double chance, const bool *up,
                          bool tau[MOST][MOST])
{
    int n = b->n;
    double a[MOST][MOST] = {{0}}, h[MOST][MOST], v[MOST] = {0}, best[MOST];
    double r[MOST], beta[MOST], axq[MOST] = {0};
    bool link[MOST * MOST] = {false};
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            if (up[j] && tau[i][j]) {
                a[j][i] = b->weight[i][j];
                v[j] += b->d * b->noise[i][j] * b->noise[i][j];
            }
    for (int l = 0; l < b->network->links; l++)
        link[l] = tau[b->network->from[l]][b->network->to[l]];
    for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++) {
            h[j][k] = j == k ? v[j] + !up[j] : 0;
            for (int i = 0; i < n; i++)
                for (int l = 0; l < n; l++) {
                    h[j][k] += a[j][i] * b->x[i][l] * a[k][l];
                    axq[j] += k == 0 ? a[j][i] * b->x[i][l] / n : 0;
                }
        }
    memcpy(best, axq, sizeof best);
    brute_solve(n, h, best);
    b->g += chance * brute_value(b, a, v, best, r);
    struct pricer_decoded decoded;
    pricer_receiver_decode(b->receiver, up, link, beta, &decoded);
    double blend = b->decoder->blend;
    brute_value(b, a, v, beta, r);
    for (int i = 0; i < n; i++)
        b->mean[i] += chance * r[i];
    if (b->other)
        return;
    for (int j = 0; j < n; j++) {
        double mixed = blend * best[j] + (1 - blend) * up[j] / n;
        b->worst = fmax(b->worst, fabs(beta[j] - mixed));
        best[j] = mixed;
    }
    double value = brute_value(b, a, v, best, r);
    double scale = b->network->radius * b->network->radius;
    assert_close(decoded.bar, scale * value, 1e-9);
    b->bar += chance * value;
    for (int i = 0; i < n; i++) {
        b->heard += chance * best[i] * best[i] * v[i];
        for (int l = 0; l < n; l++)
            b->m[i][l] += chance * r[i] * r[l];
    }
}

/* All patterns of uplinks and pairs. */
static void brute_all(struct brute *b)
{
    int n = b->n, pairs = n * (n - 1) / 2;
    for (int u = 0; u < 1 << n; u++)
        for (int t = 0; t < 1 << 2 * pairs; t++) {
            bool up[MOST], tau[MOST][MOST];
            double chance = 1;
            int at = 0;
            for (int i = 0; i < n; i++) {
                up[i] = u >> i & 1;
                tau[i][i] = true;
                chance *= up[i] ? b->up[i] : 1 - b->up[i];
                for (int l = 0; l < i; l++, at++) {
                    double p = b->link[i][l], q = b->link[l][i];
                    double e = p > 0 && q > 0 ? b->joint[i][l] : 0;
                    double odds[] = {1 - p - q + e, p - e, q - e, e};
                    int k = t >> 2 * at & 3;
                    tau[i][l] = k & 1;
                    tau[l][i] = k >> 1;
                    chance *= odds[k];
                }
            }
            if (chance > 1e-15) /* less is rounding: E = p */
                brute_pattern(b, chance, up, tau);
        }
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

static struct pricer_receiver *receive(const struct pricer_network *network,
                                       const struct pricer_plan *plan,
                                       const struct pricer_decoder *decoder)
{
    struct pricer_receiver *receiver = NULL;
    struct pricer_fault fault = {""};
    if (pricer_receiver_new(network, plan, decoder, &receiver, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    return receiver;
}

/* ----------------------------------------------------------- brute force -- */

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
                y[i][c] /= sqrt(length);
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
                y[i][c] = pull[c] / sqrt(length);
        }
        for (int i = 0; i < b->n; i++)
            for (int l = 0; l < b->n; l++)
                for (int c = 0; c < 3; c++)
                    sum += b->m[i][l] * y[i][c] * y[l][c];
        best = fmax(best, sum);
    }
    return best;
}

static void check_brute(uint64_t seed, int n)
{
    struct pricer_network *network =
        sample_network(&seed, n, 1, 1 + (int64_t)(20 * test_uniform(&seed)),
                       .5 + test_uniform(&seed));
    struct pricer_plan *plan = sample_plan(&seed, network);
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
        check_brute(seed, 3);
    check_brute(100, 4);
    check_brute(101, 4);
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

static void test_odd_patterns(void **state)
{
    (void)state;
    struct pricer_plan *plan = NULL;
    struct pricer_network *network = plain(1, &plan);
    check_patterns(network, plan); /* no noise, and all sums alike */
    for (int i = 0; i < 4; i++)
        plan->self_weight[i] = 1e-300;
    check_patterns(network, plan);
    for (int l = 0; l < 12; l++)
        plan->weight[l] = l < 6 ? 1e-300 : 1e-160;
    check_patterns(network, plan);
    for (int l = 0; l < 12; l++)
        plan->noise[l] = 1e-300;
    check_patterns(network, plan);
    for (int l = 0; l < 12; l++)
        plan->weight[l] = plan->noise[l] = 0;
    for (int i = 0; i < 4; i++)
        plan->self_weight[i] = 0;
    check_patterns(network, plan); /* nothing is ever sent */
    plan->self_weight[2] = 3;
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

/* ------------------------------------------------------------- horizon -- */

/* Results to be averaged for ever: no bias is left, and the error of one round
 * is not above that of the unbiased constant decoder. */
static void test_unbiased_horizon(void **state)
{
    (void)state;
    int gains = 0;
    for (uint64_t start = 1; start <= 20; start++) {
        uint64_t seed = start;
        struct pricer_network *network = sample_network(&seed, 3, 1, 8, 1);
        struct pricer_settings settings = {.bias = PRICER_BIAS_UNBIASED};
        struct pricer_plan *plan = NULL;
        struct pricer_solve_info info;
        if (pricer_plan_optimise(network, &settings, NULL, &plan, &info,
                                 NULL) == PRICER_OK) {
            struct pricer_decoder_settings ask = {.horizon = INFINITY};
            struct pricer_decoder *decoder = fit(network, plan, ask);
            struct brute b = brute_of(network, plan, decoder);
            b.other = true;
            b.receiver = receive(network, plan, decoder);
            brute_all(&b);
            for (int i = 0; i < 3; i++)
                assert_true(fabs(b.mean[i]) < 1e-7);
            assert_true(decoder->upper <= decoder->constant);
            gains += decoder->upper < .98 * decoder->constant;
            pricer_receiver_free(b.receiver);
            pricer_decoder_free(decoder);
        }
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
    assert_true(gains >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_brute_force),
        cmocka_unit_test(test_saddle_points),
        cmocka_unit_test(test_odd_patterns),
        cmocka_unit_test(test_liar_gains_nothing),
        cmocka_unit_test(test_unbiased_horizon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
