/*
 * A stack of attempts from inside.
 */
#ifndef PRICER_DECODE_STACK_H
#define PRICER_DECODE_STACK_H

#include "rows.h"

enum {
    PRI_ATTEMPTS = 64,    /* of a round, at most */
    PRI_STACK_SUMS = 640, /* that are solved together, at most */
};

/* Sums of all attempts as rows of a dense matrix. Sum s is that of relay
 * relay[s] in attempt[s]. */
struct pricer_stack {
    struct pri_rows rows;
    int32_t attempts, links;
    int64_t dimension;
    double scale; /* radius^2 */
    struct pri_model model;
    double *own, *shared, *target, *cap, *x;
    int32_t sums;
    int32_t *relay, *attempt; /* [attempts nodes] */
    bool *came;               /* [attempts][entries] */
    bool *up;                 /* [attempts][nodes] */
    bool *withheld;           /* [attempts][nodes] the own part is not in it */
    double *a, *image;        /* [sums][nodes] A, A X */
    double *v, *factor;       /* [sums][sums] V, H and its factor */
    double *size, *beta;      /* [sums] */
    double *excess;           /* [nodes] r */
    double bar, heard;
};

/* A stack with room for everything and a model to be filled in. */
enum pricer_status pri_stack_new(const struct pricer_network *network,
                                 const struct pricer_plan *plan,
                                 int32_t attempts, struct pricer_stack **stack,
                                 struct pricer_fault *fault);

/* Collect what is in `up` and `came`, and decode it by the model: beta, r, bar
 * and noise, in units of the radius. */
void pri_stack_solve(struct pricer_stack *stack, const struct pri_model *model);

/* r and noise of coefficients 1 / (n attempts); `fresh` is the noise if it were
 * drawn anew in each, with a variance times the attempts, which keeps the
 * budgets over as many releases. */
void pri_stack_flat(const struct pricer_stack *stack, double *excess,
                    double *heard, double *fresh);

#endif
