/*
 * What bench_pipe and bench_ping share: many bare TLS 1.3 connections between two
 * processes on loopback, with the keys and the cipher of a fleet.
 */
#ifndef BENCH_BARE_H
#define BENCH_BARE_H

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* One end of the connections, each with a message of its own. */
struct side {
    SSL_CTX *context;
    SSL **ssl;
    char *messages;
    size_t size;
    long connections;
};

double bare_clock(void);

/* CPU seconds so far, of RUSAGE_SELF or of RUSAGE_CHILDREN that have ended. */
double bare_used(int whose);

/* The same of a child that runs. */
double bare_used_by(pid_t child);

/* A socket that listens on loopback, and where. */
int bare_listen(struct sockaddr_in *where);

/* All connections, shaken. On failure the side can still be freed. */
bool bare_connect(struct side *side, const struct sockaddr_in *where,
                  size_t size, long connections);
bool bare_accept(struct side *side, int listener, size_t size,
                 long connections);
void bare_free(struct side *side);

#endif
