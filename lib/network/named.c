/*
 * From what is known of each node by itself to a network that is being built:
 * what people call it, how long its vectors are and how far its data can move.
 */
#include "network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------- names -- */

/* "node7" is what node 7 is called without a name, and "server" is the server:
 * another that is called so would be taken for it. */
static bool is_taken(const char *name, int32_t node)
{
    char own[24];
    if (strcmp(name, "server") == 0)
        return true;
    snprintf(own, sizeof own, "node%d", (int)node);
    return strncmp(name, "node", 4) == 0 && name[4] != '\0' &&
           name[4 + strspn(name + 4, "0123456789")] == '\0' &&
           strcmp(name, own) != 0;
}

static int by_name(const void *one, const void *two, void *context)
{
    char(*name)[PRICER_NAME_TEXT] = context;
    int32_t a = *(const int32_t *)one, b = *(const int32_t *)two;
    int order = strcmp(name[a], name[b]);
    return order != 0 ? order : (a > b) - (a < b);
}

/* No name for two nodes; the later one is to blame. O(nodes log nodes). */
static enum pricer_status refuse_twice(struct pricer_network *net,
                                       struct pricer_place *place,
                                       struct pricer_fault *fault)
{
    int32_t *order = pri_alloc(net->nodes, sizeof *order);
    enum pricer_status status = PRICER_OK;
    if (order == NULL)
        return PRICER_MEMORY;
    for (int32_t i = 0; i < net->nodes; i++)
        order[i] = i;
    qsort_r(order, (size_t)net->nodes, sizeof *order, by_name, net->name);
    for (int32_t k = 1; k < net->nodes && status == PRICER_OK; k++) {
        const char *name = net->name[order[k]];
        if (name[0] == '\0' || strcmp(name, net->name[order[k - 1]]) != 0)
            continue;
        place->node = order[k];
        status = pri_fault(fault, PRICER_VALUE,
                           "the name %s belongs to node %d already", name,
                           (int)order[k - 1]);
    }
    free(order);
    return status;
}

enum pricer_status pri_network_name(struct pricer_network *net,
                                    const char *const *names,
                                    struct pricer_place *place,
                                    struct pricer_fault *fault)
{
    struct pricer_place here = {-1, -1};
    bool any = false;
    enum pricer_status status = PRICER_OK;
    for (int32_t i = 0; names != NULL && i < net->nodes; i++)
        any = any || (names[i] != NULL && names[i][0] != '\0');
    if (!any)
        return PRICER_OK;
    free(net->name);
    net->name = pri_alloc(net->nodes, sizeof *net->name);
    if (net->name == NULL)
        return PRICER_MEMORY;
    for (int32_t i = 0; i < net->nodes && status == PRICER_OK; i++) {
        if (names[i] == NULL || names[i][0] == '\0')
            continue;
        if (!pri_is_name(names[i]))
            status = pri_fault(fault, PRICER_VALUE,
                               "name = %.40s is no name: letters, digits, "
                               "'-', '_' and '.', a letter or digit first, "
                               "not digits alone, fewer than %d of them",
                               names[i], PRICER_NAME_TEXT);
        else if (is_taken(names[i], i))
            status = pri_fault(fault, PRICER_VALUE,
                               "name = %s would be taken for another: 'server' "
                               "and 'node' with a number are not free",
                               names[i]);
        else
            strcpy(net->name[i], names[i]);
        here.node = status == PRICER_OK ? -1 : i;
    }
    if (status == PRICER_OK)
        status = refuse_twice(net, &here, fault);
    if (status != PRICER_OK && place != NULL)
        *place = here;
    return status;
}

/* --------------------------------------------------------------- lengths -- */

static enum pricer_status check_lengths(const struct pricer_network *net,
                                        double radius, double diameter,
                                        struct pricer_fault *fault)
{
    if (!(radius > 0) || isinf(radius))
        return pri_fault(fault, PRICER_VALUE,
                         "radius = %.12g is not a positive number", radius);
    if (radius > net->radius)
        return pri_fault(fault, PRICER_VALUE,
                         "radius = %.12g of a node is above %.12g, the radius "
                         "of all: raise that one",
                         radius, net->radius);
    if (!(diameter > 0))
        return pri_fault(fault, PRICER_VALUE,
                         "diameter = %.12g is not a positive number", diameter);
    if (diameter > 2 * radius)
        return pri_fault(fault, PRICER_VALUE,
                         "diameter = %.12g is above %.12g, twice the radius: "
                         "no two vectors are so far apart",
                         diameter, 2 * radius);
    return PRICER_OK;
}

enum pricer_status pri_network_lengths(struct pricer_network *net, double whole,
                                       const double *radius,
                                       const double *diameter,
                                       struct pricer_place *place,
                                       struct pricer_fault *fault)
{
    enum pricer_status status =
        whole == 0 ? PRICER_OK : check_lengths(net, net->radius, whole, fault);
    for (int32_t i = 0; i < net->nodes && status == PRICER_OK; i++) {
        bool own = radius != NULL && !isnan(radius[i]);
        double size = own ? radius[i] : net->radius;
        double most = whole == 0 ? 2 * size : fmin(whole, 2 * size);
        bool said = diameter != NULL && !isnan(diameter[i]);
        net->node_radius[i] = size;
        net->node_diameter[i] = said ? diameter[i] : most;
        status = check_lengths(net, size, net->node_diameter[i], fault);
        if (status != PRICER_OK && place != NULL)
            *place = (struct pricer_place){i, -1};
    }
    return status;
}

enum pricer_status pri_network_alike(const struct pricer_network *network,
                                     const char *what, bool near,
                                     struct pricer_fault *fault)
{
    for (int32_t i = 0; i < network->nodes; i++) {
        if (network->node_radius[i] != network->radius)
            return pri_fault(fault, PRICER_VALUE,
                             "%s cannot count with radii that differ: node %d "
                             "has %.9g where the network has %.9g",
                             what, (int)i, network->node_radius[i],
                             network->radius);
        if (near && network->node_diameter[i] != 2 * network->radius)
            return pri_fault(fault, PRICER_VALUE,
                             "%s cannot count with a diameter: node %d has "
                             "%.9g, less than twice the radius",
                             what, (int)i, network->node_diameter[i]);
    }
    return PRICER_OK;
}

enum pricer_status pri_network_relate(struct pricer_network *net, double step,
                                      struct pricer_fault *fault)
{
    if (step == 0)
        return PRICER_OK;
    enum pricer_status status =
        pri_network_alike(net, "reference: last", false, fault);
    for (int32_t i = 0; i < net->nodes && status == PRICER_OK; i++)
        if (net->node_diameter[i] < 2 * step)
            return pri_fault(fault, PRICER_VALUE,
                             "node %d has a diameter of %.9g, less than %.9g, "
                             "twice the step: with 'reference: last' what a "
                             "link shows is hidden by noise for two steps, no "
                             "less",
                             (int)i, net->node_diameter[i], 2 * step);
    if (status != PRICER_OK)
        return status;
    net->reach = net->radius;
    net->radius = step;
    for (int32_t i = 0; i < net->nodes; i++) {
        net->node_radius[i] = step;
        net->node_diameter[i] = 2 * step;
    }
    return PRICER_OK;
}
