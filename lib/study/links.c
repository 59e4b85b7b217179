/*
 * The links of a network as a table that SQLite reads by itself, so that
 * storing them is one statement: INSERT ... SELECT.
 *
 * Binding and stepping a statement for each of millions of rows costs more than
 * writing them; here SQLite's own loop asks for one number at a time and the
 * network answers from its arrays.
 */
#include "study.h"

#include <stdlib.h>

/* SQLite keeps these for us: the table, and a place in it. */
struct links_table {
    sqlite3_vtab base;
    const struct pri_link_source *source;
};
struct links_cursor {
    sqlite3_vtab_cursor base;
    const struct pri_link_source *source;
    int32_t link;
};

static int links_connect(sqlite3 *database, void *source, int argc,
                         const char *const *argv, sqlite3_vtab **table,
                         char **message)
{
    (void)argc;
    (void)argv;
    (void)message;
    struct links_table *made = sqlite3_malloc(sizeof *made);
    if (made == NULL)
        return SQLITE_NOMEM;
    *made = (struct links_table){.source = source};
    *table = &made->base;
    return sqlite3_declare_vtab(database,
                                "CREATE TABLE links (link, from_node, to_node,"
                                " p, joint, eps, delta)");
}

static int links_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

/* It is read from the first link to the last, whatever the query. */
static int links_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    struct links_table *links = (struct links_table *)table;
    info->estimatedRows = links->source->network->links;
    info->estimatedCost = links->source->network->links;
    return SQLITE_OK;
}

static int links_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor)
{
    struct links_cursor *made = sqlite3_malloc(sizeof *made);
    if (made == NULL)
        return SQLITE_NOMEM;
    *made =
        (struct links_cursor){.source = ((struct links_table *)table)->source};
    *cursor = &made->base;
    return SQLITE_OK;
}

static int links_close(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int links_filter(sqlite3_vtab_cursor *cursor, int number,
                        const char *text, int argc, sqlite3_value **argv)
{
    (void)number;
    (void)text;
    (void)argc;
    (void)argv;
    ((struct links_cursor *)cursor)->link = 0;
    return SQLITE_OK;
}

static int links_next(sqlite3_vtab_cursor *cursor)
{
    struct links_cursor *at = (struct links_cursor *)cursor;
    at->link++;
    double done = (double)at->link / at->source->network->links;
    if (at->link % 65536 == 0 && !pri_tick(at->source->watch, done))
        return SQLITE_INTERRUPT;
    return SQLITE_OK;
}

static int links_eof(sqlite3_vtab_cursor *cursor)
{
    const struct links_cursor *at = (const struct links_cursor *)cursor;
    return at->link >= at->source->network->links;
}

static int links_column(sqlite3_vtab_cursor *cursor, sqlite3_context *out,
                        int column)
{
    const struct links_cursor *at = (const struct links_cursor *)cursor;
    const struct pricer_network *net = at->source->network;
    const double *const numbers[] = {net->p, net->joint, net->eps, net->delta};
    if (column == 0)
        sqlite3_result_int(out, at->link);
    else if (column < 3)
        sqlite3_result_int(out, (column == 1 ? net->from : net->to)[at->link]);
    else
        sqlite3_result_double(out, numbers[column - 3][at->link]);
    return SQLITE_OK;
}

static int links_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *row)
{
    *row = ((const struct links_cursor *)cursor)->link;
    return SQLITE_OK;
}

static const sqlite3_module links_module = {
    .xConnect = links_connect,
    .xBestIndex = links_best_index,
    .xDisconnect = links_disconnect,
    .xOpen = links_open,
    .xClose = links_close,
    .xFilter = links_filter,
    .xNext = links_next,
    .xEof = links_eof,
    .xColumn = links_column,
    .xRowid = links_rowid,
};

enum pricer_status pri_study_store_links(const struct pricer_study *study,
                                         const struct pricer_network *network,
                                         const struct pricer_watch *watch,
                                         struct pricer_fault *fault)
{
    struct pri_link_source source = {network, watch};
    if (!pri_tick(watch, 0))
        return PRICER_STOPPED;
    if (sqlite3_create_module(study->database, "links_of_network",
                              &links_module, &source) != SQLITE_OK)
        return pri_study_fault(study, fault);
    enum pricer_status status = pri_study_run(
        study, "INSERT INTO link SELECT * FROM links_of_network", fault);
    sqlite3_create_module(study->database, "links_of_network", NULL, NULL);
    return status;
}
