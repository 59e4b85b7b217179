/*
 * pricer demo: the same rounds three times, predicted by formula, simulated,
 * and run by real processes on loopback.
 */
#include "fleet/demo.h"
#include "common/options.h"
#include "pricer_decode.h"
#include "pricer_reference.h"
#include "verbs.h"

#include <math.h>

static const struct usage usage = {
    "demo", "[STUDY]",
    "Run a server and one process per node on loopback, links dropped by\n"
    "emulation with the planned probabilities, and compare the error measured\n"
    "with prediction and simulation. Without STUDY: the paper's ten nodes. "
    "With\n"
    "it: its latest plan; the rounds are stored in it when all are done.",
    "pricer demo --rounds 300"};

enum { WALKS = 20 }; /* of rounds that depend on each other */

/* The same where releases are forwarded. */
static enum pricer_status simulate_forward(struct demo *demo, bool same,
                                           struct pricer_outcome *outcome,
                                           struct pricer_fault *fault)
{
    struct pricer_simulation *simulation = NULL;
    const struct pricer_simulation_settings settings = {
        .engine = same ? PRICER_ENGINE_FAITHFUL : PRICER_ENGINE_FAST,
        .trials = same ? demo->rounds : 100000,
        .seed = demo_seed(demo),
        .data = PRICER_DATA_GIVEN,
        .given = demo->data};
    enum pricer_status status = pricer_forward_simulate(
        demo->network, demo->forward, &settings, &simulation, fault);
    if (status == PRICER_OK)
        *outcome = simulation->outcomes[0];
    pricer_simulation_free(simulation);
    return status;
}

/* The same where rounds are relative to the last estimate, one after another:
 * `walks` times. A round that has no estimate keeps the last one, and is not in the
 * mean. */
static enum pricer_status simulate_walk_of(struct demo *demo, int64_t walks,
                                           struct pricer_outcome *outcome,
                                           struct pricer_fault *fault)
{
    const struct pricer_simulation_settings settings = {.trials = walks,
                                                        .seed = demo_seed(demo),
                                                        .data =
                                                            PRICER_DATA_GIVEN,
                                                        .given = demo->data};
    struct pricer_walk *walk = NULL;
    enum pricer_status status = pricer_forward_walk(
        demo->network, demo->forward, &settings, demo->rounds, &walk, fault);
    if (status != PRICER_OK)
        return status;
    double sum = 0;
    int64_t count = 0;
    for (int64_t t = 0; t < walk->rounds; t++)
        if (walks > 1 || walk->made[t]) {
            sum += walk->error[t];
            count++;
        }
    *outcome = (struct pricer_outcome){
        .mse = count > 0 ? sum / (double)count : NAN,
        .mse_stderr = NAN, /* rounds of a walk depend on each other */
        .predicted = NAN,
        .worst_case = demo->forward->mse_worst_case,
        .bar = NAN};
    pricer_walk_free(walk);
    return PRICER_OK;
}

/* The simulator on the same data: many trials fast, and the fleet's rounds
 * message by message. */
static enum pricer_status simulate(struct demo *demo, bool same,
                                   struct pricer_outcome *outcome,
                                   struct pricer_fault *fault)
{
    struct pricer_simulation *simulation = NULL;
    bool fast = !same && demo->decoding.used != PRICER_DECODE_ADAPTIVE;
    struct pricer_simulation_settings settings = {
        .engine = fast ? PRICER_ENGINE_FAST : PRICER_ENGINE_FAITHFUL,
        .trials = same   ? demo->rounds
                  : fast ? 100000
                         : 1000,
        .seed = demo_seed(demo),
        .data = PRICER_DATA_GIVEN,
        .given = demo->data,
        .decoder = demo->decoding.decoder,
        .decode = demo->decoding.used,
    };
    if (demo->network->reach > 0)
        return simulate_walk_of(demo, same ? 1 : WALKS, outcome, fault);
    if (demo->forward != NULL)
        return simulate_forward(demo, same, outcome, fault);
    enum pricer_status status = pricer_simulation_run(
        demo->network, (const struct pricer_plan *const[]){demo->plan}, 1,
        &settings, &simulation, fault);
    if (status == PRICER_OK)
        *outcome = simulation->outcomes[0];
    pricer_simulation_free(simulation);
    return status;
}

