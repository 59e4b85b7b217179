/*
 * pricer sweep: plan and simulate every cell of a grid of scenarios, into one
 * table and one plot; started again, it goes on where it stopped.
 */
#include "common/crew.h"
#include "sweep.h"
#include "verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct usage usage = {
    "sweep", "SCENARIO.yaml",
    "Plan and simulate a scenario for every combination of values, into the\n"
    "folder's sweep.csv and sweep.svg. Stopped by Ctrl-C, a kill or a full "
    "disk,\n"
    "it goes on where it was when started again. --decoder, --strategy and\n"
    "--privacy are for 'scheme: sum'.",
    "pricer sweep examples/paper.yaml --vary network.p=0.1,0.9 "
    "--vary trust.eps=1,10 --to sweep/"};

/* Whether plans of forwarding have a column of the table. */
static bool is_of_forward(int column)
{
    return column != SWEEP_PIV && column != SWEEP_PAPER &&
           column != SWEEP_BIAS_L1 && column != SWEEP_LOWER &&
           column != SWEEP_UPPER;
}

/* Which columns the table has. */
static void choose_columns(const struct sweep_request *request, bool forward,
                           struct sweep_grid *grid)
{
    for (int c = 0; c < SWEEP_COLUMNS; c++)
        grid->shown[c] = c < SWEEP_LINK_EPS && (!forward || is_of_forward(c));
    grid->shown[SWEEP_HOPS] = grid->shown[SWEEP_HEARD] = forward;
    grid->shown[SWEEP_CLIPPED] = request->given != NULL;
    for (int c = SWEEP_LINK_EPS; c < SWEEP_RIVAL; c++)
        grid->shown[c] = request->privacy;
    for (int k = 0; k < SWEEP_RIVALS; k++)
        for (int c = 0; c < SWEEP_OF_RIVAL; c++)
            grid->shown[sweep_rival_at(k, c)] = request->rivals[k];
}

static int sweep(const struct sweep_request *request,
                 const struct sweep_grid *grid)
{
    struct pricer_fault fault = {""};
    char path[4096];
    enum pricer_status status = sweep_cells_check(request, grid, &fault);
    if (status != PRICER_OK)
        return program_fault(status, &fault);
    struct sweep_row *rows = calloc((size_t)grid->cells, sizeof *rows);
    if (rows == NULL)
        return program_fault(PRICER_MEMORY, &fault);
    FILE *table = NULL;
    int64_t done = 0;
    int failed = program_writes() ? sweep_folder_claim(request, grid) : 0;
    if (!failed && program_writes()) {
        snprintf(path, sizeof path, "%s/sweep.csv", request->folder);
        table = sweep_table_open(path, grid, rows, &done);
        failed = table == NULL;
    }
    if (!failed)
        failed = sweep_play(request, grid, table, rows, done);
    if (table != NULL && fclose(table) != 0 && !failed)
        failed = program_fail("%s: %s", path, strerror(errno));
    if (!failed && program_writes())
        sweep_print(request, grid, rows,
                    sweep_plot(request->folder, grid, rows));
    free(rows);
    return failed;
}

/* The first decoder fills the table's own columns, further ones stand beside;
 * false after saying what is wrong. */
static bool choose_decoders(const struct option_list *list,
                            struct sweep_request *request)
{
    request->decoder = -1;
    for (int k = 0; k < list->count; k++) {
        int found = 0;
        while (found < SWEEP_DECODERS &&
               strcmp(list->items[k],
                      pricer_word(PRICER_WORDS_DECODE, found)) != 0)
            found++;
        if (found == SWEEP_DECODERS) {
            fprintf(stderr,
                    "pricer sweep: --decoder is %s, not '%s'; --help "
                    "explains\n",
                    PROGRAM_DECODERS, list->items[k]);
            return false;
        }
        if (found == PRICER_DECODE_ADAPTIVE &&
            request->engine == PRICER_ENGINE_FAST) {
            fputs("pricer sweep: --decoder adaptive needs --engine faithful\n",
                  stderr);
            return false;
        }
        if (request->decoder < 0)
            request->decoder = found;
        else if (found != request->decoder)
            request->rivals[STRATEGIES + found] = true;
    }
    return true;
}

