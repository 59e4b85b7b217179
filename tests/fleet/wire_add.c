/*
 * Vectors in messages: what is made in place is what is written, and what is added
 * where it lies is what one by one would be.
 */
#include "tests/test.h"
#include "fleet/wire.h"

#include <math.h>

static const uint8_t seal[WIRE_DIGEST] = {1, 2, 3};

/* Values that their maker puts into the message: the same bytes, and aligned. */
static void test_share_in_place(void **state)
{
    (void)state;
    const int64_t values[] = {INT64_MIN, -1, INT64_MAX};
    const int64_t rounds[] = {7, 128, 300, 70000, INT64_C(1) << 40};
    struct wire_bytes bytes = {0}, same = {0};
    for (int k = 0; k < 5; k++) {
        const struct wire_share given = {rounds[k],      1,    seal,
                                         WIRE_PART_DATA, NULL, 0};
        int64_t *place = wire_begin_share(&bytes, &given, 3);
        assert_true((uintptr_t)place % sizeof *place == 0);
        memcpy(place, values, sizeof values);
        wire_end_share(place, 3);
        assert_true(wire_write_share(&same, &given, values, 3));
        assert_true(bytes.lead + bytes.size <= bytes.room && same.lead == 0);
        assert_int_equal(bytes.size, same.size);
        assert_memory_equal(bytes.data + bytes.lead, same.data, same.size);
        wire_share_again(&bytes, 5);
        wire_share_again(&same, 5);
        assert_memory_equal(bytes.data + bytes.lead, same.data, same.size);
    }
    wire_free(&bytes);
    wire_free(&same);
}

/* One by one: whether each value, each sum and the length are what they may be. */
static bool may_add(const int64_t *values, int64_t count, int64_t limit,
                    double length, const int64_t *sum)
{
    long double square = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t total;
        if (values[k] > limit || values[k] < -limit ||
            __builtin_add_overflow(values[k], sum[k], &total))
            return false;
        square += (long double)values[k] * (long double)values[k];
    }
    return square <= (long double)length * (long double)length;
}

/* Vectors of all lengths at any address: what may be added is, what may not leaves
 * the sum as it was. Limits from 1 to 2^61 are among them. */
static void test_add_within(void **state)
{
    (void)state;
    enum { MOST = 37 };
    uint64_t seed = 3;
    int added = 0, refused = 0;
    uint8_t room[8 * MOST + 8];
    int64_t values[MOST], sum[MOST], before[MOST];
    for (int trial = 0; trial < 60000; trial++) {
        int64_t count = 1 + (int64_t)(test_random(&seed) % MOST);
        int64_t limit = (INT64_C(1) << test_random(&seed) % 62) + trial % 3 - 1;
        double length = 0;
        for (int64_t k = 0; k < count; k++) {
            values[k] =
                (int64_t)((2 * test_uniform(&seed) - 1) * (double)limit);
            values[k] = values[k] > limit ? limit : values[k];
            before[k] = (int64_t)test_random(&seed) >> test_random(&seed) % 60;
            length += (double)values[k] * (double)values[k];
        }
        length = sqrt(length) * (trial % 5 == 0 ? 1 - 1e-9 : 1 + 1e-9);
        if (trial % 7 == 0) { /* one too large, however long all may be */
            length = 2 * length + 2 * (double)limit;
            values[test_random(&seed) % (uint64_t)count] =
                trial % 2 ? limit + 1 : -limit - 1;
        }
        if (trial % 101 == 0)
            values[test_random(&seed) % (uint64_t)count] = INT64_MIN;
        uint8_t *bytes = room + test_random(&seed) % 8;
        for (int64_t k = 0; k < 8 * count; k++)
            bytes[k] = (uint8_t)((uint64_t)values[k / 8] >> 8 * (k % 8));
        memcpy(sum, before, sizeof sum);
        bool may = may_add(values, count, limit, length, before);
        assert_true(wire_add_within(bytes, count, limit, length, sum) == may);
        for (int64_t k = 0; k < count; k++)
            assert_true(sum[k] == (may ? before[k] + values[k] : before[k]));
        memset(before, 0, sizeof before);
        assert_true(wire_add_within(bytes, count, limit, length, NULL) ==
                    may_add(values, count, limit, length, before));
        added += may;
        refused += !may;
    }
    assert_true(added > 10000 && refused > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share_in_place),
        cmocka_unit_test(test_add_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