/* The same rounds three times. */
struct comparison {
    struct pricer_rounds_summary measured;
    struct pricer_outcome many; /* of many simulated trials */
    struct pricer_outcome same; /* of the fleet's rounds, simulated */
    bool equal;                 /* whether fleet and simulator agree */
    double seconds;             /* of all, from the start */
    int64_t none;               /* rounds without an estimate */
};

/*
 * The simulator counts a round in which nothing arrives as an estimate of 0,
 * whose error is the squared length of the mean; the fleet gives none. To
 * compare, count it in.
 */
static void count_none(const struct demo *demo, struct comparison *found)
{
    struct pricer_rounds_summary *measured = &found->measured;
    const struct pricer_matrix *data = demo->data;
    const double *rows = data->values;
    double zero = 0;
    found->none = measured->rounds - measured->estimates;
    if (found->none == 0 || demo->network->reach > 0)
        return;
    for (int64_t k = 0; k < data->columns; k++) {
        double sum = 0;
        for (int64_t i = 0; i < data->rows; i++)
            sum += rows[i * data->columns + k] / (double)data->rows;
        zero += sum * sum;
    }
    double total =
        isnan(measured->mse) ? 0 : measured->mse * (double)measured->measured;
    measured->mse =
        (total + (double)found->none * zero) / (double)measured->rounds;
}

static void report_json(const struct demo *demo, const struct comparison *found)
{
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_count(&json, "nodes", demo->network->nodes);
    json_count(&json, "rounds", found->measured.rounds);
    json_count(&json, "repeat", demo->attempts);
    json_count(&json, "without_estimate", found->none);
    json_number(&json, "predicted", found->many.predicted);
    json_number(&json, "worst_case", found->many.worst_case);
    json_number(&json, "simulated", found->many.mse);
    json_number(&json, "simulated_stderr", found->many.mse_stderr);
    json_number(&json, "simulated_same_rounds", found->same.mse);
    json_number(&json, "measured", found->measured.mse);
    json_number(&json, "measured_stderr", found->measured.mse_stderr);
    json_text(&json, "decoder",
              pricer_word(PRICER_WORDS_DECODE, (int)demo->decoding.used));
    json_number(&json, "bar", found->measured.bar);
    json_flag(&json, "same_rounds_agree", found->equal);
    json_number(&json, "seconds", found->seconds);
    json_close(&json, '}');
}

static void add_row(struct table *table, const char *what, double mse,
                    double error, const char *rounds)
{
    table_cell(table, "%s", what);
    if (isnan(mse))
        table_cell(table, "%s", "-");
    else
        table_cell(table, "%.6f", mse);
    if (isnan(error))
        table_cell(table, "%s", "");
    else
        table_cell(table, "%.6f", error);
    table_cell(table, "%s", rounds);
}

