/*
 * The messages of docs/protocol.md, to bytes and back.
 *
 * Reading is strict: exactly the elements of the page, nothing behind them. It
 * allocates nothing before the bytes that are really there justify it, so a
 * message of a few bytes cannot ask for gigabytes; that is why libmsgpack,
 * which makes room for what an array claims, writes here but does not read.
 */
#ifndef PROGRAM_WIRE_H
#define PROGRAM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_type {
    WIRE_HELLO = 1,
    WIRE_SLICE,
    WIRE_OPEN,
    WIRE_SHARE,
    WIRE_SUM,
    WIRE_RESULT,
    WIRE_REFUSAL,
    WIRE_MARK,
    WIRE_TYPES,
};

enum {
    WIRE_VERSION = 2,
    WIRE_KEY = 32,
    WIRE_DIGEST = 16,
    WIRE_PROOF = 64,
    WIRE_TEXT = 256,          /* room for a str with its end */
    WIRE_DIMENSION = 4194304, /* the most elements of a vector */
    WIRE_NODES = 1000000,
    WIRE_DEGREE = 65535,
    WIRE_SLACK = 4096, /* what a message needs beside its vector, at most */
    WIRE_SLICE_SIZE = 64 << 20,
    WIRE_EXPONENT = 900, /* the grid's step is 2^-900 to 2^900 */
    WIRE_ENDING = 8,     /* links whose rounds left a HELLO names, at most */
    WIRE_ELEMENTS = 16,  /* of a message, at most */
    WIRE_ATTEMPTS = 64,  /* of a round of a mesh, at most */
};

/* As many rounds left as anyone may ask for. */
#define WIRE_NO_END ((INT64_C(1) << 62) - 1)

/* How far a round may be above the last one that a node knows. */
#define WIRE_JUMP (INT64_C(1) << 32)

/*
 * What has become of a part of a sum: of the node's own or of the share of an
 * in-neighbour. A share carries data or says why not.
 */
enum wire_part {
    WIRE_PART_DOWN = 0, /* nothing came: the link was down */
    WIRE_PART_DATA,     /* it is in the sum */
    WIRE_PART_PROBE,    /* the link was up; the plan sends nothing over it */
    WIRE_PART_SPENT,    /* withheld: the budget is spent */
    WIRE_PART_TRUST,    /* withheld: the trust file does not allow it */
    WIRE_PART_LATE,     /* withheld: the vector was not ready in time */
    WIRE_PART_VECTOR,   /* withheld: there is no vector */
    WIRE_PART_LEDGER,   /* withheld: the ledger failed */
    WIRE_PARTS,
};

/* Why a round or a link is refused. */
enum wire_code {
    WIRE_CODE_SLICE = 1,
    WIRE_CODE_KEY,
    WIRE_CODE_NOISE,
    WIRE_CODE_SPENT,
    WIRE_CODE_VECTOR,
    WIRE_CODE_ROUND,
    WIRE_CODE_LATE,
    WIRE_CODE_TRUST,
    WIRE_CODE_LEDGER,
    WIRE_CODE_BEHIND = 11, /* 10 is not used */
    WIRE_CODES,
};

/* Bytes that grow as a message is written; zero it first, wire_free() last. */
struct wire_bytes {
    char *data;
    size_t size, room;
    size_t lead; /* bytes before the message, of those begun as below */
};
void wire_free(struct wire_bytes *bytes);

/* A link and how many rounds are left of its budget. */
struct wire_ending {
    int32_t to;
    int64_t left;
};

struct wire_hello {
    const uint8_t *digest; /* WIRE_DIGEST bytes, or NULL */
    int64_t last;
    bool results;
    int64_t left;    /* rounds in which it can still send anything */
    int64_t own;     /* rounds left of its own part */
    int64_t session; /* the last that its ledger was given */
    int32_t ending_count;
    struct wire_ending ending[WIRE_ENDING]; /* the links with fewest left */
};

struct wire_own {
    double weight, noise;
    int64_t limit;
};

struct wire_out {
    int32_t to;
    uint8_t key[WIRE_KEY];
    char address[WIRE_TEXT];
    double weight, noise;
    bool follows; /* another key, which has signed this one */
    uint8_t old[WIRE_KEY], proof[WIRE_PROOF];
};

struct wire_in {
    int32_t from;
    uint8_t key[WIRE_KEY];
    int64_t limit;
    double length; /* in L2 */
};

struct wire_slice {
    int64_t plan;
    int32_t node, nodes;
    int64_t dimension;
    double radius;
    int32_t exponent;          /* the grid's step is 2^exponent */
    int64_t grid;              /* the largest value of any message */
    int64_t rounds;            /* that the plan was made for */
    uint8_t seal[WIRE_DIGEST]; /* of the plan, the same in all its slices */
    struct wire_own own;
    int32_t out_count, in_count;
    struct wire_out *out;
    struct wire_in *in;
};

