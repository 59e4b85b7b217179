/*
 * Power iteration (principal components) over rows that are spread over the
 * nodes of a network.
 */
#ifndef PRICER_POWER_PUBLIC_H
#define PRICER_POWER_PUBLIC_H

#include "pricer.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What is computed: node i holds rows x and their second moment A_i = mean of
 * x x' over its rows, each cut to the network's radius. Wanted are the leading
 * eigenvectors of A = mean over the nodes of A_i. In every iteration the server
 * broadcasts orthonormal vectors V, each node sends what A_i V says, and the
 * server makes the sum of what arrives orthonormal again (QR).
 *
 * A message has two parts: where A_i V leaves the space of V, over the reach,
 * and what it is within; both in units of R^2 and together cut to length 1. Near the truth the first is small, so that a short reach spends
 * little noise on it.
 */
struct pricer_forward_plan;

struct pricer_power_settings {
    int32_t components; /* 1 */
    int32_t iterations; /* 20; a round of the network each */
    double reach;       /* of a move that fills a message; 0.1 */
    double carry;       /* of earlier sums, 0 to 1; 0.8, negative: none */
    uint64_t seed;      /* of split, start, links and noise */
    bool in_order;      /* nodes get the rows as they come, not shuffled */
    int32_t threads;    /* 0: one per core */
    const struct pricer_watch *watch; /* NULL: never asks */
    /* In place of a plan of sums: nodes release their messages and relays pass
     * them on. The network must have the dimension of a message. NULL: none. */
    const struct pricer_forward_plan *forward;
};

/*
 * The numbers of one message. Plan with these in place of the network's
 * dimension and with settings for as many rounds as there are iterations, and
 * (eps, delta) of every link holds for the whole run.
 *
 * Claim: a message is cut to the radius R, whatever the rows; hence changing
 * all rows of a node moves it by at most 2 R, as the planner assumes. V is
 * computed from what was released before, so a run is an adaptive composition
 * of Gaussian mechanisms with fresh noise, `iterations` on every link; with
 * settings->forward of as many releases of every node, and (eps, delta) holds
 * towards everyone.
 */
PRICER_API int64_t pricer_power_dimension(
    const struct pricer_power_settings *settings, int64_t columns);

/* Eigenvectors in the caller's arrays, each a row. */
struct pricer_power_vectors {
    double *vectors; /* [components * columns] */
    double *values;  /* of eigenvalues, all of them [columns] or [components] */
};

/*
 * The truth, by LAPACK: all eigenvalues of A, descending [columns], and the
 * leading eigenvectors. O(rows columns^2 + columns^3).
 */
PRICER_API enum pricer_status pricer_power_exact(
    const struct pricer_matrix *rows, const struct pricer_network *network,
    const struct pricer_power_settings *settings,
    const struct pricer_power_vectors *exact, struct pricer_fault *fault);

/* What a run leads to, in the caller's arrays; `exact` is an input. */
struct pricer_power_result {
    struct pricer_power_vectors found;        /* values: [components] */
    const struct pricer_power_vectors *exact; /* or NULL: not measured */
    double *error; /* [iterations] mean squared sine of the angles between the
                    * found and the exact space; NAN where not measured */
};

/*
 * Iterate over the links of a network. Without a plan (NULL, and no
 * settings->forward) every message arrives, bare, and nothing is carried: plain power iteration. The same seed
 * gives the same result for any number of threads; let OpenBLAS have one thread
 * of its own.
 */
PRICER_API enum pricer_status pricer_power_run(
    const struct pricer_matrix *rows, const struct pricer_network *network,
    const struct pricer_plan *plan,
    const struct pricer_power_settings *settings,
    const struct pricer_power_result *result, struct pricer_fault *fault);

/*
 * What the plan's error predicts for result->error, of which `exact` must be
 * given: to first order, the noise that the plan adds in every iteration and
 * how much the nodes' rows differ, both damped by the gaps between eigenvalues.
 * docs/mathematics.md has the formula.
 */
PRICER_API enum pricer_status pricer_power_predict(
    const struct pricer_matrix *rows, const struct pricer_network *network,
    const struct pricer_plan *plan,
    const struct pricer_power_settings *settings,
    const struct pricer_power_result *result, struct pricer_fault *fault);

#ifdef __cplusplus
}
#endif
#endif
