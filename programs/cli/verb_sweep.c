/*
 * pricer sweep: plan and simulate every cell of a grid of scenarios, into one
 * table and one plot; started again, it goes on where it stopped.
 */
#include "sweep.h"
#include "verbs.h"
#include "pricer_decode.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct usage usage = {
    "sweep", "SCENARIO.yaml",
    "Plan and simulate a scenario for every combination of values, into the\n"
    "folder's sweep.csv and sweep.svg. Stopped by Ctrl-C or killed, it goes "
    "on\n"
    "where it was when started again.",
    "pricer sweep examples/paper.yaml --vary network.p=0.1,0.9 "
    "--vary trust.eps=1,10 --to sweep/"};

struct request {
    const char *scenario, *folder, *data;
    struct option_list vary, sets;
    int engine;
    int decoder; /* enum pricer_decode; -1: minimax where it is fast */
    int64_t trials, threads;
    bool force, as_json;
};

/* The progress of one cell as part of the whole. */
struct share {
    struct progress progress;
    int64_t cell, cells;
    double from, to; /* of the cell */
};

static bool tick(void *context, double done)
{
    struct share *share = context;
    double inner = share->from + (share->to - share->from) * done;
    return share->progress.watch.tick(share->progress.watch.context,
                                      ((double)share->cell + inner) /
                                          (double)share->cells);
}

/* Read the scenario of a cell: the fixed overrides, then the cell's. */
static enum pricer_status read_cell(const struct request *request,
                                    const struct sweep_grid *grid, int64_t cell,
                                    struct pricer_scenario **scenario,
                                    struct pricer_fault *fault)
{
    char *texts[SWEEP_KEYS] = {NULL};
    const char *overrides[32 + SWEEP_KEYS];
    int count = 0;
    enum pricer_status status = PRICER_OK;
    for (int k = 0; k < request->sets.count; k++)
        overrides[count++] = request->sets.items[k];
    for (int k = 0; k < grid->axes && status == PRICER_OK; k++) {
        const struct sweep_axis *axis = &grid->axis[k];
        if (asprintf(&texts[k], "%s=%s", axis->key,
                     axis->values[sweep_grid_at(grid, cell, k)]) < 0) {
            texts[k] = NULL;
            status = PRICER_MEMORY;
        } else {
            overrides[count++] = texts[k];
        }
    }
    if (status == PRICER_OK)
        status = pricer_scenario_read(request->scenario, overrides, count,
                                      scenario, fault);
    for (int k = 0; k < grid->axes; k++)
        free(texts[k]);
    return status;
}

static void keep_plan(const struct pricer_network *network,
                      const struct pricer_solve_info *info,
                      const struct pricer_error *error, struct sweep_row *row)
{
    row->number[SWEEP_NODES] = network->nodes;
    row->number[SWEEP_LINKS] = network->links;
    row->number[SWEEP_OBJECTIVE] = info->objective;
    row->number[SWEEP_GAP] = info->gap;
    row->number[SWEEP_VARIANCE] = error->variance;
    row->number[SWEEP_PIV] = error->piv;
    row->number[SWEEP_PAPER] = error->mse_paper;
    row->number[SWEEP_WORST] = error->mse_worst_case;
    row->number[SWEEP_BIAS_L1] = error->bias_l1;
}

/* With more nodes a cell's decoder is fitted only if it is asked for. */
enum { DECODER_NODES = 32 };

/* The decoder of a cell's plan: NULL where it is constant. */
static enum pricer_status fit_cell(const struct request *request,
                                   const struct pricer_network *network,
                                   const struct pricer_settings *settings,
                                   const struct pricer_plan *plan,
                                   struct pricer_simulation_settings *play,
                                   struct pricer_decoder **decoder)
{
    bool unbiased = settings->bias == PRICER_BIAS_UNBIASED;
    struct pricer_decoder_settings ask = {.horizon = unbiased ? INFINITY : 1,
                                          .seed = play->seed,
                                          .threads = settings->threads,
                                          .watch = settings->watch};
    play->decode = PRICER_DECODE_CONSTANT;
    if (request->decoder == PRICER_DECODE_CONSTANT ||
        (request->decoder < 0 && network->nodes > DECODER_NODES))
        return PRICER_OK;
    enum pricer_status status =
        pricer_decoder_fit(network, plan, &ask, decoder, NULL);
    if (status == PRICER_VALUE) /* the plan has none that is better */
        return PRICER_OK;
    if (status == PRICER_OK) {
        play->decode = request->decoder < 0
                           ? PRICER_DECODE_MINIMAX
                           : (enum pricer_decode)request->decoder;
        play->decoder = *decoder;
    }
    return status;
}

