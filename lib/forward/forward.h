/*
 * Forwarding: relays pass releases on unchanged, and the server counts every
 * node once.
 *
 * This module turns a network into arrival patterns (who is heard in a round),
 * and patterns into the coefficients with which the server counts what arrives.
 */
#ifndef PRICER_FORWARD_H
#define PRICER_FORWARD_H

#include "base/base.h"
#include "pricer_forward.h"
#include "round/round.h"

enum {
    PRI_LEVEL_BITS = 5,
    PRI_HOPS_MAX = (1 << PRI_LEVEL_BITS) - 2, /* the last level is 'never' */
};
_Static_assert((int)PRI_HOPS_MAX == (int)PRICER_HOPS_MAX,
               "levels have room for the hops that scenarios may ask for");

/* -------------------------------------------------------------- arrivals -- */

/*
 * Which nodes' releases reach the server, in many rounds.
 *
 * In round k the release of node i arrives over level(i, k) relays, or never.
 * Bit k % 64 of word k / 64 of row i of plane[b] is bit b of that level; all
 * bits are set where it never arrives. Rows are `words` long. The probability
 * of round k is weight[k], or 1 / patterns where weight is NULL; the bits
 * beyond the last pattern are those of rounds in which nothing arrives.
 */
struct pri_arrivals {
    int32_t nodes;
    int64_t patterns, words;
    double *weight;                  /* [64 words] or NULL: all alike */
    uint64_t *plane[PRI_LEVEL_BITS]; /* [nodes * words] */
};

/* The most attempts of a round. */
enum { PRI_ATTEMPTS_MAX = PRICER_REPEAT_MAX };

/* What is drawn: `patterns` rounds, a multiple of 64, from group `first` of 512
 * rounds on; links as pricer_round_up() draws them. */
struct pri_arrivals_settings {
    uint64_t seed;
    int64_t first, patterns;
    int32_t hops;     /* at most PRI_HOPS_MAX */
    int32_t attempts; /* of a round; 0: one */
    int32_t threads;  /* 0: one per core */
    const struct pricer_watch *watch;
};

/* Rounds from this group on are never simulated or run: planning draws there. */
#define PRI_PLANNING_GROUP (INT64_C(1) << 53)

/*
 * Draw rounds. The result is the same for any number of threads. O(links
 * patterns); 64 rounds take a machine word.
 */
enum pricer_status pri_arrivals_draw(
    const struct pricer_network *network,
    const struct pri_arrivals_settings *settings,
    struct pri_arrivals **arrivals);

/* How many patterns of links there are, or -1 where they are more than
 * `limit`. */
int64_t pri_arrivals_count(const struct pricer_network *network,
                           int32_t attempts, int64_t limit);

/* All patterns with their probabilities. */
enum pricer_status pri_arrivals_enumerate(const struct pricer_network *network,
                                          int32_t hops, int32_t attempts,
                                          struct pri_arrivals **arrivals);

/* Patterns in which nothing arrives, to be filled. */
enum pricer_status pri_arrivals_new(int32_t nodes, int64_t patterns,
                                    struct pri_arrivals **arrivals);
void pri_arrivals_free(struct pri_arrivals *arrivals);

/* Who arrives over at most `hops` relays: rows of `words` words. */
void pri_arrivals_within(const struct pri_arrivals *arrivals, int32_t hops,
                         uint64_t *bits);

/*
 * Which links and uplinks are up in some rounds, a bit a round: rows of as many
 * words as are asked for. The caller allocates.
 */
struct pri_states {
    uint64_t *up;     /* [links * words] */
    uint64_t *uplink; /* [nodes * words] */
};

/* The states of group `group` of 512 rounds as pri_arrivals_draw() draws them,
 * in rows of 8 words. The team may be NULL. */
void pri_states_draw(const struct pricer_network *network, uint64_t seed,
                     int64_t group, struct pri_team *team,
                     struct pri_states *states);

