/*
 * Decoding for the simulator: a group of rounds at once.
 */
#ifndef PRICER_DECODE_DOOR_H
#define PRICER_DECODE_DOOR_H

#include "base/base.h"
#include "pricer_decode.h"
#include "round/round.h"

/*
 * Rounds 0 to count - 1 of a group drawn by pri_draw_pair(): bits of every
 * uplink [nodes][PRI_LANES] and link [links][PRI_LANES]. For each round the
 * same arithmetic, to the bit, as pricer_receiver_decode().
 */
struct pri_decoded_group {
    double *coefficient; /* [nodes][PRI_ROUNDS], or NULL */
    double *excess;      /* [nodes][PRI_ROUNDS] n r_i, or NULL: the weight that
                          * node i's data got, less 1 */
    double *variance; /* [PRI_ROUNDS] of n times the estimate, a coordinate */
    double *bar;      /* [PRI_ROUNDS] */
};

void pri_receiver_group(struct pricer_receiver *receiver,
                        const uint64_t *uplink, const uint64_t *link, int count,
                        const struct pri_decoded_group *group);

/* Whether every number of a decoder, which may come from a file, is usable. */
bool pri_decoder_is_sound(const struct pricer_decoder *decoder);

#endif
