/*
 * Tables in CSV: every spelling that is taken, every mistake with its words,
 * and numbers that come back to the last bit.
 */
#include "tests/scratch.h"
#include "read/stream.h"

#include <fcntl.h>
#include <locale.h>

static const struct pri_column columns[] = {
    {"from", true, PRI_COLUMN_INDEX},
    {"to", true, PRI_COLUMN_INDEX},
    {"p", true, PRI_COLUMN_NUMBER},
    {"eps", false, PRI_COLUMN_NUMBER},
};

/* The rows as they came. */
struct taken {
    int count;
    int64_t line[64];
    double value[64][4];
    int refuse_at; /* refuse the row with this number, from 1 */
};

static enum pricer_status take(void *context, int64_t line, const double *value,
                               struct pricer_fault *fault)
{
    struct taken *taken = context;
    if (taken->count < 64) {
        taken->line[taken->count] = line;
        memcpy(taken->value[taken->count], value, sizeof taken->value[0]);
    }
    if (++taken->count == taken->refuse_at)
        return pri_fault(fault, PRICER_INFEASIBLE, "no more");
    return PRICER_OK;
}

static enum pricer_status read_file(const char *path, struct taken *taken,
                                    struct pricer_fault *fault)
{
    struct pri_csv csv = {path, columns, 4, take, taken, NULL, 0, 1, NULL, 0};
    return pri_csv_read(&csv, fault);
}

static void accept_text(const char *text, struct taken *taken)
{
    struct pricer_fault fault = {"untouched"};
    *taken = (struct taken){0};
    if (read_file(scratch_text("t.csv", text), taken, &fault) != PRICER_OK)
        fail_msg("'%s' was refused: %s", text, fault.text);
    assert_string_equal(fault.text, "untouched");
}

static void refuse_bytes(const char *bytes, size_t length,
                         enum pricer_status status, const char *words)
{
    struct taken taken = {0};
    struct pricer_fault fault = {""};
    const char *path = scratch_write("t.csv", bytes, length);
    assert_int_equal(read_file(path, &taken, &fault), status);
    scratch_says(fault.text, words);
    assert_int_equal(read_file(path, &taken, NULL), status);
}

static void refuse(const char *text, enum pricer_status status,
                   const char *words)
{
    refuse_bytes(text, strlen(text), status, words);
}

static void test_accepts(void **state)
{
    (void)state;
    static const char *const spellings[] = {
        "from,to,p\n3,4,0.25\n5,6,1\n",
        "from,to,p\n3,4,0.25\n5,6,1",
        "from,to,p\r\n3,4,0.25\r\n5,6,1\r\n",
        "from,to,p\r3,4,0.25\r5,6,1\r",
        "\xef\xbb\xbf"
        "from,to,p\n3,4,0.25\n5,6,1\n",
        "to,p,from\n4,.25,3\n6,1.000,5\n",
        "from , to,\tp\n 3 , 4\t,2.5e-1\n5,6,1\n",
        "\"from\",\"to\",\"p\"\n\"3\",\"4\",\"0.25\"\n5,6,1\n",
        "from,to,p,eps\n3,4,0.25,\n5,6,+1,\"\"\n",
        "from,to,p\n3.0,4e0,0.25\n5,6,1\n",
        "from;to;p\n3;4;0.25\n5;6;1\n",
        "from\tto\tp\n3\t4\t0.25\n5\t6\t1\n",
        "from\tto\tp\teps\r\n3\t4\t0.25\t\r\n5\t6\t1\t\r\n",
        "\xef\xbb\xbf\"from\";\"to\";\"p\"\n\"3\"; 4 ;0.25\n5;6;1\n",
    };
    for (size_t k = 0; k < sizeof spellings / sizeof *spellings; k++) {
        struct taken taken;
        accept_text(spellings[k], &taken);
        assert_int_equal(taken.count, 2);
        for (int row = 0; row < 2; row++) {
            assert_int_equal(taken.line[row], row + 2);
            assert_true(taken.value[row][0] == 3 + 2 * row);
            assert_true(taken.value[row][1] == 4 + 2 * row);
            assert_true(taken.value[row][2] == (row == 0 ? .25 : 1));
            assert_true(isnan(taken.value[row][3]));
        }
    }
    struct taken taken;
    accept_text("from,to,p\n", &taken);
    assert_int_equal(taken.count, 0);
    accept_text("from,to,p,eps\n0,1,.5,inf\n0,1,.5,Infinity\n", &taken);
    assert_true(isinf(taken.value[0][3]) && isinf(taken.value[1][3]));
}

/* Blank lines, both ends of line and a name with a line break in it: the line
 * that is named is the one an editor shows. */
