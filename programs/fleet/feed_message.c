/*
 * From what a node says to the program beside it to framed bytes, by libmsgpack,
 * and from the bytes of a VECTOR to where its values are. Reading is strict:
 * exactly the elements of docs/feed.md, nothing behind them.
 */
#include "feed_message.h"

#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME = 4 }; /* bytes of a length */

/* ----------------------------------------------------------------- write -- */

static int append(void *context, const char *data, size_t size)
{
    struct wire_bytes *bytes = context;
    if (bytes->room - bytes->size < size) {
        size_t room = bytes->size + size;
        room += room / 2 + 64;
        char *grown = realloc(bytes->data, room);
        if (grown == NULL)
            return -1;
        bytes->data = grown;
        bytes->room = room;
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    return 0;
}

/* A packer that remembers whether any step failed. */
struct writer {
    struct wire_bytes *bytes;
    msgpack_packer packer;
    bool failed;
};

static void begin(struct writer *writer, struct wire_bytes *bytes, size_t count,
                  enum feed_type type)
{
    bytes->size = 0;
    writer->bytes = bytes;
    writer->failed = append(bytes, "\0\0\0\0", FRAME) != 0;
    msgpack_packer_init(&writer->packer, bytes, append);
    writer->failed |= msgpack_pack_array(&writer->packer, count) != 0;
    writer->failed |= msgpack_pack_int(&writer->packer, FEED_VERSION) != 0;
    writer->failed |= msgpack_pack_int(&writer->packer, type) != 0;
}

static void put_uint(struct writer *writer, int64_t value)
{
    writer->failed |=
        msgpack_pack_uint64(&writer->packer, (uint64_t)value) != 0;
}

static void put_double(struct writer *writer, double value)
{
    writer->failed |= msgpack_pack_double(&writer->packer, value) != 0;
}

static void put_bool(struct writer *writer, bool value)
{
    writer->failed |= (value ? msgpack_pack_true(&writer->packer)
                             : msgpack_pack_false(&writer->packer)) != 0;
}

static void put_text(struct writer *writer, const char *text)
{
    size_t size = strnlen(text, FEED_TEXT);
    writer->failed |= msgpack_pack_str(&writer->packer, size) != 0;
    writer->failed |= msgpack_pack_str_body(&writer->packer, text, size) != 0;
}

/* The length goes to the front, now that it is known. */
static bool end(struct writer *writer)
{
    if (writer->failed)
        return false;
    size_t size = writer->bytes->size - FRAME;
    for (int k = 0; k < FRAME; k++)
        writer->bytes->data[k] = (char)(uint8_t)(size >> (8 * (FRAME - 1 - k)));
    return true;
}

bool feed_write_plan(struct wire_bytes *bytes, const struct feed_plan *plan)
{
    struct writer writer;
    begin(&writer, bytes, 9, FEED_PLAN);
    put_uint(&writer, plan->node);
    put_uint(&writer, plan->nodes);
    put_uint(&writer, plan->plan);
    put_uint(&writer, plan->dimension);
    put_double(&writer, plan->radius);
    put_uint(&writer, plan->rounds);
    put_uint(&writer, plan->left);
    return end(&writer);
}

bool feed_write_round(struct wire_bytes *bytes, const struct feed_round *round)
{
    struct writer writer;
    begin(&writer, bytes, 8, FEED_ROUND);
    put_uint(&writer, round->round);
    put_uint(&writer, round->dimension);
    put_double(&writer, round->radius);
    put_uint(&writer, round->wait);
    put_uint(&writer, round->clock);
    put_uint(&writer, round->left);
    return end(&writer);
}

bool feed_write_taken(struct wire_bytes *bytes, const struct feed_taken *taken)
{
    struct writer writer;
    begin(&writer, bytes, 7, FEED_TAKEN);
    put_uint(&writer, taken->round);
    put_uint(&writer, taken->part);
    put_double(&writer, taken->length);
    put_bool(&writer, taken->clipped);
    put_text(&writer, taken->text);
    return end(&writer);
}

bool feed_write_result(struct wire_bytes *bytes,
                       const struct wire_result *result, bool took_part)
{
    struct writer writer;
    begin(&writer, bytes, 9, FEED_RESULT);
    put_uint(&writer, result->round);
    put_uint(&writer, result->arrived);
    put_uint(&writer, result->contributors);
    put_uint(&writer, result->decoder);
    put_double(&writer, result->bar);
    put_bool(&writer, took_part);
    writer.failed |= msgpack_pack_bin(&writer.packer, result->size) != 0;
    if (result->size > 0)
        writer.failed |= msgpack_pack_bin_body(&writer.packer, result->estimate,
                                               result->size) != 0;
    return end(&writer);
}

bool feed_write_bye(struct wire_bytes *bytes, enum feed_bye why,
                    const char *text)
{
    struct writer writer;
    begin(&writer, bytes, 4, FEED_BYE);
    put_uint(&writer, why);
    put_text(&writer, text);
    return end(&writer);
}

/* ------------------------------------------------------------------ read -- */

/* A big-endian number of `width` bytes at *at, which moves on; false: the
 * message ends before. */
static bool take_wide(const uint8_t **at, const uint8_t *stop, size_t width,
                      uint64_t *value)
{
    if ((size_t)(stop - *at) < width)
        return false;
    for (*value = 0; width > 0; width--)
        *value = *value << 8 | *(*at)++;
    return true;
}

/* A non-negative integer of any width, below 2^62. */
static bool take_uint(const uint8_t **at, const uint8_t *stop, int64_t *value)
{
    uint64_t lead = 0, found = 0;
    if (!take_wide(at, stop, 1, &lead))
        return false;
    if (lead <= 0x7f)
        found = lead;
    else if (lead < 0xcc || lead > 0xd3 ||
             !take_wide(at, stop, (size_t)1 << (lead & 3), &found))
        return false;
    /* the signed widths, d0 to d3: their highest bit is the sign */
    if (lead >= 0xd0 && lead <= 0xd3 && found >> ((8 << (lead & 3)) - 1) != 0)
        return false;
    if (found >= UINT64_C(1) << 62)
        return false;
    *value = (int64_t)found;
    return true;
}

bool feed_read_vector(const uint8_t *data, size_t size,
                      struct feed_vector *vector)
{
    const uint8_t *at = data, *stop = data + size;
    uint64_t lead = 0, length = 0;
    int64_t version = 0, type = 0, round = 0;
    if (!take_wide(&at, stop, 1, &lead) || lead != 0x94 ||
        !take_uint(&at, stop, &version) || version != FEED_VERSION ||
        !take_uint(&at, stop, &type) || type != FEED_VECTOR ||
        !take_uint(&at, stop, &round))
        return false;
    if (!take_wide(&at, stop, 1, &lead) || lead < 0xc4 || lead > 0xc6 ||
        !take_wide(&at, stop, (size_t)1 << (lead - 0xc4), &length) ||
        length != (size_t)(stop - at))
        return false;
    *vector = (struct feed_vector){round, at, (size_t)length};
    return true;
}