/* The states of word `word` of all patterns, in rows of one word, and their
 * probabilities, weight[64]. */
void pri_states_enumerate(const struct pricer_network *network, int64_t word,
                          struct pri_states *states, double *weight);

/*
 * Searches of 512 rounds at a time: who arrives over at most `hops` relays. One
 * thread at a time. O(links hops attempts). The network must stay as it is.
 */
struct pri_search;
enum pricer_status pri_search_new(const struct pricer_network *network,
                                  int32_t hops, int32_t attempts,
                                  struct pri_search **search);
void pri_search_free(struct pri_search *search);

/* What was found, in rows of 8 words, until the next search. Links and uplinks are
 * those of the first attempt. */
struct pri_found {
    const uint64_t *uplink;  /* [nodes * 8] */
    const uint64_t *up;      /* [links * 8] */
    const uint64_t *arrived; /* [nodes * 8] */
};
struct pri_found pri_search_play(struct pri_search *search, uint64_t seed,
                                 int64_t group);

/* How many relays away from the server each node is at least, by links and
 * uplinks that are ever up; -1: it can never be heard. O(links). */
enum pricer_status pri_forward_distance(const struct pricer_network *network,
                                        int32_t *distance);

/* ----------------------------------------------------------------- round -- */

/*
 * Release a vector and read the payload, as a node and the server do in a round:
 * the vector becomes what the server counts, or 0 where it refuses the payload,
 * as it does once in 10^9 Gaussians. Any number of threads may call it.
 */
enum pricer_status pri_forward_pass(const struct pricer_forward_node *node,
                                    double radius, int64_t dimension,
                                    struct pricer_random *random,
                                    double *vector);

/*
 * What a receiver does, for whoever has an expander per thread: decode a payload
 * to `value` [dimension + 1], of which the last is not used; the factor of that
 * vector in the estimate.
 */
struct pri_expander;
enum pricer_status pri_forward_decode(
    const struct pricer_forward_receiver *receiver,
    struct pri_expander *expander, int32_t node, const unsigned char *payload,
    int64_t bytes, double *value, struct pricer_fault *fault);
double pri_forward_factor(const struct pricer_forward_receiver *receiver,
                          int32_t node);
int64_t pri_forward_dimension(const struct pricer_forward_receiver *receiver);

/* A payload that has arrived. */
struct pri_forward_arrival {
    int32_t node;
    const unsigned char *payload;
    int64_t bytes;
    bool refused; /* set by pri_forward_sum_add(): it was not added */
};

/*
 * The sum of many payloads, on several threads: the bits of
 * pricer_forward_receiver_add() for each, whatever the number of threads, since a
 * payload is decoded by itself and each coordinate is added by ascending node. The
 * receiver is borrowed. Memory for pri_forward_sum_block() vectors, 8 MiB or one
 * a thread.
 */
struct pri_forward_sum;
enum pricer_status pri_forward_sum_new(
    const struct pricer_forward_receiver *receiver, int32_t nodes,
    int32_t threads, struct pri_forward_sum **sum);
void pri_forward_sum_free(struct pri_forward_sum *sum);
/* How many payloads are decoded at once. */
int32_t pri_forward_sum_block(const struct pri_forward_sum *sum);
/* Add at most that many, by ascending node. */
void pri_forward_sum_add(struct pri_forward_sum *sum,
                         struct pri_forward_arrival *arrivals, int32_t count,
                         double *estimate);

/* --------------------------------------------------------------- moments -- */

/*
 * First and second moments of arrivals: pi_i = E a_i and E a_i a_l, of patterns
 * whose bits stay the caller's. Up to PRI_DENSE_MAX nodes the second moments are
 * a matrix, beyond that a product goes through the patterns.
 */
enum { PRI_DENSE_MAX = 1024 };

struct pri_moments {
    int32_t nodes;
    int64_t patterns, words;
    const uint64_t *bits;
    const double *weight;
    double *pi;    /* [nodes] */
    double *dense; /* [nodes * nodes] or NULL */
    double *sums;  /* [64 words] workspace of a product, or NULL */
    struct pri_team *team;
};

