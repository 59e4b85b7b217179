/*
 * From the rows of a sweep to what is printed of it: the first of them as a
 * table, or all as JSON.
 */
#include "sweep.h"

#include <math.h>
#include <string.h>

/* Cells of the table on a terminal, and its room for their values. */
enum { CELLS = 12, ROOM = 34, RIVALS_SHOWN = 3 };

/* Keys whose values all gave the same are named: the sweep shows nothing of
 * them. */
static void name_idle(const struct sweep_grid *grid,
                      const struct sweep_row *rows, struct json *json)
{
    if (json != NULL)
        json_open(json, "without_effect", '[');
    for (int k = 0; k < grid->axes; k++) {
        if (!sweep_axis_idle(grid, rows, k))
            continue;
        if (json != NULL)
            json_text(json, NULL, grid->axis[k].key);
        else
            program_warn("%s has no effect here: all its values gave the same",
                         grid->axis[k].key);
    }
    if (json != NULL)
        json_close(json, ']');
}

/* The keys (cell -1) or values of a cell as one text, cut to its room. */
static void join(const struct sweep_grid *grid, int64_t cell, char text[ROOM])
{
    size_t used = 0;
    text[0] = '\0';
    for (int k = 0; k < grid->axes && used < ROOM; k++) {
        const struct sweep_axis *axis = &grid->axis[k];
        int wrote = snprintf(
            text + used, ROOM - used, "%s%s", k > 0 ? ", " : "",
            cell < 0 ? axis->key : axis->values[sweep_grid_at(grid, cell, k)]);
        used += (size_t)wrote;
    }
    if (used >= ROOM)
        strcpy(text + ROOM - 4, "...");
}

static void number_cell(struct table *table, double number)
{
    if (isnan(number))
        table_cell(table, "%s", "");
    else
        table_cell(table, "%.4g", number);
}

static void print_table(const struct sweep_grid *grid,
                        const struct sweep_row *rows)
{
    char keys[ROOM], values[ROOM];
    const char *headings[4 + RIVALS_SHOWN];
    int column[4 + RIVALS_SHOWN], columns = 0, rivals = 0;
    join(grid, -1, keys);
    headings[columns++] = keys;
    headings[columns] = "error";
    column[columns++] = SWEEP_MSE;
    for (int k = 0; k < SWEEP_RIVALS && rivals < RIVALS_SHOWN; k++)
        if (grid->shown[sweep_rival_at(k, SWEEP_RIVAL_MSE)]) {
            headings[columns] = sweep_rival_name(k);
            column[columns++] = sweep_rival_at(k, SWEEP_RIVAL_MSE);
            rivals++;
        }
    if (grid->shown[SWEEP_SERVER_EPS]) {
        headings[columns] = "link eps";
        column[columns++] = SWEEP_LINK_EPS;
        headings[columns] = "server eps";
        column[columns++] = SWEEP_SERVER_EPS;
    }
    struct table *table = table_new(columns, headings);
    for (int64_t cell = 0; cell < grid->cells && cell < CELLS; cell++) {
        join(grid, cell, values);
        table_cell(table, "%s", values);
        for (int c = 1; c < columns; c++)
            number_cell(table, rows[cell].number[column[c]]);
    }
    table_print(table, stdout);
    puts("error: simulated, the mean squared distance of the estimate from the "
         "mean, in squared\nunits of the data; --explain for the words.");
}

static void put_rows(struct json *json, const struct sweep_grid *grid,
                     const struct sweep_row *rows)
{
    json_open(json, "rows", '[');
    for (int64_t cell = 0; cell < grid->cells; cell++) {
        json_open(json, NULL, '{');
        for (int k = 0; k < grid->axes; k++)
            json_text(json, grid->axis[k].key,
                      grid->axis[k].values[sweep_grid_at(grid, cell, k)]);
        json_text(json, "status", rows[cell].words);
        for (int c = 0; c < SWEEP_COLUMNS; c++)
            if (grid->shown[c])
                json_number(json, sweep_columns[c].name, rows[cell].number[c]);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void print_json(const struct sweep_request *request,
                       const struct sweep_grid *grid,
                       const struct sweep_row *rows, int64_t failed,
                       bool plotted)
{
    char path[4096];
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_count(&json, "cells", grid->cells);
    json_count(&json, "not_ok", failed);
    name_idle(grid, rows, &json);
    snprintf(path, sizeof path, "%s/sweep.csv", request->folder);
    json_text(&json, "table", path);
    if (plotted) {
        snprintf(path, sizeof path, "%s/sweep.svg", request->folder);
        json_text(&json, "plot", path);
    }
    json_open(&json, "units", '{');
    for (int c = 0; c < SWEEP_COLUMNS; c++)
        if (grid->shown[c])
            json_text(&json, sweep_columns[c].name, sweep_columns[c].unit);
    json_close(&json, '}');
    put_rows(&json, grid, rows);
    json_close(&json, '}');
}

void sweep_print(const struct sweep_request *request,
                 const struct sweep_grid *grid, const struct sweep_row *rows,
                 bool plotted)
{
    int64_t failed = 0;
    for (int64_t cell = 0; cell < grid->cells; cell++)
        failed += strcmp(rows[cell].words, "ok") != 0;
    if (request->as_json) {
        print_json(request, grid, rows, failed, plotted);
        return;
    }
    print_table(grid, rows);
    if (grid->cells > CELLS)
        printf("The first %d cells; all ", CELLS);
    printf("%lld cells in %s/sweep.csv", (long long)grid->cells,
           request->folder);
    if (failed > 0)
        printf(", %lld of them not ok (column status)", (long long)failed);
    if (plotted)
        printf("; plot in %s/sweep.svg", request->folder);
    putchar('\n');
    name_idle(grid, rows, NULL);
}
