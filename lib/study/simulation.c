/*
 * Simulations, into a study and out of it.
 */
#include "study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------- store -- */

static enum pricer_status store_summary(
    const struct pricer_study *study, int64_t plan,
    const struct pricer_simulation *simulation, struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "INSERT INTO simulation (plan, engine, data, seed, trials, clipped,"
        " decoder) VALUES (" PRI_PLAN_NUMBER ", ?, ?, ?, ?, ?, ?)",
        &insert, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(insert, 1, plan);
    sqlite3_bind_text(insert, 2,
                      pricer_word(PRICER_WORDS_ENGINE, simulation->engine), -1,
                      SQLITE_STATIC);
    sqlite3_bind_text(insert, 3,
                      pricer_word(PRICER_WORDS_DATA, simulation->data), -1,
                      SQLITE_STATIC);
    sqlite3_bind_int64(insert, 4, (int64_t)simulation->seed);
    sqlite3_bind_int64(insert, 5, simulation->trials);
    sqlite3_bind_int64(insert, 6, simulation->clipped);
    sqlite3_bind_text(insert, 7,
                      pricer_word(PRICER_WORDS_DECODE, simulation->decode), -1,
                      SQLITE_STATIC);
    status = pri_study_step(study, insert, fault);
    sqlite3_finalize(insert);
    return status;
}

