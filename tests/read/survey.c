/*
 * Lists of measured links: one network from every spelling, means of repeated
 * measurements, what is left out counted, and every mistake with its line.
 */
#include "tests/scratch.h"
#include "pricer_input.h"

static struct pricer_survey *accept_text(const char *text, const char *server,
                                         double above)
{
    struct pricer_survey *survey = NULL;
    struct pricer_fault fault = {"untouched"};
    if (pricer_survey_read(scratch_text("l.txt", text), server, above, &survey,
                           &fault) != PRICER_OK)
        fail_msg("'%s' was refused: %s", text, fault.text);
    assert_string_equal(fault.text, "untouched");
    return survey;
}

static void refuse(const char *text, const char *server, const char *words)
{
    struct pricer_survey *survey = NULL;
    struct pricer_fault fault = {""};
    const char *path = scratch_text("l.txt", text);
    assert_int_not_equal(pricer_survey_read(path, server, 0, &survey, &fault),
                         PRICER_OK);
    assert_null(survey);
    scratch_says(fault.text, words);
    assert_int_not_equal(pricer_survey_read(path, server, 0, &survey, NULL),
                         PRICER_OK);
}

static void test_spellings(void **state)
{
    (void)state;
    static const char *const spellings[] = {
        "2 0 0.5\n10 2 0.25\n10 0 0\n0 2 1\n2 2 0\n",
        " 2 0  0.5\r\n 10\t2 .25 \r\n10 0 0\r\n0 2 1\r\n2 2 0",
        "2,0,0.5\n10,2,0.25\n10,0,0\n0,2,1\n2,2,0\n",
        "2;0;0.5;ok\n10;2;0.25;\n10;0;0\n0;2;1\n2;2;0;weak\n",
        "2\t0\t0.5\n10\t2\t0.25\n10\t0\t0\n0\t2\t1\n2\t2\t0\n",
        "sender,receiver,prr\n2,0,0.5\n10,2,0.25\n10,0,0\n0,2,1\n2,2,0\n",
        "rssi;PRR;To;From\n-80;0.5;0;2\n-70;.25;2;10\n;0;0;10\n;1;2;0\n;0;2;"
        "2\n",
        "one other quality-seen\n2 0 0.5\n10 2 0.25\n10 0 0\n0 2 1\n2 2 0\n",
        "# a campaign\n\n\"from\",\"to\",\"p\"\n\"2\",\"0\",0.5\n10,2,0.25\n"
        "10,0,0\n# break\n0,2,1\n2,2,0\n",
        "2 0 0.4\n10 2 0.25\n10 0 0\n0 2 1\n2 2 0\n2 0 0.6\n",
    };
    for (size_t k = 0; k < sizeof spellings / sizeof *spellings; k++) {
        struct pricer_survey *survey = accept_text(spellings[k], "0", 0);
        bool twice = k + 1 == sizeof spellings / sizeof *spellings;
        assert_int_equal(survey->nodes, 2);
        assert_string_equal(survey->name[0], "id-2");
        assert_string_equal(survey->name[1], "id-10");
        assert_true(survey->uplink[0] == .5 && survey->uplink[1] == 0);
        assert_int_equal(survey->links, 1);
        assert_int_equal(survey->from[0], 1);
        assert_int_equal(survey->to[0], 0);
        assert_true(survey->p[0] == .25);
        assert_int_equal(survey->measurements, 3 + twice);
        assert_int_equal(survey->repeated, twice);
        assert_int_equal(survey->faint, 1);
        assert_int_equal(survey->from_server, 1);
        assert_int_equal(survey->to_self, 1);
        assert_int_equal(survey->header, k >= 5 && k <= 8);
        pricer_survey_free(survey);
    }
}

/* The threshold is for the mean, and for uplinks too; ids without any link
 * remain. A row without p was not measured. */
