/*
 * The connections of a node of the mesh: to the server, to neighbours, and from
 * neighbours. A packet goes over the connection that this node has made, or where
 * that is down over the one that the neighbour has made.
 */
#include "node.h"

#include <stdlib.h>
#include <string.h>

static struct hub_peer *find_open(const struct mesh_link *link)
{
    return link->out != NULL && hub_is_open(link->out) ? link->out
           : link->in != NULL && hub_is_open(link->in) ? link->in
                                                       : NULL;
}

int32_t mesh_links_find(const struct mesh_node *node,
                        const struct hub_peer *peer)
{
    if (hub_is_guest(peer)) {
        int32_t k = hub_number(peer);
        return k > 0 && k < node->links.count ? k : -1;
    }
    for (int32_t k = 0; k < node->links.count; k++)
        if (node->links.list[k].out == peer)
            return k;
    return -1;
}

void mesh_links_free(struct mesh_links *links)
{
    for (int32_t k = 0; k < links->count; k++)
        mesh_batch_free(&links->list[k].batch);
    free(links->list);
    free(links->fresh);
    free(links->since);
    *links = (struct mesh_links){0};
}

/* The largest frame that a peer may send: a batch, a packet alone, an estimate, or
 * what says who takes part, of which nothing is known at first. */
enum { FIRST = 8 << 20 };

void mesh_links_limit(struct mesh_node *node)
{
    int64_t vector = 8 * node->plan.dimension + MESH_BATCH + WIRE_SLACK;
    int64_t fleet = 2 * (int64_t)node->said.kind[MESH_FLEET].size;
    int64_t most = vector > fleet ? vector : fleet;
    hub_limit(node->hub, most > FIRST ? most : FIRST);
}

static enum pricer_status connect_to_server(struct mesh_node *node,
                                            struct pricer_fault *fault)
{
    uint8_t key[KEYS_SIZE];
    if (node->server_address[0] == '\0')
        return PRICER_OK;
    if (!keys_bytes(node->server_key, key))
        return daemon_fault(fault, PRICER_VALUE, "'%s' is not a key",
                            node->server_key);
    return hub_connect(node->hub, node->server_address, key, WIRE_SLICE_SIZE,
                       NULL, &node->links.list[0].out, fault);
}

enum pricer_status mesh_links_open(struct mesh_node *node,
                                   struct pricer_fault *fault)
{
    struct mesh_links *links = &node->links;
    int32_t count = node->near.count;
    links->list = calloc((size_t)count + 1, sizeof *links->list);
    if (links->list == NULL)
        return PRICER_MEMORY;
    links->count = count + 1;
    links->list[0].node = PRICER_SERVER;
    for (int32_t k = 0; k < count; k++)
        links->list[k + 1].node = node->near.rows[k].node;
    if (!mesh_keys_load(node))
        return daemon_fault(fault, PRICER_FILE, "the ledger cannot be read");
    enum pricer_status status = connect_to_server(node, fault);
    for (int32_t k = 1; k <= count && status == PRICER_OK; k++)
        status = mesh_keys_connect(node, &links->list[k], fault);
    mesh_links_limit(node);
    return status == PRICER_OK ? mesh_keys_admit(node) : status;
}

/* --------------------------------------------------------------- packets -- */

static void flush(struct mesh_node *node, struct mesh_link *link)
{
    struct hub_peer *peer = find_open(link);
    int32_t count = link->batch.count;
    if (count == 0)
        return;
    mesh_batch_end(&link->batch);
    if (peer != NULL &&
        hub_send(peer, link->batch.bytes.data, link->batch.bytes.size)) {
        link->sent += (int64_t)link->batch.bytes.size;
        node->forwarded += count;
    } else {
        node->links.lost += count;
    }
}

/* One more link travelled, but for the uplink: the server counts relays. A
 * neighbour that is known to have it is left out. */
static void put(struct mesh_node *node, int32_t to, int64_t attempt,
                const struct mesh_packet *packet)
{
    struct mesh_link *link = &node->links.list[to];
    int64_t round = node->clock.open.round;
    struct mesh_packet copy = *packet;
    copy.hops += link->node != PRICER_SERVER;
    if (copy.hops > node->plan.hops || find_open(link) == NULL ||
        link->node == packet->node ||
        packets_has(node->packets, to, attempt, packet))
        return;
    if (mesh_batch_is_full(&link->batch, round, attempt, packet->size))
        flush(node, link);
    mesh_batch_add(&link->batch, round, attempt, &copy);
}

bool mesh_links_prepare(struct mesh_node *node)
{
    struct mesh_links *links = &node->links;
    size_t nodes = (size_t)node->plan.nodes;
    free(links->fresh);
    free(links->since);
    links->fresh_count = 0;
    links->fresh = calloc(nodes, sizeof *links->fresh);
    links->since = calloc(nodes, sizeof *links->since);
    return links->fresh != NULL && links->since != NULL;
}

