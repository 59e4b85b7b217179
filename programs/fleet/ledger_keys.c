/*
 * Which keys belong to a row of the trust file. A key joins a row because the
 * trust file names it, because the row saw it first, or because a key of the
 * row has signed it; ledger.h has the rule and its proof.
 */
#include "ledger_file.h"
#include "common/daemon.h"
#include "trust_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a key and all that it is counted with: bounds what a server and a neighbour
 * can make a ledger store, and the time that a charge takes. */
enum { FOLLOW_MAX = 1000 };

/* Whether one key is another, or follows it over any number of steps that are
 * signed. */
static bool reaches(struct ledger *ledger, const char *from, const char *to,
                    bool *answer)
{
    int64_t found = 0;
    if (!ledger_ask(ledger,
                    "WITH RECURSIVE below (key) AS (SELECT ?1 UNION SELECT"
                    " f.key FROM follow f JOIN below b ON f.old = b.key AND"
                    " f.signed)"
                    " SELECT count(*) FROM below WHERE key = ?2",
                    from, to, 0, &found))
        return false;
    *answer = found > 0;
    return true;
}

/* One statement with a row, or any number, and up to two keys. */
static bool run_with(struct ledger *ledger, const char *sql, int64_t row,
                     const char *first, const char *second)
{
    sqlite3_stmt *statement = NULL;
    bool good = ledger_prepare(ledger, sql, &statement);
    if (good) {
        sqlite3_bind_text(statement, 1, first, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, second, -1, SQLITE_STATIC);
        sqlite3_bind_int64(statement, 3, row);
        good = sqlite3_step(statement) == SQLITE_DONE;
    }
    sqlite3_finalize(statement);
    return good;
}

static bool add_edge(struct ledger *ledger, const char *old, const char *key,
                     bool is_signed)
{
    return strcmp(old, key) == 0 ||
           run_with(ledger, "INSERT OR IGNORE INTO follow VALUES (?1, ?2, ?3)",
                    is_signed, old, key);
}

/* The key that a row had last; empty: none. */
static bool find_previous(struct ledger *ledger, int32_t row, char *key,
                          size_t room)
{
    sqlite3_stmt *query = NULL;
    bool good = ledger_prepare(
        ledger, "SELECT key FROM principal WHERE row = ?", &query);
    key[0] = '\0';
    if (good) {
        sqlite3_bind_int(query, 1, row);
        int step = sqlite3_step(query);
        const char *text = step == SQLITE_ROW
                               ? (const char *)sqlite3_column_text(query, 0)
                               : NULL;
        good = step == SQLITE_DONE || (text != NULL && strlen(text) < room);
        if (good && text != NULL)
            strcpy(key, text);
    }
    sqlite3_finalize(query);
    return good;
}

/* What a row and the key that a server shows for it have to do with each other. */
struct admission {
    int32_t row;
    const char *named, *old, *key;
    char previous[LEDGER_KEY];
    bool named_fits, previous_fits; /* the key is, or follows, that one */
};

static bool look(struct ledger *ledger, struct admission *at)
{
    const char *start = at->previous[0] != '\0' ? at->previous : at->key;
    bool later = true;
    at->named_fits = true;
    if (at->named != NULL) {
        if (!reaches(ledger, at->named, start, &later) ||
            !reaches(ledger, at->named, at->key, &at->named_fits))
            return false;
        /* What the operator has named since counts, not what was there. */
        start = later ? start : at->named;
    }
    return reaches(ledger, start, at->key, &at->previous_fits);
}

/* A row that has another key by the operator's hand, without a signature, goes
 * on with the account that it had. */
static bool replace(struct ledger *ledger, const struct admission *at)
{
    bool settled = true;
    return at->previous[0] == '\0' ||
           (reaches(ledger, at->previous, at->key, &settled) &&
            (settled || add_edge(ledger, at->previous, at->key, false)));
}

/* Within a transaction: note the signature, decide, note the key. */
static enum pricer_status admit(struct ledger *ledger, struct admission *at,
                                struct pricer_fault *fault)
{
    int64_t edges = 0;
    if ((at->old != NULL && !add_edge(ledger, at->old, at->key, true)) ||
        !look(ledger, at))
        return ledger_fail(ledger, fault);
    if (!at->named_fits || !at->previous_fits)
        return daemon_fault(fault, PRICER_VALUE, "%s",
                            at->named_fits ? "it had before"
                                           : "in the trust file");
    if (!replace(ledger, at) ||
        !run_with(ledger,
                  "INSERT INTO principal VALUES (?3, ?2) ON CONFLICT (row) DO"
                  " UPDATE SET key = excluded.key",
                  at->row, NULL, at->key) ||
        !ledger_ask(ledger,
                    LEDGER_FAMILY
                    " SELECT count(*) FROM follow WHERE old IN family",
                    at->key, NULL, 0, &edges))
        return ledger_fail(ledger, fault);
    if (edges > FOLLOW_MAX)
        return daemon_fault(fault, PRICER_VALUE,
                            "of at most %d that follow "
                            "each other",
                            FOLLOW_MAX);
    return PRICER_OK;
}

