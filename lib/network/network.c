/*
 * The network as a container, indexed in both directions, and the rules of the
 * model for its nodes, links and pairs.
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
    net->node_radius = pri_alloc(nodes, sizeof(double));
    net->node_diameter = pri_alloc(nodes, sizeof(double));
    net->out_start = pri_alloc((int64_t)nodes + 1, sizeof(int32_t));
    net->in_start = pri_alloc((int64_t)nodes + 1, sizeof(int32_t));
    if (positions) {
        net->x = pri_alloc(nodes, sizeof(double));
        net->y = pri_alloc(nodes, sizeof(double));
    }
    if (!net->uplink || !net->self_eps || !net->self_delta || !net->out_start ||
        !net->in_start || !net->node_radius || !net->node_diameter ||
        (positions && (!net->x || !net->y))) {
        pricer_network_free(net);
        return PRICER_MEMORY;
    }
    for (int32_t i = 0; i < nodes; i++)
        net->node_radius[i] = net->node_diameter[i] = INFINITY;
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
    free(network->everyone_eps);
    free(network->everyone_delta);
    free(network->node_radius);
    free(network->node_diameter);
    free(network->name);
    free(network->x);
    free(network->y);
    free(network->out_start);
    if (network->in_start != network->out_start)
        free(network->in_start);
    free(network->from);
    free(network->to);
    free(network->partner);
    if (network->in_link != network->partner)
        free(network->in_link);
    free(network->p);
    free(network->joint);
    free(network->eps);
    free(network->delta);
    free(network);
}

size_t pri_network_bytes(const struct pricer_network *network)
{
    bool mirrored = network->in_link == network->partner;
    size_t per_link = (mirrored ? 3 : 4) * sizeof(int32_t) + 4 * sizeof(double);
    size_t per_node = 5 * sizeof(double) +
                      (mirrored ? 1 : 2) * sizeof(int32_t) +
                      (network->name != NULL ? PRICER_NAME_TEXT : 0) +
                      (network->x != NULL ? 2 * sizeof(double) : 0) +
                      (network->server_eps != NULL ? 2 * sizeof(double) : 0) +
                      (network->everyone_eps != NULL ? 2 * sizeof(double) : 0);
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

/* List the links by (to, from): one stable counting pass over (from, to). */
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

/*
 * Where every link has its opposite, the links that arrive at a node, by the
 * node they come from, are the partners of those that leave it, by the node
 * they go to: one pair of arrays is both lists.
 */
static void share_arrivals(struct pricer_network *net)
{
    for (int32_t l = 0; l < net->links; l++)
        if (net->partner[l] < 0)
            return;
    free(net->in_link);
    free(net->in_start);
    net->in_link = net->partner;
    net->in_start = net->out_start;
}

void pri_network_finish(struct pricer_network *net, double reciprocity)
{
    for (int32_t i = 0; i < net->nodes; i++)
        for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++)
            net->from[l] = i;
    index_arrivals(net);
    index_partners(net);
    share_arrivals(net);
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

/* `of` is what precedes eps and delta in the names of the numbers. */
static enum pricer_status check_trust(const char *of, double eps, double delta,
                                      struct pricer_fault *fault)
{
    if (!(eps > 0))
        return pri_fault(fault, PRICER_VALUE,
                         "%seps = %.12g is not a positive number or inf", of,
                         eps);
    if (!(delta > 0 && delta <= 1))
        return pri_fault(fault, PRICER_VALUE,
                         "%sdelta = %.12g is outside (0, 1]", of, delta);
    return PRICER_OK;
}

enum pricer_status pri_check_trust(double eps, double delta,
                                   struct pricer_fault *fault)
{
    return check_trust("", eps, delta, fault);
}

enum pricer_status pri_node_check(const struct pricer_node *node,
                                  struct pricer_fault *fault)
{
    if (!is_probability(node->uplink))
        return pri_fault(fault, PRICER_VALUE,
                         "p = %.12g is not a probability%s", node->uplink,
                         pri_ask_percent(node->uplink));
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
        return pri_fault(fault, PRICER_VALUE,
                         "p = %.12g is not a probability%s", link->p,
                         pri_ask_percent(link->p));
    if (!isnan(link->joint) && !is_probability(link->joint))
        return pri_fault(fault, PRICER_VALUE,
                         "joint = %.12g is not a probability", link->joint);
    return pri_check_trust(link->eps, link->delta, fault);
}

