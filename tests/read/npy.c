/*
 * NumPy's files: what is written comes back, what NumPy writes is read and the
 * other way round, and every broken file is refused in words.
 */
#include "tests/vectors.h"

/* A .npy of this header and so many bytes of data behind it. */
static size_t make_npy(unsigned char *file, int version, const char *header,
                       const void *data, size_t length)
{
    size_t size = strlen(header), at = 0;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (unsigned char)version;
    file[7] = 0;
    at = 8;
    for (int k = 0; k < (version == 1 ? 2 : 4); k++)
        file[at++] = (unsigned char)(size >> (8 * k));
    memcpy(file + at, header, size);
    memcpy(file + at + size, data, length);
    return at + size + length;
}

static void test_npy_round_trip(void **state)
{
    (void)state;
    uint64_t seed = 5;
    static const int64_t shapes[][2] = {{1, 1}, {3, 5}, {1000, 77}, {1, 9}};
    for (int k = 0; k < 8; k++) {
        struct pricer_matrix *given = NULL;
        int64_t rows = shapes[k / 2][0], columns = shapes[k / 2][1];
        assert_int_equal(
            pricer_matrix_new(rows, columns,
                              k % 2 ? PRICER_FLOAT64 : PRICER_FLOAT32, &given,
                              NULL),
            PRICER_OK);
        for (int64_t i = 0; i < rows * columns; i++) {
            double value = test_uniform(&seed) - .5;
            if (k % 2)
                ((double *)given->values)[i] = value;
            else
                ((float *)given->values)[i] = (float)value;
        }
        const char *path = scratch_path("round.npy");
        assert_int_equal(pricer_matrix_write_npy(given, path, NULL), PRICER_OK);
        struct pricer_matrix *read = accept_path(path, false);
        assert_int_equal(read->rows, rows);
        assert_int_equal(read->columns, columns);
        assert_int_equal(read->element, given->element);
        assert_memory_equal(read->values, given->values,
                            (size_t)(rows * columns) * (k % 2 ? 8 : 4));
        double *row = malloc((size_t)columns * sizeof *row);
        assert_non_null(row);
        pricer_matrix_row(read, rows - 1, row);
        for (int64_t c = 0; c < columns; c++) {
            int64_t at = (rows - 1) * columns + c;
            assert_true(row[c] == (k % 2 ? ((double *)given->values)[at]
                                         : ((float *)given->values)[at]));
        }
        free(row);
        pricer_matrix_free(given);
        pricer_matrix_free(read);
    }
    pricer_matrix_free(NULL);
}

static void test_npy_spellings(void **state)
{
    (void)state;
    static const double data[] = {1, 2, 3, 4, 5, 6};
    static const struct {
        int version;
        const char *header;
        int64_t rows, columns;
    } cases[] = {
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }   \n",
         2, 3},
        {2, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n", 2,
         3},
        {3, "{'descr':'<f8','fortran_order':False,'shape':(2,3)}", 2, 3},
        {1, " {\"shape\" : (3, 2,) , \"fortran_order\":False,'descr': '<f8',}",
         3, 2},
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }", 1, 6},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 2), }", 3,
         4},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        unsigned char file[400];
        size_t length = make_npy(file, cases[k].version, cases[k].header, data,
                                 sizeof data);
        for (int gzip = 0; gzip < 2; gzip++) {
            struct pricer_matrix *matrix =
                accept_path(gzip ? write_gzip("a.npy.gz", file, length)
                                 : scratch_write("a.npy", file, length),
                            false);
            assert_int_equal(matrix->rows, cases[k].rows);
            assert_int_equal(matrix->columns, cases[k].columns);
            assert_memory_equal(matrix->values, data, sizeof data);
            pricer_matrix_free(matrix);
        }
    }
}

static void refuse_header(const char *header, const char *words)
{
    static const double data[] = {1, 2, 3, 4, 5, 6};
    unsigned char file[700];
    size_t length = make_npy(file, 1, header, data, sizeof data);
    refuse_bytes("a.npy", file, length, words);
}

