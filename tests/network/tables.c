/*
 * Networks from CSV: what the files say is what the network holds, and every
 * mistake is named with file, line and words.
 */
#include "tests/scratch.h"
#include "network/network.h"

static struct pri_trust_default trust = {
    2, 1e-3, INFINITY, 1, INFINITY, 1, 0, 1e-5, PRI_SCHEME_OPEN};

static const struct pri_measures measures = {8, 1.5, 1, 0};

static const char three_nodes[] = "node,p\n0,0.1\n1,0.2\n2,0.3\n";

static enum pricer_status read_files(const char *nodes, const char *links,
                                     struct pricer_network **network,
                                     struct pricer_fault *fault)
{
    return pri_csv_network(scratch_text("nodes.csv", nodes),
                           links != NULL ? scratch_text("links.csv", links)
                                         : NULL,
                           &measures, &trust, NULL, network, fault);
}

static struct pricer_network *accept_files(const char *nodes, const char *links)
{
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    if (read_files(nodes, links, &network, &fault) != PRICER_OK)
        fail_msg("refused: %s", fault.text);
    return network;
}

static void refuse(const char *nodes, const char *links, const char *words)
{
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    assert_int_not_equal(read_files(nodes, links, &network, &fault), PRICER_OK);
    assert_null(network);
    scratch_says(fault.text, words);
    assert_int_not_equal(read_files(nodes, links, &network, NULL), PRICER_OK);
}

static void test_reads(void **state)
{
    (void)state;
    struct pricer_network *net =
        accept_files("y,x,p,node\n-1,1,0.2,1\n-2.5,2,0.3,2\n0,0,0.1,0\n",
                     "from,to,p,joint,eps,delta\n"
                     "2,1,0.5,,,\n"
                     "1,1,,,3,1e-5\n"
                     "0,1,0.5,0.3,inf,\n"
                     "2,2,1,1,,0.5\n"
                     "1,0,0.4,0.3,0.5,1\n"
                     "0,2,0,,,\n");
    assert_int_equal(net->dimension, 8);
    assert_true(net->radius == 1.5);
    assert_int_equal(net->nodes, 3);
    assert_int_equal(net->links, 3);
    assert_int_equal(net->left_out, 1);
    for (int i = 0; i < 3; i++) {
        assert_close(net->uplink[i], .1 * (i + 1), 1e-15);
        assert_true(net->x[i] == i);
        assert_true(net->y[i] == (i == 2 ? -2.5 : -i));
    }
    assert_true(isinf(net->self_eps[0]) && net->self_delta[0] == 1);
    assert_true(net->self_eps[1] == 3 && net->self_delta[1] == 1e-5);
    assert_true(isinf(net->self_eps[2]) && net->self_delta[2] == .5);
    int32_t l = pricer_network_find(net, 0, 1);
    assert_true(net->joint[l] == .3 && isinf(net->eps[l]));
    assert_true(net->delta[l] == 1e-3);
    l = pricer_network_find(net, 1, 0);
    assert_true(net->joint[l] == .3 && net->eps[l] == .5 && net->delta[l] == 1);
    l = pricer_network_find(net, 2, 1);
    assert_true(net->p[l] == .5 && net->joint[l] == 0 && net->eps[l] == 2);
    pricer_network_free(net);
}

static void test_reads_budgets(void **state)
{
    (void)state;
    struct pricer_network *net = accept_files(
        "node,p,server_eps,server_delta\n0,.1,8,1e-6\n1,.2,,\n2,.3,2,\n",
        "from,to,p\n0,1,.5\n");
    assert_true(net->server_eps[0] == 8 && net->server_delta[0] == 1e-6);
    assert_true(isinf(net->server_eps[1]) && net->server_eps[2] == 2);
    assert_true(net->server_delta[2] == 1);
    pricer_network_free(net);
    net = accept_files(three_nodes, "from,to,p\n0,1,.5\n");
    assert_null(net->server_eps);
    pricer_network_free(net);
    refuse("node,p,server_eps\n0,.1,8\n1,.2,-1\n", "from,to,p\n",
           "nodes.csv:3: server_eps = -1 is not a positive number or inf");
}

