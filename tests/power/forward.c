/*
 * Power iteration with releases that are forwarded: with noise as the only error
 * the mean over many seeds is the prediction, and threads change nothing.
 */
#include "pricer_forward.h"
#include "pricer_power.h"
#include "tests/test.h"

enum { ROWS = 120, COLUMNS = 6, NODES = 4, MESSAGE = COLUMNS + 1 };

/* Rows with axes of unequal length; every node has the same. */
static struct pricer_matrix *make_rows(void)
{
    struct pricer_matrix *rows = NULL;
    uint64_t seed = 5;
    assert_int_equal(
        pricer_matrix_new(ROWS, COLUMNS, PRICER_FLOAT32, &rows, NULL),
        PRICER_OK);
    float *values = rows->values;
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t c = 0; c < COLUMNS; c++)
            values[r * COLUMNS + c] =
                r < ROWS / NODES
                    ? (float)((test_uniform(&seed) - .5) / (1 + (double)c))
                    : values[r % (ROWS / NODES) * COLUMNS + c];
    return rows;
}

static struct pricer_network *make_network(double p)
{
    double inf[NODES], one[NODES], up[NODES], eps[NODES], delta[NODES];
    static const int32_t from[NODES] = {0, 1, 2, 3}, to[NODES] = {1, 2, 3, 0};
    struct pricer_network *network = NULL;
    for (int k = 0; k < NODES; k++) {
        inf[k] = INFINITY;
        one[k] = 1;
        up[k] = p;
        eps[k] = 40;
        delta[k] = 1e-5;
    }
    struct pricer_network_arrays arrays = {.dimension = MESSAGE,
                                           .radius = 1,
                                           .node_count = NODES,
                                           .uplink = up,
                                           .self_eps = inf,
                                           .self_delta = one,
                                           .everyone_eps = eps,
                                           .everyone_delta = delta,
                                           .link_count = NODES,
                                           .from = from,
                                           .to = to,
                                           .p = up,
                                           .eps = inf,
                                           .delta = one};
    assert_int_equal(pricer_network_build_arrays(&arrays, &network, NULL, NULL),
                     PRICER_OK);
    return network;
}

/* Links that never fail and Gaussians that are small: first order is exact but for
 * a part that is smaller. 200 runs: a quarter of the mean is more than 5
 * standard errors of it, which is checked as well. */
static void noise_errs_as_predicted(void **state)
{
    (void)state;
    enum { STEPS = 60, SEEDS = 200 };
    const double noise = 2e-3;
    double values[COLUMNS], truth[COLUMNS], found[COLUMNS], length;
    double error[STEPS], foreseen[STEPS], mean = 0, square = 0;
    struct pricer_matrix *rows = make_rows();
    struct pricer_network *network = make_network(1);
    struct pricer_forward_node node[NODES];
    for (int i = 0; i < NODES; i++)
        node[i] =
            (struct pricer_forward_node){.release = PRICER_RELEASE_GAUSSIAN,
                                         .noise = noise,
                                         .variance = MESSAGE * noise * noise,
                                         .coefficient = .9,
                                         .arrival = 1};
    struct pricer_forward_plan plan = {.nodes = NODES, .node = node};
    struct pricer_power_settings settings = {.components = 1,
                                             .iterations = STEPS,
                                             .in_order = true,
                                             .threads = 1,
                                             .forward = &plan};
    struct pricer_power_vectors exact = {truth, values};
    struct pricer_power_result result = {{found, &length}, &exact, foreseen};
    assert_int_equal(pricer_power_exact(rows, network, &settings, &exact, NULL),
                     PRICER_OK);
    assert_int_equal(
        pricer_power_predict(rows, network, NULL, &settings, &result, NULL),
        PRICER_OK);
    assert_true(foreseen[STEPS - 1] < .1);
    result.error = error;
    for (int s = 0; s < SEEDS; s++) {
        settings.seed = (uint64_t)s;
        assert_int_equal(
            pricer_power_run(rows, network, NULL, &settings, &result, NULL),
            PRICER_OK);
        mean += error[STEPS - 1] / SEEDS;
        square += error[STEPS - 1] * error[STEPS - 1] / SEEDS;
    }
    assert_true(5 * sqrt((square - mean * mean) / SEEDS) < .25 * mean);
    assert_close(mean, foreseen[STEPS - 1], .25);
    assert_close(length, values[0], .1);
    pricer_matrix_free(rows);
    pricer_network_free(network);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    enum { STEPS = 5 };
    double found[2][COLUMNS], length, error[STEPS];
    struct pricer_matrix *rows = make_rows();
    struct pricer_network *network = make_network(.6);
    struct pricer_forward_plan *plan = NULL;
    assert_int_equal(pricer_forward_plan_make(network,
                                              &(struct pricer_forward_settings){
                                                  .rounds = STEPS, .hops = 1},
                                              &plan, NULL),
                     PRICER_OK);
    for (int k = 0; k < 2; k++) {
        struct pricer_power_settings settings = {.iterations = STEPS,
                                                 .seed = 8,
                                                 .threads = 1 + 3 * k,
                                                 .forward = plan};
        assert_int_equal(pricer_power_run(rows, network, NULL, &settings,
                                          &(struct pricer_power_result){
                                              {found[k], &length}, NULL, error},
                                          NULL),
                         PRICER_OK);
    }
    assert_memory_equal(found[0], found[1], sizeof found[0]);
    pricer_forward_plan_free(plan);
    pricer_matrix_free(rows);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_errs_as_predicted),
        cmocka_unit_test(threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
