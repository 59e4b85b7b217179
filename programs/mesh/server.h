/*
 * The server of a mesh: announces rounds, takes each node's release once,
 * estimates, stores and publishes.
 *
 * It consists of parts with a struct each: who takes part (mesh_members), what
 * the plan says (mesh_counting), what was announced (announcements), the round that is
 * open (mesh_round) and those that are over (mesh_history). server_round.c reads from
 * OPEN to RESULT; estimate, store and publication have files of their own.
 */
#ifndef PROGRAM_MESH_SERVER_H
#define PROGRAM_MESH_SERVER_H

#include "announce.h"
#include "packets.h"
#include "fleet/server_check.h"
#include "forward/forward.h"
#include "pricer_forward.h"
#include "transport/packet_key.h"
#include "transport/transport.h"

#include <stdio.h>

/* ---------------------------------------------------------------- members -- */

/* A node, as the server sees it. */
struct mesh_member {
    bool enrolled;
    uint8_t key[KEYS_SIZE],
        next[KEYS_SIZE];           /* zeros: its key does not change */
    int32_t secrets;               /* one, or two while its key changes */
    uint8_t secret[2][PACKET_KEY]; /* of its packets */
    struct hub_peer *peer;         /* its own connection, or NULL */
    struct mesh_hello hello;       /* the latest of this connection */
    int64_t heard; /* the latest round that its release arrived in */
    int32_t hops;  /* links of that copy before the uplink */
    int64_t saved; /* the latest such round that the study has */
    bool recalled; /* what the study remembers of its key is here */
    bool marked;   /* its connection was told of `heard` */
    int64_t recent, recent_before; /* arrivals in the two windows */
    int64_t arrived;               /* rounds that its release arrived in */
    int64_t over[MESH_HOPS + 1];   /* of them under this plan, by relays */
    int64_t uplinks; /* rounds under this plan that it has brought packets in */
    int64_t updated; /* when it was last sent what its HELLO lacked */
    int64_t taken;   /* packets that it has brought in this round */
    int64_t packets, bytes; /* that its own connection has brought */
};

struct mesh_members {
    int32_t nodes, count;         /* of the plan; enrolled */
    uint8_t study[PACKET_DIGEST]; /* what tags say of the study */
    struct mesh_member *list;     /* [nodes] */
    struct wire_bytes follows; /* as FLEET has them: whose key followed which */
    int64_t rounds;            /* that are over under this plan */
    int64_t recent,
        recent_before; /* rounds in two windows, see server_drift.c */
    int64_t stamp;     /* of the study when they were read */
};

/* Read who is enrolled and let them connect. *changed: anyone else than before. */
enum pricer_status mesh_members_load(struct mesh_members *members,
                                     struct pricer_study *study,
                                     struct hub *hub,
                                     const struct key_pair *pair, bool *changed,
                                     struct pricer_fault *fault);
void mesh_members_free(struct mesh_members *members);

/* Store and read in which round each key was last heard: a node whose ledger ends
 * before that was put back. */
enum pricer_status mesh_members_save(struct mesh_members *members,
                                     struct pricer_study *study,
                                     struct pricer_fault *fault);

/* ------------------------------------------------------------------- plan -- */

/* How the releases of a plan are counted. */
struct mesh_counting {
    int64_t id; /* of the plan in the study */
    struct pricer_network *network;
    struct pricer_forward_plan *plan;
    struct pricer_forward_receiver *receiver;
    struct pri_forward_sum *sum;
    struct pri_forward_arrival *block; /* [pri_forward_sum_block()] */
    bool *arrived;                     /* [nodes] who did, for the error bar */
    struct wire_bytes bytes;           /* the plan as it is announced */
    uint8_t digest[WIRE_DIGEST];
    int64_t repeat;
    size_t longest; /* payload, in bytes */
};

/* Read the latest plan of the study; nothing changes where that fails. `threads`
 * add up a round; 0: as many as there are cores, one where that is little work. */
enum pricer_status mesh_counting_load(struct mesh_counting *counting,
                                      struct pricer_study *study,
                                      int64_t threads,
                                      struct pricer_fault *fault);
void mesh_counting_free(struct mesh_counting *counting);

/* The number of the latest plan. */
enum pricer_status mesh_counting_latest(struct pricer_study *study, int64_t *id,
                                        struct pricer_fault *fault);

/* -------------------------------------------------------------- reference -- */

/* The last estimate, where rounds are relative to it. */
struct mesh_reference {
    double *vector; /* [dimension]; NULL: rounds are not relative */
    int64_t round;  /* whose estimate it is; 0: none, and the vector is zero */
};

/* ------------------------------------------------------------------ round -- */

/* A release that has arrived. */
struct mesh_arrival {
    uint8_t *payload; /* NULL: it has not; the longest fits */
    size_t size;
    int32_t hops; /* of the copy that travelled least */
    int32_t attempt;
    bool here, expected; /* expected: emulated links say that it can come */
};

struct mesh_round {
    bool open, closed; /* closed: it is over and not stored yet */
    int32_t added;     /* nodes that the estimate has, once it is closed */
    int64_t number;    /* of the one that is open, or was last */
    int64_t next;      /* noted in the study for the next one; 0: none */
    int64_t attempt;
    int64_t reference; /* the round that it is relative to, or 0 */
    uint8_t reference_digest[WIRE_DIGEST];
    int64_t began, attempt_began, next_start;
    int64_t look;   /* when it is next looked whether one can be opened */
    int64_t silent; /* rounds in a row in which nobody arrived */
    struct mesh_arrival *arrivals; /* [nodes] */
    int32_t arrived, missing;      /* missing: expected and not here */
    double *estimate;
    double bar, error;
    int64_t packets, repeated, bytes; /* of this round */
    int64_t dropped[PRICER_DROP_KINDS];
};

