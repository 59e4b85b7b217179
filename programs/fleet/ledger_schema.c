/*
 * The tables of a ledger, how a ledger of an earlier version becomes one of this
 * version without losing what was spent, and the calls of SQLite that the other
 * files share.
 *
 * `account` counts releases by the key that they were sent to and by their
 * ratio. `follow` lists which key follows which, signed by the old one or by the
 * operator's hand. Both only ever grow: triggers
 * refuse every statement that would lower a count, rename a key or delete a
 * row, so no later change to the programs can do so by mistake. `principal` has
 * the key that each row of the trust file had last. What a budget is compared
 * with is computed from these (ledger.h); nothing is stored twice.
 *
 * `entry` is the account of releases that everyone hears: rounds of one release
 * and the (eps, delta) that they keep together. `packet` has what was released
 * in the last round of every server. Entries only ever grow; a packet is never
 * changed, and may go only when a later round of its server is charged.
 */
#include "ledger_file.h"
#include "common/daemon.h"

#include <math.h>
#include <stdio.h>

enum { PATIENCE = 250 }; /* milliseconds for another program to let go */

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS server ("
    " key TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS session ("
    " server TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS principal ("
    " row INTEGER PRIMARY KEY, key TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS principal_key ON principal (key);"
    "CREATE TABLE IF NOT EXISTS follow ("
    " old TEXT NOT NULL, key TEXT NOT NULL, signed INTEGER NOT NULL,"
    " PRIMARY KEY (old, key, signed)) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS follow_key ON follow (key);"
    "CREATE TABLE IF NOT EXISTS account ("
    " key TEXT NOT NULL, mu REAL NOT NULL, releases INTEGER NOT NULL,"
    " PRIMARY KEY (key, mu)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS release ("
    " server TEXT NOT NULL, round INTEGER NOT NULL, key TEXT NOT NULL,"
    " mu REAL NOT NULL);"
    "CREATE INDEX IF NOT EXISTS release_round ON release (server, round);"
    "CREATE TABLE IF NOT EXISTS entry ("
    " id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, dimension INTEGER NOT"
    " NULL, t REAL NOT NULL, e0 REAL NOT NULL, ratio REAL NOT NULL, rounds"
    " INTEGER NOT NULL, used INTEGER NOT NULL, eps REAL NOT NULL, delta REAL"
    " NOT NULL, CHECK (used >= 0 AND used <= rounds AND eps >= 0 AND delta >="
    " 0));"
    "CREATE TABLE IF NOT EXISTS packet ("
    " server TEXT NOT NULL, round INTEGER NOT NULL, study BLOB NOT NULL, plan"
    " BLOB NOT NULL, reference INTEGER NOT NULL, kind INTEGER NOT NULL, entry"
    " INTEGER NOT NULL, payload BLOB NOT NULL, PRIMARY KEY (server, round));"
    "CREATE TRIGGER IF NOT EXISTS entry_grows BEFORE UPDATE ON entry WHEN"
    " new.id <> old.id OR new.kind <> old.kind OR new.dimension <>"
    " old.dimension OR new.t <> old.t OR new.e0 <> old.e0 OR new.ratio <>"
    " old.ratio OR new.rounds <> old.rounds OR new.used < old.used OR"
    " new.eps <> old.eps OR new.delta <> old.delta"
    " BEGIN SELECT RAISE(ABORT, 'an entry only grows'); END;"
    "CREATE TRIGGER IF NOT EXISTS entry_stays BEFORE DELETE ON entry"
    " BEGIN SELECT RAISE(ABORT, 'an entry only grows'); END;"
    "CREATE TRIGGER IF NOT EXISTS packet_same BEFORE UPDATE ON packet"
    " BEGIN SELECT RAISE(ABORT, 'a packet never changes'); END;"
    "CREATE TRIGGER IF NOT EXISTS packet_stays BEFORE DELETE ON packet WHEN"
    " NOT EXISTS (SELECT 1 FROM server WHERE key = old.server AND last >"
    " old.round)"
    " BEGIN SELECT RAISE(ABORT, 'the last packet stays'); END;"
    "CREATE TRIGGER IF NOT EXISTS account_grows BEFORE UPDATE ON account"
    " WHEN new.key <> old.key OR new.mu <> old.mu OR"
    " new.releases < old.releases"
    " BEGIN SELECT RAISE(ABORT, 'an account only grows'); END;"
    "CREATE TRIGGER IF NOT EXISTS account_stays BEFORE DELETE ON account"
    " BEGIN SELECT RAISE(ABORT, 'an account only grows'); END;"
    "CREATE TRIGGER IF NOT EXISTS follow_same BEFORE UPDATE ON follow"
    " BEGIN SELECT RAISE(ABORT, 'what follows stays'); END;"
    "CREATE TRIGGER IF NOT EXISTS follow_stays BEFORE DELETE ON follow"
    " BEGIN SELECT RAISE(ABORT, 'what follows stays'); END;";

/* From version 1, which added squares up: every release is still there. */
static const char from_1[] =
    "ALTER TABLE release ADD COLUMN p REAL NOT NULL DEFAULT 1;"
    "DROP TABLE account;"
    "CREATE TABLE account ("
    " key TEXT NOT NULL, mu REAL NOT NULL, p REAL NOT NULL,"
    " releases INTEGER NOT NULL, PRIMARY KEY (key, mu, p)) WITHOUT ROWID;"
    "INSERT INTO account SELECT key, mu, 1, count(*) FROM release"
    " GROUP BY key, mu;"
    "PRAGMA user_version = 2;";

/*
 * From version 2: a release counts in full, whatever probability it was stored
 * with; a row keeps the key that it had, at any server. What the server got in
 * all was counted only where the trust file asked for it: where it did not, it
 * is everything.
 */
static const char before_3[] = "ALTER TABLE account RENAME TO old_account;"
                               "ALTER TABLE release RENAME TO old_release;";
static const char from_2[] =
    "INSERT INTO account SELECT key, mu, sum(releases) FROM old_account"
    " GROUP BY key, mu;"
    "INSERT INTO release SELECT server, round, key, mu FROM old_release;"
    "INSERT OR IGNORE INTO principal SELECT node, key FROM neighbour;"
    "INSERT OR IGNORE INTO principal SELECT -2, key FROM server;"
    "INSERT OR IGNORE INTO principal SELECT -1, 'all to ' || key FROM server;"
    "INSERT INTO account SELECT 'all to ' || s.key, mu, sum(releases) FROM"
    " server s, old_account a WHERE a.key NOT LIKE 'all to %' AND NOT EXISTS"
    " (SELECT 1 FROM old_account WHERE key = 'all to ' || s.key)"
    " GROUP BY s.key, mu;"
    "DROP TABLE old_account; DROP TABLE old_release; DROP TABLE neighbour;";

/* A file that is no ledger stays none; all else may pass. Without a database SQLite
 * says that memory is out. */
enum pricer_status ledger_fail(const struct ledger *ledger,
                               struct pricer_fault *fault)
{
    int why = sqlite3_errcode(ledger->database);
    bool wrong = why == SQLITE_NOTADB || why == SQLITE_CORRUPT;
    return daemon_fault(fault, wrong ? PRICER_FORMAT : PRICER_FILE,
                        "%.300s: %s", ledger->path,
                        sqlite3_errmsg(ledger->database));
}

bool ledger_run(struct ledger *ledger, const char *sql)
{
    return sqlite3_exec(ledger->database, sql, NULL, NULL, NULL) == SQLITE_OK;
}

bool ledger_prepare(struct ledger *ledger, const char *sql,
                    sqlite3_stmt **statement)
{
    return sqlite3_prepare_v2(ledger->database, sql, -1, statement, NULL) ==
           SQLITE_OK;
}

bool ledger_ask(struct ledger *ledger, const char *sql, const char *first,
                const char *second, int64_t otherwise, int64_t *value)
{
    sqlite3_stmt *query = NULL;
    bool good = ledger_prepare(ledger, sql, &query);
    if (good && first != NULL)
        sqlite3_bind_text(query, 1, first, -1, SQLITE_STATIC);
    if (good && second != NULL)
        sqlite3_bind_text(query, 2, second, -1, SQLITE_STATIC);
    int step = good ? sqlite3_step(query) : SQLITE_ERROR;
    if (step == SQLITE_ROW)
        *value = sqlite3_column_int64(query, 0);
    else if (step == SQLITE_DONE)
        *value = otherwise;
    else
        good = false;
    sqlite3_finalize(query);
    return good;
}

/* The error of the sum is known exactly (Knuth). */
double ledger_add_up(double a, double b)
{
    volatile double sum = a + b, part = sum - a;
    volatile double error = (a - (sum - part)) + (b - part);
    return error > 0 ? nextafter(sum, INFINITY) : sum;
}

bool ledger_read_released(struct ledger *ledger)
{
    sqlite3_stmt *query = NULL;
    double eps = 0, delta = 0;
    int step = SQLITE_ERROR;
    if (ledger_prepare(ledger, "SELECT eps, delta FROM entry ORDER BY id",
                       &query))
        while ((step = sqlite3_step(query)) == SQLITE_ROW) {
            eps = ledger_add_up(eps, sqlite3_column_double(query, 0));
            delta = ledger_add_up(delta, sqlite3_column_double(query, 1));
        }
    sqlite3_finalize(query);
    /* What is not known is too much. */
    ledger->released_eps = step == SQLITE_DONE ? eps : INFINITY;
    ledger->released_delta = step == SQLITE_DONE ? delta : INFINITY;
    return step == SQLITE_DONE;
}

/* Say in the file what it is. */
static bool sign(struct ledger *ledger)
{
    char sql[96];
    snprintf(sql, sizeof sql,
             "PRAGMA application_id = %d; PRAGMA user_version = %d;", LEDGER_ID,
             LEDGER_VERSION);
    return ledger_run(ledger, sql);
}

/* All steps in one transaction: half a ledger is of no version. Since version 3
 * there are only more tables. */
static bool upgrade(struct ledger *ledger, int64_t version)
{
    return ledger_run(ledger, "BEGIN IMMEDIATE") &&
           (version != 1 || ledger_run(ledger, from_1)) &&
           (version > 2 || ledger_run(ledger, before_3)) &&
           ledger_run(ledger, schema) &&
           (version > 2 || ledger_run(ledger, from_2)) && sign(ledger) &&
           ledger_run(ledger, "COMMIT");
}

static bool make(struct ledger *ledger)
{
    return ledger_run(ledger, "BEGIN IMMEDIATE") && sign(ledger) &&
           ledger_run(ledger, schema) && ledger_run(ledger, "COMMIT");
}

bool ledger_set_up(struct ledger *ledger, int64_t *id, int64_t *version)
{
    if (sqlite3_open_v2(ledger->path, &ledger->database, SQLITE_OPEN_READWRITE,
                        NULL) != SQLITE_OK)
        return false;
    sqlite3_busy_timeout(ledger->database, PATIENCE);
    sqlite3_db_config(ledger->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    int64_t tables = 0;
    if (!ledger_ask(ledger, "PRAGMA application_id", NULL, NULL, 0, id) ||
        !ledger_ask(ledger, "PRAGMA user_version", NULL, NULL, 0, version) ||
        !ledger_ask(ledger, "SELECT count(*) FROM sqlite_schema", NULL, NULL, 0,
                    &tables))
        return false;
    bool fresh = *id == 0 && tables == 0;
    bool old = *id == LEDGER_ID && *version >= 1 && *version < LEDGER_VERSION;
    bool now = *id == LEDGER_ID && *version == LEDGER_VERSION;
    if (!fresh && !old && !now)
        return true;
    /* The charge must be on the disk before anything is sent. */
    if (!ledger_run(ledger, "PRAGMA journal_mode = WAL") ||
        !ledger_run(ledger, "PRAGMA synchronous = FULL") ||
        (fresh && !make(ledger)) || (old && !upgrade(ledger, *version)))
        return false;
    *id = LEDGER_ID;
    *version = LEDGER_VERSION;
    return true;
}
