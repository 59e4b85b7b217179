/*
 * From a study of 'scheme: forward' to a plan: the release of every node and how
 * the server counts it, as tables or as JSON.
 */
#include "plan.h"
#include "cli/material.h"
#include "common/crew.h"
#include "common/meaning.h"
#include "common/unheard.h"
#include "levers.h"

#include <math.h>

/* A gap that rounding may hide. */
#define GAP_SHOWN 1e-12

struct work {
    struct pricer_study *study;
    struct pricer_network *network;
    struct pricer_forward_plan *plan;
    struct pricer_forward_record record;
    struct pricer_forward_check check;
    struct pricer_forward_slopes *slopes; /* NULL: large, or stopped */
    bool near;                            /* the scenario has a diameter */
    double mse_sum; /* of scheme sum at the same guarantee, or NAN */
    double seconds;
};

/* What is the same for all nodes or has a range. */
struct summary {
    int32_t kinds[PRICER_RELEASE_GAUSSIAN + 1]; /* nodes of each kind */
    double arrival;                             /* mean probability */
    double variance_min, variance_max;          /* in squares of the radius */
    double eps_min, eps_max, delta_max;
    double diameter_max; /* of data that guarantees are about; 0: all data */
};

static struct summary summarise(const struct work *work)
{
    struct summary found = {.variance_min = INFINITY, .eps_min = INFINITY};
    bool near = false;
    for (int32_t i = 0; i < work->plan->nodes; i++) {
        const struct pricer_forward_node *node = &work->plan->node[i];
        double radius = work->network->node_radius[i];
        double diameter = work->network->node_diameter[i];
        double share = node->variance / (radius * radius);
        found.kinds[node->release]++;
        near = near || diameter < 2 * radius;
        found.diameter_max = fmax(found.diameter_max, diameter);
        found.arrival += node->arrival / work->plan->nodes;
        found.variance_min = fmin(found.variance_min, share);
        found.variance_max = fmax(found.variance_max, share);
        found.eps_min = fmin(found.eps_min, work->network->everyone_eps[i]);
        found.eps_max = fmax(found.eps_max, work->network->everyone_eps[i]);
        found.delta_max =
            fmax(found.delta_max, work->network->everyone_delta[i]);
    }
    if (!near)
        found.diameter_max = 0;
    return found;
}

/* The kind of all releases, or that they differ. */
static const char *kind_word(const struct summary *found)
{
    for (int kind = PRICER_RELEASE_SPHERE; kind <= PRICER_RELEASE_GAUSSIAN;
         kind++)
        if (found->kinds[PRICER_RELEASE_SPHERE + PRICER_RELEASE_GAUSSIAN -
                         kind] == 0)
            return pricer_word(PRICER_WORDS_RELEASE, kind);
    return "mixed";
}

static bool is_heard(const struct work *work, int32_t node)
{
    int32_t relays = work->plan->node[node].relays;
    return relays >= 0 && relays <= work->plan->hops;
}

/* ------------------------------------------------------------------ JSON -- */

static void print_json(const struct work *work)
{
    const struct pricer_forward_plan *plan = work->plan;
    struct summary found = summarise(work);
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_count(&json, "nodes", work->network->nodes);
    json_count(&json, "links", work->network->links);
    json_text(&json, "scheme",
              pricer_word(PRICER_WORDS_SCHEME, PRICER_SCHEME_FORWARD));
    json_count(&json, "hops", plan->hops);
    json_count(&json, "repeat", plan->repeat);
    json_text(&json, "release", kind_word(&found));
    json_text(&json, "reference", work->network->reach > 0 ? "last" : "none");
    json_number(&json, "radius", work->network->radius);
    if (work->network->reach > 0)
        json_number(&json, "reach", work->network->reach);
    json_count(&json, "rounds", work->record.settings.rounds);
    json_number(&json, "eps", found.eps_max);
    json_number(&json, "delta", found.delta_max);
    if (found.diameter_max > 0)
        json_number(&json, "diameter", found.diameter_max);
    json_number(&json, "mse_worst_case", plan->mse_worst_case);
    json_number(&json, "mse_stderr", plan->mse_stderr);
    json_number(&json, "mse_missing", plan->missing);
    json_number(&json, "mse_noise", plan->noise);
    json_number(&json, "mse_alone", plan->mse_alone);
    json_number(&json, "mse_sum", work->mse_sum);
    json_number(&json, "mse_perfect", plan->mse_perfect);
    json_number(&json, "zero_mse", plan->zero_mse);
    json_number(&json, "gap", plan->gap);
    json_count(&json, "patterns", plan->patterns);
    json_count(&json, "measured_rounds", plan->measured);
    json_count(&json, "heard", plan->heard);
    json_number(&json, "arrival_mean", found.arrival);
    json_number(&json, "release_variance", found.variance_max);
    json_number(&json, "bytes_per_round", plan->bytes);
    json_number(&json, "budget_used", work->check.used);
    json_number(&json, "mse_checked", work->check.mse_one_sided);
    json_number(&json, "seconds", work->seconds);
    json_count(&json, "plan", work->record.id);
    json_open(&json, "unheard", '[');
    for (int32_t i = 0; i < plan->nodes; i++)
        if (!is_heard(work, i))
            json_count(&json, NULL, i);
    json_close(&json, ']');
    if (work->slopes != NULL)
        forward_json_levers(&json, work->network, plan, work->slopes);
    json_close(&json, '}');
}

