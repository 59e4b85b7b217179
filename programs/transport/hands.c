/*
 * From one thread to several for what costs most of a hub's time: TLS and the
 * sockets. Peers wait in a list, whoever is free takes the first, and those that
 * are done wait in another for the hub's thread. It takes part, so a thread that
 * wakes late delays nobody.
 *
 * Claim: no two threads touch a peer at once. Proof: a peer changes hands only
 * under the lock; it is in the first list, with one of the threads, in the second
 * list, or with the hub's thread, which leaves it alone while it is lent, but for
 * its queue, and a task that writes from that is only lent while no events are
 * handed out (hub.c).
 */
#include "hub.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

enum {
    STACK = 256 << 10, /* bytes of a thread: memory may be locked */
    MOST = 8,          /* peers that a thread takes at once, and one */
};

struct tasks {
    struct hub_peer *first, **end;
    int32_t count;
};

struct hands {
    pthread_mutex_t lock;
    pthread_cond_t begun, done;
    struct tasks lent, waiting, finished, back; /* first and last: the hub's */
    int32_t working;                            /* threads that have peers */
    int32_t threads;
    int core; /* of the hub's thread, when it was last looked at */
    bool stop;
    void (*work)(struct hub_peer *peer, struct desk *desk);
    struct hand {
        pthread_t thread;
        struct hands *hands;
        struct desk desk;
    } * hand;
};

static void clear(struct tasks *tasks)
{
    *tasks = (struct tasks){NULL, &tasks->first, 0};
}

static void add(struct tasks *tasks, struct hub_peer *peer)
{
    peer->next_task = NULL;
    *tasks->end = peer;
    tasks->end = &peer->next_task;
    tasks->count++;
}

/* All of one behind the other. */
static void join(struct tasks *tasks, struct tasks *more)
{
    if (more->first == NULL)
        return;
    *tasks->end = more->first;
    tasks->end = more->end;
    tasks->count += more->count;
    clear(more);
}

static struct hub_peer *take(struct tasks *tasks)
{
    struct hub_peer *peer = tasks->first;
    if (peer == NULL)
        return NULL;
    tasks->count--;
    if ((tasks->first = peer->next_task) == NULL)
        tasks->end = &tasks->first;
    return peer;
}

static bool drop(struct tasks *tasks, const struct hub_peer *peer)
{
    for (struct hub_peer **at = &tasks->first; *at != NULL;
         at = &(*at)->next_task)
        if (*at == peer) {
            if ((*at = peer->next_task) == NULL)
                tasks->end = at;
            tasks->count--;
            return true;
        }
    return false;
}

/* --------------------------------------------------------------- threads -- */

static void *run(void *context)
{
    struct hand *hand = context;
    struct hands *hands = hand->hands;
    struct tasks mine;
    clear(&mine);
    pthread_mutex_lock(&hands->lock);
    while (!hands->stop) {
        if (hands->waiting.count == 0) {
            pthread_cond_wait(&hands->begun, &hands->lock);
            continue;
        }
        int32_t some = hands->waiting.count / (2 * (hands->threads + 1));
        for (int32_t k = 0; k < 1 + (some < MOST ? some : MOST); k++)
            add(&mine, take(&hands->waiting));
        hands->working++;
        pthread_mutex_unlock(&hands->lock);
        for (struct hub_peer *peer = mine.first; peer != NULL;
             peer = peer->next_task)
            hands->work(peer, &hand->desk);
        pthread_mutex_lock(&hands->lock);
        hands->working--;
        join(&hands->finished, &mine);
        pthread_cond_signal(&hands->done);
    }
    pthread_mutex_unlock(&hands->lock);
    return NULL;
}

