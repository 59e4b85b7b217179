/*
 * Our procedure of distributed K-means: what nodes send in a round and what the
 * server makes of it, once the centres are common (initial.c).
 *
 * The centres c_k are common knowledge. Node i moves them by a few of
 * Lloyd's steps on its own points, to c_ik with a share q_ik of its points, and
 * sends the vector
 *
 *     R pri_cut( q_i1 (c_i1 - c_1) / reach, ..., q_i1, ... ),
 *
 * where pri_cut() shortens it to length 1 if it is longer. The server receives
 * sums over the nodes with weights w_i >= 0 and moves c_k by
 *
 *     sum_i w_i q_ik (c_ik - c_k) / sum_i w_i q_ik,
 *
 * a weighted mean of what nodes propose whatever the links do: a node that is
 * not heard is missing above and below, and a factor that is common to all of
 * a message (a weight, the cut) cancels. Nothing heard is no move. So
 * intermittent links cost variance but pull nothing towards the origin, and
 * `reach` may be small: moves are shorter than points, and the noise they need
 * is less by the same factor.
 *
 * The noise in the received sums has a variance that the server knows. In so
 * many dimensions the squared length of a sum is its signal's plus d v up to
 * little, so each move is shortened by the positive-part James-Stein factor
 * 1 - d v / |sum|^2, and so are the differences between the shares. Sums are
 * also carried over to the next round with half their weight, moved along with
 * the centres. All of this is computed from what was released, hence free.
 */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double carry = 0.5; /* weight of the rounds before */

static enum pricer_status speak_moves(const struct pri_kmeans *run,
                                      int32_t node, double *message)
{
    const int64_t columns = run->points.columns,
                  rows = pri_kmeans_part(run, node).rows;
    float *centres = pri_alloc(run->clusters * columns, sizeof *centres);
    int64_t *size = pri_alloc(run->clusters, sizeof *size);
    double *share = message + run->clusters * columns;
    enum pricer_status status = PRICER_MEMORY;
    if (centres != NULL && size != NULL)
        status = pri_kmeans_local(run, node, run->centres, centres, size);
    for (int32_t k = 0; k < run->clusters && status == PRICER_OK; k++) {
        share[k] = (double)size[k] / (double)rows;
        double unit = share[k] / (run->settings.reach * run->radius);
        for (int64_t c = k * columns; c < (k + 1) * columns; c++)
            message[c] = unit * ((double)centres[c] - run->centres[c]);
    }
    free(centres);
    free(size);
    return status;
}

static int64_t pricer_length(const struct pri_kmeans *run)
{
    return run->initialised ? run->longest : pri_initial_length(run);
}

static enum pricer_status pricer_speak(const struct pri_kmeans *run,
                                       int64_t round, int32_t node,
                                       double *message)
{
    (void)round;
    enum pricer_status status = run->initialised
                                    ? speak_moves(run, node, message)
                                    : pri_initial_speak(run, node, message);
    if (status != PRICER_OK)
        return status;
    pri_cut(1, message, pricer_length(run));
    pri_scale(run->radius, message, pricer_length(run));
    return PRICER_OK;
}

/* Draw noisy shares of the clusters together, as far as noise explains that
 * they differ. */
static double settle_shares(const struct pri_kmeans *run, double *share)
{
    const int32_t clusters = run->clusters;
    double mean = 0, squares = 0;
    for (int32_t k = 0; k < clusters; k++)
        mean += share[k] / clusters;
    for (int32_t k = 0; k < clusters; k++)
        squares += (share[k] - mean) * (share[k] - mean);
    double keep = pri_shrinkage(squares, (clusters - 1) * run->kept_variance);
    for (int32_t k = 0; k < clusters; k++)
        share[k] = mean + keep * (share[k] - mean);
    return mean;
}

/* Move one centre, and what is kept of its sums along with it. */
static void move_centre(struct pri_kmeans *run, int32_t k, double share)
{
    const int64_t columns = run->points.columns;
    const double unit = run->settings.reach * run->radius;
    float *centre = run->centres + k * columns;
    double *sum = run->kept + k * columns;
    double keep = pri_shrinkage(pri_square(sum, columns),
                                (double)columns * run->kept_variance);
    for (int64_t d = 0; d < columns; d++) {
        float moved = (float)(centre[d] + keep * unit * sum[d] / share);
        sum[d] -= share * ((double)moved - centre[d]) / unit;
        centre[d] = moved;
    }
}

/* Add what arrived to what is kept, then move every centre that has a share. */
static void hear_moves(struct pri_kmeans *run, int64_t round)
{
    const int64_t columns = run->points.columns, entries = run->longest;
    double *share = run->kept + run->clusters * columns;
    for (int64_t c = 0; c < entries; c++)
        run->kept[c] = carry * run->kept[c] + run->sum[c] / run->radius;
    run->kept_variance =
        carry * carry * run->kept_variance +
        run->means.whole.expected / (run->radius * run->radius);
    double mean = settle_shares(run, share);
    if (mean <= 1e-9 * run->nodes)
        return;
    int32_t largest = 0;
    for (int32_t k = 1; k < run->clusters; k++)
        largest = share[k] > share[largest] ? k : largest;
    for (int32_t k = 0; k < run->clusters; k++) {
        if (share[k] > 0.1 * mean) {
            move_centre(run, k, share[k]);
        } else if (round + 2 < run->settings.rounds) {
            /* Nobody is there: help the largest cluster to split. */
            pri_spread_centre(run, round, k, run->centres + largest * columns);
            memset(run->kept + k * columns, 0,
                   (size_t)columns * sizeof *run->kept);
            share[k] = 0;
        }
    }
}

static void pricer_hear(struct pri_kmeans *run, int64_t round)
{
    if (run->initialised)
        hear_moves(run, round);
    else
        pri_initial_hear(run, round);
}

const struct pri_kmeans_procedure pri_kmeans_ours = {
    pri_initial_choose, pricer_length, pricer_speak, pricer_hear};
