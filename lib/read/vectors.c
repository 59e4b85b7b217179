/*
 * From a file of vectors to a matrix in memory, whichever of the known kinds
 * the file is.
 */
#include "stream.h"
#include "read.h"

#include <math.h>
#include <string.h>

static double element_at(const struct pricer_matrix *matrix, int64_t k)
{
    return matrix->element == PRICER_FLOAT32
               ? (double)((const float *)matrix->values)[k]
               : ((const double *)matrix->values)[k];
}

static enum pricer_status check_finite(const struct pri_stream *stream,
                                       int64_t first,
                                       const struct pricer_matrix *matrix,
                                       struct pricer_fault *fault)
{
    int64_t count = matrix->rows * matrix->columns, k = 0;
    while (k < count && isfinite(element_at(matrix, k)))
        k++;
    if (k == count)
        return PRICER_OK;
    pri_stream_fault(stream, fault,
                     "row %lld, column %lld (from 0) is %s, not a number",
                     (long long)(first + k / matrix->columns),
                     (long long)(k % matrix->columns),
                     isnan(element_at(matrix, k)) ? "nan" : "infinite");
    return PRICER_VALUE;
}

static bool ends_in(const char *text, const char *ending)
{
    size_t length = strlen(text), wanted = strlen(ending);
    return length >= wanted && strcmp(text + length - wanted, ending) == 0;
}

/*
 * The first byte decides the kind: .npy begins with 0x93, IDX with 0, and
 * CIFAR-10, which has no mark, with a label up to 9, so that only its name
 * distinguishes it from IDX. A character, a blank or the byte order mark begins
 * a text.
 */
static bool begins_text(unsigned char first)
{
    return (first >= ' ' && first < 127) || first == '\t' || first == '\n' ||
           first == '\r' || first == 0xef;
}

static enum pricer_status read_kind(struct pri_stream *stream, bool labels,
                                    struct pri_rows_wanted *part,
                                    struct pricer_matrix **matrix,
                                    struct pricer_fault *fault)
{
    unsigned char first = 0;
    const char *path = stream->path;
    enum pricer_status status = pri_stream_peek(stream, &first, fault);
    if (status != PRICER_OK)
        return status;
    if (first != 0x93 && (ends_in(path, ".bin") || ends_in(path, ".bin.gz")))
        return pri_cifar_read(stream, labels, part, matrix, fault);
    if (first == 0)
        return pri_idx_read(stream, part, matrix, fault);
    if (first == 0x93 && !labels)
        return pri_npy_read(stream, part, matrix, fault);
    if (begins_text(first) && !labels)
        return pri_text_read(stream, part, matrix, fault);
    return pri_stream_fault(stream, fault,
                            labels ? "this is neither IDX nor CIFAR-10 in "
                                     "binary (.bin)"
                                   : "this is neither .npy nor IDX nor "
                                     "CIFAR-10 in binary (.bin) nor CSV");
}

static enum pricer_status read_any(const char *path, bool labels,
                                   struct pri_rows_wanted *part,
                                   struct pricer_matrix **matrix,
                                   struct pricer_fault *fault)
{
    struct pri_stream stream;
    struct pricer_matrix *made = NULL;
    enum pricer_status status = pri_stream_open(path, &stream, fault);
    if (status != PRICER_OK)
        return status;
    status = read_kind(&stream, labels, part, &made, fault);
    if (status == PRICER_OK && labels && made->columns != 1)
        status =
            pri_stream_fault(&stream, fault, "these are images, not labels");
    if (status == PRICER_OK)
        status = check_finite(&stream, part->first, made, fault);
    pri_stream_close(&stream);
    if (status == PRICER_OK)
        *matrix = made;
    else
        pricer_matrix_free(made);
    return status;
}

enum pricer_status pricer_matrix_read(const char *path,
                                      struct pricer_matrix **matrix,
                                      struct pricer_fault *fault)
{
    return read_any(path, false, &(struct pri_rows_wanted){0}, matrix, fault);
}

enum pricer_status pri_matrix_read_part(const char *path,
                                        struct pri_rows_wanted *part,
                                        struct pricer_matrix **matrix,
                                        struct pricer_fault *fault)
{
    return read_any(path, false, part, matrix, fault);
}

enum pricer_status pri_matrix_read_labels(const char *path,
                                          struct pricer_matrix **matrix,
                                          struct pricer_fault *fault)
{
    return read_any(path, true, &(struct pri_rows_wanted){0}, matrix, fault);
}
