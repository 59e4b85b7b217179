/*
 * From a study of 'scheme: forward' to what would make its plan better: the
 * error against eps, hops and rounds, the eps that an error needs, and changes
 * to the scenario, each with the privacy that is left. All errors but that of
 * the plan are compared on one sample of rounds; none is stored.
 */
#include "advise.h"
#include "cli/print_meaning.h"
#include "cli/variant.h"
#include "common/crew.h"
#include "common/meaning.h"
#include "forward/forward.h"
#include "levers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EPS_POINTS = 10, HOP_POINTS = 8, ROUND_POINTS = 9, BETTER = 4 };

/* A table's row: what is changed, and the error then. */
struct point {
    double at, mse;
};

struct work {
    const struct advice_request *ask;
    struct pricer_study *study;
    struct pricer_network *network;
    struct pricer_forward_settings settings;
    struct pricer_forward_plan *plan;
    struct pricer_forward_slopes *slopes; /* NULL: large, or repeats */
    struct pri_trials *trials;
    double largest; /* eps of all nodes */
    double here;    /* the error of the plan, on the sample of all errors */
    double bare;    /* the same without noise */
    int eps_count, hop_count, round_count;
    struct point eps[EPS_POINTS], hop[HOP_POINTS], round[ROUND_POINTS];
    struct yardsticks found;                /* its list of changes alone */
    double wanted;                          /* of --error, or 0 */
    struct point at_error, at_eps, at_weak; /* eps; at NAN: it takes more */
    double seconds;
    struct pricer_fault fault;
};

/* The plan as it is, to be changed. */
static struct pri_forward_trial as_is(const struct work *work)
{
    return (struct pri_forward_trial){.factor = 1,
                                      .rounds = work->settings.rounds,
                                      .dimension = work->network->dimension,
                                      .release = work->settings.release,
                                      .hops = work->plan->hops};
}

static enum pricer_status try(struct work *work, struct pri_forward_trial what,
                              double *mse)
{
    if (progress_stopped())
        return PRICER_STOPPED;
    return pri_trials_error(work->trials, &what, mse, &work->fault);
}

static enum pricer_status at_eps(struct work *work, double eps,
                                 struct point *point)
{
    struct pri_forward_trial what = as_is(work);
    what.factor = eps / work->largest;
    point->at = eps;
    return try(work, what, &point->mse);
}

/* ---------------------------------------------------------------- tables -- */

static enum pricer_status find_eps(struct work *work)
{
    static const double usual[] = {.25, .5, 1, 2, 3, 4, 6, 8, MEANING_WEAK};
    enum pricer_status status = PRICER_OK;
    bool own = false;
    for (size_t k = 0; k < sizeof usual / sizeof *usual; k++) {
        if (!own && work->largest <= usual[k]) {
            own = true;
            if (work->largest < usual[k])
                status =
                    at_eps(work, work->largest, &work->eps[work->eps_count++]);
        }
        if (status == PRICER_OK)
            status = at_eps(work, usual[k], &work->eps[work->eps_count++]);
        if (status != PRICER_OK)
            return status;
    }
    return own ? status
               : at_eps(work, work->largest, &work->eps[work->eps_count++]);
}

/* Up to two more than the plan has; where these are many, the last ones. */
static enum pricer_status find_hops(struct work *work)
{
    struct pri_forward_trial what = as_is(work);
    int32_t most = work->plan->hops + 2;
    most = most > PRICER_HOPS_MAX ? PRICER_HOPS_MAX : most;
    int32_t first = most >= HOP_POINTS ? most - HOP_POINTS + 2 : 1;
    enum pricer_status status = PRICER_OK;
    for (int32_t h = 0; h <= most && status == PRICER_OK;
         h = h == 0 ? first : h + 1) {
        struct point *point = &work->hop[work->hop_count++];
        what.hops = h;
        point->at = h;
        status = try(work, what, &point->mse);
    }
    return status;
}

