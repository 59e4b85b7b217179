/*
 * From bytes to the elements of a message, one after the other. A cursor moves
 * over the frame; the first thing that is not as docs/protocol.md says makes it
 * bad, and bad it stays, so that a reader asks once, at the end.
 */
#ifndef PRICER_WIRE_CURSOR_H
#define PRICER_WIRE_CURSOR_H

#include "wire.h"

#include <math.h>
#include <string.h>

struct cursor {
    const uint8_t *at, *end;
    bool bad;
};

/* The next `size` bytes, or NULL. */
static inline const uint8_t *take(struct cursor *cursor, size_t size)
{
    if (cursor->bad || (size_t)(cursor->end - cursor->at) < size) {
        cursor->bad = true;
        return NULL;
    }
    const uint8_t *found = cursor->at;
    cursor->at += size;
    return found;
}

/* A big-endian number of 1, 2, 4 or 8 bytes. */
static inline uint64_t take_wide(struct cursor *cursor, size_t size)
{
    const uint8_t *bytes = take(cursor, size);
    uint64_t value = 0;
    for (size_t k = 0; bytes != NULL && k < size; k++)
        value = value << 8 | bytes[k];
    return value;
}

static inline uint8_t take_byte(struct cursor *cursor)
{
    const uint8_t *byte = take(cursor, 1);
    return byte != NULL ? *byte : 0xc1; /* 0xc1 is no MessagePack */
}

/* A non-negative integer of any width, up to `most`. */
static inline int64_t take_uint(struct cursor *cursor, int64_t most)
{
    uint8_t lead = take_byte(cursor);
    uint64_t value = 0;
    if (lead <= 0x7f)
        value = lead;
    else if (lead >= 0xcc && lead <= 0xcf)
        value = take_wide(cursor, (size_t)1 << (lead - 0xcc));
    else if (lead >= 0xd0 && lead <= 0xd3) {
        size_t width = (size_t)1 << (lead - 0xd0);
        value = take_wide(cursor, width);
        if (value >> (8 * width - 1))
            cursor->bad = true; /* negative */
    } else {
        cursor->bad = true;
    }
    if (value > (uint64_t)most)
        cursor->bad = true;
    return cursor->bad ? 0 : (int64_t)value;
}

/* The grid's exponent: an integer of either sign, -900 to 900. */
static inline int32_t take_exponent(struct cursor *cursor)
{
    uint8_t lead = cursor->at < cursor->end ? *cursor->at : 0xc1;
    if (lead < 0xd0 || (lead > 0xd3 && lead < 0xe0))
        return (int32_t)take_uint(cursor, WIRE_EXPONENT);
    take_byte(cursor);
    int64_t value = (int8_t)lead;
    if (lead < 0xe0) {
        int width = 8 << (lead - 0xd0);
        uint64_t bits = take_wide(cursor, (size_t)width / 8) << (64 - width);
        value = (int64_t)bits >> (64 - width);
    }
    if (value < -WIRE_EXPONENT || value > WIRE_EXPONENT)
        cursor->bad = true;
    return cursor->bad ? 0 : (int32_t)value;
}

static inline double take_double(struct cursor *cursor)
{
    double value = 0;
    if (take_byte(cursor) != 0xcb)
        cursor->bad = true;
    uint64_t bits = take_wide(cursor, 8);
    if (!cursor->bad)
        memcpy(&value, &bits, sizeof value);
    if (!isfinite(value))
        cursor->bad = true;
    return cursor->bad ? 0 : value;
}

static inline bool take_bool(struct cursor *cursor)
{
    uint8_t lead = take_byte(cursor);
    if (lead != 0xc2 && lead != 0xc3)
        cursor->bad = true;
    return lead == 0xc3;
}

static inline const uint8_t *take_bin(struct cursor *cursor, size_t *size)
{
    uint8_t lead = take_byte(cursor);
    if (lead < 0xc4 || lead > 0xc6)
        cursor->bad = true;
    *size =
        cursor->bad ? 0 : take_wide(cursor, (size_t)1 << ((lead - 0xc4) & 3));
    return take(cursor, *size);
}

static inline void take_key(struct cursor *cursor, uint8_t *key)
{
    size_t size = 0;
    const uint8_t *found = take_bin(cursor, &size);
    if (found == NULL || size != WIRE_KEY)
        cursor->bad = true;
    else
        memcpy(key, found, WIRE_KEY);
}

/* Text without a zero byte; WIRE_TEXT has room for its end. */
static inline void take_text(struct cursor *cursor, char *text)
{
    uint8_t lead = take_byte(cursor);
    size_t size = 0;
    if ((lead & 0xe0) == 0xa0)
        size = lead & 0x1f;
    else if (lead >= 0xd9 && lead <= 0xdb)
        size = take_wide(cursor, (size_t)1 << (lead - 0xd9));
    else
        cursor->bad = true;
    const uint8_t *found = size < WIRE_TEXT ? take(cursor, size) : NULL;
    if (found == NULL || memchr(found, 0, size) != NULL) {
        cursor->bad = true;
        return;
    }
    memcpy(text, found, size);
    text[size] = '\0';
}

/* The number of elements of an array, of which each takes `least` bytes. */
static inline int64_t take_array(struct cursor *cursor, int64_t most,
                                 size_t least)
{
    uint8_t lead = take_byte(cursor);
    uint64_t count = 0;
    if ((lead & 0xf0) == 0x90)
        count = lead & 0x0f;
    else if (lead == 0xdc || lead == 0xdd)
        count = take_wide(cursor, lead == 0xdc ? 2 : 4);
    else
        cursor->bad = true;
    if (cursor->bad || count > (uint64_t)most ||
        count > (size_t)(cursor->end - cursor->at) / least)
        cursor->bad = true;
    return cursor->bad ? 0 : (int64_t)count;
}

static inline void expect_array(struct cursor *cursor, int64_t count)
{
    if (take_array(cursor, count, 1) != count)
        cursor->bad = true;
}

/* What every message starts with. */
static inline struct cursor begin(const void *data, size_t size, int count,
                                  int type)
{
    struct cursor cursor = {data, (const uint8_t *)data + size, size == 0};
    expect_array(&cursor, count);
    if (take_uint(&cursor, WIRE_VERSION) != WIRE_VERSION ||
        take_uint(&cursor, WIRE_TYPES - 1) != type)
        cursor.bad = true;
    return cursor;
}

static inline bool end(const struct cursor *cursor)
{
    return !cursor->bad && cursor->at == cursor->end;
}

/* What a count may be. */
static const int64_t any = (INT64_C(1) << 62) - 1;

/* WIRE_DIGEST bytes, where the message is. */
static inline const uint8_t *take_digest(struct cursor *cursor)
{
    size_t length = 0;
    const uint8_t *digest = take_bin(cursor, &length);
    if (length != WIRE_DIGEST)
        cursor->bad = true;
    return digest;
}

#endif
