/*
 * A sweep: the cells of a grid of scenarios, the table they fill and its plot.
 */
#ifndef PROGRAM_SWEEP_H
#define PROGRAM_SWEEP_H

#include "common/options.h"
#include "common/program.h"

#include <stdio.h>

enum { SWEEP_KEYS = 8, SWEEP_VALUES = 1000 };

/* One key of the scenario and the values it takes. */
struct sweep_axis {
    char *text; /* owns what the others point into */
    const char *key;
    int count;
    const char **values; /* [count] */
};

/* The grid: the last axis varies fastest. */
struct sweep_grid {
    int axes;
    struct sweep_axis axis[SWEEP_KEYS];
    int64_t cells;
};

/* Split "key=a,b,c"; commas within brackets do not count. Says what is wrong
 * and answers false. */
bool sweep_grid_read(const struct option_list *vary, struct sweep_grid *grid);
void sweep_grid_free(struct sweep_grid *grid);
/* Which value an axis has in a cell. */
int sweep_grid_at(const struct sweep_grid *grid, int64_t cell, int axis);

/* The numbers of a cell, in the order of sweep_columns. */
enum {
    SWEEP_NODES,
    SWEEP_LINKS,
    SWEEP_OBJECTIVE,
    SWEEP_GAP,
    SWEEP_VARIANCE,
    SWEEP_PIV,
    SWEEP_PAPER,
    SWEEP_WORST,
    SWEEP_BIAS_L1,
    SWEEP_TRIALS,
    SWEEP_MSE,
    SWEEP_MSE_STDERR,
    SWEEP_PREDICTED,
    SWEEP_BIAS,
    SWEEP_LOWER, /* of the decoder */
    SWEEP_UPPER,
    SWEEP_BAR,
    SWEEP_COLUMNS,
};
extern const char *const sweep_columns[SWEEP_COLUMNS];

/* One cell: numbers, or in words why there are none. */
struct sweep_row {
    double number[SWEEP_COLUMNS];
    char words[512]; /* "ok", or what is wrong */
};

/*
 * The table as a file that grows by a row at a time. Opening one that holds
 * the first rows of the same grid reads them into `rows` and goes on after
 * them; *done is their number. A row cut short by a crash is dropped. Answers
 * NULL after saying what is wrong.
 */
FILE *sweep_table_open(const char *path, const struct sweep_grid *grid,
                       struct sweep_row *rows, int64_t *done);
/* False if it could not be written. */
bool sweep_table_add(FILE *file, const struct sweep_grid *grid, int64_t cell,
                     const struct sweep_row *row);

/* Whether all values of an axis have led to the same numbers everywhere. */
bool sweep_axis_idle(const struct sweep_grid *grid,
                     const struct sweep_row *rows, int axis);

/* Write a gnuplot script and run it; false after saying why. */
bool sweep_plot(const char *folder, const struct sweep_grid *grid,
                const struct sweep_row *rows);

#endif
