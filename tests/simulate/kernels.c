/*
 * The kernels of the fast engine against plain loops over trials: weights and
 * variances from bits for any number of links, and squares of projections for
 * any cut of the nodes into chunks.
 */
#include "tests/test.h"
#include "simulate/kernels.h"

static bool carries(const struct pri_bits *bits, int trial)
{
    return bits->word[trial / 64] >> (trial % 64) & 1;
}

/* Sums of eighths are exact, whatever their order. */
static void check_node(int links, uint64_t seed)
{
    struct pri_bits *bits = calloc((size_t)links + 1, sizeof *bits);
    struct pri_group *groups =
        calloc((size_t)links / PRI_GROUP + 1, sizeof *groups);
    pri_two *carry = aligned_alloc(64, PRI_ROUNDS * sizeof *carry);
    double *excess = calloc(PRI_ROUNDS, sizeof *excess);
    double *variance = calloc(PRI_ROUNDS, sizeof *variance);
    int count = links / PRI_GROUP + (links % PRI_GROUP > 0 || links == 0);
    for (int l = 0; l < links; l++) {
        struct pri_group *group = &groups[l / PRI_GROUP];
        for (int w = 0; w < PRI_LANES; w++)
            bits[l].word[w] = test_random(&seed);
        group->bits[group->size] = &bits[l];
        group->amount[group->size++] =
            (pri_two){(double)(test_random(&seed) % 64) / 8,
                      (double)(test_random(&seed) % 64) / 8};
    }
    for (int t = 0; t < PRI_ROUNDS; t++)
        variance[t] = t;
    pri_kernel_node(groups, count, carry, 1, excess, variance);
    for (int t = 0; t < PRI_ROUNDS; t++) {
        double weight = -1, noise = t;
        for (int l = 0; l < links; l++) {
            pri_two amount = groups[l / PRI_GROUP].amount[l % PRI_GROUP];
            weight += carries(&bits[l], t) ? amount[0] : 0;
            noise += carries(&bits[l], t) ? amount[1] : 0;
        }
        assert_true(excess[t] == weight);
        assert_true(variance[t] == noise);
    }
    free(bits);
    free(groups);
    free(carry);
    free(excess);
    free(variance);
}

static void test_node(void **state)
{
    (void)state;
    for (int links = 0; links <= 100; links++)
        check_node(links, (uint64_t)links);
}

enum { NODES = 23, RANK = 10, BLOCKS = (RANK + PRI_COLUMNS - 1) / PRI_COLUMNS };

/* |sum over nodes of excess times row|^2, the nodes in chunks of `size`. */
static void check_project(bool triangular, int size)
{
    static double packed[BLOCKS][NODES][PRI_COLUMNS];
    static double excess[NODES][PRI_ROUNDS], square[PRI_ROUNDS];
    static double projection[BLOCKS * PRI_COLUMNS * PRI_ROUNDS];
    static double chunk_excess[PRI_TILES * NODES * PRI_TILE];
    uint64_t seed = 5;
    struct pri_factor factor = {NODES,      RANK, BLOCKS,
                                triangular, NULL, **packed};
    memset(square, 0, sizeof square);
    for (int k = 0; k < RANK; k++)
        for (int i = 0; i < NODES; i++)
            packed[k / PRI_COLUMNS][i][k % PRI_COLUMNS] =
                triangular && k > i ? 0 : (double)(test_random(&seed) % 16);
    for (int i = 0; i < NODES; i++)
        for (int t = 0; t < PRI_ROUNDS; t++)
            excess[i][t] = (double)(test_random(&seed) % 16) - 8;
    for (int start = 0; start < NODES; start += size) {
        int rows = NODES - start < size ? NODES - start : size;
        struct pri_chunk chunk = {start, rows, start == 0,
                                  start + rows == NODES};
        for (int row = 0; row < rows; row++)
            for (int t = 0; t < PRI_ROUNDS; t++)
                chunk_excess[(t / PRI_TILE * size + row) * PRI_TILE +
                             t % PRI_TILE] = excess[start + row][t];
        pri_kernel_project(&factor, &chunk, size, chunk_excess, projection,
                           square);
    }
    for (int t = 0; t < PRI_ROUNDS; t++) {
        double expected = 0;
        for (int k = 0; k < RANK; k++) {
            double sum = 0;
            for (int i = 0; i < NODES; i++)
                sum +=
                    packed[k / PRI_COLUMNS][i][k % PRI_COLUMNS] * excess[i][t];
            expected += sum * sum;
        }
        assert_true(square[t] == expected);
    }
}

static void test_project(void **state)
{
    (void)state;
    for (int size = 1; size <= NODES; size++) {
        check_project(false, size);
        check_project(true, size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node),
        cmocka_unit_test(test_project),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
