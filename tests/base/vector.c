/*
 * Lengths: right where squares overflow or vanish, and none of a vector that is
 * not finite.
 */
#include "tests/test.h"
#include "base/base.h"

static void test_scales(void **state)
{
    (void)state;
    const double scales[] = {1, 1e-300, 0x1p-1070, 1e300};
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
        double vector[] = {3 * scales[k], 0, -4 * scales[k]}, largest = -1;
        double relative = pri_relative_length(vector, 3, &largest);
        assert_true(largest == 4 * scales[k]);
        assert_true(fabs(relative - 1.25) < 1e-15);
    }
}

static void test_zero(void **state)
{
    (void)state;
    double vector[] = {0, -0.}, largest = -1;
    assert_true(pri_relative_length(vector, 2, &largest) == 0);
    assert_true(largest == 0);
    assert_true(pri_relative_length(vector, 0, &largest) == 0);
}

static void test_not_finite(void **state)
{
    (void)state;
    const double wrong[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 3; k++) {
        double largest, vector[] = {1, wrong[k], 2};
        assert_true(isnan(pri_relative_length(vector, 3, &largest)));
        assert_true(isnan(pri_relative_length(vector + 1, 1, &largest)));
        assert_false(pri_is_amount(wrong[k]));
    }
    assert_true(pri_is_amount(0) && pri_is_amount(DBL_MAX));
    assert_false(pri_is_amount(-1e-300));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_zero),
        cmocka_unit_test(test_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