static enum pricer_status find_rounds(struct work *work)
{
    static const double usual[] = {1, 2, 5, 10, 20, 50, 100, 1000};
    struct pri_forward_trial what = as_is(work);
    double now = (double)what.rounds, last = 0;
    enum pricer_status status = PRICER_OK;
    for (size_t k = 0; k <= sizeof usual / sizeof *usual; k++) {
        bool end = k == sizeof usual / sizeof *usual;
        double list[] = {now, end ? now : usual[k]};
        for (int j = 0; j < 2 && status == PRICER_OK; j++) {
            if (list[j] <= last || (j == 0 && !end && now >= usual[k]))
                continue;
            struct point *point = &work->round[work->round_count++];
            last = point->at = list[j];
            what.rounds = (int64_t)list[j];
            status = try(work, what, &point->mse);
        }
    }
    return status;
}

/* ---------------------------------------------------------------- wanted -- */

/* The error falls with eps: the least eps that reaches it, by halving. */
static enum pricer_status reach(struct work *work)
{
    double low = 1e-3, high = MEANING_WEAK;
    struct point *found = &work->at_error;
    enum pricer_status status = at_eps(work, high, found);
    work->at_weak = *found;
    if (status == PRICER_OK && found->mse > work->wanted) {
        found->at = NAN;
        return PRICER_OK;
    }
    while (status == PRICER_OK && high - low > 1e-4 * high) {
        struct point middle;
        status = at_eps(work, sqrt(low * high), &middle);
        if (status == PRICER_OK && middle.mse <= work->wanted) {
            high = middle.at;
            *found = middle;
        } else {
            low = middle.at;
        }
    }
    return status;
}

/* --------------------------------------------------------------- changes -- */

static void add(struct work *work, const char *words, const char *privacy,
                double mse)
{
    char same[64];
    snprintf(same, sizeof same, "%s, as now", meaning_eps(work->largest));
    yardsticks_add(&work->found, work->here, words,
                   privacy != NULL ? privacy : same, mse);
}

static enum pricer_status try_budgets(struct work *work)
{
    struct pri_forward_trial what = as_is(work);
    double mse, eps = fmin(BETTER * work->largest, MEANING_WEAK);
    char words[80];
    enum pricer_status status = PRICER_OK;
    if (work->largest < MEANING_WEAK) {
        what.factor = eps / work->largest;
        snprintf(words, sizeof words, "%.3g times every eps", what.factor);
        status = try(work, what, &mse);
        if (status == PRICER_OK)
            add(work, words, meaning_eps(eps), mse);
    }
    what = as_is(work);
    what.rounds = (what.rounds + BETTER - 1) / BETTER;
    if (status == PRICER_OK && work->settings.rounds > 1) {
        snprintf(words, sizeof words, "%lld round%s in place of %lld",
                 (long long)what.rounds, what.rounds == 1 ? "" : "s",
                 (long long)work->settings.rounds);
        status = try(work, what, &mse);
        if (status == PRICER_OK)
            add(work, words, NULL, mse);
    }
    what = as_is(work);
    what.dimension = (what.dimension + BETTER - 1) / BETTER;
    if (status == PRICER_OK && work->network->dimension > 1) {
        snprintf(words, sizeof words, "%lld dimension%s in place of %lld",
                 (long long)what.dimension, what.dimension == 1 ? "" : "s",
                 (long long)work->network->dimension);
        status = try(work, what, &mse);
        if (status == PRICER_OK)
            add(work, words, NULL, mse);
    }
    what = as_is(work);
    if (status == PRICER_OK && what.hops < PRICER_HOPS_MAX) {
        what.hops++;
        status = try(work, what, &mse);
        if (status == PRICER_OK)
            add(work, "one more hop", NULL, mse);
    }
    return status;
}

/* The error over other links, on rounds of the same numbers. */
static enum pricer_status try_links(struct work *work,
                                    const struct variant *variant,
                                    const char *words)
{
    struct pri_trials *trials = NULL;
    struct pri_forward_trial what = as_is(work);
    struct pricer_forward_settings settings = work->settings;
    double mse;
    settings.hops = what.hops;
    enum pricer_status status =
        progress_stopped()
            ? PRICER_STOPPED
            : pri_trials_make(&variant->network, &settings, &trials);
    if (status == PRICER_OK)
        status = pri_trials_error(trials, &what, &mse, &work->fault);
    if (status == PRICER_OK)
        add(work, words, NULL, mse);
    pri_trials_free(trials);
    return status;
}

