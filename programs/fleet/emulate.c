/*
 * From a seed to which links are up in a round.
 */
#include "emulate.h"

int64_t emulate_trial(const struct emulate *emulate, int64_t round)
{
    return round - 1 - emulate->after;
}

bool emulate_up(const struct emulate *emulate, const struct emulate_time *time,
                int32_t from, int32_t to)
{
    const struct pricer_network *network = emulate->network;
    int64_t trial =
        emulate_trial(emulate, time->round) * time->attempts + time->attempt;
    if (network == NULL)
        return true;
    if (from < 0 || from >= network->nodes)
        return false;
    if (to == PRICER_SERVER)
        return pricer_round_up(
            emulate->seed, trial,
            &(struct pricer_pair){from, to, network->uplink[from], 0, 0});
    int32_t l = pricer_network_find(network, from, to);
    if (l < 0)
        return false;
    int32_t back = network->partner[l];
    return pricer_round_up(
        emulate->seed, trial,
        &(struct pricer_pair){from, to, network->p[l],
                              back >= 0 ? network->p[back] : 0,
                              network->joint[l]});
}
