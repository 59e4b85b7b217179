/*
 * A ledger in words: from its accounts to a table or JSON.
 */
#include "ledger_file.h"
#include "common/daemon.h"
#include "common/program.h"
#include "release/release.h"
#include "trust_file.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* A key that others follow is still the row's that has the last of them. */
static const char show_sql[] =
    "WITH RECURSIVE below (start, key) AS (SELECT DISTINCT key, key FROM "
    "account"
    " UNION SELECT b.start, f.key FROM follow f JOIN below b ON f.old = b.key)"
    "SELECT key, (SELECT p.row FROM below b JOIN principal p ON p.key = b.key"
    "  WHERE b.start = account.key ORDER BY p.key = b.start DESC, p.row"
    "  LIMIT 1) AS row, sum(releases), sum(mu * mu * releases),"
    " (SELECT max(round) FROM release WHERE release.key = account.key)"
    " FROM account GROUP BY key ORDER BY row < 0, row, key";

/* Whom an account is about, where that is not a neighbour. What the server gets in
 * all has one of its own. */
static const char *server_label(sqlite3_stmt *query)
{
    if (sqlite3_column_type(query, 1) == SQLITE_NULL)
        return "no row";
    return sqlite3_column_int(query, 1) == LEDGER_ALL ? "server, all"
                                                      : "server";
}

/* Whether the query is at the account of a neighbour. */
static bool is_neighbour(sqlite3_stmt *query)
{
    return sqlite3_column_type(query, 1) != SQLITE_NULL &&
           sqlite3_column_int(query, 1) >= 0;
}

/* Releases that everyone hears, an entry each. */
static const char entries_sql[] =
    "SELECT kind, dimension, t, e0, ratio, rounds, used, eps, delta FROM entry"
    " ORDER BY id";

/* All of them together. Sums are rounded up as ledger_account() does. */
struct everyone {
    double eps, delta;
    int64_t rounds, used;
};

static void add_entry(sqlite3_stmt *query, struct everyone *all)
{
    all->rounds += sqlite3_column_int64(query, 5);
    all->used += sqlite3_column_int64(query, 6);
    all->eps = ledger_add_up(all->eps, sqlite3_column_double(query, 7));
    all->delta = ledger_add_up(all->delta, sqlite3_column_double(query, 8));
}

static void entry_json(sqlite3_stmt *query, struct json *json)
{
    int kind = sqlite3_column_int(query, 0);
    json_open(json, NULL, '{');
    json_text(json, "release", pricer_word(PRICER_WORDS_RELEASE, kind));
    json_count(json, "dimension", sqlite3_column_int64(query, 1));
    if (kind == PRI_RELEASE_SPHERE) {
        json_number(json, "threshold", sqlite3_column_double(query, 2));
        json_number(json, "loss", sqlite3_column_double(query, 3));
    } else {
        json_number(json, "mu", sqlite3_column_double(query, 4));
    }
    json_count(json, "rounds", sqlite3_column_int64(query, 5));
    json_count(json, "released", sqlite3_column_int64(query, 6));
    json_number(json, "eps", sqlite3_column_double(query, 7));
    json_number(json, "delta", sqlite3_column_double(query, 8));
    json_close(json, '}');
}

static void entries_json(sqlite3_stmt *query, const struct trust *trust,
                         struct json *json)
{
    struct everyone all = {0};
    const struct trust_row *row = trust_find(trust, TRUST_EVERYONE);
    json_open(json, "everyone", '{');
    json_open(json, "entries", '[');
    while (sqlite3_step(query) == SQLITE_ROW) {
        add_entry(query, &all);
        entry_json(query, json);
    }
    json_close(json, ']');
    json_count(json, "rounds", all.rounds);
    json_count(json, "released", all.used);
    json_number(json, "eps", all.eps);
    json_number(json, "delta", all.delta);
    if (row != NULL) {
        json_number(json, "budget_eps", row->eps);
        json_number(json, "budget_delta", row->delta);
    }
    json_close(json, '}');
}

/* Returns how many there are. */
static int64_t entries_table(sqlite3_stmt *query, const struct trust *trust)
{
    struct everyone all = {0};
    const struct trust_row *row = trust_find(trust, TRUST_EVERYONE);
    struct table *table = NULL;
    while (sqlite3_step(query) == SQLITE_ROW) {
        bool sphere = sqlite3_column_int(query, 0) == PRI_RELEASE_SPHERE;
        if (table == NULL)
            table = table_new(6, (const char *const[]){"to everyone", "eps",
                                                       "delta", "rounds",
                                                       "released", "left"});
        add_entry(query, &all);
        if (sphere)
            table_cell(table, "sphere, d = %lld, t = %.6g, e0 = %.6g",
                       (long long)sqlite3_column_int64(query, 1),
                       sqlite3_column_double(query, 2),
                       sqlite3_column_double(query, 3));
        else
            table_cell(table, "gaussian, mu = %.6g",
                       sqlite3_column_double(query, 4));
        table_cell(table, "%.6g", sqlite3_column_double(query, 7));
        table_cell(table, "%.6g", sqlite3_column_double(query, 8));
        table_cell(table, "%s", sqlite3_column_text(query, 5));
        table_cell(table, "%s", sqlite3_column_text(query, 6));
        table_cell(table, "%lld",
                   (long long)(sqlite3_column_int64(query, 5) -
                               sqlite3_column_int64(query, 6)));
    }
    if (table == NULL)
        return 0;
    table_print(table, stdout);
    printf("everyone: eps = %g, delta = %g are taken", all.eps, all.delta);
    if (row != NULL)
        printf(", of eps = %g, delta = %g in the trust file", row->eps,
               row->delta);
    printf("; %lld of %lld rounds are released\n", (long long)all.used,
           (long long)all.rounds);
    return all.rounds;
}

