/*
 * What the files of the transport share: a connection, the timer it has, the
 * keys that may come in, and the limits.
 */
#ifndef PROGRAM_HUB_H
#define PROGRAM_HUB_H

#include "transport.h"

#include <netdb.h>
#include <sys/socket.h>

enum {
    HUB_HANDSHAKE = 5000, /* milliseconds, all of these: to connect and shake */
    HUB_BEAT = 1000,      /* without a word before a heartbeat is sent */
    HUB_SILENCE = 5000,   /* without a word before the connection ends */
    HUB_ALIVE = 2000,     /* since a word: nobody else may have the key */
    HUB_RETRY = 100,      /* before the first new attempt */
    HUB_RETRY_MOST = 3000,
    HUB_STABLE = 2000, /* open for so long: the next attempt is a first */
    HUB_FAREWELL = 500,

    HUB_QUEUE = 1 << 20, /* bytes that wait; above, frames are lost */
    HUB_CHATTER = 16,    /* TLS messages after the handshake, a second */
    HUB_FRAMES = 10000,  /* of one key, a second; twice as many at once */
    HUB_SHAKES = 5,      /* of one key, a second; HUB_SHAKES_MOST at once */
    HUB_SHAKES_MOST = 20,
    HUB_PENDING = 512,     /* handshakes in progress, of all */
    HUB_PENDING_EACH = 64, /* of one address */
    HUB_ACCEPTS = 500,     /* of one address, a second; twice as many at once */
    HUB_CERTIFICATE = 4096, /* bytes of a peer's certificate */
    HUB_LISTENERS = 4,
    HUB_SCRATCH = 64 << 10, /* bytes that are read at once, of anybody */
    HUB_SEALED = 144 << 10, /* bytes that are written at once, to anybody */
};

/* ----------------------------------------------------------------- quota -- */

/* Events a second: so many at once, and so many come back each second. */
struct quota {
    double left;
    int64_t at; /* when; 0: full */
};
bool quota_take(struct quota *quota, int64_t now, double rate, double most);

/* ------------------------------------------------------------------ gate -- */

/* A key that is admitted. */
struct gate_seat {
    uint8_t key[KEYS_SIZE];
    int32_t number;
    struct hub_peer *peer; /* its connection, or NULL */
    struct quota frames, shakes;
};

struct gate {
    struct gate_seat *seats; /* by key */
    int32_t count;
};

/* Replace the seats; `gone` is told every peer whose key is not there any more,
 * after the others have their new seats. */
enum pricer_status gate_admit(struct gate *gate,
                              const struct hub_entry *entries, int32_t count,
                              void (*gone)(struct hub_peer *peer));
struct gate_seat *gate_find(const struct gate *gate, const uint8_t *key);
void gate_free(struct gate *gate);

/* ----------------------------------------------------------------- guard -- */

/*
 * Who may begin a handshake: limits by address, of which IPv6 has as many as
 * one likes, so there its first 64 bits count. The table is of fixed size;
 * addresses that share a place in it share the limits, and a secret decides who
 * does.
 */
struct guard;
struct guard *guard_new(void);
void guard_free(struct guard *guard);
/* The place of an address, or -1: it has to wait. */
int guard_enter(struct guard *guard, const struct sockaddr *from, int64_t now);
void guard_leave(struct guard *guard, int place);

/* --------------------------------------------------------------- address -- */

struct address {
    char host[256];
    char port[8];
};
bool address_parse(const char *text, struct address *address);
/* A socket that listens there, or -1 with errno or a word in the fault. */
enum pricer_status address_listen(const char *text, int *file,
                                  struct pricer_fault *fault);

/* An address that is looked up without waiting. */
struct lookup {
    struct address address;
    struct gaicb request;
    struct addrinfo hints;
    struct addrinfo *found, *next;
    bool pending;
    struct lookup *orphan; /* the next of those that must stay a while */
};
/* Begin, or go on; 1: found, 0: not yet, -1: not found. */
int lookup_step(struct lookup *lookup);
/* Begin to connect to the next address that was found; a socket, or -1. */
int lookup_connect(struct lookup *lookup);
/* False: the resolver still writes into it, so it must stay. */
bool lookup_free(struct lookup *lookup);

/* ----------------------------------------------------------------- wheel -- */

