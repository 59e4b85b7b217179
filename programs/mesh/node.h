/*
 * A node of a mesh: makes one private release a round, hands it to its neighbours
 * and to the server, and passes on what others have released and what the server
 * announces.
 *
 * Its parts: neighbours and what goes to them (mesh_links), what the server has
 * announced (announcements), the packets of the round (packets), and the node's own
 * release (mesh_own).
 */
#ifndef PROGRAM_MESH_NODE_H
#define PROGRAM_MESH_NODE_H

#include "announce.h"
#include "packets.h"
#include "common/daemon.h"
#include "fleet/emulate.h"
#include "fleet/ledger_release.h"
#include "fleet/neighbours.h"
#include "fleet/node_options.h"
#include "fleet/vector.h"
#include "pricer_forward.h"
#include "transport/packet_key.h"
#include "transport/transport.h"

/* ------------------------------------------------------------------ links -- */

/* A neighbour, or the server: who hears what this node passes on. */
struct mesh_link {
    int32_t node;              /* PRICER_SERVER: the server */
    struct hub_peer *out, *in; /* we connect to it; it has connected to us */
    uint8_t key[KEYS_SIZE];    /* of a neighbour */
    uint8_t next[KEYS_SIZE];   /* that may follow it; zeros: none */
    bool to_next;              /* `out` is for the owner of the next key */
    bool shows_next;         /* the next key was seen, and counts from now on */
    bool turned;             /* `out` met the owner of the other key */
    struct mesh_batch batch; /* packets that wait for the end of a turn */
    int64_t blamed;  /* announcements of it are not looked at until then */
    int64_t updated; /* when it was last sent what its HELLO lacked */
    bool direct;     /* it hears the server itself, by its latest HELLO */
    bool owed;       /* that HELLO came too soon to be answered: */
    struct mesh_hello wants;
    int64_t sent, received; /* bytes */
};

struct mesh_links {
    struct mesh_link *list; /* [count], the server first */
    int32_t count;
    int64_t lost; /* packets that no connection was open for */
    bool changed; /* of a neighbour's keys something is new */
    /* Packets that are passed on at the end of the turn: whose, and since which
     * attempt, plus 1; 0: it is not among them. */
    int32_t *fresh, fresh_count;
    int64_t *since; /* [nodes] */
};

/* -------------------------------------------------------------------- own -- */

/* The node's own release: of which plan, and of which round. */
struct mesh_own {
    struct ledger_terms terms;
    struct pricer_forward_sender *sender; /* NULL: it releases nothing */
    double *data, *change;                /* [dimension] */
    int64_t left;                         /* rounds that its budget holds */
    bool waits;                           /* for the vector */
    bool lacks;       /* the estimate that the round is relative to */
    int64_t released; /* when it last made a release */
};

/* Whether the ledger may be believed: what the server has heard of this node must
 * be in it. */
struct mesh_past {
    int64_t started; /* when the process did */
    int64_t last;    /* the last round that the ledger had then */
    int64_t first;   /* the first that was charged since; 0: none */
    bool heard;      /* MARK has come */
    bool behind;     /* and names a round that is not in the ledger */
};

/* What is known of rounds. */
struct mesh_clock {
    struct mesh_open open; /* of the round that it is in; round 0: none */
    int64_t start;         /* when that began */
    int64_t base_round;    /* the last OPEN that was heard, and when */
    int64_t base_time;
};

struct mesh_node {
    const struct node_arguments *arguments;
    const char *server_address, *listen, *estimate;
    int32_t number;
    struct key_pair pair;
    char server_key[PRICER_KEY_TEXT];
    uint8_t secret[PACKET_KEY];   /* of its packets */
    uint8_t study[PACKET_DIGEST]; /* what tags say of the study */
    struct trust trust;
    struct neighbours near;
    struct ledger *ledger;
    struct vector vector;
    struct emulate emulate;
    bool replay;

    struct hub *hub;
    struct mesh_links links;
    struct announcements said;
    struct mesh_fleet fleet;     /* of the latest FLEET, in its bytes */
    struct mesh_plan plan;       /* of that */
    uint8_t digest[WIRE_DIGEST]; /* of the plan */
    struct packets *packets;     /* NULL: no FLEET yet */
    struct mesh_own own;
    struct mesh_past past;
    struct mesh_clock clock;

