/*
 * Draft trust files: what a plan needs of a node's budgets, written down so that
 * the node's operator can judge it.
 */
#ifndef PROGRAM_DRAFT_H
#define PROGRAM_DRAFT_H

#include "pricer_forward.h"

#include <stdio.h>

/* The least eps, rounded up, that so many releases of ratio mu keep at delta. */
double draft_eps(double delta, double mu, double rounds);

/* The ratio of all that leaves a node in a round of a plan, rounded up. */
double draft_ratio(const struct pricer_network *network,
                   const struct pricer_plan *plan, int32_t node);

struct draft {
    const struct pricer_network *network;
    const struct pricer_plan *plan;
    const struct pricer_forward_plan *forward; /* or NULL; in place of plan */
    int64_t rounds;                            /* that the totals are for */
    /* [nodes + 1] public keys, the server's first; or NULL: none are named */
    const char (*keys)[PRICER_KEY_TEXT];
};

/*
 * Write the trust file of a node. Every row has the budget of the study, of one
 * release and of all together, and never more: a plan that was made for as many
 * rounds fits it. Returns how many rows a plan does not fit, as one that was given
 * by hand may not; a node refuses what is beyond them. With a plan of forwarding
 * the only row is everyone's.
 */
int32_t draft_write(const struct draft *draft, int32_t node, FILE *file);

#endif
