/*
 * What the files of pricer demo share: a fleet of processes on loopback.
 */
#ifndef PROGRAM_DEMO_H
#define PROGRAM_DEMO_H

#include "common/program.h"
#include "pricer_forward.h"

#include <sys/types.h>

struct demo {
    /* asked for */
    const char *study_path; /* NULL: a study of its own */
    int64_t rounds, seed, port;
    int64_t timeout;  /* seconds without a new round; 0: by the nodes */
    const char *keep; /* a folder to keep everything in, or NULL */
    struct program_decoding decoding;
    int32_t attempts; /* of a round */

    /* made */
    char folder[4096];
    char path[4096]; /* of the study, or of its copy */
    int64_t before;  /* rounds that it has opened so far */
    struct pricer_study *study;
    struct pricer_network *network;
    struct pricer_plan *plan;            /* of sums, or */
    struct pricer_forward_plan *forward; /* one that forwards, */
    int64_t horizon;                     /* for so many rounds */
    struct pricer_matrix *data;          /* a row for every node */
    int *ports;      /* [nodes + 1] sockets that keep their ports for them */
    int32_t held;    /* so many of these */
    pid_t *children; /* [nodes + 1], the server last; 0: none */
    int32_t running;
};

/* Whether a fleet of this plan fits this machine: a fault says which limit it
 * exceeds, and how many nodes fit. Raises the limit of open files as far as it
 * may. */
enum pricer_status demo_check_limits(const struct demo *demo,
                                     struct pricer_fault *fault);

/* Folder, study, plan, data, keys, enrolment and trust. */
enum pricer_status demo_prepare(struct demo *demo, struct pricer_fault *fault);

/* What links and noise are drawn from: the seed, and another one in a study
 * that has rounds, so that each demo draws anew. */
uint64_t demo_seed(const struct demo *demo);

/* Start everything and wait for the rounds; all processes have ended when it
 * returns. */
enum pricer_status demo_run(struct demo *demo, const struct pricer_watch *watch,
                            struct pricer_fault *fault);

/* The demo has come to its end: add its rounds to the study that was given. */
enum pricer_status demo_keep(struct demo *demo, struct pricer_fault *fault);

/* End what runs, and remove the folder unless it is kept. */
void demo_clean(struct demo *demo);

/* The same, and forget everything. */
void demo_close(struct demo *demo);

#endif
