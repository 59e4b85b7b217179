/*
 * From what a message says to its bytes, by libmsgpack; and the vectors inside
 * messages. Reading is in wire_read.c.
 */
#include "wire_writer.h"

void wire_free(struct wire_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct wire_bytes){0};
}

static void begin(struct writer *writer, struct wire_bytes *bytes, int count,
                  enum wire_type type)
{
    begin_bytes(writer, bytes);
    put_array(writer, count);
    put_uint(writer, WIRE_VERSION);
    put_uint(writer, type);
}

bool wire_write_hello(struct wire_bytes *bytes, const struct wire_hello *hello)
{
    struct writer writer;
    begin(&writer, bytes, 9, WIRE_HELLO);
    put_bin(&writer, hello->digest, hello->digest != NULL ? WIRE_DIGEST : 0);
    put_uint(&writer, hello->last);
    put_bool(&writer, hello->results);
    put_uint(&writer, hello->left);
    put_uint(&writer, hello->own);
    put_array(&writer, hello->ending_count);
    for (int32_t k = 0; k < hello->ending_count; k++) {
        put_array(&writer, 2);
        put_uint(&writer, hello->ending[k].to);
        put_uint(&writer, hello->ending[k].left);
    }
    put_uint(&writer, hello->session);
    return !writer.failed;
}

/* The old key and its signature, or nothing. */
static void put_follows(struct writer *writer, const struct wire_out *out)
{
    uint8_t both[WIRE_KEY + WIRE_PROOF];
    memcpy(both, out->old, WIRE_KEY);
    memcpy(both + WIRE_KEY, out->proof, WIRE_PROOF);
    put_bin(writer, both, out->follows ? sizeof both : 0);
}

bool wire_write_slice(struct wire_bytes *bytes, const struct wire_slice *slice)
{
    struct writer writer;
    begin(&writer, bytes, 14, WIRE_SLICE);
    put_uint(&writer, slice->plan);
    put_uint(&writer, slice->node);
    put_uint(&writer, slice->nodes);
    put_uint(&writer, slice->dimension);
    put_double(&writer, slice->radius);
    put_int(&writer, slice->exponent);
    put_uint(&writer, slice->grid);
    put_uint(&writer, slice->rounds);
    put_bin(&writer, slice->seal, WIRE_DIGEST);
    put_array(&writer, 3);
    put_double(&writer, slice->own.weight);
    put_double(&writer, slice->own.noise);
    put_uint(&writer, slice->own.limit);
    put_array(&writer, slice->out_count);
    for (int32_t k = 0; k < slice->out_count; k++) {
        put_array(&writer, 6);
        put_uint(&writer, slice->out[k].to);
        put_bin(&writer, slice->out[k].key, WIRE_KEY);
        put_text(&writer, slice->out[k].address);
        put_double(&writer, slice->out[k].weight);
        put_double(&writer, slice->out[k].noise);
        put_follows(&writer, &slice->out[k]);
    }
    put_array(&writer, slice->in_count);
    for (int32_t k = 0; k < slice->in_count; k++) {
        put_array(&writer, 4);
        put_uint(&writer, slice->in[k].from);
        put_bin(&writer, slice->in[k].key, WIRE_KEY);
        put_uint(&writer, slice->in[k].limit);
        put_double(&writer, slice->in[k].length);
    }
    return !writer.failed;
}

bool wire_write_open(struct wire_bytes *bytes, const struct wire_open *open)
{
    struct writer writer;
    begin(&writer, bytes, 10, WIRE_OPEN);
    put_uint(&writer, open->plan);
    put_uint(&writer, open->round);
    put_uint(&writer, open->period);
    put_uint(&writer, open->ahead);
    put_uint(&writer, open->send);
    put_uint(&writer, open->share);
    put_uint(&writer, open->uplink);
    put_bool(&writer, open->early);
    return !writer.failed;
}

/* All of a share but its values. */
static void begin_share(struct writer *writer, struct wire_bytes *bytes,
                        const struct wire_share *share)
{
    begin(writer, bytes, 6, WIRE_SHARE);
    put_uint(writer, share->round);
    put_bin(writer, share->seal, WIRE_DIGEST);
    put_uint(writer, share->part);
}

bool wire_write_share(struct wire_bytes *bytes, const struct wire_share *share,
                      const int64_t *values, int64_t count)
{
    struct writer writer;
    begin_share(&writer, bytes, share);
    put_words(&writer, bytes, values, count);
    return !writer.failed;
}

