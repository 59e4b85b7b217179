/*
 * Images: IDX and CIFAR-10 as their publishers mean them, and every broken file
 * refused in words.
 */
#include "tests/vectors.h"

static size_t make_idx(unsigned char *file, int type, int dimensions,
                       const uint32_t *shape, size_t bytes)
{
    size_t at = 4;
    memcpy(
        file,
        (unsigned char[]){0, 0, (unsigned char)type, (unsigned char)dimensions},
        4);
    for (int d = 0; d < dimensions; d++)
        for (int k = 3; k >= 0; k--)
            file[at++] = (unsigned char)(shape[d] >> (8 * k));
    for (size_t k = 0; k < bytes; k++)
        file[at++] = (unsigned char)(k * 37);
    return at;
}

static void test_idx(void **state)
{
    (void)state;
    static const uint32_t shape[] = {5, 3, 2}, labels[] = {30};
    unsigned char file[100];
    for (int gzip = 0; gzip < 2; gzip++) {
        size_t length = make_idx(file, 8, 3, shape, 30);
        struct pricer_matrix *matrix =
            accept_path(gzip ? write_gzip("images.gz", file, length)
                             : scratch_write("images", file, length),
                        false);
        assert_int_equal(matrix->rows, 5);
        assert_int_equal(matrix->columns, 6);
        for (int k = 0; k < 30; k++)
            assert_true(((float *)matrix->values)[k] ==
                        (float)(unsigned char)(k * 37) / 255.0f);
        pricer_matrix_free(matrix);
        length = make_idx(file, 8, 1, labels, 30);
        matrix = accept_path(gzip ? write_gzip("labels.gz", file, length)
                                  : scratch_write("labels", file, length),
                             gzip);
        assert_int_equal(matrix->rows, 30);
        assert_int_equal(matrix->columns, 1);
        for (int k = 0; k < 30; k++)
            assert_true(((float *)matrix->values)[k] ==
                        (unsigned char)(k * 37));
        pricer_matrix_free(matrix);
    }
    size_t length = make_idx(file, 8, 3, shape, 30);
    refuse_path(scratch_write("images", file, length - 1), false, PRICER_FORMAT,
                "images: the file is cut short: its header promises 30 bytes "
                "of data, 29 are there");
    struct pricer_matrix *matrix = NULL;
    struct pricer_fault fault = {""};
    assert_int_equal(
        pri_matrix_read_labels(scratch_write("images", file, length), &matrix,
                               &fault),
        PRICER_FORMAT);
    scratch_says(fault.text, "images: these are images, not labels");
}

static void test_idx_refuses(void **state)
{
    (void)state;
    static const uint32_t shape[] = {5, 3, 2}, none[] = {5, 0, 2},
                          huge[] = {1000000000, 1000, 1000},
                          absurd[] = {4294967295, 4294967295, 4294967295};
    unsigned char file[100];
    size_t length = make_idx(file, 8, 3, shape, 31);
    refuse_bytes("i", file, length,
                 "i: the file goes on behind the 30 bytes of data that its "
                 "header promises");
    refuse_bytes("i", file, 9,
                 "i: the file is cut short: it ends in its header");
    length = make_idx(file, 13, 3, shape, 30);
    refuse_bytes("i", file, length,
                 "i: IDX of type 0x0d is not read, only 0x08, unsigned bytes");
    length = make_idx(file, 8, 0, shape, 30);
    refuse_bytes("i", file, length,
                 "i: IDX of 0 dimensions is not read, only 1 to 8");
    file[3] = 255;
    refuse_bytes("i", file, length,
                 "i: IDX of 255 dimensions is not read, only 1 to 8");
    length = make_idx(file, 8, 3, none, 30);
    refuse_bytes("i", file, length, "i: the array is empty");
    length = make_idx(file, 8, 3, absurd, 30);
    refuse_bytes("i", file, length, "i: the shape is larger than any memory");
    length = make_idx(file, 8, 3, huge, 30);
    refuse_path(write_gzip("i.gz", file, length), false, PRICER_FORMAT,
                "i.gz: the file is cut short: its header promises "
                "1000000000000000 bytes of data, 30 are there");
    file[1] = 1;
    refuse_bytes("i", file, length, "i: this is not an IDX file");
}

static void test_cifar(void **state)
{
    (void)state;
    static unsigned char file[3 * 3073 + 1];
    for (int k = 0; k < 3 * 3073; k++)
        file[k] = (unsigned char)(k % 3073 == 0 ? k / 3073 : k * 31);
    const char *path = scratch_write("batch.bin", file, 3 * 3073);
    struct pricer_matrix *images = accept_path(path, false);
    struct pricer_matrix *labels = accept_path(path, true);
    assert_int_equal(images->rows, 3);
    assert_int_equal(images->columns, 3072);
    assert_int_equal(labels->rows, 3);
    assert_int_equal(labels->columns, 1);
    for (int row = 0; row < 3; row++) {
        double pixels[3072];
        pricer_matrix_row(images, row, pixels);
        assert_true(((float *)labels->values)[row] == row);
        for (int k = 0; k < 3072; k++)
            assert_true(pixels[k] == (float)file[row * 3073 + 1 + k] / 255.0f);
    }
    pricer_matrix_free(images);
    pricer_matrix_free(labels);
    pricer_matrix_free(
        accept_path(write_gzip("batch.bin.gz", file, 3 * 3073), false));
    refuse_bytes("batch.bin", file, 3 * 3073 + 1,
                 "batch.bin: the file is cut short: its 9220 bytes are not "
                 "whole records of 3073");
    file[3073] = 10;
    refuse_bytes("batch.bin", file, 3 * 3073,
                 "batch.bin: record 1 has the label 10: CIFAR-10's are 0 to 9");
    refuse_bytes("batch.bin", file, 0, "batch.bin: the file is empty");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idx),
        cmocka_unit_test(test_idx_refuses),
        cmocka_unit_test(test_cifar),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
