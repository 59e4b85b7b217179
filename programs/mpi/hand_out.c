/*
 * From work in items to all of it done by ranks that ask for more when they are
 * free.
 *
 * Rank 0 plays too. A thread of it answers the others: it takes what they bring
 * and hands out the next portions. Who finds nothing left waits for the end.
 * During this only that thread speaks MPI on rank 0.
 *
 * An answer takes a millisecond or two, since nobody spins while waiting. So a
 * rank asks for as many portions as it plays in LONG seconds, and near the end
 * for fewer: at most a share of what is left, so that all ranks end together.
 */
#include "ranks.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double LONG = 0.2; /* seconds between two questions, about */
enum { MOST_BYTES = 1 << 20 };  /* of results in a message */

/* What a rank brings, with the results behind it. */
struct ask {
    int64_t first, count; /* the items that were played; count 0: none */
    int64_t wanted;       /* how many to give */
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
                 const char *results)
{
    const struct pricer_work *work = desk->work;
    for (int64_t k = 0; k < count; k += work->portion) {
        int64_t some = count - k < work->portion ? count - k : work->portion;
        struct pricer_fault fault = {""};
        enum pricer_status status =
            work->take(work->context, first + k, some,
                       results + (size_t)k * work->size, &fault);
        if (status != PRICER_OK)
            fail(desk, first + k, status, &fault);
    }
    desk->due = first + count;
    desk->done += count;
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

/* What became of the items that somebody played. */
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

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How many of the items come next; 0: nothing is left to begin. */
static int64_t hand_out(struct desk *desk, int64_t wanted, int64_t *first)
{
    int64_t left = desk->work->items - desk->next;
    int64_t share = left / (3 * desk->ranks->crew.ranks);
    int64_t most = share < desk->work->portion ? desk->work->portion : share;
    int64_t count = desk->stopped ? 0 : smaller(left, smaller(wanted, most));
    *first = desk->next;
    desk->next += count;
    return count;
}

/* ------------------------------------------------------------------ play -- */

/* What a rank holds of the work while it plays. */
struct player {
    const struct pricer_work *work;
    struct ask *ask; /* with the results behind it */
    int64_t room;    /* for results of so many items */
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Ask for what takes LONG at the pace of the last items, which took `seconds`;
 * for no more than four times as many, since paces change. */
static void choose_wanted(struct player *player, double seconds)
{
    struct ask *ask = player->ask;
    int64_t portion = player->work->portion;
    double pace = seconds > 0 ? LONG / seconds : 4;
    double fit = (double)ask->count * (pace < 4 ? pace : 4);
    double most = (double)MOST_BYTES / (double)player->work->size;
    fit = fit < most ? fit : most;
    ask->wanted = fit < (double)portion ? portion : (int64_t)fit;
    if (ask->wanted <= player->room)
        return;
    void *larger =
        realloc(ask, sizeof *ask + (size_t)ask->wanted * player->work->size);
    if (larger != NULL) {
        player->ask = larger;
        player->room = player->ask->wanted;
    } else {
        ask->wanted = player->room;
    }
}

/* Play the items of player->ask, a portion at a time. */
static void play(struct player *player)
{
    const struct pricer_work *work = player->work;
    struct ask *ask = player->ask;
    double start = now();
    ask->fault.text[0] = '\0';
    ask->status = PRICER_OK;
    for (int64_t k = 0; k < ask->count && ask->status == PRICER_OK;
         k += work->portion)
        ask->status = (int32_t)work->play(
            work->context, ask->first + k,
            smaller(ask->count - k, work->portion),
            (char *)(ask + 1) + (size_t)k * work->size, &ask->fault);
    choose_wanted(player, now() - start);
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
    give.count = hand_out(desk, ask->wanted, &give.first);
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
static void play_own(struct desk *desk, struct player *player)
{
    const struct pricer_watch *watch = desk->work->watch;
    double part = 0;
    for (;;) {
        struct ask *own = player->ask;
        own->stop = watch != NULL && !watch->tick(watch->context, part);
        pthread_mutex_lock(&desk->lock);
        settle(desk, own, own + 1);
        own->count = hand_out(desk, own->wanted, &own->first);
        desk->finished = own->count == 0;
        part = (double)desk->next / (double)desk->work->items;
        pthread_mutex_unlock(&desk->lock);
        if (own->count == 0)
            return;
        play(player);
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

static enum pricer_status lead(struct ranks *ranks, struct player *player,
                               struct pricer_fault *fault)
{
    struct desk desk = {.ranks = ranks, .work = player->work};
    pthread_t server;
    sigset_t all, before;
    pthread_mutex_init(&desk.lock, NULL);
    sigfillset(&all); /* signals are for the thread that asks the watch */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool served = pthread_create(&server, NULL, serve, &desk) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (served) {
        play_own(&desk, player);
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

static enum pricer_status follow(struct ranks *ranks, struct player *player,
                                 struct pricer_fault *fault)
{
    const struct pricer_work *work = player->work;
    const struct pricer_watch *watch = work->watch;
    struct give give;
    MPI_Request request;
    for (;;) {
        struct ask *ask = player->ask;
        size_t results =
            ask->status == PRICER_OK ? (size_t)ask->count * work->size : 0;
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
        play(player);
    }
    if (give.status != PRICER_OK && fault != NULL)
        *fault = give.fault;
    return (enum pricer_status)give.status;
}

enum pricer_status ranks_share(void *context, const struct pricer_work *work,
                               struct pricer_fault *fault)
{
    struct ranks *ranks = context;
    struct player player = {.work = work, .room = work->portion};
    player.ask =
        calloc(1, sizeof *player.ask + (size_t)work->portion * work->size);
    if (player.ask == NULL)
        return PRICER_MEMORY;
    player.ask->wanted = work->portion;
    enum pricer_status status = ranks->crew.rank == 0
                                    ? lead(ranks, &player, fault)
                                    : follow(ranks, &player, fault);
    free(player.ask);
    return status;
}
