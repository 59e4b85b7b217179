/*
 * Random words: every lane is Random123's number, streams do not depend on how
 * they are read, and secret ones differ.
 */
#include "tests/test.h"
#include "round/noise.h"

#include <Random123/threefry.h>

/* Word q of a stream, from Random123 itself. */
static uint64_t word_at(uint64_t seed, uint64_t purpose, uint64_t round,
                        uint32_t from, uint32_t to, uint64_t q)
{
    threefry4x64_key_t key = {{seed, round, purpose, 0}};
    threefry4x64_ctr_t counter = {{q / 4, from, to, 0}};
    return threefry4x64(counter, key).v[q % 4];
}

static void test_is_threefry(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int trial = 0; trial < 20; trial++) {
        uint64_t key = test_random(&seed);
        int64_t round = (int64_t)(test_random(&seed) >> 1);
        int32_t from = (int32_t)(test_random(&seed) >> 33);
        int32_t to = trial % 3 == 0 ? PRICER_SERVER : trial;
        struct pricer_random random;
        pricer_random_replay(&random, key, PRICER_PURPOSE_OTHER, round, from,
                             to);
        for (uint64_t q = 0; q < 700; q++)
            assert_true(pricer_random_word(&random) ==
                        word_at(key, PRICER_PURPOSE_OTHER, (uint64_t)round,
                                (uint32_t)from, (uint32_t)to, q));
    }
}

/* The known answer that Random123 publishes for Threefry-4x64-20 of zeros. */
static void test_known_answer(void **state)
{
    (void)state;
    struct pricer_random random = {.left = 0};
    const uint64_t expected[] = {0x09218ebde6c85537, 0x55941f5266d86105,
                                 0x4bd25e16282434dc, 0xee29ec846bd2e40b};
    for (int k = 0; k < 4; k++)
        assert_true(pricer_random_word(&random) == expected[k]);
}

static void test_secret(void **state)
{
    (void)state;
    struct pricer_random one, two;
    assert_int_equal(pricer_random_secret(&one, NULL), PRICER_OK);
    assert_int_equal(pricer_random_secret(&two, NULL), PRICER_OK);
    int ones = 0, same = 0;
    uint64_t key[4];
    memcpy(key, one.key, sizeof key);
    for (int k = 0; k < 10000; k++) {
        uint64_t a = pricer_random_word(&one), b = pricer_random_word(&two);
        ones += __builtin_popcountll(a);
        same += a == b;
    }
    assert_int_equal(same, 0);
    assert_true(abs(ones - 320000) < 5 * 400); /* 5 deviations: 6e-7 */
    assert_true(memcmp(key, one.key, sizeof key) != 0);
    pricer_random_wipe(&one);
    struct pricer_random zero;
    memset(&zero, 0, sizeof zero);
    assert_memory_equal(&one, &zero, sizeof zero);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_threefry),
        cmocka_unit_test(test_known_answer),
        cmocka_unit_test(test_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
