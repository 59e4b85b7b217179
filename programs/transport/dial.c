/*
 * From the address of a peer that we connect to, to a socket on which TLS can
 * begin.
 */
#include "hub.h"
#include "common/daemon.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* Milliseconds between looks at the resolver. */
enum { GLANCE = 50 };

void dial_begin(struct hub_peer *peer, int64_t now)
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

void dial_finish(struct hub_peer *peer)
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
        peer_shake(peer);
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
