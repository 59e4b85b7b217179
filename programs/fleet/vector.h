/*
 * Where a node's private vector comes from: a row of a file, the same in every
 * round, what a command writes for each round, or what a program hands in that
 * is connected all the time.
 */
#ifndef PROGRAM_VECTOR_H
#define PROGRAM_VECTOR_H

#include "feed.h"

#include <sys/types.h>

struct vector {
    const char *file; /* or NULL */
    int64_t row;
    const char *command;  /* or NULL */
    const char *estimate; /* where the last estimate is, for the command */
    struct pricer_matrix *matrix;
    struct feed *feed; /* or NULL */
    pid_t child;       /* 0: none runs */
    int child_file;    /* its pidfd, readable when it has ended; -1 */
    int output;        /* what it writes, in memory; -1 */
};

void vector_init(struct vector *vector);

/* Begin to get the vector of a round. *ready: it can be taken at once; else
 * when vector_serve() says so. */
enum pricer_status vector_start(struct vector *vector,
                                const struct feed_round *round, bool *ready,
                                struct pricer_fault *fault);

/* The file to wait for, or -1; and, once it can be read, whether the vector can
 * be taken. */
int vector_file(const struct vector *vector);
bool vector_serve(struct vector *vector);

/* Take it. Refuses another dimension and numbers that are not finite; `data` is then
 * all zero. */
enum pricer_status vector_take(struct vector *vector, int64_t dimension,
                               double *data, struct pricer_fault *fault);

/* Wait for it no more: end a command that still runs. */
void vector_stop(struct vector *vector);
void vector_free(struct vector *vector);

#endif
