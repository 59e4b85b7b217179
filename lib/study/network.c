/*
 * The network, into a study and out of it. What comes out is checked as if it
 * came from a stranger: anyone may have edited the tables.
 */
#include "study.h"
#include "network/network.h"
#include "read/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------- store -- */

static enum pricer_status store_nodes(const struct pricer_study *study,
                                      const struct pricer_network *net,
                                      struct pricer_fault *fault)
{
    sqlite3_stmt *insert = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "INSERT INTO node VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &insert, fault);
    for (int32_t i = 0; i < net->nodes && status == PRICER_OK; i++) {
        sqlite3_bind_int(insert, 1, i);
        sqlite3_bind_double(insert, 2, net->uplink[i]);
        pri_study_bind(insert, 3, net->x != NULL ? net->x[i] : NAN);
        pri_study_bind(insert, 4, net->y != NULL ? net->y[i] : NAN);
        sqlite3_bind_double(insert, 5, net->self_eps[i]);
        sqlite3_bind_double(insert, 6, net->self_delta[i]);
        bool budget = net->server_eps != NULL && net->server_eps[i] < INFINITY;
        pri_study_bind(insert, 7, budget ? net->server_eps[i] : NAN);
        pri_study_bind(insert, 8, budget ? net->server_delta[i] : NAN);
        if (net->name != NULL && net->name[i][0] != '\0')
            sqlite3_bind_text(insert, 9, net->name[i], -1, SQLITE_STATIC);
        else
            sqlite3_bind_null(insert, 9);
        sqlite3_bind_double(insert, 10, net->node_radius[i]);
        sqlite3_bind_double(insert, 11, net->node_diameter[i]);
        bool all = net->everyone_eps != NULL;
        pri_study_bind(insert, 12, all ? net->everyone_eps[i] : NAN);
        pri_study_bind(insert, 13, all ? net->everyone_delta[i] : NAN);
        status = pri_study_step(study, insert, fault);
    }
    sqlite3_finalize(insert);
    return status;
}

enum pricer_status pri_study_store_network(const struct pricer_study *study,
                                           const struct pricer_network *net,
                                           const struct pricer_watch *watch,
                                           struct pricer_fault *fault)
{
    enum pricer_status status = pri_study_run(
        study, "INSERT INTO network VALUES (1, 'scenario', 0, NULL, NULL)",
        fault);
    if (status == PRICER_OK)
        status = store_nodes(study, net, fault);
    if (status == PRICER_OK)
        status = pri_study_store_links(study, net, watch, fault);
    return status;
}

/* ------------------------------------------------------------------ load -- */

/* What the rows have in addition to struct pricer_node. */
struct columns {
    double *numbers;                       /* all of these: */
    double *eps, *delta;                   /* [nodes] towards the server */
    double *radius, *diameter;             /* [nodes] */
    double *everyone_eps, *everyone_delta; /* [nodes] or NAN */
    char (*text)[PRICER_NAME_TEXT];
    const char **names; /* [nodes] into text, or NULL */
};

static enum pricer_status make_columns(int32_t nodes, struct columns *columns)
{
    int64_t n = nodes;
    double *numbers = pri_alloc(6 * n, sizeof(double));
    *columns = (struct columns){.numbers = numbers,
                                .text = pri_alloc(n, sizeof *columns->text),
                                .names = pri_alloc(n, sizeof *columns->names)};
    if (!(numbers && columns->text && columns->names))
        return PRICER_MEMORY;
    columns->eps = numbers;
    columns->delta = numbers + n;
    columns->radius = numbers + 2 * n;
    columns->diameter = numbers + 3 * n;
    columns->everyone_eps = numbers + 4 * n;
    columns->everyone_delta = numbers + 5 * n;
    return PRICER_OK;
}

static void free_columns(struct columns *columns)
{
    free(columns->numbers);
    free(columns->text);
    free(columns->names);
}

/* Budgets towards everyone: of all nodes, or of none. */
static enum pricer_status load_everyone(const struct columns *columns,
                                        struct pricer_network *net,
                                        struct pricer_fault *fault)
{
    bool any = false;
    for (int32_t i = 0; i < net->nodes; i++)
        any = any || !isnan(columns->everyone_eps[i]);
    return any ? pri_network_everyone(net, columns->everyone_eps,
                                      columns->everyone_delta, NULL, fault)
               : PRICER_OK;
}

