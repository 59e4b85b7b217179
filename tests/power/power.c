/*
 * Distributed power iteration against what must come out: the truth is that of
 * the definition, perfect links give plain orthogonal iteration, no message is
 * longer than the radius, and the error of noisy runs is what the plan's error
 * predicts.
 */
#include "power/power.h"
#include "tests/test.h"

enum { ROWS = 120, COLUMNS = 9, NODES = 4, K = 2 };

/* Rows with axes of unequal length, every `period`-th the same. */
static struct pricer_matrix *make_rows(int64_t period, double length)
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
                r < period ? (float)(length * (test_uniform(&seed) - .5) /
                                     (1 + (double)c))
                           : values[(r % period) * COLUMNS + c];
    return rows;
}

static struct pricer_network *make_network(double uplink)
{
    struct pricer_node nodes[NODES];
    struct pricer_link links[NODES];
    struct pricer_network *network = NULL;
    for (int i = 0; i < NODES; i++) {
        nodes[i] = (struct pricer_node){uplink, 8, 1e-3, NAN, NAN};
        links[i] =
            (struct pricer_link){i, (i + 1) % NODES, uplink, NAN, 8, 1e-3};
    }
    assert_int_equal(
        pricer_network_build(&(struct pricer_network_parts){K * COLUMNS, 1, 0,
                                                            nodes, NODES, links,
                                                            NODES, NULL, NULL},
                             &network, NULL, NULL),
        PRICER_OK);
    return network;
}

/* A by its definition; the rows are dealt in order. */
static void define(const struct pricer_matrix *rows, double *a)
{
    const float *x = rows->values;
    memset(a, 0, sizeof(double) * COLUMNS * COLUMNS);
    for (int r = 0; r < ROWS; r++) {
        double square = 0;
        for (int c = 0; c < COLUMNS; c++)
            square += (double)x[r * COLUMNS + c] * x[r * COLUMNS + c];
        double cut = square > 1 ? 1 / square : 1;
        for (int c = 0; c < COLUMNS; c++)
            for (int d = 0; d < COLUMNS; d++)
                a[c * COLUMNS + d] += cut * (double)x[r * COLUMNS + c] *
                                      x[r * COLUMNS + d] / ROWS;
    }
}

static void the_truth_is_that_of_the_definition(void **state)
{
    (void)state;
    double a[COLUMNS * COLUMNS], values[COLUMNS], vectors[K * COLUMNS];
    double trace = 0, sum = 0;
    struct pricer_matrix *rows = make_rows(ROWS, 3);
    struct pricer_network *network = make_network(1);
    struct pricer_power_settings settings = {.components = K, .in_order = true};
    struct pricer_power_vectors exact = {vectors, values};
    assert_int_equal(pricer_power_exact(rows, network, &settings, &exact, NULL),
                     PRICER_OK);
    define(rows, a);
    for (int c = 0; c < COLUMNS; c++) {
        trace += a[c * COLUMNS + c];
        sum += values[c];
        assert_true(c == 0 || values[c] <= values[c - 1]);
    }
    assert_close(sum, trace, 1e-12);
    for (int k = 0; k < K; k++)
        for (int c = 0; c < COLUMNS; c++) {
            double product = 0;
            for (int d = 0; d < COLUMNS; d++)
                product += a[c * COLUMNS + d] * vectors[k * COLUMNS + d];
            assert_true(fabs(product - values[k] * vectors[k * COLUMNS + c]) <
                        1e-13);
        }
    pricer_matrix_free(rows);
    pricer_network_free(network);
}

/* Gram and Schmidt, on two vectors. */
static void straighten(double *v)
{
    for (int k = 0; k < K; k++) {
        for (int j = 0; j < k; j++) {
            double product = 0;
            for (int c = 0; c < COLUMNS; c++)
                product += v[k * COLUMNS + c] * v[j * COLUMNS + c];
            for (int c = 0; c < COLUMNS; c++)
                v[k * COLUMNS + c] -= product * v[j * COLUMNS + c];
        }
        double square = 0;
        for (int c = 0; c < COLUMNS; c++)
            square += v[k * COLUMNS + c] * v[k * COLUMNS + c];
        for (int c = 0; c < COLUMNS; c++)
            v[k * COLUMNS + c] /= sqrt(square);
    }
}

