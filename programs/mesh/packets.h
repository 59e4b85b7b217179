/*
 * The packets that a relay holds: one a node and round.
 *
 * A relay cannot check the tag of a packet, which is for the server, and passes on
 * what comes first. Where two copies of a packet differ it checks the node's
 * signature, keeps the one that the node has made, and passes that on too.
 *
 * Claim: if links that work lead from an honest node over honest relays to the
 * server, within the plan's hops, its packet arrives, whatever other relays send.
 * Proof: by induction the packet reaches every relay of that path. There it is
 * kept and passed on, unless the relay holds another copy. If that one is the
 * node's own it is the same, since a node signs one packet a round. If not, the
 * signature of the copy that is held is found wrong, and the packet takes its
 * place. A copy that pretends to have travelled further stops earlier, but the
 * true one has travelled less, and a copy that has travelled less than the one
 * held is passed on again. Packets of rounds after the next are not kept, and before
 * the first round of a plan only those of one round, which a liar may choose; whoever
 * has missed some asks its neighbours when a round begins. With several attempts this holds for each: what was held in
 * one is passed on again in the next. A neighbour is left out only where it has sent
 * these very bytes in that attempt or earlier, after no more links than they would
 * come with (packets_has()), and has neither connected nor asked again since
 * (packets_forget()): if it is honest it holds them. A neighbour's part in the
 * following limits is its own.
 *
 * Bounds: memory for 2 rounds of one packet a node, and 3 neighbours bytes a node.
 * A round makes at most hops + 2 copies of a packet go to a neighbour; more than
 * nodes (hops + 3) attempts packets of one neighbour are not looked at, and
 * PACKETS_CHECKS signatures a node and neighbour are checked at most.
 */
#ifndef PROGRAM_MESH_PACKETS_H
#define PROGRAM_MESH_PACKETS_H

#include "message.h"
#include "transport/keys.h"

enum { PACKETS_CHECKS = 8 };

/* What a packet is bound to, next to what it says itself. */
struct packet_about {
    uint8_t digest[WIRE_DIGEST]; /* of the plan */
    int64_t round;
};

/* The signature of a packet with a tag, and whether it is that of the node with
 * this key. */
bool packet_sign(const struct key_pair *pair, const struct packet_about *about,
                 const struct mesh_packet *packet, uint8_t *signature);
bool packet_verify(const uint8_t *key, const struct packet_about *about,
                   const struct mesh_packet *packet);

enum packet_news {
    PACKET_NEW,     /* it is kept; pass it on */
    PACKET_CLOSER,  /* known, and came sooner than before; pass it on */
    PACKET_SAME,    /* known */
    PACKET_ROUND,   /* of another round */
    PACKET_FOREIGN, /* of a node that does not take part */
    PACKET_LENGTH, /* not of the kind or length that the plan says, or too far */
    PACKET_FORGED, /* the node has not made it */
    PACKET_QUOTA,  /* the neighbour has sent too many */
    PACKET_NEWS,
};

struct packets;

/* Room for packets of a plan's nodes from so many neighbours. The fleet and what
 * it points to are borrowed. NULL: no memory. */
struct packets *packets_new(const struct mesh_fleet *fleet, int32_t neighbours);
void packets_free(struct packets *packets);

/* Another announcement of the same plan takes the place of the one that was
 * borrowed: keys may have changed. */
void packets_renew(struct packets *packets, const struct mesh_fleet *fleet);

/* Whether packets of this round, which is about to begin, or of a later one may have
 * come too early to be kept: this relay has heard of rounds later than its
 * neighbours. */
bool packets_missed(const struct packets *packets, int64_t round);

/* A round begins: it and the next one are kept, others forgotten. Earlier rounds
 * never come back. */
void packets_begin(struct packets *packets, const struct packet_about *about);

/* When a packet came: in which attempt of which round. */
struct packet_time {
    int64_t round, attempt;
};

/* A packet comes from a neighbour, or (-1) is the node's own. */
enum packet_news packets_take(struct packets *packets, int32_t neighbour,
                              const struct packet_time *time,
                              const struct mesh_packet *packet);

/*
 * The packet of a node in the current round, as it is passed on in an attempt: with
 * the fewest hops of copies that came in that attempt or earlier. False: there was
 * none.
 */
bool packets_get(const struct packets *packets, int32_t node, int64_t attempt,
                 struct mesh_packet *packet);

/* Whether a neighbour is known to hold what packets_get() has found, in that attempt
 * and after at most one link more: it has sent it. */
bool packets_has(const struct packets *packets, int32_t neighbour,
                 int64_t attempt, const struct mesh_packet *packet);

/* A neighbour may have lost what it had. */
void packets_forget(struct packets *packets, int32_t neighbour);

/* Copies that came, by what became of them. */
const int64_t *packets_counts(const struct packets *packets);

#endif
