/*
 * The grid of a sweep and its table: a CSV file that is always the first rows
 * of the whole, so that a sweep can go on where it was stopped.
 */
#include "sweep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The worst case, simulated error and its standard error of a rival. */
#define RIVAL(name)                                                            \
    {name "_worst_case", ERROR}, {name "_mse", ERROR},                         \
    {                                                                          \
        name "_mse_stderr", ERROR                                              \
    }
#define ERROR "squared units of the data"

const struct sweep_column sweep_columns[SWEEP_COLUMNS] = {
    {"nodes", "nodes"},
    {"links", "links"},
    {"objective", ERROR},
    {"gap", "of the objective"},
    {"variance", ERROR},
    {"piv", ERROR},
    {"mse_paper", ERROR},
    {"worst_case", ERROR},
    {"bias_l1", "weights"},
    {"plan_hops", "relays"},
    {"heard", "nodes"},
    {"trials", "rounds"},
    {"clipped", "vectors"},
    {"mse", ERROR},
    {"mse_stderr", ERROR},
    {"predicted", ERROR},
    {"bias", "units of the data"},
    {"decoder_lower", ERROR},
    {"decoder_upper", ERROR},
    {"bar", ERROR},
    {"link_eps", "log of odds"},
    {"link_eps_lower", "log of odds"},
    {"link_delta", "probability"},
    {"server_eps", "log of odds"},
    {"server_eps_lower", "log of odds"},
    {"server_delta", "probability"},
    {"server_floor", "probability"},
    RIVAL("naive"),
    RIVAL("unbiased"),
    RIVAL("best"),
    RIVAL("colrel"),
    RIVAL("gradient"),
    RIVAL("minimax"),
    RIVAL("constant"),
    RIVAL("adaptive"),
};

int sweep_rival_at(int rival, int number)
{
    return SWEEP_RIVAL + rival * SWEEP_OF_RIVAL + number;
}

const char *sweep_rival_name(int rival)
{
    return rival < STRATEGIES
               ? strategy_name(rival)
               : pricer_word(PRICER_WORDS_DECODE, rival - STRATEGIES);
}

/* ------------------------------------------------------------------ grid -- */

/* Cut a list at its commas, in place. */
static bool read_values(char *text, struct sweep_axis *axis)
{
    int depth = 0;
    axis->values = calloc(SWEEP_VALUES, sizeof *axis->values);
    if (axis->values == NULL)
        return false;
    axis->values[axis->count++] = text;
    for (char *at = text; *at != '\0'; at++) {
        depth += (*at == '[') - (*at == ']');
        if (*at != ',' || depth > 0)
            continue;
        *at = '\0';
        if (axis->count == SWEEP_VALUES)
            return false;
        axis->values[axis->count++] = at + 1;
    }
    for (int k = 0; k < axis->count; k++)
        if (axis->values[k][0] == '\0')
            return false;
    return true;
}

bool sweep_grid_read(const struct option_list *vary, struct sweep_grid *grid)
{
    *grid = (struct sweep_grid){.cells = 1};
    if (vary->count == 0 || vary->count > SWEEP_KEYS) {
        fprintf(stderr,
                "pricer sweep: --vary KEY=A,B,... is needed, 1 to %d "
                "times; --help explains\n",
                SWEEP_KEYS);
        return false;
    }
    for (int k = 0; k < vary->count; k++) {
        struct sweep_axis *axis = &grid->axis[grid->axes++];
        axis->text = strdup(vary->items[k]);
        char *equals = axis->text == NULL ? NULL : strchr(axis->text, '=');
        if (equals != NULL)
            *equals = '\0';
        axis->key = axis->text;
        bool twice = false;
        for (int other = 0; other < k; other++)
            twice |= equals && strcmp(axis->key, grid->axis[other].key) == 0;
        if (equals == NULL || equals == axis->text || twice ||
            !read_values(equals + 1, axis)) {
            fprintf(stderr,
                    "pricer sweep: --vary %s is not KEY=A,B,... with "
                    "a key of its own\n",
                    vary->items[k]);
            return false;
        }
        grid->cells *= axis->count;
        if (grid->cells > 1000000) {
            fputs("pricer sweep: more than a million cells\n", stderr);
            return false;
        }
    }
    return true;
}

void sweep_grid_free(struct sweep_grid *grid)
{
    for (int k = 0; k < grid->axes; k++) {
        free(grid->axis[k].values);
        free(grid->axis[k].text);
    }
}

int sweep_grid_at(const struct sweep_grid *grid, int64_t cell, int axis)
{
    for (int k = grid->axes - 1; k > axis; k--)
        cell /= grid->axis[k].count;
    return (int)(cell % grid->axis[axis].count);
}

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

bool sweep_axis_idle(const struct sweep_grid *grid,
                     const struct sweep_row *rows, int axis)
{
    int64_t stride = 1;
    for (int k = grid->axes - 1; k > axis; k--)
        stride *= grid->axis[k].count;
    for (int64_t cell = 0; cell < grid->cells; cell++) {
        if (sweep_grid_at(grid, cell, axis) == 0)
            continue;
        const struct sweep_row *one = &rows[cell], *two = &rows[cell - stride];
        bool same = strcmp(one->words, two->words) == 0;
        for (int c = 0; c < SWEEP_COLUMNS && same; c++)
            same = same_number(one->number[c], two->number[c]);
        if (!same)
            return false;
    }
    return grid->axis[axis].count > 1;
}

/* ----------------------------------------------------------------- table -- */

/* Quoted where CSV needs it. */
static void put_text(FILE *file, const char *text)
{
    bool plain = strpbrk(text, ",\"\r\n") == NULL;
    fputs(plain ? "" : "\"", file);
    for (; *text != '\0'; text++)
        fprintf(file, *text == '"' ? "\"\"" : "%c", *text);
    fputs(plain ? "" : "\"", file);
}

