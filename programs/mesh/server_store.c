/*
 * From a round that is over to its row in the study.
 */
#include "server.h"

#include <stdlib.h>
#include <string.h>

enum pricer_status mesh_store(struct mesh_server *server, int64_t least,
                              int64_t *next, struct pricer_fault *fault)
{
    const struct mesh_round *round = &server->round;
    int32_t nodes = server->counting.network->nodes;
    int32_t *hops = calloc((size_t)nodes, sizeof *hops);
    int32_t *attempt = calloc((size_t)nodes, sizeof *attempt);
    if (hops == NULL || attempt == NULL) {
        free(hops);
        free(attempt);
        return PRICER_MEMORY;
    }
    for (int32_t i = 0; i < nodes; i++) {
        hops[i] = round->arrivals[i].here ? round->arrivals[i].hops : -1;
        attempt[i] = round->arrivals[i].attempt;
    }
    struct pricer_round_record record = {
        .round = round->number,
        .plan = server->counting.id,
        .nodes = nodes,
        .dimension = server->counting.network->dimension,
        .attempts = (int32_t)server->counting.repeat,
        .hops = hops,
        .arrival = attempt,
        .contributors = round->arrived,
        .weight = (double)round->arrived / nodes,
        .estimate = round->arrived > 0 ? round->estimate : NULL,
        .error = round->error,
        .bar = round->bar};
    memcpy(record.dropped, round->dropped, sizeof record.dropped);
    enum pricer_status status =
        pricer_study_add_round(server->study, &record, least, next, fault);
    free(hops);
    free(attempt);
    return status;
}
