/*
 * From the bytes of a message to its elements. A cursor moves over the frame;
 * the first thing that is not as docs/protocol.md says makes it bad, and bad it
 * stays, so that a reader asks once, at the end.
 */
#include "wire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
    const uint8_t *at, *end;
    bool bad;
};

/* The next `size` bytes, or NULL. */
static const uint8_t *take(struct cursor *cursor, size_t size)
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
static uint64_t take_wide(struct cursor *cursor, size_t size)
{
    const uint8_t *bytes = take(cursor, size);
    uint64_t value = 0;
    for (size_t k = 0; bytes != NULL && k < size; k++)
        value = value << 8 | bytes[k];
    return value;
}

static uint8_t take_byte(struct cursor *cursor)
{
    const uint8_t *byte = take(cursor, 1);
    return byte != NULL ? *byte : 0xc1; /* 0xc1 is no MessagePack */
}

/* A non-negative integer of any width, up to `most`. */
static int64_t take_uint(struct cursor *cursor, int64_t most)
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
static int32_t take_exponent(struct cursor *cursor)
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

static double take_double(struct cursor *cursor)
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

static bool take_bool(struct cursor *cursor)
{
    uint8_t lead = take_byte(cursor);
    if (lead != 0xc2 && lead != 0xc3)
        cursor->bad = true;
    return lead == 0xc3;
}

static const uint8_t *take_bin(struct cursor *cursor, size_t *size)
{
    uint8_t lead = take_byte(cursor);
    if (lead < 0xc4 || lead > 0xc6)
        cursor->bad = true;
    *size =
        cursor->bad ? 0 : take_wide(cursor, (size_t)1 << ((lead - 0xc4) & 3));
    return take(cursor, *size);
}

static void take_key(struct cursor *cursor, uint8_t *key)
{
    size_t size = 0;
    const uint8_t *found = take_bin(cursor, &size);
    if (found == NULL || size != WIRE_KEY)
        cursor->bad = true;
    else
        memcpy(key, found, WIRE_KEY);
}

/* Text without a zero byte; WIRE_TEXT has room for its end. */
static void take_text(struct cursor *cursor, char *text)
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
static int64_t take_array(struct cursor *cursor, int64_t most, size_t least)
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

static void expect_array(struct cursor *cursor, int64_t count)
{
    if (take_array(cursor, count, 1) != count)
        cursor->bad = true;
}

/* What every message starts with. */
static struct cursor begin(const void *data, size_t size, int count, int type)
{
    struct cursor cursor = {data, (const uint8_t *)data + size, size == 0};
    expect_array(&cursor, count);
    if (take_uint(&cursor, WIRE_VERSION) != WIRE_VERSION ||
        take_uint(&cursor, WIRE_TYPES - 1) != type)
        cursor.bad = true;
    return cursor;
}

static bool end(const struct cursor *cursor)
{
    return !cursor->bad && cursor->at == cursor->end;
}

static const int64_t any = (INT64_C(1) << 62) - 1;

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

/* WIRE_DIGEST bytes, where the message is. */
static const uint8_t *take_digest(struct cursor *cursor)
{
    size_t length = 0;
    const uint8_t *digest = take_bin(cursor, &length);
    if (length != WIRE_DIGEST)
        cursor->bad = true;
    return digest;
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
    struct cursor cursor = begin(data, size, 13, WIRE_OPEN);
    struct wire_open found = {0};
    size_t length = 0;
    found.plan = take_uint(&cursor, any);
    found.round = take_uint(&cursor, any);
    found.attempt = take_uint(&cursor, WIRE_ATTEMPTS - 1);
    found.period = take_uint(&cursor, day);
    found.ahead = take_uint(&cursor, any);
    found.send = take_uint(&cursor, day);
    found.share = take_uint(&cursor, day);
    found.uplink = take_uint(&cursor, day);
    found.early = take_bool(&cursor);
    found.reference = take_uint(&cursor, any);
    const uint8_t *digest = take_bin(&cursor, &length);
    found.relative = length == WIRE_DIGEST && !cursor.bad;
    if (found.relative)
        memcpy(found.reference_digest, digest, WIRE_DIGEST);
    if (!end(&cursor) || found.reference >= found.round ||
        (!found.relative && (length > 0 || found.reference > 0)) ||
        found.round < 1 || found.send > found.share ||
        found.share > found.uplink || (found.period == 0 && found.ahead > 0))
        return false;
    *open = found;
    return true;
}

