/*
 * From the kernel's random numbers to key files, and from key files to keys.
 *
 * A secret file is two lines, "public KEY" and "secret KEY", in Z85. It is
 * created with mode 0600 and never overwritten.
 */
#include "keys.h"
#include "daemon.h"

#include <zmq.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

bool keys_bytes(const char *key, uint8_t *bytes)
{
    return strlen(key) == PRICER_KEY_TEXT - 1 &&
           zmq_z85_decode(bytes, key) != NULL;
}

void keys_text(const uint8_t *bytes, char *key)
{
    zmq_z85_encode(key, bytes, 32);
}

void keys_wipe(struct key_pair *pair)
{
    sodium_memzero(pair, sizeof *pair);
}

/* A new file with this text, on the disk when it returns. */
static enum pricer_status write_new(const char *path, mode_t mode,
                                    const char *text,
                                    struct pricer_fault *fault)
{
    int file =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (file < 0)
        return daemon_fault(fault, PRICER_FILE, "%.300s: %s", path,
                            errno == EEXIST ? "exists already"
                                            : strerror(errno));
    size_t size = strlen(text);
    bool written = write(file, text, size) == (ssize_t)size && fsync(file) == 0;
    int error = errno;
    close(file);
    if (written)
        return PRICER_OK;
    unlink(path);
    return daemon_fault(fault, PRICER_FILE, "%.300s: %s", path,
                        strerror(error));
}

enum pricer_status keys_make(const char *path, struct key_pair *pair,
                             struct pricer_fault *fault)
{
    struct key_pair made;
    char text[128], public_path[4096];
    /* A public key that starts with '-' would look like an option, one with
     * '#' like a comment; leaving them out costs less than half a bit. */
    do {
        if (zmq_curve_keypair(made.public_key, made.secret_key) != 0)
            return daemon_fault(fault, PRICER_FILE,
                                "this ZeroMQ cannot make keys: it lacks CURVE");
    } while (!isalnum((unsigned char)made.public_key[0]));
    if (snprintf(public_path, sizeof public_path, "%s.pub", path) >=
        (int)sizeof public_path)
        return daemon_fault(fault, PRICER_VALUE, "the path is too long");
    snprintf(text, sizeof text, "public %s\nsecret %s\n", made.public_key,
             made.secret_key);
    enum pricer_status status = write_new(path, 0600, text, fault);
    sodium_memzero(text, sizeof text);
    if (status == PRICER_OK) {
        snprintf(text, sizeof text, "public %s\n", made.public_key);
        status = write_new(public_path, 0644, text, fault);
        if (status != PRICER_OK)
            unlink(path);
    }
    if (status == PRICER_OK)
        *pair = made;
    keys_wipe(&made);
    return status;
}

/* The key behind `word` at the start of a line. */
static bool find_key(const char *text, const char *word, char *key)
{
    size_t length = strlen(word);
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, word, length) == 0 && line[length] == ' ') {
            const char *from = line + length + 1;
            size_t size = strcspn(from, " \t\r\n");
            uint8_t bytes[32];
            if (size != PRICER_KEY_TEXT - 1)
                return false;
            memcpy(key, from, size);
            key[size] = '\0';
            bool good = keys_bytes(key, bytes);
            sodium_memzero(bytes, sizeof bytes);
            return good;
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return false;
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

enum pricer_status keys_read(const char *path, struct key_pair *pair,
                             struct pricer_fault *fault)
{
    char text[1024], expected[PRICER_KEY_TEXT];
    struct key_pair found;
    enum pricer_status status = read_text(path, true, text, sizeof text, fault);
    if (status == PRICER_OK &&
        (!find_key(text, "public", found.public_key) ||
         !find_key(text, "secret", found.secret_key) ||
         zmq_curve_public(expected, found.secret_key) != 0 ||
         strcmp(expected, found.public_key) != 0))
        status =
            daemon_fault(fault, PRICER_FORMAT,
                         "%.300s: not a secret key of 'pricer keygen'", path);
    if (status == PRICER_OK)
        *pair = found;
    sodium_memzero(text, sizeof text);
    keys_wipe(&found);
    return status;
}

enum pricer_status keys_public(const char *text_or_path, char *key,
                               struct pricer_fault *fault)
{
    uint8_t bytes[32];
    char text[1024], found[PRICER_KEY_TEXT];
    if (keys_bytes(text_or_path, bytes) && access(text_or_path, F_OK) != 0) {
        strcpy(key, text_or_path);
        return PRICER_OK;
    }
    enum pricer_status status =
        read_text(text_or_path, false, text, sizeof text, fault);
    if (status == PRICER_OK && !find_key(text, "public", found))
        status = daemon_fault(fault, PRICER_FORMAT,
                              "%.300s: holds no public key", text_or_path);
    sodium_memzero(text, sizeof text);
    if (status == PRICER_OK)
        strcpy(key, found);
    return status;
}
