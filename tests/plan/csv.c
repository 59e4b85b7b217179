/*
 * Plans from CSV: every weight lands where its row says, and every mistake is
 * named with file, line and words.
 */
#include "tests/scratch.h"
#include "pricer.h"

/* 0 -> 1, 1 -> 0 and 1 -> 2. */
static struct pricer_network *three(void)
{
    struct pricer_node node = {.5, INFINITY, 1, NAN, NAN};
    struct pricer_node nodes[] = {node, node, node};
    struct pricer_link links[] = {
        {0, 1, .5, NAN, 1, .1}, {1, 0, .4, NAN, 1, .1}, {1, 2, .5, NAN, 1, .1}};
    struct pricer_network *network = NULL;
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){1, 1, 1, nodes, 3,
                                                        links, 3, NULL, NULL},
                         &network, NULL, NULL),
                     PRICER_OK);
    return network;
}

static void test_reads(void **state)
{
    (void)state;
    struct pricer_network *net = three();
    struct pricer_plan *plan = NULL;
    const char *path = scratch_text("plan.csv", "sigma,alpha,to,from\n"
                                                "3,0.5,2,1\n"
                                                "0,1,0,0\n"
                                                "7,0,0,2\n"
                                                "0.25,1e-3,0,1\n"
                                                "0.5,2,2,2\n");
    assert_int_equal(pricer_plan_read(path, net, NULL, &plan, NULL), PRICER_OK);
    assert_true(plan->weight[0] == 0 && plan->noise[0] == 0);
    assert_true(plan->weight[1] == 1e-3 && plan->noise[1] == .25);
    assert_true(plan->weight[2] == .5 && plan->noise[2] == 3);
    assert_true(plan->self_weight[0] == 1 && plan->self_noise[0] == 0);
    assert_true(plan->self_weight[1] == 0 && plan->self_noise[1] == 0);
    assert_true(plan->self_weight[2] == 2 && plan->self_noise[2] == .5);
    pricer_plan_free(plan);
    pricer_network_free(net);
}

static void refuse(const char *text, const char *words)
{
    struct pricer_network *net = three();
    struct pricer_plan *plan = NULL;
    struct pricer_fault fault = {""};
    const char *path = scratch_text("plan.csv", text);
    assert_int_not_equal(pricer_plan_read(path, net, NULL, &plan, &fault),
                         PRICER_OK);
    assert_null(plan);
    scratch_says(fault.text, words);
    assert_int_not_equal(pricer_plan_read(path, net, NULL, &plan, NULL),
                         PRICER_OK);
    pricer_network_free(net);
}

static void test_refuses(void **state)
{
    (void)state;
    refuse("from,to,alpha,sigma\n0,1,1,1\n0,2,1,1\n",
           "plan.csv:3: there is no link 0,2");
    refuse("from,to,alpha,sigma\n0,3,1,1\n", "plan.csv:2: there is no node 3");
    refuse("from,to,alpha,sigma\n0,1,-1,1\n",
           "plan.csv:2: alpha = -1 is not a weight");
    refuse("from,to,alpha,sigma\n0,1,inf,1\n",
           "plan.csv:2: alpha = inf is not a weight");
    refuse("from,to,alpha,sigma\n0,1,1,-2\n",
           "plan.csv:2: sigma = -2 is not a standard deviation");
    refuse("from,to,alpha,sigma\n0,1,1,\n", "plan.csv:2: sigma is missing");
    refuse("from,to,alpha,sigma\n0,0,1,0\n1,2,1,0\n\n0,0,1,0\n",
           "plan.csv:5: 0,0 stands here a second time (also in line 2)");
    refuse("from,to,alpha,sigma\n1,2,1,0\n1,2,1,0\n",
           "plan.csv:3: 1,2 stands here a second time (also in line 2)");
    struct pricer_network *net = three();
    struct pricer_plan *plan = NULL;
    assert_int_equal(
        pricer_plan_read(scratch_path("none"), net, NULL, &plan, NULL),
        PRICER_FILE);
    pricer_network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, scratch_open, scratch_close);
}