struct wire_open {
    int64_t plan, round;
    int64_t ahead;
    int64_t period; /* milliseconds */
    int64_t send;   /* milliseconds */
    int64_t share;  /* milliseconds */
    int64_t uplink; /* milliseconds */
    bool early;
};

/* Vectors stay where the message is: 8 bytes an element, little-endian. */
struct wire_share {
    int64_t round;
    const uint8_t *seal; /* WIRE_DIGEST bytes, of the sender's slice */
    enum wire_part part; /* never DOWN */
    const uint8_t *values;
    size_t size; /* bytes */
};

struct wire_sum {
    int64_t round;
    const uint8_t *digest; /* WIRE_DIGEST bytes, of the node's slice */
    const uint8_t *parts;  /* half a byte each, see wire_part() */
    size_t parts_size;
    const uint8_t *sent; /* the same for what it sent over its out-links */
    size_t sent_size;
    const uint8_t *values;
    size_t size;
};

struct wire_result {
    int64_t round, arrived, contributors;
    int64_t decoder; /* enum pricer_decode */
    double
        bar; /* the expected squared error is at most about that; 0: no estimate */
    const uint8_t *estimate;
    size_t size; /* 0: the round gave no estimate */
};

enum { WIRE_DECODERS = 3 };

struct wire_refusal {
    int64_t round, code, to;
};

/* What the server remembers of a key; a ledger that is behind was put back. */
struct wire_mark {
    int64_t session; /* the highest that the key has shown */
    int64_t next;    /* the one to show from now on */
    int64_t last;    /* the last round that the key is known to have charged */
    int64_t twins;   /* others with this key that were turned away */
};

/* Write a message in place of what the bytes held; false: out of memory. */
bool wire_write_hello(struct wire_bytes *bytes, const struct wire_hello *hello);
bool wire_write_slice(struct wire_bytes *bytes, const struct wire_slice *slice);
bool wire_write_open(struct wire_bytes *bytes, const struct wire_open *open);
bool wire_write_share(struct wire_bytes *bytes, const struct wire_share *share,
                      const int64_t *values, int64_t count);
bool wire_write_sum(struct wire_bytes *bytes, const struct wire_sum *sum,
                    const int64_t *values, int64_t count);
/* The same with values that the caller puts where this says, NULL if there is no
 * memory; then wire_end_words(). The message begins `lead` bytes into the data. */
int64_t *wire_begin_share(struct wire_bytes *bytes,
                          const struct wire_share *share, int64_t count);
int64_t *wire_begin_sum(struct wire_bytes *bytes, const struct wire_sum *sum,
                        int64_t count);
void wire_end_words(int64_t *values, int64_t count);
bool wire_write_result(struct wire_bytes *bytes,
                       const struct wire_result *result, const double *estimate,
                       int64_t count);
bool wire_write_refusal(struct wire_bytes *bytes,
                        const struct wire_refusal *refusal);
bool wire_write_mark(struct wire_bytes *bytes, const struct wire_mark *mark);

/* The type of a message, or 0 if it is none of this version. */
int wire_type(const void *data, size_t size);

/* Read a message; false: malformed, and the output is untouched. What points
 * into the message lives as long as it does. */
bool wire_read_hello(const void *data, size_t size, struct wire_hello *hello);
bool wire_read_open(const void *data, size_t size, struct wire_open *open);
bool wire_read_share(const void *data, size_t size, struct wire_share *share);
bool wire_read_sum(const void *data, size_t size, struct wire_sum *sum);
bool wire_read_result(const void *data, size_t size,
                      struct wire_result *result);
bool wire_read_refusal(const void *data, size_t size,
                       struct wire_refusal *refusal);
bool wire_read_mark(const void *data, size_t size, struct wire_mark *mark);

/* The same for a slice, whose arrays the caller frees; also checks every rule
 * of the page for slices. */
bool wire_read_slice(const void *data, size_t size, struct wire_slice *slice);
void wire_slice_free(struct wire_slice *slice);

/* Element k of a vector in a message. */
int64_t wire_integer(const uint8_t *values, int64_t k);
double wire_number(const uint8_t *values, int64_t k);

/* Add the integers of a vector in a message to a sum, or only look at them if it
 * is NULL. False, and the sum is as it was: one of them is above the limit, all
 * together are longer than a length in L2, or a sum has no room for it. */
bool wire_add_within(const uint8_t *values, int64_t count, int64_t limit,
                     double length, int64_t *sum);

/*
 * The parts of a sum, half a byte each, the lower half first: part 0 is the
 * node's own, part k + 1 that of in-link k. How many bytes there are for so
 * many in-links; what has become of one part; and how to note it. What was sent
 * is noted the same way, out-link k as part k.
 */
size_t wire_parts_size(int32_t in_count);
size_t wire_sent_size(int32_t out_count);
int wire_part(const uint8_t *parts, int32_t k);
void wire_part_set(uint8_t *parts, int32_t k, enum wire_part part);

#endif
