/*
 * From the records of plans to a table of them, or to JSON.
 */
#include "print_plans.h"
#include "common/meaning.h"
#include "question.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void add_words(char text[ASKED_TEXT], const char *words)
{
    size_t used = strlen(text);
    snprintf(text + used, ASKED_TEXT - used, "%s%s", used > 0 ? ", " : "",
             words);
}

void plan_asked(const struct pricer_plan_record *record, char text[ASKED_TEXT])
{
    const struct pricer_settings *settings = &record->settings;
    char words[64];
    snprintf(text, ASKED_TEXT, "%s",
             pricer_word(PRICER_WORDS_BIAS, settings->bias));
    if (settings->bias >= PRICER_BIAS_L1)
        snprintf(text, ASKED_TEXT, "%s %g",
                 pricer_word(PRICER_WORDS_BIAS, settings->bias),
                 settings->lambda);
    if (settings->calibration != PRICER_CALIBRATION_ANALYTIC)
        add_words(text,
                  pricer_word(PRICER_WORDS_CALIBRATION, settings->calibration));
    if (record->method != PRICER_METHOD_EXACT)
        add_words(text, pricer_word(PRICER_WORDS_METHOD, record->method));
    if (settings->rounds > 1) {
        snprintf(words, sizeof words, "%lld rounds",
                 (long long)settings->rounds);
        add_words(text, words);
    }
    if (record->network.origin == PRICER_ORIGIN_MEASURED)
        add_words(text, "measured links");
}

void forward_asked(const struct pricer_forward_record *record,
                   char text[ASKED_TEXT])
{
    const struct pricer_forward_settings *settings = &record->settings;
    char words[64];
    snprintf(text, ASKED_TEXT, "forward, %d hop%s", (int)settings->hops,
             settings->hops == 1 ? "" : "s");
    if (settings->release != PRICER_RELEASE_BEST)
        add_words(text, pricer_word(PRICER_WORDS_RELEASE, settings->release));
    if (settings->rounds > 1) {
        snprintf(words, sizeof words, "%lld rounds",
                 (long long)settings->rounds);
        add_words(text, words);
    }
}

double forward_eps(const struct pricer_network *network)
{
    double eps = 0;
    for (int32_t i = 0; i < network->nodes; i++)
        eps = fmax(eps, network->everyone_eps[i]);
    return eps;
}

void plan_made(int64_t when, char text[MADE_TEXT])
{
    time_t made = (time_t)when;
    struct tm parts;
    if (when == 0 || localtime_r(&made, &parts) == NULL ||
        strftime(text, MADE_TEXT, "%Y-%m-%d %H:%M", &parts) == 0)
        strcpy(text, "-");
}

enum pricer_status plan_server_eps(struct pricer_study *study,
                                   const struct pricer_plan_record *plan,
                                   double *eps, struct pricer_fault *fault)
{
    struct pricer_privacy_summary *found = NULL;
    int32_t count = 0;
    enum pricer_status status =
        pricer_study_privacy(study, plan->id, &found, &count, fault);
    if (status != PRICER_OK)
        return status;
    *eps = NAN;
    for (int32_t k = 0; k < count; k++)
        if (found[k].observer == PRICER_OBSERVER_SERVER &&
            found[k].protect == PRICER_PROTECT_DATA &&
            question_is_planned(found[k].rounds, found[k].eavesdropper,
                                found[k].coalition, &plan->settings))
            *eps = fmax(*eps, found[k].eps_most);
    pricer_privacy_summaries_free(found, count);
    return PRICER_OK;
}

/* ------------------------------------------------------------------ list -- */

/* The plans of a study, of either scheme. */
struct list {
    enum pricer_scheme scheme;
    struct pricer_network *network;
    struct pricer_plan_record *sums;       /* [count] of 'scheme: sum' */
    struct pricer_forward_record *forward; /* [count] of 'scheme: forward' */
    double *eps; /* [count] of the server, or of everyone; NAN: not known */
    int32_t count;
};

static enum pricer_status load_eps(struct pricer_study *study,
                                   struct list *list,
                                   struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    list->eps = calloc((size_t)list->count + 1, sizeof *list->eps);
    if (list->eps == NULL)
        return PRICER_MEMORY;
    for (int32_t k = 0; k < list->count && status == PRICER_OK; k++)
        if (list->scheme == PRICER_SCHEME_FORWARD)
            list->eps[k] = forward_eps(list->network);
        else
            status =
                plan_server_eps(study, &list->sums[k], &list->eps[k], fault);
    return status;
}

static enum pricer_status load_list(struct pricer_study *study,
                                    struct list *list,
                                    struct pricer_fault *fault)
{
    enum pricer_status status =
        pricer_study_scheme(study, &list->scheme, fault);
    if (status == PRICER_OK && list->scheme == PRICER_SCHEME_FORWARD)
        status = pricer_study_forward_plans(study, &list->forward, &list->count,
                                            fault);
    else if (status == PRICER_OK)
        status = pricer_study_plans(study, &list->sums, &list->count, fault);
    if (status == PRICER_OK && list->count > 0)
        status = pricer_study_network(study, &list->network, fault);
    return status == PRICER_OK ? load_eps(study, list, fault) : status;
}

static void free_list(struct list *list)
{
    pricer_network_free(list->network);
    pricer_plan_records_free(list->sums);
    pricer_forward_records_free(list->forward);
    free(list->eps);
}

/* ---------------------------------------------------------------- tables -- */

static void number_cell(struct table *table, const char *format, double value)
{
    char text[64] = "-";
    if (!isnan(value))
        snprintf(text, sizeof text, format, value);
    table_cell(table, "%s", text);
}

