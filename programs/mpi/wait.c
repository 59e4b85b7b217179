/*
 * Waiting for other ranks.
 *
 * MPI's own waiting holds a core. Here every wait tests and lies down in
 * between, so that ranks that have nothing to do leave their cores to those
 * that have. Between tests rank 0 looks whether another rank has failed, and
 * the others whether rank 0 has.
 */
#include "ranks.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_NAP = 1000000 };

void ranks_nap(long *pause)
{
    nanosleep(&(struct timespec){0, *pause}, NULL);
    *pause = *pause < LONGEST_NAP / 2 ? 2 * *pause : LONGEST_NAP;
}

/* A rank has failed where this one has not: nothing can be finished. */
static void end_for(const MPI_Status *from)
{
    char words[RANKS_WORDS + 1] = "";
    MPI_Recv(words, RANKS_WORDS, MPI_BYTE, from->MPI_SOURCE, RANKS_GONE,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fflush(stdout);
    fprintf(stderr, "pricer: rank %d %s\n", from->MPI_SOURCE, words);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Rank 0 has ended without this one. */
static void leave(void)
{
    int status = 1;
    MPI_Recv(&status, 1, MPI_INT, 0, RANKS_OVER, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    _exit(status);
}

void ranks_check(struct ranks *ranks)
{
    MPI_Status from;
    int there = 0;
    if (ranks->crew.rank == 0)
        MPI_Iprobe(MPI_ANY_SOURCE, RANKS_GONE, MPI_COMM_WORLD, &there, &from);
    else
        MPI_Iprobe(0, RANKS_OVER, MPI_COMM_WORLD, &there, &from);
    if (there && ranks->crew.rank == 0)
        end_for(&from);
    else if (there)
        leave();
}

void ranks_await(struct ranks *ranks, MPI_Request *request)
{
    long pause = RANKS_SHORT_NAP;
    int done = 0;
    for (;;) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done)
            return;
        ranks_check(ranks);
        ranks_nap(&pause);
    }
}
