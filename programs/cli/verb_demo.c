/*
 * pricer demo: the same rounds three times, predicted by formula, simulated,
 * and run by real processes on loopback.
 */
#include "fleet/demo.h"
#include "common/options.h"
#include "verbs.h"

#include <math.h>
#include <sqlite3.h>
#include <time.h>

static const struct usage usage = {
    "demo", "[STUDY]",
    "Run a server and one process per node on loopback, links dropped by\n"
    "emulation with the planned probabilities, and compare the error measured\n"
    "with prediction and simulation. Without STUDY: the paper's ten nodes. "
    "With\n"
    "it: its latest plan; keys are enrolled in it and the rounds stored in it.",
    "pricer demo --rounds 300"};

struct measured {
    int64_t rounds;
    double mse, mse_stderr;
    double seconds;
};

static enum pricer_status measure(struct demo *demo, struct measured *measured)
{
    sqlite3_stmt *query = NULL;
    double sum = 0, squares = 0;
    if (sqlite3_prepare_v2(pricer_study_handle(demo->study),
                           "SELECT error FROM round ORDER BY round DESC"
                           " LIMIT ?",
                           -1, &query, NULL) != SQLITE_OK)
        return PRICER_FILE;
    sqlite3_bind_int64(query, 1, demo->rounds);
    while (sqlite3_step(query) == SQLITE_ROW) {
        double error = sqlite3_column_double(query, 0);
        measured->rounds++;
        sum += error;
        squares += error * error;
    }
    sqlite3_finalize(query);
    double n = (double)measured->rounds;
    measured->mse = sum / n;
    measured->mse_stderr =
        n > 1 ? sqrt(fmax(0, squares / n - sum / n * (sum / n)) / (n - 1))
              : NAN;
    return PRICER_OK;
}

/* The simulator on the same data: many trials fast, and the fleet's rounds
 * message by message. */
static enum pricer_status simulate(struct demo *demo, bool same,
                                   struct pricer_outcome *outcome,
                                   struct pricer_fault *fault)
{
    struct pricer_simulation *simulation = NULL;
    struct pricer_simulation_settings settings = {
        .engine = same ? PRICER_ENGINE_FAITHFUL : PRICER_ENGINE_FAST,
        .trials = same ? demo->rounds : 100000,
        .seed = (uint64_t)demo->seed,
        .data = PRICER_DATA_GIVEN,
        .given = demo->data,
    };
    enum pricer_status status = pricer_simulation_run(
        demo->network, (const struct pricer_plan *const[]){demo->plan}, 1,
        &settings, &simulation, fault);
    if (status == PRICER_OK)
        *outcome = simulation->outcomes[0];
    pricer_simulation_free(simulation);
    return status;
}

static void report_json(const struct demo *demo,
                        const struct measured *measured,
                        const struct pricer_outcome *many,
                        const struct pricer_outcome *same, bool equal)
{
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_count(&json, "nodes", demo->network->nodes);
    json_count(&json, "rounds", measured->rounds);
    json_number(&json, "predicted", many->predicted);
    json_number(&json, "worst_case", many->worst_case);
    json_number(&json, "simulated", many->mse);
    json_number(&json, "simulated_stderr", many->mse_stderr);
    json_number(&json, "simulated_same_rounds", same->mse);
    json_number(&json, "measured", measured->mse);
    json_number(&json, "measured_stderr", measured->mse_stderr);
    json_flag(&json, "same_rounds_agree", equal);
    json_number(&json, "seconds", measured->seconds);
    json_close(&json, '}');
}

static void add_row(struct table *table, const char *what, double mse,
                    double error, const char *rounds)
{
    table_cell(table, "%s", what);
    table_cell(table, "%.6f", mse);
    if (isnan(error))
        table_cell(table, "%s", "");
    else
        table_cell(table, "%.6f", error);
    table_cell(table, "%s", rounds);
}

static void report_table(const struct demo *demo,
                         const struct measured *measured,
                         const struct pricer_outcome *many,
                         const struct pricer_outcome *same, bool equal)
{
    char count[32];
    struct table *table =
        table_new(4, (const char *const[]){"mean squared error", "value",
                                           "std. error", "rounds"});
    add_row(table, "worst case over all data", many->worst_case, NAN, "");
    add_row(table, "predicted for this data", many->predicted, NAN, "");
    add_row(table, "simulated", many->mse, many->mse_stderr, "100000");
    snprintf(count, sizeof count, "%lld", (long long)measured->rounds);
    add_row(table, "simulated, the fleet's rounds", same->mse, same->mse_stderr,
            count);
    add_row(table, "measured by the fleet", measured->mse, measured->mse_stderr,
            count);
    table_print(table, stdout);
    printf("%d nodes and a server as processes, %lld rounds in %.1f s; %s\n",
           (int)demo->network->nodes, (long long)measured->rounds,
           measured->seconds,
           equal ? "the fleet's rounds are the simulator's"
                 : "THE FLEET'S ROUNDS ARE NOT THE SIMULATOR'S");
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A study that already had rounds gives the fleet others than the simulator
 * starts with; then only the statistics can agree. */
static int show(struct demo *demo, double seconds, bool as_json)
{
    struct pricer_fault fault = {""};
    struct measured measured = {.seconds = seconds};
    struct pricer_outcome many, same;
    enum pricer_status status = measure(demo, &measured);
    if (status == PRICER_OK)
        status = simulate(demo, false, &many, &fault);
    if (status == PRICER_OK)
        status = simulate(demo, true, &same, &fault);
    if (status != PRICER_OK)
        return program_fault(status, &fault);
    bool equal = measured.rounds == demo->rounds &&
                 fabs(measured.mse - same.mse) <= 1e-12 * same.mse;
    if (as_json)
        report_json(demo, &measured, &many, &same, equal);
    else
        report_table(demo, &measured, &many, &same, equal);
    return equal ? 0 : program_fail("fleet and simulator disagree");
}

int verb_demo(int argc, char **argv)
{
    bool as_json = false;
    struct demo demo = {.rounds = 300, .seed = 1};
    const struct option options[] = {
        {"rounds", OPTION_COUNT, &demo.rounds, "N", "rounds to run; 300"},
        {"seed", OPTION_COUNT, &demo.seed, "S", "of links, noise and data; 1"},
        {"port", OPTION_COUNT, &demo.port, "PORT",
         "status page at http://127.0.0.1:PORT/ while it runs; none"},
        {"keep", OPTION_TEXT, &demo.keep, "FOLDER",
         "keep study, keys, ledgers and logs in this new folder"},
        {"json", OPTION_FLAG, &as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const char *operands[1];
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;
    demo.study_path = operands[0];
    if (demo.rounds < 1 || demo.port > 65535)
        return program_fail(
            "--rounds must be at least 1, --port at most 65535");
    struct pricer_fault fault = {""};
    struct progress progress;
    double started = seconds_now();
    progress_start(&progress, "demo");
    enum pricer_status status = demo_prepare(&demo, &fault);
    if (status == PRICER_OK)
        status = demo_run(&demo, &progress.watch, &fault);
    progress_end(&progress);
    int result = status == PRICER_OK
                     ? show(&demo, seconds_now() - started, as_json)
                     : program_fault(status, &fault);
    demo_close(&demo);
    return result;
}
