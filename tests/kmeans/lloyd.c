/*
 * K-means against its definition: every label the nearest, every centre the
 * mean, inertia that never grows, the law of k-means++, and not one bit that
 * depends on the number of threads.
 */
#include "kmeans/kmeans.h"
#include "tests/test.h"

static struct pricer_matrix *make_points(int64_t rows, int64_t columns,
                                         uint64_t seed)
{
    struct pricer_matrix *points = NULL;
    assert_int_equal(
        pricer_matrix_new(rows, columns, PRICER_FLOAT32, &points, NULL),
        PRICER_OK);
    float *values = points->values;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t d = 0; d < columns; d++)
            values[r * columns + d] =
                (float)(test_uniform(&seed) + 2 * ((r % 7 + d) % 3));
    return points;
}

static double apart(const float *a, const float *b, int64_t columns)
{
    double total = 0;
    for (int64_t d = 0; d < columns; d++)
        total += ((double)a[d] - b[d]) * ((double)a[d] - b[d]);
    return total;
}

/* Labels are the nearest centres and the kept sums those of the labels, after
 * many steps of taking out and putting in. */
static void labels_and_sums_follow_the_definition(void **state)
{
    (void)state;
    enum { ROWS = 1500, COLUMNS = 37, K = 9 };
    struct pricer_matrix *points = make_points(ROWS, COLUMNS, 1);
    struct pri_points view = {
        .values = points->values, .rows = ROWS, .columns = COLUMNS};
    struct pri_lloyd *lloyd = NULL;
    float centres[K * COLUMNS], used[K * COLUMNS];
    static double sum[K * COLUMNS], expected[K * COLUMNS];
    int64_t size[K];
    assert_int_equal(pri_plus_plus(&view, K, 5, 0, 1, centres), PRICER_OK);
    assert_int_equal(pri_lloyd_new(&view, K, &lloyd), PRICER_OK);
    for (int step = 0; step < 12; step++) {
        memcpy(used, centres, sizeof used);
        pri_lloyd_assign(lloyd, centres, 2);
        pri_lloyd_move(lloyd, 2, centres);
    }
    pri_lloyd_sums(lloyd, 2, sum, size);
    memset(expected, 0, sizeof expected);
    int64_t counted[K] = {0};
    for (int64_t r = 0; r < ROWS; r++) {
        const float *row = view.values + r * COLUMNS;
        int32_t label = lloyd->label[r];
        for (int k = 0; k < K; k++)
            assert_true(apart(row, used + label * COLUMNS, COLUMNS) <=
                        apart(row, used + k * COLUMNS, COLUMNS) * (1 + 1e-4));
        counted[label]++;
        for (int d = 0; d < COLUMNS; d++)
            expected[label * COLUMNS + d] += row[d];
    }
    for (int k = 0; k < K; k++) {
        assert_int_equal(size[k], counted[k]);
        for (int d = 0; d < COLUMNS && size[k] > 0; d++) {
            int c = k * COLUMNS + d;
            assert_close(sum[c], expected[c], 1e-12);
            assert_close(centres[c], expected[c] / (double)size[k], 1e-6);
        }
    }
    pri_lloyd_free(lloyd);
    pricer_matrix_free(points);
}

static void inertia_never_grows(void **state)
{
    (void)state;
    enum { ROWS = 900, COLUMNS = 20, K = 6 };
    struct pricer_matrix *points = make_points(ROWS, COLUMNS, 2);
    float start[K * COLUMNS], centres[K * COLUMNS];
    double before = INFINITY, inertia = 0;
    assert_int_equal(pricer_kmeans_start(points, K, 3, 1, start, NULL),
                     PRICER_OK);
    for (int steps = 0; steps < 15; steps++) {
        memcpy(centres, start, sizeof centres);
        assert_int_equal(pricer_kmeans_lloyd(
                             points, K, steps, 2,
                             &(struct pricer_kmeans_result){centres, &inertia},
                             NULL),
                         PRICER_OK);
        assert_true(inertia <= before * (1 + 1e-6));
        double total = 0;
        for (int64_t r = 0; r < ROWS; r++) {
            double least = INFINITY;
            for (int k = 0; k < K; k++)
                least = fmin(least, apart((float *)points->values + r * COLUMNS,
                                          centres + k * COLUMNS, COLUMNS));
            total += least;
        }
        assert_close(inertia, total, 1e-5);
        before = inertia;
    }
    pricer_matrix_free(points);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    enum { ROWS = 5000, COLUMNS = 33, K = 7 };
    struct pricer_matrix *points = make_points(ROWS, COLUMNS, 3);
    float first[K * COLUMNS], centres[K * COLUMNS];
    double least = 0, inertia = 0;
    for (int threads = 1; threads <= 5; threads++) {
        assert_int_equal(
            pricer_kmeans_start(points, K, 7, threads, centres, NULL),
            PRICER_OK);
        assert_int_equal(pricer_kmeans_lloyd(
                             points, K, 10, threads,
                             &(struct pricer_kmeans_result){centres, &inertia},
                             NULL),
                         PRICER_OK);
        if (threads == 1) {
            memcpy(first, centres, sizeof first);
            least = inertia;
        }
        assert_memory_equal(first, centres, sizeof first);
        assert_true(least == inertia);
    }
    pricer_matrix_free(points);
}

