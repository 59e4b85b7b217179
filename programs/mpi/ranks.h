/*
 * The ranks of an MPI job as a crew.
 */
#ifndef PROGRAM_RANKS_H
#define PROGRAM_RANKS_H

#include "pricer_crew.h"

#include <mpi.h>

struct ranks {
    struct pricer_crew crew;
    int32_t beside; /* ranks on this machine, this one too */
    int *counts;    /* [2 ranks] room for a call of MPI, or NULL */
    char *said;     /* what a rank above 0 would have printed on stderr */
    size_t room;
    bool over; /* rank 0 has ended, with this exit status */
    int status;
    int patience; /* how often this rank has waited since */
};

/* What messages are about. */
enum {
    RANKS_ASK = 1, /* a rank brings what it played and asks for more */
    RANKS_GIVE,    /* rank 0 answers */
    RANKS_GONE,    /* a rank's verb has failed: the words */
    RANKS_OVER,    /* rank 0's verb has ended: the exit status */
};

/* Fill in the crew; ranks above 0 fall silent and read nothing. */
void ranks_start(struct ranks *ranks);

/* Wait for each other and return rank 0's exit status. */
int ranks_end(struct ranks *ranks, int status);

/* Wait for a request without holding a core. Another rank that has failed ends
 * the job. */
void ranks_await(struct ranks *ranks, MPI_Request *request);

/* Rank 0: end the job with words if a rank has failed. Others: end if rank 0
 * has. */
void ranks_check(struct ranks *ranks);

/* Lie down for *pause nanoseconds, and longer the next time, up to 1 ms. */
void ranks_nap(long *pause);
enum { RANKS_SHORT_NAP = 20000, RANKS_WORDS = 1000 };

/* The share() of the crew: portions of the items by who asks first. */
enum pricer_status ranks_share(void *context, const struct pricer_work *work,
                               struct pricer_fault *fault);

#endif
