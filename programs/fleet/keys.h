/*
 * Key pairs in files, and public keys in text.
 */
#ifndef PROGRAM_KEYS_H
#define PROGRAM_KEYS_H

#include "pricer_study.h"

/* Both halves in Z85, as ZeroMQ takes them. */
struct key_pair {
    char public_key[PRICER_KEY_TEXT];
    char secret_key[PRICER_KEY_TEXT];
};

/*
 * Make a pair; the secret goes to `path` (mode 0600, must not exist), the
 * public key to `path`.pub.
 */
enum pricer_status keys_make(const char *path, struct key_pair *pair,
                             struct pricer_fault *fault);

/* Read a secret file. One that others may read is refused. */
enum pricer_status keys_read(const char *path, struct key_pair *pair,
                             struct pricer_fault *fault);

/* A public key from Z85 text itself, or from a file that holds one. */
enum pricer_status keys_public(const char *text_or_path, char *key,
                               struct pricer_fault *fault);

/* Between Z85 and the 32 bytes; false: not a key. */
bool keys_bytes(const char *key, uint8_t *bytes);
void keys_text(const uint8_t *bytes, char *key);

/* Overwrite the secret. */
void keys_wipe(struct key_pair *pair);

#endif
