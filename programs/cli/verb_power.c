/*
 * pricer power: from a study and a file of rows to leading eigenvectors, how
 * far they are from the true ones in every iteration, and what every link has
 * spent for them.
 */
#include "cluster.h"
#include "material.h"
#include "pricer_power.h"
#include "verbs.h"

#include <math.h>
#include <stdlib.h>

static const struct usage usage = {
    "power", "STUDY",
    "Spread the rows of a file over the nodes of the study's network and find\n"
    "their leading eigenvectors (principal components) by power iteration, a\n"
    "round of the network each. Shows the error after every iteration in one\n"
    "place, without collaboration and with pricer's plan, what the plan's\n"
    "error predicts, and which (eps, delta) every kind of link has spent.\n"
    "With 'scheme: forward' nodes release their messages: without relaying "
    "and\n"
    "forwarded, with (eps, delta) towards everyone, and without --bias,\n"
    "--lambda and --calibration.",
    "pricer power scattered.pricer --data rows.npy --components 3"};

/* How the messages travel, in the order of the columns. */
enum { WAYS = 3, ALONE = 1, PLANNED = 2 };
static const enum cluster_strategy ways[WAYS] = {CLUSTER_PERFECT, CLUSTER_BEST,
                                                 CLUSTER_PRICER};
static const char *const way_names[PRICER_SCHEME_FORWARD + 1][WAYS] = {
    {"in one place", "no collaboration", "PriCER"},
    {"in one place", "no relaying", "forward"}};
static const char *const way_keys[PRICER_SCHEME_FORWARD + 1][WAYS] = {
    {"one_place", "none", "pricer"}, {"one_place", "none", "forward"}};

struct request {
    const char *data, *vectors;
    struct planner_request planner;
    double reach, carry;
    int64_t components, iterations, seeds, seed, threads;
    bool unit_norm, in_order, as_json;
};

struct job {
    struct request ask;
    struct material from;
    struct pricer_matrix *rows;
    struct cluster cluster[WAYS];
    struct pricer_power_settings settings;
    struct pricer_power_vectors exact, found; /* of the plan's first run */
    double *error;    /* [WAYS * iterations] means over the seeds */
    double *square;   /* [WAYS * iterations] of their squares */
    double *foreseen; /* [iterations] mean over the seeds */
    double *one;      /* [iterations] of one run */
    struct progress progress;
    double done, share; /* of the work; the current run's part of it */
    struct pricer_fault fault;
};

