/*
 * pricer kmeans: from a study and a file of points to common centres, how good
 * they are, and what every link has spent for them.
 */
#include "cluster.h"
#include "common/crew.h"
#include "material.h"
#include "verbs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct usage usage = {
    "kmeans", "STUDY",
    "Spread the points of a file over the nodes of the study's network and\n"
    "cluster them together, round by round over links that come and go. Says\n"
    "how the inertia compares with K-means in one place, over several seeds,\n"
    "and which (eps, delta) every kind of link has spent in all; with\n"
    "'scheme: forward' every node, towards everyone. That scheme has neither\n"
    "--procedure paper, --strategy none..., --links-per, --budget, --decoder\n"
    "nor --bias, --lambda and --calibration.",
    "pricer kmeans scattered.pricer --data cifar-10/data_batch_1.bin "
    "--unit-norm"};

/* What the command line asks; negative or NAN where it says nothing. */
struct request {
    const char *data, *centres;
    struct planner_request planner;
    int procedure, strategy, links_per, budget, decoder;
    double reach;
    int64_t clusters, rounds, steps, seeds, seed, threads;
    bool unit_norm, in_order, as_json;
};

/* The work: what was read, and what came of it. */
struct job {
    struct request ask;
    struct material from;
    struct pricer_matrix *points; /* this rank's */
    int64_t rows;                 /* of all ranks */
    struct cluster cluster;
    double reference;
    double *inertia; /* [seeds * rounds] */
    float *centres;
    struct progress progress;
    double done;  /* part of the work, 0 to 1 */
    double share; /* that the current run has of the work */
    struct pricer_fault fault;
};

