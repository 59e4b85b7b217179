/*
 * What the server says to everyone: signed by its key, numbered by a counter, and
 * passed on by whoever hears it.
 *
 * A process keeps the latest announcement of each kind, as bytes to pass on.
 * Claim: it believes only what the server has signed, and never goes back: after
 * counter c of a kind it takes none with a counter of c or below. Bad ones cost
 * one signature check at most, and a sender of such is not listened to for a
 * second (announce_listens()).
 */
#ifndef PROGRAM_MESH_ANNOUNCE_H
#define PROGRAM_MESH_ANNOUNCE_H

#include "message.h"
#include "transport/keys.h"

enum announce_news {
    ANNOUNCE_NEW,      /* it is kept; pass it on */
    ANNOUNCE_KNOWN,    /* the same as the latest */
    ANNOUNCE_OLD,      /* a later one of its kind is known */
    ANNOUNCE_BAD,      /* malformed, or not signed by the server */
    ANNOUNCE_CONFLICT, /* the server has signed another one with its counter */
};

struct announced {
    int64_t counter;           /* 0: none */
    struct wire_bytes message; /* ANNOUNCE, whole */
    const uint8_t *body;       /* in it */
    size_t size;
};

struct announcements {
    uint8_t key[KEYS_SIZE];            /* the server's */
    int64_t floor;                     /* OPEN below this is old */
    struct announced kind[MESH_KINDS]; /* the latest of each */
    int64_t old, bad, conflicts;       /* how many came */
};

/* Look at an ANNOUNCE message, and keep it if it is news. *kind is set unless it
 * is bad. */
enum announce_news announce_take(struct announcements *announcements,
                                 const void *data, size_t size,
                                 enum mesh_kind *kind);

/* Sign the body in `body`, which has a higher counter than all before, and keep
 * it. False: no memory, or the key does not work. */
bool announce_make(struct announcements *announcements,
                   const struct key_pair *pair, const struct wire_bytes *body);

void announce_free(struct announcements *announcements);

/* Whether announcements of a peer are looked at now; `until` is the peer's own, 0
 * at first, and announce_blame() sets it. */
bool announce_listens(int64_t until, int64_t now);
int64_t announce_blame(int64_t now);

#endif
