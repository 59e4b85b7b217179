/*
 * K-means over data that is spread over the nodes of a network.
 */
#ifndef PRICER_KMEANS_PUBLIC_H
#define PRICER_KMEANS_PUBLIC_H

#include "pricer.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The points of a data file, in single precision as K-means takes them; with
 * unit_norm each is divided by its length (a point at the origin stays there).
 */
PRICER_API enum pricer_status pricer_kmeans_points(
    const struct pricer_matrix *data, bool unit_norm,
    struct pricer_matrix **points, struct pricer_fault *fault);

/*
 * The same from a file, by a crew: every rank reads and holds its slice of the
 * rows; *rows is how many there are in all. NULL: all of them.
 */
PRICER_API enum pricer_status pricer_kmeans_read(
    const char *path, bool unit_norm, const struct pricer_crew *crew,
    struct pricer_matrix **points, int64_t *rows, struct pricer_fault *fault);

/* A k-means++ start: centres has room for clusters * columns numbers. The same
 * for the same seed. O(clusters * rows * columns). */
PRICER_API enum pricer_status pricer_kmeans_start(
    const struct pricer_matrix *points, int32_t clusters, uint64_t seed,
    int32_t threads, float *centres, struct pricer_fault *fault);

/* What is found, in the caller's arrays. */
struct pricer_kmeans_result {
    float *centres;  /* [clusters * columns] */
    double *inertia; /* sums of squared distances to the nearest centre */
};

/*
 * So many of Lloyd's steps from result->centres: label every point with its
 * nearest centre, move every centre to the mean of its points (one without
 * points stays). inertia[0] is that of the final centres. threads is 0 for one
 * per core; let OpenBLAS have one of its own (openblas_set_num_threads(1)), as
 * the work is divided here. O(steps * rows * columns * clusters).
 */
PRICER_API enum pricer_status pricer_kmeans_lloyd(
    const struct pricer_matrix *points, int32_t clusters, int32_t steps,
    int32_t threads, const struct pricer_kmeans_result *result,
    struct pricer_fault *fault);

/*
 * Two ways to cluster together.
 *
 * PAPER: every node starts from a k-means++ start of its own, sends its centres
 * and the server takes the mean of them index by index, as the paper does.
 * Centres of equal index mean the same cluster only from the second round on,
 * and what does not arrive pulls them towards the origin.
 *
 * PRICER: all nodes begin from one start: that of the node which is most likely
 * heard, or where no node is, or noise would drown it, the mean of all points
 * with centres spread around it in public directions. Then each node sends, for
 * each cluster, its share of points and how far their mean lies from the common
 * centre times that share, all as one vector of length at most the radius. The
 * server divides the sum of moves by the sum of shares: what arrives counts,
 * what does not arrive is missing from both. docs/mathematics.md has the
 * details.
 */
enum pricer_kmeans_procedure {
    PRICER_KMEANS_PRICER = 0,
    PRICER_KMEANS_PAPER,
};

struct pricer_forward_plan;

struct pricer_kmeans_settings {
    enum pricer_kmeans_procedure procedure;
    int32_t clusters;  /* 10 */
    int32_t rounds;    /* 10 */
    int32_t steps;     /* Lloyd's steps of a node in each round; 5 */
    uint64_t seed;     /* of split, starts, links and noise */
    bool in_order;     /* nodes get the points as they come, not shuffled */
    bool per_centroid; /* PAPER: links are drawn for every centre anew, not
                          once a round */
    bool last_only;    /* measure the inertia after the last round only */
    double reach;    /* length of a move, in radii, that fills a message; .05 */
    double spread;   /* of the shared start, in radii; 0.1 */
    int32_t threads; /* 0: one per core */
    const struct pricer_watch *watch; /* NULL: never asks */
    /* Of the plan's sums, fitted to the same network and plan; NULL: every sum
     * counts 1/n. */
    const struct pricer_decoder *decoder;
    /* In place of a plan of sums: nodes release their messages and relays pass
     * them on. For PRICER without a decoder, and a network whose dimension is
     * that of the task. NULL: none. */
    const struct pricer_forward_plan *forward;
    /* Who takes part, each with the slice of the points that
     * pricer_kmeans_read() gave it, of so many rows; NULL: nobody else. */
    const struct pricer_crew *crew;
    int64_t rows;
};

/*
 * K-means in one place, to compare with: the least inertia that
 * settings->steps of Lloyd's steps reach from `starts` k-means++ starts. Of the
 * settings clusters, steps, threads, watch, crew and rows count.
 */
PRICER_API enum pricer_status pricer_kmeans_reference(
    const struct pricer_matrix *points,
    const struct pricer_kmeans_settings *settings, int32_t starts,
    double *inertia, struct pricer_fault *fault);

/*
 * What the network has to carry: the numbers of one message, the longest it can
 * be, and how many messages of that kind a node sends on each link in all. Plan
 * with these in place of the network's dimension and radius and with settings
 * for `rounds` rounds, and (eps, delta) of every link holds for the whole run.
 *
 * Claim: a message of PRICER lies in a ball of the radius, whatever the data,
 * hence changing all points of a node moves it by at most 2 radii, as the
 * planner assumes; a run is `rounds` Gaussian messages with fresh noise, each
 * computed from public values (the centres as broadcast) and the node's data,
 * so the adaptive composition of Gaussian mechanisms applies and is exact. A
 * message of PAPER is `clusters` vectors, each within the radius: that many
 * more Gaussian releases. With settings->forward a run is `rounds` releases of a
 * node, whose composition is adaptive as well (docs/release.md, "Several rounds"),
 * and (eps, delta) holds towards everyone.
 */
struct pricer_kmeans_task {
    int64_t dimension;
    int64_t rounds;
};
PRICER_API void pricer_kmeans_task(
    const struct pricer_kmeans_settings *settings, int64_t columns,
    struct pricer_kmeans_task *task);

/*
 * Cluster points that are spread over the nodes of a network. Points longer
 * than the network's radius are not cut, but messages are. Without a plan
 * (NULL, and no settings->forward) every message arrives, bare. The result has room for one inertia a
 * round (NAN where not measured). The same seed gives the same result for any
 * number of threads.
 */
PRICER_API enum pricer_status pricer_kmeans_run(
    const struct pricer_matrix *points, const struct pricer_network *network,
    const struct pricer_plan *plan,
    const struct pricer_kmeans_settings *settings,
    const struct pricer_kmeans_result *result, struct pricer_fault *fault);

#ifdef __cplusplus
}
#endif
#endif
