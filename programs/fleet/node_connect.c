/*
 * From the neighbours of a slice to connections, within limits: the server names
 * addresses, and must not be able to turn nodes against somebody else's machine.
 *
 * A node connects to neighbours that are in its trust file with the key of the
 * slice; with --first-seen to others too. In any case only a bounded number of
 * connections is new within a minute, two for each row of the trust file and a few,
 * however often slices and the addresses in them change; the others wait. A
 * connection that the next slice has too is not new.
 */
#include "node.h"

enum { MINUTE = 60000, FEW = 8 };

/* A bucket of connections that is full again after a minute, as the time at which
 * it is. */
static bool may_connect(struct node *node, int64_t now)
{
    int64_t each = MINUTE / (2 * (int64_t)node->trust.count + FEW);
    int64_t full = (node->dialled > now ? node->dialled : now) + each;
    if (full - now > MINUTE)
        return false;
    node->dialled = full;
    return true;
}

static void connect_peer(struct node *node, int32_t k)
{
    const struct wire_out *out = &node->slice.out[k];
    struct node_peer *peer = &node->peers[k];
    struct pricer_fault fault = {""};
    if (peer->link != NULL || peer->stranger)
        return;
    if (!may_connect(node, daemon_clock())) {
        daemon_say("no connection to node %s for now: the server has named too "
                   "many new addresses within a minute",
                   trust_label(&node->trust, out->to).text);
        return;
    }
    /* It has nothing to say to us but heartbeats. */
    enum pricer_status status = hub_connect(node->hub, out->address, out->key,
                                            0, NULL, &peer->link, &fault);
    if (status == PRICER_OK)
        return;
    peer->stranger = status == PRICER_VALUE; /* its address is none */
    node_refuse(node, 0, WIRE_CODE_SLICE, out->to,
                peer->stranger ? fault.text : "no memory for a connection");
}

void node_connect(struct node *node, int32_t k, int code)
{
    struct node_peer *peer = &node->peers[k];
    peer->stranger =
        !node->first_seen && (code == WIRE_CODE_TRUST || code == WIRE_CODE_KEY);
    if (peer->stranger) {
        hub_forget(peer->link);
        peer->link = NULL;
    }
    connect_peer(node, k);
}

void node_connect_rest(struct node *node)
{
    for (int32_t k = 0; k < node->slice.out_count && node->sliced; k++)
        connect_peer(node, k);
}
