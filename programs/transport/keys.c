/*
 * From the kernel's random numbers to key files, and from key files to keys.
 *
 * A secret file holds the line "public KEY" in Z85, then the Ed25519 key and a
 * certificate for it in PEM, which any TLS library loads as it is. It is created
 * with mode 0600 and never overwritten.
 *
 * The certificate says nothing but the key, for ever: whoever reads it looks at
 * the key alone. It is signed by that key, and its issuer has another name than
 * its subject: a library that knows only authorities can then be told that the
 * key is one, whose only subject is itself (docs/protocol.md, section 2).
 */
#include "keys.h"
#include "common/daemon.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_ROOM = 8192 };

/* ------------------------------------------------------------------- Z85 -- */

static const char alphabet[] =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    ".-:+=^!/*?&<>()[]{}@%$#";

bool keys_bytes(const char *key, uint8_t *bytes)
{
    uint8_t found[KEYS_SIZE];
    if (strlen(key) != PRICER_KEY_TEXT - 1)
        return false;
    for (int word = 0; word < KEYS_SIZE / 4; word++) {
        uint64_t value = 0;
        for (int k = 0; k < 5; k++) {
            const char *at = strchr(alphabet, key[5 * word + k]);
            if (at == NULL)
                return false;
            value = 85 * value + (uint64_t)(at - alphabet);
        }
        if (value > UINT32_MAX)
            return false;
        for (int k = 0; k < 4; k++)
            found[4 * word + k] = (uint8_t)(value >> (24 - 8 * k));
    }
    memcpy(bytes, found, sizeof found);
    return true;
}

void keys_text(const uint8_t *bytes, char *key)
{
    for (int word = 0; word < KEYS_SIZE / 4; word++) {
        uint32_t value = 0;
        for (int k = 0; k < 4; k++)
            value = value << 8 | bytes[4 * word + k];
        for (int k = 4; k >= 0; k--, value /= 85)
            key[5 * word + k] = alphabet[value % 85];
    }
    key[PRICER_KEY_TEXT - 1] = '\0';
}

/* ------------------------------------------------------------------ pair -- */

static bool public_bytes(const EVP_PKEY *key, uint8_t *bytes)
{
    size_t size = KEYS_SIZE;
    return key != NULL && EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519 &&
           EVP_PKEY_get_raw_public_key(key, bytes, &size) == 1 &&
           size == KEYS_SIZE;
}

bool keys_of_certificate(const X509 *certificate, uint8_t *bytes)
{
    return public_bytes(X509_get0_pubkey(certificate), bytes);
}

void keys_wipe(struct key_pair *pair)
{
    EVP_PKEY_free(pair->secret); /* which overwrites it */
    X509_free(pair->certificate);
    sodium_memzero(pair, sizeof *pair);
}

static bool add_name(X509_NAME *name, const char *text)
{
    return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                      (const unsigned char *)text, -1, -1,
                                      0) == 1;
}

/* A certificate for a key by itself, from 1970 to the end of year 9999. */
static X509 *certify(EVP_PKEY *key, const uint8_t *bytes)
{
    char issuer[2 * KEYS_SIZE + 1];
    X509 *made = X509_new();
    ASN1_INTEGER *serial = made != NULL ? X509_get_serialNumber(made) : NULL;
    sodium_bin2hex(issuer, sizeof issuer, bytes, KEYS_SIZE);
    if (made != NULL && X509_set_version(made, X509_VERSION_3) == 1 &&
        ASN1_INTEGER_set(serial, 1) == 1 &&
        add_name(X509_get_issuer_name(made), issuer) &&
        add_name(X509_get_subject_name(made), "pricer") &&
        ASN1_TIME_set_string_X509(X509_getm_notBefore(made),
                                  "19700101000000Z") == 1 &&
        ASN1_TIME_set_string_X509(X509_getm_notAfter(made),
                                  "99991231235959Z") == 1 &&
        X509_set_pubkey(made, key) == 1 && X509_sign(made, key, NULL) > 0)
        return made;
    X509_free(made);
    return NULL;
}

/* A public key that starts with '-' would look like an option, one with '#'
 * like a comment; leaving them out costs less than half a bit. */
