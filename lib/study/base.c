/*
 * From SQLite's results to ours: queries, transactions and faults that name the
 * study.
 */
#include "study.h"

#include <math.h>
#include <string.h>

/* What does not fit the tables. A number that is none is stored as NULL, which
 * most columns do not take. */
static enum pricer_status constraint_fault(const struct pricer_study *study,
                                           struct pricer_fault *fault)
{
    const char *column = strrchr(sqlite3_errmsg(study->database), ' ');
    if (sqlite3_extended_errcode(study->database) == SQLITE_CONSTRAINT_NOTNULL)
        return pri_fault(fault, PRICER_VALUE,
                         "%.300s: nothing was stored:%.100s is not a finite "
                         "number",
                         study->path, column != NULL ? column : " a value");
    return pri_fault(fault, PRICER_VALUE,
                     "%.300s: nothing was stored: it does not fit what is in "
                     "the study",
                     study->path);
}

enum pricer_status pri_study_fault(const struct pricer_study *study,
                                   struct pricer_fault *fault)
{
    switch (sqlite3_errcode(study->database)) {
    case SQLITE_NOMEM:
        return PRICER_MEMORY;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return pri_fault(fault, PRICER_BUSY,
                         "%.300s: another program is writing to this study",
                         study->path);
    case SQLITE_NOTADB:
        return pri_fault(fault, PRICER_FORMAT, "%.300s: not a study",
                         study->path);
    case SQLITE_CORRUPT:
        return pri_fault(fault, PRICER_FORMAT, "%.300s: the study is damaged",
                         study->path);
    case SQLITE_INTERRUPT:
        return PRICER_STOPPED;
    case SQLITE_CONSTRAINT:
        return constraint_fault(study, fault);
    default:
        return pri_fault(fault, PRICER_FILE, "%.200s: %.200s", study->path,
                         sqlite3_errmsg(study->database));
    }
}

enum pricer_status pri_study_run(const struct pricer_study *study,
                                 const char *sql, struct pricer_fault *fault)
{
    if (sqlite3_exec(study->database, sql, NULL, NULL, NULL) != SQLITE_OK)
        return pri_study_fault(study, fault);
    return PRICER_OK;
}

enum pricer_status pri_study_begin(const struct pricer_study *study,
                                   struct pricer_fault *fault)
{
    return pri_study_run(study, "BEGIN IMMEDIATE", fault);
}

enum pricer_status pri_study_end(const struct pricer_study *study,
                                 enum pricer_status status,
                                 struct pricer_fault *fault)
{
    if (status == PRICER_OK)
        status = pri_study_run(study, "COMMIT", fault);
    if (status != PRICER_OK)
        sqlite3_exec(study->database, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

enum pricer_status pri_study_prepare(const struct pricer_study *study,
                                     const char *sql, sqlite3_stmt **statement,
                                     struct pricer_fault *fault)
{
    if (sqlite3_prepare_v2(study->database, sql, -1, statement, NULL) !=
        SQLITE_OK)
        return pri_study_fault(study, fault);
    return PRICER_OK;
}

enum pricer_status pri_study_keep(struct pricer_study *study, const char *sql,
                                  sqlite3_stmt **statement,
                                  struct pricer_fault *fault)
{
    for (int k = 0; k < PRI_STUDY_KEPT && study->kept[k] != NULL; k++)
        if (strcmp(sqlite3_sql(study->kept[k]), sql) == 0) {
            *statement = study->kept[k];
            sqlite3_clear_bindings(*statement);
            return PRICER_OK;
        }
    sqlite3_stmt *made = NULL;
    if (sqlite3_prepare_v3(study->database, sql, -1, SQLITE_PREPARE_PERSISTENT,
                           &made, NULL) != SQLITE_OK)
        return pri_study_fault(study, fault);
    sqlite3_finalize(study->kept[study->oldest]);
    study->kept[study->oldest] = *statement = made;
    study->oldest = (study->oldest + 1) % PRI_STUDY_KEPT;
    return PRICER_OK;
}

enum pricer_status pri_study_step(const struct pricer_study *study,
                                  sqlite3_stmt *statement,
                                  struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    if (sqlite3_step(statement) != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    sqlite3_reset(statement);
    return status;
}

enum pricer_status pri_study_count(struct pricer_study *study, const char *sql,
                                   int64_t *count, struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    enum pricer_status status = pri_study_keep(study, sql, &query, fault);
    if (status != PRICER_OK)
        return status;
    int step = sqlite3_step(query);
    if (step == SQLITE_ROW)
        *count = sqlite3_column_int64(query, 0);
    else if (step == SQLITE_DONE)
        *count = -1;
    else
        status = pri_study_fault(study, fault);
    sqlite3_reset(query);
    return status;
}

void pri_study_bind(sqlite3_stmt *statement, int column, double value)
{
    if (isnan(value))
        sqlite3_bind_null(statement, column);
    else
        sqlite3_bind_double(statement, column, value);
}

double pri_study_column(sqlite3_stmt *statement, int column)
{
    if (sqlite3_column_type(statement, column) == SQLITE_NULL)
        return NAN;
    return sqlite3_column_double(statement, column);
}

bool pri_study_is_number(sqlite3_stmt *statement, int column)
{
    int type = sqlite3_column_type(statement, column);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

const char *pri_study_text(sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    return text != NULL ? (const char *)text : "";
}

enum pricer_status pri_study_credit(const struct pricer_study *study,
                                    const char *credit,
                                    struct pricer_fault *fault)
{
    if (strcmp(credit, "none") == 0)
        return PRICER_OK;
    return pri_fault(
        fault, PRICER_FORMAT,
        "%.300s: its budgets give credit '%.40s' for lost packets, "
        "which no budget does any more: make the study anew "
        "without it, and ask 'pricer privacy --eavesdropper "
        "receiver'",
        study->path, credit);
}

enum pricer_status pri_study_damaged(const struct pricer_study *study,
                                     const char *what, int64_t row,
                                     struct pricer_fault *fault)
{
    return pri_fault(fault, PRICER_FORMAT,
                     "%.300s: row %lld of the table %s is not in order",
                     study->path, (long long)row, what);
}
