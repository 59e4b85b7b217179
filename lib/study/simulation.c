/*
 * Simulations, into a study.
 */
#include "study.h"

#include <math.h>

static enum pricer_status store_summary(
    const struct pricer_study *study, int64_t plan,
    const struct pricer_simulation *simulation, struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "INSERT INTO simulation (plan, engine, data, seed, trials, clipped)"
        " VALUES (?, ?, ?, ?, ?, ?)",
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
    status = pri_study_step(study, insert, fault);
    sqlite3_finalize(insert);
    return status;
}

static enum pricer_status store_outcomes(
    const struct pricer_study *study, int64_t id, const char *const *names,
    const struct pricer_simulation *simulation, struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "INSERT INTO simulation_strategy VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &insert, fault);
    for (int32_t k = 0; k < simulation->plans && status == PRICER_OK; k++) {
        const struct pricer_outcome *outcome = &simulation->outcomes[k];
        const double numbers[] = {
            outcome->mse,        outcome->mse_stderr,
            outcome->predicted,  outcome->worst_case,
            outcome->bias,       outcome->bias_predicted,
            outcome->difference, outcome->difference_stderr};
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
