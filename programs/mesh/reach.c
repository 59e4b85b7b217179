/*
 * A breadth-first search over emulated links.
 */
#include "reach.h"

#include <stdlib.h>

enum pricer_status reach_emulated(const struct emulate *emulate,
                                  const struct emulate_time *time, int32_t hops,
                                  bool *reached)
{
    const struct pricer_network *network = emulate->network;
    size_t nodes = (size_t)network->nodes;
    int32_t *level = calloc(nodes, sizeof *level);
    int32_t *queue = calloc(nodes, sizeof *queue);
    int32_t first = 0, last = 0;
    if (level == NULL || queue == NULL) {
        free(level);
        free(queue);
        return PRICER_MEMORY;
    }
    for (int32_t i = 0; i < network->nodes; i++) {
        bool up = emulate_up(emulate, time, i, PRICER_SERVER);
        level[i] = up ? 0 : -1;
        if (up)
            queue[last++] = i;
    }
    while (first < last) {
        int32_t to = queue[first++];
        reached[to] = true;
        if (level[to] >= hops)
            continue;
        for (int32_t k = network->in_start[to]; k < network->in_start[to + 1];
             k++) {
            int32_t from = network->from[network->in_link[k]];
            if (level[from] >= 0 || !emulate_up(emulate, time, from, to))
                continue;
            level[from] = level[to] + 1;
            queue[last++] = from;
        }
    }
    free(level);
    free(queue);
    return PRICER_OK;
}
