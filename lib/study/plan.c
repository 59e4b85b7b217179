/*
 * Plans, into a study and out of it.
 */
#include "study.h"
#include "network/network.h"
#include "pricer_decode.h"

#include <math.h>
#include <string.h>

/* ----------------------------------------------------------------- store -- */

static enum pricer_status store_summary(const struct pricer_study *study,
                                        int64_t network,
                                        const struct pricer_plan *plan,
                                        const struct pricer_plan_record *record,
                                        struct pricer_fault *fault)
{
    const struct pricer_settings *settings = &record->settings;
    const double numbers[] = {
        record->tolerance, record->objective,   record->bound,
        record->gap,       record->variance,    record->piv,
        record->tiv,       record->mse_paper,   record->mse_worst_case,
        record->bias_l1,   plan->sum_multiplier};
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "INSERT INTO plan (bias, lambda, calibration, method, rounds,"
        " iterations, network, credit, tolerance, objective, bound, gap,"
        " variance, piv, tiv, mse_paper, mse_worst_case, bias_l1,"
        " sum_multiplier)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &insert, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_text(insert, 1, pricer_word(PRICER_WORDS_BIAS, settings->bias),
                      -1, SQLITE_STATIC);
    sqlite3_bind_double(insert, 2, settings->lambda);
    sqlite3_bind_text(
        insert, 3, pricer_word(PRICER_WORDS_CALIBRATION, settings->calibration),
        -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 4,
                      pricer_word(PRICER_WORDS_METHOD, record->method), -1,
                      SQLITE_STATIC);
    sqlite3_bind_int64(insert, 5, settings->rounds > 0 ? settings->rounds : 1);
    sqlite3_bind_int(insert, 6, record->iterations);
    sqlite3_bind_int64(insert, 7, network);
    sqlite3_bind_text(insert, 8, "none", -1, SQLITE_STATIC);
    for (int k = 0; k < (int)(sizeof numbers / sizeof *numbers); k++)
        pri_study_bind(insert, 9 + k, numbers[k]);
    status = pri_study_step(study, insert, fault);
    sqlite3_finalize(insert);
    return status;
}

static enum pricer_status store_nodes(const struct pricer_study *study,
                                      int64_t id,
                                      const struct pricer_plan *plan,
                                      struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(
        study, "INSERT INTO plan_node VALUES (?, ?, ?, ?, ?, ?, NULL)", &insert,
        fault);
    for (int32_t i = 0; i < plan->nodes && status == PRICER_OK; i++) {
        sqlite3_bind_int64(insert, 1, id);
        sqlite3_bind_int(insert, 2, i);
        sqlite3_bind_double(insert, 3, plan->self_weight[i]);
        sqlite3_bind_double(insert, 4, plan->self_noise[i]);
        sqlite3_bind_double(insert, 5, plan->row_multiplier[i]);
        sqlite3_bind_double(insert, 6, plan->relay_multiplier[i]);
        status = pri_study_step(study, insert, fault);
    }
    sqlite3_finalize(insert);
    return status;
}

/* A link that carries nothing needs no row. */
static enum pricer_status store_links(const struct pricer_study *study,
                                      int64_t id,
                                      const struct pricer_plan *plan,
                                      struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(
        study, "INSERT INTO plan_link VALUES (?, ?, ?, ?)", &insert, fault);
    for (int32_t l = 0; l < plan->links && status == PRICER_OK; l++) {
        if (plan->weight[l] == 0 && plan->noise[l] == 0)
            continue;
        sqlite3_bind_int64(insert, 1, id);
        sqlite3_bind_int(insert, 2, l);
        sqlite3_bind_double(insert, 3, plan->weight[l]);
        sqlite3_bind_double(insert, 4, plan->noise[l]);
        status = pri_study_step(study, insert, fault);
    }
    sqlite3_finalize(insert);
    return status;
}

