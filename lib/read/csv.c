/*
 * From a CSV file to rows of numbers, each cell under the column that the
 * header gives it, every fault with file and line.
 *
 * libcsv splits the text into cells; here they get their meaning. Its
 * callbacks cannot stop it, so after a fault they do nothing until the piece
 * of the file in hand is used up.
 */
#include "read.h"
#include "pricer_input.h"

#include <csv.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Nothing that spells a number is longer; an unclosed quotation mark is found
 * after so many bytes and not at the end of the file. */
#define CELL_MOST 4096
#define PIECE (1 << 16)

struct table {
    const struct pri_csv *csv;
    int header[PRI_COLUMNS_MOST]; /* the column of each cell */
    int header_cells;             /* 0 until the header was read */
    int cells;                    /* so far in this row */
    double value[PRI_COLUMNS_MOST];
    int64_t line;      /* where this row begins */
    int64_t more;      /* lines inside the quoted names of the header */
    bool after_return; /* a line feed here belongs to the line before */
    enum pricer_status status;
    struct pricer_fault *fault;
};

static void fail(struct table *table, enum pricer_status status)
{
    table->status = status;
    pri_fault_locate(table->fault, table->csv->path, table->line);
}

/* A cell as a message can show it: short, and printable. */
static const char *shown(const char *cell, size_t length, char room[48])
{
    size_t kept = length < 40 ? length : 40;
    for (size_t i = 0; i < kept; i++) {
        unsigned char byte = (unsigned char)cell[i];
        room[i] = byte < 32 || byte == 127 ? '?' : cell[i];
    }
    strcpy(room + kept, kept < length ? "..." : "");
    return room;
}

static void read_number(struct table *table, const struct pri_column *column,
                        const char *cell, size_t length, double *value)
{
    char room[48];
    double number = NAN;
    const char *wrong = NULL;
    if (!pri_parse_number(cell, &number))
        wrong =
            column->kind == PRI_COLUMN_INDEX
                ? "is not a number: nodes are numbered from 0, and names have "
                  "a column of their own"
                : pri_not_number(cell);
    else if (column->kind == PRI_COLUMN_INDEX &&
             !(number >= 0 && number <= 0x1p53 && number == floor(number)))
        wrong = "is not a whole number from 0";
    if (wrong != NULL) {
        pri_fault(table->fault, PRICER_VALUE, "%s = %s %s", column->name,
                  shown(cell, length, room), wrong);
        fail(table, PRICER_VALUE);
        return;
    }
    *value = number;
}

/* A text as it stands, without control characters, which no name has. */
static void read_text(struct table *table, const struct pri_column *column,
                      const char *cell, size_t length, double *value)
{
    const struct pri_csv *csv = table->csv;
    char room[48];
    size_t plain = 0;
    while (plain < length && (unsigned char)cell[plain] >= 32 &&
           (unsigned char)cell[plain] != 127)
        plain++;
    if (plain == length && length < csv->text_room) {
        memcpy(csv->text, cell, length);
        csv->text[length] = '\0';
        *value = (double)length;
        return;
    }
    pri_fault(table->fault, PRICER_VALUE, "%s = %s %s", column->name,
              shown(cell, length, room),
              plain < length ? "holds a character that cannot be printed"
                             : "is too long");
    fail(table, PRICER_VALUE);
}

const char *pri_not_number(const char *cell)
{
    char point[48], *comma = strchr(cell, ',');
    double number;
    if (comma == NULL || strlen(cell) >= sizeof point)
        return "is not a number";
    strcpy(point, cell);
    point[comma - cell] = '.';
    return pri_parse_number(point, &number)
               ? "is not a number: write a decimal point, not a comma"
               : "is not a number";
}

/* "from, to, p": the names a header may hold. */
static void list_columns(const struct pri_csv *csv, char room[200])
{
    size_t used = 0;
    room[0] = '\0';
    for (int c = 0; c < csv->column_count && used < 150; c++)
        used += (size_t)snprintf(room + used, 200 - used, "%s%.40s",
                                 c > 0 ? ", " : "", csv->columns[c].name);
}

