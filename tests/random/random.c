/*
 * Random words: every lane is Random123's number, streams do not depend on how
 * they are read, and secret ones differ.
 */
#include "tests/test.h"
#include "round/noise.h"

#include <Random123/threefry.h>
#include <math.h>
#include <stdlib.h>

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

/* Many at once: a replay's are the next ones; a secret stream's are AES-256 in
 * counter mode under the next four words, which do not stay. The known answer is
 * that of NIST's AESAVS for a key and a block of zeros. */
static void test_many_at_once(void **state)
{
    (void)state;
    enum { COUNT = PRI_MANY + 77 };
    static const unsigned char expected[16] = {
        0xdc, 0x95, 0xc0, 0x78, 0xa2, 0x40, 0x89, 0x89,
        0xad, 0x48, 0xa2, 0x14, 0x92, 0x84, 0x20, 0x87};
    uint64_t words[COUNT], other[COUNT];
    struct pricer_random random, same;
    pricer_random_replay(&random, 5, PRICER_PURPOSE_OTHER, 1, 2, 3);
    same = random;
    pri_random_many(&random, COUNT, words);
    for (int k = 0; k < COUNT; k++)
        assert_true(words[k] == pricer_random_word(&same));
    struct pricer_random secret = {.secret = true, .left = 8};
    pri_random_many(&secret, COUNT, words);
    assert_memory_equal(words, expected, sizeof expected);
    assert_int_equal(secret.left, 4);
    for (int k = 0; k < 4; k++)
        secret.words[PRICER_RANDOM_WORDS - 4 + k] = 9;
    pri_random_many(&secret, COUNT, other);
    for (int k = 0; k < PRICER_RANDOM_WORDS; k++)
        assert_true(secret.words[k] == 0);
    int ones = 0;
    for (int k = 0; k < COUNT; k++) {
        assert_true(words[k] != other[k]);
        ones += __builtin_popcountll(other[k]);
    }
    assert_true(abs(ones - 32 * COUNT) < 5 * sqrt(16. * COUNT));
    pri_random_many(&secret, PRI_MANY - 1, other); /* few: the next */
    assert_int_equal((secret.left + PRI_MANY - 1) % 124, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_threefry),
        cmocka_unit_test(test_known_answer),
        cmocka_unit_test(test_secret),
        cmocka_unit_test(test_many_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
