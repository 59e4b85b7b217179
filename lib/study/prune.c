/*
 * The rule by which a study that a server writes does not grow for ever: the
 * newest rounds stay, older ones go with all that was noted of them. What was
 * remembered of keys, the number that was opened last and the last estimate, to
 * which the next round may be relative, stay too; and how many rounds of each plan
 * were deleted, as the setting "pruned.PLAN", so that rounds can be counted.
 */
#include "study.h"

#include <stdlib.h>

enum { AT_ONCE = 256 }; /* rounds, so that no transaction is long */

/* Which rounds go: all up to a number but the last one with an estimate. */
#define PRUNED                                                                 \
    "round <= %lld AND round <> coalesce((SELECT max(round) FROM round"        \
    " WHERE estimate IS NOT NULL), 0)"

/* Inside a transaction: note how many rounds of each plan are about to go. */
static enum pricer_status count_pruned(struct pricer_study *study, int64_t cut,
                                       struct pricer_fault *fault)
{
    char sql[400];
    sqlite3_snprintf(sizeof sql, sql,
                     "INSERT INTO setting SELECT 'pruned.' || plan, count(*)"
                     " FROM round WHERE " PRUNED " GROUP BY plan"
                     " ON CONFLICT (key) DO UPDATE SET value = value +"
                     " excluded.value",
                     (long long)cut);
    return pri_study_run(study, sql, fault);
}

enum pricer_status pricer_study_prune(struct pricer_study *study, int64_t keep,
                                      struct pricer_fault *fault)
{
    static const char *const tables[] = {"dropped", "withheld",      "delivery",
                                         "arrival", "round_arrival", "round"};
    enum { ROUND = 5 };
    int64_t last = 0, cut = 0;
    char sql[300];
    if (keep <= 0)
        return PRICER_OK;
    enum pricer_status status = pricer_study_last_round(study, &last, fault);
    if (status != PRICER_OK || last <= keep)
        return status;
    status = pri_study_begin(study, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_snprintf(sizeof sql, sql,
                     "SELECT max(round) FROM (SELECT round FROM round WHERE"
                     " round <= %lld ORDER BY round LIMIT %d)",
                     (long long)(last - keep), AT_ONCE);
    status = pri_study_count(study, sql, &cut, fault);
    if (status == PRICER_OK)
        status = count_pruned(study, cut, fault);
    for (size_t k = 0; k < sizeof tables / sizeof *tables && !status; k++) {
        sqlite3_snprintf(sizeof sql, sql,
                         k == ROUND ? "DELETE FROM %s WHERE " PRUNED
                                    : "DELETE FROM %s WHERE round <= %lld",
                         tables[k], (long long)cut);
        status = pri_study_run(study, sql, fault);
    }
    return pri_study_end(study, status, fault);
}

enum pricer_status pricer_study_rounds_run(struct pricer_study *study,
                                           struct pricer_rounds_run **rounds,
                                           int32_t *count,
                                           struct pricer_fault *fault)
{
    struct pricer_rounds_run *made = NULL;
    sqlite3_stmt *query = NULL;
    int64_t plans = 0;
    int32_t filled = 0;
    enum pricer_status status = pri_study_count(
        study, "SELECT count(*) FROM " PRI_ANY_PLAN, &plans, fault);
    if (status == PRICER_OK &&
        (made = pri_alloc(plans + 1, sizeof *made)) == NULL)
        status = PRICER_MEMORY;
    if (status == PRICER_OK)
        status = pri_study_prepare(
            study,
            "SELECT plan.plan, coalesce(kept, 0) + coalesce(value, 0) AS ran"
            " FROM " PRI_ANY_PLAN
            " AS plan LEFT JOIN (SELECT plan, count(*) AS kept FROM round"
            " GROUP BY plan) AS ran_with ON ran_with.plan = plan.plan"
            " LEFT JOIN setting ON key = 'pruned.' || plan.plan"
            " WHERE ran <> 0 ORDER BY plan.plan",
            &query, fault);
    while (status == PRICER_OK && filled < plans) {
        int step = sqlite3_step(query);
        if (step == SQLITE_DONE)
            break;
        if (step != SQLITE_ROW)
            status = pri_study_fault(study, fault);
        else if (sqlite3_column_type(query, 1) != SQLITE_INTEGER ||
                 sqlite3_column_int64(query, 1) < 0)
            status = pri_fault(fault, PRICER_FORMAT,
                               "%.300s: the number of rounds of a plan is "
                               "damaged",
                               study->path);
        else
            made[filled++] = (struct pricer_rounds_run){
                sqlite3_column_int64(query, 0), sqlite3_column_int64(query, 1)};
    }
    sqlite3_finalize(query);
    if (status != PRICER_OK) {
        free(made);
        return status;
    }
    *rounds = made;
    *count = filled;
    return PRICER_OK;
}

void pricer_rounds_run_free(struct pricer_rounds_run *rounds)
{
    free(rounds);
}
