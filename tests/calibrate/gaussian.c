/*
 * The privacy curve of the Gaussian mechanism: against 80-digit values on a
 * grid of extremes, against 128-bit arithmetic at random, and against its own
 * claims (an upper and a lower bound, monotone, never outside [0, 1]).
 */
#include "tests/test.h"
#include "calibrate/calibrate.h"
#include "reference_gaussian.h"

#include <float.h>
#include <quadmath.h>

#pragma GCC diagnostic ignored "-Wpedantic"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* The stated error holds at every reference point, and is small. */
static void test_reference_curve(void **state)
{
    (void)state;
    for (int k = 0; k < COUNT(reference_curve); k++) {
        long double eps = reference_curve[k][0], mu = reference_curve[k][1];
        long double delta = reference_curve[k][2], rest = reference_curve[k][3];
        struct pri_gaussian g;
        pri_gaussian_at(eps, mu, &g);
        if (!(fabsl(g.log_delta - delta) <= g.error) ||
            !(fabsl(g.log_rest - rest) <= g.error))
            fail_msg("eps %Lg mu %Lg: %.21Lg %.21Lg, not %.21Lg %.21Lg", eps,
                     mu, g.log_delta, g.log_rest, delta, rest);
        if (delta > -700 && rest > -700)
            assert_true(g.error < 1e-13L);
        assert_true(logl(pri_gaussian_above(eps, mu)) >= delta);
        long double below = pri_gaussian_below(eps, mu);
        assert_true(below == 0 || logl(below) <= delta);
    }
}

/* delta in 128-bit arithmetic straight from the definition. */
static __float128 quad_delta(double eps, double mu)
{
    __float128 m = (__float128)eps / mu, h = (__float128)mu / 2;
    return erfcq((m - h) * M_SQRT1_2q) / 2 -
           expq(eps) * erfcq((m + h) * M_SQRT1_2q) / 2;
}

/*
 * Random eps and mu over many decades, wherever 128 bits are enough for the
 * definition: with 113 bits the difference keeps 2^-113 / mu at worst.
 */
static void test_quad(void **state)
{
    (void)state;
    uint64_t seed = 4;
    int compared = 0;
    for (int k = 0; k < 200000; k++) {
        double eps = pow(10, -8 + 11.5 * test_uniform(&seed));
        double mu = pow(10, -6 + 8 * test_uniform(&seed));
        double a = eps / mu - mu / 2, b = a + mu;
        if (a > 38 || b > 140)
            continue;
        __float128 exact = quad_delta(eps, mu);
        double above = pri_gaussian_above(eps, mu);
        double below = pri_gaussian_below(eps, mu);
        __float128 blur = exact * 1e-17Q;
        if (!(above >= exact - blur) || !(below <= exact + blur) ||
            !(above - below <= 1e-12 * above + DBL_TRUE_MIN))
            fail_msg("eps %.17g mu %.17g: [%.17g, %.17g] misses %.17g", eps, mu,
                     below, above, (double)exact);
        compared++;
    }
    assert_true(compared > 50000);
}

/* The table in the literature and in the project's own notes. */
static void test_published(void **state)
{
    (void)state;
    assert_close(pricer_gaussian_delta(1, 1), 0.126936737506644, 1e-14);
    assert_close(pricer_gaussian_delta(2, 1), 0.02092364, 1e-6);
    assert_close(pricer_gaussian_delta(1, 3), 0.78760074, 1e-7);
    assert_close(pricer_gaussian_delta(0.1, 0.1), 0.008751768145810, 1e-12);
    assert_close(pricer_gaussian_delta(log(3), .5), 0.004159742234000802,
                 1e-14);
    assert_close(pricer_gaussian_delta(17.85658683011, sqrt(10)), 1e-5, 1e-10);
    assert_true(pricer_gaussian_delta(1, 0) == 0);
    assert_true(pricer_gaussian_delta(1, INFINITY) == 1);
    assert_true(pricer_gaussian_delta(INFINITY, 1) == 0);
    assert_true(pricer_gaussian_delta(NAN, 1) == 1);
    assert_true(pricer_gaussian_delta(-1, 1) == 1);
}

/* Every number there is, tiny and huge: within [0, 1], ordered, monotone. */
static void test_extremes(void **state)
{
    (void)state;
    int points = 0;
    for (int e = -324; e <= 309; e += 3)
        for (int m = -324; m <= 309; m++) {
            double eps = e < -323 ? 0 : pow(10, e);
            double mu = pow(10, m), more = mu * 1.01;
            double above = pri_gaussian_above(eps, mu);
            double below = pri_gaussian_below(eps, mu);
            double later = pri_gaussian_above(eps * 1.01, mu);
            double wider = pri_gaussian_above(eps, more);
            points++;
            assert_true(above >= 0 && above <= 1);
            assert_true(below >= 0 && below <= above);
            assert_true(later <= above || later - below < 1e-9);
            assert_true(wider >= above || above - wider < 1e-9);
        }
    print_message("extremes: %d points of (eps, mu), none out of range\n",
                  points);
}

static void test_mills(void **state)
{
    (void)state;
    for (double x = 0; x < 40; x += 0.0037) {
        __float128 q = x;
        __float128 exact =
            erfcq(q * M_SQRT1_2q) * expq(q * q / 2) * sqrtq(M_PIq / 2);
        assert_true(fabsq(pri_mills(x) - exact) <= 0x1p-57Q * exact);
    }
    assert_true(fabsl(pri_mills(1e8L) * 1e8L - 1) < 1e-15L);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_curve), cmocka_unit_test(test_quad),
        cmocka_unit_test(test_published),       cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_mills),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
