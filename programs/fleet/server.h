/*
 * What the files of pricer-server share: the study, the seats of its nodes and
 * the round that is open.
 */
#ifndef PROGRAM_SERVER_H
#define PROGRAM_SERVER_H

#include "emulate.h"
#include "common/daemon.h"
#include "common/program.h"
#include "transport/transport.h"
#include "pricer_decode.h"
#include "pricer_members.h"
#include "status_page.h"
#include "wire.h"

#include <stdio.h>

/* One node, as the server sees it. */
struct seat {
    bool enrolled;
    char key[PRICER_KEY_TEXT];   /* that it uses, of those enrolled for it */
    char shown[PRICER_KEY_TEXT]; /* with which it last connected */
    bool follows;                /* the key follows another, by a signature */
    struct pricer_successor successor;
    char address[PRICER_ADDRESS_TEXT];
    uint8_t digest[WIRE_DIGEST];  /* of its slice of the current plan */
    struct hub_peer *peer;        /* its connection, or NULL */
    int64_t seen;                 /* when it was last heard */
    int64_t sliced;               /* when it was last sent its slice */
    int64_t last;                 /* the last round in its ledger */
    char marked[PRICER_KEY_TEXT]; /* the key that the next ones are about */
    int64_t mark;      /* the last round that it is known to have charged */
    int64_t session;   /* the highest that it has shown */
    int64_t issued;    /* the one handed out to this connection; 0: none */
    bool unsaved;      /* the study does not have them yet */
    bool behind;       /* its ledger is before what it was */
    bool beyond;       /* its ledger is after any round */
    int64_t twins;     /* others with its key that were turned away */
    int64_t twin_next; /* when the log may speak of them again */
    int64_t disputes;  /* over shares, with the other end of a link */
    bool told;         /* what follows, about the current plan */
    int64_t left;      /* rounds in which it can send anything */
    int64_t own_left;  /* rounds left of its own part */
    int32_t ending_count;
    struct wire_ending ending[WIRE_ENDING]; /* its links with fewest left */
    bool ready;                             /* it has its slice */
    bool results;                           /* it wants estimates */
    int8_t reads;   /* it may have them: 1, may not: -1, 0: not judged yet */
    bool asked;     /* to take part in this round */
    bool answered;  /* in this round */
    bool missed;    /* its silence is in the log */
    int8_t own_why; /* why it last withheld its own part; -1: it did not */
    int64_t refusals;
    int64_t code;    /* of the latest refusal, 0: none */
    int64_t to;      /* whom it was about */
    int64_t gave;    /* the latest round that its data is in; 0: none */
    int64_t gave_at; /* when that ended */
    uint64_t gave_in, came_in; /* of the latest 64 rounds, the last in bit 0:
                                  with its data, with its sum */
};

struct server_times {
    int64_t period; /* milliseconds from one round to the next */
    int64_t send;   /* milliseconds into a round: shares are sent */
    int64_t share;  /* milliseconds into a round: the sharing ends */
    int64_t uplink; /* milliseconds into a round: it ends */
    int64_t ahead;
    bool early;
};

/* How the server turns the sums of a round into its estimate. */
struct decoding {
    int asked;               /* enum pricer_decode; -1: the plan's decoder */
    enum pricer_decode used; /* with the current plan */
    double planned; /* the worst case over all data, in the data's units */
    struct pricer_receiver *receiver; /* NULL: constant, and so is what follows
                                         up to `withheld` */
    int64_t *sums;                    /* [nodes][dimension] that arrived */
    double *values;      /* the same in the data's units, if adaptive */
    double *coefficient; /* [nodes] */
    bool *came;          /* [nodes] the sum arrived */
    bool *held;          /* [links] its share is in the sum */
    bool *withheld;      /* [nodes] its own part is not in its sum */
    double weight;       /* that arrived */
    double length;       /* of data that fill their radii, by that weight */
    double noise;        /* in all sums: sum of squares */
    double bar;          /* of the last round: about its squared error */
};

/* What is remembered of the latest rounds, for people who look: no look reads
 * the study, and a round costs O(links) to remember. */
enum { HISTORY = 120, HISTORY_WINDOW = 500 };
struct history {
    int32_t count;             /* of the rows below, at most HISTORY */
    int32_t first;             /* where the oldest is */
    double round[HISTORY];     /* its number */
    double arrived[HISTORY];   /* sums */
    double gave[HISTORY];      /* nodes whose data is in it */
    double bar[HISTORY];       /* NAN: no estimate */
    double error[HISTORY];     /* squared; NAN: not known */
    double left[HISTORY];      /* fewest rounds left towards the server; NAN: no
                                 budget is known to end */
    double link_left[HISTORY]; /* and of links */
    int64_t ended;             /* the latest round's end, since 1970 */
    int64_t took;              /* its milliseconds */
    /* Deliveries: of the window that runs, and of the one before. */
    struct pricer_delivery *uplink[2]; /* [nodes] */
    struct pricer_delivery *link[2];   /* [links] */
    int64_t counted;                   /* rounds of the window that runs */
};

