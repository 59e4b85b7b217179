/*
 * The data of a simulation, from what was asked for to one clipped vector per
 * node; and its factor, the few numbers that a squared error needs of it.
 *
 * |sum_i c_i x_i|^2 depends on the Gram matrix of the data only. With d < n / 2
 * it is cheapest from the data itself, n d a trial; otherwise from a pivoted
 * Cholesky factor of the Gram matrix, at most n^2 / 2, and less where vectors
 * repeat or depend on each other (equal ones have rank one).
 * Everything is summed in one fixed order, so it is the same everywhere.
 */
#include "simulate.h"
#include "network/network.h"
#include "random/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ data -- */

static double length_of(const double *vector, int64_t count)
{
    double largest = 0;
    double relative = pri_relative_length(vector, count, &largest);
    return largest * relative;
}

static void stretch(double *vector, int64_t count, double factor)
{
    for (int64_t k = 0; k < count; k++)
        vector[k] *= factor;
}

/*
 * Uniform on the sphere: a Gaussian vector, made as long as the radius. The
 * Gaussians are the integers of the noise, because those need no logarithm, on
 * whose last digit machines disagree; 2^40 steps a standard deviation are fine
 * enough.
 */
static enum pricer_status fill_random(const struct pricer_network *network,
                                      uint64_t seed, double *values)
{
    struct pri_noise noise;
    int64_t d = network->dimension;
    enum pricer_status status = pri_noise_prepare(0x1p40, &noise, NULL);
    for (int32_t i = 0; i < network->nodes && status == PRICER_OK; i++) {
        double *row = values + i * d, length = 0;
        struct pricer_random random;
        pricer_random_replay(&random, seed, PRICER_PURPOSE_DATA, 0, i, 0);
        while (length == 0) {
            for (int64_t k = 0; k < d; k++)
                row[k] = (double)pri_noise_draw(&noise, &random);
            length = length_of(row, d);
        }
        for (int64_t k = 0; k < d; k++)
            row[k] = row[k] / length * network->node_radius[i];
    }
    return status;
}

/* Rows as long as the radius but for rounding do not count as clipped. */
static enum pricer_status fill_given(const struct pricer_network *network,
                                     const struct pricer_matrix *given,
                                     struct pri_data *data,
                                     struct pricer_fault *fault)
{
    int64_t d = network->dimension;
    if (given == NULL)
        return pri_fault(fault, PRICER_VALUE, "there is no data");
    if (given->rows != network->nodes || given->columns != d)
        return pri_fault(fault, PRICER_VALUE,
                         "the data is %lld x %lld; the network has %d nodes "
                         "and dimension %lld",
                         (long long)given->rows, (long long)given->columns,
                         (int)network->nodes, (long long)d);
    for (int32_t i = 0; i < network->nodes; i++) {
        double *row = data->values + i * d;
        pricer_matrix_row(given, i, row);
        double length = length_of(row, d);
        if (!isfinite(length))
            return pri_fault(fault, PRICER_VALUE,
                             "row %d of the data has no finite length", (int)i);
        double radius = network->node_radius[i];
        if (length <= radius)
            continue;
        if (length > radius * (1 + 1e-12) && data->clipped++ == 0)
            data->shift = pri_alloc(d, sizeof *data->shift);
        if (data->clipped > 0 && data->shift == NULL)
            return PRICER_MEMORY;
        for (int64_t k = 0; data->shift != NULL && k < d; k++)
            data->shift[k] += row[k] * (radius / length - 1) / network->nodes;
        stretch(row, d, radius / length);
    }
    return PRICER_OK;
}

