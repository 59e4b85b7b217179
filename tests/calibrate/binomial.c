/*
 * The law of how often a link is up, against the binomial's own formula, and
 * the privacy curve of many rounds against the mixture written out.
 */
#include "tests/test.h"
#include "calibrate/calibrate.h"

/* P(K = k), from logarithms of factorials. */
static long double probability(int64_t rounds, double p, int64_t k)
{
    long double n = (long double)rounds, successes = (long double)k;
    long double choose =
        lgammal(n + 1) - lgammal(successes + 1) - lgammal(n - successes + 1);
    return expl(choose + successes * logl(p) + (n - successes) * log1pl(-p));
}

static void test_law(void **state)
{
    (void)state;
    static const struct {
        int64_t rounds;
        double p;
        long double tail;
    } cases[] = {
        {1, .5, 1e-20L},     {7, .01, 0},          {40, .3, 1e-6L},
        {1000, .5, 1e-30L},  {1000, .999, 1e-9L},  {100000, .2, 1e-12L},
        {1000, 1e-9, 1e-9L}, {3, .999999, 1e-30L}, {50, .5, 0}};
    struct pri_rounds law = {0};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int64_t rounds = cases[k].rounds;
        double p = cases[k].p;
        assert_int_equal(pri_rounds_law(rounds, p, cases[k].tail, &law),
                         PRICER_OK);
        long double outside = 0, sum = 0;
        for (int64_t count = 0; count <= rounds; count++) {
            long double exact = probability(rounds, p, count);
            if (count < law.first || count > law.last) {
                outside += exact;
                continue;
            }
            long double weight = law.weight[count - law.first];
            sum += weight;
            /* What lgammal() loses grows with its size. */
            assert_true(fabsl(weight - exact) <= exact * (law.error + 1e-11L));
        }
        assert_true(outside <= law.tail * (1 + 1e-9L));
        assert_true(law.tail <= cases[k].tail);
        assert_true(fabsl(sum - 1) <= law.error + 1e-15L);
    }
    pri_rounds_free(&law);
}

static void test_certain(void **state)
{
    (void)state;
    struct pri_rounds law = {0};
    assert_int_equal(pri_rounds_law(12, 1, 1e-9L, &law), PRICER_OK);
    assert_int_equal(law.first, 12);
    assert_int_equal(law.last, 12);
    assert_true(law.weight[0] == 1 && law.tail == 0 && law.error == 0);
    pri_rounds_free(&law);
}

/* delta, 1 - delta and both derivatives of the mixture, term by term. */
static void test_curve(void **state)
{
    (void)state;
    struct pri_rounds law = {0};
    const double p = .3, h = 1e-8;
    assert_int_equal(pri_rounds_law(20, p, 0, &law), PRICER_OK);
    for (double eps = 0; eps < 8; eps += .7)
        for (double mu = .05; mu < 3; mu *= 2) {
            struct pri_curve curve, low, high;
            long double delta = 0;
            for (int64_t k = 0; k <= 20; k++)
                delta += probability(20, p, k) *
                         pricer_gaussian_delta(eps, sqrt((double)k) * mu);
            pri_rounds_curve(&law, eps, mu, &curve);
            assert_true(fabsl(curve.delta - delta) <=
                        curve.error_delta + 1e-13L * delta);
            assert_true(fabsl(curve.delta + curve.rest - 1) <= 1e-15L);
            pri_rounds_curve(&law, eps, mu - h, &low);
            pri_rounds_curve(&law, eps, mu + h, &high);
            assert_close((double)curve.by_mu,
                         (double)((high.delta - low.delta) / (2 * h)), 1e-4);
            if (eps == 0)
                continue;
            pri_rounds_curve(&law, eps - h, mu, &low);
            pri_rounds_curve(&law, eps + h, mu, &high);
            assert_close((double)curve.by_eps,
                         (double)((high.delta - low.delta) / (2 * h)), 1e-4);
        }
    pri_rounds_free(&law);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_law),
        cmocka_unit_test(test_certain),
        cmocka_unit_test(test_curve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
