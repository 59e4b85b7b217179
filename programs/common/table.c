/*
 * From headings and cells to an aligned table: a column of numbers stands to
 * the right, everything else to the left, and one that says nothing nowhere.
 *
 * A table is at most 100 columns wide: one that is not gets headings in two lines,
 * then narrow gaps; then texts of its last column stand below their rows; and in
 * the end its longest texts lose their middle.
 */
#include "program.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WIDEST = 100,
    LEGIBLE = 20, /* columns that a text keeps */
    INDENT = 4,   /* of a text below its row */
};

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

/* How a table is laid out. */
struct layout {
    int *width;    /* [columns]; -1: it says nothing and is left out */
    bool *numbers; /* [columns] whether all cells below the heading count */
    int last;      /* column that is printed */
    int below;     /* column whose texts stand below their rows, or -1 */
    int gap;
    bool folded; /* headings in two lines */
};

/* Where a heading is parted: at the blank that leaves the two parts narrowest; its
 * end, where there is none. */
static size_t fold(const char *heading)
{
    size_t length = strlen(heading), best = length;
    int least = width_of(heading);
    for (size_t k = 0; k < length; k++) {
        int rest = width_of(heading + k) - 1;
        int first = width_of(heading) - rest - 1;
        int wide = first > rest ? first : rest;
        if (heading[k] == ' ' && wide < least) {
            least = wide;
            best = k;
        }
    }
    return best;
}

/* One of the two lines of a heading above so many columns. */
static char *fold_part(const char *heading, int width, int line)
{
    size_t at = fold(heading);
    if (width_of(heading) <= width || heading[at] == '\0')
        return must(strdup(line == 1 ? heading : ""));
    return must(line == 1 ? strdup(heading + at + 1) : strndup(heading, at));
}

/* The width of a column, and whether all its cells below the heading count. */
static int measure(const struct table *table, int column, bool folded,
                   bool *numbers)
{
    int width = 0;
    *numbers = true;
    for (int k = column; k < table->cells; k += table->columns) {
        int wide = width_of(table->cell[k]);
        if (k < table->columns && folded) {
            size_t at = fold(table->cell[k]);
            int rest = width_of(table->cell[k] + at);
            rest = rest > 0 ? rest - 1 : 0;
            wide = wide - rest - 1 > rest ? wide - rest - 1 : rest;
            if (table->cell[k][at] == '\0')
                wide = width_of(table->cell[k]);
        }
        width = wide > width ? wide : width;
        if (k >= table->columns)
            *numbers = *numbers && is_number(table->cell[k]);
    }
    return width;
}

static int total(const struct table *table, const struct layout *layout)
{
    int sum = -layout->gap;
    for (int c = 0; c < table->columns; c++)
        if (layout->width[c] >= 0)
            sum += layout->width[c] + layout->gap;
    return sum;
}

static void lay_out(const struct table *table, bool folded, int gap,
                    struct layout *layout)
{
    layout->folded = folded;
    layout->gap = gap;
    for (int c = 0; c < table->columns; c++) {
        layout->width[c] = c == layout->below || is_silent(table, c)
                               ? -1
                               : measure(table, c, folded, &layout->numbers[c]);
        layout->last = layout->width[c] < 0 ? layout->last : c;
    }
}

/* The narrowest way that is needed, or the narrowest there is. */
static void choose(const struct table *table, struct layout *layout)
{
    for (int k = 0; k == 0 || (k < 4 && total(table, layout) > WIDEST); k++)
        lay_out(table, k % 2 == 1, 2 - k / 2, layout);
}

/* The widest column of texts gives up what is too much, as far as it can. */
static void squeeze(const struct table *table, struct layout *layout)
{
    int widest = -1, over = total(table, layout) - WIDEST;
    for (int c = 0; c < table->columns; c++)
        if (!layout->numbers[c] && layout->width[c] > LEGIBLE &&
            (widest < 0 || layout->width[c] > layout->width[widest]))
            widest = c;
    if (over <= 0 || widest < 0)
        return;
    int left = layout->width[widest] - over;
    layout->width[widest] = left > LEGIBLE ? left : LEGIBLE;
}

/* The byte at which so many columns of a text end. */
static size_t columns_end(const char *text, int columns)
{
    size_t at = 0;
    for (; text[at] != '\0'; at++)
        if (((unsigned char)text[at] & 0xc0) != 0x80 && columns-- == 0)
            break;
    return at;
}

static void put_cell(const struct layout *layout, int column, const char *text,
                     FILE *out)
{
    int width = layout->width[column], wide = width_of(text);
    bool right = layout->numbers[column], last = column == layout->last;
    int gap = width > wide ? width - wide : 0;
    if (last && wide == 0)
        return;
    fprintf(out, "%*s", right ? gap : 0, "");
    if (wide > width) { /* without its middle */
        int head = width / 2 - 1, tail = width - head - 2;
        fprintf(out, "%.*s..%s", (int)columns_end(text, head), text,
                text + columns_end(text, wide - tail));
    } else {
        fputs(text, out);
    }
    fprintf(out, "%*s", right || last ? 0 : gap, "");
    fprintf(out, "%*s", last ? 0 : layout->gap, "");
}

static void put_headings(const struct table *table, const struct layout *layout,
                         FILE *out)
{
    bool bold = isatty(fileno(out)) && getenv("NO_COLOR") == NULL;
    for (int line = layout->folded ? 0 : 1; line < 2; line++) {
        fputs(bold ? "\033[1m" : "", out);
        for (int c = 0; c < table->columns; c++) {
            char *part = layout->folded
                             ? fold_part(table->cell[c], layout->width[c], line)
                             : must(strdup(table->cell[c]));
            if (layout->width[c] >= 0)
                put_cell(layout, c, part, out);
            free(part);
        }
        fputs(bold ? "\033[0m\n" : "\n", out);
    }
}

/* A text below its row, in lines that fit, parted at blanks. */
static void put_below(const char *text, FILE *out)
{
    while (*text != '\0') {
        size_t end = columns_end(text, WIDEST - INDENT), cut = end;
        while (text[end] != '\0' && cut > 0 && text[cut] != ' ')
            cut--;
        cut = cut > 0 ? cut : end;
        fprintf(out, "%*s%.*s\n", INDENT, "", (int)cut, text);
        text += cut + strspn(text + cut, " ");
    }
}

void table_print(struct table *table, FILE *out)
{
    struct layout layout = {.below = -1};
    layout.width = must(calloc((size_t)table->columns, sizeof(int)));
    layout.numbers = must(calloc((size_t)table->columns, sizeof(bool)));
    choose(table, &layout);
    if (total(table, &layout) > WIDEST && !layout.numbers[layout.last]) {
        layout.below = layout.last;
        choose(table, &layout);
    }
    squeeze(table, &layout);
    put_headings(table, &layout, out);
    for (int k = table->columns; k < table->cells; k++) {
        int c = k % table->columns;
        if (layout.width[c] >= 0)
            put_cell(&layout, c, table->cell[k], out);
        if (c == layout.last)
            fputc('\n', out);
        if (c == layout.below)
            put_below(table->cell[k], out);
    }
    for (int k = 0; k < table->cells; k++)
        free(table->cell[k]);
    free(layout.width);
    free(layout.numbers);
    free(table->cell);
    free(table);
}
