/*
 * From a network to a copy in which some links have another eps: what if they
 * trusted each other more, or less?
 */
#include "network.h"

#include <stdlib.h>
#include <string.h>

static void copy(void *to, const void *from, int64_t count, size_t size)
{
    memcpy(to, from, (size_t)count * size);
}

static enum pricer_status copy_network(const struct pricer_network *network,
                                       struct pricer_network **copied)
{
    struct pricer_network *made = NULL;
    int32_t n = network->nodes, m = network->links;
    enum pricer_status status = pri_network_new(n, network->x != NULL, &made);
    if (status != PRICER_OK)
        return status;
    status = pri_network_room(made, m);
    if (status != PRICER_OK) {
        pricer_network_free(made);
        return status;
    }
    made->dimension = network->dimension;
    made->radius = network->radius;
    made->reach = network->reach;
    copy(made->uplink, network->uplink, n, sizeof(double));
    copy(made->self_eps, network->self_eps, n, sizeof(double));
    copy(made->self_delta, network->self_delta, n, sizeof(double));
    if (network->x != NULL) {
        copy(made->x, network->x, n, sizeof(double));
        copy(made->y, network->y, n, sizeof(double));
    }
    copy(made->out_start, network->out_start, n + 1, sizeof(int32_t));
    copy(made->from, network->from, m, sizeof(int32_t));
    copy(made->to, network->to, m, sizeof(int32_t));
    copy(made->partner, network->partner, m, sizeof(int32_t));
    if (network->in_link != network->partner) {
        copy(made->in_start, network->in_start, n + 1, sizeof(int32_t));
        copy(made->in_link, network->in_link, m, sizeof(int32_t));
    } else {
        free(made->in_start);
        free(made->in_link);
        made->in_start = made->out_start;
        made->in_link = made->partner;
    }
    copy(made->p, network->p, m, sizeof(double));
    copy(made->joint, network->joint, m, sizeof(double));
    copy(made->eps, network->eps, m, sizeof(double));
    copy(made->delta, network->delta, m, sizeof(double));
    copy(made->node_radius, network->node_radius, n, sizeof(double));
    copy(made->node_diameter, network->node_diameter, n, sizeof(double));
    if (network->name != NULL) {
        made->name = pri_alloc(n, sizeof *made->name);
        status = made->name != NULL ? PRICER_OK : PRICER_MEMORY;
        if (status == PRICER_OK)
            copy(made->name, network->name, n, sizeof *made->name);
    }
    if (status == PRICER_OK && network->server_eps != NULL)
        status = pri_network_budget(made, network->server_eps,
                                    network->server_delta, NULL, NULL);
    if (status == PRICER_OK && network->everyone_eps != NULL)
        status = pri_network_everyone(made, network->everyone_eps,
                                      network->everyone_delta, NULL, NULL);
    if (status != PRICER_OK) {
        pricer_network_free(made);
        return status;
    }
    *copied = made;
    return PRICER_OK;
}

static enum pricer_status check_change(const struct pricer_network *network,
                                       const struct pricer_trust *change,
                                       struct pricer_fault *fault)
{
    int32_t from = change->from, to = change->to, nodes = network->nodes;
    enum pricer_status status = pri_check_trust(change->eps, 1, fault);
    if (status != PRICER_OK)
        return status;
    if (from < 0 || from >= nodes || to < 0 || to >= nodes)
        return pri_fault(fault, PRICER_VALUE, "there is no node %d",
                         (int)(from < 0 || from >= nodes ? from : to));
    if (from != to && pricer_network_find(network, from, to) < 0)
        return pri_fault(fault, PRICER_VALUE, "there is no link %d,%d",
                         (int)from, (int)to);
    return PRICER_OK;
}

enum pricer_status pricer_network_retrust(const struct pricer_network *network,
                                          const struct pricer_trust *changes,
                                          int64_t count,
                                          struct pricer_network **changed,
                                          struct pricer_fault *fault)
{
    struct pricer_network *made = NULL;
    enum pricer_status status = PRICER_OK;
    for (int64_t k = 0; k < count && status == PRICER_OK; k++)
        status = check_change(network, &changes[k], fault);
    if (status == PRICER_OK)
        status = copy_network(network, &made);
    if (status != PRICER_OK)
        return status;
    for (int64_t k = 0; k < count; k++) {
        int32_t from = changes[k].from, to = changes[k].to;
        if (from == to)
            made->self_eps[from] = changes[k].eps;
        else
            made->eps[pricer_network_find(made, from, to)] = changes[k].eps;
    }
    *changed = made;
    return PRICER_OK;
}