/* ---------------------------------------------------------------- tables -- */

static void add_row(struct table *table, const struct pricer_forward_plan *plan,
                    const char *words, double error)
{
    table_cell(table, "%s", words);
    table_cell(table, "%.6g", error);
    table_cell(table, "%.3g %%", 100 * error / plan->zero_mse);
}

static void print_errors(const struct work *work)
{
    const struct pricer_forward_plan *plan = work->plan;
    char words[400];
    struct table *table = table_new(
        3,
        (const char *const[]){"mean squared error, at worst", "error",
                              work->network->reach > 0 ? "of keeping it"
                                                       : "of answering zero"});
    add_row(table, plan, meaning_zero(work->network), plan->zero_mse);
    add_row(table, plan, "no relaying", plan->mse_alone);
    if (!isnan(work->mse_sum))
        add_row(table, plan,
                plan->repeat > 1 ? "sums, one attempt, budget divided evenly"
                                 : "sums, the budget divided evenly",
                work->mse_sum);
    snprintf(words, sizeof words, "forward, %d hop%s", (int)plan->hops,
             plan->hops == 1 ? "" : "s");
    add_row(table, plan, words, plan->mse_worst_case);
    add_row(table, plan, "  of it data missing or scaled down", plan->missing);
    add_row(table, plan, "  of it noise of releases", plan->noise);
    add_row(table, plan, "same releases, links that never fail",
            plan->mse_perfect);
    table_print(table, stdout);
    putchar('\n');
    if (plan->measured > 0)
        snprintf(
            words, sizeof words,
            "%.6g +- %.2g with forwarding, at most: fitted to half of %lld "
            "rounds that were run and measured on the others, both ways. "
            "No model of links; covariances count by their absolute "
            "values, so that the bound falls with more rounds",
            plan->mse_worst_case, plan->mse_stderr, (long long)plan->measured);
    else if (plan->patterns > 0)
        snprintf(words, sizeof words,
                 "%.6g +- %.2g with forwarding, on %lld rounds; no other "
                 "coefficients lower it by more than %.2g of it on the rounds "
                 "that they are fitted to",
                 plan->mse_worst_case, plan->mse_stderr,
                 (long long)plan->patterns, fmax(plan->gap, GAP_SHOWN));
    else
        snprintf(words, sizeof words,
                 "%.9g with forwarding, over all patterns of links; no other "
                 "coefficients lower it by more than %.2g of it",
                 plan->mse_worst_case, fmax(plan->gap, GAP_SHOWN));
    program_words("Error:", words);
}

static void print_releases(const struct work *work, const struct summary *found)
{
    struct table *table = table_new(
        4, (const char *const[]){"release", "nodes", "variance / radius^2",
                                 "bytes of a packet"});
    for (int kind = PRICER_RELEASE_SPHERE; kind <= PRICER_RELEASE_GAUSSIAN;
         kind++) {
        double low = INFINITY, high = 0;
        if (found->kinds[kind] == 0)
            continue;
        for (int32_t i = 0; i < work->plan->nodes; i++) {
            const struct pricer_forward_node *node = &work->plan->node[i];
            double radius = work->network->node_radius[i];
            if ((int)node->release != kind)
                continue;
            low = fmin(low, node->variance / (radius * radius));
            high = fmax(high, node->variance / (radius * radius));
        }
        table_cell(table, "%s", pricer_word(PRICER_WORDS_RELEASE, kind));
        table_cell(table, "%d", (int)found->kinds[kind]);
        if (high > low * (1 + 1e-9))
            table_cell(table, "%.5g to %.5g", low, high);
        else
            table_cell(table, "%.6g", high);
        table_cell(table, "%.0f",
                   pricer_forward_packet((enum pricer_release)kind,
                                         work->network->dimension));
    }
    table_print(table, stdout);
}

/* What the guarantees are about, where the scenario has a diameter. */
static void print_near(const struct work *work)
{
    char near[MEANING_NEAR_ROOM];
    if (meaning_near(work->network, near)[0] != '\0')
        puts(near);
    else if (work->near)
        puts("The diameter is not used: sphere releases have less noise, and "
             "their guarantee is about\nany data within the radius.");
}

