/*
 * What the tests of matrix files share: reading one that must be good, and one
 * that must be refused in given words.
 */
#ifndef PRICER_VECTORS_H
#define PRICER_VECTORS_H

#include "tests/scratch.h"
#include "read/read.h"
#include "read/stream.h"

#include <zlib.h>

static inline const char *write_gzip(const char *name, const void *bytes,
                                     size_t length)
{
    const char *path = scratch_path(name);
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)length), length);
    assert_int_equal(gzclose(file), Z_OK);
    return path;
}

static inline struct pricer_matrix *accept_path(const char *path, bool labels)
{
    struct pricer_matrix *matrix = NULL;
    struct pricer_fault fault = {"untouched"};
    enum pricer_status status =
        labels ? pri_matrix_read_labels(path, &matrix, &fault)
               : pricer_matrix_read(path, &matrix, &fault);
    if (status != PRICER_OK)
        fail_msg("%s was refused: %s", path, fault.text);
    assert_string_equal(fault.text, "untouched");
    return matrix;
}

static inline void refuse_path(const char *path, bool labels,
                               enum pricer_status expected, const char *words)
{
    struct pricer_matrix *matrix = NULL;
    struct pricer_fault fault = {""};
    enum pricer_status status =
        labels ? pri_matrix_read_labels(path, &matrix, &fault)
               : pricer_matrix_read(path, &matrix, &fault);
    scratch_says(fault.text, words);
    assert_int_equal(status, expected);
    assert_null(matrix);
    assert_int_equal(pricer_matrix_read(path, &matrix, NULL), expected);
}

static inline void refuse_bytes(const char *name, const void *bytes,
                                size_t length, const char *words)
{
    refuse_path(scratch_write(name, bytes, length), false, PRICER_FORMAT,
                words);
}

#endif
