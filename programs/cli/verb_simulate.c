/*
 * pricer simulate: play a plan, and others on the same trials, and put what
 * came of it next to what was predicted.
 */
#include "cli/forward/plan.h"
#include "common/crew.h"
#include "material.h"
#include "print_simulation.h"
#include "simulate_walk.h"
#include "strategy.h"
#include "verbs.h"
#include "pricer_decode.h"
#include "pricer_forward.h"

#include <string.h>

static const struct usage usage = {
    "simulate", "STUDY",
    "Draw links and noise again and again, let every node, relay and the "
    "server\n"
    "do their part, and compare the error of the estimate with the plan's\n"
    "prediction. Ctrl-C ends it with the trials played so far.\n"
    "With 'scheme: forward' nodes pass releases on; --decoder and --strategy "
    "are\n"
    "for 'scheme: sum'.",
    "pricer simulate ten.pricer --trials 1000000 --data random"};

struct request {
    struct pricer_simulation_settings settings;
    const char *data; /* worst-case, random or a file */
    struct program_decoding decoding;
    const char *plan; /* NULL: the latest */
    bool seeded;
    struct walk_request walk;
    bool wanted[STRATEGIES];
};

/* What is read before, and what is made of it. */
struct work {
    struct material from;
    struct pricer_matrix *matrix;
    int32_t count;
    struct pricer_plan *plans[STRATEGIES + 1]; /* the study's first */
    const char *names[STRATEGIES + 1];
    struct pricer_forward_plan *forward; /* with 'scheme: forward' the only */
    struct pricer_forward_record record; /* of it */
};

static enum pricer_status read_data(struct request *request, struct work *work,
                                    struct pricer_fault *fault)
{
    request->settings.data = PRICER_DATA_GIVEN;
    if (strcmp(request->data, "worst-case") == 0)
        request->settings.data = PRICER_DATA_WORST_CASE;
    else if (strcmp(request->data, "random") == 0)
        request->settings.data = PRICER_DATA_RANDOM;
    else
        return pricer_matrix_read(request->data, &work->matrix, fault);
    return PRICER_OK;
}

/* Make the plan of a strategy, with what the study's plan was asked for. */
static enum pricer_status make_strategy(int strategy, struct work *work,
                                        struct pricer_fault *fault)
{
    enum pricer_status status =
        strategy_plan(strategy, work->from.network, &work->from.record.settings,
                      &work->plans[work->count], fault);
    if (status == PRICER_OK)
        work->names[work->count++] = strategy_name(strategy);
    else if (fault->text[0] != '\0')
        program_warn("strategy %s cannot be had", strategy_name(strategy));
    return status;
}

static enum pricer_status make_strategies(const struct request *request,
                                          struct work *work,
                                          struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    for (int k = 0; k < STRATEGIES && status == PRICER_OK; k++)
        if (request->wanted[k])
            status = make_strategy(k, work, fault);
    return status;
}

/* A study of 'scheme: forward'. */
static enum pricer_status read_forward(const char *path,
                                       struct request *request,
                                       struct work *work,
                                       struct pricer_fault *fault)
{
    struct material *from = &work->from;
    struct pricer_forward_settings asked;
    int64_t id = 0;
    enum pricer_status status =
        pricer_study_open(path, program_writes(), &from->study, fault);
    if (status == PRICER_OK)
        status = pricer_study_forward_settings(from->study, &asked, fault);
    if (status == PRICER_OK && request->plan != NULL)
        status = pricer_study_find_plan(from->study, request->plan, &id, fault);
    if (status == PRICER_OK)
        status = pricer_study_forward_plan(from->study, id, &work->forward,
                                           &work->record, fault);
    if (status == PRICER_OK)
        status = pricer_study_network(from->study, &from->network, fault);
    if (status == PRICER_OK)
        status = read_data(request, work, fault);
    if (status != PRICER_OK)
        return status;
    from->record.id = work->record.id;
    work->names[0] = "plan";
    request->settings.given = work->matrix;
    if (!request->seeded)
        request->settings.seed = asked.seed;
    return PRICER_OK;
}

static enum pricer_status read_sums(const char *path, struct request *request,
                                    struct work *work,
                                    struct pricer_fault *fault)
{
    enum pricer_status status =
        material_open(path, program_writes(), &work->from, fault);
    if (status == PRICER_OK)
        status = material_plan(&work->from, request->plan, fault);
    if (status != PRICER_OK)
        return status;
    work->plans[0] = work->from.plan;
    work->names[0] = "plan";
    work->count = 1;
    if (!request->seeded)
        request->settings.seed = (uint64_t)work->from.seed;
    status = program_decoder(work->from.study, work->from.record.id,
                             work->from.network, &request->decoding, fault);
    request->settings.decode = request->decoding.used;
    request->settings.decoder = request->decoding.decoder;
    if (status == PRICER_OK)
        status = read_data(request, work, fault);
    request->settings.given = work->matrix;
    if (status == PRICER_OK)
        status = make_strategies(request, work, fault);
    return status;
}

static void free_work(struct work *work)
{
    for (int32_t k = 1; k < work->count; k++)
        pricer_plan_free(work->plans[k]);
    pricer_matrix_free(work->matrix);
    pricer_forward_plan_free(work->forward);
    material_close(&work->from);
}

/* Rounds one after another, of the plan alone. */
static enum pricer_status play_walk(const struct request *request,
                                    const struct work *work,
                                    struct pricer_fault *fault)
{
    if (work->forward != NULL)
        return simulate_walk(work->from.network, work->forward,
                             &request->settings, &request->walk, fault);
    snprintf(fault->text, sizeof fault->text,
             "--rounds plays plans of 'scheme: forward'");
    return PRICER_VALUE;
}