static void show_json(sqlite3_stmt *query, sqlite3_stmt *entries,
                      const struct trust *trust)
{
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_open(&json, "accounts", '[');
    while (sqlite3_step(query) == SQLITE_ROW) {
        json_open(&json, NULL, '{');
        json_text(&json, "key", (const char *)sqlite3_column_text(query, 0));
        if (!is_neighbour(query)) {
            json_text(&json, "node", server_label(query));
        } else {
            int32_t node = sqlite3_column_int(query, 1);
            const struct trust_row *row = trust_find(trust, node);
            json_count(&json, "node", node);
            if (row != NULL && row->name[0] != '\0')
                json_text(&json, "name", row->name);
        }
        json_count(&json, "releases", sqlite3_column_int64(query, 2));
        json_number(&json, "mu", sqrt(sqlite3_column_double(query, 3)));
        json_count(&json, "last_round", sqlite3_column_int64(query, 4));
        json_close(&json, '}');
    }
    json_close(&json, ']');
    entries_json(entries, trust, &json);
    json_close(&json, '}');
}

static void show_table(sqlite3_stmt *query, sqlite3_stmt *entries,
                       const struct trust *trust)
{
    struct table *table = NULL;
    int64_t rows = 0;
    for (; sqlite3_step(query) == SQLITE_ROW; rows++) {
        if (table == NULL)
            table = table_new(5, (const char *const[]){"to", "releases", "mu",
                                                       "last round", "key"});
        table_cell(table, "%s",
                   is_neighbour(query)
                       ? trust_label(trust, sqlite3_column_int(query, 1)).text
                       : server_label(query));
        table_cell(table, "%s", sqlite3_column_text(query, 2));
        table_cell(table, "%.6g", sqrt(sqlite3_column_double(query, 3)));
        table_cell(table, "%s", sqlite3_column_text(query, 4));
        table_cell(table, "%s", sqlite3_column_text(query, 0));
    }
    if (table != NULL)
        table_print(table, stdout);
    if (entries_table(entries, trust) == 0 && rows == 0)
        puts("nothing was sent so far");
}

/* The version of a ledger, 0 for what is none. */
static int find_version(sqlite3 *database)
{
    sqlite3_stmt *query = NULL;
    int version = 0;
    if (sqlite3_prepare_v2(database,
                           "SELECT user_version FROM pragma_user_version, "
                           "pragma_application_id WHERE application_id = ?",
                           -1, &query, NULL) == SQLITE_OK) {
        sqlite3_bind_int(query, 1, LEDGER_ID);
        if (sqlite3_step(query) == SQLITE_ROW)
            version = sqlite3_column_int(query, 0);
    }
    sqlite3_finalize(query);
    return version;
}

int ledger_show(const char *path, const char *names, bool as_json)
{
    struct trust trust = {0};
    sqlite3 *database = NULL;
    sqlite3_stmt *query = NULL, *entries = NULL;
    int result = 1, version = 0;
    if (names != NULL) /* without it there are numbers */
        trust_read(names, &trust, NULL);
    if (access(path, R_OK) != 0)
        daemon_say("%s: %s", path, strerror(errno));
    else if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL) !=
                 SQLITE_OK ||
             sqlite3_busy_timeout(database, 2000) != SQLITE_OK)
        daemon_say("%s: %s", path, sqlite3_errmsg(database));
    else if ((version = find_version(database)) > 0 && version < LEDGER_VERSION)
        daemon_say("%s: of an earlier version of pricer; start its node once, "
                   "or pricer-node --check, to bring it up to date",
                   path);
    else if (sqlite3_prepare_v2(database, show_sql, -1, &query, NULL) !=
                 SQLITE_OK ||
             sqlite3_prepare_v2(database, entries_sql, -1, &entries, NULL) !=
                 SQLITE_OK)
        daemon_say("%s: %s", path, sqlite3_errmsg(database));
    else
        result = 0;
    if (result == 0 && as_json)
        show_json(query, entries, &trust);
    else if (result == 0)
        show_table(query, entries, &trust);
    sqlite3_finalize(query);
    sqlite3_finalize(entries);
    sqlite3_close_v2(database);
    trust_free(&trust);
    return result;
}