/*
 * Points 0, 1 and 3 on a line: if the first centre is 0 the second is 3 with
 * probability 9 / 10, and so on: 1 -> 3 with 4 / 5, 3 -> 0 with 9 / 13. Over
 * 20,000 seeds the number of each outcome stays within 5 deviations (false
 * alarm about 2e-6 in all).
 */
static void starts_follow_the_law_of_kmeans_plus_plus(void **state)
{
    (void)state;
    enum { SEEDS = 20000 };
    float values[3] = {0, 1, 3};
    const double law[3][3] = {{0, .1, .9}, {.2, 0, .8}, {9 / 13., 4 / 13., 0}};
    int count[4][4] = {{0}};
    struct pri_points view = {.values = values, .rows = 3, .columns = 1};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        float centres[2];
        assert_int_equal(pri_plus_plus(&view, 2, seed, 0, 1, centres),
                         PRICER_OK);
        count[(int)centres[0]][(int)centres[1]]++;
    }
    const int place[3] = {0, 1, 3};
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            double p = law[a][b] / 3;
            double most = 5 * sqrt(SEEDS * p * (1 - p));
            assert_true(fabs(count[place[a]][place[b]] - SEEDS * p) <= most);
        }
}

/* Equal points leave clusters without a point of their own; they stay. */
static void empty_clusters_stay(void **state)
{
    (void)state;
    struct pricer_matrix *points = NULL;
    assert_int_equal(pricer_matrix_new(5, 2, PRICER_FLOAT32, &points, NULL),
                     PRICER_OK);
    for (int d = 0; d < 10; d++)
        ((float *)points->values)[d] = 1;
    float centres[6];
    double inertia = -1;
    assert_int_equal(pricer_kmeans_start(points, 3, 1, 1, centres, NULL),
                     PRICER_OK);
    for (int d = 0; d < 6; d++)
        assert_true(centres[d] == 1);
    centres[4] = centres[5] = 9;
    assert_int_equal(
        pricer_kmeans_lloyd(points, 3, 4, 1,
                            &(struct pricer_kmeans_result){centres, &inertia},
                            NULL),
        PRICER_OK);
    assert_true(centres[4] == 9 && inertia == 0);
    pricer_matrix_free(points);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct pricer_matrix *points = make_points(4, 2, 1), *wide = NULL;
    struct pricer_fault fault = {""};
    float centres[10] = {0};
    double inertia = 7;
    assert_int_equal(pricer_kmeans_start(points, 5, 1, 1, centres, &fault),
                     PRICER_VALUE);
    assert_string_equal(fault.text,
                        "5 clusters of 4 points: there must be at least one, "
                        "and no more than points");
    assert_int_equal(
        pricer_kmeans_lloyd(points, 0, 1, 1,
                            &(struct pricer_kmeans_result){centres, &inertia},
                            &fault),
        PRICER_VALUE);
    assert_true(inertia == 7);
    assert_int_equal(pricer_matrix_new(4, 2, PRICER_FLOAT64, &wide, NULL),
                     PRICER_OK);
    assert_int_equal(pricer_kmeans_start(wide, 2, 1, 1, centres, &fault),
                     PRICER_VALUE);
    pricer_matrix_free(wide);
    pricer_matrix_free(points);
}

static void unit_norm_has_unit_norm(void **state)
{
    (void)state;
    struct pricer_matrix *data = NULL, *points = NULL;
    assert_int_equal(pricer_matrix_new(3, 2, PRICER_FLOAT64, &data, NULL),
                     PRICER_OK);
    double values[6] = {3, 4, 0, 0, 1e-300, -1e-300};
    memcpy(data->values, values, sizeof values);
    assert_int_equal(pricer_kmeans_points(data, true, &points, NULL),
                     PRICER_OK);
    const float *out = points->values;
    assert_close(out[0], .6f, 1e-7);
    assert_close(out[1], .8f, 1e-7);
    assert_true(out[2] == 0 && out[3] == 0);
    assert_close(out[5], -sqrt(.5), 1e-7);
    pricer_matrix_free(points);
    pricer_matrix_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_and_sums_follow_the_definition),
        cmocka_unit_test(inertia_never_grows),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(starts_follow_the_law_of_kmeans_plus_plus),
        cmocka_unit_test(empty_clusters_stay),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(unit_norm_has_unit_norm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
