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
    peer->desk = &hub->desk;
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
    if (peer->lent)
        hands_recall(hub->hands, peer);
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

/* What a write has come to. */
static void settle_write(struct hub_peer *peer)
{
    switch (peer->step) {
    case TLS_DONE:
        watch(peer, false);
        break;
    case TLS_READ: /* the other side's turn, as TLS sees it */
        break;
    case TLS_WRITE:
        watch(peer, true);
        break;
    case TLS_ENDED:
        peer_end(peer, peer->why);
        break;
    }
}

void peer_flush(struct hub_peer *peer, int64_t now)
{
    if (peer->state != PEER_OPEN)
        return;
    peer->why = HUB_LEFT;
    peer->step = stream_write(peer, now, &peer->why);
    settle_write(peer);
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
    if (!(peer->lent ? stream_put(peer, data, size)
                     : stream_send(peer, data, size, peer->hub->turned))) {
        peer->hub->counts.full++;
        return false;
    }
    if (peer->lent || stream_waits(peer))
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

static void settle_shake(struct hub_peer *peer)
{
    switch (peer->step) {
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
        peer_end(peer, peer->why);
        break;
    }
}

void peer_shake(struct hub_peer *peer)
{
    peer->why = HUB_BROKEN;
    peer->step = tls_shake(peer, &peer->why);
    settle_shake(peer);
}

/* ------------------------------------------------------------------ read -- */

static bool take(struct hub_peer *peer, const uint8_t *data, size_t size)
{
    struct hub *hub = peer->hub;
    struct quota *frames =
        peer->seat != NULL ? &peer->seat->frames : &peer->frames;
    if (!quota_take(frames, hub->turned, HUB_FRAMES, 2.0 * HUB_FRAMES))
        return false;
    if (peer->state == PEER_GREETING)
        open_up(peer);
    if (size > 0 && peer->state == PEER_OPEN)
        hub->events.frame(hub->events.context, peer, data, size);
    return true;
}

static int64_t find_largest(const struct hub_peer *peer)
{
    return peer->largest >= 0 ? peer->largest : peer->hub->largest;
}

/* What a read has come to; its frames have been handed on. */
static void settle_read(struct hub_peer *peer)
{
    struct hub *hub = peer->hub;
    if (peer->file < 0) /* it ended on the way */
        return;
    if (stream_waits(peer)) /* what TLS had to answer had no room */
        mark_dirty(peer);
    if (peer->step == TLS_ENDED) {
        bool turned = peer->state == PEER_GREETING && peer->why == HUB_LEFT;
        peer_end(peer, turned ? HUB_TURNED : peer->why);
    } else if (peer->step == TLS_DONE && !peer->eager) {
        peer->eager = true;
        peer->next_eager = hub->eager;
        hub->eager = peer;
    }
}

void peer_receive(struct hub_peer *peer)
{
    struct hub *hub = peer->hub;
    peer->why = HUB_LEFT;
    peer->step = stream_read(peer, find_largest(peer), hub->turned,
                             hub->scratch, HUB_SCRATCH, take, &peer->why);
    settle_read(peer);
}

/* ----------------------------------------------------------------- apart -- */

bool peer_is_apart(const struct hub_peer *peer, uint32_t events,
                   enum peer_task *task)
{
    *task = peer->state == PEER_SHAKING ? TASK_SHAKE : TASK_READ;
    return peer->file >= 0 && peer->state >= PEER_SHAKING &&
           (*task == TASK_SHAKE || (events & EPOLLOUT) == 0);
}

void peer_work(struct hub_peer *peer, struct desk *desk)
{
    struct desk *before = peer->desk;
    peer->desk = desk;
    switch (peer->task) {
    case TASK_SHAKE:
        peer->why = HUB_BROKEN;
        peer->step = tls_shake(peer, &peer->why);
        break;
    case TASK_READ:
        peer->why = HUB_LEFT;
        peer->fetched = false;
        peer->step = stream_fetch(peer, find_largest(peer), &peer->why);
        break;
    case TASK_WRITE:
        peer->why = HUB_LEFT;
        peer->step = stream_write(peer, peer->hub->turned, &peer->why);
        break;
    }
    peer->desk = before;
}

void peer_settle(struct hub_peer *peer)
{
    enum hub_end why = HUB_LEFT;
    switch (peer->task) {
    case TASK_SHAKE:
        settle_shake(peer);
        break;
    case TASK_READ:
        if (peer->fetched)
            peer->heard = peer->hub->turned;
        if (!stream_deliver(peer, find_largest(peer), take, &why)) {
            peer->step = TLS_ENDED;
            peer->why = why;
        }
        settle_read(peer);
        break;
    case TASK_WRITE:
        settle_write(peer);
        break;
    }
}

void hub_forget(struct hub_peer *peer)
{
    if (peer == NULL)
        return;
    enum hub_end why;
    if (peer->lent)
        hands_recall(peer->hub->hands, peer);
    if (peer->state == PEER_OPEN)
        stream_write(peer, daemon_clock(), &why);
    peer_bury(peer);
}

/* --------------------------------------------------------------- heartbeat -- */

void peer_beat(struct hub_peer *peer, int64_t now)
{
    if (now - peer->heard > HUB_SILENCE && now > peer->hub->grace) {
        peer_end(peer, HUB_SILENT);
        return;
    }
    peer->chatter = 0;
    if (now - peer->said >= HUB_BEAT - WHEEL_STEP && !stream_waits(peer) &&
        stream_put(peer, NULL, 0))
        mark_dirty(peer);
    wheel_set(&peer->hub->wheel, &peer->timer, now + HUB_BEAT);
}