static void keep_simulation(const struct pricer_simulation *simulation,
                            struct sweep_row *row)
{
    const struct pricer_outcome *outcome = &simulation->outcomes[0];
    row->number[SWEEP_TRIALS] = (double)simulation->trials;
    row->number[SWEEP_MSE] = outcome->mse;
    row->number[SWEEP_MSE_STDERR] = outcome->mse_stderr;
    row->number[SWEEP_PREDICTED] = outcome->predicted;
    row->number[SWEEP_BIAS] = outcome->bias;
    row->number[SWEEP_BAR] = outcome->bar;
    if (outcome->mse_stderr > 0 &&
        fabs(outcome->mse - outcome->predicted) > 5 * outcome->mse_stderr)
        snprintf(row->words, sizeof row->words,
                 "simulation and prediction differ by %.1f standard errors",
                 fabs(outcome->mse - outcome->predicted) / outcome->mse_stderr);
}

/* Plan and simulate a cell's network. */
static enum pricer_status play_cell(const struct request *request,
                                    const struct pricer_scenario *scenario,
                                    const struct pricer_network *network,
                                    struct share *share, struct sweep_row *row,
                                    struct pricer_fault *fault)
{
    const struct pricer_watch watch = {tick, share};
    struct pricer_settings settings;
    struct pricer_plan *plan = NULL;
    struct pricer_simulation *simulation = NULL;
    struct pricer_simulation_settings play;
    struct pricer_decoder *decoder = NULL;
    struct pricer_solve_info info;
    struct pricer_error error;
    pricer_scenario_settings(scenario, &settings);
    if (settings.repeat > 1) {
        snprintf(fault->text, sizeof fault->text,
                 "a sweep plays rounds of one attempt: leave repeat out");
        return PRICER_VALUE;
    }
    settings.threads = (int32_t)request->threads;
    settings.watch = &watch;
    share->from = 0, share->to = 0.5;
    enum pricer_status status =
        pricer_plan_optimise(network, &settings, NULL, &plan, &info, fault);
    if (status == PRICER_OK && info.outcome == PRICER_OUTCOME_STOPPED)
        status = PRICER_STOPPED;
    if (status == PRICER_OK)
        status = pricer_plan_evaluate(network, &settings, plan, &error, fault);
    if (status == PRICER_OK) {
        keep_plan(network, &info, &error, row);
        share->from = 0.5, share->to = 1;
        play = (struct pricer_simulation_settings){
            .engine = (enum pricer_engine)request->engine,
            .trials = request->trials,
            .seed = (uint64_t)pricer_scenario_seed(scenario),
            .data = strcmp(request->data, "random") == 0
                        ? PRICER_DATA_RANDOM
                        : PRICER_DATA_WORST_CASE,
            .threads = settings.threads,
            .watch = &watch};
        status = fit_cell(request, network, &settings, plan, &play, &decoder);
    }
    if (status == PRICER_OK && decoder != NULL) {
        row->number[SWEEP_LOWER] = decoder->lower;
        row->number[SWEEP_UPPER] = decoder->upper;
    }
    if (status == PRICER_OK)
        status = pricer_simulation_run(
            network, (const struct pricer_plan *const[]){plan}, 1, &play,
            &simulation, fault);
    if (status == PRICER_OK && simulation->trials < request->trials)
        status = PRICER_STOPPED;
    if (status == PRICER_OK)
        keep_simulation(simulation, row);
    pricer_simulation_free(simulation);
    pricer_decoder_free(decoder);
    pricer_plan_free(plan);
    return status;
}

/*
 * Fill the row of a cell. A network or plan that cannot be had is a row that
 * says so; the rest of the sweep goes on.
 */
static enum pricer_status fill_row(const struct request *request,
                                   const struct sweep_grid *grid,
                                   struct share *share, struct sweep_row *row,
                                   struct pricer_fault *fault)
{
    struct pricer_scenario *scenario = NULL;
    struct pricer_network *network = NULL;
    for (int c = 0; c < SWEEP_COLUMNS; c++)
        row->number[c] = NAN;
    strcpy(row->words, "ok");
    enum pricer_status status =
        read_cell(request, grid, share->cell, &scenario, fault);
    if (status == PRICER_OK)
        status = pricer_scenario_network(scenario, NULL, &network, fault);
    if (status == PRICER_OK)
        status = play_cell(request, scenario, network, share, row, fault);
    if (status == PRICER_INFEASIBLE || status == PRICER_VALUE) {
        snprintf(row->words, sizeof row->words, "%s",
                 fault->text[0] != '\0' ? fault->text
                                        : pricer_status_text(status));
        status = PRICER_OK;
    }
    pricer_network_free(network);
    pricer_scenario_free(scenario);
    return status;
}

