/*
 * Rounds of the mean for whoever computes with many of them: K-means and power
 * iteration. means.c explains how both schemes look the same.
 */
#ifndef PRICER_FORWARD_MEANS_H
#define PRICER_FORWARD_MEANS_H

#include "forward.h"
#include "round/round.h"

/* A plan of one of the schemes; both NULL: every message arrives, bare. */
struct pri_scheme {
    const struct pricer_plan *sum;
    const struct pricer_forward_plan *forward;
};

static inline bool pri_scheme_perfect(const struct pri_scheme *scheme)
{
    return scheme->sum == NULL && scheme->forward == NULL;
}

struct pri_means {
    const struct pricer_network *network;
    struct pri_scheme scheme;
    uint64_t seed;
    struct pri_whole whole;    /* the round that was drawn last */
    double weight, variance;   /* expected: the sum of the weights, and the
                                  noise in each number of the sum */
    struct pri_search *search; /* of a scheme that forwards */
    struct pri_found found;    /* by it, */
    int64_t group;             /* in this group of rounds; -1: none */
};

/*
 * Prepare for messages of at most `length` numbers. Close it also after a failure.
 * PRICER_VALUE where the plan is for another network, or forwards and the network
 * has another dimension.
 */
enum pricer_status pri_means_open(struct pri_means *means,
                                  const struct pricer_network *network,
                                  const struct pri_scheme *scheme,
                                  int64_t length, uint64_t seed,
                                  struct pricer_fault *fault);
void pri_means_close(struct pri_means *means);

/* Who is heard in a round: fills means->whole. */
void pri_means_draw(struct pri_means *means, int64_t round);

/*
 * From a node's message of network->dimension numbers to what the server reads of
 * it: with forwarding a real release with the random bits of (seed, round, node),
 * else the message as it is. Threads may call it at the same time.
 */
enum pricer_status pri_means_send(const struct pri_means *means, int64_t round,
                                  int32_t node, double *message);

/* Add the noise of a round to the sum of messages; with forwarding they have it. */
void pri_means_noise(const struct pri_means *means, double variance,
                     int64_t round, int64_t count, double *sum);

/* The probability that a node is heard (links of sums taken for independent),
 * and the weight that it then has, by expectation. */
double pri_means_heard(const struct pri_means *means, int32_t node,
                       double *weight);

#endif
