/*
 * What other rooms need of the readers: tables of numbers in CSV, and the
 * scenario as read.
 */
#ifndef PRICER_READ_H
#define PRICER_READ_H

#include "base/base.h"

/* ------------------------------------------------------------------- CSV -- */

enum pri_column_kind {
    PRI_COLUMN_INDEX,  /* a whole number from 0 to 2^53 */
    PRI_COLUMN_NUMBER, /* a number; inf is one, nan is not */
    PRI_COLUMN_TEXT,   /* a text that fits into `text`; one column at most */
};

/* A column that a table may have; `required` ones must stand in its header. */
struct pri_column {
    const char *name;
    bool required;
    enum pri_column_kind kind;
};

#define PRI_COLUMNS_MOST 16

/*
 * A table of numbers to read: separated by commas, semicolons or tabs,
 * whichever the header has, which names the columns in any order. Cells may be
 * quoted; lines may end in CRLF; a byte
 * order mark and blank lines are passed over. Numbers are read in the C
 * locale, whatever the program's.
 *
 * `row` is called for each row: value[c] belongs to columns[c], and is NAN
 * where the cell is empty or the column absent. Of a text it is the length, and
 * the text stands in `text` until the next row. Its faults need no place: file
 * and line are put before them. The watch gets the part of the file that is
 * done, scaled to [watch_from, watch_to].
 */
struct pri_csv {
    const char *path;
    const struct pri_column *columns;
    int column_count;
    enum pricer_status (*row)(void *context, int64_t line, const double *value,
                              struct pricer_fault *fault);
    void *context;
    const struct pricer_watch *watch;
    double watch_from, watch_to;
    char *text; /* [text_room], or NULL where no column is a text */
    size_t text_room;
};

/* O(size of the file), in constant memory. */
enum pricer_status pri_csv_read(const struct pri_csv *csv,
                                struct pricer_fault *fault);

/* What separates the cells of a table whose first line this is: ';', ',' or a
 * tab, the first of them that is there, else ' '. */
char pri_separator(const char *line, size_t length);

/* Why a cell is not a number: "is not a number", and what to do about a decimal
 * comma. */
const char *pri_not_number(const char *cell);

/* -------------------------------------------------------------- matrices -- */

/* Which rows of a file of vectors are wanted: asked when their number is
 * known. */
struct pri_rows_wanted {
    void (*choose)(
        struct pri_rows_wanted *part); /* sets first and last; NULL: all */
    int32_t rank, ranks;               /* for whoever chooses */
    int64_t rows, first, last;
};

/* pricer_matrix_read() of some rows: the memory of the others is not used. */
enum pricer_status pri_matrix_read_part(const char *path,
                                        struct pri_rows_wanted *part,
                                        struct pricer_matrix **matrix,
                                        struct pricer_fault *fault);

/* -------------------------------------------------------------- scenario -- */

enum pri_generator {
    PRI_GENERATOR_ERDOS_RENYI,
    PRI_GENERATOR_RING,
    PRI_GENERATOR_MMWAVE,
    PRI_GENERATOR_GEOMETRIC,
    PRI_GENERATOR_FILES, /* two CSV files; no word of the scenario's */
    PRI_GENERATORS,
};

/* A list of numbers; a single number is a list of one. */
struct pri_list {
    double *values;
    int64_t count;
};

/* A list of texts. */
struct pri_names {
    char **values;
    int64_t count;
};

/* The rows of the table of keys, one each; the order of the table. */
enum { PRI_SCENARIO_KEYS = 44 };

/* Numbers that were not given are NAN, counts -1, lists empty, texts NULL. */
struct pricer_scenario {
    char *path; /* as given to pricer_scenario_read() */
    char *text; /* the file as it was read */
    /* The line of each key; 0: absent, -1: overridden. */
    int64_t line[PRI_SCENARIO_KEYS];

    int64_t dimension, rounds, repeat, seed;
    double radius;
    double diameter; /* of neighbouring data; 0: twice the radius */
    double step;     /* a change from the last estimate; 0: no reference */

    int scheme;     /* enum pricer_scheme; -1: forward if the file of nodes has
                   budgets towards everyone */
    int release;    /* enum pricer_release */
    int64_t relays; /* the key hops, of the scheme; -1: the plan chooses */
    double everyone_eps, everyone_delta; /* NAN: no budget towards everyone */

    int generator;
    int64_t nodes, hops;
    struct pri_list uplink, positions; /* positions: x, y, x, y, ... */
    int preset;
    double p, reciprocity, density, cutoff;
    int64_t good_count;
    double good_fraction, good_uplink;
    struct pri_names names;
    char *nodes_file, *links_file; /* paths relative to the scenario */

    double eps, delta;                   /* trust in any other node */
    double self_eps, self_delta;         /* trust in one's own uplink */
    double server_eps, server_delta;     /* towards the server, all relays */
    int64_t ring_hops;                   /* how far neighbours may be apart */
    double ring_eps, ring_delta;         /* trust in neighbours on the ring */
    double probable_above;               /* p above which a link is good */
    double probable_eps, probable_delta; /* trust over good links */

    int bias, calibration, reference;
    double lambda;
};

/* Write a fault at the line of a key ("network.p"). */
enum pricer_status pri_scenario_fault(const struct pricer_scenario *scenario,
                                      const char *key,
                                      struct pricer_fault *fault,
                                      const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Refuse keys that the scheme does not have, at their line. */
enum pricer_status pri_scenario_check_scheme(
    const struct pricer_scenario *scenario, enum pricer_scheme scheme,
    struct pricer_fault *fault);

/* The labels of an IDX label file or of CIFAR-10 images: a float32 column. */
enum pricer_status pri_matrix_read_labels(const char *path,
                                          struct pricer_matrix **matrix,
                                          struct pricer_fault *fault);

/* A path relative to the scenario's folder; NULL: no memory. */
char *pri_scenario_path(const struct pricer_scenario *scenario,
                        const char *file);

#endif
