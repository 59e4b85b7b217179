/*
 * What the rounds of distributed K-means and its procedures share.
 */
#ifndef PRICER_KMEANS_RUN_H
#define PRICER_KMEANS_RUN_H

#include "kmeans.h"
#include "decode/decode.h"
#include "forward/forward.h"

#include <math.h>

enum { PRI_KMEANS_BLOCKS = 16 }; /* of nodes, at most */

struct pri_kmeans;

/* What a message says, and what the server makes of the sum of them. */
struct pri_kmeans_procedure {
    /* Prepare, before the first round; may be NULL. */
    void (*open)(struct pri_kmeans *run);
    /* How many numbers a message of the coming round has. */
    int64_t (*length)(const struct pri_kmeans *run);
    /* Write the message of a node. Called in parallel. */
    enum pricer_status (*speak)(const struct pri_kmeans *run, int64_t round,
                                int32_t node, double *message);
    /* Turn run->sum into new centres. */
    void (*hear)(struct pri_kmeans *run, int64_t round);
};

struct pri_kmeans {
    const struct pricer_network *network;
    const struct pricer_plan *plan; /* of sums, or NULL */
    const struct pri_kmeans_procedure *procedure;
    struct pricer_kmeans_settings settings; /* defaults filled in */
    int32_t nodes, clusters, threads;
    double radius;            /* no point and no message is longer */
    struct pri_points points; /* node after node */
    float *dealt;             /* [rows * columns] the memory of the points */
    struct pri_lloyd *all;    /* all points, to measure the inertia */
    float *centres;           /* [clusters * columns] as broadcast */
    struct pri_means means;   /* the rounds: who is heard, and the noise */
    int32_t groups;           /* parts of a message that travel by themselves */
    double *weights;          /* [groups * nodes] of the messages in the sum */
    double *variances;        /* [groups] of the noise in it */
    struct pricer_receiver *receiver; /* NULL: every sum counts 1/n */
    bool *held;                       /* [links] shares in their sums */
    double *coefficient;              /* [nodes] of the sums */
    int64_t longest;                  /* numbers of the longest message */
    int32_t blocks;  /* of nodes: what threads and ranks share */
    double *message; /* [blocks * longest] */
    struct pri_team *team;
    double *block_sum; /* [blocks * longest] of the messages of each */
    double *sum;       /* [longest] what the server has received */

    /* What the server keeps between rounds (pricer's procedure). */
    double *kept;         /* [longest] sums and shares of earlier rounds */
    double kept_variance; /* of the noise in each number of `kept` */
    double *mean;         /* [columns] */
    bool initialised;     /* the centres are common and apart */
    int32_t initial_node; /* whose centres are the first; -1: the mean's */
};

/* The part of the points that a node holds. */
struct pri_points pri_kmeans_part(const struct pri_kmeans *run, int32_t node);

/* Lloyd's steps on a node's own points. `size` may be NULL. */
enum pricer_status pri_kmeans_local(const struct pri_kmeans *run, int32_t node,
                                    const float *start, float *centres,
                                    int64_t *size);

/* Ours, and its initial rounds. */
extern const struct pri_kmeans_procedure pri_kmeans_ours;
void pri_initial_choose(struct pri_kmeans *run);
int64_t pri_initial_length(const struct pri_kmeans *run);
enum pricer_status pri_initial_speak(const struct pri_kmeans *run, int32_t node,
                                     double *message);
void pri_initial_hear(struct pri_kmeans *run, int64_t round);

/* A centre next to another place, in a direction that everyone knows. */
void pri_spread_centre(struct pri_kmeans *run, int64_t round, int32_t k,
                       const float *from);

const struct pri_kmeans_procedure *pri_kmeans_procedure(
    enum pricer_kmeans_procedure procedure);

void pri_kmeans_defaults(struct pricer_kmeans_settings *settings);

/* --------------------------------------------------------------- vectors -- */

static inline double pri_square(const double *vector, int64_t count)
{
    double total = 0;
    for (int64_t d = 0; d < count; d++)
        total += vector[d] * vector[d];
    return total;
}

static inline void pri_scale(double factor, double *vector, int64_t count)
{
    for (int64_t d = 0; d < count; d++)
        vector[d] *= factor;
}

/* Shorten a vector to at most `length`. */
static inline void pri_cut(double length, double *vector, int64_t count)
{
    double size = sqrt(pri_square(vector, count));
    if (size > length)
        pri_scale(length / size, vector, count);
}

/* The share of a squared length that is not noise. */
static inline double pri_shrinkage(double size, double noise)
{
    return size > noise ? 1 - noise / size : 0;
}

#endif
