/*
 * Privacy statements, into a study.
 */
#include "study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The members of a coalition as "1,4,server"; NULL: no memory. */
static char *coalition_text(const struct pricer_question *question)
{
    size_t room = 12 * (size_t)question->member_count + 8, used = 0;
    char *text = malloc(room);
    if (text == NULL)
        return NULL;
    text[0] = '\0';
    for (int32_t k = 0; k < question->member_count; k++)
        used += (size_t)snprintf(text + used, room - used, "%s%d",
                                 k > 0 ? "," : "", (int)question->members[k]);
    if (question->with_server)
        snprintf(text + used, room - used, "%sserver", used > 0 ? "," : "");
    return text;
}

static enum pricer_status store_question(const struct pricer_study *study,
                                         int64_t plan,
                                         const struct pricer_question *question,
                                         struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    char *coalition = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "INSERT INTO privacy (plan, observer, protect, eavesdropper, rounds,"
        " coalition) VALUES (?, ?, ?, ?, ?, ?)",
        &insert, fault);
    if (status != PRICER_OK)
        return status;
    if (question->observer == PRICER_OBSERVER_COALITION)
        coalition = coalition_text(question);
    sqlite3_bind_int64(insert, 1, plan);
    sqlite3_bind_text(insert, 2,
                      pricer_word(PRICER_WORDS_OBSERVER, question->observer),
                      -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 3,
                      pricer_word(PRICER_WORDS_PROTECT, question->protect), -1,
                      SQLITE_STATIC);
    sqlite3_bind_text(
        insert, 4,
        pricer_word(PRICER_WORDS_EAVESDROPPER, question->eavesdropper), -1,
        SQLITE_STATIC);
    sqlite3_bind_int64(insert, 5, question->rounds > 0 ? question->rounds : 1);
    if (coalition != NULL)
        sqlite3_bind_text(insert, 6, coalition, -1, SQLITE_TRANSIENT);
    free(coalition);
    status = pri_study_step(study, insert, fault);
    sqlite3_finalize(insert);
    return status;
}

static enum pricer_status store_statements(
    const struct pricer_study *study, int64_t id,
    const struct pricer_privacy_record *record, struct pricer_fault *fault)
{
    const struct pricer_paper_bound *bounds = record->bounds;
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "INSERT INTO privacy_statement VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &insert, fault);
    for (int64_t k = 0; k < record->count && status == PRICER_OK; k++) {
        const struct pricer_statement *s = &record->statements[k];
        const double numbers[] = {s->delta, s->eps, s->eps_lower, s->floor};
        sqlite3_bind_int64(insert, 1, id);
        sqlite3_bind_int(insert, 2, s->node);
        if (s->at < 0)
            sqlite3_bind_null(insert, 3);
        else
            sqlite3_bind_int(insert, 3, s->at);
        for (int c = 0; c < 4; c++)
            pri_study_bind(insert, 4 + c, numbers[c]);
        sqlite3_bind_int(insert, 8, s->exact);
        pri_study_bind(insert, 9, bounds == NULL ? NAN : bounds[k].printed);
        pri_study_bind(insert, 10, bounds == NULL ? NAN : bounds[k].corrected);
        status = pri_study_step(study, insert, fault);
    }
    sqlite3_finalize(insert);
    return status;
}

enum pricer_status pricer_study_add_statements(
    struct pricer_study *study, const struct pricer_privacy_record *record,
    int64_t *id, struct pricer_fault *fault)
{
    enum pricer_status status = pri_study_begin(study, fault);
    if (status != PRICER_OK)
        return status;
    status = store_question(study, record->plan, record->question, fault);
    int64_t stored = sqlite3_last_insert_rowid(study->database);
    if (status == PRICER_OK)
        status = store_statements(study, stored, record, fault);
    status = pri_study_end(study, status, fault);
    if (status == PRICER_OK && id != NULL)
        *id = stored;
    return status;
}