enum pricer_status pricer_study_add_plan(
    struct pricer_study *study, const struct pricer_network *network,
    const struct pricer_plan *plan, const struct pricer_plan_record *record,
    int64_t *id, struct pricer_fault *fault)
{
    int64_t made = 0, for_network = 1;
    if (pri_network_refuse_forward(network, fault) != PRICER_OK)
        return PRICER_VALUE;
    if (plan->nodes != network->nodes || plan->links != network->links)
        return pri_fault(fault, PRICER_VALUE,
                         "the plan is not for this network");
    if (record->decoder != NULL && record->decoder->nodes != network->nodes)
        return pri_fault(fault, PRICER_VALUE,
                         "the decoder is not for this network");
    enum pricer_status status = pri_study_begin(study, fault);
    if (status != PRICER_OK)
        return status;
    if (record->network.origin != PRICER_ORIGIN_SCENARIO)
        status = pri_study_add_network(study, network, &record->network,
                                       &for_network, fault);
    if (status == PRICER_OK)
        status = store_summary(study, for_network, plan, record, fault);
    made = sqlite3_last_insert_rowid(study->database);
    if (status == PRICER_OK)
        status =
            pri_study_add_note(study, made, record->made, record->name, fault);
    if (status == PRICER_OK)
        status = store_nodes(study, made, plan, fault);
    if (status == PRICER_OK)
        status = store_links(study, made, plan, fault);
    if (status == PRICER_OK && record->decoder != NULL)
        status = pri_study_add_decoder(study, made, record->decoder, fault);
    status = pri_study_end(study, status, fault);
    if (status == PRICER_OK && id != NULL)
        *id = made;
    return status;
}

/* ------------------------------------------------------------------ load -- */

static enum pricer_status damaged(const struct pricer_study *study, int64_t id,
                                  struct pricer_fault *fault)
{
    return pri_fault(fault, PRICER_FORMAT, "%.300s: plan %lld is damaged",
                     study->path, (long long)id);
}

/* The row that load_summary() asks for; false: something in it is not in order. */
static bool read_summary(sqlite3_stmt *query, struct pricer_plan_record *record)
{
    int bias = pricer_word_find(PRICER_WORDS_BIAS, pri_study_text(query, 1));
    int calibration =
        pricer_word_find(PRICER_WORDS_CALIBRATION, pri_study_text(query, 2));
    const char *how = pri_study_text(query, 3);
    int method = strcmp(how, "joint") == 0 /* of an earlier version */
                     ? PRICER_METHOD_GIVEN
                     : pricer_word_find(PRICER_WORDS_METHOD, how);
    int64_t rounds = sqlite3_column_int64(query, 5);
    double lambda = pri_study_column(query, 4);
    if (bias < 0 || calibration < 0 || method < 0 || rounds < 1 ||
        rounds > 1000000000 || !pri_is_amount(lambda))
        return false;
    *record = (struct pricer_plan_record){
        .settings = {.bias = (enum pricer_bias)bias,
                     .lambda = lambda,
                     .calibration = (enum pricer_calibration)calibration,
                     .rounds = rounds},
        .network.id = sqlite3_column_int64(query, 18),
        .method = (enum pricer_method)method,
        .tolerance = pri_study_column(query, 6),
        .objective = pri_study_column(query, 7),
        .bound = pri_study_column(query, 8),
        .gap = pri_study_column(query, 9),
        .iterations = sqlite3_column_int(query, 10),
        .variance = pri_study_column(query, 11),
        .piv = pri_study_column(query, 12),
        .tiv = pri_study_column(query, 13),
        .mse_paper = pri_study_column(query, 14),
        .mse_worst_case = pri_study_column(query, 15),
        .bias_l1 = pri_study_column(query, 16)};
    return true;
}

static enum pricer_status load_summary(const struct pricer_study *study,
                                       int64_t *id,
                                       struct pricer_plan_record *record,
                                       double *sum_multiplier,
                                       struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "SELECT plan, bias, calibration, method, lambda, rounds, tolerance,"
        " objective, bound, gap, iterations, variance, piv, tiv, mse_paper,"
        " mse_worst_case, bias_l1, sum_multiplier, network, credit FROM plan"
        " WHERE plan = ?1 OR ?1 = 0 ORDER BY plan DESC LIMIT 1",
        &query, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(query, 1, *id);
    int step = sqlite3_step(query);
    if (step == SQLITE_DONE) {
        status = pri_fault(fault, PRICER_VALUE,
                           *id == 0 ? "%.300s: no plan yet: 'pricer plan' "
                                      "makes one"
                                    : "%.300s: there is no such plan",
                           study->path);
    } else if (step != SQLITE_ROW) {
        status = pri_study_fault(study, fault);
    } else if (!read_summary(query, record)) {
        status = damaged(study, sqlite3_column_int64(query, 0), fault);
    } else if ((status = pri_study_credit(study, pri_study_text(query, 19),
                                          fault)) == PRICER_OK) {
        *id = sqlite3_column_int64(query, 0);
        *sum_multiplier = pri_study_column(query, 17);
    }
    sqlite3_finalize(query);
    return status;
}

