/*
 * From nodes and links in any order to a network: checked, sorted and indexed
 * in both directions.
 *
 * Sorting is two stable counting passes, by receiver and then by sender, so
 * building takes O(nodes + links) whatever the order of the input.
 */
#include "network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double pri_joint(double reciprocity, double p, double p_back)
{
    double independent = p * p_back, reciprocal = fmin(p, p_back);
    if (reciprocity == 1) /* exactly, whatever the rounding below */
        return reciprocal;
    double joint = independent + reciprocity * (reciprocal - independent);
    return fmin(joint, reciprocal);
}

enum pricer_status pri_network_new(int32_t nodes, bool positions,
                                   struct pricer_network **network)
{
    struct pricer_network *net = pri_alloc(1, sizeof *net);
    if (net == NULL)
        return PRICER_MEMORY;
    net->nodes = nodes;
    net->uplink = pri_alloc(nodes, sizeof(double));
    net->self_eps = pri_alloc(nodes, sizeof(double));
    net->self_delta = pri_alloc(nodes, sizeof(double));
    net->out_start = pri_alloc((int64_t)nodes + 1, sizeof(int32_t));
    net->in_start = pri_alloc((int64_t)nodes + 1, sizeof(int32_t));
    if (positions) {
        net->x = pri_alloc(nodes, sizeof(double));
        net->y = pri_alloc(nodes, sizeof(double));
    }
    if (!net->uplink || !net->self_eps || !net->self_delta || !net->out_start ||
        !net->in_start || (positions && (!net->x || !net->y))) {
        pricer_network_free(net);
        return PRICER_MEMORY;
    }
    *network = net;
    return PRICER_OK;
}

enum pricer_status pri_network_room(struct pricer_network *net, int32_t links)
{
    net->links = links;
    net->from = pri_alloc(links, sizeof(int32_t));
    net->to = pri_alloc(links, sizeof(int32_t));
    net->partner = pri_alloc(links, sizeof(int32_t));
    net->in_link = pri_alloc(links, sizeof(int32_t));
    net->p = pri_alloc(links, sizeof(double));
    net->joint = pri_alloc(links, sizeof(double));
    net->eps = pri_alloc(links, sizeof(double));
    net->delta = pri_alloc(links, sizeof(double));
    bool all = net->from && net->to && net->partner && net->in_link && net->p &&
               net->joint && net->eps && net->delta;
    return all ? PRICER_OK : PRICER_MEMORY;
}

void pricer_network_free(struct pricer_network *network)
{
    if (network == NULL)
        return;
    free(network->uplink);
    free(network->self_eps);
    free(network->self_delta);
    free(network->server_eps);
    free(network->server_delta);
    free(network->x);
    free(network->y);
    free(network->out_start);
    free(network->in_start);
    free(network->from);
    free(network->to);
    free(network->partner);
    free(network->in_link);
    free(network->p);
    free(network->joint);
    free(network->eps);
    free(network->delta);
    free(network);
}

size_t pricer_network_bytes(const struct pricer_network *network)
{
    size_t per_link = 4 * sizeof(int32_t) + 4 * sizeof(double);
    size_t per_node = 3 * sizeof(double) + 2 * sizeof(int32_t) +
                      (network->x != NULL ? 2 * sizeof(double) : 0) +
                      (network->server_eps != NULL ? 2 * sizeof(double) : 0);
    return sizeof *network + 2 * sizeof(int32_t) +
           (size_t)network->nodes * per_node +
           (size_t)network->links * per_link;
}

int32_t pricer_network_find(const struct pricer_network *network, int32_t from,
                            int32_t to)
{
    if (from < 0 || from >= network->nodes)
        return -1;
    int32_t low = network->out_start[from], high = network->out_start[from + 1];
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (network->to[middle] < to)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < network->out_start[from + 1] && network->to[low] == to;
    return found ? low : -1;
}

/* List the links by (to, from): a stable counting pass over (from, to) order.
 */
static void index_arrivals(struct pricer_network *net)
{
    memset(net->in_start, 0, ((size_t)net->nodes + 1) * sizeof(int32_t));
    for (int32_t l = 0; l < net->links; l++)
        net->in_start[net->to[l] + 1]++;
    for (int32_t j = 0; j < net->nodes; j++)
        net->in_start[j + 1] += net->in_start[j];
    for (int32_t l = 0; l < net->links; l++)
        net->in_link[net->in_start[net->to[l]]++] = l;
    for (int32_t j = net->nodes; j > 0; j--)
        net->in_start[j] = net->in_start[j - 1];
    net->in_start[0] = 0;
}