static void put_heading(FILE *file, const struct sweep_grid *grid)
{
    for (int k = 0; k < grid->axes; k++) {
        put_text(file, grid->axis[k].key);
        fputc(',', file);
    }
    fputs("status", file);
    for (int c = 0; c < SWEEP_COLUMNS; c++)
        if (grid->shown[c])
            fprintf(file, ",%s", sweep_columns[c].name);
    fputc('\n', file);
}

static void put_cell(FILE *file, const struct sweep_grid *grid, int64_t cell)
{
    for (int k = 0; k < grid->axes; k++) {
        put_text(file, grid->axis[k].values[sweep_grid_at(grid, cell, k)]);
        fputc(',', file);
    }
}

bool sweep_table_add(FILE *file, const struct sweep_grid *grid, int64_t cell,
                     const struct sweep_row *row)
{
    put_cell(file, grid, cell);
    put_text(file, row->words);
    for (int c = 0; c < SWEEP_COLUMNS; c++)
        if (grid->shown[c] && isnan(row->number[c]))
            fputc(',', file);
        else if (grid->shown[c])
            fprintf(file, ",%.17g", row->number[c]);
    fputc('\n', file);
    return fflush(file) == 0 && !ferror(file);
}

/* What put_heading() or put_cell() writes, as a string of the caller's. */
static char *text_of(const struct sweep_grid *grid, int64_t cell)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL)
        return NULL;
    if (cell < 0)
        put_heading(memory, grid);
    else
        put_cell(memory, grid, cell);
    return fclose(memory) == 0 ? text : NULL;
}

/* The status and numbers after the cell's values; false if they are damaged. */
static bool read_rest(const struct sweep_grid *grid, const char *at,
                      struct sweep_row *row)
{
    size_t length = 0;
    bool quoted = *at == '"';
    at += quoted;
    while (*at != '\0' && (quoted ? *at != '"' || at[1] == '"' : *at != ',')) {
        at += quoted && *at == '"';
        if (length + 1 < sizeof row->words)
            row->words[length++] = *at;
        at++;
    }
    row->words[length] = '\0';
    at += quoted && *at == '"';
    for (int c = 0; c < SWEEP_COLUMNS; c++) {
        row->number[c] = NAN;
        if (!grid->shown[c])
            continue;
        if (*at++ != ',')
            return false;
        char *end = NULL;
        row->number[c] = strtod(at, &end);
        if (end == at)
            row->number[c] = NAN;
        at = end;
    }
    return strcmp(at, "\n") == 0;
}

/* Read rows while they are the grid's; the place after the last one. */
static long read_rows(FILE *file, const struct sweep_grid *grid,
                      struct sweep_row *rows, int64_t *done)
{
    char *line = NULL;
    size_t room = 0;
    long good = -1;
    for (int64_t cell = -1; cell < grid->cells; cell++) {
        char *expected = text_of(grid, cell);
        ssize_t length = getline(&line, &room, file);
        size_t prefix = expected == NULL ? 0 : strlen(expected);
        bool fits = prefix > 0 && length > 0 && line[length - 1] == '\n' &&
                    strncmp(line, expected, prefix) == 0 &&
                    (cell < 0 || read_rest(grid, line + prefix, &rows[cell]));
        free(expected);
        if (!fits)
            break;
        good = ftell(file);
        *done = cell + 1;
    }
    free(line);
    return good;
}

FILE *sweep_table_open(const char *path, const struct sweep_grid *grid,
                       struct sweep_row *rows, int64_t *done)
{
    *done = 0;
    FILE *file = fopen(path, "r+");
    long good = file == NULL ? -1 : read_rows(file, grid, rows, done);
    if (good < 0) {
        *done = 0;
        if (file != NULL)
            fclose(file);
        file = fopen(path, "w");
        if (file != NULL)
            put_heading(file, grid);
    } else if (ftruncate(fileno(file), good) != 0 ||
               fseek(file, good, SEEK_SET) != 0) {
        fclose(file);
        file = NULL;
    }
    if (file == NULL || fflush(file) != 0) {
        program_fail("%s: %s", path, strerror(errno));
        if (file != NULL)
            fclose(file);
        return NULL;
    }
    return file;
}

/* ----------------------------------------------------------------- ahead -- */

bool sweep_ahead_add(const char *path, const struct sweep_grid *grid,
                     int64_t cell, const struct sweep_row *row)
{
    FILE *file = fopen(path, "a");
    if (file == NULL)
        return false;
    /* What a crash may have cut short before ends here. */
    fprintf(file, "\n%lld,", (long long)cell);
    bool written = sweep_table_add(file, grid, cell, row);
    return fclose(file) == 0 && written;
}

void sweep_ahead_read(const char *path, const struct sweep_grid *grid,
                      struct sweep_row *rows, bool *have)
{
    FILE *file = fopen(path, "r");
    char *line = NULL, *at;
    size_t room = 0;
    ssize_t length;
    while (file != NULL && (length = getline(&line, &room, file)) > 0) {
        long long cell = strtoll(line, &at, 10);
        if (at == line || *at != ',' || line[length - 1] != '\n' || cell < 0 ||
            cell >= grid->cells || have[cell])
            continue;
        char *expected = text_of(grid, cell);
        size_t prefix = expected == NULL ? 0 : strlen(expected);
        have[cell] = prefix > 0 && strncmp(at + 1, expected, prefix) == 0 &&
                     read_rest(grid, at + 1 + prefix, &rows[cell]);
        free(expected);
    }
    free(line);
    if (file != NULL)
        fclose(file);
}
