/*
 * From a network to every node's most likely path, and from its number of relays to
 * a class with a colour and a name.
 */
#include "hops.h"

#include <stdlib.h>
#include <string.h>

/* One more relay: the best path over at most so many is a link and the best path
 * of its receiver over at most one less. Of equal ones the shorter stays. */
static void extend(const struct pricer_network *network, const double *before,
                   const int32_t *relays_before, double *p, int32_t *relays,
                   int32_t *link)
{
    for (int32_t l = 0; l < network->links; l++) {
        int32_t from = network->from[l], to = network->to[l];
        double along = network->p[l] * before[to];
        if (along > p[from]) {
            p[from] = along;
            relays[from] = relays_before[to] + 1;
            link[from] = l;
        }
    }
}

bool hops_find(const struct pricer_network *network, int32_t hops,
               int32_t *relays, int32_t *link)
{
    size_t nodes = (size_t)network->nodes;
    double *p = calloc(nodes, sizeof *p), *before = calloc(nodes, sizeof *p);
    int32_t *relays_before = calloc(nodes, sizeof *relays_before);
    bool good = p != NULL && before != NULL && relays_before != NULL;
    for (int32_t i = 0; i < network->nodes && good; i++) {
        p[i] = network->uplink[i];
        relays[i] = p[i] > 0 ? 0 : -1;
        link[i] = -1;
    }
    for (int32_t h = 0; h < hops && good; h++) {
        memcpy(before, p, nodes * sizeof *p);
        memcpy(relays_before, relays, nodes * sizeof *relays);
        extend(network, before, relays_before, p, relays, link);
    }
    free(p);
    free(before);
    free(relays_before);
    return good;
}

/* ---------------------------------------------------------------- classes -- */

static const struct {
    const char *colour, *name;
} classes[HOPS_CLASSES] = {{"green", "own uplink"},
                           {"blue", "one relay"},
                           {"violet", "two"},
                           {"orange", "three or more"},
                           {"grey", "never heard"}};

int hops_class(const struct report *report, int32_t node)
{
    int32_t relays = report->path_relays[node];
    if (relays < 0)
        return HOPS_NEVER;
    return relays < HOPS_NEVER ? relays : HOPS_NEVER - 1;
}

const char *hops_colour(int class)
{
    return classes[class].colour;
}

void hops_key(const struct report *report)
{
    bool used[HOPS_CLASSES] = {false};
    for (int32_t i = 0; i < report->network->nodes; i++)
        used[hops_class(report, i)] = true;
    fputs("The most likely path to the server:", report->out);
    for (int k = 0; k < HOPS_CLASSES; k++)
        if (used[k])
            fprintf(report->out,
                    " <span class=\"key\" style=\"background:var(--%s)\">"
                    "</span>%s",
                    classes[k].colour, classes[k].name);
    fputs(".", report->out);
}
