/*
 * Sockets that speak CURVE within the limits of docs/protocol.md.
 */
#ifndef PROGRAM_NET_H
#define PROGRAM_NET_H

#include "gate.h"

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
    int64_t base; /* bytes in use that are no reason to act */
    int64_t next; /* when to look again */
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
