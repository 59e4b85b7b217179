/*
 * The engine of the accounts: from what an observer sees of a node
 * (observe/observe.h) to a bracket around the eps that goes with a delta.
 */
#ifndef PRICER_PRIVACY_H
#define PRICER_PRIVACY_H

#include "calibrate/calibrate.h"
#include "observe/observe.h"

/* For the rounding of a bound that is a formula of some dozen operations. */
#define PRI_SLACK (1 + 1e-9)

/* An eps between two bounds, and the mass that no eps pays for. */
struct pri_bracket {
    double eps, eps_lower, floor;
    bool floor_exact; /* the floor is more than a bound, but for rounding */
};

/* Scratch of the accounts, one for each thread; what it holds is freed first. */
struct pri_scratch;
struct pri_scratch *pri_scratch_new(void);
void pri_scratch_free(struct pri_scratch *scratch);

/* The account of a view over `rounds` rounds at one delta. `work` bounds the
 * effort, in steps of about a nanosecond, to bring the ends of the bracket
 * within 1 % of each other. */
enum pricer_status pri_view_account(const struct pri_view *view, double delta,
                                    int64_t rounds, double work,
                                    struct pri_scratch *scratch,
                                    struct pri_bracket *bracket);

/* The account of one link over `rounds` rounds: each packet has ratio mu (which
 * may be INFINITY) and arrives with probability p. */
enum pricer_status pri_link_account(double mu, double p, double delta,
                                    int64_t rounds, struct pri_scratch *scratch,
                                    struct pri_bracket *bracket);

#endif
