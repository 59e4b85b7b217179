/*
 * The plans of a study as things: a list of them, what one is called, and how
 * one goes with all that was found out about it.
 */
#include "study.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ find -- */

/* A number that a query with one text finds; 0 where it finds none. */
static enum pricer_status find_text(const struct pricer_study *study,
                                    const char *sql, const char *text,
                                    int64_t *found, struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    enum pricer_status status = pri_study_prepare(study, sql, &query, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_text(query, 1, text, -1, SQLITE_STATIC);
    int step = sqlite3_step(query);
    *found = step == SQLITE_ROW ? sqlite3_column_int64(query, 0) : 0;
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    sqlite3_finalize(query);
    return status;
}

enum pricer_status pricer_study_find_plan(struct pricer_study *study,
                                          const char *text, int64_t *id,
                                          struct pricer_fault *fault)
{
    int64_t found = 0;
    bool number = text[0] != '\0' && strlen(text) < 19 &&
                  strspn(text, "0123456789") == strlen(text);
    enum pricer_status status =
        find_text(study,
                  number ? "SELECT plan FROM " PRI_ANY_PLAN
                           " WHERE plan = CAST(? AS INTEGER)"
                         : "SELECT plan FROM " PRI_ANY_PLAN
                           " JOIN plan_note USING (plan) WHERE name = ?",
                  text, &found, fault);
    if (status == PRICER_OK && found == 0)
        status = pri_fault(fault, PRICER_VALUE,
                           "%.300s: there is no plan %.80s", study->path, text);
    if (status == PRICER_OK)
        *id = found;
    return status;
}

/* The plan's number as text, for find_text(). */
static enum pricer_status must_be(struct pricer_study *study, int64_t id,
                                  char text[24], struct pricer_fault *fault)
{
    snprintf(text, 24, "%lld", (long long)id);
    return pricer_study_find_plan(study, text, &id, fault);
}

/* ------------------------------------------------------------------ list -- */

enum pricer_status pricer_study_plans(struct pricer_study *study,
                                      struct pricer_plan_record **records,
                                      int32_t *count,
                                      struct pricer_fault *fault)
{
    struct pricer_plan_record *made = NULL;
    sqlite3_stmt *query = NULL;
    int64_t plans = 0;
    int32_t used = 0;
    enum pricer_status status =
        pri_study_count(study, "SELECT count(*) FROM plan", &plans, fault);
    if (status == PRICER_OK)
        status = pri_study_prepare(study, "SELECT plan FROM plan ORDER BY plan",
                                   &query, fault);
    if (status != PRICER_OK)
        return status;
    made = pri_alloc(plans + 1, sizeof *made);
    status = made == NULL ? PRICER_MEMORY : PRICER_OK;
    while (status == PRICER_OK && used < plans &&
           sqlite3_step(query) == SQLITE_ROW) {
        status = pri_study_load_record(study, sqlite3_column_int64(query, 0),
                                       &made[used], fault);
        used++;
    }
    sqlite3_finalize(query);
    if (status != PRICER_OK) {
        free(made);
        return status;
    }
    *records = made;
    *count = used;
    return PRICER_OK;
}

void pricer_plan_records_free(struct pricer_plan_record *records)
{
    free(records);
}

/* ---------------------------------------------------------------- change -- */

enum pricer_status pricer_study_name_plan(struct pricer_study *study,
                                          int64_t id, const char *name,
                                          struct pricer_fault *fault)
{
    char text[24];
    int64_t taken = 0;
    sqlite3_stmt *change = NULL;
    enum pricer_status status = pri_study_check_name(name, fault);
    if (status == PRICER_OK)
        status = must_be(study, id, text, fault);
    if (status == PRICER_OK)
        status = find_text(study, "SELECT plan FROM plan_note WHERE name = ?",
                           name, &taken, fault);
    if (status == PRICER_OK && taken != 0 && taken != id)
        return pri_fault(fault, PRICER_VALUE,
                         "%.300s: plan %lld is called %.80s already",
                         study->path, (long long)taken, name);
    if (status == PRICER_OK)
        status = pri_study_begin(study, fault);
    if (status != PRICER_OK)
        return status;
    status = pri_study_prepare(
        study,
        "INSERT INTO plan_note (plan, name) VALUES (?1, ?2)"
        " ON CONFLICT (plan) DO UPDATE SET name = excluded.name",
        &change, fault);
    if (status == PRICER_OK) {
        sqlite3_bind_int64(change, 1, id);
        sqlite3_bind_text(change, 2, name, -1, SQLITE_STATIC);
        status = pri_study_step(study, change, fault);
    }
    sqlite3_finalize(change);
    return pri_study_end(study, status, fault);
}

/* In an order that leaves no row pointing nowhere. */
static const char *const removals[] = {
    "DELETE FROM privacy_statement WHERE privacy IN"
    " (SELECT privacy FROM privacy WHERE plan = ?)",
    "DELETE FROM privacy WHERE plan = ?",
    "DELETE FROM simulation_link WHERE simulation IN"
    " (SELECT simulation FROM simulation WHERE plan = ?)",
    "DELETE FROM simulation_node WHERE simulation IN"
    " (SELECT simulation FROM simulation WHERE plan = ?)",
    "DELETE FROM simulation_bin WHERE simulation IN"
    " (SELECT simulation FROM simulation WHERE plan = ?)",
    "DELETE FROM simulation_strategy WHERE simulation IN"
    " (SELECT simulation FROM simulation WHERE plan = ?)",
    "DELETE FROM simulation WHERE plan = ?",
    "DELETE FROM decoder_node WHERE plan = ?",
    "DELETE FROM decoder WHERE plan = ?",
    "DELETE FROM plan_link WHERE plan = ?",
    "DELETE FROM plan_node WHERE plan = ?",
    "DELETE FROM forward_plan_node WHERE plan = ?",
    "DELETE FROM plan_note WHERE plan = ?",
    "DELETE FROM plan WHERE plan = ?",
    "DELETE FROM forward_plan WHERE plan = ?",
};

/* A measured network goes with the last plan that was made for it. */
static const char unused_networks[] =
    "DELETE FROM network_link"
    " WHERE network NOT IN (SELECT network FROM " PRI_ANY_PLAN ");"
    "DELETE FROM network_node"
    " WHERE network NOT IN (SELECT network FROM " PRI_ANY_PLAN ");"
    "DELETE FROM network WHERE network > 1"
    " AND network NOT IN (SELECT network FROM " PRI_ANY_PLAN ")";

enum pricer_status pricer_study_delete_plan(struct pricer_study *study,
                                            int64_t id,
                                            struct pricer_fault *fault)
{
    char text[24];
    int64_t used = 0;
    enum pricer_status status = must_be(study, id, text, fault);
    if (status == PRICER_OK)
        status = pri_study_begin(study, fault);
    if (status != PRICER_OK)
        return status;
    status = find_text(study,
                       "SELECT count(*) + coalesce((SELECT value FROM setting"
                       " WHERE key = 'pruned.' || ?1), 0) FROM round"
                       " WHERE plan = CAST(?1 AS INTEGER)",
                       text, &used, fault);
    if (status == PRICER_OK && used > 0)
        status = pri_fault(fault, PRICER_VALUE,
                           "%.300s: %lld rounds were run with plan %s, which "
                           "stays with them",
                           study->path, (long long)used, text);
    for (size_t k = 0; k < sizeof removals / sizeof *removals; k++) {
        sqlite3_stmt *remove = NULL;
        if (status == PRICER_OK)
            status = pri_study_prepare(study, removals[k], &remove, fault);
        if (status != PRICER_OK)
            break;
        sqlite3_bind_int64(remove, 1, id);
        status = pri_study_step(study, remove, fault);
        sqlite3_finalize(remove);
    }
    if (status == PRICER_OK)
        status = pri_study_run(study, unused_networks, fault);
    return pri_study_end(study, status, fault);
}