/* Budgets towards everyone make the scheme forward: links have none then. */
static void test_everyone(void **state)
{
    (void)state;
    struct pricer_network *net = accept_files(
        "node,p,everyone_eps,everyone_delta\n0,.1,8,0\n1,.2,2,\n2,.3,4,.5\n",
        "from,to,p\n0,1,.5\n");
    assert_true(net->everyone_eps[0] == 8 && net->everyone_delta[0] == 0);
    assert_true(net->everyone_eps[1] == 2 && net->everyone_delta[1] == 1e-5);
    assert_true(net->everyone_eps[2] == 4 && net->everyone_delta[2] == .5);
    assert_true(isinf(net->eps[0]) && isinf(net->self_eps[0]));
    pricer_network_free(net);
    net = accept_files(three_nodes, "from,to,p\n0,1,.5\n");
    assert_null(net->everyone_eps);
    pricer_network_free(net);
    refuse("node,p,everyone_eps\n0,.1,4\n1,.2,\n", "from,to,p\n",
           "nodes.csv:3: everyone_eps is missing, here and in the scenario");
    refuse("node,p,everyone_eps\n0,.1,inf\n", "from,to,p\n",
           "nodes.csv:2: everyone_eps = inf is not a positive number");
    refuse("node,p,everyone_eps\n0,.1,0\n", "from,to,p\n",
           "nodes.csv:2: everyone_eps = 0 is not a positive number");
    refuse("node,p,everyone_eps,everyone_delta\n0,.1,1,1\n", "from,to,p\n",
           "nodes.csv:2: everyone_delta = 1 is not within 0 <= delta < 1");
    refuse("node,p,everyone_delta\n0,.1,1e-6\n", "from,to,p\n",
           "nodes.csv:2: everyone_eps is missing, here and in the scenario");
    refuse("node,p,everyone_eps,server_eps\n0,.1,4,\n1,.1,4,3\n", "from,to,p\n",
           "nodes.csv:3: server_eps belongs to 'scheme: sum', not to forward");
    refuse("node,p,everyone_eps,diameter\n0,.1,4,9\n", "from,to,p\n",
           "nodes.csv:2: diameter = 9 is above 3, twice the radius: no two "
           "vectors are so far apart");
    refuse("node,p,everyone_eps\n0,.1,4\n1,.1,4\n",
           "from,to,p,eps\n0,1,.5,\n1,0,.5,2\n",
           "links.csv:3: eps and delta of links belong to 'scheme: sum', not "
           "to forward");
    refuse("node,p,everyone_eps\n0,.1,4\n", "from,to,p,delta\n0,0,,.1\n",
           "links.csv:2: eps and delta of links belong to 'scheme: sum', not "
           "to forward");
    trust.scheme = PRI_SCHEME_SUM;
    refuse("node,p,everyone_eps\n0,.1,\n1,.1,4\n", "from,to,p\n",
           "nodes.csv:3: everyone_eps and everyone_delta belong to 'scheme: "
           "forward'");
    trust.scheme = PRI_SCHEME_FORWARD;
    refuse(three_nodes, "from,to,p\n",
           "nodes.csv:2: everyone_eps is missing, here and in the scenario");
    trust.everyone_eps = 3;
    net = accept_files("node,p,everyone_eps\n0,.1,\n1,.2,2\n", "from,to,p\n");
    assert_true(net->everyone_eps[0] == 3 && net->everyone_eps[1] == 2);
    pricer_network_free(net);
    trust.everyone_eps = 0;
    trust.scheme = PRI_SCHEME_OPEN;
}

static void test_reads_little(void **state)
{
    (void)state;
    struct pricer_network *net = accept_files("node,p\n0,1\n", NULL);
    assert_int_equal(net->nodes, 1);
    assert_int_equal(net->links, 0);
    assert_null(net->x);
    pricer_network_free(net);
    net = accept_files(three_nodes, "from,to,p\n");
    assert_int_equal(net->links, 0);
    pricer_network_free(net);
    /* The reciprocity gives the joint: 1 is fully reciprocal. */
    net = accept_files(three_nodes, "from,to,p\n0,1,.25\n1,0,.5\n");
    assert_true(net->joint[0] == .25 && net->joint[1] == .25);
    pricer_network_free(net);
}