static void report_table(const struct demo *demo,
                         const struct comparison *found)
{
    const struct pricer_rounds_summary *measured = &found->measured;
    const struct pricer_outcome *many = &found->many, *same = &found->same;
    char count[32];
    struct table *table =
        table_new(4, (const char *const[]){"mean squared error", "value",
                                           "std. error", "rounds"});
    bool relative = demo->network->reach > 0;
    add_row(table,
            relative ? "worst case of a round's change"
                     : "worst case over all data",
            many->worst_case, NAN, "");
    if (!isnan(many->predicted)) /* minimax has no closed form */
        add_row(table, "predicted for this data", many->predicted, NAN, "");
    snprintf(count, sizeof count, "%lld", (long long)(WALKS * demo->rounds));
    add_row(table, "simulated", many->mse, many->mse_stderr,
            relative                                        ? count
            : demo->decoding.used == PRICER_DECODE_ADAPTIVE ? "1000"
                                                            : "100000");
    snprintf(count, sizeof count, "%lld", (long long)measured->rounds);
    add_row(table, "simulated, the fleet's rounds", same->mse, same->mse_stderr,
            count);
    add_row(table, "measured by the fleet", measured->mse, measured->mse_stderr,
            count);
    add_row(table, "the server's error bars", measured->bar, NAN, count);
    table_print(table, stdout);
    if (demo->forward != NULL)
        printf("In squared units of the data; releases are forwarded over up "
               "to %d relays.\n",
               (int)demo->forward->hops);
    else
        printf("In squared units of the data; %s decoder%s.\n",
               pricer_word(PRICER_WORDS_DECODE, (int)demo->decoding.used),
               demo->decoding.used == PRICER_DECODE_ADAPTIVE ? ", no guarantee"
                                                             : "");
    if (relative)
        printf("Each round is relative to the estimate before it, the first "
               "to zero: the mean over all of them.\n");
    if (demo->attempts > 1)
        printf("%d attempts a round, the same payloads in each\n",
               (int)demo->attempts);
    printf(
        "%d nodes and a server as processes, %lld rounds, %.1f s in all; %s\n",
        (int)demo->network->nodes, (long long)measured->rounds, found->seconds,
        found->equal ? "the fleet's rounds are the simulator's"
                     : "THE FLEET'S ROUNDS ARE NOT THE SIMULATOR'S");
    if (found->none > 0)
        printf("%lld rounds gave no estimate, as nobody's data arrived; they "
               "are %s\n",
               (long long)found->none, relative ? "left out" : "counted as 0");
}

static int show(struct demo *demo, const struct pricer_rounds_summary *measured,
                double started, bool as_json)
{
    struct pricer_fault fault = {""};
    struct comparison found = {.measured = *measured};
    enum pricer_status status = simulate(demo, false, &found.many, &fault);
    if (status == PRICER_OK)
        status = simulate(demo, true, &found.same, &fault);
    if (status != PRICER_OK)
        return program_fault(status, &fault);
    count_none(demo, &found);
    found.seconds = program_seconds() - started;
    double apart = fabs(found.measured.mse - found.same.mse);
    found.equal = found.measured.rounds == demo->rounds &&
                  apart <= 1e-12 * found.same.mse;
    if (as_json)
        report_json(demo, &found);
    else
        report_table(demo, &found);
    return found.equal ? 0 : program_fail("fleet and simulator disagree");
}

int verb_demo(int argc, char **argv)
{
    bool as_json = false;
    struct demo demo = {.rounds = 300, .seed = 1, .decoding.asked = -1};
    const struct option options[] = {
        {"rounds", OPTION_MANY, &demo.rounds, "N", "rounds to run; 300"},
        {"seed", OPTION_COUNT, &demo.seed, "S", "of links, noise and data; 1"},
        {"decoder", OPTION_CHOICE, &demo.decoding.asked, PROGRAM_DECODERS,
         PROGRAM_DECODER_HELP},
        {"port", OPTION_COUNT, &demo.port, "PORT",
         "status page at http://127.0.0.1:PORT/ while it runs; none"},
        {"timeout", OPTION_MANY, &demo.timeout, "S",
         "give up after S seconds without a new round; 60, and 1 a node"},
        {"keep", OPTION_TEXT, &demo.keep, "FOLDER",
         "keep study, keys, ledgers and logs in this new folder"},
        {"json", OPTION_FLAG, &as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const char *operands[1];
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;
    demo.study_path = operands[0];
    if (demo.port > 65535)
        return program_fail("--port is at most 65535");
    struct pricer_fault fault = {""};
    struct pricer_rounds_summary measured;
    struct progress progress;
    double started = program_seconds();
    progress_start(&progress, "demo");
    enum pricer_status status = demo_prepare(&demo, &fault);
    if (status == PRICER_OK)
        status = demo_run(&demo, &progress.watch, &fault);
    if (status == PRICER_OK)
        status =
            pricer_study_rounds(demo.study, demo.rounds, &measured, &fault);
    if (status == PRICER_OK)
        status = demo_keep(&demo, &fault);
    /* No keys are left behind, also if what follows is interrupted. */
    demo_clean(&demo);
    progress_end(&progress);
    int result = status == PRICER_OK ? show(&demo, &measured, started, as_json)
                                     : program_fault(status, &fault);
    demo_close(&demo);
    return result;
}