bool wire_read_share(const void *data, size_t size, struct wire_share *share)
{
    struct cursor cursor = begin(data, size, 7, WIRE_SHARE);
    struct wire_share found = {0};
    found.round = take_uint(&cursor, any);
    found.attempt = take_uint(&cursor, WIRE_ATTEMPTS - 1);
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
    struct cursor cursor = begin(data, size, 8, WIRE_SUM);
    struct wire_sum found = {0};
    found.round = take_uint(&cursor, any);
    found.attempt = take_uint(&cursor, WIRE_ATTEMPTS - 1);
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

bool wire_read_reference(const void *data, size_t size,
                         struct wire_reference *reference)
{
    struct cursor cursor = begin(data, size, 4, WIRE_REFERENCE);
    struct wire_reference found = {0};
    found.round = take_uint(&cursor, any);
    found.estimate = take_bin(&cursor, &found.size);
    if (!end(&cursor) || found.round < 1)
        return false;
    *reference = found;
    return true;
}

/* ----------------------------------------------------------------- slice -- */

static void take_out(struct cursor *cursor, struct wire_out *out)
{
    expect_array(cursor, 7);
    out->to = (int32_t)take_uint(cursor, WIRE_NODES - 1);
    take_key(cursor, out->key);
    take_text(cursor, out->address);
    out->weight = take_double(cursor);
    out->noise = take_double(cursor);
    out->p = take_double(cursor);
    size_t size = 0;
    const uint8_t *both = take_bin(cursor, &size);
    if (size != 0 && size != WIRE_KEY + WIRE_PROOF)
        cursor->bad = true;
    out->follows = !cursor->bad && size != 0;
    if (!out->follows)
        return;
    memcpy(out->old, both, WIRE_KEY);
    memcpy(out->proof, both + WIRE_KEY, WIRE_PROOF);
}

static void take_in(struct cursor *cursor, struct wire_in *in)
{
    expect_array(cursor, 4);
    in->from = (int32_t)take_uint(cursor, WIRE_NODES - 1);
    take_key(cursor, in->key);
    in->limit = take_uint(cursor, any);
    in->length = take_double(cursor);
}

/* Two arrays; the bytes that are left bound what is allocated. */
static void take_links(struct cursor *cursor, struct wire_slice *slice)
{
    int64_t count = take_array(cursor, WIRE_DEGREE, 65);
    slice->out = calloc((size_t)count + 1, sizeof *slice->out);
    if (slice->out == NULL)
        cursor->bad = true;
    for (int64_t k = 0; k < count && !cursor->bad; k++)
        take_out(cursor, &slice->out[slice->out_count++]);
    count = take_array(cursor, WIRE_DEGREE, 46);
    slice->in = calloc((size_t)count + 1, sizeof *slice->in);
    if (slice->in == NULL)
        cursor->bad = true;
    for (int64_t k = 0; k < count && !cursor->bad; k++)
        take_in(cursor, &slice->in[slice->in_count++]);
}

static bool is_part(double weight, double noise)
{
    return weight >= 0 && noise >= 0;
}

static int compare_keys(const void *a, const void *b)
{
    return memcmp(*(const uint8_t *const *)a, *(const uint8_t *const *)b,
                  WIRE_KEY);
}

/* No key of the array is in it twice. `keys` is sorted. */
static bool all_differ(const uint8_t **keys, int32_t count)
{
    qsort(keys, (size_t)count, sizeof *keys, compare_keys);
    for (int32_t k = 1; k < count; k++)
        if (memcmp(keys[k - 1], keys[k], WIRE_KEY) == 0)
            return false;
    return true;
}

static bool keys_differ(const struct wire_slice *slice)
{
    int32_t most =
        slice->out_count > slice->in_count ? slice->out_count : slice->in_count;
    const uint8_t **keys = calloc((size_t)most + 1, sizeof *keys);
    if (keys == NULL)
        return false;
    for (int32_t k = 0; k < slice->out_count; k++)
        keys[k] = slice->out[k].key;
    bool differ = all_differ(keys, slice->out_count);
    for (int32_t k = 0; k < slice->in_count; k++)
        keys[k] = slice->in[k].key;
    differ = differ && all_differ(keys, slice->in_count);
    free(keys);
    return differ;
}

/* Every rule of the page: ranges, order, nobody twice, sums that fit. */
static bool is_sound(const struct wire_slice *slice)
{
    if (slice->nodes < 1 || slice->node >= slice->nodes ||
        slice->dimension < 1 || !(slice->radius > 0) || slice->rounds < 1 ||
        (slice->reach != 0 && !(slice->reach >= slice->radius)) ||
        slice->repeat < 1 || (slice->repeat > 1 && slice->credit) ||
        slice->own.limit > slice->grid ||
        !is_part(slice->own.weight, slice->own.noise))
        return false;
    for (int32_t k = 0; k < slice->out_count; k++) {
        const struct wire_out *out = &slice->out[k];
        if (out->to >= slice->nodes || out->to == slice->node ||
            (k > 0 && out->to <= out[-1].to) ||
            !is_part(out->weight, out->noise) || !(out->p > 0) || out->p > 1 ||
            (out->p < 1 && !slice->credit))
            return false;
    }
    int64_t limits = slice->own.limit;
    for (int32_t k = 0; k < slice->in_count; k++) {
        const struct wire_in *in = &slice->in[k];
        if (in->from >= slice->nodes || in->from == slice->node ||
            (k > 0 && in->from <= in[-1].from) || in->limit > slice->grid ||
            in->limit > any - limits || !(in->length >= 0))
            return false;
        limits += in->limit;
    }
    return keys_differ(slice);
}

bool wire_read_slice(const void *data, size_t size, struct wire_slice *slice)
{
    struct cursor cursor = begin(data, size, WIRE_ELEMENTS, WIRE_SLICE);
    struct wire_slice found = {0};
    found.plan = take_uint(&cursor, any);
    found.node = (int32_t)take_uint(&cursor, WIRE_NODES - 1);
    found.nodes = (int32_t)take_uint(&cursor, WIRE_NODES);
    found.dimension = take_uint(&cursor, WIRE_DIMENSION);
    found.radius = take_double(&cursor);
    found.exponent = take_exponent(&cursor);
    found.grid = take_uint(&cursor, any);
    found.rounds = take_uint(&cursor, any);
    found.repeat = take_uint(&cursor, WIRE_ATTEMPTS);
    found.credit = take_bool(&cursor);
    const uint8_t *seal = take_digest(&cursor);
    if (!cursor.bad)
        memcpy(found.seal, seal, sizeof found.seal);
    expect_array(&cursor, 3);
    found.own.weight = take_double(&cursor);
    found.own.noise = take_double(&cursor);
    found.own.limit = take_uint(&cursor, any);
    if (!cursor.bad)
        take_links(&cursor, &found);
    found.reach = take_double(&cursor);
    if (!end(&cursor) || !is_sound(&found)) {
        wire_slice_free(&found);
        return false;
    }
    *slice = found;
    return true;
}
