/*
 * From the bytes of a message to its elements, but for those of a slice.
 */
#include "wire_cursor.h"

int wire_type(const void *data, size_t size)
{
    struct cursor cursor = {data, (const uint8_t *)data + size, size == 0};
    take_array(&cursor, WIRE_ELEMENTS, 1);
    int64_t version = take_uint(&cursor, any);
    int64_t type = take_uint(&cursor, any);
    bool known = version == WIRE_VERSION && type >= WIRE_HELLO &&
                 type < WIRE_TYPES && !cursor.bad;
    return known ? (int)type : 0;
}

/* The links with fewest rounds left. */
static void take_ending(struct cursor *cursor, struct wire_hello *hello)
{
    int64_t count = take_array(cursor, WIRE_ENDING, 3);
    for (int64_t k = 0; k < count && !cursor->bad; k++) {
        struct wire_ending *ending = &hello->ending[hello->ending_count++];
        expect_array(cursor, 2);
        ending->to = (int32_t)take_uint(cursor, WIRE_NODES - 1);
        ending->left = take_uint(cursor, any);
    }
}

bool wire_read_hello(const void *data, size_t size, struct wire_hello *hello)
{
    struct cursor cursor = begin(data, size, 9, WIRE_HELLO);
    struct wire_hello found = {0};
    size_t length = 0;
    const uint8_t *digest = take_bin(&cursor, &length);
    found.digest = length == WIRE_DIGEST ? digest : NULL;
    found.last = take_uint(&cursor, any);
    found.results = take_bool(&cursor);
    found.left = take_uint(&cursor, any);
    found.own = take_uint(&cursor, any);
    take_ending(&cursor, &found);
    found.session = take_uint(&cursor, any);
    if (!end(&cursor) || (length != 0 && length != WIRE_DIGEST))
        return false;
    *hello = found;
    return true;
}

bool wire_read_open(const void *data, size_t size, struct wire_open *open)
{
    const int64_t day = 24 * 3600 * INT64_C(1000);
    struct cursor cursor = begin(data, size, 10, WIRE_OPEN);
    struct wire_open found = {0};
    found.plan = take_uint(&cursor, any);
    found.round = take_uint(&cursor, any);
    found.period = take_uint(&cursor, day);
    found.ahead = take_uint(&cursor, any);
    found.send = take_uint(&cursor, day);
    found.share = take_uint(&cursor, day);
    found.uplink = take_uint(&cursor, day);
    found.early = take_bool(&cursor);
    if (!end(&cursor) || found.round < 1 || found.send > found.share ||
        found.share > found.uplink || (found.period == 0 && found.ahead > 0))
        return false;
    *open = found;
    return true;
}

bool wire_read_share(const void *data, size_t size, struct wire_share *share)
{
    struct cursor cursor = begin(data, size, 6, WIRE_SHARE);
    struct wire_share found = {0};
    found.round = take_uint(&cursor, any);
    found.seal = take_digest(&cursor);
    found.part = (enum wire_part)take_uint(&cursor, WIRE_PARTS - 1);
    found.values = take_bin(&cursor, &found.size);
    if (!end(&cursor) || found.part == WIRE_PART_DOWN ||
        (found.part == WIRE_PART_DATA) != (found.size > 0))
        return false;
    *share = found;
    return true;
}

bool wire_read_sum(const void *data, size_t size, struct wire_sum *sum)
{
    struct cursor cursor = begin(data, size, 7, WIRE_SUM);
    struct wire_sum found = {0};
    found.round = take_uint(&cursor, any);
    found.digest = take_digest(&cursor);
    found.parts = take_bin(&cursor, &found.parts_size);
    found.sent = take_bin(&cursor, &found.sent_size);
    found.values = take_bin(&cursor, &found.size);
    if (!end(&cursor))
        return false;
    *sum = found;
    return true;
}

bool wire_read_result(const void *data, size_t size, struct wire_result *result)
{
    struct cursor cursor = begin(data, size, 8, WIRE_RESULT);
    struct wire_result found = {0};
    found.round = take_uint(&cursor, any);
    found.arrived = take_uint(&cursor, any);
    found.contributors = take_uint(&cursor, any);
    found.decoder = take_uint(&cursor, WIRE_DECODERS - 1);
    found.bar = take_double(&cursor);
    found.estimate = take_bin(&cursor, &found.size);
    if (!end(&cursor) || found.bar < 0)
        return false;
    *result = found;
    return true;
}

bool wire_read_refusal(const void *data, size_t size,
                       struct wire_refusal *refusal)
{
    struct cursor cursor = begin(data, size, 5, WIRE_REFUSAL);
    struct wire_refusal found = {0};
    found.round = take_uint(&cursor, any);
    found.code = take_uint(&cursor, any);
    found.to = take_uint(&cursor, any);
    if (!end(&cursor))
        return false;
    *refusal = found;
    return true;
}

bool wire_read_mark(const void *data, size_t size, struct wire_mark *mark)
{
    struct cursor cursor = begin(data, size, 6, WIRE_MARK);
    struct wire_mark found = {0};
    found.session = take_uint(&cursor, any);
    found.next = take_uint(&cursor, any);
    found.last = take_uint(&cursor, any);
    found.twins = take_uint(&cursor, any);
    if (!end(&cursor) || found.next <= found.session)
        return false;
    *mark = found;
    return true;
}
