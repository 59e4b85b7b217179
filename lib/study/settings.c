/*
 * The settings of a scenario, into a study and out of it. What comes out is
 * checked: anyone may have edited the table.
 */
#include "study.h"
#include "pricer_forward.h"
#include "read/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------- store -- */

static enum pricer_status store_number(const struct pricer_study *study,
                                       sqlite3_stmt *insert, const char *key,
                                       double value, struct pricer_fault *fault)
{
    sqlite3_bind_text(insert, 1, key, -1, SQLITE_STATIC);
    if (value == floor(value) && fabs(value) < 9e15)
        sqlite3_bind_int64(insert, 2, (int64_t)value);
    else
        sqlite3_bind_double(insert, 2, value);
    return pri_study_step(study, insert, fault);
}

static enum pricer_status store_text(const struct pricer_study *study,
                                     sqlite3_stmt *insert, const char *key,
                                     const char *value,
                                     struct pricer_fault *fault)
{
    sqlite3_bind_text(insert, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 2, value, -1, SQLITE_STATIC);
    return pri_study_step(study, insert, fault);
}

enum pricer_status pri_study_store_settings(
    const struct pricer_study *study, const struct pricer_scenario *scenario,
    const struct pricer_network *network, struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    const struct {
        const char *key;
        double value;
    } numbers[] = {
        {"dimension", (double)network->dimension},
        {"radius", network->radius},
        {"reach", network->reach},
        {"rounds", (double)scenario->rounds},
        {"seed", (double)scenario->seed},
        {"lambda", isnan(scenario->lambda) ? 0 : scenario->lambda},
    };
    bool forward = network->everyone_eps != NULL;
    enum pricer_status status = pri_study_prepare(
        study, "INSERT INTO setting VALUES (?, ?)", &insert, fault);
    if (status == PRICER_OK)
        status = store_text(study, insert, "scheme",
                            pricer_word(PRICER_WORDS_SCHEME, forward), fault);
    if (status == PRICER_OK && forward)
        status = store_text(
            study, insert, "release",
            pricer_word(PRICER_WORDS_RELEASE, scenario->release), fault);
    if (status == PRICER_OK && forward)
        status = store_number(study, insert, "hops", (double)scenario->relays,
                              fault);
    if (status == PRICER_OK && forward)
        status = store_number(study, insert, "repeat", (double)scenario->repeat,
                              fault);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        if (status == PRICER_OK)
            status = store_number(study, insert, numbers[k].key,
                                  numbers[k].value, fault);
    if (status == PRICER_OK)
        status =
            store_text(study, insert, "bias",
                       pricer_word(PRICER_WORDS_BIAS, scenario->bias), fault);
    if (status == PRICER_OK)
        status = store_text(
            study, insert, "calibration",
            pricer_word(PRICER_WORDS_CALIBRATION, scenario->calibration),
            fault);
    if (status == PRICER_OK)
        status = store_text(study, insert, "scenario", scenario->text, fault);
    sqlite3_finalize(insert);
    return status;
}

/* ------------------------------------------------------------------ load -- */

bool pri_setting_find(sqlite3_stmt *query, const char *key)
{
    sqlite3_reset(query);
    sqlite3_bind_text(query, 1, key, -1, SQLITE_STATIC);
    return sqlite3_step(query) == SQLITE_ROW;
}

enum pricer_status pri_setting_number(const struct pricer_study *study,
                                      sqlite3_stmt *query, const char *key,
                                      double *value, struct pricer_fault *fault)
{
    /* Never as text, of which SQLite makes 15 digits. */
    if (!pri_setting_find(query, key) || !pri_study_is_number(query, 0))
        return pri_fault(fault, PRICER_FORMAT,
                         "%.300s: the setting %s is missing or not a number",
                         study->path, key);
    *value = sqlite3_column_double(query, 0);
    return PRICER_OK;
}

/* A setting that is one of a few words. */
static enum pricer_status read_word(const struct pricer_study *study,
                                    sqlite3_stmt *query, const char *key,
                                    enum pricer_vocabulary vocabulary,
                                    int *value, struct pricer_fault *fault)
{
    bool any = pri_setting_find(query, key);
    const char *text = any ? (const char *)sqlite3_column_text(query, 0) : NULL;
    int found = text != NULL ? pricer_word_find(vocabulary, text) : -1;
    if (found < 0)
        return pri_fault(fault, PRICER_FORMAT,
                         "%.300s: the setting %s is missing or unknown",
                         study->path, key);
    *value = found;
    return PRICER_OK;
}

