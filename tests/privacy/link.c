/*
 * One packet, or a known number of them, against two other ways to its eps: the
 * engine, for which a link is a view of one sum without others, and the curve of
 * the Gaussian mechanism itself, at both ends.
 */
#include "tests/test.h"
#include "privacy/bracket.h"

/* The same link by the engine. */
static struct pri_bracket by_line(double mu, double p, double delta,
                                  int64_t rounds, struct pri_scratch *scratch)
{
    struct pri_bracket found = {0};
    struct pri_source source = {
        .signal = 1, .base = 1 / mu / mu, .uplink = 1, .link = p};
    struct pri_view view = {.sources = 1, .source = &source};
    assert_int_equal(pri_view_account(&view, delta, rounds, 0, scratch, &found),
                     PRICER_OK);
    return found;
}

static void check(double mu, double p, double delta, int64_t rounds,
                  struct pri_scratch *scratch)
{
    struct pri_bracket found;
    assert_int_equal(pri_link_account(mu, p, delta, rounds, scratch, &found),
                     PRICER_OK);
    struct pri_bracket line = by_line(mu, p, delta, rounds, scratch);
    assert_true(found.eps >= line.eps_lower * (1 - 1e-12));
    assert_true(found.eps_lower <= line.eps * (1 + 1e-12));
    assert_true(found.eps_lower <= found.eps && found.floor == 0);
    assert_true(found.eps - found.eps_lower <= 1e-9 * (found.eps + mu));
    double all = mu * sqrt((double)rounds);
    assert_true(p * pricer_gaussian_delta(found.eps, all) <=
                delta * (1 + 1e-12));
    if (found.eps > 1e-6 * mu)
        assert_true(p * pricer_gaussian_delta(found.eps * (1 - 1e-8), all) >
                    delta);
}

static void test_packets(void **state)
{
    (void)state;
    struct pri_scratch scratch = {0};
    uint64_t seed = 5;
    for (int k = 0; k < 3000; k++) {
        double mu = pow(10, 5 * test_uniform(&seed) - 3);
        double p = k % 3 == 0 ? 1 : test_uniform(&seed);
        double delta = pow(10, -12 * test_uniform(&seed));
        int64_t rounds = p == 1 ? 1 + (int64_t)(50 * test_uniform(&seed)) : 1;
        check(mu, p, delta, rounds, &scratch);
    }
    pri_scratch_free(&scratch);
}

/* Ten rounds of a loud link, whose delta falls in steps: the mean over all
 * numbers of packets, at both ends, which are close all the same. */
static void test_steps(void **state)
{
    (void)state;
    struct pri_scratch scratch = {0};
    uint64_t seed = 6;
    for (int trial = 0; trial < 60; trial++) {
        double mu = pow(10, 2 + 4 * test_uniform(&seed));
        double p = .05 + .9 * test_uniform(&seed);
        double delta = pow(10, -1 - 4 * test_uniform(&seed));
        struct pri_bracket found;
        assert_int_equal(pri_link_account(mu, p, delta, 10, &scratch, &found),
                         PRICER_OK);
        double end[] = {found.eps_lower * (1 - 1e-9), found.eps}, sum[2] = {0};
        for (int k = 1; k <= 10; k++)
            for (int side = 0; side < 2; side++)
                sum[side] += exp(lgamma(11) - lgamma(k + 1) - lgamma(11 - k)) *
                             pow(p, k) * pow(1 - p, 10 - k) *
                             pricer_gaussian_delta(end[side], sqrt(k) * mu);
        assert_true(sum[1] <= delta * (1 + 1e-9));
        assert_true(sum[0] >= delta * (1 - 1e-9));
        double close = mu * sqrt(10) < 1e6 ? 1e-8 : .01;
        assert_true(found.eps - found.eps_lower <= close * found.eps);
    }
    pri_scratch_free(&scratch);
}

/* Where delta is all there is, where it is next to that, and where a ratio is
 * beyond what the curve is computed for. */
static void test_limits(void **state)
{
    (void)state;
    struct pri_scratch scratch = {0};
    struct pri_bracket found;
    static const double parts[] = {1, 1 - 1e-9, 1 - 1e-15};
    for (int k = 0; k < 3; k++) {
        pri_link_account(1, .25, .25 * parts[k], 1, &scratch, &found);
        assert_true(found.eps == 0 && found.eps_lower == 0);
        double step = pricer_gaussian_delta(0, .5) * parts[k];
        pri_link_account(.5, 1, step, 1, &scratch, &found);
        assert_true(found.eps_lower <= found.eps && found.eps < 1e-8);
    }
    pri_link_account(1e9, .5, 1e-3, 1, &scratch, &found);
    assert_close(found.eps, 5e17, 1e-6);
    /* All ten packets arrive as often as delta: the curve is flat, and the ends
     * are apart, but not all the way. */
    pri_link_account(250, .1, 1e-10, 10, &scratch, &found);
    assert_true(found.eps < 350000 && found.eps_lower > .8 * found.eps);
    pri_link_account(INFINITY, .5, 1e-3, 1, &scratch, &found);
    assert_true(isinf(found.eps) && isinf(found.eps_lower));
    assert_close(found.floor, .5, 1e-12);
    pri_link_account(1e-200, 1, 1e-3, 1, &scratch, &found);
    assert_true(found.eps == 0);
    pri_scratch_free(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packets),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
