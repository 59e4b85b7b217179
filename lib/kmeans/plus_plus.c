/*
 * From data to points that K-means takes, to initial centres, to a clustering
 * of all points in one place.
 *
 * k-means++ (Arthur and Vassilvitskii 2007): the first centre is a point at
 * random, each further one a point drawn with probability proportional to its
 * squared distance from the centres so far. The draws have an address (seed,
 * stream), so any of them can be repeated by itself. Distances are summed by
 * chunks and these in their order, so that ranks agree on the row.
 */
#include "kmeans.h"
#include "read/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double uniform(struct pricer_random *random)
{
    return (double)(pricer_random_word(random) >> 11) * 0x1p-53;
}

/* The place in rows `from` to `to` at which the running total of the distances
 * passes `target`. */
static int64_t pick(const double *distance, int64_t from, int64_t to,
                    double passed, double target)
{
    int64_t last = from;
    for (int64_t row = from; row < to; row++) {
        passed += distance[row];
        if (distance[row] > 0)
            last = row;
        if (passed > target)
            return row;
    }
    return last;
}

/* A centre while it is chosen: distances of the rows of this rank's chunks, and
 * their sums by chunks. */
struct choice {
    const struct pri_points *points;
    struct pri_chunks chunks;
    int64_t first; /* row of distance[0] */
    double *distance;
    double sums[PRI_KMEANS_CHUNKS];
    const float *centre; /* the last */
    bool begun;          /* there were others before it */
};

enum { SMALL = 1 << 20 }; /* numbers to pass over that one thread does best */

/* The distances of some rows, now that there is another centre. */
static void come_nearer(void *context, int64_t low, int64_t high)
{
    struct choice *choice = context;
    for (int64_t row = low; row < high; row++) {
        double apart = pri_square_distance(
            pri_points_row(choice->points, choice->first + row), choice->centre,
            choice->points->columns);
        choice->distance[row] =
            choice->begun ? fmin(choice->distance[row], apart) : apart;
    }
}

static double sum_distances(struct choice *choice)
{
    const struct pri_chunks *chunks = &choice->chunks;
    double total = 0;
    for (int32_t c = chunks->low; c < chunks->high; c++) {
        choice->sums[c] = 0;
        for (int64_t row = pri_chunk_start(chunks, c);
             row < pri_chunk_start(chunks, c + 1); row++)
            choice->sums[c] += choice->distance[row - choice->first];
    }
    pri_complete(choice->points->crew, choice->sums, sizeof *choice->sums,
                 chunks->count);
    for (int32_t c = 0; c < chunks->count; c++)
        total += choice->sums[c];
    return total;
}

/* The rank that has a chunk. */
static int32_t owner_of(const struct choice *choice, int32_t chunk)
{
    const struct pricer_crew *crew = choice->points->crew;
    int32_t rank = 0;
    while (crew != NULL && pri_share_start(choice->chunks.count, rank + 1,
                                           crew->ranks) <= chunk)
        rank++;
    return rank;
}

/* Draw a row and let everyone have it. */
static void choose(struct choice *choice, double target, float *centre)
{
    const struct pri_chunks *chunks = &choice->chunks;
    const struct pri_points *points = choice->points;
    const struct pricer_crew *crew = points->crew;
    size_t bytes = (size_t)points->columns * sizeof *centre;
    int32_t chunk = 0, last = 0;
    double passed = 0;
    for (; chunk < chunks->count; passed += choice->sums[chunk++]) {
        if (passed + choice->sums[chunk] > target)
            break;
        if (choice->sums[chunk] > 0)
            last = chunk;
    }
    if (chunk == chunks->count)
        chunk = last;
    if (chunk >= chunks->low && chunk < chunks->high) {
        int64_t row = choice->first +
                      pick(choice->distance,
                           pri_chunk_start(chunks, chunk) - choice->first,
                           pri_chunk_start(chunks, chunk + 1) - choice->first,
                           passed, target);
        memcpy(centre, pri_points_row(points, row), bytes);
    }
    if (crew != NULL)
        crew->spread(crew->context, owner_of(choice, chunk), centre, bytes);
}

