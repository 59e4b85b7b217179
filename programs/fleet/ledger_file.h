/*
 * The database behind a ledger, for the files ledger*.c alone.
 */
#ifndef PROGRAM_LEDGER_FILE_H
#define PROGRAM_LEDGER_FILE_H

#include "ledger.h"

#include <sqlite3.h>

enum {
    LEDGER_ID = 0x50724C67, /* "PrLg" */
    LEDGER_VERSION = 4,
};

struct ledger {
    sqlite3 *database;
    int lock; /* holds flock() on the file; closed last, as closing any
                 descriptor of a database drops SQLite's own locks */
    char server[PRICER_KEY_TEXT];
    char path[4096];
    int64_t last, session;
    double released_eps, released_delta; /* of all entries: ledger_release.h */
    bool sums_fit; /* with releases, by the trust file; false: not known */
    const struct trust *trust; /* or NULL: charges bring the only budgets */
    int32_t own;               /* the node's own number in the trust file */
    sqlite3_stmt *find, *claim, *ratios, *store, *note, *mark;
};

/* Before the server's key, in the key of what it gets in all. */
#define LEDGER_ALL_TO "all to "

/* The keys that key ?1 follows, itself included; and these with every key that
 * follows one of them. UNION visits a key once, so cycles end. */
#define LEDGER_ABOVE                                                           \
    "WITH RECURSIVE above (key) AS (SELECT ?1 UNION SELECT f.old FROM follow"  \
    " f JOIN above a ON f.key = a.key)"
#define LEDGER_FAMILY                                                          \
    LEDGER_ABOVE ", family (key) AS (SELECT key FROM above UNION SELECT f.key" \
                 " FROM follow f JOIN family m ON f.old = m.key)"

/* Within a transaction: this round of the server is charged. */
bool ledger_mark(struct ledger *ledger, int64_t round);

/* a + b, rounded up. */
double ledger_add_up(double a, double b);

/* Read what all entries cost together. */
bool ledger_read_released(struct ledger *ledger);

/* What a row's totals leave for sums, in place; false: nothing. */
bool ledger_leave_room(const struct ledger *ledger, double *eps, double *delta);

/* Whether the sums of an account fit what releases leave them, by every row that
 * has to do with its key; *rows is how many these are. False: it cannot be read. */
bool ledger_sums_fit(struct ledger *ledger, const char *key, bool *fit,
                     int32_t *rows);

/* What SQLite says, as a fault. */
enum pricer_status ledger_fail(const struct ledger *ledger,
                               struct pricer_fault *fault);
bool ledger_run(struct ledger *ledger, const char *sql);
bool ledger_prepare(struct ledger *ledger, const char *sql,
                    sqlite3_stmt **statement);

/* One number from a query of one cell with up to two texts (or NULL), `otherwise`
 * without a row. False: it cannot be read. */
bool ledger_ask(struct ledger *ledger, const char *sql, const char *first,
                const char *second, int64_t otherwise, int64_t *value);

/* Open the database: make its tables, or bring those of an earlier version to
 * this one. On success the caller compares id and version. */
bool ledger_set_up(struct ledger *ledger, int64_t *id, int64_t *version);

#endif
