/*
 * What the parts of `pricer reproduce` share: the folder they write to, their
 * networks, and the summary that puts paper and pricer side by side.
 */
#ifndef PROGRAM_REPRODUCE_H
#define PROGRAM_REPRODUCE_H

#include "common/options.h"
#include "common/program.h"

/* The data sets of table2: the paper's two, or the sample. */
enum {
    REPRODUCE_CIFAR = 0,
    REPRODUCE_FMNIST,
    REPRODUCE_SAMPLE,
    REPRODUCE_SETS
};

struct reproduction {
    const char *folder;
    struct option_list cifar; /* files, each perhaps several with commas */
    const char *fmnist;       /* a file, NULL: not given */
    const char *sample;       /* a file, NULL: not given */
    struct pricer_matrix *points[REPRODUCE_SETS]; /* of unit norm, or NULL */
    int64_t seeds;
    bool plots;   /* are wanted */
    bool plotted; /* gnuplot is there */
    FILE *summary;
    struct table *table; /* of the part that runs */
    struct progress progress;
    double done;               /* part of the whole work, 0 to 1 */
    double share;              /* that the running part has of it */
    struct pricer_watch watch; /* ticks within the share of a part */
    struct pricer_fault fault;
};

/* One part: fills its CSV files, plots and rows of the summary. */
enum pricer_status reproduce_table1(struct reproduction *work);
enum pricer_status reproduce_convergence(struct reproduction *work);
enum pricer_status reproduce_trust(struct reproduction *work);
enum pricer_status reproduce_erdos_renyi(struct reproduction *work);
enum pricer_status reproduce_table2(struct reproduction *work);

/* Read the data that table2 is about to use; a fault names the file. */
enum pricer_status reproduce_data_read(struct reproduction *work);
void reproduce_data_free(struct reproduction *work);

/* What erdos-renyi says of privacy. */
enum pricer_status reproduce_leakage(struct reproduction *work);

/* Say how far the part is; PRICER_STOPPED if Ctrl-C was pressed. */
enum pricer_status reproduce_tick(struct reproduction *work, double done);

/* Open a file of the folder to write. */
enum pricer_status reproduce_open(struct reproduction *work, const char *name,
                                  FILE **file);

/* Close it (NULL: it was never opened) after work that ended with `status`:
 * that status, or where it was PRICER_OK whether the disk took it all. */
enum pricer_status reproduce_close(struct reproduction *work, const char *name,
                                   FILE *file, enum pricer_status status);

/* Write a file of the folder as a whole. */
enum pricer_status reproduce_write(struct reproduction *work, const char *name,
                                   const char *text);

/* The network of a scenario of the folder; overrides end with NULL. */
enum pricer_status reproduce_network(struct reproduction *work,
                                     const char *scenario,
                                     const char *const *overrides,
                                     struct pricer_network **network);

/*
 * Draw name.svg and name.png with gnuplot from a script that is kept as name.gp
 * and reads the CSV files beside it. Nothing where there is no gnuplot.
 */
enum pricer_status reproduce_plot(struct reproduction *work, const char *name,
                                  const char *script);

/* One row of the summary; texts, since some cells are not numbers. */
struct reproduce_row {
    const char *part;
    char what[80];
    char paper[40], settings[40], best[40];
    const char *note;
};
void reproduce_row(struct reproduction *work, const struct reproduce_row *row);

#endif
