/*
 * The hub: one epoll, all connections. From what the kernel reports and what
 * the clock says to the peers that it is for.
 */
#include "hub.h"
#include "common/daemon.h"

#include <errno.h>
#include <malloc.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    EVENTS = 256,  /* at a turn */
    ACCEPTS = 512, /* at a turn */
    DEAF = 100,    /* milliseconds without accepting, when out of files */
    STALL = 1000,  /* milliseconds without a turn: we were away */
};

const char *hub_end_text(enum hub_end why)
{
    static const char *const texts[HUB_ENDS] = {
        [HUB_LEFT] = "left",         [HUB_UNREACHED] = "unreached",
        [HUB_STRANGER] = "stranger", [HUB_REFUSED] = "refused",
        [HUB_BROKEN] = "broken",     [HUB_SLOW] = "slow",
        [HUB_SILENT] = "silent",     [HUB_LONG] = "long",
        [HUB_BUSY] = "busy",         [HUB_REPLACED] = "replaced",
        [HUB_TWIN] = "twin",         [HUB_TURNED] = "turned",
        [HUB_REVOKED] = "revoked",
    };
    return texts[why];
}

const struct hub_counts *hub_counts(const struct hub *hub)
{
    return &hub->counts;
}

/* ---------------------------------------------------------------- accept -- */

static void receive_guest(struct hub *hub, int file, int place)
{
    struct hub_peer *peer = peer_add(hub, true);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
    if (peer == NULL) {
        guard_leave(hub->guard, place);
        close(file);
        return;
    }
    peer->file = file;
    peer->place = place;
    peer->state = PEER_SHAKING;
    peer->deadline = hub->turned + HUB_HANDSHAKE;
    wheel_set(&hub->wheel, &peer->timer, peer->deadline);
    if (!tls_start(hub->context, peer) ||
        epoll_ctl(hub->poll, EPOLL_CTL_ADD, file, &event) != 0)
        peer_end(peer, HUB_BROKEN);
}

static void set_deaf(struct hub *hub, bool deaf)
{
    struct epoll_event event = {.events = deaf ? 0 : EPOLLIN};
    hub->deaf = deaf;
    for (int k = 0; k < hub->listening; k++) {
        event.data.ptr = &hub->listeners[k];
        epoll_ctl(hub->poll, EPOLL_CTL_MOD, hub->listeners[k], &event);
    }
}

/* Without descriptors or memory, leave connections to the kernel for a while
 * instead of being woken for them again and again. */
static void accept_some(struct hub *hub, int listener)
{
    for (int k = 0; k < ACCEPTS; k++) {
        struct sockaddr_storage from;
        socklen_t size = sizeof from;
        int file = accept4(listener, (struct sockaddr *)&from, &size,
                           SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (file < 0 && (errno == EMFILE || errno == ENFILE ||
                         errno == ENOBUFS || errno == ENOMEM)) {
            hub->hears = hub->turned + DEAF;
            set_deaf(hub, true);
        }
        if (file < 0)
            return;
        int place =
            guard_enter(hub->guard, (struct sockaddr *)&from, hub->turned);
        hub->counts.accepted++;
        if (place < 0) {
            hub->counts.shed++;
            close(file);
        } else {
            receive_guest(hub, file, place);
        }
    }
}

enum pricer_status hub_listen(struct hub *hub, const char *address,
                              struct pricer_fault *fault)
{
    int file = -1;
    if (hub->listening == HUB_LISTENERS)
        return daemon_fault(fault, PRICER_VALUE, "too many addresses");
    enum pricer_status status = address_listen(address, &file, fault);
    if (status != PRICER_OK)
        return status;
    int *place = &hub->listeners[hub->listening];
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = place};
    if (epoll_ctl(hub->poll, EPOLL_CTL_ADD, file, &event) != 0) {
        close(file);
        return daemon_fault(fault, PRICER_FILE, "cannot listen at %.200s: %s",
                            address, strerror(errno));
    }
    *place = file;
    hub->listening++;
    return PRICER_OK;
}

void hub_limit(struct hub *hub, int64_t largest)
{
    hands_rest(hub->hands);
    hub->largest = largest;
}

static void end_revoked(struct hub_peer *peer)
{
    peer_end(peer, HUB_REVOKED);
}

enum pricer_status hub_admit(struct hub *hub, const struct hub_entry *entries,
                             int32_t count)
{
    hands_rest(hub->hands);
    return gate_admit(&hub->gate, entries, count, end_revoked);
}

/* ------------------------------------------------------------------ turn -- */