static void test_refuses_nodes(void **state)
{
    (void)state;
    refuse("", NULL, "nodes.csv: the file is empty: it has no header");
    refuse("node,p\n", NULL, "nodes.csv: there is no row below the header");
    refuse("node\n0\n", NULL, "nodes.csv:1: the column p is missing");
    refuse("node,p,z\n", NULL,
           "nodes.csv:1: there is no column 'z'; the columns are node, p, x, "
           "y, server_eps, server_delta, name, radius, diameter, everyone_eps, "
           "everyone_delta");
    refuse("node,p\n0,.5\n1,1.3\n", NULL,
           "nodes.csv:3: p = 1.3 is not a probability (percent? then divide by "
           "100)");
    refuse("node,p\n1,.5\n\n0,-.5\n", NULL,
           "nodes.csv:4: p = -0.5 is not a probability");
    refuse("node,p\n0,\n", NULL, "nodes.csv:2: p is missing");
    refuse("node,p\n,1\n", NULL, "nodes.csv:2: node is missing");
    refuse("node,p\n0,nan\n", NULL, "nodes.csv:2: p = nan is not a number");
    refuse("node,p\n0,one\n", NULL, "nodes.csv:2: p = one is not a number");
    refuse("node,p\n1,.5\n2,.5\n", NULL,
           "nodes.csv:3: node 2 is out of place: 2 nodes are numbered 0 to 1");
    refuse("node,p\n9007199254740992,.5\n", NULL,
           "nodes.csv:2: node 9007199254740992 is out of place: 1 nodes are "
           "numbered 0 to 0");
    refuse("node,p\n0,.5\n1,.5\n0,.5\n", NULL,
           "nodes.csv:4: node 0 stands here a second time (also in line 2)");
    refuse("node,p,x\n0,.5,1\n", NULL,
           "nodes.csv:2: x and y go together, but y is missing");
    refuse("node,p,x,y\n0,.5,1,inf\n", NULL,
           "nodes.csv:2: the position (1, inf) is not a point of the plane");
}

