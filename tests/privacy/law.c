/*
 * Laws of sums: on the right side of the truth in the order they are made for,
 * close to it, and exact where there are few atoms.
 */
#include "tests/test.h"
#include "privacy/law.h"

/* Not rounded: what the order is about. */
static double curve(double x, double eps)
{
    struct pri_gaussian g;
    if (isinf(x))
        return 1;
    pri_gaussian_at(eps, sqrtl(x), &g);
    return (double)expl(g.log_delta);
}

static const double epsilons[] = {0, .3, 5, 40, 1000};
enum { EPSILONS = 5 };

/* E f(more + law), or of signal over it if there is a signal. */
static double expect(const struct pri_law *law, double more, double eps,
                     double offset, double signal)
{
    double sum = 0;
    for (int32_t k = 0; k < law->count; k++) {
        double value = law->value[k];
        if (signal > 0)
            value = signal / (offset + value);
        sum += law->mass[k] * curve(more + value, eps);
    }
    return sum;
}

static void check_shape(const struct pri_law *law)
{
    double sum = 0;
    for (int32_t k = 0; k < law->count; k++) {
        assert_true(law->mass[k] > 0);
        assert_true(law->value[k] >= 0);
        if (k > 0)
            assert_true(law->value[k] > law->value[k - 1]);
        sum += law->mass[k];
    }
    assert_true(fabs(sum - 1) < 1e-12);
}

/* The truth between the two, and those within `part` of each other. */
static void check_order(const struct pri_law *below,
                        const struct pri_law *truth,
                        const struct pri_law *above, double offset,
                        double signal, double part)
{
    static const double others[] = {0, .3, 30};
    check_shape(below);
    check_shape(above);
    for (int e = 0; e < EPSILONS; e++)
        for (int k = 0; k < 3; k++) {
            double eps = epsilons[e], more = others[k];
            double low = expect(below, more, eps, offset, signal);
            double high = expect(above, more, eps, offset, signal);
            double middle = expect(truth, more, eps, offset, signal);
            double slack = 1e-10 * fmin(middle, 1 - middle) + 1e-14 * middle;
            if (middle < 1e-100)
                continue;
            if (!(low <= middle + slack) || !(high >= middle - slack))
                fail_msg("eps %g, %g more: %.17g not in [%.17g, %.17g]", eps,
                         more, middle, low, high);
            if (middle > 1e-9)
                assert_true(high - low <= part * middle);
        }
}

/* Every subset of 14 numbers. */
static void list(const double *size, const double *chance, struct pri_law *law)
{
    assert_int_equal(pri_law_reserve(law, 1 << 14), PRICER_OK);
    law->count = 0;
    for (int set = 0; set < 1 << 14; set++) {
        double value = 0, mass = 1;
        for (int k = 0; k < 14; k++) {
            bool in = set >> k & 1;
            value += in ? size[k] : 0;
            mass *= in ? chance[k] : 1 - chance[k];
        }
        pri_law_add(law, value, mass);
    }
}

/* Numbers over many orders of magnitude or alike, as signals and as variances
 * that divide a small or a large signal. */
static void test_subsets(void **state)
{
    (void)state;
    double size[14], chance[14];
    uint64_t seed = 3;
    struct pri_bins bins = {0};
    struct pri_law truth = {0}, law[2] = {{0}};
    for (int trial = 0; trial < 8; trial++) {
        for (int k = 0; k < 14; k++) {
            size[k] = pow(10, -4 * test_uniform(&seed) * (trial % 3));
            chance[k] = test_uniform(&seed);
        }
        list(size, chance, &truth);
        struct pri_shape shape = {.bits = 7};
        if (trial % 4 > 0) {
            shape.kind = PRI_VARIANCE;
            shape.offset = pow(10, 1 - trial % 4);
            shape.signal = pow(10, trial % 7 - 3);
        }
        for (int side = PRI_BELOW; side <= PRI_ABOVE; side++) {
            shape.side = side;
            assert_int_equal(
                pri_law_subset(size, chance, 14, &shape, &bins, &law[side]),
                PRICER_OK);
            assert_true(law[side].count < 4000);
        }
        check_order(&law[0], &truth, &law[1], shape.offset, shape.signal, .2);
    }
    pri_bins_free(&bins);
    pri_law_free(&truth);
    pri_law_free(&law[0]);
    pri_law_free(&law[1]);
}

