/*
 * From one estimate to the next, where rounds are relative to the last: it is
 * kept, handed to nodes before a round opens, and added to the change that a
 * round decodes.
 */
#include "server.h"
#include "pricer_reference.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static bool is_relative(const struct server *server)
{
    return server->network->reach > 0;
}

/* The vector is that of a round: write it down as it is sent. Its digest is of
 * the bytes of the vector, with which the message ends. */
static bool set_round(struct server *server, int64_t round)
{
    struct reference *reference = &server->reference;
    int64_t d = server->network->dimension;
    size_t size = 8 * (size_t)d;
    if (!wire_write_reference(&reference->bytes, round, reference->vector, d))
        return false;
    reference->round = round;
    memset(reference->digest, 0, sizeof reference->digest);
    if (round > 0)
        crypto_generichash(reference->digest, sizeof reference->digest,
                           (const unsigned char *)reference->bytes.data +
                               reference->bytes.size - size,
                           size, NULL, 0);
    return true;
}

enum pricer_status server_reference_load(struct server *server,
                                         struct pricer_fault *fault)
{
    struct reference *reference = &server->reference;
    int64_t d = server->network->dimension, round = 0;
    if (!is_relative(server))
        return PRICER_OK;
    server_reference_unload(server);
    reference->vector = calloc((size_t)d, sizeof *reference->vector);
    reference->next = calloc((size_t)d, sizeof *reference->next);
    if (reference->vector == NULL || reference->next == NULL)
        return PRICER_MEMORY;
    enum pricer_status status = pricer_study_estimate(server->study, d, &round,
                                                      reference->vector, fault);
    if (status != PRICER_OK)
        return status;
    /* That of a plan with other rounds may be too long. */
    pricer_round_follow(server->network->reach, reference->next, d,
                        reference->vector);
    for (int32_t i = 0; i < server->network->nodes; i++)
        server->seats[i].given = -1;
    return set_round(server, round) ? PRICER_OK : PRICER_MEMORY;
}

void server_reference_unload(struct server *server)
{
    struct reference *reference = &server->reference;
    free(reference->vector);
    free(reference->next);
    wire_free(&reference->bytes);
    *reference = (struct reference){0};
}

void server_reference_name(const struct server *server, struct wire_open *open)
{
    const struct reference *reference = &server->reference;
    if (!is_relative(server))
        return;
    open->relative = true;
    open->reference = reference->round;
    memcpy(open->reference_digest, reference->digest, WIRE_DIGEST);
    open->ahead = 0; /* nobody else knows what a round is relative to */
}

void server_reference_send(struct server *server, struct seat *seat)
{
    const struct reference *reference = &server->reference;
    if (!is_relative(server) || reference->round == 0 ||
        seat->given == reference->round)
        return;
    if (hub_send(seat->peer, reference->bytes.data, reference->bytes.size))
        seat->given = reference->round;
}

/* Where nobody's data arrived there is no estimate, and the reference stays. */
void server_reference_follow(struct server *server)
{
    struct reference *reference = &server->reference;
    int64_t d = server->network->dimension;
    size_t size = (size_t)d * sizeof *server->estimate;
    if (!is_relative(server) || server->contributors == 0)
        return;
    memcpy(reference->next, reference->vector, size);
    pricer_round_follow(server->network->reach, server->estimate, d,
                        reference->next);
    memcpy(server->estimate, reference->next, size);
}

/* Without memory to send it the reference stays what it was. */
void server_reference_keep(struct server *server)
{
    struct reference *reference = &server->reference;
    int64_t d = server->network->dimension, before = reference->round;
    size_t size = (size_t)d * sizeof *reference->vector;
    reference->before = reference->round;
    if (!is_relative(server) || server->contributors == 0)
        return;
    memcpy(reference->next, reference->vector, size);
    memcpy(reference->vector, server->estimate, size);
    if (set_round(server, server->round))
        return;
    memcpy(reference->vector, reference->next, size);
    set_round(server, before);
}