/* The nodes must be 0, 1, 2, ... in order of their key. */
static enum pricer_status load_node(const struct pricer_study *study,
                                    sqlite3_stmt *query, int32_t i,
                                    struct pricer_network *net,
                                    struct columns *columns,
                                    struct pricer_fault *fault)
{
    struct pricer_node node = {
        pri_study_column(query, 1), pri_study_column(query, 2),
        pri_study_column(query, 3), pri_study_column(query, 4),
        pri_study_column(query, 5)};
    if (i >= net->nodes || sqlite3_column_int64(query, 0) != i ||
        !pri_study_is_number(query, 9) || !pri_study_is_number(query, 10) ||
        sqlite3_column_bytes(query, 8) >= PRICER_NAME_TEXT)
        return pri_study_damaged(study, "node", i, fault);
    enum pricer_status status = pri_node_check(&node, fault);
    if (status != PRICER_OK) {
        pri_fault_locate(fault, study->path, 0);
        return status;
    }
    bool budget = sqlite3_column_type(query, 6) != SQLITE_NULL;
    columns->eps[i] = budget ? pri_study_column(query, 6) : INFINITY;
    columns->delta[i] = budget ? pri_study_column(query, 7) : 1;
    if (sqlite3_column_type(query, 8) != SQLITE_NULL) {
        snprintf(columns->text[i], sizeof columns->text[i], "%s",
                 pri_study_text(query, 8));
        columns->names[i] = columns->text[i];
    }
    columns->radius[i] = pri_study_column(query, 9);
    columns->diameter[i] = pri_study_column(query, 10);
    columns->everyone_eps[i] = pri_study_column(query, 11);
    columns->everyone_delta[i] = pri_study_column(query, 12);
    pri_network_set_node(net, i, &node);
    return PRICER_OK;
}

static enum pricer_status load_nodes(const struct pricer_study *study,
                                     struct pricer_network *net,
                                     struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    struct columns columns;
    enum pricer_status status = make_columns(net->nodes, &columns);
    int32_t i = 0;
    if (status == PRICER_OK)
        status = pri_study_prepare(
            study,
            "SELECT node, p, eps, delta, x, y, server_eps, server_delta, name,"
            " radius, diameter, everyone_eps, everyone_delta FROM node"
            " ORDER BY node",
            &query, fault);
    while (status == PRICER_OK && sqlite3_step(query) == SQLITE_ROW) {
        status = load_node(study, query, i, net, &columns, fault);
        i++;
    }
    sqlite3_finalize(query);
    if (status == PRICER_OK && i != net->nodes)
        status = pri_study_damaged(study, "node", i, fault);
    struct pricer_fault *said = status == PRICER_OK ? fault : NULL;
    if (status == PRICER_OK)
        status =
            pri_network_budget(net, columns.eps, columns.delta, NULL, fault);
    if (status == PRICER_OK)
        status = load_everyone(&columns, net, fault);
    if (status == PRICER_OK)
        status = pri_network_name(net, columns.names, NULL, fault);
    if (status == PRICER_OK)
        status = pri_network_lengths(net, 0, columns.radius, columns.diameter,
                                     NULL, fault);
    if (status != PRICER_OK)
        pri_fault_locate(said, study->path, 0);
    free_columns(&columns);
    return status;
}

/* The links must be 0, 1, 2, ... and ordered by their ends. */
static enum pricer_status load_link(const struct pricer_study *study,
                                    sqlite3_stmt *query, int32_t l,
                                    struct pricer_network *net,
                                    struct pricer_fault *fault)
{
    struct pricer_link link = {.from = sqlite3_column_int(query, 1),
                               .to = sqlite3_column_int(query, 2),
                               .p = pri_study_column(query, 3),
                               .joint = pri_study_column(query, 4),
                               .eps = pri_study_column(query, 5),
                               .delta = pri_study_column(query, 6)};
    if (l >= net->links || sqlite3_column_int64(query, 0) != l)
        return pri_study_damaged(study, "link", l, fault);
    enum pricer_status status = pri_link_check(&link, net->nodes, fault);
    if (status != PRICER_OK) {
        pri_fault_locate(fault, study->path, 0);
        return status;
    }
    bool ordered = l == 0 || net->from[l - 1] < link.from ||
                   (net->from[l - 1] == link.from && net->to[l - 1] < link.to);
    if (!ordered || !(link.p > 0))
        return pri_study_damaged(study, "link", l, fault);
    net->from[l] = link.from;
    net->to[l] = link.to;
    net->p[l] = link.p;
    net->joint[l] = link.joint;
    net->eps[l] = link.eps;
    net->delta[l] = link.delta;
    net->out_start[link.from + 1]++;
    return PRICER_OK;
}

