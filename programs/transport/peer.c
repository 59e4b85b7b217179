/*
 * One connection from its first attempt to its end, and if it is ours, to the
 * next attempt.
 *
 * Nothing is freed while events are handed out: a peer that ends is marked, and
 * freed when the turn is over.
 */
#include "hub.h"
#include "common/daemon.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Milliseconds between looks at the resolver. */
enum { GLANCE = 50 };

bool hub_is_open(const struct hub_peer *peer)
{
    return peer != NULL && peer->state == PEER_OPEN;
}

bool hub_is_guest(const struct hub_peer *peer)
{
    return peer->guest;
}

int32_t hub_number(const struct hub_peer *peer)
{
    return peer->seat != NULL ? peer->seat->number : peer->number;
}

const uint8_t *hub_key(const struct hub_peer *peer)
{
    return peer->shown ? peer->key : NULL;
}

void *hub_owner(const struct hub_peer *peer)
{
    return peer->owner;
}

void hub_set_owner(struct hub_peer *peer, void *owner)
{
    peer->owner = owner;
}

/* ------------------------------------------------------------------ peer -- */

struct hub_peer *peer_add(struct hub *hub, bool guest)
{
    struct hub_peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL)
        return NULL;
    peer->hub = hub;
    peer->guest = guest;
    peer->file = peer->place = peer->number = -1;
    peer->largest = -1;
    peer->delay = HUB_RETRY;
    peer->next = hub->peers;
    peer->link = &hub->peers;
    if (peer->next != NULL)
        peer->next->link = &peer->next;
    hub->peers = peer;
    return peer;
}

static void watch(struct hub_peer *peer, bool out)
{
    struct epoll_event event = {.events = EPOLLIN | (out ? EPOLLOUT : 0),
                                .data.ptr = peer};
    if (peer->wants_out != out)
        epoll_ctl(peer->hub->poll, EPOLL_CTL_MOD, peer->file, &event);
    peer->wants_out = out;
}

/* Close what there is of a connection. */
static void cut(struct hub_peer *peer)
{
    struct hub *hub = peer->hub;
    tls_stop(peer);
    if (peer->file >= 0)
        close(peer->file);
    peer->file = -1;
    peer->wants_out = false;
    stream_clear(peer);
    guard_leave(hub->guard, peer->place);
    peer->place = -1;
    wheel_stop(&peer->timer);
    if (peer->seat != NULL) {
        if (peer->seat->peer == peer)
            peer->seat->peer = NULL;
        peer->number = peer->seat->number;
    }
    peer->seat = NULL;
    peer->chatter = 0;
}

/* Out of every list; freed at the end of the turn. */
void peer_bury(struct hub_peer *peer)
{
    struct hub *hub = peer->hub;
    if (peer->state == PEER_GONE)
        return;
    cut(peer);
    peer->state = PEER_GONE;
    *peer->link = peer->next;
    if (peer->next != NULL)
        peer->next->link = peer->link;
    peer->next = hub->gone;
    hub->gone = peer;
}

/* The next attempt: after a while that doubles, less up to half of it. */
static void schedule(struct hub_peer *peer, int64_t now)
{
    int64_t half = peer->delay / 2;
    int64_t wait = half + (int64_t)randombytes_uniform((uint32_t)half + 1);
    peer->state = PEER_WAITING;
    peer->delay =
        peer->delay * 2 < HUB_RETRY_MOST ? peer->delay * 2 : HUB_RETRY_MOST;
    wheel_set(&peer->hub->wheel, &peer->timer, now + wait);
}

/* A connection is over: report it, then forget it or try again. */
void peer_end(struct hub_peer *peer, enum hub_end why)
{
    struct hub *hub = peer->hub;
    int64_t now = daemon_clock();
    if (peer->state == PEER_GONE || peer->state == PEER_WAITING)
        return;
    if (peer->state == PEER_OPEN && now - peer->opened >= HUB_STABLE)
        peer->delay = HUB_RETRY;
    hub->counts.ends[why]++;
    cut(peer);
    peer->state = PEER_WAITING;
    hub->events.ended(hub->events.context, peer, why);
    if (peer->guest)
        peer_bury(peer);
    else if (peer->state == PEER_WAITING)
        schedule(peer, now);
}

/* ----------------------------------------------------------------- write -- */

void peer_flush(struct hub_peer *peer, int64_t now)
{
    enum hub_end why = HUB_LEFT;
    if (peer->state != PEER_OPEN)
        return;
    switch (stream_write(peer, now, &why)) {
    case TLS_DONE:
        watch(peer, false);
        break;
    case TLS_READ: /* the other side's turn, as TLS sees it */
        break;
    case TLS_WRITE:
        watch(peer, true);
        break;
    case TLS_ENDED:
        peer_end(peer, why);
        break;
    }
}

