/*
 * From the bytes of a slice to what a node does in rounds, if it is sound.
 */
#include "wire_cursor.h"

#include <stdlib.h>

static void take_out(struct cursor *cursor, struct wire_out *out)
{
    expect_array(cursor, 6);
    out->to = (int32_t)take_uint(cursor, WIRE_NODES - 1);
    take_key(cursor, out->key);
    take_text(cursor, out->address);
    out->weight = take_double(cursor);
    out->noise = take_double(cursor);
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
    int64_t count = take_array(cursor, WIRE_DEGREE, 56);
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
        slice->own.limit > slice->grid ||
        !is_part(slice->own.weight, slice->own.noise))
        return false;
    for (int32_t k = 0; k < slice->out_count; k++) {
        const struct wire_out *out = &slice->out[k];
        if (out->to >= slice->nodes || out->to == slice->node ||
            (k > 0 && out->to <= out[-1].to) ||
            !is_part(out->weight, out->noise))
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
    struct cursor cursor = begin(data, size, 14, WIRE_SLICE);
    struct wire_slice found = {0};
    found.plan = take_uint(&cursor, any);
    found.node = (int32_t)take_uint(&cursor, WIRE_NODES - 1);
    found.nodes = (int32_t)take_uint(&cursor, WIRE_NODES);
    found.dimension = take_uint(&cursor, WIRE_DIMENSION);
    found.radius = take_double(&cursor);
    found.exponent = take_exponent(&cursor);
    found.grid = take_uint(&cursor, any);
    found.rounds = take_uint(&cursor, any);
    const uint8_t *seal = take_digest(&cursor);
    if (!cursor.bad)
        memcpy(found.seal, seal, sizeof found.seal);
    expect_array(&cursor, 3);
    found.own.weight = take_double(&cursor);
    found.own.noise = take_double(&cursor);
    found.own.limit = take_uint(&cursor, any);
    if (!cursor.bad)
        take_links(&cursor, &found);
    if (!end(&cursor) || !is_sound(&found)) {
        wire_slice_free(&found);
        return false;
    }
    *slice = found;
    return true;
}