    struct wire_bytes bytes;
    int64_t next_hello, next_greeting; /* to the server, to neighbours */
    bool was_direct;                   /* as neighbours were told */
    bool asks; /* for all that neighbours hold, in the next HELLO */
    int64_t rounds, forwarded, dropped[PRICER_DROP_KINDS];
};

/* node_links.c: connections to and from neighbours and the server. */
enum pricer_status mesh_links_open(struct mesh_node *node,
                                   struct pricer_fault *fault);
void mesh_links_free(struct mesh_links *links);
/* How long frames of neighbours may be, by what is known of the plan. */
void mesh_links_limit(struct mesh_node *node);
/* The link of a peer, or -1. */
int32_t mesh_links_find(const struct mesh_node *node,
                        const struct hub_peer *peer);
/* Memory for another plan; false: there is none. */
bool mesh_links_prepare(struct mesh_node *node);
/* Pass on the packet of a node that is held, at the end of the turn, for the
 * attempts from `attempt` to the current one, to all that are not known to have it;
 * all that is held, in the current attempt, to one. */
void mesh_links_spread(struct mesh_node *node, int32_t sender, int64_t attempt);
void mesh_links_refill(struct mesh_node *node, int32_t to);
/* The same to one that may have lost what it had. */
void mesh_links_restore(struct mesh_node *node, int32_t to);
/* The turn ends: send what is to be passed on. */
void mesh_links_flush(struct mesh_node *node);
/* Say what this node has, to the server and, every tenth time or where it is news,
 * to neighbours; and send the announcements that a HELLO lacks. */
void mesh_links_greet(struct mesh_node *node, int64_t now);
void mesh_links_update(struct mesh_node *node, int32_t to,
                       const struct mesh_hello *hello);
/* Pass an announcement on to all but the one it came from. */
void mesh_links_announce(struct mesh_node *node, int32_t from,
                         enum mesh_kind kind);

/* node_keys.c: the keys of neighbours, from the file and the ledger; what FLEET says
 * about those that change; a connection has opened or ended; and between two
 * turns what follows from all that. */
bool mesh_keys_load(struct mesh_node *node);
/* Connect to a neighbour, by the key that it is believed to use now; let all
 * neighbours connect, by their keys. */
enum pricer_status mesh_keys_connect(struct mesh_node *node,
                                     struct mesh_link *link,
                                     struct pricer_fault *fault);
enum pricer_status mesh_keys_admit(struct mesh_node *node);
void mesh_keys_use_fleet(struct mesh_node *node);
void mesh_keys_see(struct mesh_node *node, int32_t from, struct hub_peer *peer,
                   bool open);
void mesh_keys_settle(struct mesh_node *node);

/* node_round.c: another FLEET, another OPEN, the vector, the clock; and what the
 * plan says about this node's release, false: nothing. */
bool mesh_own_terms(const struct mesh_node *node, struct ledger_terms *terms);
void mesh_own_use_fleet(struct mesh_node *node);
void mesh_own_open(struct mesh_node *node);
/* Release now what was not for want of MARK, or of the reference. */
void mesh_own_resume(struct mesh_node *node);
void mesh_own_take_vector(struct mesh_node *node);
void mesh_own_tick(struct mesh_node *node, int64_t now);
int64_t mesh_own_next(const struct mesh_node *node);
void mesh_own_free(struct mesh_own *own);

/* node_reference.c: how long vectors may be; whether the node has the estimate that
 * the round is relative to; and what it releases of its data: with reference last
 * the change from that, else the data. */
double mesh_own_reach(const struct mesh_node *node);
bool mesh_own_has_reference(const struct mesh_node *node);
enum pricer_status mesh_own_change(struct mesh_node *node,
                                   struct pricer_fault *fault);

/* node_check.c: for pricer-node --check. */
node_check_mesh mesh_node_check;

/* Run until the operator wants to stop; an exit status. */
int mesh_node_run(struct node *options, const struct node_arguments *arguments);

#endif
