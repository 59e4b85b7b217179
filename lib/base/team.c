/*
 * From a job cut into parts to its parts done, on the calling thread and on
 * helpers that come when they can.
 *
 * The caller never waits for a helper to begin. It works through the parts
 * itself; a helper that is awake takes some of them, one that the machine has
 * no core for takes none. What is left to wait for are parts that a helper has
 * begun, and where that wait grows beyond what the sharing can have gained
 * (other programs hold the cores) the team rests: the caller works alone for a
 * while and tries again. So a team is about as fast as one thread on a machine
 * that is busy with something else, where a barrier that everyone has to reach
 * costs a slice of the scheduler's time in every pass.
 *
 * Nothing is said about who does which part: a job whose parts write to places
 * of their own gives the same result with any number of threads.
 */
#include "base.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum {
    SPINS = 2000,            /* looks before a thread lies down: some 30 us */
    SHORTEST = 20 * 1000000, /* nanoseconds of the first rest */
    LONGEST = 1000 * 1000000,
    SPELL = 100 * 1000000, /* what the team remembers, about */
    LOSS = 16,             /* rest when 1 / LOSS of the time went waiting */
    TRIFLE = 50 * 1000,    /* a wait that any wakening may cost */
};

struct helper {
    struct pri_team *team;
    int32_t number; /* 1 to threads - 1; the caller is 0 */
    pthread_t thread;
};

struct pri_team {
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
    int32_t threads; /* helpers that started, and the caller */
    /* Under the lock: the job that helpers may enter. */
    bool open, over, caller_sleeps;
    int32_t sleepers;
    void (*job)(void *context, int32_t part);
    void *context;
    int32_t parts;
    /* Read by those who spin, written under the lock. */
    atomic_uint round;
    atomic_int inside; /* helpers that entered and did not leave */
    _Atomic uint64_t taken;
    /* The caller's own: how well sharing went lately, in nanoseconds. */
    int64_t spent, lost, rest, rest_until;
    struct helper helpers[];
};

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Do what nobody has taken yet, each thread from a place of its own, so that it
 * meets the same parts in every pass. Returns how many it did. */
static int32_t take_parts(struct pri_team *team, int32_t number)
{
    int32_t parts = team->parts, done = 0;
    int32_t first = (int32_t)((int64_t)parts * number / team->threads);
    for (int32_t k = 0; k < parts; k++) {
        int32_t part = first + k < parts ? first + k : first + k - parts;
        uint64_t bit = UINT64_C(1) << part;
        if (atomic_load_explicit(&team->taken, memory_order_relaxed) & bit ||
            atomic_fetch_or_explicit(&team->taken, bit, memory_order_relaxed) &
                bit)
            continue;
        team->job(team->context, part);
        done++;
    }
    return done;
}

/* --------------------------------------------------------------- helpers -- */

/* Wait for a job other than `seen` and enter it; false: the team is over. */
static bool enter(struct pri_team *team, unsigned seen)
{
    for (int k = 0; k < SPINS && atomic_load(&team->round) == seen; k++)
        pause_briefly();
    pthread_mutex_lock(&team->lock);
    team->sleepers++;
    while (!team->over && (!team->open || atomic_load(&team->round) == seen))
        pthread_cond_wait(&team->begin, &team->lock);
    team->sleepers--;
    bool go = !team->over;
    if (go)
        atomic_fetch_add(&team->inside, 1);
    pthread_mutex_unlock(&team->lock);
    return go;
}

static void leave(struct pri_team *team)
{
    pthread_mutex_lock(&team->lock);
    if (atomic_fetch_sub(&team->inside, 1) == 1 && team->caller_sleeps)
        pthread_cond_signal(&team->end);
    pthread_mutex_unlock(&team->lock);
}

static void *help(void *argument)
{
    struct helper *helper = argument;
    struct pri_team *team = helper->team;
    unsigned seen = 0;
    while (enter(team, seen)) {
        /* No new round begins while a helper is inside. */
        seen = atomic_load(&team->round);
        take_parts(team, helper->number);
        leave(team);
    }
    return NULL;
}

/* ---------------------------------------------------------------- caller -- */

static void call_helpers(struct pri_team *team)
{
    pthread_mutex_lock(&team->lock);
    team->open = true;
    atomic_fetch_add(&team->round, 1);
    if (team->sleepers > 0)
        pthread_cond_broadcast(&team->begin);
    pthread_mutex_unlock(&team->lock);
}