static void test_npy_refuses_headers(void **state)
{
    (void)state;
#define HEADER(descr, order, shape)                                            \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"
    refuse_header(HEADER("'<f8'", "True", "(2, 3)"),
                  "a.npy: the array is in Fortran order; only C order is read "
                  "(see numpy.ascontiguousarray)");
    refuse_header(HEADER("'>f8'", "False", "(2, 3)"),
                  "a.npy: the numbers are big-endian ('>f8'); only '<f4' and "
                  "'<f8' are read");
    refuse_header(HEADER("'<i8'", "False", "(2, 3)"),
                  "a.npy: elements of type '<i8' are not read, only '<f4' and "
                  "'<f8'");
    refuse_header(HEADER("'|O'", "False", "(2, 3)"),
                  "a.npy: elements of type '|O' are not read, only '<f4' and "
                  "'<f8'");
    refuse_header(HEADER("'<f8'", "False", "()"),
                  "a.npy: a single number is not a matrix");
    refuse_header(HEADER("'<f8'", "False", "(0, 3)"),
                  "a.npy: the array is empty");
    refuse_header(HEADER("'<f8'", "False", "(3037000500, 3037000500)"),
                  "a.npy: the shape is larger than any memory");
    refuse_header(HEADER("'<f8'", "False", "(1, 4294967296, 4294967296)"),
                  "a.npy: the shape is larger than any memory");
    refuse_header(HEADER("'<f8'", "False", "(2000000000000000000, 1)"),
                  "a.npy: the shape is larger than any memory");
    refuse_header(HEADER("'<f4'", "False", "(10000000000000000000000, 1)"),
                  "a.npy: the shape is larger than any memory");
    refuse_header(HEADER("'<f4'", "False", "(1000000000000000000, 1)"),
                  "a.npy: the file is cut short: its header promises "
                  "4000000000000000000 bytes of data, 48 are there");
    refuse_header(HEADER("'<f8'", "False", "(2, 2)"),
                  "a.npy: the file goes on behind the 32 bytes of data that "
                  "its header promises");
}

static void test_npy_refuses_malformed(void **state)
{
    (void)state;
    static const char *const malformed[] = {
        "x",
        "{",
        "{}",
        "{'descr': '<f8'}",
        HEADER("'<f8'", "False", "(2, 3)") "x",
        HEADER("'<f8'", "False", "(2, 3)") "{}",
        HEADER("'<f8'", "False", "(6)"),
        HEADER("'<f8'", "False", "(2 3)"),
        HEADER("'<f8'", "False", "(-2, 3)"),
        HEADER("'<f8'", "False", "(,)"),
        HEADER("'<f8'", "False", "[2, 3]"),
        HEADER("'<f8'", "False",
               "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
               "1,1,1,1,1,1,1,1,1,1,1,1,1,1)"),
        HEADER("'<f8'", "0", "(2, 3)"),
        HEADER("[('a', '<f4')]", "False", "(2, 3)"),
        HEADER("'<f8", "False", "(2, 3)"),
        HEADER("'\\x3cf8'", "False", "(2, 3)"),
        HEADER("'a very long type, longer than any'", "False", "(2, 3)"),
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': "
        "(2, 3)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<f8' 'fortran_order': False, 'shape': (2, 3)}",
    };
    for (size_t k = 0; k < sizeof malformed / sizeof *malformed; k++)
        refuse_header(malformed[k],
                      "a.npy: the header is not a dictionary of descr, "
                      "fortran_order and shape");
    refuse_header("", "a.npy: the header is not text");
}

/* Every beginning of a good file, plain and gzip, is refused. */
static void test_npy_refuses_files(void **state)
{
    (void)state;
    static const float data[] = {1, 2, 3, 4, 5, 6};
    unsigned char file[400], squeezed[400];
    size_t length = make_npy(file, 1, HEADER("'<f4'", "False", "(2, 3)"), data,
                             sizeof data);
    for (size_t kept = 0; kept < length; kept++) {
        struct pricer_matrix *matrix = NULL;
        struct pricer_fault fault = {""};
        const char *path = scratch_write("cut.npy", file, kept);
        assert_int_equal(pricer_matrix_read(path, &matrix, &fault),
                         PRICER_FORMAT);
        assert_non_null(strstr(fault.text, kept == 0 ? "the file is empty"
                                                     : "is cut short"));
    }
    FILE *from = fopen(write_gzip("b.npy.gz", file, length), "rb");
    assert_non_null(from);
    size_t whole = fread(squeezed, 1, sizeof squeezed, from);
    fclose(from);
    for (size_t kept = 0; kept < whole; kept++) {
        struct pricer_matrix *matrix = NULL;
        const char *path = scratch_write("cut.npy.gz", squeezed, kept);
        if (pricer_matrix_read(path, &matrix, NULL) == PRICER_OK)
            fail_msg("%zu of %zu bytes were taken for the whole", kept, whole);
    }
    refuse_bytes("cut.gz", squeezed, whole - 3,
                 "cut.gz: the gzip data is cut short");
    squeezed[whole - 6] ^= 1; /* the checksum */
    refuse_bytes("bad.gz", squeezed, whole, "bad.gz: the gzip data is damaged");
    file[6] = 4;
    refuse_bytes("a.npy", file, length,
                 "a.npy: .npy of version 4.0 is not read, only 1.0 to 3.0");
    file[6] = 2;
    refuse_bytes("a.npy", file, length,
                 "a.npy: a header of 662372411 bytes is not one of .npy");
    refuse_bytes("a.npy", "hello", 5,
                 "a.npy: there is no row of numbers: this is neither .npy nor "
                 "IDX nor CIFAR-10 in binary (.bin) nor CSV");
    refuse_bytes("a.npy", "\x01hello", 6,
                 "a.npy: this is neither .npy nor IDX nor CIFAR-10 in binary "
                 "(.bin) nor CSV");
    refuse_bytes("a.npy", "\x93NUMPX123", 9, "a.npy: this is not a .npy file");
    refuse_bytes("a.npy", "", 0, "a.npy: the file is empty");
}

