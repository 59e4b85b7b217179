/*
 * From releases to a database that is never behind what was sent: SQLite in
 * WAL mode with full synchronisation, one transaction a round.
 */
#include "ledger.h"
#include "common/daemon.h"
#include "spent.h"
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LEDGER_ID = 0x50724C67, /* "PrLg" */
    LEDGER_VERSION = 2,
    PATIENCE = 250, /* milliseconds for another program to let go */
    KEPT = 10000,   /* rounds whose releases are listed one by one */
};

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS server ("
    " key TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS neighbour ("
    " server TEXT NOT NULL, node INTEGER NOT NULL, key TEXT NOT NULL,"
    " PRIMARY KEY (server, node)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS account ("
    " key TEXT NOT NULL, mu REAL NOT NULL, p REAL NOT NULL,"
    " releases INTEGER NOT NULL, PRIMARY KEY (key, mu, p)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS release ("
    " server TEXT NOT NULL, round INTEGER NOT NULL, key TEXT NOT NULL,"
    " mu REAL NOT NULL, p REAL NOT NULL DEFAULT 1,"
    " PRIMARY KEY (server, round, key)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS session ("
    " server TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;";

/* From version 1, which added squares up: every release is still there. */
static const char upgrade[] =
    "BEGIN IMMEDIATE;"
    "ALTER TABLE release ADD COLUMN p REAL NOT NULL DEFAULT 1;"
    "DROP TABLE account;"
    "CREATE TABLE account ("
    " key TEXT NOT NULL, mu REAL NOT NULL, p REAL NOT NULL,"
    " releases INTEGER NOT NULL, PRIMARY KEY (key, mu, p)) WITHOUT ROWID;"
    "INSERT INTO account SELECT key, mu, 1, count(*) FROM release"
    " GROUP BY key, mu;"
    "PRAGMA user_version = 2;"
    "COMMIT;";

struct ledger {
    sqlite3 *database;
    int lock; /* holds flock() on the file; closed last, as closing any
                 descriptor of a database drops SQLite's own locks */
    char server[PRICER_KEY_TEXT];
    char path[4096];
    int64_t last, session;
    sqlite3_stmt *find, *store, *note, *mark;
};

/* A file that is no ledger stays none; all else may pass. Without a database SQLite
 * says that memory is out. */
static enum pricer_status fail(const struct ledger *ledger,
                               struct pricer_fault *fault)
{
    int why = sqlite3_errcode(ledger->database);
    bool wrong = why == SQLITE_NOTADB || why == SQLITE_CORRUPT;
    return daemon_fault(fault, wrong ? PRICER_FORMAT : PRICER_FILE,
                        "%.300s: %s", ledger->path,
                        sqlite3_errmsg(ledger->database));
}

static bool run(struct ledger *ledger, const char *sql)
{
    return sqlite3_exec(ledger->database, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static bool prepare(struct ledger *ledger, const char *sql,
                    sqlite3_stmt **statement)
{
    return sqlite3_prepare_v2(ledger->database, sql, -1, statement, NULL) ==
           SQLITE_OK;
}

/* One number from a query of one cell, `otherwise` without a row. */
static bool ask(struct ledger *ledger, const char *sql, const char *text,
                int64_t otherwise, int64_t *value)
{
    sqlite3_stmt *query = NULL;
    bool good = prepare(ledger, sql, &query);
    if (good && text != NULL)
        sqlite3_bind_text(query, 1, text, -1, SQLITE_STATIC);
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

/* A name in a folder lasts only when the folder is on the disk too. */
static void flush_folder(const char *path)
{
    char copy[4096];
    snprintf(copy, sizeof copy, "%s", path);
    int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        fsync(folder);
        close(folder);
    }
}

/* Lock the file, make it if it is not there. */
static enum pricer_status take_lock(struct ledger *ledger,
                                    struct pricer_fault *fault)
{
    bool fresh = access(ledger->path, F_OK) != 0;
    ledger->lock = open(ledger->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (ledger->lock < 0)
        return daemon_fault(fault, PRICER_FILE, "%.300s: %s", ledger->path,
                            strerror(errno));
    bool locked = flock(ledger->lock, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno != EWOULDBLOCK)
        return daemon_fault(fault, PRICER_FILE, "%.300s: %s", ledger->path,
                            strerror(errno));
    if (!locked)
        return daemon_fault(fault, PRICER_BUSY,
                            "%.300s: another node uses this ledger",
                            ledger->path);
    if (fresh)
        flush_folder(ledger->path);
    return PRICER_OK;
}

static bool set_up(struct ledger *ledger, int64_t *id, int64_t *version)
{
    char sql[160]; /* all of it or nothing: half a ledger is of no version */
    snprintf(sql, sizeof sql,
             "BEGIN IMMEDIATE; PRAGMA application_id = %d;"
             " PRAGMA user_version = %d; COMMIT",
             LEDGER_ID, LEDGER_VERSION);
    if (sqlite3_open_v2(ledger->path, &ledger->database, SQLITE_OPEN_READWRITE,
                        NULL) != SQLITE_OK)
        return false;
    sqlite3_busy_timeout(ledger->database, PATIENCE);
    sqlite3_db_config(ledger->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    int64_t tables = 0;
    if (!ask(ledger, "PRAGMA application_id", NULL, 0, id) ||
        !ask(ledger, "PRAGMA user_version", NULL, 0, version) ||
        !ask(ledger, "SELECT count(*) FROM sqlite_schema", NULL, 0, &tables))
        return false;
    if (*id == 0 && tables == 0) {
        *id = LEDGER_ID;
        *version = LEDGER_VERSION;
        if (!run(ledger, sql))
            return false;
    }
    if (*id == LEDGER_ID && *version == 1) {
        if (!run(ledger, upgrade))
            return false;
        *version = LEDGER_VERSION;
    }
    if (*id != LEDGER_ID || *version != LEDGER_VERSION)
        return true;
    return run(ledger, "PRAGMA journal_mode = WAL") &&
           run(ledger, "PRAGMA synchronous = FULL") && run(ledger, schema);
}

static bool prepare_all(struct ledger *ledger)
{
    return prepare(ledger,
                   "SELECT mu, sum(releases) FROM account WHERE key = ?"
                   " GROUP BY mu",
                   &ledger->find) &&
           prepare(ledger,
                   "INSERT INTO account VALUES (?, ?, 1, 1) ON CONFLICT"
                   " (key, mu, p) DO UPDATE SET releases = releases + 1",
                   &ledger->store) &&
           prepare(ledger, "INSERT INTO release VALUES (?, ?, ?, ?, 1)",
                   &ledger->note) &&
           prepare(ledger,
                   "INSERT INTO server VALUES (?, ?) ON CONFLICT (key) DO"
                   " UPDATE SET last = excluded.last",
                   &ledger->mark);
}

enum pricer_status ledger_open(const char *path, const char *server,
                               struct ledger **ledger,
                               struct pricer_fault *fault)
{
    int64_t id = 0, version = 0;
    struct ledger *made = calloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->lock = -1;
    snprintf(made->path, sizeof made->path, "%s", path);
    snprintf(made->server, sizeof made->server, "%s", server);
    enum pricer_status status = take_lock(made, fault);
    if (status == PRICER_OK && !set_up(made, &id, &version))
        status = fail(made, fault);
    if (status == PRICER_OK && id != LEDGER_ID)
        status =
            daemon_fault(fault, PRICER_FORMAT, "%.300s: not a ledger", path);
    if (status == PRICER_OK && version != LEDGER_VERSION)
        status =
            daemon_fault(fault, PRICER_FORMAT,
                         "%.300s: made by another version of pricer", path);
    if (status == PRICER_OK &&
        (!prepare_all(made) ||
         !ask(made, "SELECT last FROM server WHERE key = ?", server, 0,
              &made->last) ||
         !ask(made, "SELECT number FROM session WHERE server = ?", server, 0,
              &made->session)))
        status = fail(made, fault);
    if (status != PRICER_OK) {
        ledger_close(made);
        return status;
    }
    *ledger = made;
    return PRICER_OK;
}

bool ledger_is_there(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && about.st_size > 0;
}

void ledger_close(struct ledger *ledger)
{
    if (ledger == NULL)
        return;
    sqlite3_finalize(ledger->find);
    sqlite3_finalize(ledger->store);
    sqlite3_finalize(ledger->note);
    sqlite3_finalize(ledger->mark);
    sqlite3_close_v2(ledger->database);
    if (ledger->lock >= 0)
        close(ledger->lock);
    free(ledger);
}

int64_t ledger_last(const struct ledger *ledger)
{
    return ledger->last;
}

int64_t ledger_session(const struct ledger *ledger)
{
    return ledger->session;
}

/* One statement about this server and a number. */
static bool run_at(struct ledger *ledger, const char *sql, int64_t number)
{
    sqlite3_stmt *statement = NULL;
    bool good = prepare(ledger, sql, &statement);
    if (good) {
        sqlite3_bind_text(statement, 1, ledger->server, -1, SQLITE_STATIC);
        sqlite3_bind_int64(statement, 2, number);
        good = sqlite3_step(statement) == SQLITE_DONE;
    }
    sqlite3_finalize(statement);
    return good;
}

static const char set_session[] =
    "INSERT OR REPLACE INTO session VALUES (?, ?)";

enum pricer_status ledger_set_session(struct ledger *ledger, int64_t session,
                                      struct pricer_fault *fault)
{
    if (session <= ledger->session)
        return PRICER_OK;
    if (!run_at(ledger, set_session, session))
        return fail(ledger, fault);
    ledger->session = session;
    return PRICER_OK;
}

enum pricer_status ledger_pin(struct ledger *ledger, int32_t node,
                              const char *key, struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL, *query = NULL;
    enum pricer_status status = PRICER_OK;
    if (!prepare(ledger, "INSERT OR IGNORE INTO neighbour VALUES (?, ?, ?)",
                 &insert) ||
        !prepare(ledger,
                 "SELECT key = ? FROM neighbour WHERE server = ? AND node = ?",
                 &query)) {
        status = fail(ledger, fault);
        goto done;
    }
    sqlite3_bind_text(insert, 1, ledger->server, -1, SQLITE_STATIC);
    sqlite3_bind_int(insert, 2, node);
    sqlite3_bind_text(insert, 3, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(query, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(query, 2, ledger->server, -1, SQLITE_STATIC);
    sqlite3_bind_int(query, 3, node);
    /* Looking first spares a write for all who are known. */
    int step = sqlite3_step(query);
    if (step == SQLITE_DONE && sqlite3_step(insert) != SQLITE_DONE)
        status = fail(ledger, fault);
    else if (step == SQLITE_ROW && sqlite3_column_int(query, 0) != 1)
        status = daemon_fault(fault, PRICER_VALUE,
                              "the key of node %d is not the one it had before",
                              (int)node);
    else if (step != SQLITE_ROW && step != SQLITE_DONE)
        status = fail(ledger, fault);
done:
    sqlite3_finalize(insert);
    sqlite3_finalize(query);
    return status;
}

/* One statement with the keys, and where it has them, server and node. */
static bool run_with(struct ledger *ledger, const char *sql, int32_t node,
                     const char *old, const char *key)
{
    sqlite3_stmt *statement = NULL;
    bool good = prepare(ledger, sql, &statement);
    if (good) {
        sqlite3_bind_text(statement, 1, old, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, key, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 3, ledger->server, -1, SQLITE_STATIC);
        sqlite3_bind_int(statement, 4, node);
        good = sqlite3_step(statement) == SQLITE_DONE;
    }
    sqlite3_finalize(statement);
    return good;
}

enum pricer_status ledger_follow(struct ledger *ledger, int32_t node,
                                 const char *old, const char *key,
                                 struct pricer_fault *fault)
{
    if (!run(ledger, "BEGIN IMMEDIATE"))
        return fail(ledger, fault);
    bool good =
        run_with(ledger,
                 "UPDATE neighbour SET key = ?2 WHERE server = ?3 AND node = ?4"
                 " AND key = ?1",
                 node, old, key);
    if (good && sqlite3_changes(ledger->database) > 0)
        good = run_with(ledger,
                        "INSERT INTO account SELECT ?2, mu, p, releases FROM"
                        " account WHERE key = ?1 ON CONFLICT (key, mu, p) DO"
                        " UPDATE SET releases = releases + excluded.releases",
                        node, old, key) &&
               run_with(ledger, "DELETE FROM account WHERE key = ?1", node, old,
                        key);
    if (good && run(ledger, "COMMIT"))
        return PRICER_OK;
    enum pricer_status status = fail(ledger, fault);
    run(ledger, "ROLLBACK");
    return status;
}

/* False: cannot read, or it is no account. */
static bool find_spent(struct ledger *ledger, const char *key,
                       struct spent *spent)
{
    int step;
    bool good = true;
    *spent = (struct spent){0};
    sqlite3_bind_text(ledger->find, 1, key, -1, SQLITE_STATIC);
    while ((step = sqlite3_step(ledger->find)) == SQLITE_ROW) {
        double mu = sqlite3_column_double(ledger->find, 0);
        int64_t releases = sqlite3_column_int64(ledger->find, 1);
        good = good && mu >= 0 && releases >= 0;
        spent_add(spent, mu, releases);
    }
    sqlite3_reset(ledger->find);
    return good && step == SQLITE_DONE;
}

double ledger_spent(struct ledger *ledger, const char *key)
{
    struct spent spent;
    return find_spent(ledger, key, &spent) ? spent_ratio(&spent) : INFINITY;
}

int64_t ledger_left(struct ledger *ledger, const struct ledger_charge *charge)
{
    struct spent spent;
    if (charge->mu == 0)
        return LEDGER_NO_END;
    return find_spent(ledger, charge->key, &spent) ? spent_left(&spent, charge)
                                                   : -1;
}

/* Whether a release fits its budget; false: the ledger cannot be read. */
static bool judge(struct ledger *ledger, struct ledger_charge *charge)
{
    struct spent spent;
    if (!find_spent(ledger, charge->key, &spent))
        return false;
    charge->allowed = charge->mu == 0 || spent_fits(&spent, charge, 1);
    return true;
}

static bool store(struct ledger *ledger, int64_t round,
                  const struct ledger_charge *charge)
{
    sqlite3_bind_text(ledger->store, 1, charge->key, -1, SQLITE_STATIC);
    sqlite3_bind_double(ledger->store, 2, charge->mu);
    sqlite3_bind_text(ledger->note, 1, ledger->server, -1, SQLITE_STATIC);
    sqlite3_bind_int64(ledger->note, 2, round);
    sqlite3_bind_text(ledger->note, 3, charge->key, -1, SQLITE_STATIC);
    sqlite3_bind_double(ledger->note, 4, charge->mu);
    bool stored = sqlite3_step(ledger->store) == SQLITE_DONE;
    bool noted = sqlite3_step(ledger->note) == SQLITE_DONE;
    sqlite3_reset(ledger->store);
    sqlite3_reset(ledger->note);
    return stored && noted;
}

static bool mark_round(struct ledger *ledger, int64_t round)
{
    sqlite3_bind_text(ledger->mark, 1, ledger->server, -1, SQLITE_STATIC);
    sqlite3_bind_int64(ledger->mark, 2, round);
    bool marked = sqlite3_step(ledger->mark) == SQLITE_DONE;
    sqlite3_reset(ledger->mark);
    return marked;
}

/* Accounts hold every release for good; the list of them ends somewhere. */
static bool prune(struct ledger *ledger, int64_t round)
{
    return round % 64 != 0 ||
           run_at(ledger, "DELETE FROM release WHERE server = ? AND round <= ?",
                  round - KEPT);
}

enum pricer_status ledger_accept(struct ledger *ledger, int64_t round,
                                 struct pricer_fault *fault)
{
    if (round > ledger->last + WIRE_JUMP)
        return daemon_fault(fault, PRICER_VALUE,
                            "round %lld is too far from round %lld, where the "
                            "ledger is",
                            (long long)round, (long long)ledger->last);
    bool good = run(ledger, "BEGIN IMMEDIATE") &&
                (round <= ledger->last || mark_round(ledger, round)) &&
                run_at(ledger, set_session, -1) && run(ledger, "COMMIT");
    if (!good) {
        enum pricer_status status = fail(ledger, fault);
        run(ledger, "ROLLBACK");
        return status;
    }
    ledger->last = round > ledger->last ? round : ledger->last;
    ledger->session = -1;
    return PRICER_OK;
}

enum pricer_status ledger_charge(struct ledger *ledger, int64_t round,
                                 struct ledger_charge *charges, int32_t count,
                                 struct pricer_fault *fault)
{
    for (int32_t k = 0; k < count; k++)
        charges[k].allowed = false;
    if (round <= ledger->last)
        return daemon_fault(fault, PRICER_VALUE,
                            "round %lld is spent: the ledger is at round %lld",
                            (long long)round, (long long)ledger->last);
    struct ledger_charge *all = count > 0 && charges->all ? charges : NULL;
    bool good =
        run(ledger, "BEGIN IMMEDIATE") && (all == NULL || judge(ledger, all));
    bool open = all == NULL || all->allowed, any = false;
    for (int32_t k = all != NULL; k < count && good && open; k++) {
        good = judge(ledger, &charges[k]) &&
               (!charges[k].allowed || store(ledger, round, &charges[k]));
        any = any || charges[k].allowed;
    }
    if (all != NULL && any && good)
        good = store(ledger, round, all);
    good = good && mark_round(ledger, round) && prune(ledger, round) &&
           run(ledger, "COMMIT");
    if (good) {
        ledger->last = round;
        return PRICER_OK;
    }
    enum pricer_status status = fail(ledger, fault);
    run(ledger, "ROLLBACK");
    for (int32_t k = 0; k < count; k++)
        charges[k].allowed = false;
    return status;
}