static void plan_row(struct table *table, const struct list *list, int32_t k)
{
    const struct pricer_plan_record *sum = list->sums;
    const struct pricer_forward_record *forward = list->forward;
    bool passes = list->scheme == PRICER_SCHEME_FORWARD;
    const char *name = passes ? forward[k].name : sum[k].name;
    double error = passes ? forward[k].mse_worst_case : sum[k].mse_worst_case;
    char asked[ASKED_TEXT], made[MADE_TEXT];
    if (passes)
        forward_asked(&forward[k], asked);
    else
        plan_asked(&sum[k], asked);
    plan_made(passes ? forward[k].made : sum[k].made, made);
    table_cell(table, "%lld", (long long)(passes ? forward[k].id : sum[k].id));
    table_cell(table, "%s", name[0] != '\0' ? name : "-");
    table_cell(table, "%s", made);
    table_cell(table, "%s", asked);
    number_cell(table, "%.5g", error);
    table_cell(table, "%s",
               isnan(error)
                   ? "-"
                   : meaning_share(error / meaning_centre(list->network)).text);
    number_cell(table, "%.1e", passes ? forward[k].gap : sum[k].gap);
    number_cell(table, "%.4g", list->eps[k]);
}

static void print_notes(const struct list *list)
{
    bool known = false;
    for (int32_t k = 0; k < list->count; k++)
        known = known || !isnan(list->eps[k]);
    if (list->scheme == PRICER_SCHEME_FORWARD)
        puts("worst case: the error whatever the data, in squared units of the "
             "data; gap: no coefficients\n"
             "are better by more, relative, on the rounds that they are fitted "
             "to; eps: the largest budget\n"
             "of a node, towards everyone together.");
    else
        puts("worst case: the error whatever the data, every sum counting 1/n "
             "(that of a plan's decoder is\n"
             "what pricer plan prints), in squared units of the data; gap: "
             "certified relative distance from\n"
             "the optimum.");
    if (known && list->scheme == PRICER_SCHEME_SUM)
        puts("server eps: what 'pricer privacy' has stored. Where it counts "
             "the noise of others:\n" MEANING_OTHERS ".");
}

enum pricer_status plans_table(struct pricer_study *study,
                               struct pricer_fault *fault)
{
    struct list list = {0};
    enum pricer_status status = load_list(study, &list, fault);
    if (status == PRICER_OK && list.count == 0) {
        puts("No plan yet: 'pricer plan' makes one.");
    } else if (status == PRICER_OK) {
        struct table *table = table_new(
            8, (const char *const[]){"plan", "name", "made", "asked for",
                                     "worst case", "of R^2", "gap",
                                     list.scheme == PRICER_SCHEME_FORWARD
                                         ? "eps"
                                         : "server eps"});
        for (int32_t k = 0; k < list.count; k++)
            plan_row(table, &list, k);
        table_print(table, stdout);
        print_notes(&list);
    }
    free_list(&list);
    return status;
}

/* ------------------------------------------------------------------ JSON -- */

static void open_plan(struct json *json, int64_t id, const char *name,
                      int64_t made, enum pricer_scheme scheme)
{
    json_open(json, NULL, '{');
    json_count(json, "plan", id);
    if (name[0] != '\0')
        json_text(json, "name", name);
    if (made != 0)
        json_count(json, "made", made);
    json_text(json, "scheme", pricer_word(PRICER_WORDS_SCHEME, scheme));
}

static void sum_json(struct json *json, const struct pricer_plan_record *record,
                     double eps)
{
    const struct pricer_settings *settings = &record->settings;
    open_plan(json, record->id, record->name, record->made, PRICER_SCHEME_SUM);
    json_text(json, "bias", pricer_word(PRICER_WORDS_BIAS, settings->bias));
    json_number(json, "lambda", settings->lambda);
    json_text(json, "calibration",
              pricer_word(PRICER_WORDS_CALIBRATION, settings->calibration));
    json_text(json, "method", pricer_word(PRICER_WORDS_METHOD, record->method));
    json_count(json, "rounds", settings->rounds);
    json_text(json, "origin",
              pricer_word(PRICER_WORDS_ORIGIN, record->network.origin));
    json_number(json, "objective", record->objective);
    json_number(json, "mse_worst_case", record->mse_worst_case);
    json_number(json, "bound", record->bound);
    json_number(json, "gap", record->gap);
    json_number(json, "server_eps", eps);
    if (!isnan(eps))
        json_text(json, "server_eps_assumes", MEANING_OTHERS);
    json_close(json, '}');
}

static void forward_json(struct json *json,
                         const struct pricer_forward_record *record, double eps)
{
    const struct pricer_forward_settings *settings = &record->settings;
    open_plan(json, record->id, record->name, record->made,
              PRICER_SCHEME_FORWARD);
    json_count(json, "hops", settings->hops);
    json_text(json, "release",
              pricer_word(PRICER_WORDS_RELEASE, settings->release));
    json_count(json, "rounds", settings->rounds);
    json_number(json, "mse_worst_case", record->mse_worst_case);
    json_number(json, "mse_stderr", record->mse_stderr);
    json_number(json, "gap", record->gap);
    json_number(json, "eps", eps);
    json_close(json, '}');
}

enum pricer_status plans_json(struct json *json, struct pricer_study *study,
                              struct pricer_fault *fault)
{
    struct list list = {0};
    enum pricer_status status = load_list(study, &list, fault);
    json_open(json, "plans", '[');
    for (int32_t k = 0; k < list.count && status == PRICER_OK; k++)
        if (list.scheme == PRICER_SCHEME_FORWARD)
            forward_json(json, &list.forward[k], list.eps[k]);
        else
            sum_json(json, &list.sums[k], list.eps[k]);
    json_close(json, ']');
    free_list(&list);
    return status;
}
