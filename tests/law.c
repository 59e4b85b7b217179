/*
 * Laws of sums: on the right side of the truth at every point, close to it, and
 * exact where every subset is listed.
 */
#include "test.h"
#include "law.h"

/* P(law > z). */
static double beyond(const struct pri_law *law, double z)
{
    double sum = 0;
    for (int32_t k = law->count - 1; k >= 0 && law->value[k] > z; k--)
        sum += law->mass[k];
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

/* Every subset of up to 16 numbers. */
static void list(const double *size, const double *chance, int count,
                 double *value, double *mass)
{
    for (int set = 0; set < 1 << count; set++) {
        value[set] = 0;
        mass[set] = 1;
        for (int k = 0; k < count; k++) {
            bool in = set >> k & 1;
            value[set] += in ? size[k] : 0;
            mass[set] *= in ? chance[k] : 1 - chance[k];
        }
    }
}

static double listed_beyond(const double *value, const double *mass, int count,
                            double z)
{
    double sum = 0;
    for (int set = 0; set < 1 << count; set++)
        sum += value[set] > z ? mass[set] : 0;
    return sum;
}

/*
 * Sixteen numbers over many orders of magnitude, on grids: from below nothing
 * is more likely to exceed any z than in truth, from above nothing less.
 */
static void test_subsets(void **state)
{
    (void)state;
    static double value[1 << 16], mass[1 << 16];
    double size[16], chance[16];
    uint64_t seed = 3;
    struct pri_grid grid = {0};
    struct pri_law below = {0}, above = {0};
    for (int trial = 0; trial < 6; trial++) {
        for (int k = 0; k < 16; k++) {
            size[k] = pow(10, -8 * test_uniform(&seed) * (trial % 3));
            chance[k] = test_uniform(&seed);
        }
        list(size, chance, 16, value, mass);
        assert_int_equal(pri_law_subset(size, chance, 16, 0, PRI_BELOW, 1024,
                                        1e-12, &grid, &below),
                         PRICER_OK);
        assert_int_equal(pri_law_subset(size, chance, 16, 0, PRI_ABOVE, 1024,
                                        1e-12, &grid, &above),
                         PRICER_OK);
        check_shape(&below);
        check_shape(&above);
        for (int point = 0; point < 200; point++) {
            double z = pow(10, 1.2 - 10 * test_uniform(&seed));
            double truth = listed_beyond(value, mass, 16, z);
            double shifted = listed_beyond(value, mass, 16, z * 1.2);
            assert_true(beyond(&below, z) <= truth + 1e-12);
            assert_true(beyond(&above, z) >= truth - 1e-12);
            /* And not far off: a fifth of the value at most, here. */
            if (trial % 3 == 0)
                assert_true(beyond(&below, z / 1.2) >= shifted - 1e-12);
        }
    }
    pri_grid_free(&grid);
    pri_law_free(&below);
    pri_law_free(&above);
}

static void test_listed(void **state)
{
    (void)state;
    double size[] = {1, 1, 1, 2}, chance[] = {.5, .5, .5, .1};
    struct pri_grid grid = {0};
    struct pri_law law = {0};
    assert_int_equal(
        pri_law_subset(size, chance, 4, 0, PRI_ABOVE, 64, 0, &grid, &law),
        PRICER_OK);
    assert_int_equal(law.count, 6);
    double expected[] = {.9 / 8,          .9 * 3 / 8, .9 * 3 / 8 + .1 / 8,
                         .9 / 8 + .3 / 8, .1 * 3 / 8, .1 / 8};
    for (int k = 0; k < 6; k++) {
        assert_true(law.value[k] == k);
        assert_close(law.mass[k], expected[k], 1e-14);
    }
    assert_int_equal(
        pri_law_subset(size, chance, 0, 0, PRI_ABOVE, 64, 0, &grid, &law),
        PRICER_OK);
    assert_int_equal(law.count, 1);
    assert_true(law.value[0] == 0 && law.mass[0] == 1);
    pri_grid_free(&grid);
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

/* Five terms of four atoms against all 1024 sums. */
static void test_sums(void **state)
{
    (void)state;
    uint64_t seed = 21;
    struct pri_grid grid = {0};
    struct pri_law term[5] = {{0}}, law = {0};
    const struct pri_law *terms[5];
    for (int trial = 0; trial < 40; trial++) {
        for (int k = 0; k < 5; k++) {
            make_term(&term[k], &seed);
            terms[k] = &term[k];
        }
        for (int side = PRI_BELOW; side <= PRI_ABOVE; side++) {
            double top = trial % 2 ? 3 : 20;
            assert_int_equal(pri_law_sum_begin(.01, top, 5, 256, &grid),
                             PRICER_OK);
            pri_law_sum_add(terms, 5, side, 1, &grid);
            assert_int_equal(pri_law_sum_end(side, &grid, &law), PRICER_OK);
            check_shape(&law);
            for (double z = 0; z < 8; z += .0371) {
                double truth = 0;
                for (int code = 0; code < 1024; code++) {
                    double sum = 0, mass = 1;
                    for (int k = 0; k < 5; k++) {
                        int at = code >> 2 * k & 3;
                        bool there = at < term[k].count;
                        sum += there ? term[k].value[at] : 0;
                        mass *= there ? term[k].mass[at] : 0;
                    }
                    truth += sum > z ? mass : 0;
                }
                if (side == PRI_ABOVE)
                    assert_true(beyond(&law, z) >= truth - 1e-12);
                else
                    assert_true(beyond(&law, z) <= truth + 1e-12);
            }
        }
    }
    for (int k = 0; k < 5; k++)
        pri_law_free(&term[k]);
    pri_law_free(&law);
    pri_grid_free(&grid);
}

/* Many copies of a coin are binomial. */
static void test_repeat(void **state)
{
    (void)state;
    struct pri_grid grid = {0};
    struct pri_law coin = {0}, law = {0};
    assert_int_equal(pri_law_reserve(&coin, 2), PRICER_OK);
    pri_law_add(&coin, 0, .7);
    pri_law_add(&coin, 1, .3);
    for (int side = PRI_BELOW; side <= PRI_ABOVE; side++)
        for (int64_t times = 1; times < 300; times = 2 * times + 1) {
            struct pri_rounds exact = {0};
            assert_int_equal(pri_rounds_law(times, .3, 1e-20L, &exact),
                             PRICER_OK);
            assert_int_equal(pri_law_repeat(&coin, times, side, .5,
                                            (double)times, 512, &grid, &law),
                             PRICER_OK);
            double sum = 0;
            for (int64_t k = exact.last; k >= exact.first; k--) {
                sum += (double)exact.weight[k - exact.first];
                double here = beyond(&law, (double)k - .5);
                double slack = 1e-12 + 1e-9 * sum;
                if (side == PRI_ABOVE)
                    assert_true(here >= sum - slack);
                else
                    assert_true(here <= sum + slack);
                if (k > .02 * (double)times)
                    assert_true(side == PRI_ABOVE
                                    ? beyond(&law, 1.04 * (double)k) <=
                                          sum + slack
                                    : beyond(&law, .96 * (double)k - .5) >=
                                          sum - slack);
            }
            pri_rounds_free(&exact);
        }
    pri_grid_free(&grid);
    pri_law_free(&coin);
    pri_law_free(&law);
}

/* Many atoms or few: eps is the same within what the atoms are wide. */
static void test_eps(void **state)
{
    (void)state;
    struct pri_law law = {0}, spare = {0};
    assert_int_equal(pri_law_reserve(&law, 5000), PRICER_OK);
    for (int k = 0; k < 5000; k++)
        pri_law_add(&law, .5 + k * 1e-4, 1. / 5000);
    for (int power = 1; power < 200; power = power * 3 / 2 + 1) {
        double delta = pow(10, -power), low, high, slope;
        assert_int_equal(pri_law_eps(&law, delta, PRI_BELOW, &spare, &low),
                         PRICER_OK);
        assert_int_equal(pri_law_eps(&law, delta, PRI_ABOVE, &spare, &high),
                         PRICER_OK);
        assert_true(low <= high && low >= high * .995);
        assert_true(pri_law_delta(&law, high, PRI_ABOVE, &slope) <= delta);
        assert_true(pri_law_delta(&law, low, PRI_BELOW, &slope) >= delta);
    }
    pri_law_free(&law);
    pri_law_free(&spare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_subsets), cmocka_unit_test(test_listed),
        cmocka_unit_test(test_sums),    cmocka_unit_test(test_repeat),
        cmocka_unit_test(test_eps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