void mesh_links_spread(struct mesh_node *node, int32_t sender, int64_t attempt)
{
    struct mesh_links *links = &node->links;
    if (links->since[sender] == 0)
        links->fresh[links->fresh_count++] = sender;
    if (links->since[sender] == 0 || links->since[sender] > attempt + 1)
        links->since[sender] = attempt + 1;
}

/* Whoever has sent a packet since it was marked is known to have it by now. */
static void send_fresh(struct mesh_node *node, int32_t sender)
{
    struct mesh_packet packet;
    int64_t attempt = node->links.since[sender] - 1;
    node->links.since[sender] = 0;
    for (; attempt <= node->clock.open.attempt; attempt++)
        if (packets_get(node->packets, sender, attempt, &packet))
            for (int32_t k = 0; k < node->links.count; k++)
                put(node, k, attempt, &packet);
}

void mesh_links_restore(struct mesh_node *node, int32_t to)
{
    if (node->packets != NULL)
        packets_forget(node->packets, to);
    mesh_links_refill(node, to);
}

void mesh_links_refill(struct mesh_node *node, int32_t to)
{
    struct mesh_packet packet;
    for (int32_t i = 0; node->packets != NULL && i < node->plan.nodes; i++)
        if (packets_get(node->packets, i, node->clock.open.attempt, &packet))
            put(node, to, node->clock.open.attempt, &packet);
}

void mesh_links_flush(struct mesh_node *node)
{
    struct mesh_links *links = &node->links;
    for (int32_t k = 0; k < links->fresh_count; k++)
        send_fresh(node, links->fresh[k]);
    links->fresh_count = 0;
    for (int32_t k = 0; k < links->count; k++)
        flush(node, &links->list[k]);
}

/* --------------------------------------------------------- announcements -- */

static void send(struct mesh_link *link, const struct wire_bytes *message)
{
    struct hub_peer *peer = find_open(link);
    if (peer != NULL && message->size > 0 &&
        hub_send(peer, message->data, message->size))
        link->sent += (int64_t)message->size;
}

void mesh_links_announce(struct mesh_node *node, int32_t from,
                         enum mesh_kind kind)
{
    for (int32_t k = 1; k < node->links.count; k++)
        if (k != from && !node->links.list[k].direct)
            send(&node->links.list[k], &node->said.kind[kind].message);
}

enum {
    AGAIN = 500
}; /* milliseconds between answers to a HELLO: they may be long */

static void answer_owed(struct mesh_node *node, int64_t now)
{
    for (int32_t k = 1; k < node->links.count; k++) {
        struct mesh_link *link = &node->links.list[k];
        if (link->owed && now >= link->updated + AGAIN)
            mesh_links_update(node, k, &link->wants);
    }
}

void mesh_links_greet(struct mesh_node *node, int64_t now)
{
    enum { NEIGHBOURS = 10000 };
    answer_owed(node, now);
    bool direct = find_open(&node->links.list[0]) != NULL;
    struct mesh_hello hello = {
        .fleet = node->said.kind[MESH_FLEET].counter,
        .open = node->asks ? 0 : node->said.kind[MESH_OPEN].counter,
        .result = node->said.kind[MESH_RESULT].counter,
        .last = ledger_last(node->ledger),
        .left = node->own.left,
        .results = node->estimate != NULL || node->vector.feed != NULL,
        .refuses = node->own.sender == NULL,
        .direct = direct};
    if (!mesh_write_hello(&node->bytes, &hello))
        return;
    send(&node->links.list[0], &node->bytes);
    if (now < node->next_greeting && direct == node->was_direct)
        return;
    node->next_greeting = now + NEIGHBOURS;
    node->was_direct = direct;
    node->asks = false;
    for (int32_t k = 1; k < node->links.count; k++)
        send(&node->links.list[k], &node->bytes);
}

void mesh_links_update(struct mesh_node *node, int32_t to,
                       const struct mesh_hello *hello)
{
    const int64_t has[MESH_KINDS] = {0, hello->fleet, hello->open,
                                     hello->result};
    struct mesh_link *link = &node->links.list[to];
    int64_t now = daemon_clock();
    link->direct = hello->direct;
    if (to == 0)
        return;
    link->owed = now < link->updated + AGAIN;
    if (link->owed) {
        link->wants = *hello;
        if (node->next_hello > link->updated + AGAIN)
            node->next_hello = link->updated + AGAIN;
        return;
    }
    for (enum mesh_kind kind = MESH_FLEET; kind < MESH_KINDS; kind++)
        if (has[kind] < node->said.kind[kind].counter) {
            send(link, &node->said.kind[kind].message);
            link->updated = now;
            if (kind == MESH_OPEN) /* it had no use for earlier packets */
                mesh_links_restore(node, to);
        }
}
