/*
 * The paper's K-means table: two data sets, four setups, and ours beside them.
 *
 * Each setup is run over several seeds (split, starts, links and noise); every
 * inertia is relative to the same K-means in one place, the best of three
 * k-means++ starts. The paper leaves open its lambda; here PriCER's plan is the
 * worst-case one with the paper's noise for one release. Without collaboration
 * every weight is 1, and links are drawn for every centre anew, both as its
 * authors did.
 */
#include "cluster.h"
#include "common/crew.h"
#include "reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char sole_scenario[] =
    "# One node of ten reaches the server; six trusted neighbours each.\n"
    "dimension: 3072\n"
    "radius: 1\n"
    "network:\n"
    "  generator: erdos-renyi\n"
    "  nodes: 10\n"
    "  uplink: 0.1\n"
    "  good: {count: 1, uplink: 0.9}\n"
    "  p: 0.9\n"
    "trust:\n"
    "  eps: 0.01\n"
    "  delta: 1e-3\n"
    "  ring: {hops: 3, eps: 1000}\n";
static const char scattered_scenario[] =
    "# Three clusters around the server, mmWave links, trust where a link is\n"
    "# better than even.\n"
    "dimension: 3072\n"
    "radius: 1\n"
    "network:\n"
    "  generator: mmwave\n"
    "  preset: scattered\n"
    "trust:\n"
    "  eps: 0.01\n"
    "  delta: 1e-3\n"
    "  probable: {above: 0.5, eps: 1000}\n";

enum { SOLE = 0, SCATTERED, TOPOLOGIES };
enum { COLUMNS = 2 }; /* of the paper's table: CIFAR-10, Fashion-MNIST */

/* The paper's table. */
static const struct setup {
    const char *what;
    int topology;
    enum cluster_strategy strategy;
    double paper[COLUMNS], deviation[COLUMNS];
} setups[] = {
    {"sole good node", SOLE, CLUSTER_NAIVE, {2.101, 6.226}, {0.007, 3.054}},
    {"sole good node; PriCER",
     SOLE,
     CLUSTER_PRICER,
     {1.689, 4.168},
     {0.030, 2.474}},
    {"scattered", SCATTERED, CLUSTER_NAIVE, {4.454, 6.593}, {0.758, 0.626}},
    {"scattered; PriCER",
     SCATTERED,
     CLUSTER_PRICER,
     {1.262, 1.315},
     {0.019, 0.085}},
};
enum { SETUPS = sizeof setups / sizeof *setups };

/* What is run for each setup: the paper's procedure, and ours with the budget
 * kept over the whole run. */
static const struct method {
    enum pricer_kmeans_procedure procedure;
    enum pricer_calibration calibration;
    enum cluster_budget budget;
    bool per_centroid; /* links drawn for each centre, as the authors did */
} methods[] = {
    {PRICER_KMEANS_PAPER, PRICER_CALIBRATION_CLASSIC, CLUSTER_RELEASE, true},
    {PRICER_KMEANS_PRICER, PRICER_CALIBRATION_ANALYTIC, CLUSTER_RUN, false},
};
enum { METHODS = sizeof methods / sizeof *methods };

struct outcome {
    double mean, deviation, median;
};