static int parse(int argc, char **argv, struct request *ask,
                 const char **operands)
{
    const struct option options[] = {
        {"data", OPTION_TEXT, &ask->data, "FILE",
         "points: .npy, CSV, IDX or CIFAR-10 binary, also gzipped"},
        {"unit-norm", OPTION_FLAG, &ask->unit_norm, NULL,
         "divide every point by its length"},
        {"procedure", OPTION_CHOICE, &ask->procedure, "pricer|paper",
         "what nodes send: moves and shares (default), or centres"},
        {"strategy", OPTION_CHOICE, &ask->strategy, CLUSTER_STRATEGIES,
         "how it is sent: relayed (default), not relayed, or surely"},
        {"links-per", OPTION_CHOICE, &ask->links_per, "round|centroid",
         "how often links are drawn; default round, the authors: centroid"},
        {"budget", OPTION_CHOICE, &ask->budget, "run|release",
         "what (eps, delta) is for; default run, with paper release"},
        {"decoder", OPTION_CHOICE, &ask->decoder, "minimax|constant",
         "how sums are weighed; minimax up to 32 nodes, with paper constant"},
        PLANNER_OPTIONS(&ask->planner),
        {"clusters", OPTION_MANY, &ask->clusters, "N", "default 10"},
        {"rounds", OPTION_MANY, &ask->rounds, "N", "default 10"},
        {"steps", OPTION_MANY, &ask->steps, "N",
         "Lloyd's steps of a node in each round; default 5"},
        {"reach", OPTION_ABOVE, &ask->reach, "X",
         "move, in radii, that fills a message; default 0.05"},
        {"in-order", OPTION_FLAG, &ask->in_order, NULL,
         "deal the points to the nodes as they come, not shuffled"},
        {"seeds", OPTION_MANY, &ask->seeds, "N", "runs; default 5"},
        {"seed", OPTION_COUNT, &ask->seed, "N",
         "of the first run; default: the scenario's"},
        {"centres", OPTION_TEXT, &ask->centres, "FILE.npy",
         "write the centres of the first run"},
        {"threads", OPTION_COUNT, &ask->threads, "N", "default: one per core"},
        {"json", OPTION_FLAG, &ask->as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    *ask = (struct request){.planner = {-1, -1, NAN},
                            .budget = -1,
                            .decoder = -1,
                            .clusters = 10,
                            .rounds = 10,
                            .steps = 5,
                            .seeds = 5,
                            .seed = -1};
    return options_parse(&usage, options, argc, argv, operands);
}

static int misuse(const char *words)
{
    fprintf(stderr, "pricer kmeans: %s; --help explains\n", words);
    return 2;
}

static int check_request(const struct request *ask)
{
    const int64_t most = 1000000;
    if (ask->data == NULL)
        return misuse("--data FILE is missing");
    if (ask->clusters > most || ask->rounds > most || ask->steps > most ||
        ask->seeds > most || ask->threads > 4096)
        return misuse("so many clusters, rounds, steps, seeds or threads are "
                      "too many");
    if (ask->links_per == 1 && ask->procedure != PRICER_KMEANS_PAPER)
        return misuse("--links-per centroid is for --procedure paper");
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
        {"--procedure paper", ask->procedure == PRICER_KMEANS_PAPER},
        {"--strategy none",
         ask->strategy != CLUSTER_PRICER && ask->strategy != CLUSTER_PERFECT},
        {"--budget", ask->budget >= 0},
        {"--decoder", ask->decoder >= 0},
        {"--bias", ask->planner.bias >= 0},
        {"--lambda", !isnan(ask->planner.lambda)},
        {"--calibration", ask->planner.calibration >= 0}};
    return cluster_options_fit("kmeans", path, sums,
                               (int)(sizeof sums / sizeof *sums));
}

/* ----------------------------------------------------------------- work -- */

/* With more nodes a decoder is fitted only if it is asked for. */
enum { DECODER_NODES = 32 };

/* What weighs the sums, in a word. */
static const char *decoder_text(const struct job *job)
{
    if (job->cluster.scheme == PRICER_SCHEME_FORWARD)
        return "none";
    return pricer_word(PRICER_WORDS_DECODE, job->cluster.decoder != NULL
                                                ? PRICER_DECODE_MINIMAX
                                                : PRICER_DECODE_CONSTANT);
}

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
    struct cluster *cluster = &job->cluster;
    enum pricer_status status =
        cluster_study(path, &job->from, cluster, &job->fault);
    if (status == PRICER_OK && cluster->scheme == PRICER_SCHEME_SUM)
        status = planner_override(&ask->planner, &cluster->plan_settings,
                                  &job->fault);
    if (status == PRICER_OK)
        status = pricer_kmeans_read(ask->data, ask->unit_norm, program_crew(),
                                    &job->points, &job->rows, &job->fault);
    if (status != PRICER_OK)
        return status;
    if (ask->seed < 0)
        ask->seed = job->from.seed;
    if (ask->budget < 0)
        ask->budget = ask->procedure == PRICER_KMEANS_PAPER ? CLUSTER_RELEASE
                                                            : CLUSTER_RUN;
    cluster->points = job->points;
    cluster->strategy = (enum cluster_strategy)ask->strategy;
    cluster->budget = (enum cluster_budget)ask->budget;
    cluster->decode = ask->decoder >= 0 ? ask->decoder
                      : cluster->scheme == PRICER_SCHEME_FORWARD ||
                              ask->procedure == PRICER_KMEANS_PAPER ||
                              job->from.network->nodes > DECODER_NODES
                          ? PRICER_DECODE_CONSTANT
                          : PRICER_DECODE_MINIMAX;
    cluster->kmeans = (struct pricer_kmeans_settings){
        .procedure = (enum pricer_kmeans_procedure)ask->procedure,
        .clusters = (int32_t)ask->clusters,
        .rounds = (int32_t)ask->rounds,
        .steps = (int32_t)ask->steps,
        .in_order = ask->in_order,
        .per_centroid = ask->links_per == 1,
        .reach = ask->reach,
        .threads = program_threads(ask->threads),
        .crew = program_crew(),
        .rows = job->rows};
    return cluster_open(cluster, &job->fault);
}

static enum pricer_status write_centres(struct job *job)
{
    struct pricer_matrix centres = {job->ask.clusters, job->points->columns,
                                    PRICER_FLOAT32, job->centres};
    if (job->ask.centres == NULL || !program_writes())
        return PRICER_OK;
    return pricer_matrix_write_npy(&centres, job->ask.centres, &job->fault);
}

static enum pricer_status work(struct job *job)
{
    const struct request *ask = &job->ask;
    struct pricer_watch watch = {tick, job};
    int64_t cells = ask->clusters * job->points->columns;
    job->inertia = calloc((size_t)(ask->seeds * ask->rounds), sizeof(double));
    job->centres = calloc((size_t)cells, sizeof *job->centres);
    if (job->inertia == NULL || job->centres == NULL)
        return PRICER_MEMORY;
    job->share = 1. / (double)(ask->seeds + 1);
    struct pricer_kmeans_settings alone = job->cluster.kmeans;
    alone.steps = (int32_t)(ask->rounds * ask->steps);
    alone.watch = &watch;
    enum pricer_status status = pricer_kmeans_reference(
        job->points, &alone, 3, &job->reference, &job->fault);
    for (int64_t s = 0; s < ask->seeds && status == PRICER_OK; s++) {
        struct pricer_kmeans_settings settings = job->cluster.kmeans;
        settings.seed = (uint64_t)(ask->seed + s);
        settings.watch = &watch;
        job->done = (double)(s + 1) * job->share;
        status = pricer_kmeans_run(
            job->points, &job->cluster.task, job->cluster.plan, &settings,
            &(struct pricer_kmeans_result){job->centres,
                                           job->inertia + s * ask->rounds},
            &job->fault);
        if (status == PRICER_OK && s == 0)
            status = write_centres(job);
    }
    return status;
}

