/*
 * A ledger in words: from its accounts to a table or JSON.
 */
#include "ledger.h"
#include "common/daemon.h"
#include "common/program.h"
#include "trust_file.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

static const char show_sql[] =
    "SELECT key, (SELECT min(node) FROM neighbour"
    "  WHERE neighbour.key = account.key) AS node, sum(releases),"
    " sum(mu * mu * releases),"
    " (SELECT max(round) FROM release WHERE release.key = account.key)"
    " FROM account GROUP BY key ORDER BY node, key";

/* Whom an account is about, where that is not a neighbour. What the server gets in
 * all has one of its own. */
static const char *server_label(sqlite3_stmt *query)
{
    const char *key = (const char *)sqlite3_column_text(query, 0);
    return key != NULL && strncmp(key, "all to ", 7) == 0 ? "server, all"
                                                          : "server";
}

static void show_json(sqlite3_stmt *query, const struct trust *trust)
{
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_open(&json, "accounts", '[');
    while (sqlite3_step(query) == SQLITE_ROW) {
        json_open(&json, NULL, '{');
        json_text(&json, "key", (const char *)sqlite3_column_text(query, 0));
        if (sqlite3_column_type(query, 1) == SQLITE_NULL) {
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
                   sqlite3_column_type(query, 1) == SQLITE_NULL
                       ? server_label(query)
                       : trust_label(trust, sqlite3_column_int(query, 1)).text);
        table_cell(table, "%s", sqlite3_column_text(query, 2));
        table_cell(table, "%.6g", sqrt(sqlite3_column_double(query, 3)));
        table_cell(table, "%s", sqlite3_column_text(query, 4));
        table_cell(table, "%s", sqlite3_column_text(query, 0));
    }
    table_print(table, stdout);
}

int ledger_show(const char *path, const char *names, bool as_json)
{
    struct trust trust = {0};
    sqlite3 *database = NULL;
    sqlite3_stmt *query = NULL;
    int result = 1;
    if (names != NULL) /* without it there are numbers */
        trust_read(names, &trust, NULL);
    if (access(path, R_OK) != 0)
        daemon_say("%s: %s", path, strerror(errno));
    else if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL) !=
                 SQLITE_OK ||
             sqlite3_busy_timeout(database, 2000) != SQLITE_OK ||
             sqlite3_prepare_v2(database, show_sql, -1, &query, NULL) !=
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