/* The timer of a peer: its attempt, its deadline, its heartbeat. */
static void beat(struct hub_peer *peer, int64_t now)
{
    switch (peer->state) {
    case PEER_WAITING:
    case PEER_RESOLVING:
        dial_begin(peer, now);
        break;
    case PEER_CONNECTING:
        peer_end(peer, HUB_UNREACHED);
        break;
    case PEER_SHAKING:
    case PEER_GREETING:
        peer_end(peer, HUB_SLOW);
        break;
    case PEER_OPEN:
        peer_beat(peer, now);
        break;
    case PEER_GONE:
        break;
    }
}

static void serve_here(struct hub_peer *peer, uint32_t events)
{
    if (peer->file < 0)
        return;
    if (peer->state == PEER_CONNECTING) {
        dial_finish(peer);
    } else if (peer->state == PEER_SHAKING) {
        peer_shake(peer);
    } else {
        if (events & EPOLLOUT)
            peer_flush(peer, peer->hub->turned);
        if (peer->file >= 0 && (events & ~(uint32_t)EPOLLOUT))
            peer_receive(peer);
    }
}

/* Something is there to be read, or a handshake goes on: for whoever is free. */
static void serve(struct hub *hub, struct hub_peer *peer, uint32_t events)
{
    enum peer_task task;
    if (peer->lent)
        return; /* it is looked after; what is left comes again */
    if (hub->hands != NULL && peer_is_apart(peer, events, &task))
        hands_lend(hub->hands, peer, task);
    else
        serve_here(peer, events);
}

/* Those that had more than their turn. */
static void serve_eager(struct hub *hub)
{
    struct hub_peer *peer = hub->eager;
    hub->eager = NULL;
    while (peer != NULL) {
        struct hub_peer *next = peer->next_eager;
        peer->eager = false;
        if (peer->file >= 0)
            serve(hub, peer, EPOLLIN);
        peer = next;
    }
}

/* All that was lent, and what follows from it. */
static void share(struct hub *hub)
{
    bool done;
    if (hub->hands == NULL)
        return;
    hands_begin(hub->hands);
    for (struct hub_peer *peer;
         (peer = hands_next(hub->hands, &done)) != NULL;) {
        if (!done)
            peer_work(peer, &hub->desk);
        peer_settle(peer);
        hands_begin(hub->hands); /* after a rest */
    }
}

/* The same for what waits to be written: what follows, which may put more into
 * queues, comes when all is done. */
static void share_writing(struct hub *hub)
{
    struct hub_peer *written = NULL;
    bool done;
    hands_begin(hub->hands);
    for (struct hub_peer *peer;
         (peer = hands_next(hub->hands, &done)) != NULL;) {
        if (!done)
            peer_work(peer, &hub->desk);
        peer->next_task = written;
        written = peer;
    }
    while (written != NULL) {
        struct hub_peer *next = written->next_task;
        if (written->file >= 0)
            peer_settle(written);
        written = next;
    }
}

void hub_flush(struct hub *hub)
{
    int64_t now = daemon_clock();
    while (hub->dirty != NULL) {
        for (struct hub_peer *peer; (peer = hub->dirty) != NULL;) {
            hub->dirty = peer->next_dirty;
            peer->dirty = false;
            if (peer->wants_out || peer->state != PEER_OPEN)
                continue;
            if (hub->hands != NULL)
                hands_lend(hub->hands, peer, TASK_WRITE);
            else
                peer_flush(peer, now);
        }
        if (hub->hands != NULL)
            share_writing(hub);
    }
}

static void free_gone(struct hub *hub)
{
    struct hub_peer **at = &hub->gone;
    for (struct hub_peer *peer; (peer = *at) != NULL;) {
        if (peer->dirty || peer->eager) { /* the next turn takes it out */
            at = &peer->next;
            continue;
        }
        *at = peer->next;
        if (!lookup_free(peer->lookup)) {
            peer->lookup->orphan = hub->orphans;
            hub->orphans = peer->lookup;
        }
        free(peer);
    }
    for (struct lookup **orphan = &hub->orphans; *orphan != NULL;) {
        struct lookup *next = (*orphan)->orphan;
        if (lookup_free(*orphan))
            *orphan = next;
        else
            orphan = &(*orphan)->orphan;
    }
}

/* How long the kernel may let us wait. */
static int find_wait(const struct hub *hub, int64_t milliseconds, int64_t now)
{
    int64_t next = wheel_next(&hub->wheel);
    if (hub->eager != NULL || milliseconds <= 0)
        return 0;
    if (hub->deaf && hub->hears < next)
        next = hub->hears;
    next = next < now ? now : next;
    return (int)(next - now < milliseconds ? next - now : milliseconds);
}

/* Whoever was stopped or asleep has not listened; what peers sent meanwhile is
 * still to be read. */
