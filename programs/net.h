/*
 * What server and node share about the network: faults, the clock, sockets
 * that speak CURVE within the limits of docs/protocol.md, and the gate that
 * admits enrolled keys only.
 */
#ifndef PROGRAM_NET_H
#define PROGRAM_NET_H

#include "keys.h"

#include <zmq.h>

/* Write a fault (which may be NULL) and return the status. */
enum pricer_status net_fault(struct pricer_fault *fault,
                             enum pricer_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A line on stderr with the program's name before it. */
void net_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Milliseconds of the monotonic clock. */
int64_t net_clock(void);

/* SIGTERM and SIGINT ask to stop; the number of times they did. */
void net_catch_signals(void);
int net_stopping(void);

/* ----------------------------------------------------------------- gate -- */

/* Keys that are admitted, each with the number its owner is known by. */
struct gate_entry {
    uint8_t key[32];
    int32_t node;
};

/*
 * The ZAP handler of a context. Make it before any other socket; call
 * gate_serve() whenever `socket` has input.
 */
struct gate {
    void *socket;
    struct gate_entry *entries; /* sorted by key */
    int32_t count;
    int64_t refused; /* handshakes turned away */
};
enum pricer_status gate_open(void *context, struct gate *gate,
                             struct pricer_fault *fault);
/* Replace who is admitted; takes over the array (from malloc). Connections
 * that stand are not cut, but net_receive() looks their keys up anew. */
void gate_admit(struct gate *gate, struct gate_entry *entries, int32_t count);
void gate_serve(struct gate *gate);
int32_t gate_number(const struct gate *gate, const char *key);
void gate_close(struct gate *gate);

/* -------------------------------------------------------------- sockets -- */

/* A socket that binds and demands CURVE from whoever connects. */
enum pricer_status net_bind(void *context, int type, const char *address,
                            const struct key_pair *pair, int64_t largest,
                            void **socket, struct pricer_fault *fault);

/* A socket that connects to the owner of `key` and never queues for a peer
 * that is not there. */
enum pricer_status net_connect(void *context, int type, const char *address,
                               const struct key_pair *pair, const char *key,
                               int64_t largest, void **socket,
                               struct pricer_fault *fault);

/*
 * ZeroMQ bounds messages and frames, but not the frames of one message, which
 * it keeps until the last has come: an enrolled peer could fill the memory. So
 * look now and then: if the process has grown by more than `room` bytes since
 * the first look, throw the socket away, with all that it holds, and bind
 * anew; honest peers connect again.
 */
struct net_guard {
    int64_t base, next; /* bytes; when to look */
    int64_t resets;
};
enum pricer_status net_watch_memory(struct net_guard *guard, int64_t room,
                                    void *context, int type,
                                    const char *address,
                                    const struct key_pair *pair,
                                    int64_t largest, void **socket,
                                    struct pricer_fault *fault);

/* How many bytes one peer's queue can hold. */
int64_t net_queue_bytes(int64_t largest);

void net_close(void **socket);
/* The same, but what was sent last has half a second to leave. */
void net_close_slowly(void **socket);

/* Send one frame without waiting; false: it is lost. */
bool net_send(void *socket, const void *data, size_t size);

/*
 * Receive one message without waiting. `routing` is filled at a ROUTER (NULL
 * elsewhere). *sender is the number under which the gate now admits the key of
 * the connection, -1 if it does not.
 * Messages of several frames are taken off whole and answered as
 * NET_MALFORMED. Close *frame after NET_MESSAGE only.
 */
enum net_got { NET_NOTHING, NET_MESSAGE, NET_MALFORMED };
struct net_routing {
    uint8_t bytes[255];
    uint8_t size;
};
enum net_got net_receive(void *socket, const struct gate *gate,
                         struct net_routing *routing, zmq_msg_t *frame,
                         int32_t *sender);

#endif
