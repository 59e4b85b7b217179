/*
 * What the server of a mesh says to everyone: numbered, signed, kept for whoever
 * comes later, and sent to all that are connected.
 */
#include "server.h"

#include <stdlib.h>
#include <string.h>

int64_t mesh_next_counter(struct mesh_server *server)
{
    enum { A_ROUND = 20 }; /* bits: announcements between two rounds */
    const struct mesh_round *round = &server->round;
    int64_t number = round->next > round->number ? round->next : round->number;
    int64_t first = number << A_ROUND;
    server->counter = server->counter >= first ? server->counter + 1 : first;
    return server->counter;
}

void mesh_announce_to(struct mesh_server *server, struct hub_peer *peer,
                      enum mesh_kind kind)
{
    const struct wire_bytes *message = &server->said.kind[kind].message;
    if (message->size > 0)
        hub_send(peer, message->data, message->size);
}

bool mesh_announce(struct mesh_server *server)
{
    enum mesh_kind kind = MESH_KINDS;
    int64_t counter = 0;
    if (!mesh_read_body(server->bytes.data, server->bytes.size, &counter,
                        &kind) ||
        !announce_make(&server->said, &server->pair, &server->bytes)) {
        daemon_say("no memory for an announcement");
        return false;
    }
    for (int32_t i = 0; i < server->members.nodes; i++)
        if (server->members.list[i].peer != NULL)
            mesh_announce_to(server, server->members.list[i].peer, kind);
    return true;
}

bool mesh_announce_result(struct mesh_server *server, int64_t round,
                          int64_t arrived, double bar, const double *estimate)
{
    struct mesh_result result = {.counter = mesh_next_counter(server),
                                 .round = round,
                                 .arrived = arrived,
                                 .bar = bar};
    return mesh_write_result(
               &server->bytes, &result, estimate,
               estimate != NULL ? server->counting.network->dimension : 0) &&
           mesh_announce(server);
}

bool mesh_announce_fleet(struct mesh_server *server)
{
    size_t nodes = (size_t)server->members.nodes;
    uint8_t *keys = calloc(nodes, WIRE_KEY);
    if (keys == NULL)
        return false;
    for (size_t i = 0; i < nodes; i++)
        if (server->members.list[i].enrolled)
            memcpy(keys + i * WIRE_KEY, server->members.list[i].key, WIRE_KEY);
    struct mesh_fleet fleet = {
        .counter = mesh_next_counter(server),
        .results = server->results,
        .plan = (const uint8_t *)server->counting.bytes.data,
        .plan_size = server->counting.bytes.size,
        .keys = keys,
        .keys_size = nodes * WIRE_KEY,
        .follows = (const uint8_t *)server->members.follows.data,
        .follows_size = server->members.follows.size};
    bool good =
        mesh_write_fleet(&server->bytes, &fleet) && mesh_announce(server);
    free(keys);
    return good;
}

void mesh_publish(struct mesh_server *server)
{
    const struct mesh_round *round = &server->round;
    bool any = round->arrived > 0;
    struct mesh_fleet fleet;
    const struct announced *said = &server->said.kind[MESH_FLEET];
    bool whole =
        any && mesh_read_fleet(said->body, said->size, &fleet) && fleet.results;
    if (!any && server->reference.vector != NULL)
        return; /* the last RESULT stays, as the reference */
    mesh_announce_result(server, round->number, round->arrived,
                         any ? round->bar : 0, whole ? round->estimate : NULL);
}
