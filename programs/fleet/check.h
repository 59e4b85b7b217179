/*
 * What --check of both daemons has in common: a line for each thing that was looked
 * at, and the things that both need.
 */
#ifndef PROGRAM_CHECK_H
#define PROGRAM_CHECK_H

#include "common/daemon.h"
#include "common/program.h"
#include "transport/keys.h"

/* What was found so far. */
struct findings {
    struct json json; /* used if as_json */
    bool as_json;
    int bad;
};

/* Good, worth knowing, or what would fail. */
enum finding { FOUND_GOOD, FOUND_NOTE, FOUND_BAD };

/* Begin, on stdout; one finding; and the end, which answers the exit status: 0, all
 * is good. */
void check_begin(struct findings *found, bool as_json);
void check_tell(struct findings *found, enum finding level, const char *what,
                const char *format, ...) __attribute__((format(printf, 4, 5)));
int check_end(struct findings *found);

/* The secret key: is it there, ours alone, and a key? */
bool check_key(struct findings *found, const char *path, struct key_pair *pair);

/* The folder of a file that is written: may it be, and is there room? Answers the
 * bytes that are free, or -1. */
double check_disk(struct findings *found, const char *file, const char *what);

/* Rounds go by a clock that nobody sets; logs and backups do not. */
void check_clock(struct findings *found, const char *key);

/* What came of listening at the address that an option names. */
void check_listening(struct findings *found, const char *address,
                     enum pricer_status status,
                     const struct pricer_fault *fault);

/* Whether the process may have so many connections at once. */
void check_descriptors(struct findings *found, int64_t connections);

/* What the ledger says about releases: of all, and where terms are given how
 * many rounds of them are left, or why there are none. */
struct ledger;
struct ledger_terms;
void check_releases(struct findings *found, struct ledger *ledger,
                    const struct ledger_terms *terms);

#endif
