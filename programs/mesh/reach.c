/*
 * Searches over emulated links, one from each node.
 */
#include "reach.h"

#include <stdlib.h>
#include <string.h>

enum { FAR = INT8_MAX };

/* Links and uplinks of one attempt. */
struct search {
    const struct pricer_network *network;
    bool *link;   /* [links] */
    bool *uplink; /* [nodes] */
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

/* Whoever has it passes it on; whether anyone who then has it has an uplink.
 * `level` is over how many links each node has it. */
static bool pass_on(const struct search *search, int32_t hops, int8_t *level)
{
    const struct pricer_network *network = search->network;
    bool arrives = false;
    for (int32_t step = 0; step < hops; step++)
        for (int32_t l = 0; l < network->links; l++)
            if (level[network->from[l]] == step && search->link[l] &&
                level[network->to[l]] > step + 1)
                level[network->to[l]] = (int8_t)(step + 1);
    for (int32_t i = 0; i < network->nodes; i++)
        arrives = arrives || (level[i] < FAR && search->uplink[i]);
    return arrives;
}

enum pricer_status reach_emulated(const struct emulate *emulate,
                                  const struct emulate_time *time, int32_t hops,
                                  bool *reached)
{
    const struct pricer_network *network = emulate->network;
    size_t nodes = (size_t)network->nodes;
    struct search search = {network, calloc((size_t)network->links + 1, 1),
                            calloc(nodes, 1)};
    int8_t *level = calloc(nodes, nodes); /* [nodes][nodes] */
    bool good = search.link != NULL && search.uplink != NULL && level != NULL;
    for (size_t i = 0; i < nodes && good; i++) {
        memset(level + i * nodes, FAR, nodes);
        level[i * nodes + i] = 0;
    }
    struct emulate_time at = *time;
    for (at.attempt = 0; at.attempt <= time->attempt && good; at.attempt++) {
        draw(emulate, &at, &search);
        for (size_t i = 0; i < nodes; i++)
            reached[i] =
                pass_on(&search, hops, level + i * nodes) || reached[i];
    }
    free(search.link);
    free(search.uplink);
    free(level);
    return good ? PRICER_OK : PRICER_MEMORY;
}
