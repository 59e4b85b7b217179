/*
 * When a plan was made and how it is called, into a study and out of it.
 */
#include "study.h"

#include <stdio.h>
#include <string.h>

enum pricer_status pri_study_check_name(const char *name,
                                        struct pricer_fault *fault)
{
    if (pri_is_name(name))
        return PRICER_OK;
    return pri_fault(fault, PRICER_VALUE,
                     "'%.80s' is no name: letters, digits, '-', '_' and '.', "
                     "a letter or digit first, not digits alone, fewer than "
                     "%d of them",
                     name, PRICER_NAME_TEXT);
}

enum pricer_status pri_study_add_note(const struct pricer_study *study,
                                      int64_t plan, int64_t made,
                                      const char *name,
                                      struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    bool named = name[0] != '\0';
    if (!named && made == 0)
        return PRICER_OK;
    enum pricer_status status =
        named ? pri_study_check_name(name, fault) : PRICER_OK;
    if (status == PRICER_OK)
        status = pri_study_prepare(study,
                                   "INSERT INTO plan_note (plan, made, name)"
                                   " VALUES (?, ?, ?)",
                                   &insert, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(insert, 1, plan);
    if (made != 0)
        sqlite3_bind_int64(insert, 2, made);
    if (named)
        sqlite3_bind_text(insert, 3, name, -1, SQLITE_STATIC);
    status = pri_study_step(study, insert, fault);
    sqlite3_finalize(insert);
    return status;
}

enum pricer_status pri_study_load_note(const struct pricer_study *study,
                                       int64_t plan, int64_t *made,
                                       char name[PRICER_NAME_TEXT],
                                       struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    enum pricer_status status = pri_study_prepare(
        study, "SELECT made, name FROM plan_note WHERE plan = ?", &query,
        fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(query, 1, plan);
    int step = sqlite3_step(query);
    if (step == SQLITE_ROW) {
        const char *found = pri_study_text(query, 1);
        *made = sqlite3_column_int64(query, 0);
        if (found[0] != '\0' && !pri_is_name(found))
            status = pri_study_damaged(study, "plan_note", plan, fault);
        else
            snprintf(name, PRICER_NAME_TEXT, "%s", found);
    } else if (step != SQLITE_DONE) {
        status = pri_study_fault(study, fault);
    }
    sqlite3_finalize(query);
    return status;
}
