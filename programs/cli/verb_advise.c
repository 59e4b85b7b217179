/*
 * pricer advise: from a study to what would make its plan better: the trade-off
 * of error and trust, what a wanted error or eps takes, what links and budgets
 * are worth, and where an uplink helps most.
 */
#include "advise.h"
#include "cli/forward/advise.h"
#include "cli/forward/plan.h"
#include "common/meaning.h"
#include "print_advise.h"
#include "verbs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct usage usage = {
    "advise", "STUDY",
    "What would make the plan better: fewer rounds, dimensions or a smaller\n"
    "diameter, each with the privacy that is left; the least error against "
    "the\n"
    "budgets towards links and towards the server; the eps that a wanted "
    "error\n"
    "needs; sensitivities to links and trust, and where to put good uplinks.\n"
    "Every number is that of a plan made for it; none is stored.\n"
    "For a study of 'scheme: forward': the error against eps, hops and "
    "rounds;\n"
    "of the options --error, --eps, --threads and --json belong to it.",
    "pricer advise ten.pricer --error 10% --figure trade-off.svg"};

/* Below this many links threads wake up later than the plan is made. */
enum { SMALL_LINKS = 20000 };

static int parse(int argc, char **argv, struct advice_request *ask,
                 const char **operands)
{
    const struct option options[] = {
        {"error", OPTION_TEXT, &ask->error, "X",
         "which eps reaches this error; 10% is a share of R^2"},
        {"eps", OPTION_ABOVE, &ask->eps, "X",
         "which error a largest eps of X has"},
        {"towards", OPTION_CHOICE, &ask->towards, "links|server|everyone",
         "whose budgets --error and --eps change; default everyone"},
        {"span", OPTION_ABOVE, &ask->span, "X",
         "curves from budgets / X to budgets times X; default 32"},
        {"points", OPTION_MANY, &ask->points, "N",
         "of each curve, at most 65; default 11"},
        {"uplinks", OPTION_COUNT, &ask->uplinks, "K",
         "good uplinks to place, at most 8; default 3"},
        {"uplink-p", OPTION_ABOVE, &ask->uplink, "P",
         "how good they are; default 0.9"},
        {"figure", OPTION_TEXT, &ask->figure, "FILE.svg", "draw the curves"},
        PLANNER_OPTIONS(&ask->planner),
        {"threads", OPTION_COUNT, &ask->threads, "N",
         "default: one per core, one for small networks"},
        {"json", OPTION_FLAG, &ask->as_json, NULL, "print one JSON object"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    *ask = (struct advice_request){.planner = {-1, -1, NAN},
                                   .towards = TOWARDS_EVERYONE,
                                   .span = 32,
                                   .points = 11,
                                   .uplinks = 3,
                                   .uplink = .9};
    return options_parse(&usage, options, argc, argv, operands);
}

static int misuse(const char *words)
{
    fprintf(stderr, "pricer advise: %s; --help explains\n", words);
    return 2;
}

static int check_request(const struct advice_request *ask)
{
    if (!(ask->span > 1 && ask->span <= 1e6))
        return misuse("--span is a number above 1, at most 1e6");
    if (ask->points > ADVICE_POINTS || ask->points < 2)
        return misuse("--points is 2 to 65");
    if (ask->uplinks > ADVICE_UPLINKS)
        return misuse("--uplinks is at most 8");
    if (!(ask->uplink <= 1))
        return misuse("--uplink-p is a probability above 0");
    if (!(ask->eps < 1e12))
        return misuse("--eps is a number above 0, below 1e12");
    if (ask->threads > 4096)
        return misuse("so many threads are too many");
    if (planner_stray_lambda(&ask->planner))
        return misuse("--lambda belongs to --bias l1 and l2");
    return OPTIONS_GO;
}

/* How far the whole is, from how far one plan is. */
static bool tick(void *context, double done)
{
    const struct advice *advice = context;
    double whole = (advice->made + done) / fmax(advice->total, 1);
    return advice->watch->tick(advice->watch->context, fmin(whole, .99));
}

static enum pricer_status load(struct advice *advice, const char *path,
                               const struct pricer_watch *watch)
{
    const struct advice_request *ask = &advice->request;
    enum pricer_status status =
        material_open(path, false, &advice->from, &advice->fault);
    if (status == PRICER_OK)
        status = material_network(&advice->from, &advice->fault);
    if (status != PRICER_OK)
        return status;
    advice->settings = advice->from.settings;
    status = planner_override(&ask->planner, &advice->settings, &advice->fault);
    if (status != PRICER_OK)
        return status;
    double centre = meaning_centre(advice->from.network);
    advice->settings.tolerance = 1e-10;
    advice->watch = watch;
    advice->inner = (struct pricer_watch){tick, advice};
    advice->settings.watch = &advice->inner;
    /* The curves, a search, the candidates of every uplink. */
    advice->total = (int)(3 * (ask->points + 1) + (ask->error ? 20 : 0) +
                          ask->uplinks * 24);
    advice->settings.threads = (int32_t)ask->threads;
    if (ask->threads == 0 && advice->from.network->links < SMALL_LINKS)
        advice->settings.threads = 1;
    advice->wants_error = ask->error != NULL;
    if (advice->wants_error &&
        !advise_read_error(ask->error, centre, &advice->wanted)) {
        snprintf(advice->fault.text, sizeof advice->fault.text,
                 "--error %.80s is neither a number above 0 nor a share such "
                 "as 10%%",
                 ask->error);
        return PRICER_VALUE;
    }
    return PRICER_OK;
}

int verb_advise(int argc, char **argv)
{
    static struct advice advice;
    const char *operands[1];
    int go = parse(argc, argv, &advice.request, operands);
    if (go == OPTIONS_GO)
        go = check_request(&advice.request);
    if (go != OPTIONS_GO)
        return go;
    if (plan_forward_wanted(operands[0]))
        return advise_forward(&advice.request, operands[0]);
    static enum pricer_status (*const steps[])(struct advice *) = {
        advise_here,   advise_curves,  advise_wanted,
        advise_prices, advise_uplinks, advise_changes};
    struct progress progress;
    double started = program_seconds();
    progress_start(&progress, "advise");
    enum pricer_status status = load(&advice, operands[0], &progress.watch);
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
        if (status == PRICER_OK)
            status = steps[k](&advice);
    progress_end(&progress);
    advice.seconds = program_seconds() - started;
    int exit_status = 0;
    const char *figure = advice.request.figure;
    if (status != PRICER_OK) {
        exit_status = program_fault(status, &advice.fault);
    } else {
        (advice.request.as_json ? advice_json : advice_tables)(&advice);
        if (figure != NULL && !advice_figure(&advice, figure))
            exit_status = program_fail("%s: %s", figure, strerror(errno));
    }
    pricer_plan_free(advice.plan);
    material_close(&advice.from);
    return exit_status;
}
