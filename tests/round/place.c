/*
 * Places on the grid. By brute force over dimensions, lengths and grids, coarse
 * and so fine that integers pass 2^53: what is written is the integer below in
 * size of each value, of data that quadruple precision clips, but for the few steps
 * that the accounts allow for, and it is inside the ball in exact integers. Data a hair
 * around the radius are among them, radii whose squares floating point does not hold,
 * and data of which it loses all but one.
 */
#include "tests/test.h"
#include "round/round.h"

#include <math.h>
#include <quadmath.h>

enum { MOST = 70, MANY = 10000 };

static void draw(uint64_t *state, int count, double length, double *data)
{
    double square = 0;
    for (int k = 0; k < count; k++) {
        data[k] = test_random(state) % 8 == 0 ? 0 : test_uniform(state) - .5;
        square += data[k] * data[k];
    }
    for (int k = 0; k < count && square > 0; k++)
        data[k] *= length / sqrt(square);
}

static bool is_inside(const int64_t *values, int count, uint64_t bound)
{
    pri_wide squares = 0;
    for (int k = 0; k < count; k++)
        squares += (pri_wide)((__int128_t)values[k] * values[k]);
    return squares <= (pri_wide)bound * bound;
}

/*
 * What is known of a place, by quadruple precision: it is inside the ball; each value
 * has the sign of its number and is no larger than it, scaled; of what clipping leaves
 * of it less than one step is cut off, but for 4 steps and (8 count + 64) 2^-53 of the
 * radius in the length of all, as round.c has it; and of a vector that is shorter than
 * the ball by more than these nothing else is cut off.
 */
static void check(const double *data, int count, double radius, double full,
                  const int64_t *values)
{
    __float128 squares = 0, reach = (__float128)full * radius;
    for (int k = 0; k < count; k++)
        squares += (__float128)data[k] * data[k];
    __float128 length = sqrtq(squares);
    __float128 shrink = length > radius ? radius / length : 1;
    __float128 lost = 4 + (8 * count + 64) * 0x1p-53 * reach;
    bool whole = full * length + lost < reach;
    assert_true(
        is_inside(values, count, (uint64_t)(full * radius * (1 - 0x1p-52))));
    for (int k = 0; k < count; k++) {
        __float128 wanted = full * (data[k] * shrink), value = values[k];
        __float128 part = length > 0 ? fabsq(data[k] / length) : 0;
        assert_true(value == 0 || (value > 0) == (data[k] > 0));
        assert_true(fabsq(value) <= fabsq(wanted) * (1 + 0x1p-50));
        assert_true(fabsq(wanted) * (1 - 0x1p-50) - fabsq(value) <
                    1 + part * lost);
        if (whole)
            assert_true(values[k] == (int64_t)(full * data[k]));
    }
}

static void test_places(void **state)
{
    (void)state;
    uint64_t seed = 5;
    static double data[MANY];
    static int64_t values[MANY];
    for (int trial = 0; trial < 40000; trial++) {
        uint64_t most = trial % 400 < 3 ? MANY : MOST;
        int count = 1 + (int)(test_random(&seed) % most);
        double reach = trial % 10 == 0 ? 1400 : 20;
        double radius = exp2(reach * (test_uniform(&seed) - .5));
        double full = exp2(69 * test_uniform(&seed) - 8) / radius;
        double away = exp2(-60 * test_uniform(&seed));
        double length = trial % 3 == 0   ? radius * (1 - away)
                        : trial % 3 == 1 ? radius * (1 + away)
                                         : radius * 3 * test_uniform(&seed);
        draw(&seed, count, length, data);
        assert_true(pri_place(data, count, radius, full, values));
        check(data, count, radius, full, values);
    }
}

/* Where a sum of squares in floating point cannot tell: one coordinate on the
 * bound, at it and one more, alone or with small ones beside. */
static void test_edges(void **state)
{
    (void)state;
    for (int bits = 1; bits < 60; bits++) {
        double full = ldexp(1, bits), data[9] = {1};
        int64_t values[9];
        for (int way = 0; way < 4; way++) {
            data[0] = way % 2 ? 1 : -1;
            for (int k = 1; k < 9; k++)
                data[k] = k % 2 && way > 1 ? ldexp(1, -bits) : -0.0;
            assert_true(pri_place(data, 9, 1, full, values));
            check(data, 9, 1, full, values);
        }
    }
}

/* One coordinate so large that every other square is below half a unit of the sum,
 * wherever they stand: together they are outside, and floating point that adds them
 * one by one to the large one sees none of them. */
static void test_lost(void **state)
{
    (void)state;
    enum { LONG = 400 };
    static double data[LONG];
    static int64_t values[LONG];
    uint64_t seed = 7;
    for (int trial = 0; trial < 4000; trial++) {
        int bits = 50 + trial % 11, first = (int)(test_random(&seed) % 16);
        int end = first + 8 * (int)(test_random(&seed) % 48);
        double large = ldexp(1, bits), small = .66 * ldexp(1, bits - 26);
        double full = large + ldexp(1 + 9 * test_uniform(&seed), bits - 52);
        for (int k = 0; k < LONG; k++)
            data[k] = k == first ? large / full
                      : k > first && k <= end && k % 8 == first % 8
                          ? small / full
                          : 0;
        assert_true(pri_place(data, LONG, 1, full, values));
        check(data, LONG, 1, full, values);
    }
}

static void test_not_finite(void **state)
{
    (void)state;
    int64_t values[9];
    const double strange[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 9; k++) {
        double data[9] = {.1, .1};
        data[k] = strange[k % 3];
        assert_false(pri_place(data, 9, 1, 1e6, values));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