static void test_listed(void **state)
{
    (void)state;
    double size[] = {1, 1, 1, 2}, chance[] = {.5, .5, .5, .1};
    struct pri_bins bins = {0};
    struct pri_shape shape = {.side = PRI_ABOVE, .bits = 3};
    struct pri_law law = {0};
    assert_int_equal(pri_law_subset(size, chance, 4, &shape, &bins, &law),
                     PRICER_OK);
    assert_int_equal(law.count, 6);
    double expected[] = {.9 / 8,          .9 * 3 / 8, .9 * 3 / 8 + .1 / 8,
                         .9 / 8 + .3 / 8, .1 * 3 / 8, .1 / 8};
    for (int k = 0; k < 6; k++) {
        assert_true(law.value[k] == k);
        assert_close(law.mass[k], expected[k], 1e-14);
    }
    assert_int_equal(pri_law_subset(size, chance, 0, &shape, &bins, &law),
                     PRICER_OK);
    assert_int_equal(law.count, 1);
    assert_true(law.value[0] == 0 && law.mass[0] == 1);
    pri_bins_free(&bins);
    pri_law_free(&law);
}

/* Only the order: every probability to exceed a value is on its side. */
static void test_ordered(void **state)
{
    (void)state;
    double size[14], chance[14];
    uint64_t seed = 6;
    struct pri_bins bins = {0};
    struct pri_law truth = {0}, law = {0};
    for (int trial = 0; trial < 4; trial++) {
        for (int k = 0; k < 14; k++) {
            size[k] = pow(10, -3 * test_uniform(&seed) * (trial % 2));
            chance[k] = test_uniform(&seed);
        }
        list(size, chance, &truth);
        for (int side = PRI_BELOW; side <= PRI_ABOVE; side++) {
            struct pri_shape shape = {.side = side,
                                      .kind = PRI_ORDERED,
                                      .bits = 6,
                                      .dust = trial < 2 ? 0 : 1e-6};
            assert_int_equal(
                pri_law_subset(size, chance, 14, &shape, &bins, &law),
                PRICER_OK);
            check_shape(&law);
            for (double z = .001; z < 15; z *= 1.07) {
                double real = 0, here = 0;
                for (int32_t k = 0; k < truth.count; k++)
                    real += truth.value[k] <= z ? truth.mass[k] : 0;
                for (int32_t k = 0; k < law.count; k++)
                    here += law.value[k] <= z ? law.mass[k] : 0;
                /* Above: less noise. */
                assert_true(side == PRI_ABOVE ? here >= real - 1e-12
                                              : here <= real + 1e-12);
            }
        }
    }
    pri_bins_free(&bins);
    pri_law_free(&truth);
    pri_law_free(&law);
}

static void make_term(struct pri_law *law, uint64_t *seed)
{
    assert_int_equal(pri_law_reserve(law, 4), PRICER_OK);
    double left = 1, value = 0;
    law->count = 0;
    for (int k = 0; k < 3; k++) {
        double mass = left * test_uniform(seed);
        pri_law_add(law, value, mass);
        left -= mass;
        value += .01 + test_uniform(seed);
    }
    bool bare = test_uniform(seed) < .3;
    pri_law_add(law, bare ? INFINITY : value, left);
}

/* Every sum of one atom of each of five laws, by number. */
static void list_sums(const struct pri_law *term, struct pri_law *truth)
{
    assert_int_equal(pri_law_reserve(truth, 1024), PRICER_OK);
    truth->count = 0;
    for (int code = 0; code < 1024; code++) {
        double sum = 0, mass = 1;
        for (int k = 0; k < 5; k++) {
            int at = code >> 2 * k & 3;
            bool there = at < term[k].count;
            sum += there ? term[k].value[at] : 0;
            mass *= there ? term[k].mass[at] : 0;
        }
        pri_law_add(truth, sum, mass);
    }
}

