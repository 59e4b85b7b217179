/*
 * From the rounds of a study whose plans forward to who arrived in them. Rows
 * that name no node or round of the study are passed over: anyone may have
 * edited the tables.
 */
#include "study.h"
#include "pricer_forward.h"

#include <stdlib.h>
#include <string.h>

/* The latest rounds, oldest first: one more line of the matrix for each. */
static enum pricer_status list_rounds(struct pricer_study *study,
                                      int64_t rounds, int64_t **numbers,
                                      struct pricer_forward_arrivals *made,
                                      struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    int64_t count = 0;
    enum pricer_status status =
        pri_study_count(study, "SELECT count(*) FROM round", &count, fault);
    if (status == PRICER_OK && rounds > 0 && rounds < count)
        count = rounds;
    if (status == PRICER_OK && (*numbers = pri_alloc(count, 8)) == NULL)
        status = PRICER_MEMORY;
    if (status == PRICER_OK)
        status = pri_study_prepare(
            study, "SELECT round FROM round ORDER BY round DESC LIMIT ?",
            &query, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(query, 1, count);
    int64_t left = count;
    while (left > 0 && sqlite3_step(query) == SQLITE_ROW)
        (*numbers)[--left] = sqlite3_column_int64(query, 0);
    sqlite3_finalize(query);
    if (left > 0)
        return pri_study_fault(study, fault);
    made->rounds = count;
    made->first = count > 0 ? (*numbers)[0] : 0;
    made->last = count > 0 ? (*numbers)[count - 1] : 0;
    return PRICER_OK;
}

/* Rows come in the order of rounds, as the numbers do. */
static enum pricer_status read_rows(const struct pricer_study *study,
                                    const int64_t *numbers,
                                    struct pricer_forward_arrivals *made,
                                    struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    int64_t at = 0;
    int step = SQLITE_DONE;
    enum pricer_status status = pri_study_prepare(
        study,
        "SELECT round, node, hops FROM round_arrival WHERE round >= ?"
        " ORDER BY round",
        &query, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(query, 1, made->first);
    while ((step = sqlite3_step(query)) == SQLITE_ROW) {
        int64_t round = sqlite3_column_int64(query, 0);
        int64_t node = sqlite3_column_int64(query, 1);
        int64_t hops = sqlite3_column_int64(query, 2);
        while (at < made->rounds && numbers[at] < round)
            at++;
        if (at < made->rounds && numbers[at] == round && node >= 0 &&
            node < made->nodes && hops >= 0 && hops <= PRICER_HOPS_MAX)
            made->relays[at * made->nodes + node] = (int8_t)hops;
    }
    if (step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    sqlite3_finalize(query);
    return status;
}

enum pricer_status pricer_study_arrivals(
    struct pricer_study *study, int64_t rounds,
    struct pricer_forward_arrivals **arrivals, struct pricer_fault *fault)
{
    struct pricer_forward_arrivals *made = pri_alloc(1, sizeof *made);
    int64_t *numbers = NULL, nodes = 0;
    if (made == NULL)
        return PRICER_MEMORY;
    enum pricer_status status =
        pri_study_count(study, "SELECT count(*) FROM node", &nodes, fault);
    if (status == PRICER_OK && !(nodes >= 1 && nodes < INT32_MAX))
        status = pri_study_damaged(study, "node", nodes, fault);
    made->nodes = (int32_t)nodes;
    if (status == PRICER_OK)
        status = list_rounds(study, rounds, &numbers, made, fault);
    if (status == PRICER_OK &&
        (made->relays = pri_alloc(made->rounds * nodes, 1)) == NULL)
        status = PRICER_MEMORY;
    if (status == PRICER_OK) {
        memset(made->relays, -1, (size_t)(made->rounds * nodes));
        status = read_rows(study, numbers, made, fault);
    }
    free(numbers);
    if (status == PRICER_OK)
        *arrivals = made;
    else
        pricer_forward_arrivals_free(made);
    return status;
}
