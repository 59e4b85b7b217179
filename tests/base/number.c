/*
 * Numbers in text: what is taken, what is refused, and that the short path
 * rounds as strtod() does.
 */
#include "tests/test.h"
#include "base/base.h"

#include <locale.h>

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},
                {"-1.5", -1.5},
                {"1e-3", 1e-3},
                {".5", .5},
                {"5.", 5},
                {"inf", INFINITY},
                {".inf", INFINITY},
                {"-inf", -INFINITY},
                {"+2", 2},
                {"1E3", 1000},
                {"0.1234567890123456789", 0.1234567890123456789}};
    static const char *const bad[] = {
        "",   "x",   "1.5x", "nan", "NaN", "0x10",  "1,5",   " 1",
        "1 ", "--1", "1e",   ".",   "-",   "1e999", "1.2.3", "infinit"};
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        double value = NAN;
        assert_true(pri_parse_number(good[k].text, &value));
        assert_true(value == good[k].value);
    }
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        double value = 42;
        if (pri_parse_number(bad[k], &value))
            fail_msg("'%s' was taken for %g", bad[k], value);
        assert_true(value == 42);
    }
}

static void test_short_path_rounds_right(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int trial = 0; trial < 200000; trial++) {
        char text[40];
        double value = NAN;
        int digits = 1 + (int)(test_random(&seed) % 17);
        snprintf(text, sizeof text, "%.*f", digits,
                 (test_uniform(&seed) - .5) *
                     pow(10, (double)(test_random(&seed) % 4)));
        assert_true(pri_parse_number(text, &value));
        if (value != strtod(text, NULL))
            fail_msg("%s became %.17g", text, value);
    }
}

static void test_counts(void **state)
{
    (void)state;
    int64_t value = 7;
    assert_true(pri_parse_count("-12", &value));
    assert_int_equal(value, -12);
    assert_false(pri_parse_count("1.5", &value));
    assert_false(pri_parse_count("", &value));
    assert_false(pri_parse_count("99999999999999999999", &value));
    assert_false(pri_parse_count(" 1", &value));
    assert_int_equal(value, -12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_short_path_rounds_right),
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
