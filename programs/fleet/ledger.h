/*
 * The budget ledger of a node: what it has let out, to whom, in which round.
 *
 * Claim: if ledger_charge() answers that a release is allowed, then all
 * releases ever charged to that receiver, this one included, are together
 * (total_eps, total_delta)-private against it. Proof: a release is a Gaussian
 * mechanism of ratio mu with noise of its own, so K of them are one Gaussian
 * mechanism of ratio sqrt(mu_1^2 + ... + mu_K^2) (their weighted average is
 * sufficient), also if later data depend on earlier releases; the sum and its
 * root are rounded up, and trust_allows() is proved. A charge is on the disk
 * before the call returns, and is never taken back.
 *
 * Every release counts as heard, whatever a plan says about losses: a node
 * cannot know the probability with which a packet is heard.
 *
 * Claim: a plan for T rounds lasts T rounds. Its ratio is at most M / sqrt(T) (1 - 2^-49 + 2^-53), M the calibrated ratio of the budget:
 * calibration takes 2^-49 off for T > 1, and rounding the noise of a link adds
 * half a unit. Equal ratios are counted, not added up, so the ratio of all is
 * right within 2^-51, however many they are, and stays below M, which
 * trust_allows() accepts; for T = 1 see there. T + 1 rounds are above M by a
 * factor of sqrt(1 + 1 / T), so the budget ends there, and not later.
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
    bool all; /* the first, of everything that follows: nothing is allowed where
                 this is not, and it is charged where anything is */
};

/* Open the ledger for rounds of the server with this key; made if it is not
 * there. A second process on the same ledger is refused: PRICER_BUSY. */
enum pricer_status ledger_open(const char *path, const char *server,
                               struct ledger **ledger,
                               struct pricer_fault *fault);
void ledger_close(struct ledger *ledger);

/* Whether there is a ledger at all; an empty file is none. Where there was one
 * before, what was spent is lost with it. */
bool ledger_is_there(const char *path);

/* The last round that was charged, 0 before the first. */
int64_t ledger_last(const struct ledger *ledger);

/*
 * The session that the server gave this ledger last, 0 before the first; a
 * higher one, which is on the disk when the call returns. -1: an operator has
 * said that what was lost is lost, and the server's next one is taken.
 */
int64_t ledger_session(const struct ledger *ledger);
enum pricer_status ledger_set_session(struct ledger *ledger, int64_t session,
                                      struct pricer_fault *fault);

/* Go on after a round of which the ledger knows nothing: charges up to there are
 * lost, on the operator's word. */
enum pricer_status ledger_accept(struct ledger *ledger, int64_t round,
                                 struct pricer_fault *fault);

/*
 * The key under which a neighbour was first seen must be this one; a neighbour
 * that is new is noted. PRICER_VALUE: it is another.
 */
enum pricer_status ledger_pin(struct ledger *ledger, int32_t node,
                              const char *key, struct pricer_fault *fault);

/* A neighbour has a key that follows the one it was seen under, as the old one has
 * signed: the new one takes its place, and what was spent goes over to it. */
enum pricer_status ledger_follow(struct ledger *ledger, int32_t node,
                                 const char *old, const char *key,
                                 struct pricer_fault *fault);

/*
 * Charge a round: each release that fits its budget is charged and allowed, in
 * one transaction; after one that stands for all and does not fit, none is. Where
 * nothing is allowed nothing leaves the node, and nothing is charged.
 * PRICER_VALUE if the round is not above ledger_last(): it is spent, and nothing
 * may be sent for it.
 */
enum pricer_status ledger_charge(struct ledger *ledger, int64_t round,
                                 struct ledger_charge *charges, int32_t count,
                                 struct pricer_fault *fault);

/* How many more releases like this one the budget holds; LEDGER_NO_END: as many
 * as anyone may ask for, -1: the ledger cannot be read. */
#define LEDGER_NO_END ((INT64_C(1) << 62) - 1)
int64_t ledger_left(struct ledger *ledger, const struct ledger_charge *charge);

/* What has been spent against a receiver: the ratio of all releases. */
double ledger_spent(struct ledger *ledger, const char *key);

/* Print every account of the ledger, nodes by the names of a trust file (or NULL);
 * an exit status. May be called while a node runs. */
int ledger_show(const char *path, const char *names, bool as_json);

#endif