/* A cell of the header: it must name a column, and none twice. */
static void read_name(struct table *table, const char *cell, size_t length)
{
    const struct pri_csv *csv = table->csv;
    char room[48], names[200];
    int column = 0;
    for (size_t i = 0; i < length; i++)
        table->more += cell[i] == '\n';
    while (column < csv->column_count &&
           strcmp(csv->columns[column].name, cell) != 0)
        column++;
    if (column == csv->column_count) {
        const char *near =
            pricer_word_nearest(cell, csv->columns, (size_t)csv->column_count,
                                sizeof *csv->columns);
        list_columns(csv, names);
        pri_fault(table->fault, PRICER_FORMAT,
                  "there is no column '%s'%s%s%s; the columns are %s",
                  shown(cell, length, room),
                  near != NULL ? " (did you mean " : "",
                  near != NULL ? near : "", near != NULL ? "?)" : "", names);
        fail(table, PRICER_FORMAT);
        return;
    }
    for (int k = 0; k < table->cells; k++)
        if (table->header[k] == column) {
            pri_fault(table->fault, PRICER_FORMAT, "the column %s stands twice",
                      csv->columns[column].name);
            fail(table, PRICER_FORMAT);
            return;
        }
    table->header[table->cells++] = column;
}

static void take_cell(void *text, size_t length, void *context)
{
    struct table *table = context;
    table->after_return = false;
    if (table->status != PRICER_OK)
        return;
    if (table->header_cells == 0) {
        read_name(table, text, length);
        return;
    }
    if (table->cells < table->header_cells && length > 0) {
        int column = table->header[table->cells];
        bool words = table->csv->columns[column].kind == PRI_COLUMN_TEXT;
        (words ? read_text : read_number)(table, &table->csv->columns[column],
                                          text, length, &table->value[column]);
    }
    table->cells++;
}

static void end_header(struct table *table)
{
    const struct pri_csv *csv = table->csv;
    table->header_cells = table->cells;
    for (int c = 0; c < csv->column_count; c++) {
        bool there = false;
        for (int k = 0; k < table->cells; k++)
            there |= table->header[k] == c;
        if (csv->columns[c].required && !there) {
            pri_fault(table->fault, PRICER_FORMAT, "the column %s is missing",
                      csv->columns[c].name);
            fail(table, PRICER_FORMAT);
            return;
        }
    }
    table->line += table->more;
}

static void end_row(struct table *table)
{
    const struct pri_csv *csv = table->csv;
    if (table->header_cells == 0) {
        end_header(table);
    } else if (table->cells != table->header_cells) {
        pri_fault(table->fault, PRICER_FORMAT,
                  "%d cell%s where the header has %d", table->cells,
                  table->cells == 1 ? "" : "s", table->header_cells);
        fail(table, PRICER_FORMAT);
    } else {
        enum pricer_status status =
            csv->row(csv->context, table->line, table->value, table->fault);
        if (status != PRICER_OK)
            fail(table, status);
    }
    table->cells = 0;
    for (int c = 0; c < csv->column_count; c++)
        table->value[c] = NAN;
}

/* Called for every carriage return and line feed outside quotes, -1 at the end
 * of a file whose last line has none. */
static void take_line(int terminator, void *context)
{
    struct table *table = context;
    if (table->status != PRICER_OK)
        return;
    if (table->cells > 0)
        end_row(table);
    else if (terminator == '\n' && table->after_return)
        table->line--;
    if (table->status == PRICER_OK)
        table->line++;
    table->after_return = terminator == '\r';
}

/* libcsv's memory, which is one cell. */
static void *room_for_cell(void *old, size_t size)
{
    return size <= CELL_MOST ? realloc(old, size) : NULL;
}

/* What libcsv's error means: it gives up where room_for_cell() refuses. */
static void fail_parse(struct table *table, struct csv_parser *parser,
                       bool at_end)
{
    enum pricer_status status = PRICER_FORMAT;
    if (table->status != PRICER_OK)
        return;
    if (csv_error(parser) != CSV_EPARSE && parser->entry_size == 0)
        status = pri_fault(table->fault, PRICER_MEMORY, "out of memory");
    else if (csv_error(parser) != CSV_EPARSE)
        pri_fault(table->fault, status, "a cell has more than %d bytes",
                  CELL_MOST - 1);
    else
        pri_fault(table->fault, status,
                  at_end ? "the file ends inside a quoted cell"
                         : "a quotation mark stands inside a cell");
    fail(table, status);
}

/* Feed one piece of the file to the parser. A byte 0 means that the file is
 * no text; what stands before it is read first, for the number of its line. */
