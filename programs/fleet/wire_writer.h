/*
 * From the elements of a message to bytes, one after the other, by libmsgpack. A
 * writer remembers whether any step failed, so that who writes asks once, at the
 * end.
 */
#ifndef PROGRAM_WIRE_WRITER_H
#define PROGRAM_WIRE_WRITER_H

#include "wire.h"

#include <endian.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

/* Room for `size` more bytes, half as much again as needed. */
static inline bool reserve(struct wire_bytes *bytes, size_t size)
{
    if (bytes->room - bytes->size >= size)
        return true;
    size_t room = bytes->size + size;
    room += room / 2 + 64;
    char *data = realloc(bytes->data, room);
    if (data == NULL)
        return false;
    bytes->data = data;
    bytes->room = room;
    return true;
}

static inline int append(void *context, const char *data, size_t size)
{
    struct wire_bytes *bytes = context;
    if (!reserve(bytes, size))
        return -1;
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    return 0;
}

/* A packer that remembers whether any step failed. */
struct writer {
    msgpack_packer packer;
    bool failed;
};

/* Begin in place of what the bytes held. */
static inline void begin_bytes(struct writer *writer, struct wire_bytes *bytes)
{
    bytes->size = bytes->lead = 0;
    writer->failed = false;
    msgpack_packer_init(&writer->packer, bytes, append);
}

static inline void put_array(struct writer *writer, int64_t count)
{
    writer->failed |= msgpack_pack_array(&writer->packer, (size_t)count) != 0;
}

static inline void put_uint(struct writer *writer, int64_t value)
{
    writer->failed |=
        msgpack_pack_uint64(&writer->packer, (uint64_t)value) != 0;
}

static inline void put_int(struct writer *writer, int64_t value)
{
    writer->failed |= msgpack_pack_int64(&writer->packer, value) != 0;
}

static inline void put_double(struct writer *writer, double value)
{
    writer->failed |= msgpack_pack_double(&writer->packer, value) != 0;
}

static inline void put_bool(struct writer *writer, bool value)
{
    writer->failed |= (value ? msgpack_pack_true(&writer->packer)
                             : msgpack_pack_false(&writer->packer)) != 0;
}

static inline void put_bin(struct writer *writer, const void *data, size_t size)
{
    writer->failed |= msgpack_pack_bin(&writer->packer, size) != 0;
    if (size > 0)
        writer->failed |=
            msgpack_pack_bin_body(&writer->packer, data, size) != 0;
}

static inline void put_text(struct writer *writer, const char *text)
{
    size_t size = strnlen(text, WIRE_TEXT - 1);
    writer->failed |= msgpack_pack_str(&writer->packer, size) != 0;
    writer->failed |= msgpack_pack_str_body(&writer->packer, text, size) != 0;
}

/* `count` words of 8 bytes, little-endian on the wire. */
static inline void put_words(struct writer *writer, struct wire_bytes *bytes,
                             const void *words, int64_t count)
{
    size_t size = 8 * (size_t)count;
    writer->failed |= msgpack_pack_bin(&writer->packer, size) != 0;
    if (writer->failed || !reserve(bytes, size)) {
        writer->failed = true;
        return;
    }
    uint8_t *to = (uint8_t *)bytes->data + bytes->size;
    if (size > 0)
        memcpy(to, words, size);
    for (int64_t k = 0; k < count && htole64(1) != 1; k++) {
        uint64_t word;
        memcpy(&word, to + 8 * k, 8);
        word = htole64(word);
        memcpy(to + 8 * k, &word, 8);
    }
    bytes->size += size;
}

#endif
