/*
 * From the releases that arrived to the estimate of the round and its error bar.
 * One turn of the loop adds a block of them, on several threads, so that the server
 * listens to its connections while it adds up a large round.
 */
#include "server.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double measure(const struct mesh_server *server)
{
    double sum = 0;
    if (server->truth == NULL)
        return NAN;
    for (int64_t k = 0; k < server->counting.network->dimension; k++) {
        double off = server->round.estimate[k] - server->truth[k];
        sum += off * off;
    }
    return sum;
}

void mesh_estimate_begin(struct mesh_server *server)
{
    struct mesh_round *round = &server->round;
    memset(round->estimate, 0,
           (size_t)server->counting.network->dimension *
               sizeof *round->estimate);
    round->added = 0;
    round->arrived = 0;
}

/* What was refused has not arrived. */
static void note_block(struct mesh_server *server,
                       const struct pri_forward_arrival *block, int32_t count)
{
    for (int32_t k = 0; k < count; k++) {
        server->round.arrivals[block[k].node].here = !block[k].refused;
        server->round.arrived += !block[k].refused;
        if (block[k].refused)
            mesh_drop(server, PRICER_DROP_RANGE);
    }
}

static void finish(struct mesh_server *server)
{
    struct mesh_round *round = &server->round;
    const struct mesh_counting *counting = &server->counting;
    for (int32_t i = 0; i < counting->network->nodes; i++)
        counting->arrived[i] = round->arrivals[i].here;
    mesh_reference_follow(server);
    round->bar = pricer_forward_bar(counting->network, counting->plan,
                                    counting->arrived);
    round->error = measure(server);
}

bool mesh_estimate_step(struct mesh_server *server)
{
    struct mesh_round *round = &server->round;
    const struct mesh_counting *counting = &server->counting;
    int32_t nodes = counting->network->nodes, count = 0;
    int32_t most = pri_forward_sum_block(counting->sum);
    if (round->added == nodes)
        return true;
    for (; round->added < nodes && count < most; round->added++) {
        const struct mesh_arrival *arrival = &round->arrivals[round->added];
        if (arrival->here)
            counting->block[count++] =
                (struct pri_forward_arrival){.node = round->added,
                                             .payload = arrival->payload,
                                             .bytes = (int64_t)arrival->size};
    }
    pri_forward_sum_add(counting->sum, counting->block, count, round->estimate);
    note_block(server, counting->block, count);
    if (round->added == nodes)
        finish(server);
    return round->added == nodes;
}