static bool make_pair(struct key_pair *pair)
{
    uint8_t bytes[KEYS_SIZE];
    do {
        EVP_PKEY_free(pair->secret);
        pair->secret = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
        if (!public_bytes(pair->secret, bytes))
            return false;
        keys_text(bytes, pair->public_key);
    } while (!isalnum((unsigned char)pair->public_key[0]));
    pair->certificate = certify(pair->secret, bytes);
    return pair->certificate != NULL;
}

bool keys_derive(const uint8_t *seed, struct key_pair *pair)
{
    uint8_t bytes[KEYS_SIZE];
    struct key_pair made = {.secret = EVP_PKEY_new_raw_private_key(
                                EVP_PKEY_ED25519, NULL, seed, KEYS_SIZE)};
    if (public_bytes(made.secret, bytes)) {
        keys_text(bytes, made.public_key);
        made.certificate = certify(made.secret, bytes);
    }
    if (made.certificate == NULL) {
        keys_wipe(&made);
        return false;
    }
    *pair = made;
    return true;
}

/* ----------------------------------------------------------------- files -- */

/* A new file with this text, on the disk when it returns. */
static enum pricer_status write_new(const char *path, mode_t mode,
                                    const char *text, size_t size,
                                    struct pricer_fault *fault)
{
    int file =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (file < 0)
        return daemon_fault(fault, PRICER_FILE, "%.300s: %s", path,
                            errno == EEXIST ? "exists already"
                                            : strerror(errno));
    bool written = fchmod(file, mode) == 0 &&
                   write(file, text, size) == (ssize_t)size && fsync(file) == 0;
    int error = errno;
    close(file);
    if (written)
        return PRICER_OK;
    unlink(path);
    return daemon_fault(fault, PRICER_FILE, "%.300s: %s", path,
                        strerror(error));
}

/* The secret file of a pair. */
static enum pricer_status write_secret(const char *path,
                                       const struct key_pair *pair,
                                       struct pricer_fault *fault)
{
    char *text = NULL;
    BIO *memory = BIO_new(BIO_s_secmem());
    enum pricer_status status = PRICER_MEMORY;
    if (memory != NULL &&
        BIO_printf(memory, "public %s\n", pair->public_key) > 0 &&
        PEM_write_bio_PrivateKey(memory, pair->secret, NULL, NULL, 0, NULL,
                                 NULL) == 1 &&
        PEM_write_bio_X509(memory, pair->certificate) == 1) {
        size_t size = (size_t)BIO_get_mem_data(memory, &text);
        status = write_new(path, 0600, text, size, fault);
    }
    BIO_free(memory); /* which overwrites it */
    return status;
}

/* What the old key signs; no other message of ours begins like that. */
static const char oath[] = "pricer: I am followed by this key ";
enum { OATH = sizeof oath - 1 + KEYS_SIZE };

static void fill_oath(const uint8_t *key, uint8_t *text)
{
    memcpy(text, oath, sizeof oath - 1);
    memcpy(text + sizeof oath - 1, key, KEYS_SIZE);
}

bool keys_is_successor(const uint8_t *old, const uint8_t *key,
                       const uint8_t *proof)
{
    uint8_t text[OATH];
    fill_oath(key, text);
    return crypto_sign_verify_detached(proof, text, sizeof text, old) == 0;
}

static bool sign_text(const struct key_pair *pair, const void *text,
                      size_t length, uint8_t *signature)
{
    size_t size = KEYS_SIGNATURE;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool good =
        context != NULL &&
        EVP_DigestSignInit(context, NULL, NULL, NULL, pair->secret) == 1 &&
        EVP_DigestSign(context, signature, &size, text, length) == 1 &&
        size == KEYS_SIGNATURE;
    EVP_MD_CTX_free(context);
    return good;
}

/* What is signed of data: BLAKE2b-256 of it, keyed by the purpose. */
enum { HASH = 32 };
static void hash_data(const char *purpose, const void *data, size_t size,
                      uint8_t *hash)
{
    crypto_generichash(hash, HASH, data, size, (const uint8_t *)purpose,
                       strlen(purpose));
}

