/*
 * pricer export: from a study to one CSV file per table, and a .npy matrix of
 * each table whose columns are all numbers.
 */
#include "common/options.h"
#include "common/program.h"
#include "verbs.h"

#include <errno.h>
#include <math.h>
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
    int64_t count;
    int64_t room;
    int32_t columns;
    bool numeric; /* whether all cells so far are numbers or empty */
};

/* One table on its way into a file. */
struct sheet {
    FILE *out;
    struct matrix matrix;
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
static void write_cell(FILE *out, const struct pricer_cell *cell)
{
    if (cell->kind == PRICER_CELL_COUNT) {
        fprintf(out, "%lld", (long long)cell->count);
    } else if (cell->kind == PRICER_CELL_NUMBER) {
        fprintf(out, "%.17g", cell->number);
    } else {
        const char *text = cell->text;
        bool plain = strpbrk(text, ",\"\r\n") == NULL;
        fputs(plain ? "" : "\"", out);
        for (; *text != '\0'; text++)
            fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
        fputs(plain ? "" : "\"", out);
    }
}

static bool write_heading(void *context, const char *const *names,
                          int32_t count)
{
    struct sheet *sheet = context;
    sheet->matrix.columns = count;
    for (int32_t c = 0; c < count; c++)
        fprintf(sheet->out, "%s%s", c > 0 ? "," : "", names[c]);
    fputc('\n', sheet->out);
    return true;
}

static bool write_row(void *context, const struct pricer_cell *cells,
                      int32_t count)
{
    struct sheet *sheet = context;
    struct matrix *matrix = &sheet->matrix;
    bool room = true;
    for (int32_t c = 0; c < count && room; c++) {
        fputs(c > 0 ? "," : "", sheet->out);
        write_cell(sheet->out, &cells[c]);
        matrix->numeric = matrix->numeric && cells[c].kind < PRICER_CELL_TEXT;
        if (matrix->numeric)
            room = keep(matrix, cells[c].number);
    }
    fputc('\n', sheet->out);
    return room;
}

static int write_csv(struct pricer_study *study, const char *table,
                     const char *path, struct matrix *matrix)
{
    struct pricer_fault fault = {""};
    struct sheet sheet = {.out = fopen(path, "w"), .matrix.numeric = true};
    const struct pricer_visitor visitor = {write_heading, write_row, &sheet};
    if (sheet.out == NULL)
        return program_fail("%s: %s", path, strerror(errno));
    enum pricer_status status =
        pricer_study_visit(study, table, &visitor, &fault);
    bool written = !ferror(sheet.out);
    written = fclose(sheet.out) == 0 && written;
    *matrix = sheet.matrix;
    if (status == PRICER_STOPPED)
        return program_fail("out of memory");
    if (status != PRICER_OK)
        return program_fault(status, &fault);
    return written ? 0 : program_fail("%s: %s", path, strerror(errno));
}

static int write_matrix(const struct matrix *matrix, const char *path)
{
    struct pricer_fault fault = {""};
    struct pricer_matrix out = {.rows = matrix->count / matrix->columns,
                                .columns = matrix->columns,
                                .element = PRICER_FLOAT64,
                                .values = matrix->values};
    enum pricer_status status = pricer_matrix_write_npy(&out, path, &fault);
    return status == PRICER_OK ? 0 : program_fault(status, &fault);
}

/* What was written. */
struct written {
    int tables, matrices;
};

static int export_table(struct pricer_study *study, const char *name,
                        const char *folder, struct written *written)
{
    char path[4096];
    struct matrix matrix = {0};
    snprintf(path, sizeof path, "%s/%s.csv", folder, name);
    int failed = write_csv(study, name, path, &matrix);
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    written->tables++;
    if (!failed && matrix.numeric && matrix.count > 0) {
        failed = write_matrix(&matrix, path);
        written->matrices++;
    }
    free(matrix.values);
    return failed;
}

/* Every table whose name can be a file's. */
static int export_all(struct pricer_study *study, const char *folder)
{
    struct pricer_fault fault = {""};
    struct pricer_table *tables = NULL;
    int32_t count = 0;
    struct written written = {0, 0};
    enum pricer_status status =
        pricer_study_tables(study, &tables, &count, &fault);
    int failed = status == PRICER_OK ? 0 : program_fault(status, &fault);
    for (int32_t k = 0; k < count && !failed; k++)
        if (strchr(tables[k].name, '/') == NULL)
            failed = export_table(study, tables[k].name, folder, &written);
    pricer_tables_free(tables, count);
    if (!failed)
        printf("%s: %d tables as CSV, %d of them also as .npy\n", folder,
               written.tables, written.matrices);
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
        failed = export_all(study, folder);
    pricer_study_close(study);
    return failed;
}