/* Read what the nodes hold, unless it is drawn. */
static int read_data(struct sweep_request *request)
{
    struct pricer_fault fault = {""};
    if (strcmp(request->data, "worst-case") == 0 ||
        strcmp(request->data, "random") == 0)
        return 0;
    enum pricer_status status =
        pricer_matrix_read(request->data, &request->given, &fault);
    return status == PRICER_OK ? 0 : program_fault(status, &fault);
}

/* An option that 'scheme: forward' does not have, or NULL. */
static const char *find_stray(const struct sweep_request *request)
{
    bool strategies = false;
    for (int k = 0; k < STRATEGIES; k++)
        strategies |= request->rivals[k];
    return request->decoder >= 0 ? "--decoder"
           : strategies          ? "--strategy"
           : request->privacy    ? "--privacy"
                                 : NULL;
}

/* Refuse what does not go together, choose the columns, and sweep. */
static int sweep_scheme(const struct sweep_request *request,
                        struct sweep_grid *grid)
{
    bool forward = sweep_is_forward(request, grid);
    const char *stray = forward ? find_stray(request) : NULL;
    if (stray != NULL) {
        fprintf(stderr,
                "pricer sweep: %s belongs to 'scheme: sum', and the scenario "
                "has 'scheme: forward'; --help explains\n",
                stray);
        return 2;
    }
    choose_columns(request, forward, grid);
    return sweep(request, grid);
}

static int check_and_sweep(struct sweep_request *request)
{
    struct sweep_grid grid;
    int status = 2;
    if (request->delta > 1) {
        fputs("pricer sweep: --delta is a number above 0, at most 1\n", stderr);
        return 2;
    }
    request->privacy |= request->delta > 0;
    if (request->trials == 0)
        request->trials = request->engine == PRICER_ENGINE_FAST ? 100000 : 1000;
    request->threads = program_threads(request->threads);
    if (sweep_grid_read(&request->vary, &grid)) {
        status = read_data(request);
        if (status == 0)
            status = sweep_scheme(request, &grid);
    }
    pricer_matrix_free(request->given);
    sweep_grid_free(&grid);
    return status;
}

int verb_sweep(int argc, char **argv)
{
    struct sweep_request request = {.data = "worst-case", .folder = "sweep"};
    struct option_list decoders = {0}, strategies = {0};
    const struct option options[] = {
        {"vary", OPTION_LIST, &request.vary, "KEY=A,B,...",
         "a key of the scenario and its values; may be given again"},
        {"to", OPTION_TEXT, &request.folder, "DIR",
         "where table and plot go, and a stopped sweep goes on; sweep"},
        {"set", OPTION_LIST, &request.sets, "KEY=VALUE",
         "override a key of the scenario in every cell; may be given again"},
        {"trials", OPTION_MANY, &request.trials, "N",
         "of each cell; 100000, with the faithful engine 1000"},
        {"data", OPTION_TEXT, &request.data, "worst-case|random|FILE",
         "what the nodes hold, a file a row a node; worst-case"},
        {"engine", OPTION_CHOICE, &request.engine, "fast|faithful",
         "as of pricer simulate; fast"},
        {"decoder", OPTION_LIST, &decoders, PROGRAM_DECODERS,
         "how sums are weighed; minimax, beyond 32 nodes constant. More: "
         "beside"},
        {"strategy", OPTION_LIST, &strategies, STRATEGY_WORDS,
         "also play this on the same trials; may be given again"},
        {"privacy", OPTION_FLAG, &request.privacy, NULL,
         "also account for what links and the server learn"},
        {"delta", OPTION_ABOVE, &request.delta, "X",
         "of that account, and asks for it; each budget's own"},
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
    request.scenario = operands[0];
    if (!choose_decoders(&decoders, &request) ||
        !strategy_choose("sweep", &strategies, request.rivals))
        return 2;
    return check_and_sweep(&request);
}
