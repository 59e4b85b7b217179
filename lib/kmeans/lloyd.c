/*
 * From points and centres to better centres: Lloyd's steps and k-means++.
 *
 * The nearest centre of x minimises |c|^2 / 2 - <x, c>, so one product of a
 * block of points with all centres labels the block and reads each point once.
 * The sums of the clusters are kept from step to step and only points that
 * changed their cluster are moved between them: after the first few steps few
 * do. They are kept in double precision, so that taking a point out again
 * leaves no trace beyond the last digits.
 *
 * The points are cut into chunks, as many whatever the number of threads and
 * ranks. A chunk is the unit of work and owns its sums; chunks are added in
 * their order, after the ranks have told each other theirs.
 */
#include "kmeans.h"
#include "random/random.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 256, /* rows a product: enough to pay for packing the centres */
    TEAM = 64,   /* threads at most */
    RANGES = 16, /* parts of what is done for all clusters */
    WIDE = 16,   /* partial sums, so that strict arithmetic vectorises */
};

int32_t pri_kmeans_threads(int32_t threads)
{
    return pri_threads(threads, INT64_MAX);
}

/* --------------------------------------------------------------- vectors -- */

PRI_CLONES
static double square_distance(const float *a, const float *b, int64_t columns)
{
    float part[WIDE] = {0};
    int64_t d = 0;
    for (; d + WIDE <= columns; d += WIDE)
        for (int w = 0; w < WIDE; w++) {
            float apart = a[d + w] - b[d + w];
            part[w] += apart * apart;
        }
    double total = 0;
    for (; d < columns; d++)
        total += ((double)a[d] - b[d]) * ((double)a[d] - b[d]);
    for (int w = 0; w < WIDE; w++)
        total += part[w];
    return total;
}

double pri_square_distance(const float *a, const float *b, int64_t columns)
{
    return square_distance(a, b, columns);
}

/* to += row, from -= row; either may be NULL. */
PRI_CLONES
static void move_row(const float *restrict row, int64_t columns,
                     double *restrict to, double *restrict from)
{
    if (from != NULL)
        for (int64_t d = 0; d < columns; d++)
            from[d] -= row[d];
    if (to != NULL)
        for (int64_t d = 0; d < columns; d++)
            to[d] += row[d];
}

/* ---------------------------------------------------------------- chunks -- */

struct pri_chunks pri_chunks_of(int64_t rows, int32_t rank, int32_t ranks)
{
    int64_t count = (rows + BLOCK - 1) / BLOCK;
    if (count > PRI_KMEANS_CHUNKS)
        count = PRI_KMEANS_CHUNKS;
    return (struct pri_chunks){
        rows, (int32_t)count, (int32_t)pri_share_start(count, rank, ranks),
        (int32_t)pri_share_start(count, rank + 1, ranks)};
}

void pri_complete(const struct pricer_crew *crew, void *items, size_t size,
                  int32_t count)
{
    for (int32_t r = 0; crew != NULL && r < crew->ranks; r++) {
        int64_t low = pri_share_start(count, r, crew->ranks);
        int64_t high = pri_share_start(count, r + 1, crew->ranks);
        if (high > low)
            crew->spread(crew->context, r, (char *)items + (size_t)low * size,
                         (size_t)(high - low) * size);
    }
}

enum pricer_status pri_lloyd_new(const struct pri_points *points,
                                 int32_t clusters, struct pri_lloyd **lloyd)
{
    struct pri_chunks own = pri_points_chunks(points);
    int64_t chunks = own.count;
    int64_t rows =
        pri_chunk_start(&own, own.high) - pri_chunk_start(&own, own.low);
    struct pri_lloyd *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->points = *points;
    made->clusters = clusters;
    made->chunks = own;
    made->block = BLOCK;
    made->label = pri_alloc(rows, sizeof *made->label);
    made->half = pri_alloc(clusters, sizeof *made->half);
    made->product = pri_alloc(chunks * BLOCK * clusters, sizeof *made->product);
    made->sum =
        pri_alloc(chunks * clusters * points->columns, sizeof *made->sum);
    made->size = pri_alloc(chunks * clusters, sizeof *made->size);
    made->distance = pri_alloc(chunks, sizeof *made->distance);
    if (made->label == NULL || made->half == NULL || made->product == NULL ||
        made->sum == NULL || made->size == NULL || made->distance == NULL) {
        pri_lloyd_free(made);
        return PRICER_MEMORY;
    }
    memset(made->label, -1, (size_t)rows * sizeof *made->label);
    *lloyd = made;
    return PRICER_OK;
}

