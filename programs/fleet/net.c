/*
 * ZeroMQ's sockets within the limits of docs/protocol.md.
 */
#include "net.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    HANDSHAKE = 5000, /* milliseconds, all of these */
    HEARTBEAT = 1000,
    SILENCE = 3000,
    CONNECT = 1000,
    RECONNECT = 100,
    RECONNECT_MOST = 1000,
    FAREWELL = 500,
    GLANCE = 100,
    QUEUE = 8, /* messages a peer, in each direction */
    BACKLOG = 1024,
};

static bool set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

static bool set_common(void *socket, const struct key_pair *pair,
                       int64_t largest)
{
    return set_int(socket, ZMQ_LINGER, 0) &&
           set_int(socket, ZMQ_SNDHWM, QUEUE) &&
           set_int(socket, ZMQ_RCVHWM, QUEUE) &&
           set_int(socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE) &&
           set_int(socket, ZMQ_HEARTBEAT_IVL, HEARTBEAT) &&
           set_int(socket, ZMQ_HEARTBEAT_TIMEOUT, SILENCE) &&
           set_int(socket, ZMQ_HEARTBEAT_TTL, SILENCE) &&
           zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &largest, sizeof largest) ==
               0 &&
           zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, pair->secret_key,
                          PRICER_KEY_TEXT) == 0;
}

enum pricer_status net_bind(void *context, int type, const char *address,
                            const struct key_pair *pair, int64_t largest,
                            void **socket, struct pricer_fault *fault)
{
    void *made = zmq_socket(context, type);
    if (made == NULL || !set_common(made, pair, largest) ||
        !set_int(made, ZMQ_BACKLOG, BACKLOG) ||
        !set_int(made, ZMQ_CURVE_SERVER, 1) ||
        zmq_setsockopt(made, ZMQ_ZAP_DOMAIN, "pricer", 6) != 0 ||
        zmq_bind(made, address) != 0) {
        daemon_fault(fault, PRICER_FILE, "cannot listen at %.200s: %s", address,
                     zmq_strerror(errno));
        net_close(&made);
        return PRICER_FILE;
    }
    *socket = made;
    return PRICER_OK;
}

enum pricer_status net_connect(void *context, int type, const char *address,
                               const struct key_pair *pair, const char *key,
                               int64_t largest, struct handshake *handshake,
                               void **socket, struct pricer_fault *fault)
{
    void *made = zmq_socket(context, type);
    if (made != NULL && handshake != NULL)
        handshake_follow(handshake, context, made);
    if (made == NULL || !set_common(made, pair, largest) ||
        !set_int(made, ZMQ_IMMEDIATE, 1) ||
        !set_int(made, ZMQ_CONNECT_TIMEOUT, CONNECT) ||
        !set_int(made, ZMQ_RECONNECT_IVL, RECONNECT) ||
        !set_int(made, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MOST) ||
        zmq_setsockopt(made, ZMQ_CURVE_PUBLICKEY, pair->public_key,
                       PRICER_KEY_TEXT) != 0 ||
        zmq_setsockopt(made, ZMQ_CURVE_SERVERKEY, key, PRICER_KEY_TEXT) != 0 ||
        zmq_connect(made, address) != 0) {
        daemon_fault(fault, PRICER_FILE, "cannot connect to %.200s: %s",
                     address, zmq_strerror(errno));
        net_close(&made);
        return PRICER_FILE;
    }
    *socket = made;
    return PRICER_OK;
}

int64_t net_queue_bytes(int64_t largest)
{
    return QUEUE * largest;
}

/* Bytes of memory that the process has in use; 0 if nobody says. */
static int64_t memory_used(void)
{
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%*s %lld", &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

/* Closing takes ZeroMQ a moment, in which the address is still taken. */
static enum pricer_status bind_again(void *context, int type,
                                     const char *address,
                                     const struct key_pair *pair,
                                     int64_t largest, void **socket,
                                     struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_FILE;
    for (int k = 0; k < 100 && status != PRICER_OK; k++) {
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        status = net_bind(context, type, address, pair, largest, socket, fault);
    }
    return status;
}

enum pricer_status net_watch_memory(struct net_guard *guard, int64_t room,
                                    void *context, int type,
                                    const char *address,
                                    const struct key_pair *pair,
                                    int64_t largest, void **socket,
                                    struct pricer_fault *fault)
{
    int64_t now = daemon_clock();
    if (*socket == NULL || now < guard->next)
        return PRICER_OK;
    guard->next = now + GLANCE;
    int64_t used = memory_used();
    if (guard->base == 0)
        guard->base = used;
    if (used <= guard->base + room)
        return PRICER_OK;
    daemon_say("a peer fills the memory (%lld MiB): all connections are cut",
               (long long)(used >> 20));
    guard->resets++;
    zmq_unbind(*socket, address);
    net_close(socket);
    enum pricer_status status =
        bind_again(context, type, address, pair, largest, socket, fault);
    malloc_trim(0);
    /* What did not go away was not the peer's; do not cut again for it. */
    used = memory_used() - room / 2;
    guard->base = used > guard->base ? used : guard->base;
    return status;
}

void net_close(void **socket)
{
    if (*socket != NULL)
        zmq_close(*socket);
    *socket = NULL;
}

void net_close_slowly(void **socket)
{
    if (*socket != NULL)
        set_int(*socket, ZMQ_LINGER, FAREWELL);
    net_close(socket);
}

bool net_send(void *socket, const void *data, size_t size)
{
    return zmq_send(socket, data, size, ZMQ_DONTWAIT) == (int)size;
}

/* Take the rest of a message off the socket; true: there was none. */
static bool is_last(void *socket, zmq_msg_t *frame)
{
    bool last = !zmq_msg_more(frame);
    bool more = !last;
    while (more) {
        zmq_msg_t rest;
        zmq_msg_init(&rest);
        more = zmq_msg_recv(&rest, socket, ZMQ_DONTWAIT) >= 0 &&
               zmq_msg_more(&rest);
        zmq_msg_close(&rest);
    }
    return last;
}

enum net_got net_receive(void *socket, const struct gate *gate,
                         struct net_routing *routing, zmq_msg_t *frame,
                         int32_t *sender)
{
    zmq_msg_init(frame);
    if (zmq_msg_recv(frame, socket, ZMQ_DONTWAIT) < 0) {
        zmq_msg_close(frame);
        return NET_NOTHING;
    }
    if (routing != NULL) {
        routing->size = (uint8_t)zmq_msg_size(frame);
        memcpy(routing->bytes, zmq_msg_data(frame), routing->size);
        if (!zmq_msg_more(frame) || zmq_msg_recv(frame, socket, 0) < 0) {
            zmq_msg_close(frame);
            return NET_MALFORMED;
        }
    }
    *sender = gate_number(gate, zmq_msg_gets(frame, "User-Id"));
    if (is_last(socket, frame))
        return NET_MESSAGE;
    zmq_msg_close(frame);
    return NET_MALFORMED;
}
