/*
 * From the formats images are published in to rows of numbers from 0 to 1.
 *
 * IDX (MNIST and its kin): two zero bytes, a type, the number of dimensions,
 * each dimension as a big-endian 32-bit number, then the bytes. CIFAR-10:
 * nothing but records of a label and 3072 bytes.
 */
#include "stream.h"

#include <stdlib.h>

#define CIFAR_PIXELS 3072
#define CIFAR_RECORD (1 + CIFAR_PIXELS)
#define IDX_UNSIGNED_BYTE 8

/* byte / 255 as float, each computed once. */
static void fill_scale(float scale[256])
{
    for (int byte = 0; byte < 256; byte++)
        scale[byte] = (float)byte / 255.0f;
}

/* What the four bytes of the magic say: the number of dimensions, or 0. */
static enum pricer_status read_magic(struct pri_stream *stream, int *dimensions,
                                     struct pricer_fault *fault)
{
    unsigned char magic[4];
    enum pricer_status status = pri_stream_head(stream, magic, 4, fault);
    if (status != PRICER_OK)
        return status;
    if (magic[0] != 0 || magic[1] != 0)
        return pri_stream_fault(stream, fault, "this is not an IDX file");
    if (magic[2] != IDX_UNSIGNED_BYTE)
        return pri_stream_fault(stream, fault,
                                "IDX of type 0x%02x is not read, only 0x08, "
                                "unsigned bytes",
                                magic[2]);
    if (magic[3] < 1 || magic[3] > 8)
        return pri_stream_fault(stream, fault,
                                "IDX of %d dimensions is not read, only 1 to 8",
                                magic[3]);
    *dimensions = magic[3];
    return PRICER_OK;
}

/* The sizes behind the magic: rows, and the product of the rest. */
static enum pricer_status read_shape(struct pri_stream *stream, int dimensions,
                                     int64_t *rows, int64_t *columns,
                                     struct pricer_fault *fault)
{
    int64_t wide = 1, all = 0;
    bool over = false;
    for (int d = 0; d < dimensions; d++) {
        unsigned char bytes[4];
        enum pricer_status status = pri_stream_head(stream, bytes, 4, fault);
        if (status != PRICER_OK)
            return status;
        int64_t size = (int64_t)bytes[0] << 24 | (int64_t)bytes[1] << 16 |
                       (int64_t)bytes[2] << 8 | (int64_t)bytes[3];
        if (d == 0)
            *rows = size;
        else
            over |= __builtin_mul_overflow(wide, size, &wide);
    }
    *columns = wide;
    over |= __builtin_mul_overflow(*rows, wide, &all);
    if (over)
        return pri_stream_fault(stream, fault,
                                "the shape is larger than any memory");
    if (all == 0)
        return pri_stream_fault(stream, fault, "the array is empty");
    return PRICER_OK;
}

enum pricer_status pri_idx_read(struct pri_stream *stream,
                                struct pri_rows_wanted *part,
                                struct pricer_matrix **matrix,
                                struct pricer_fault *fault)
{
    int dimensions = 0;
    int64_t rows = 0, columns = 0;
    void *bytes = NULL;
    float scale[256];
    struct pricer_matrix *made = NULL;
    enum pricer_status status = read_magic(stream, &dimensions, fault);
    if (status == PRICER_OK)
        status = read_shape(stream, dimensions, &rows, &columns, fault);
    if (status == PRICER_OK) {
        pri_part_choose(part, rows);
        status =
            pri_stream_load_part(stream, rows * columns, part->first * columns,
                                 part->last * columns, &bytes, fault);
    }
    rows = part->last - part->first;
    if (status == PRICER_OK)
        status = pricer_matrix_new(rows, columns, PRICER_FLOAT32, &made, fault);
    if (status != PRICER_OK)
        goto done;
    fill_scale(scale);
    const unsigned char *from = bytes;
    float *to = made->values;
    for (int64_t k = 0; k < rows * columns; k++)
        to[k] = dimensions == 1 ? (float)from[k] : scale[from[k]];
    *matrix = made;
done:
    free(bytes);
    return status;
}

/* Whether these bytes are whole records with labels from 0 to 9. */
static enum pricer_status check_records(const struct pri_stream *stream,
                                        const unsigned char *bytes,
                                        int64_t count,
                                        struct pricer_fault *fault)
{
    for (int64_t at = 0; at < count; at += CIFAR_RECORD)
        if (bytes[at] > 9)
            return pri_stream_fault(stream, fault,
                                    "record %lld has the label %d: CIFAR-10's "
                                    "are 0 to 9",
                                    (long long)(at / CIFAR_RECORD), bytes[at]);
    if (count % CIFAR_RECORD != 0)
        return pri_stream_fault(stream, fault,
                                "the file is cut short: its %lld bytes are not "
                                "whole records of %d",
                                (long long)count, CIFAR_RECORD);
    return PRICER_OK;
}

enum pricer_status pri_cifar_read(struct pri_stream *stream, bool labels,
                                  struct pri_rows_wanted *part,
                                  struct pricer_matrix **matrix,
                                  struct pricer_fault *fault)
{
    void *bytes = NULL;
    int64_t count = 0;
    float scale[256];
    struct pricer_matrix *made = NULL;
    enum pricer_status status =
        pri_stream_load(stream, INT64_MAX / 8, &bytes, &count, fault);
    if (status == PRICER_OK)
        status = check_records(stream, bytes, count, fault);
    /* No header says how many there are: the bytes are read to their end. */
    pri_part_choose(part, count / CIFAR_RECORD);
    if (status == PRICER_OK)
        status = pricer_matrix_new(part->last - part->first,
                                   labels ? 1 : CIFAR_PIXELS, PRICER_FLOAT32,
                                   &made, fault);
    if (status != PRICER_OK)
        goto done;
    fill_scale(scale);
    float *to = made->values;
    for (int64_t row = 0; row < made->rows; row++) {
        const unsigned char *from =
            (const unsigned char *)bytes + (part->first + row) * CIFAR_RECORD;
        if (labels)
            to[row] = from[0];
        for (int64_t k = 0; k < CIFAR_PIXELS && !labels; k++)
            to[row * CIFAR_PIXELS + k] = scale[from[1 + k]];
    }
    *matrix = made;
done:
    free(bytes);
    return status;
}
