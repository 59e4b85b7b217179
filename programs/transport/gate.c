/*
 * The gate: from a public key to the seat of its owner, if it is admitted.
 */
#include "hub.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    return memcmp(((const struct gate_seat *)a)->key,
                  ((const struct gate_seat *)b)->key, KEYS_SIZE);
}

struct gate_seat *gate_find(const struct gate *gate, const uint8_t *key)
{
    struct gate_seat wanted;
    memcpy(wanted.key, key, sizeof wanted.key);
    return gate->count == 0 ? NULL
                            : bsearch(&wanted, gate->seats, (size_t)gate->count,
                                      sizeof wanted, compare);
}

/* Quotas and connections go over to the new seats, so that an enrolment does
 * not refill what a peer has used up. */
static void hand_over(struct gate *from, const struct gate *to)
{
    for (int32_t k = 0; k < from->count; k++) {
        struct gate_seat *old = &from->seats[k];
        struct gate_seat *seat = gate_find(to, old->key);
        if (seat == NULL)
            continue;
        seat->frames = old->frames;
        seat->shakes = old->shakes;
        seat->peer = old->peer;
        if (seat->peer != NULL)
            seat->peer->seat = seat;
        old->peer = NULL;
    }
}

enum pricer_status gate_admit(struct gate *gate,
                              const struct hub_entry *entries, int32_t count,
                              void (*gone)(struct hub_peer *peer))
{
    struct gate old = *gate;
    struct gate_seat *seats = calloc((size_t)count + 1, sizeof *seats);
    if (seats == NULL)
        return PRICER_MEMORY;
    for (int32_t k = 0; k < count; k++) {
        memcpy(seats[k].key, entries[k].key, KEYS_SIZE);
        seats[k].number = entries[k].number;
    }
    qsort(seats, (size_t)count, sizeof *seats, compare);
    *gate = (struct gate){seats, count};
    hand_over(&old, gate);
    for (int32_t k = 0; k < old.count; k++)
        if (old.seats[k].peer != NULL) {
            old.seats[k].peer->seat = NULL;
            old.seats[k].peer->number = old.seats[k].number;
            gone(old.seats[k].peer);
        }
    free(old.seats);
    return PRICER_OK;
}

void gate_free(struct gate *gate)
{
    free(gate->seats);
    *gate = (struct gate){0};
}
