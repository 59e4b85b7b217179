/*
 * One private release of a vector: the parameters for a budget, what several
 * rounds cost together, many releases at once, and how they are read.
 * docs/release.md has claims, proofs and the format.
 */
#ifndef PRICER_RELEASE_PUBLIC_H
#define PRICER_RELEASE_PUBLIC_H

#include "pricer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is asked of a release: (eps, delta) towards everyone over all rounds. */
struct pricer_release_wish {
    enum pricer_release kind;
    int64_t dimension;
    int64_t rounds; /* 0: one */
    double radius;
    double eps, delta; /* delta may be 0 for a sphere */
    double diameter;   /* data of a round count as neighbours if they are no
                          further apart; 0: twice the radius, any data */
};

/*
 * The law of a release. For a Gaussian noise is the standard deviation of a
 * coordinate, and all that belongs to the sphere is 0; for a sphere noise is 0.
 *
 * Claim: one round of a sphere is (e0 + charge, 0)-private towards everyone.
 */
struct pricer_release_law {
    enum pricer_release kind; /* sphere or gaussian */
    int64_t dimension;
    int64_t rounds; /* that the budget is for */
    double radius;
    double
        diameter; /* data that the guarantee is about are no further apart: of
                        a sphere twice the radius, whatever was asked for */
    double threshold, e0; /* t, and the loss of a round */
    double q, p;     /* share of the cap, and probability of landing in it */
    double m;        /* a direction V means the vector radius V / m */
    double charge;   /* for all that is not quite uniform, in eps a round */
    double noise;    /* standard deviation of a coordinate */
    double variance; /* max over |x| <= radius of E|y - x|^2 */
};

/* The release of least variance that keeps the budget. PRICER_INFEASIBLE where
 * nothing of this kind does. */
PRICER_API enum pricer_status pricer_release_for_budget(
    const struct pricer_release_wish *wish, struct pricer_release_law *law,
    struct pricer_fault *fault);

/*
 * Complete a law of which kind, dimension, rounds, radius and either threshold
 * and e0, or noise and diameter (0: twice the radius), are set: a node's part of
 * a plan.
 */
PRICER_API enum pricer_status pricer_release_complete(
    struct pricer_release_law *law, struct pricer_fault *fault);

/* E|y - x|^2 of an x of this length, at most the radius. */
PRICER_API double pricer_release_variance(const struct pricer_release_law *law,
                                          double length);

/*
 * Claim: all releases of so many rounds, seen by anyone, are (eps,
 * *delta)-private for data that differ by at most law->diameter in every round,
 * adaptive choice of later data included. Proof: docs/release.md, "Several
 * rounds" and "Neighbouring data". Rounded up; O(rounds).
 */
PRICER_API enum pricer_status pricer_release_delta(
    const struct pricer_release_law *law, double eps, int64_t rounds,
    double *delta, struct pricer_fault *fault);

/* The least eps for a delta, rounded up; INFINITY where there is none. */
PRICER_API enum pricer_status pricer_release_epsilon(
    const struct pricer_release_law *law, double delta, int64_t rounds,
    double *eps, struct pricer_fault *fault);

/* Vectors to release, a row each, and where random bits come from. */
struct pricer_release_rows {
    int64_t count;
    const double *data; /* [count * dimension] */
    bool replayed;      /* for tests and simulations only: row i is the release
                           of node i in `round` from `seed`; else the kernel */
    uint64_t seed;
    int64_t round;
};

/*
 * Release every row once: payload gets pricer_forward_payload() bytes a row, a
 * seed of 16 or 4 a coordinate. Rows longer than the radius are clipped.
 * PRICER_VALUE, and payload untouched, if a number is not finite.
 */
PRICER_API enum pricer_status pricer_release_draw(
    const struct pricer_release_law *law,
    const struct pricer_release_rows *rows, unsigned char *payload,
    struct pricer_fault *fault);

/* The vectors [count * dimension] of payloads. PRICER_VALUE where a Gaussian is
 * longer than honest ones are. */
PRICER_API enum pricer_status pricer_release_decode(
    const struct pricer_release_law *law, int64_t count,
    const unsigned char *payload, double *values, struct pricer_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