static enum pricer_status load_links(const struct pricer_study *study,
                                     struct pricer_network *net,
                                     struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    enum pricer_status status = pri_study_prepare(
        study,
        "SELECT link, from_node, to_node, p, joint, eps, delta FROM link "
        "ORDER BY link",
        &query, fault);
    int32_t l = 0;
    while (status == PRICER_OK && sqlite3_step(query) == SQLITE_ROW) {
        status = load_link(study, query, l, net, fault);
        l++;
    }
    sqlite3_finalize(query);
    if (status == PRICER_OK && l != net->links)
        status = pri_study_damaged(study, "link", l, fault);
    if (status != PRICER_OK)
        return status;
    for (int32_t i = 0; i < net->nodes; i++)
        net->out_start[i + 1] += net->out_start[i];
    pri_network_finish(net, 0);
    for (l = 0; l < net->links && status == PRICER_OK; l++)
        status = pri_joint_check(net, l, fault);
    if (status != PRICER_OK)
        pri_fault_locate(fault, study->path, 0);
    return status;
}

/* What there is to load. */
struct size {
    int64_t nodes, links;
    int64_t placed; /* nodes with a position */
    double dimension, radius, reach;
};

static enum pricer_status load_size(struct pricer_study *study,
                                    struct size *size,
                                    struct pricer_fault *fault)
{
    sqlite3_stmt *query = NULL;
    enum pricer_status status = pri_study_count(
        study, "SELECT count(*) FROM node", &size->nodes, fault);
    if (status == PRICER_OK)
        status = pri_study_count(study, "SELECT count(*) FROM link",
                                 &size->links, fault);
    if (status == PRICER_OK)
        status = pri_study_count(
            study, "SELECT count(*) FROM node WHERE x IS NOT NULL",
            &size->placed, fault);
    if (status == PRICER_OK)
        status = pri_study_prepare(
            study, "SELECT value FROM setting WHERE key = ?", &query, fault);
    if (status == PRICER_OK)
        status = pri_setting_number(study, query, "dimension", &size->dimension,
                                    fault);
    if (status == PRICER_OK)
        status =
            pri_setting_number(study, query, "radius", &size->radius, fault);
    if (status == PRICER_OK && pri_setting_find(query, "reach"))
        status = pri_setting_number(study, query, "reach", &size->reach, fault);
    sqlite3_finalize(query);
    if (status == PRICER_OK &&
        !(size->nodes >= 1 && size->nodes < INT32_MAX &&
          size->links < INT32_MAX && size->dimension >= 1 &&
          size->dimension <= 1e12 && size->radius > 0 &&
          isfinite(size->radius) && isfinite(size->reach) &&
          (size->reach == 0 || size->reach >= size->radius)))
        status = pri_fault(fault, PRICER_VALUE,
                           "%.300s: the size of the network is out of range",
                           study->path);
    return status;
}

enum pricer_status pricer_study_network(struct pricer_study *study,
                                        struct pricer_network **network,
                                        struct pricer_fault *fault)
{
    struct pricer_network *net = NULL;
    struct size size = {0};
    enum pricer_status status = load_size(study, &size, fault);
    if (status == PRICER_OK)
        status = pri_network_new((int32_t)size.nodes, size.placed == size.nodes,
                                 &net);
    if (status == PRICER_OK)
        status = pri_network_room(net, (int32_t)size.links);
    if (status == PRICER_OK) {
        net->dimension = (int64_t)size.dimension;
        net->radius = size.radius;
        net->reach = size.reach;
    }
    if (status == PRICER_OK)
        status = load_nodes(study, net, fault);
    if (status == PRICER_OK)
        status = load_links(study, net, fault);
    if (status != PRICER_OK) {
        pricer_network_free(net);
        return status;
    }
    *network = net;
    return PRICER_OK;
}
