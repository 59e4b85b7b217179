/*
 * The budget ledger of a node: what it has let out, to whom, in which round.
 *
 * Claim: if ledger_charge() answers that a release is allowed, then all
 * releases ever charged to that receiver, this one included, are together
 * (total_eps, total_delta)-private against it. Proof: a release is a Gaussian
 * mechanism of ratio mu with noise of its own, so K of them are one Gaussian
 * mechanism of ratio sqrt(mu_1^2 + ... + mu_K^2) (their weighted average is
 * sufficient), also if later data depend on earlier releases; the sum and its
 * root are rounded up. A charge is on the disk before the call returns, and is
 * never taken back.
 */
#ifndef PROGRAM_LEDGER_H
#define PROGRAM_LEDGER_H

#include "pricer_study.h"

struct ledger;

/* One release that a round asks for. */
struct ledger_charge {
    const char *key; /* the receiver's, in Z85 */
    double mu;       /* trust_ratio() */
    double total_eps, total_delta;
    bool allowed; /* output */
    double left;  /* output: the part of the budget that is left, 0 to 1 */
};

/* Open the ledger for rounds of the server with this key; made if it is not
 * there. A second process on the same ledger is refused: PRICER_BUSY. */
enum pricer_status ledger_open(const char *path, const char *server,
                               struct ledger **ledger,
                               struct pricer_fault *fault);
void ledger_close(struct ledger *ledger);

/* The last round that was charged, 0 before the first. */
int64_t ledger_last(const struct ledger *ledger);

/*
 * The key under which a neighbour was first seen must be this one; a neighbour
 * that is new is noted. PRICER_VALUE: it is another.
 */
enum pricer_status ledger_pin(struct ledger *ledger, int32_t node,
                              const char *key, struct pricer_fault *fault);

/*
 * Charge a round: each release that fits its budget is charged and allowed, in
 * one transaction. PRICER_VALUE if the round is not above ledger_last(): it is
 * spent, and nothing may be sent for it.
 */
enum pricer_status ledger_charge(struct ledger *ledger, int64_t round,
                                 struct ledger_charge *charges, int32_t count,
                                 struct pricer_fault *fault);

/* What has been spent against a receiver: the ratio of all releases. */
double ledger_spent(struct ledger *ledger, const char *key);

/* Print every account of the ledger; an exit status. May be called while a
 * node runs. */
int ledger_show(const char *path, bool as_json);

#endif
