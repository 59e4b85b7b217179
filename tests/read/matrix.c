/*
 * Files of vectors of any kind: those that cannot be had, and those that are of
 * no kind at all.
 */
#include "tests/vectors.h"

static void test_refuses_paths(void **state)
{
    (void)state;
    struct pricer_matrix *matrix = NULL;
    struct pricer_fault fault = {""};
    refuse_path(scratch_path("none.npy"), false, PRICER_FILE,
                "none.npy: No such file or directory");
    assert_int_equal(mkdir(scratch_path("folder"), 0777), 0);
    refuse_path(scratch_path("folder"), false, PRICER_FILE,
                "folder: Is a directory");
    const char *closed = scratch_text("closed.npy", "x");
    assert_int_equal(chmod(closed, 0), 0);
    bool root = geteuid() == 0;
    if (root && seteuid(65534) != 0) {
        print_message("root cannot become nobody: permission not tested\n");
        return;
    }
    enum pricer_status status = pricer_matrix_read(closed, &matrix, &fault);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(status, PRICER_FILE);
    scratch_says(fault.text, "closed.npy: Permission denied");
}

/* The sample that comes with the project: 100 images a shape. Python found the sum
 * of its pixels. */
static void test_reads_sample(void **state)
{
    (void)state;
    struct pricer_matrix *images =
        accept_path(DATA "/shapes-1000-images-idx3-ubyte.gz", false);
    struct pricer_matrix *labels =
        accept_path(DATA "/shapes-1000-labels-idx1-ubyte.gz", true);
    assert_int_equal(images->rows, 1000);
    assert_int_equal(images->columns, 784);
    assert_int_equal(labels->rows, 1000);
    int found[10] = {0};
    double sum = 0, pixels[784];
    for (int row = 0; row < 1000; row++) {
        pricer_matrix_row(images, row, pixels);
        for (int k = 0; k < 784; k++)
            sum += round(255 * pixels[k]);
        found[(int)((float *)labels->values)[row]]++;
    }
    assert_true(sum == 28295834);
    for (int shape = 0; shape < 10; shape++)
        assert_int_equal(found[shape], 100);
    pricer_matrix_free(images);
    pricer_matrix_free(labels);
}

static void test_refuses_unknown_kinds(void **state)
{
    (void)state;
    refuse_bytes("a.npy", "hello", 5,
                 "a.npy: there is no row of numbers: this is neither .npy nor "
                 "IDX nor CIFAR-10 in binary (.bin) nor CSV");
    refuse_bytes("a.npy", "\x01hello", 6,
                 "a.npy: this is neither .npy nor IDX nor CIFAR-10 in binary "
                 "(.bin) nor CSV");
    struct pricer_matrix *matrix = NULL;
    struct pricer_fault fault = {""};
    const char *path = scratch_text("a.npy", "\x93NUMPY");
    assert_int_equal(pri_matrix_read_labels(path, &matrix, &fault),
                     PRICER_FORMAT);
    scratch_says(fault.text,
                 "a.npy: this is neither IDX nor CIFAR-10 in binary (.bin)");
    assert_int_equal(
        pricer_matrix_new(INT64_MAX, 2, PRICER_FLOAT32, &matrix, NULL),
        PRICER_MEMORY);
    assert_int_equal(pricer_matrix_new(-1, 2, PRICER_FLOAT32, &matrix, NULL),
                     PRICER_MEMORY);
    assert_null(matrix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_sample),
        cmocka_unit_test(test_refuses_paths),
        cmocka_unit_test(test_refuses_unknown_kinds),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