/* Of arrivals within `hops`; `bits` are filled here and belong to the caller:
 * nodes * words of them. The team may be NULL. */
enum pricer_status pri_moments_make(const struct pri_arrivals *arrivals,
                                    int32_t hops, uint64_t *bits,
                                    struct pri_team *team,
                                    struct pri_moments **moments);
void pri_moments_free(struct pri_moments *moments);

/* out_i = sum_l E[a_i a_l] values_l. */
void pri_moments_product(struct pri_moments *moments, const double *values,
                         double *out);

/* sums[k] = the sum of values_i over the nodes that arrive in pattern k. */
void pri_moments_sums(const struct pri_moments *moments, const double *values,
                      double *sums);

/* ---------------------------------------------------------- coefficients -- */

/* The nodes of a forwarding network as the error sees them. */
struct pri_senders {
    int32_t nodes;
    const double *radius;   /* [nodes] */
    const double *variance; /* [nodes] of a release, whatever the data */
};

/*
 * Choose the coefficients that minimise the worst case over all data,
 *
 *     n^2 W = E[ (sum_i R_i (a_i c_i - 1))^2 + sum_i a_i c_i^2 v_i ],
 *
 * over 0 <= c_i <= 1 / pi_i. *objective is n^2 W at c, and no coefficients
 * within these bounds have less than *objective (1 - *gap). With a
 * tolerance it stops as soon as the objective is within that of the least; 0:
 * where the gap is 1e-10, or rounding allows no less.
 */
enum pricer_status pri_forward_fit(struct pri_moments *moments,
                                   const struct pri_senders *senders,
                                   double tolerance, double *coefficient,
                                   double *objective, double *gap);

/* The same without relays, for the probabilities of the uplinks: exact for any
 * number of nodes. */
void pri_forward_fit_alone(const struct pri_senders *senders,
                           const double *arrival, double *coefficient,
                           double *objective, double *gap);

/* How probably an uplink is up in one of the attempts. */
void pri_forward_uplinks(const struct pricer_network *network, int32_t attempts,
                         double *arrival);

/* ------------------------------------------------------------------ plan -- */

enum { PRI_HOPS_ENOUGH = 16 }; /* more relays hardly ever help */

struct pri_forward_settings {
    int32_t hops;     /* -1: the fewest within 1 % of PRI_HOPS_ENOUGH */
    int32_t attempts; /* of a round; 0: one */
    uint64_t seed;
    int32_t threads; /* 0: one per core */
    const struct pricer_watch *watch;
};

/*
 * How the server counts what arrives, and how good the estimate is: W is the
 * worst case over all data of the mean squared error.
 */
struct pri_forward_plan {
    int32_t nodes, hops;
    int32_t heard;       /* nodes that can be heard within these hops */
    double *coefficient; /* [nodes] */
    double *arrival;     /* [nodes] pi, the probability of being heard */
    int32_t *distance;   /* [nodes] relays that are needed at least; -1: never
                            heard, however many */
    double mse,
        mse_stderr;        /* W on patterns that the fit has not seen; the error
                               is 0 where all patterns were enumerated */
    double mse_perfect;    /* W with links that never fail */
    double mse_alone;      /* W without relaying (0 hops), exact */
    double gap;            /* of the fit */
    double missing, noise; /* W = missing + noise */
    int64_t patterns;      /* behind mse; 0: all of them */
};

enum pricer_status pri_forward_plan(const struct pricer_network *network,
                                    const struct pri_senders *senders,
                                    const struct pri_forward_settings *settings,
                                    struct pri_forward_plan **plan,
                                    struct pricer_fault *fault);
enum pricer_status pri_forward_plan_new(int32_t nodes,
                                        struct pri_forward_plan **plan);
void pri_forward_plan_free(struct pri_forward_plan *plan);

