/*
 * What the files of pricer-node share: one node's connections, its slice of
 * the plan and the round it is in.
 */
#ifndef PROGRAM_NODE_H
#define PROGRAM_NODE_H

#include "emulate.h"
#include "ledger.h"
#include "common/daemon.h"
#include "transport/transport.h"
#include "trust_file.h"
#include "vector.h"
#include "wire.h"

/* A neighbour that this node sends to. */
struct node_peer {
    struct hub_peer *link;     /* NULL: nothing goes there */
    struct wire_bytes message; /* the share of this round */
    char key[PRICER_KEY_TEXT];
    double mu;
    int64_t left;        /* rounds, of its budget */
    bool refused;        /* this slice gets no data of ours there */
    bool stranger;       /* it is not connected: node_connect.c */
    bool missed;         /* it could not be reached with the slice before */
    enum wire_part part; /* what goes in this round */
};

/* A neighbour that this node listens to. */
struct node_source {
    bool heard;          /* in this round */
    int64_t later_round; /* a share for a round to come, 0: none */
    enum wire_part later_part;
    uint8_t *later; /* its values, as they came */
};

enum node_state {
    NODE_IDLE,    /* between rounds */
    NODE_VECTOR,  /* the command runs */
    NODE_HOLD,    /* charged, waiting for the time to send */
    NODE_SHARING, /* sent, taking in shares */
};

struct check;

struct node {
    /* what the operator says */
    int32_t number;
    struct key_pair pair;
    char server_key[PRICER_KEY_TEXT];
    const char *server_address, *listen;
    const char *estimate; /* where to put estimates, or NULL */
    const char *trust_file;
    bool first_seen; /* neighbours' keys may come from the server's word */
    struct trust trust;
    struct vector vector;
    struct emulate emulate;
    /* --check: told what is refused in place of the server; NULL: in earnest */
    void (*checking)(struct node *node, int32_t to, const char *text);
    struct check *check;
    bool replay; /* noise from emulate.seed: for demonstrations */
    struct ledger *ledger;
    struct pricer_random random;

    /* connections */
    struct hub *hub;
    struct hub_peer *server;
    bool listening;
    bool silenced;          /* the log says that no slice can be taken */
    int64_t server_left;    /* when the server was last connected */
    int64_t said[HUB_ENDS]; /* when each end was last put into words */
    int64_t next_hello;
    int64_t dialled; /* when all connections of a minute are free again */
    int64_t alarm;   /* when this process means to be awake again */
    int64_t deaf;    /* until when rounds are not taken part in: it slept */
    struct wire_bytes bytes;

    /* the slice */
    bool sliced;
    bool announced; /* the server knows that we have the slice */
    int64_t sliced_at;
    uint8_t digest[WIRE_DIGEST];
    struct wire_slice slice;
    double diameter;             /* of the data, as their owner says; 0: any */
    struct pricer_slice part;    /* the same for pricer_round_share() */
    struct node_peer *peers;     /* [slice.out_count] */
    struct node_source *sources; /* [slice.in_count] */
    struct ledger_charge *charges; /* [slice.out_count + 2] */
    double *ratios; /* [slice.out_count + 1] of a round's parts */
    char all_key[PRICER_KEY_TEXT + 8]; /* of what the server gets in all */
    int64_t all_left;                  /* rounds, of the budget for all of it */
    double own_mu;
    int64_t own_left; /* rounds, of the budget towards the server */
    bool own_open;
    bool own_refused;
    bool illegible;   /* the ledger failed while the slice was judged */
    double *data;     /* [dimension] the private vector */
    int64_t *own;     /* [dimension] its own part of the sum */
    int64_t *sum;     /* [dimension] what goes to the server */
    uint8_t *sent;    /* what goes over each out-link, half a byte each */
    uint8_t *parts;   /* what has become of its own part and of each share */
    uint64_t refused; /* codes that were sent for this slice, a bit each */