static void note_turn(struct hub *hub, int64_t now)
{
    if (now - hub->turned > STALL)
        hub->grace = now + HUB_BEAT + HUB_SILENCE;
    hub->turned = now;
    if (hub->deaf && now >= hub->hears)
        set_deaf(hub, false);
}

bool hub_wait(struct hub *hub, int64_t milliseconds, int file)
{
    struct epoll_event events[EVENTS];
    struct epoll_event wish = {.events = EPOLLIN, .data.ptr = &hub->file_mark};
    bool readable = false;
    if (file >= 0)
        epoll_ctl(hub->poll, EPOLL_CTL_ADD, file, &wish); /* or it is there */
    hub_flush(hub);
    int64_t before = daemon_clock();
    if (before - hub->turned < STALL)
        hub->turned = before;
    int count = epoll_wait(hub->poll, events, EVENTS,
                           find_wait(hub, milliseconds, before));
    note_turn(hub, daemon_clock());
    serve_eager(hub);
    for (int k = 0; k < count; k++) {
        void *whose = events[k].data.ptr;
        if (whose == &hub->file_mark)
            readable = true;
        else if ((int *)whose >= hub->listeners &&
                 (int *)whose < hub->listeners + HUB_LISTENERS)
            accept_some(hub, *(int *)whose);
        else
            serve(hub, whose, events[k].events);
    }
    share(hub);
    for (struct timer *timer;
         (timer = wheel_turn(&hub->wheel, hub->turned)) != NULL;)
        beat((struct hub_peer *)((char *)timer -
                                 offsetof(struct hub_peer, timer)),
             hub->turned);
    hub_flush(hub);
    free_gone(hub);
    return readable;
}

/* ------------------------------------------------------------------- hub -- */

enum pricer_status hub_open(const struct key_pair *pair,
                            const struct hub_events *events, struct hub **hub,
                            struct pricer_fault *fault)
{
    struct hub *made = calloc(1, sizeof *made);
    enum pricer_status status = PRICER_MEMORY;
    if (made == NULL)
        return status;
    /* A peer that hangs up is no reason to die. */
    signal(SIGPIPE, SIG_IGN);
    /* Frames come and go: the room of the last one serves the next, instead of
     * being given back to the kernel each time. */
    mallopt(M_TRIM_THRESHOLD, HUB_QUEUE);
    mallopt(M_MMAP_THRESHOLD, HUB_QUEUE);
    made->events = *events;
    made->turned = daemon_clock();
    made->wheel.turned = made->turned / WHEEL_STEP;
    made->guard = guard_new();
    made->sealing = tls_sealing();
    made->poll = epoll_create1(EPOLL_CLOEXEC);
    if (made->guard != NULL && made->sealing != NULL)
        status = made->poll >= 0
                     ? tls_open(pair, &made->gate, &made->context, fault)
                     : daemon_fault(fault, PRICER_FILE, "epoll: %s",
                                    strerror(errno));
    if (status != PRICER_OK) {
        hub_close(made);
        return status;
    }
    *hub = made;
    return PRICER_OK;
}

void hub_share(struct hub *hub, int32_t threads)
{
    hands_free(hub->hands);
    hub->hands = hands_new(threads - 1, peer_work);
}

/* Let queues run empty for a while. */
static void say_farewell(struct hub *hub)
{
    int64_t until = daemon_clock() + HUB_FAREWELL;
    struct epoll_event events[EVENTS];
    bool waiting = true;
    for (int64_t now; waiting && (now = daemon_clock()) < until;) {
        waiting = false;
        for (struct hub_peer *peer = hub->peers, *next; peer != NULL;
             peer = next) {
            next = peer->next;
            if (!stream_waits(peer))
                continue;
            peer_flush(peer, now);
            waiting = waiting || stream_waits(peer);
        }
        if (waiting)
            epoll_wait(hub->poll, events, EVENTS, 10);
    }
}

static void ignore(void *context, struct hub_peer *peer, enum hub_end why)
{
    (void)context, (void)peer, (void)why;
}

void hub_close(struct hub *hub)
{
    if (hub == NULL)
        return;
    hub->events.ended = ignore;
    hands_free(hub->hands);
    hub->hands = NULL;
    if (hub->poll >= 0)
        say_farewell(hub);
    while (hub->peers != NULL)
        peer_bury(hub->peers);
    for (struct hub_peer *peer = hub->gone; peer != NULL; peer = peer->next)
        peer->dirty = peer->eager = false;
    free_gone(hub);
    for (int k = 0; k < hub->listening; k++)
        close(hub->listeners[k]);
    if (hub->poll >= 0)
        close(hub->poll);
    SSL_CTX_free(hub->context);
    BIO_meth_free(hub->sealing);
    gate_free(&hub->gate);
    guard_free(hub->guard);
    free(hub);
}
