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
        const struct wire_share given = {rounds[k], seal, WIRE_PART_DATA, NULL,
                                         0};
        int64_t *place = wire_begin_share(&bytes, &given, 3);
        assert_true((uintptr_t)place % sizeof *place == 0);
        memcpy(place, values, sizeof values);
        wire_end_words(place, 3);
        assert_true(wire_write_share(&same, &given, values, 3));
        assert_true(bytes.lead + bytes.size <= bytes.room && same.lead == 0);
        assert_int_equal(bytes.size, same.size);
        assert_memory_equal(bytes.data + bytes.lead, same.data, same.size);
    }
    wire_free(&bytes);
    wire_free(&same);
}

/* What one by one says: may be added, may not, or so near to the length that a sum
 * in floating point may say either. */
enum verdict { MAY, EITHER, MAY_NOT };

static enum verdict judge(const int64_t *values, int64_t count, int64_t limit,
                          double length, const int64_t *sum)
{
    long double square = 0, most = (long double)length * (long double)length;
    for (int64_t k = 0; k < count; k++) {
        int64_t total;
        if (values[k] > limit || values[k] < -limit ||
            __builtin_add_overflow(values[k], sum[k], &total))
            return MAY_NOT;
        square += (long double)values[k] * (long double)values[k];
    }
    return square <= most ? MAY
           : square <= most * (1 + (long double)(count + 8) * 0x1p-51L)
               ? EITHER
               : MAY_NOT;
}

/* Added as it is judged: a sum has all of it or nothing. True: it was added. */
static bool check_add(const int64_t *values, int64_t count, int64_t limit,
                      double length, const int64_t *before, size_t shift)
{
    enum { ROOM = 400 };
    static uint8_t room[8 * ROOM + 8];
    static int64_t sum[ROOM];
    static const int64_t zeros[ROOM];
    uint8_t *bytes = room + shift;
    for (int64_t k = 0; k < 8 * count; k++)
        bytes[k] = (uint8_t)((uint64_t)values[k / 8] >> 8 * (k % 8));
    memcpy(sum, before, (size_t)count * sizeof *sum);
    enum verdict verdict = judge(values, count, limit, length, before);
    bool added = wire_add_within(bytes, count, limit, length, sum);
    assert_true(verdict == EITHER || added == (verdict == MAY));
    for (int64_t k = 0; k < count; k++)
        assert_true(sum[k] == (added ? before[k] + values[k] : before[k]));
    verdict = judge(values, count, limit, length, zeros);
    bool within = wire_add_within(bytes, count, limit, length, NULL);
    assert_true(verdict == EITHER || within == (verdict == MAY));
    return added;
}

/* Vectors of all lengths at any address: what may be added is, what may not leaves
 * the sum as it was. Limits from 1 to 2^61 are among them, and lengths a hair off. */
static void test_add_within(void **state)
{
    (void)state;
    enum { MOST = 37 };
    uint64_t seed = 3;
    int added = 0, tries = 60000;
    int64_t values[MOST], before[MOST];
    for (int trial = 0; trial < tries; trial++) {
        int64_t count = 1 + (int64_t)(test_random(&seed) % MOST);
        int64_t limit = (INT64_C(1) << test_random(&seed) % 62) + trial % 3 - 1;
        double length = 0, away = exp2(-10 - 45 * test_uniform(&seed));
        for (int64_t k = 0; k < count; k++) {
            values[k] =
                (int64_t)((2 * test_uniform(&seed) - 1) * (double)limit);
            values[k] = values[k] > limit ? limit : values[k];
            before[k] = (int64_t)test_random(&seed) >> test_random(&seed) % 60;
            length += (double)values[k] * (double)values[k];
        }
        length = sqrt(length) * (trial % 5 == 0 ? 1 - away : 1 + away);
        if (trial % 7 == 0) { /* one too large, however long all may be */
            length = 2 * length + 2 * (double)limit;
            values[test_random(&seed) % (uint64_t)count] =
                trial % 2 ? limit + 1 : -limit - 1;
        }
        if (trial % 101 == 0)
            values[test_random(&seed) % (uint64_t)count] = INT64_MIN;
        added += check_add(values, count, limit, length, before,
                           test_random(&seed) % 8);
    }
    assert_true(added > 10000 && tries - added > 10000);
}

/* One value so large that floating point rounds every other square up, or away: an
 * honest message is not blamed for it, one that is too long by more is refused. */
static void test_rounded(void **state)
{
    (void)state;
    enum { LONG = 400 };
    int64_t values[LONG] = {0}, before[LONG] = {0};
    for (int bits = 30; bits <= 61; bits++)
        for (int up = 0; up < 2; up++) {
            int64_t large = INT64_C(1) << bits;
            double unit = ldexp(1, 2 * bits - 52);
            int64_t small = (int64_t)sqrt((up ? .6 : .4) * unit);
            long double square = (long double)large * (long double)large;
            values[0] = large;
            for (int k = 8; k < LONG; k += 8) {
                values[k] = small;
                square += (long double)small * (long double)small;
            }
            double length = nextafter((double)sqrtl(square), INFINITY);
            assert_true(check_add(values, LONG, large, length, before, 0));
            length *= 1 - 4 * LONG * 0x1p-52;
            assert_false(check_add(values, LONG, large, length, before, 0));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share_in_place),
        cmocka_unit_test(test_add_within),
        cmocka_unit_test(test_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