/* Signals are the hub's thread's: they must end its waiting. */
static void start(struct hands *hands, int32_t threads)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setstacksize(&attributes, STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int32_t k = 0; k < threads; k++) {
        struct hand *hand = &hands->hand[hands->threads];
        hand->hands = hands;
        if (pthread_create(&hand->thread, &attributes, run, hand) == 0)
            hands->threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

struct hands *hands_new(int32_t threads,
                        void (*work)(struct hub_peer *peer, struct desk *desk))
{
    struct hands *hands = threads > 0 ? calloc(1, sizeof *hands) : NULL;
    if (hands == NULL)
        return NULL;
    hands->hand = calloc((size_t)threads, sizeof *hands->hand);
    pthread_mutex_init(&hands->lock, NULL);
    pthread_cond_init(&hands->begun, NULL);
    pthread_cond_init(&hands->done, NULL);
    hands->work = work;
    hands->core = -1;
    clear(&hands->lent);
    clear(&hands->waiting);
    clear(&hands->finished);
    clear(&hands->back);
    if (hands->hand != NULL)
        start(hands, threads);
    if (hands->threads > 0)
        return hands;
    hands_free(hands);
    return NULL;
}

void hands_free(struct hands *hands)
{
    if (hands == NULL)
        return;
    pthread_mutex_lock(&hands->lock);
    hands->stop = true;
    pthread_cond_broadcast(&hands->begun);
    pthread_mutex_unlock(&hands->lock);
    for (int32_t k = 0; k < hands->threads; k++)
        pthread_join(hands->hand[k].thread, NULL);
    pthread_cond_destroy(&hands->begun);
    pthread_cond_destroy(&hands->done);
    pthread_mutex_destroy(&hands->lock);
    free(hands->hand);
    free(hands);
}

/* ------------------------------------------------------- the hub's thread -- */

void hands_lend(struct hands *hands, struct hub_peer *peer, enum peer_task task)
{
    if (peer->lent)
        return;
    peer->lent = true;
    peer->task = task;
    add(&hands->lent, peer);
}

/* A thread that is woken should run beside the hub's, not behind it. The kernel may
 * think otherwise: in a virtual machine it takes a core that sleeps for one that is
 * away, and leaves both threads to one core for milliseconds. So they have all cores
 * but that of the hub's thread, if there is another. */
static void step_aside(struct hands *hands)
{
    cpu_set_t cores;
    int core = sched_getcpu();
    if (core < 0 || core == hands->core)
        return;
    hands->core = core;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0)
        return;
    if (CPU_COUNT(&cores) > 1)
        CPU_CLR(core, &cores);
    for (int32_t k = 0; k < hands->threads; k++)
        pthread_setaffinity_np(hands->hand[k].thread, sizeof cores, &cores);
}

void hands_begin(struct hands *hands)
{
    int32_t count = hands->lent.count;
    if (count == 0)
        return;
    if (count > 1)
        step_aside(hands);
    pthread_mutex_lock(&hands->lock);
    join(&hands->waiting, &hands->lent);
    /* One stays for the caller. */
    for (int32_t k = 1; k < count && k <= hands->threads; k++)
        pthread_cond_signal(&hands->begun);
    pthread_mutex_unlock(&hands->lock);
}

struct hub_peer *hands_next(struct hands *hands, bool *done)
{
    struct hub_peer *peer = take(&hands->back);
    *done = peer != NULL;
    if (peer == NULL) {
        pthread_mutex_lock(&hands->lock);
        while (hands->finished.count == 0 && hands->waiting.count == 0 &&
               hands->working > 0)
            pthread_cond_wait(&hands->done, &hands->lock);
        join(&hands->back, &hands->finished);
        peer = take(&hands->back);
        *done = peer != NULL;
        if (peer == NULL)
            peer = take(&hands->waiting);
        pthread_mutex_unlock(&hands->lock);
    }
    if (peer != NULL)
        peer->lent = false;
    return peer;
}

void hands_recall(struct hands *hands, struct hub_peer *peer)
{
    peer->lent = false;
    if (drop(&hands->lent, peer) || drop(&hands->back, peer))
        return;
    pthread_mutex_lock(&hands->lock);
    if (!drop(&hands->waiting, peer))
        while (!drop(&hands->finished, peer))
            pthread_cond_wait(&hands->done, &hands->lock);
    pthread_mutex_unlock(&hands->lock);
}

void hands_rest(struct hands *hands)
{
    if (hands == NULL)
        return;
    pthread_mutex_lock(&hands->lock);
    join(&hands->lent, &hands->waiting);
    while (hands->working > 0)
        pthread_cond_wait(&hands->done, &hands->lock);
    pthread_mutex_unlock(&hands->lock);
}
