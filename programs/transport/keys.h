/*
 * Identities: Ed25519 key pairs in files, and public keys in text.
 */
#ifndef PROGRAM_KEYS_H
#define PROGRAM_KEYS_H

#include "pricer_study.h"

enum { KEYS_SIZE = 32 };

struct evp_pkey_st;
struct x509_st;

/* A key with its certificate. Zero it first; keys_wipe() last. */
struct key_pair {
    char public_key[PRICER_KEY_TEXT]; /* in Z85 */
    struct evp_pkey_st *secret;
    struct x509_st *certificate;
};

/*
 * Make a pair; the secret and the certificate go to `path` (mode 0600, must not
 * exist), the public key to `path`.pub.
 */
enum pricer_status keys_make(const char *path, struct key_pair *pair,
                             struct pricer_fault *fault);

/* A pair that follows from 32 bytes, for programs that play many nodes. */
bool keys_derive(const uint8_t *seed, struct key_pair *pair);

/*
 * A key that follows another: the old one signs the new one. keys_follow() writes
 * what keys_make() does, and the signature into `path`.pub; keys_successor() reads
 * that, and checks it as keys_is_successor() does.
 */
enum { KEYS_PROOF = 64 };
enum pricer_status keys_follow(const char *path, const char *old,
                               struct key_pair *pair,
                               struct pricer_fault *fault);
enum pricer_status keys_successor(const char *path, char *old, char *key,
                                  uint8_t *proof, struct pricer_fault *fault);
bool keys_is_successor(const uint8_t *old, const uint8_t *key,
                       const uint8_t *proof);

/*
 * Sign data, and check such a signature, with Ed25519. `purpose` is a text of its
 * own for every kind of data, so that no signature serves for another kind.
 */
enum { KEYS_SIGNATURE = 64 };
bool keys_sign(const struct key_pair *pair, const char *purpose,
               const void *data, size_t size, uint8_t *signature);
bool keys_verify(const uint8_t *key, const char *purpose, const void *data,
                 size_t size, const uint8_t *signature);

/* Read a secret file. One that others may read is refused. */
enum pricer_status keys_read(const char *path, struct key_pair *pair,
                             struct pricer_fault *fault);

/* A public key from Z85 text itself, or from a file that holds one. */
enum pricer_status keys_public(const char *text_or_path, char *key,
                               struct pricer_fault *fault);

/* Between Z85 and the 32 bytes; false: not a key. */
bool keys_bytes(const char *key, uint8_t *bytes);
void keys_text(const uint8_t *bytes, char *key);

/* The key that a certificate holds; false: not an Ed25519 key. */
bool keys_of_certificate(const struct x509_st *certificate, uint8_t *bytes);

/* Overwrite and free the secret. */
void keys_wipe(struct key_pair *pair);

#endif
