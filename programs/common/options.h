/*
 * The command line of every verb: one row per option parses it, explains it and
 * stores it.
 */
#ifndef PROGRAM_OPTIONS_H
#define PROGRAM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,   /* store: bool */
    OPTION_TEXT,   /* store: const char * */
    OPTION_NUMBER, /* store: double; inf allowed, nan not */
    OPTION_COUNT,  /* store: int64_t >= 0 */
    OPTION_ABOVE,  /* store: double > 0, where 0 says that it was not given */
    OPTION_MANY,   /* store: int64_t >= 1, where 0 says the same */
    OPTION_CHOICE, /* store: int, the place of the word in `argument` */
    OPTION_LIST,   /* store: struct option_list; may be given again */
};

/* What OPTION_LIST collects, in the order given. */
struct option_list {
    int count;
    const char *items[32];
};

struct option {
    const char *name; /* without the dashes */
    enum option_kind kind;
    void *store;
    const char *argument; /* "FILE", "X"; for a choice "this|that|other" */
    const char *help;     /* one line; says the default */
};

/* A table that is put together from parts; the row behind the last is empty. */
struct option_table {
    struct option rows[48];
    int count;
};
void options_add(struct option_table *table, const struct option *rows,
                 size_t count);

struct usage {
    const char *verb;     /* NULL for a program without verbs */
    const char *operands; /* "STUDY SCENARIO.yaml"; [..] is optional */
    const char *summary;  /* what the verb does, a sentence or two */
    const char *example;  /* a command a reader can run */
};

/* options_parse(): go on; anything else is the exit status to return. */
#define OPTIONS_GO (-1)

/*
 * Parse argv (argv[0] is the verb or program). `options` ends with a row whose
 * name is NULL. Operands go to `operands` in order, NULL where an optional one
 * is missing. Prints the help (and answers 0) for --help, the version for --version
 * of a program without verbs, or says what is wrong (and answers 2).
 */
int options_parse(const struct usage *usage, const struct option *options,
                  int argc, char **argv, const char **operands);

#endif
