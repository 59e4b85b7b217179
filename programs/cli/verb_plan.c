/*
 * pricer plan: from a study to weights and noise for every link, with a proof
 * of how good they are, what they are compared with, and which link's trust
 * would help most.
 */
#include "cli/forward/plan.h"
#include "plan_job.h"
#include "common/crew.h"
#include "verbs.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct usage usage = {
    "plan", "STUDY",
    "Choose what nodes send so that the error of the server's estimate is\n"
    "least while every privacy budget is kept; prove it, check it with other\n"
    "code, and store it in the study.\n"
    "With 'scheme: forward' that is every node's private release, and how the\n"
    "server counts those that arrive; its options are --from-deliveries,\n"
    "--name, --threads, --json and --explain.\n"
    "With 'scheme: sum' it is the weight and the noise of every link; Ctrl-C\n"
    "stores the best plan so far with its gap.",
    "pricer plan ten.pricer --bias l1 --lambda 0.1 --what-if 3,4=100"};

/* A network with fewer links is planned sooner than threads wake up. */
enum { SMALL_LINKS = 20000 };

static int parse(int argc, char **argv, struct plan_request *ask,
                 const char **operands)
{
    const struct option options[] = {
        PLANNER_OPTIONS(&ask->planner),
        {"method", OPTION_CHOICE, &ask->method, "exact|gradient",
         "gradient is the paper's descent; default exact"},
        {"decoder", OPTION_CHOICE, &ask->decoder, "minimax|constant",
         "how the server weighs the sums that arrive; default minimax"},
        {"tolerance", OPTION_ABOVE, &ask->tolerance, "X",
         "certified relative gap to reach; default 1e-8"},
        {"weights", OPTION_TEXT, &ask->weights, "FILE.csv",
         "evaluate from,to,alpha,sigma and do not plan; gradient: start there"},
        {"what-if", OPTION_LIST, &ask->what_if, "NODE,NODE=EPS",
         "also replan with another eps; may be given again"},
        {"from-deliveries", OPTION_FLAG, &ask->from_deliveries, NULL,
         "take the links as the study's rounds measured them"},
        {"warm", OPTION_FLAG, &ask->warm, NULL,
         "begin near the study's latest plan; gradient: start there"},
        {"iterations", OPTION_MANY, &ask->iterations, "N",
         "limit; for gradient of every start, default 100000"},
        {"step", OPTION_ABOVE, &ask->weight_step, "X",
         "gradient: step of the weights; default 0.01"},
        {"noise-step", OPTION_ABOVE, &ask->noise_step, "X",
         "gradient: step of the noise; default as --step"},
        {"starts", OPTION_MANY, &ask->starts, "N",
         "gradient: random starts; default 4"},
        {"seed", OPTION_COUNT, &ask->seed, "N",
         "gradient: of the starts; default: the scenario's"},
        {"trace", OPTION_TEXT, &ask->trace, "FILE.csv",
         "gradient: write start,iteration,objective"},
        {"trace-every", OPTION_MANY, &ask->trace_every, "N",
         "gradient: iterations between rows; default 100"},
        {"name", OPTION_TEXT, &ask->name, "NAME", "what to call the plan"},
        {"threads", OPTION_COUNT, &ask->threads, "N",
         "default: one per core, one for small networks"},
        {"json", OPTION_FLAG, &ask->as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    *ask = (struct plan_request){.planner = {-1, -1, NAN},
                                 .decoder = -1,
                                 .seed = -1,
                                 .trace_every = 100};
    return options_parse(&usage, options, argc, argv, operands);
}

static int misuse(const char *words)
{
    fprintf(stderr, "pricer plan: %s; --help explains\n", words);
    return 2;
}

/* "3,4=0.5" to a change; false if it is anything else. */
static bool parse_change(const char *text, struct plan_change *change)
{
    char *end;
    long from = strtol(text, &end, 10);
    if (end == text || *end != ',')
        return false;
    text = end + 1;
    long to = strtol(text, &end, 10);
    if (end == text || *end != '=' || from < 0 || to < 0 || from > INT32_MAX ||
        to > INT32_MAX)
        return false;
    text = end + 1;
    change->from = (int32_t)from;
    change->to = (int32_t)to;
    change->eps = strtod(text, &end);
    return end != text && *end == '\0' && !isnan(change->eps);
}

/* What options say against each other. OPTIONS_GO or an exit status. */
static int check_request(struct plan_job *job)
{
    const struct plan_request *ask = &job->request;
    bool gradient = ask->method == PRICER_METHOD_GRADIENT;
    bool descent = ask->weight_step != 0 || ask->noise_step != 0 ||
                   ask->starts != 0 || ask->seed >= 0 || ask->trace != NULL;
    if (ask->weights != NULL && ask->warm)
        return misuse("--weights and --warm are two starting points");
    if (gradient && (ask->weights != NULL || ask->warm) &&
        (ask->starts > 1 || ask->seed >= 0))
        return misuse("--starts and --seed are for random starts: they go "
                      "neither with --weights nor with --warm");
    if (descent && !gradient)
        return misuse("--step, --noise-step, --starts, --seed and --trace "
                      "belong to --method gradient");
    if (ask->what_if.count > 0 && (gradient || ask->weights != NULL))
        return misuse("--what-if needs the exact method");
    if (planner_stray_lambda(&ask->planner))
        return misuse("--lambda belongs to --bias l1 and l2");
    if (ask->iterations > INT32_MAX || ask->starts > INT32_MAX ||
        ask->threads > 4096)
        return misuse("so many iterations, starts or threads are too many");
    for (int k = 0; k < ask->what_if.count; k++)
        if (!parse_change(ask->what_if.items[k], &job->view.what_if.change[k]))
            return misuse("--what-if takes NODE,NODE=EPS, such as 3,4=0.5");
    if (ask->name != NULL && (strlen(ask->name) >= PRICER_NAME_TEXT ||
                              !isalpha((unsigned char)ask->name[0])))
        return misuse("a name begins with a letter and is shorter than 64 "
                      "characters");
    job->view.what_if.count = ask->what_if.count;
    return OPTIONS_GO;
}

/* Every change can be made: make them, in a copy of the network. */
static enum pricer_status make_changes(struct plan_job *job)
{
    const struct plan_what_if *what_if = &job->view.what_if;
    struct pricer_trust trust[sizeof what_if->change / sizeof *what_if->change];
    if (what_if->count == 0)
        return PRICER_OK;
    for (int k = 0; k < what_if->count; k++)
        trust[k] = (struct pricer_trust){what_if->change[k].from,
                                         what_if->change[k].to,
                                         what_if->change[k].eps};
    return pricer_network_retrust(job->from.network, trust, what_if->count,
                                  &job->changed, &job->fault);
}

static enum pricer_status refuse(struct plan_job *job, const char *words,
                                 double value)
{
    snprintf(job->fault.text, sizeof job->fault.text, words, value);
    return PRICER_VALUE;
}

/* Put the probabilities as the study's rounds measured them in the place of
 * the scenario's: the links and their numbers are the same. */
static enum pricer_status measure_network(struct plan_job *job)
{
    struct pricer_deliveries *deliveries = NULL;
    struct pricer_network *measured = NULL;
    enum pricer_status status = pricer_study_deliveries(
        job->from.study, job->from.network, 0, &deliveries, &job->fault);
    if (status == PRICER_OK && deliveries->rounds == 0)
        status =
            refuse(job,
                   "%.0f rounds are stored in the study: there is nothing to "
                   "measure",
                   0);
    if (status == PRICER_OK)
        status = pricer_network_measured(job->from.network, deliveries,
                                         &measured, &job->fault);
    if (status == PRICER_OK) {
        pricer_network_free(job->from.network);
        job->from.network = measured;
        job->view.origin =
            (struct pricer_network_record){.origin = PRICER_ORIGIN_MEASURED,
                                           .rounds = deliveries->rounds,
                                           .first = deliveries->first,
                                           .last = deliveries->last};
    }
    job->deliveries = deliveries;
    return status;
}

/* The scenario's settings with what the command line puts above them. */
static enum pricer_status load(struct plan_job *job, const char *path)
{
    struct plan_request *ask = &job->request;
    struct pricer_settings *settings = &job->view.settings;
    enum pricer_status status =
        material_open(path, true, &job->from, &job->fault);
    if (status == PRICER_OK)
        status = material_network(&job->from, &job->fault);
    if (status == PRICER_OK && ask->from_deliveries)
        status = measure_network(job);
    if (status == PRICER_OK && ask->name != NULL)
        status = material_name(job->from.study, ask->name, &job->fault);
    if (status != PRICER_OK)
        return status;
    *settings = job->from.settings;
    status = planner_override(&ask->planner, settings, &job->fault);
    if (status != PRICER_OK)
        return status;
    settings->tolerance = ask->tolerance;
    settings->threads = program_threads(ask->threads);
    if (ask->threads == 0 && job->from.network->links < SMALL_LINKS)
        settings->threads = 1;
    settings->iterations = (int32_t)ask->iterations;
    settings->watch = &job->progress.watch;
    if (ask->seed < 0)
        ask->seed = job->from.seed;
    job->view.network = job->from.network;
    if (!(ask->tolerance < 1))
        return refuse(job, "tolerance = %g is not between 0 and 1",
                      ask->tolerance);
    return make_changes(job);
}

static void warn(const struct plan_job *job, bool interrupted)
{
    const struct plan_view *view = &job->view;
    if (interrupted)
        program_warn("stopped by Ctrl-C: the plan is feasible, its gap is %.2g",
                     view->gap);
    else if (view->outcome == PRICER_OUTCOME_LIMIT)
        program_warn("the tolerance was not reached: the gap is %.2g",
                     view->gap);
    if (view->certificate.open_links > 0)
        program_warn("%lld links spend more than their (eps, delta)%s",
                     (long long)view->certificate.open_links,
                     view->settings.calibration == PRICER_CALIBRATION_CLASSIC
                         ? ": the classic noise is proved for eps <= 1 only"
                         : "");
    if (view->certificate.open_budgets > 0)
        program_warn("%lld nodes show the server more than their budget allows",
                     (long long)view->certificate.open_budgets);
}

static void close_job(struct plan_job *job)
{
    free(job->price);
    free(job->self_price);
    free(job->server_price);
    pricer_decoder_free(job->decoder);
    pricer_deliveries_free(job->deliveries);
    pricer_network_free(job->changed);
    material_close(&job->from);
}

int verb_plan(int argc, char **argv)
{
    struct plan_job job = {
        .view.floor = {NAN, NAN},
        .view.yardsticks = {.alone = NAN, .steady = NAN, .trusted = NAN}};
    const char *operands[1];
    int go = parse(argc, argv, &job.request, operands);
    if (go == OPTIONS_GO)
        go = check_request(&job);
    if (go != OPTIONS_GO)
        return go;
    if (plan_forward_wanted(operands[0]))
        return plan_forward(&job.request, operands[0]);

    double start = program_seconds();
    progress_start(&job.progress, "plan");
    enum pricer_status status = load(&job, operands[0]);
    if (status == PRICER_OK)
        status = plan_job_make(&job);
    if (status == PRICER_OK)
        status = plan_job_judge(&job);
    if (status == PRICER_OK)
        status = plan_job_price(&job);
    if (status == PRICER_OK && !progress_stopped()) {
        progress_start(&job.progress, "decoder");
        status = plan_job_decode(&job);
    }
    if (status == PRICER_OK && job.view.what_if.count > 0 &&
        !progress_stopped()) {
        progress_start(&job.progress, "what if");
        status = plan_job_replan(&job);
    }
    job.view.settings.watch = NULL;
    if (status == PRICER_OK)
        status = plan_job_store(&job);
    /* Only now, so that Ctrl-C never loses a plan. */
    bool interrupted = progress_end(&job.progress);
    if (status == PRICER_OK && !interrupted) {
        plan_job_compare(&job);
        plan_job_measure(&job);
    }
    job.view.seconds = program_seconds() - start;
    if (status == PRICER_OK) {
        warn(&job, interrupted);
        (job.request.as_json ? plan_view_json : plan_view_tables)(&job.view);
    }
    close_job(&job);
    return status == PRICER_OK ? program_stored("plan", job.view.id)
                               : program_fault(status, &job.fault);
}