/* The head of a vector, and room for its values at an address that suits them. */
static int64_t *begin_words(struct writer *writer, struct wire_bytes *bytes,
                            int64_t count)
{
    size_t size = 8 * (size_t)count;
    writer->failed |= msgpack_pack_bin(&writer->packer, size) != 0;
    if (writer->failed || !reserve(bytes, sizeof(int64_t) + size))
        return NULL;
    size_t lead = -bytes->size % sizeof(int64_t);
    memmove(bytes->data + lead, bytes->data, bytes->size);
    char *values = bytes->data + lead + bytes->size;
    bytes->lead = lead;
    bytes->size += size;
    return (void *)values;
}

int64_t *wire_begin_share(struct wire_bytes *bytes,
                          const struct wire_share *share, int64_t count)
{
    struct writer writer;
    begin_share(&writer, bytes, share);
    return begin_words(&writer, bytes, count);
}

void wire_end_words(int64_t *values, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        values[k] = (int64_t)htole64((uint64_t)values[k]);
}

/* All of a sum but its values. */
static void begin_sum(struct writer *writer, struct wire_bytes *bytes,
                      const struct wire_sum *sum)
{
    begin(writer, bytes, 7, WIRE_SUM);
    put_uint(writer, sum->round);
    put_bin(writer, sum->digest, WIRE_DIGEST);
    put_bin(writer, sum->parts, sum->parts_size);
    put_bin(writer, sum->sent, sum->sent_size);
}

bool wire_write_sum(struct wire_bytes *bytes, const struct wire_sum *sum,
                    const int64_t *values, int64_t count)
{
    struct writer writer;
    begin_sum(&writer, bytes, sum);
    put_words(&writer, bytes, values, count);
    return !writer.failed;
}

int64_t *wire_begin_sum(struct wire_bytes *bytes, const struct wire_sum *sum,
                        int64_t count)
{
    struct writer writer;
    begin_sum(&writer, bytes, sum);
    return begin_words(&writer, bytes, count);
}

bool wire_write_result(struct wire_bytes *bytes,
                       const struct wire_result *result, const double *estimate,
                       int64_t count)
{
    struct writer writer;
    begin(&writer, bytes, 8, WIRE_RESULT);
    put_uint(&writer, result->round);
    put_uint(&writer, result->arrived);
    put_uint(&writer, result->contributors);
    put_uint(&writer, result->decoder);
    put_double(&writer, result->bar);
    put_words(&writer, bytes, estimate, count);
    return !writer.failed;
}

bool wire_write_refusal(struct wire_bytes *bytes,
                        const struct wire_refusal *refusal)
{
    struct writer writer;
    begin(&writer, bytes, 5, WIRE_REFUSAL);
    put_uint(&writer, refusal->round);
    put_uint(&writer, refusal->code);
    put_uint(&writer, refusal->to);
    return !writer.failed;
}

bool wire_write_mark(struct wire_bytes *bytes, const struct wire_mark *mark)
{
    struct writer writer;
    begin(&writer, bytes, 6, WIRE_MARK);
    put_uint(&writer, mark->session);
    put_uint(&writer, mark->next);
    put_uint(&writer, mark->last);
    put_uint(&writer, mark->twins);
    return !writer.failed;
}

int64_t wire_integer(const uint8_t *values, int64_t k)
{
    uint64_t word;
    memcpy(&word, values + 8 * k, 8);
    return (int64_t)le64toh(word);
}

double wire_number(const uint8_t *values, int64_t k)
{
    uint64_t word = (uint64_t)wire_integer(values, k);
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

size_t wire_parts_size(int32_t in_count)
{
    return ((size_t)in_count + 1 + 1) / 2;
}

size_t wire_sent_size(int32_t out_count)
{
    return ((size_t)out_count + 1) / 2;
}

int wire_part(const uint8_t *parts, int32_t k)
{
    return parts[k / 2] >> (4 * (k % 2)) & 15;
}

void wire_part_set(uint8_t *parts, int32_t k, enum wire_part part)
{
    int shift = 4 * (k % 2);
    parts[k / 2] = (uint8_t)((parts[k / 2] & ~(15 << shift)) | part << shift);
}

void wire_slice_free(struct wire_slice *slice)
{
    free(slice->out);
    free(slice->in);
    *slice = (struct wire_slice){0};
}