void pri_lloyd_free(struct pri_lloyd *lloyd)
{
    if (lloyd == NULL)
        return;
    free(lloyd->label);
    free(lloyd->half);
    free(lloyd->product);
    free(lloyd->sum);
    free(lloyd->size);
    free(lloyd->distance);
    pri_team_free(lloyd->team);
    free(lloyd);
}

/* The nearest centre of one point, from its products with all of them. */
static int32_t nearest(const float *product, const float *half,
                       int32_t clusters)
{
    int32_t best = 0;
    float least = half[0] - product[0];
    for (int32_t k = 1; k < clusters; k++)
        if (half[k] - product[k] < least) {
            least = half[k] - product[k];
            best = k;
        }
    return best;
}

/* Move a point of a chunk to cluster `now`, if it is not there. */
static void relabel(struct pri_lloyd *lloyd, int32_t chunk, int64_t row,
                    int32_t now)
{
    const int64_t columns = lloyd->points.columns;
    double *sum = lloyd->sum + (int64_t)chunk * lloyd->clusters * columns;
    int64_t *size = lloyd->size + (int64_t)chunk * lloyd->clusters;
    int32_t *label =
        lloyd->label + row - pri_chunk_start(&lloyd->chunks, lloyd->chunks.low);
    int32_t before = *label;
    if (now == before)
        return;
    move_row(pri_points_row(&lloyd->points, row), columns, sum + now * columns,
             before >= 0 ? sum + before * columns : NULL);
    size[now]++;
    if (before >= 0)
        size[before]--;
    *label = now;
}

/* Label the points of a chunk, block by block. */
static void assign_chunk(struct pri_lloyd *lloyd, const float *centres,
                         int32_t chunk)
{
    const int64_t columns = lloyd->points.columns,
                  last = pri_chunk_start(&lloyd->chunks, chunk + 1);
    const int32_t clusters = lloyd->clusters;
    float *product = lloyd->product + chunk * lloyd->block * clusters;
    for (int64_t row = pri_chunk_start(&lloyd->chunks, chunk); row < last;
         row += lloyd->block) {
        int64_t rows = last - row < lloyd->block ? last - row : lloyd->block;
        const float *block = pri_points_row(&lloyd->points, row);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows,
                    clusters, (int)columns, 1, block, (int)columns, centres,
                    (int)columns, 0, product, clusters);
        for (int64_t r = 0; r < rows; r++)
            relabel(lloyd, chunk, row + r,
                    nearest(product + r * clusters, lloyd->half, clusters));
    }
}

/* A pass over chunks or clusters that threads share. */
struct pass {
    struct pri_lloyd *lloyd;
    const float *centres;
    float *moved;
    double *sum;
    int32_t parts;
};

/* Do the parts on so many threads, which the steps to come will find awake; a
 * pass without a team is the caller's. */
static void run_pass(struct pass *pass, int32_t threads,
                     void (*job)(void *context, int32_t part))
{
    struct pri_lloyd *lloyd = pass->lloyd;
    if (threads > 1 && lloyd->team == NULL)
        lloyd->team = pri_team_new(threads < TEAM ? threads : TEAM);
    if (threads > 1 && lloyd->team != NULL)
        pri_team_run(lloyd->team, pass->parts, job, pass);
    else
        for (int32_t part = 0; part < pass->parts; part++)
            job(pass, part);
}

static void assign_part(void *context, int32_t part)
{
    struct pass *pass = context;
    assign_chunk(pass->lloyd, pass->centres, pass->lloyd->chunks.low + part);
}

void pri_lloyd_assign(struct pri_lloyd *lloyd, const float *centres,
                      int32_t threads)
{
    const int64_t columns = lloyd->points.columns;
    for (int32_t k = 0; k < lloyd->clusters; k++) {
        double square = 0;
        for (int64_t d = 0; d < columns; d++)
            square +=
                (double)centres[k * columns + d] * centres[k * columns + d];
        lloyd->half[k] = (float)(square / 2);
    }
    struct pass pass = {.lloyd = lloyd,
                        .centres = centres,
                        .parts = lloyd->chunks.high - lloyd->chunks.low};
    run_pass(&pass, threads, assign_part);
}

