/*
 * From numbers in CSV to a matrix: a vector a line, in the order of the nodes.
 */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

/* Write a complaint about the line at hand. */
static enum pricer_status refuse(const struct pri_lines *lines,
                                 struct pricer_fault *fault, const char *format,
                                 ...)
{
    va_list arguments;
    va_start(arguments, format);
    pri_fault_list(fault, PRICER_FORMAT, format, arguments);
    va_end(arguments);
    pri_fault_locate(fault, lines->path, lines->line);
    return PRICER_FORMAT;
}

/*
 * Whether the first line is a header: none of its cells is a number. One that
 * has a column of node numbers is refused, as they would be taken for data.
 * *columns is how many cells there are.
 */
static enum pricer_status read_header(struct pri_lines *lines, bool *header,
                                      int64_t *columns,
                                      struct pricer_fault *fault)
{
    double number;
    bool node = false;
    *header = true;
    *columns = 0;
    for (char *cell; (cell = pri_lines_cell(lines)) != NULL; ++*columns) {
        node = node || strcmp(cell, "node") == 0;
        *header = *header && !pri_parse_number(cell, &number);
    }
    if (*header && node)
        return refuse(lines, fault,
                      "leave the column node out: rows are the nodes' vectors "
                      "in the order of the nodes, nothing but numbers");
    return PRICER_OK;
}

/* The numbers of the line at hand; `row` has room for `columns`. */
static enum pricer_status read_row(struct pri_lines *lines, int64_t columns,
                                   double *row, struct pricer_fault *fault)
{
    int64_t count = 0;
    for (char *cell; (cell = pri_lines_cell(lines)) != NULL; count++)
        if (count < columns && !pri_parse_number(cell, &row[count]))
            return refuse(lines, fault, "'%.40s' %s", cell,
                          pri_not_number(cell));
    if (count != columns)
        return refuse(lines, fault,
                      "%lld numbers where the rows above have %lld",
                      (long long)count, (long long)columns);
    return PRICER_OK;
}

/* How many lines with cells are left. */
static int64_t count_rows(struct pri_lines lines)
{
    int64_t rows = 0;
    while (pri_lines_next(&lines))
        rows++;
    return rows;
}

/* The rows of the part, from the first line of numbers on. */
static enum pricer_status read_rows(struct pri_lines *lines,
                                    const struct pri_rows_wanted *part,
                                    struct pricer_matrix *matrix,
                                    struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    for (int64_t k = 0; k < part->last && status == PRICER_OK; k++) {
        pri_lines_next(lines);
        if (k >= part->first)
            status = read_row(lines, matrix->columns,
                              (double *)matrix->values +
                                  (k - part->first) * matrix->columns,
                              fault);
    }
    return status;
}

enum pricer_status pri_text_read(struct pri_stream *stream,
                                 struct pri_rows_wanted *part,
                                 struct pricer_matrix **matrix,
                                 struct pricer_fault *fault)
{
    struct pri_lines lines;
    struct pricer_matrix *made = NULL;
    bool header = false;
    int64_t columns = 0;
    enum pricer_status status = pri_lines_load(stream, &lines, fault);
    if (status != PRICER_OK)
        return status;
    /* Reading the cells of the first line cuts it up: a copy is looked at. */
    struct pri_lines first = lines;
    if (pri_lines_next(&first)) {
        size_t length = (size_t)(first.end - first.at);
        char *copy = strndup(first.at, length);
        if (copy == NULL) {
            status = pri_fault(fault, PRICER_MEMORY, "out of memory");
            goto done;
        }
        first.at = copy;
        first.end = copy + length;
        status = read_header(&first, &header, &columns, fault);
        free(copy);
    }
    if (status == PRICER_OK && header)
        pri_lines_next(&lines);
    pri_part_choose(part, count_rows(lines));
    if (status == PRICER_OK && part->rows == 0)
        status = pri_stream_fault(stream, fault,
                                  "there is no row of numbers: this is neither "
                                  ".npy nor IDX nor CIFAR-10 in binary (.bin) "
                                  "nor CSV");
    if (status == PRICER_OK)
        status = pricer_matrix_new(part->last - part->first, columns,
                                   PRICER_FLOAT64, &made, fault);
    if (status == PRICER_OK)
        status = read_rows(&lines, part, made, fault);
    if (status == PRICER_OK) {
        *matrix = made;
        made = NULL;
    }
done:
    pricer_matrix_free(made);
    pri_lines_free(&lines);
    return status;
}
