/*
 * The network: every rule of the model refused with its own words, and the
 * indices checked against brute force on random networks.
 */
#include "tests/test.h"
#include "network/network.h"

static const struct pricer_node node = {0.5, INFINITY, 1, NAN, NAN};

static enum pricer_status build(struct pricer_node *nodes, int64_t n,
                                struct pricer_link *links, int64_t m,
                                struct pricer_network **network,
                                struct pricer_place *place,
                                struct pricer_fault *fault)
{
    return pricer_network_build(&(struct pricer_network_parts){3, 1.0, 1.0,
                                                               nodes, n, links,
                                                               m, NULL, NULL},
                                network, place, fault);
}

/* Expect that a three-node network with this one change is refused. */
static void refuse_link(struct pricer_link bad, const char *words)
{
    struct pricer_node nodes[] = {node, node, node};
    struct pricer_link links[] = {
        {0, 1, .5, NAN, 1, .1}, {1, 0, .4, NAN, 1, .1}, bad};
    struct pricer_network *network = NULL;
    struct pricer_place place = {-1, -1};
    struct pricer_fault fault = {""};
    assert_int_equal(build(nodes, 3, links, 3, &network, &place, &fault),
                     PRICER_VALUE);
    assert_null(network);
    assert_int_equal(place.link, 2);
    assert_int_equal(place.node, -1);
    if (strstr(fault.text, words) == NULL)
        fail_msg("'%s' does not say '%s'", fault.text, words);
}

static void test_refuses_links(void **state)
{
    (void)state;
    refuse_link((struct pricer_link){1, 2, 1.3, NAN, 1, .1},
                "p = 1.3 is not a probability (percent? then divide by 100)");
    refuse_link((struct pricer_link){1, 2, 75, NAN, 1, .1},
                "p = 75 is not a probability (percent? then divide by 100)");
    refuse_link((struct pricer_link){1, 2, 101, NAN, 1, .1},
                "p = 101 is not a probability");
    refuse_link((struct pricer_link){1, 2, NAN, NAN, 1, .1},
                "p = nan is not a probability");
    refuse_link((struct pricer_link){1, 2, -.1, NAN, 1, .1},
                "p = -0.1 is not a probability");
    refuse_link((struct pricer_link){1, 3, .5, NAN, 1, .1},
                "there is no node 3");
    refuse_link((struct pricer_link){-1, 2, .5, NAN, 1, .1},
                "there is no node -1");
    refuse_link((struct pricer_link){2, 2, .5, NAN, 1, .1}, "to itself");
    refuse_link((struct pricer_link){0, 1, .5, NAN, 1, .1}, "second time");
    refuse_link((struct pricer_link){1, 2, .5, NAN, -1, .1}, "eps = -1");
    refuse_link((struct pricer_link){1, 2, .5, NAN, 0, .1}, "eps = 0");
    refuse_link((struct pricer_link){1, 2, .5, NAN, NAN, .1}, "eps = nan");
    refuse_link((struct pricer_link){1, 2, .5, NAN, 1, 0}, "delta = 0");
    refuse_link((struct pricer_link){1, 2, .5, NAN, 1, 1.5}, "delta = 1.5");
    refuse_link((struct pricer_link){1, 2, .5, 2, 1, .1}, "joint = 2 is not");
    refuse_link((struct pricer_link){1, 2, .5, .2, 1, .1},
                "joint = 0.2 of the link 1,2 is outside");
}

static void test_refuses_nodes_and_joints(void **state)
{
    (void)state;
    struct pricer_network *network = NULL;
    struct pricer_place place = {-1, -1};
    struct pricer_fault fault = {""};
    struct pricer_node nodes[] = {node, node};
    nodes[1].uplink = 1.3;
    assert_int_equal(build(nodes, 2, NULL, 0, &network, &place, &fault),
                     PRICER_VALUE);
    assert_int_equal(place.node, 1);
    assert_string_equal(
        fault.text,
        "p = 1.3 is not a probability (percent? then divide by 100)");
    nodes[1] = node;
    struct pricer_link links[] = {{0, 1, .5, .3, 1, .1}, {1, 0, .5, .4, 1, .1}};
    assert_int_equal(build(nodes, 2, links, 2, &network, &place, &fault),
                     PRICER_VALUE);
    assert_non_null(strstr(fault.text, "differs"));
    links[0].joint = .1;
    assert_int_equal(build(nodes, 2, links, 2, &network, &place, &fault),
                     PRICER_VALUE);
    assert_non_null(strstr(fault.text, "outside [0.25, 0.5]"));
    assert_int_equal(build(nodes, 0, NULL, 0, &network, &place, &fault),
                     PRICER_VALUE);
    assert_null(network);
}

