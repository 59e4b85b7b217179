/*
 * pricer show: from a study to what it holds, in words.
 */
#include "common/options.h"
#include "common/program.h"
#include "verbs.h"

#include <sqlite3.h>
#include <string.h>

static const struct usage usage = {
    "show", "STUDY",
    "Say what a study holds: its settings, and how many rows each of its\n"
    "tables has.",
    "pricer show ten.pricer"};

/* Every setting but the scenario's text, which is long. */
static const char settings_sql[] =
    "SELECT key, value FROM setting WHERE key <> 'scenario' ORDER BY key";
static const char scenario_sql[] =
    "SELECT value FROM setting WHERE key = 'scenario'";
static const char tables_sql[] =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND "
    "name NOT LIKE 'sqlite_%' ORDER BY rowid";

static void json_cell(struct json *json, const char *key, sqlite3_stmt *row,
                      int column)
{
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
        json_count(json, key, sqlite3_column_int64(row, column));
        break;
    case SQLITE_FLOAT:
        json_number(json, key, sqlite3_column_double(row, column));
        break;
    default:
        json_text(json, key, (const char *)sqlite3_column_text(row, column));
    }
}

static int64_t count_rows(sqlite3 *database, const char *table)
{
    sqlite3_stmt *query = NULL;
    char *sql = sqlite3_mprintf("SELECT count(*) FROM \"%w\"", table);
    int64_t count = -1;
    if (sql != NULL &&
        sqlite3_prepare_v2(database, sql, -1, &query, NULL) == SQLITE_OK &&
        sqlite3_step(query) == SQLITE_ROW)
        count = sqlite3_column_int64(query, 0);
    sqlite3_finalize(query);
    sqlite3_free(sql);
    return count;
}

static void show_json(sqlite3 *database, sqlite3_stmt *settings,
                      sqlite3_stmt *tables)
{
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_open(&json, "settings", '{');
    while (sqlite3_step(settings) == SQLITE_ROW)
        json_cell(&json, (const char *)sqlite3_column_text(settings, 0),
                  settings, 1);
    json_close(&json, '}');
    json_open(&json, "rows", '{');
    while (sqlite3_step(tables) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(tables, 0);
        json_count(&json, name, count_rows(database, name));
    }
    json_close(&json, '}');
    json_close(&json, '}');
}

static void show_table(sqlite3 *database, sqlite3_stmt *settings,
                       sqlite3_stmt *tables)
{
    struct table *table =
        table_new(2, (const char *const[]){"setting", "value"});
    while (sqlite3_step(settings) == SQLITE_ROW) {
        table_cell(table, "%s", sqlite3_column_text(settings, 0));
        table_cell(table, "%s", sqlite3_column_text(settings, 1));
    }
    table_print(table, stdout);
    putchar('\n');
    table = table_new(2, (const char *const[]){"table", "rows"});
    while (sqlite3_step(tables) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(tables, 0);
        table_cell(table, "%s", name);
        table_cell(table, "%lld", (long long)count_rows(database, name));
    }
    table_print(table, stdout);
}

int verb_show(int argc, char **argv)
{
    bool as_json = false, scenario = false;
    const struct option options[] = {
        {"scenario", OPTION_FLAG, &scenario, NULL,
         "print the scenario the study was made from"},
        {"json", OPTION_FLAG, &as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const char *operands[1];
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;

    struct pricer_fault fault = {""};
    struct pricer_study *study = NULL;
    enum pricer_status status =
        pricer_study_open(operands[0], false, &study, &fault);
    if (status != PRICER_OK)
        return program_fault(status, &fault);
    sqlite3 *database = pricer_study_handle(study);
    sqlite3_stmt *settings = NULL, *tables = NULL;
    const char *sql = scenario ? scenario_sql : settings_sql;
    int failed = sqlite3_prepare_v2(database, sql, -1, &settings, NULL) ||
                 sqlite3_prepare_v2(database, tables_sql, -1, &tables, NULL);
    if (failed)
        program_fail("%s: %s", operands[0], sqlite3_errmsg(database));
    else if (scenario)
        while (sqlite3_step(settings) == SQLITE_ROW)
            fputs((const char *)sqlite3_column_text(settings, 0), stdout);
    else if (as_json)
        show_json(database, settings, tables);
    else
        show_table(database, settings, tables);
    sqlite3_finalize(settings);
    sqlite3_finalize(tables);
    pricer_study_close(study);
    return failed ? 1 : 0;
}
