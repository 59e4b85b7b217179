/*
 * Rounds that were run, into a study and, taken together, out of it. Numbers
 * are never used twice: a round's number is in the study before anyone hears of
 * it.
 */
#include "study.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Inside a transaction: the next number, noted. */
static enum pricer_status note_next(const struct pricer_study *study,
                                    int64_t least, int64_t *round,
                                    struct pricer_fault *fault)
{
    int64_t opened = 0, stored = 0;
    enum pricer_status status = pri_study_count(
        study, "SELECT coalesce(max(round), 0) FROM round_opened", &opened,
        fault);
    if (status == PRICER_OK)
        status = pri_study_count(
            study, "SELECT coalesce(max(round), 0) FROM round", &stored, fault);
    if (status != PRICER_OK)
        return status;
    int64_t next = (opened > stored ? opened : stored) + 1;
    next = next < least ? least : next;
    if (next < 1 || next > INT64_C(1) << 60)
        return pri_fault(fault, PRICER_FORMAT,
                         "%.300s: the numbers of rounds are damaged",
                         study->path);
    char sql[96];
    sqlite3_snprintf(sizeof sql, sql,
                     "INSERT OR REPLACE INTO round_opened VALUES (1, %lld)",
                     (long long)next);
    status = pri_study_run(study, sql, fault);
    if (status == PRICER_OK)
        *round = next;
    return status;
}

enum pricer_status pricer_study_open_round(struct pricer_study *study,
                                           int64_t least, int64_t *round,
                                           struct pricer_fault *fault)
{
    int64_t next = 0;
    enum pricer_status status = pri_study_begin(study, fault);
    if (status != PRICER_OK)
        return status;
    status = note_next(study, least, &next, fault);
    status = pri_study_end(study, status, fault);
    if (status == PRICER_OK)
        *round = next;
    return status;
}

/* The estimate as little-endian binary64, which NumPy reads as '<f8'. */
static enum pricer_status store_summary(
    const struct pricer_study *study, const struct pricer_round_record *record,
    struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    uint64_t *words = pri_alloc(record->dimension, sizeof *words);
    if (words == NULL)
        return PRICER_MEMORY;
    for (int64_t k = 0; k < record->dimension; k++) {
        memcpy(&words[k], &record->estimate[k], sizeof *words);
        words[k] = htole64(words[k]);
    }
    int64_t arrived = 0;
    for (int32_t i = 0; i < record->nodes; i++)
        arrived += record->uplink[i] == 1;
    enum pricer_status status = pri_study_prepare(
        study, "INSERT INTO round VALUES (?, ?, ?, ?, ?)", &insert, fault);
    if (status == PRICER_OK) {
        sqlite3_bind_int64(insert, 1, record->round);
        sqlite3_bind_int64(insert, 2, record->plan);
        sqlite3_bind_int64(insert, 3, arrived);
        pri_study_bind(insert, 4, record->error);
        sqlite3_bind_blob64(insert, 5, words, 8 * (uint64_t)record->dimension,
                            SQLITE_STATIC);
        status = pri_study_step(study, insert, fault);
    }
    sqlite3_finalize(insert);
    free(words);
    return status;
}

/* One row for each entry that is known. */
static enum pricer_status store_arrivals(const struct pricer_study *study,
                                         const char *sql, int64_t round,
                                         const int8_t *arrived, int32_t count,
                                         struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(study, sql, &insert, fault);
    for (int32_t k = 0; k < count && status == PRICER_OK; k++) {
        if (arrived[k] < 0)
            continue;
        sqlite3_bind_int64(insert, 1, round);
        sqlite3_bind_int(insert, 2, k);
        sqlite3_bind_int(insert, 3, arrived[k]);
        status = pri_study_step(study, insert, fault);
    }
    sqlite3_finalize(insert);
    return status;
}

static enum pricer_status store_dropped(
    const struct pricer_study *study, const struct pricer_round_record *record,
    struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(
        study, "INSERT INTO dropped VALUES (?, ?, ?)", &insert, fault);
    for (int k = 0; k < PRICER_DROP_KINDS && status == PRICER_OK; k++) {
        if (record->dropped[k] == 0)
            continue;
        sqlite3_bind_int64(insert, 1, record->round);
        sqlite3_bind_text(insert, 2, pricer_word(PRICER_WORDS_DROP, k), -1,
                          SQLITE_STATIC);
        sqlite3_bind_int64(insert, 3, record->dropped[k]);
        status = pri_study_step(study, insert, fault);
    }
    sqlite3_finalize(insert);
    return status;
}