/* --------------------------------------------------------------- output -- */

/* Relative inertia after the last round: mean and deviation over the seeds. */
static void summarise(const struct job *job, double *mean, double *deviation)
{
    const struct request *ask = &job->ask;
    double total = 0, squares = 0, count = (double)ask->seeds;
    for (int64_t s = 0; s < ask->seeds; s++)
        total += job->inertia[(s + 1) * ask->rounds - 1] / job->reference;
    *mean = total / count;
    for (int64_t s = 0; s < ask->seeds; s++)
        squares += pow(
            job->inertia[(s + 1) * ask->rounds - 1] / job->reference - *mean,
            2);
    *deviation = count > 1 ? sqrt(squares / (count - 1)) : 0;
}

static void print_json(const struct job *job)
{
    const struct request *ask = &job->ask;
    const struct cluster *cluster = &job->cluster;
    struct json json = {.out = stdout};
    double mean, deviation;
    summarise(job, &mean, &deviation);
    json_open(&json, NULL, '{');
    json_text(&json, "data", ask->data);
    json_count(&json, "rows", job->rows);
    json_count(&json, "columns", job->points->columns);
    json_count(&json, "nodes", job->from.network->nodes);
    json_text(&json, "procedure",
              cluster_procedure_text(cluster->kmeans.procedure));
    json_text(&json, "strategy", cluster_strategy_text(cluster));
    json_text(&json, "decoder", decoder_text(job));
    json_count(&json, "clusters", ask->clusters);
    json_count(&json, "rounds", ask->rounds);
    json_count(&json, "steps", ask->steps);
    json_count(&json, "seeds", ask->seeds);
    json_number(&json, "reference", job->reference);
    json_number(&json, "relative_inertia", mean);
    json_number(&json, "deviation", deviation);
    json_text(&json, "budget_for",
              cluster->budget == CLUSTER_RUN ? "run" : "release");
    cluster_print_budget_json(&json, cluster);
    json_open(&json, "runs", '[');
    for (int64_t s = 0; s < ask->seeds; s++) {
        json_open(&json, NULL, '{');
        json_count(&json, "seed", ask->seed + s);
        json_open(&json, "relative_inertia", '[');
        for (int64_t r = 0; r < ask->rounds; r++)
            json_number(&json, NULL,
                        job->inertia[s * ask->rounds + r] / job->reference);
        json_close(&json, ']');
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

static void print_table(const struct job *job)
{
    const struct request *ask = &job->ask;
    double mean, deviation;
    summarise(job, &mean, &deviation);
    struct table *table =
        table_new(7, (const char *const[]){"procedure", "strategy", "decoder",
                                           "relative inertia", "deviation",
                                           "runs", "inertia in one place"});
    table_cell(table, "%s",
               cluster_procedure_text(job->cluster.kmeans.procedure));
    table_cell(table, "%s", cluster_strategy_text(&job->cluster));
    table_cell(table, "%s", decoder_text(job));
    table_cell(table, "%.4f", mean);
    table_cell(table, "%.4f", deviation);
    table_cell(table, "%lld", (long long)ask->seeds);
    table_cell(table, "%.6g", job->reference);
    table_print(table, stdout);
    puts("inertia: the sum of all points' squared distances to their centres, "
         "in "
         "squared units of the data;\n"
         "relative: divided by the one in one place.");
    if (job->cluster.trusts > 0)
        cluster_print_budget(&job->cluster);
}

int verb_kmeans(int argc, char **argv)
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
    progress_start(&job.progress, "kmeans");
    enum pricer_status status = load(&job, operands[0]);
    if (status == PRICER_OK)
        status = work(&job);
    progress_end(&job.progress);
    if (status == PRICER_OK && job.ask.as_json)
        print_json(&job);
    else if (status == PRICER_OK)
        print_table(&job);
    cluster_close(&job.cluster);
    free(job.inertia);
    free(job.centres);
    pricer_matrix_free(job.points);
    material_close(&job.from);
    return status == PRICER_OK ? 0 : program_fault(status, &job.fault);
}
