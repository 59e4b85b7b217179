/*
 * Vectors in CSV: the same matrix from every spelling, some of its rows, and
 * every mistake with file and line.
 */
#include "tests/vectors.h"

static void test_spellings(void **state)
{
    (void)state;
    static const char *const spellings[] = {
        "0.5,-1\n2e-1,3\n-4,.25\n",
        "0.5;-1\r\n2e-1;3\r\n-4;.25",
        "0.5\t-1\n2e-1\t3\n-4\t.25\n",
        "  0.5  -1 \n2e-1 3\n-4\t .25\n",
        "x,y\n0.5,-1\n2e-1,3\n-4,.25\n",
        "\"x\";\"y\"\n\"0.5\";\"-1\"\n0.2;3\n-4;.25\n",
        "# two numbers a node\n\n0.5, -1\n  # the rest\n0.2 , 3\n\n-4,0.25\n",
        "\xef\xbb\xbf"
        "x y\r0.5 -1\r0.2 3\r-4 0.25\r",
    };
    static const double values[] = {.5, -1, .2, 3, -4, .25};
    for (size_t k = 0; k < sizeof spellings / sizeof *spellings; k++) {
        struct pricer_matrix *matrix =
            accept_path(scratch_text("v.csv", spellings[k]), false);
        assert_int_equal(matrix->rows, 3);
        assert_int_equal(matrix->columns, 2);
        assert_int_equal(matrix->element, PRICER_FLOAT64);
        assert_memory_equal(matrix->values, values, sizeof values);
        pricer_matrix_free(matrix);
    }
    struct pricer_matrix *matrix =
        accept_path(write_gzip("v.csv.gz", "1\n2\n", 4), false);
    assert_int_equal(matrix->rows, 2);
    assert_int_equal(matrix->columns, 1);
    pricer_matrix_free(matrix);
}

/* What is written with 17 digits comes back to the last bit. */
static void test_last_bit(void **state)
{
    (void)state;
    const double numbers[] = {1. / 3, 0x1.fffffffffffffp-1, 1e-300, M_PI};
    char text[200];
    snprintf(text, sizeof text, "%.17g,%.17g,%.17g,%.17g\n", numbers[0],
             numbers[1], numbers[2], numbers[3]);
    struct pricer_matrix *matrix =
        accept_path(scratch_text("v.csv", text), false);
    assert_memory_equal(matrix->values, numbers, sizeof numbers);
    pricer_matrix_free(matrix);
}

static void choose_last_two(struct pri_rows_wanted *part)
{
    part->first = part->rows - 2;
}

static void test_part(void **state)
{
    (void)state;
    struct pri_rows_wanted part = {.choose = choose_last_two};
    struct pricer_matrix *matrix = NULL;
    const char *path = scratch_text("v.csv", "x\n1\n2\n3\n# end\n4\n");
    assert_int_equal(pri_matrix_read_part(path, &part, &matrix, NULL),
                     PRICER_OK);
    assert_int_equal(part.rows, 4);
    assert_int_equal(matrix->rows, 2);
    assert_true(((double *)matrix->values)[0] == 3 &&
                ((double *)matrix->values)[1] == 4);
    pricer_matrix_free(matrix);
}

static void test_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"1,2\n3\n", "v.csv:2: 1 numbers where the rows above have 2"},
        {"1,2\n\n3,4,5\n", "v.csv:3: 3 numbers where the rows above have 2"},
        {"x,y\n1,2\n3,four\n", "v.csv:3: 'four' is not a number"},
        {"1,2\n3,\n", "v.csv:2: '' is not a number"},
        {"1,kitchen\n", "v.csv:1: 'kitchen' is not a number"},
        {"1,nan\n", "v.csv:1: 'nan' is not a number"},
        {"1;0,5\n",
         "v.csv:1: '0,5' is not a number: write a decimal point, not a comma"},
        {"node,x\n0,1\n",
         "v.csv:1: leave the column node out: rows are the nodes' vectors in "
         "the order of the nodes, nothing but numbers"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        refuse_bytes("v.csv", cases[k].text, strlen(cases[k].text),
                     cases[k].words);
    refuse_bytes("v.csv", "1,2\n\0", 5, "v.csv: this is not a text file");
    refuse_path(scratch_text("v.csv", "1\ninf\n"), false, PRICER_VALUE,
                "v.csv: row 1, column 0 (from 0) is infinite, not a number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_last_bit),
        cmocka_unit_test(test_part),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