/* Half of the failures of the link or uplink that saves most. */
static enum pricer_status try_lever(struct work *work, struct variant *variant)
{
    struct lever lever[LEVERS];
    char words[80];
    if (work->slopes == NULL ||
        forward_levers(work->network, work->slopes, lever) == 0)
        return PRICER_OK;
    double better = (1 + lever[0].p) / 2;
    if (lever[0].to == PRICER_SERVER) {
        variant->uplink[lever[0].from] = better;
        snprintf(words, sizeof words, "uplink of node %.30s: p = %.4g",
                 node_label(work->network, lever[0].from).text, better);
    } else {
        int32_t l =
            pricer_network_find(work->network, lever[0].from, lever[0].to);
        int32_t back = work->network->partner[l];
        variant->p[l] = better;
        if (back >= 0)
            variant->joint[l] = variant->joint[back] =
                (variant->joint[l] + variant->p[back]) / 2;
        snprintf(words, sizeof words, "link %.20s to %.20s: p = %.4g",
                 node_label(work->network, lever[0].from).text,
                 node_label(work->network, lever[0].to).text, better);
    }
    enum pricer_status status = try_links(work, variant, words);
    variant_reset(variant, work->network);
    return status;
}

static enum pricer_status try_networks(struct work *work)
{
    struct variant variant;
    enum pricer_status status = variant_make(work->network, &variant);
    if (status != PRICER_OK)
        return status;
    for (int32_t i = 0; i < work->network->nodes; i++)
        variant.uplink[i] = (1 + work->network->uplink[i]) / 2;
    status = try_links(work, &variant, "every uplink failing half as often");
    variant_reset(&variant, work->network);
    if (status == PRICER_OK)
        status = try_lever(work, &variant);
    variant_free(&variant);
    return status;
}

/* ----------------------------------------------------------------- print -- */

/* What errors are compared with. */
static const char *zero_words(const struct work *work)
{
    return work->network->reach > 0 ? "of keeping the last estimate"
                                    : "of answering zero";
}

static void print_points(const struct work *work, const char *head,
                         const struct point *points, int count, bool eps)
{
    struct table *table = table_new(
        eps ? 4 : 3,
        (const char *const[]){head, "error", zero_words(work), "privacy"});
    for (int k = 0; k < count; k++) {
        table_cell(table, "%.6g", points[k].at);
        table_cell(table, "%.5g", points[k].mse);
        table_cell(table, "%.4g %%",
                   100 * points[k].mse / work->plan->zero_mse);
        if (eps)
            table_cell(table, "%s", meaning_eps(points[k].at));
    }
    table_print(table, stdout);
    putchar('\n');
}

/* The error that nodes which are never heard cause whatever else is done. */
static double unheard_error(const struct work *work)
{
    double sum = 0, n = work->network->nodes;
    for (int32_t i = 0; i < work->network->nodes; i++) {
        int32_t relays = work->plan->node[i].relays;
        if (relays < 0 || relays > work->plan->hops)
            sum += work->network->node_radius[i];
    }
    return sum / n * (sum / n);
}

static const char *bottleneck(const struct work *work)
{
    const struct pricer_forward_plan *plan = work->plan;
    if (unheard_error(work) > plan->mse_worst_case / 2)
        return "unheard";
    return work->bare < plan->mse_perfect ? "noise" : "links";
}

static void print_here(const struct work *work)
{
    const struct pricer_forward_plan *plan = work->plan;
    const char *what = bottleneck(work);
    double mse = plan->mse_worst_case;
    printf("%d nodes, %d links; scheme forward, %d hop%s, %.3g s\n"
           "As it is: error %.6g, %.4g %% of that of %s.\n",
           (int)plan->nodes, (int)work->network->links, (int)plan->hops,
           plan->hops == 1 ? "" : "s", work->seconds, mse,
           100 * mse / plan->zero_mse, meaning_zero(work->network));
    char relative[MEANING_REFERENCE_ROOM];
    if (meaning_reference(work->network, mse, relative)[0] != '\0')
        printf("%s\n", relative);
    if (mse < .99 * plan->mse_alone)
        printf("Relaying lowers the error at worst from %.4g to %.4g. ",
               plan->mse_alone, mse);
    else
        printf("Relaying gains nothing: %.4g at worst without it. ",
               plan->mse_alone);
    if (strcmp(what, "unheard") == 0)
        printf("The bottleneck is\nnodes that are never heard: they alone cost "
               "%.4g.\n\n",
               unheard_error(work));
    else if (strcmp(what, "noise") == 0)
        printf("The bottleneck is\nthe noise of releases: without noise %.4g "
               "would be left, with links that never fail %.4g.\n\n",
               work->bare, plan->mse_perfect);
    else
        printf("The bottleneck is\nlinks that fail: with links that never fail "
               "%.4g would be left, without noise %.4g.\n\n",
               plan->mse_perfect, work->bare);
}