/* The bounds allow for the rounding of a joint written with 15 digits. */
enum pricer_status pri_joint_check(const struct pricer_network *net, int32_t l,
                                   struct pricer_fault *fault)
{
    int32_t back = net->partner[l];
    double other = back < 0 ? 0 : net->p[back], joint = net->joint[l];
    double low = net->p[l] * other, high = fmin(net->p[l], other);
    if (joint < low * (1 - 1e-12) || joint > high * (1 + 1e-12))
        return pri_fault(fault, PRICER_VALUE,
                         "joint = %.9g of the link %d,%d is outside "
                         "[%.9g, %.9g], its bounds for p = %g and %g",
                         joint, (int)net->from[l], (int)net->to[l], low, high,
                         net->p[l], other);
    if (back >= 0 && net->joint[back] != joint)
        return pri_fault(fault, PRICER_VALUE,
                         "joint = %.9g of the link %d,%d differs from "
                         "%.9g of the link %d,%d",
                         joint, (int)net->from[l], (int)net->to[l],
                         net->joint[back], (int)net->to[l], (int)net->from[l]);
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

/* Replace two arrays of the network by copies. */
static enum pricer_status keep_budgets(int32_t nodes, const double *eps,
                                       const double *delta, double **kept_eps,
                                       double **kept_delta)
{
    size_t bytes = (size_t)nodes * sizeof(double);
    double *new_eps = pri_alloc(nodes, sizeof(double));
    double *new_delta = pri_alloc(nodes, sizeof(double));
    if (new_eps == NULL || new_delta == NULL) {
        free(new_eps);
        free(new_delta);
        return PRICER_MEMORY;
    }
    free(*kept_eps);
    free(*kept_delta);
    *kept_eps = memcpy(new_eps, eps, bytes);
    *kept_delta = memcpy(new_delta, delta, bytes);
    return PRICER_OK;
}

enum pricer_status pri_network_budget(struct pricer_network *network,
                                      const double *eps, const double *delta,
                                      struct pricer_place *place,
                                      struct pricer_fault *fault)
{
    bool any = false;
    for (int32_t i = 0; i < network->nodes; i++) {
        any = any || eps[i] != INFINITY;
        if (check_trust("server_", eps[i], delta[i], fault) != PRICER_OK) {
            if (place != NULL)
                *place = (struct pricer_place){i, -1};
            return PRICER_VALUE;
        }
    }
    return any ? keep_budgets(network->nodes, eps, delta, &network->server_eps,
                              &network->server_delta)
               : PRICER_OK;
}

enum pricer_status pri_network_everyone(struct pricer_network *network,
                                        const double *eps, const double *delta,
                                        struct pricer_place *place,
                                        struct pricer_fault *fault)
{
    for (int32_t i = 0; i < network->nodes; i++) {
        bool bad_eps = !(eps[i] > 0 && eps[i] < INFINITY);
        if (!bad_eps && delta[i] >= 0 && delta[i] < 1)
            continue;
        if (place != NULL)
            *place = (struct pricer_place){i, -1};
        if (bad_eps)
            return pri_fault(fault, PRICER_VALUE,
                             "everyone_eps = %g is not a positive number",
                             eps[i]);
        return pri_fault(fault, PRICER_VALUE,
                         "everyone_delta = %g is not within 0 <= delta < 1",
                         delta[i]);
    }
    return keep_budgets(network->nodes, eps, delta, &network->everyone_eps,
                        &network->everyone_delta);
}

enum pricer_status pri_network_refuse_forward(
    const struct pricer_network *network, struct pricer_fault *fault)
{
    if (network->everyone_eps == NULL)
        return PRICER_OK;
    return pri_fault(fault, PRICER_VALUE,
                     "the network is for 'scheme: forward': its links have no "
                     "budgets, and only releases may be sent");
}
