/*
 * Parameters of releases: the values that were computed elsewhere, to the digits
 * given; that the best is taken; that budgets hold; the charge; refusals.
 */
#include "tests/test.h"
#include "release/release.h"

static struct pri_release make(enum pri_release_kind kind, int64_t dimension,
                               double eps, double delta, int64_t rounds)
{
    struct pri_release_wish wish = {kind, dimension, 1, eps, delta, rounds, 0};
    struct pri_release release;
    struct pricer_fault fault = {""};
    if (pri_release_for_budget(&wish, &release, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return release;
}

/* A number agrees with a text in all digits that are given, half a unit of the
 * last one and a little more either way. */
static void check_digits(double value, const char *text)
{
    const char *point = strchr(text, '.');
    int digits = (int)strlen(point + 1);
    if (!(fabs(value - strtod(text, NULL)) <= .501 * pow(10, -digits)))
        fail_msg("%.12g is not %s", value, text);
}

/* One round at delta 1e-5; NULL: not given. */
static void test_one_round(void **state)
{
    static const struct {
        int64_t dimension;
        double eps;
        const char *m, *q, *v, *gaussian;
    } known[] = {
        {2, 4, ".76159416", ".119203", ".4827078", "9.351288"},
        {2, 8, ".96402758", NULL, ".05068122", "2.8822"},
        {1, 1, ".30828713", NULL, "4.76089", "55.67045"},
        {16, 2, ".19174781", NULL, "24.65707", "254.4184"},
        {128, 1, ".03505176", NULL, "806.6159", "7125.818"},
        {128, 8, ".23846567", ".00314565", "16.45667", "184.4608"},
        {10000, 4, ".01515513", ".0648151", "4352.489", "46756.44"},
    };
    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        int64_t d = known[k].dimension;
        struct pri_release sphere =
            make(PRI_RELEASE_SPHERE, d, known[k].eps, 1e-5, 1);
        struct pri_release gaussian =
            make(PRI_RELEASE_GAUSSIAN, d, known[k].eps, 1e-5, 1);
        struct pri_release best =
            make(PRI_RELEASE_BEST, d, known[k].eps, 1e-5, 1);
        check_digits(sphere.m, known[k].m);
        check_digits(sphere.t, known[k].m);
        if (known[k].q != NULL)
            check_digits(sphere.q, known[k].q);
        check_digits(sphere.variance, known[k].v);
        check_digits(gaussian.variance, known[k].gaussian);
        assert_int_equal(best.kind, PRI_RELEASE_SPHERE);
        assert_true(best.variance == sphere.variance);
        assert_true(sphere.e0 + sphere.charge <= known[k].eps);
        assert_true(sphere.e0 >= known[k].eps * (1 - 1e-9));
        /* At t = m the variance is the same for every x. */
        assert_close(pri_release_variance(&sphere, 0), sphere.variance, 1e-7);
        assert_close(pri_release_variance(&sphere, 1), sphere.variance, 1e-7);
    }
    struct pri_release one = make(PRI_RELEASE_SPHERE, 2, 4, 0, 1);
    check_digits(one.p, ".8807971");
    assert_close(one.m, tanh(1), 1e-8);
}

static void test_many_rounds(void **state)
{
    (void)state;
    struct pri_release five = make(PRI_RELEASE_SPHERE, 2, 8, 1e-5, 5);
    check_digits(five.t, ".379952");
    check_digits(five.e0, "1.600013");
    check_digits(five.variance, "3.95131");
    check_digits(make(PRI_RELEASE_GAUSSIAN, 2, 8, 1e-5, 5).variance, "14.411");
    struct pri_release ten = make(PRI_RELEASE_SPHERE, 16, 8, 1e-5, 10);
    check_digits(ten.variance, "152.70");
    check_digits(make(PRI_RELEASE_GAUSSIAN, 16, 8, 1e-5, 10).variance,
                 "230.58");
    /* Many rounds: at most a quarter above the Gaussian, which is then best. */
    struct pri_release many = make(PRI_RELEASE_SPHERE, 128, 4, 1e-5, 1000);
    struct pri_release best = make(PRI_RELEASE_BEST, 128, 4, 1e-5, 1000);
    assert_int_equal(best.kind, PRI_RELEASE_GAUSSIAN);
    assert_true(many.variance < 1.25 * best.variance);
}

/* Whatever is asked for, what comes out keeps it, by the composition, and on no
 * threshold near it with the same e0 less would be possible. */
static void test_budgets_hold(void **state)
{
    static const int64_t rounds[] = {1, 2, 3, 7, 20, 100, 500};
    static const double deltas[] = {0, 1e-12, 1e-5, .01};
    (void)state;
    for (int d = 1; d <= 1000; d *= 10)
        for (int k = 0; k < 7; k++)
            for (int j = 0; j < 4; j++) {
                double eps = .05 * (1 << (2 * ((d + k + j) % 5)));
                struct pri_release release =
                    make(PRI_RELEASE_SPHERE, d, eps, deltas[j], rounds[k]);
                struct pri_release_loss loss;
                pri_release_loss(&release, rounds[k], &loss);
                double total =
                    (release.e0 + release.charge) * (double)rounds[k];
                assert_true(total <= eps ||
                            pri_release_delta(&loss, eps) <= deltas[j]);
                /* Pure composition is never better. */
                assert_true(release.e0 >=
                            fmin(eps / (double)rounds[k], 12) * (1 - 1e-8) -
                                2 * PRI_RELEASE_GRID);
                double steps = release.e0 / PRI_RELEASE_GRID;
                assert_true(steps == floor(steps));
            }
}

static void test_limits(void **state)
{
    struct pri_release wide = make(PRI_RELEASE_SPHERE, 2, 100, 1e-5, 1);
    struct pri_release best = make(PRI_RELEASE_BEST, 2, 1e6, 1e-5, 1);
    (void)state;
    assert_true(wide.e0 == 12);
    assert_int_equal(best.kind, PRI_RELEASE_GAUSSIAN);
    best = make(PRI_RELEASE_BEST, 2, 1, 1e-5, 1000000);
    assert_int_equal(best.kind, PRI_RELEASE_GAUSSIAN);
    /* Radii: only the variance changes. */
    struct pri_release far = make(PRI_RELEASE_SPHERE, 3, 2, 1e-5, 4);
    double before = far.variance, m = far.m;
    pri_release_rescale(7, &far);
    assert_close(far.variance, 49 * before, 1e-14);
    assert_true(far.m == m && far.radius == 7);
    assert_close(
        pri_release_variance(&far, 3.5),
        49 * (pri_release_variance(&far, 0) / 49 + .25 * (far.t / far.m - 1)),
        1e-12);
}

static void test_refusals(void **state)
{
    static const struct pri_release_wish bad[] = {
        {PRI_RELEASE_BEST, 0, 1, 1, 1e-5, 1, 0},
        {PRI_RELEASE_BEST, 2, 0, 1, 1e-5, 1, 0},
        {PRI_RELEASE_BEST, 2, INFINITY, 1, 1e-5, 1, 0},
        {PRI_RELEASE_BEST, 2, 1, 0, 1e-5, 1, 0},
        {PRI_RELEASE_BEST, 2, 1, NAN, 1e-5, 1, 0},
        {PRI_RELEASE_BEST, 2, 1, 1, -1e-5, 1, 0},
        {PRI_RELEASE_BEST, 2, 1, 1, 2, 1, 0},
        {PRI_RELEASE_BEST, 2, 1, 1, 1e-5, 0, 0}, /* no T, no release */
        {PRI_RELEASE_GAUSSIAN, 2, 1, 1, 0, 1, 0},
        {PRI_RELEASE_SPHERE, 2, 1, 1, 1e-5, 1000000, 0},
        {PRI_RELEASE_SPHERE, 2, 1, 1e-13, 0, 1, 0},
        {PRI_RELEASE_SPHERE, INT64_C(1) << 40, 1, 1, 0, 1, 0},
        {PRI_RELEASE_GAUSSIAN, 2, 1, 1, 1e-5, 1, -1},
        {PRI_RELEASE_GAUSSIAN, 2, 1, 1, 1e-5, 1, 2.1},
        {PRI_RELEASE_BEST, 2, 1, 1, 1e-5, 1, NAN},
    };
    struct pri_release release;
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        struct pricer_fault fault = {""};
        assert_int_not_equal(pri_release_for_budget(&bad[k], &release, &fault),
                             PRICER_OK);
        assert_true(fault.text[0] != '\0');
    }
    assert_int_equal(pri_release_sphere(2, 1, .5, .3, &release, NULL),
                     PRICER_VALUE); /* not on the grid */
    assert_int_equal(pri_release_sphere(2, 1, .5, 12.5, &release, NULL),
                     PRICER_VALUE);
    assert_int_equal(pri_release_sphere(2, 1, 0, 1, &release, NULL),
                     PRICER_VALUE);
    assert_int_equal(pri_release_sphere(100000, 1, .9, 1, &release, NULL),
                     PRICER_VALUE); /* nothing falls into that cap */
}