static void print_wanted(const struct work *work)
{
    double zero = work->plan->zero_mse;
    if (work->ask->eps > 0)
        printf("With a largest eps of %.6g (privacy: %s) the error is %.6g, "
               "%.4g %%\n%s.\n\n",
               work->at_eps.at, meaning_eps(work->at_eps.at), work->at_eps.mse,
               100 * work->at_eps.mse / zero, zero_words(work));
    if (work->wanted > 0 && isnan(work->at_error.at))
        printf("An error of %.6g, %.4g %% %s, cannot be "
               "reached with any privacy: a\nlargest eps of %d (%s) leaves "
               "%.4g, %.4g %%. Other changes: see below.\n\n",
               work->wanted, 100 * work->wanted / zero, zero_words(work),
               MEANING_WEAK, meaning_eps(MEANING_WEAK), work->at_weak.mse,
               100 * work->at_weak.mse / zero);
    else if (work->wanted > 0)
        printf("An error of %.6g, %.4g %% %s, needs a largest "
               "eps of %.5g\n(privacy: %s).\n\n",
               work->wanted, 100 * work->wanted / zero, zero_words(work),
               work->at_error.at, meaning_eps(work->at_error.at));
}

static void print_tables(const struct work *work)
{
    print_here(work);
    print_points(work, "largest eps", work->eps, work->eps_count, true);
    print_points(work, "hops", work->hop, work->hop_count, false);
    print_points(work, "rounds of a budget", work->round, work->round_count,
                 false);
    print_wanted(work);
    if (work->found.remedies > 0) {
        meaning_remedies(work->network, &work->found);
        putchar('\n');
    }
    if (work->slopes != NULL)
        forward_print_levers(work->network, work->plan, work->slopes);
}