/* Looking first spares a write for all who are known. */
static bool is_known(struct ledger *ledger, struct admission *at)
{
    int64_t edges = 1;
    if (strcmp(at->previous, at->key) != 0)
        return false;
    if (at->old != NULL && strcmp(at->old, at->key) != 0 &&
        !ledger_ask(ledger,
                    "SELECT count(*) FROM follow WHERE old = ?1 AND key = ?2"
                    " AND signed",
                    at->old, at->key, 0, &edges))
        return false;
    return edges > 0 && look(ledger, at) && at->named_fits && at->previous_fits;
}

enum pricer_status ledger_admit(struct ledger *ledger, int32_t row,
                                const char *named, const char *old,
                                const char *key, struct pricer_fault *fault)
{
    struct admission at = {.row = row, .named = named, .old = old, .key = key};
    if (!find_previous(ledger, row, at.previous, sizeof at.previous))
        return ledger_fail(ledger, fault);
    if (is_known(ledger, &at))
        return PRICER_OK;
    if (!ledger_run(ledger, "BEGIN IMMEDIATE"))
        return ledger_fail(ledger, fault);
    enum pricer_status status = admit(ledger, &at, fault);
    ledger->sums_fit = false;
    if (status == PRICER_OK && !ledger_run(ledger, "COMMIT"))
        status = ledger_fail(ledger, fault);
    if (status != PRICER_OK)
        ledger_run(ledger, "ROLLBACK");
    return status;
}

/* ------------------------------------------- neighbours that forward -- */

bool ledger_row_key(struct ledger *ledger, int32_t row, const char *named,
                    char key[PRICER_KEY_TEXT])
{
    char previous[LEDGER_KEY];
    bool later = false;
    if (!find_previous(ledger, row, previous, PRICER_KEY_TEXT) ||
        (previous[0] != '\0' && !reaches(ledger, named, previous, &later)))
        return false;
    snprintf(key, PRICER_KEY_TEXT, "%s", later ? previous : named);
    return true;
}

bool ledger_next_key(struct ledger *ledger, const char *key,
                     char next[PRICER_KEY_TEXT])
{
    sqlite3_stmt *query = NULL;
    int step = SQLITE_ERROR;
    next[0] = '\0';
    if (ledger_prepare(ledger,
                       "SELECT key FROM follow WHERE old = ? AND signed LIMIT"
                       " 1",
                       &query)) {
        sqlite3_bind_text(query, 1, key, -1, SQLITE_STATIC);
        step = sqlite3_step(query);
        if (step == SQLITE_ROW)
            snprintf(next, PRICER_KEY_TEXT, "%s",
                     (const char *)sqlite3_column_text(query, 0));
    }
    sqlite3_finalize(query);
    return step == SQLITE_ROW || step == SQLITE_DONE;
}

bool ledger_follow(struct ledger *ledger, const char *old, const char *key)
{
    int64_t edges = 0;
    bool good = ledger_run(ledger, "BEGIN IMMEDIATE") &&
                add_edge(ledger, old, key, true) &&
                ledger_ask(ledger,
                           LEDGER_FAMILY
                           " SELECT count(*) FROM follow WHERE old IN family",
                           key, NULL, 0, &edges) &&
                edges <= FOLLOW_MAX && ledger_run(ledger, "COMMIT");
    ledger->sums_fit = false;
    if (!good)
        ledger_run(ledger, "ROLLBACK");
    return good;
}

/* ------------------------------------------- rows that get other numbers -- */

/* A row that had a key, and where the trust file has that key now. */
struct resident {
    int32_t row, to; /* `to` is -1 where it stays */
    char key[LEDGER_KEY];
};