/*
 * Merge the departures of each node with its arrivals: both are ordered by the
 * other end, so partners meet. O(links).
 */
static void index_partners(struct pricer_network *net)
{
    for (int32_t i = 0; i < net->nodes; i++) {
        int32_t in = net->in_start[i];
        for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++) {
            while (in < net->in_start[i + 1] &&
                   net->from[net->in_link[in]] < net->to[l])
                in++;
            bool meets = in < net->in_start[i + 1] &&
                         net->from[net->in_link[in]] == net->to[l];
            net->partner[l] = meets ? net->in_link[in] : -1;
        }
    }
}

void pri_network_finish(struct pricer_network *net, double reciprocity)
{
    for (int32_t i = 0; i < net->nodes; i++)
        for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++)
            net->from[l] = i;
    index_arrivals(net);
    index_partners(net);
    for (int32_t l = 0; l < net->links; l++) {
        int32_t back = net->partner[l];
        if (!isnan(net->joint[l]))
            continue;
        if (back >= 0 && !isnan(net->joint[back]))
            net->joint[l] = net->joint[back];
        else
            net->joint[l] =
                back < 0 ? 0 : pri_joint(reciprocity, net->p[l], net->p[back]);
    }
}

static bool is_probability(double p)
{
    return p >= 0 && p <= 1;
}

enum pricer_status pri_check_trust(double eps, double delta,
                                   struct pricer_fault *fault)
{
    if (!(eps > 0))
        return pri_fault(fault, PRICER_VALUE,
                         "eps = %.12g is not a positive number or inf", eps);
    if (!(delta > 0 && delta <= 1))
        return pri_fault(fault, PRICER_VALUE, "delta = %.12g is outside (0, 1]",
                         delta);
    return PRICER_OK;
}

enum pricer_status pri_node_check(const struct pricer_node *node,
                                  struct pricer_fault *fault)
{
    if (!is_probability(node->uplink))
        return pri_fault(fault, PRICER_VALUE, "p = %.12g is not a probability",
                         node->uplink);
    if (isnan(node->x) != isnan(node->y) || isinf(node->x) || isinf(node->y))
        return pri_fault(fault, PRICER_VALUE,
                         "the position (%g, %g) is not a point of the plane",
                         node->x, node->y);
    return pri_check_trust(node->eps, node->delta, fault);
}

enum pricer_status pri_link_check(const struct pricer_link *link, int64_t nodes,
                                  struct pricer_fault *fault)
{
    int32_t ends[] = {link->from, link->to};
    for (int side = 0; side < 2; side++)
        if (ends[side] < 0 || ends[side] >= nodes)
            return pri_fault(fault, PRICER_VALUE,
                             "there is no node %d: the nodes are 0 to %lld",
                             (int)ends[side], (long long)nodes - 1);
    if (link->from == link->to)
        return pri_fault(fault, PRICER_VALUE,
                         "a link from node %d to itself is implied",
                         (int)link->from);
    if (!is_probability(link->p))
        return pri_fault(fault, PRICER_VALUE, "p = %.12g is not a probability",
                         link->p);
    if (!isnan(link->joint) && !is_probability(link->joint))
        return pri_fault(fault, PRICER_VALUE,
                         "joint = %.12g is not a probability", link->joint);
    return pri_check_trust(link->eps, link->delta, fault);
}

