/*
 * A sweep: the cells of a grid of scenarios, the table they fill and its plot.
 */
#ifndef PROGRAM_SWEEP_H
#define PROGRAM_SWEEP_H

#include "common/options.h"
#include "common/program.h"
#include "strategy.h"

#include <stdio.h>

enum { SWEEP_KEYS = 8, SWEEP_VALUES = 1000 };

/* One key of the scenario and the values it takes. */
struct sweep_axis {
    char *text; /* owns what the others point into */
    const char *key;
    int count;
    const char **values; /* [count] */
};

/* What the plan is played against: the strategies, then the plan itself with
 * each decoder (enum pricer_decode). */
enum { SWEEP_DECODERS = 3, SWEEP_RIVALS = STRATEGIES + SWEEP_DECODERS };

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
    SWEEP_HOPS, /* of plans of forwarding */
    SWEEP_HEARD,
    SWEEP_TRIALS,
    SWEEP_CLIPPED,
    SWEEP_MSE,
    SWEEP_MSE_STDERR,
    SWEEP_PREDICTED,
    SWEEP_BIAS,
    SWEEP_LOWER, /* of the decoder */
    SWEEP_UPPER,
    SWEEP_BAR,
    SWEEP_LINK_EPS, /* every link is (eps, delta)-private */
    SWEEP_LINK_LOWER,
    SWEEP_LINK_DELTA,
    SWEEP_SERVER_EPS, /* and every node towards the server */
    SWEEP_SERVER_LOWER,
    SWEEP_SERVER_DELTA,
    SWEEP_SERVER_FLOOR,
    SWEEP_RIVAL, /* from here on each rival's SWEEP_OF_RIVAL numbers: */
    SWEEP_RIVAL_WORST = 0,
    SWEEP_RIVAL_MSE,
    SWEEP_RIVAL_STDERR,
    SWEEP_OF_RIVAL,
    SWEEP_COLUMNS = SWEEP_RIVAL + SWEEP_RIVALS * SWEEP_OF_RIVAL,
};
struct sweep_column {
    const char *name, *unit;
};
extern const struct sweep_column sweep_columns[SWEEP_COLUMNS];
/* Where a number of a rival is. */
int sweep_rival_at(int rival, int number);
const char *sweep_rival_name(int rival);

/* The grid: the last axis varies fastest. Of the columns its table has those
 * that were asked for. */
struct sweep_grid {
    int axes;
    struct sweep_axis axis[SWEEP_KEYS];
    int64_t cells;
    bool shown[SWEEP_COLUMNS];
};

/* Split "key=a,b,c"; commas within brackets do not count. Says what is wrong
 * and answers false. */
bool sweep_grid_read(const struct option_list *vary, struct sweep_grid *grid);
void sweep_grid_free(struct sweep_grid *grid);
/* Which value an axis has in a cell. */
int sweep_grid_at(const struct sweep_grid *grid, int64_t cell, int axis);

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

/*
 * Rows that were finished before their turn wait in a file beside the table:
 * add one (false if it could not be written), and read those that `have` does
 * not name yet. What is damaged is passed over.
 */
bool sweep_ahead_add(const char *path, const struct sweep_grid *grid,
                     int64_t cell, const struct sweep_row *row);
void sweep_ahead_read(const char *path, const struct sweep_grid *grid,
                      struct sweep_row *rows, bool *have);

/* Whether all values of an axis have led to the same numbers everywhere. */
bool sweep_axis_idle(const struct sweep_grid *grid,
                     const struct sweep_row *rows, int axis);

/* What the command line asks for. */
struct sweep_request {
    const char *scenario, *folder, *data;
    struct pricer_matrix *given; /* of a file of data, else NULL */
    struct option_list vary, sets;
    int engine;
    int decoder; /* enum pricer_decode; -1: minimax where it is fast */
    bool rivals[SWEEP_RIVALS];
    bool privacy;
    double delta; /* 0: each budget's own */
    int64_t trials, threads;
    bool force, as_json;
};

/* The progress of one cell as part of the whole. */
struct sweep_share {
    struct progress progress;
    int64_t cell, cells;
    double from, to; /* of the cell */
};

/* Whether the first cell has 'scheme: forward'. */
bool sweep_is_forward(const struct sweep_request *request,
                      const struct sweep_grid *grid);

/* Every cell's scenario must be readable before any is played. */
enum pricer_status sweep_cells_check(const struct sweep_request *request,
                                     const struct sweep_grid *grid,
                                     struct pricer_fault *fault);

/*
 * Fill the row of the share's cell. A network or plan that cannot be had is a
 * row that says so; the rest of the sweep goes on. PRICER_STOPPED after Ctrl-C.
 */
enum pricer_status sweep_cell_fill(const struct sweep_request *request,
                                   const struct sweep_grid *grid,
                                   struct sweep_share *share,
                                   struct sweep_row *row,
                                   struct pricer_fault *fault);

/*
 * Play the cells that the table does not have, `done` rows of it, with whoever
 * is there to help; where another process writes, table is NULL. Returns the
 * exit status after saying what went wrong.
 */
int sweep_play(const struct sweep_request *request,
               const struct sweep_grid *grid, FILE *table,
               struct sweep_row *rows, int64_t done);

/* Make the folder, or find that it holds the same sweep; else say why not and
 * return 1. */
int sweep_folder_claim(const struct sweep_request *request,
                       const struct sweep_grid *grid);

/* Write a gnuplot script and run it; false after saying why. */
bool sweep_plot(const char *folder, const struct sweep_grid *grid,
                const struct sweep_row *rows);

/* What a finished sweep prints: its first cells, and where the rest is. */
void sweep_print(const struct sweep_request *request,
                 const struct sweep_grid *grid, const struct sweep_row *rows,
                 bool plotted);

#endif
