/*
 * Plans of forwarding, into a study and out of it.
 */
#include "study.h"
#include "pricer_forward.h"

#include <math.h>
#include <stdlib.h>

/* ----------------------------------------------------------------- store -- */

static enum pricer_status store_summary(
    const struct pricer_study *study, const struct pricer_forward_plan *plan,
    const struct pricer_forward_record *record, struct pricer_fault *fault)
{
    const double numbers[] = {
        plan->mse_worst_case, plan->mse_stderr,  plan->missing, plan->noise,
        plan->mse_alone,      plan->mse_perfect, plan->gap,     plan->bytes};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    int64_t rounds = record->settings.rounds;
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "INSERT INTO forward_plan (network, release, rounds, hops, heard,"
        " mse_worst_case, mse_stderr, missing, noise, mse_alone, mse_perfect,"
        " gap, bytes, patterns, measured, repeat)"
        " VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &insert, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_text(
        insert, 1, pricer_word(PRICER_WORDS_RELEASE, record->settings.release),
        -1, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 2, rounds > 0 ? rounds : 1);
    sqlite3_bind_int(insert, 3, plan->hops);
    sqlite3_bind_int(insert, 4, plan->heard);
    for (int k = 0; k < COUNT; k++)
        sqlite3_bind_double(insert, 5 + k, numbers[k]);
    sqlite3_bind_int64(insert, 5 + COUNT, plan->patterns);
    sqlite3_bind_int64(insert, 6 + COUNT, plan->measured);
    sqlite3_bind_int(insert, 7 + COUNT, plan->repeat > 1 ? plan->repeat : 1);
    status = pri_study_step(study, insert, fault);
    sqlite3_finalize(insert);
    return status;
}

static enum pricer_status store_nodes(const struct pricer_study *study,
                                      int64_t id,
                                      const struct pricer_forward_plan *plan,
                                      struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "INSERT INTO forward_plan_node VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &insert, fault);
    for (int32_t i = 0; i < plan->nodes && status == PRICER_OK; i++) {
        const struct pricer_forward_node *node = &plan->node[i];
        sqlite3_bind_int64(insert, 1, id);
        sqlite3_bind_int(insert, 2, i);
        sqlite3_bind_text(insert, 3,
                          pricer_word(PRICER_WORDS_RELEASE, node->release), -1,
                          SQLITE_STATIC);
        sqlite3_bind_double(insert, 4, node->threshold);
        sqlite3_bind_double(insert, 5, node->loss);
        sqlite3_bind_double(insert, 6, node->noise);
        sqlite3_bind_double(insert, 7, node->variance);
        sqlite3_bind_double(insert, 8, node->coefficient);
        sqlite3_bind_double(insert, 9, node->arrival);
        if (node->relays >= 0)
            sqlite3_bind_int(insert, 10, node->relays);
        else
            sqlite3_bind_null(insert, 10);
        status = pri_study_step(study, insert, fault);
    }
    sqlite3_finalize(insert);
    return status;
}

enum pricer_status pricer_study_add_forward_plan(
    struct pricer_study *study, const struct pricer_forward_plan *plan,
    const struct pricer_forward_record *record, int64_t *id,
    struct pricer_fault *fault)
{
    int64_t made = 0;
    enum pricer_status status = pri_study_begin(study, fault);
    if (status != PRICER_OK)
        return status;
    status = store_summary(study, plan, record, fault);
    made = sqlite3_last_insert_rowid(study->database);
    if (status == PRICER_OK)
        status =
            pri_study_add_note(study, made, record->made, record->name, fault);
    if (status == PRICER_OK)
        status = store_nodes(study, made, plan, fault);
    status = pri_study_end(study, status, fault);
    if (status == PRICER_OK && id != NULL)
        *id = made;
    return status;
}

/* ------------------------------------------------------------------ load -- */

/* A word of the vocabulary of releases in a column; -1: anything else. */
static int read_release(sqlite3_stmt *query, int column)
{
    return pricer_word_find(PRICER_WORDS_RELEASE,
                            pri_study_text(query, column));
}

static enum pricer_status load_summary(struct pricer_study *study, int64_t id,
                                       struct pricer_forward_plan *plan,
                                       struct pricer_forward_record *record,
                                       struct pricer_fault *fault)
{
    double *numbers[] = {&plan->mse_worst_case,
                         &plan->mse_stderr,
                         &plan->missing,
                         &plan->noise,
                         &plan->mse_alone,
                         &plan->mse_perfect,
                         &plan->gap,
                         &plan->bytes};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    sqlite3_stmt *query = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "SELECT plan, release, rounds, hops, heard, mse_worst_case,"
        " mse_stderr, missing, noise, mse_alone, mse_perfect, gap, bytes,"
        " patterns, measured, repeat FROM forward_plan WHERE plan = ?1 OR ?1 = "
        "0"
        " ORDER BY plan DESC LIMIT 1",
        &query, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(query, 1, id);
    if (sqlite3_step(query) == SQLITE_ROW) {
        int kind = read_release(query, 1);
        *record = (struct pricer_forward_record){
            .id = sqlite3_column_int64(query, 0),
            .settings = {.rounds = sqlite3_column_int64(query, 2),
                         .hops = sqlite3_column_int(query, 3),
                         .repeat = sqlite3_column_int(query, 7 + COUNT),
                         .release = (enum pricer_release)kind}};
        plan->hops = record->settings.hops;
        plan->repeat = record->settings.repeat;
        plan->heard = sqlite3_column_int(query, 4);
        bool good = kind >= 0 && record->settings.rounds >= 1 &&
                    plan->hops >= 0 && plan->hops <= PRICER_HOPS_MAX &&
                    plan->repeat >= 1 && plan->repeat <= PRICER_REPEAT_MAX;
        for (int k = 0; k < COUNT; k++) {
            good = good && pri_study_is_number(query, 5 + k);
            *numbers[k] = sqlite3_column_double(query, 5 + k);
        }
        plan->patterns = sqlite3_column_int64(query, 5 + COUNT);
        plan->measured = sqlite3_column_int64(query, 6 + COUNT);
        if (!good)
            status =
                pri_study_damaged(study, "forward_plan", record->id, fault);
        record->mse_worst_case = plan->mse_worst_case;
        record->mse_stderr = plan->mse_stderr;
        record->gap = plan->gap;
    } else {
        status = pri_fault(fault, PRICER_VALUE,
                           "%.300s: there is no such plan: 'pricer plan' makes "
                           "one",
                           study->path);
    }
    sqlite3_finalize(query);
    if (status == PRICER_OK)
        status = pri_study_load_note(study, record->id, &record->made,
                                     record->name, fault);
    return status;
}

