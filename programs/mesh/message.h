/*
 * The messages of docs/protocol.md, section 10 (version 3, scheme forward), to
 * bytes and back. Reading is strict and allocates nothing: what points into a
 * message lives as long as it does.
 */
#ifndef PROGRAM_MESH_MESSAGE_H
#define PROGRAM_MESH_MESSAGE_H

#include "fleet/wire.h"

enum mesh_type {
    MESH_PACKETS = 1,
    MESH_ANNOUNCE,
    MESH_HELLO,
    MESH_MARK,
    MESH_TYPES,
};

enum {
    MESH_VERSION = 3,
    MESH_TAG = 16,
    MESH_SIGNATURE = 64,
    MESH_HOPS = 30,         /* relays of a packet, at most */
    MESH_ROWS = 65536,      /* different releases of a plan, at most */
    MESH_PACKET_MORE = 128, /* bytes of a packet next to its payload, at most */
    MESH_BATCH = 48 << 10,  /* bytes after which a batch is sent */
};

/* The type of a message, or 0 if it is none of this version. */
int mesh_type(const void *data, size_t size);

/* --------------------------------------------------------------- packets -- */

/* A node's release of a round, as it travels. */
struct mesh_packet {
    int32_t node;
    int32_t kind; /* enum pri_release_kind */
    const uint8_t *payload;
    size_t size;
    const uint8_t *tag;       /* MESH_TAG bytes, for the server */
    const uint8_t *signature; /* MESH_SIGNATURE bytes, for everyone */
    int32_t hops;             /* links that this copy has travelled */
};

/*
 * Packets of one attempt of a round, one after the other in one message: begin,
 * add each, end. Adding fails where there is no memory; what was added stays.
 */
struct mesh_batch {
    struct wire_bytes bytes;
    int64_t round, attempt;
    int32_t count;
    size_t start; /* where the number of packets is */
};
bool mesh_batch_add(struct mesh_batch *batch, int64_t round, int64_t attempt,
                    const struct mesh_packet *packet);
/* Whether it has to be sent before another packet of this attempt is added. */
bool mesh_batch_is_full(const struct mesh_batch *batch, int64_t round,
                        int64_t attempt, size_t size);
/* The message is whole; the next packet begins another. */
void mesh_batch_end(struct mesh_batch *batch);
void mesh_batch_free(struct mesh_batch *batch);

/* A reader of such a message: begin, then next until it answers false; then
 * `bad` says whether the message was malformed. */
struct mesh_reader {
    const uint8_t *at, *end;
    int64_t round, attempt, left;
    bool bad;
};
bool mesh_reader_begin(struct mesh_reader *reader, const void *data,
                       size_t size);
bool mesh_reader_next(struct mesh_reader *reader, struct mesh_packet *packet);

/* ----------------------------------------------------------------- hello -- */

/* What a node has, towards the server and its neighbours. */
struct mesh_hello {
    int64_t fleet, open, result; /* the counters of its announcements */
    int64_t last;                /* the last round that it has charged */
    int64_t left;                /* rounds that its budget still holds */
    bool results;                /* it asks for estimates */
    bool refuses;                /* it releases nothing under this plan */
    bool direct;                 /* it hears the server itself */
};
bool mesh_write_hello(struct wire_bytes *bytes, const struct mesh_hello *hello);
bool mesh_read_hello(const void *data, size_t size, struct mesh_hello *hello);

/* The last round that the server has a release of the node from. */
bool mesh_write_mark(struct wire_bytes *bytes, int64_t last);
bool mesh_read_mark(const void *data, size_t size, int64_t *last);

/* --------------------------------------------------------- announcements -- */

enum mesh_kind {
    MESH_FLEET = 1, /* the plan and who takes part */
    MESH_OPEN,      /* an attempt of a round begins */
    MESH_RESULT,    /* what came of a round */
    MESH_KINDS,
};