enum pricer_status pri_data_make(
    const struct pricer_network *network,
    const struct pricer_simulation_settings *settings, struct pri_data *data,
    struct pricer_fault *fault)
{
    struct pri_data made = {.nodes = network->nodes,
                            .dimension = network->dimension,
                            .shared = settings->data == PRICER_DATA_WORST_CASE};
    bool alike = pri_network_alike(network, "", false, NULL) == PRICER_OK;
    made.shared = made.shared && alike;
    int64_t rows = made.shared ? 1 : made.nodes;
    if (made.dimension > INT64_MAX / 16 / rows)
        return PRICER_MEMORY;
    made.values = pri_alloc(rows * made.dimension, sizeof(double));
    if (made.values == NULL)
        return PRICER_MEMORY;
    enum pricer_status status = PRICER_OK;
    if (settings->data == PRICER_DATA_RANDOM)
        status = fill_random(network, settings->seed, made.values);
    else if (settings->data == PRICER_DATA_GIVEN)
        status = fill_given(network, settings->given, &made, fault);
    else
        for (int64_t i = 0; i < rows; i++)
            made.values[i * made.dimension] = network->node_radius[i];
    if (status == PRICER_OK)
        *data = made;
    else
        pri_data_free(&made);
    return status;
}

void pri_data_free(struct pri_data *data)
{
    free(data->values);
    free(data->shift);
    data->values = data->shift = NULL;
}

/* ---------------------------------------------------------------- factor -- */

/* Room for a factor; the order starts as 0, 1, 2, ... */
static enum pricer_status factor_new(int32_t nodes, int32_t rank,
                                     struct pri_factor *factor)
{
    struct pri_factor made = {.nodes = nodes, .rank = rank};
    made.blocks = (rank + PRI_COLUMNS - 1) / PRI_COLUMNS;
    made.order = pri_alloc(nodes, sizeof *made.order);
    made.packed = pri_alloc((int64_t)made.blocks * nodes * PRI_COLUMNS,
                            sizeof *made.packed);
    if (made.order == NULL || made.packed == NULL) {
        pri_factor_free(&made);
        return PRICER_MEMORY;
    }
    for (int32_t i = 0; i < nodes; i++)
        made.order[i] = i;
    *factor = made;
    return PRICER_OK;
}

void pri_factor_free(struct pri_factor *factor)
{
    free(factor->order);
    free(factor->packed);
    factor->order = NULL;
    factor->packed = NULL;
}

static double *factor_at(const struct pri_factor *factor, int32_t row,
                         int32_t column)
{
    int64_t block = column / PRI_COLUMNS;
    return factor->packed + (block * factor->nodes + row) * PRI_COLUMNS +
           column % PRI_COLUMNS;
}

/* Row i of the Gram matrix, up to column i: dimension by dimension, so that
 * the sums of different columns go side by side. `transposed` is the data with
 * the nodes of one coordinate next to each other. */
PRI_CLONES
static void gram_row(const double *transposed, int64_t nodes, int64_t dimension,
                     int64_t i, double *row)
{
    for (int64_t j = 0; j <= i; j++)
        row[j] = 0;
    for (int64_t k = 0; k < dimension; k++) {
        const double *all = transposed + k * nodes;
        double mine = all[i];
        for (int64_t j = 0; j <= i; j++)
            row[j] += mine * all[j];
    }
}

struct gram {
    const double *transposed;
    int64_t nodes, dimension;
    double *matrix;
};

/* The rows from the last on: the longest first. */
static void gram_rows(void *context, int64_t low, int64_t high)
{
    const struct gram *gram = context;
    for (int64_t k = low; k < high; k++) {
        int64_t i = gram->nodes - 1 - k;
        gram_row(gram->transposed, gram->nodes, gram->dimension, i,
                 gram->matrix + i * gram->nodes);
    }
}

/* The lower half of the Gram matrix, [n][n]; every row by one thread. */
static enum pricer_status gram(const struct pri_data *data,
                               struct pri_team *team, double *matrix)
{
    int64_t n = data->nodes, d = data->dimension;
    double *transposed = pri_alloc(n * d, sizeof *transposed);
    if (transposed == NULL)
        return PRICER_MEMORY;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < d; k++)
            transposed[k * n + i] = data->values[i * d + k];
    struct gram job = {transposed, n, d, matrix};
    pri_team_share(team, n, gram_rows, &job);
    free(transposed);
    return PRICER_OK;
}