/* Timers by when they are due, in slots of WHEEL_STEP milliseconds. */
enum { WHEEL_SLOTS = 64, WHEEL_STEP = 50 };
struct timer {
    int64_t due;
    struct timer *next, **link; /* link NULL: not set */
};
struct wheel {
    struct timer *slots[WHEEL_SLOTS];
    int64_t turned; /* the last step that was looked at */
};
void wheel_set(struct wheel *wheel, struct timer *timer, int64_t due);
void wheel_stop(struct timer *timer);
/* When there is something to do; INT64_MAX: never. */
int64_t wheel_next(const struct wheel *wheel);
/* Take out one timer that is due, or NULL. */
struct timer *wheel_turn(struct wheel *wheel, int64_t now);

/* ------------------------------------------------------------------ peer -- */

enum peer_state {
    PEER_WAITING,    /* for the next attempt */
    PEER_RESOLVING,  /* its name is looked up */
    PEER_CONNECTING, /* TCP */
    PEER_SHAKING,    /* TLS */
    PEER_GREETING,   /* we are done; the other side has not said so yet */
    PEER_OPEN,
    PEER_GONE, /* freed at the end of hub_wait() */
};

/* What a thread has before it: sealed for the peer that it serves, on its way to
 * the socket. */
struct desk {
    size_t size;
    uint8_t sealed[HUB_SEALED];
};

/* What a peer needs that any thread can do: a step of TLS and of the socket. */
enum peer_task { TASK_SHAKE, TASK_READ, TASK_WRITE };

/* Bytes from `start` to `end`. */
struct peer_bytes {
    uint8_t *data;
    size_t start, end, room;
};

struct ssl_st;
enum tls_step { TLS_DONE, TLS_READ, TLS_WRITE, TLS_ENDED };

struct hub_peer {
    struct hub *hub;
    struct desk *desk; /* of the thread that serves it */
    enum peer_state state;
    bool guest; /* it was accepted */
    int file;   /* -1: none */
    struct ssl_st *ssl;
    bool wants_out;    /* the socket is watched for room */
    bool dirty, eager; /* it is in the hub's list of that name */
    bool shown;        /* `key` is what it has shown */
    bool unknown;      /* and is not the right one */
    uint8_t key[KEYS_SIZE];
    uint8_t pinned[KEYS_SIZE]; /* of one that we connect to */
    struct gate_seat *seat;    /* of a guest */
    int32_t number;            /* that its seat had */
    int place;                 /* with the guard; -1: none */
    int64_t largest;           /* frame it may send; -1: the hub's */
    struct quota frames;       /* of one that we connect to */
    struct peer_bytes in, out;
    struct peer_bytes sealed; /* encrypted; the socket had no room for it */
    bool failed;              /* writing did: it ends when its turn comes */
    int64_t heard, said, opened, deadline;
    int chatter; /* TLS messages since the last beat */
    int64_t delay;
    struct timer timer;
    struct lookup *lookup;
    const struct key_pair *pair; /* NULL: the hub's */
    void *owner;
    struct hub_peer *next, **link;            /* among all */
    struct hub_peer *next_dirty, *next_eager; /* in those lists */

    bool lent; /* to the hands, with a task: only its queue may be touched */
    enum peer_task task;
    enum tls_step step; /* what that came to */
    enum hub_end why;
    bool fetched; /* bytes have come */
    struct hub_peer *next_task;
};

/* ------------------------------------------------------------------- tls -- */

struct ssl_ctx_st;
struct bio_method_st;
/* What TLS writes for a peer, kept until tls_flush(): several records leave in
 * one call of the kernel. */
struct bio_method_st *tls_sealing(void);
/* A context for both directions. The verifier finds the peer by the
 * connection's data. */
enum pricer_status tls_open(const struct key_pair *pair,
                            const struct gate *gate,
                            struct ssl_ctx_st **context,
                            struct pricer_fault *fault);
/* Begin a connection on the peer's socket; false: no memory. */
bool tls_start(struct ssl_ctx_st *context, struct hub_peer *peer);
/* One step. */
enum tls_step tls_shake(struct hub_peer *peer, enum hub_end *why);
/* Read or write some bytes; TLS_READ and TLS_WRITE: what has to be waited
 * for. What is written leaves with tls_flush(), which must be called before
 * anything is done for another peer. */
enum tls_step tls_read(struct hub_peer *peer, void *data, size_t room,
                       size_t *size, enum hub_end *why);
enum tls_step tls_write(struct hub_peer *peer, const void *data, size_t size,
                        size_t *done, enum hub_end *why);
enum tls_step tls_flush(struct hub_peer *peer, enum hub_end *why);
/* Whether bytes have been read off the socket that no read has asked for. */
bool tls_has_more(const struct hub_peer *peer);
void tls_stop(struct hub_peer *peer);

/* ---------------------------------------------------------------- stream -- */

/* Read what is there, within reason, and hand whole frames to `take`, which
 * answers whether to go on. TLS_DONE: there is more. */