enum pricer_status pri_plus_plus(const struct pri_points *points,
                                 int32_t clusters, uint64_t seed,
                                 int32_t stream, int32_t threads,
                                 float *centres)
{
    struct pricer_random random;
    struct choice choice = {.points = points,
                            .chunks = pri_points_chunks(points)};
    choice.first = pri_chunk_start(&choice.chunks, choice.chunks.low);
    const int64_t columns = points->columns,
                  rows = pri_chunk_start(&choice.chunks, choice.chunks.high) -
                         choice.first;
    double *distance = pri_alloc(rows, sizeof *distance);
    pricer_random_replay(&random, seed, PRICER_PURPOSE_DATA, 0, stream,
                         PRI_KMEANS_PLUS_PLUS);
    if (distance == NULL)
        return PRICER_MEMORY;
    choice.distance = distance;
    for (int64_t row = 0; row < rows; row++)
        distance[row] = 1; /* the first is uniform */
    for (int32_t k = 0; k < clusters; k++) {
        float *centre = centres + k * columns;
        double total = sum_distances(&choice);
        choose(&choice, uniform(&random) * total, centre);
        choice.centre = centre;
        choice.begun = k > 0;
        pri_share_out(rows * columns < SMALL ? 1 : threads, rows, come_nearer,
                      &choice);
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

/* A rank's rows of a file are those of its chunks. */
static void choose_slice(struct pri_rows_wanted *part)
{
    struct pri_chunks own = pri_chunks_of(part->rows, part->rank, part->ranks);
    part->first = pri_chunk_start(&own, own.low);
    part->last = pri_chunk_start(&own, own.high);
}

enum pricer_status pricer_kmeans_read(const char *path, bool unit_norm,
                                      const struct pricer_crew *crew,
                                      struct pricer_matrix **points,
                                      int64_t *rows, struct pricer_fault *fault)
{
    struct pri_rows_wanted part = {.choose = choose_slice, .ranks = 1};
    struct pricer_matrix *data = NULL;
    if (crew != NULL) {
        part.rank = crew->rank;
        part.ranks = crew->ranks;
    }
    enum pricer_status status = pri_matrix_read_part(path, &part, &data, fault);
    if (status == PRICER_OK)
        status = pricer_kmeans_points(data, unit_norm, points, fault);
    if (status == PRICER_OK)
        *rows = part.rows;
    pricer_matrix_free(data);
    return status;
}

/* What K-means cannot work with, in words. */
enum pricer_status pri_kmeans_check(const struct pricer_matrix *points,
                                    int64_t rows, int32_t clusters,
                                    struct pricer_fault *fault)
{
    if (points->element != PRICER_FLOAT32)
        return pri_fault(fault, PRICER_VALUE,
                         "K-means takes points in single precision");
    if (clusters < 1 || clusters > rows)
        return pri_fault(fault, PRICER_VALUE,
                         "%d clusters of %lld points: there must be at least "
                         "one, and no more than points",
                         (int)clusters, (long long)rows);
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
    struct pri_points view = {.values = points->values,
                              .rows = points->rows,
                              .columns = points->columns};
    enum pricer_status status =
        pri_kmeans_check(points, points->rows, clusters, fault);
    if (status != PRICER_OK)
        return status;
    return pri_plus_plus(&view, clusters, seed, 0, pri_kmeans_threads(threads),
                         centres);
}

/* So many steps from `centres`; their inertia. */
static enum pricer_status descend(const struct pri_points *view,
                                  int32_t clusters, int32_t steps,
                                  int32_t threads, float *centres,
                                  double *inertia)
{
    struct pri_lloyd *lloyd = NULL;
    enum pricer_status status = pri_lloyd_new(view, clusters, &lloyd);
    if (status != PRICER_OK)
        return status;
    for (int32_t step = 0; step < steps; step++) {
        pri_lloyd_assign(lloyd, centres, threads);
        pri_lloyd_move(lloyd, threads, centres);
    }
    pri_lloyd_assign(lloyd, centres, threads);
    *inertia = pri_lloyd_inertia(lloyd, centres, threads);
    pri_lloyd_free(lloyd);
    return PRICER_OK;
}

enum pricer_status pricer_kmeans_lloyd(
    const struct pricer_matrix *points, int32_t clusters, int32_t steps,
    int32_t threads, const struct pricer_kmeans_result *result,
    struct pricer_fault *fault)
{
    struct pri_points view = {.values = points->values,
                              .rows = points->rows,
                              .columns = points->columns};
    enum pricer_status status =
        pri_kmeans_check(points, points->rows, clusters, fault);
    if (status != PRICER_OK)
        return status;
    return descend(&view, clusters, steps, pri_kmeans_threads(threads),
                   result->centres, result->inertia);
}

struct pri_points pri_points_of(const struct pricer_matrix *points,
                                const struct pricer_kmeans_settings *settings)
{
    struct pri_points view = {.values = points->values,
                              .rows = points->rows,
                              .columns = points->columns,
                              .crew = settings->crew};
    if (view.crew != NULL) {
        view.rows = settings->rows;
        struct pri_chunks own = pri_points_chunks(&view);
        view.first = pri_chunk_start(&own, own.low);
    }
    return view;
}

enum pricer_status pricer_kmeans_reference(
    const struct pricer_matrix *points,
    const struct pricer_kmeans_settings *settings, int32_t starts,
    double *inertia, struct pricer_fault *fault)
{
    struct pri_points view = pri_points_of(points, settings);
    const int32_t threads = pri_kmeans_threads(settings->threads);
    double best = INFINITY, one = 0;
    enum pricer_status status =
        pri_kmeans_check(points, view.rows, settings->clusters, fault);
    if (status != PRICER_OK)
        return status;
    float *centres =
        pri_alloc(settings->clusters * view.columns, sizeof *centres);
    if (centres == NULL)
        return PRICER_MEMORY;
    for (int32_t start = 0; start < starts && status == PRICER_OK; start++) {
        status = pri_plus_plus(&view, settings->clusters, (uint64_t)start, 0,
                               threads, centres);
        if (status == PRICER_OK)
            status = descend(&view, settings->clusters, settings->steps,
                             threads, centres, &one);
        best = fmin(best, one);
        if (status == PRICER_OK &&
            !pri_crew_tick(view.crew, settings->watch, (start + 1.) / starts))
            status = PRICER_STOPPED;
    }
    free(centres);
    if (status == PRICER_OK)
        *inertia = best;
    return status;
}
