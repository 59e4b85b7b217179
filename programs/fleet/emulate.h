/*
 * Links that fail as a network says they do, drawn from a seed, for
 * demonstrations on loopback: receivers drop what an emulated link lost. The
 * draws are the simulator's, so that both give the same rounds: round r is its
 * trial r - 1 - after, since trials are counted from 0. A round of k attempts has
 * the links of k of its draws, one after the other.
 */
#ifndef PROGRAM_EMULATE_H
#define PROGRAM_EMULATE_H

#include "pricer.h"

struct emulate {
    const struct pricer_network *network; /* NULL: nothing is emulated */
    uint64_t seed;
    int64_t after; /* the round before the first trial */
};

/* The simulator's trial that a round is. */
int64_t emulate_trial(const struct emulate *emulate, int64_t round);

/* Whether a message over this link gets through in an attempt of a round of so
 * many; to = PRICER_SERVER for an uplink. True if nothing is emulated. */
struct emulate_time {
    int64_t round, attempts, attempt;
};
bool emulate_up(const struct emulate *emulate, const struct emulate_time *time,
                int32_t from, int32_t to);

#endif