/* A data set as it is run. */
struct data_set {
    const char *name;
    const struct pricer_matrix *points;
    double reference;
    int column; /* of the paper's table, or -1 */
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarise(double *values, int64_t count, struct outcome *outcome)
{
    double total = 0, squares = 0;
    for (int64_t s = 0; s < count; s++)
        total += values[s];
    outcome->mean = total / (double)count;
    for (int64_t s = 0; s < count; s++)
        squares += pow(values[s] - outcome->mean, 2);
    outcome->deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    qsort(values, (size_t)count, sizeof *values, ascending);
    outcome->median = values[count / 2];
}

/* The seeds of one setup by one method. */
struct seeds {
    struct reproduction *work;
    const struct data_set *data;
    const struct setup *setup;
    struct cluster cluster;
    float *centres; /* room */
    double *values; /* [seeds] relative inertia */
    FILE *csv;
};

static enum pricer_status play_seed(void *context, int64_t first, int64_t count,
                                    void *results, struct pricer_fault *fault)
{
    struct seeds *seeds = context;
    struct pricer_kmeans_settings settings = seeds->cluster.kmeans;
    double inertia[10], value;
    (void)count;
    settings.seed = (uint64_t)first;
    enum pricer_status status = pricer_kmeans_run(
        seeds->data->points, &seeds->cluster.task, seeds->cluster.plan,
        &settings, &(struct pricer_kmeans_result){seeds->centres, inertia},
        fault);
    value = status == PRICER_OK ? inertia[9] / seeds->data->reference : 0;
    memcpy(results, &value, sizeof value);
    return status;
}

/* Each is a line of the CSV file. */
static enum pricer_status take_seed(void *context, int64_t first, int64_t count,
                                    const void *results,
                                    struct pricer_fault *fault)
{
    struct seeds *seeds = context;
    const struct pricer_watch *watch = &seeds->work->watch;
    (void)count, (void)fault;
    memcpy(&seeds->values[first], results, sizeof *seeds->values);
    fprintf(seeds->csv, "%s,%s,%s,%lld,%.17g\n", seeds->data->name,
            seeds->setup->what,
            cluster_procedure_text(seeds->cluster.kmeans.procedure),
            (long long)first, seeds->values[first]);
    return watch->tick(watch->context, -1) ? PRICER_OK : PRICER_STOPPED;
}

static enum pricer_status run_seeds(struct seeds *seeds)
{
    const struct pricer_crew *crew = program_crew();
    struct reproduction *work = seeds->work;
    enum pricer_status status =
        pricer_work_share(crew,
                          &(struct pricer_work){.items = work->seeds,
                                                .portion = 1,
                                                .size = sizeof(double),
                                                .in_order = true,
                                                .play = play_seed,
                                                .take = take_seed,
                                                .context = seeds},
                          &work->fault);
    if (status == PRICER_OK && crew != NULL)
        crew->spread(crew->context, 0, seeds->values,
                     (size_t)work->seeds * sizeof *seeds->values);
    return status;
}

/* All seeds of one setup by one method. */
static enum pricer_status run_setup(struct reproduction *work,
                                    const struct data_set *data,
                                    const struct setup *setup,
                                    const struct method *method,
                                    const struct pricer_network *network,
                                    FILE *csv, struct outcome *outcome)
{
    struct seeds seeds = {
        .work = work,
        .data = data,
        .setup = setup,
        .csv = csv,
        .cluster = {.decode = PRICER_DECODE_CONSTANT, /* as the paper */
                    .network = network,
                    .points = data->points,
                    .strategy = setup->strategy,
                    .budget = method->budget,
                    .plan_settings = {.calibration = method->calibration},
                    .kmeans = {.procedure = method->procedure,
                               .per_centroid = method->per_centroid,
                               .clusters = 10,
                               .rounds = 10,
                               .steps = 5,
                               .threads = program_threads(0),
                               .last_only = true}}};
    seeds.centres =
        calloc((size_t)(10 * data->points->columns), sizeof *seeds.centres);
    seeds.values = calloc((size_t)work->seeds, sizeof *seeds.values);
    enum pricer_status status = PRICER_MEMORY;
    if (seeds.centres != NULL && seeds.values != NULL)
        status = cluster_open(&seeds.cluster, &work->fault);
    if (status == PRICER_OK)
        status = run_seeds(&seeds);
    if (status == PRICER_OK)
        summarise(seeds.values, work->seeds, outcome);
    cluster_close(&seeds.cluster);
    free(seeds.centres);
    free(seeds.values);
    return status;
}

/*
 * How far the paper's mean is from ours, in standard errors of their difference,
 * so that runs which scatter more do not agree more easily, however many there
 * are. The paper states neither its number of runs nor what its +- is: taken for
 * the deviation of as many runs as ours. Within two the cell counts as
 * reproduced. The distance if the +- is the standard error of its mean already
 * is printed, too.
 */
static void compare(const struct setup *setup, int column,
                    const struct outcome *ours, int64_t runs, char *words,
                    size_t room)
{
    double apart = fabs(ours->mean - setup->paper[column]);
    double root = sqrt((double)runs), stated = setup->deviation[column];
    double own = ours->deviation / root;
    double distance = apart / hypot(stated / root, own);
    snprintf(words, room,
             "%s: %.2f times the paper's, %.1f standard errors away (%.1f if "
             "the paper's +- is one)",
             distance <= 2 ? "reproduced" : "NOT reproduced",
             ours->mean / setup->paper[column], distance,
             apart / hypot(stated, own));
}

static void write_rows(struct reproduction *work, const struct data_set *data,
                       const struct setup *setup,
                       const struct outcome *outcomes, FILE *csv)
{
    const int c = data->column;
    double paper = c < 0 ? NAN : setup->paper[c];
    struct reproduce_row row = {.part = "table2", .paper = "-"};
    fprintf(csv, "%s,%s", data->name, setup->what);
    if (c >= 0)
        fprintf(csv, ",%.17g,%.17g", paper, setup->deviation[c]);
    else
        fputs(",,", csv);
    for (int m = 0; m < METHODS; m++)
        fprintf(csv, ",%.17g,%.17g,%.17g", outcomes[m].mean,
                outcomes[m].deviation, outcomes[m].median);
    fputc('\n', csv);
    snprintf(row.what, sizeof row.what, "%s; %s", data->name, setup->what);
    if (c >= 0)
        snprintf(row.paper, sizeof row.paper, "%.3f +- %.3f", paper,
                 setup->deviation[c]);
    snprintf(row.settings, sizeof row.settings, "%.3f +- %.3f",
             outcomes[0].mean, outcomes[0].deviation);
    snprintf(row.best, sizeof row.best, "%.3f +- %.3f", outcomes[1].mean,
             outcomes[1].deviation);
    char note[200] = "the paper has other data";
    if (c >= 0 && work->seeds > 1)
        compare(setup, c, &outcomes[0], work->seeds, note, sizeof note);
    else if (c >= 0)
        snprintf(note, sizeof note, "one run has no deviation");
    row.note = note;
    reproduce_row(work, &row);
}

/* ------------------------------------------------------------------ runs -- */

static const char plot[] =
    "set title 'Distributed K-means: inertia relative to K-means in one "
    "place'\n"
    "set style data histograms\n"
    "set style histogram errorbars gap 1 lw 1\n"
    "set style fill solid 0.9 noborder\n"
    "set errorbars 0.5 lc rgb '#444444'\n"
    "set ylabel 'relative inertia'\n"
    "set yrange [0:*]\n"
    "small = kind eq 'png' ? ',16' : ',9'\n"
    "set xtics font small\n"
    "set bmargin 4.5\n"
    "set key top right\n"
    "lines(s) = strstrt(s, ';') ? s[1:strstrt(s, ';')-1] . \"\\n\" . "
    "s[strstrt(s, ';')+2:*] : s\n"
    "set arrow from graph 0, first 1 to graph 1, first 1 nohead dt 2 lc rgb "
    "grey\n";
static const char plot_paper[] =
    "plot 'table2.csv' using 3:4:xtic(strcol(1).\"\\n\".lines(strcol(2))) "
    "every ::1 title 'paper' lc rgb grey, '' using 5:6 every ::1 title "
    "\"pricer, paper's procedure\" lc rgb blue, '' using 8:9 every ::1 title "
    "\"pricer's own\" lc rgb green\n";
static const char plot_alone[] = /* of data that the paper does not have */
    "plot 'table2.csv' using 5:6:xtic(strcol(1).\"\\n\".lines(strcol(2))) "
    "every ::1 title \"paper's procedure\" lc rgb blue, '' using 8:9 every "
    "::1 title \"pricer's own\" lc rgb green\n";

static enum pricer_status draw(struct reproduction *work)
{
    const bool given = work->points[REPRODUCE_SAMPLE] == NULL;
    char *script = NULL;
    if (asprintf(&script, "%s%s", plot, given ? plot_paper : plot_alone) < 0)
        return PRICER_MEMORY;
    enum pricer_status status = reproduce_plot(work, "table2", script);
    free(script);
    return status;
}

/* Progress over all runs, counted one by one. */
struct counter {
    struct reproduction *work;
    double made, all;
};

static bool count_run(void *context, double done)
{
    struct counter *counter = context;
    (void)done;
    counter->made++;
    return reproduce_tick(counter->work, counter->made / counter->all) ==
           PRICER_OK;
}

static enum pricer_status run_data(struct reproduction *work, int which,
                                   struct pricer_network **networks,
                                   FILE *table, FILE *runs)
{
    static const char *const names[] = {"CIFAR-10", "Fashion-MNIST",
                                        "shapes (sample)"};
    struct data_set data = {.name = names[which],
                            .points = work->points[which],
                            .column = which < COLUMNS ? which : -1};
    struct outcome outcomes[METHODS];
    enum pricer_status status = pricer_kmeans_reference(
        data.points,
        &(struct pricer_kmeans_settings){.clusters = 10, .steps = 50}, 3,
        &data.reference, &work->fault);
    for (int s = 0; s < SETUPS && status == PRICER_OK; s++) {
        for (int m = 0; m < METHODS && status == PRICER_OK; m++)
            status =
                run_setup(work, &data, &setups[s], &methods[m],
                          networks[setups[s].topology], runs, &outcomes[m]);
        if (status == PRICER_OK)
            write_rows(work, &data, &setups[s], outcomes, table);
    }
    return status;
}

static enum pricer_status run_all(struct reproduction *work, FILE *table,
                                  FILE *runs)
{
    struct pricer_network *networks[TOPOLOGIES] = {NULL};
    struct pricer_watch before = work->watch;
    int sets = 0;
    for (int k = 0; k < REPRODUCE_SETS; k++)
        sets += work->points[k] != NULL;
    struct counter counter = {work, 0,
                              (double)(sets * SETUPS * METHODS * work->seeds)};
    work->watch = (struct pricer_watch){count_run, &counter};
    enum pricer_status status =
        reproduce_network(work, "sole-good-node.yaml", NULL, &networks[SOLE]);
    if (status == PRICER_OK)
        status = reproduce_network(work, "scattered.yaml", NULL,
                                   &networks[SCATTERED]);
    for (int k = 0; k < REPRODUCE_SETS && status == PRICER_OK; k++)
        if (work->points[k] != NULL)
            status = run_data(work, k, networks, table, runs);
    pricer_network_free(networks[SOLE]);
    pricer_network_free(networks[SCATTERED]);
    work->watch = before;
    return status;
}

enum pricer_status reproduce_table2(struct reproduction *work)
{
    FILE *table = NULL, *runs = NULL;
    enum pricer_status status =
        reproduce_write(work, "sole-good-node.yaml", sole_scenario);
    if (status == PRICER_OK)
        status = reproduce_write(work, "scattered.yaml", scattered_scenario);
    if (status == PRICER_OK)
        status = reproduce_open(work, "table2.csv", &table);
    if (status == PRICER_OK)
        status = reproduce_open(work, "table2-runs.csv", &runs);
    if (status != PRICER_OK)
        goto done;
    fputs("data,setup,paper,paper_deviation,mean,deviation,median,own_mean,"
          "own_deviation,own_median\n",
          table);
    fputs("data,setup,procedure,seed,relative_inertia\n", runs);
    status = run_all(work, table, runs);
done:
    status = reproduce_close(work, "table2-runs.csv", runs, status);
    status = reproduce_close(work, "table2.csv", table, status);
    return status != PRICER_OK ? status : draw(work);
}
