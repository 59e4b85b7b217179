/*
 * Words of the enumerations: each leads back to its value, and the ends are
 * where the enumerations end.
 */
#include "tests/test.h"
#include "base/base.h"
#include "pricer_input.h"
#include "pricer_study.h"

static void test_there_and_back(void **state)
{
    (void)state;
    static const int count[] = {
        [PRICER_WORDS_BIAS] = PRICER_BIAS_L2 + 1,
        [PRICER_WORDS_CALIBRATION] = PRICER_CALIBRATION_CLASSIC + 1,
        [PRICER_WORDS_BASELINE] = PRICER_BASELINES,
        [PRICER_WORDS_OBSERVER] = PRICER_OBSERVER_EVERYONE + 1,
        [PRICER_WORDS_PROTECT] = PRICER_PROTECT_IDENTITY + 1,
        [PRICER_WORDS_EAVESDROPPER] = PRICER_RADIO + 1,
        [PRICER_WORDS_ENGINE] = PRICER_ENGINE_FAITHFUL + 1,
        [PRICER_WORDS_DATA] = PRICER_DATA_GIVEN + 1,
        [PRICER_WORDS_DECODE] = PRICER_DECODE_ADAPTIVE + 1,
        [PRICER_WORDS_METHOD] = PRICER_METHOD_GIVEN + 1,
        [PRICER_WORDS_DROP] = PRICER_DROP_KINDS,
        [PRICER_WORDS_ORIGIN] = PRICER_ORIGIN_MEASURED + 1,
        [PRICER_WORDS_WITHHELD] = PRICER_WITHHELD_KINDS,
        [PRICER_WORDS_RELAYS] = PRICER_RELAYS_SHARES + 1,
        [PRICER_WORDS_SCHEME] = PRICER_SCHEME_FORWARD + 1,
        [PRICER_WORDS_RELEASE] = PRICER_RELEASE_GAUSSIAN + 1,
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

/* One slip of the fingers is found, whatever it is; what is far from every word
 * is not. */
static void test_nearest(void **state)
{
    (void)state;
    static const struct row {
        const char *word;
        int more;
    } rows[] = {{"plan", 1}, {"plans", 2},    {"privacy", 3}, {"eps", 4},
                {"p", 5},    {"simulate", 6}, {"delta", 7},   {"measured", 8}};
    static const struct {
        const char *typed, *meant;
    } cases[] = {
        {"plna", "plan"},
        {"pln", "plan"},
        {"plan", "plan"},
        {"plann", "plan"},
        {"plas", "plan"},
        {"planx", "plan"},
        {"palns", "plans"},
        {"privcay", "privacy"},
        {"Privacy", "privacy"},
        {"EPS", "eps"},
        {"esp", "eps"},
        {"epsilon", NULL},
        {"simulat", "simulate"},
        {"smiulaet", "simulate"},
        {"P", "p"},
        {"q", NULL},
        {"", NULL},
        {"report", NULL},
        {"dleta", "delta"},
        {"xyz", NULL},
        {"a word of more letters than any that someone could have meant to "
         "type",
         NULL},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *found = pricer_word_nearest(
            cases[k].typed, rows, sizeof rows / sizeof *rows, sizeof *rows);
        if (cases[k].meant == NULL)
            assert_null(found);
        else if (found == NULL || strcmp(found, cases[k].meant) != 0)
            fail_msg("'%s' gave %s", cases[k].typed, found);
    }
    assert_null(pricer_word_nearest("plan", rows, 0, sizeof *rows));
}

/* Digits alone are the number of a node or plan; anything else may begin with
 * one. */
static void test_names(void **state)
{
    (void)state;
    static const char *const good[] = {"a",     "2nd", "3-west", "cab87bbe0673",
                                       "125.4", "0x1", "1e5",    "Z_9.-"};
    static const char *const bad[] = {"",    "7",   "0",   "0123456789",
                                      "-a",  ".a",  "_a",  "..",
                                      "a b", "a,b", "a/b", "\xc3\xa4"};
    for (size_t k = 0; k < sizeof good / sizeof *good; k++)
        assert_true(pri_is_name(good[k]));
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_false(pri_is_name(bad[k]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_stored_words),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
