/*
 * Conjugate gradients for the systems of both kinds of network: `width` unknowns
 * a node, of which the first two are gain and price, and the sum multiplier.
 */
#ifndef PRICER_OPTIMISE_CONJUGATE_H
#define PRICER_OPTIMISE_CONJUGATE_H

#include "problem.h"

/*
 * What a system brings: passes over nodes low..high, which read and write the
 * fields of struct pri_conjugate.
 */
struct pri_passes {
    /* Invert the diagonal blocks; tallies what is left of the sum's diagonal
     * (0). */
    void (*prepare)(void *, int32_t, int32_t, struct pri_sweep_sums *);
    /* product = A direction; tallies their dot product (0) and the parts that
     * belong to the sum (1). */
    void (*multiply)(void *, int32_t, int32_t, struct pri_sweep_sums *);
    /* r -= alpha A p, x += alpha p; tallies r.P^-1 r without the sum's part
     * (0), and what the sum's part (1) and the common direction (2) need. */
    void (*advance)(void *, int32_t, int32_t, struct pri_sweep_sums *);
    /* p = P^-1 r + beta p. */
    void (*turn)(void *, int32_t, int32_t, struct pri_sweep_sums *);
};

struct pri_conjugate {
    const struct pri_problem *problem;
    const struct pri_passes *passes;
    int width;
    bool summed;   /* the sum multiplier moves */
    double schur;  /* what is left of the sum's diagonal */
    double common; /* curvature of moving gains, prices and sum together */
    int64_t steps; /* in all */
    /* The solve in progress. */
    double *residual, *direction, *product, *solution; /* [width * nodes] */
    double residual_sum, direction_sum, product_sum;
    double alpha, beta, shift, lift;
};

bool pri_conjugate_new(const struct pri_problem *problem, int width,
                       struct pri_conjugate *cg);

/* The count of steps stays. */
void pri_conjugate_free(struct pri_conjugate *cg);

/* `context` is the system that `cg` is part of. */
void pri_conjugate_prepare(struct pri_conjugate *cg,
                           const struct pri_passes *passes, void *context);

/* Solve for a right-hand side, once prepared, to a relative residual or in `most` steps, into
 * solution[width * nodes] and *sum. False if numbers ran out of range. */
bool pri_conjugate_solve(struct pri_conjugate *cg, void *context,
                         const double *right, double right_sum, double relative,
                         int32_t most, double *solution, double *sum);

#endif