static void json_points(struct json *json, const char *key, const char *at,
                        const struct point *points, int count)
{
    json_open(json, key, '[');
    for (int k = 0; k < count; k++) {
        json_open(json, NULL, '{');
        json_number(json, at, points[k].at);
        json_number(json, "mse_worst_case", points[k].mse);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void print_json(const struct work *work)
{
    const struct pricer_forward_plan *plan = work->plan;
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_text(&json, "scheme",
              pricer_word(PRICER_WORDS_SCHEME, PRICER_SCHEME_FORWARD));
    json_number(&json, "seconds", work->seconds);
    json_number(&json, "mse_worst_case", plan->mse_worst_case);
    json_number(&json, "mse_alone", plan->mse_alone);
    json_number(&json, "mse_perfect", plan->mse_perfect);
    json_number(&json, "mse_noiseless", work->bare);
    json_number(&json, "zero_mse", plan->zero_mse);
    json_count(&json, "hops", plan->hops);
    json_number(&json, "eps", work->largest);
    json_text(&json, "bottleneck", bottleneck(work));
    json_points(&json, "eps_curve", "eps", work->eps, work->eps_count);
    json_points(&json, "hops_curve", "hops", work->hop, work->hop_count);
    json_points(&json, "rounds_curve", "rounds", work->round,
                work->round_count);
    if (work->wanted > 0) {
        json_number(&json, "wanted_error", work->wanted);
        json_number(&json, "wanted_eps", work->at_error.at);
    }
    if (work->ask->eps > 0)
        json_points(&json, "at_eps", "eps", &work->at_eps, 1);
    meaning_json_remedies(&json, &work->found);
    if (work->slopes != NULL)
        forward_json_levers(&json, work->network, plan, work->slopes);
    json_close(&json, '}');
}

/* ------------------------------------------------------------------ verb -- */

static enum pricer_status load(struct work *work, const char *path)
{
    enum pricer_status status =
        pricer_study_open(path, false, &work->study, &work->fault);
    if (status == PRICER_OK)
        status = pricer_study_forward_settings(work->study, &work->settings,
                                               &work->fault);
    if (status == PRICER_OK)
        status =
            pricer_study_network(work->study, &work->network, &work->fault);
    work->settings.threads = program_threads(work->ask->threads);
    for (int32_t i = 0; status == PRICER_OK && i < work->network->nodes; i++)
        work->largest = fmax(work->largest, work->network->everyone_eps[i]);
    return status;
}

static enum pricer_status find_plan(struct work *work,
                                    struct progress *progress)
{
    struct pricer_forward_settings settings = work->settings;
    settings.watch = &progress->watch;
    enum pricer_status status = pricer_forward_plan_make(
        work->network, &settings, &work->plan, &work->fault);
    if (status == PRICER_OK && work->network->nodes <= SLOPE_NODES &&
        work->plan->repeat <= 1)
        status =
            pricer_forward_slopes_make(work->network, &work->settings,
                                       work->plan, &work->slopes, &work->fault);
    if (status != PRICER_OK)
        return status;
    settings.hops = work->plan->hops + 2 < PRICER_HOPS_MAX
                        ? work->plan->hops + 2
                        : PRICER_HOPS_MAX;
    status = pri_trials_make(work->network, &settings, &work->trials);
    if (status == PRICER_OK)
        status = try(work, as_is(work), &work->here);
    struct pri_forward_trial what = as_is(work);
    what.noiseless = true;
    if (status == PRICER_OK)
        status = try(work, what, &work->bare);
    return status;
}

static enum pricer_status find_wanted(struct work *work)
{
    const char *text = work->ask->error;
    enum pricer_status status = PRICER_OK;
    if (text != NULL &&
        !advise_read_error(text, work->plan->zero_mse, &work->wanted)) {
        snprintf(work->fault.text, sizeof work->fault.text,
                 "--error %.80s is neither a number above 0 nor a share such "
                 "as 10%%",
                 text);
        return PRICER_VALUE;
    }
    if (work->ask->eps > 0)
        status = at_eps(work, work->ask->eps, &work->at_eps);
    if (status == PRICER_OK && work->wanted > 0)
        status = reach(work);
    return status;
}

static const char *find_stray(const struct advice_request *ask)
{
    const struct {
        const char *option;
        bool given;
    } stray[] = {
        {"--bias", ask->planner.bias >= 0},
        {"--calibration", ask->planner.calibration >= 0},
        {"--lambda", !isnan(ask->planner.lambda)},
        {"--towards", ask->towards != TOWARDS_EVERYONE},
        {"--span", ask->span != 32},
        {"--points", ask->points != 11},
        {"--uplinks", ask->uplinks != 3},
        {"--uplink-p", ask->uplink != .9},
        {"--figure", ask->figure != NULL},
    };
    for (size_t k = 0; k < sizeof stray / sizeof *stray; k++)
        if (stray[k].given)
            return stray[k].option;
    return NULL;
}

int advise_forward(const struct advice_request *ask, const char *path)
{
    static enum pricer_status (*const steps[])(struct work *) = {
        find_wanted, find_eps,    find_hops,
        find_rounds, try_budgets, try_networks};
    enum { STEPS = sizeof steps / sizeof *steps };
    struct work work = {.ask = ask};
    struct progress progress;
    const char *stray = find_stray(ask);
    if (stray != NULL) {
        fprintf(stderr,
                "pricer advise: %s belongs to 'scheme: sum', and the study has "
                "'scheme: forward'; --help explains\n",
                stray);
        return 2;
    }
    double started = program_seconds();
    progress_start(&progress, "advise");
    enum pricer_status status = load(&work, path);
    if (status == PRICER_OK)
        status = find_plan(&work, &progress);
    for (int k = 0; k < STEPS && status == PRICER_OK; k++)
        status = steps[k](&work);
    progress_end(&progress);
    work.seconds = program_seconds() - started;
    if (status == PRICER_OK)
        (ask->as_json ? print_json : print_tables)(&work);
    pri_trials_free(work.trials);
    pricer_forward_slopes_free(work.slopes);
    pricer_forward_plan_free(work.plan);
    pricer_network_free(work.network);
    pricer_study_close(work.study);
    return status == PRICER_OK ? 0 : program_fault(status, &work.fault);
}
