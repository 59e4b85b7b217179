/*
 * Forwarding: arrivals against a search of every round by itself, coefficients
 * against their optimality conditions, the worst case against all data in one
 * line, and the published example of four nodes.
 */
#include "tests/sample.h"
#include "forward/forward.h"
#include "round/round.h"

#define NODES 7

/* Variance of a sphere release of two numbers at eps, with R = 1. */
static double variance_of(double eps)
{
    double m = tanh(eps / 4);
    return 2. / 3 * (1 / (m * m) - 1);
}

static struct pricer_network *build(const struct pricer_node *nodes, int n,
                                    const struct pricer_link *links, int count)
{
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    if (pricer_network_build(&(struct pricer_network_parts){2, 1, 0, nodes, n,
                                                            links, count, NULL,
                                                            NULL},
                             &network, NULL, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return network;
}

static struct pri_forward_plan *plan_with(const struct pricer_network *network,
                                          double variance, int32_t hops,
                                          int32_t threads)
{
    double *radius = calloc((size_t)network->nodes, sizeof(double));
    double *spread = calloc((size_t)network->nodes, sizeof(double));
    for (int32_t i = 0; i < network->nodes; i++) {
        radius[i] = network->node_radius[i];
        spread[i] = variance * radius[i] * radius[i];
    }
    struct pri_forward_plan *plan = NULL;
    struct pricer_fault fault = {""};
    struct pri_senders senders = {network->nodes, radius, spread};
    if (pri_forward_plan(network, &senders,
                         &(struct pri_forward_settings){
                             .hops = hops, .seed = 3, .threads = threads},
                         &plan, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    free(radius);
    free(spread);
    return plan;
}

/* ---------------------------------------------------------------- example -- */

static struct pricer_network *four_nodes(void)
{
    static const struct pricer_node nodes[] = {{.9, 1, 1e-5, NAN, NAN},
                                               {.2, 1, 1e-5, NAN, NAN},
                                               {0, 1, 1e-5, NAN, NAN},
                                               {.1, 1, 1e-5, NAN, NAN}};
    static const struct pricer_link links[] = {{1, 0, .8, NAN, 1, 1e-5},
                                               {2, 1, .7, NAN, 1, 1e-5},
                                               {3, 2, .6, NAN, 1, 1e-5},
                                               {2, 0, .3, NAN, 1, 1e-5},
                                               {3, 1, .2, NAN, 1, 1e-5}};
    return build(nodes, 4, links, 5);
}

static void test_four_nodes(void **state)
{
    (void)state;
    static const double expected[2][4] = {
        {0, .296581048, .262385278, .259830408},
        {0, .832470472, .800371878, .793873266}};
    static const double arrival[4][4] = {{.9, .2, 0, .1},
                                         {.9, .776, .3722, .136},
                                         {.9, .776, .65444, .405136},
                                         {.9, .776, .65444, .527064}};
    static const double first[] = {1 / .9, 1.28866, 1.096803, .941974};
    struct pricer_network *network = four_nodes();
    for (int k = 0; k < 2; k++)
        for (int hops = 1; hops <= 3; hops++) {
            struct pri_forward_plan *plan =
                plan_with(network, variance_of(k == 0 ? 4 : 1), hops, 1);
            assert_true(fabs(plan->mse - expected[k][hops]) < 6e-10);
            assert_true(plan->mse_stderr == 0);
            assert_true(plan->gap < 1e-9);
            assert_close(plan->missing + plan->noise, plan->mse, 1e-14);
            for (int i = 0; i < 4; i++) {
                assert_true(fabs(plan->arrival[i] - arrival[hops][i]) < 6e-7);
                if (k == 0 && hops == 1)
                    assert_true(fabs(plan->coefficient[i] - first[i]) < 6e-7);
            }
            pri_forward_plan_free(plan);
        }
    pricer_network_free(network);
}

/* --------------------------------------------------------------- arrivals -- */

/* How many relays the release of node i takes in a round, or -1: by the
 * definition, relaxing links until nothing changes. */
static int level_of(const struct pricer_network *net, uint64_t seed,
                    int64_t round, int32_t i)
{
    int level[SAMPLE_NODES];
    for (int32_t k = 0; k < net->nodes; k++) {
        struct pricer_pair up = {
            .from = k, .to = PRICER_SERVER, .p = net->uplink[k]};
        level[k] = pricer_round_up(seed, round, &up) ? 0 : 1000;
    }
    for (int pass = 0; pass < net->nodes; pass++)
        for (int32_t l = 0; l < net->links; l++)
            if (pri_link_is_up(net, seed, round, l) &&
                level[net->to[l]] + 1 < level[net->from[l]])
                level[net->from[l]] = level[net->to[l]] + 1;
    return level[i] >= 1000 ? -1 : level[i];
}

static void test_arrivals(void **state)
{
    (void)state;
    uint64_t seed = 11;
    for (int trial = 0; trial < 20; trial++) {
        struct pricer_network *net = sample_network(&seed, NODES, .3, 2, 1);
        struct pri_arrivals *found = NULL;
        assert_int_equal(
            pri_arrivals_draw(
                net,
                &(struct pri_arrivals_settings){
                    .seed = 5, .first = 2, .patterns = 576, .hops = 4},
                &found),
            PRICER_OK);
        uint64_t bits[NODES * 9];
        for (int hops = 0; hops <= 4; hops++) {
            pri_arrivals_within(found, hops, bits);
            for (int k = 0; k < 576; k += 7)
                for (int32_t i = 0; i < NODES; i++) {
                    int level = level_of(net, 5, 1024 + k, i);
                    bool arrived = bits[9 * i + k / 64] >> (k % 64) & 1;
                    assert_int_equal(arrived, level >= 0 && level <= hops);
                }
        }
        pri_arrivals_free(found);
        pricer_network_free(net);
    }
}

/* Of all patterns and of 2^17 drawn ones: each arrival probability within six
 * standard deviations, 700 of them; a false alarm once in a million runs. */
static void test_enumeration(void **state)
{
    (void)state;
    uint64_t seed = 12;
    for (int trial = 0; trial < 20; trial++) {
        struct pricer_network *net = sample_network(&seed, NODES, .25, 2, 1);
        if (pri_arrivals_count(net, 1, 1 << 18) < 0) {
            pricer_network_free(net);
            continue;
        }
        struct pri_arrivals *all = NULL, *drawn = NULL;
        struct pri_moments *exact = NULL, *counted = NULL;
        int patterns = 1 << 17;
        assert_int_equal(pri_arrivals_enumerate(net, 5, 1, &all), PRICER_OK);
        assert_int_equal(
            pri_arrivals_draw(net,
                              &(struct pri_arrivals_settings){
                                  .seed = 6, .patterns = patterns, .hops = 5},
                              &drawn),
            PRICER_OK);
        uint64_t *bits = calloc((size_t)(NODES * all->words), 8);
        uint64_t *more = calloc((size_t)(NODES * drawn->words), 8);
        for (int hops = 0; hops <= 5; hops += 5) {
            pri_moments_make(all, hops, bits, NULL, &exact);
            pri_moments_make(drawn, hops, more, NULL, &counted);
            for (int k = 0; k < NODES * NODES; k++) {
                double p = exact->dense[k];
                double error = sqrt(p * fmax(1 - p, 0) / patterns);
                assert_true(fabs(counted->dense[k] - p) <= 6 * error + 1e-12);
            }
            pri_moments_free(exact);
            pri_moments_free(counted);
        }
        free(bits);
        free(more);
        pri_arrivals_free(all);
        pri_arrivals_free(drawn);
        pricer_network_free(net);
    }
}

/* -------------------------------------------------------------- optimality -- */

/* The exact error for data x_i = sign_i R_i, over all patterns. */
static double error_for(const struct pri_moments *of, const double *c,
                        const double *v, unsigned signs)
{
    double sum = 0;
    for (int i = 0; i < of->nodes; i++)
        for (int l = 0; l < of->nodes; l++) {
            double sign = (signs >> i & 1) == (signs >> l & 1) ? 1 : -1;
            sum += sign * (c[i] * c[l] * of->dense[i * of->nodes + l] -
                           c[i] * of->pi[i] - c[l] * of->pi[l] + 1);
        }
    for (int i = 0; i < of->nodes; i++)
        sum += of->pi[i] * c[i] * c[i] * v[i];
    return sum;
}

/* No data in one line is worse than W, which data in one direction attain; and no
 * coefficients near by are better. */
static void test_worst_case(void **state)
{
    (void)state;
    uint64_t seed = 13;
    for (int trial = 0; trial < 30; trial++) {
        struct pricer_network *net = sample_network(&seed, NODES, .25, 2, 1);
        if (pri_arrivals_count(net, 1, 1 << 16) < 0) {
            pricer_network_free(net);
            continue;
        }
        double v[NODES], radius[NODES], c[NODES], objective, gap;
        for (int i = 0; i < NODES; i++) {
            radius[i] = 1;
            v[i] = 4 * test_uniform(&seed) * test_uniform(&seed);
        }
        struct pri_arrivals *all = NULL;
        struct pri_moments *of = NULL;
        pri_arrivals_enumerate(net, 3, 1, &all);
        uint64_t *bits = calloc((size_t)(NODES * all->words), 8);
        pri_moments_make(all, 3, bits, NULL, &of);
        assert_int_equal(
            pri_forward_fit(of, &(struct pri_senders){NODES, radius, v}, 0, c,
                            &objective, &gap),
            PRICER_OK);
        assert_true(gap < 1e-9);
        assert_close(error_for(of, c, v, 0), objective, 1e-12);
        for (unsigned signs = 0; signs < 1u << (NODES - 1); signs++)
            assert_true(error_for(of, c, v, signs) <= objective * (1 + 1e-12));
        for (int i = 0; i < NODES; i++)
            for (int side = -1; side <= 1; side += 2) {
                double kept = c[i], most = of->pi[i] > 0 ? 1 / of->pi[i] : 0;
                c[i] = fmin(fmax(c[i] + side * 1e-3, 0), most);
                assert_true(error_for(of, c, v, 0) >= objective * (1 - 1e-9));
                c[i] = kept;
            }
        free(bits);
        pri_moments_free(of);
        pri_arrivals_free(all);
        pricer_network_free(net);
    }
}

/* ------------------------------------------------------------------- plans -- */

/* A ring with good and bad uplinks, too many links to enumerate. */
static struct pricer_network *ring(int n)
{
    struct pricer_node *nodes = calloc((size_t)n, sizeof *nodes);
    struct pricer_link *links = calloc((size_t)(2 * n), sizeof *links);
    for (int i = 0; i < n; i++) {
        nodes[i] = (struct pricer_node){i % 5 == 0 ? .9 : 0, 1, 1e-5, NAN, NAN};
        links[2 * i] = (struct pricer_link){i, (i + 1) % n, .8, NAN, 1, 1e-5};
        links[2 * i + 1] =
            (struct pricer_link){(i + 1) % n, i, .6, NAN, 1, 1e-5};
    }
    struct pricer_network *network = build(nodes, n, links, 2 * n);
    free(nodes);
    free(links);
    return network;
}

/* The same bits on any number of threads. */
static void test_threads(void **state)
{
    (void)state;
    int n = 40;
    struct pricer_network *network = ring(n);
    struct pri_forward_plan *one = plan_with(network, .5, -1, 1);
    struct pri_forward_plan *three = plan_with(network, .5, -1, 3);
    assert_int_equal(one->hops, three->hops);
    assert_true(one->mse == three->mse);
    assert_memory_equal(one->coefficient, three->coefficient,
                        (size_t)n * sizeof(double));
    assert_int_equal(one->heard, n);
    assert_true(one->mse > one->mse_perfect && one->mse < one->mse_alone);
    pri_forward_plan_free(one);
    pri_forward_plan_free(three);
    pricer_network_free(network);
}

/* The matrix of small networks and the products of large ones are the same, and
 * the products have the same bits on any number of threads. */
static void test_dense_and_products(void **state)
{
    (void)state;
    struct pricer_network *network = ring(60);
    struct pri_arrivals *drawn = NULL;
    struct pri_moments *dense = NULL;
    pri_arrivals_draw(
        network,
        &(struct pri_arrivals_settings){.seed = 8, .patterns = 1024, .hops = 3},
        &drawn);
    uint64_t *bits = calloc((size_t)(60 * drawn->words), 8);
    pri_moments_make(drawn, 3, bits, NULL, &dense);
    struct pri_moments sparse = *dense;
    sparse.dense = NULL;
    sparse.sums = calloc(1024, sizeof(double));
    double x[60], a[60], b[60];
    uint64_t seed = 4;
    for (int i = 0; i < 60; i++)
        x[i] = test_uniform(&seed) - .5;
    pri_moments_product(dense, x, a);
    pri_moments_product(&sparse, x, b);
    for (int i = 0; i < 60; i++)
        assert_true(fabs(a[i] - b[i]) < 1e-13);
    sparse.team = pri_team_new(3);
    pri_moments_product(&sparse, x, a);
    assert_memory_equal(a, b, sizeof a);
    pri_team_free(sparse.team);
    free(sparse.sums);
    free(bits);
    pri_moments_free(dense);
    pri_arrivals_free(drawn);
    pricer_network_free(network);
}

/* The fit reaches its gap with little noise and with much, with most
 * coefficients at their bounds and with none, by the matrix and by products. */
static void test_fit(void **state)
{
    (void)state;
    enum { N = 60 };
    struct pricer_network *network = ring(N);
    struct pri_arrivals *drawn = NULL;
    struct pri_moments *dense = NULL;
    double radius[N], v[N], a[N], b[N], least[2], gap[2], sums[256];
    uint64_t seed = 9, *bits = calloc(N * 4, 8);
    pri_arrivals_draw(
        network,
        &(struct pri_arrivals_settings){.seed = 8, .patterns = 256, .hops = 3},
        &drawn);
    for (int hops = 0; hops <= 3; hops++)
        for (int size = -2; size <= 2; size++) {
            for (int i = 0; i < N; i++) {
                radius[i] = .2 + .8 * test_uniform(&seed);
                v[i] = pow(10, size) * test_uniform(&seed);
            }
            struct pri_senders senders = {N, radius, v};
            pri_moments_make(drawn, hops, bits, NULL, &dense);
            struct pri_moments sparse = *dense;
            sparse.dense = NULL;
            sparse.sums = sums;
            pri_forward_fit(dense, &senders, 0, a, &least[0], &gap[0]);
            pri_forward_fit(&sparse, &senders, 0, b, &least[1], &gap[1]);
            assert_true(gap[0] < 2e-9 && gap[1] < 2e-9);
            assert_close(least[1], least[0], 1e-9);
            for (int i = 0; i < N; i++)
                assert_true(b[i] >= 0 && b[i] * dense->pi[i] <= 1 + 1e-12);
            pri_moments_free(dense);
        }
    free(bits);
    pri_arrivals_free(drawn);
    pricer_network_free(network);
}

/* Without relays uplinks are independent: the closed form against all
 * patterns. */
static void test_alone(void **state)
{
    (void)state;
    uint64_t seed = 14;
    for (int trial = 0; trial < 20; trial++) {
        struct pricer_network *net = sample_network(&seed, NODES, 0, 2, 1);
        double radius[NODES], v[NODES], c[NODES], least[2], gap[2];
        struct pri_arrivals *all = NULL;
        struct pri_moments *of = NULL;
        for (int i = 0; i < NODES; i++) {
            radius[i] = .2 + .8 * test_uniform(&seed);
            v[i] = .1 + 4 * test_uniform(&seed) * test_uniform(&seed);
        }
        struct pri_senders senders = {NODES, radius, v};
        pri_arrivals_enumerate(net, 0, 1, &all);
        uint64_t *bits = calloc((size_t)(NODES * all->words), 8);
        pri_moments_make(all, 0, bits, NULL, &of);
        pri_forward_fit(of, &senders, 0, c, &least[0], &gap[0]);
        pri_forward_fit_alone(&senders, net->uplink, c, &least[1], &gap[1]);
        assert_close(least[1], least[0], 1e-9);
        assert_true(gap[1] < 1e-9);
        free(bits);
        pri_moments_free(of);
        pri_arrivals_free(all);
        pricer_network_free(net);
    }
}

static void test_extremes(void **state)
{
    (void)state;
    struct pricer_node one = {.5, 1, 1e-5, NAN, NAN};
    struct pricer_network *network = build(&one, 1, NULL, 0);
    struct pri_forward_plan *plan = plan_with(network, .5, -1, 1);
    /* One node: a c x, W = p ((c - 1)^2 + v c^2) + 1 - p, c = 1 / (1 + v). */
    assert_int_equal(plan->hops, 0);
    assert_close(plan->coefficient[0], 1 / 1.5, 1e-9);
    assert_close(plan->mse, .5 * .5 / 1.5 + .5, 1e-9);
    assert_close(plan->mse_perfect, .5 / 1.5, 1e-9);
    pri_forward_plan_free(plan);
    pricer_network_free(network);
    /* Nobody is heard: zero is the answer, and W is 1. */
    one.uplink = 0;
    struct pricer_node two[2] = {one, one};
    struct pricer_link link = {0, 1, 1, NAN, 1, 1e-5};
    network = build(two, 2, &link, 1);
    plan = plan_with(network, .5, -1, 1);
    assert_true(plan->mse == 1 && plan->heard == 0 && plan->distance[0] == -1);
    assert_true(plan->coefficient[0] == 0 && plan->coefficient[1] == 0);
    pri_forward_plan_free(plan);
    pricer_network_free(network);
    /* Certain links: as good as perfect. */
    two[1].uplink = 1;
    network = build(two, 2, &link, 1);
    plan = plan_with(network, .5, -1, 1);
    assert_int_equal(plan->hops, 1);
    assert_int_equal(plan->heard, 2);
    assert_close(plan->mse, plan->mse_perfect, 1e-9);
    assert_close(plan->mse, .25 / 1.25, 1e-9); /* s / (1 + s), s = v / n */
    pri_forward_plan_free(plan);
    pricer_network_free(network);
}

static void test_refuses(void **state)
{
    (void)state;
    struct pricer_network *network = four_nodes();
    double radius[4] = {1, 1, 1, 1}, v[4] = {1, 1, NAN, 1};
    struct pri_senders senders = {4, radius, v};
    struct pri_forward_settings settings = {.hops = 1};
    struct pri_forward_plan *plan = NULL;
    struct pricer_fault fault = {""};
    assert_int_equal(
        pri_forward_plan(network, &senders, &settings, &plan, &fault),
        PRICER_VALUE);
    assert_non_null(strstr(fault.text, "node 2"));
    v[2] = 1;
    settings.hops = PRI_HOPS_MAX + 1;
    assert_int_equal(
        pri_forward_plan(network, &senders, &settings, &plan, &fault),
        PRICER_VALUE);
    assert_non_null(strstr(fault.text, "hops = 31"));
    assert_null(plan);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four_nodes),
        cmocka_unit_test(test_arrivals),
        cmocka_unit_test(test_enumeration),
        cmocka_unit_test(test_worst_case),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_dense_and_products),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
