/*
 * NumPy's .npy to a matrix and back.
 *
 * The format: "\x93NUMPY", a version, the length of the header, and the header,
 * a Python dictionary such as
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (10000, 576), }
 *
 * then the numbers. The dictionary is read strictly: these three keys, each
 * once, and nothing that would need more of Python.
 */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "numbers are taken from the file as they are");

/* NumPy itself stops at 10,000. */
#define HEADER_MOST 65535
#define DIMENSIONS_MOST 32

enum { KEY_DESCR = 1, KEY_ORDER = 2, KEY_SHAPE = 4 };

struct header {
    char descr[16];
    bool fortran;
    int dimensions;
    int64_t shape[DIMENSIONS_MOST];
    int keys; /* those seen */
};

/* Pass over white space, then over one character if it is the one asked for. */
static bool take(const char **at, char wanted)
{
    *at += strspn(*at, " \t\n");
    if (**at != wanted)
        return false;
    ++*at;
    return true;
}

/* A string in either kind of quotation marks, without escapes. */
static bool take_string(const char **at, char *room, size_t size)
{
    char mark = take(at, '\'') ? '\'' : take(at, '"') ? '"' : '\0';
    const char *end = mark != '\0' ? strchr(*at, mark) : NULL;
    if (end == NULL || (size_t)(end - *at) >= size ||
        memchr(*at, '\\', (size_t)(end - *at)) != NULL)
        return false;
    memcpy(room, *at, (size_t)(end - *at));
    room[end - *at] = '\0';
    *at = end + 1;
    return true;
}

static bool take_word(const char **at, const char *word)
{
    *at += strspn(*at, " \t\n");
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0)
        return false;
    *at += length;
    return true;
}

/* (2, 3), (2,) or (): what Python calls a tuple. */
static bool take_shape(const char **at, struct header *header)
{
    bool comma = true;
    header->dimensions = 0;
    if (!take(at, '('))
        return false;
    while (!take(at, ')')) {
        *at += strspn(*at, " \t\n");
        size_t digits = strspn(*at, "0123456789");
        if (!comma || digits == 0 || header->dimensions == DIMENSIONS_MOST)
            return false;
        /* Too many digits give the largest number, which is refused later. */
        header->shape[header->dimensions++] = strtoll(*at, NULL, 10);
        *at += digits;
        comma = take(at, ',');
    }
    return header->dimensions != 1 || comma;
}

/* One "key: value". */
static bool take_entry(const char **at, struct header *header)
{
    char key[16];
    int seen = header->keys;
    if (!take_string(at, key, sizeof key) || !take(at, ':'))
        return false;
    if (strcmp(key, "descr") == 0) {
        header->keys |= KEY_DESCR;
        if (!take_string(at, header->descr, sizeof header->descr))
            return false;
    } else if (strcmp(key, "fortran_order") == 0) {
        header->keys |= KEY_ORDER;
        header->fortran = take_word(at, "True");
        if (!header->fortran && !take_word(at, "False"))
            return false;
    } else if (strcmp(key, "shape") == 0) {
        header->keys |= KEY_SHAPE;
        if (!take_shape(at, header))
            return false;
    }
    return header->keys != seen;
}

static bool parse_header(const char *text, struct header *header)
{
    bool comma = true;
    if (!take(&text, '{'))
        return false;
    while (!take(&text, '}')) {
        if (!comma || !take_entry(&text, header))
            return false;
        comma = take(&text, ',');
    }
    text += strspn(text, " \t\n");
    return *text == '\0' && header->keys == (KEY_DESCR | KEY_ORDER | KEY_SHAPE);
}

/* The dictionary as text. Version 1.0 counts it in 2 bytes, later ones in 4. */
static enum pricer_status load_text(struct pri_stream *stream, char **text,
                                    struct pricer_fault *fault)
{
    unsigned char head[8], size[4] = {0};
    void *loaded = NULL;
    int64_t got = 0;
    enum pricer_status status = pri_stream_head(stream, head, 8, fault);
    if (status != PRICER_OK)
        return status;
    if (memcmp(head, "\x93NUMPY", 6) != 0)
        return pri_stream_fault(stream, fault, "this is not a .npy file");
    if (head[6] < 1 || head[6] > 3 || head[7] != 0)
        return pri_stream_fault(stream, fault,
                                ".npy of version %d.%d is not read, only 1.0 "
                                "to 3.0",
                                head[6], head[7]);
    status = pri_stream_head(stream, size, head[6] == 1 ? 2 : 4, fault);
    if (status != PRICER_OK)
        return status;
    int64_t length = (int64_t)size[0] | (int64_t)size[1] << 8 |
                     (int64_t)size[2] << 16 | (int64_t)size[3] << 24;
    if (length > HEADER_MOST)
        return pri_stream_fault(stream, fault,
                                "a header of %lld bytes is not one of .npy",
                                (long long)length);
    status = pri_stream_load(stream, length, &loaded, &got, fault);
    if (status != PRICER_OK)
        return status;
    if (got < length)
        status = pri_stream_fault(stream, fault,
                                  "the file is cut short: it ends in its "
                                  "header");
    else if (length == 0 || memchr(loaded, '\0', (size_t)length) != NULL)
        status = pri_stream_fault(stream, fault, "the header is not text");
    else if ((*text = strndup(loaded, (size_t)length)) == NULL)
        status = pri_fault(fault, PRICER_MEMORY, "out of memory");
    free(loaded);
    return status;
}

