/*
 * K-means with releases that are forwarded: links that never fail and a large eps
 * come close to messages that arrive bare, on one node as well; threads change
 * nothing; what only sums have is refused.
 */
#include "pricer_forward.h"
#include "pricer_kmeans.h"
#include "tests/test.h"

enum { ROWS = 2000, COLUMNS = 4, K = 3, ROUNDS = 4, MOST = 20 };

/* Three clusters, well apart. */
static struct pricer_matrix *make_points(void)
{
    struct pricer_matrix *points = NULL;
    uint64_t seed = 3;
    assert_int_equal(
        pricer_matrix_new(ROWS, COLUMNS, PRICER_FLOAT32, &points, NULL),
        PRICER_OK);
    float *values = points->values;
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t c = 0; c < COLUMNS; c++)
            values[r * COLUMNS + c] =
                (float)(.6 * (r % K == c) + .2 * (test_uniform(&seed) - .5));
    return points;
}

/* Nodes in a ring, all links up with probability p. */
static struct pricer_network *make_network(int32_t nodes, double p, double eps,
                                           int64_t dimension)
{
    double inf[MOST], one[MOST], up[MOST], everyone[MOST], delta[MOST];
    int32_t from[MOST], to[MOST];
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    for (int k = 0; k < nodes; k++) {
        inf[k] = INFINITY;
        one[k] = 1;
        up[k] = p;
        everyone[k] = eps;
        delta[k] = 1e-5;
        from[k] = k;
        to[k] = (k + 1) % nodes;
    }
    struct pricer_network_arrays arrays = {.dimension = dimension,
                                           .radius = 1,
                                           .node_count = nodes,
                                           .uplink = up,
                                           .self_eps = inf,
                                           .self_delta = one,
                                           .everyone_eps = everyone,
                                           .everyone_delta = delta,
                                           .link_count = nodes > 1 ? nodes : 0,
                                           .from = from,
                                           .to = to,
                                           .p = up,
                                           .eps = inf,
                                           .delta = one};
    if (pricer_network_build_arrays(&arrays, &network, NULL, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    return network;
}

static struct pricer_kmeans_settings settings_of(
    const struct pricer_forward_plan *plan)
{
    return (struct pricer_kmeans_settings){.clusters = K,
                                           .rounds = ROUNDS,
                                           .reach = .1,
                                           .seed = 2,
                                           .threads = 1,
                                           .forward = plan};
}

static int64_t dimension(void)
{
    struct pricer_kmeans_settings settings = settings_of(NULL);
    struct pricer_kmeans_task task;
    pricer_kmeans_task(&settings, COLUMNS, &task);
    assert_int_equal(task.rounds, ROUNDS);
    return task.dimension;
}

static struct pricer_forward_plan *make_plan(
    const struct pricer_network *network)
{
    struct pricer_forward_plan *plan = NULL;
    assert_int_equal(pricer_forward_plan_make(network,
                                              &(struct pricer_forward_settings){
                                                  .rounds = ROUNDS, .hops = 1},
                                              &plan, NULL),
                     PRICER_OK);
    return plan;
}

/* The inertia after the last round. */
static double run(const struct pricer_matrix *points,
                  const struct pricer_network *network,
                  const struct pricer_kmeans_settings *settings, float *centres)
{
    double inertia[ROUNDS];
    struct pricer_fault fault = {""};
    if (pricer_kmeans_run(points, network, NULL, settings,
                          &(struct pricer_kmeans_result){centres, inertia},
                          &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return inertia[ROUNDS - 1];
}

/* Twenty nodes with eps = 12 a round. */
static void a_large_eps_is_close_to_bare_messages(void **state)
{
    (void)state;
    float centres[K * COLUMNS];
    struct pricer_matrix *points = make_points();
    struct pricer_network *network =
        make_network(MOST, 1, 12 * ROUNDS, dimension());
    struct pricer_forward_plan *plan = make_plan(network);
    struct pricer_kmeans_settings settings = settings_of(NULL);
    double bare = run(points, network, &settings, centres);
    settings.forward = plan;
    double forward = run(points, network, &settings, centres);
    assert_true(forward > bare && forward < 1.2 * bare);
    pricer_forward_plan_free(plan);
    pricer_network_free(network);
    pricer_matrix_free(points);
}

/* One node, whose noise is not averaged with that of others: little of it. */
static void one_node_clusters_alone(void **state)
{
    (void)state;
    const double noise = 2e-3;
    float centres[K * COLUMNS];
    struct pricer_matrix *points = make_points();
    struct pricer_network *network = make_network(1, 1, 1, dimension());
    struct pricer_forward_node node = {.release = PRICER_RELEASE_GAUSSIAN,
                                       .noise = noise,
                                       .variance =
                                           (double)dimension() * noise * noise,
                                       .coefficient = 1,
                                       .arrival = 1};
    struct pricer_forward_plan plan = {.nodes = 1, .node = &node};
    struct pricer_kmeans_settings settings = settings_of(NULL);
    double bare = run(points, network, &settings, centres);
    settings.forward = &plan;
    double forward = run(points, network, &settings, centres);
    assert_true(forward > bare && forward < 1.01 * bare);
    pricer_network_free(network);
    pricer_matrix_free(points);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    float one[K * COLUMNS], four[K * COLUMNS];
    struct pricer_matrix *points = make_points();
    struct pricer_network *network = make_network(MOST, .7, 20, dimension());
    struct pricer_forward_plan *plan = make_plan(network);
    struct pricer_kmeans_settings settings = settings_of(plan);
    double first = run(points, network, &settings, one);
    settings.threads = 4;
    assert_true(first == run(points, network, &settings, four));
    assert_memory_equal(one, four, sizeof one);
    settings.seed++;
    assert_true(first != run(points, network, &settings, four));
    pricer_forward_plan_free(plan);
    pricer_network_free(network);
    pricer_matrix_free(points);
}

static void what_sums_have_is_refused(void **state)
{
    (void)state;
    float centres[K * COLUMNS] = {7};
    double inertia[ROUNDS] = {7};
    struct pricer_kmeans_result result = {centres, inertia};
    struct pricer_fault fault = {""};
    struct pricer_matrix *points = make_points();
    struct pricer_network *network = make_network(3, .7, 20, dimension());
    struct pricer_forward_plan *plan = make_plan(network);
    struct pricer_kmeans_settings settings = settings_of(plan);
    settings.procedure = PRICER_KMEANS_PAPER;
    assert_int_equal(
        pricer_kmeans_run(points, network, NULL, &settings, &result, &fault),
        PRICER_VALUE);
    assert_non_null(strstr(fault.text, "for plans of sums"));
    settings.procedure = PRICER_KMEANS_PRICER;
    settings.clusters = K - 1;
    assert_int_equal(
        pricer_kmeans_run(points, network, NULL, &settings, &result, &fault),
        PRICER_VALUE);
    assert_string_equal(fault.text,
                        "messages have 10 numbers, and the network is for 15");
    assert_true(centres[0] == 7 && inertia[0] == 7);
    pricer_forward_plan_free(plan);
    pricer_network_free(network);
    pricer_matrix_free(points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_eps_is_close_to_bare_messages),
        cmocka_unit_test(one_node_clusters_alone),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(what_sums_have_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
