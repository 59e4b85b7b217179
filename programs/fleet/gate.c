/*
 * The gate: from a handshake's public key to yes or no. ZeroMQ asks over an
 * inproc socket (ZAP, RFC 27); the answer comes from a sorted list of enrolled
 * keys. A connection keeps its key as user id, so that a message is ascribed to
 * whoever that key belongs to when it arrives.
 */
#include "gate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum pricer_status gate_open(void *context, struct gate *gate,
                             struct pricer_fault *fault)
{
    *gate = (struct gate){.socket = zmq_socket(context, ZMQ_REP)};
    int now = 0;
    if (gate->socket == NULL ||
        zmq_setsockopt(gate->socket, ZMQ_LINGER, &now, sizeof now) != 0 ||
        zmq_bind(gate->socket, "inproc://zeromq.zap.01") != 0) {
        gate_close(gate);
        return daemon_fault(fault, PRICER_FILE, "cannot open the gate: %s",
                            zmq_strerror(errno));
    }
    return PRICER_OK;
}

static int compare(const void *a, const void *b)
{
    return memcmp(((const struct gate_entry *)a)->key,
                  ((const struct gate_entry *)b)->key, 32);
}

void gate_admit(struct gate *gate, struct gate_entry *entries, int32_t count)
{
    free(gate->entries);
    gate->entries = entries;
    gate->count = count;
    if (count > 0)
        qsort(entries, (size_t)count, sizeof *entries, compare);
}

static const struct gate_entry *find(const struct gate *gate,
                                     const uint8_t *key)
{
    struct gate_entry wanted;
    memcpy(wanted.key, key, sizeof wanted.key);
    return gate->count == 0
               ? NULL
               : bsearch(&wanted, gate->entries, (size_t)gate->count,
                         sizeof wanted, compare);
}

int32_t gate_number(const struct gate *gate, const char *key)
{
    uint8_t bytes[32];
    if (key == NULL || !keys_bytes(key, bytes))
        return -1;
    const struct gate_entry *entry = find(gate, bytes);
    return entry != NULL ? entry->node : -1;
}

static void answer(void *socket, const char *request, size_t request_size,
                   const struct gate_entry *entry)
{
    char user[PRICER_KEY_TEXT] = "";
    if (entry != NULL)
        keys_text(entry->key, user);
    const char *code = entry != NULL ? "200" : "400";
    const char *text = entry != NULL ? "OK" : "not enrolled";
    zmq_send(socket, "1.0", 3, ZMQ_SNDMORE);
    zmq_send(socket, request, request_size, ZMQ_SNDMORE);
    zmq_send(socket, code, 3, ZMQ_SNDMORE);
    zmq_send(socket, text, strlen(text), ZMQ_SNDMORE);
    zmq_send(socket, user, strlen(user), ZMQ_SNDMORE);
    zmq_send(socket, "", 0, 0);
}

/* A request: version, id, domain, address, identity, mechanism, key. */
void gate_serve(struct gate *gate)
{
    enum { FRAMES = 7, ROOM = 256 };
    char frames[FRAMES][ROOM];
    int sizes[FRAMES];
    for (;;) {
        int count = 0, more = 1;
        while (more) {
            char spare[ROOM];
            size_t width = sizeof more;
            char *to = count < FRAMES ? frames[count] : spare;
            int size = zmq_recv(gate->socket, to, ROOM, ZMQ_DONTWAIT);
            if (size < 0)
                return;
            if (count < FRAMES)
                sizes[count] = size;
            count++;
            zmq_getsockopt(gate->socket, ZMQ_RCVMORE, &more, &width);
        }
        const struct gate_entry *entry = NULL;
        if (count == FRAMES && sizes[1] <= ROOM && sizes[5] == 5 &&
            memcmp(frames[5], "CURVE", 5) == 0 && sizes[6] == 32) {
            entry = find(gate, (const uint8_t *)frames[6]);
            gate->stranger = entry == NULL;
            if (gate->stranger)
                memcpy(gate->refused_key, frames[6], sizeof gate->refused_key);
        }
        gate->refused += entry == NULL;
        answer(gate->socket, frames[1],
               count > 1 && sizes[1] <= ROOM ? (size_t)sizes[1] : 0, entry);
    }
}

void gate_close(struct gate *gate)
{
    if (gate->socket != NULL)
        zmq_close(gate->socket);
    free(gate->entries);
    *gate = (struct gate){0};
}
