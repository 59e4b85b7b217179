/*
 * Draft trust files: what a plan needs of a node's budgets, written down so that
 * the node's operator can judge it.
 */
#ifndef PROGRAM_DRAFT_H
#define PROGRAM_DRAFT_H

#include "pricer_study.h"

#include <stdio.h>

/* The least eps, rounded up, that so many releases of ratio mu keep at delta. */
double draft_eps(double delta, double mu, double rounds);

struct draft {
    const struct pricer_network *network;
    const struct pricer_plan *plan;
    int64_t rounds; /* that the totals are for */
    /* [nodes + 1] public keys, the server's first; or NULL: none are named */
    const char (*keys)[PRICER_KEY_TEXT];
};

/*
 * Write the trust file of a node. Every row has the budget of the study, of one
 * release and of all together: a plan for as many rounds fits it. Where the plan
 * needs more than that, as plans that were given by hand may, or as more rounds
 * do than it was made for, the least that it needs stands there, rounded up to
 * three digits; returns how many such rows there are.
 */
int32_t draft_write(const struct draft *draft, int32_t node, FILE *file);

#endif
