/*
 * A ledger in words: from its accounts to a table or JSON.
 */
#include "ledger_file.h"
#include "common/daemon.h"
#include "common/program.h"
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

static void show_json(sqlite3_stmt *query, const struct trust *trust)
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
    json_close(&json, '}');
}

static void show_table(sqlite3_stmt *query, const struct trust *trust)
{
    struct table *table = table_new(
        5, (const char *const[]){"to", "releases", "mu", "last round", "key"});
    while (sqlite3_step(query) == SQLITE_ROW) {
        table_cell(table, "%s",
                   is_neighbour(query)
                       ? trust_label(trust, sqlite3_column_int(query, 1)).text
                       : server_label(query));
        table_cell(table, "%s", sqlite3_column_text(query, 2));
        table_cell(table, "%.6g", sqrt(sqlite3_column_double(query, 3)));
        table_cell(table, "%s", sqlite3_column_text(query, 4));
        table_cell(table, "%s", sqlite3_column_text(query, 0));
    }
    table_print(table, stdout);
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
    sqlite3_stmt *query = NULL;
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
             SQLITE_OK)
        daemon_say("%s: %s", path, sqlite3_errmsg(database));
    else
        result = 0;
    if (result == 0 && as_json)
        show_json(query, &trust);
    else if (result == 0)
        show_table(query, &trust);
    sqlite3_finalize(query);
    sqlite3_close_v2(database);
    trust_free(&trust);
    return result;
}