/* Every index against a search through all links. */
static void check_indices(const struct pricer_network *net)
{
    for (int32_t l = 0; l < net->links; l++) {
        assert_int_equal(pricer_network_find(net, net->from[l], net->to[l]), l);
        assert_int_equal(net->partner[l],
                         pricer_network_find(net, net->to[l], net->from[l]));
        assert_in_range(l, net->out_start[net->from[l]],
                        net->out_start[net->from[l] + 1] - 1);
        if (l > 0)
            assert_true(net->from[l - 1] < net->from[l] ||
                        (net->from[l - 1] == net->from[l] &&
                         net->to[l - 1] < net->to[l]));
    }
    for (int32_t j = 0; j < net->nodes; j++)
        for (int32_t k = net->in_start[j]; k < net->in_start[j + 1]; k++) {
            assert_int_equal(net->to[net->in_link[k]], j);
            if (k > net->in_start[j])
                assert_true(net->from[net->in_link[k - 1]] <
                            net->from[net->in_link[k]]);
        }
    assert_int_equal(net->in_start[net->nodes], net->links);
    assert_int_equal(net->out_start[net->nodes], net->links);
    /* one pair of arrays is both lists exactly where it can be */
    bool mirrored = true;
    for (int32_t l = 0; l < net->links; l++)
        mirrored = mirrored && net->partner[l] >= 0;
    assert_int_equal(net->in_link == net->partner, mirrored);
}

static void test_indices(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int trial = 0; trial < 200; trial++) {
        int32_t n = 1 + (int32_t)(test_random(&seed) % 9), m = 0;
        struct pricer_node nodes[9];
        struct pricer_link links[81];
        for (int32_t i = 0; i < n; i++)
            nodes[i] = node;
        for (int32_t i = n - 1; i >= 0; i--)
            for (int32_t j = 0; j < n; j++)
                if (i != j && test_uniform(&seed) < .6)
                    links[m++] = (struct pricer_link){
                        i, j, test_uniform(&seed) < .2 ? 0 : .7, NAN, 1, .1};
        struct pricer_network *net = NULL;
        assert_int_equal(build(nodes, n, links, m, &net, NULL, NULL),
                         PRICER_OK);
        check_indices(net);
        for (int32_t k = 0; k < m; k++)
            assert_int_equal(
                pricer_network_find(net, links[k].from, links[k].to) >= 0,
                links[k].p > 0);
        pricer_network_free(net);
    }
}

static void test_joint_defaults(void **state)
{
    (void)state;
    struct pricer_node nodes[] = {node, node, node};
    struct pricer_link links[] = {
        {0, 1, .5, NAN, 1, .1}, {1, 0, .4, NAN, 1, .1}, {1, 2, .5, NAN, 1, .1}};
    double reciprocities[] = {0, .5, 1}, joints[] = {.2, .3, .4};
    for (int k = 0; k < 3; k++) {
        struct pricer_network *net = NULL;
        assert_int_equal(
            pricer_network_build(
                &(struct pricer_network_parts){3, 1, reciprocities[k], nodes, 3,
                                               links, 3, NULL, NULL},
                &net, NULL, NULL),
            PRICER_OK);
        assert_close(net->joint[0], joints[k], 1e-15);
        assert_true(net->joint[1] == net->joint[0]);
        assert_true(net->joint[2] == 0);
        assert_true(pri_network_bytes(net) < 2000);
        pricer_network_free(net);
    }
}

/* The same entries as arrays; joints and positions left out where all are NAN
 * shows that NULL means that. */
struct arrays {
    double uplink[9], eps[9], delta[9], x[9], y[9];
    int32_t from[99], to[99];
    double p[99], joint[99], link_eps[99], link_delta[99];
};

static struct pricer_network_arrays spread(
    const struct pricer_network_parts *parts, bool bare, struct arrays *a)
{
    for (int64_t i = 0; i < parts->node_count; i++) {
        a->uplink[i] = parts->nodes[i].uplink;
        a->eps[i] = parts->nodes[i].eps;
        a->delta[i] = parts->nodes[i].delta;
        a->x[i] = parts->nodes[i].x;
        a->y[i] = parts->nodes[i].y;
    }
    for (int64_t l = 0; l < parts->link_count; l++) {
        a->from[l] = parts->links[l].from;
        a->to[l] = parts->links[l].to;
        a->p[l] = parts->links[l].p;
        a->joint[l] = parts->links[l].joint;
        a->link_eps[l] = parts->links[l].eps;
        a->link_delta[l] = parts->links[l].delta;
    }
    return (struct pricer_network_arrays){.dimension = parts->dimension,
                                          .radius = parts->radius,
                                          .reciprocity = parts->reciprocity,
                                          .node_count = parts->node_count,
                                          .uplink = a->uplink,
                                          .self_eps = a->eps,
                                          .self_delta = a->delta,
                                          .x = bare ? NULL : a->x,
                                          .y = bare ? NULL : a->y,
                                          .link_count = parts->link_count,
                                          .from = a->from,
                                          .to = a->to,
                                          .p = a->p,
                                          .joint = bare ? NULL : a->joint,
                                          .eps = a->link_eps,
                                          .delta = a->link_delta};
}

