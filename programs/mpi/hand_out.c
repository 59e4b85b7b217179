/*
 * From work in items to all of it done by ranks that ask for more when they are
 * free.
 *
 * Rank 0 plays too. A thread of it answers the others: it takes what they bring
 * and hands out the next portion. Who finds nothing left waits for the end. So
 * a slow rank costs its last portion at most. During this only that thread
 * speaks MPI on rank 0.
 */
#include "ranks.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* What a rank brings, with the results behind it. */
struct ask {
    int64_t first, count; /* the portion that was played; count 0: none */
    int64_t portion;      /* how many to give */
    int32_t status;       /* enum pricer_status of that portion */
    int32_t stop;         /* the rank's watch asks to stop */
    struct pricer_fault fault;
};

/* What rank 0 answers. */
struct give {
    int64_t first, count;
    int32_t over; /* everything is done, or stopped, or failed: */
    int32_t status;
    struct pricer_fault fault;
};

/* Results that came before their turn. */
struct parcel {
    struct parcel *next;
    int64_t first, count;
    char results[];
};

/* Rank 0's books. */
struct desk {
    struct ranks *ranks;
    const struct pricer_work *work;
    pthread_mutex_t lock; /* for what follows */
    int64_t next;         /* first item that nobody has */
    int64_t done;         /* items taken */
    bool stopped, finished;
    int64_t failed; /* first item of the portion with this status */
    enum pricer_status status;
    struct pricer_fault fault;
    int32_t waiting; /* ranks for which nothing is left */
    int64_t due;     /* the item to take next, if in order */
    struct parcel *parcels;
};

/* ----------------------------------------------------------------- books -- */

static void fail(struct desk *desk, int64_t first, enum pricer_status status,
                 const struct pricer_fault *fault)
{
    desk->stopped = true;
    if (status == PRICER_STOPPED ||
        (desk->status != PRICER_OK && desk->failed <= first))
        return;
    desk->failed = first;
    desk->status = status;
    desk->fault = *fault;
}

static void take(struct desk *desk, int64_t first, int64_t count,
                 const void *results)
{
    struct pricer_fault fault = {""};
    enum pricer_status status =
        desk->work->take(desk->work->context, first, count, results, &fault);
    desk->due = first + count;
    desk->done += count;
    if (status != PRICER_OK)
        fail(desk, first, status, &fault);
}

/* Keep results until it is their turn. */
static void keep(struct desk *desk, int64_t first, int64_t count,
                 const void *results)
{
    size_t bytes = (size_t)count * desk->work->size;
    struct parcel *parcel = malloc(sizeof *parcel + bytes), **at;
    if (parcel == NULL) {
        fail(desk, first, PRICER_MEMORY, &(struct pricer_fault){""});
        return;
    }
    parcel->first = first;
    parcel->count = count;
    memcpy(parcel->results, results, bytes);
    for (at = &desk->parcels; *at != NULL && (*at)->first < first;)
        at = &(*at)->next;
    parcel->next = *at;
    *at = parcel;
}

/* What became of a portion. */
static void settle(struct desk *desk, const struct ask *ask,
                   const void *results)
{
    if (ask->stop)
        desk->stopped = true;
    if (ask->count == 0)
        return;
    if (ask->status != PRICER_OK) {
        fail(desk, ask->first, (enum pricer_status)ask->status, &ask->fault);
    } else if (desk->work->in_order && ask->first != desk->due) {
        keep(desk, ask->first, ask->count, results);
    } else {
        take(desk, ask->first, ask->count, results);
        while (desk->parcels != NULL && desk->parcels->first == desk->due) {
            struct parcel *parcel = desk->parcels;
            desk->parcels = parcel->next;
            take(desk, parcel->first, parcel->count, parcel->results);
            free(parcel);
        }
    }
}

/* The next portion; 0: nothing is left to begin. */
static int64_t hand_out(struct desk *desk, int64_t portion, int64_t *first)
{
    int64_t left = desk->work->items - desk->next;
    int64_t count = desk->stopped ? 0 : left < portion ? left : portion;
    *first = desk->next;
    desk->next += count;
    return count;
}

/* ---------------------------------------------------------------- rank 0 -- */

