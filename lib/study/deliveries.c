/*
 * From the rounds of a study to how often each of its links delivered. Rows
 * that name no link of the network are passed over: anyone may have edited the
 * tables.
 */
#include "study.h"

#include <stdlib.h>

static struct pricer_deliveries *new_deliveries(
    const struct pricer_network *network)
{
    struct pricer_deliveries *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->nodes = network->nodes;
    made->links = network->links;
    made->uplink = pri_alloc(made->nodes, sizeof *made->uplink);
    made->link = pri_alloc(made->links, sizeof *made->link);
    made->both = pri_alloc(made->links, sizeof *made->both);
    if (made->uplink == NULL || made->link == NULL || made->both == NULL) {
        pricer_deliveries_free(made);
        return NULL;
    }
    return made;
}

/* The latest `rounds` rounds that are stored: how many, and from which to
 * which. */
static enum pricer_status find_rounds(struct pricer_study *study,
                                      int64_t rounds,
                                      struct pricer_deliveries *made,
                                      struct pricer_fault *fault)
{
    char sql[160];
    sqlite3_snprintf(sizeof sql, sql,
                     "SELECT coalesce(min(round), 0) FROM (SELECT round FROM "
                     "round ORDER BY round DESC LIMIT %lld)",
                     (long long)(rounds > 0 ? rounds : -1));
    enum pricer_status status =
        pri_study_count(study, sql, &made->first, fault);
    if (status == PRICER_OK)
        status =
            pri_study_count(study, "SELECT coalesce(max(round), 0) FROM round",
                            &made->last, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_snprintf(sizeof sql, sql,
                     "SELECT count(*) FROM round WHERE round >= %lld",
                     (long long)made->first);
    return pri_study_count(study, sql, &made->rounds, fault);
}

/* The rows of arrival or delivery from a round on. */
static enum pricer_status open_rows(const struct pricer_study *study,
                                    const char *sql, int64_t first,
                                    sqlite3_stmt **query,
                                    struct pricer_fault *fault)
{
    enum pricer_status status = pri_study_prepare(study, sql, query, fault);
    if (status == PRICER_OK)
        sqlite3_bind_int64(*query, 1, first);
    return status;
}

/* One such row; false: it names no node or link of the network. */
static bool read_row(sqlite3_stmt *query, int32_t count, int32_t *place,
                     bool *arrived)
{
    int64_t found = sqlite3_column_int64(query, 0);
    *arrived = sqlite3_column_int(query, 1) == 1;
    *place = (int32_t)found;
    return found >= 0 && found < count;
}

static void add(struct pricer_delivery *delivery, bool arrived)
{
    delivery->tried++;
    delivery->arrived += arrived;
}

static enum pricer_status count_uplinks(const struct pricer_study *study,
                                        int64_t first,
                                        struct pricer_deliveries *deliveries,
                                        struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    int32_t node;
    bool arrived;
    int step = SQLITE_DONE;
    enum pricer_status status =
        open_rows(study, "SELECT node, arrived FROM arrival WHERE round >= ?",
                  first, &query, fault);
    if (status != PRICER_OK)
        return status;
    while ((step = sqlite3_step(query)) == SQLITE_ROW)
        if (read_row(query, deliveries->nodes, &node, &arrived))
            add(&deliveries->uplink[node], arrived);
    if (step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    sqlite3_finalize(query);
    return status;
}

/*
 * The links in order of rounds and attempts, whose `time` is counted from 1.
 * seen[l] is the last time at which l was known, twice, plus one if it arrived:
 * the later of two partners finds the other.
 */
static enum pricer_status count_links(const struct pricer_study *study,
                                      const struct pricer_network *network,
                                      int64_t first, int64_t *seen,
                                      struct pricer_deliveries *deliveries,
                                      struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    int64_t time = 0, round = 0, attempt = 0;
    int32_t l;
    bool arrived;
    int step = SQLITE_DONE;
    enum pricer_status status =
        open_rows(study,
                  "SELECT link, arrived, round, attempt FROM delivery"
                  " WHERE round >= ? ORDER BY round, attempt",
                  first, &query, fault);
    if (status != PRICER_OK)
        return status;
    while ((step = sqlite3_step(query)) == SQLITE_ROW) {
        int64_t last_round = round, last_attempt = attempt;
        round = sqlite3_column_int64(query, 2);
        attempt = sqlite3_column_int64(query, 3);
        time += time == 0 || round != last_round || attempt != last_attempt;
        if (!read_row(query, deliveries->links, &l, &arrived))
            continue;
        add(&deliveries->link[l], arrived);
        seen[l] = 2 * time + arrived;
        int32_t back = network->partner[l];
        if (back >= 0 && seen[back] / 2 == time) {
            add(&deliveries->both[l], arrived && seen[back] % 2);
            add(&deliveries->both[back], arrived && seen[back] % 2);
        }
    }
    if (step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    sqlite3_finalize(query);
    return status;
}

enum pricer_status pricer_study_deliveries(
    struct pricer_study *study, const struct pricer_network *network,
    int64_t rounds, struct pricer_deliveries **deliveries,
    struct pricer_fault *fault)
{
    struct pricer_deliveries *made = new_deliveries(network);
    int64_t *seen = pri_alloc(network->links, sizeof *seen);
    enum pricer_status status = PRICER_MEMORY;
    if (made != NULL && seen != NULL)
        status = find_rounds(study, rounds, made, fault);
    if (status == PRICER_OK)
        status = count_uplinks(study, made->first, made, fault);
    if (status == PRICER_OK)
        status = count_links(study, network, made->first, seen, made, fault);
    free(seen);
    if (status != PRICER_OK) {
        pricer_deliveries_free(made);
        return status;
    }
    *deliveries = made;
    return PRICER_OK;
}
