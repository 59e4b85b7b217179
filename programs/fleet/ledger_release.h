/*
 * The releases of a node that forwards: each is made, stored and charged in one
 * transaction, which is on the disk before the first byte leaves.
 *
 * A release is heard by everyone, so there is one account of releases in a
 * ledger, whatever server, key, study, round or plan they were for. The account
 * is a list of entries: T rounds of one release (kind, threshold t, loss e0 or
 * noise), and the (eps, delta) that these T rounds keep together. An entry and
 * its (eps, delta) are fixed in the ledger before its first release. A round is
 * charged to an entry that has a round left and allows it: same kind, dimension
 * and threshold, e0 no larger or noise no smaller. Otherwise a new entry is
 * made, if the budget holds it. Nothing in the account is ever taken back.
 *
 * Claim: if ledger_release() answers PRICER_OK, all releases that the ledger has
 * ever stored are together (eps, delta)-private against everyone, (eps, delta)
 * the sums over all entries, and these sums are within the row `everyone` of the
 * trust file and within the totals of every other row.
 * Proof: a round of an entry is a post-processing of one outcome of the entry's
 * dominating pair, which does not depend on the data (docs/release.md, "Several
 * rounds"; for a smaller e0 or more noise lib/release/ledger.c). So all outcomes
 * of an entry may be drawn at once when it is made, and what is released is a
 * post-processing of one draw an entry, however rounds of entries alternate,
 * rounds are left out, and data and later entries are chosen. A draw of entry j
 * has the law P_j or Q_j with P_j <= exp(eps_j) Q_j + delta_j on every event, by
 * a computation of this node (ledger_terms_check()). Then there is a measure P'_j <=
 * P_j, P'_j <= exp(eps_j) Q_j, of mass at least 1 - delta_j. The law of all draws
 * is at least that of draws from P'_j, of mass at least 1 - sum delta_j, which is
 * at most exp(sum eps_j) times that of draws from Q_j: step by step, also where
 * the choice of an entry depends on earlier draws, since the sums are bounded
 * whatever was drawn. Sums are rounded up.
 *
 * Claim: towards a receiver with a row of its own, all releases and all sums that
 * were ever sent to it together keep the totals of its row; with a row
 * `everyone`, sums go to no other receiver.
 * Proof: the totals (E, D) of a row are divided by the trust file alone, before
 * anything is sent: releases get R = (min(eps, E), min(delta, D)) with (eps,
 * delta) of the row `everyone`, sums get (E, D) - R, rounded down, and nothing
 * where either is 0. Sums are one Gaussian of their account (ledger.h), releases
 * are the draws above, and basic composition adds the two; it holds however they
 * alternate, as one division holds all the time. (A division that were chosen
 * after data was sent would be no guarantee: whoever chooses when to change from
 * sums to releases could wait for a lucky moment.) Where the row `everyone` is
 * gone, or is less than what was released, sums are charged what was released.
 * The operator must not edit the trust file because of what was released.
 */
#ifndef PROGRAM_LEDGER_RELEASE_H
#define PROGRAM_LEDGER_RELEASE_H

#include "ledger.h"
#include "pricer_forward.h"
#include "release/release.h"

enum {
    LEDGER_DIGEST = 16,
    LEDGER_ENTRIES = 1000,     /* at most, in a ledger */
    LEDGER_PAYLOAD = 64 << 20, /* bytes, at most */
};

/*
 * A release as a plan states it, and the budget over all its rounds that it was
 * made for. All of it is a claim until ledger_terms_check() has agreed.
 */
struct ledger_terms {
    enum pri_release_kind kind; /* sphere or Gaussian */
    int64_t dimension;
    double radius;
    double t, e0; /* of a sphere */
    double noise; /* of a Gaussian: standard deviation of a coordinate */
    int64_t rounds;
    double eps, delta;
};

/* What a plan for so many rounds says about a node. */
struct ledger_terms ledger_terms_of(const struct pricer_network *network,
                                    const struct pricer_forward_plan *plan,
                                    int64_t rounds, int32_t node);

/*
 * Compute what the terms amount to: *release (or NULL) is the release with all
 * its parameters, *cost (or NULL) the (eps, delta) of all rounds, at most what
 * the terms say; delta is 0 where the rounds cost no more than eps without it.
 * PRICER_VALUE, with the reason, where numbers are out of range or the rounds do
 * not keep what the terms say. Up to some milliseconds for many rounds.
 */
enum pricer_status ledger_terms_check(const struct ledger_terms *terms,
                                      struct pri_release *release,
                                      struct pricer_budget *cost,
                                      struct pricer_fault *fault);

/* One round's release, as it is asked for. */
struct ledger_round {
    int64_t round;                /* at least 1 */
    uint8_t study[LEDGER_DIGEST]; /* whose round it is */
    uint8_t plan[LEDGER_DIGEST];  /* digest of the plan */
    int64_t reference;            /* round that the data is relative to, or 0 */
};

/* What is stored of a round: all that its packet is made of. */
struct ledger_packet {
    struct ledger_round about;
    enum pri_release_kind kind;
    uint8_t *payload; /* [size], the caller's; ledger_packet_free() */
    size_t size;
};
void ledger_packet_free(struct ledger_packet *packet);

/*
 * How many more rounds of these terms the account and all rows allow; at most
 * LEDGER_NO_END. Zero rounds are PRICER_INFEASIBLE, and the fault says which row
 * or what else is in the way; invalid terms are PRICER_VALUE. Changes nothing.
 */
enum pricer_status ledger_release_left(struct ledger *ledger,
                                       const struct ledger_terms *terms,
                                       int64_t *left,
                                       struct pricer_fault *fault);

/*
 * The stored packet of a round: PRICER_OK, with the plan, study and reference
 * that it was made for, which may be others than those of now. PRICER_VALUE: the
 * round is spent and nothing may be sent for it. PRICER_INFEASIBLE: nothing is
 * charged for it yet. Ask this first: a round that has a packet needs no data.
 */
enum pricer_status ledger_stored(struct ledger *ledger, int64_t round,
                                 struct ledger_packet *packet,
                                 struct pricer_fault *fault);

/*
 * Charge a round and store its payload, in one transaction. Only after PRICER_OK
 * may anything leave, and then *packet, which is what ledger_stored() will
 * answer until a later round is charged: the payload handed in, or where the
 * round is charged already the one of that time. Otherwise the payload must be
 * thrown away: PRICER_VALUE, the round is spent, or is more than WIRE_JUMP ahead
 * (no later one could go back), or the terms are wrong; PRICER_INFEASIBLE, a
 * budget does not hold it; anything else, the ledger failed.
 */
enum pricer_status ledger_release(struct ledger *ledger,
                                  const struct ledger_round *round,
                                  const struct ledger_terms *terms,
                                  const void *payload, size_t size,
                                  struct ledger_packet *packet,
                                  struct pricer_fault *fault);

/* The account: the sums over all entries, and the rounds that were released. */
struct ledger_account {
    double eps, delta; /* of all entries, used or not */
    int64_t rounds;    /* that these are for */
    int64_t released;  /* rounds that were made */
    int32_t entries;
};
enum pricer_status ledger_account(struct ledger *ledger,
                                  struct ledger_account *account,
                                  struct pricer_fault *fault);

#endif