static void test_lines(void **state)
{
    (void)state;
    struct taken taken;
    accept_text("\n\r\n  \nfrom,to,p\n\n1,2,3\r\n\r\n\t\n4,5,6\r7,8,9\n1,1,1",
                &taken);
    assert_int_equal(taken.count, 4);
    static const int64_t lines[] = {6, 9, 10, 11};
    for (int row = 0; row < 4; row++)
        assert_int_equal(taken.line[row], lines[row]);
    struct pricer_fault fault = {""};
    taken = (struct taken){.refuse_at = 3};
    assert_int_equal(read_file(scratch_text("t.csv", "from,to,p\n1,1,1\n\n"
                                                     "1,1,1\n\n\n1,1,1\n"),
                               &taken, &fault),
                     PRICER_INFEASIBLE);
    scratch_says(fault.text, "t.csv:7: no more");
    assert_int_equal(taken.count, 3);
}

static void test_refuses_headers(void **state)
{
    (void)state;
    refuse("", PRICER_FORMAT, "t.csv: the file is empty: it has no header");
    refuse("\n \n", PRICER_FORMAT,
           "t.csv: the file is empty: it has no header");
    refuse("\xef\xbb\xbf", PRICER_FORMAT,
           "t.csv: the file is empty: it has no header");
    refuse("from,to\n1,2\n", PRICER_FORMAT, "t.csv:1: the column p is missing");
    refuse("from,to,p,weight\n", PRICER_FORMAT,
           "t.csv:1: there is no column 'weight'; the columns are from, to, p, "
           "eps");
    refuse("1,2,0.5\n", PRICER_FORMAT,
           "t.csv:1: there is no column '1'; the columns are from, to, p, eps");
    refuse("from,to,p,\n", PRICER_FORMAT,
           "t.csv:1: there is no column ''; the columns are from, to, p, eps");
    refuse("From,to,p\n", PRICER_FORMAT,
           "t.csv:1: there is no column 'From' (did you mean from?); the "
           "columns are from, to, p, eps");
    refuse("form;to;p\n", PRICER_FORMAT,
           "t.csv:1: there is no column 'form' (did you mean from?); the "
           "columns are from, to, p, eps");
    refuse("\nfrom,to,p,to\n", PRICER_FORMAT,
           "t.csv:2: the column to stands twice");
    refuse("\"a\nb\x01\",to,p\n", PRICER_FORMAT,
           "t.csv:1: there is no column 'a?b?'; the columns are from, to, p, "
           "eps");
}

static void test_refuses_rows(void **state)
{
    (void)state;
#define ROW(cells) "from,to,p\n0,1,.5\n" cells "\n"
    refuse(ROW("0,2,abc"), PRICER_VALUE, "t.csv:3: p = abc is not a number");
    refuse(ROW("0,2,nan"), PRICER_VALUE, "t.csv:3: p = nan is not a number");
    refuse(ROW("0,2,0x1"), PRICER_VALUE, "t.csv:3: p = 0x1 is not a number");
    refuse(ROW("0,2,1e999"), PRICER_VALUE,
           "t.csv:3: p = 1e999 is not a number");
    refuse(ROW("0,2,\"0,5\""), PRICER_VALUE,
           "t.csv:3: p = 0,5 is not a number: write a decimal point, not a "
           "comma");
    refuse("from;to;p\n0;1;0,5\n", PRICER_VALUE,
           "t.csv:2: p = 0,5 is not a number: write a decimal point, not a "
           "comma");
    refuse(ROW("0,2,\"\n1\""), PRICER_VALUE, "t.csv:3: p = ?1 is not a number");
    refuse(ROW("1.5,2,1"), PRICER_VALUE,
           "t.csv:3: from = 1.5 is not a whole number from 0");
    refuse(ROW("0,-1,1"), PRICER_VALUE,
           "t.csv:3: to = -1 is not a whole number from 0");
    refuse(ROW("0,inf,1"), PRICER_VALUE,
           "t.csv:3: to = inf is not a whole number from 0");
    refuse(ROW("0,1e16,1"), PRICER_VALUE,
           "t.csv:3: to = 1e16 is not a whole number from 0");
    refuse(ROW("0,2"), PRICER_FORMAT,
           "t.csv:3: 2 cells where the header has 3");
    refuse(ROW("0"), PRICER_FORMAT, "t.csv:3: 1 cell where the header has 3");
    refuse(ROW("0,1,2,3"), PRICER_FORMAT,
           "t.csv:3: 4 cells where the header has 3");
    refuse(ROW("# a remark"), PRICER_VALUE,
           "t.csv:3: from = # a remark is not a number: nodes are numbered "
           "from 0, and names have a column of their own");
    refuse(ROW("0,1,\"2"), PRICER_FORMAT,
           "t.csv:3: the file ends inside a quoted cell");
    refuse(ROW("0,1\",2"), PRICER_FORMAT,
           "t.csv:3: a quotation mark stands inside a cell");
    refuse(ROW("0;1;2"), PRICER_VALUE,
           "t.csv:3: from = 0;1;2 is not a number: nodes are numbered from 0, "
           "and names have a column of their own");
    static const char zeros[] = "from,to,p\n0,1,.5\n0,\0001,1\n";
    refuse_bytes(zeros, sizeof zeros - 1, PRICER_FORMAT,
                 "t.csv:3: a zero byte stands here: this is not a text file");
    static const char wide[] = "\xff\xfe"
                               "f\0r\0o\0m\0";
    refuse_bytes(wide, sizeof wide - 1, PRICER_FORMAT,
                 "t.csv:1: a zero byte stands here: this is not a text file");
}