enum tls_step stream_read(struct hub_peer *peer, int64_t largest, int64_t now,
                          uint8_t *scratch, size_t room,
                          bool (*take)(struct hub_peer *peer,
                                       const uint8_t *data, size_t size),
                          enum hub_end *why);
/* The same in two steps: read into the peer's own memory, until a frame is whole
 * or nothing more is there; hand on what is whole. TLS_DONE: there is more. */
enum tls_step stream_fetch(struct hub_peer *peer, int64_t largest,
                           enum hub_end *why);
bool stream_deliver(struct hub_peer *peer, int64_t largest,
                    bool (*take)(struct hub_peer *peer, const uint8_t *data,
                                 size_t size),
                    enum hub_end *why);
/* Queue a frame; false: no room. A long one that has nothing before it is written
 * at once, from where it is. */
bool stream_put(struct hub_peer *peer, const void *data, size_t size);
bool stream_send(struct hub_peer *peer, const void *data, size_t size,
                 int64_t now);
/* Whether anything still has to be written. */
bool stream_waits(const struct hub_peer *peer);
/* Write what is queued; TLS_DONE: all. */
enum tls_step stream_write(struct hub_peer *peer, int64_t now,
                           enum hub_end *why);
void stream_clear(struct hub_peer *peer);

/* ----------------------------------------------------------------- hands -- */

/*
 * Threads that do the tasks of peers while the hub's own thread does some, too,
 * and alone hands out events. A peer is lent from hands_lend() until the hub's
 * thread has it back from hands_next() or hands_recall(); nobody is lent when
 * hub_wait() returns. So a peer and what it points to belong to one thread at any
 * time, and the gate changes only while nobody works (hands_rest()).
 */
struct hands;
/* NULL: no memory, no threads, or none asked for. */
struct hands *hands_new(int32_t threads,
                        void (*work)(struct hub_peer *peer, struct desk *desk));
void hands_free(struct hands *hands);
void hands_lend(struct hands *hands, struct hub_peer *peer,
                enum peer_task task);
/* Those lent so far may be begun. */
void hands_begin(struct hands *hands);
/* One that is back, or NULL: all are. *done: its task is, otherwise it is the
 * caller's. */
struct hub_peer *hands_next(struct hands *hands, bool *done);
/* Have one back now, whether its task is done or not. */
void hands_recall(struct hands *hands, struct hub_peer *peer);
/* Wait until nobody works; what is not begun stays so until hands_begin(). */
void hands_rest(struct hands *hands);

/* ------------------------------------------------------------------ peer -- */

struct hub {
    struct hub_events events;
    struct hub_counts counts;
    struct ssl_ctx_st *context;
    struct bio_method_st *sealing;
    struct gate gate;
    struct guard *guard;
    struct wheel wheel;
    int poll;
    int listeners[HUB_LISTENERS];
    int listening; /* how many */
    bool deaf;
    int64_t hears;  /* when it is not deaf any more */
    int64_t turned; /* when hub_wait() last had its turn */
    int64_t grace;  /* until when silence is not punished */
    int64_t largest;
    struct hub_peer *peers, *dirty, *eager, *gone;
    struct lookup *orphans;
    char file_mark; /* its address marks the file of hub_wait() */
    uint8_t scratch[HUB_SCRATCH];
    struct desk desk;
    struct hands *hands; /* NULL: there is one thread */
};

struct hub_peer *peer_add(struct hub *hub, bool guest);
/* A connection is over: report it, then forget it or try again. */
void peer_end(struct hub_peer *peer, enum hub_end why);
/* Out of every list, without a report; freed at the end of the turn. */
void peer_bury(struct hub_peer *peer);
/* What the kernel or the clock has for a peer: a handshake goes on, something can
 * be read, an open one may have to say something or has not been heard. */
void peer_receive(struct hub_peer *peer);
void peer_shake(struct hub_peer *peer);
void peer_beat(struct hub_peer *peer, int64_t now);
/* The next attempt to connect; then, when the socket has something to say. */
void dial_begin(struct hub_peer *peer, int64_t now);
void dial_finish(struct hub_peer *peer);
/* Whether another thread could do that, and which task it is. */
bool peer_is_apart(const struct hub_peer *peer, uint32_t events,
                   enum peer_task *task);
/* Do its task, in any thread; then, in the hub's, what follows from it. */
void peer_work(struct hub_peer *peer, struct desk *desk);
void peer_settle(struct hub_peer *peer);
/* Write what is queued. */
void peer_flush(struct hub_peer *peer, int64_t now);

#endif