/* What docs/release.md states of the charge. */
static void test_charge(void **state)
{
    static const int64_t dimensions[] = {1, 2, 16, 128, 10000, 1000000};
    (void)state;
    for (int k = 0; k < 6; k++)
        for (double eps = .1; eps < 13; eps *= 1.5) {
            struct pri_release r =
                make(PRI_RELEASE_SPHERE, dimensions[k], eps, 0, 1);
            assert_true(r.charge > 0);
            assert_true(r.charge < (k < 5 ? 1e-9 : 1e-8) * r.e0);
        }
}

/* Noise for neighbours that differ by D: what keeps the budget for that many times
 * D / 2 R less, and a little more for the rounding of the payload. */
static void test_diameter(void **state)
{
    static const int64_t dimensions[] = {1, 2, 128, 10000};
    static const double diameters[] = {.02, .3, 1, 1.9};
    (void)state;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) {
            struct pri_release_wish wish = {
                PRI_RELEASE_GAUSSIAN, dimensions[i], 1, 4, 1e-5, 3,
                diameters[k]};
            struct pri_release near, whole, best, sphere;
            assert_int_equal(pri_release_for_budget(&wish, &near, NULL),
                             PRICER_OK);
            wish.kind = PRI_RELEASE_BEST;
            assert_int_equal(pri_release_for_budget(&wish, &best, NULL),
                             PRICER_OK);
            wish.kind = PRI_RELEASE_SPHERE;
            assert_int_equal(pri_release_for_budget(&wish, &sphere, NULL),
                             PRICER_OK);
            whole = make(PRI_RELEASE_GAUSSIAN, dimensions[i], 4, 1e-5, 3);
            double part = near.noise / (whole.noise * diameters[k] / 2);
            assert_true(part > 1 && part < 1 + 1e-4 / diameters[k]);
            assert_true(near.diameter == diameters[k]);
            assert_true(
                pri_gaussian_move(1, diameters[k], dimensions[i], near.noise) /
                    near.noise <=
                2 / whole.noise * (1 + 1e-12L));
            assert_true(sphere.diameter == 2);
            assert_true(best.variance == fmin(near.variance, sphere.variance));
        }
    /* All data: the same as none. */
    struct pri_release_wish wish = {PRI_RELEASE_GAUSSIAN, 3, 1, 4, 1e-5, 3, 2};
    struct pri_release all;
    assert_int_equal(pri_release_for_budget(&wish, &all, NULL), PRICER_OK);
    assert_true(all.noise == make(PRI_RELEASE_GAUSSIAN, 3, 4, 1e-5, 3).noise);
    /* So near that the payload's own noise is more than enough. */
    wish.diameter = 1e-9;
    assert_int_equal(pri_release_for_budget(&wish, &all, NULL), PRICER_OK);
    assert_close(all.noise, 2. / 1984, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_round),    cmocka_unit_test(test_many_rounds),
        cmocka_unit_test(test_budgets_hold), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_charge),
        cmocka_unit_test(test_diameter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
