/*
 * Walks. Where links never fail and nothing is noised a walk is arithmetic, done
 * here once more: the estimate takes the mean of the clipped changes in every
 * round, arrives where these cancel, and there is Huber's centre, which is the
 * mean if no node is cut. On a mean that moves slowly, rounds relative to the
 * last estimate beat rounds by themselves at the same budgets. Threads change
 * nothing, and what the walk is of is checked.
 */
#include "tests/test.h"
#include "pricer_reference.h"

#include "network/network.h"

enum { N = 6, D = 3, ROUNDS = 40 };

/* All to all, always up; `uplink` of every node. */
static struct pricer_network *make(double step, double uplink, double eps)
{
    struct pricer_node nodes[N];
    struct pricer_link links[N * (N - 1)];
    struct pricer_network *network = NULL;
    struct pricer_fault fault = {""};
    int count = 0;
    for (int i = 0; i < N; i++) {
        nodes[i] = (struct pricer_node){uplink, eps, 1e-3, NAN, NAN};
        for (int j = 0; j < N; j++)
            if (j != i)
                links[count++] = (struct pricer_link){i, j, .8, NAN, eps, 1e-3};
    }
    if (pricer_network_build(
            &(struct pricer_network_parts){D, 1, 1, nodes, N, links,
                                           uplink < 1 ? count : 0, NULL, NULL},
            &network, NULL, &fault) != PRICER_OK ||
        pri_network_relate(network, step, &fault) != PRICER_OK)
        fail_msg("%s", fault.text);
    return network;
}

static struct pricer_walk *play(const struct pricer_network *network,
                                const struct pricer_plan *plan,
                                const struct pricer_matrix *given,
                                int64_t walks, int32_t threads)
{
    const struct pricer_simulation_settings settings = {
        .trials = walks,
        .seed = 3,
        .data = PRICER_DATA_GIVEN,
        .given = given,
        .threads = threads,
        .decode = PRICER_DECODE_CONSTANT,
    };
    struct pricer_walk *walk = NULL;
    struct pricer_fault fault = {""};
    if (pricer_walk_play(network, plan, &settings, ROUNDS, &walk, &fault) !=
        PRICER_OK)
        fail_msg("%s", fault.text);
    return walk;
}

/* One node is far from the others. */
static struct pricer_matrix *scattered(double far)
{
    struct pricer_matrix *matrix = NULL;
    assert_int_equal(pricer_matrix_new(N, D, PRICER_FLOAT64, &matrix, NULL),
                     PRICER_OK);
    double *x = matrix->values;
    for (int i = 0; i < N; i++) {
        x[i * D] = .5 + .02 * i;
        x[i * D + 1] = i == 0 ? -far : .01 * i;
    }
    return matrix;
}

/* The same by the definition. */
static void follow(const double *x, double step, double *estimate)
{
    double sum[D] = {0};
    for (int i = 0; i < N; i++) {
        double u[D], square = 0;
        for (int k = 0; k < D; k++) {
            u[k] = x[i * D + k] - estimate[k];
            square += u[k] * u[k];
        }
        double scale = fmin(1, step / sqrt(square));
        for (int k = 0; k < D; k++)
            sum[k] += u[k] * scale / N;
    }
    for (int k = 0; k < D; k++)
        estimate[k] += sum[k];
}

static void test_arithmetic(void **unused)
{
    (void)unused;
    for (int far = 0; far < 2; far++) {
        const double step = .2;
        struct pricer_network *network = make(step, 1, INFINITY);
        struct pricer_matrix *data = scattered(far ? .6 : .02);
        struct pricer_plan *plan = NULL;
        double estimate[D] = {0};
        assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
        for (int i = 0; i < N; i++)
            plan->self_weight[i] = 1;
        struct pricer_walk *walk = play(network, plan, data, 2, 1);
        for (int t = 0; t < ROUNDS; t++) {
            follow(data->values, step, estimate);
            assert_true(walk->made[t]);
            for (int k = 0; k < D; k++)
                assert_true(fabs(walk->estimate[t * D + k] - estimate[k]) <
                            1e-9);
        }
        assert_true(walk->cut[0] == N && walk->cut[ROUNDS - 1] == far);
        /* The mean, or a centre that one far node moves by step / N alone. */
        assert_true(far ? walk->error[ROUNDS - 1] > .002
                        : walk->error[ROUNDS - 1] < 1e-18);
        pricer_walk_free(walk);
        pricer_plan_free(plan);
        pricer_matrix_free(data);
        pricer_network_free(network);
    }
}

