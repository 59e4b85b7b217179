/*
 * Networks from generators: each against its definition by brute force.
 */
#include "tests/test.h"
#include "tests/scratch.h"
#include "pricer.h"

static struct pricer_network *make(const char *text)
{
    struct pricer_scenario *scenario = NULL;
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    const char *path = scratch_text("s.yaml", text);
    if (pricer_scenario_read(path, NULL, 0, &scenario, &fault) ||
        pricer_scenario_network(scenario, NULL, &network, &fault))
        fail_msg("%s", fault.text);
    pricer_scenario_free(scenario);
    return network;
}

static int apart(int a, int b, int n)
{
    int d = abs(a - b);
    return d < n - d ? d : n - d;
}

static void test_erdos_renyi(void **state)
{
    (void)state;
    struct pricer_network *net =
        make("dimension: 4\nradius: 2\n"
             "network: {generator: erdos-renyi, nodes: 7, p: 0.4, uplink: 0.1,"
             " good: {count: 2, uplink: 0.8}, reciprocity: 0}\n"
             "trust: {eps: 1, delta: 1e-3, ring: {hops: 2, eps: 100},"
             " self: {eps: 50}}\n");
    assert_int_equal(net->links, 42);
    assert_true(net->radius == 2 && net->dimension == 4);
    for (int i = 0; i < 7; i++) {
        assert_true(net->uplink[i] == (i < 2 ? 0.8 : 0.1));
        assert_true(net->self_eps[i] == 50 && net->self_delta[i] == 1e-3);
        for (int j = 0; j < 7; j++) {
            int l = pricer_network_find(net, i, j);
            assert_int_equal(l >= 0, i != j);
            if (l < 0)
                continue;
            assert_true(net->p[l] == 0.4);
            assert_close(net->joint[l], 0.16, 1e-15);
            assert_true(net->eps[l] == (apart(i, j, 7) <= 2 ? 100 : 1));
        }
    }
    pricer_network_free(net);
}

static void test_ring(void **state)
{
    (void)state;
    for (int n = 1; n <= 9; n++)
        for (int hops = 1; hops <= 5; hops++) {
            char text[256];
            snprintf(text, sizeof text,
                     "dimension: 1\nnetwork: {generator: ring, nodes: %d, "
                     "hops: %d, p: 0.5, uplink: 0.2}\ntrust: {eps: 1}\n",
                     n, hops);
            struct pricer_network *net = make(text);
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                    assert_int_equal(pricer_network_find(net, i, j) >= 0,
                                     i != j && apart(i, j, n) <= hops);
            pricer_network_free(net);
        }
}

/* MATH: a cluster of three or four around each of three good nodes. */
static void test_scattered(void **state)
{
    (void)state;
    struct pricer_network *net = make(
        "dimension: 1\nnetwork: {generator: mmwave, preset: scattered}\n"
        "trust: {eps: 0.01, delta: 1e-3, probable: {above: 0.5, eps: 1000}}"
        "\n");
    static const int cluster[] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 2};
    assert_int_equal(net->nodes, 10);
    for (int i = 0; i < 10; i++) {
        bool good = i == 0 || i == 3 || i == 6;
        double p = fmin(1, exp(-hypot(net->x[i], net->y[i]) / 30 + 5.2));
        assert_true(net->uplink[i] == round(100 * p) / 100);
        assert_true(good ? net->uplink[i] > 0.85 : net->uplink[i] < 0.15);
        for (int j = 0; j < 10; j++) {
            int l = pricer_network_find(net, i, j);
            if (l < 0)
                continue;
            double distance =
                hypot(net->x[i] - net->x[j], net->y[i] - net->y[j]);
            assert_close(net->p[l], fmin(1, exp(-distance / 30 + 5.2)), 1e-12);
            assert_true(net->eps[l] == (net->p[l] > 0.5 ? 1000 : 0.01));
        }
        int hub = pricer_network_find(net, i, 3 * (cluster[i]));
        assert_true(good || (hub >= 0 && net->p[hub] > 0.8));
    }
    pricer_network_free(net);
}

static void check_geometric(const struct pricer_network *net, double cutoff)
{
    int64_t links = 0;
    for (int i = 0; i < net->nodes; i++)
        for (int j = 0; j < net->nodes; j++) {
            double dx = net->x[i] - net->x[j], dy = net->y[i] - net->y[j];
            double p = fmin(1, exp(-sqrt(dx * dx + dy * dy) / 30 + 5.2));
            int l = pricer_network_find(net, i, j);
            assert_int_equal(l >= 0, i != j && p > cutoff);
            links += l >= 0;
            if (l >= 0)
                assert_true(net->p[l] == p && net->joint[l] == p);
        }
    assert_int_equal(links, net->links);
}

static void test_geometric(void **state)
{
    (void)state;
    static const char *const keys[] = {"nodes: 2000",
                                       "nodes: 500, density: 20, cutoff: 0.2",
                                       "nodes: 300, density: 1e6",
                                       "nodes: 40, cutoff: 0",
                                       "nodes: 1",
                                       "nodes: 400, density: 0.01"};
    static const double cutoffs[] = {.01, .2, .01, 0, .01, .01};
    for (int k = 0; k < 6; k++) {
        char text[256];
        snprintf(text, sizeof text,
                 "dimension: 1\nnetwork: {generator: geometric, %s}\n"
                 "trust: {eps: 1}\n",
                 keys[k]);
        struct pricer_network *net = make(text);
        check_geometric(net, cutoffs[k]);
        if (k == 0) {
            int good = 0;
            for (int i = 0; i < net->nodes; i++)
                good += net->uplink[i] > .5;
            /* Binomial(2000, .05): six standard deviations, 1e-8. */
            assert_in_range(good, 42, 158);
            assert_in_range(net->links / net->nodes, 25, 32);
        }
        pricer_network_free(net);
    }
}

/* Nodes stand where the words of their stream say, whatever their number, and
 * another seed puts them elsewhere. */
static void test_places(void **state)
{
    (void)state;
    enum { NODES = 300 };
    for (int seed = 0; seed < 3; seed++) {
        char text[256];
        snprintf(text, sizeof text,
                 "dimension: 1\nseed: %d\nnetwork: {generator: geometric, "
                 "nodes: %d, density: 100}\ntrust: {eps: 1}\n",
                 seed, NODES);
        struct pricer_network *net = make(text);
        struct pricer_random random;
        pricer_random_replay(&random, (uint64_t)seed, PRICER_PURPOSE_PLACES, 0,
                             0, 0);
        for (int i = 0; i < NODES; i++) {
            double number[4];
            int found = 0;
            for (int k = 0; k < 4; k++)
                number[k] =
                    (double)(pricer_random_word(&random) >> 11) / 0x1p53;
            double x = 1000 * sqrt(NODES / 100.) * number[0];
            double y = 1000 * sqrt(NODES / 100.) * number[1];
            for (int j = 0; j < NODES; j++)
                found += net->x[j] == x && net->y[j] == y &&
                         (net->uplink[j] > .5) == (number[2] < .05);
            assert_int_equal(found, 1);
        }
        pricer_network_free(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_erdos_renyi), cmocka_unit_test(test_ring),
        cmocka_unit_test(test_scattered),   cmocka_unit_test(test_geometric),
        cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
