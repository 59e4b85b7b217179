/*
 * Running means against the plain formulas, and the edges of the bins.
 */
#include "tests/test.h"
#include "simulate/simulate.h"

static void test_means(void **state)
{
    (void)state;
    uint64_t seed = 2;
    double values[1000], mean = 0, squares = 0;
    for (int k = 0; k < 1000; k++)
        mean += values[k] = 1e6 + test_uniform(&seed);
    mean /= 1000;
    for (int k = 0; k < 1000; k++)
        squares += (values[k] - mean) * (values[k] - mean);
    struct pri_mean merged = {0, 0, 0};
    for (int k = 0; k < 1000;) {
        int count = 1 + (int)(test_random(&seed) % 300);
        count = count > 1000 - k ? 1000 - k : count;
        merged = pri_mean_merge(merged, pri_mean_of(values + k, count));
        k += count;
    }
    assert_int_equal(merged.count, 1000);
    assert_close(merged.mean, mean, 1e-14);
    assert_close(merged.squares, squares, 1e-8);
    assert_close(pri_mean_error(merged), sqrt(squares / 999 / 1000), 1e-8);
    assert_int_equal(pri_mean_of(values, 0).count, 0);
}

/* Bins: the edge belongs to the bin it starts. */
static void test_edges(void **state)
{
    (void)state;
    struct pricer_outcome outcome = {.first_octave = -3};
    assert_true(pricer_outcome_edge(&outcome, 0) == .125);
    assert_true(pricer_outcome_edge(&outcome, 4) == .1875);
    assert_true(pricer_outcome_edge(&outcome, 8) == .25);
    assert_true(pricer_outcome_edge(&outcome, PRICER_BINS) == 8192);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_means),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
