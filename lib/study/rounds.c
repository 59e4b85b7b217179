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

enum pricer_status pricer_study_last_round(struct pricer_study *study,
                                           int64_t *round,
                                           struct pricer_fault *fault)
{
    int64_t opened = 0, stored = 0;
    enum pricer_status status = pri_study_count(
        study, "SELECT coalesce(max(round), 0) FROM round_opened", &opened,
        fault);
    if (status == PRICER_OK)
        status = pri_study_count(
            study, "SELECT coalesce(max(round), 0) FROM round", &stored, fault);
    if (status == PRICER_OK)
        *round = opened > stored ? opened : stored;
    return status;
}

/* Inside a transaction: the next number, noted. */
static enum pricer_status note_next(struct pricer_study *study, int64_t least,
                                    int64_t *round, struct pricer_fault *fault)
{
    int64_t last = 0;
    enum pricer_status status = pricer_study_last_round(study, &last, fault);
    if (status != PRICER_OK)
        return status;
    int64_t next = last + 1;
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

/* The estimate as little-endian binary64, which NumPy reads as '<f8'; NULL
 * where there is none. */
static enum pricer_status bind_estimate(
    sqlite3_stmt *insert, int column, const struct pricer_round_record *record,
    uint64_t **words)
{
    if (record->estimate == NULL)
        return PRICER_OK;
    *words = pri_alloc(record->dimension, sizeof **words);
    if (*words == NULL)
        return PRICER_MEMORY;
    for (int64_t k = 0; k < record->dimension; k++) {
        uint64_t word;
        memcpy(&word, &record->estimate[k], sizeof word);
        (*words)[k] = htole64(word);
    }
    sqlite3_bind_blob64(insert, column, *words, 8 * (uint64_t)record->dimension,
                        SQLITE_STATIC);
    return PRICER_OK;
}

static int32_t attempts_of(const struct pricer_round_record *record)
{
    return record->attempts > 0 ? record->attempts : 1;
}

static enum pricer_status store_summary(
    struct pricer_study *study, const struct pricer_round_record *record,
    struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    uint64_t *words = NULL;
    int64_t arrived = 0;
    for (int64_t i = 0; record->hops != NULL && i < record->nodes; i++)
        arrived += record->hops[i] >= 0;
    for (int64_t i = 0; record->hops == NULL &&
                        i < (int64_t)record->nodes * attempts_of(record);
         i++)
        arrived += record->uplink[i] == 1;
    enum pricer_status status = pri_study_keep(
        study,
        "INSERT INTO round (round, plan, arrived, contributors, weight, error,"
        " estimate, decoder, bar, attempts)"
        " VALUES (?, " PRI_PLAN_NUMBER ", ?, ?, ?, ?, ?, ?, ?, ?)",
        &insert, fault);
    if (status == PRICER_OK)
        status = bind_estimate(insert, 7, record, &words);
    if (status == PRICER_OK) {
        sqlite3_bind_int64(insert, 1, record->round);
        sqlite3_bind_int64(insert, 2, record->plan);
        sqlite3_bind_int64(insert, 3, arrived);
        sqlite3_bind_int(insert, 4, record->contributors);
        sqlite3_bind_double(insert, 5, record->weight);
        pri_study_bind(insert, 6, record->estimate ? record->error : NAN);
        sqlite3_bind_text(insert, 8,
                          pricer_word(PRICER_WORDS_DECODE, (int)record->decode),
                          -1, SQLITE_STATIC);
        pri_study_bind(insert, 9, record->estimate ? record->bar : NAN);
        sqlite3_bind_int(insert, 10, attempts_of(record));
        status = pri_study_step(study, insert, fault);
    }
    free(words);
    return status;
}

enum { ROWS = 64 }; /* of a statement: half the time of one by one */

/* Rows that are added to a table: a round, which they share, and three numbers
 * each. */
struct rows {
    struct pricer_study *study;
    const char *table;
    int64_t round, left; /* rows that are still to come */
    sqlite3_stmt *insert;
    int prepared, filled; /* rows of the statement; of them bound */
};

/* A statement that adds as many rows as fit. */
static enum pricer_status keep_rows(struct rows *rows,
                                    struct pricer_fault *fault)
{
    static const char row[] = "(?1, ?, ?, ?), ";
    char sql[64 + ROWS * sizeof row];
    int count = rows->left < ROWS ? (int)rows->left : ROWS;
    if (count == rows->prepared)
        return PRICER_OK;
    sqlite3_snprintf(64, sql, "INSERT INTO %s VALUES ", rows->table);
    char *end = sql + strlen(sql);
    for (int k = 0; k < count; k++, end += sizeof row - 1)
        memcpy(end, row, sizeof row);
    end[-2] = '\0'; /* the last comma */
    enum pricer_status status =
        pri_study_keep(rows->study, sql, &rows->insert, fault);
    if (status == PRICER_OK) {
        sqlite3_bind_int64(rows->insert, 1, rows->round);
        rows->prepared = count;
    }
    return status;
}

static enum pricer_status add_row(struct rows *rows, int64_t first,
                                  int64_t second, int64_t third,
                                  struct pricer_fault *fault)
{
    enum pricer_status status =
        rows->filled == 0 ? keep_rows(rows, fault) : PRICER_OK;
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(rows->insert, 3 * rows->filled + 2, first);
    sqlite3_bind_int64(rows->insert, 3 * rows->filled + 3, second);
    sqlite3_bind_int64(rows->insert, 3 * rows->filled + 4, third);
    if (++rows->filled < rows->prepared)
        return PRICER_OK;
    rows->left -= rows->filled;
    rows->filled = 0;
    return pri_study_step(rows->study, rows->insert, fault);
}

/* One row for each entry that is known; `count` in an attempt. */
static enum pricer_status store_arrivals(
    struct pricer_study *study, const char *table,
    const struct pricer_round_record *record, const int8_t *arrived,
    int32_t count, struct pricer_fault *fault)
{
    struct rows rows = {study, table, record->round, 0, NULL, 0, 0};
    enum pricer_status status = PRICER_OK;
    int64_t all = (int64_t)count * attempts_of(record);
    for (int64_t k = 0; k < all; k++)
        rows.left += arrived[k] >= 0;
    for (int64_t k = 0; k < all && status == PRICER_OK; k++)
        if (arrived[k] >= 0)
            status = add_row(&rows, k / count, k % count, arrived[k], fault);
    return status;
}

/* One row for each release that arrived. */
static enum pricer_status store_releases(
    struct pricer_study *study, const struct pricer_round_record *record,
    struct pricer_fault *fault)
{
    struct rows rows = {study, "round_arrival", record->round, 0, NULL, 0, 0};
    enum pricer_status status = PRICER_OK;
    for (int32_t i = 0; i < record->nodes; i++)
        rows.left += record->hops[i] >= 0;
    for (int32_t i = 0; i < record->nodes && status == PRICER_OK; i++)
        if (record->hops[i] >= 0)
            status =
                add_row(&rows, i, record->hops[i], record->arrival[i], fault);
    return status;
}

/* A row for each of `count` parts that a node kept back, from 0 on: numbers of nodes
 * or of links, as the statement takes them, and why, or -1. */
static enum pricer_status store_kept_back(struct pricer_study *study,
                                          const char *sql, int64_t round,
                                          const int8_t *why, int32_t count,
                                          struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_keep(study, sql, &insert, fault);
    for (int32_t k = 0; why != NULL && k < count && status == PRICER_OK; k++) {
        if (why[k] < 0)
            continue;
        sqlite3_bind_int64(insert, 1, round);
        sqlite3_bind_int(insert, 2, k);
        sqlite3_bind_text(insert, 3, pricer_word(PRICER_WORDS_WITHHELD, why[k]),
                          -1, SQLITE_STATIC);
        status = pri_study_step(study, insert, fault);
    }
    return status;
}

/* A share under its sender and link, an own part under link -1. */
static enum pricer_status store_withheld(
    struct pricer_study *study, const struct pricer_round_record *record,
    struct pricer_fault *fault)
{
    enum pricer_status status =
        store_kept_back(study, "INSERT INTO withheld VALUES (?1, ?2, -1, ?3)",
                        record->round, record->own, record->nodes, fault);
    if (status != PRICER_OK)
        return status;
    return store_kept_back(
        study,
        "INSERT INTO withheld SELECT ?1, from_node, ?2, ?3 FROM link"
        " WHERE link = ?2",
        record->round, record->withheld, record->links, fault);
}

/* All that is known of who was heard. */
static enum pricer_status store_heard(struct pricer_study *study,
                                      const struct pricer_round_record *record,
                                      struct pricer_fault *fault)
{
    if (record->hops != NULL)
        return store_releases(study, record, fault);
    enum pricer_status status = store_arrivals(
        study, "arrival", record, record->uplink, record->nodes, fault);
    if (status == PRICER_OK)
        status = store_arrivals(study, "delivery", record, record->link,
                                record->links, fault);
    if (status == PRICER_OK)
        status = store_withheld(study, record, fault);
    return status;
}

static enum pricer_status store_dropped(
    struct pricer_study *study, const struct pricer_round_record *record,
    struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_keep(
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
        status = store_heard(study, record, fault);
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
    int64_t estimates;
    double contributors;
    double weight;
    int64_t barred; /* rounds with a bar */
    double bar;
};

/* A count or a part that is not negative. */
static bool is_amount(sqlite3_stmt *query, int column)
{
    return pri_study_is_number(query, column) &&
           sqlite3_column_double(query, column) >= 0;
}

/* Add the row that the query stands at; false: it is damaged. */
static bool add_round(sqlite3_stmt *query, struct sums *sums)
{
    bool known = sqlite3_column_type(query, 0) != SQLITE_NULL;
    bool barred = sqlite3_column_type(query, 5) != SQLITE_NULL;
    double error = sqlite3_column_double(query, 0);
    if ((known && !is_amount(query, 0)) || !is_amount(query, 1) ||
        !is_amount(query, 2) || !is_amount(query, 3) ||
        (barred && !is_amount(query, 5)))
        return false;
    sums->rounds++;
    sums->arrived += sqlite3_column_double(query, 1);
    sums->contributors += sqlite3_column_double(query, 2);
    sums->weight += sqlite3_column_double(query, 3);
    sums->estimates += sqlite3_column_int(query, 4) == 1;
    if (barred) {
        sums->barred++;
        sums->bar += sqlite3_column_double(query, 5);
    }
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
    double rounds = sums->rounds > 0 ? (double)sums->rounds : NAN;
    return (struct pricer_rounds_summary){
        .rounds = sums->rounds,
        .measured = sums->measured,
        .mse = n > 0 ? mse : NAN,
        .mse_stderr = n > 1 ? sqrt(variance / (n - 1)) : NAN,
        .arrived = sums->arrived / rounds,
        .estimates = sums->estimates,
        .contributors = sums->contributors / rounds,
        .weight = sums->weight / rounds,
        .bar = sums->barred > 0 ? sums->bar / (double)sums->barred : NAN};
}

/* The columns that are summed up. */
#define SUMMED "error, arrived, contributors, weight, estimate IS NOT NULL, bar"

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
    return sum_up(study,
                  "SELECT " SUMMED " FROM round ORDER BY round DESC LIMIT ?",
                  most > 0 ? most : -1, summary, fault);
}

enum pricer_status pricer_study_plan_rounds(
    struct pricer_study *study, int64_t plan,
    struct pricer_rounds_summary *summary, struct pricer_fault *fault)
{
    return sum_up(study,
                  "SELECT " SUMMED " FROM round WHERE plan = ?"
                  " ORDER BY round DESC",
                  plan, summary, fault);
}

/* A stored vector, if all of it is finite. */
static bool take_vector(const void *blob, int64_t dimension, double *vector)
{
    const char *bytes = blob;
    for (int64_t k = 0; k < dimension; k++) {
        uint64_t word;
        memcpy(&word, bytes + 8 * k, sizeof word);
        word = le64toh(word);
        memcpy(&vector[k], &word, sizeof word);
        if (!isfinite(vector[k]))
            return false;
    }
    return true;
}

enum pricer_status pricer_study_estimate(struct pricer_study *study,
                                         int64_t dimension, int64_t *round,
                                         double *estimate,
                                         struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    double *found = pri_alloc(dimension, sizeof *found);
    if (found == NULL)
        return PRICER_MEMORY;
    enum pricer_status status = pri_study_prepare(
        study,
        "SELECT round, estimate FROM round WHERE estimate IS NOT NULL ORDER BY"
        " round DESC LIMIT 1",
        &query, fault);
    int step = status == PRICER_OK ? sqlite3_step(query) : SQLITE_DONE;
    bool there = step == SQLITE_ROW &&
                 sqlite3_column_bytes(query, 1) == 8 * dimension &&
                 take_vector(sqlite3_column_blob(query, 1), dimension, found);
    if (status == PRICER_OK && step != SQLITE_ROW && step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    if (status == PRICER_OK)
        *round = there ? sqlite3_column_int64(query, 0) : 0;
    if (status == PRICER_OK && there)
        memcpy(estimate, found, (size_t)dimension * sizeof *found);
    sqlite3_finalize(query);
    free(found);
    return status;
}
