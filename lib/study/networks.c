/*
 * Networks beside the scenario's, into a study and out of it: the same nodes,
 * links and trust with other probabilities. The tables node and link hold the
 * scenario's; each other network has one row a node and link for its own, and
 * what comes out is checked as the scenario's is.
 */
#include "study.h"
#include "network/network.h"

#include <math.h>

/* ----------------------------------------------------------------- store -- */

static enum pricer_status store_record(
    const struct pricer_study *study,
    const struct pricer_network_record *record, struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "INSERT INTO network (origin, rounds, first_round, last_round)"
        " VALUES (?, ?, ?, ?)",
        &insert, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_text(insert, 1,
                      pricer_word(PRICER_WORDS_ORIGIN, record->origin), -1,
                      SQLITE_STATIC);
    sqlite3_bind_int64(insert, 2, record->rounds);
    sqlite3_bind_int64(insert, 3, record->first);
    sqlite3_bind_int64(insert, 4, record->last);
    status = pri_study_step(study, insert, fault);
    sqlite3_finalize(insert);
    return status;
}

/* Rows of (network, index, p and, for links, joint). */
static enum pricer_status store_rows(const struct pricer_study *study,
                                     const char *sql, int64_t id, int32_t count,
                                     const double *p, const double *joint,
                                     struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(study, sql, &insert, fault);
    for (int32_t k = 0; k < count && status == PRICER_OK; k++) {
        sqlite3_bind_int64(insert, 1, id);
        sqlite3_bind_int(insert, 2, k);
        sqlite3_bind_double(insert, 3, p[k]);
        if (joint != NULL)
            sqlite3_bind_double(insert, 4, joint[k]);
        status = pri_study_step(study, insert, fault);
    }
    sqlite3_finalize(insert);
    return status;
}

enum pricer_status pri_study_add_network(
    const struct pricer_study *study, const struct pricer_network *network,
    const struct pricer_network_record *record, int64_t *id,
    struct pricer_fault *fault)
{
    enum pricer_status status = store_record(study, record, fault);
    int64_t made = sqlite3_last_insert_rowid(study->database);
    if (status == PRICER_OK)
        status = store_rows(study, "INSERT INTO network_node VALUES (?, ?, ?)",
                            made, network->nodes, network->uplink, NULL, fault);
    if (status == PRICER_OK)
        status =
            store_rows(study, "INSERT INTO network_link VALUES (?, ?, ?, ?)",
                       made, network->links, network->p, network->joint, fault);
    if (status == PRICER_OK)
        *id = made;
    return status;
}

/* ------------------------------------------------------------------ load -- */

static enum pricer_status damaged(const struct pricer_study *study, int64_t id,
                                  struct pricer_fault *fault)
{
    return pri_fault(fault, PRICER_FORMAT, "%.300s: network %lld is damaged",
                     study->path, (long long)id);
}

enum pricer_status pri_study_network_record(
    const struct pricer_study *study, int64_t id,
    struct pricer_network_record *record, struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "SELECT origin, rounds, first_round, last_round FROM network"
        " WHERE network = ?",
        &query, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(query, 1, id);
    int step = sqlite3_step(query);
    int origin =
        pricer_word_find(PRICER_WORDS_ORIGIN, pri_study_text(query, 0));
    *record =
        (struct pricer_network_record){.id = id,
                                       .origin = (enum pricer_origin)origin,
                                       .rounds = sqlite3_column_int64(query, 1),
                                       .first = sqlite3_column_int64(query, 2),
                                       .last = sqlite3_column_int64(query, 3)};
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    else if (step == SQLITE_DONE || origin < 0 || record->rounds < 0 ||
             (origin == PRICER_ORIGIN_SCENARIO) != (id == 1))
        status = damaged(study, id, fault);
    sqlite3_finalize(query);
    return status;
}

/* Put the rows of a network in the place of the scenario's numbers: all of
 * them, in order. */
static enum pricer_status load_rows(const struct pricer_study *study,
                                    const char *sql, int64_t id, int32_t count,
                                    double *p, double *joint,
                                    struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    int32_t k = 0;
    int step = SQLITE_DONE;
    enum pricer_status status = pri_study_prepare(study, sql, &query, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(query, 1, id);
    while ((step = sqlite3_step(query)) == SQLITE_ROW && k < count &&
           sqlite3_column_int64(query, 0) == k) {
        p[k] = pri_study_column(query, 1);
        if (joint != NULL)
            joint[k] = pri_study_column(query, 2);
        k++;
    }
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    else if (step == SQLITE_ROW || k != count)
        status = damaged(study, id, fault);
    sqlite3_finalize(query);
    return status;
}

/* The rules that the scenario's network keeps. */
static enum pricer_status check_network(const struct pricer_study *study,
                                        const struct pricer_network *net,
                                        int64_t id, struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    for (int32_t i = 0; i < net->nodes && status == PRICER_OK; i++)
        status = pri_node_check(
            &(struct pricer_node){net->uplink[i], net->self_eps[i],
                                  net->self_delta[i], NAN, NAN},
            fault);
    for (int32_t l = 0; l < net->links && status == PRICER_OK; l++) {
        struct pricer_link link = {.from = net->from[l],
                                   .to = net->to[l],
                                   .p = net->p[l],
                                   .joint = net->joint[l],
                                   .eps = net->eps[l],
                                   .delta = net->delta[l]};
        status = pri_link_check(&link, net->nodes, fault);
        if (status == PRICER_OK && (!(link.p > 0) || isnan(link.joint)))
            return damaged(study, id, fault);
        if (status == PRICER_OK)
            status = pri_joint_check(net, l, fault);
    }
    if (status != PRICER_OK)
        pri_fault_locate(fault, study->path, 0);
    return status;
}

enum pricer_status pri_study_load_network(struct pricer_study *study,
                                          int64_t id,
                                          struct pricer_network **network,
                                          struct pricer_network_record *record,
                                          struct pricer_fault *fault)
{
    struct pricer_network *net = NULL;
    struct pricer_network_record found;
    enum pricer_status status =
        pri_study_network_record(study, id, &found, fault);
    if (status == PRICER_OK)
        status = pricer_study_network(study, &net, fault);
    if (status == PRICER_OK && found.origin != PRICER_ORIGIN_SCENARIO) {
        status = load_rows(study,
                           "SELECT node, p FROM network_node"
                           " WHERE network = ? ORDER BY node",
                           id, net->nodes, net->uplink, NULL, fault);
        if (status == PRICER_OK)
            status = load_rows(study,
                               "SELECT link, p, joint FROM network_link"
                               " WHERE network = ? ORDER BY link",
                               id, net->links, net->p, net->joint, fault);
        if (status == PRICER_OK)
            status = check_network(study, net, id, fault);
    }
    if (status != PRICER_OK) {
        pricer_network_free(net);
        return status;
    }
    *network = net;
    *record = found;
    return PRICER_OK;
}
