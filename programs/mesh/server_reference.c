/*
 * From one estimate to the next, where rounds are relative to the last: it is read
 * from the study when the server starts, announced as RESULT, named by OPEN, and
 * added to the change that a round decodes.
 */
#include "server.h"
#include "pricer_reference.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum pricer_status mesh_reference_load(struct mesh_server *server,
                                       struct pricer_fault *fault)
{
    struct mesh_reference *reference = &server->reference;
    const struct pricer_network *network = server->counting.network;
    if (!(network->reach > 0) || reference->vector != NULL)
        return PRICER_OK;
    double *found = calloc((size_t)network->dimension, sizeof *found);
    if (found == NULL)
        return PRICER_MEMORY;
    enum pricer_status status = pricer_study_estimate(
        server->study, network->dimension, &reference->round, found, fault);
    if (status != PRICER_OK) {
        free(found);
        return status;
    }
    reference->vector = found;
    server->results = true; /* nobody could take part without */
    return PRICER_OK;
}

/* The digest of the reference as everyone has it; false: it is not announced. */
static bool find_digest(const struct mesh_server *server, uint8_t *digest)
{
    const struct announced *said = &server->said.kind[MESH_RESULT];
    struct mesh_result result;
    if (said->counter == 0 ||
        !mesh_read_result(said->body, said->size, &result) ||
        result.round != server->reference.round || result.size == 0)
        return false;
    crypto_generichash(digest, WIRE_DIGEST, result.estimate, result.size, NULL,
                       0);
    return true;
}

/* After a restart the estimate is announced again, as a reference only: nobody is
 * said to have arrived. Without memory for that nodes are silent in this round. */
void mesh_reference_open(struct mesh_server *server)
{
    const struct mesh_reference *reference = &server->reference;
    struct mesh_round *round = &server->round;
    round->reference = reference->round;
    memset(round->reference_digest, 0, WIRE_DIGEST);
    if (reference->round == 0 || find_digest(server, round->reference_digest))
        return;
    if (mesh_announce_result(server, reference->round, 0, 0, reference->vector))
        find_digest(server, round->reference_digest);
}

/* Sums of two numbers are the same in either order, so these are the bits of the
 * simulator's walk. */
void mesh_reference_follow(struct mesh_server *server)
{
    const struct pricer_network *network = server->counting.network;
    if (server->reference.vector != NULL && server->round.arrived > 0)
        pricer_round_follow(network->reach, server->reference.vector,
                            network->dimension, server->round.estimate);
}

/* A round in which nobody arrived leaves the reference as it is. */
void mesh_reference_keep(struct mesh_server *server)
{
    struct mesh_reference *reference = &server->reference;
    size_t size = (size_t)server->counting.network->dimension * sizeof(double);
    if (reference->vector == NULL || server->round.arrived == 0)
        return;
    memcpy(reference->vector, server->round.estimate, size);
    reference->round = server->round.number;
}