bool keys_sign(const struct key_pair *pair, const char *purpose,
               const void *data, size_t size, uint8_t *signature)
{
    uint8_t hash[HASH];
    hash_data(purpose, data, size, hash);
    return sign_text(pair, hash, sizeof hash, signature);
}

bool keys_verify(const uint8_t *key, const char *purpose, const void *data,
                 size_t size, const uint8_t *signature)
{
    uint8_t hash[HASH];
    hash_data(purpose, data, size, hash);
    return crypto_sign_verify_detached(signature, hash, sizeof hash, key) == 0;
}

/* The lines of the public file that say whom a key follows. */
static bool print_proof(const struct key_pair *old, const struct key_pair *pair,
                        char *text, size_t room)
{
    uint8_t words[OATH], key[KEYS_SIZE], proof[KEYS_PROOF];
    char hex[2 * KEYS_PROOF + 1];
    if (!keys_bytes(pair->public_key, key))
        return false;
    fill_oath(key, words);
    if (!sign_text(old, words, sizeof words, proof))
        return false;
    sodium_bin2hex(hex, sizeof hex, proof, sizeof proof);
    return snprintf(text, room, "follows %s\nproof %s\n", old->public_key,
                    hex) < (int)room;
}

static enum pricer_status make_files(const char *path,
                                     const struct key_pair *old,
                                     struct key_pair *pair,
                                     struct pricer_fault *fault)
{
    struct key_pair made = {0};
    char text[512], public_path[4096];
    if (snprintf(public_path, sizeof public_path, "%s.pub", path) >=
        (int)sizeof public_path)
        return daemon_fault(fault, PRICER_VALUE, "the path is too long");
    enum pricer_status status =
        make_pair(&made)
            ? write_secret(path, &made, fault)
            : daemon_fault(fault, PRICER_FILE, "OpenSSL cannot make keys");
    if (status == PRICER_OK) {
        int size = snprintf(text, sizeof text, "public %s\n", made.public_key);
        if (old != NULL &&
            !print_proof(old, &made, text + size, sizeof text - (size_t)size))
            status = daemon_fault(fault, PRICER_FILE, "OpenSSL cannot sign");
        else
            status = write_new(public_path, 0644, text, strlen(text), fault);
        if (status != PRICER_OK)
            unlink(path);
    }
    if (status == PRICER_OK)
        *pair = made;
    else
        keys_wipe(&made);
    return status;
}

enum pricer_status keys_make(const char *path, struct key_pair *pair,
                             struct pricer_fault *fault)
{
    return make_files(path, NULL, pair, fault);
}

enum pricer_status keys_follow(const char *path, const char *old,
                               struct key_pair *pair,
                               struct pricer_fault *fault)
{
    struct key_pair before = {0};
    enum pricer_status status = keys_read(old, &before, fault);
    if (status != PRICER_OK)
        return status;
    status = make_files(path, &before, pair, fault);
    keys_wipe(&before);
    return status;
}

/* The key behind a word at the start of a line. */
static bool find_word(const char *text, const char *word, char *key)
{
    uint8_t bytes[KEYS_SIZE];
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, word, strlen(word)) == 0) {
            const char *from = line + strlen(word);
            size_t size = strcspn(from, " \t\r\n");
            if (size != PRICER_KEY_TEXT - 1)
                return false;
            memcpy(key, from, size);
            key[size] = '\0';
            return keys_bytes(key, bytes);
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return false;
}

static bool find_key(const char *text, char *key)
{
    return find_word(text, "public ", key);
}

/* At most `room` - 1 bytes of a file, as text. */
static enum pricer_status read_text(const char *path, bool secret, char *text,
                                    size_t room, struct pricer_fault *fault)
{
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return daemon_fault(fault, PRICER_FILE, "%.300s: %s", path,
                            strerror(errno));
    ssize_t size = read(file, text, room - 1);
    bool open_to_others =
        secret && (fstat(file, &about) != 0 || (about.st_mode & 077) != 0);
    close(file);
    text[size > 0 ? size : 0] = '\0';
    if (open_to_others)
        return daemon_fault(fault, PRICER_FILE,
                            "%.300s: others may read this secret; chmod 600 it",
                            path);
    return PRICER_OK;
}