static void test_refuses_links(void **state)
{
    (void)state;
#define LINKS(row) "from,to,p,joint,eps,delta\n0,1,.5,,,\n\n" row "\n"
    static const struct {
        const char *links, *words;
    } cases[] = {
        {"from,to\n", "links.csv:1: the column p is missing"},
        {LINKS("1,2,1.3,,,"),
         "links.csv:4: p = 1.3 is not a probability (percent? then divide by "
         "100)"},
        {LINKS("1,2,-1,,,"), "links.csv:4: p = -1 is not a probability"},
        {LINKS("1,2,inf,,,"), "links.csv:4: p = inf is not a probability"},
        {LINKS("1,2,,,,"), "links.csv:4: p is missing"},
        {LINKS(",2,1,,,"), "links.csv:4: from is missing"},
        {LINKS("1,,1,,,"), "links.csv:4: to is missing"},
        {LINKS("1,3,1,,,"),
         "links.csv:4: there is no node 3: the nodes are 0 to 2"},
        {LINKS("4294967297,0,1,,,"),
         "links.csv:4: there is no node 4294967297: the nodes are 0 to 2"},
        {LINKS("0,1,.6,,,"), "links.csv:4: the link 0,1 stands here a second "
                             "time (also in line 2)"},
        {LINKS("1,2,0,,,\n1,2,0,,,"),
         "links.csv:5: the link 1,2 stands here a second time (also in line "
         "4)"},
        {LINKS("0,1,0,,,"), "links.csv:4: the link 0,1 stands here a second "
                            "time (also in line 2)"},
        {LINKS("1,2,1.0000001,,,"), "links.csv:4: p = 1.0000001 is not a "
                                    "probability (percent? then divide "
                                    "by 100)"},
        {LINKS("1,0,.5,.6,,"),
         "links.csv:4: joint = 0.6 of the link 1,0 is outside [0.25, 0.5], its "
         "bounds for p = 0.5 and 0.5"},
        {LINKS("1,2,.5,.1,,"),
         "links.csv:4: joint = 0.1 of the link 1,2 is outside [0, 0], its "
         "bounds for p = 0.5 and 0"},
        {LINKS("1,2,.5,7,,"), "links.csv:4: joint = 7 is not a probability"},
        {LINKS("1,2,.5,nan,,"), "links.csv:4: joint = nan is not a number"},
        {LINKS("1,2,.5,,-1,"),
         "links.csv:4: eps = -1 is not a positive number or inf"},
        {LINKS("1,2,.5,,0,"),
         "links.csv:4: eps = 0 is not a positive number or inf"},
        {LINKS("1,2,.5,,nan,"), "links.csv:4: eps = nan is not a number"},
        {LINKS("1,2,.5,,1,0"), "links.csv:4: delta = 0 is outside (0, 1]"},
        {LINKS("1,2,.5,,1,1.5"), "links.csv:4: delta = 1.5 is outside (0, 1]"},
        {LINKS("1,2,.5,,1"), "links.csv:4: 5 cells where the header has 6"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        refuse(three_nodes, cases[k].links, cases[k].words);
}

static void test_refuses_uplink_rows(void **state)
{
    (void)state;
    static const struct {
        const char *links, *words;
    } cases[] = {
        {LINKS("1,1,.5,,,"), "links.csv:4: p = 0.5 of the row 1,1: a node "
                             "always reaches itself, give 1 or nothing"},
        {LINKS("1,1,1,0,,"), "links.csv:4: joint = 0 of the row 1,1: a node "
                             "always reaches itself, give 1 or nothing"},
        {LINKS("1,1,,,1,\n1,1,,,1,"),
         "links.csv:5: the row 1,1 stands here a second time (also in line 4)"},
        {LINKS("1,1,,,0,"),
         "links.csv:4: eps = 0 is not a positive number or inf"},
        {LINKS("1,1,,,,2"), "links.csv:4: delta = 2 is outside (0, 1]"},
        {LINKS("5,5,1,,,"),
         "links.csv:4: there is no node 5: the nodes are 0 to 2"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        refuse(three_nodes, cases[k].links, cases[k].words);
}

/* Names, radii and diameters by node; what is empty is the network's. */
static void test_reads_measures(void **state)
{
    (void)state;
    struct pricer_network *net = accept_files(
        "name,node,p,radius,diameter\nroof-2.a,2,.3,,0.5\n,0,.1,0.25,\n"
        "Kitchen_1,1,.2,1.5,3\n",
        NULL);
    assert_string_equal(net->name[0], "");
    assert_string_equal(net->name[1], "Kitchen_1");
    assert_string_equal(net->name[2], "roof-2.a");
    assert_true(net->radius == 1.5 && net->node_radius[0] == .25 &&
                net->node_radius[1] == 1.5 && net->node_radius[2] == 1.5);
    assert_true(net->node_diameter[0] == .5 && net->node_diameter[1] == 3 &&
                net->node_diameter[2] == .5);
    struct pricer_network *copy = NULL;
    assert_int_equal(pricer_network_retrust(net, NULL, 0, &copy, NULL),
                     PRICER_OK);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(copy->name[i], net->name[i]);
        assert_true(copy->node_radius[i] == net->node_radius[i]);
        assert_true(copy->node_diameter[i] == net->node_diameter[i]);
    }
    pricer_network_free(copy);
    pricer_network_free(net);
    net = accept_files("node;p;name\n0;1;2nd-floor\n1;1;125.4\n", NULL);
    assert_string_equal(net->name[0], "2nd-floor");
    assert_string_equal(net->name[1], "125.4");
    pricer_network_free(net);
    net = accept_files(three_nodes, NULL);
    assert_null(net->name);
    assert_true(net->node_radius[1] == 1.5 && net->node_diameter[1] == 3);
    pricer_network_free(net);
}

static void test_refuses_measures(void **state)
{
    (void)state;
#define NO_NAME                                                                \
    " is no name: letters, digits, '-', '_' and '.', a letter or digit "       \
    "first, "                                                                  \
    "not digits alone, fewer than 64 of them"
#define TAKEN                                                                  \
    " would be taken for another: 'server' and 'node' with a number are not "  \
    "free"
    static const char sixty_four[] =
        "node,p,name\n0,1,a234567890123456789012345678901234567890123456789"
        "01234567890123x\n";
    static const struct {
        const char *nodes, *words;
    } cases[] = {
        {"node,p,name\n0,1,a\n1,1,b\n2,1,a\n",
         "nodes.csv:4: the name a belongs to node 0 already"},
        {"node,p,name\n0,1,7\n", "nodes.csv:2: name = 7" NO_NAME},
        {"node,p,name\n0,1,a b\n", "nodes.csv:2: name = a b" NO_NAME},
        {"node,p,name\n0,1,a<b\n", "nodes.csv:2: name = a<b" NO_NAME},
        {"node,p,name\n0,1,\"a\nb\"\n",
         "nodes.csv:2: name = a?b holds a character that cannot be printed"},
        {"node,p,name\n0,1,x\n1,1,server\n",
         "nodes.csv:3: name = server" TAKEN},
        {"node,p,name\n0,1,node1\n", "nodes.csv:2: name = node1" TAKEN},
        {sixty_four, "nodes.csv:2: name = "
                     "a234567890123456789012345678901234567890" NO_NAME},
        {"node,p,radius\n0,1,1.5\n1,1,0\n",
         "nodes.csv:3: radius = 0 is not a positive number"},
        {"node,p,radius\n0,1,inf\n",
         "nodes.csv:2: radius = inf is not a positive number"},
        {"node,p,radius\n0,1,2\n",
         "nodes.csv:2: radius = 2 of a node is above 1.5, the radius of all: "
         "raise that one"},
        {"node,p,diameter\n0,1,-1\n",
         "nodes.csv:2: diameter = -1 is not a positive number"},
        {"node,p,radius,diameter\n0,1,1,2.5\n",
         "nodes.csv:2: diameter = 2.5 is above 2, twice the radius: "
         "no two vectors are so far apart"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        refuse(cases[k].nodes, NULL, cases[k].words);
}

/* What no file is to blame for is said without one. */
static void test_refuses_settings(void **state)
{
    (void)state;
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    const char *path = scratch_text("nodes.csv", three_nodes);
    struct pri_trust_default bad = {
        1, 1, -2, 1, INFINITY, 1, 0, 0, PRI_SCHEME_OPEN};
    assert_int_equal(
        pri_csv_network(path, NULL, &measures, &bad, NULL, &network, &fault),
        PRICER_VALUE);
    scratch_says(fault.text, "eps = -2 is not a positive number or inf");
    assert_int_equal(pri_csv_network(path, NULL,
                                     &(struct pri_measures){0, 1, 1, 0}, &trust,
                                     NULL, &network, &fault),
                     PRICER_VALUE);
    scratch_says(fault.text, "dimension = 0 is not a positive number");
    assert_int_equal(pri_csv_network(path, scratch_path("none.csv"), &measures,
                                     &trust, NULL, &network, &fault),
                     PRICER_FILE);
    scratch_says(fault.text, "none.csv: No such file or directory");
    assert_null(network);
}

/*
 * Random networks in a random order with blank lines and uplink rows in
 * between: what comes back is what went in, and a mistake put into a random
 * link is found in its line.
 */
static void test_random_files(void **state)
{
    (void)state;
    uint64_t seed = 4;
    static char text[1 << 16], expected[100];
    for (int trial = 0; trial < 100; trial++) {
        int n = 2 + (int)(test_random(&seed) % 19), line = 1, links = 0;
        int bad = (int)(test_random(&seed) % (2 * (uint64_t)n));
        double p[20][20] = {{0}};
        static char nodes[2000];
        size_t used = (size_t)sprintf(nodes, "node,p\n");
        for (int i = n - 1; i >= 0; i--)
            used += (size_t)sprintf(nodes + used, "%d,.5\n", i);
        used = (size_t)sprintf(text, "p,from,to\n");
        expected[0] = '\0';
        for (int k = 0; k < n * n; k++) {
            int from = k * 23 % n, to = k / n;
            double draw = test_uniform(&seed);
            line++;
            if (draw < .3) {
                used += (size_t)sprintf(text + used, "\n");
            } else if (from == to) {
                used += (size_t)sprintf(text + used, "1,%d,%d\n", from, to);
            } else {
                bool wrong = links++ == bad;
                if (wrong)
                    sprintf(
                        expected,
                        "links.csv:%d: p = 1.5 is not a probability (percent? "
                        "then divide by 100)",
                        line);
                p[from][to] = draw;
                used += (size_t)sprintf(text + used, "%.17g,%d,%d\n",
                                        wrong ? 1.5 : draw, from, to);
            }
        }
        if (expected[0] != '\0') {
            refuse(nodes, text, expected);
            continue;
        }
        struct pricer_network *net = accept_files(nodes, text);
        assert_int_equal(net->links, links);
        for (int32_t l = 0; l < net->links; l++)
            assert_true(net->p[l] == p[net->from[l]][net->to[l]]);
        pricer_network_free(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_reads_budgets),
        cmocka_unit_test(test_everyone),
        cmocka_unit_test(test_reads_little),
        cmocka_unit_test(test_refuses_nodes),
        cmocka_unit_test(test_refuses_links),
        cmocka_unit_test(test_refuses_uplink_rows),
        cmocka_unit_test(test_reads_measures),
        cmocka_unit_test(test_refuses_measures),
        cmocka_unit_test(test_refuses_settings),
        cmocka_unit_test(test_random_files),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
