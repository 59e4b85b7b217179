/*
 * What becomes of handshakes, from ZeroMQ's events: a wrong key shows nowhere
 * else.
 */
#ifndef PROGRAM_HANDSHAKE_H
#define PROGRAM_HANDSHAKE_H

#include "daemon.h"

/* Zero it first; handshake_close() before the socket's context ends. */
struct handshake {
    void *monitor; /* NULL: none */
    void *socket;  /* that is watched; only compared */
    int number;    /* of monitors so far, for their names */
    bool connected, up;
    int64_t down_since;
    int64_t said[4]; /* when each kind of trouble was last put into words */
};

enum handshake_trouble {
    HANDSHAKE_FINE = 0,
    HANDSHAKE_REFUSED, /* the other side does not admit our key */
    HANDSHAKE_CUT,     /* it broke off before it was done: a wrong key? */
    HANDSHAKE_SILENT,  /* nobody has answered for ten seconds */
};

/* Watch this socket from now on; the same one again changes nothing. */
void handshake_follow(struct handshake *handshake, void *context, void *socket);

/*
 * Read the events so far. Answers a trouble that is worth a line in the log:
 * each kind at most once a minute. SILENT is only for a socket that connects to
 * one peer.
 */
enum handshake_trouble handshake_read(struct handshake *handshake, bool one);
void handshake_close(struct handshake *handshake);

#endif