static void test_refuses_long_lines(void **state)
{
    (void)state;
    size_t length = 1 << 20;
    char *text = malloc(length + 20);
    assert_non_null(text);
    strcpy(text, "from,to,p\n0,1,");
    memset(text + 14, '7', length);
    refuse_bytes(text, length, PRICER_FORMAT,
                 "t.csv:2: a cell has more than 4095 bytes");
    memset(text + 14, ',', length);
    refuse_bytes(text, 14 + length, PRICER_FORMAT,
                 "t.csv:2: 1048579 cells where the header has 3");
    text[14] = '"';
    memset(text + 15, '\n', length);
    refuse_bytes(text, 14 + length, PRICER_FORMAT,
                 "t.csv:2: a cell has more than 4095 bytes");
    free(text);
}

static void test_refuses_files(void **state)
{
    (void)state;
    struct taken taken = {0};
    struct pricer_fault fault = {""};
    assert_int_equal(read_file(scratch_path("none"), &taken, &fault),
                     PRICER_FILE);
    scratch_says(fault.text, "none: No such file or directory");
    assert_int_equal(mkdir(scratch_path("folder"), 0777), 0);
    assert_int_equal(read_file(scratch_path("folder"), &taken, &fault),
                     PRICER_FILE);
    scratch_says(fault.text, "folder: Is a directory");
    const char *path = scratch_text("closed.csv", "from,to,p\n");
    assert_int_equal(chmod(path, 0), 0);
    /* Root may read everything: be nobody for a moment. */
    bool root = geteuid() == 0;
    if (root && seteuid(65534) != 0) {
        print_message("root cannot become nobody: permission not tested\n");
        return;
    }
    enum pricer_status status = read_file(path, &taken, &fault);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(status, PRICER_FILE);
    scratch_says(fault.text, "closed.csv: Permission denied");
}

static bool stop_at_once(void *context, double done)
{
    *(double *)context = done;
    return false;
}

static void test_watch_and_locale(void **state)
{
    (void)state;
    double done = -1;
    struct taken taken = {0};
    struct pricer_watch watch = {stop_at_once, &done};
    const char *path = scratch_text("t.csv", "from,to,p\n0,1,0.5\n");
    struct pri_csv csv = {path,   columns, 4,   take, &taken,
                          &watch, .25,     .75, NULL, 0};
    assert_int_equal(pri_csv_read(&csv, NULL), PRICER_STOPPED);
    assert_true(done == .75);
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL)
        print_message("de_DE.UTF-8 is not installed: locale not tested\n");
    assert_int_equal(read_file(path, &taken, NULL), PRICER_OK);
    assert_true(taken.value[taken.count - 1][2] == .5);
    setlocale(LC_ALL, "C");
}

/* Every double written with 17 digits comes back as itself. */
static void test_round_trip(void **state)
{
    (void)state;
    uint64_t seed = 3;
    double given[64];
    char text[4096];
    size_t used = (size_t)sprintf(text, "from,to,p\n");
    for (int k = 0; k < 64; k++) {
        given[k] =
            ldexp(test_uniform(&seed), (int)(test_random(&seed) % 2000) - 1000);
        used += (size_t)sprintf(text + used, "%d,0,%.17g\n", k, given[k]);
    }
    struct taken taken;
    accept_text(text, &taken);
    assert_int_equal(taken.count, 64);
    for (int k = 0; k < 64; k++)
        assert_true(taken.value[k][2] == given[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_refuses_headers),
        cmocka_unit_test(test_refuses_rows),
        cmocka_unit_test(test_refuses_long_lines),
        cmocka_unit_test(test_refuses_files),
        cmocka_unit_test(test_watch_and_locale),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
