/*
 * Words of the enumerations: each leads back to its value, and the ends are
 * where the enumerations end.
 */
#include "tests/test.h"
#include "pricer_study.h"

static void test_there_and_back(void **state)
{
    (void)state;
    static const int count[] = {
        [PRICER_WORDS_BIAS] = PRICER_BIAS_L2 + 1,
        [PRICER_WORDS_CALIBRATION] = PRICER_CALIBRATION_CLASSIC + 1,
        [PRICER_WORDS_BASELINE] = PRICER_BASELINES,
        [PRICER_WORDS_OBSERVER] = PRICER_OBSERVER_LISTENER + 1,
        [PRICER_WORDS_PROTECT] = PRICER_PROTECT_IDENTITY + 1,
        [PRICER_WORDS_EAVESDROPPER] = PRICER_RADIO + 1,
        [PRICER_WORDS_ENGINE] = PRICER_ENGINE_FAITHFUL + 1,
        [PRICER_WORDS_DATA] = PRICER_DATA_GIVEN + 1,
        [PRICER_WORDS_DECODE] = PRICER_DECODE_ADAPTIVE + 1,
        [PRICER_WORDS_METHOD] = PRICER_METHOD_JOINT + 1,
        [PRICER_WORDS_DROP] = PRICER_DROP_KINDS,
        [PRICER_WORDS_ORIGIN] = PRICER_ORIGIN_MEASURED + 1,
        [PRICER_WORDS_WITHHELD] = PRICER_WITHHELD_KINDS,
        [PRICER_WORDS_RELAYS] = PRICER_RELAYS_SHARES + 1,
    };
    for (int v = 0; v < (int)(sizeof count / sizeof *count); v++) {
        enum pricer_vocabulary vocabulary = (enum pricer_vocabulary)v;
        for (int k = 0; k < count[v]; k++)
            assert_int_equal(
                pricer_word_find(vocabulary, pricer_word(vocabulary, k)), k);
        assert_null(pricer_word(vocabulary, count[v]));
        assert_null(pricer_word(vocabulary, -1));
        assert_int_equal(pricer_word_find(vocabulary, "nonsense"), -1);
    }
    assert_null(pricer_word((enum pricer_vocabulary) - 1, 0));
    assert_null(pricer_word((enum pricer_vocabulary)99, 0));
    assert_int_equal(pricer_word_find((enum pricer_vocabulary)99, "data"), -1);
}

/* Files of older versions hold these. */
static void test_stored_words(void **state)
{
    (void)state;
    assert_string_equal(pricer_word(PRICER_WORDS_BIAS, PRICER_BIAS_WORST_CASE),
                        "worst-case");
    assert_string_equal(
        pricer_word(PRICER_WORDS_CALIBRATION, PRICER_CALIBRATION_CLASSIC),
        "classic");
    assert_string_equal(
        pricer_word(PRICER_WORDS_METHOD, PRICER_METHOD_GRADIENT), "gradient");
    assert_string_equal(
        pricer_word(PRICER_WORDS_OBSERVER, PRICER_OBSERVER_RELAY), "relay");
    assert_string_equal(pricer_word(PRICER_WORDS_DROP, PRICER_DROP_STRANGER),
                        "stranger");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_stored_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