    /* the round */
    enum node_state state;
    struct wire_open open;
    int64_t start; /* when it began */
    int64_t taken; /* the last round taken part in */
    int32_t heard;
    enum wire_part own_part;
    bool covered;       /* it is withheld, and its noise is there */
    bool bare;          /* neither is: the sum stays here */
    int64_t base_round; /* of the last OPEN heard */
    int64_t base_time;  /* when the last OPEN was heard */
    bool behind;        /* the server knows more than the ledger */
    int64_t twins;      /* others with this key, as the server says */
    int64_t rounds, dropped[PRICER_DROP_KINDS], lost;
    int64_t clipped; /* rounds in which the vector was too long */

    /* what the feed was told last: after which slice and how many rounds */
    int64_t fed_slice, fed_rounds;
};

/* Tell the server the code, and the operator (once a slice) in words, what is
 * not done. The words stay here: they may speak of files and data. Without any
 * (NULL) the log has it already. */
void node_refuse(struct node *node, int64_t round, enum wire_code code,
                 int32_t to, const char *text);

/* The charge of one release to a receiver that the trust file knows. */
struct ledger_charge node_charge(const struct node *node, int32_t to,
                                 const char *key, double mu);

/* What the server gets of a round in all, own part and shares that relays pass
 * on; without a row for it in the trust file, its budget is infinite. */
struct ledger_charge node_charge_all(const struct node *node, double mu);

/* Take a SLICE message: check it whole, decide on every link, connect. */
void node_take_slice(struct node *node, const void *data, size_t size);
void node_free_slice(struct node *node);

/* node_connect.c: connect to out-neighbour k, which the trust file has refused
 * with this code (0: it has not); and to those that had to wait. */
void node_connect(struct node *node, int32_t k, int code);
void node_connect_rest(struct node *node);

/* Neighbours cannot reach this node now, and this is why, and the cure or "". The
 * log says so once. */
void node_say_deaf(struct node *node, const struct pricer_fault *why,
                   const char *cure);

/* Whether a budget is about to end. */
bool node_is_ending(const struct node *node);

/* Rounds in which there is still anything to send of its data. */
int64_t node_left(const struct node *node);

/* Say HELLO. It names the slice only when every link of it is connected, or has
 * had time to be: what is sent to a link that is not is lost. */
void node_greet(struct node *node);

/* node_mark.c: MARK; whether a round is further from the last than any server may
 * go; and another with this key is the one that counts: nothing is opened. */
void node_take_mark(struct node *node, const void *data, size_t size);
bool node_is_far(const struct node *node, int64_t round);
void node_yield(struct node *node);

/* node_make.c: the vector is there, make and charge every part of the round;
 * or it is not, and this is why what needs it is withheld. */
void node_make_parts(struct node *node);
void node_withhold(struct node *node, enum wire_part why);
/* And the noise of an own part that is withheld. */
bool node_make_cover(struct node *node);

/* The round: OPEN, a share, the command's end, the clock. */
void node_take_open(struct node *node, const struct wire_open *open);
void node_take_share(struct node *node, int32_t sender, const void *data,
                     size_t size);
void node_take_vector(struct node *node);
void node_tick(struct node *node, int64_t now);

/* The length of the vector. What is longer than the radius is clipped, and the
 * data's owner should know: the mean is then of other vectors than theirs. */
double node_measure(struct node *node);

/* Towards the program at the feed, if there is one: what has become of its
 * vector, of this length (`text`: why there is none of it); what has changed
 * about the plan; the estimate of a round. */
void node_answer(struct node *node, double length, const char *text);
void node_tell_plan(struct node *node);
void node_tell_result(struct node *node, const struct wire_result *result);

/* Whether the process has just slept through its alarm, for two seconds and for
 * longer than shares are taken: what was opened meanwhile has passed, and nothing
 * is charged for it. */
bool node_has_slept(struct node *node, int64_t now, int64_t share);

/* When node_tick() has something to do next; INT64_MAX: nothing. */
int64_t node_next(const struct node *node);

#endif
