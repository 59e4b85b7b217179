/*
 * What the readers of files share: the words for a file that cannot be had,
 * tables of numbers in CSV, networks from CSV, the kinds of matrix files, and
 * the replacement of a file in one step.
 */
#ifndef PRICER_READERS_H
#define PRICER_READERS_H

#include "internal.h"

#include <stdio.h>
#include <zlib.h>

/* ----------------------------------------------------------------- files -- */

/* "path: " and what errno says; returns PRICER_FILE. */
enum pricer_status pri_fault_errno(struct pricer_fault *fault, const char *path,
                                   int error);

/*
 * A file that appears under its name only when it is complete: write to
 * `file`, then call pri_replace_commit(), which also frees what is here, or
 * pri_replace_abandon(), which leaves no trace.
 */
struct pri_replace {
    FILE *file;
    char *path;
    char *temporary;
};
enum pricer_status pri_replace_open(const char *path,
                                    struct pri_replace *replace,
                                    struct pricer_fault *fault);
enum pricer_status pri_replace_commit(struct pri_replace *replace,
                                      struct pricer_fault *fault);
void pri_replace_abandon(struct pri_replace *replace);

/* ------------------------------------------------------------------- CSV -- */

enum pri_column_kind {
    PRI_COLUMN_INDEX,  /* a whole number from 0 to 2^53 */
    PRI_COLUMN_NUMBER, /* a number; inf is one, nan is not */
};

/* A column that a table may have; `required` ones must stand in its header. */
struct pri_column {
    const char *name;
    bool required;
    enum pri_column_kind kind;
};

#define PRI_COLUMNS_MOST 16

/*
 * A table of numbers to read: comma-separated, with a header that names the
 * columns in any order. Cells may be quoted; lines may end in CRLF; a byte
 * order mark and blank lines are passed over. Numbers are read in the C
 * locale, whatever the program's.
 *
 * `row` is called for each row: value[c] belongs to columns[c], and is NAN
 * where the cell is empty or the column absent. Its faults need no place: file
 * and line are put before them. The watch is told the part of the file that is
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
};

/* O(size of the file), in constant memory. */
enum pricer_status pri_csv_read(const struct pri_csv *csv,
                                struct pricer_fault *fault);

/* ----------------------------------------------------- networks from CSV -- */

/* The trust where a links file says nothing; an eps of NAN: it must say. */
struct pri_trust_default {
    double eps, delta;           /* of links; NAN: each row must say */
    double self_eps, self_delta; /* of uplinks */
};

/*
 * A network from two tables. Nodes: node,p[,x,y], numbered from 0, each once,
 * in any order. Links: from,to,p[,joint][,eps][,delta]; a row i,i (its p is 1
 * or empty) gives the trust in the uplink of node i. Empty cells take the
 * default. A links file may hold no rows, and links_path may be NULL: then no
 * node relays for another. O(nodes + links).
 */
enum pricer_status pri_csv_network(const char *nodes_path,
                                   const char *links_path, int64_t dimension,
                                   double radius, double reciprocity,
                                   const struct pri_trust_default *trust,
                                   const struct pricer_watch *watch,
                                   struct pricer_network **network,
                                   struct pricer_fault *fault);

/* ---------------------------------------------------------------- matrix -- */

/* A file of bytes, inflated on the way if it is gzip. */
struct pri_stream {
    const char *path;
    gzFile file;
};

enum pricer_status pri_stream_open(const char *path, struct pri_stream *stream,
                                   struct pricer_fault *fault);
void pri_stream_close(struct pri_stream *stream);

/*
 * Read up to `most` bytes into memory that grows with what is there, so that a
 * header that lies about its size costs nothing; *got is less than `most` only
 * at the end of the file. The caller frees *memory.
 */
enum pricer_status pri_stream_load(struct pri_stream *stream, int64_t most,
                                   void **memory, int64_t *got,
                                   struct pricer_fault *fault);

/* The same for a known number of bytes that must be there, with nothing behind
 * them. */
enum pricer_status pri_stream_load_rest(struct pri_stream *stream,
                                        int64_t bytes, void **memory,
                                        struct pricer_fault *fault);

/* The first byte, which stays to be read; there must be one. */
enum pricer_status pri_stream_peek(struct pri_stream *stream,
                                   unsigned char *first,
                                   struct pricer_fault *fault);

/* Read a few bytes that must be there. */
enum pricer_status pri_stream_head(struct pri_stream *stream, void *bytes,
                                   int count, struct pricer_fault *fault);

/* Write "path: " and a complaint about the form of a file. */
enum pricer_status pri_stream_fault(const struct pri_stream *stream,
                                    struct pricer_fault *fault,
                                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Each reads what stands behind the first byte's hint into a new matrix. */
enum pricer_status pri_npy_read(struct pri_stream *stream,
                                struct pricer_matrix **matrix,
                                struct pricer_fault *fault);
enum pricer_status pri_idx_read(struct pri_stream *stream,
                                struct pricer_matrix **matrix,
                                struct pricer_fault *fault);
enum pricer_status pri_cifar_read(struct pri_stream *stream, bool labels,
                                  struct pricer_matrix **matrix,
                                  struct pricer_fault *fault);

#endif