void peer_flush_all(struct hub *hub)
{
    int64_t now = daemon_clock();
    for (struct hub_peer *peer; (peer = hub->dirty) != NULL;) {
        hub->dirty = peer->next_dirty;
        peer->dirty = false;
        if (!peer->wants_out)
            peer_flush(peer, now);
    }
}

static void mark_dirty(struct hub_peer *peer)
{
    if (peer->dirty)
        return;
    peer->dirty = true;
    peer->next_dirty = peer->hub->dirty;
    peer->hub->dirty = peer;
}

bool hub_send(struct hub_peer *peer, const void *data, size_t size)
{
    if (!hub_is_open(peer))
        return false;
    if (!stream_send(peer, data, size, peer->hub->turned)) {
        peer->hub->counts.full++;
        return false;
    }
    if (stream_waits(peer))
        mark_dirty(peer);
    return true;
}

/* ------------------------------------------------------------------ open -- */

static void open_up(struct hub_peer *peer)
{
    struct hub *hub = peer->hub;
    peer->state = PEER_OPEN;
    peer->opened = peer->heard = peer->said = daemon_clock();
    wheel_set(&hub->wheel, &peer->timer, peer->opened + HUB_BEAT);
    hub->events.opened(hub->events.context, peer);
}

/*
 * Whether the key of a newcomer is in use by someone else: a connection that was
 * heard a moment ago is not a remnant of the newcomer's own. Its end would have
 * been seen, and heartbeats come every second.
 */
static bool is_twin(const struct hub_peer *older)
{
    return older != NULL && older->hub->turned - older->heard < HUB_ALIVE;
}

/* A guest has shown its key; it may have been revoked since the handshake
 * looked it up. One that is alive keeps its connection; otherwise the newest of
 * a key is the one that counts. */
static void seat_guest(struct hub_peer *peer)
{
    struct hub *hub = peer->hub;
    struct gate_seat *seat = gate_find(&hub->gate, peer->key);
    guard_leave(hub->guard, peer->place);
    peer->place = -1;
    if (seat == NULL) {
        peer_end(peer, HUB_STRANGER);
        return;
    }
    if (!quota_take(&seat->shakes, daemon_clock(), HUB_SHAKES,
                    HUB_SHAKES_MOST)) {
        peer_end(peer, HUB_BUSY);
        return;
    }
    if (is_twin(seat->peer)) {
        peer->number = seat->number;
        peer_end(peer, HUB_TWIN);
        return;
    }
    if (seat->peer != NULL)
        peer_end(seat->peer, HUB_REPLACED);
    seat->peer = peer;
    peer->seat = seat;
    peer->state = PEER_OPEN;
    /* The first heartbeat tells the other side that it is let in. */
    if (stream_put(peer, NULL, 0))
        mark_dirty(peer);
    open_up(peer);
}

static void shake(struct hub_peer *peer)
{
    enum hub_end why = HUB_BROKEN;
    switch (tls_shake(peer, &why)) {
    case TLS_DONE:
        watch(peer, false);
        peer->state = PEER_GREETING;
        if (peer->guest)
            seat_guest(peer);
        break;
    case TLS_READ:
        watch(peer, false);
        break;
    case TLS_WRITE:
        watch(peer, true);
        break;
    case TLS_ENDED:
        peer_end(peer, why);
        break;
    }
}

/* ------------------------------------------------------------------ read -- */

static bool take(struct hub_peer *peer, const uint8_t *data, size_t size)
{
    struct hub *hub = peer->hub;
    if (peer->seat != NULL && !quota_take(&peer->seat->frames, hub->turned,
                                          HUB_FRAMES, 2.0 * HUB_FRAMES))
        return false;
    if (peer->state == PEER_GREETING)
        open_up(peer);
    if (size > 0 && peer->state == PEER_OPEN)
        hub->events.frame(hub->events.context, peer, data, size);
    return true;
}

void peer_receive(struct hub_peer *peer)
{
    struct hub *hub = peer->hub;
    enum hub_end why = HUB_LEFT;
    int64_t largest = peer->largest >= 0 ? peer->largest : hub->largest;
    enum tls_step step = stream_read(peer, largest, hub->turned, hub->scratch,
                                     HUB_SCRATCH, take, &why);
    if (peer->file < 0) /* it ended on the way */
        return;
    if (stream_waits(peer)) /* what TLS had to answer had no room */
        mark_dirty(peer);
    if (step == TLS_ENDED) {
        bool turned = peer->state == PEER_GREETING && why == HUB_LEFT;
        peer_end(peer, turned ? HUB_TURNED : why);
    } else if (step == TLS_DONE && !peer->eager) {
        peer->eager = true;
        peer->next_eager = hub->eager;
        hub->eager = peer;
    }
}

