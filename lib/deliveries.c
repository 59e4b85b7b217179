/*
 * From the rounds of a study to what its links are really like: counts,
 * intervals, and the network to plan with next.
 */
#include "study.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void pricer_deliveries_free(struct pricer_deliveries *deliveries)
{
    if (deliveries == NULL)
        return;
    free(deliveries->uplink);
    free(deliveries->link);
    free(deliveries->both);
    free(deliveries);
}

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

/* The first of the latest `rounds` rounds that are stored. */
static enum pricer_status find_first(const struct pricer_study *study,
                                     int64_t rounds, int64_t *first,
                                     int64_t *count, struct pricer_fault *fault)
{
    char sql[160];
    sqlite3_snprintf(sizeof sql, sql,
                     "SELECT coalesce(min(round), 0) FROM (SELECT round FROM "
                     "round ORDER BY round DESC LIMIT %lld)",
                     (long long)(rounds > 0 ? rounds : -1));
    enum pricer_status status = pri_study_count(study, sql, first, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_snprintf(sizeof sql, sql,
                     "SELECT count(*) FROM round WHERE round >= %lld",
                     (long long)*first);
    return pri_study_count(study, sql, count, fault);
}

/* A row of arrival or delivery that makes sense; false ends the reading. */
static bool read_row(sqlite3_stmt *query, int32_t count, int64_t *round,
                     int32_t *place, bool *arrived)
{
    *round = sqlite3_column_int64(query, 0);
    int64_t found = sqlite3_column_int64(query, 1);
    *arrived = sqlite3_column_int(query, 2) == 1;
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
    int64_t round;
    int32_t node;
    bool arrived;
    int step = SQLITE_DONE;
    enum pricer_status status = pri_study_prepare(
        study, "SELECT round, node, arrived FROM arrival WHERE round >= ?",
        &query, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(query, 1, first);
    while ((step = sqlite3_step(query)) == SQLITE_ROW)
        if (read_row(query, deliveries->nodes, &round, &node, &arrived))
            add(&deliveries->uplink[node], arrived);
    if (step != SQLITE_DONE)
        status = pri_study_fault(study, fault);
    sqlite3_finalize(query);
    return status;
}

/*
 * The links in order of rounds. seen[l] is the last round in which l was known,
 * twice, plus one if it arrived: the later of two partners finds the other.
 */
static enum pricer_status count_links(const struct pricer_study *study,
                                      const struct pricer_network *network,
                                      int64_t first, int64_t *seen,
                                      struct pricer_deliveries *deliveries,
                                      struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    int64_t round;
    int32_t l;
    bool arrived;
    int step = SQLITE_DONE;
    enum pricer_status status = pri_study_prepare(
        study,
        "SELECT round, link, arrived FROM delivery WHERE round >= ?"
        " ORDER BY round",
        &query, fault);
    if (status != PRICER_OK)
        return status;
    sqlite3_bind_int64(query, 1, first);
    while ((step = sqlite3_step(query)) == SQLITE_ROW) {
        if (!read_row(query, deliveries->links, &round, &l, &arrived))
            continue;
        add(&deliveries->link[l], arrived);
        seen[l] = 2 * round + arrived;
        int32_t back = network->partner[l];
        if (back >= 0 && seen[back] / 2 == round) {
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
    int64_t first = 0;
    struct pricer_deliveries *made = new_deliveries(network);
    int64_t *seen = pri_alloc(network->links, sizeof *seen);
    enum pricer_status status = PRICER_MEMORY;
    if (made != NULL && seen != NULL)
        status = find_first(study, rounds, &first, &made->rounds, fault);
    if (status == PRICER_OK)
        status = count_uplinks(study, first, made, fault);
    if (status == PRICER_OK)
        status = count_links(study, network, first, seen, made, fault);
    free(seen);
    if (status != PRICER_OK) {
        pricer_deliveries_free(made);
        return status;
    }
    *deliveries = made;
    return PRICER_OK;
}

/* ------------------------------------------------------------- intervals -- */

/* z with P(|N(0, 1)| < z) = confidence, by bisection; at most 38. */
static double two_sided(double confidence)
{
    double low = 0, high = 38;
    for (int k = 0; k < 80; k++) {
        double middle = (low + high) / 2;
        if (erfc(middle / sqrt(2)) > 1 - confidence)
            low = middle;
        else
            high = middle;
    }
    return high;
}

void pricer_delivery_interval(const struct pricer_delivery *delivery,
                              double confidence, double *low, double *high)
{
    if (delivery->tried <= 0) {
        *low = 0;
        *high = 1;
        return;
    }
    double n = (double)delivery->tried, share = (double)delivery->arrived / n;
    double z = two_sided(confidence), square = z * z;
    double middle = (share + square / (2 * n)) / (1 + square / n);
    double half = z / (1 + square / n) *
                  sqrt(share * (1 - share) / n + square / (4 * n * n));
    *low = delivery->arrived == 0 ? 0 : fmax(0, middle - half);
    *high = delivery->arrived == delivery->tried ? 1 : fmin(1, middle + half);
}

static double measured(const struct pricer_delivery *delivery, double p)
{
    return ((double)delivery->arrived + 2 * p) / ((double)delivery->tried + 2);
}

/* Both directions get one joint, within the bounds of their probabilities. */
static double measured_joint(const struct pricer_network *network,
                             const struct pricer_deliveries *deliveries,
                             int32_t l)
{
    int32_t back = network->partner[l];
    if (back < 0)
        return NAN;
    int32_t one = l < back ? l : back;
    double p = measured(&deliveries->link[l], network->p[l]);
    double p_back = measured(&deliveries->link[back], network->p[back]);
    double both = measured(&deliveries->both[one], network->joint[one]);
    return fmin(fmax(both, p * p_back), fmin(p, p_back));
}

enum pricer_status pricer_network_measured(
    const struct pricer_network *network,
    const struct pricer_deliveries *deliveries, struct pricer_network **result,
    struct pricer_fault *fault)
{
    assert(deliveries->links == network->links);
    struct pricer_node *nodes = pri_alloc(network->nodes, sizeof *nodes);
    struct pricer_link *links = pri_alloc(network->links, sizeof *links);
    struct pricer_place place;
    enum pricer_status status = PRICER_MEMORY;
    if (nodes == NULL || links == NULL)
        goto done;
    for (int32_t i = 0; i < network->nodes; i++)
        nodes[i] = (struct pricer_node){
            measured(&deliveries->uplink[i], network->uplink[i]),
            network->self_eps[i], network->self_delta[i],
            network->x != NULL ? network->x[i] : NAN,
            network->y != NULL ? network->y[i] : NAN};
    for (int32_t l = 0; l < network->links; l++)
        links[l] =
            (struct pricer_link){network->from[l],
                                 network->to[l],
                                 measured(&deliveries->link[l], network->p[l]),
                                 measured_joint(network, deliveries, l),
                                 network->eps[l],
                                 network->delta[l]};
    status = pricer_network_build(network->dimension, network->radius, 0, nodes,
                                  network->nodes, links, network->links, result,
                                  &place, fault);
done:
    free(nodes);
    free(links);
    return status;
}
