/*
 * The values of the public enumerations as words, and back: the names that
 * scenarios, studies, metrics and command lines use; which known word a mistyped
 * one is near to; and what a name of a person's making may be.
 */
#include "base.h"
#include "pricer_input.h"
#include "pricer_study.h"

#include <ctype.h>
#include <string.h>

enum { VOCABULARIES = PRICER_WORDS_RELEASE + 1, MOST = PRICER_DROP_KINDS };

static const char *const words[VOCABULARIES][MOST] = {
    [PRICER_WORDS_BIAS] = {"worst-case", "unbiased", "l1", "l2"},
    [PRICER_WORDS_CALIBRATION] = {"analytic", "classic"},
    [PRICER_WORDS_BASELINE] = {"no collaboration, naive",
                               "no collaboration, unbiased",
                               "no collaboration, best", "ColRel, no privacy"},
    [PRICER_WORDS_OBSERVER] = {"link", "relay", "server", "coalition", "reader",
                               "listener", "everyone"},
    [PRICER_WORDS_PROTECT] = {"data", "identity"},
    [PRICER_WORDS_EAVESDROPPER] = {"receiver", "radio"},
    [PRICER_WORDS_ENGINE] = {"fast", "faithful"},
    [PRICER_WORDS_DATA] = {"worst-case", "random", "given"},
    [PRICER_WORDS_DECODE] = {"minimax", "constant", "adaptive"},
    [PRICER_WORDS_METHOD] = {"exact", "gradient", "given"},
    [PRICER_WORDS_DROP] = {"malformed", "length", "round", "repeated", "late",
                           "range", "stranger", "refused", "plan"},
    [PRICER_WORDS_ORIGIN] = {"scenario", "measured"},
    [PRICER_WORDS_WITHHELD] = {"spent", "trust", "late", "vector", "ledger"},
    [PRICER_WORDS_RELAYS] = {"sums", "shares"},
    [PRICER_WORDS_SCHEME] = {"sum", "forward"},
    [PRICER_WORDS_RELEASE] = {"best", "sphere", "gaussian"},
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
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t length = strlen(text);
    return length > 0 && length < PRICER_NAME_TEXT &&
           strspn(text, letters) == length && strchr("-_.", text[0]) == NULL &&
           strspn(text, "0123456789") < length;
}

enum { WORD_ROOM = 64 };

/*
 * How many letters have to be inserted, deleted, replaced or swapped with their
 * neighbour to make one word from the other (optimal string alignment), without
 * regard to case. Three rows of the usual table suffice. Both words have fewer
 * than WORD_ROOM letters. O(length of one times length of the other).
 */
static int count_edits(const char *one, const char *two)
{
    int rows[3][WORD_ROOM];
    int length = (int)strlen(one), width = (int)strlen(two);
    for (int j = 0; j <= width; j++)
        rows[0][j] = j;
    for (int i = 1; i <= length; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3];
        int a = tolower((unsigned char)one[i - 1]);
        row[0] = i;
        for (int j = 1; j <= width; j++) {
            int b = tolower((unsigned char)two[j - 1]);
            int best = above[j - 1] + (a != b);
            best = above[j] + 1 < best ? above[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a == tolower((unsigned char)two[j - 2]) &&
                b == tolower((unsigned char)one[i - 2]) &&
                rows[(i + 1) % 3][j - 2] + 1 < best)
                best = rows[(i + 1) % 3][j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[length % 3][width];
}

const char *pricer_word_nearest(const char *word, const void *rows,
                                size_t count, size_t size)
{
    const char *nearest = NULL;
    int fewest = WORD_ROOM;
    size_t length = strlen(word);
    for (size_t k = 0; k < count; k++) {
        const char *name =
            *(const char *const *)((const char *)rows + k * size);
        size_t width = strlen(name), longer = width > length ? width : length;
        if (longer >= WORD_ROOM)
            continue;
        int edits = count_edits(word, name);
        if (edits <= (int)longer / 3 && edits < fewest) {
            fewest = edits;
            nearest = name;
        }
    }
    return nearest;
}
