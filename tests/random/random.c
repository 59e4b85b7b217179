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

/* Words of a flow in pieces of different sizes. */
static void take(struct pri_flow *flow, int count, uint64_t *words)
{
    for (int k = 0, some = 1; k < count; k += some, some = some * 3 % 1009 + 1)
        pri_flow_words(flow, some < count - k ? some : count - k, words + k);
}

/* A flow of a replay is the stream itself, and so is one of few words. */
static void test_flow_is_stream(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    static uint64_t words[COUNT];
    for (int trial = 0; trial < 2; trial++) {
        struct pricer_random random, same;
        struct pri_flow flow;
        pricer_random_replay(&random, 5, PRICER_PURPOSE_OTHER, 1, 2, 3);
        if (trial == 1)
            assert_int_equal(pricer_random_secret(&random, NULL), PRICER_OK);
        same = random;
        int count = trial == 1 ? PRI_MANY - 1 : COUNT;
        pri_flow_open(&flow, &random, count);
        take(&flow, count, words);
        pri_flow_close(&flow);
        for (int k = 0; k < count; k++)
            assert_true(words[k] == pricer_random_word(&same));
        assert_true(pricer_random_word(&random) == pricer_random_word(&same));
    }
}

/* That of a secret stream is AES-256 in counter mode under its next four words, which
 * do not stay, however it is read; after PRI_FLOW words it has another key. The known
 * answer is that of NIST's AESAVS for a key and a block of zeros. */
static void test_flow_is_aes(void **state)
{
    (void)state;
    static const unsigned char expected[16] = {
        0xdc, 0x95, 0xc0, 0x78, 0xa2, 0x40, 0x89, 0x89,
        0xad, 0x48, 0xa2, 0x14, 0x92, 0x84, 0x20, 0x87};
    static uint64_t words[PRI_FLOW], other[PRI_FLOW];
    struct pricer_random secret = {.secret = true, .left = 8};
    struct pri_flow flow;
    pri_flow_open(&flow, &secret, PRI_MANY);
    assert_int_equal(secret.left, 4);
    pri_flow_words(&flow, PRI_FLOW, words);
    assert_memory_equal(words, expected, sizeof expected);
    pri_flow_words(&flow, 8, other); /* the next key is 0, too */
    assert_int_equal(secret.left, 0);
    assert_memory_equal(words, other, 64);
    pri_flow_close(&flow);
    secret = (struct pricer_random){.secret = true, .left = 8};
    pri_flow_open(&flow, &secret, PRI_MANY);
    take(&flow, PRI_FLOW, other);
    pri_flow_close(&flow);
    assert_memory_equal(words, other, sizeof words);
    for (int k = 0; k < 4; k++)
        secret.words[PRICER_RANDOM_WORDS - 4 + k] = 9;
    pri_flow_open(&flow, &secret, PRI_MANY);
    pri_flow_words(&flow, PRI_FLOW, other);
    pri_flow_close(&flow);
    int ones = 0;
    for (int k = 0; k < PRICER_RANDOM_WORDS; k++)
        assert_true(secret.words[k] == 0);
    for (int k = 0; k < PRI_FLOW; k++) {
        assert_true(words[k] != other[k]);
        ones += __builtin_popcountll(other[k]);
    }
    assert_true(abs(ones - 32 * PRI_FLOW) < 5 * sqrt(16. * PRI_FLOW));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_threefry),
        cmocka_unit_test(test_known_answer),
        cmocka_unit_test(test_secret),
        cmocka_unit_test(test_flow_is_stream),
        cmocka_unit_test(test_flow_is_aes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
