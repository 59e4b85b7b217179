/*
 * From two identities to the key of their packets, and from a packet to its tag;
 * docs/protocol.md, section 10, has the bytes.
 */
#include "packet_key.h"

#include <openssl/evp.h>
#include <sodium.h>
#include <string.h>

/* Begins what the key and the tag are hashed from; nothing else of ours does. */
static const char key_words[] = "pricer: key of packets";
static const char tag_words[] = "pricer: packet";

/* X25519 of the two identities, as Edwards keys are converted. */
static bool exchange(const struct key_pair *own, const uint8_t *other,
                     uint8_t *shared)
{
    uint8_t seed[crypto_sign_SEEDBYTES], pair[crypto_sign_SECRETKEYBYTES];
    uint8_t public_key[KEYS_SIZE], scalar[crypto_scalarmult_SCALARBYTES];
    uint8_t point[crypto_scalarmult_BYTES];
    size_t size = sizeof seed;
    bool good =
        EVP_PKEY_get_raw_private_key(own->secret, seed, &size) == 1 &&
        size == sizeof seed &&
        crypto_sign_seed_keypair(public_key, pair, seed) == 0 &&
        crypto_sign_ed25519_sk_to_curve25519(scalar, pair) == 0 &&
        crypto_sign_ed25519_pk_to_curve25519(point, other) == 0 &&
        crypto_scalarmult(shared, scalar, point) == 0; /* 0 is refused */
    sodium_memzero(seed, sizeof seed);
    sodium_memzero(pair, sizeof pair);
    sodium_memzero(scalar, sizeof scalar);
    return good;
}

bool packet_key(const struct key_pair *own, bool own_is_node, const char *other,
                uint8_t key[PACKET_KEY])
{
    uint8_t mine[KEYS_SIZE], theirs[KEYS_SIZE];
    uint8_t shared[crypto_scalarmult_BYTES];
    crypto_generichash_state state;
    bool good = sodium_init() >= 0 && keys_bytes(own->public_key, mine) &&
                keys_bytes(other, theirs) && exchange(own, theirs, shared);
    if (good) {
        crypto_generichash_init(&state, NULL, 0, PACKET_KEY);
        crypto_generichash_update(&state, (const uint8_t *)key_words,
                                  sizeof key_words - 1);
        crypto_generichash_update(&state, shared, sizeof shared);
        crypto_generichash_update(&state, own_is_node ? mine : theirs,
                                  KEYS_SIZE);
        crypto_generichash_update(&state, own_is_node ? theirs : mine,
                                  KEYS_SIZE);
        crypto_generichash_final(&state, key, PACKET_KEY);
    }
    sodium_memzero(shared, sizeof shared);
    sodium_memzero(&state, sizeof state);
    return good;
}

/* 8 bytes, the highest first. */
static void add_number(crypto_generichash_state *state, uint64_t number)
{
    uint8_t bytes[8];
    for (int k = 0; k < 8; k++)
        bytes[k] = (uint8_t)(number >> (56 - 8 * k));
    crypto_generichash_update(state, bytes, sizeof bytes);
}

void packet_tag(const uint8_t key[PACKET_KEY],
                const struct packet_fields *fields, uint8_t tag[PACKET_TAG])
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, key, PACKET_KEY, PACKET_TAG);
    crypto_generichash_update(&state, (const uint8_t *)tag_words,
                              sizeof tag_words - 1);
    crypto_generichash_update(&state, fields->study, PACKET_DIGEST);
    crypto_generichash_update(&state, fields->plan, PACKET_DIGEST);
    add_number(&state, (uint64_t)fields->reference);
    add_number(&state, (uint64_t)fields->node);
    add_number(&state, (uint64_t)fields->round);
    crypto_generichash_update(&state, &fields->kind, 1);
    add_number(&state, fields->size);
    crypto_generichash_update(&state, fields->payload, fields->size);
    crypto_generichash_final(&state, tag, PACKET_TAG);
    sodium_memzero(&state, sizeof state);
}

bool packet_check(const uint8_t key[PACKET_KEY],
                  const struct packet_fields *fields,
                  const uint8_t tag[PACKET_TAG])
{
    uint8_t expected[PACKET_TAG];
    packet_tag(key, fields, expected);
    bool same = sodium_memcmp(expected, tag, PACKET_TAG) == 0;
    sodium_memzero(expected, sizeof expected);
    return same;
}
