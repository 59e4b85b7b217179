/*
 * What trials prove: Clopper and Pearson against reference values, counting and
 * fitting on made up trials of known eps, and how often they are wrong.
 */
#include "tests/test.h"
#include "audit/audit.h"

/* A standard normal number. */
static double normal(uint64_t *seed)
{
    double size = sqrt(-2 * log(1 - test_uniform(seed)));
    return size * cos(2 * M_PI * test_uniform(seed));
}

/* ------------------------------------------------------ Clopper, Pearson -- */

/* Quantiles of the beta law by SciPy 1.10, beta.ppf and beta.isf. */
static void test_clopper_pearson(void **state)
{
    (void)state;
    static const struct {
        int64_t hits, trials;
        double error, lower, upper;
    } known[] = {
        {1, 10, 0.025, 0.00252857854446178, 0.445016117028195},
        {5, 10, 0.025, 0.187086028447399, 0.812913971552601},
        {10, 10, 0.025, 0.691502892181239, 1},
        {0, 10, 0.05, 0, 0.258865550893052},
        {3, 1000, 1e-06, 1.8272394707468e-05, 0.0211556143167494},
        {500, 1000, 1e-06, 0.424790507254637, 0.575209492745363},
        {49990, 50000, 2.5e-07, 0.999273517415463, 0.999978131792297},
        {12, 50000, 2.5e-07, 3.39357812208426e-05, 0.000794812422548407},
        {50000, 50000, 0.025, 0.999926225132417, 1},
        {0, 50000, 0.025, 0, 7.37748675828823e-05},
        {123456, 1000000, 0.01, 0.122691710624693, 0.124223260148653},
        {99999999, 100000000, 0.001, 0.999999907665869, 0.999999999989995},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        double low =
            pri_hits_lower(known[k].hits, known[k].trials, known[k].error);
        double high =
            pri_hits_upper(known[k].hits, known[k].trials, known[k].error);
        assert_close(low, known[k].lower, 2e-6);
        assert_close(high, known[k].upper, 2e-6);
        assert_close(1 - high, 1 - known[k].upper, 2e-5);
        /* Rounded outwards. */
        assert_true(low <= known[k].lower * (1 + 1e-12));
        assert_true(high >= known[k].upper * (1 - 1e-12));
    }
}

/* The definition: P(at least so many hits) at the bound is the error. */
static void test_binomial(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 40; n += 3)
        for (int64_t hits = 1; hits <= n; hits++) {
            double p = pri_hits_lower(hits, n, 1e-4), tail = 0;
            for (int64_t k = hits; k <= n; k++)
                tail += exp(lgamma((double)n + 1) - lgamma((double)k + 1) -
                            lgamma((double)(n - k) + 1) + (double)k * log(p) +
                            (double)(n - k) * log1p(-p));
            assert_close(tail, 1e-4, 2e-6);
        }
}

/* ------------------------------------------------------- made up trials -- */

/*
 * Trials of a Gaussian mechanism that is up with probability `p`, has the
 * distance mu (varied by half if `varied`) in the plan and scale mu in truth.
 */
static struct pri_trial *make_trials(uint64_t *seed, int64_t count, double mu,
                                     bool varied, double p, double scale)
{
    struct pri_trial *trials = calloc((size_t)count, 2 * sizeof *trials);
    for (int64_t k = 0; k < 2 * count; k++) {
        double here = mu * (varied ? .5 + test_uniform(seed) : 1);
        if (test_uniform(seed) >= p)
            continue;
        double mean = (k % 2 == 0 ? .5 : -.5) * here * scale;
        trials[k] = (struct pri_trial){here * (mean + normal(seed)), here};
    }
    return trials;
}

/* The eps of a Gaussian mechanism that is up with probability p. */
static double true_eps(double mu, double p, double delta)
{
    double low = 0, high = 1e6;
    while (high - low > 1e-9 * high) {
        double middle = (low + high) / 2;
        *(p * pricer_gaussian_delta(middle, mu) > delta ? &low : &high) =
            middle;
    }
    return high;
}

/* Whatever the size, the factor is found, from below. */
static void test_scale(void **state)
{
    (void)state;
    uint64_t seed = 1;
    static const double factors[] = {.5, 1, 1.1, 2, 30};
    static const double sizes[] = {.2, 1, 20, 500};
    for (int k = 0; k < 5; k++)
        for (int m = 0; m < 4; m++)
            for (int varied = 0; varied < 2; varied++) {
                struct pri_trial *trials =
                    make_trials(&seed, 20000, sizes[m], varied, .8, factors[k]);
                double scale = pri_fit_scale(trials, 20000, 1e-6);
                assert_true(scale <= factors[k]);
                /* Five standard deviations of slope and deviation each. */
                double slack =
                    5.2 * (1 / sqrt(2 * 32000.) +
                           2 / (sizes[m] * factors[k] * sqrt(32000.)));
                assert_true(scale >= factors[k] * (1 - 2 * slack));
                free(trials);
            }
}

