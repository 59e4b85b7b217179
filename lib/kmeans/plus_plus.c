/*
 * From data to points that K-means takes, to initial centres, to a clustering
 * of all points in one place.
 *
 * k-means++ (Arthur and Vassilvitskii 2007): the first centre is a point at
 * random, each further one a point drawn with probability proportional to its
 * squared distance from the centres so far. The draws have an address (seed,
 * stream), so any of them can be repeated by itself.
 */
#include "kmeans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double uniform(struct pricer_random *random)
{
    return (double)(pricer_random_word(random) >> 11) * 0x1p-53;
}

/* The place at which the running total of the distances passes `target`. */
static int64_t pick(const double *distance, int64_t rows, double target)
{
    double passed = 0;
    int64_t last = 0;
    for (int64_t row = 0; row < rows; row++) {
        passed += distance[row];
        if (distance[row] > 0)
            last = row;
        if (passed > target)
            return row;
    }
    return last;
}

enum pricer_status pri_plus_plus(const struct pri_points *points,
                                 int32_t clusters, uint64_t seed,
                                 int32_t stream, int32_t threads,
                                 float *centres)
{
    const int64_t rows = points->rows, columns = points->columns;
    struct pricer_random random;
    double *distance = pri_alloc(rows, sizeof *distance);
    pricer_random_replay(&random, seed, PRICER_PURPOSE_DATA, 0, stream,
                         PRI_KMEANS_PLUS_PLUS);
    if (distance == NULL)
        return PRICER_MEMORY;
    for (int64_t row = 0; row < rows; row++)
        distance[row] = 1; /* the first is uniform */
    for (int32_t k = 0; k < clusters; k++) {
        double total = 0;
        for (int64_t row = 0; row < rows; row++)
            total += distance[row];
        int64_t chosen = pick(distance, rows, uniform(&random) * total);
        float *centre = centres + k * columns;
        memcpy(centre, points->values + chosen * columns,
               (size_t)columns * sizeof *centre);
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t row = 0; row < rows; row++) {
            double apart = pri_square_distance(points->values + row * columns,
                                               centre, columns);
            distance[row] = k == 0 ? apart : fmin(distance[row], apart);
        }
    }
    free(distance);
    return PRICER_OK;
}

/* ------------------------------------------------------------- interface -- */

enum pricer_status pricer_kmeans_points(const struct pricer_matrix *data,
                                        bool unit_norm,
                                        struct pricer_matrix **points,
                                        struct pricer_fault *fault)
{
    struct pricer_matrix *made = NULL;
    double *row = pri_alloc(data->columns, sizeof *row);
    if (row == NULL)
        return pri_fault(fault, PRICER_MEMORY, "out of memory");
    enum pricer_status status = pricer_matrix_new(data->rows, data->columns,
                                                  PRICER_FLOAT32, &made, fault);
    for (int64_t r = 0; r < data->rows && status == PRICER_OK; r++) {
        float *out = (float *)made->values + r * data->columns;
        double most = 0, scale = 1;
        pricer_matrix_row(data, r, row);
        double length = pri_relative_length(row, data->columns, &most);
        if (unit_norm && most > 0)
            scale = 1 / most / length;
        for (int64_t d = 0; d < data->columns; d++)
            out[d] = (float)(row[d] * scale);
    }
    free(row);
    if (status == PRICER_OK)
        *points = made;
    return status;
}

/* What K-means cannot work with, in words. */
enum pricer_status pri_kmeans_check(const struct pricer_matrix *points,
                                    int32_t clusters,
                                    struct pricer_fault *fault)
{
    if (points->element != PRICER_FLOAT32)
        return pri_fault(fault, PRICER_VALUE,
                         "K-means takes points in single precision");
    if (clusters < 1 || clusters > points->rows)
        return pri_fault(fault, PRICER_VALUE,
                         "%d clusters of %lld points: there must be at least "
                         "one, and no more than points",
                         (int)clusters, (long long)points->rows);
    if (points->columns > INT32_MAX / 2)
        return pri_fault(fault, PRICER_VALUE, "%lld columns are too many",
                         (long long)points->columns);
    return PRICER_OK;
}

enum pricer_status pricer_kmeans_start(const struct pricer_matrix *points,
                                       int32_t clusters, uint64_t seed,
                                       int32_t threads, float *centres,
                                       struct pricer_fault *fault)
{
    struct pri_points view = {points->values, points->rows, points->columns};
    enum pricer_status status = pri_kmeans_check(points, clusters, fault);
    if (status != PRICER_OK)
        return status;
    return pri_plus_plus(&view, clusters, seed, 0, pri_kmeans_threads(threads),
                         centres);
}

enum pricer_status pricer_kmeans_lloyd(
    const struct pricer_matrix *points, int32_t clusters, int32_t steps,
    int32_t threads, const struct pricer_kmeans_result *result,
    struct pricer_fault *fault)
{
    float *centres = result->centres;
    struct pri_points view = {points->values, points->rows, points->columns};
    struct pri_lloyd *lloyd = NULL;
    enum pricer_status status = pri_kmeans_check(points, clusters, fault);
    if (status == PRICER_OK)
        status = pri_lloyd_new(&view, clusters, &lloyd);
    if (status != PRICER_OK)
        return status;
    threads = pri_kmeans_threads(threads);
    for (int32_t step = 0; step < steps; step++) {
        pri_lloyd_assign(lloyd, centres, threads);
        pri_lloyd_move(lloyd, threads, centres);
    }
    pri_lloyd_assign(lloyd, centres, threads);
    result->inertia[0] = pri_lloyd_inertia(lloyd, centres, threads);
    pri_lloyd_free(lloyd);
    return PRICER_OK;
}