/* Every cell's scenario must be readable before any is played. */
static enum pricer_status check_cells(const struct request *request,
                                      const struct sweep_grid *grid,
                                      struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    for (int64_t cell = 0; cell < grid->cells && status == PRICER_OK; cell++) {
        struct pricer_scenario *scenario = NULL;
        status = read_cell(request, grid, cell, &scenario, fault);
        pricer_scenario_free(scenario);
    }
    return status;
}

/* Play the cells that the table does not have yet. */
static int play(const struct request *request, const struct sweep_grid *grid,
                FILE *table, struct sweep_row *rows, int64_t done)
{
    struct pricer_fault fault = {""};
    struct share share = {.cells = grid->cells};
    enum pricer_status status = PRICER_OK;
    bool written = true;
    progress_start(&share.progress, "sweep");
    for (share.cell = done;
         share.cell < grid->cells && status == PRICER_OK && written;
         share.cell++) {
        struct sweep_row *row = &rows[share.cell];
        fault.text[0] = '\0';
        status = fill_row(request, grid, &share, row, &fault);
        if (status == PRICER_OK)
            written = sweep_table_add(table, grid, share.cell, row);
    }
    progress_end(&share.progress);
    if (status == PRICER_STOPPED)
        return program_fail("stopped after %lld of %lld cells; the same "
                            "command goes on from there",
                            (long long)share.cell - 1, (long long)grid->cells);
    if (!written)
        return program_fail("%s/sweep.csv: %s", request->folder,
                            strerror(errno));
    return status == PRICER_OK ? 0 : program_fault(status, &fault);
}

/* Keys whose values all gave the same are named: the sweep shows nothing of
 * them. */
static void name_idle(const struct sweep_grid *grid,
                      const struct sweep_row *rows, struct json *json)
{
    if (json != NULL)
        json_open(json, "without_effect", '[');
    for (int k = 0; k < grid->axes; k++) {
        if (!sweep_axis_idle(grid, rows, k))
            continue;
        if (json != NULL)
            json_text(json, NULL, grid->axis[k].key);
        else
            program_warn("%s has no effect here: all its values gave the same",
                         grid->axis[k].key);
    }
    if (json != NULL)
        json_close(json, ']');
}

static void report(const struct request *request, const struct sweep_grid *grid,
                   const struct sweep_row *rows, bool plotted)
{
    int64_t failed = 0;
    for (int64_t cell = 0; cell < grid->cells; cell++)
        failed += strcmp(rows[cell].words, "ok") != 0;
    char path[4096];
    snprintf(path, sizeof path, "%s/sweep.csv", request->folder);
    if (!request->as_json) {
        printf("%lld cells in %s", (long long)grid->cells, path);
        if (failed > 0)
            printf(", %lld of them not ok (column status)", (long long)failed);
        if (plotted)
            printf("; plot in %s/sweep.svg", request->folder);
        putchar('\n');
        name_idle(grid, rows, NULL);
        return;
    }
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_count(&json, "cells", grid->cells);
    json_count(&json, "not_ok", failed);
    name_idle(grid, rows, &json);
    json_text(&json, "table", path);
    if (plotted) {
        snprintf(path, sizeof path, "%s/sweep.svg", request->folder);
        json_text(&json, "plot", path);
    }
    json_close(&json, '}');
}

/* What a sweep is, in words: only a sweep of the same may go on. */
static char *describe(const struct request *request,
                      const struct sweep_grid *grid)
{
    char *text = NULL, line[4096];
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    FILE *scenario = fopen(request->scenario, "r");
    if (memory != NULL && scenario != NULL) {
        fprintf(memory, "trials %lld, %s data, %s engine, %s decoder\n",
                (long long)request->trials, request->data,
                pricer_word(PRICER_WORDS_ENGINE, request->engine),
                request->decoder < 0
                    ? "default"
                    : pricer_word(PRICER_WORDS_DECODE, request->decoder));
        for (int k = 0; k < request->sets.count; k++)
            fprintf(memory, "set %s\n", request->sets.items[k]);
        for (int k = 0; k < grid->axes; k++) {
            fprintf(memory, "vary %s", grid->axis[k].key);
            for (int v = 0; v < grid->axis[k].count; v++)
                fprintf(memory, " %s", grid->axis[k].values[v]);
            fputc('\n', memory);
        }
        while (fgets(line, sizeof line, scenario) != NULL)
            fputs(line, memory);
    }
    if (scenario != NULL)
        fclose(scenario);
    if (memory == NULL || fclose(memory) != 0)
        return NULL;
    return text;
}

