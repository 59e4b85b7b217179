/*
 * The data of a simulation: on the sphere or clipped to the ball, refused where
 * it is no data; and the factor, whose rows have the inner products of the
 * data, whichever of the two it is made from.
 */
#include "tests/test.h"
#include "simulate/simulate.h"

static double inner(const double *one, const double *other, int64_t count)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++)
        sum += one[k] * other[k];
    return sum;
}

static double entry(const struct pri_factor *factor, int32_t row,
                    int32_t column)
{
    int64_t block = column / PRI_COLUMNS;
    return factor->packed[(block * factor->nodes + row) * PRI_COLUMNS +
                          column % PRI_COLUMNS];
}

static void check_factor(const struct pri_data *data, int32_t rank)
{
    struct pri_factor factor;
    assert_int_equal(pri_factor_make(data, 2, &factor), PRICER_OK);
    assert_int_equal(factor.rank, rank);
    for (int32_t a = 0; a < data->nodes; a++)
        for (int32_t b = 0; b <= a; b++) {
            double sum = 0,
                   expected = inner(pri_data_row(data, factor.order[a]),
                                    pri_data_row(data, factor.order[b]),
                                    data->dimension);
            for (int32_t k = 0; k < factor.blocks * PRI_COLUMNS; k++)
                sum += entry(&factor, a, k) * entry(&factor, b, k);
            assert_true(fabs(sum - expected) < 1e-12);
            if (factor.triangular)
                for (int32_t k = b + 1; k < factor.rank; k++)
                    assert_true(entry(&factor, b, k) == 0);
        }
    pri_factor_free(&factor);
}

static void test_sphere(void **state)
{
    (void)state;
    static const int64_t dimensions[] = {1, 3, 7, 40};
    for (int k = 0; k < 4; k++) {
        double radii[12];
        for (int32_t i = 0; i < 12; i++)
            radii[i] = i == 3 ? .5 : 1.5;
        struct pricer_network network = {.nodes = 12,
                                         .dimension = dimensions[k],
                                         .radius = 1.5,
                                         .node_radius = radii};
        struct pricer_simulation_settings settings = {
            .data = PRICER_DATA_RANDOM, .seed = 3};
        struct pri_data data;
        assert_int_equal(pri_data_make(&network, &settings, &data, NULL),
                         PRICER_OK);
        assert_int_equal(data.clipped, 0);
        for (int32_t i = 0; i < 12; i++) {
            const double *row = pri_data_row(&data, i);
            assert_close(sqrt(inner(row, row, data.dimension)), radii[i],
                         1e-13);
        }
        check_factor(&data, dimensions[k] < 12 ? (int32_t)dimensions[k] : 12);
        pri_data_free(&data);
    }
}

static void test_worst_case(void **state)
{
    (void)state;
    double radii[5] = {2, 2, 2, 2, 2};
    struct pricer_network network = {
        .nodes = 5, .dimension = 9, .radius = 2, .node_radius = radii};
    struct pricer_simulation_settings settings = {.data =
                                                      PRICER_DATA_WORST_CASE};
    struct pri_data data;
    assert_int_equal(pri_data_make(&network, &settings, &data, NULL),
                     PRICER_OK);
    const double *row = pri_data_row(&data, 4);
    assert_true(row == pri_data_row(&data, 0));
    assert_close(inner(row, row, 9), 4, 1e-15);
    check_factor(&data, 1);
    pri_data_free(&data);
    radii[3] = .5;
    assert_int_equal(pri_data_make(&network, &settings, &data, NULL),
                     PRICER_OK);
    assert_close(inner(pri_data_row(&data, 2), pri_data_row(&data, 3), 9), 1,
                 1e-15);
    check_factor(&data, 1);
    pri_data_free(&data);
}

static void test_given(void **state)
{
    (void)state;
    double values[] = {3, 4, .3, .4, 1, 0, 0, 0};
    struct pricer_matrix matrix = {4, 2, PRICER_FLOAT64, values};
    double radii[4] = {1, 1, 1, 1};
    struct pricer_network network = {
        .nodes = 4, .dimension = 2, .radius = 1, .node_radius = radii};
    struct pricer_simulation_settings settings = {.data = PRICER_DATA_GIVEN,
                                                  .given = &matrix};
    struct pri_data data;
    assert_int_equal(pri_data_make(&network, &settings, &data, NULL),
                     PRICER_OK);
    assert_int_equal(data.clipped, 1);
    assert_close(data.values[0], .6, 1e-15);
    assert_close(data.values[1], .8, 1e-15);
    assert_true(memcmp(data.values + 2, values + 2, 6 * sizeof *values) == 0);
    pri_data_free(&data);
    struct pricer_fault fault;
    values[4] = values[5] = NAN;
    assert_int_equal(pri_data_make(&network, &settings, &data, &fault),
                     PRICER_VALUE);
    assert_non_null(strstr(fault.text, "row 2"));
    matrix.rows = 3;
    assert_int_equal(pri_data_make(&network, &settings, &data, &fault),
                     PRICER_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sphere),
        cmocka_unit_test(test_worst_case),
        cmocka_unit_test(test_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