/* The neighbours that had keys, by row. */
static bool list_residents(struct ledger *ledger, struct resident **all,
                           int32_t *count)
{
    sqlite3_stmt *query = NULL;
    int64_t most = 0;
    int step = SQLITE_ERROR;
    if (!ledger_ask(ledger, "SELECT count(*) FROM principal WHERE row >= 0",
                    NULL, NULL, 0, &most) ||
        (*all = calloc((size_t)most + 1, sizeof **all)) == NULL)
        return false;
    if (ledger_prepare(ledger,
                       "SELECT row, key FROM principal WHERE row >= 0 ORDER BY"
                       " row",
                       &query))
        while ((step = sqlite3_step(query)) == SQLITE_ROW && *count < most) {
            struct resident *one = &(*all)[(*count)++];
            one->row = sqlite3_column_int(query, 0);
            one->to = -1;
            snprintf(one->key, sizeof one->key, "%s",
                     (const char *)sqlite3_column_text(query, 1));
        }
    sqlite3_finalize(query);
    return step == SQLITE_DONE;
}

static const struct resident *find_resident(const struct resident *all,
                                            int32_t count, int32_t row)
{
    for (int32_t k = 0; k < count; k++)
        if (all[k].row == row)
            return &all[k];
    return NULL;
}

/* Whether one of two keys follows the other over steps that are signed. */
static bool connects(struct ledger *ledger, const char *a, const char *b,
                     bool *answer)
{
    return reaches(ledger, a, b, answer) &&
           (*answer || reaches(ledger, b, a, answer));
}

/* The key that the trust file names for a neighbour, or NULL. */
static const char *find_name(const struct ledger *ledger, int32_t row)
{
    const struct trust_row *found =
        row == ledger->own ? NULL : trust_find(ledger->trust, row);
    return found != NULL && found->key[0] != '\0' ? found->key : NULL;
}

/*
 * Where the operator has moved the key of a row: to a row that names it, or one
 * that it follows or that follows it, and that had no such key before. Without
 * the last, whoever shares a signature with a row of its own could free another
 * row of what it has spent.
 */
static bool find_move(struct ledger *ledger, const struct resident *all,
                      int32_t count, struct resident *from)
{
    const char *name = find_name(ledger, from->row);
    bool stays = from->row != ledger->own && name == NULL &&
                 trust_find(ledger->trust, from->row) != NULL;
    if (!stays && name != NULL && !connects(ledger, name, from->key, &stays))
        return false;
    for (int32_t k = 0; k < ledger->trust->count && !stays; k++) {
        int32_t to = ledger->trust->rows[k].to;
        const char *other = to == from->row ? NULL : find_name(ledger, to);
        const struct resident *before = find_resident(all, count, to);
        bool fits = false, held = false;
        if (to == TRUST_SERVER || other == NULL)
            continue;
        if (!connects(ledger, other, from->key, &fits) ||
            (fits && before != NULL &&
             !connects(ledger, other, before->key, &held)))
            return false;
        if (fits && !held) {
            from->to = to;
            return true;
        }
    }
    return true;
}

/* The row that a key has moved to goes on with it, and with what the row had,
 * unless that has moved too. */
static bool move(struct ledger *ledger, const struct resident *all,
                 int32_t count, const struct resident *from)
{
    const struct resident *before = find_resident(all, count, from->to);
    return (before == NULL || before->to >= 0 ||
            add_edge(ledger, before->key, from->key, false)) &&
           run_with(ledger,
                    "INSERT INTO principal VALUES (?3, ?2) ON CONFLICT (row)"
                    " DO UPDATE SET key = excluded.key",
                    from->to, NULL, from->key);
}

static bool move_all(struct ledger *ledger, const struct resident *all,
                     int32_t count)
{
    for (int32_t k = 0; k < count; k++)
        if (all[k].to >= 0 &&
            !run_with(ledger, "DELETE FROM principal WHERE row = ?3",
                      all[k].row, NULL, NULL))
            return false;
    for (int32_t k = 0; k < count; k++)
        if (all[k].to >= 0 && !move(ledger, all, count, &all[k]))
            return false;
    return true;
}

enum pricer_status ledger_use_trust(struct ledger *ledger,
                                    const struct trust *trust, int32_t own,
                                    struct pricer_fault *fault)
{
    struct resident *all = NULL;
    int32_t count = 0;
    bool any = false;
    ledger->trust = trust;
    ledger->own = own;
    ledger->sums_fit = false;
    bool good = list_residents(ledger, &all, &count);
    for (int32_t k = 0; k < count && good; k++) {
        good = find_move(ledger, all, count, &all[k]);
        any = any || all[k].to >= 0;
    }
    if (good && any) {
        good = ledger_run(ledger, "BEGIN IMMEDIATE") &&
               move_all(ledger, all, count) && ledger_run(ledger, "COMMIT");
        if (!good) {
            enum pricer_status status = ledger_fail(ledger, fault);
            ledger_run(ledger, "ROLLBACK");
            free(all);
            return status;
        }
    }
    free(all);
    return good ? PRICER_OK : ledger_fail(ledger, fault);
}