static void print_privacy(const struct work *work, const struct summary *found)
{
    long long rounds = work->record.settings.rounds;
    char eps[64], words[400];
    if (found->eps_max > found->eps_min)
        snprintf(eps, sizeof eps, "%.6g to %.6g, each its own", found->eps_min,
                 found->eps_max);
    else
        snprintf(eps, sizeof eps, "%.6g", found->eps_max);
    snprintf(words, sizeof words,
             "eps = %s and delta at most %.3g for every node, towards everyone "
             "together, over %lld round%s. Who takes part, when and over which "
             "path is not hidden",
             eps, found->delta_max, rounds, rounds == 1 ? "" : "s");
    program_words("Privacy:", words);
    print_near(work);
}

/* What was computed a second time, by other code. */
static void print_check(const struct work *work)
{
    const struct pricer_forward_check *check = &work->check;
    long long rounds = work->record.settings.rounds;
    char error[120] = "the error is not counted again", words[400];
    if (check->patterns > 0)
        snprintf(error, sizeof error,
                 "data in one direction have the error %.5g +- %.1g on %lld "
                 "other rounds",
                 check->mse_one_sided, check->mse_stderr,
                 (long long)check->patterns);
    else if (!isnan(check->mse_one_sided))
        snprintf(error, sizeof error,
                 "the error over all patterns is the same");
    snprintf(words, sizeof words,
             "by other code, all %d nodes keep their (eps, delta) over %lld "
             "round%s, every packet counted as heard by everyone; %s",
             (int)work->plan->nodes, rounds, rounds == 1 ? "" : "s", error);
    program_words("Checked:", words);
}

static void print_tables(const struct work *work)
{
    const struct pricer_forward_plan *plan = work->plan;
    struct summary found = summarise(work);
    char words[400];
    printf("%d nodes, %d links; scheme forward, %d hop%s, release %s, %.3g "
           "s\n\n",
           (int)plan->nodes, (int)work->network->links, (int)plan->hops,
           plan->hops == 1 ? "" : "s", kind_word(&found), work->seconds);
    if (plan->repeat > 1)
        printf("Every round has up to %d attempts with the same releases; "
               "relays keep what they hold.\n\n",
               (int)plan->repeat);
    if (plan->heard < plan->nodes) {
        unheard_print(stdout, work->network, plan);
        putchar('\n');
    }
    print_errors(work);
    putchar('\n');
    if (work->network->reach > 0) {
        char relative[MEANING_REFERENCE_ROOM];
        printf("%s\n", meaning_reference(work->network, plan->mse_worst_case,
                                         relative));
        puts("Every node is taken to have the last estimate: one without it "
             "has to stay silent,\nwhich is not counted here.\n");
    }
    print_releases(work, &found);
    putchar('\n');
    print_privacy(work, &found);
    print_check(work);
    snprintf(words, sizeof words,
             "%d of %d nodes; a release arrives with probability %.4g on "
             "average",
             (int)plan->heard, (int)plan->nodes, found.arrival);
    program_words("Heard:", words);
    snprintf(words, sizeof words,
             "%.4g bytes a node and round, mean over the nodes, if every link "
             "is up: a packet to each neighbour for every release that it "
             "holds after hops - 1 links, and to the server for every one "
             "after hops",
             plan->bytes);
    program_words("Traffic:", words);
    if (plan->measured > 0) {
        puts("Not compared with scheme sum, and without "
             "sensitivities: these need a model\nof links.");
        return;
    }
    if (isnan(work->mse_sum))
        printf("Scheme sum is compared with in networks of at most %d "
               "links, where\nevery delta is above 0.\n",
               SUM_LINKS);
    putchar('\n');
    if (work->slopes != NULL)
        forward_print_levers(work->network, plan, work->slopes);
    else
        printf("Sensitivities are found for at most %d nodes.\n", SLOPE_NODES);
}

/* ------------------------------------------------------------------ verb -- */

bool plan_forward_wanted(const char *path)
{
    struct pricer_study *study = NULL;
    enum pricer_scheme scheme = PRICER_SCHEME_SUM;
    if (pricer_study_open(path, false, &study, NULL) != PRICER_OK)
        return false;
    if (pricer_study_scheme(study, &scheme, NULL) != PRICER_OK)
        scheme = PRICER_SCHEME_SUM;
    pricer_study_close(study);
    return scheme == PRICER_SCHEME_FORWARD;
}