/* Check all that can be checked of an entry by itself. */
static enum pricer_status check_entries(
    int64_t dimension, double radius, double reciprocity,
    const struct pricer_node *nodes, int64_t node_count,
    const struct pricer_link *links, int64_t link_count,
    struct pricer_place *place, struct pricer_fault *fault)
{
    if (dimension < 1)
        return pri_fault(fault, PRICER_VALUE,
                         "dimension = %lld is not a positive number",
                         (long long)dimension);
    if (!(radius > 0) || isinf(radius))
        return pri_fault(fault, PRICER_VALUE,
                         "radius = %g is not a positive number", radius);
    if (!is_probability(reciprocity))
        return pri_fault(fault, PRICER_VALUE,
                         "reciprocity = %g is outside [0, 1]", reciprocity);
    if (node_count < 1 || node_count > INT32_MAX - 1)
        return pri_fault(fault, PRICER_VALUE,
                         "%lld nodes are not between 1 and %d",
                         (long long)node_count, INT32_MAX - 1);
    if (link_count < 0 || link_count > INT32_MAX - 1)
        return pri_fault(fault, PRICER_VALUE,
                         "%lld links are more than %d, the most there may be",
                         (long long)link_count, INT32_MAX - 1);
    for (place->node = 0; place->node < node_count; place->node++) {
        enum pricer_status status = pri_node_check(&nodes[place->node], fault);
        if (status != PRICER_OK)
            return status;
    }
    place->node = -1;
    for (place->link = 0; place->link < link_count; place->link++) {
        enum pricer_status status =
            pri_link_check(&links[place->link], node_count, fault);
        if (status != PRICER_OK)
            return status;
    }
    place->link = -1;
    return PRICER_OK;
}

/*
 * One stable counting pass: reorder `order` by one end of the links. `start`
 * has room for nodes + 1 counts, which are left as the starts of each group.
 */
static void sort_by_end(const struct pricer_link *links, bool by_from,
                        int32_t count, const int32_t *order, int32_t nodes,
                        int32_t *start, int32_t *sorted)
{
    memset(start, 0, ((size_t)nodes + 1) * sizeof *start);
    for (int32_t k = 0; k < count; k++) {
        const struct pricer_link *link = &links[order[k]];
        start[(by_from ? link->from : link->to) + 1]++;
    }
    for (int32_t i = 0; i < nodes; i++)
        start[i + 1] += start[i];
    for (int32_t k = 0; k < count; k++) {
        const struct pricer_link *link = &links[order[k]];
        sorted[start[by_from ? link->from : link->to]++] = order[k];
    }
    for (int32_t i = nodes; i > 0; i--)
        start[i] = start[i - 1];
    start[0] = 0;
}

/*
 * Refuse a link that is given twice, also with p = 0, and take those with p = 0
 * out of the order; *count is how many there are and how many are left.
 */
static enum pricer_status keep_links(const struct pricer_link *links,
                                     int32_t *order, int32_t *count,
                                     struct pricer_place *place,
                                     struct pricer_fault *fault)
{
    int32_t kept = 0, before = -1;
    for (int32_t k = 0; k < *count; k++) {
        int32_t l = order[k];
        if (before >= 0 && links[before].from == links[l].from &&
            links[before].to == links[l].to) {
            place->link = l;
            return pri_fault(fault, PRICER_VALUE,
                             "the link %d,%d stands here a second time",
                             (int)links[l].from, (int)links[l].to);
        }
        before = l;
        if (links[l].p > 0)
            order[kept++] = l;
    }
    *count = kept;
    return PRICER_OK;
}

/* Copy the sorted links into the network. */
static void fill_links(const struct pricer_link *links, const int32_t *order,
                       struct pricer_network *net)
{
    memset(net->out_start, 0, ((size_t)net->nodes + 1) * sizeof(int32_t));
    for (int32_t k = 0; k < net->links; k++) {
        const struct pricer_link *link = &links[order[k]];
        net->out_start[link->from + 1]++;
        net->to[k] = link->to;
        net->p[k] = link->p;
        net->joint[k] = link->joint;
        net->eps[k] = link->eps;
        net->delta[k] = link->delta;
    }
    for (int32_t i = 0; i < net->nodes; i++)
        net->out_start[i + 1] += net->out_start[i];
}

/*
 * The bounds allow for the rounding of a joint written with 15 digits. A link
 * that gave none is not to blame: what it has is its partner's or within them.
 */
enum pricer_status pri_network_check_joints(const struct pricer_network *net,
                                            const struct pricer_link *links,
                                            const int32_t *order,
                                            struct pricer_place *place,
                                            struct pricer_fault *fault)
{
    for (int32_t l = 0; l < net->links; l++) {
        int32_t back = net->partner[l];
        double other = back < 0 ? 0 : net->p[back], joint = net->joint[l];
        double low = net->p[l] * other, high = fmin(net->p[l], other);
        place->link = order != NULL ? order[l] : l;
        if (links != NULL && isnan(links[place->link].joint))
            continue;
        if (joint < low * (1 - 1e-12) || joint > high * (1 + 1e-12))
            return pri_fault(fault, PRICER_VALUE,
                             "joint = %.9g of the link %d,%d is outside "
                             "[%.9g, %.9g], its bounds for p = %g and %g",
                             joint, (int)net->from[l], (int)net->to[l], low,
                             high, net->p[l], other);
        if (back >= 0 && net->joint[back] != joint)
            return pri_fault(fault, PRICER_VALUE,
                             "joint = %.9g of the link %d,%d differs from "
                             "%.9g of the link %d,%d",
                             joint, (int)net->from[l], (int)net->to[l],
                             net->joint[back], (int)net->to[l],
                             (int)net->from[l]);
    }
    place->link = -1;
    return PRICER_OK;
}