/* A round that is over. */
struct mesh_ended {
    int64_t round;
    int32_t arrived, over[MESH_HOPS + 1]; /* over so many relays */
    int64_t packets, repeated, bytes;
    double bar, error;
};

/* The latest rounds: list[(count - 1) % MESH_LATEST] is the last. */
enum { MESH_LATEST = 20 };
struct mesh_history {
    struct mesh_ended list[MESH_LATEST];
    int64_t count;
};

/* What the operator has asked for, next to struct server_arguments. */
struct mesh_wishes {
    const char *path;
    int64_t rounds, quorum, wait, first, keep;
    struct server_times times;
};

struct mesh_server {
    struct mesh_wishes wishes;
    const struct server_arguments *arguments;
    struct key_pair pair;
    struct pricer_study *study;
    struct hub *hub;
    struct emulate emulate;
    struct mesh_members members;
    struct mesh_counting counting;
    struct announcements said;
    int64_t counter; /* of the latest announcement */
    struct mesh_reference reference;
    struct mesh_round round;
    struct mesh_history history;
    struct wire_bytes bytes;
    double *truth;

    int64_t started, looked, saved;
    int64_t failing, failed_until, failure_said; /* the study cannot be used */
    bool results; /* what is announced carries estimates */
    bool paused;  /* nobody has anything left to release */
    int64_t done, estimates;
    int64_t packets, repeated, received, total[PRICER_DROP_KINDS];
    int64_t twins; /* packets that differ from one that was counted, and are
                      genuine too */
};

/* server_round.c */
enum pricer_status mesh_round_make(struct mesh_server *server);
void mesh_round_free(struct mesh_server *server);
void mesh_round_take(struct mesh_server *server, int32_t from, const void *data,
                     size_t size);
enum pricer_status mesh_round_tick(struct mesh_server *server, int64_t now,
                                   struct pricer_fault *fault);
int64_t mesh_round_next(const struct mesh_server *server);
/* Nobody opens rounds by itself until the next one is opened. */
void mesh_round_pause(struct mesh_server *server);
/* Nodes that have the announcement of the plan, by their own connection. */
int32_t mesh_count_ready(const struct mesh_server *server);

/* server_estimate.c: add up what arrived; true: all of it is, with error bar and,
 * where the truth is known, error. */
void mesh_estimate_begin(struct mesh_server *server);
bool mesh_estimate_step(struct mesh_server *server);

/* server_store.c: the round, in one transaction with the number of the next, which
 * is at least `least`; NULL: there is none to note. */
enum pricer_status mesh_store(struct mesh_server *server, int64_t least,
                              int64_t *next, struct pricer_fault *fault);

/* server_reference.c: the last estimate as the study has it, when the server starts;
 * what the round that opens is relative to, which is announced before if it has to
 * be; from the change that a round decoded to its estimate; and that as the next
 * reference. */
enum pricer_status mesh_reference_load(struct mesh_server *server,
                                       struct pricer_fault *fault);
void mesh_reference_open(struct mesh_server *server);
void mesh_reference_follow(struct mesh_server *server);
void mesh_reference_keep(struct mesh_server *server);

/* server_announce.c: publish the round that was stored; announce the plan and who takes part, or the body that
 * server->bytes holds, to all that are connected; send the latest of a kind to
 * one. */
void mesh_publish(struct mesh_server *server);
bool mesh_announce_fleet(struct mesh_server *server);
bool mesh_announce(struct mesh_server *server);
/* Announce what came of a round; NULL: without the estimate. */
bool mesh_announce_result(struct mesh_server *server, int64_t round,
                          int64_t arrived, double bar, const double *estimate);
void mesh_announce_to(struct mesh_server *server, struct hub_peer *peer,
                      enum mesh_kind kind);
/* The next counter: above all before, also before a restart, since the number of
 * a round, of which no two are the same, is its upper part. */
int64_t mesh_next_counter(struct mesh_server *server);

/* server_history.c: count a message that is dropped; note the round that was stored,
 * and each node's part in it; forget what was counted under the plan before; the
 * latest, or NULL. */
void mesh_drop(struct mesh_server *server, enum pricer_drop why);
void mesh_history_note(struct mesh_server *server);
void mesh_history_forget(struct mesh_members *members);
const struct mesh_ended *mesh_history_last(const struct mesh_server *server);

/* server_drift.c: the chance that one look names a node while all arrive as
 * planned; note a round; begin again; and list who does not, at most `room`. */
#define MESH_ALARM 1e-3
void mesh_drift_note(struct mesh_server *server);
void mesh_drift_forget(struct mesh_members *members);
int32_t mesh_drifts(const struct mesh_server *server, int32_t *nodes,
                    int32_t room);

/* server_status.c: for status_page.h. */
void mesh_status_page(FILE *out, const void *server);
void mesh_status_metrics(FILE *out, const void *server);
int mesh_status_troubles(const void *server, FILE *out);

/* server_check.c: for pricer-server --check. */
server_check_mesh mesh_server_check;

/* Run until the rounds are over or the operator wants to stop; an exit status. */
int mesh_server_run(const struct mesh_wishes *wishes,
                    const struct server_arguments *arguments);

#endif