/* Links that never fail: n^2 W with everybody there. */
enum pricer_status pri_forward_perfect(const struct pri_senders *senders,
                                       double *objective);

/*
 * The same from rounds that were run, without a model of links: relays[t * nodes
 * + i] is how many relays the release of node i took in round t, -1 where it
 * did not arrive. At least two rounds. Coefficients are fitted to all rounds;
 * W is that of coefficients fitted to every other round on the rounds between,
 * and the other way round, with measured covariances by their absolute values.
 */
enum pricer_status pri_forward_plan_measured(const struct pri_senders *senders,
                                             const int8_t *relays,
                                             int64_t rounds, int32_t hops,
                                             struct pri_forward_plan **plan);

/* ---------------------------------------------------------------- slopes -- */

/*
 * How W, with the best coefficients, changes if links change: derivatives with
 * respect to p and their standard errors, where a link improves by repairing a
 * share of its failures. 0 where p = 1.
 */
struct pri_slopes {
    double (*uplink)[2]; /* [nodes] d W / d p, standard error */
    double (*link)[2];   /* [links] */
    double *noise;       /* [nodes] d W / d v */
    double hop;          /* W with one more hop, less W */
    double mse;          /* W on the patterns of the slopes */
    int64_t patterns;    /* of them; 0: all */
};

/* For settings->hops, which must be given. O(patterns nodes hops reach), where
 * reach is how many nodes send over one. */
enum pricer_status pri_forward_slopes(
    const struct pricer_network *network, const struct pri_senders *senders,
    const struct pri_forward_settings *settings, struct pri_slopes **slopes);
void pri_slopes_free(struct pri_slopes *slopes);

/* ---------------------------------------------------------------- verify -- */

/* The numbers of a release, found by other code than that of lib/release. */
struct pri_release_check {
    long double share; /* q */
    long double m;
    long double variance; /* at most, of a radius of 1 */
    long double charge;   /* a round */
    long double delta;    /* over all rounds at the eps of the budget */
    bool pure;            /* eps alone is enough: delta is 0 */
};

/*
 * Check one release of radius 1 over the rounds of its budget. False, and *found
 * untouched, where its numbers are out of range or an integral does not converge.
 *
 * Claim: delta bounds what anyone learns beyond eps from all rounds, of a sphere
 * about any data, of a Gaussian about data that differ by at most `diameter`.
 */
bool pri_release_recompute(const struct pricer_forward_node *node,
                           int64_t dimension, double diameter,
                           const struct pricer_budget *budget,
                           struct pri_release_check *found);

/* ---------------------------------------------------------------- trials -- */

struct pricer_forward_settings;
struct pricer_forward_node;

/* The release of every node for `factor` times its eps. */
enum pricer_status pri_forward_releases(
    const struct pricer_network *network,
    const struct pricer_forward_settings *settings, double factor,
    struct pricer_forward_node *nodes, struct pricer_fault *fault);

/*
 * Errors of many plans for one network, all on the same patterns: settings->hops
 * is the largest number of hops that may be asked about. The network must
 * outlive it.
 */
struct pri_trials;
enum pricer_status pri_trials_make(
    const struct pricer_network *network,
    const struct pricer_forward_settings *settings, struct pri_trials **trials);
void pri_trials_free(struct pri_trials *trials);

/* A plan as it could be. */
struct pri_forward_trial {
    double factor;  /* of every eps */
    bool noiseless; /* vectors as they are, without privacy */
    int64_t rounds, dimension;
    enum pricer_release release;
    int32_t hops;
};

/* W with the best coefficients. */
enum pricer_status pri_trials_error(struct pri_trials *trials,
                                    const struct pri_forward_trial *what,
                                    double *mse, struct pricer_fault *fault);

/* ----------------------------------------------------------------- means -- */

/*
 * Rounds of the mean for whoever computes with many of them: K-means and power
 * iteration. means.c explains how both schemes look the same.
 */

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