/* Make the folder, or find that it holds the same sweep. */
static int claim_folder(const struct request *request, const char *description)
{
    char path[4096], *found = NULL;
    size_t room = 0;
    if (mkdir(request->folder, 0777) != 0 && errno != EEXIST)
        return program_fail("%s: %s", request->folder, strerror(errno));
    snprintf(path, sizeof path, "%s/sweep.txt", request->folder);
    FILE *file = request->force ? NULL : fopen(path, "r");
    if (file != NULL) {
        ssize_t length = getdelim(&found, &room, '\0', file);
        bool same = length >= 0 && strcmp(found, description) == 0;
        fclose(file);
        free(found);
        return same ? 0
                    : program_fail("%s holds another sweep; --force begins "
                                   "anew, --to goes elsewhere",
                                   request->folder);
    }
    char table[4096];
    snprintf(table, sizeof table, "%s/sweep.csv", request->folder);
    remove(table);
    file = fopen(path, "w");
    bool written = file != NULL && fputs(description, file) >= 0;
    written = file != NULL && fclose(file) == 0 && written;
    return written ? 0 : program_fail("%s: %s", path, strerror(errno));
}

static int sweep(const struct request *request, const struct sweep_grid *grid)
{
    struct pricer_fault fault = {""};
    char path[4096];
    enum pricer_status status = check_cells(request, grid, &fault);
    if (status != PRICER_OK)
        return program_fault(status, &fault);
    char *description = describe(request, grid);
    struct sweep_row *rows = calloc((size_t)grid->cells, sizeof *rows);
    FILE *table = NULL;
    int64_t done = 0;
    int failed = 1;
    if (description == NULL || rows == NULL)
        failed = program_fault(PRICER_MEMORY, &fault);
    else
        failed = claim_folder(request, description);
    if (!failed) {
        snprintf(path, sizeof path, "%s/sweep.csv", request->folder);
        table = sweep_table_open(path, grid, rows, &done);
        failed = table == NULL;
    }
    if (!failed)
        failed = play(request, grid, table, rows, done);
    if (table != NULL && fclose(table) != 0 && !failed)
        failed = program_fail("%s: %s", path, strerror(errno));
    if (!failed)
        report(request, grid, rows, sweep_plot(request->folder, grid, rows));
    free(rows);
    free(description);
    return failed;
}

int verb_sweep(int argc, char **argv)
{
    struct request request = {
        .data = "worst-case", .folder = "sweep", .decoder = -1};
    int data = 0;
    const struct option options[] = {
        {"vary", OPTION_LIST, &request.vary, "KEY=A,B,...",
         "a key of the scenario and its values; may be given again"},
        {"to", OPTION_TEXT, &request.folder, "DIR",
         "where table and plot go, and a stopped sweep goes on; sweep"},
        {"set", OPTION_LIST, &request.sets, "KEY=VALUE",
         "override a key of the scenario in every cell; may be given again"},
        {"trials", OPTION_MANY, &request.trials, "N",
         "of each cell; 100000, with the faithful engine 1000"},
        {"data", OPTION_CHOICE, &data, "worst-case|random",
         "what the nodes hold; worst-case"},
        {"engine", OPTION_CHOICE, &request.engine, "fast|faithful",
         "as of pricer simulate; fast"},
        {"decoder", OPTION_CHOICE, &request.decoder, PROGRAM_DECODERS,
         "how sums are weighed; minimax, beyond 32 nodes constant"},
        {"threads", OPTION_COUNT, &request.threads, "N",
         "how many; one per core"},
        {"force", OPTION_FLAG, &request.force, NULL,
         "begin anew whatever the folder holds"},
        {"json", OPTION_FLAG, &request.as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const char *operands[1];
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;
    if (request.decoder == PRICER_DECODE_ADAPTIVE &&
        request.engine == PRICER_ENGINE_FAST) {
        fputs("pricer sweep: --decoder adaptive needs --engine faithful\n",
              stderr);
        return 2;
    }
    struct sweep_grid grid;
    int status = 2;
    request.scenario = operands[0];
    request.data = data == 1 ? "random" : "worst-case";
    if (request.trials == 0)
        request.trials = request.engine == PRICER_ENGINE_FAST ? 100000 : 1000;
    if (request.threads > 1024)
        request.threads = 1024;
    if (sweep_grid_read(&request.vary, &grid))
        status = sweep(&request, &grid);
    sweep_grid_free(&grid);
    return status;
}