/* Exchange nodes a < b of a symmetric matrix whose lower half is kept. */
static void exchange(double *matrix, int64_t n, int32_t *order, int64_t a,
                     int64_t b)
{
    for (int64_t k = 0; k < a; k++) {
        double kept = matrix[a * n + k];
        matrix[a * n + k] = matrix[b * n + k];
        matrix[b * n + k] = kept;
    }
    for (int64_t k = a + 1; k < b; k++) {
        double kept = matrix[k * n + a];
        matrix[k * n + a] = matrix[b * n + k];
        matrix[b * n + k] = kept;
    }
    for (int64_t k = b + 1; k < n; k++) {
        double kept = matrix[k * n + a];
        matrix[k * n + a] = matrix[k * n + b];
        matrix[k * n + b] = kept;
    }
    double kept = matrix[a * n + a];
    matrix[a * n + a] = matrix[b * n + b];
    matrix[b * n + b] = kept;
    int32_t node = order[a];
    order[a] = order[b];
    order[b] = node;
}

/* One row of the update after a pivot; `pivots` is the pivot's column. */
PRI_CLONES
static void update_row(double *row, const double *pivots, int64_t first,
                       int64_t last)
{
    double mine = pivots[last];
    for (int64_t j = first; j <= last; j++)
        row[j] -= mine * pivots[j];
}

struct update {
    double *matrix;
    const double *column;
    int64_t nodes, first;
};

static void update_rows(void *context, int64_t low, int64_t high)
{
    const struct update *update = context;
    for (int64_t k = low; k < high; k++)
        update_row(update->matrix + (update->first + k) * update->nodes,
                   update->column, update->first, update->first + k);
}

/*
 * Cholesky with the largest remaining diagonal as pivot, in place, until what
 * remains is rounding error. Returns the rank. `column` is room for n numbers.
 */
static int32_t cholesky(double *matrix, int64_t n, struct pri_team *team,
                        int32_t *order, double *column)
{
    double first = 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (matrix[i * n + i] > matrix[pivot * n + pivot])
                pivot = i;
        double most = matrix[pivot * n + pivot];
        if (k == 0)
            first = most;
        if (!(most > first * (double)n * 0x1p-52))
            return (int32_t)k;
        if (pivot != k)
            exchange(matrix, n, order, k, pivot);
        double root = sqrt(most);
        matrix[k * n + k] = root;
        for (int64_t i = k + 1; i < n; i++)
            column[i] = matrix[i * n + k] /= root;
        struct update update = {matrix, column, n, k + 1};
        pri_team_share(n - k > 256 ? team : NULL, n - k - 1, update_rows,
                       &update);
    }
    return (int32_t)n;
}

/* The pivoted Cholesky factor, packed in the order of its pivots. */
static enum pricer_status factor_of_gram(const struct pri_data *data,
                                         int32_t threads,
                                         struct pri_factor *factor)
{
    int64_t n = data->nodes;
    struct pri_team *team = pri_team_new(threads);
    double *matrix = pri_alloc(n * n, sizeof *matrix);
    double *column = pri_alloc(n, sizeof *column);
    int32_t *order = pri_alloc(n, sizeof *order);
    enum pricer_status status = PRICER_MEMORY;
    if (matrix == NULL || column == NULL || order == NULL)
        goto done;
    for (int32_t i = 0; i < n; i++)
        order[i] = i;
    status = gram(data, team, matrix);
    if (status != PRICER_OK)
        goto done;
    int32_t rank = cholesky(matrix, n, team, order, column);
    status = factor_new(data->nodes, rank, factor);
    if (status != PRICER_OK)
        goto done;
    factor->triangular = true;
    memcpy(factor->order, order, (size_t)n * sizeof *order);
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k <= i && k < rank; k++)
            *factor_at(factor, i, k) = matrix[i * n + k];
done:
    pri_team_free(team);
    free(matrix);
    free(column);
    free(order);
    return status;
}

enum pricer_status pri_factor_make(const struct pri_data *data, int32_t threads,
                                   struct pri_factor *factor)
{
    int64_t columns = data->shared ? 1 : data->dimension;
    if (!data->shared && columns > data->nodes / 2)
        return factor_of_gram(data, threads, factor);
    enum pricer_status status =
        factor_new(data->nodes, (int32_t)columns, factor);
    if (status != PRICER_OK)
        return status;
    for (int32_t i = 0; i < data->nodes; i++)
        for (int32_t k = 0; k < columns; k++)
            *factor_at(factor, i, k) = pri_data_row(data, i)[k];
    return PRICER_OK;
}
