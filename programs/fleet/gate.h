/*
 * The gate that admits enrolled keys only.
 */
#ifndef PROGRAM_GATE_H
#define PROGRAM_GATE_H

#include "daemon.h"
#include "keys.h"

#include <zmq.h>

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
    bool stranger;   /* the last of them showed a key: */
    uint8_t refused_key[32];
};
enum pricer_status gate_open(void *context, struct gate *gate,
                             struct pricer_fault *fault);
/* Replace who is admitted; takes over the array (from malloc). Connections
 * that stand are not cut, but net_receive() looks their keys up anew. */
void gate_admit(struct gate *gate, struct gate_entry *entries, int32_t count);
void gate_serve(struct gate *gate);
int32_t gate_number(const struct gate *gate, const char *key);
void gate_close(struct gate *gate);

#endif
