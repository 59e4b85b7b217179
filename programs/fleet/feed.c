/*
 * From bytes on the socket of a feed to the vector of a round, and back to the
 * program that handed it in: one program at a time, frames as in docs/feed.md.
 */
#include "feed.h"
#include "common/daemon.h"
#include "feed_listen.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    FRAME = 4,       /* bytes of a length */
    PIECE = 1 << 16, /* bytes that are read in a turn */
    QUEUE = 1 << 20, /* bytes that wait; above, frames are lost */
    AGAIN = 60000,   /* milliseconds before a thing is said again */
    ENDED = 2,       /* the last rounds that data went out in */
};

/* What the node may put into words, each at most once a minute. */
enum saying { SAY_CONNECTED, SAY_ENDED, SAY_STRANGER, SAYINGS };

struct feed {
    struct feed_place place;
    int poll, listener;
    int partner; /* -1: nobody is connected */
    bool deaf;   /* out of files: connections are left to the kernel */
    bool writing;
    struct wire_bytes in;      /* what has come of frames, from in_start on */
    struct wire_bytes out;     /* what has not left yet, from out_start on */
    struct wire_bytes message; /* the frame that is written */
    size_t in_start, out_start;
    size_t held; /* bytes at the front of `in` that feed_take() wants */
    struct feed_vector vector;
    struct feed_plan plan;
    int64_t dimension; /* of the plan, or of the round that was asked for */
    int64_t asked;     /* the round whose vector is waited for; 0: none */
    bool gone;         /* who was asked for it is */
    int64_t sent[ENDED];
    int64_t said[SAYINGS];
};

/* ------------------------------------------------------------- out of it -- */

static bool may_say(struct feed *feed, enum saying what)
{
    int64_t now = daemon_clock();
    if (feed->said[what] != 0 && now - feed->said[what] < AGAIN)
        return false;
    feed->said[what] = now;
    return true;
}

/* Private numbers do not stay in memory that is not used. */
static void forget(struct wire_bytes *bytes)
{
    if (bytes->data != NULL)
        sodium_memzero(bytes->data, bytes->room);
    wire_free(bytes);
}

static void end_partner(struct feed *feed, const char *why)
{
    if (feed->partner < 0)
        return;
    close(feed->partner);
    feed->partner = -1;
    feed->writing = false;
    feed->gone = feed->asked != 0;
    feed->in_start = feed->out_start = feed->held = 0;
    forget(&feed->in);
    wire_free(&feed->out);
    if (may_say(feed, SAY_ENDED))
        daemon_say("the program at %s is gone: %s; rounds go on without a part "
                   "of this node until one is there",
                   feed->place.address.sun_path, why);
}

static void watch(struct feed *feed, bool writing)
{
    struct epoll_event event = {
        .events = EPOLLIN | (writing ? EPOLLOUT : 0),
        .data.fd = feed->partner,
    };
    if (writing != feed->writing)
        epoll_ctl(feed->poll, EPOLL_CTL_MOD, feed->partner, &event);
    feed->writing = writing;
}

/* Write what the socket takes. */
static void flush(struct feed *feed)
{
    while (feed->out_start < feed->out.size) {
        ssize_t done =
            send(feed->partner, feed->out.data + feed->out_start,
                 feed->out.size - feed->out_start, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (done <= 0) {
            end_partner(feed, "it does not read");
            return;
        }
        feed->out_start += (size_t)done;
    }
    if (feed->out_start == feed->out.size)
        feed->out.size = feed->out_start = 0;
    watch(feed, feed->out.size > 0);
}

static bool make_room(struct wire_bytes *bytes, size_t size)
{
    if (bytes->room >= size)
        return true;
    char *grown = malloc(size + size / 2);
    if (grown == NULL)
        return false;
    if (bytes->size > 0)
        memcpy(grown, bytes->data, bytes->size);
    size_t kept = bytes->size;
    forget(bytes);
    *bytes = (struct wire_bytes){
        .data = grown, .size = kept, .room = size + size / 2};
    return true;
}

/* Send the frame in `message`; it is lost if the program does not keep up. */
static void send_message(struct feed *feed, bool written)
{
    struct wire_bytes *out = &feed->out;
    if (feed->partner < 0 || !written ||
        out->size - feed->out_start > (size_t)QUEUE)
        return;
    if (feed->out_start > 0) {
        memmove(out->data, out->data + feed->out_start,
                out->size - feed->out_start);
        out->size -= feed->out_start;
        feed->out_start = 0;
    }
    if (!make_room(out, out->size + feed->message.size))
        return;
    memcpy(out->data + out->size, feed->message.data, feed->message.size);
    out->size += feed->message.size;
    flush(feed);
}

static void dismiss(struct feed *feed, enum feed_bye why, const char *text)
{
    send_message(feed, feed_write_bye(&feed->message, why, text));
    end_partner(feed, text);
}

/* ----------------------------------------------------------------- in it -- */

/* `size` bytes at the front of what has come are done with. */
static void consume(struct feed *feed, size_t size)
{
    sodium_memzero(feed->in.data + feed->in_start, size);
    feed->in_start += size;
    if (feed->in_start == feed->in.size)
        feed->in.size = feed->in_start = 0;
}

static void welcome(struct feed *feed, int file, pid_t who)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = file};
    if (feed->partner >= 0) {
        const char *text = "another program is connected";
        if (feed_write_bye(&feed->message, FEED_BYE_BUSY, text))
            (void)!send(file, feed->message.data, feed->message.size,
                        MSG_NOSIGNAL | MSG_DONTWAIT);
        close(file);
        return;
    }
    if (epoll_ctl(feed->poll, EPOLL_CTL_ADD, file, &event) != 0) {
        close(file);
        return;
    }
    feed->partner = file;
    if (may_say(feed, SAY_CONNECTED))
        daemon_say("a program (process %ld) has connected to %s", (long)who,
                   feed->place.address.sun_path);
    send_message(feed, feed_write_plan(&feed->message, &feed->plan));
}