static void check_same(const struct pricer_network *a,
                       const struct pricer_network *b)
{
    size_t n = (size_t)a->nodes, m = (size_t)a->links;
    assert_int_equal(a->nodes, b->nodes);
    assert_int_equal(a->links, b->links);
    assert_true(a->dimension == b->dimension && a->radius == b->radius);
    assert_int_equal(a->x == NULL, b->x == NULL);
    if (a->x != NULL) {
        assert_memory_equal(a->x, b->x, n * sizeof(double));
        assert_memory_equal(a->y, b->y, n * sizeof(double));
    }
    assert_memory_equal(a->uplink, b->uplink, n * sizeof(double));
    assert_memory_equal(a->self_eps, b->self_eps, n * sizeof(double));
    assert_memory_equal(a->self_delta, b->self_delta, n * sizeof(double));
    assert_memory_equal(a->out_start, b->out_start, (n + 1) * sizeof(int32_t));
    assert_memory_equal(a->in_start, b->in_start, (n + 1) * sizeof(int32_t));
    assert_memory_equal(a->from, b->from, m * sizeof(int32_t));
    assert_memory_equal(a->to, b->to, m * sizeof(int32_t));
    assert_memory_equal(a->partner, b->partner, m * sizeof(int32_t));
    assert_memory_equal(a->in_link, b->in_link, m * sizeof(int32_t));
    assert_memory_equal(a->p, b->p, m * sizeof(double));
    assert_memory_equal(a->joint, b->joint, m * sizeof(double));
    assert_memory_equal(a->eps, b->eps, m * sizeof(double));
    assert_memory_equal(a->delta, b->delta, m * sizeof(double));
}

/* Random entries, some of them wrong: from arrays comes the same network, or
 * the same complaint about the same entry. */
static void test_arrays(void **state)
{
    (void)state;
    uint64_t seed = 2;
    int built = 0;
    for (int trial = 0; trial < 400; trial++) {
        int32_t n = 1 + (int32_t)(test_random(&seed) % 9), m = 0;
        bool bare = trial % 2 == 0;
        struct pricer_node nodes[9];
        struct pricer_link links[99];
        for (int32_t i = 0; i < n; i++)
            nodes[i] = (struct pricer_node){
                test_uniform(&seed), 3 * test_uniform(&seed), .1,
                bare ? NAN : test_uniform(&seed), bare ? NAN : 2};
        for (int32_t i = n - 1; i >= 0; i--)
            for (int32_t j = 0; j < n; j++)
                if (i != j && test_uniform(&seed) < .6)
                    links[m++] = (struct pricer_link){
                        i,   j, test_uniform(&seed) < .2 ? 0 : .7,
                        NAN, 1, .1 + test_uniform(&seed) / 2};
        if (m > 0 && test_uniform(&seed) < .3)
            links[test_random(&seed) % (uint64_t)m].delta = 2;
        if (m > 0 && test_uniform(&seed) < .2) {
            links[m] = links[test_random(&seed) % (uint64_t)m];
            m++;
        }
        if (m > 0 && !bare && test_uniform(&seed) < .5)
            links[test_random(&seed) % (uint64_t)m].joint = test_uniform(&seed);
        struct pricer_network_parts parts = {
            3, 1, test_uniform(&seed), nodes, n, links, m, NULL, NULL};
        struct arrays room;
        struct pricer_network_arrays arrays = spread(&parts, bare, &room);
        struct pricer_network *one = NULL, *two = NULL;
        struct pricer_place here = {-7, -7}, there = {-7, -7};
        struct pricer_fault fault = {""}, same = {""};
        enum pricer_status status =
            pricer_network_build(&parts, &one, &here, &fault);
        assert_int_equal(
            pricer_network_build_arrays(&arrays, &two, &there, &same), status);
        assert_string_equal(fault.text, same.text);
        assert_true(here.node == there.node && here.link == there.link);
        assert_int_equal(one == NULL, two == NULL);
        if (one != NULL)
            check_same(one, two);
        built += one != NULL;
        pricer_network_free(one);
        pricer_network_free(two);
    }
    assert_in_range(built, 100, 390);
}

static void test_arrays_missing(void **state)
{
    (void)state;
    struct pricer_network_parts parts = {
        3, 1,    0,   &node, 1, &(struct pricer_link){0, 1, .5, NAN, 1, .1},
        1, NULL, NULL};
    struct arrays room;
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    struct pricer_network_arrays bad = spread(&parts, true, &room);
    bad.eps = NULL;
    assert_int_equal(pricer_network_build_arrays(&bad, &network, NULL, &fault),
                     PRICER_VALUE);
    assert_string_equal(fault.text, "an array of the links is missing");
    bad.self_eps = NULL;
    assert_int_equal(pricer_network_build_arrays(&bad, &network, NULL, &fault),
                     PRICER_VALUE);
    assert_string_equal(fault.text, "an array of the nodes is missing");
    assert_null(network);
    bad.self_eps = room.eps;
    bad.link_count = 0;
    bad.from = bad.to = NULL;
    assert_int_equal(pricer_network_build_arrays(&bad, &network, NULL, NULL),
                     PRICER_OK);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_links),
        cmocka_unit_test(test_refuses_nodes_and_joints),
        cmocka_unit_test(test_indices),
        cmocka_unit_test(test_joint_defaults),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_arrays_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
