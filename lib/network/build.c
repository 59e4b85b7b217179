/*
 * From nodes and links in any order, as structs or as arrays, to a network:
 * checked and sorted.
 *
 * Sorting is two stable counting passes, by receiver and then by sender, so
 * building takes O(nodes + links) whatever the order of the input.
 */
#include "network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a network is built from: parts, or arrays where parts is NULL. */
struct entries {
    const struct pricer_network_parts *parts;
    const struct pricer_network_arrays *arrays;
};

static struct pricer_node node_at(const struct entries *entries, int64_t i)
{
    if (entries->parts != NULL)
        return entries->parts->nodes[i];
    const struct pricer_network_arrays *a = entries->arrays;
    return (struct pricer_node){a->uplink[i], a->self_eps[i], a->self_delta[i],
                                a->x != NULL ? a->x[i] : NAN,
                                a->y != NULL ? a->y[i] : NAN};
}

static inline struct pricer_link link_at(const struct entries *entries,
                                         int64_t l)
{
    if (entries->parts != NULL)
        return entries->parts->links[l];
    const struct pricer_network_arrays *a = entries->arrays;
    return (struct pricer_link){
        a->from[l], a->to[l],   a->p[l], a->joint != NULL ? a->joint[l] : NAN,
        a->eps[l],  a->delta[l]};
}

/* What is told once for the whole network. */
struct summary {
    int64_t dimension;
    double radius, reciprocity;
    int64_t nodes, links;
};

static struct summary summary_of(const struct entries *entries)
{
    const struct pricer_network_parts *p = entries->parts;
    const struct pricer_network_arrays *a = entries->arrays;
    return p != NULL ? (struct summary){p->dimension, p->radius, p->reciprocity,
                                        p->node_count, p->link_count}
                     : (struct summary){a->dimension, a->radius, a->reciprocity,
                                        a->node_count, a->link_count};
}

static enum pricer_status check_summary(const struct summary *whole,
                                        struct pricer_fault *fault)
{
    if (whole->dimension < 1)
        return pri_fault(fault, PRICER_VALUE,
                         "dimension = %lld is not a positive number",
                         (long long)whole->dimension);
    if (!(whole->radius > 0) || isinf(whole->radius))
        return pri_fault(fault, PRICER_VALUE,
                         "radius = %g is not a positive number", whole->radius);
    if (!(whole->reciprocity >= 0 && whole->reciprocity <= 1))
        return pri_fault(fault, PRICER_VALUE,
                         "reciprocity = %g is outside [0, 1]",
                         whole->reciprocity);
    if (whole->nodes < 1 || whole->nodes > INT32_MAX - 1)
        return pri_fault(fault, PRICER_VALUE,
                         "%lld nodes are not between 1 and %d",
                         (long long)whole->nodes, INT32_MAX - 1);
    if (whole->links < 0 || whole->links > INT32_MAX - 1)
        return pri_fault(fault, PRICER_VALUE,
                         "%lld links are more than %d, the most there may be",
                         (long long)whole->links, INT32_MAX - 1);
    return PRICER_OK;
}

/* Check all that can be checked of an entry by itself. */
static enum pricer_status check_entries(const struct entries *entries,
                                        const struct summary *whole,
                                        struct pricer_place *place,
                                        struct pricer_fault *fault)
{
    for (place->node = 0; place->node < whole->nodes; place->node++) {
        struct pricer_node node = node_at(entries, place->node);
        enum pricer_status status = pri_node_check(&node, fault);
        if (status != PRICER_OK)
            return status;
    }
    place->node = -1;
    for (place->link = 0; place->link < whole->links; place->link++) {
        struct pricer_link link = link_at(entries, place->link);
        enum pricer_status status = pri_link_check(&link, whole->nodes, fault);
        if (status != PRICER_OK)
            return status;
    }
    place->link = -1;
    return PRICER_OK;
}

static inline int32_t end_of(const struct entries *entries, bool by_from,
                             int32_t l)
{
    struct pricer_link link = link_at(entries, l);
    return by_from ? link.from : link.to;
}

/*
 * One stable counting pass: reorder `order` by one end of the links. `start`
 * has room for nodes + 1 counts, which are left as the starts of each group.
 */
