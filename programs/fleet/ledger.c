/*
 * From releases to a database that is never behind what was sent: SQLite in
 * WAL mode with full synchronisation, one transaction a round.
 */
#include "ledger_file.h"
#include "common/daemon.h"
#include "release/release.h"
#include "spent.h"
#include "trust_file.h"
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    KEPT = 10000, /* rounds whose releases are listed one by one */
    EXACT = 256,  /* ratios of a key that are counted as they are */
};

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

static bool prepare_all(struct ledger *ledger)
{
    return ledger_prepare(ledger,
                          LEDGER_FAMILY " SELECT mu, sum(releases) FROM account"
                                        " WHERE key IN family GROUP BY mu",
                          &ledger->find) &&
           ledger_prepare(ledger,
                          LEDGER_FAMILY
                          " SELECT f.key, p.row FROM family f LEFT JOIN"
                          " principal p ON p.key = f.key",
                          &ledger->claim) &&
           ledger_prepare(
               ledger,
               "INSERT INTO account VALUES (?, ?, 1) ON CONFLICT (key, mu)"
               " DO UPDATE SET releases = releases + 1",
               &ledger->store) &&
           ledger_prepare(
               ledger,
               "SELECT count(*), total(mu = ?2) FROM account WHERE key = ?1",
               &ledger->ratios) &&
           ledger_prepare(ledger, "INSERT INTO release VALUES (?, ?, ?, ?)",
                          &ledger->note) &&
           ledger_prepare(
               ledger,
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
    if (status == PRICER_OK && !ledger_set_up(made, &id, &version))
        status = ledger_fail(made, fault);
    if (status == PRICER_OK && id != LEDGER_ID)
        status =
            daemon_fault(fault, PRICER_FORMAT, "%.300s: not a ledger", path);
    if (status == PRICER_OK && version != LEDGER_VERSION)
        status =
            daemon_fault(fault, PRICER_FORMAT,
                         "%.300s: made by another version of pricer", path);
    if (status == PRICER_OK &&
        (!prepare_all(made) || !ledger_read_released(made) ||
         !ledger_ask(made, "SELECT last FROM server WHERE key = ?", server,
                     NULL, 0, &made->last) ||
         !ledger_ask(made, "SELECT number FROM session WHERE server = ?",
                     server, NULL, 0, &made->session)))
        status = ledger_fail(made, fault);
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
    sqlite3_finalize(ledger->claim);
    sqlite3_finalize(ledger->ratios);
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
    bool good = ledger_prepare(ledger, sql, &statement);
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
        return ledger_fail(ledger, fault);
    ledger->session = session;
    return PRICER_OK;
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

/* The row of the trust file that has this number in the ledger, or NULL. */
static const struct trust_row *find_row(const struct ledger *ledger,
                                        int64_t row)
{
    if (row == LEDGER_ALL || row == ledger->own)
        return NULL;
    return trust_find(ledger->trust,
                      row == LEDGER_OWN ? ledger->own : (int32_t)row);
}

bool ledger_leave_room(const struct ledger *ledger, double *eps, double *delta)
{
    const struct trust_row *row =
        ledger->trust != NULL ? trust_find(ledger->trust, TRUST_EVERYONE)
                              : NULL;
    struct pricer_budget whole = {.eps = *eps, .delta = *delta}, part = {0};
    if (isinf(*eps) || *delta >= 1)
        return true;
    part.eps = row != NULL ? fmin(row->eps, *eps) : 0;
    part.delta = row != NULL ? fmin(row->delta, *delta) : 0;
    part.eps = fmax(part.eps, ledger->released_eps);
    part.delta = fmax(part.delta, ledger->released_delta);
    if (part.eps == 0 && part.delta == 0)
        return true;
    return pri_release_subtract(&whole, &part, eps, delta) && *eps > 0 &&
           *delta > 0;
}

/* How many releases fit, or whether one does, next to what everyone hears. */
static int64_t count_left(const struct ledger *ledger,
                          const struct spent *spent,
                          struct ledger_charge charge, bool once)
{
    if (!ledger_leave_room(ledger, &charge.total_eps, &charge.total_delta))
        return 0;
    return once ? spent_fits(spent, &charge, 1) : spent_left(spent, &charge);
}

/* The same by the budget of another row, if that is less. */
static void lower(const struct ledger *ledger, const struct spent *spent,
                  struct ledger_charge charge, const struct trust_row *row,
                  bool once, int64_t *left)
{
    charge.total_eps = row->total_eps;
    charge.total_delta = row->total_delta;
    int64_t found = count_left(ledger, spent, charge, once);
    *left = found < *left ? found : *left;
}

/*
 * How many releases like this one fit the budgets of all rows that have to do
 * with its receiver; `once`: whether one does, which is quicker. *rows counts
 * the rows that were found by the receiver's key. False: the ledger cannot be
 * read.
 */
static bool find_left(struct ledger *ledger, const struct ledger_charge *charge,
                      bool once, int64_t *left, int32_t *rows)
{
    struct spent spent;
    int step = SQLITE_DONE;
    if (!find_spent(ledger, charge->key, &spent))
        return false;
    *left = count_left(ledger, &spent, *charge, once);
    *rows = 0;
    if (ledger->trust == NULL)
        return true;
    sqlite3_bind_text(ledger->claim, 1, charge->key, -1, SQLITE_STATIC);
    while (*left > 0 && (step = sqlite3_step(ledger->claim)) == SQLITE_ROW) {
        const char *key = (const char *)sqlite3_column_text(ledger->claim, 0);
        const struct trust_row *row = ledger->trust->rows, *last = NULL;
        for (int32_t k = 0; key != NULL && k < ledger->trust->count; k++)
            if (row[k].to >= 0 && strcmp(row[k].key, key) == 0) {
                lower(ledger, &spent, *charge, &row[k], once, left);
                ++*rows;
            }
        if (sqlite3_column_type(ledger->claim, 1) != SQLITE_NULL)
            last = find_row(ledger, sqlite3_column_int64(ledger->claim, 1));
        if (last != NULL) {
            lower(ledger, &spent, *charge, last, once, left);
            ++*rows;
        }
    }
    sqlite3_reset(ledger->claim);
    return step == SQLITE_DONE || *left == 0;
}

/* Whether a charge is of all that the server gets, where the trust file has a row
 * for everyone and none for the server: then nothing may be sent. */
static bool is_unbounded(const struct ledger *ledger,
                         const struct ledger_charge *charge)
{
    return charge->all && ledger->trust != NULL &&
           trust_find(ledger->trust, TRUST_EVERYONE) != NULL &&
           trust_find(ledger->trust, TRUST_SERVER) == NULL;
}

int64_t ledger_left(struct ledger *ledger, const struct ledger_charge *charge)
{
    int64_t left = 0;
    int32_t rows;
    if (charge->mu == 0)
        return LEDGER_NO_END;
    if (is_unbounded(ledger, charge))
        return 0;
    return find_left(ledger, charge, false, &left, &rows) ? left : -1;
}

bool ledger_sums_fit(struct ledger *ledger, const char *key, bool *fit,
                     int32_t *rows)
{
    struct ledger_charge charge = {key, 0, INFINITY, 1, false, false};
    const struct trust_row *row = NULL;
    int64_t left = 0;
    if (strncmp(key, LEDGER_ALL_TO, sizeof LEDGER_ALL_TO - 1) == 0)
        row = trust_find(ledger->trust, TRUST_SERVER);
    if (row != NULL) {
        charge.total_eps = row->total_eps;
        charge.total_delta = row->total_delta;
    }
    if (!find_left(ledger, &charge, true, &left, rows))
        return false;
    *rows += row != NULL;
    *fit = left > 0;
    return true;
}

/* Whether a release fits its budgets; false: the ledger cannot be read. */
static bool judge(struct ledger *ledger, struct ledger_charge *charge)
{
    int64_t left = 1;
    int32_t rows;
    if (charge->mu != 0 && !find_left(ledger, charge, true, &left, &rows))
        return false;
    charge->allowed =
        left > 0 && (charge->mu == 0 || !is_unbounded(ledger, charge));
    return true;
}

/*
 * The ratio to count a release under: its own, or the next larger one with five
 * binary digits where the key has many already. A server that asks for another
 * noise in every round would otherwise make the ledger longer and slower with
 * each; this way a key has some ten thousand ratios at most.
 */
static bool find_ratio(struct ledger *ledger,
                       const struct ledger_charge *charge, double *mu)
{
    int exponent = 0;
    sqlite3_bind_text(ledger->ratios, 1, charge->key, -1, SQLITE_STATIC);
    sqlite3_bind_double(ledger->ratios, 2, charge->mu);
    bool good = sqlite3_step(ledger->ratios) == SQLITE_ROW;
    bool full = good && sqlite3_column_int64(ledger->ratios, 0) >= EXACT;
    bool known = good && sqlite3_column_int64(ledger->ratios, 1) > 0;
    sqlite3_reset(ledger->ratios);
    *mu = charge->mu;
    if (full && !known && isfinite(*mu)) {
        double digits = ceil(32 * frexp(*mu, &exponent)) / 32;
        *mu = fmax(*mu, ldexp(digits, exponent));
    }
    return good;
}

static bool store(struct ledger *ledger, int64_t round,
                  const struct ledger_charge *charge)
{
    double mu = 0;
    if (!find_ratio(ledger, charge, &mu))
        return false;
    sqlite3_bind_text(ledger->store, 1, charge->key, -1, SQLITE_STATIC);
    sqlite3_bind_double(ledger->store, 2, mu);
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

bool ledger_mark(struct ledger *ledger, int64_t round)
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
    return round / 64 == ledger->last / 64 ||
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
    bool good = ledger_run(ledger, "BEGIN IMMEDIATE") &&
                (round <= ledger->last || ledger_mark(ledger, round)) &&
                run_at(ledger, set_session, -1) && ledger_run(ledger, "COMMIT");
    if (!good) {
        enum pricer_status status = ledger_fail(ledger, fault);
        ledger_run(ledger, "ROLLBACK");
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
    bool good = ledger_run(ledger, "BEGIN IMMEDIATE") &&
                (all == NULL || judge(ledger, all));
    bool open = all == NULL || all->allowed, any = false;
    for (int32_t k = all != NULL; k < count && good && open; k++) {
        good = judge(ledger, &charges[k]) &&
               (!charges[k].allowed || store(ledger, round, &charges[k]));
        any = any || charges[k].allowed;
    }
    if (all != NULL && any && good)
        good = store(ledger, round, all);
    ledger->sums_fit = false;
    good = good && ledger_mark(ledger, round) && prune(ledger, round) &&
           ledger_run(ledger, "COMMIT");
    if (good) {
        ledger->last = round;
        return PRICER_OK;
    }
    enum pricer_status status = ledger_fail(ledger, fault);
    ledger_run(ledger, "ROLLBACK");
    for (int32_t k = 0; k < count; k++)
        charges[k].allowed = false;
    return status;
}
