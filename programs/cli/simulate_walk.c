/*
 * From a study to how well the estimate follows the mean, round by round: as a
 * table, JSON, CSV and a picture.
 */
#include "simulate_walk.h"
#include "common/crew.h"
#include "common/meaning.h"
#include "page/chart.h"
#include "pricer_forward.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 20 }; /* of the table */

static void print_json(const struct pricer_network *network,
                       const struct pricer_walk *walk)
{
    struct json json = {.out = stdout};
    const struct {
        const char *key;
        const double *values;
    } columns[] = {{"error", walk->error},
                   {"error_stderr", walk->error_stderr},
                   {"cut", walk->cut},
                   {"bar", walk->bar}};
    json_open(&json, NULL, '{');
    json_text(&json, "reference", network->reach > 0 ? "last" : "none");
    json_count(&json, "rounds", walk->rounds);
    json_count(&json, "walks", walk->walks);
    json_count(&json, "clipped", walk->clipped);
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
        json_open(&json, columns[k].key, '[');
        for (int64_t t = 0; t < walk->rounds; t++)
            json_number(&json, NULL, columns[k].values[t]);
        json_close(&json, ']');
    }
    json_close(&json, '}');
}

static void print_row(struct table *table, const struct pricer_network *network,
                      const struct pricer_walk *walk, int64_t t)
{
    double reach = network->reach > 0 ? network->reach : network->radius;
    table_cell(table, "%lld", (long long)t + 1);
    table_cell(table, "%.5g", walk->error[t]);
    table_cell(table, "%.2g", walk->error_stderr[t]);
    table_cell(table, "%.3g %%", 100 * walk->error[t] / reach / reach);
    if (isnan(walk->bar[t]))
        table_cell(table, " ");
    else
        table_cell(table, "%.5g", walk->bar[t]);
    table_cell(table, "%.3g", walk->cut[t]);
}

/* The first rounds, then fewer and fewer, and the last. */
static void print_table(const struct pricer_network *network,
                        const struct pricer_walk *walk)
{
    printf("%lld walks of %lld rounds, %s\n\n", (long long)walk->walks,
           (long long)walk->rounds,
           network->reach > 0 ? "each round relative to the estimate before it"
                              : "each round by itself");
    struct table *table = table_new(
        6, (const char *const[]){"round", "error", "+-", "of the data's R^2",
                                 "mean bar", "nodes cut"});
    double factor = pow((double)walk->rounds, 1.0 / ROWS), next = 1;
    for (int64_t t = 0; t < walk->rounds; t++) {
        if ((double)t + 1 < next && t + 1 < walk->rounds)
            continue;
        print_row(table, network, walk, t);
        while (next < (double)t + 2)
            next *= fmax(factor, 1.0001);
    }
    table_print(table, stdout);
    if (walk->clipped > 0)
        printf("%lld vectors were longer than their radius and were "
               "clipped.\n",
               (long long)walk->clipped);
    if (network->reach > 0)
        printf("A node is cut where its data are further than %g, the step, "
               "from the last estimate;\nwhere nodes stay cut the estimate "
               "follows another centre of the data than their mean.\n",
               network->radius);
    puts("Nothing was stored.");
}

static enum pricer_status fail(const char *path, struct pricer_fault *fault)
{
    snprintf(fault->text, sizeof fault->text, "%.300s: %s", path,
             strerror(errno));
    return PRICER_FILE;
}

static enum pricer_status write_csv(const char *path,
                                    const struct pricer_walk *walk,
                                    struct pricer_fault *fault)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return fail(path, fault);
    fputs("round,error,error_stderr,bar,cut\n", file);
    for (int64_t t = 0; t < walk->rounds; t++) {
        fprintf(file, "%lld,%.17g,", (long long)t + 1, walk->error[t]);
        if (isfinite(walk->error_stderr[t]))
            fprintf(file, "%.17g", walk->error_stderr[t]);
        fputc(',', file);
        if (isfinite(walk->bar[t]))
            fprintf(file, "%.17g", walk->bar[t]);
        fprintf(file, ",%.17g\n", walk->cut[t]);
    }
    bool written = !ferror(file);
    return fclose(file) == 0 && written ? PRICER_OK : fail(path, fault);
}

static enum pricer_status draw(const char *path,
                               const struct pricer_network *network,
                               const struct pricer_walk *walk,
                               struct pricer_fault *fault)
{
    double *round = malloc((size_t)walk->rounds * sizeof *round);
    FILE *file = round != NULL ? fopen(path, "w") : NULL;
    if (file == NULL) {
        free(round);
        return fail(path, fault);
    }
    bool positive = true;
    for (int64_t t = 0; t < walk->rounds; t++) {
        round[t] = (double)t + 1;
        positive = positive && walk->error[t] > 0;
    }
    const struct chart chart = {
        .title = "How well the estimate follows the mean",
        .x_name = "round",
        .y_name = "squared error",
        .log_y = positive,
        .bare = true,
        .lines = 1,
        .levels = 0,
        .line = {{network->reach > 0 ? "relative to the last estimate"
                                     : "each round by itself",
                  round, walk->error, (int)walk->rounds}},
    };
    chart_draw(file, &chart);
    free(round);
    bool written = !ferror(file);
    return fclose(file) == 0 && written ? PRICER_OK : fail(path, fault);
}

enum pricer_status simulate_walk(
    const struct pricer_network *network,
    const struct pricer_forward_plan *plan,
    const struct pricer_simulation_settings *settings,
    const struct walk_request *request, struct pricer_fault *fault)
{
    struct pricer_simulation_settings played = *settings;
    struct pricer_walk *walk = NULL;
    struct progress progress;
    progress_start(&progress, "simulate");
    played.watch = &progress.watch;
    enum pricer_status status = pricer_forward_walk(
        network, plan, &played, request->rounds, &walk, fault);
    progress_end(&progress);
    if (status == PRICER_OK && request->csv != NULL && program_writes())
        status = write_csv(request->csv, walk, fault);
    if (status == PRICER_OK && request->plot != NULL && program_writes())
        status = draw(request->plot, network, walk, fault);
    if (status == PRICER_OK)
        (request->as_json ? print_json : print_table)(network, walk);
    pricer_walk_free(walk);
    return status;
}