/* No pass phrase: nobody is there to be asked for one. */
static int no_phrase(char *room, int size, int writing, void *context)
{
    (void)room, (void)size, (void)writing, (void)context;
    return -1;
}

static bool read_pair(const char *text, struct key_pair *pair)
{
    /* Bytes, and those of one piece. Every handshake that is under way takes some
     * pieces too: where there are none left, handshakes fail. */
    enum { LOCKED = 1 << 20, LEAST = 32 };
    uint8_t bytes[KEYS_SIZE], certified[KEYS_SIZE];
    BIO *memory = BIO_new_mem_buf(text, -1);
    if (memory == NULL)
        return false;
    /* OpenSSL keeps secret keys there, if there is such memory. */
    if (CRYPTO_secure_malloc_initialized() == 0)
        CRYPTO_secure_malloc_init(LOCKED, LEAST);
    pair->secret = PEM_read_bio_PrivateKey(memory, NULL, no_phrase, NULL);
    pair->certificate = PEM_read_bio_X509(memory, NULL, no_phrase, NULL);
    BIO_free(memory);
    if (!public_bytes(pair->secret, bytes) || pair->certificate == NULL ||
        !keys_of_certificate(pair->certificate, certified) ||
        memcmp(bytes, certified, sizeof bytes) != 0)
        return false;
    keys_text(bytes, pair->public_key);
    return true;
}

enum pricer_status keys_read(const char *path, struct key_pair *pair,
                             struct pricer_fault *fault)
{
    char text[FILE_ROOM], named[PRICER_KEY_TEXT];
    struct key_pair found = {0};
    enum pricer_status status = read_text(path, true, text, sizeof text, fault);
    if (status == PRICER_OK &&
        (!read_pair(text, &found) ||
         (find_key(text, named) && strcmp(named, found.public_key) != 0)))
        status =
            daemon_fault(fault, PRICER_FORMAT,
                         "%.300s: not a secret key of 'pricer keygen'", path);
    sodium_memzero(text, sizeof text);
    if (status == PRICER_OK)
        *pair = found;
    else
        keys_wipe(&found);
    return status;
}

enum pricer_status keys_public(const char *text_or_path, char *key,
                               struct pricer_fault *fault)
{
    uint8_t bytes[KEYS_SIZE];
    char text[FILE_ROOM], found[PRICER_KEY_TEXT];
    if (keys_bytes(text_or_path, bytes) && access(text_or_path, F_OK) != 0) {
        strcpy(key, text_or_path);
        return PRICER_OK;
    }
    enum pricer_status status =
        read_text(text_or_path, false, text, sizeof text, fault);
    if (status == PRICER_OK && !find_key(text, found))
        status = daemon_fault(fault, PRICER_FORMAT,
                              "%.300s: holds no public key", text_or_path);
    sodium_memzero(text, sizeof text);
    if (status == PRICER_OK)
        strcpy(key, found);
    return status;
}

enum pricer_status keys_successor(const char *path, char *old, char *key,
                                  uint8_t *proof, struct pricer_fault *fault)
{
    char text[FILE_ROOM];
    uint8_t before[KEYS_SIZE], after[KEYS_SIZE];
    enum pricer_status status =
        read_text(path, false, text, sizeof text, fault);
    if (status != PRICER_OK)
        return status;
    const char *hex = strstr(text, "\nproof ");
    size_t size = 0;
    if (find_key(text, key) && find_word(text, "follows ", old) &&
        hex != NULL && keys_bytes(old, before) && keys_bytes(key, after) &&
        sodium_hex2bin(proof, KEYS_PROOF, hex + 7, strcspn(hex + 7, "\r\n"),
                       NULL, &size, NULL) == 0 &&
        size == KEYS_PROOF && keys_is_successor(before, after, proof))
        return PRICER_OK;
    return daemon_fault(fault, PRICER_FORMAT,
                        "%.300s: not the public file of a key that follows "
                        "another ('pricer keygen --after' makes one)",
                        path);
}