/* How many rows and columns, and how many bytes that is. */
static enum pricer_status measure(const struct pri_stream *stream,
                                  const struct header *header,
                                  struct pricer_matrix *shape, int64_t *bytes,
                                  struct pricer_fault *fault)
{
    int64_t columns = 1, all = 0;
    bool over = false, vector = header->dimensions == 1;
    if (header->dimensions == 0)
        return pri_stream_fault(stream, fault,
                                "a single number is not a matrix");
    for (int d = vector ? 0 : 1; d < header->dimensions; d++)
        over |= __builtin_mul_overflow(columns, header->shape[d], &columns);
    shape->rows = vector ? 1 : header->shape[0];
    shape->columns = columns;
    over |= __builtin_mul_overflow(shape->rows, columns, &all);
    over |= __builtin_mul_overflow(
        all, shape->element == PRICER_FLOAT32 ? 4 : 8, bytes);
    if (over)
        return pri_stream_fault(stream, fault,
                                "the shape is larger than any memory");
    if (all == 0)
        return pri_stream_fault(stream, fault, "the array is empty");
    return PRICER_OK;
}

static enum pricer_status judge(const struct pri_stream *stream,
                                const struct header *header,
                                struct pricer_matrix *shape, int64_t *bytes,
                                struct pricer_fault *fault)
{
    if (header->descr[0] == '>')
        return pri_stream_fault(stream, fault,
                                "the numbers are big-endian ('%s'); only '<f4' "
                                "and '<f8' are read",
                                header->descr);
    if (strcmp(header->descr, "<f4") != 0 && strcmp(header->descr, "<f8") != 0)
        return pri_stream_fault(stream, fault,
                                "elements of type '%s' are not read, only "
                                "'<f4' and '<f8'",
                                header->descr);
    if (header->fortran)
        return pri_stream_fault(stream, fault,
                                "the array is in Fortran order; only C order "
                                "is read (see numpy.ascontiguousarray)");
    shape->element = header->descr[2] == '4' ? PRICER_FLOAT32 : PRICER_FLOAT64;
    return measure(stream, header, shape, bytes, fault);
}

enum pricer_status pri_npy_read(struct pri_stream *stream,
                                struct pri_rows_wanted *part,
                                struct pricer_matrix **matrix,
                                struct pricer_fault *fault)
{
    char *text = NULL;
    struct header header = {.keys = 0};
    struct pricer_matrix *made = NULL, shape = {0};
    int64_t bytes = 0;
    enum pricer_status status = load_text(stream, &text, fault);
    if (status != PRICER_OK)
        goto done;
    status = parse_header(text, &header)
                 ? judge(stream, &header, &shape, &bytes, fault)
                 : pri_stream_fault(stream, fault,
                                    "the header is not a dictionary of descr, "
                                    "fortran_order and shape");
    if (status != PRICER_OK)
        goto done;
    made = pri_alloc(1, sizeof *made);
    if (made == NULL) {
        status = PRICER_MEMORY;
        goto done;
    }
    pri_part_choose(part, shape.rows);
    int64_t each = bytes / shape.rows;
    status = pri_stream_load_part(stream, bytes, part->first * each,
                                  part->last * each, &shape.values, fault);
    if (status == PRICER_OK) {
        shape.rows = part->last - part->first;
        *made = shape;
        *matrix = made;
        made = NULL;
    }
done:
    free(text);
    free(made);
    return status;
}

/* The header, padded so that the numbers begin at a multiple of 64 bytes. */
static bool write_header(const struct pricer_matrix *matrix, FILE *file)
{
    char text[192];
    int used = snprintf(text, sizeof text,
                        "{'descr': '<f%d', 'fortran_order': False, "
                        "'shape': (%lld, %lld), }",
                        matrix->element == PRICER_FLOAT32 ? 4 : 8,
                        (long long)matrix->rows, (long long)matrix->columns);
    int length = (10 + used + 1 + 63) / 64 * 64 - 10;
    unsigned char head[10] = "\x93NUMPY\1";
    head[8] = (unsigned char)(length & 255);
    head[9] = (unsigned char)(length >> 8);
    return fwrite(head, 1, sizeof head, file) == sizeof head &&
           fprintf(file, "%-*s\n", length - 1, text) == length;
}

enum pricer_status pricer_matrix_write_npy(const struct pricer_matrix *matrix,
                                           const char *path,
                                           struct pricer_fault *fault)
{
    struct pri_replace replace;
    size_t size = matrix->element == PRICER_FLOAT32 ? 4 : 8;
    enum pricer_status status = pri_replace_open(path, &replace, fault);
    if (status != PRICER_OK)
        return status;
    /* A write that fails leaves its mark on the file, which commit finds. */
    if (write_header(matrix, replace.file))
        fwrite(matrix->values, size * (size_t)matrix->columns,
               (size_t)matrix->rows, replace.file);
    return pri_replace_commit(&replace, fault);
}
