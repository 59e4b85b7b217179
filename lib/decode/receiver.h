/*
 * A receiver from inside: decoder, rows and room of one thread.
 */
#ifndef PRICER_DECODE_RECEIVER_H
#define PRICER_DECODE_RECEIVER_H

#include "rows.h"

enum { PRI_ADAPT = 64 }; /* sums that the adaptive decoder learns from */

struct pricer_receiver {
    struct pri_rows rows;  /* what the server knows */
    struct pri_rows truth; /* what happened, for simulations of blind ones */
    int64_t dimension;
    double scale; /* radius^2 */
    double *gain; /* [nodes] n / t_i, of r to the weight of a node's data */
    double *own, *shared, *target, *cap, *x;
    struct pri_model model;
    struct pri_tables tables; /* of rows and model, small and not blind */
    double *adapted_own, *adapted_shared, *adapted_target, *adapted_x;
    double *wide_cap; /* [nodes] of the adaptive decoder */
    double *work;     /* [5][PRI_ADAPT]^2, of the likelihood */
    struct pri_small small, other;
    struct pri_large large;
    uint64_t *uplink, *entry; /* [nodes], [entries + nodes] [PRI_LANES] */
    uint64_t *word;           /* [PRI_ROUNDS][words] bits of each round */
    bool *withheld;           /* [nodes] own parts that are not in the sums */
};

/* Words that the bits of a round take: entries, then uplinks. */
static inline int64_t pri_words_of(const struct pri_rows *rows)
{
    return (rows->entries + rows->nodes + 63) / 64;
}

/* Decode what is in uplink and link with any model. */
void pri_receiver_solve(struct pricer_receiver *receiver,
                        const struct pri_model *model, const bool *uplink,
                        const bool *link, double *coefficient,
                        struct pricer_decoded *decoded);

#endif
