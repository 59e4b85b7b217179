/*
 * Distributed K-means against what must come out: one node is K-means itself,
 * equal points make the error of the estimate visible, no message is longer
 * than the radius, and a factor common to all messages changes nothing.
 */
#include "kmeans/run.h"
#include "tests/test.h"

static struct pricer_matrix *make_points(int64_t rows, int64_t columns,
                                         double length, uint64_t seed)
{
    struct pricer_matrix *points = NULL;
    assert_int_equal(
        pricer_matrix_new(rows, columns, PRICER_FLOAT32, &points, NULL),
        PRICER_OK);
    float *values = points->values;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t d = 0; d < columns; d++)
            values[r * columns + d] =
                (float)(length * (test_uniform(&seed) + (r % 5 == d % 5)) /
                        sqrt((double)columns));
    return points;
}

/* A ring of four with uneven links, some reciprocal. */
static struct pricer_network *make_network(int64_t dimension)
{
    struct pricer_node nodes[4];
    struct pricer_link links[8];
    struct pricer_network *network = NULL;
    for (int i = 0; i < 4; i++) {
        nodes[i] = (struct pricer_node){.2 + .2 * i, 1, 1e-3, NAN, NAN};
        links[2 * i] = (struct pricer_link){i, (i + 1) % 4, .7, NAN, 1, 1e-3};
        links[2 * i + 1] =
            (struct pricer_link){i, (i + 3) % 4, .5, NAN, 1, 1e-3};
    }
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){
                             dimension, 1, .6, nodes, 4, links, 8, NULL, NULL},
                         &network, NULL, NULL),
                     PRICER_OK);
    return network;
}

static struct pricer_plan *make_plan(const struct pricer_network *network,
                                     double weight, double noise)
{
    struct pricer_plan *plan = NULL;
    assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
    for (int32_t l = 0; l < network->links; l++) {
        plan->weight[l] = weight * (1 + l % 3) / 2;
        plan->noise[l] = noise * (1 + l % 2);
    }
    for (int32_t i = 0; i < network->nodes; i++) {
        plan->self_weight[i] = weight;
        plan->self_noise[i] = noise / 2;
    }
    return plan;
}

static void one_node_is_kmeans_itself(void **state)
{
    (void)state;
    enum { ROWS = 700, COLUMNS = 12, K = 5 };
    struct pricer_matrix *points = make_points(ROWS, COLUMNS, .5, 1);
    struct pricer_node node = {.5, 1, 1e-3, NAN, NAN};
    struct pricer_network *network = NULL;
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){COLUMNS, 2, 0, &node, 1,
                                                        NULL, 0, NULL, NULL},
                         &network, NULL, NULL),
                     PRICER_OK);
    struct pricer_kmeans_settings settings = {.procedure = PRICER_KMEANS_PAPER,
                                              .clusters = K,
                                              .rounds = 4,
                                              .steps = 3,
                                              .in_order = true,
                                              .seed = 9};
    float centres[K * COLUMNS], expected[K * COLUMNS];
    double inertia[4], whole;
    assert_int_equal(
        pricer_kmeans_run(points, network, NULL, &settings,
                          &(struct pricer_kmeans_result){centres, inertia},
                          NULL),
        PRICER_OK);
    assert_int_equal(pricer_kmeans_start(points, K, 9, 1, expected, NULL),
                     PRICER_OK);
    assert_int_equal(
        pricer_kmeans_lloyd(points, K, 12, 1,
                            &(struct pricer_kmeans_result){expected, &whole},
                            NULL),
        PRICER_OK);
    assert_close(inertia[3], whole, 1e-5);
    pricer_network_free(network);
    pricer_matrix_free(points);
}

/*
 * If all points are the same vector of length 1 and there is one cluster, the
 * inertia per point is the squared error of the server's estimate, whose
 * expectation is tiv + piv exactly. 4,000 seeds, 5 standard errors.
 */
static void equal_points_show_the_error_of_the_estimate(void **state)
{
    (void)state;
    enum { ROWS = 8, COLUMNS = 4, SEEDS = 4000 };
    struct pricer_network *network = make_network(COLUMNS);
    struct pricer_plan *plan = make_plan(network, .8, .3);
    struct pricer_matrix *points = NULL;
    assert_int_equal(
        pricer_matrix_new(ROWS, COLUMNS, PRICER_FLOAT32, &points, NULL),
        PRICER_OK);
    for (int r = 0; r < ROWS; r++)
        ((float *)points->values)[r * COLUMNS + 1] = 1;
    struct pricer_settings settings = {.bias = PRICER_BIAS_L1};
    struct pricer_error error;
    assert_int_equal(
        pricer_plan_evaluate(network, &settings, plan, &error, NULL),
        PRICER_OK);
    double total = 0, squares = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct pricer_kmeans_settings kmeans = {.procedure =
                                                    PRICER_KMEANS_PAPER,
                                                .clusters = 1,
                                                .rounds = 1,
                                                .steps = 1,
                                                .threads = 1,
                                                .seed = seed};
        float centre[COLUMNS];
        double inertia;
        assert_int_equal(
            pricer_kmeans_run(points, network, plan, &kmeans,
                              &(struct pricer_kmeans_result){centre, &inertia},
                              NULL),
            PRICER_OK);
        total += inertia / ROWS;
        squares += inertia / ROWS * inertia / ROWS;
    }
    double mean = total / SEEDS;
    double deviation = sqrt((squares / SEEDS - mean * mean) / SEEDS);
    assert_true(fabs(mean - error.mse_paper) < 5 * deviation);
    assert_true(deviation < .1 * mean);
    pricer_matrix_free(points);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/* The claim behind the noise: whatever the points, a message (ours) or each
 * vector of it (the paper's) is no longer than the radius. */
