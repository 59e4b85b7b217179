/*
 * From what a hostile peer has learned to what it says.
 */
#include "pest.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

int pest_roll(unsigned *seed, int sides)
{
    return (int)((unsigned)rand_r(seed) % (unsigned)sides);
}

void pest_scribble(unsigned *seed, uint8_t *bytes, size_t size)
{
    for (size_t k = 0; k < size; k++)
        bytes[k] = (uint8_t)pest_roll(seed, 256);
}

bool pest_learn(const uint8_t *data, size_t size, struct lesson *lesson,
                int64_t *round)
{
    struct wire_slice slice;
    struct wire_open open;
    if (wire_type(data, size) == WIRE_OPEN && wire_read_open(data, size, &open))
        *round = open.round;
    if (wire_type(data, size) != WIRE_SLICE ||
        !wire_read_slice(data, size, &slice))
        return false;
    crypto_generichash(lesson->digest, WIRE_DIGEST, data, size, NULL, 0);
    memcpy(lesson->seal, slice.seal, WIRE_DIGEST);
    lesson->in_count = slice.in_count;
    lesson->out_count = slice.out_count;
    lesson->dimension = slice.dimension;
    wire_slice_free(&slice);
    return true;
}

void pest_write_hello(unsigned *seed, const struct lesson *lesson,
                      struct wire_bytes *bytes)
{
    const struct wire_hello hello = {
        .digest = pest_roll(seed, 2) ? lesson->digest : NULL,
        .last = pest_roll(seed, 3) ? 0 : pest_roll(seed, 1 << 30),
        .results = pest_roll(seed, 2),
        .left = pest_roll(seed, 2) ? WIRE_NO_END : pest_roll(seed, 12),
        .own = pest_roll(seed, 2) ? WIRE_NO_END : pest_roll(seed, 12),
        .session = pest_roll(seed, 100),
    };
    wire_write_hello(bytes, &hello);
}

void pest_write_vector(unsigned *seed, const struct lesson *lesson,
                       int64_t round, bool sum, struct wire_bytes *bytes)
{
    round += pest_roll(seed, 3) - 1;
    int64_t dimension = lesson->dimension + (pest_roll(seed, 8) ? 0 : 1);
    int64_t *values = calloc((size_t)dimension + 1, 8);
    uint8_t parts[64] = {0}, sent[64] = {0};
    if (pest_roll(seed, 4) == 0)
        pest_scribble(seed, (uint8_t *)values, (size_t)dimension * 8);
    wire_part_set(parts, 0, WIRE_PART_DATA);
    for (int32_t k = 0; k < lesson->out_count && k < 120; k++)
        wire_part_set(sent, k, WIRE_PART_VECTOR);
    const struct wire_share share = {
        .round = round,
        .seal = lesson->seal,
        .part = WIRE_PART_DATA,
    };
    const struct wire_sum message = {
        .round = round,
        .digest = lesson->digest,
        .parts = parts,
        .parts_size = wire_parts_size(lesson->in_count) % sizeof parts,
        .sent = sent,
        .sent_size = wire_sent_size(lesson->out_count) % sizeof sent,
    };
    if (sum)
        wire_write_sum(bytes, &message, values, dimension);
    else
        wire_write_share(bytes, &share, values, dimension);
    free(values);
}

void pest_write_refusal(unsigned *seed, int64_t round, struct wire_bytes *bytes)
{
    const struct wire_refusal refusal = {
        .round = round,
        .code = pest_roll(seed, 14),
        .to = pest_roll(seed, 12),
    };
    wire_write_refusal(bytes, &refusal);
}

void pest_mutate(unsigned *seed, struct wire_bytes *bytes)
{
    uint8_t *data = (uint8_t *)bytes->data;
    size_t size = bytes->size;
    if (size == 0)
        return;
    size_t early = size < 24 ? size : 24;
    switch (pest_roll(seed, 4)) {
    case 0:
        data[(size_t)pest_roll(seed, (int)early)] =
            (uint8_t)pest_roll(seed, 256);
        break;
    case 1:
        data[(size_t)pest_roll(seed, (int)size)] ^=
            (uint8_t)(1 + pest_roll(seed, 255));
        break;
    case 2:
        bytes->size = (size_t)pest_roll(seed, (int)size);
        break;
    default:
        break;
    }
}
