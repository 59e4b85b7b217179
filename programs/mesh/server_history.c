/*
 * What the server of a mesh counts: what it dropped, the latest rounds that are
 * over, and how each node has arrived.
 */
#include "server.h"

#include <string.h>

void mesh_drop(struct mesh_server *server, enum pricer_drop why)
{
    server->round.dropped[why]++;
    server->total[why]++;
}

const struct mesh_ended *mesh_history_last(const struct mesh_server *server)
{
    const struct mesh_history *history = &server->history;
    return history->count > 0
               ? &history->list[(history->count - 1) % MESH_LATEST]
               : NULL;
}

/* An uplink works in a round in which its node has brought anything. */
static void note_member(const struct mesh_arrival *arrival, int64_t round,
                        struct mesh_member *member)
{
    member->uplinks += member->taken > 0;
    if (!arrival->here)
        return;
    member->heard = round;
    member->hops = arrival->hops;
    member->arrived++;
    member->over[arrival->hops]++;
}

void mesh_history_note(struct mesh_server *server)
{
    struct mesh_history *history = &server->history;
    struct mesh_members *members = &server->members;
    const struct mesh_round *round = &server->round;
    struct mesh_ended *ended = &history->list[history->count++ % MESH_LATEST];
    *ended = (struct mesh_ended){.round = round->number,
                                 .arrived = round->arrived,
                                 .packets = round->packets,
                                 .repeated = round->repeated,
                                 .bytes = round->bytes,
                                 .bar = round->bar,
                                 .error = round->error};
    members->rounds++;
    for (int32_t i = 0; i < members->nodes; i++) {
        const struct mesh_arrival *arrival = &round->arrivals[i];
        note_member(arrival, round->number, &members->list[i]);
        ended->over[arrival->here ? arrival->hops : 0] += arrival->here;
    }
}

void mesh_history_forget(struct mesh_members *members)
{
    members->rounds = 0;
    for (int32_t i = 0; i < members->nodes; i++) {
        members->list[i].uplinks = 0;
        memset(members->list[i].over, 0, sizeof members->list[i].over);
    }
}
