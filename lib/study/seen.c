/*
 * What the server remembers of the keys it has met, into a study and out of it:
 * the last round that each is known to have charged, and the session it has
 * shown. A ledger that is behind that was put back.
 */
#include "study.h"

#include <string.h>

/* Inside a transaction: what is known of a key only grows. */
static enum pricer_status note_one(const struct pricer_study *study,
                                   sqlite3_stmt *insert,
                                   const struct pricer_seen *seen,
                                   struct pricer_fault *fault)
{
    sqlite3_bind_text(insert, 1, seen->key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 2, seen->round);
    sqlite3_bind_int64(insert, 3, seen->session);
    return pri_study_step(study, insert, fault);
}

enum pricer_status pricer_study_note_seen(struct pricer_study *study,
                                          const struct pricer_seen *seen,
                                          int32_t count,
                                          struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_begin(study, fault);
    if (status != PRICER_OK)
        return status;
    status = pri_study_prepare(
        study,
        "INSERT INTO member_seen VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE"
        " SET round = max(round, excluded.round),"
        " session = max(session, excluded.session)",
        &insert, fault);
    for (int32_t k = 0; k < count && status == PRICER_OK; k++)
        status = note_one(study, insert, &seen[k], fault);
    sqlite3_finalize(insert);
    return pri_study_end(study, status, fault);
}

enum pricer_status pricer_study_seen(struct pricer_study *study,
                                     struct pricer_seen *seen, int32_t count,
                                     struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    enum pricer_status status = pri_study_prepare(
        study, "SELECT round, session FROM member_seen WHERE key = ?", &query,
        fault);
    for (int32_t k = 0; k < count && status == PRICER_OK; k++) {
        sqlite3_bind_text(query, 1, seen[k].key, -1, SQLITE_STATIC);
        int step = sqlite3_step(query);
        bool found = step == SQLITE_ROW;
        int64_t round = found ? sqlite3_column_int64(query, 0) : 0;
        int64_t session = found ? sqlite3_column_int64(query, 1) : 0;
        if (!found && step != SQLITE_DONE)
            status = pri_study_fault(study, fault);
        else if (round < 0 || session < 0 || round > INT64_C(1) << 61 ||
                 session > INT64_C(1) << 61)
            status = pri_study_damaged(study, "member_seen", k + 1, fault);
        seen[k].round = round;
        seen[k].session = session;
        sqlite3_reset(query);
    }
    sqlite3_finalize(query);
    return status;
}
