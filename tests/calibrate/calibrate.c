/*
 * Calibration: within 1e-12 of the exact noise and never below it, against
 * 80-digit values, published values, and the curve itself on a grid of
 * extremes.
 */
#include "tests/test.h"
#include "calibrate/calibrate.h"
#include "reference_gaussian.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static double analytic(double eps, double delta, int64_t rounds, double p)
{
    double mu = NAN;
    bool guaranteed = false;
    assert_int_equal(
        pricer_calibrate(&(struct pricer_budget){PRICER_CALIBRATION_ANALYTIC,
                                                 eps, delta, rounds, p},
                         &mu, &guaranteed, NULL),
        PRICER_OK);
    assert_true(guaranteed);
    return mu;
}

static void test_reference(void **state)
{
    (void)state;
    for (int k = 0; k < COUNT(reference_mu); k++) {
        double eps = (double)reference_mu[k][0];
        double delta = (double)reference_mu[k][1];
        long double exact = reference_mu[k][2];
        double mu = analytic(eps, delta, 1, 1);
        if (!(mu <= exact && mu >= exact * (1 - 1e-12L)))
            fail_msg("eps %g delta %g: mu = %.17g, exact %.17Lg", eps, delta,
                     mu, exact);
    }
}

static void test_published(void **state)
{
    (void)state;
    static const double cases[][3] = {
        {0.01, 1e-3, 93.9074198399}, {0.1, 1e-5, 30.749566132},
        {1, 1e-3, 2.57465701864},    {1, 1e-5, 3.73063163482},
        {1, 1e-10, 5.86777774963},   {1, 6.486452831e-47, 14.0},
        {10, 1e-3, 0.40605955802},   {1000, 1e-3, 0.0239467735165}};
    for (int k = 0; k < COUNT(cases); k++)
        assert_close(1 / analytic(cases[k][0], cases[k][1], 1, 1), cases[k][2],
                     1e-10);
    assert_true(isinf(analytic(INFINITY, 1e-3, 1, 1)));
    assert_true(isinf(analytic(1, 1, 1, 1)));
}

/* (mu, p, T, delta -> eps): calibrating for that eps gives mu back. */
static void test_rounds(void **state)
{
    (void)state;
    static const double cases[][5] = {{1, .5, 10, 1e-5, 14.0075741761},
                                      {.3, .1, 100, 1e-6, 5.50969692428},
                                      {1, 1, 10, 1e-5, 17.85658683011}};
    for (int k = 0; k < COUNT(cases); k++)
        assert_close(analytic(cases[k][4], cases[k][3], (int64_t)cases[k][2],
                              cases[k][1]),
                     cases[k][0], 1e-10);
    /* A packet by itself never says more than (eps, delta) allows: here a
     * thousand rounds at p = 0.01 would ask for less noise than one. */
    double once = analytic(60.3363757256, 1e-4, 1, 1);
    assert_close(analytic(60.3363757256, 1e-4, 1000, .01), 2, 1e-10);
    assert_true(once > 2);
    assert_true(analytic(1, 1e-3, 2, 1e-4) == analytic(1, 1e-3, 1, 1));
}

/* E delta over the rounds, straight from the definition in doubles. */
static double direct_delta(double eps, double mu, int rounds, double p)
{
    double sum = 0;
    for (int k = 1; k <= rounds; k++)
        sum += exp(lgamma(rounds + 1) - lgamma(k + 1) - lgamma(rounds - k + 1) +
                   k * log(p) + (rounds - k) * log1p(-p)) *
               pricer_gaussian_delta(eps, sqrt(k) * mu);
    return sum;
}

static void test_rounds_direct(void **state)
{
    (void)state;
    uint64_t seed = 7;
    int exact = 0;
    for (int k = 0; k < 400; k++) {
        double eps = pow(10, -2 + 4 * test_uniform(&seed));
        double delta = pow(10, -12 * test_uniform(&seed));
        double p = .02 + .97 * test_uniform(&seed);
        int rounds = 2 + (int)(test_uniform(&seed) * 300);
        double mu = analytic(eps, delta, rounds, p);
        double once = analytic(eps, delta, 1, 1);
        double spent = direct_delta(eps, mu, rounds, p);
        assert_true(mu <= once);
        assert_true(spent <= delta * (1 + 1e-10));
        if (mu < once) {
            exact++;
            assert_true(direct_delta(eps, mu * (1 + 1e-6), rounds, p) > delta);
        }
    }
    assert_true(exact > 300);
}

/* No NaN, nothing above the budget, monotone, over all sizes. */
static void test_extremes(void **state)
{
    (void)state;
    static const double deltas[] = {5e-324,   1e-300,      1e-100, 1e-20, 1e-9,
                                    1e-3,     .4,          .5,     .6,    .99,
                                    1 - 1e-9, 1 - 0x1p-53, 1};
    int points = 0;
    for (int e = -30; e <= 30; e++)
        for (int d = 0; d < COUNT(deltas); d++)
            for (int t = 0; t < 5; t++) {
                double eps = pow(10, e / 2.), delta = deltas[d];
                int64_t rounds = (int64_t)pow(4, t);
                double p = (double[]){1, 1, 1e-9, .3, .999999}[t];
                double mu = analytic(eps, delta, rounds, p);
                points++;
                assert_true(mu > 0);
                assert_true(mu >= analytic(eps / 2, delta, rounds, p));
                if (d > 0)
                    assert_true(mu >= analytic(eps, deltas[d - 1], rounds, p));
                /* Near 1 the curve itself is rounded up by one place. */
                assert_true(pricer_gaussian_delta(eps, mu) <=
                            (delta > .5 ? nextafter(delta, 2) : delta));
            }
    print_message("extremes: %d points of (eps, delta, rounds, p)\n", points);
}

static void test_classic(void **state)
{
    (void)state;
    double mu;
    bool guaranteed;
    assert_int_equal(
        pricer_calibrate(
            &(struct pricer_budget){PRICER_CALIBRATION_CLASSIC, 1, 1e-3, 1, 1},
            &mu, &guaranteed, NULL),
        PRICER_OK);
    assert_close(mu, 1 / sqrt(2 * log(1.25 / 1e-3)), 1e-14);
    assert_true(guaranteed);
    assert_int_equal(
        pricer_calibrate(
            &(struct pricer_budget){PRICER_CALIBRATION_CLASSIC, 50, 1e-3, 1, 1},
            &mu, &guaranteed, NULL),
        PRICER_OK);
    assert_false(guaranteed);
}

static void refuse(double eps, double delta, int64_t rounds, double p)
{
    double mu = 42;
    struct pricer_fault fault = {""};
    assert_int_equal(
        pricer_calibrate(&(struct pricer_budget){PRICER_CALIBRATION_ANALYTIC,
                                                 eps, delta, rounds, p},
                         &mu, NULL, &fault),
        PRICER_VALUE);
    assert_true(mu == 42 && fault.text[0] != '\0');
}

static void test_refuses(void **state)
{
    (void)state;
    refuse(0, .1, 1, 1);
    refuse(NAN, .1, 1, 1);
    refuse(-1, .1, 1, 1);
    refuse(1, 0, 1, 1);
    refuse(1, 1.1, 1, 1);
    refuse(1, .1, -1, 1);
    refuse(1, .1, 1, 0);
    refuse(1, .1, INT64_MAX, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference), cmocka_unit_test(test_published),
        cmocka_unit_test(test_rounds),    cmocka_unit_test(test_rounds_direct),
        cmocka_unit_test(test_extremes),  cmocka_unit_test(test_classic),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
