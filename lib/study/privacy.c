/*
 * Privacy statements, into a study and, taken together, out of it.
 */
#include "study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------- store -- */

/* The members of a coalition as "1,4,server", and then "relays=shares" where
 * relays see every share; NULL: no memory. */
static char *coalition_text(const struct pricer_question *question)
{
    size_t room = 12 * (size_t)question->member_count + 64, used = 0;
    bool pooled = question->observer == PRICER_OBSERVER_COALITION;
    bool relays = pooled || question->observer == PRICER_OBSERVER_RELAY;
    char *text = malloc(room);
    if (text == NULL)
        return NULL;
    text[0] = '\0';
    for (int32_t k = 0; pooled && k < question->member_count; k++)
        used += (size_t)snprintf(text + used, room - used, "%s%d",
                                 k > 0 ? "," : "", (int)question->members[k]);
    if (pooled && question->with_server)
        used += (size_t)snprintf(text + used, room - used, "%sserver",
                                 used > 0 ? "," : "");
    if (pooled && question->with_reader)
        used += (size_t)snprintf(text + used, room - used, "%sreader",
                                 used > 0 ? "," : "");
    if (relays && question->relays != PRICER_RELAYS_SUMS)
        snprintf(text + used, room - used, "%srelays=%s", used > 0 ? " " : "",
                 pricer_word(PRICER_WORDS_RELAYS, question->relays));
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
        " coalition) VALUES (" PRI_PLAN_NUMBER ", ?, ?, ?, ?, ?)",
        &insert, fault);
    if (status != PRICER_OK)
        return status;
    coalition = coalition_text(question);
    if (coalition == NULL) {
        sqlite3_finalize(insert);
        return PRICER_MEMORY;
    }
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
    if (coalition[0] != '\0')
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

/* ------------------------------------------------------------------ load -- */

void pricer_privacy_summaries_free(struct pricer_privacy_summary *summaries,
                                   int32_t count)
{
    for (int32_t k = 0; k < count; k++)
        free(summaries[k].coalition);
    free(summaries);
}

/*
 * Of each question about a plan the latest answer. A text sorts above every
 * number, so that the maximum shows whether one is among the eps; an eps that
 * is missing shows in the counts.
 */
static const char summaries_sql[] =
    "SELECT q.observer, q.coalition, q.protect, q.rounds, s.delta, count(*),"
    " min(s.epsilon), avg(s.epsilon), max(s.epsilon), count(s.epsilon),"
    " q.eavesdropper"
    " FROM privacy_statement s JOIN privacy q USING (privacy)"
    " WHERE q.privacy IN (SELECT max(privacy) FROM privacy GROUP BY plan,"
    " observer, protect, eavesdropper, rounds, coalition) AND q.plan = ?"
    " GROUP BY q.observer || coalesce(' ' || q.coalition, ''), q.protect,"
    " q.eavesdropper, s.delta, q.rounds ORDER BY min(q.privacy), s.delta";

/* One row of the query; false: a verb cannot have written it. The coalition's
 * text still belongs to the query. */
static bool read_summary(sqlite3_stmt *query,
                         struct pricer_privacy_summary *summary)
{
    int observer =
        pricer_word_find(PRICER_WORDS_OBSERVER, pri_study_text(query, 0));
    int protect =
        pricer_word_find(PRICER_WORDS_PROTECT, pri_study_text(query, 2));
    int eavesdropper =
        pricer_word_find(PRICER_WORDS_EAVESDROPPER, pri_study_text(query, 10));
    for (int c = 3; c <= 8; c++)
        if (!pri_study_is_number(query, c))
            return false;
    *summary = (struct pricer_privacy_summary){
        .observer = (enum pricer_observer)observer,
        .protect = (enum pricer_protect)protect,
        .eavesdropper = (enum pricer_eavesdropper)eavesdropper,
        .rounds = sqlite3_column_int64(query, 3),
        .delta = sqlite3_column_double(query, 4),
        .statements = sqlite3_column_int64(query, 5),
        .eps_least = sqlite3_column_double(query, 6),
        .eps_mean = sqlite3_column_double(query, 7),
        .eps_most = sqlite3_column_double(query, 8)};
    return observer >= 0 && protect >= 0 && eavesdropper >= 0 &&
           summary->rounds >= 1 && summary->delta >= 0 && summary->delta <= 1 &&
           summary->eps_least >= 0 &&
           sqlite3_column_int64(query, 9) == summary->statements;
}

/* Add a row to an array that grows by half. */
static enum pricer_status keep_summary(
    sqlite3_stmt *query, const struct pricer_privacy_summary *summary,
    struct pricer_privacy_summary **summaries, int32_t *count, int32_t *room)
{
    if (*count == *room) {
        int32_t more = *room + *room / 2 + 16;
        void *moved = realloc(*summaries, (size_t)more * sizeof **summaries);
        if (moved == NULL)
            return PRICER_MEMORY;
        *summaries = moved;
        *room = more;
    }
    (*summaries)[*count] = *summary;
    if (sqlite3_column_type(query, 1) != SQLITE_NULL) {
        char *coalition = strdup(pri_study_text(query, 1));
        if (coalition == NULL)
            return PRICER_MEMORY;
        (*summaries)[*count].coalition = coalition;
    }
    ++*count;
    return PRICER_OK;
}

enum pricer_status pricer_study_privacy(
    struct pricer_study *study, int64_t plan,
    struct pricer_privacy_summary **summaries, int32_t *count,
    struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    struct pricer_privacy_summary *made = NULL, one;
    int32_t found = 0, room = 0;
    enum pricer_status status =
        pri_study_prepare(study, summaries_sql, &query, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(query, 1, plan);
    int step = sqlite3_step(query);
    for (; step == SQLITE_ROW && status == PRICER_OK && found < INT32_MAX / 2;
         step = sqlite3_step(query))
        status = read_summary(query, &one)
                     ? keep_summary(query, &one, &made, &found, &room)
                     : pri_fault(fault, PRICER_FORMAT,
                                 "%.300s: the privacy statements about plan "
                                 "%lld are damaged",
                                 study->path, (long long)plan);
    if (status == PRICER_OK && step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    sqlite3_finalize(query);
    if (status != PRICER_OK) {
        pricer_privacy_summaries_free(made, found);
        return status;
    }
    *summaries = made;
    *count = found;
    return PRICER_OK;
}