enum pricer_status pricer_study_settings(struct pricer_study *study,
                                         struct pricer_settings *settings,
                                         int64_t *seed,
                                         struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    double rounds = 0, lambda = 0, start = 0;
    int bias = 0, calibration = 0;
    enum pricer_status status = pri_study_prepare(
        study, "SELECT value FROM setting WHERE key = ?", &query, fault);
    if (status == PRICER_OK)
        status = pri_setting_number(study, query, "rounds", &rounds, fault);
    if (status == PRICER_OK)
        status = pri_setting_number(study, query, "lambda", &lambda, fault);
    if (status == PRICER_OK)
        status = pri_setting_number(study, query, "seed", &start, fault);
    if (status == PRICER_OK)
        status =
            read_word(study, query, "bias", PRICER_WORDS_BIAS, &bias, fault);
    if (status == PRICER_OK)
        status = read_word(study, query, "calibration",
                           PRICER_WORDS_CALIBRATION, &calibration, fault);
    if (status == PRICER_OK && pri_setting_find(query, "credit"))
        status = pri_study_credit(study, pri_study_text(query, 0), fault);
    sqlite3_finalize(query);
    if (status != PRICER_OK)
        return status;
    if (!(rounds >= 1 && rounds <= 1e9 && lambda >= 0 && isfinite(lambda) &&
          start >= 0 && start <= 9e15))
        return pri_fault(fault, PRICER_VALUE,
                         "%.300s: a setting is outside its range", study->path);
    *settings = (struct pricer_settings){
        .bias = (enum pricer_bias)bias,
        .lambda = lambda,
        .calibration = (enum pricer_calibration)calibration,
        .rounds = (int64_t)rounds,
    };
    if (seed != NULL)
        *seed = (int64_t)start;
    return PRICER_OK;
}

enum pricer_status pricer_study_scenario(struct pricer_study *study,
                                         char **text,
                                         struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    enum pricer_status status = pri_study_prepare(
        study, "SELECT value FROM setting WHERE key = 'scenario'", &query,
        fault);
    if (status != PRICER_OK)
        return status;
    char *found = NULL;
    int step = sqlite3_step(query);
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    else if (step == SQLITE_DONE ||
             sqlite3_column_type(query, 0) != SQLITE_TEXT)
        status = pri_fault(fault, PRICER_FORMAT,
                           "%.300s: the setting scenario is missing or not a "
                           "text",
                           study->path);
    else if ((found = strdup(pri_study_text(query, 0))) == NULL)
        status = PRICER_MEMORY;
    sqlite3_finalize(query);
    if (status == PRICER_OK)
        *text = found;
    return status;
}

void pricer_study_text_free(char *text)
{
    free(text);
}

/* --------------------------------------------------------------- forward -- */

enum pricer_status pricer_study_scheme(struct pricer_study *study,
                                       enum pricer_scheme *scheme,
                                       struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    int found = 0;
    enum pricer_status status = pri_study_prepare(
        study, "SELECT value FROM setting WHERE key = ?", &query, fault);
    if (status == PRICER_OK)
        status = read_word(study, query, "scheme", PRICER_WORDS_SCHEME, &found,
                           fault);
    sqlite3_finalize(query);
    if (status == PRICER_OK)
        *scheme = (enum pricer_scheme)found;
    return status;
}

enum pricer_status pricer_study_forward_settings(
    struct pricer_study *study, struct pricer_forward_settings *settings,
    struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    double rounds = 1, seed = 0, hops = -1, repeat = 1;
    int release = 0;
    enum pricer_status status = pri_study_prepare(
        study, "SELECT value FROM setting WHERE key = ?", &query, fault);
    if (status == PRICER_OK)
        status = pri_setting_number(study, query, "rounds", &rounds, fault);
    if (status == PRICER_OK)
        status = pri_setting_number(study, query, "seed", &seed, fault);
    if (status == PRICER_OK)
        status = pri_setting_number(study, query, "hops", &hops, fault);
    if (status == PRICER_OK)
        status = pri_setting_number(study, query, "repeat", &repeat, fault);
    if (status == PRICER_OK)
        status = read_word(study, query, "release", PRICER_WORDS_RELEASE,
                           &release, fault);
    sqlite3_finalize(query);
    if (status != PRICER_OK)
        return status;
    if (!(rounds >= 1 && rounds <= 1e9 && seed >= 0 && seed <= 9e15 &&
          hops >= -1 && hops <= PRICER_HOPS_MAX && hops == floor(hops) &&
          repeat >= 1 && repeat <= PRICER_REPEAT_MAX &&
          repeat == floor(repeat)))
        return pri_fault(fault, PRICER_VALUE,
                         "%.300s: a setting is outside its range", study->path);
    *settings = (struct pricer_forward_settings){
        .rounds = (int64_t)rounds,
        .hops = (int32_t)hops,
        .repeat = (int32_t)repeat,
        .release = (enum pricer_release)release,
        .seed = (uint64_t)seed,
    };
    return PRICER_OK;
}
