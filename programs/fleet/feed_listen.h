/*
 * The socket of a feed: who may connect, and where it is.
 */
#ifndef PROGRAM_FEED_LISTEN_H
#define PROGRAM_FEED_LISTEN_H

#include "pricer.h"

#include <sys/types.h>
#include <sys/un.h>

struct feed_place {
    struct sockaddr_un address;
    dev_t device; /* of the socket that was made */
    ino_t inode;
};

/* Listen at "unix:PATH"; the file is non-blocking. */
enum pricer_status feed_listen(const char *address, struct feed_place *place,
                               int *file, struct pricer_fault *fault);

/* Remove the socket, if it is still the one that was made. */
void feed_unlisten(const struct feed_place *place);

/* Whether somebody could listen there: for checks. Nothing is changed. */
enum pricer_status feed_listen_check(const char *address,
                                     struct pricer_fault *fault);

/* The next one who connects, or -1. *stranger: it was turned away, since it is
 * of another user. */
int feed_accept(int listener, pid_t *who, bool *stranger);

#endif
