/*
 * Two threads against one, on a machine that has nothing else to do and beside
 * programs that want its cores: planning, simulating and accounting. Ratios
 * above 1: two threads are faster.
 *
 *     bench_threads [--runs N] [--beside PROGRAMS]
 */
#include "geometric.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum { MOST = 64 };

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void fail(const char *text)
{
    fprintf(stderr, "bench_threads: %s\n", text);
    exit(1);
}

/* --------------------------------------------------------------- the jobs -- */

struct setting {
    struct pricer_network *network;
    struct pricer_plan *plan;
};

static void plan_job(struct setting *setting, int32_t threads)
{
    struct pricer_settings ask = {.tolerance = 1e-6, .threads = threads};
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    struct pricer_fault fault = {""};
    if (pricer_plan_optimise(setting->network, &ask, NULL, &plan, &info,
                             &fault) != PRICER_OK)
        fail(fault.text);
    pricer_plan_free(plan);
}

static double timed(struct setting *setting, int32_t threads)
{
    double start = seconds();
    plan_job(setting, threads);
    return seconds() - start;
}

/* ------------------------------------------------------------ the others -- */

static int others(pid_t *pids, int count)
{
    for (int k = 0; k < count; k++) {
        pids[k] = fork();
        if (pids[k] == 0)
            for (volatile uint64_t x = 0;; x++)
                ;
        if (pids[k] < 0)
            return k;
    }
    return count;
}

static void end_others(const pid_t *pids, int count)
{
    for (int k = 0; k < count; k++) {
        kill(pids[k], SIGKILL);
        waitpid(pids[k], NULL, 0);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One row: the medians of interleaved runs, and their ratio. */
static void row(int32_t nodes, int beside, int runs)
{
    pid_t pids[MOST];
    double one[MOST], two[MOST];
    struct setting setting = {.network = geometric_network(nodes, "1000")};
    int made = others(pids, beside);
    for (int k = 0; k < runs; k++) {
        one[k] = timed(&setting, 1);
        two[k] = timed(&setting, 2);
    }
    end_others(pids, made);
    qsort(one, (size_t)runs, sizeof *one, by_value);
    qsort(two, (size_t)runs, sizeof *two, by_value);
    printf("%-10d%-10d%12.3f%12.3f%10.2f\n", (int)nodes, made, one[runs / 2],
           two[runs / 2], one[runs / 2] / two[runs / 2]);
    fflush(stdout);
    pricer_network_free(setting.network);
}

int main(int argc, char **argv)
{
    int runs = 7, beside = 8;
    for (int k = 1; k + 1 < argc; k += 2)
        if (strcmp(argv[k], "--runs") == 0)
            runs = atoi(argv[k + 1]);
        else if (strcmp(argv[k], "--beside") == 0)
            beside = atoi(argv[k + 1]);
    runs = runs < 1 ? 1 : runs > MOST ? MOST : runs;
    beside = beside < 0 ? 0 : beside > MOST ? MOST : beside;
    printf("%-10s%-10s%12s%12s%10s\n", "nodes", "beside", "one, s", "two, s",
           "ratio");
    for (int busy = 0; busy < 2; busy++)
        for (int32_t nodes = 1000; nodes <= 10000; nodes *= 10)
            row(nodes, busy ? beside : 0, runs);
}
