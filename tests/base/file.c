/*
 * Replacing a file: complete, or as if nothing had happened.
 */
#include "tests/vectors.h"

/* A file that cannot be written leaves the old one, and nothing beside it. */
static void test_writes_whole_or_nothing(void **state)
{
    (void)state;
    struct pricer_matrix *matrix = NULL;
    struct pricer_fault fault = {""};
    struct stat about;
    assert_int_equal(pricer_matrix_new(2, 2, PRICER_FLOAT64, &matrix, NULL),
                     PRICER_OK);
    const char *path = scratch_path("nowhere/a.npy");
    assert_int_equal(pricer_matrix_write_npy(matrix, path, &fault),
                     PRICER_FILE);
    scratch_says(fault.text, "nowhere/a.npy: No such file or directory");
    assert_int_equal(mkdir(scratch_path("there"), 0777), 0);
    path = scratch_path("there");
    assert_int_equal(pricer_matrix_write_npy(matrix, path, &fault),
                     PRICER_FILE);
    scratch_says(fault.text, "there: exists and is not a plain file");
    path = scratch_text("there/a.npy", "old");
    assert_int_equal(pricer_matrix_write_npy(matrix, path, &fault), PRICER_OK);
    pricer_matrix_free(accept_path(path, false));
    struct pri_replace replace;
    assert_int_equal(pri_replace_open(path, &replace, &fault), PRICER_OK);
    fputs("half", replace.file);
    pri_replace_abandon(&replace);
    pricer_matrix_free(accept_path(path, false));
    assert_int_equal(remove(path), 0);
    assert_int_equal(rmdir(scratch_path("there")), 0);
    assert_int_not_equal(stat(path, &about), 0);
    pricer_matrix_free(matrix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes_whole_or_nothing),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