static bool read_node(sqlite3_stmt *query, int32_t i,
                      struct pricer_forward_node *node)
{
    bool good = sqlite3_column_int64(query, 0) == i;
    for (int column = 2; column <= 7; column++)
        good = good && pri_study_is_number(query, column);
    int kind = read_release(query, 1);
    *node = (struct pricer_forward_node){
        .release = (enum pricer_release)kind,
        .threshold = sqlite3_column_double(query, 2),
        .loss = sqlite3_column_double(query, 3),
        .noise = sqlite3_column_double(query, 4),
        .variance = sqlite3_column_double(query, 5),
        .coefficient = sqlite3_column_double(query, 6),
        .arrival = sqlite3_column_double(query, 7),
        .relays = sqlite3_column_type(query, 8) == SQLITE_NULL
                      ? -1
                      : sqlite3_column_int(query, 8)};
    return good && kind > PRICER_RELEASE_BEST && node->variance >= 0 &&
           node->coefficient >= 0 && node->arrival >= 0 && node->arrival <= 1;
}

static enum pricer_status load_nodes(struct pricer_study *study, int64_t id,
                                     struct pricer_forward_plan *plan,
                                     struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    int64_t nodes = 0;
    int32_t i = 0;
    double sum = 0;
    enum pricer_status status =
        pri_study_count(study, "SELECT count(*) FROM node", &nodes, fault);
    if (status == PRICER_OK && !(nodes >= 1 && nodes < INT32_MAX))
        status = pri_study_damaged(study, "node", nodes, fault);
    if (status == PRICER_OK) {
        plan->nodes = (int32_t)nodes;
        plan->node = pri_alloc(nodes, sizeof *plan->node);
        status = plan->node != NULL ? PRICER_OK : PRICER_MEMORY;
    }
    if (status == PRICER_OK)
        status = pri_study_prepare(
            study,
            "SELECT node, forward_plan_node.release, threshold, loss, noise,"
            " variance, coefficient, arrival, relays, radius"
            " FROM forward_plan_node JOIN node USING (node)"
            " WHERE plan = ? ORDER BY node",
            &query, fault);
    sqlite3_bind_int64(query, 1, id);
    while (status == PRICER_OK && sqlite3_step(query) == SQLITE_ROW) {
        if (i >= plan->nodes || !read_node(query, i, &plan->node[i]))
            status = pri_study_damaged(study, "forward_plan_node", i, fault);
        sum += sqlite3_column_double(query, 9);
        i++;
    }
    sqlite3_finalize(query);
    if (status == PRICER_OK && i != plan->nodes)
        status = pri_study_damaged(study, "forward_plan_node", i, fault);
    if (status == PRICER_OK)
        plan->zero_mse = sum / plan->nodes * (sum / plan->nodes);
    return status;
}

enum pricer_status pricer_study_forward_plan(
    struct pricer_study *study, int64_t id, struct pricer_forward_plan **plan,
    struct pricer_forward_record *record, struct pricer_fault *fault)
{
    struct pricer_forward_record found;
    struct pricer_forward_plan *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    enum pricer_status status = load_summary(study, id, made, &found, fault);
    if (status == PRICER_OK)
        status = load_nodes(study, found.id, made, fault);
    if (status != PRICER_OK) {
        pricer_forward_plan_free(made);
        return status;
    }
    *plan = made;
    if (record != NULL)
        *record = found;
    return PRICER_OK;
}

enum pricer_status pricer_study_forward_plans(
    struct pricer_study *study, struct pricer_forward_record **records,
    int32_t *count, struct pricer_fault *fault)
{
    struct pricer_forward_record *made = NULL;
    sqlite3_stmt *query = NULL;
    int64_t plans = 0;
    int32_t used = 0;
    enum pricer_status status = pri_study_count(
        study, "SELECT count(*) FROM forward_plan", &plans, fault);
    if (status == PRICER_OK)
        status = pri_study_prepare(
            study, "SELECT plan FROM forward_plan ORDER BY plan", &query,
            fault);
    if (status != PRICER_OK)
        return status;
    made = pri_alloc(plans + 1, sizeof *made);
    status = made == NULL ? PRICER_MEMORY : PRICER_OK;
    while (status == PRICER_OK && used < plans &&
           sqlite3_step(query) == SQLITE_ROW) {
        struct pricer_forward_plan plan;
        status = load_summary(study, sqlite3_column_int64(query, 0), &plan,
                              &made[used], fault);
        used++;
    }
    sqlite3_finalize(query);
    if (status != PRICER_OK) {
        free(made);
        return status;
    }
    *records = made;
    *count = used;
    return PRICER_OK;
}

void pricer_forward_records_free(struct pricer_forward_record *records)
{
    free(records);
}