enum pricer_status pricer_study_add_round(
    struct pricer_study *study, const struct pricer_round_record *record,
    int64_t least, int64_t *next, struct pricer_fault *fault)
{
    int64_t after = 0;
    enum pricer_status status = pri_study_begin(study, fault);
    if (status != PRICER_OK)
        return status;
    status = store_summary(study, record, fault);
    if (status == PRICER_OK)
        status =
            store_arrivals(study, "INSERT INTO arrival VALUES (?, ?, ?)",
                           record->round, record->uplink, record->nodes, fault);
    if (status == PRICER_OK)
        status =
            store_arrivals(study, "INSERT INTO delivery VALUES (?, ?, ?)",
                           record->round, record->link, record->links, fault);
    if (status == PRICER_OK)
        status = store_dropped(study, record, fault);
    if (status == PRICER_OK && next != NULL)
        status = note_next(study, least, &after, fault);
    status = pri_study_end(study, status, fault);
    if (status == PRICER_OK && next != NULL)
        *next = after;
    return status;
}

/* ------------------------------------------------------------------ load -- */

/* What has been added up over rounds. */
struct sums {
    int64_t rounds;
    int64_t measured;
    double error;
    double squares; /* of the errors */
    double arrived;
};

/* Add the row that the query stands at; false: it is damaged. */
static bool add_round(sqlite3_stmt *query, struct sums *sums)
{
    bool known = sqlite3_column_type(query, 0) != SQLITE_NULL;
    double error = sqlite3_column_double(query, 0);
    double arrived = sqlite3_column_double(query, 1);
    if ((known && !(pri_study_is_number(query, 0) && error >= 0)) ||
        !(pri_study_is_number(query, 1) && arrived >= 0))
        return false;
    sums->rounds++;
    sums->arrived += arrived;
    if (known) {
        sums->measured++;
        sums->error += error;
        sums->squares += error * error;
    }
    return true;
}

static struct pricer_rounds_summary summarise(const struct sums *sums)
{
    double n = (double)sums->measured, mse = sums->error / n;
    double variance = fmax(0, sums->squares / n - mse * mse);
    return (struct pricer_rounds_summary){
        .rounds = sums->rounds,
        .measured = sums->measured,
        .mse = n > 0 ? mse : NAN,
        .mse_stderr = n > 1 ? sqrt(variance / (n - 1)) : NAN,
        .arrived =
            sums->rounds > 0 ? sums->arrived / (double)sums->rounds : NAN};
}

/* Sum up the rounds that a query hands out; it has one parameter. */
static enum pricer_status sum_up(const struct pricer_study *study,
                                 const char *sql, int64_t parameter,
                                 struct pricer_rounds_summary *summary,
                                 struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    struct sums sums = {0};
    enum pricer_status status = pri_study_prepare(study, sql, &query, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(query, 1, parameter);
    int step = sqlite3_step(query);
    for (; step == SQLITE_ROW && status == PRICER_OK;
         step = sqlite3_step(query))
        if (!add_round(query, &sums))
            status = pri_study_damaged(study, "round", sums.rounds, fault);
    if (status == PRICER_OK && step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    sqlite3_finalize(query);
    if (status == PRICER_OK)
        *summary = summarise(&sums);
    return status;
}

enum pricer_status pricer_study_rounds(struct pricer_study *study, int64_t most,
                                       struct pricer_rounds_summary *summary,
                                       struct pricer_fault *fault)
{
    return sum_up(
        study, "SELECT error, arrived FROM round ORDER BY round DESC LIMIT ?",
        most > 0 ? most : -1, summary, fault);
}

enum pricer_status pricer_study_plan_rounds(
    struct pricer_study *study, int64_t plan,
    struct pricer_rounds_summary *summary, struct pricer_fault *fault)
{
    return sum_up(study,
                  "SELECT error, arrived FROM round WHERE plan = ?"
                  " ORDER BY round DESC",
                  plan, summary, fault);
}
