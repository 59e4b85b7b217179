/*
 * The round: what is sent stays in the ball and on the grid, sums cannot
 * overflow, hostile numbers are refused, messages replay bit for bit, and the
 * estimate has the error the plan predicts.
 */
#include "tests/test.h"
#include "round/noise.h"

enum { DIMENSION = 5 };

/* Three nodes, every link, weights and noises of different sizes. */
static void make(struct pricer_network **network, struct pricer_plan **plan)
{
    struct pricer_node nodes[3] = {{.5, INFINITY, 1, NAN, NAN},
                                   {.9, INFINITY, 1, NAN, NAN},
                                   {.2, INFINITY, 1, NAN, NAN}};
    struct pricer_link links[6] = {
        {0, 1, .5, NAN, 1, .1}, {1, 0, .5, NAN, 1, .1}, {0, 2, .5, NAN, 1, .1},
        {2, 0, .5, NAN, 1, .1}, {1, 2, .5, NAN, 1, .1}, {2, 1, .5, NAN, 1, .1}};
    assert_int_equal(pricer_network_build(
                         &(struct pricer_network_parts){
                             DIMENSION, 2, 1, nodes, 3, links, 6, NULL, NULL},
                         network, NULL, NULL),
                     PRICER_OK);
    assert_int_equal(pricer_plan_new(*network, plan, NULL), PRICER_OK);
    for (int32_t l = 0; l < 6; l++) {
        (*plan)->weight[l] = .3 * (l + 1);
        (*plan)->noise[l] = l == 3 ? 0 : .01 * (l + 1) * (l + 1);
    }
    for (int32_t i = 0; i < 3; i++)
        (*plan)->self_weight[i] = .1 * i;
}

static struct pricer_slice *slice_of(int32_t node)
{
    struct pricer_network *network;
    struct pricer_plan *plan;
    struct pricer_grid grid;
    struct pricer_slice *slice;
    make(&network, &plan);
    assert_int_equal(pricer_grid_choose(network, plan, &grid, NULL), PRICER_OK);
    assert_int_equal(
        pricer_slice_build(network, plan, &grid, node, &slice, NULL),
        PRICER_OK);
    pricer_plan_free(plan);
    pricer_network_free(network);
    return slice;
}

static struct pricer_random noise_of(const struct pricer_slice *slice,
                                     const struct pricer_share *share,
                                     int64_t round)
{
    struct pricer_random random;
    pricer_random_replay(&random, 42, PRICER_PURPOSE_NOISE, round, slice->node,
                         share->to);
    return random;
}

static void test_slice(void **state)
{
    (void)state;
    struct pricer_slice *first = slice_of(0), *last = slice_of(2);
    assert_int_equal(first->count, 2); /* no own part: its weight is 0 */
    assert_int_equal(first->shares[0].to, 1);
    assert_int_equal(first->parts, 3);
    assert_int_equal(last->count, 3);
    assert_int_equal(last->shares[2].to, 2);
    assert_close(last->shares[2].weight, .2, 1e-15);
    assert_true(last->grid.limit <= (INT64_C(1) << 62) / 9);
    pricer_slice_free(first);
    pricer_slice_free(last);
    pricer_slice_free(NULL);
}

/* Without noise: the value is within one step below, towards zero, and the
 * whole is inside the ball, in integers, whatever the data. */
