/*
 * From an MPI job to a crew: who there is, what is exchanged, and how it ends.
 */
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------- exchange -- */

/* What fits one call of MPI, whose counts are int. */
enum { MOST = 1 << 30 };

static void add(void *context, int64_t *values, int64_t count)
{
    const int64_t most = MOST / 8;
    MPI_Request request;
    for (int64_t at = 0; at < count; at += most) {
        int part = (int)(count - at < most ? count - at : most);
        MPI_Iallreduce(MPI_IN_PLACE, values + at, part, MPI_INT64_T, MPI_SUM,
                       MPI_COMM_WORLD, &request);
        ranks_await(context, &request);
    }
}

static void spread(void *context, int32_t from, void *bytes, size_t size)
{
    MPI_Request request;
    for (size_t at = 0; at < size; at += MOST) {
        int part = (int)(size - at < MOST ? size - at : MOST);
        MPI_Ibcast((char *)bytes + at, part, MPI_BYTE, from, MPI_COMM_WORLD,
                   &request);
        ranks_await(context, &request);
    }
}

/* All in one call, or, where its counts would be too large, a rank's part after
 * the other. */
static void gather(void *context, void *items, size_t size,
                   const int64_t *bounds)
{
    struct ranks *ranks = context;
    const int32_t n = ranks->crew.ranks;
    MPI_Request request;
    if (ranks->counts != NULL && (size_t)bounds[n] * size < MOST) {
        for (int32_t r = 0; r < n; r++) {
            ranks->counts[r] =
                (int)((size_t)(bounds[r + 1] - bounds[r]) * size);
            ranks->counts[n + r] = (int)((size_t)bounds[r] * size);
        }
        MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, items, ranks->counts,
                        ranks->counts + n, MPI_BYTE, MPI_COMM_WORLD, &request);
        ranks_await(ranks, &request);
        return;
    }
    for (int32_t r = 0; r < n; r++)
        spread(context, r, (char *)items + (size_t)bounds[r] * size,
               (size_t)(bounds[r + 1] - bounds[r]) * size);
}

/* Pairs of ranks one after the other, in steps in which each sends to the rank
 * so far above it and receives from the one so far below; both know where there
 * is nothing to send. */
static void trade(void *context, size_t size, const void *given,
                  const int64_t *give, void *taken, const int64_t *got)
{
    struct ranks *ranks = context;
    const int32_t n = ranks->crew.ranks, own = ranks->crew.rank;
    MPI_Datatype item;
    MPI_Type_contiguous((int)size, MPI_BYTE, &item);
    MPI_Type_commit(&item);
    for (int32_t step = 0; step < n; step++) {
        int32_t to = (own + step) % n, from = (own + n - step) % n;
        size_t out = 0, in = 0;
        MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        for (int32_t r = 0; r < to; r++)
            out += (size_t)give[r] * size;
        for (int32_t r = 0; r < from; r++)
            in += (size_t)got[r] * size;
        if (got[from] > 0)
            MPI_Irecv((char *)taken + in, (int)got[from], item, from, 0,
                      MPI_COMM_WORLD, &request[0]);
        if (give[to] > 0)
            MPI_Isend((const char *)given + out, (int)give[to], item, to, 0,
                      MPI_COMM_WORLD, &request[1]);
        ranks_await(ranks, &request[0]);
        ranks_await(ranks, &request[1]);
    }
    MPI_Type_free(&item);
}

/* ------------------------------------------------------------ life cycle -- */

void ranks_start(struct ranks *ranks)
{
    MPI_Comm machine;
    int rank, count, beside;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &machine);
    MPI_Comm_size(machine, &beside);
    MPI_Comm_free(&machine);
    *ranks = (struct ranks){.crew = {.context = ranks,
                                     .rank = rank,
                                     .ranks = count,
                                     .share = ranks_share,
                                     .add = add,
                                     .gather = gather,
                                     .spread = spread,
                                     .trade = trade},
                            .beside = beside,
                            .counts = calloc(2 * (size_t)count, sizeof(int))};
    if (rank == 0)
        return;
    FILE *silent = open_memstream(&ranks->said, &ranks->room);
    if (silent != NULL)
        stderr = silent;
    if (freopen("/dev/null", "w", stdout) == NULL ||
        freopen("/dev/null", "r", stdin) == NULL)
        fputs("cannot open /dev/null\n", stderr);
}

/* Tell rank 0 what this rank would have printed last, in one line. */
static void complain(struct ranks *ranks)
{
    char words[RANKS_WORDS], host[MPI_MAX_PROCESSOR_NAME];
    int length;
    MPI_Request request;
    MPI_Get_processor_name(host, &length);
    fflush(stderr);
    const char *said = ranks->said != NULL ? ranks->said : "";
    if (strncmp(said, "pricer: ", 8) == 0)
        said += 8;
    snprintf(words, sizeof words, "on %s: %.*s", host, (int)strcspn(said, "\n"),
             said);
    MPI_Isend(words, (int)strlen(words), MPI_BYTE, 0, RANKS_GONE,
              MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
}

int ranks_end(struct ranks *ranks, int status)
{
    MPI_Request request;
    free(ranks->counts);
    if (ranks->crew.rank == 0) {
        for (int r = 1; r < ranks->crew.ranks; r++)
            MPI_Send(&status, 1, MPI_INT, r, RANKS_OVER, MPI_COMM_WORLD);
        return status;
    }
    if (status != 0)
        complain(ranks);
    if (ranks->over)
        return ranks->status;
    MPI_Irecv(&status, 1, MPI_INT, 0, RANKS_OVER, MPI_COMM_WORLD, &request);
    long pause = RANKS_SHORT_NAP;
    for (int done = 0; !done;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done)
            ranks_nap(&pause);
    }
    return status;
}