static void sort_by_end(const struct entries *entries, bool by_from,
                        int32_t count, const int32_t *order, int32_t nodes,
                        int32_t *start, int32_t *sorted)
{
    memset(start, 0, ((size_t)nodes + 1) * sizeof *start);
    for (int32_t k = 0; k < count; k++)
        start[end_of(entries, by_from, order[k]) + 1]++;
    for (int32_t i = 0; i < nodes; i++)
        start[i + 1] += start[i];
    for (int32_t k = 0; k < count; k++)
        sorted[start[end_of(entries, by_from, order[k])]++] = order[k];
    for (int32_t i = nodes; i > 0; i--)
        start[i] = start[i - 1];
    start[0] = 0;
}

/*
 * Refuse a link that is given twice, also with p = 0, and take those with p = 0
 * out of the order; *count is how many there are and how many are left.
 */
static enum pricer_status keep_links(const struct entries *entries,
                                     int32_t *order, int32_t *count,
                                     struct pricer_place *place,
                                     struct pricer_fault *fault)
{
    int32_t kept = 0;
    struct pricer_link before = {.from = -1};
    for (int32_t k = 0; k < *count; k++) {
        struct pricer_link link = link_at(entries, order[k]);
        if (before.from == link.from && before.to == link.to) {
            place->link = order[k];
            return pri_fault(fault, PRICER_VALUE,
                             "the link %d,%d stands here a second time",
                             (int)link.from, (int)link.to);
        }
        before = link;
        if (link.p > 0)
            order[kept++] = order[k];
    }
    *count = kept;
    return PRICER_OK;
}

/* Copy the sorted links into the network. */
static void fill_links(const struct entries *entries, const int32_t *order,
                       struct pricer_network *net)
{
    memset(net->out_start, 0, ((size_t)net->nodes + 1) * sizeof(int32_t));
    for (int32_t k = 0; k < net->links; k++) {
        struct pricer_link link = link_at(entries, order[k]);
        net->out_start[link.from + 1]++;
        net->to[k] = link.to;
        net->p[k] = link.p;
        net->joint[k] = link.joint;
        net->eps[k] = link.eps;
        net->delta[k] = link.delta;
    }
    for (int32_t i = 0; i < net->nodes; i++)
        net->out_start[i + 1] += net->out_start[i];
}

/* Positions are kept if every node has one. */
static bool all_placed(const struct entries *entries, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (isnan(node_at(entries, i).x))
            return false;
    return true;
}

/* The network without its links. */
static enum pricer_status fill_nodes(const struct entries *entries,
                                     const struct summary *whole,
                                     struct pricer_network **network)
{
    enum pricer_status status = pri_network_new(
        (int32_t)whole->nodes, all_placed(entries, whole->nodes), network);
    if (status != PRICER_OK)
        return status;
    (*network)->dimension = whole->dimension;
    (*network)->radius = whole->radius;
    for (int32_t i = 0; i < (*network)->nodes; i++) {
        struct pricer_node node = node_at(entries, i);
        pri_network_set_node(*network, i, &node);
    }
    return PRICER_OK;
}

/* A link that gave no joint is not to blame: what it has is its partner's or
 * within the bounds. */
static enum pricer_status check_joints(const struct entries *entries,
                                       const struct pricer_network *net,
                                       const int32_t *order,
                                       struct pricer_place *place,
                                       struct pricer_fault *fault)
{
    for (int32_t l = 0; l < net->links; l++) {
        if (isnan(link_at(entries, order[l]).joint))
            continue;
        enum pricer_status status = pri_joint_check(net, l, fault);
        if (status != PRICER_OK) {
            place->link = order[l];
            return status;
        }
    }
    return PRICER_OK;
}

/* Both or neither of eps and delta: whether they are given. */
static enum pricer_status check_pair(const double *eps, const double *delta,
                                     const char *whom, bool *any,
                                     struct pricer_fault *fault)
{
    *any = eps != NULL && delta != NULL;
    if (*any || (eps == NULL && delta == NULL))
        return PRICER_OK;
    return pri_fault(fault, PRICER_VALUE,
                     "of the budgets towards %s %s is missing", whom,
                     eps == NULL ? "eps" : "delta");
}