static void test_sums(void **state)
{
    (void)state;
    uint64_t seed = 21;
    struct pri_bins bins = {0};
    struct pri_law term[5] = {{0}}, truth = {0}, law[2] = {{0}};
    for (int trial = 0; trial < 40; trial++) {
        for (int k = 0; k < 5; k++)
            make_term(&term[k], &seed);
        list_sums(term, &truth);
        for (int side = PRI_BELOW; side <= PRI_ABOVE; side++) {
            struct pri_shape shape = {
                .side = side, .bits = 5, .offset = trial % 2 ? .1 : 0};
            assert_int_equal(pri_law_copy(&term[0], &law[side]), PRICER_OK);
            for (int k = 1; k < 5; k++)
                assert_int_equal(
                    pri_law_plus(&term[k], &shape, &bins, &law[side]),
                    PRICER_OK);
        }
        check_order(&law[0], &truth, &law[1], 0, 0, .2);
    }
    for (int k = 0; k < 5; k++)
        pri_law_free(&term[k]);
    pri_law_free(&truth);
    pri_law_free(&law[0]);
    pri_law_free(&law[1]);
    pri_bins_free(&bins);
}

/* Many copies of a coin are binomial; each comes down with 0, or as much. */
static void test_repeat(void **state)
{
    (void)state;
    struct pri_bins bins = {0};
    struct pri_law coin = {0}, truth = {0}, law[2] = {{0}};
    assert_int_equal(pri_law_reserve(&coin, 2), PRICER_OK);
    pri_law_add(&coin, 0, .7);
    pri_law_add(&coin, .037, .3);
    for (int64_t times = 1; times < 3000; times = 3 * times + 1) {
        struct pri_rounds exact = {0};
        assert_int_equal(pri_rounds_law(times, .3, 1e-300L, &exact), PRICER_OK);
        assert_int_equal(
            pri_law_reserve(&truth, (int32_t)(exact.last - exact.first + 1)),
            PRICER_OK);
        truth.count = 0;
        for (int64_t k = exact.first; k <= exact.last; k++)
            pri_law_add(&truth, .037 * (double)k,
                        (double)exact.weight[k - exact.first]);
        for (int side = PRI_BELOW; side <= PRI_ABOVE; side++) {
            struct pri_shape shape = {
                .side = side, .bits = 6, .offset = .01 * (double)times};
            assert_int_equal(
                pri_law_repeat(&coin, times, &shape, &bins, &law[side]),
                PRICER_OK);
        }
        check_order(&law[0], &truth, &law[1], 0, 0, .4);
        pri_rounds_free(&exact);
    }
    pri_bins_free(&bins);
    pri_law_free(&coin);
    pri_law_free(&truth);
    pri_law_free(&law[0]);
    pri_law_free(&law[1]);
}

/* Many atoms or few: an eps that meets delta, on its side. */
static void test_eps(void **state)
{
    (void)state;
    struct pri_bins bins = {0};
    struct pri_law law = {0}, spare = {0};
    assert_int_equal(pri_law_reserve(&law, 5000), PRICER_OK);
    for (int k = 0; k < 5000; k++)
        pri_law_add(&law, .5 + k * 1e-4, 1. / 5000);
    for (int power = 1; power < 200; power = power * 3 / 2 + 1) {
        double delta = pow(10, -power), low, high, slope;
        assert_int_equal(
            pri_law_eps(&law, delta, INFINITY, PRI_BELOW, &bins, &spare, &low),
            PRICER_OK);
        assert_int_equal(
            pri_law_eps(&law, delta, INFINITY, PRI_ABOVE, &bins, &spare, &high),
            PRICER_OK);
        assert_true(low <= high && low >= high * (1 - 1e-7));
        assert_true(pri_law_delta(&law, high, INFINITY, PRI_ABOVE, &slope) <=
                    delta);
        assert_true(pri_law_delta(&law, low, INFINITY, PRI_BELOW, &slope) >=
                    delta);
    }
    pri_bins_free(&bins);
    pri_law_free(&law);
    pri_law_free(&spare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_subsets), cmocka_unit_test(test_listed),
        cmocka_unit_test(test_ordered), cmocka_unit_test(test_sums),
        cmocka_unit_test(test_repeat),  cmocka_unit_test(test_eps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
