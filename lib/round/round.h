/*
 * Drawing links for 512 rounds at once, which links.c explains; whole rounds as
 * one Gaussian, which whole.c explains; and the noise of a message.
 */
#ifndef PRICER_ROUND_H
#define PRICER_ROUND_H

#include "base/base.h"
#include "random/random.h"

enum {
    PRI_ROUNDS = 64 * PRI_LANES, /* rounds drawn together */
    PRI_NEVER = 3,               /* a fixed result in place of a level */
    PRI_ALWAYS = 4,              /* the other fixed result */
};

/* The distribution of a pair of links, ready to be drawn. */
struct pri_pair {
    pri_wide level[3]; /* different from each other, none 0 */
    int levels;
    int digits;                    /* bits after which all levels end */
    uint8_t forward, both, either; /* index into level[], or a fixed result */
};

/* p is the link from the lower node to the higher, or an uplink. */
struct pri_pair pri_pair_make(double p, double p_back, double joint);

struct pri_threefry_key pri_draw_key(uint64_t seed, int64_t group);

/*
 * Rounds 512 g to 512 g + 511 of the pair (low, high), where low < high or
 * high = PRICER_SERVER: one bit a round in eight words each. `backward` may be
 * NULL.
 */
void pri_draw_pair(const struct pri_pair *pair,
                   const struct pri_threefry_key *key, int32_t low,
                   int32_t high, uint64_t *forward, uint64_t *backward);

/* The same for many pairs, one after the other. */
struct pri_draw {
    struct pri_pair pair;
    int32_t low, high;
    uint64_t *forward, *backward;
};
void pri_draw_pairs(const struct pri_draw *draws, int64_t count,
                    const struct pri_threefry_key *key);

/* The replayed noise of a payload. */
void pri_round_noise(struct pricer_random *random, uint64_t seed, int64_t round,
                     int32_t from, int32_t to);

/*
 * Data that are clipped to the ball of this radius, times `full`, cut off to
 * integers no longer than full radius, which is at most 2^62: place.c has the
 * proof. False: one of them is not finite.
 */
bool pri_place(const double *data, int64_t count, double radius, double full,
               int64_t *message);

/* The share for a receiver, or NULL. O(log count). */
const struct pricer_share *pri_slice_find(const struct pricer_slice *slice,
                                          int32_t to);

/* ----------------------------------------------------------- whole rounds -- */

/*
 * Which links are up in a round, as the weight of every node's message in what
 * reaches the server and the variance of the noise in each number of it. A
 * server that knows the uplinks but not the links behind them expects the
 * variance `expected` and the weights to add up to `likely`.
 */
struct pri_whole {
    double *weight; /* [nodes] the caller's */
    bool *up;       /* [nodes] the caller's */
    double variance, expected, likely;
};

void pri_whole_draw(const struct pricer_network *network,
                    const struct pricer_plan *plan, uint64_t seed,
                    int64_t round, struct pri_whole *whole);

/* Whether a link of the network is up; pricer_round_up(). */
bool pri_link_is_up(const struct pricer_network *network, uint64_t seed,
                    int64_t round, int32_t link);

/* Add the noise of all packets of a round at once. */
void pri_whole_noise(double variance, uint64_t seed, int64_t round,
                     int64_t count, double *sum);

/* ----------------------------------------------------------------- noise -- */

/*
 * A discrete Gaussian on the integers, prepared for drawing: its deviation is
 * sigma / 2^fraction, the rest follows from that. sigma = 0 is no noise.
 */
struct pri_noise {
    uint64_t sigma;
    int32_t fraction;
    int32_t shift;
    uint64_t width;
    uint64_t inverse;
};

/* The deviation may be 0 to 2^50 and is kept exactly, or rounded up where it is
 * below 1/16. */
enum pricer_status pri_noise_prepare(double sigma, struct pri_noise *noise,
                                     struct pricer_fault *fault);

/* The deviation it was prepared for. */
double pri_noise_sigma(const struct pri_noise *noise);

/* One sample. */
int64_t pri_noise_draw(const struct pri_noise *noise,
                       struct pricer_random *random);

/*
 * Add a sample to each of the values, of other bits than one by one. The law is the discrete Gaussian's
 * exactly, cut off at 2048 deviations; noise.c has the claim and the proof.
 */
void pri_noise_add(const struct pri_noise *noise, struct pricer_random *random,
                   int64_t count, int64_t *values);

#endif
