/*
 * Statuses and faults: every status has words, a fault never leaves its room,
 * and its place is put before it.
 */
#include "tests/test.h"
#include "base/base.h"

static void test_words(void **state)
{
    (void)state;
    for (int one = PRICER_OK; one <= PRICER_STOPPED; one++)
        for (int two = PRICER_OK; two < one; two++)
            assert_string_not_equal(
                pricer_status_text((enum pricer_status)one),
                pricer_status_text((enum pricer_status)two));
    assert_non_null(pricer_status_text((enum pricer_status)1000));
}

static void test_fault(void **state)
{
    (void)state;
    struct pricer_fault fault = {"before"};
    assert_int_equal(pri_fault(NULL, PRICER_VALUE, "p = %g", 2.), PRICER_VALUE);
    assert_int_equal(pri_fault(&fault, PRICER_FORMAT, "p = %g", 2.),
                     PRICER_FORMAT);
    assert_string_equal(fault.text, "p = 2");
    pri_fault_locate(&fault, "links.csv", 17);
    assert_string_equal(fault.text, "links.csv:17: p = 2");
    pri_fault(&fault, PRICER_FORMAT, "empty");
    pri_fault_locate(&fault, "links.csv", 0);
    assert_string_equal(fault.text, "links.csv: empty");
    pri_fault_locate(NULL, "links.csv", 0);
}

static void test_long_fault(void **state)
{
    (void)state;
    char words[5000];
    struct {
        struct pricer_fault fault;
        char behind;
    } room = {.behind = 'x'};
    memset(words, 'w', sizeof words - 1);
    words[sizeof words - 1] = '\0';
    pri_fault(&room.fault, PRICER_VALUE, "%s", words);
    pri_fault_locate(&room.fault, words, INT64_MAX);
    assert_true(strlen(room.fault.text) < sizeof room.fault.text);
    assert_int_equal(room.behind, 'x');
}

static void test_alloc(void **state)
{
    (void)state;
    assert_null(pri_alloc(-1, 1));
    assert_null(pri_alloc(INT64_MAX, 16));
    void *none = pri_alloc(0, 8);
    assert_non_null(none);
    free(none);
    int64_t count = (int64_t)3 << 20; /* enough for huge pages */
    int64_t *many = pri_alloc(count, sizeof *many);
    assert_non_null(many);
    for (int64_t k = 0; k < count; k++)
        assert_true(many[k] == 0);
    free(many);
}

static void test_threads(void **state)
{
    (void)state;
    assert_int_equal(pri_threads(3, 1), 3);
    assert_int_equal(pri_threads(0, 1), 1);
    assert_true(pri_threads(0, INT64_MAX) >= 1);
    assert_true(pri_tick(NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),      cmocka_unit_test(test_fault),
        cmocka_unit_test(test_long_fault), cmocka_unit_test(test_alloc),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
