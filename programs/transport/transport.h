/*
 * The door of the transport: connections between owners of known keys that
 * carry frames, whatever the other side does.
 *
 * A hub owns one process's connections. TLS 1.3 only, both sides with the
 * certificate of an Ed25519 key; a key is admitted or pinned by its 32 bytes,
 * nothing else in a certificate counts. A frame is 4 bytes of length, the
 * highest first, and as many bytes; the empty frame is the heartbeat. All
 * calls and all events are one thread's, and nothing waits but hub_wait().
 *
 * Invariant: what a peer sends can cost that peer its connection and nothing
 * else. Memory per connection is bounded by the largest frame it may send, plus
 * HUB_QUEUE, plus the largest frame sent to it, plus HUB_SEALED and what TLS
 * needs. The rules are in hub.h and
 * docs/protocol.md, section 2.
 */
#ifndef PROGRAM_TRANSPORT_H
#define PROGRAM_TRANSPORT_H

#include "keys.h"

#include <stddef.h>

struct hub;

/* The other end of a connection: one that we connect to, again and again, or
 * one that has connected to us. */
struct hub_peer;

/* Why a connection ended. */
enum hub_end {
    HUB_LEFT,      /* the other side ended it, or the network did */
    HUB_UNREACHED, /* nobody answers at the address */
    HUB_STRANGER,  /* its key is not pinned or not admitted here */
    HUB_REFUSED,   /* it does not admit our key */
    HUB_BROKEN,    /* the handshake failed: no TLS 1.3, no certificate */
    HUB_SLOW,      /* the handshake took too long */
    HUB_SILENT,    /* nothing was heard, not even heartbeats */
    HUB_LONG,      /* a frame is longer than it may be */
    HUB_BUSY,      /* too many frames or handshakes */
    HUB_REPLACED,  /* its key has connected anew */
    HUB_TWIN,      /* another that is alive is connected with its key */
    HUB_TURNED,    /* it knows our key and ended before its first word: another
                      is connected with it, or we come too often */
    HUB_REVOKED,   /* its key is not admitted any more */
    HUB_ENDS,
};

/*
 * What a hub reports, from inside hub_wait(), hub_flush() and hub_admit(). `ended` also comes
 * for connections that never opened, and for each attempt to connect. An
 * accepted peer is gone after `ended`; one that we connect to is tried again.
 */
struct hub_events {
    void *context;
    void (*opened)(void *context, struct hub_peer *peer);
    void (*frame)(void *context, struct hub_peer *peer, const void *data,
                  size_t size);
    void (*ended)(void *context, struct hub_peer *peer, enum hub_end why);
};

/* A key that may connect, and the number its owner is known by; several keys
 * may have one number. */
struct hub_entry {
    uint8_t key[KEYS_SIZE];
    int32_t number;
};

/* Since the hub was opened. */
struct hub_counts {
    int64_t accepted;       /* connections */
    int64_t shed;           /* before a handshake: too many, too fast */
    int64_t full;           /* frames that found no room in a queue */
    int64_t ends[HUB_ENDS]; /* connections, by why they ended */
};

/* Open a hub for the owner of a key, which is borrowed. Nobody is admitted. */
enum pricer_status hub_open(const struct key_pair *pair,
                            const struct hub_events *events, struct hub **hub,
                            struct pricer_fault *fault);

/* Do TLS on so many threads, the caller's among them; one if there are no more to
 * be had. Events come in the caller's as before, in any order of peers. Not from
 * inside an event. */
void hub_share(struct hub *hub, int32_t threads);

/* End everything, without reports; what was sent last has half a second to
 * leave. */
void hub_close(struct hub *hub);

/* Accept connections at "tcp://HOST:PORT": HOST a name, an address, an IPv6
 * address in brackets, or * for all; PORT a number or * for any. PRICER_BUSY: it is
 * in use, or not there yet, and may be had later. */
enum pricer_status hub_listen(struct hub *hub, const char *address,
                              struct pricer_fault *fault);

/* What hub_listen() would say, and nothing is accepted. */
enum pricer_status hub_try(const char *address, struct pricer_fault *fault);

/* Whether an address can be meant by the above. */
bool hub_is_address(const char *address);

/* The largest frame that accepted peers may send from now on. */
void hub_limit(struct hub *hub, int64_t largest);

/*
 * Replace who may connect. Accepted connections of keys that are not among them
 * end at once; others keep theirs, under their new number.
 */
enum pricer_status hub_admit(struct hub *hub, const struct hub_entry *entries,
                             int32_t count);

/*
 * Connect to the owner of a key, and again whenever that fails or ends, after a
 * while that grows and is never quite the same. `owner` is for hub_owner().
 */
enum pricer_status hub_connect(struct hub *hub, const char *address,
                               const uint8_t *key, int64_t largest, void *owner,
                               struct hub_peer **peer,
                               struct pricer_fault *fault);

/* Connect to it under another key than the hub's, which is borrowed: for
 * programs that play many nodes. Before the next hub_wait(). */
void hub_pose(struct hub_peer *peer, const struct key_pair *pair);

/* Forget a peer that we connect to; NULL is fine. Nothing is reported. */
void hub_forget(struct hub_peer *peer);

/* Put a frame into the queue of a peer; false: it is lost, since the connection
 * is not open or its queue is full. */
bool hub_send(struct hub_peer *peer, const void *data, size_t size);

bool hub_is_open(const struct hub_peer *peer);
/* Whether it was accepted, not connected to. */
bool hub_is_guest(const struct hub_peer *peer);
/* Under which number its key is admitted; -1 for one that we connect to, or
 * that is not admitted. */
int32_t hub_number(const struct hub_peer *peer);
/* The key it has shown, or NULL. */
const uint8_t *hub_key(const struct hub_peer *peer);
void *hub_owner(const struct hub_peer *peer);
void hub_set_owner(struct hub_peer *peer, void *owner);

/*
 * Wait up to so many milliseconds for something to happen, then do all that is
 * due: accept, connect, read, write, report. `file` (or -1) is watched too;
 * true: it can be read.
 */
bool hub_wait(struct hub *hub, int64_t milliseconds, int file);

/* Let what is queued leave now, as far as it goes without waiting; `ended` may be
 * reported. Not from inside an event. */
void hub_flush(struct hub *hub);

const struct hub_counts *hub_counts(const struct hub *hub);
const char *hub_end_text(enum hub_end why);

#endif