/* What has come of a round, beside the values of its sums. */
struct tally {
    int8_t *uplink;                     /* [nodes] as in pricer_round_record */
    int8_t *link;                       /* [links] as in pricer_round_record */
    int8_t *own;                        /* [nodes] as in pricer_round_record */
    int8_t *withheld;                   /* [links] as in pricer_round_record */
    bool *contributed;                  /* [nodes] its data is in the sums */
    int64_t dropped[PRICER_DROP_KINDS]; /* since the round before was over */
};

/* The latest round that is over. The next one may be open before it is stored. */
struct past {
    bool waits;    /* it is not stored yet */
    int64_t round; /* its number */
    int64_t took;  /* milliseconds */
    struct tally tally;
};

struct server {
    /* what the operator says */
    const char *path;
    struct key_pair pair;
    struct server_times times;
    int64_t rounds; /* to run, 0: without end */
    int64_t quorum; /* nodes that must contribute */
    int64_t wait;   /* nodes that the first round waits for; 0: the quorum */
    int64_t first;  /* the first round's least number */
    bool probe;
    struct emulate emulate;
    double *truth;  /* the mean, if it is known */
    int64_t memory; /* MiB that sums kept apart may take */
    int readers;    /* whether budgets judge who reads, see below */

    /* the study */
    struct pricer_study *study;
    struct pricer_network *network;  /* that the plan was made for */
    struct pricer_network *emulated; /* NULL: nothing is emulated */
    struct pricer_plan *plan;
    int32_t attempts; /* of a round that forwards, for --check */
    int64_t plan_id;
    int64_t open_budgets; /* nodes that show us more than they allow */
    int64_t plan_rounds;  /* that it was made for */
    double plan_weight;   /* of all its parts together */
    struct pricer_grid grid;
    int64_t *limits;             /* [links] of each share */
    struct pricer_share *shares; /* [nodes] those of a sum that is looked at */
    uint8_t seal[WIRE_DIGEST];   /* of the plan */
    int64_t *own_limits;         /* [nodes] */
    double *ratios;     /* [nodes] of all that leaves a node in a round */
    long double *spent; /* [nodes] squared, of the rounds of earlier plans */
    int64_t plan_ran;   /* rounds of this plan that the study has had */
    int32_t speakers;   /* those of whom anything does */
    bool denied;        /* the log knows of one who may not read */
    struct seat *seats; /* [nodes] */
    int32_t members;
    int64_t stamp;  /* of the study, when who is enrolled was last read */
    int64_t looked; /* when that was last compared */
    int64_t unread; /* when the log last said that it cannot be read */
    bool stale;     /* who is enrolled has changed since the seats were made */

    /* connections */
    struct hub *hub;
    char address[PRICER_ADDRESS_TEXT]; /* where it listens */
    int64_t failed; /* when the log last spoke of a failed handshake */
    struct wire_bytes bytes;

    /* the round */
    bool open;
    int64_t round;      /* its number */
    int64_t next;       /* the number of the next one; 0: not noted yet */
    int64_t start;      /* when it began */
    int64_t next_start; /* when the next one may begin */
    int64_t *sum;       /* [dimension] */
    double *estimate;   /* [dimension] of the latest that is over */
    struct tally tally;
    int8_t *claimed; /* [links] the part that its relay says it got */
    int8_t *sent;    /* [links] the part that its sender says it sent */
    struct decoding decoding;
    struct past past;

    /* since the start */
    int64_t done, messages, bytes_received, total[PRICER_DROP_KINDS];
    double error;     /* squared, of the round in `past`, as all these */
    double error_sum; /* squared, over all rounds */
    int32_t arrived;  /* sums */
    int32_t contributors;
    double weight_arrived; /* part of the plan's */
    int64_t estimates;     /* rounds that gave one */
    int64_t disputes;      /* over shares, between the ends of links */
    int64_t marks_saved;   /* when */
    int64_t withheld_total[PRICER_WITHHELD_KINDS];
    bool ended;      /* nobody has anything left to send */
    int64_t failing; /* when the study began to fail; 0: it does not */
    int64_t failures, failure_said; /* how often, and when the log last spoke */
    int64_t failed_until;           /* the study is left alone */
    int64_t owned;                  /* when it was last seen under its name */
    int64_t keep;                   /* rounds that the study keeps, 0: all */
    int64_t refused_plan;           /* that cannot be used; 0: none */
    int64_t started;                /* when */
    int64_t watched;                /* when the log was last thought of */
    bool under;                     /* the log says that the quorum is missed */
    bool waited; /* the log says that the first round waits */
    char stranger[PRICER_KEY_TEXT]; /* the last that the log names */
    struct history history;
};

/* server_plan.c: the latest plan of the study and everyone's slice of it. Where the
 * study failed, server_load() may be called again. */
enum pricer_status server_load(struct server *server,
                               struct pricer_fault *fault);
