/*
 * pricer export: from a study to one CSV file per table, and a .npy matrix of
 * each table whose columns are all numbers.
 */
#include "common/options.h"
#include "common/program.h"
#include "verbs.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct usage usage = {
    "export", "STUDY",
    "Write every table of a study as CSV, and as a NumPy matrix (float64, the\n"
    "columns of the CSV in their order) where all its columns are numbers.\n"
    "Blobs are left out of the CSV.",
    "pricer export ten.pricer --to ten/"};

/* The cells of one table as they pass by on their way into a matrix. */
struct matrix {
    double *values;
    int64_t count, room;
    bool numeric;
};

static bool keep(struct matrix *matrix, double value)
{
    if (matrix->count == matrix->room) {
        int64_t room = 2 * matrix->room + 1024;
        double *values = realloc(matrix->values, (size_t)room * sizeof *values);
        if (values == NULL)
            return false;
        matrix->values = values;
        matrix->room = room;
    }
    matrix->values[matrix->count++] = value;
    return true;
}

/* Text is quoted where CSV needs it; numbers keep 17 digits. */
static void write_cell(FILE *out, sqlite3_stmt *row, int column)
{
    int type = sqlite3_column_type(row, column);
    if (type == SQLITE_INTEGER) {
        fprintf(out, "%lld", (long long)sqlite3_column_int64(row, column));
    } else if (type == SQLITE_FLOAT) {
        fprintf(out, "%.17g", sqlite3_column_double(row, column));
    } else if (type == SQLITE_TEXT) {
        const char *text = (const char *)sqlite3_column_text(row, column);
        bool plain = strpbrk(text, ",\"\r\n") == NULL;
        fputs(plain ? "" : "\"", out);
        for (; *text != '\0'; text++)
            fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
        fputs(plain ? "" : "\"", out);
    }
}

static bool write_row(FILE *out, sqlite3_stmt *row, struct matrix *matrix)
{
    bool room = true;
    for (int c = 0; c < sqlite3_column_count(row) && room; c++) {
        int type = sqlite3_column_type(row, c);
        fputs(c > 0 ? "," : "", out);
        write_cell(out, row, c);
        matrix->numeric =
            matrix->numeric && type != SQLITE_TEXT && type != SQLITE_BLOB;
        if (matrix->numeric)
            room =
                keep(matrix,
                     type == SQLITE_NULL ? NAN : sqlite3_column_double(row, c));
    }
    fputc('\n', out);
    return room;
}

static int write_csv(const char *path, sqlite3 *database, sqlite3_stmt *rows,
                     struct matrix *matrix)
{
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return program_fail("%s: %s", path, strerror(errno));
    for (int c = 0; c < sqlite3_column_count(rows); c++)
        fprintf(out, "%s%s", c > 0 ? "," : "", sqlite3_column_name(rows, c));
    fputc('\n', out);
    int step;
    bool room = true;
    while (room && (step = sqlite3_step(rows)) == SQLITE_ROW)
        room = write_row(out, rows, matrix);
    bool written = !ferror(out);
    written = fclose(out) == 0 && written;
    if (!room)
        return program_fail("out of memory");
    if (step != SQLITE_DONE)
        return program_fail("%s: %s", path, sqlite3_errmsg(database));
    return written ? 0 : program_fail("%s: %s", path, strerror(errno));
}

static int export_table(sqlite3 *database, const char *name, const char *folder)
{
    char path[4096];
    struct pricer_fault fault = {""};
    struct matrix matrix = {.numeric = true};
    sqlite3_stmt *rows = NULL;
    char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", name);
    int failed = 0;
    if (sql == NULL ||
        sqlite3_prepare_v2(database, sql, -1, &rows, NULL) != SQLITE_OK)
        failed = program_fail("%s: %s", name, sqlite3_errmsg(database));
    int columns = sqlite3_column_count(rows);
    snprintf(path, sizeof path, "%s/%s.csv", folder, name);
    if (!failed)
        failed = write_csv(path, database, rows, &matrix);
    if (!failed && matrix.numeric && matrix.count > 0) {
        struct pricer_matrix out = {.rows = matrix.count / columns,
                                    .columns = columns,
                                    .element = PRICER_FLOAT64,
                                    .values = matrix.values};
        snprintf(path, sizeof path, "%s/%s.npy", folder, name);
        enum pricer_status status = pricer_matrix_write_npy(&out, path, &fault);
        failed = status == PRICER_OK ? 0 : program_fault(status, &fault);
    }
    free(matrix.values);
    sqlite3_finalize(rows);
    sqlite3_free(sql);
    return failed;
}

static int export_all(sqlite3 *database, const char *folder)
{
    sqlite3_stmt *tables = NULL;
    int failed = 0;
    if (sqlite3_prepare_v2(database,
                           "SELECT name FROM sqlite_schema WHERE type = "
                           "'table' AND name NOT LIKE 'sqlite_%' "
                           "AND name NOT LIKE '%/%' ORDER BY rowid",
                           -1, &tables, NULL) != SQLITE_OK)
        return program_fail("%s", sqlite3_errmsg(database));
    while (!failed && sqlite3_step(tables) == SQLITE_ROW)
        failed = export_table(
            database, (const char *)sqlite3_column_text(tables, 0), folder);
    sqlite3_finalize(tables);
    return failed;
}

int verb_export(int argc, char **argv)
{
    const char *folder = NULL;
    const struct option options[] = {
        {"to", OPTION_TEXT, &folder, "DIR",
         "where the files go; made if it is not there (required)"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const char *operands[1];
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;
    if (folder == NULL) {
        fputs("pricer export: --to DIR is missing; --help explains\n", stderr);
        return 2;
    }

    struct pricer_fault fault = {""};
    struct pricer_study *study = NULL;
    enum pricer_status status =
        pricer_study_open(operands[0], false, &study, &fault);
    if (status != PRICER_OK)
        return program_fault(status, &fault);
    int failed = 0;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        failed = program_fail("%s: %s", folder, strerror(errno));
    else
        failed = export_all(pricer_study_handle(study), folder);
    pricer_study_close(study);
    return failed;
}
