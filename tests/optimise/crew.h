/*
 * A crew of threads, for tests: ranks of one process that exchange what they
 * must through memory, each in the order of the ranks.
 */
#ifndef TEST_CREW_H
#define TEST_CREW_H

#include "pricer_crew.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CREW_MOST = 8 };

struct test_crew {
    int32_t ranks;
    pthread_barrier_t barrier;
    const void *shown[CREW_MOST]; /* what each rank lets others read */
    const int64_t *counts[CREW_MOST];
    void (*work)(const struct pricer_crew *crew, void *context);
    void *context;
};

struct test_rank {
    struct pricer_crew crew;
    struct test_crew *all;
};

static void crew_meet(struct test_rank *rank)
{
    pthread_barrier_wait(&rank->all->barrier);
}

static void crew_show(struct test_rank *rank, const void *bytes,
                      const int64_t *counts)
{
    rank->all->shown[rank->crew.rank] = bytes;
    rank->all->counts[rank->crew.rank] = counts;
    crew_meet(rank);
}

static void crew_add(void *context, int64_t *values, int64_t count)
{
    struct test_rank *rank = context;
    int64_t *sums = calloc((size_t)count + 1, sizeof *sums);
    crew_show(rank, values, NULL);
    for (int32_t r = 0; r < rank->crew.ranks; r++)
        for (int64_t k = 0; k < count; k++)
            sums[k] += ((const int64_t *)rank->all->shown[r])[k];
    crew_meet(rank);
    memcpy(values, sums, (size_t)count * sizeof *sums);
    free(sums);
}

static void crew_gather(void *context, void *items, size_t size,
                        const int64_t *bounds)
{
    struct test_rank *rank = context;
    crew_show(rank, items, NULL);
    for (int32_t r = 0; r < rank->crew.ranks; r++)
        if (r != rank->crew.rank)
            memcpy((char *)items + (size_t)bounds[r] * size,
                   (const char *)rank->all->shown[r] + (size_t)bounds[r] * size,
                   (size_t)(bounds[r + 1] - bounds[r]) * size);
    crew_meet(rank);
}

static void crew_spread(void *context, int32_t from, void *bytes, size_t size)
{
    struct test_rank *rank = context;
    crew_show(rank, bytes, NULL);
    if (from != rank->crew.rank)
        memcpy(bytes, rank->all->shown[from], size);
    crew_meet(rank);
}

static void crew_trade(void *context, size_t size, const void *given,
                       const int64_t *give, void *taken, const int64_t *got)
{
    struct test_rank *rank = context;
    char *to = taken;
    crew_show(rank, given, give);
    for (int32_t r = 0; r < rank->crew.ranks; r++) {
        const int64_t *theirs = rank->all->counts[r];
        const char *from = rank->all->shown[r];
        for (int32_t k = 0; k < rank->crew.rank; k++)
            from += (size_t)theirs[k] * size;
        if (theirs[rank->crew.rank] != got[r])
            abort();    /* the two ends disagree */
        if (got[r] > 0) /* else both may be NULL */
            memcpy(to, from, (size_t)got[r] * size);
        to += (size_t)got[r] * size;
    }
    crew_meet(rank);
}

static void *crew_thread(void *context)
{
    struct test_rank *rank = context;
    rank->all->work(&rank->crew, rank->all->context);
    return NULL;
}

/* Call work() on every rank. */
static inline void crew_run(int32_t ranks,
                            void (*work)(const struct pricer_crew *crew,
                                         void *context),
                            void *context)
{
    struct test_crew all = {.ranks = ranks, .work = work, .context = context};
    struct test_rank rank[CREW_MOST];
    pthread_t thread[CREW_MOST];
    pthread_barrier_init(&all.barrier, NULL, (unsigned)ranks);
    for (int32_t r = 0; r < ranks; r++) {
        rank[r] = (struct test_rank){.all = &all,
                                     .crew = {.context = &rank[r],
                                              .rank = r,
                                              .ranks = ranks,
                                              .add = crew_add,
                                              .gather = crew_gather,
                                              .spread = crew_spread,
                                              .trade = crew_trade}};
        if (pthread_create(&thread[r], NULL, crew_thread, &rank[r]) != 0)
            abort();
    }
    for (int32_t r = 0; r < ranks; r++)
        pthread_join(thread[r], NULL);
    pthread_barrier_destroy(&all.barrier);
}

#endif