static void test_npy_refuses_values(void **state)
{
    (void)state;
    double data[] = {1, 2, 3, 4, NAN, 6};
    unsigned char file[400];
    size_t length = make_npy(file, 1, HEADER("'<f8'", "False", "(2, 3)"), data,
                             sizeof data);
    refuse_path(scratch_write("a.npy", file, length), false, PRICER_VALUE,
                "a.npy: row 1, column 1 (from 0) is nan, not a number");
    data[2] = -INFINITY;
    length = make_npy(file, 1, HEADER("'<f8'", "False", "(2, 3)"), data,
                      sizeof data);
    refuse_path(scratch_write("a.npy", file, length), false, PRICER_VALUE,
                "a.npy: row 0, column 2 (from 0) is infinite, not a number");
}

static bool run_python(const char *code)
{
    char command[2000];
    snprintf(command, sizeof command, "cd %s && /usr/bin/python3 -c \"%s\"",
             scratch, code);
    return system(command) == 0;
}

/* NumPy reads what we write and we read what it writes, to the bit; where its
 * own writer makes the same array, the files agree byte for byte. */
static void test_agrees_with_numpy(void **state)
{
    (void)state;
    if (!run_python("import numpy")) {
        print_message("NumPy is not installed: agreement not tested\n");
        return;
    }
    struct pricer_matrix *ours = NULL;
    assert_int_equal(pricer_matrix_new(7, 11, PRICER_FLOAT32, &ours, NULL),
                     PRICER_OK);
    for (int k = 0; k < 77; k++)
        ((float *)ours->values)[k] = (float)(k * k) / 3.0f;
    assert_int_equal(
        pricer_matrix_write_npy(ours, scratch_path("ours.npy"), NULL),
        PRICER_OK);
    assert_true(
        run_python("import numpy as n\n"
                   "k = n.arange(77, dtype=n.float32)\n"
                   "a = (k * k / n.float32(3)).reshape(7, 11)\n"
                   "b = n.load('ours.npy')\n"
                   "assert b.dtype == n.float32 and b.shape == (7, 11)\n"
                   "assert (a == b).all()\n"
                   "n.save('theirs.npy', a)\n"
                   "assert open('theirs.npy', 'rb').read() == "
                   "open('ours.npy', 'rb').read()\n"
                   "f = n.lib.format.write_array\n"
                   "f(open('v2.npy', 'wb'), a, (2, 0))\n"
                   "f(open('v3.npy', 'wb'), a, (3, 0))\n"
                   "n.save('vector.npy', a[0])\n"
                   "n.save('fortran.npy', n.asfortranarray(a))\n"
                   "n.save('big.npy', a.astype('>f4'))\n"
                   "n.save('whole.npy', a.astype(n.int64))\n"));
    static const char *const same[] = {"theirs.npy", "v2.npy", "v3.npy"};
    for (int k = 0; k < 3; k++) {
        struct pricer_matrix *read = accept_path(scratch_path(same[k]), false);
        assert_int_equal(read->rows, 7);
        assert_int_equal(read->columns, 11);
        assert_memory_equal(read->values, ours->values, 77 * 4);
        pricer_matrix_free(read);
    }
    struct pricer_matrix *vector = accept_path(scratch_path("vector.npy"), 0);
    assert_int_equal(vector->rows, 1);
    assert_int_equal(vector->columns, 11);
    pricer_matrix_free(vector);
    refuse_path(scratch_path("fortran.npy"), false, PRICER_FORMAT,
                "fortran.npy: the array is in Fortran order; only C order is "
                "read (see numpy.ascontiguousarray)");
    refuse_path(scratch_path("big.npy"), false, PRICER_FORMAT,
                "big.npy: the numbers are big-endian ('>f4'); only '<f4' and "
                "'<f8' are read");
    refuse_path(scratch_path("whole.npy"), false, PRICER_FORMAT,
                "whole.npy: elements of type '<i8' are not read, only '<f4' "
                "and '<f8'");
    pricer_matrix_free(ours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy_round_trip),
        cmocka_unit_test(test_npy_spellings),
        cmocka_unit_test(test_npy_refuses_headers),
        cmocka_unit_test(test_npy_refuses_malformed),
        cmocka_unit_test(test_npy_refuses_files),
        cmocka_unit_test(test_npy_refuses_values),
        cmocka_unit_test(test_agrees_with_numpy),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