static void test_truncates_inside_ball(void **state)
{
    (void)state;
    struct pricer_slice *slice = slice_of(2);
    struct pricer_share bare = {0, .7, 0};
    uint64_t seed = 9;
    double step = ldexp(1, slice->grid.exponent);
    uint64_t bound = (uint64_t)(bare.weight * slice->radius / step);
    for (int trial = 0; trial < 3000; trial++) {
        double data[DIMENSION], length = 0;
        double size = exp2((double)(trial % 41) - 20);
        if (trial % 10 == 0)
            size = trial % 20 == 0 ? 1e307 : 1e-307;
        for (int k = 0; k < DIMENSION; k++) {
            data[k] = size * (test_uniform(&seed) - .5) * 2;
            length += data[k] / size * (data[k] / size);
        }
        length = sqrt(length) * size;
        double keep = fmin(1, slice->radius / length);
        struct pricer_random random = noise_of(slice, &bare, 0);
        int64_t message[DIMENSION];
        assert_int_equal(
            pricer_round_share(slice, &bare, data, &random, message, NULL),
            PRICER_OK);
        pri_wide square = 0;
        for (int k = 0; k < DIMENSION; k++) {
            double exact = bare.weight * data[k] * keep / step;
            double got = (double)message[k];
            assert_true(fabs(got) <= fabs(exact) * (1 + 1e-14));
            assert_true(fabs(got) >= fabs(exact) * (1 - 1e-14) - 1);
            assert_true(got * exact >= 0);
            square += (pri_wide)((__int128_t)message[k] * message[k]);
        }
        assert_true(square <= (pri_wide)bound * bound);
    }
    pricer_slice_free(slice);
}

/* Same address, same message; another round, link or seed, another. */
static void test_replays(void **state)
{
    (void)state;
    struct pricer_slice *slice = slice_of(1);
    double data[DIMENSION] = {1, -.5, .25, 0, 1e-3};
    int64_t one[DIMENSION], two[DIMENSION];
    struct pricer_share *share = &slice->shares[0];
    struct pricer_random random = noise_of(slice, share, 7);
    pricer_round_share(slice, share, data, &random, one, NULL);
    random = noise_of(slice, share, 7);
    pricer_round_share(slice, share, data, &random, two, NULL);
    assert_memory_equal(one, two, sizeof one);
    random = noise_of(slice, share, 8);
    pricer_round_share(slice, share, data, &random, two, NULL);
    assert_memory_not_equal(one, two, sizeof one);
    pricer_slice_free(slice);
}

/* The noise on the grid has the planned variance plus 64 steps. */
static void test_noise_level(void **state)
{
    (void)state;
    struct pricer_slice *slice = slice_of(1);
    struct pricer_share coarse = {2, 0, ldexp(3, slice->grid.exponent)};
    struct pricer_share steep = {2, 1, 1e-6};
    double data[DIMENSION] = {0}, sum = 0, wide = 0, count = 100000;
    struct pricer_random random = noise_of(slice, &coarse, 0);
    for (int trial = 0; trial < count / DIMENSION; trial++) {
        int64_t message[DIMENSION];
        pricer_round_share(slice, &coarse, data, &random, message, NULL);
        for (int k = 0; k < DIMENSION; k++)
            sum += (double)message[k] * (double)message[k];
        pricer_round_share(slice, &steep, data, &random, message, NULL);
        for (int k = 0; k < DIMENSION; k++)
            wide += (double)message[k] * (double)message[k];
    }
    assert_true(fabs(sum / count / (9 + 64) - 1) < 4.9 * sqrt(2 / count));
    double least = ldexp(2 * slice->radius / 1984, -slice->grid.exponent);
    assert_true(fabs(wide / count / (least * least) - 1) <
                4.9 * sqrt(2 / count));
    pricer_slice_free(slice);
}

