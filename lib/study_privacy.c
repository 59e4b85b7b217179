/*
 * Statements about the privacy of a plan, into a study. A question asked again
 * replaces its old answers: the study holds each statement once.
 */
#include "study.h"

static void bind_question(sqlite3_stmt *statement, int64_t plan,
                          const struct pricer_question *question)
{
    int64_t rounds = question->rounds > 0 ? question->rounds : 1;
    sqlite3_bind_int64(statement, 1, plan);
    sqlite3_bind_text(statement, 2, pricer_observer_text(question->observer),
                      -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 3, pricer_protect_text(question->protect), -1,
                      SQLITE_STATIC);
    sqlite3_bind_text(statement, 4,
                      pricer_eavesdropper_text(question->eavesdropper), -1,
                      SQLITE_STATIC);
    sqlite3_bind_int64(statement, 5, rounds);
}

static enum pricer_status store(const struct pricer_study *study, int64_t plan,
                                const struct pricer_question *question,
                                const struct pricer_statement *statements,
                                int64_t count, struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status =
        pri_study_prepare(study,
                          "INSERT OR REPLACE INTO statement VALUES"
                          " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                          &insert, fault);
    for (int64_t k = 0; k < count && status == PRICER_OK; k++) {
        bind_question(insert, plan, question);
        sqlite3_bind_int(insert, 6, statements[k].node);
        sqlite3_bind_int(insert, 7, statements[k].at);
        sqlite3_bind_double(insert, 8, statements[k].delta);
        sqlite3_bind_double(insert, 9, statements[k].eps);
        sqlite3_bind_double(insert, 10, statements[k].eps_lower);
        sqlite3_bind_double(insert, 11, statements[k].floor);
        sqlite3_bind_int(insert, 12, statements[k].exact);
        status = pri_study_step(study, insert, fault);
    }
    sqlite3_finalize(insert);
    return status;
}

enum pricer_status pricer_study_add_statements(
    struct pricer_study *study, int64_t plan,
    const struct pricer_question *question,
    const struct pricer_statement *statements, int64_t count,
    struct pricer_fault *fault)
{
    enum pricer_status status = pri_study_begin(study, fault);
    if (status != PRICER_OK)
        return status;
    status = store(study, plan, question, statements, count, fault);
    return pri_study_end(study, status, fault);
}
