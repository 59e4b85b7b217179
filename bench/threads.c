/*
 * Two threads against one, on a machine that has nothing else to do and beside
 * programs that want its cores: planning, fitting decoders, accounting, simulating
 * and clustering. Ratios above 1: two threads are faster; below 0.91 they do
 * harm.
 *
 *     bench_threads [--runs N] [--beside PROGRAMS]
 */
#include "geometric.h"
#include "pricer_decode.h"
#include "pricer_kmeans.h"

#include <cblas.h>
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
    struct pricer_matrix *points;
    int32_t threads;
};

static void plan_job(struct setting *setting)
{
    struct pricer_settings ask = {.tolerance = 1e-6,
                                  .threads = setting->threads};
    struct pricer_plan *plan = NULL;
    struct pricer_solve_info info;
    struct pricer_fault fault = {""};
    if (pricer_plan_optimise(setting->network, &ask, NULL, &plan, &info,
                             &fault) != PRICER_OK)
        fail(fault.text);
    pricer_plan_free(setting->plan);
    setting->plan = plan;
}

static void simulate_job(struct setting *setting)
{
    const struct pricer_plan *plans[] = {setting->plan};
    struct pricer_simulation_settings ask = {.trials = 100000,
                                             .threads = setting->threads};
    struct pricer_simulation *simulation = NULL;
    struct pricer_fault fault = {""};
    if (pricer_simulation_run(setting->network, plans, 1, &ask, &simulation,
                              &fault) != PRICER_OK)
        fail(fault.text);
    pricer_simulation_free(simulation);
}

static void decode_job(struct setting *setting)
{
    struct pricer_decoder_settings ask = {.threads = setting->threads};
    struct pricer_decoder *decoder = NULL;
    struct pricer_fault fault = {""};
    if (pricer_decoder_fit(setting->network, setting->plan, &ask, &decoder,
                           &fault) != PRICER_OK)
        fail(fault.text);
    pricer_decoder_free(decoder);
}

static void account_job(struct setting *setting)
{
    struct pricer_question ask = {.observer = PRICER_OBSERVER_RELAY,
                                  .delta = 1e-5,
                                  .threads = setting->threads};
    struct pricer_statement *statements = NULL;
    int64_t count;
    struct pricer_fault fault = {""};
    if (pricer_privacy_account(setting->network, setting->plan, &ask,
                               &statements, &count, &fault) != PRICER_OK)
        fail(fault.text);
    pricer_statements_free(statements);
}

enum { ROWS = 20000, COLUMNS = 64, CLUSTERS = 10 };

static void cluster_job(struct setting *setting)
{
    float centres[CLUSTERS * COLUMNS];
    double inertia;
    struct pricer_kmeans_result result = {centres, &inertia};
    memcpy(centres, setting->points->values, sizeof centres);
    if (pricer_kmeans_lloyd(setting->points, CLUSTERS, 20, setting->threads,
                            &result, NULL) != PRICER_OK)
        fail("no clusters");
}

static struct pricer_matrix *some_points(void)
{
    struct pricer_matrix *points = NULL;
    uint32_t word = 1;
    if (pricer_matrix_new(ROWS, COLUMNS, PRICER_FLOAT32, &points, NULL) !=
        PRICER_OK)
        fail("no memory");
    for (int64_t k = 0; k < ROWS * COLUMNS; k++) {
        word = 1664525 * word + 1013904223;
        ((float *)points->values)[k] = (float)(word >> 8) * 0x1p-24f;
    }
    return points;
}

static const struct job {
    const char *name;
    int32_t nodes;
    void (*run)(struct setting *setting);
} jobs[] = {
    {"plan", 1000, plan_job},     {"plan", 10000, plan_job},
    {"decoder", 10, decode_job},  {"decoder", 60, decode_job},
    {"account", 60, account_job}, {"simulate", 300, simulate_job},
    {"kmeans", 10, cluster_job},
};

static double timed(const struct job *job, struct setting *setting,
                    int32_t threads)
{
    double start = seconds();
    setting->threads = threads;
    job->run(setting);
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
static void row(const struct job *job, int beside, int runs)
{
    pid_t pids[MOST];
    double one[MOST], two[MOST];
    struct setting setting = {.network = geometric_network(job->nodes, "1000"),
                              .points = some_points(),
                              .threads = 1};
    plan_job(&setting);
    int made = others(pids, beside);
    for (int k = 0; k < runs; k++) {
        one[k] = timed(job, &setting, 1);
        two[k] = timed(job, &setting, 2);
    }
    end_others(pids, made);
    qsort(one, (size_t)runs, sizeof *one, by_value);
    qsort(two, (size_t)runs, sizeof *two, by_value);
    printf("%-10s%-10d%-10d%12.3f%12.3f%10.2f\n", job->name, (int)job->nodes,
           made, one[runs / 2], two[runs / 2], one[runs / 2] / two[runs / 2]);
    fflush(stdout);
    pricer_network_free(setting.network);
    pricer_plan_free(setting.plan);
    pricer_matrix_free(setting.points);
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
    openblas_set_num_threads(1);
    printf("%-10s%-10s%-10s%12s%12s%10s\n", "job", "nodes", "beside", "one, s",
           "two, s", "ratio");
    for (int busy = 0; busy < 2; busy++)
        for (size_t k = 0; k < sizeof jobs / sizeof *jobs; k++)
            row(&jobs[k], busy ? beside : 0, runs);
}
