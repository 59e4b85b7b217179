/*
 * Searches over emulated links, one from each node.
 */
#include "reach.h"

#include <stdlib.h>
#include <string.h>

/* Links and uplinks of one attempt, and who has one node's release. */
struct search {
    const struct pricer_network *network;
    bool *link;     /* [links] */
    bool *uplink;   /* [nodes] */
    int32_t *queue; /* [nodes] */
    int32_t *level; /* [nodes]; -1: it does not have it */
};

static void draw(const struct emulate *emulate, const struct emulate_time *time,
                 struct search *search)
{
    const struct pricer_network *network = search->network;
    for (int32_t l = 0; l < network->links; l++)
        search->link[l] =
            emulate_up(emulate, time, network->from[l], network->to[l]);
    for (int32_t i = 0; i < network->nodes; i++)
        search->uplink[i] = emulate_up(emulate, time, i, PRICER_SERVER);
}

/* Whoever has it passes it on; whether anyone who then has it has an uplink. */
static bool pass_on(struct search *search, int32_t hops, bool *has)
{
    const struct pricer_network *network = search->network;
    int32_t first = 0, last = 0;
    bool arrives = false;
    for (int32_t i = 0; i < network->nodes; i++) {
        search->level[i] = has[i] ? 0 : -1;
        if (has[i])
            search->queue[last++] = i;
    }
    while (first < last) {
        int32_t from = search->queue[first++];
        arrives = arrives || search->uplink[from];
        has[from] = true;
        for (int32_t l = network->out_start[from];
             l < network->out_start[from + 1] && search->level[from] < hops;
             l++) {
            int32_t to = network->to[l];
            if (search->level[to] >= 0 || !search->link[l])
                continue;
            search->level[to] = search->level[from] + 1;
            search->queue[last++] = to;
        }
    }
    return arrives;
}

enum pricer_status reach_emulated(const struct emulate *emulate,
                                  const struct emulate_time *time, int32_t hops,
                                  bool *reached)
{
    const struct pricer_network *network = emulate->network;
    size_t nodes = (size_t)network->nodes;
    struct search search = {network, calloc((size_t)network->links + 1, 1),
                            calloc(nodes, 1), calloc(nodes, sizeof(int32_t)),
                            calloc(nodes, sizeof(int32_t))};
    bool *has = calloc(nodes, nodes);
    bool good = search.link != NULL && search.uplink != NULL &&
                search.queue != NULL && search.level != NULL && has != NULL;
    for (size_t i = 0; i < nodes && good; i++)
        has[i * nodes + i] = true;
    struct emulate_time at = *time;
    for (at.attempt = 0; at.attempt <= time->attempt && good; at.attempt++) {
        draw(emulate, &at, &search);
        for (size_t i = 0; i < nodes; i++)
            reached[i] = pass_on(&search, hops, has + i * nodes) || reached[i];
    }
    free(search.link);
    free(search.uplink);
    free(search.queue);
    free(search.level);
    free(has);
    return good ? PRICER_OK : PRICER_MEMORY;
}
