/*
 * Authentication of packets between a node and the server, over any number of
 * relays: a key that only these two can compute, and a tag under it.
 *
 * Claim: who knows neither secret key makes no tag that packet_check() accepts
 * but for a probability of 2^-128 a try. It rests on X25519 (computational
 * Diffie-Hellman on Curve25519, with the shared secret hashed together with both
 * identities) and on keyed BLAKE2b as a pseudorandom function. The server can
 * make tags too: they prove nothing to anybody else.
 */
#ifndef PROGRAM_PACKET_KEY_H
#define PROGRAM_PACKET_KEY_H

#include "keys.h"

#include <stddef.h>

enum { PACKET_KEY = 32, PACKET_TAG = 16, PACKET_DIGEST = 16 };

/*
 * The key between a node and the server, from the secret of one side and the
 * public key of the other; `own_is_node` says whose secret it is. False: `other`
 * is not a key on the curve, or the secret cannot be read. sodium_memzero() it.
 */
bool packet_key(const struct key_pair *own, bool own_is_node, const char *other,
                uint8_t key[PACKET_KEY]);

/* All that a tag is over. */
struct packet_fields {
    const uint8_t *study; /* [PACKET_DIGEST] */
    const uint8_t *plan;  /* [PACKET_DIGEST] digest of the plan */
    int64_t reference;    /* round that the data is relative to, or 0 */
    int64_t node, round;
    uint8_t kind; /* enum pri_release_kind */
    const void *payload;
    size_t size;
};

void packet_tag(const uint8_t key[PACKET_KEY],
                const struct packet_fields *fields, uint8_t tag[PACKET_TAG]);

/* In constant time. */
bool packet_check(const uint8_t key[PACKET_KEY],
                  const struct packet_fields *fields,
                  const uint8_t tag[PACKET_TAG]);

#endif
