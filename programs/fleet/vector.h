/*
 * Where a node's private vector comes from: a row of a file, the same in every
 * round, or what a command writes for each round.
 */
#ifndef PROGRAM_VECTOR_H
#define PROGRAM_VECTOR_H

#include "pricer.h"

#include <sys/types.h>

struct vector {
    const char *file; /* or NULL */
    int64_t row;
    const char *command;  /* or NULL */
    const char *estimate; /* where the last estimate is, for the command */
    struct pricer_matrix *matrix;
    pid_t child;    /* 0: none runs */
    int child_file; /* its pidfd, readable when it has ended; -1 */
    int output;     /* what it writes, in memory; -1 */
};

void vector_init(struct vector *vector);

/* Begin to get the vector of a round. *ready: it can be taken at once; else
 * when child_file is readable. */
enum pricer_status vector_start(struct vector *vector, int64_t round,
                                int64_t dimension, bool *ready,
                                struct pricer_fault *fault);

/* Take it. Refuses another dimension and numbers that are not finite. */
enum pricer_status vector_take(struct vector *vector, int64_t dimension,
                               double *data, struct pricer_fault *fault);

/* End a command that still runs. */
void vector_stop(struct vector *vector);
void vector_free(struct vector *vector);

#endif