static void test_threshold(void **state)
{
    (void)state;
    static const char text[] = "a gw 0.9\nb gw 0.3\na b 0.2\na b 0.5\n"
                               "b a 0.3\nc a\nc gw \n";
    struct pricer_survey *survey = accept_text(text, "gw", .3);
    assert_int_equal(survey->nodes, 3);
    assert_true(survey->uplink[0] == .9 && survey->uplink[1] == 0 &&
                survey->uplink[2] == 0);
    assert_int_equal(survey->links, 1);
    assert_true(survey->from[0] == 0 && survey->to[0] == 1);
    assert_close(survey->p[0], .35, 1e-15);
    assert_int_equal(survey->faint, 2);
    assert_int_equal(survey->unmeasured, 2);
    assert_int_equal(survey->measurements, 5);
    pricer_survey_free(survey);
}

/* Names are ids where a network takes them; no other is lost or mixed up. */
static void test_names(void **state)
{
    (void)state;
    struct pricer_survey *survey =
        accept_text("server,7,1\nnode3,7,1\nc0:4a:00,7,1\n2nd,7,1\n"
                    "mote10,7,1\nmote9,7,1\n12,7,1\n",
                    "7", 0);
    static const char *const names[] = {"2nd",      "id-12",  "id-c0-4a-00",
                                        "mote9",    "mote10", "id-node3",
                                        "id-server"};
    assert_int_equal(survey->nodes, 7);
    for (int i = 0; i < 7; i++)
        assert_string_equal(survey->name[i], names[i]);
    pricer_survey_free(survey);
    refuse("a:b,x,1\na/b,x,1\n", "x",
           "l.txt: the ids a/b and a:b would both be called id-a-b");
}

static void test_refuses(void **state)
{
    (void)state;
    refuse("1 0 0.5\n2 0 75\n", "0",
           "l.txt:2: p = 75 is not a probability (percent? then divide by "
           "100)");
    refuse("1 0 0.5\n2 0 -0.1\n", "0",
           "l.txt:2: p = -0.1 is not a probability");
    refuse("1 0 0.5\n2 0 inf\n", "0", "l.txt:2: p = inf is not a probability");
    refuse("1 0 0.5\n2 0 good\n", "0", "l.txt:2: p = good is not a number");
    refuse("1;0;0,5\n", "0",
           "l.txt:1: p = 0,5 is not a number: write a decimal point, not a "
           "comma");
    refuse("1,0,0.5\n\n2,,0.5\n", "0",
           "l.txt:3: the receiver is missing: expected sender, receiver and p");
    refuse("1,0,0.5\n2\n", "0",
           "l.txt:2: the receiver is missing: expected sender, receiver and p");
    refuse("sender,receiver,rssi\n1,0,-70\n", "0",
           "l.txt:1: the header names no column p; the columns sender, "
           "receiver and p are needed");
    refuse("time,sender,receiver,p,prr\n", "0",
           "l.txt:1: two columns could be the p, one of them 'prr'");
    refuse("1 0 0.5\n", "9",
           "l.txt: the server 9 is in no line; ids are 0 to 1");
    refuse("1 2 0.5\n1 0 0\n", "0",
           "l.txt: no link to the server 0 has p above 0");
    refuse("# nothing\n", "0", "l.txt: there is no link in this file");
    refuse("", "0", "l.txt: there is no link in this file");
    struct pricer_survey *survey = NULL;
    struct pricer_fault fault = {""};
    assert_int_equal(pricer_survey_read(scratch_write("l.txt", "1 0 1\n\0", 7),
                                        "0", 0, &survey, &fault),
                     PRICER_FORMAT);
    scratch_says(fault.text, "l.txt: this is not a text file");
    assert_int_equal(
        pricer_survey_read(scratch_path("none.txt"), "0", 0, &survey, &fault),
        PRICER_FILE);
    scratch_says(fault.text, "none.txt: No such file or directory");
    assert_null(survey);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_threshold),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
