/*
 * The messages of docs/feed.md, between a node and the program beside it that
 * has its data.
 */
#ifndef PROGRAM_FEED_MESSAGE_H
#define PROGRAM_FEED_MESSAGE_H

#include "wire.h"

enum feed_type {
    FEED_PLAN = 1,
    FEED_ROUND,
    FEED_VECTOR, /* the only one that a program sends */
    FEED_TAKEN,
    FEED_RESULT,
    FEED_BYE,
};

enum {
    FEED_VERSION = 1,
    FEED_SLACK = 64,  /* bytes of a VECTOR beside its values, at most */
    FEED_TEXT = 1024, /* bytes of a text, at most */
};

/* Why the node ends the connection. */
enum feed_bye {
    FEED_BYE_BUSY = 1, /* another program is connected */
    FEED_BYE_MALFORMED,
    FEED_BYE_LONG, /* the frame is longer than a vector of the plan */
    FEED_BYE_STOP, /* the node stops */
};

/* What there is to say about the plan; all 0 while there is none. */
struct feed_plan {
    int64_t node, nodes, plan, dimension;
    double radius;
    int64_t rounds; /* that it was made for */
    int64_t left;   /* that the budgets still hold */
};

struct feed_round {
    int64_t round, dimension;
    double radius;
    int64_t wait;  /* milliseconds until the vector must be here */
    int64_t clock; /* when that was so, as daemon_clock() says */
    int64_t left;
};

struct feed_vector {
    int64_t round;
    const uint8_t *values; /* in the message, 8 bytes each, little-endian */
    size_t size;           /* bytes; 0: there is none in this round */
};

/* What has become of a vector. */
struct feed_taken {
    int64_t round;
    enum wire_part part; /* DATA: at least a part of it goes out */
    double length;       /* as it was handed in */
    bool clipped;        /* to the radius */
    const char *text;
};

/* Write a frame, its length before it, in place of what the bytes held; false:
 * out of memory. */
bool feed_write_plan(struct wire_bytes *bytes, const struct feed_plan *plan);
bool feed_write_round(struct wire_bytes *bytes, const struct feed_round *round);
bool feed_write_taken(struct wire_bytes *bytes, const struct feed_taken *taken);
bool feed_write_result(struct wire_bytes *bytes,
                       const struct wire_result *result, bool took_part);
bool feed_write_bye(struct wire_bytes *bytes, enum feed_bye why,
                    const char *text);

/* Read a VECTOR, without its frame; false: it is none, and the output is
 * untouched. */
bool feed_read_vector(const uint8_t *data, size_t size,
                      struct feed_vector *vector);

#endif