static enum pricer_status store_outcomes(
    const struct pricer_study *study, int64_t id, const char *const *names,
    const struct pricer_simulation *simulation, struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status =
        pri_study_prepare(study,
                          "INSERT INTO simulation_strategy"
                          " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                          &insert, fault);
    for (int32_t k = 0; k < simulation->plans && status == PRICER_OK; k++) {
        const struct pricer_outcome *outcome = &simulation->outcomes[k];
        const double numbers[] = {
            outcome->mse,        outcome->mse_stderr,
            outcome->predicted,  outcome->worst_case,
            outcome->bias,       outcome->bias_predicted,
            outcome->difference, outcome->difference_stderr,
            outcome->bar};
        sqlite3_bind_int64(insert, 1, id);
        sqlite3_bind_text(insert, 2, names[k], -1, SQLITE_STATIC);
        for (int c = 0; c < (int)(sizeof numbers / sizeof *numbers); c++)
            pri_study_bind(insert, 3 + c, numbers[c]);
        status = pri_study_step(study, insert, fault);
    }
    sqlite3_finalize(insert);
    return status;
}

static enum pricer_status store_bins(const struct pricer_study *study,
                                     int64_t id, const char *name,
                                     const struct pricer_outcome *outcome,
                                     struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(
        study, "INSERT INTO simulation_bin VALUES (?, ?, ?, ?, ?)", &insert,
        fault);
    for (int bin = 0; bin < PRICER_BINS && status == PRICER_OK; bin++) {
        if (outcome->bins[bin] == 0)
            continue;
        sqlite3_bind_int64(insert, 1, id);
        sqlite3_bind_text(insert, 2, name, -1, SQLITE_STATIC);
        sqlite3_bind_double(insert, 3, pricer_outcome_edge(outcome, bin));
        sqlite3_bind_double(insert, 4, pricer_outcome_edge(outcome, bin + 1));
        sqlite3_bind_int64(insert, 5, outcome->bins[bin]);
        status = pri_study_step(study, insert, fault);
    }
    sqlite3_finalize(insert);
    return status;
}

/* Rows of (simulation, index, count and, for links, another count). */
static enum pricer_status store_counts(const struct pricer_study *study,
                                       const char *sql, int64_t id,
                                       int32_t count, const int64_t *up,
                                       const int64_t *both,
                                       struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(study, sql, &insert, fault);
    for (int32_t k = 0; k < count && status == PRICER_OK; k++) {
        sqlite3_bind_int64(insert, 1, id);
        sqlite3_bind_int(insert, 2, k);
        sqlite3_bind_int64(insert, 3, up[k]);
        if (both != NULL)
            sqlite3_bind_int64(insert, 4, both[k]);
        status = pri_study_step(study, insert, fault);
    }
    sqlite3_finalize(insert);
    return status;
}

enum pricer_status pricer_study_add_simulation(
    struct pricer_study *study, int64_t plan, const char *const *names,
    const struct pricer_simulation *simulation, int64_t *id,
    struct pricer_fault *fault)
{
    enum pricer_status status = pri_study_begin(study, fault);
    if (status != PRICER_OK)
        return status;
    status = store_summary(study, plan, simulation, fault);
    int64_t made = sqlite3_last_insert_rowid(study->database);
    if (status == PRICER_OK)
        status = store_outcomes(study, made, names, simulation, fault);
    for (int32_t k = 0; k < simulation->plans && status == PRICER_OK; k++)
        status =
            store_bins(study, made, names[k], &simulation->outcomes[k], fault);
    if (status == PRICER_OK)
        status = store_counts(
            study, "INSERT INTO simulation_node VALUES (?, ?, ?)", made,
            simulation->nodes, simulation->uplink, NULL, fault);
    if (status == PRICER_OK)
        status = store_counts(
            study, "INSERT INTO simulation_link VALUES (?, ?, ?, ?)", made,
            simulation->links, simulation->link, simulation->both, fault);
    status = pri_study_end(study, status, fault);
    if (status == PRICER_OK && id != NULL)
        *id = made;
    return status;
}

/* ------------------------------------------------------------------ load -- */

void pricer_simulation_record_free(struct pricer_simulation_record *record)
{
    if (record == NULL)
        return;
    for (int32_t k = 0; k < record->count; k++)
        free(record->strategies[k].name);
    free(record->strategies);
    free(record);
}

/* The latest simulation of a plan, or with 0 of any; its id stays 0 where there
 * is none. */
static enum pricer_status load_summary(const struct pricer_study *study,
                                       int64_t plan,
                                       struct pricer_simulation_record *record,
                                       struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "SELECT simulation, plan, engine, data, seed, trials, clipped, decoder"
        " FROM simulation WHERE plan = ?1 OR ?1 = 0"
        " ORDER BY simulation DESC LIMIT 1",
        &query, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(query, 1, plan);
    int step = sqlite3_step(query);
    if (step == SQLITE_ROW) {
        int engine =
            pricer_word_find(PRICER_WORDS_ENGINE, pri_study_text(query, 2));
        int data =
            pricer_word_find(PRICER_WORDS_DATA, pri_study_text(query, 3));
        int decode =
            pricer_word_find(PRICER_WORDS_DECODE, pri_study_text(query, 7));
        record->id = sqlite3_column_int64(query, 0);
        record->plan = sqlite3_column_int64(query, 1);
        record->seed = (uint64_t)sqlite3_column_int64(query, 4);
        record->trials = sqlite3_column_int64(query, 5);
        record->clipped = sqlite3_column_int64(query, 6);
        if (engine < 0 || data < 0 || decode < 0 || record->id < 1 ||
            record->trials < 1 || record->clipped < 0 ||
            !pri_study_is_number(query, 5) || !pri_study_is_number(query, 6))
            status = pri_study_damaged(study, "simulation", record->id, fault);
        record->engine = (enum pricer_engine)engine;
        record->data = (enum pricer_data)data;
        record->decode = (enum pricer_decode)decode;
    } else if (step != SQLITE_DONE) {
        status = pri_study_fault(study, fault);
    }
    sqlite3_finalize(query);
    return status;
}

/* Columns of simulation_strategy that may not be NULL; the others: not known. */
enum { MSE = 1, BIAS = 5, DIFFERENCE = 7 };

static enum pricer_status load_strategy(const struct pricer_study *study,
                                        sqlite3_stmt *query,
                                        struct pricer_simulation_record *record,
                                        struct pricer_fault *fault)
{
    struct pricer_strategy *strategy = &record->strategies[record->count];
    double *const numbers[] = {
        &strategy->mse,        &strategy->mse_stderr,
        &strategy->predicted,  &strategy->worst_case,
        &strategy->bias,       &strategy->bias_predicted,
        &strategy->difference, &strategy->difference_stderr,
        &strategy->bar};
    for (int c = 1; c <= (int)(sizeof numbers / sizeof *numbers); c++) {
        bool known = sqlite3_column_type(query, c) != SQLITE_NULL;
        bool optional = c != MSE && c != BIAS && c != DIFFERENCE;
        if (known ? !pri_study_is_number(query, c) : !optional)
            return pri_study_damaged(study, "simulation_strategy",
                                     record->count, fault);
        *numbers[c - 1] = pri_study_column(query, c);
    }
    strategy->name = strdup(pri_study_text(query, 0));
    if (strategy->name == NULL)
        return PRICER_MEMORY;
    record->count++;
    return PRICER_OK;
}

static enum pricer_status load_strategies(
    const struct pricer_study *study, int64_t room,
    struct pricer_simulation_record *record, struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "SELECT strategy, mse, mse_stderr, predicted, worst_case, bias,"
        " bias_predicted, difference, difference_stderr, bar"
        " FROM simulation_strategy WHERE simulation = ?1"
        " ORDER BY strategy <> 'plan', mse LIMIT ?2",
        &query, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(query, 1, record->id);
    sqlite3_bind_int64(query, 2, room);
    int step = sqlite3_step(query);
    for (; step == SQLITE_ROW && status == PRICER_OK;
         step = sqlite3_step(query))
        status = load_strategy(study, query, record, fault);
    if (status == PRICER_OK && step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    sqlite3_finalize(query);
    return status;
}

enum pricer_status pricer_study_simulation(
    struct pricer_study *study, int64_t plan,
    struct pricer_simulation_record **record, struct pricer_fault *fault)
{
    int64_t room = 0;
    struct pricer_simulation_record *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    enum pricer_status status = load_summary(study, plan, made, fault);
    if (status == PRICER_OK)
        status = pri_study_count(
            study, "SELECT count(*) FROM simulation_strategy", &room, fault);
    if (status == PRICER_OK &&
        (made->strategies = pri_alloc(room, sizeof *made->strategies)) == NULL)
        status = PRICER_MEMORY;
    if (status == PRICER_OK)
        status = load_strategies(study, room, made, fault);
    bool kept = status == PRICER_OK && made->id > 0;
    if (status == PRICER_OK)
        *record = kept ? made : NULL;
    if (!kept)
        pricer_simulation_record_free(made);
    return status;
}
