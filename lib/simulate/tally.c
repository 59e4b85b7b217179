/*
 * What happened in trials, counted: from the tallies of threads to the counts
 * of a process, and from those to the counts of all ranks. All of them are
 * integers, so the order does not matter.
 */
#include "simulate.h"

#include <stdlib.h>

bool pri_tally_new(const struct pricer_network *network, bool fast,
                   int64_t totals, struct pri_tally *tally)
{
    tally->uplink = pri_alloc(network->nodes, sizeof *tally->uplink);
    tally->link = pri_alloc(network->links, sizeof *tally->link);
    tally->both = pri_alloc(network->links, sizeof *tally->both);
    tally->used = pri_alloc(fast ? network->links : 0, sizeof *tally->used);
    tally->total = pri_alloc(totals, sizeof *tally->total);
    tally->excess = pri_alloc(network->nodes, sizeof *tally->excess);
    tally->fast = fast;
    return tally->uplink && tally->link && tally->both && tally->used &&
           tally->total && tally->excess;
}

void pri_tally_free(struct pri_tally *tally)
{
    free(tally->uplink);
    free(tally->link);
    free(tally->both);
    free(tally->used);
    free(tally->total);
    free(tally->excess);
}

void pri_tally_collect(struct pri_tally *tally,
                       const struct pricer_network *network,
                       struct pri_counts *counts)
{
    struct pricer_simulation *simulation = counts->simulation;
    for (int32_t i = 0; i < network->nodes; i++) {
        simulation->uplink[i] += tally->uplink[i];
        counts->excess[i] += tally->excess[i];
        tally->uplink[i] = 0;
        tally->excess[i] = 0;
    }
    for (int32_t l = 0; l < network->links; l++) {
        int32_t back = network->partner[l];
        simulation->link[l] += tally->link[l];
        simulation->both[l] += tally->both[l];
        if (back >= 0)
            simulation->both[back] += tally->both[l];
        tally->link[l] = tally->both[l] = 0;
        if (tally->fast) {
            counts->used[l] += tally->used[l];
            tally->used[l] = 0;
        }
    }
    for (int64_t k = 0; k < counts->totals; k++) {
        counts->total[k] += tally->total[k];
        tally->total[k] = 0;
    }
}

/* Wide numbers over all ranks, in limbs of 32 bits that have room for the sums
 * of as many ranks as there can be; the highest one has the sign. */
static enum pricer_status add_wide(const struct pricer_crew *crew,
                                   pri_total *values, int64_t count)
{
    enum { LIMBS = 3 };
    int64_t *limbs = pri_alloc(count * LIMBS, sizeof *limbs);
    if (limbs == NULL)
        return PRICER_MEMORY;
    for (int64_t k = 0; k < count; k++) {
        limbs[k * LIMBS] = (int64_t)(values[k] & 0xffffffff);
        limbs[k * LIMBS + 1] = (int64_t)(values[k] >> 32 & 0xffffffff);
        limbs[k * LIMBS + 2] = (int64_t)(values[k] >> 64);
    }
    crew->add(crew->context, limbs, count * LIMBS);
    for (int64_t k = 0; k < count; k++) {
        pri_total high = limbs[k * LIMBS + 2];
        values[k] = high * ((pri_total)1 << 64) +
                    limbs[k * LIMBS + 1] * ((pri_total)1 << 32) +
                    limbs[k * LIMBS];
    }
    free(limbs);
    return PRICER_OK;
}

enum pricer_status pri_counts_join(struct pri_counts *counts,
                                   const struct pricer_crew *crew)
{
    struct pricer_simulation *simulation = counts->simulation;
    crew->add(crew->context, simulation->uplink, simulation->nodes);
    crew->add(crew->context, simulation->link, simulation->links);
    crew->add(crew->context, simulation->both, simulation->links);
    crew->add(crew->context, counts->used, simulation->links);
    enum pricer_status status =
        add_wide(crew, counts->excess, simulation->nodes);
    return status == PRICER_OK ? add_wide(crew, counts->total, counts->totals)
                               : status;
}
