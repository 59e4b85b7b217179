/*
 * The values of the public enumerations as words, and back: the names that
 * scenarios, studies, metrics and command lines use; and what a name of a
 * person's making may be.
 */
#include "base.h"
#include "pricer_study.h"

#include <string.h>

enum { VOCABULARIES = PRICER_WORDS_RELAYS + 1, MOST = PRICER_DROP_KINDS };

static const char *const words[VOCABULARIES][MOST] = {
    [PRICER_WORDS_BIAS] = {"worst-case", "unbiased", "l1", "l2"},
    [PRICER_WORDS_CALIBRATION] = {"analytic", "classic"},
    [PRICER_WORDS_BASELINE] = {"no collaboration, naive",
                               "no collaboration, unbiased",
                               "no collaboration, best", "ColRel, no privacy"},
    [PRICER_WORDS_OBSERVER] = {"link", "relay", "server", "coalition", "reader",
                               "listener"},
    [PRICER_WORDS_PROTECT] = {"data", "identity"},
    [PRICER_WORDS_EAVESDROPPER] = {"receiver", "radio"},
    [PRICER_WORDS_ENGINE] = {"fast", "faithful"},
    [PRICER_WORDS_DATA] = {"worst-case", "random", "given"},
    [PRICER_WORDS_DECODE] = {"minimax", "constant", "adaptive"},
    [PRICER_WORDS_METHOD] = {"exact", "gradient", "given", "joint"},
    [PRICER_WORDS_DROP] = {"malformed", "length", "round", "repeated", "late",
                           "range", "stranger", "refused", "plan"},
    [PRICER_WORDS_ORIGIN] = {"scenario", "measured"},
    [PRICER_WORDS_WITHHELD] = {"spent", "trust", "late", "vector", "ledger",
                               "reference"},
    [PRICER_WORDS_RELAYS] = {"sums", "shares"},
};

const char *pricer_word(enum pricer_vocabulary vocabulary, int value)
{
    if ((unsigned)vocabulary >= VOCABULARIES || value < 0 || value >= MOST)
        return NULL;
    return words[vocabulary][value];
}

int pricer_word_find(enum pricer_vocabulary vocabulary, const char *word)
{
    for (int k = 0; pricer_word(vocabulary, k) != NULL; k++)
        if (strcmp(word, words[vocabulary][k]) == 0)
            return k;
    return -1;
}

bool pri_is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t length = strlen(text);
    return length > 0 && length < PRICER_NAME_TEXT &&
           memchr(letters, text[0], sizeof letters - 1) != NULL &&
           strspn(text, rest) == length;
}
