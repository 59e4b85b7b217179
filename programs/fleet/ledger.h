/*
 * The budget ledger of a node: what it has let out, to whom, in which round.
 *
 * Releases are counted by the key that they were sent to. A key may follow
 * another, because the other signed it or because the operator put it into the
 * other's row of the trust file. The family of a key is that key, all that it
 * follows, and all that follow any of these, over any number of steps; the
 * account of a key is everything that was ever sent to its family, by any server
 * and under any number. A release must fit the budget of the row that it is sent
 * for, and that of every row of the trust file that names a key of the
 * receiver's family, or had one last.
 *
 * Claim: if ledger_charge() answers that a release is allowed, then all releases
 * ever charged to the receiver's family, this one included, are together
 * (total_eps, total_delta)-private against whoever holds all its keys, for the
 * budgets of all these rows. Proof: a release is a Gaussian mechanism of ratio
 * mu with noise of its own, so K of them are one Gaussian mechanism of ratio
 * sqrt(mu_1^2 + ... + mu_K^2) (their weighted average is sufficient), also if
 * later data depend on earlier releases; the sum and its root are rounded up,
 * and trust_allows() is proved. The sum misses nothing: counts and the relation
 * between keys are only ever added to (ledger_schema.c has triggers that refuse
 * anything else), so families and accounts only ever grow, whatever a server
 * shows and whoever signs. A charge is on the disk before the call returns.
 *
 * Hence, for whoever holds keys that the node knows to follow each other: after
 * every release to one of them, what they have heard is within the budget of
 * every row that names one of them or had one last. A signature can only make
 * families larger, which can only withhold data. What nobody has signed and no row connects are different receivers.
 *
 * Every release counts as heard, whatever a plan says about losses: a node
 * cannot know the probability with which a packet is heard.
 *
 * Claim: a plan for T rounds lasts T rounds. Its ratio is at most M / sqrt(T) (1 - 2^-49 + 2^-53), M the calibrated ratio of the budget:
 * calibration takes 2^-49 off for T > 1, and rounding the noise of a link adds
 * half a unit. Equal ratios are counted, not added up, so the ratio of all is
 * right within 2^-51, however many they are, and stays below M, which
 * trust_allows() accepts; for T = 1 see there. T + 1 rounds are above M by a
 * factor of sqrt(1 + 1 / T), so the budget ends there, and not later. After 256
 * ratios of one key, those that are new count as up to a sixteenth larger.
 */
#ifndef PROGRAM_LEDGER_H
#define PROGRAM_LEDGER_H

#include "pricer_study.h"

struct ledger;
struct trust;

enum {
    LEDGER_ALL = -1, /* the row for everything that the server gets */
    LEDGER_OWN = -2, /* the row for the node's own part */
    LEDGER_KEY =
        64, /* room for a receiver's key, with what may stand before it */
};

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
 * The trust file that the following calls go by, borrowed, and the row in it that
 * is the node's own. Where the operator has given neighbours other numbers, their
 * keys go with them: the row that names a key now goes on with what it was sent,
 * and the row that it left begins with the next key that it has. A row is left
 * only for one that had no key of this kind before, so each fresh account takes
 * up a row that was not used.
 */
enum pricer_status ledger_use_trust(struct ledger *ledger,
                                    const struct trust *trust, int32_t own,
                                    struct pricer_fault *fault);

/*
 * A server shows this key for a row: a neighbour's number, LEDGER_OWN or
 * LEDGER_ALL. `named` is the key that the trust file has for it, `old` one whose
 * signature says that `key` follows it; both may be NULL. The key must be the
 * named one, or without one the first that the row had, or follow it; and once
 * a row has gone on to a later key, it does not go back. What is learnt about
 * keys is on the disk when the call returns.
 *
 * PRICER_VALUE: nothing may be sent to this key; the fault ends the sentence
 * "its key is not the one ...".
 */
enum pricer_status ledger_admit(struct ledger *ledger, int32_t row,
                                const char *named, const char *old,
                                const char *key, struct pricer_fault *fault);

/*
 * Of a neighbour that forwards: the key that its row goes by, `named` or the latest
 * that follows it and was admitted; one that follows a key by its signature, or
 * empty, and to note such a one before it is admitted. False: the ledger cannot be
 * read or written.
 */
bool ledger_row_key(struct ledger *ledger, int32_t row, const char *named,
                    char key[PRICER_KEY_TEXT]);
bool ledger_next_key(struct ledger *ledger, const char *key,
                     char next[PRICER_KEY_TEXT]);
bool ledger_follow(struct ledger *ledger, const char *old, const char *key);

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

/* What is in the account of a key: the ratio of all releases to its family. */
double ledger_spent(struct ledger *ledger, const char *key);

/* Print every account of the ledger, nodes by the names of a trust file (or NULL);
 * an exit status. May be called while a node runs. */
int ledger_show(const char *path, const char *names, bool as_json);

#endif