/* Without descriptors or memory, leave connections to the kernel until the next
 * round instead of being woken for them again and again. */
static void set_deaf(struct feed *feed, bool deaf)
{
    struct epoll_event event = {.events = deaf ? 0 : EPOLLIN,
                                .data.fd = feed->listener};
    if (deaf != feed->deaf)
        epoll_ctl(feed->poll, EPOLL_CTL_MOD, feed->listener, &event);
    feed->deaf = deaf;
}

static void accept_one(struct feed *feed)
{
    pid_t who = 0;
    bool stranger = false;
    int file = feed_accept(feed->listener, &who, &stranger);
    if (file >= 0)
        welcome(feed, file, who);
    else if (!stranger && errno != EAGAIN && errno != EINTR &&
             errno != ECONNABORTED)
        set_deaf(feed, true);
    else if (stranger && may_say(feed, SAY_STRANGER))
        daemon_say("a program of another user was turned away at %s",
                   feed->place.address.sun_path);
}

/* Read a piece of what there is; false: the connection is over. */
static bool receive(struct feed *feed)
{
    struct wire_bytes *in = &feed->in;
    if (feed->in_start > 0) {
        in->size -= feed->in_start;
        memmove(in->data, in->data + feed->in_start, in->size);
        feed->in_start = 0;
    }
    if (!make_room(in, in->size + PIECE)) {
        end_partner(feed, "there is no memory for what it sends");
        return false;
    }
    ssize_t got = recv(feed->partner, in->data + in->size, PIECE, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return true;
    if (got <= 0) {
        end_partner(feed, "it has ended");
        return false;
    }
    in->size += (size_t)got;
    return true;
}

/* A frame that has come whole. True: it is what the round waits for, and stays
 * until feed_take(). */
static bool take_frame(struct feed *feed, const uint8_t *data, size_t size)
{
    struct feed_vector vector;
    if (size == 0) /* a heartbeat, as on the network */
        return false;
    if (!feed_read_vector(data, size, &vector)) {
        dismiss(feed, FEED_BYE_MALFORMED,
                "it has sent what is no VECTOR of docs/feed.md");
        return false;
    }
    if (feed->asked != 0 && vector.round == feed->asked) {
        feed->vector = vector;
        return true;
    }
    const struct feed_taken taken = {
        vector.round, WIRE_PART_LATE, 0, false,
        "this round does not wait for a vector, or not any more"};
    send_message(feed, feed_write_taken(&feed->message, &taken));
    return false;
}

/* Go through the frames that have come; true as in take_frame(). */
static bool take_frames(struct feed *feed)
{
    while (feed->partner >= 0 && feed->in.size - feed->in_start >= FRAME) {
        const uint8_t *data = (const uint8_t *)feed->in.data + feed->in_start;
        size_t size = (size_t)data[0] << 24 | (size_t)data[1] << 16 |
                      (size_t)data[2] << 8 | (size_t)data[3];
        if (size > 8 * (size_t)feed->dimension + FEED_SLACK) {
            dismiss(feed, FEED_BYE_LONG,
                    "its frame is longer than a vector of the plan");
            return false;
        }
        if (feed->in.size - feed->in_start < FRAME + size)
            return false;
        if (take_frame(feed, data + FRAME, size)) {
            feed->held = FRAME + size;
            return true;
        }
        if (feed->partner >= 0)
            consume(feed, FRAME + size);
    }
    return false;
}

bool feed_serve(struct feed *feed)
{
    struct epoll_event events[2];
    int count = epoll_wait(feed->poll, events, 2, 0);
    bool more = false;
    if (feed->held > 0)
        return true;
    for (int k = 0; k < count; k++) {
        if (events[k].data.fd == feed->listener)
            continue;
        if (events[k].events & EPOLLOUT)
            flush(feed);
        more = events[k].events & (EPOLLIN | EPOLLHUP | EPOLLERR);
    }
    /* what has come already counts also when the connection is over */
    bool found = take_frames(feed);
    if (!found && more && feed->partner >= 0 && receive(feed))
        found = take_frames(feed);
    /* the last one first, so that its successor finds the place free */
    for (int k = 0; k < count; k++)
        if (events[k].data.fd == feed->listener)
            accept_one(feed);
    return found || feed->gone;
}

/* -------------------------------------------------------------- the node -- */

int feed_file(const struct feed *feed)
{
    return feed->poll;
}

void feed_set_plan(struct feed *feed, const struct feed_plan *plan)
{
    feed->plan = *plan;
    feed->dimension = plan->dimension;
    send_message(feed, feed_write_plan(&feed->message, plan));
}

bool feed_ask(struct feed *feed, const struct feed_round *round)
{
    feed_drop(feed);
    set_deaf(feed, false);
    if (feed->partner < 0)
        return false;
    feed->dimension = round->dimension;
    feed->asked = round->round;
    send_message(feed, feed_write_round(&feed->message, round));
    return feed->partner >= 0;
}

void feed_drop(struct feed *feed)
{
    if (feed->held > 0)
        consume(feed, feed->held);
    feed->held = 0;
    feed->asked = 0;
    feed->gone = false;
}

enum pricer_status feed_take(struct feed *feed, int64_t dimension, double *data,
                             struct pricer_fault *fault)
{
    const struct feed_vector *vector = &feed->vector;
    enum pricer_status status = PRICER_OK;
    if (feed->held == 0)
        status = daemon_fault(fault, PRICER_FILE,
                              "the program that had the vector is gone");
    else if (vector->size == 0)
        status = daemon_fault(fault, PRICER_VALUE,
                              "the program has no vector in this round");
    else if (vector->size % 8 != 0 || vector->size / 8 != (uint64_t)dimension)
        status = daemon_fault(fault, PRICER_VALUE,
                              "the vector has %.8g elements, the plan %lld",
                              (double)vector->size / 8, (long long)dimension);
    for (int64_t k = 0; k < dimension && status == PRICER_OK; k++)
        data[k] = wire_number(vector->values, k);
    feed_drop(feed);
    return status;
}

void feed_answer(struct feed *feed, const struct feed_taken *taken)
{
    if (taken->part == WIRE_PART_DATA) {
        memmove(feed->sent + 1, feed->sent, (ENDED - 1) * sizeof *feed->sent);
        feed->sent[0] = taken->round;
    }
    send_message(feed, feed_write_taken(&feed->message, taken));
}

void feed_tell_result(struct feed *feed, const struct wire_result *result)
{
    bool took_part = false;
    for (int k = 0; k < ENDED; k++)
        took_part = took_part || feed->sent[k] == result->round;
    send_message(feed, feed_write_result(&feed->message, result, took_part));
}

/* ------------------------------------------------------------- beginning -- */

enum pricer_status feed_open(const char *address, struct feed **feed,
                             struct pricer_fault *fault)
{
    struct feed *made = calloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->poll = made->listener = made->partner = -1;
    enum pricer_status status =
        feed_listen(address, &made->place, &made->listener, fault);
    if (status == PRICER_OK) {
        struct epoll_event event = {.events = EPOLLIN,
                                    .data.fd = made->listener};
        made->poll = epoll_create1(EPOLL_CLOEXEC);
        if (made->poll < 0 ||
            epoll_ctl(made->poll, EPOLL_CTL_ADD, made->listener, &event) != 0)
            status =
                daemon_fault(fault, PRICER_FILE, "epoll: %s", strerror(errno));
    }
    if (status != PRICER_OK) {
        feed_close(made);
        return status;
    }
    *feed = made;
    return PRICER_OK;
}

void feed_close(struct feed *feed)
{
    if (feed == NULL)
        return;
    feed->said[SAY_ENDED] = daemon_clock(); /* nothing is amiss */
    if (feed->partner >= 0)
        dismiss(feed, FEED_BYE_STOP, "the node stops");
    if (feed->listener >= 0) {
        feed_unlisten(&feed->place);
        close(feed->listener);
    }
    if (feed->poll >= 0)
        close(feed->poll);
    forget(&feed->in);
    wire_free(&feed->out);
    wire_free(&feed->message);
    free(feed);
}
