/*
 * What the engines of forwarding share: sums over those who arrive.
 */
#ifndef PRICER_SIMULATE_FORWARD_ENGINES_H
#define PRICER_SIMULATE_FORWARD_ENGINES_H

#include "simulate.h"
#include "forward/forward.h"
#include "pricer_forward.h"

/* Attempts of a round. */
static inline int32_t pri_attempts_of(const struct pri_job *job)
{
    return job->forward->repeat > 1 ? job->forward->repeat : 1;
}

/* Four numbers that go through the same arithmetic side by side. */
typedef double pri_four __attribute__((vector_size(32), aligned(8)));

/*
 * Numbers of a round that are linear in the arrivals a_i,
 *
 *     total_k = base_k + sum_i a_i value_ik,
 *
 * from which follow the squared error, in expectation over the noise, and the
 * bar:
 *
 *     error = (total_0 + sum over k >= 3 of total_k^2) / n^2,
 *     bar   = (total_1^2 + total_2) / n^2.
 */
struct pri_arrival_sums {
    int32_t nodes, blocks; /* of four columns each */
    double *base;          /* [4 blocks] */
    pri_four *value;       /* [blocks][nodes] */
};

/* Of a plan and data: `factor` may be NULL where all data are in one direction
 * and as long as the radius. */
enum pricer_status pri_arrival_sums_make(const struct pri_job *job,
                                         const struct pri_factor *factor,
                                         struct pri_arrival_sums *sums);
void pri_arrival_sums_free(struct pri_arrival_sums *sums);

/*
 * Error and bar of up to 512 patterns: `words` words, at most 8, of each row of
 * `bits`, which are `stride` apart. `room` is for [blocks][PRI_ROUNDS].
 */
void pri_arrival_sums_find(const struct pri_arrival_sums *sums,
                           const uint64_t *bits, int64_t stride, int words,
                           pri_four *room, double *errors, double *bars);

#endif
