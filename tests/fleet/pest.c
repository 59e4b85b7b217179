/*
 * Hostile peers, enrolled and not, many at once: connections in a random order of
 * handshake, data, ping, close and half-open, at several victims.
 *
 *   fleet_pest FRAMES CONNECTIONS SECONDS SEED SERVER NODE KEY...
 *
 * SERVER and NODE are addresses (tcp://127.0.0.1:PORT), KEY files of secret keys
 * that are enrolled. It ends when so many frames were sent and connections opened,
 * or after so many seconds, and prints what it did, a count and a word each. It
 * speaks TLS with OpenSSL itself: the hub of the daemons keeps rules.
 */
#include "common/daemon.h"
#include "pest.h"
#include "transport/keys.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    THREADS = 24,
    KEYS = 64,
    HELD = 128,       /* connections that are left open, half or whole */
    VICTIMS = 2,      /* the server first */
    ROOM = 256 << 10, /* bytes of a batch of frames */
    BATCH = 300,      /* frames */
};

/* What a connection comes to, and what was sent. */
enum count {
    OPENED,   /* TCP connections */
    SHED,     /* ended by the other side before a handshake */
    STRANGER, /* handshakes with a key that is not enrolled, or without one */
    SHAKEN,   /* handshakes with an enrolled key */
    FRAMES,   /* sent whole, pings among them */
    PINGS,
    UPDATES, /* of TLS keys */
    CUT,     /* ended by the other side after a handshake */
    RESET,   /* ended by us with a reset */
    HALF,    /* left open, half or whole */
    COUNTS,
};
static const char *const names[COUNTS] = {
    "connections", "shed",    "strangers", "handshakes", "frames",
    "pings",       "updates", "cut",       "resets",     "left_open"};

static struct {
    struct sockaddr_in victims[VICTIMS];
    SSL_CTX *keys[KEYS], *stranger, *nobody;
    int key_count;
    int64_t frames, connections, until;
    atomic_llong counts[COUNTS], round;
    pthread_mutex_t lock; /* of what follows */
    struct lesson lessons[KEYS];
    int held[HELD];
} pest = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* One thread: its random numbers and the connection it has. */
struct limb {
    unsigned seed;
    int key; /* that it mostly uses */
    int file;
    SSL *ssl;
    int victim, used;
    bool ended; /* by the other side */
    struct wire_bytes bytes;
    struct lesson lesson;
    uint8_t *batch, *heard;
    size_t batched, heard_size;
};

static void count(enum count what, long long by)
{
    atomic_fetch_add(&pest.counts[what], by);
}

static int roll(struct limb *limb, int sides)
{
    return pest_roll(&limb->seed, sides);
}

/* ------------------------------------------------------------ connection -- */

/* From an address of its own among 254, so that limits of one address do not end
 * it all at the door. */