/* Nobody else enters; wait for those inside. */
static void dismiss_helpers(struct pri_team *team)
{
    pthread_mutex_lock(&team->lock);
    team->open = false;
    pthread_mutex_unlock(&team->lock);
    for (int k = 0; k < SPINS && atomic_load(&team->inside) > 0; k++)
        pause_briefly();
    pthread_mutex_lock(&team->lock);
    team->caller_sleeps = true;
    while (atomic_load(&team->inside) > 0)
        pthread_cond_wait(&team->end, &team->lock);
    team->caller_sleeps = false;
    pthread_mutex_unlock(&team->lock);
}

/* A pass took `work` on the caller for `done` parts and `wait` after them. The
 * last part of a helper is worth waiting for; anything longer is lost. */
static void judge(struct pri_team *team, int64_t work, int64_t wait,
                  int32_t done)
{
    int64_t fair = work / (done > 0 ? done : 1) + TRIFLE;
    team->spent += work + wait;
    team->lost += wait > fair ? wait - fair : 0;
    if (team->lost > team->spent / LOSS + TRIFLE) {
        team->rest_until = now() + team->rest;
        team->rest = team->rest < LONGEST / 2 ? 2 * team->rest : LONGEST;
        team->spent = team->lost = 0;
    } else if (team->spent > SPELL) {
        team->rest = SHORTEST;
        team->spent /= 2;
        team->lost /= 2;
    }
}

void pri_team_run(struct pri_team *team, int32_t parts,
                  void (*job)(void *context, int32_t part), void *context)
{
    int64_t start = team->threads > 1 && parts > 1 ? now() : 0;
    if (start <= team->rest_until) {
        for (int32_t part = 0; part < parts; part++)
            job(context, part);
        return;
    }
    team->job = job;
    team->context = context;
    team->parts = parts;
    atomic_store(&team->taken, 0);
    call_helpers(team);
    int32_t done = take_parts(team, 0);
    int64_t mine = now();
    dismiss_helpers(team);
    judge(team, mine - start, now() - mine, done);
}

/* ------------------------------------------------------------ life cycle -- */

struct pri_team *pri_team_new(int32_t threads)
{
    struct pri_team *team =
        pri_alloc(1, sizeof *team + (size_t)threads * sizeof(struct helper));
    sigset_t all, before;
    if (team == NULL)
        return NULL;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->begin, NULL);
    pthread_cond_init(&team->end, NULL);
    team->rest = SHORTEST;
    team->threads = 1;
    /* Signals are the program's business: no helper takes one. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int32_t t = 1; t < threads; t++) {
        struct helper *helper = &team->helpers[team->threads];
        *helper = (struct helper){.team = team, .number = team->threads};
        if (pthread_create(&helper->thread, NULL, help, helper) != 0)
            break;
        team->threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return team;
}

void pri_team_free(struct pri_team *team)
{
    if (team == NULL)
        return;
    pthread_mutex_lock(&team->lock);
    team->over = true;
    pthread_cond_broadcast(&team->begin);
    pthread_mutex_unlock(&team->lock);
    for (int32_t t = 1; t < team->threads; t++)
        pthread_join(team->helpers[t].thread, NULL);
    pthread_cond_destroy(&team->end);
    pthread_cond_destroy(&team->begin);
    pthread_mutex_destroy(&team->lock);
    free(team);
}

/* --------------------------------------------------------------- one job -- */

enum { RANGES = 64 };

struct ranges {
    int64_t count;
    void (*job)(void *context, int64_t low, int64_t high);
    void *context;
};

static void do_range(void *context, int32_t part)
{
    struct ranges *ranges = context;
    int64_t parts = ranges->count < RANGES ? ranges->count : RANGES;
    int64_t each = ranges->count / parts, more = ranges->count % parts;
    int64_t low = part * each + (part < more ? part : more);
    int64_t high = low + each + (part < more);
    if (high > low)
        ranges->job(ranges->context, low, high);
}

int32_t pri_team_threads(const struct pri_team *team)
{
    return team == NULL ? 1 : team->threads;
}

void pri_team_share(struct pri_team *team, int64_t count,
                    void (*job)(void *context, int64_t low, int64_t high),
                    void *context)
{
    struct ranges ranges = {count, job, context};
    if (pri_team_threads(team) == 1)
        job(context, 0, count);
    else
        pri_team_run(team, count < RANGES ? (int32_t)count : RANGES, do_range,
                     &ranges);
}

void pri_share_out(int32_t threads, int64_t count,
                   void (*job)(void *context, int64_t low, int64_t high),
                   void *context)
{
    struct pri_team *team = threads > 1 ? pri_team_new(threads) : NULL;
    pri_team_share(team, count, job, context);
    pri_team_free(team);
}