static enum pricer_status play(const struct request *request,
                               const struct work *work,
                               struct pricer_simulation **simulation,
                               struct pricer_fault *fault)
{
    const struct pricer_plan *plans[STRATEGIES + 1];
    memcpy(plans, work->plans, sizeof plans);
    return work->forward != NULL
               ? pricer_forward_simulate(work->from.network, work->forward,
                                         &request->settings, simulation, fault)
               : pricer_simulation_run(work->from.network, plans, work->count,
                                       &request->settings, simulation, fault);
}

static int simulate(const char *path, struct request *request, bool forward,
                    bool as_json)
{
    struct work work = {0};
    struct pricer_fault fault = {""};
    struct pricer_simulation *simulation = NULL;
    struct progress progress;
    double start = program_seconds();
    int64_t id = 0;
    enum pricer_status status =
        (forward ? read_forward : read_sums)(path, request, &work, &fault);
    if (status == PRICER_OK && request->walk.rounds > 0) {
        status = play_walk(request, &work, &fault);
        free_work(&work);
        pricer_decoder_free(request->decoding.decoder);
        return status == PRICER_OK ? 0 : program_fault(status, &fault);
    }
    if (status == PRICER_OK) {
        progress_start(&progress, "simulate");
        request->settings.watch = &progress.watch;
        status = play(request, &work, &simulation, &fault);
        if (progress_end(&progress) && simulation != NULL)
            program_warn("stopped after %lld trials",
                         (long long)simulation->trials);
    }
    if (status == PRICER_OK && program_writes())
        status =
            pricer_study_add_simulation(work.from.study, work.from.record.id,
                                        work.names, simulation, &id, &fault);
    if (status == PRICER_OK) {
        struct simulation_report report = {.network = work.from.network,
                                           .simulation = simulation,
                                           .forward = work.forward,
                                           .names = work.names,
                                           .plan = work.from.record.id,
                                           .seconds =
                                               program_seconds() - start};
        if (as_json)
            simulation_print_json(&report);
        else
            simulation_print(&report);
        simulation_warn(&report);
    }
    pricer_simulation_free(simulation);
    free_work(&work);
    pricer_decoder_free(request->decoding.decoder);
    return status == PRICER_OK ? program_stored("simulation", id)
                               : program_fault(status, &fault);
}

/* An option that 'scheme: forward' does not have, or NULL. */
static const char *find_stray(const struct request *request,
                              const struct option_list *strategies)
{
    return request->decoding.asked >= 0 ? "--decoder"
           : strategies->count > 0      ? "--strategy"
                                        : NULL;
}

int verb_simulate(int argc, char **argv)
{
    bool as_json = false;
    int engine = 0;
    int64_t seed = -1, threads = 0;
    struct request request = {.data = "worst-case", .decoding.asked = -1};
    struct option_list list = {0};
    const struct option options[] = {
        {"trials", OPTION_MANY, &request.settings.trials, "N",
         "how many; 100000, with the faithful engine 1000"},
        {"seed", OPTION_COUNT, &seed, "S",
         "what links and noise are drawn from; the scenario's"},
        {"data", OPTION_TEXT, &request.data, "worst-case|random|FILE",
         "all nodes equal, at random on the sphere, or a row a node; "
         "worst-case"},
        {"engine", OPTION_CHOICE, &engine, "fast|faithful",
         "integrate the noise out, or send every message; fast"},
        {"decoder", OPTION_CHOICE, &request.decoding.asked, PROGRAM_DECODERS,
         PROGRAM_DECODER_HELP},
        {"strategy", OPTION_LIST, &list, STRATEGY_WORDS,
         "play this on the same trials; may be given again"},
        {"rounds", OPTION_MANY, &request.walk.rounds, "T",
         "play T rounds one after another, N walks (200): how well the "
         "estimate follows"},
        {"csv", OPTION_TEXT, &request.walk.csv, "FILE",
         "with --rounds: the error of every round"},
        {"plot", OPTION_TEXT, &request.walk.plot, "FILE",
         "with --rounds: the same as a picture, SVG"},
        PLAN_OPTION(&request.plan),
        {"threads", OPTION_COUNT, &threads, "N",
         "how many; one per core. The result is the same"},
        {"json", OPTION_FLAG, &as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const char *operands[1];
    int go = options_parse(&usage, options, argc, argv, operands);
    if (go != OPTIONS_GO)
        return go;
    if (!strategy_choose("simulate", &list, request.wanted))
        return 2;
    if (request.walk.rounds == 0 && (request.walk.csv || request.walk.plot)) {
        fputs("pricer simulate: --csv and --plot are for --rounds\n", stderr);
        return 2;
    }
    bool forward = plan_forward_wanted(operands[0]);
    const char *stray = forward ? find_stray(&request, &list) : NULL;
    if (stray != NULL) {
        fprintf(stderr,
                "pricer simulate: %s belongs to 'scheme: sum', and the study "
                "has 'scheme: forward'; --help explains\n",
                stray);
        return 2;
    }
    request.walk.as_json = as_json;
    request.seeded = seed >= 0;
    request.settings.seed = (uint64_t)seed;
    request.settings.engine = (enum pricer_engine)engine;
    request.settings.threads = program_threads(threads);
    request.settings.crew = program_crew();
    return simulate(operands[0], &request, forward, as_json);
}