/* Without any noise the factor is infinite; with too little to see, unknown. */
static void test_scale_extremes(void **state)
{
    (void)state;
    uint64_t seed = 2;
    struct pri_trial *trials = make_trials(&seed, 2000, 1, true, 1, 1);
    for (int64_t k = 0; k < 4000; k++)
        trials[k].ratio = (k % 2 == 0 ? .5 : -.5) * trials[k].mu * trials[k].mu;
    double eps;
    assert_true(pri_fit_scale(trials, 2000, 1e-6) > 1e12);
    assert_int_equal(pri_fit_eps(trials, 2000, 1e-3, 1e-6, &eps), PRICER_OK);
    assert_true(isinf(eps));
    for (int64_t k = 0; k < 4000; k++) /* hypotheses exchanged */
        trials[k].ratio = -trials[k].ratio;
    assert_true(pri_fit_scale(trials, 2000, 1e-6) == 0);
    for (int64_t k = 0; k < 4000; k++)
        trials[k].mu = k < 100 ? 1 : k < 2000 ? 0 : INFINITY;
    assert_true(isnan(pri_fit_scale(trials, 2000, 1e-6)));
    for (int64_t k = 0; k < 4000; k++)
        trials[k].mu = NAN;
    assert_int_equal(pri_fit_eps(trials, 2000, 1e-3, 1e-6, &eps), PRICER_OK);
    assert_true(isnan(eps));
    free(trials);
}

/* Both bounds are below the truth, and not far. */
static void test_bounds(void **state)
{
    (void)state;
    static const struct {
        double mu, p, delta, counted, fitted;
    } known[] = {{1, 1, 1e-3, .75, .9},    {1, .3, 1e-2, .7, .85},
                 {.4, 1, 1e-3, .15, .8},   {2, 1, 1e-3, .5, .9},
                 {13, .9, 1e-3, .05, .95}, {300, .5, 1e-6, 0, .95}};
    uint64_t seed = 3;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        double truth = true_eps(known[k].mu, known[k].p, known[k].delta), fit;
        struct pri_trial *trials =
            make_trials(&seed, 50000, known[k].mu, false, known[k].p, 1);
        struct pri_counted counted;
        assert_int_equal(
            pri_count_eps(trials, 50000, known[k].delta, 1e-6, &counted),
            PRICER_OK);
        assert_int_equal(counted.judged, 25000);
        assert_true(counted.eps <= truth);
        pri_count_eps(trials, 50000, known[k].delta, .05, &counted);
        assert_true(counted.eps >= known[k].counted * truth);
        assert_true(counted.eps <= log(25000));
        pri_fit_eps(trials, 50000, known[k].delta, 1e-6, &fit);
        assert_true(fit <= truth && fit >= known[k].fitted * truth);
        free(trials);
    }
}

/*
 * With nothing to find, the best of many tests finds something only if it is
 * judged by the trials that chose it: 400 audits at error 0.6, 240 + 5 * 10.
 */
static void test_nothing(void **state)
{
    (void)state;
    uint64_t seed = 5;
    int wrong = 0;
    for (int k = 0; k < 400; k++) {
        struct pri_trial *trials = make_trials(&seed, 1000, 1, true, 1, 0);
        struct pri_counted counted;
        pri_count_eps(trials, 1000, 1e-9, .6, &counted);
        wrong += counted.eps > 0;
        free(trials);
    }
    assert_true(wrong <= 290);
}

/*
 * The confidence is kept: of 400 audits at error 0.2 at most a fifth may be
 * wrong, 80 + 5 * 8. (They are wrong far less often, but some are nearly.)
 */
static void test_coverage(void **state)
{
    (void)state;
    uint64_t seed = 4;
    double truth = true_eps(1, .7, 1e-2), fit;
    int counted_wrong = 0, fit_wrong = 0, scale_wrong = 0;
    for (int k = 0; k < 400; k++) {
        struct pri_trial *trials = make_trials(&seed, 1000, 1, false, .7, 1);
        struct pri_counted counted;
        pri_count_eps(trials, 1000, 1e-2, .2, &counted);
        pri_fit_eps(trials, 1000, 1e-2, .2, &fit);
        counted_wrong += counted.eps > truth;
        fit_wrong += fit > truth;
        scale_wrong += pri_fit_scale(trials, 1000, .2) > 1;
        free(trials);
    }
    assert_true(counted_wrong <= 120);
    assert_true(fit_wrong <= 120);
    assert_true(scale_wrong <= 120);
    assert_true(scale_wrong >= 1); /* the bound is not empty either */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_clopper_pearson),
                                       cmocka_unit_test(test_binomial),
                                       cmocka_unit_test(test_scale),
                                       cmocka_unit_test(test_scale_extremes),
                                       cmocka_unit_test(test_bounds),
                                       cmocka_unit_test(test_nothing),
                                       cmocka_unit_test(test_coverage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