static void perfect_links_are_plain_iteration(void **state)
{
    (void)state;
    enum { STEPS = 6 };
    double a[COLUMNS * COLUMNS], values[COLUMNS], truth[K * COLUMNS];
    double v[K * COLUMNS], w[K * COLUMNS], found[K * COLUMNS], lengths[K];
    double error[STEPS];
    struct pricer_matrix *rows = make_rows(ROWS, 1);
    struct pricer_network *network = make_network(.5);
    struct pricer_power_settings settings = {
        .components = K, .iterations = STEPS, .in_order = true, .seed = 3};
    struct pricer_power_vectors exact = {truth, values};
    assert_int_equal(pricer_power_exact(rows, network, &settings, &exact, NULL),
                     PRICER_OK);
    assert_int_equal(pricer_power_run(rows, network, NULL, &settings,
                                      &(struct pricer_power_result){
                                          {found, lengths}, &exact, error},
                                      NULL),
                     PRICER_OK);
    define(rows, a);
    struct pri_power power;
    assert_int_equal(pri_power_open(rows, network, &settings, &power, NULL),
                     PRICER_OK);
    assert_int_equal(pri_power_start(&power, v), PRICER_OK);
    for (int t = 0; t < STEPS; t++) {
        double square = 0;
        for (int k = 0; k < K; k++)
            for (int c = 0; c < COLUMNS; c++) {
                w[k * COLUMNS + c] = 0;
                for (int d = 0; d < COLUMNS; d++)
                    w[k * COLUMNS + c] +=
                        a[c * COLUMNS + d] * v[k * COLUMNS + d];
            }
        memcpy(v, w, sizeof v);
        straighten(v);
        for (int j = 0; j < K; j++)
            for (int k = 0; k < K; k++) {
                double product = 0;
                for (int c = 0; c < COLUMNS; c++)
                    product += v[j * COLUMNS + c] * truth[k * COLUMNS + c];
                square += product * product;
            }
        assert_true(fabs(error[t] - (1 - square / K)) < 1e-12);
    }
    pri_power_close(&power);
    pricer_matrix_free(rows);
    pricer_network_free(network);
}

static void no_message_is_longer_than_the_radius(void **state)
{
    (void)state;
    enum { LENGTH = K * (COLUMNS + K) };
    double vectors[K * COLUMNS], product[LENGTH], message[LENGTH];
    double again[LENGTH];
    int uncut = 0;
    for (int length = 1; length <= 1000; length *= 10) {
        struct pricer_matrix *rows = make_rows(ROWS, length);
        struct pricer_network *network = make_network(.5);
        struct pricer_power_settings settings = {.components = K, .reach = 1};
        struct pri_power power;
        assert_int_equal(pri_power_open(rows, network, &settings, &power, NULL),
                         PRICER_OK);
        for (uint64_t seed = 0; seed < 20; seed++) {
            power.settings.seed = seed;
            assert_int_equal(pri_power_start(&power, vectors), PRICER_OK);
            for (int32_t i = 0; i < NODES; i++) {
                double square = 0;
                assert_int_equal(pri_power_product(&power, i, vectors, product),
                                 PRICER_OK);
                double inside = product[0];
                pri_power_encode(&power, vectors, product, message);
                pri_power_decode(&power, vectors, message, again);
                for (int c = 0; c < LENGTH; c++)
                    square += message[c] * message[c];
                assert_true(square <= 1 + 1e-12);
                if (square < .99) /* nothing was cut: the way back */
                    assert_true(fabs(again[0] - inside) < 1e-12);
                uncut += square < .99;
            }
        }
        pri_power_close(&power);
        pricer_matrix_free(rows);
        pricer_network_free(network);
    }
    assert_true(uncut > 0);
}

/* Certain links, equal rows at every node: noise is the only error, and the
 * mean over many seeds is the prediction, up to terms of second order and the
 * standard error of the mean (a sixth of it would be five deviations). */