/* The sums and sizes of the other ranks' chunks. */
static void complete(struct pri_lloyd *lloyd)
{
    const struct pri_points *points = &lloyd->points;
    size_t entries = (size_t)lloyd->clusters * (size_t)points->columns;
    pri_complete(points->crew, lloyd->sum, entries * sizeof *lloyd->sum,
                 lloyd->chunks.count);
    pri_complete(points->crew, lloyd->size,
                 (size_t)lloyd->clusters * sizeof *lloyd->size,
                 lloyd->chunks.count);
}

/* The sums of a range of the clusters' entries, over all chunks. */
static void sum_part(void *context, int32_t part)
{
    struct pass *pass = context;
    const struct pri_lloyd *lloyd = pass->lloyd;
    const int64_t entries = lloyd->clusters * lloyd->points.columns;
    for (int64_t c = pri_share_start(entries, part, pass->parts);
         c < pri_share_start(entries, part + 1, pass->parts); c++) {
        double total = 0;
        for (int32_t chunk = 0; chunk < lloyd->chunks.count; chunk++)
            total += lloyd->sum[chunk * entries + c];
        pass->sum[c] = total;
    }
}

static int64_t size_of(const struct pri_lloyd *lloyd, int32_t cluster)
{
    int64_t size = 0;
    for (int32_t chunk = 0; chunk < lloyd->chunks.count; chunk++)
        size += lloyd->size[chunk * lloyd->clusters + cluster];
    return size;
}

void pri_lloyd_sums(struct pri_lloyd *lloyd, int32_t threads, double *sum,
                    int64_t *size)
{
    complete(lloyd);
    for (int32_t k = 0; k < lloyd->clusters; k++)
        size[k] = size_of(lloyd, k);
    run_pass(&(struct pass){.lloyd = lloyd, .sum = sum, .parts = RANGES},
             threads, sum_part);
}

/* Move a range of the centres. */
static void move_part(void *context, int32_t part)
{
    struct pass *pass = context;
    const struct pri_lloyd *lloyd = pass->lloyd;
    const int64_t columns = lloyd->points.columns,
                  entries = lloyd->clusters * columns;
    int64_t last = pri_share_start(lloyd->clusters, part + 1, pass->parts);
    for (int64_t k = pri_share_start(lloyd->clusters, part, pass->parts);
         k < last; k++) {
        int64_t size = size_of(lloyd, (int32_t)k);
        for (int64_t d = 0; d < columns && size > 0; d++) {
            double total = 0;
            for (int32_t chunk = 0; chunk < lloyd->chunks.count; chunk++)
                total += lloyd->sum[chunk * entries + k * columns + d];
            pass->moved[k * columns + d] = (float)(total / (double)size);
        }
    }
}

void pri_lloyd_move(struct pri_lloyd *lloyd, int32_t threads, float *centres)
{
    complete(lloyd);
    run_pass(&(struct pass){.lloyd = lloyd, .moved = centres, .parts = RANGES},
             threads, move_part);
}

static void measure_part(void *context, int32_t part)
{
    struct pass *pass = context;
    struct pri_lloyd *lloyd = pass->lloyd;
    const struct pri_chunks *chunks = &lloyd->chunks;
    const int64_t columns = lloyd->points.columns,
                  first = pri_chunk_start(chunks, chunks->low);
    int32_t chunk = chunks->low + part;
    double total = 0;
    for (int64_t row = pri_chunk_start(chunks, chunk);
         row < pri_chunk_start(chunks, chunk + 1); row++)
        total += pri_square_distance(
            pri_points_row(&lloyd->points, row),
            pass->centres + lloyd->label[row - first] * columns, columns);
    lloyd->distance[chunk] = total;
}

double pri_lloyd_inertia(struct pri_lloyd *lloyd, const float *centres,
                         int32_t threads)
{
    const struct pri_chunks *chunks = &lloyd->chunks;
    struct pass pass = {.lloyd = lloyd,
                        .centres = centres,
                        .parts = chunks->high - chunks->low};
    run_pass(&pass, threads, measure_part);
    pri_complete(lloyd->points.crew, lloyd->distance, sizeof *lloyd->distance,
                 chunks->count);
    double total = 0;
    for (int32_t chunk = 0; chunk < chunks->count; chunk++)
        total += lloyd->distance[chunk];
    return total;
}