static void read_piece(struct table *table, struct csv_parser *parser,
                       const char *piece, size_t length)
{
    const char *zero = memchr(piece, '\0', length);
    size_t usable = zero == NULL ? length : (size_t)(zero - piece);
    if (csv_parse(parser, piece, usable, take_cell, take_line, table) < usable)
        fail_parse(table, parser, false);
    if (zero != NULL && table->status == PRICER_OK) {
        pri_fault(table->fault, PRICER_FORMAT,
                  "a zero byte stands here: this is not a text file");
        fail(table, PRICER_FORMAT);
    }
}

/* The last row, which may lack its line feed; then there must be a header. */
static void end_file(struct table *table, struct csv_parser *parser)
{
    if (csv_fini(parser, take_cell, take_line, table) != 0)
        fail_parse(table, parser, true);
    if (table->status == PRICER_OK && table->header_cells == 0) {
        table->status = pri_fault(table->fault, PRICER_FORMAT,
                                  "the file is empty: it has no header");
        pri_fault_locate(table->fault, table->csv->path, 0);
    }
}

char pri_separator(const char *line, size_t length)
{
    for (const char *mark = ";,\t"; *mark != '\0'; mark++)
        if (memchr(line, *mark, length) != NULL)
            return *mark;
    return ' ';
}

/* Let the header decide what separates cells: the first line that is not blank.
 * One that does not fit into a piece has a cell that is too long anyway. */
static void choose_separator(struct csv_parser *parser, const char *piece,
                             size_t length)
{
    const char *end = piece + length, *line = piece;
    while (line < end && strchr(" \t\r\n", *line) != NULL)
        line++;
    size_t width = 0;
    while (line + width < end && line[width] != '\r' && line[width] != '\n')
        width++;
    char separator = pri_separator(line, width);
    if (separator != ' ')
        csv_set_delim(parser, (unsigned char)separator);
}

/* The whole file, without the byte order mark that some editors put first. */
static void read_pieces(struct table *table, struct csv_parser *parser,
                        FILE *file, char *piece)
{
    const struct pri_csv *csv = table->csv;
    struct stat about;
    double size = fstat(fileno(file), &about) == 0 ? (double)about.st_size : 0;
    double done = 0;
    size_t length;
    while (table->status == PRICER_OK &&
           (length = fread(piece, 1, PIECE, file)) > 0) {
        bool mark =
            done == 0 && length >= 3 && memcmp(piece, "\xef\xbb\xbf", 3) == 0;
        if (done == 0)
            choose_separator(parser, piece + (mark ? 3 : 0),
                             length - (mark ? 3 : 0));
        read_piece(table, parser, piece + (mark ? 3 : 0),
                   length - (mark ? 3 : 0));
        done += (double)length;
        double part = size > 0 ? fmin(done / size, 1) : 0;
        if (table->status == PRICER_OK &&
            !pri_tick(csv->watch, csv->watch_from +
                                      part * (csv->watch_to - csv->watch_from)))
            table->status = pri_fault(table->fault, PRICER_STOPPED, "stopped");
    }
    if (table->status == PRICER_OK && ferror(file))
        table->status = pri_fault_errno(table->fault, csv->path, errno);
    if (table->status == PRICER_OK)
        end_file(table, parser);
}

enum pricer_status pri_csv_read(const struct pri_csv *csv,
                                struct pricer_fault *fault)
{
    struct pricer_fault unread;
    struct table table = {.csv = csv, .line = 1};
    struct csv_parser parser;
    FILE *file = NULL;
    char *piece = NULL;
    table.fault = fault != NULL ? fault : &unread;
    for (int c = 0; c < csv->column_count; c++)
        table.value[c] = NAN;
    csv_init(&parser,
             CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL | CSV_REPALL_NL);
    csv_set_realloc_func(&parser, room_for_cell);
    csv_set_blk_size(&parser, CELL_MOST);
    file = fopen(csv->path, "rbe");
    if (file == NULL) {
        table.status = pri_fault_errno(table.fault, csv->path, errno);
        goto done;
    }
    piece = malloc(PIECE);
    if (piece == NULL) {
        table.status = pri_fault(table.fault, PRICER_MEMORY, "out of memory");
        goto done;
    }
    read_pieces(&table, &parser, file, piece);
done:
    csv_free(&parser);
    if (file != NULL)
        fclose(file);
    free(piece);
    return table.status;
}