static void no_message_is_longer_than_the_radius(void **state)
{
    (void)state;
    enum { ROWS = 60, COLUMNS = 10, K = 3 };
    struct pricer_network *network = make_network(COLUMNS);
    for (int procedure = 0; procedure < 2; procedure++)
        for (int size = 0; size < 3; size++) {
            struct pricer_matrix *points =
                make_points(ROWS, COLUMNS, pow(10, 2 * size - 1), 3);
            float centres[K * COLUMNS] = {0};
            double message[K * (COLUMNS + 1)];
            struct pri_kmeans run = {
                .network = network,
                .settings = {.procedure =
                                 (enum pricer_kmeans_procedure)procedure,
                             .clusters = K},
                .nodes = 4,
                .clusters = K,
                .radius = .7,
                .points = {points->values, ROWS, COLUMNS},
                .centres = centres};
            pri_kmeans_defaults(&run.settings);
            for (int round = 0; round < 2; round++) {
                run.initialised = round > 0;
                run.procedure = pri_kmeans_procedure(run.settings.procedure);
                int64_t length = run.procedure->length(&run);
                assert_int_equal(run.procedure->speak(&run, round, 1, message),
                                 PRICER_OK);
                int64_t piece =
                    procedure == PRICER_KMEANS_PAPER ? COLUMNS : length;
                for (int64_t first = 0; first < length; first += piece) {
                    double square = 0;
                    for (int64_t c = first; c < first + piece; c++)
                        square += message[c] * message[c];
                    assert_true(square <= .49 * (1 + 1e-12));
                }
            }
            pricer_matrix_free(points);
        }
    pricer_network_free(network);
}

static double run_ours(const struct pricer_matrix *points,
                       const struct pricer_network *network,
                       const struct pricer_plan *plan, int threads,
                       float *centres)
{
    double inertia[10];
    struct pricer_kmeans_settings settings = {
        .clusters = 5, .seed = 4, .threads = threads};
    assert_int_equal(
        pricer_kmeans_run(points, network, plan, &settings,
                          &(struct pricer_kmeans_result){centres, inertia},
                          NULL),
        PRICER_OK);
    return inertia[9];
}

/* Half of everything arrives, or twice as much: the same centres. And perfect
 * links give nearly what K-means in one place gives. */
static void scale_cancels_and_threads_change_nothing(void **state)
{
    (void)state;
    enum { ROWS = 2000, COLUMNS = 20, K = 5 };
    struct pricer_matrix *points = make_points(ROWS, COLUMNS, .5, 5);
    struct pricer_network *network = make_network(COLUMNS);
    struct pricer_plan *plan = make_plan(network, .5, 0);
    struct pricer_plan *twice = make_plan(network, 1, 0);
    float first[K * COLUMNS], second[K * COLUMNS], best[K * COLUMNS];
    double once = run_ours(points, network, plan, 1, first);
    assert_true(once == run_ours(points, network, plan, 3, second));
    assert_memory_equal(first, second, sizeof first);
    assert_true(once == run_ours(points, network, twice, 2, second));
    assert_memory_equal(first, second, sizeof first);
    double whole, perfect = run_ours(points, network, NULL, 2, second);
    assert_int_equal(pricer_kmeans_start(points, K, 1, 1, best, NULL),
                     PRICER_OK);
    assert_int_equal(
        pricer_kmeans_lloyd(points, K, 50, 1,
                            &(struct pricer_kmeans_result){best, &whole}, NULL),
        PRICER_OK);
    assert_true(perfect < 1.1 * whole && once < 1.15 * whole);
    pricer_plan_free(plan);
    pricer_plan_free(twice);
    pricer_network_free(network);
    pricer_matrix_free(points);
}

/* Noise far above the signal must not drive the centres away. */
static void heavy_noise_is_shrunk(void **state)
{
    (void)state;
    enum { ROWS = 2000, COLUMNS = 20, K = 5 };
    struct pricer_matrix *points = make_points(ROWS, COLUMNS, .5, 5);
    struct pricer_network *network = make_network(COLUMNS);
    struct pricer_plan *plan = make_plan(network, 1, 30);
    float centres[K * COLUMNS];
    double inertia = run_ours(points, network, plan, 1, centres);
    double origin = 0;
    for (int64_t c = 0; c < ROWS * COLUMNS; c++)
        origin += pow(((float *)points->values)[c], 2);
    assert_true(isfinite(inertia) && inertia < 4 * origin);
    pricer_plan_free(plan);
    pricer_network_free(network);
    pricer_matrix_free(points);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct pricer_matrix *points = make_points(3, 2, 1, 1);
    struct pricer_network *network = make_network(2);
    struct pricer_kmeans_settings settings = {.clusters = 2};
    struct pricer_fault fault = {""};
    float centres[4] = {7, 7, 7, 7};
    double inertia[10] = {7};
    assert_int_equal(
        pricer_kmeans_run(points, network, NULL, &settings,
                          &(struct pricer_kmeans_result){centres, inertia},
                          &fault),
        PRICER_VALUE);
    assert_string_equal(fault.text, "3 points are too few for 4 nodes");
    assert_true(centres[0] == 7 && inertia[0] == 7);
    pricer_network_free(network);
    pricer_matrix_free(points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_node_is_kmeans_itself),
        cmocka_unit_test(equal_points_show_the_error_of_the_estimate),
        cmocka_unit_test(no_message_is_longer_than_the_radius),
        cmocka_unit_test(scale_cancels_and_threads_change_nothing),
        cmocka_unit_test(heavy_noise_is_shrunk),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