void pri_network_set_node(struct pricer_network *net, int32_t i,
                          const struct pricer_node *node)
{
    net->uplink[i] = node->uplink;
    net->self_eps[i] = node->eps;
    net->self_delta[i] = node->delta;
    if (net->x != NULL) {
        net->x[i] = node->x;
        net->y[i] = node->y;
    }
}

/* Positions are kept if every node has one. */
static bool all_placed(const struct pricer_node *nodes, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (isnan(nodes[i].x))
            return false;
    return true;
}

enum pricer_status pricer_network_build(
    int64_t dimension, double radius, double reciprocity,
    const struct pricer_node *nodes, int64_t node_count,
    const struct pricer_link *links, int64_t link_count,
    struct pricer_network **network, struct pricer_place *place,
    struct pricer_fault *fault)
{
    struct pricer_place here = {-1, -1};
    struct pricer_network *net = NULL;
    int32_t *order = NULL, *by_to = NULL;
    enum pricer_status status =
        check_entries(dimension, radius, reciprocity, nodes, node_count, links,
                      link_count, &here, fault);
    if (status != PRICER_OK)
        goto done;
    order = pri_alloc(link_count, sizeof *order);
    by_to = pri_alloc(link_count, sizeof *by_to);
    status = PRICER_MEMORY;
    if (order == NULL || by_to == NULL)
        goto done;
    int32_t count = (int32_t)link_count;
    for (int32_t l = 0; l < count; l++)
        order[l] = l;
    status = pri_network_new((int32_t)node_count, all_placed(nodes, node_count),
                             &net);
    if (status != PRICER_OK)
        goto done;
    net->dimension = dimension;
    net->radius = radius;
    for (int32_t i = 0; i < net->nodes; i++)
        pri_network_set_node(net, i, &nodes[i]);
    sort_by_end(links, false, count, order, net->nodes, net->in_start, by_to);
    sort_by_end(links, true, count, by_to, net->nodes, net->out_start, order);
    status = keep_links(links, order, &count, &here, fault);
    if (status == PRICER_OK)
        status = pri_network_room(net, count);
    if (status != PRICER_OK)
        goto done;
    fill_links(links, order, net);
    pri_network_finish(net, reciprocity);
    status = pri_network_check_joints(net, links, order, &here, fault);
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

enum pricer_status pricer_network_budget(struct pricer_network *network,
                                         const double *eps, const double *delta,
                                         struct pricer_place *place,
                                         struct pricer_fault *fault)
{
    size_t bytes = (size_t)network->nodes * sizeof(double);
    for (int32_t i = 0; i < network->nodes; i++)
        if (pri_check_trust(eps[i], delta[i], fault) != PRICER_OK) {
            if (place != NULL)
                *place = (struct pricer_place){i, -1};
            return PRICER_VALUE;
        }
    double *server_eps = pri_alloc(network->nodes, sizeof(double));
    double *server_delta = pri_alloc(network->nodes, sizeof(double));
    if (server_eps == NULL || server_delta == NULL) {
        free(server_eps);
        free(server_delta);
        return PRICER_MEMORY;
    }
    free(network->server_eps);
    free(network->server_delta);
    network->server_eps = memcpy(server_eps, eps, bytes);
    network->server_delta = memcpy(server_delta, delta, bytes);
    return PRICER_OK;
}

enum pricer_status pri_network_budget(struct pricer_network *network,
                                      const double *eps, const double *delta,
                                      struct pricer_place *place,
                                      struct pricer_fault *fault)
{
    bool any = false;
    for (int32_t i = 0; i < network->nodes; i++)
        any = any || eps[i] != INFINITY;
    return any ? pricer_network_budget(network, eps, delta, place, fault)
               : PRICER_OK;
}