static void test_refuses(void **state)
{
    (void)state;
    struct pricer_slice *slice = slice_of(1);
    struct pricer_fault fault;
    double data[DIMENSION] = {1, 2, 3, 4, NAN};
    int64_t message[DIMENSION] = {1, 2, 3, 4, 5}, sum[DIMENSION] = {9};
    struct pricer_share *share = &slice->shares[0];
    struct pricer_random random = noise_of(slice, share, 0);
    assert_int_equal(
        pricer_round_share(slice, share, data, &random, message, &fault),
        PRICER_VALUE);
    assert_int_equal(message[1], 2);
    data[4] = INFINITY;
    assert_int_equal(
        pricer_round_share(slice, share, data, &random, message, &fault),
        PRICER_VALUE);
    data[4] = 0;
    const struct pricer_share wrong[] = {
        {0, -1, 0},       {0, NAN, 0},  {0, 1, -1},   {0, 1, NAN},
        {0, INFINITY, 0}, {0, 1e30, 0}, {0, 0, 1e30}, {0, 1e300, 1e300}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        assert_int_equal(pricer_round_share(slice, &wrong[k], data, &random,
                                            message, &fault),
                         PRICER_VALUE);
    message[3] = slice->grid.limit + 1;
    assert_int_equal(
        pricer_round_add(&slice->grid, 1, message, DIMENSION, sum, &fault),
        PRICER_VALUE);
    assert_non_null(strstr(fault.text, "value 3"));
    assert_int_equal(sum[0], 9);
    assert_int_equal(
        pricer_round_add(&slice->grid, 2, message, DIMENSION, sum, &fault),
        PRICER_OK);
    message[0] = INT64_MIN;
    assert_int_equal(pricer_round_add(&slice->grid, INT32_MAX, message,
                                      DIMENSION, sum, &fault),
                     PRICER_VALUE);
    slice->grid.limit = INT64_MAX;
    assert_int_equal(
        pricer_round_share(slice, share, data, &random, message, &fault),
        PRICER_VALUE);
    pricer_slice_free(slice);
}

/* Extreme plans: a grid is found and every message stays within its limit, or
 * the plan is refused. */
static void test_extreme_grids(void **state)
{
    (void)state;
    struct pricer_network *network;
    struct pricer_plan *plan;
    struct pricer_grid grid;
    make(&network, &plan);
    uint64_t seed = 77;
    for (int trial = 0; trial < 300; trial++) {
        for (int32_t l = 0; l < 6; l++) {
            plan->weight[l] = exp2(200 * (test_uniform(&seed) - .5));
            plan->noise[l] = exp2(200 * (test_uniform(&seed) - .5));
        }
        assert_int_equal(pricer_grid_choose(network, plan, &grid, NULL),
                         PRICER_OK);
        struct pricer_slice *slice;
        assert_int_equal(
            pricer_slice_build(network, plan, &grid, 0, &slice, NULL),
            PRICER_OK);
        double data[DIMENSION] = {3, -5, 0, 1e9, -1e9};
        for (int32_t k = 0; k < slice->count; k++) {
            int64_t message[DIMENSION], sum[DIMENSION] = {0};
            struct pricer_random random =
                noise_of(slice, &slice->shares[k], trial);
            assert_int_equal(pricer_round_share(slice, &slice->shares[k], data,
                                                &random, message, NULL),
                             PRICER_OK);
            assert_int_equal(
                pricer_round_add(&grid, 1, message, DIMENSION, sum, NULL),
                PRICER_OK);
        }
        pricer_slice_free(slice);
    }
    plan->weight[0] = -1;
    assert_int_equal(pricer_grid_choose(network, plan, &grid, NULL),
                     PRICER_VALUE);
    plan->weight[0] = 1e308;
    assert_int_equal(pricer_grid_choose(network, plan, &grid, NULL),
                     PRICER_VALUE);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

/*
 * The limit as docs/protocol.md has it, and messages within it. That the limit
 * is no wider than 65 deviations shows that it would see a forged value.
 */
static void test_limit(void **state)
{
    (void)state;
    double data[DIMENSION] = {1, -1, 1, -1, 1};
    int64_t message[DIMENSION];
    for (int32_t node = 0; node < 3; node++) {
        struct pricer_slice *slice = slice_of(node);
        double step = ldexp(1, slice->grid.exponent);
        for (int32_t k = 0; k < slice->count; k++) {
            const struct pricer_share *share = &slice->shares[k];
            int64_t limit =
                pricer_round_limit(&slice->grid, slice->radius, share);
            double own = share->weight * slice->radius / step, noise = 0;
            if (share->noise > 0)
                noise = hypot(share->noise / step, 8);
            assert_true(share->noise == 0 || share->noise >= 2 * share->weight *
                                                                 slice->radius /
                                                                 1984);
            assert_true((double)limit >= own + 64 * noise);
            assert_true((double)limit <= own + 65 * noise + 3);
            assert_true(limit <= slice->grid.limit);
            for (int64_t round = 0; round < 50; round++) {
                struct pricer_random random = noise_of(slice, share, round);
                assert_int_equal(pricer_round_share(slice, share, data, &random,
                                                    message, NULL),
                                 PRICER_OK);
                for (int c = 0; c < DIMENSION; c++)
                    assert_true(llabs(message[c]) <= limit);
            }
        }
        struct pricer_share unused = {.to = 1}, large = {1, 1e300, 0};
        assert_int_equal(
            pricer_round_limit(&slice->grid, slice->radius, &unused), 0);
        assert_int_equal(
            pricer_round_limit(&slice->grid, slice->radius, &large),
            slice->grid.limit);
        pricer_slice_free(slice);
    }
}

/*
 * The longest honest sum: above the 1 - 10^-9 quantile of the normal law's
 * length (d = 1: 6.11 deviations; d = 100: chi-square 209.32; d = 10^4: 10871.67;
 * from scipy.stats.chi2.isf(1e-9, d)), not far above it, and 20000 honest sums
 * stay below.
 */
static void test_length(void **state)
{
    (void)state;
    static const struct {
        int64_t d;
        double quantile;
    } known[] = {{1, 37.33}, {100, 209.32}, {10000, 10871.67}};
    const struct pricer_grid grid = {-30, INT64_C(1) << 50};
    const struct pricer_share shares[] = {
        {0, .25, .5}, {1, .5, .75}, {2, .1, 0}};
    double step = ldexp(1, -30), noise = hypot(.5, .75) / step;
    for (int k = 0; k < 3; k++) {
        double length =
            pricer_round_length(&grid, 2, known[k].d, shares, 3) - 1.7 / step;
        double quantile = noise * sqrt(known[k].quantile);
        assert_true(length >= quantile && length <= 1.2 * quantile);
    }
    assert_true(pricer_round_length(&grid, 2, 5, shares, 0) == 0);
    assert_in_range(step * pricer_round_length(&grid, 2, 5, shares + 2, 1) *
                        1e6,
                    200000, 200001);
    double data[DIMENSION] = {1, -1, 1, -1, 1};
    int64_t message[DIMENSION];
    struct pricer_slice *slice = slice_of(1);
    for (int64_t round = 0; round < 20000; round++) {
        double sum[DIMENSION] = {0}, square = 0;
        for (int32_t k = 0; k < slice->count; k++) {
            const struct pricer_share *share = &slice->shares[k];
            struct pricer_random random = noise_of(slice, share, round);
            assert_int_equal(
                pricer_round_share(slice, share, data, &random, message, NULL),
                PRICER_OK);
            for (int c = 0; c < DIMENSION; c++)
                sum[c] += (double)message[c];
        }
        for (int c = 0; c < DIMENSION; c++)
            square += sum[c] * sum[c];
        assert_true(sqrt(square) <=
                    pricer_round_length(&slice->grid, slice->radius, DIMENSION,
                                        slice->shares, slice->count));
    }
    pricer_slice_free(slice);
}

static void test_slice_refuses(void **state)
{
    (void)state;
    struct pricer_network *network;
    struct pricer_plan *plan;
    struct pricer_slice *slice = NULL;
    struct pricer_grid grid = {-40, INT64_C(1) << 50};
    struct pricer_fault fault = {""};
    make(&network, &plan);
    assert_int_equal(
        pricer_slice_build(network, plan, &grid, 3, &slice, &fault),
        PRICER_VALUE);
    assert_string_equal(fault.text, "there is no node 3");
    plan->links--;
    assert_int_equal(
        pricer_slice_build(network, plan, &grid, 0, &slice, &fault),
        PRICER_VALUE);
    assert_string_equal(fault.text, "the plan is not for this network");
    assert_null(slice);
    pricer_plan_free(plan);
    pricer_network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slice),
        cmocka_unit_test(test_truncates_inside_ball),
        cmocka_unit_test(test_replays),
        cmocka_unit_test(test_noise_level),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_extreme_grids),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_length),
        cmocka_unit_test(test_slice_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