/* Take what a rank brings and answer it. */
static void answer(struct desk *desk, const MPI_Status *from, void *message)
{
    const struct ask *ask = message;
    struct give give = {.over = 0};
    int size;
    MPI_Get_count(from, MPI_BYTE, &size);
    MPI_Recv(message, size, MPI_BYTE, from->MPI_SOURCE, RANKS_ASK,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pthread_mutex_lock(&desk->lock);
    settle(desk, ask, ask + 1);
    give.count = hand_out(desk, ask->portion, &give.first);
    if (give.count == 0)
        desk->waiting++;
    pthread_mutex_unlock(&desk->lock);
    if (give.count > 0)
        MPI_Send(&give, sizeof give, MPI_BYTE, from->MPI_SOURCE, RANKS_GIVE,
                 MPI_COMM_WORLD);
}

/* Whether everyone has played what was handed out. */
static bool is_over(struct desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    bool over = desk->finished && desk->waiting == desk->ranks->crew.ranks - 1;
    pthread_mutex_unlock(&desk->lock);
    return over;
}

/* Room for a message that has been announced; it only grows. */
static bool make_room(const MPI_Status *from, void **message, int *room)
{
    int size;
    MPI_Get_count(from, MPI_BYTE, &size);
    if (size <= *room)
        return true;
    void *larger = realloc(*message, (size_t)size);
    if (larger == NULL)
        return false;
    *message = larger;
    *room = size;
    return true;
}

static void *serve(void *context)
{
    struct desk *desk = context;
    void *message = NULL;
    int room = 0;
    long pause = RANKS_SHORT_NAP;
    while (!is_over(desk)) {
        MPI_Status from;
        int there;
        MPI_Iprobe(MPI_ANY_SOURCE, RANKS_ASK, MPI_COMM_WORLD, &there, &from);
        if (!there || !make_room(&from, &message, &room)) {
            ranks_check(desk->ranks);
            ranks_nap(&pause);
            continue;
        }
        answer(desk, &from, message);
        pause = RANKS_SHORT_NAP;
    }
    free(message);
    return NULL;
}

/* Play until nothing is left. The watch is the caller's alone. */
static void play_own(struct desk *desk, void *results)
{
    const struct pricer_work *work = desk->work;
    const struct pricer_watch *watch = work->watch;
    struct ask own = {.portion = work->portion};
    for (;;) {
        double part = (double)desk->next / (double)work->items;
        own.stop = watch != NULL && !watch->tick(watch->context, part);
        pthread_mutex_lock(&desk->lock);
        settle(desk, &own, results);
        own.count = hand_out(desk, work->portion, &own.first);
        desk->finished = own.count == 0;
        pthread_mutex_unlock(&desk->lock);
        if (own.count == 0)
            return;
        own.fault.text[0] = '\0';
        own.status = (int32_t)work->play(work->context, own.first, own.count,
                                         results, &own.fault);
    }
}

/* Tell everyone how it ended. */
static enum pricer_status close_desk(struct desk *desk,
                                     struct pricer_fault *fault)
{
    struct give give = {.over = 1};
    while (desk->parcels != NULL) {
        struct parcel *parcel = desk->parcels;
        desk->parcels = parcel->next;
        free(parcel);
    }
    if (desk->status == PRICER_OK && desk->done < desk->work->items)
        desk->status = PRICER_STOPPED;
    give.status = (int32_t)desk->status;
    give.fault = desk->fault;
    for (int r = 1; r < desk->ranks->crew.ranks; r++)
        MPI_Send(&give, sizeof give, MPI_BYTE, r, RANKS_GIVE, MPI_COMM_WORLD);
    if (desk->status != PRICER_OK && fault != NULL)
        *fault = desk->fault;
    return desk->status;
}

static enum pricer_status lead(struct ranks *ranks,
                               const struct pricer_work *work, void *results,
                               struct pricer_fault *fault)
{
    struct desk desk = {.ranks = ranks, .work = work};
    pthread_t server;
    sigset_t all, before;
    pthread_mutex_init(&desk.lock, NULL);
    sigfillset(&all); /* signals are for the thread that asks the watch */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool served = pthread_create(&server, NULL, serve, &desk) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (served) {
        play_own(&desk, results);
        pthread_join(server, NULL);
    } else { /* only answer */
        desk.finished = true;
        serve(&desk);
    }
    enum pricer_status status = close_desk(&desk, fault);
    pthread_mutex_destroy(&desk.lock);
    return status;
}

/* ---------------------------------------------------------------- others -- */

static enum pricer_status follow(struct ranks *ranks,
                                 const struct pricer_work *work,
                                 struct ask *ask, struct pricer_fault *fault)
{
    const struct pricer_watch *watch = work->watch;
    struct give give;
    MPI_Request request;
    for (;;) {
        size_t results =
            ask->status == PRICER_OK ? (size_t)ask->count * work->size : 0;
        ask->portion = work->portion;
        ask->stop = watch != NULL && !watch->tick(watch->context, 0);
        MPI_Isend(ask, (int)(sizeof *ask + results), MPI_BYTE, 0, RANKS_ASK,
                  MPI_COMM_WORLD, &request);
        ranks_await(ranks, &request);
        MPI_Irecv(&give, sizeof give, MPI_BYTE, 0, RANKS_GIVE, MPI_COMM_WORLD,
                  &request);
        ranks_await(ranks, &request);
        if (give.over)
            break;
        ask->first = give.first;
        ask->count = give.count;
        ask->fault.text[0] = '\0';
        ask->status = (int32_t)work->play(work->context, give.first, give.count,
                                          ask + 1, &ask->fault);
    }
    if (give.status != PRICER_OK && fault != NULL)
        *fault = give.fault;
    return (enum pricer_status)give.status;
}

enum pricer_status ranks_share(void *context, const struct pricer_work *work,
                               struct pricer_fault *fault)
{
    struct ranks *ranks = context;
    struct ask *ask =
        calloc(1, sizeof *ask + (size_t)work->portion * work->size);
    if (ask == NULL)
        return PRICER_MEMORY;
    enum pricer_status status = ranks->crew.rank == 0
                                    ? lead(ranks, work, ask + 1, fault)
                                    : follow(ranks, work, ask, fault);
    free(ask);
    return status;
}
