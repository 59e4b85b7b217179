/*
 * The initial rounds of our procedure of distributed K-means: from the points
 * of the nodes to centres that all nodes share.
 *
 * Where one node is likely to be heard and the noise leaves its centres
 * recognisable, these are the first: k-means++ and a few of Lloyd's steps on
 * its own points, sent as shares and share-weighted centres, while the others
 * send only noise. Everywhere else all nodes send the mean of their points, and
 * the server puts the centres around it in directions drawn from the public
 * seed. The choice depends on the plan alone, so it shows nothing about data. A
 * round in which nothing is heard is repeated.
 */
#include "run.h"

#include <stdlib.h>
#include <string.h>

static const double likely = 0.5;     /* least probability to be heard */
static const double tolerable = 0.25; /* squared noise per squared radius */

/* ---------------------------------------------------------------- choice -- */

void pri_initial_choose(struct pri_kmeans *run)
{
    run->initial_node = 0;
    if (pri_scheme_perfect(&run->means.scheme))
        return;
    double most = 0, weight = 0;
    for (int32_t i = 0; i < run->nodes; i++) {
        double own, p = pri_means_heard(&run->means, i, &own);
        if (p > most) {
            most = p;
            weight = own;
            run->initial_node = i;
        }
    }
    /* A centre is received with share 1 / clusters of the weight. */
    double unit = weight * run->radius / run->clusters;
    double noise = (double)run->points.columns * run->means.variance;
    if (most < likely || noise > tolerable * unit * unit)
        run->initial_node = -1;
}

int64_t pri_initial_length(const struct pri_kmeans *run)
{
    return run->initial_node >= 0 ? run->longest : run->points.columns + 1;
}

/* -------------------------------------------------------------- messages -- */

static void speak_mean(const struct pri_kmeans *run, int32_t node,
                       double *message)
{
    struct pri_points part = pri_kmeans_part(run, node);
    memset(message, 0, (size_t)part.columns * sizeof *message);
    for (int64_t r = 0; r < part.rows; r++)
        for (int64_t d = 0; d < part.columns; d++)
            message[d] += part.values[r * part.columns + d];
    pri_scale(1 / ((double)part.rows * run->radius), message, part.columns);
    message[part.columns] = 1;
}

/* The initial node's centres, each times its share; the others send 0. */
static enum pricer_status speak_centres(const struct pri_kmeans *run,
                                        int32_t node, double *message)
{
    struct pri_points part = pri_kmeans_part(run, node);
    memset(message, 0, (size_t)run->longest * sizeof *message);
    if (node != run->initial_node)
        return PRICER_OK;
    float *centres = pri_alloc(run->clusters * part.columns, sizeof *centres);
    int64_t *size = pri_alloc(run->clusters, sizeof *size);
    enum pricer_status status = PRICER_MEMORY;
    if (centres != NULL && size != NULL)
        status = pri_plus_plus(&part, run->clusters, run->settings.seed, node,
                               1, centres);
    if (status == PRICER_OK)
        status = pri_kmeans_local(run, node, centres, centres, size);
    for (int32_t k = 0; k < run->clusters && status == PRICER_OK; k++) {
        double share = (double)size[k] / (double)part.rows;
        message[run->clusters * part.columns + k] = share;
        for (int64_t c = k * part.columns; c < (k + 1) * part.columns; c++)
            message[c] = share * centres[c] / run->radius;
    }
    free(centres);
    free(size);
    return status;
}

enum pricer_status pri_initial_speak(const struct pri_kmeans *run, int32_t node,
                                     double *message)
{
    if (run->initial_node >= 0)
        return speak_centres(run, node, message);
    speak_mean(run, node, message);
    return PRICER_OK;
}

/* ---------------------------------------------------------------- server -- */

void pri_spread_centre(struct pri_kmeans *run, int64_t round, int32_t k,
                       const float *from)
{
    const int64_t columns = run->points.columns;
    float *centre = run->centres + k * columns;
    double length =
        run->settings.spread * run->radius * sqrt(3. / (double)columns);
    struct pricer_random random;
    pricer_random_replay(&random, run->settings.seed, PRICER_PURPOSE_DATA,
                         round, k, PRI_KMEANS_SPREAD);
    for (int64_t d = 0; d < columns; d++) {
        double side = (double)(pricer_random_word(&random) >> 11) * 0x1p-52 - 1;
        centre[d] = (float)(from[d] + length * side);
    }
}

/* The mean, if it rises above its noise; else the next round tries again. */
static void hear_mean(struct pri_kmeans *run, int64_t round)
{
    const int64_t columns = run->points.columns;
    double heard = run->sum[columns] / run->radius;
    double deviation = sqrt(run->means.whole.expected) / run->radius;
    if (heard <= 4 * deviation || heard <= 1e-9 * run->nodes)
        return;
    double keep = pri_shrinkage(pri_square(run->sum, columns),
                                (double)columns * run->means.whole.expected);
    float *centre = run->centres;
    for (int64_t d = 0; d < columns; d++)
        centre[d] = (float)(keep * run->sum[d] / heard);
    for (int32_t k = run->clusters - 1; k >= 0; k--)
        pri_spread_centre(run, round, k, run->centres);
    run->initialised = true;
}

/* The initial node's centres, those whose share rises above the noise; the
 * others are put next to the largest. */
static void hear_centres(struct pri_kmeans *run, int64_t round)
{
    const int64_t columns = run->points.columns;
    const double *share = run->sum + run->clusters * columns;
    const double least =
        fmax(4 * sqrt(run->means.whole.expected), 1e-9 * run->radius);
    int32_t largest = 0;
    for (int32_t k = 1; k < run->clusters; k++)
        largest = share[k] > share[largest] ? k : largest;
    if (share[largest] <= least)
        return;
    for (int32_t k = 0; k < run->clusters; k++)
        for (int64_t c = k * columns; c < (k + 1) * columns; c++)
            if (share[k] > least)
                run->centres[c] = (float)(run->sum[c] / share[k] * run->radius);
    for (int32_t k = 0; k < run->clusters; k++)
        if (share[k] <= least)
            pri_spread_centre(run, round, k, run->centres + largest * columns);
    run->initialised = true;
}

void pri_initial_hear(struct pri_kmeans *run, int64_t round)
{
    if (run->initial_node >= 0)
        hear_centres(run, round);
    else
        hear_mean(run, round);
}