static int parse(int argc, char **argv, struct request *ask,
                 const char **operands)
{
    const struct option options[] = {
        {"data", OPTION_TEXT, &ask->data, "FILE",
         "rows: .npy, CSV, IDX or CIFAR-10 binary, also gzipped"},
        {"unit-norm", OPTION_FLAG, &ask->unit_norm, NULL,
         "divide every row by its length"},
        {"components", OPTION_MANY, &ask->components, "N",
         "how many eigenvectors; default 1"},
        {"iterations", OPTION_MANY, &ask->iterations, "N",
         "rounds, over which the budgets are spent; default 20"},
        {"reach", OPTION_ABOVE, &ask->reach, "X",
         "move, in squared radii, that fills a message; default 0.1"},
        {"carry", OPTION_NUMBER, &ask->carry, "X",
         "what earlier rounds count, 0 to 1; default 0.8"},
        PLANNER_OPTIONS(&ask->planner),
        {"in-order", OPTION_FLAG, &ask->in_order, NULL,
         "deal the rows to the nodes as they come, not shuffled"},
        {"seeds", OPTION_MANY, &ask->seeds, "N", "runs; default 5"},
        {"seed", OPTION_COUNT, &ask->seed, "N",
         "of the first run; default: the scenario's"},
        {"vectors", OPTION_TEXT, &ask->vectors, "FILE.npy",
         "write the eigenvectors that the first run found"},
        {"threads", OPTION_COUNT, &ask->threads, "N", "default: one per core"},
        {"json", OPTION_FLAG, &ask->as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    *ask = (struct request){.planner = {-1, -1, NAN},
                            .carry = NAN,
                            .components = 1,
                            .iterations = 20,
                            .seeds = 5,
                            .seed = -1};
    return options_parse(&usage, options, argc, argv, operands);
}

static int misuse(const char *words)
{
    fprintf(stderr, "pricer power: %s; --help explains\n", words);
    return 2;
}

static int check_request(const struct request *ask)
{
    const int64_t most = 1000000;
    if (ask->data == NULL)
        return misuse("--data FILE is missing");
    if (ask->components > most || ask->iterations > most || ask->seeds > most ||
        ask->threads > 4096)
        return misuse("so many components, iterations, seeds or threads are "
                      "too many");
    if (!isnan(ask->carry) && !(ask->carry >= 0 && ask->carry < 1))
        return misuse("--carry is at least 0 and below 1");
    if (!(ask->reach < 1e6))
        return misuse("so long a --reach is too long");
    if (planner_stray_lambda(&ask->planner))
        return misuse("--lambda belongs to --bias l1 and l2");
    return OPTIONS_GO;
}

/* Whether the options are of the study's scheme. */
static bool fits_scheme(const struct request *ask, const char *path)
{
    const struct cluster_option sums[] = {
        {"--bias", ask->planner.bias >= 0},
        {"--lambda", !isnan(ask->planner.lambda)},
        {"--calibration", ask->planner.calibration >= 0}};
    return cluster_options_fit("power", path, sums,
                               (int)(sizeof sums / sizeof *sums));
}

/* ----------------------------------------------------------------- work -- */

/* One bar for all runs: each has its share of it. */
static bool tick(void *context, double done)
{
    struct job *job = context;
    const struct pricer_watch *bar = &job->progress.watch;
    return bar->tick(bar->context, job->done + job->share * done);
}

/* The study's network and settings, with what the command line puts above. */
static enum pricer_status load(struct job *job, const char *path)
{
    struct request *ask = &job->ask;
    struct cluster read = {.budget = CLUSTER_RUN,
                           .kmeans = {.rounds = (int32_t)ask->iterations,
                                      .threads = (int32_t)ask->threads}};
    enum pricer_status status =
        cluster_study(path, &job->from, &read, &job->fault);
    if (status == PRICER_OK && read.scheme == PRICER_SCHEME_SUM)
        status =
            planner_override(&ask->planner, &read.plan_settings, &job->fault);
    if (status == PRICER_OK)
        status =
            cluster_read(ask->data, ask->unit_norm, &job->rows, &job->fault);
    if (status != PRICER_OK)
        return status;
    if (ask->seed < 0)
        ask->seed = job->from.seed;
    job->settings =
        (struct pricer_power_settings){.components = (int32_t)ask->components,
                                       .iterations = (int32_t)ask->iterations,
                                       .reach = ask->reach,
                                       .carry = isnan(ask->carry) ? 0
                                                : ask->carry > 0  ? ask->carry
                                                                  : -1,
                                       .seed = (uint64_t)ask->seed,
                                       .in_order = ask->in_order,
                                       .threads = (int32_t)ask->threads};
    for (int way = 0; way < WAYS; way++) {
        job->cluster[way] = read;
        job->cluster[way].strategy = ways[way];
    }
    return PRICER_OK;
}

static enum pricer_status room(struct job *job)
{
    const size_t columns = (size_t)job->rows->columns,
                 k = (size_t)job->ask.components,
                 cells = (size_t)job->ask.iterations;
    if (job->ask.components > job->rows->columns) {
        snprintf(job->fault.text, sizeof job->fault.text,
                 "%lld components of rows with %lld numbers",
                 (long long)job->ask.components, (long long)job->rows->columns);
        return PRICER_VALUE;
    }
    job->exact.vectors = calloc(k * columns, sizeof(double));
    job->exact.values = calloc(columns, sizeof(double));
    job->found.vectors = calloc(2 * k * columns, sizeof(double));
    job->found.values = calloc(2 * k, sizeof(double));
    job->error = calloc(WAYS * cells, sizeof(double));
    job->square = calloc(WAYS * cells, sizeof(double));
    job->foreseen = calloc(cells, sizeof(double));
    job->one = calloc(cells, sizeof(double));
    return job->exact.vectors == NULL || job->exact.values == NULL ||
                   job->found.vectors == NULL || job->found.values == NULL ||
                   job->error == NULL || job->square == NULL ||
                   job->foreseen == NULL || job->one == NULL
               ? PRICER_MEMORY
               : PRICER_OK;
}

/* Plan once for every way; the truth is the same for all splits into equal
 * parts, up to rounding. */
static enum pricer_status prepare(struct job *job)
{
    struct pricer_kmeans_task task = {
        pricer_power_dimension(&job->settings, job->rows->columns),
        job->ask.iterations};
    enum pricer_status status = room(job);
    for (int way = 0; way < WAYS && status == PRICER_OK; way++)
        status = cluster_plan(&job->cluster[way], &task, &job->fault);
    if (status == PRICER_OK)
        status = pricer_power_exact(job->rows, job->from.network,
                                    &job->settings, &job->exact, &job->fault);
    return status;
}

static enum pricer_status run_seed(struct job *job, int64_t seed)
{
    const int64_t cells = job->ask.iterations;
    const double part = 1. / (double)job->ask.seeds;
    struct pricer_power_settings settings = job->settings;
    struct pricer_watch watch = {tick, job};
    enum pricer_status status = PRICER_OK;
    settings.seed += (uint64_t)seed;
    settings.watch = &watch;
    if (seed > 0 && job->rows->rows % job->from.network->nodes != 0)
        status = pricer_power_exact(job->rows, job->from.network, &settings,
                                    &job->exact, &job->fault);
    for (int way = 0; way < WAYS && status == PRICER_OK; way++) {
        /* What the first run of the plan found is kept. */
        bool keep = way == PLANNED && seed == 0;
        int64_t k = keep ? 0 : job->ask.components;
        struct pricer_power_result result = {
            {job->found.vectors + k * job->rows->columns,
             job->found.values + k},
            &job->exact,
            job->one};
        settings.forward = job->cluster[way].forward;
        job->done = (double)(seed * WAYS + way) * job->share;
        status = pricer_power_run(job->rows, &job->cluster[way].task,
                                  job->cluster[way].plan, &settings, &result,
                                  &job->fault);
        for (int64_t t = 0; t < cells && status == PRICER_OK; t++) {
            job->error[way * cells + t] += part * job->one[t];
            job->square[way * cells + t] += part * job->one[t] * job->one[t];
        }
        if (status == PRICER_OK && way == PLANNED)
            status = pricer_power_predict(job->rows, &job->cluster[way].task,
                                          job->cluster[way].plan, &settings,
                                          &result, &job->fault);
        for (int64_t t = 0; t < cells && way == PLANNED; t++)
            job->foreseen[t] = job->one[t] < 1 && job->foreseen[t] < 1
                                   ? job->foreseen[t] + part * job->one[t]
                                   : 1; /* one of the runs has none */
    }
    return status;
}

static enum pricer_status work(struct job *job)
{
    enum pricer_status status = prepare(job);
    job->share = 1. / (double)(job->ask.seeds * WAYS);
    for (int64_t s = 0; s < job->ask.seeds && status == PRICER_OK; s++)
        status = run_seed(job, s);
    struct pricer_matrix found = {job->ask.components, job->rows->columns,
                                  PRICER_FLOAT64, job->found.vectors};
    if (status == PRICER_OK && job->ask.vectors != NULL)
        status = pricer_matrix_write_npy(&found, job->ask.vectors, &job->fault);
    return status;
}

/* --------------------------------------------------------------- output -- */

static double deviation(const struct job *job, int way, int64_t t)
{
    const double seeds = (double)job->ask.seeds;
    int64_t cell = way * job->ask.iterations + t;
    double variance = job->square[cell] - job->error[cell] * job->error[cell];
    return seeds > 1 ? sqrt(fmax(variance, 0) * seeds / (seeds - 1)) : 0;
}

static void print_json(const struct job *job)
{
    const struct request *ask = &job->ask;
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_text(&json, "data", ask->data);
    json_count(&json, "rows", job->rows->rows);
    json_count(&json, "columns", job->rows->columns);
    json_count(&json, "nodes", job->from.network->nodes);
    json_count(&json, "components", ask->components);
    json_count(&json, "iterations", ask->iterations);
    json_count(&json, "seeds", ask->seeds);
    json_number(&json, "mse_worst_case",
                job->cluster[PLANNED].error.mse_worst_case);
    for (int way = 0; way < WAYS; way++) {
        json_open(&json, way_keys[job->cluster[way].scheme][way], '{');
        json_open(&json, "error", '[');
        for (int64_t t = 0; t < ask->iterations; t++)
            json_number(&json, NULL, job->error[way * ask->iterations + t]);
        json_close(&json, ']');
        json_number(&json, "deviation",
                    deviation(job, way, ask->iterations - 1));
        json_close(&json, '}');
    }
    json_open(&json, "predicted", '[');
    for (int64_t t = 0; t < ask->iterations; t++)
        json_number(&json, NULL, job->foreseen[t]);
    json_close(&json, ']');
    json_open(&json, "eigenvalues", '[');
    for (int64_t k = 0; k < ask->components; k++) {
        json_open(&json, NULL, '{');
        json_number(&json, "exact", job->exact.values[k]);
        json_number(&json, "found", job->found.values[k]);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    cluster_print_budget_json(&json, &job->cluster[PLANNED]);
    json_close(&json, '}');
}

/* The first iterations, then powers of 2, and the last. */
static bool is_shown(int64_t t, int64_t iterations)
{
    return t < 4 || (t & (t + 1)) == 0 || (t + 1) % 10 == 0 ||
           t == iterations - 1;
}

static void print_table(const struct job *job)
{
    const int64_t iterations = job->ask.iterations;
    const char *const *names = way_names[job->cluster[PLANNED].scheme];
    struct table *table = table_new(
        6, (const char *const[]){"iteration", names[0], names[ALONE],
                                 names[PLANNED], "deviation", "predicted"});
    for (int64_t t = 0; t < iterations; t++) {
        if (!is_shown(t, iterations))
            continue;
        table_cell(table, "%lld", (long long)(t + 1));
        for (int way = 0; way < WAYS; way++)
            table_cell(table, "%.4g", job->error[way * iterations + t]);
        table_cell(table, "%.2g", deviation(job, PLANNED, t));
        if (job->foreseen[t] < 1)
            table_cell(table, "%.4g", job->foreseen[t]);
        else
            table_cell(table, "over 0.1");
    }
    table_print(table, stdout);
    printf("Mean squared sine of the angles to the first %lld eigenvectors, "
           "over %lld runs.\n\n",
           (long long)job->ask.components, (long long)job->ask.seeds);
    table =
        table_new(3, (const char *const[]){"component", "eigenvalue", "found"});
    for (int64_t k = 0; k < job->ask.components; k++) {
        table_cell(table, "%lld", (long long)(k + 1));
        table_cell(table, "%.4g", job->exact.values[k]);
        table_cell(table, "%.4g", job->found.values[k]);
    }
    table_print(table, stdout);
    puts(
        "eigenvalue: of the rows' second moment, in squared units of the data; "
        "found: by the first run.");
    if (job->cluster[PLANNED].trusts > 0)
        cluster_print_budget(&job->cluster[PLANNED]);
}

static void close_job(struct job *job)
{
    for (int way = 0; way < WAYS; way++)
        cluster_close(&job->cluster[way]);
    free(job->exact.vectors);
    free(job->exact.values);
    free(job->found.vectors);
    free(job->found.values);
    free(job->error);
    free(job->square);
    free(job->foreseen);
    free(job->one);
    pricer_matrix_free(job->rows);
    material_close(&job->from);
}

int verb_power(int argc, char **argv)
{
    struct job job = {0};
    const char *operands[1];
    int go = parse(argc, argv, &job.ask, operands);
    if (go == OPTIONS_GO)
        go = check_request(&job.ask);
    if (go != OPTIONS_GO)
        return go;
    if (!fits_scheme(&job.ask, operands[0]))
        return 2;
    cluster_prepare();
    progress_start(&job.progress, "power");
    enum pricer_status status = load(&job, operands[0]);
    if (status == PRICER_OK)
        status = work(&job);
    progress_end(&job.progress);
    if (status == PRICER_OK)
        (job.ask.as_json ? print_json : print_table)(&job);
    close_job(&job);
    return status == PRICER_OK ? 0 : program_fault(status, &job.fault);
}