static void noise_errs_as_predicted(void **state)
{
    (void)state;
    enum { STEPS = 120, SEEDS = 300 };
    double values[COLUMNS], truth[K * COLUMNS], found[K * COLUMNS], lengths[K];
    double error[STEPS], foreseen[STEPS], mean = 0;
    struct pricer_matrix *rows = make_rows(ROWS / NODES, 1);
    struct pricer_network *network = make_network(1);
    struct pricer_plan *plan = NULL;
    struct pricer_power_settings settings = {
        .components = K, .iterations = STEPS, .in_order = true, .threads = 1};
    struct pricer_power_vectors exact = {truth, values};
    struct pricer_power_result result = {{found, lengths}, &exact, foreseen};
    assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
    for (int i = 0; i < NODES; i++) {
        plan->self_weight[i] = .5;
        plan->self_noise[i] = 2e-4;
        plan->weight[i] = .3;
        plan->noise[i] = 1e-4;
    }
    assert_int_equal(pricer_power_exact(rows, network, &settings, &exact, NULL),
                     PRICER_OK);
    assert_int_equal(
        pricer_power_predict(rows, network, plan, &settings, &result, NULL),
        PRICER_OK);
    result.error = error;
    for (int s = 0; s < SEEDS; s++) {
        settings.seed = (uint64_t)s;
        assert_int_equal(
            pricer_power_run(rows, network, plan, &settings, &result, NULL),
            PRICER_OK);
        mean += error[STEPS - 1] / SEEDS;
    }
    assert_close(mean, foreseen[STEPS - 1], 1. / 6);
    assert_close(lengths[0], values[0], .05);
    pricer_plan_free(plan);
    pricer_matrix_free(rows);
    pricer_network_free(network);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    double found[3][K * COLUMNS], lengths[K], error[20];
    struct pricer_matrix *rows = make_rows(ROWS, 2);
    struct pricer_network *network = make_network(.6);
    struct pricer_plan *plan = NULL;
    struct pricer_settings asked = {.rounds = 20};
    struct pricer_solve_info info;
    assert_int_equal(
        pricer_plan_optimise(network, &asked, NULL, &plan, &info, NULL),
        PRICER_OK);
    for (int threads = 1; threads <= 3; threads++) {
        struct pricer_power_settings settings = {
            .components = K, .seed = 8, .threads = threads};
        assert_int_equal(
            pricer_power_run(rows, network, plan, &settings,
                             &(struct pricer_power_result){
                                 {found[threads - 1], lengths}, NULL, error},
                             NULL),
            PRICER_OK);
        assert_true(isnan(error[0]));
        assert_memory_equal(found[0], found[threads - 1], sizeof found[0]);
    }
    pricer_plan_free(plan);
    pricer_matrix_free(rows);
    pricer_network_free(network);
}

static void faults(void **state)
{
    (void)state;
    struct pricer_fault fault = {""};
    struct pricer_matrix *rows = make_rows(ROWS, 1);
    struct pricer_network *network = make_network(.5);
    struct pricer_power_settings settings = {.components = COLUMNS + 1};
    struct pricer_power_result result = {{NULL, NULL}, NULL, NULL};
    assert_int_equal(
        pricer_power_run(rows, network, NULL, &settings, &result, &fault),
        PRICER_VALUE);
    assert_string_equal(fault.text, "10 components of rows with 9 numbers");
    settings.components = 1;
    assert_int_equal(
        pricer_power_predict(rows, network, NULL, &settings, &result, &fault),
        PRICER_VALUE);
    settings.carry = 1;
    assert_int_equal(
        pricer_power_run(rows, network, NULL, &settings, &result, &fault),
        PRICER_VALUE);
    rows->rows = NODES - 1;
    settings.carry = 0;
    assert_int_equal(
        pricer_power_run(rows, network, NULL, &settings, &result, &fault),
        PRICER_VALUE);
    assert_int_equal(pricer_power_dimension(&settings, 7), 8);
    pricer_matrix_free(rows);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_truth_is_that_of_the_definition),
        cmocka_unit_test(perfect_links_are_plain_iteration),
        cmocka_unit_test(no_message_is_longer_than_the_radius),
        cmocka_unit_test(noise_errs_as_predicted),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
