/*
 * The tables of a study as they are: their names, and any of them cell by cell,
 * for whoever passes them on without knowing what they mean.
 */
#include "study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A table by its name, whatever that is. The caller finalizes. */
static enum pricer_status prepare(const struct pricer_study *study,
                                  const char *format, const char *table,
                                  sqlite3_stmt **query,
                                  struct pricer_fault *fault)
{
    char *sql = sqlite3_mprintf(format, table);
    if (sql == NULL)
        return PRICER_MEMORY;
    enum pricer_status status = pri_study_prepare(study, sql, query, fault);
    sqlite3_free(sql);
    return status;
}

/* --------------------------------------------------------------- tables -- */

void pricer_tables_free(struct pricer_table *tables, int32_t count)
{
    for (int32_t k = 0; k < count; k++)
        free(tables[k].name);
    free(tables);
}

static enum pricer_status count_rows(const struct pricer_study *study,
                                     const char *table, int64_t *rows,
                                     struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    enum pricer_status status =
        prepare(study, "SELECT count(*) FROM \"%w\"", table, &query, fault);
    if (status != PRICER_OK)
        return status;
    if (sqlite3_step(query) == SQLITE_ROW)
        *rows = sqlite3_column_int64(query, 0);
    else
        status = pri_study_fault(study, fault);
    sqlite3_finalize(query);
    return status;
}

/* Names and rows of at most `room` tables. */
static enum pricer_status list_tables(const struct pricer_study *study,
                                      sqlite3_stmt *query, int64_t room,
                                      struct pricer_table *tables,
                                      int32_t *count,
                                      struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    int step = SQLITE_DONE;
    while (status == PRICER_OK && *count < room &&
           (step = sqlite3_step(query)) == SQLITE_ROW) {
        struct pricer_table *table = &tables[*count];
        table->name = strdup(pri_study_text(query, 0));
        if (table->name == NULL)
            return PRICER_MEMORY;
        ++*count;
        status = count_rows(study, table->name, &table->rows, fault);
    }
    if (status == PRICER_OK && step != SQLITE_ROW && step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    return status;
}

enum pricer_status pricer_study_tables(struct pricer_study *study,
                                       struct pricer_table **tables,
                                       int32_t *count,
                                       struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    struct pricer_table *made = NULL;
    int64_t room = 0;
    int32_t found = 0;
    enum pricer_status status = pri_study_count(
        study, "SELECT count(*) FROM sqlite_schema", &room, fault);
    if (status == PRICER_OK)
        status = pri_study_prepare(
            study,
            "SELECT name FROM sqlite_schema WHERE type = 'table'"
            " AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
            &query, fault);
    if (status == PRICER_OK && (made = pri_alloc(room, sizeof *made)) == NULL)
        status = PRICER_MEMORY;
    if (status == PRICER_OK)
        status = list_tables(study, query, room, made, &found, fault);
    sqlite3_finalize(query);
    if (status != PRICER_OK) {
        pricer_tables_free(made, found);
        return status;
    }
    *tables = made;
    *count = found;
    return PRICER_OK;
}

/* ---------------------------------------------------------------- cells -- */

static struct pricer_cell read_cell(sqlite3_stmt *query, int column)
{
    struct pricer_cell cell = {.number = NAN, .text = ""};
    switch (sqlite3_column_type(query, column)) {
    case SQLITE_INTEGER:
        cell.kind = PRICER_CELL_COUNT;
        cell.count = sqlite3_column_int64(query, column);
        cell.number = (double)cell.count;
        break;
    case SQLITE_FLOAT:
        cell.kind = PRICER_CELL_NUMBER;
        cell.number = sqlite3_column_double(query, column);
        break;
    case SQLITE_TEXT:
        cell.kind = PRICER_CELL_TEXT;
        cell.text = pri_study_text(query, column);
        break;
    case SQLITE_BLOB:
        cell.kind = PRICER_CELL_BYTES;
        break;
    }
    return cell;
}

static enum pricer_status visit_columns(sqlite3_stmt *query, int32_t count,
                                        const struct pricer_visitor *visitor)
{
    if (visitor->columns == NULL)
        return PRICER_OK;
    const char **names = pri_alloc(count, sizeof *names);
    enum pricer_status status = names == NULL ? PRICER_MEMORY : PRICER_OK;
    for (int32_t c = 0; c < count && status == PRICER_OK; c++)
        if ((names[c] = sqlite3_column_name(query, c)) == NULL)
            status = PRICER_MEMORY;
    if (status == PRICER_OK &&
        !visitor->columns(visitor->context, names, count))
        status = PRICER_STOPPED;
    free(names);
    return status;
}

static enum pricer_status visit_rows(const struct pricer_study *study,
                                     sqlite3_stmt *query, int32_t count,
                                     const struct pricer_visitor *visitor,
                                     struct pricer_fault *fault)
{
    struct pricer_cell *cells = pri_alloc(count, sizeof *cells);
    if (cells == NULL)
        return PRICER_MEMORY;
    enum pricer_status status = PRICER_OK;
    int step = SQLITE_DONE;
    while (status == PRICER_OK && (step = sqlite3_step(query)) == SQLITE_ROW) {
        for (int32_t c = 0; c < count; c++)
            cells[c] = read_cell(query, c);
        if (!visitor->row(visitor->context, cells, count))
            status = PRICER_STOPPED;
    }
    if (status == PRICER_OK && step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    free(cells);
    return status;
}

enum pricer_status pricer_study_visit(struct pricer_study *study,
                                      const char *table,
                                      const struct pricer_visitor *visitor,
                                      struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    enum pricer_status status =
        prepare(study, "SELECT * FROM \"%w\"", table, &query, fault);
    if (status != PRICER_OK)
        return status;
    int32_t count = sqlite3_column_count(query);
    status = visit_columns(query, count, visitor);
    if (status == PRICER_OK)
        status = visit_rows(study, query, count, visitor, fault);
    sqlite3_finalize(query);
    return status;
}
