/*
 * A team does each part of a job once, whoever is awake, and what the parts
 * wrote is there when it returns.
 */
#include "tests/test.h"
#include "base/base.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

struct count {
    int32_t done[64];
    pthread_t caller;
    bool lazy; /* parts of helpers take a long time */
};

static void count_part(void *context, int32_t part)
{
    struct count *count = context;
    count->done[part]++;
    if (count->lazy && !pthread_equal(pthread_self(), count->caller))
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

/* Plain counters: a part done twice, or read before it was done, shows in the
 * count, and in the race detector. */
static void run_rounds(int32_t threads, int rounds, bool lazy)
{
    struct pri_team *team = pri_team_new(threads);
    struct count count = {.caller = pthread_self(), .lazy = lazy};
    int32_t expected[64] = {0};
    assert_non_null(team);
    for (int round = 0; round < rounds; round++) {
        int32_t parts = (round * 37) % 65;
        pri_team_run(team, parts, count_part, &count);
        for (int32_t part = 0; part < 64; part++) {
            expected[part] += part < parts;
            assert_int_equal(count.done[part], expected[part]);
        }
    }
    pri_team_free(team);
}

static void test_each_part_once(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= 5; threads++)
        run_rounds(threads, 2000, false);
}

/* Helpers that keep the caller waiting: it rests from them and tries again. */
static void test_slow_helpers(void **state)
{
    (void)state;
    run_rounds(3, 300, true);
}

static void test_no_rounds(void **state)
{
    (void)state;
    pri_team_free(pri_team_new(1));
    pri_team_free(pri_team_new(8));
    pri_team_free(NULL);
}

static void count_range(void *context, int64_t low, int64_t high)
{
    for (int64_t k = low; k < high; k++)
        ((int32_t *)context)[k]++;
}

static void test_ranges(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 1, 2, 63, 64, 65, 127, 1000};
    int32_t done[1001];
    for (int32_t threads = 1; threads <= 3; threads++)
        for (int k = 0; k < 8; k++) {
            memset(done, 0, sizeof done);
            pri_share_out(threads, counts[k], count_range, done);
            for (int64_t item = 0; item <= 1000; item++)
                assert_int_equal(done[item], item < counts[k]);
        }
}

static void note_signals(void *context, int32_t part)
{
    struct count *count = context;
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    bool helper = !pthread_equal(pthread_self(), count->caller);
    count->done[part] = helper && !sigismember(&blocked, SIGINT);
    if (!helper)
        sched_yield();
}

/* A signal to the process ends up at the program's own threads. */
static void test_helpers_take_no_signals(void **state)
{
    (void)state;
    struct pri_team *team = pri_team_new(3);
    struct count count = {.caller = pthread_self()};
    for (int round = 0; round < 100; round++) {
        pri_team_run(team, 64, note_signals, &count);
        for (int part = 0; part < 64; part++)
            assert_int_equal(count.done[part], 0);
    }
    pri_team_free(team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_part_once),
        cmocka_unit_test(test_slow_helpers),
        cmocka_unit_test(test_no_rounds),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_helpers_take_no_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