/* Nodes within .05 of a mean that goes round a circle of .7, a twentieth of a
 * turn in the whole walk. */
static struct pricer_matrix *moving(void)
{
    struct pricer_matrix *matrix = NULL;
    assert_int_equal(
        pricer_matrix_new(N * ROUNDS, D, PRICER_FLOAT64, &matrix, NULL),
        PRICER_OK);
    double *x = matrix->values;
    uint64_t state = 9;
    double own[N * D];
    for (int k = 0; k < N * D; k++)
        own[k] = .05 / sqrt(D) * (2 * test_uniform(&state) - 1);
    for (int t = 0; t < ROUNDS; t++)
        for (int i = 0; i < N; i++) {
            double angle = .314 * t / ROUNDS, *row = x + (t * N + i) * D;
            memcpy(row, own + i * D, D * sizeof *row);
            row[0] += .7 * cos(angle);
            row[1] += .7 * sin(angle);
        }
    return matrix;
}

/* The mean error of the last rounds, and its standard error as if they were
 * fully correlated, which is more than it is. */
static void late_error(const struct pricer_walk *walk, double *error,
                       double *deviation)
{
    *error = *deviation = 0;
    for (int t = ROUNDS / 2; t < ROUNDS; t++) {
        *error += walk->error[t] / (ROUNDS - ROUNDS / 2);
        *deviation += walk->error_stderr[t] / (ROUNDS - ROUNDS / 2);
    }
}

/*
 * Both plans are optimal for the same budgets; the relative one must have less
 * than half the error after the walk-in, by ten standard errors: a chance of less
 * than 1e-20, were it not so, of passing by luck, and with the seed fixed none of
 * failing if it is.
 */
static void test_gain(void **unused)
{
    struct pricer_matrix *data = moving();
    double error[2], deviation[2];
    (void)unused;
    for (int relative = 0; relative < 2; relative++) {
        struct pricer_network *network = make(relative ? .15 : 0, .6, 30);
        struct pricer_settings settings = {.rounds = 1};
        struct pricer_plan *plan = NULL;
        assert_int_equal(
            pricer_plan_optimise(network, &settings, NULL, &plan, NULL, NULL),
            PRICER_OK);
        struct pricer_walk *walk = play(network, plan, data, 400, 2);
        struct pricer_walk *alone = play(network, plan, data, 400, 1);
        assert_memory_equal(walk->error, alone->error,
                            ROUNDS * sizeof *walk->error);
        assert_memory_equal(walk->estimate, alone->estimate,
                            ROUNDS * D * sizeof *walk->estimate);
        late_error(walk, &error[relative], &deviation[relative]);
        if (relative) /* the first steps are still far from the mean */
            assert_true(walk->error[0] > 4 * error[1] && walk->cut[0] == N);
        pricer_walk_free(walk);
        pricer_walk_free(alone);
        pricer_plan_free(plan);
        pricer_network_free(network);
    }
    print_message("alone %.4g +- %.2g, relative %.4g +- %.2g\n", error[0],
                  deviation[0], error[1], deviation[1]);
    assert_true(error[1] + 10 * deviation[1] <
                .5 * (error[0] - 10 * deviation[0]));
    pricer_matrix_free(data);
}

static void test_refusals(void **unused)
{
    struct pricer_network *network = make(.2, 1, INFINITY);
    struct pricer_matrix *data = scattered(.1);
    struct pricer_plan *plan = NULL;
    struct pricer_walk *walk = NULL;
    struct pricer_fault fault = {""};
    struct pricer_simulation_settings settings = {.data = PRICER_DATA_GIVEN,
                                                  .given = data};
    (void)unused;
    assert_int_equal(pricer_plan_new(network, &plan, NULL), PRICER_OK);
    assert_int_equal(pricer_walk_play(network, plan, &settings, 0, &walk, NULL),
                     PRICER_VALUE);
    data->rows = N - 1;
    assert_int_equal(
        pricer_walk_play(network, plan, &settings, 4, &walk, &fault),
        PRICER_VALUE);
    assert_non_null(strstr(fault.text, "5 rows"));
    assert_null(walk);
    data->rows = N;
    pricer_matrix_free(data);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_gain),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