static bool reach(struct limb *limb)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    const struct timeval patience = {2, 0};
    from.sin_addr.s_addr = htonl(0x7f000101u + (unsigned)roll(limb, 254));
    limb->victim = roll(limb, VICTIMS);
    limb->ended = false;
    limb->heard_size = limb->batched = 0;
    limb->file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (limb->file < 0)
        return false;
    setsockopt(limb->file, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(limb->file, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (bind(limb->file, (struct sockaddr *)&from, sizeof from) != 0 ||
        connect(limb->file, (struct sockaddr *)&pest.victims[limb->victim],
                sizeof *pest.victims) != 0) {
        close(limb->file);
        usleep(10000);
        return false;
    }
    count(OPENED, 1);
    return true;
}

/* Leave it open, in the place of one that was left open before. */
static void leave(struct limb *limb)
{
    int place = roll(limb, HELD);
    pthread_mutex_lock(&pest.lock);
    int old = pest.held[place];
    pest.held[place] = limb->file;
    pthread_mutex_unlock(&pest.lock);
    if (old > 0)
        close(old);
    count(HALF, 1);
}

/* Well, abruptly, with a reset, half, or not at all. */
static void finish(struct limb *limb)
{
    const struct linger none = {1, 0};
    int how = roll(limb, 5);
    if (limb->ended)
        count(CUT, 1);
    if (limb->ssl != NULL && how == 0)
        SSL_shutdown(limb->ssl);
    SSL_free(limb->ssl);
    limb->ssl = NULL;
    if (how == 1)
        shutdown(limb->file, SHUT_WR);
    if (how == 2) {
        setsockopt(limb->file, SOL_SOCKET, SO_LINGER, &none, sizeof none);
        count(RESET, 1);
    }
    if (!limb->ended && (how == 1 || how == 3))
        leave(limb);
    else
        close(limb->file);
}

/* No TLS, or the beginning of it. */
static void babble(struct limb *limb)
{
    static const uint8_t endless[] = {0x16, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff};
    uint8_t bytes[512];
    size_t size = 1 + (size_t)roll(limb, sizeof bytes - 1);
    pest_scribble(&limb->seed, bytes, size);
    if (roll(limb, 2))
        memcpy(bytes, endless, size < sizeof endless ? size : sizeof endless);
    if (roll(limb, 4) > 0 &&
        send(limb->file, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
        count(SHED, 1);
    finish(limb);
}

/* A real handshake, sometimes only its first message. */
static bool shake(struct limb *limb, SSL_CTX *context)
{
    const struct timeval glance = {0, 20000};
    limb->ssl = SSL_new(context);
    SSL_set_fd(limb->ssl, limb->file);
    if (roll(limb, 20) == 0) {
        setsockopt(limb->file, SOL_SOCKET, SO_RCVTIMEO, &glance, sizeof glance);
        SSL_connect(limb->ssl);
        finish(limb);
        return false;
    }
    if (SSL_connect(limb->ssl) != 1) {
        count(SHED, 1);
        limb->ended = true;
        finish(limb);
        return false;
    }
    setsockopt(limb->file, SOL_SOCKET, SO_RCVTIMEO, &glance, sizeof glance);
    return true;
}

/* --------------------------------------------------------------- reading -- */

static void learn(struct limb *limb, const uint8_t *data, size_t size)
{
    int64_t round = 0;
    if (pest_learn(data, size, &limb->lesson, &round)) {
        pthread_mutex_lock(&pest.lock);
        pest.lessons[limb->used] = limb->lesson;
        pthread_mutex_unlock(&pest.lock);
    }
    if (round > 0)
        atomic_store(&pest.round, round);
}

/* Read what is there, and learn from frames that are whole. */
static void listen_in(struct limb *limb)
{
    int size = SSL_read(limb->ssl, limb->heard + limb->heard_size,
                        (int)(ROOM - limb->heard_size));
    if (size <= 0) {
        int why = SSL_get_error(limb->ssl, size);
        limb->ended = why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE;
        return;
    }
    limb->heard_size += (size_t)size;
    size_t at = 0;
    while (limb->heard_size - at >= 4) {
        const uint8_t *head = limb->heard + at;
        size_t length = (size_t)head[0] << 24 | (size_t)head[1] << 16 |
                        (size_t)head[2] << 8 | head[3];
        if (length > limb->heard_size - at - 4)
            break;
        if (length > 0)
            learn(limb, head + 4, length);
        at += 4 + length;
    }
    memmove(limb->heard, limb->heard + at, limb->heard_size - at);
    limb->heard_size = limb->heard_size - at < ROOM ? limb->heard_size - at : 0;
}

/* --------------------------------------------------------------- writing -- */

static void batch_head(struct limb *limb, size_t length)
{
    for (int k = 0; k < 4; k++)
        limb->batch[limb->batched++] = (uint8_t)(length >> (24 - 8 * k));
}

/* One frame to the batch; false: there is no room. */
static bool add_frame(struct limb *limb)
{
    int kind = roll(limb, 12);
    int64_t round = atomic_load(&pest.round);
    size_t size = (size_t)roll(limb, 300);
    limb->bytes.size = 0;
    if (kind == 0)
        pest_write_hello(&limb->seed, &limb->lesson, &limb->bytes);
    else if (kind == 1)
        pest_write_refusal(&limb->seed, round, &limb->bytes);
    else if (kind <= 3 && limb->lesson.dimension > 0)
        pest_write_vector(&limb->seed, &limb->lesson, round,
                          (limb->victim == 0) == (roll(limb, 8) > 0),
                          &limb->bytes);
    if (limb->bytes.size > 0) {
        pest_mutate(&limb->seed, &limb->bytes);
        size = limb->bytes.size;
    } else if (kind > 8) {
        size = 0;
    }
    if (limb->batched + 4 + size > ROOM)
        return false;
    batch_head(limb, size);
    if (limb->bytes.size > 0)
        memcpy(limb->batch + limb->batched, limb->bytes.data, size);
    else
        pest_scribble(&limb->seed, limb->batch + limb->batched, size);
    limb->batched += size;
    count(PINGS, size == 0);
    return true;
}

static void send_batch(struct limb *limb)
{
    bool enough = atomic_load(&pest.counts[FRAMES]) >= pest.frames;
    int frames = 0, most = 1 + roll(limb, enough ? 4 : BATCH);
    limb->batched = 0;
    while (frames < most && add_frame(limb))
        frames++;
    if (SSL_write(limb->ssl, limb->batch, (int)limb->batched) ==
        (int)limb->batched)
        count(FRAMES, frames);
    else
        limb->ended = true;
}

/* A frame that is not whole, or longer than any may be. */
static void send_piece(struct limb *limb, bool longer)
{
    limb->batched = 0;
    batch_head(limb, longer ? 0x7fffffffu : 1000);
    pest_scribble(&limb->seed, limb->batch + 4, 500);
    limb->ended = SSL_write(limb->ssl, limb->batch, 504) != 504;
}

/* ------------------------------------------------------------------ life -- */

/* With an enrolled key: everything that one can do, in any order. */
static void misbehave(struct limb *limb)
{
    pthread_mutex_lock(&pest.lock);
    limb->lesson = pest.lessons[limb->used];
    pthread_mutex_unlock(&pest.lock);
    count(SHAKEN, 1);
    for (int acts = 1 + roll(limb, 30); acts > 0 && !limb->ended; acts--)
        switch (roll(limb, 40)) {
        case 0:
            send_piece(limb, false);
            acts = 0;
            break;
        case 1:
            send_piece(limb, true);
            break;
        case 2:
        case 3:
            if (SSL_key_update(limb->ssl, SSL_KEY_UPDATE_REQUESTED) == 1 &&
                SSL_do_handshake(limb->ssl) == 1)
                count(UPDATES, 1);
            break;
        case 4:
        case 5:
            usleep((useconds_t)roll(limb, 100000));
            break;
        default:
            if (roll(limb, 3) == 0)
                listen_in(limb);
            else
                send_batch(limb);
        }
    finish(limb);
}

static bool is_over(void)
{
    return (atomic_load(&pest.counts[FRAMES]) >= pest.frames &&
            atomic_load(&pest.counts[OPENED]) >= pest.connections) ||
           daemon_clock() > pest.until;
}

static void *live(void *argument)
{
    struct limb *limb = argument;
    limb->batch = malloc(ROOM + 1024);
    limb->heard = malloc(ROOM);
    while (limb->batch != NULL && limb->heard != NULL && !is_over()) {
        int kind = roll(limb, 8);
        if (!reach(limb))
            continue;
        limb->used = roll(limb, 8) > 0 ? limb->key : roll(limb, pest.key_count);
        if (kind < 4)
            babble(limb);
        else if (kind < 6) {
            count(STRANGER, 1);
            if (shake(limb, kind == 4 ? pest.stranger : pest.nobody)) {
                listen_in(limb); /* the other side may not have judged yet */
                finish(limb);
            }
        } else if (shake(limb, pest.keys[limb->used])) {
            misbehave(limb);
        }
    }
    free(limb->batch);
    free(limb->heard);
    wire_free(&limb->bytes);
    return NULL;
}

static SSL_CTX *make_context(struct key_pair *pair)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
    if (pair != NULL) {
        SSL_CTX_use_certificate(context, pair->certificate);
        SSL_CTX_use_PrivateKey(context, pair->secret);
        keys_wipe(pair);
    }
    return context;
}

static bool load(int argc, char **argv)
{
    const uint8_t seed[KEYS_SIZE] = {77};
    struct key_pair pair = {0};
    struct pricer_fault fault = {""};
    for (int k = 0; k < VICTIMS; k++) {
        int port = 0;
        if (sscanf(argv[5 + k], "tcp://127.0.0.1:%d", &port) != 1)
            return false;
        pest.victims[k] =
            (struct sockaddr_in){.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)port),
                                 .sin_addr = {htonl(INADDR_LOOPBACK)}};
    }
    for (int k = 7; k < argc && pest.key_count < KEYS; k++) {
        if (keys_read(argv[k], &pair, &fault) != PRICER_OK)
            return false;
        pest.keys[pest.key_count++] = make_context(&pair);
    }
    keys_derive(seed, &pair);
    pest.stranger = make_context(&pair);
    pest.nobody = make_context(NULL);
    return true;
}

int main(int argc, char **argv)
{
    static struct limb limbs[THREADS];
    pthread_t threads[THREADS];
    if (argc < 8 || !load(argc, argv)) {
        fputs("fleet_pest FRAMES CONNECTIONS SECONDS SEED SERVER NODE KEY...\n",
              stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    pest.frames = atoll(argv[1]);
    pest.connections = atoll(argv[2]);
    pest.until = daemon_clock() + 1000 * atoll(argv[3]);
    for (int k = 0; k < THREADS; k++) {
        limbs[k].seed = (unsigned)(atoi(argv[4]) * THREADS + k);
        limbs[k].key = k % pest.key_count;
        pthread_create(&threads[k], NULL, live, &limbs[k]);
    }
    for (int k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    for (int k = 0; k < COUNTS; k++)
        printf("%lld %s\n", (long long)atomic_load(&pest.counts[k]), names[k]);
    for (int k = 0; k < pest.key_count; k++)
        SSL_CTX_free(pest.keys[k]);
    SSL_CTX_free(pest.stranger);
    SSL_CTX_free(pest.nobody);
    return 0;
}
