/*
 * What the files of K-means share: borrowed points, and the steps that the
 * distributed procedures repeat on every node.
 */
#ifndef PRICER_KMEANS_H
#define PRICER_KMEANS_H

#include "base/base.h"
#include "pricer_kmeans.h"

/* What the streams of made-up data are for, in place of a receiver. */
enum {
    PRI_KMEANS_PLUS_PLUS = -101, /* k-means++ draws; sender: the node */
    PRI_KMEANS_SPLIT = -102,     /* the node that gets a point */
    PRI_KMEANS_SPREAD = -103,    /* directions in which centres part */
};

/* Points in single precision, row after row; borrowed. Of a crew every rank
 * holds some of the rows, those of its chunks at least. */
struct pri_points {
    const float *values; /* from row `first` on */
    int64_t rows, columns;
    int64_t first;
    const struct pricer_crew *crew; /* NULL: all rows are here */
};

static inline const float *pri_points_row(const struct pri_points *points,
                                          int64_t row)
{
    return points->values + (row - points->first) * points->columns;
}

enum { PRI_KMEANS_CHUNKS = 16 };

/* The rows cut into chunks, at most PRI_KMEANS_CHUNKS whatever the number of
 * threads and ranks; a rank has chunks `low` to `high`, all without a crew. */
struct pri_chunks {
    int64_t rows;
    int32_t count, low, high;
};
struct pri_chunks pri_chunks_of(int64_t rows, int32_t rank, int32_t ranks);

static inline struct pri_chunks pri_points_chunks(
    const struct pri_points *points)
{
    const struct pricer_crew *crew = points->crew;
    return pri_chunks_of(points->rows, crew == NULL ? 0 : crew->rank,
                         crew == NULL ? 1 : crew->ranks);
}

static inline int64_t pri_chunk_start(const struct pri_chunks *chunks,
                                      int64_t chunk)
{
    return chunks->rows * chunk / chunks->count;
}

/* Complete an array of `count` items of which every rank has made its part, as
 * pri_share_start() divides them. */
void pri_complete(const struct pricer_crew *crew, void *items, size_t size,
                  int32_t count);

/*
 * Room for Lloyd's steps over the same points: the labels of the last step and
 * the sums of each cluster, kept by a fixed number of chunks so that no result
 * depends on the number of threads.
 */
struct pri_lloyd {
    struct pri_points points;
    struct pri_chunks chunks;
    int32_t clusters;
    int64_t block;    /* rows of one product */
    int32_t *label;   /* [rows of this rank's chunks]; -1: none yet */
    float *half;      /* [clusters] |centre|^2 / 2 */
    float *product;   /* [chunks * block * clusters] <point, centre> */
    double *sum;      /* [chunks * clusters * columns] of the points */
    int64_t *size;    /* [chunks * clusters] how many points */
    double *distance; /* [chunks] squared distances to the centres, added up */
    struct pri_team *team; /* from the first pass on more than one thread on */
};

enum pricer_status pri_lloyd_new(const struct pri_points *points,
                                 int32_t clusters, struct pri_lloyd **lloyd);
void pri_lloyd_free(struct pri_lloyd *lloyd);

/* Label every point with its nearest centre (of equals the first) and bring
 * sums and sizes up to date. */
void pri_lloyd_assign(struct pri_lloyd *lloyd, const float *centres,
                      int32_t threads);

/* The sums and the sizes of the clusters, over all chunks in their order. */
void pri_lloyd_sums(struct pri_lloyd *lloyd, int32_t threads, double *sum,
                    int64_t *size);

/* Move every centre to the mean of its points; one without points stays. */
void pri_lloyd_move(struct pri_lloyd *lloyd, int32_t threads, float *centres);

/* The sum of squared distances to the centres the points are labelled with. */
double pri_lloyd_inertia(struct pri_lloyd *lloyd, const float *centres,
                         int32_t threads);

/* The points of the public functions: all, or a rank's slice. */
struct pri_points pri_points_of(const struct pricer_matrix *points,
                                const struct pricer_kmeans_settings *settings);

/* k-means++: the first centre uniform, each further one a point with
 * probability proportional to its squared distance from the nearest. */
enum pricer_status pri_plus_plus(const struct pri_points *points,
                                 int32_t clusters, uint64_t seed,
                                 int32_t stream, int32_t threads,
                                 float *centres);

/* Deal points in single precision to nodes, one after the other in `dealt`:
 * shuffled (Fisher-Yates), or as they come. */
enum pricer_status pri_deal(const struct pricer_matrix *points, uint64_t seed,
                            bool in_order, float *dealt);

/* The same where every rank has a slice of the points: rank r gets the dealt
 * rows from low[r] to high[r]. */
enum pricer_status pri_deal_slices(const struct pri_points *points,
                                   uint64_t seed, bool in_order,
                                   const int64_t *low, const int64_t *high,
                                   float *dealt);

/* |a - b|^2. */
double pri_square_distance(const float *a, const float *b, int64_t columns);

/* `rows` in all. */
enum pricer_status pri_kmeans_check(const struct pricer_matrix *points,
                                    int64_t rows, int32_t clusters,
                                    struct pricer_fault *fault);

/* Threads to use where 0 asks for one per core. */
int32_t pri_kmeans_threads(int32_t threads);

#endif
