/*
 * Keys that follow keys, into a study and out of it: a node may have its next key
 * enrolled beside the one it has, with the old key's signature, and later lose the
 * old one. The signature stays, for neighbours that were away meanwhile. Whoever
 * uses it checks it.
 */
#include "study.h"

#include <stdlib.h>
#include <string.h>

enum pricer_status pricer_study_enrol_next(struct pricer_study *study,
                                           const struct pricer_successor *next,
                                           struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_begin(study, fault);
    if (status != PRICER_OK)
        return status;
    /* Only for the key that the node has, and not with a key of anyone. */
    status = pri_study_prepare(
        study,
        "INSERT OR REPLACE INTO member_next SELECT ?1, ?2, ?3, ?4 WHERE EXISTS"
        " (SELECT 1 FROM member WHERE node = ?1 AND key = ?2) AND NOT EXISTS"
        " (SELECT 1 FROM member WHERE key = ?3) AND NOT EXISTS"
        " (SELECT 1 FROM member_next WHERE key = ?3 AND node <> ?1)",
        &insert, fault);
    if (status == PRICER_OK) {
        sqlite3_bind_int(insert, 1, next->node);
        sqlite3_bind_text(insert, 2, next->old, -1, SQLITE_STATIC);
        sqlite3_bind_text(insert, 3, next->key, -1, SQLITE_STATIC);
        sqlite3_bind_blob(insert, 4, next->proof, sizeof next->proof,
                          SQLITE_STATIC);
        status = pri_study_step(study, insert, fault);
        if (status == PRICER_OK && sqlite3_changes(study->database) == 0)
            status = pri_fault(fault, PRICER_VALUE,
                               "node %d does not have the key that this one "
                               "follows, or it belongs to another member",
                               (int)next->node);
    }
    sqlite3_finalize(insert);
    return pri_study_end(study, status, fault);
}

enum pricer_status pricer_study_retire(struct pricer_study *study, int32_t node,
                                       struct pricer_fault *fault)
{
    static const char *const steps[] = {
        /* What is remembered of the old key holds for the new one. */
        "INSERT INTO member_seen SELECT n.key, s.round, s.session FROM"
        " member_next n JOIN member_seen s ON s.key = n.old WHERE n.node = ?1"
        " ON CONFLICT (key) DO UPDATE SET round = max(round, excluded.round),"
        " session = max(session, excluded.session)",
        "UPDATE member SET key = (SELECT key FROM member_next WHERE node = ?1)"
        " WHERE node = ?1 AND key = (SELECT old FROM member_next WHERE node ="
        " ?1)"};
    enum pricer_status status = pri_study_begin(study, fault);
    if (status != PRICER_OK)
        return status;
    for (int k = 0; k < 2 && status == PRICER_OK; k++) {
        sqlite3_stmt *statement = NULL;
        status = pri_study_prepare(study, steps[k], &statement, fault);
        if (status == PRICER_OK) {
            sqlite3_bind_int(statement, 1, node);
            status = pri_study_step(study, statement, fault);
        }
        sqlite3_finalize(statement);
    }
    if (status == PRICER_OK && sqlite3_changes(study->database) == 0)
        status = pri_fault(fault, PRICER_VALUE,
                           "node %d has no next key: 'pricer enrol --next' "
                           "first",
                           (int)node);
    return pri_study_end(study, status, fault);
}

/* The row that the query stands at; false: it is damaged. */
static bool read_row(sqlite3_stmt *query, struct pricer_successor *next)
{
    const char *old = pri_study_text(query, 1);
    const char *key = pri_study_text(query, 2);
    next->node = sqlite3_column_int(query, 0);
    if (strlen(old) != PRICER_KEY_TEXT - 1 ||
        strlen(key) != PRICER_KEY_TEXT - 1 || next->node < 0 ||
        sqlite3_column_type(query, 3) != SQLITE_BLOB ||
        sqlite3_column_bytes(query, 3) != sizeof next->proof)
        return false;
    strcpy(next->old, old);
    strcpy(next->key, key);
    memcpy(next->proof, sqlite3_column_blob(query, 3), sizeof next->proof);
    return true;
}

void pricer_successors_free(struct pricer_successor *successors)
{
    free(successors);
}

enum pricer_status pricer_study_successors(struct pricer_study *study,
                                           struct pricer_successor **successors,
                                           int32_t *count,
                                           struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    int64_t room = 0;
    int32_t found = 0;
    int step = SQLITE_DONE;
    struct pricer_successor *made = NULL;
    enum pricer_status status = pri_study_count(
        study, "SELECT count(*) FROM member_next", &room, fault);
    if (status == PRICER_OK)
        status = pri_study_prepare(
            study,
            "SELECT node, old, key, proof FROM member_next ORDER BY node",
            &query, fault);
    if (status == PRICER_OK &&
        (made = pri_alloc(room + 1, sizeof *made)) == NULL)
        status = PRICER_MEMORY;
    while (status == PRICER_OK && found < room &&
           (step = sqlite3_step(query)) == SQLITE_ROW)
        if (!read_row(query, &made[found++]))
            status = pri_study_damaged(study, "member_next", found, fault);
    if (status == PRICER_OK && step != SQLITE_ROW && step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    sqlite3_finalize(query);
    if (status != PRICER_OK) {
        free(made);
        return status;
    }
    *successors = made;
    *count = found;
    return PRICER_OK;
}
