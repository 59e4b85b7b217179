/*
 * Slopes of a network: each is the calibration of its own link, whatever else
 * the network holds and however many threads there are; the derivative agrees
 * with differences.
 */
#include "tests/test.h"
#include "calibrate/calibrate.h"

static struct pricer_network *make(int32_t nodes, uint64_t seed, bool varied)
{
    struct pricer_node *node = calloc((size_t)nodes, sizeof *node);
    struct pricer_link *link = calloc((size_t)nodes * 4, sizeof *link);
    struct pricer_network *network = NULL;
    int64_t links = 0;
    for (int32_t i = 0; i < nodes; i++) {
        node[i] =
            (struct pricer_node){.5, i % 3 ? INFINITY : 2, 1e-4, NAN, NAN};
        for (int k = 1; k <= 4; k++)
            link[links++] = (struct pricer_link){
                i,
                (i + k) % nodes,
                .1 + .9 * test_uniform(&seed),
                NAN,
                varied ? .1 + test_uniform(&seed) : (k == 1 ? INFINITY : k),
                1e-5};
    }
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){
                             3, 2.5, 0, node, nodes, link, links, NULL, NULL},
                         &network, NULL, NULL),
                     PRICER_OK);
    free(node);
    free(link);
    return network;
}

static void check(const struct pricer_network *net,
                  struct pricer_settings settings)
{
    double *slope = calloc((size_t)net->links, sizeof *slope);
    double *self = calloc((size_t)net->nodes, sizeof *self);
    double *slope2 = calloc((size_t)net->links, sizeof *slope);
    settings.threads = 1;
    assert_int_equal(pri_noise_slopes(net, &settings, slope, self, NULL),
                     PRICER_OK);
    settings.threads = 4;
    assert_int_equal(pri_noise_slopes(net, &settings, slope2, self, NULL),
                     PRICER_OK);
    assert_memory_equal(slope, slope2, (size_t)net->links * sizeof *slope);
    for (int32_t l = 0; l < net->links; l += 7) {
        double mu;
        assert_int_equal(
            pricer_calibrate(&(struct pricer_budget){settings.calibration,
                                                     net->eps[l], net->delta[l],
                                                     settings.rounds, 1},
                             &mu, NULL, NULL),
            PRICER_OK);
        assert_close(slope[l], 2 * net->radius / mu, 1e-15);
        double weight = .37, noise = slope[l] * weight;
        if (settings.rounds == 0 && settings.calibration == 0 && noise > 0)
            assert_true(pricer_gaussian_delta(
                            net->eps[l], 2 * weight * net->radius / noise) <=
                        net->delta[l]);
    }
    for (int32_t i = 0; i < net->nodes; i++) {
        double mu;
        assert_int_equal(
            pricer_calibrate(
                &(struct pricer_budget){settings.calibration, net->self_eps[i],
                                        net->self_delta[i], settings.rounds, 1},
                &mu, NULL, NULL),
            PRICER_OK);
        assert_close(self[i], 2 * net->radius / mu, 1e-15);
    }
    free(slope);
    free(slope2);
    free(self);
}

static void test_slopes(void **state)
{
    (void)state;
    for (int varied = 0; varied < 2; varied++) {
        struct pricer_network *net = make(300, 5, varied);
        check(net, (struct pricer_settings){0});
        check(net, (struct pricer_settings){.rounds = 20});
        check(net, (struct pricer_settings){
                       .calibration = PRICER_CALIBRATION_CLASSIC, .rounds = 3});
        pricer_network_free(net);
    }
}

static void test_refuses(void **state)
{
    (void)state;
    struct pricer_network *net = make(10, 5, false);
    double slope[40], self[10];
    struct pricer_fault fault = {""};
    struct pricer_settings settings = {.rounds = -1};
    assert_int_equal(pri_noise_slopes(net, &settings, slope, self, &fault),
                     PRICER_VALUE);
    settings.rounds = 1;
    net->eps[3] = 1e-320;
    net->delta[3] = 1e-320;
    assert_int_equal(pri_noise_slopes(net, &settings, slope, self, &fault),
                     PRICER_VALUE);
    assert_non_null(strstr(fault.text, "no finite noise"));
    pricer_network_free(net);
}

/* ln(slope) a little to either side. */
static double difference(struct pricer_settings settings, double eps,
                         double delta, double p)
{
    double up, down, step = 1e-5;
    assert_int_equal(
        pricer_calibrate(&(struct pricer_budget){settings.calibration,
                                                 eps * exp(step), delta,
                                                 settings.rounds, p},
                         &up, NULL, NULL),
        PRICER_OK);
    assert_int_equal(
        pricer_calibrate(&(struct pricer_budget){settings.calibration,
                                                 eps * exp(-step), delta,
                                                 settings.rounds, p},
                         &down, NULL, NULL),
        PRICER_OK);
    return -log(up / down) / (2 * step);
}

static void test_derivative(void **state)
{
    (void)state;
    uint64_t seed = 9;
    for (int k = 0; k < 200; k++) {
        double eps = pow(10, -6 + 12 * test_uniform(&seed));
        double delta = k % 4 == 0 ? 1 - .5 * test_uniform(&seed)
                                  : pow(10, -20 * test_uniform(&seed));
        double p = .1 + .8 * test_uniform(&seed), derivative;
        struct pricer_settings settings = {
            .rounds = (int64_t[]){0, 1, 5, 60}[k / 4 % 4],
            .calibration = k % 10 == 0};
        assert_int_equal(
            pri_slope_derivative(&settings, eps, delta, p, &derivative, NULL),
            PRICER_OK);
        assert_true(derivative >= -1 && derivative <= 0);
        double expected = difference(settings, eps, delta, p);
        if (fabs(derivative - expected) > 1e-8 + 1e-5 * fabs(expected))
            fail_msg("eps %g delta %g p %g: %.12g, not %.12g", eps, delta, p,
                     derivative, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slopes),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_derivative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