/* Budgets towards the server and towards everyone, where they are given. */
static enum pricer_status fill_budgets(const struct entries *entries,
                                       struct pricer_network *net,
                                       struct pricer_place *place,
                                       struct pricer_fault *fault)
{
    const struct pricer_network_parts *parts = entries->parts;
    const struct pricer_network_arrays *arrays = entries->arrays;
    const double *eps = parts ? parts->server_eps : arrays->server_eps;
    const double *delta = parts ? parts->server_delta : arrays->server_delta;
    bool any;
    enum pricer_status status =
        check_pair(eps, delta, "the server", &any, fault);
    if (status == PRICER_OK && any)
        status = pri_network_budget(net, eps, delta, place, fault);
    if (status != PRICER_OK || arrays == NULL)
        return status;
    eps = arrays->everyone_eps;
    delta = arrays->everyone_delta;
    status = check_pair(eps, delta, "everyone", &any, fault);
    if (status == PRICER_OK && any)
        status = pri_network_everyone(net, eps, delta, place, fault);
    return status;
}

/* Names, radii and diameters, where they are given. */
static enum pricer_status fill_measures(const struct entries *entries,
                                        struct pricer_network *net,
                                        struct pricer_place *place,
                                        struct pricer_fault *fault)
{
    const struct pricer_network_arrays *a = entries->arrays;
    if (a == NULL)
        return pri_network_lengths(net, 0, NULL, NULL, place, fault);
    enum pricer_status status = pri_network_name(net, a->names, place, fault);
    if (status == PRICER_OK)
        status = pri_network_lengths(net, a->diameter, a->node_radius,
                                     a->node_diameter, place, fault);
    return status;
}

static enum pricer_status build(const struct entries *entries,
                                struct pricer_network **network,
                                struct pricer_place *place,
                                struct pricer_fault *fault)
{
    const struct summary whole = summary_of(entries);
    struct pricer_place here = {-1, -1};
    struct pricer_network *net = NULL;
    int32_t *order = NULL, *by_to = NULL;
    enum pricer_status status = check_summary(&whole, fault);
    if (status == PRICER_OK)
        status = check_entries(entries, &whole, &here, fault);
    if (status != PRICER_OK)
        goto done;
    order = pri_alloc(whole.links, sizeof *order);
    by_to = pri_alloc(whole.links, sizeof *by_to);
    status = PRICER_MEMORY;
    if (order == NULL || by_to == NULL)
        goto done;
    int32_t count = (int32_t)whole.links;
    for (int32_t l = 0; l < count; l++)
        order[l] = l;
    status = fill_nodes(entries, &whole, &net);
    if (status != PRICER_OK)
        goto done;
    sort_by_end(entries, false, count, order, net->nodes, net->in_start, by_to);
    sort_by_end(entries, true, count, by_to, net->nodes, net->out_start, order);
    net->left_out = count;
    status = keep_links(entries, order, &count, &here, fault);
    net->left_out -= count;
    if (status == PRICER_OK)
        status = pri_network_room(net, count);
    if (status != PRICER_OK)
        goto done;
    fill_links(entries, order, net);
    pri_network_finish(net, whole.reciprocity);
    status = fill_budgets(entries, net, &here, fault);
    if (status == PRICER_OK)
        status = fill_measures(entries, net, &here, fault);
    if (status == PRICER_OK)
        status = check_joints(entries, net, order, &here, fault);
done:
    free(order);
    free(by_to);
    if (status != PRICER_OK) {
        pricer_network_free(net);
        if (place != NULL)
            *place = here;
        return status;
    }
    *network = net;
    return PRICER_OK;
}

enum pricer_status pricer_network_build(
    const struct pricer_network_parts *parts, struct pricer_network **network,
    struct pricer_place *place, struct pricer_fault *fault)
{
    return build(&(struct entries){.parts = parts}, network, place, fault);
}

enum pricer_status pricer_network_build_arrays(
    const struct pricer_network_arrays *arrays, struct pricer_network **network,
    struct pricer_place *place, struct pricer_fault *fault)
{
    const struct pricer_network_arrays *a = arrays;
    bool nodes = a->uplink != NULL && a->self_eps != NULL &&
                 a->self_delta != NULL && (a->x == NULL) == (a->y == NULL);
    bool links = a->link_count == 0 ||
                 (a->from != NULL && a->to != NULL && a->p != NULL &&
                  a->eps != NULL && a->delta != NULL);
    if (!nodes || !links) {
        if (place != NULL)
            *place = (struct pricer_place){-1, -1};
        return pri_fault(fault, PRICER_VALUE, "an array of the %s is missing",
                         nodes ? "links" : "nodes");
    }
    return build(&(struct entries){.arrays = arrays}, network, place, fault);
}
