/*
 * From headings and cells to an aligned table: a column of numbers stands to
 * the right, everything else to the left, and one that says nothing nowhere.
 */
#include "program.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct table {
    int columns;
    int cells, room;
    char **cell;
};

/* The programs stop when a few bytes for a table cannot be had. */
static void *must(void *memory)
{
    if (memory == NULL) {
        fputs("pricer: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static void add(struct table *table, char *text)
{
    if (table->cells == table->room) {
        table->room = 2 * table->room + 64;
        table->cell = must(
            realloc(table->cell, (size_t)table->room * sizeof *table->cell));
    }
    table->cell[table->cells++] = text;
}

struct table *table_new(int columns, const char *const *headings)
{
    struct table *table = must(calloc(1, sizeof *table));
    table->columns = columns;
    for (int c = 0; c < columns; c++)
        add(table, must(strdup(headings[c])));
    return table;
}

void table_cell(struct table *table, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    add(table, must(length < 0 ? NULL : text));
}

/* How many columns of a terminal a UTF-8 text takes: its code points. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static bool is_number(const char *text)
{
    text += strspn(text, "+-.<>= ~");
    return text[0] == '\0' || strcmp(text, "inf") == 0 ||
           isdigit((unsigned char)text[0]);
}

/* Whether no cell of a column says anything: blanks and dashes alone. A table
 * without rows keeps its headings. */
static bool is_silent(const struct table *table, int column)
{
    bool silent = table->cells > table->columns;
    for (int k = column + table->columns; k < table->cells && silent;
         k += table->columns)
        silent = table->cell[k][strspn(table->cell[k], " -")] == '\0';
    return silent;
}

/* The width of a column, and whether all its cells below the heading count. */
static int measure(const struct table *table, int column, bool *numbers)
{
    int width = 0;
    *numbers = true;
    for (int k = column; k < table->cells; k += table->columns) {
        int wide = width_of(table->cell[k]);
        width = wide > width ? wide : width;
        if (k >= table->columns)
            *numbers = *numbers && is_number(table->cell[k]);
    }
    return width;
}

void table_print(struct table *table, FILE *out)
{
    bool bold = isatty(fileno(out)) && getenv("NO_COLOR") == NULL;
    int last_column = 0;
    int *width = must(calloc((size_t)table->columns, sizeof *width));
    bool *numbers = must(calloc((size_t)table->columns, sizeof *numbers));
    for (int c = 0; c < table->columns; c++) {
        width[c] = is_silent(table, c) ? -1 : measure(table, c, &numbers[c]);
        last_column = width[c] < 0 ? last_column : c;
    }
    for (int k = 0; k < table->cells; k++) {
        int c = k % table->columns;
        bool last = c == last_column;
        if (width[c] < 0) {
            free(table->cell[k]);
            continue;
        }
        int gap = width[c] - width_of(table->cell[k]);
        if (bold && c == 0 && k < table->columns)
            fputs("\033[1m", out);
        fprintf(out, "%*s%s%*s", numbers[c] ? gap : 0, "", table->cell[k],
                numbers[c] || last ? 0 : gap, "");
        if (bold && last && k < table->columns)
            fputs("\033[0m", out);
        fputs(last ? "\n" : "  ", out);
        free(table->cell[k]);
    }
    free(width);
    free(numbers);
    free(table->cell);
    free(table);
}
