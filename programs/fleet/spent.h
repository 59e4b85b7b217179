/*
 * What stands in an account of the ledger, and whether a budget holds it; the
 * claims and their proofs are in ledger.h.
 */
#ifndef PROGRAM_SPENT_H
#define PROGRAM_SPENT_H

#include "ledger.h"

/* What stands in an account. */
struct spent {
    long double square; /* of all ratios */
    int64_t ratios;     /* different ones, each of which costs a rounding */
};

/* Add so many releases of one ratio. */
void spent_add(struct spent *spent, double mu, int64_t releases);

/* The ratio of all releases together, rounded up. */
double spent_ratio(const struct spent *spent);

/* Whether the budget of a charge holds all that is spent and so many releases
 * more; and how many more it holds. */
bool spent_fits(const struct spent *spent, const struct ledger_charge *charge,
                int64_t releases);
int64_t spent_left(const struct spent *spent,
                   const struct ledger_charge *charge);

#endif