enum pricer_status server_reload(struct server *server,
                                 struct pricer_fault *fault);
/* Whether server_reload() would change nothing. */
bool server_is_current(struct server *server);
bool server_write_slice(struct server *server, int32_t node);

/* A part of a node as the bounds of what honest parts can be take it. */
struct pricer_share server_honest(const struct server *server, int32_t from,
                                  double weight, double noise);

/* server_roll.c: enrolled keys into the hub, and if no round is open, into seats.
 * Who is enrolled, as of now: keys that are not any more lose their connections
 * at once; seats and slices follow when no round is open. `asked`: also if the
 * study does not look changed. */
enum pricer_status server_load_members(struct server *server, bool seat,
                                       struct pricer_fault *fault);
void server_refresh(struct server *server, int64_t now, bool asked);
void server_unload(struct server *server);

/*
 * server_mark.c: what is remembered of the keys. A HELLO, compared with that, and
 * the first one of a connection answered; a round that a node has charged; a
 * second node with its key; from the study, and into it now and then. And what
 * both ends of each link say of this round, compared.
 */
void server_take_mark(struct server *server, int32_t node,
                      const struct wire_hello *hello);
void server_mark_round(struct server *server, int32_t node, int64_t round);
void server_see_twin(struct server *server, int32_t node);
enum pricer_status server_load_marks(struct server *server,
                                     struct pricer_fault *fault);
void server_save_marks(struct server *server, int64_t now);
void server_find_disputes(struct server *server);

/* server_readers.c: with a new plan; a round of it is in the study; and whether its
 * estimate goes to a node. */
enum { SERVER_READERS_BUDGETS, SERVER_READERS_ALL };
enum pricer_status server_readers_load(struct server *server,
                                       struct pricer_fault *fault);
void server_readers_count(struct server *server);
bool server_may_read(struct server *server, int32_t node);

/* server_sum.c: what a sum brings, into the round. */
void server_take_sum(struct server *server, int32_t node, const void *data,
                     size_t size);

/*
 * server_decode.c: from sums to an estimate. Take the decoder of the plan, as
 * the operator asked; a round begins; the values of a sum are node's; the part
 * of a link, or with -1 the node's own, is in its sum or not; the estimate and
 * its bar. Whether the bar of the last round is far above the plan's, and the
 * bar in words.
 */
enum pricer_status server_decoder_load(struct server *server,
                                       struct pricer_fault *fault);
void server_decoder_unload(struct server *server);
void server_decoder_open(struct server *server);
void server_decoder_keep(struct server *server, int32_t node,
                         const uint8_t *values);
void server_decoder_note(struct server *server, int32_t node, int32_t link,
                         bool held);
void server_decode(struct server *server);
bool server_is_bad(const struct server *server);
void server_print_bar(const struct server *server, FILE *out);

/* server_watch.c: what is wrong, a line each; answers how many. How many nodes
 * have their slice, and how many of them could send something; whether that is
 * over for good; what the log should say now; and one more message dropped. */
int server_troubles(const void *context, FILE *out);
int32_t server_ready(const struct server *server);
int32_t server_able(const struct server *server);

/* Whether a round may begin. The first one waits for a quorum that has something
 * to send, and for --wait nodes that are ready, whether they have or not. */
bool server_is_enough(const struct server *server);
void server_drop(struct server *server, enum pricer_drop why);
bool server_is_ended(const struct server *server);
void server_watch(struct server *server, int64_t now);
const char *server_refusal_text(int64_t code);

/* server_events.c: what a message does. The events of the hub; their context is the
 * server. */
extern const struct hub_events server_events;

/* server_round.c: what the clock does, and when it has something to do. */
enum pricer_status server_tick(struct server *server, int64_t now,
                               struct pricer_fault *fault);
int64_t server_next(const struct server *server);
/* Nobody opens rounds by itself until the next one is opened. */
void server_pause(struct server *server);

/* The chance that one look at links that are all as planned names any of them. */
#define DRIFT_ALARM 1e-3

/* A link whose measured probability is not the planned one, with the interval of
 * confidence in which it lies over the latest rounds. */
struct drift {
    int32_t from, to; /* to = PRICER_SERVER: an uplink */
    double planned, low, high;
};
/* List what drifts over the latest rounds that are remembered; at most `room`.
 * O(links). */
int32_t server_drifts(const struct server *server, struct drift *drifts,
                      int32_t room);

/* server_history.c: room for what is remembered, and the end of a round. */
bool server_history_make(struct server *server);
void server_history_free(struct server *server);
void server_history_note(struct server *server);
/* Row k of the remembered rounds, the oldest first; and the number of the last
 * round that has ended, 0 before. */
int32_t server_history_at(const struct history *history, int32_t k);
int64_t server_last_round(const struct server *server);

/* status_live.c and status_metrics.c: the state as a page, and as metrics; of the
 * server that the context is. */
void status_live(FILE *out, const void *context);
void status_metrics(FILE *out, const void *context);

#endif
