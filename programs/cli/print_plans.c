/*
 * From the records of plans to a table of them, or to JSON.
 */
#include "print_plans.h"
#include "common/meaning.h"
#include "question.h"

#include <math.h>
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

void plan_made(const struct pricer_plan_record *record, char text[MADE_TEXT])
{
    time_t made = (time_t)record->made;
    struct tm parts;
    if (record->made == 0 || localtime_r(&made, &parts) == NULL ||
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

static void number_cell(struct table *table, const char *format, double value)
{
    char text[64] = "-";
    if (!isnan(value))
        snprintf(text, sizeof text, format, value);
    table_cell(table, "%s", text);
}

static void plan_row(struct table *table,
                     const struct pricer_plan_record *record, double eps,
                     double centre)
{
    char asked[ASKED_TEXT], made[MADE_TEXT];
    plan_asked(record, asked);
    plan_made(record, made);
    table_cell(table, "%lld", (long long)record->id);
    table_cell(table, "%s", record->name[0] != '\0' ? record->name : "-");
    table_cell(table, "%s", made);
    table_cell(table, "%s", asked);
    number_cell(table, "%.5g", record->mse_worst_case);
    table_cell(table, "%s",
               isnan(record->mse_worst_case)
                   ? "-"
                   : meaning_share(record->mse_worst_case / centre).text);
    number_cell(table, "%.1e", record->gap);
    number_cell(table, "%.4g", eps);
}

static enum pricer_status print_records(
    struct pricer_study *study, const struct pricer_plan_record *records,
    int32_t count, struct pricer_fault *fault)
{
    struct pricer_network *network = NULL;
    bool known = false;
    enum pricer_status status = pricer_study_network(study, &network, fault);
    if (status != PRICER_OK)
        return status;
    struct table *table = table_new(
        8, (const char *const[]){"plan", "name", "made", "asked for",
                                 "worst case", "of R^2", "gap", "server eps"});
    for (int32_t k = 0; k < count && status == PRICER_OK; k++) {
        double eps = NAN;
        status = plan_server_eps(study, &records[k], &eps, fault);
        if (status == PRICER_OK)
            plan_row(table, &records[k], eps, meaning_centre(network));
        known = known || !isnan(eps);
    }
    table_print(table, stdout);
    puts("worst case: the error whatever the data, every sum counting 1/n "
         "(that of a plan's decoder is\n"
         "what pricer plan prints), in squared units of the data; gap: "
         "certified relative distance from\n"
         "the optimum.");
    if (known)
        puts("server eps: what 'pricer privacy' has stored. Where it counts "
             "the noise of others:\n" MEANING_OTHERS ".");
    pricer_network_free(network);
    return status;
}

enum pricer_status plans_table(struct pricer_study *study,
                               struct pricer_fault *fault)
{
    struct pricer_plan_record *records = NULL;
    int32_t count = 0;
    enum pricer_status status =
        pricer_study_plans(study, &records, &count, fault);
    if (status == PRICER_OK && count == 0)
        puts("No plan yet: 'pricer plan' makes one.");
    else if (status == PRICER_OK)
        status = print_records(study, records, count, fault);
    pricer_plan_records_free(records);
    return status;
}

static void plan_json(struct json *json,
                      const struct pricer_plan_record *record, double eps)
{
    const struct pricer_settings *settings = &record->settings;
    json_open(json, NULL, '{');
    json_count(json, "plan", record->id);
    if (record->name[0] != '\0')
        json_text(json, "name", record->name);
    if (record->made != 0)
        json_count(json, "made", record->made);
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

enum pricer_status plans_json(struct json *json, struct pricer_study *study,
                              struct pricer_fault *fault)
{
    struct pricer_plan_record *records = NULL;
    int32_t count = 0;
    enum pricer_status status =
        pricer_study_plans(study, &records, &count, fault);
    json_open(json, "plans", '[');
    for (int32_t k = 0; k < count && status == PRICER_OK; k++) {
        double eps = NAN;
        status = plan_server_eps(study, &records[k], &eps, fault);
        if (status == PRICER_OK)
            plan_json(json, &records[k], eps);
    }
    json_close(json, ']');
    pricer_plan_records_free(records);
    return status;
}
