/*
 * The keys of a scenario: a table with a row for each, and how one is stored.
 */
#ifndef PRICER_READ_KEYS_H
#define PRICER_READ_KEYS_H

#include "read.h"

/* What a key of a scenario holds, and its range; keys.c has them. */
enum pri_key_kind {
    PRI_KEY_NUMBER,
    PRI_KEY_COUNT,
    PRI_KEY_CHOICE,
    PRI_KEY_LIST,  /* numbers, or one number */
    PRI_KEY_PAIRS, /* a list of [x, y] */
    PRI_KEY_NAMES, /* a list of texts */
    PRI_KEY_TEXT,
};
struct pri_key {
    const char *name;
    enum pri_key_kind kind;
    size_t offset;    /* of its field in struct pricer_scenario */
    double low, high; /* the range of a number, a count or a list's entries */
    enum { CLOSED, OPEN_LOW } ends; /* whether low itself is in the range */
    const char *words;              /* the words of a choice: "this|that" */
    unsigned generators; /* a bit for each generator that uses it; 0: all */
};

/* The row of a key by its dotted name, or -1. */
int pri_key_find(const char *name);
const struct pri_key *pri_key_at(int row);

/* What someone who wrote this name probably meant, a key or a section, into
 * `text`; false: nothing is near. */
bool pri_key_guess(const char *name, char *text, size_t room);

/* Whether keys of their own stand below this name ("network"). */
bool pri_key_is_section(const char *name);

/* Parse one number of a key, within its range. */
enum pricer_status pri_key_parse(const struct pri_key *key, const char *text,
                                 double *value, struct pricer_fault *fault);

/* Parse a scalar and store it where the key says. */
enum pricer_status pri_key_store(struct pricer_scenario *scenario,
                                 const struct pri_key *key, const char *text,
                                 struct pricer_fault *fault);

/* Set every key to 'not given'. */
void pri_scenario_clear(struct pricer_scenario *scenario);

/* Check the keys against each other and fill in the defaults. */
enum pricer_status pri_scenario_complete(struct pricer_scenario *scenario,
                                         struct pricer_fault *fault);

#endif