static enum pricer_status load_nodes(const struct pricer_study *study,
                                     int64_t id, struct pricer_plan *plan,
                                     struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    int32_t count = 0;
    enum pricer_status status = pri_study_prepare(
        study,
        "SELECT node, weight, noise, row_multiplier, relay_multiplier"
        " FROM plan_node WHERE plan = ?",
        &query, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(query, 1, id);
    while (status == PRICER_OK && sqlite3_step(query) == SQLITE_ROW) {
        int64_t i = sqlite3_column_int64(query, 0);
        double weight = pri_study_column(query, 1);
        double noise = pri_study_column(query, 2);
        if (i < 0 || i >= plan->nodes || !pri_is_amount(weight) ||
            !pri_is_amount(noise)) {
            status = damaged(study, id, fault);
            break;
        }
        plan->self_weight[i] = weight;
        plan->self_noise[i] = noise;
        plan->row_multiplier[i] = pri_study_column(query, 3);
        plan->relay_multiplier[i] = pri_study_column(query, 4);
        count++;
    }
    sqlite3_finalize(query);
    if (status == PRICER_OK && count != plan->nodes)
        status = damaged(study, id, fault);
    return status;
}

static enum pricer_status load_links(const struct pricer_study *study,
                                     int64_t id, struct pricer_plan *plan,
                                     struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    enum pricer_status status = pri_study_prepare(
        study, "SELECT link, weight, noise FROM plan_link WHERE plan = ?",
        &query, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(query, 1, id);
    int step = sqlite3_step(query);
    for (; step == SQLITE_ROW; step = sqlite3_step(query)) {
        int64_t l = sqlite3_column_int64(query, 0);
        double weight = pri_study_column(query, 1);
        double noise = pri_study_column(query, 2);
        if (l < 0 || l >= plan->links || !pri_is_amount(weight) ||
            !pri_is_amount(noise)) {
            status = damaged(study, id, fault);
            break;
        }
        plan->weight[l] = weight;
        plan->noise[l] = noise;
    }
    /* A link without a row carries nothing, so an early end would go unseen. */
    if (status == PRICER_OK && step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    sqlite3_finalize(query);
    return status;
}

enum pricer_status pri_study_load_record(struct pricer_study *study, int64_t id,
                                         struct pricer_plan_record *record,
                                         struct pricer_fault *fault)
{
    double sum_multiplier;
    struct pricer_plan_record found;
    enum pricer_status status =
        load_summary(study, &id, &found, &sum_multiplier, fault);
    if (status == PRICER_OK)
        status = pri_study_network_record(study, found.network.id,
                                          &found.network, fault);
    if (status == PRICER_OK)
        status = pri_study_load_note(study, id, &found.made, found.name, fault);
    found.id = id;
    if (status == PRICER_OK)
        *record = found;
    return status;
}

enum pricer_status pricer_study_plan(struct pricer_study *study, int64_t id,
                                     struct pricer_network **network,
                                     struct pricer_plan **plan,
                                     struct pricer_plan_record *record,
                                     struct pricer_fault *fault)
{
    struct pricer_plan *made = NULL;
    struct pricer_network *net = NULL;
    struct pricer_plan_record found;
    double sum_multiplier = 0;
    enum pricer_status status =
        load_summary(study, &id, &found, &sum_multiplier, fault);
    if (status == PRICER_OK)
        status = pri_study_load_network(study, found.network.id, &net,
                                        &found.network, fault);
    if (status == PRICER_OK)
        status = pri_study_load_note(study, id, &found.made, found.name, fault);
    if (status == PRICER_OK)
        status = pricer_plan_new(net, &made, fault);
    if (status == PRICER_OK)
        status = load_nodes(study, id, made, fault);
    if (status == PRICER_OK)
        status = load_links(study, id, made, fault);
    if (status != PRICER_OK || network == NULL)
        pricer_network_free(net);
    if (status != PRICER_OK) {
        pricer_plan_free(made);
        return status;
    }
    made->sum_multiplier = sum_multiplier;
    found.id = id;
    *plan = made;
    if (network != NULL)
        *network = net;
    if (record != NULL)
        *record = found;
    return PRICER_OK;
}

enum pricer_status pricer_study_latest_plan(struct pricer_study *study,
                                            int64_t *id,
                                            struct pricer_fault *fault)
{
    return pri_study_count(
        study,
        "SELECT max(coalesce((SELECT max(plan) FROM plan), 0),"
        " coalesce((SELECT max(plan) FROM forward_plan), 0))",
        id, fault);
}