/* What the server has signed: the body is one of those below. */
struct mesh_announce {
    const uint8_t *body;
    size_t size;
    const uint8_t *signature; /* MESH_SIGNATURE bytes */
};
bool mesh_write_announce(struct wire_bytes *bytes,
                         const struct mesh_announce *announce);
bool mesh_read_announce(const void *data, size_t size,
                        struct mesh_announce *announce);

/* Counter and kind of a body; false: malformed. */
bool mesh_read_body(const void *body, size_t size, int64_t *counter,
                    enum mesh_kind *kind);

/* One of the releases of a plan: all that a node needs to check and make its own. */
struct mesh_release {
    int32_t kind; /* enum pri_release_kind */
    double radius, t, e0, noise;
    double eps, delta; /* of all rounds, that it was made for */
};

/* A plan, as its digest covers it. */
struct mesh_plan {
    int64_t plan, made; /* its number, and when it was made */
    int32_t nodes;
    int64_t dimension;
    int64_t rounds; /* that budgets are for */
    int64_t repeat; /* attempts of a round */
    int32_t hops;   /* relays, at most */
    double reach;   /* of the data, where rounds are relative; else 0 */
    int32_t count;  /* of releases */
    const uint8_t *releases; /* mesh_plan_release() reads one */
    const uint8_t *of; /* 2 bytes a node, little-endian: which release is its */
};
bool mesh_write_plan(struct wire_bytes *bytes, const struct mesh_plan *plan,
                     const struct mesh_release *releases, const uint16_t *of);
bool mesh_read_plan(const void *data, size_t size, struct mesh_plan *plan);
/* The release of a node; false: malformed. */
bool mesh_plan_release(const struct mesh_plan *plan, int32_t node,
                       struct mesh_release *release);

struct mesh_fleet {
    int64_t counter;
    bool results;        /* RESULT carries estimates */
    const uint8_t *plan; /* bytes of mesh_write_plan() */
    size_t plan_size;
    const uint8_t *keys; /* WIRE_KEY bytes a node; zeros: not enrolled */
    size_t keys_size;
    const uint8_t *follows; /* MESH_FOLLOW bytes each, by node */
    size_t follows_size;
};

/* A key of a node that follows another: either may be the enrolled one. */
enum { MESH_FOLLOW = 4 + 2 * WIRE_KEY + MESH_SIGNATURE };
struct mesh_follow {
    int32_t node;
    const uint8_t *old, *key;
    const uint8_t *proof; /* the old key's signature of the new one */
};
void mesh_write_follow(uint8_t *bytes, const struct mesh_follow *follow);
/* That of a node; false: there is none. O(log their number). */
bool mesh_find_follow(const struct mesh_fleet *fleet, int32_t node,
                      struct mesh_follow *follow);
bool mesh_write_fleet(struct wire_bytes *bytes, const struct mesh_fleet *fleet);
bool mesh_read_fleet(const void *body, size_t size, struct mesh_fleet *fleet);

struct mesh_open {
    int64_t counter;
    uint8_t digest[WIRE_DIGEST]; /* of the plan */
    int64_t round, attempt;
    int64_t period, ahead; /* as in wire_open */
    int64_t collect;       /* milliseconds: the attempt ends; 0: it is over */
    int64_t reference; /* the round whose estimate it is relative to, or 0 */
    uint8_t reference_digest[WIRE_DIGEST]; /* zeros without one */
};
bool mesh_write_open(struct wire_bytes *bytes, const struct mesh_open *open);
bool mesh_read_open(const void *body, size_t size, struct mesh_open *open);

struct mesh_result {
    int64_t counter, round, arrived;
    double bar;
    const uint8_t *estimate; /* 8 bytes a number */
    size_t size;             /* 0: no estimate */
};
bool mesh_write_result(struct wire_bytes *bytes,
                       const struct mesh_result *result, const double *estimate,
                       int64_t count);
bool mesh_read_result(const void *body, size_t size,
                      struct mesh_result *result);

#endif