/* An option that this scheme does not have, or NULL. */
static const char *find_stray(const struct plan_request *ask)
{
    const struct {
        const char *option;
        bool given;
    } stray[] = {
        {"--bias", ask->planner.bias >= 0},
        {"--calibration", ask->planner.calibration >= 0},
        {"--lambda", !isnan(ask->planner.lambda)},
        {"--method", ask->method != 0},
        {"--decoder", ask->decoder >= 0},
        {"--tolerance", ask->tolerance != 0},
        {"--weights", ask->weights != NULL},
        {"--what-if", ask->what_if.count > 0},
        {"--warm", ask->warm},
        {"--iterations", ask->iterations != 0},
    };
    for (size_t k = 0; k < sizeof stray / sizeof *stray; k++)
        if (stray[k].given)
            return stray[k].option;
    return NULL;
}

static enum pricer_status load(struct work *work, const char *path,
                               const char *name, struct pricer_fault *fault)
{
    enum pricer_status status =
        pricer_study_open(path, true, &work->study, fault);
    if (status == PRICER_OK && name != NULL) {
        snprintf(work->record.name, sizeof work->record.name, "%s", name);
        status = material_name(work->study, name, fault);
    }
    if (status == PRICER_OK)
        status = pricer_study_forward_settings(work->study,
                                               &work->record.settings, fault);
    if (status == PRICER_OK)
        status = pricer_study_network(work->study, &work->network, fault);
    return status;
}

/* By a model of links, or from the rounds of the study. */
static enum pricer_status make(struct work *work, bool measured,
                               struct pricer_fault *fault)
{
    const struct pricer_forward_settings *settings = &work->record.settings;
    struct pricer_forward_arrivals *arrivals = NULL;
    if (!measured)
        return pricer_forward_plan_make(work->network, settings, &work->plan,
                                        fault);
    enum pricer_status status =
        pricer_study_arrivals(work->study, 0, &arrivals, fault);
    if (status == PRICER_OK)
        status = pricer_forward_plan_measured(work->network, settings, arrivals,
                                              &work->plan, fault);
    pricer_forward_arrivals_free(arrivals);
    return status;
}

/* What a plan that is stored is compared with; stopped: what is missing is. */
static enum pricer_status compare(struct work *work, struct progress *progress,
                                  struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    if (work->plan->measured > 0)
        return PRICER_OK;
    work->mse_sum = forward_sum_error(
        work->network, work->record.settings.rounds, &progress->watch);
    if (work->network->nodes <= SLOPE_NODES)
        status =
            pricer_forward_slopes_make(work->network, &work->record.settings,
                                       work->plan, &work->slopes, fault);
    return status == PRICER_STOPPED ? PRICER_OK : status;
}

/* A plan that fails the check is not stored. The error is checked where it is
 * that of a model of links. */
static enum pricer_status check_plan(struct work *work,
                                     struct pricer_fault *fault)
{
    bool releases_only = work->plan->measured > 0;
    enum pricer_status status = pricer_forward_plan_verify(
        work->network, work->record.settings.rounds, work->plan, releases_only,
        &work->check, fault);
    if (status == PRICER_OK && !work->check.good) {
        snprintf(
            fault->text, sizeof fault->text,
            "the plan fails the check of its privacy and its error, and is "
            "not stored: %s; please report this",
            work->check.words);
        status = PRICER_INFEASIBLE;
    }
    return status;
}

int plan_forward(const struct plan_request *ask, const char *path)
{
    struct work work = {.mse_sum = NAN};
    struct pricer_fault fault = {""};
    struct progress progress;
    const char *stray = find_stray(ask);
    if (stray != NULL) {
        fprintf(stderr,
                "pricer plan: %s belongs to 'scheme: sum', and the study has "
                "'scheme: forward'; --help explains\n",
                stray);
        return 2;
    }
    double start = program_seconds();
    progress_start(&progress, "plan");
    enum pricer_status status = load(&work, path, ask->name, &fault);
    work.record.settings.threads = program_threads(ask->threads);
    work.record.settings.watch = &progress.watch;
    if (status == PRICER_OK)
        status = make(&work, ask->from_deliveries, &fault);
    work.record.made = program_date();
    if (status == PRICER_OK)
        status = check_plan(&work, &fault);
    if (status == PRICER_OK)
        status = pricer_study_add_forward_plan(
            work.study, work.plan, &work.record, &work.record.id, &fault);
    if (status == PRICER_OK) {
        progress_start(&progress, "sensitivity");
        status = compare(&work, &progress, &fault);
    }
    progress_end(&progress);
    work.seconds = program_seconds() - start;
    if (status == PRICER_OK) {
        char near[MEANING_NEAR_ROOM];
        work.near = meaning_near(work.network, near)[0] != '\0';
        meaning_guarantees(work.network, work.plan);
    }
    if (status == PRICER_OK)
        (ask->as_json ? print_json : print_tables)(&work);
    pricer_forward_slopes_free(work.slopes);
    pricer_forward_plan_free(work.plan);
    pricer_network_free(work.network);
    pricer_study_close(work.study);
    return status == PRICER_OK ? program_stored("plan", work.record.id)
                               : program_fault(status, &fault);
}
