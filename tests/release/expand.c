/*
 * Expansion of seeds: the bits of an independent implementation, normals within
 * the stated error of the exact formula, also at the ends of the range, and sums.
 */
#include "tests/test.h"
#include "lib/release/expand.c"
#include "reference_expand.h"

#include <sodium.h>

static void test_reference(void **state)
{
    struct pri_expander *expander = NULL;
    static double direction[10001];
    (void)state;
    assert_int_equal(pri_expander_new(&expander), PRICER_OK);
    /* Twice, in both orders: nothing is left over from a seed. */
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < sizeof reference / sizeof reference[0]; i++) {
            size_t k =
                turn == 0 ? i : sizeof reference / sizeof reference[0] - 1 - i;
            unsigned char hash[16];
            char text[33];
            assert_int_equal(pri_expand(expander, reference[k].seed,
                                        reference[k].count, direction),
                             PRICER_OK);
            crypto_generichash(hash, sizeof hash, (unsigned char *)direction,
                               (size_t)reference[k].count * sizeof *direction,
                               NULL, 0);
            sodium_bin2hex(text, sizeof text, hash, sizeof hash);
            assert_string_equal(text, reference[k].hash);
        }
    pri_expander_free(expander);
}

/* The formula of the head of expand.c in long double. */
static void exact(uint64_t radius, uint64_t angle, long double n[2])
{
    const long double quarter = 0.78539816339744830961566084581987572L;
    long double y = ((long double)(radius >> 1) + .5L) * 0x1p-64L;
    long double r = sqrtl(-2 * (radius & 1 ? log1pl(-y) : logl(y)));
    long double g = (long double)(angle >> 12) * 0x1p-51L - 1;
    long double c = r * cosl(quarter * g), s = r * sinl(quarter * g);
    c = angle & 1 ? -c : c;
    n[0] = angle & 2 ? s : c;
    n[1] = angle & 2 ? c : s;
}

/* The distance to the exact pair and half the angle of a cell are together at
 * most PRI_NORMAL_ERROR units; cells have 2^-51 of pi/4. */
static void check_words(const uint64_t *words, int groups)
{
    static double normals[CHUNK];
    make_normals(words, groups, normals);
    for (int k = 0; k < groups * GROUP; k += GROUP)
        for (int l = 0; l < LANES; l++) {
            long double n[2];
            exact(words[k + l], words[k + l + LANES], n);
            long double off =
                hypotl(normals[k + l] - n[0], normals[k + l + LANES] - n[1]);
            long double most = (PRI_NORMAL_ERROR - 4) * 0x1p-53L;
            assert_true(off <= most * hypotl(n[0], n[1]));
        }
}

static void test_normals(void **state)
{
    static const uint64_t ends[] = {0,
                                    1,
                                    2,
                                    3,
                                    4,
                                    5,
                                    0xfff,
                                    0x1fff,
                                    UINT64_MAX,
                                    UINT64_MAX - 1,
                                    UINT64_MAX - 2,
                                    UINT64_C(1) << 63,
                                    (UINT64_C(1) << 63) - 1,
                                    (UINT64_C(1) << 63) + 1,
                                    UINT64_C(0x95f619980c433670),
                                    UINT64_C(0x95f619980c433671),
                                    UINT64_C(0x7fffffffffffe000),
                                    UINT64_C(0x8000000000000002),
                                    UINT64_C(0x8000000000001fff)};
    enum { ENDS = sizeof ends / sizeof ends[0] };
    static uint64_t words[CHUNK];
    uint64_t seed = 5;
    (void)state;
    for (int a = 0; a < ENDS; a++)
        for (int b = 0; b < ENDS; b++) {
            for (int l = 0; l < LANES; l++) {
                words[l] = ends[(a + l) % ENDS];
                words[l + LANES] = ends[b];
            }
            check_words(words, 1);
        }
    for (int turn = 0; turn < 1000; turn++) {
        for (int k = 0; k < CHUNK; k++) /* some small, some near the middle */
            words[k] = test_random(&seed) >> (turn % 4 == 1 ? k % 60 : 0);
        check_words(words, CHUNK / GROUP);
    }
}

static void test_sums(void **state)
{
    enum { COUNT = 200000 };
    static double values[COUNT + GROUP];
    uint64_t seed = 6;
    (void)state;
    for (int count = 1; count <= COUNT; count = count * 3 + 1) {
        long double sum = 0;
        memset(values, 0, sizeof values);
        for (int k = 0; k < count; k++) {
            values[k] = test_uniform(&seed) - .5;
            sum += (long double)values[k] * values[k];
        }
        assert_true(fabsl(pri_expand_square(count, values) - sum) <=
                    PRI_SUM_ERROR * 0x1p-53L * sum);
    }
}

/* Length and product are those of the direction. */
static void test_product(void **state)
{
    struct pri_expander *expander = NULL;
    static double direction[1600], along[1600];
    unsigned char code[PRI_SEED_BYTES] = {7};
    uint64_t seed = 7;
    (void)state;
    assert_int_equal(pri_expander_new(&expander), PRICER_OK);
    for (int count = 2; count < 1590; count = count * 2 + 1) {
        double length, product;
        long double sum = 0;
        memset(along, 0, sizeof along);
        for (int k = 0; k < count; k++)
            along[k] = test_uniform(&seed) - .5;
        pri_expand(expander, code, count, direction);
        pri_expand_product(expander, code, count, along, &length, &product);
        for (int k = 0; k < count; k++)
            sum += (long double)along[k] * direction[k];
        assert_true(fabsl(product - sum * length) < 1e-13L * length);
        assert_true(length > .2 * sqrt(count) && length < 4 * sqrt(count));
    }
    pri_expander_free(expander);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_normals),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