/* --------------------------------------------------------------- connect -- */

static void dial(struct hub_peer *peer, int64_t now)
{
    struct hub *hub = peer->hub;
    int found = lookup_step(peer->lookup);
    if (peer->state == PEER_WAITING)
        peer->deadline = now + HUB_HANDSHAKE;
    peer->state = PEER_RESOLVING;
    if (found == 0 && now < peer->deadline) {
        wheel_set(&hub->wheel, &peer->timer, now + GLANCE);
        return;
    }
    peer->shown = peer->unknown = false;
    peer->file = found > 0 ? lookup_connect(peer->lookup) : -1;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.ptr = peer};
    if (peer->file < 0 ||
        epoll_ctl(hub->poll, EPOLL_CTL_ADD, peer->file, &event) != 0) {
        peer_end(peer, HUB_UNREACHED);
        return;
    }
    peer->wants_out = true;
    peer->state = PEER_CONNECTING;
    wheel_set(&hub->wheel, &peer->timer, peer->deadline);
}

static void finish_dial(struct hub_peer *peer)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(peer->file, SOL_SOCKET, SO_ERROR, &error, &size) != 0 ||
        error != 0) {
        peer_end(peer, HUB_UNREACHED);
        return;
    }
    peer->state = PEER_SHAKING;
    if (tls_start(peer->hub->context, peer))
        shake(peer);
    else
        peer_end(peer, HUB_BROKEN);
}

enum pricer_status hub_connect(struct hub *hub, const char *address,
                               const uint8_t *key, int64_t largest, void *owner,
                               struct hub_peer **peer,
                               struct pricer_fault *fault)
{
    struct lookup *lookup = calloc(1, sizeof *lookup);
    struct hub_peer *made = lookup != NULL ? peer_add(hub, false) : NULL;
    if (made == NULL) {
        free(lookup);
        return PRICER_MEMORY;
    }
    made->lookup = lookup;
    if (!address_parse(address, &lookup->address)) {
        hub_forget(made);
        return daemon_fault(fault, PRICER_VALUE,
                            "cannot connect to %.200s: it is not an address "
                            "such as tcp://10.0.0.3:7100",
                            address);
    }
    memcpy(made->pinned, key, KEYS_SIZE);
    made->largest = largest;
    made->owner = owner;
    made->state = PEER_WAITING;
    wheel_set(&hub->wheel, &made->timer, 0);
    *peer = made;
    return PRICER_OK;
}

void hub_pose(struct hub_peer *peer, const struct key_pair *pair)
{
    peer->pair = pair;
}

void hub_forget(struct hub_peer *peer)
{
    if (peer == NULL)
        return;
    enum hub_end why;
    if (peer->state == PEER_OPEN)
        stream_write(peer, daemon_clock(), &why);
    peer_bury(peer);
}

/* ---------------------------------------------------------------- events -- */

/* The timer of a peer: its attempt, its deadline, its heartbeat. */
void peer_beat(struct hub_peer *peer, int64_t now)
{
    struct hub *hub = peer->hub;
    switch (peer->state) {
    case PEER_WAITING:
    case PEER_RESOLVING:
        dial(peer, now);
        break;
    case PEER_CONNECTING:
        peer_end(peer, HUB_UNREACHED);
        break;
    case PEER_SHAKING:
    case PEER_GREETING:
        peer_end(peer, HUB_SLOW);
        break;
    case PEER_OPEN:
        if (now - peer->heard > HUB_SILENCE && now > hub->grace) {
            peer_end(peer, HUB_SILENT);
            break;
        }
        peer->chatter = 0;
        if (now - peer->said >= HUB_BEAT - WHEEL_STEP && !stream_waits(peer) &&
            stream_put(peer, NULL, 0))
            mark_dirty(peer);
        wheel_set(&hub->wheel, &peer->timer, now + HUB_BEAT);
        break;
    case PEER_GONE:
        break;
    }
}

void peer_serve(struct hub_peer *peer, uint32_t events)
{
    if (peer->file < 0)
        return;
    if (peer->state == PEER_CONNECTING) {
        finish_dial(peer);
    } else if (peer->state == PEER_SHAKING) {
        shake(peer);
    } else {
        if (events & EPOLLOUT)
            peer_flush(peer, peer->hub->turned);
        if (peer->file >= 0 && (events & ~(uint32_t)EPOLLOUT))
            peer_receive(peer);
    }
}
