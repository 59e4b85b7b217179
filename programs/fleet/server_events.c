/*
 * From what the hub reports to what the server knows of its nodes: who is connected,
 * who has the slice and how much is left to spend, who refuses; sums go on to the
 * round. Everything else is counted and dropped.
 */
#include "server.h"

#include <string.h>

/* ----------------------------------------------------------------- hello -- */

static void take_hello(struct server *server, int32_t node, const void *data,
                       size_t size)
{
    struct seat *seat = &server->seats[node];
    struct wire_hello hello;
    int64_t now = daemon_clock();
    if (!wire_read_hello(data, size, &hello)) {
        server_drop(server, PRICER_DROP_MALFORMED);
        return;
    }
    server_take_mark(server, node, &hello);
    seat->last = hello.last;
    seat->results = hello.results;
    seat->ready = hello.digest != NULL &&
                  memcmp(hello.digest, seat->digest, WIRE_DIGEST) == 0;
    if (seat->ready) {
        seat->told = true;
        seat->left = hello.left;
        seat->own_left = hello.own;
        seat->ending_count = hello.ending_count;
        memcpy(seat->ending, hello.ending, sizeof seat->ending);
    }
    if (seat->ready || now < seat->sliced + 1000)
        return;
    if (server_write_slice(server, node)) {
        hub_send(seat->peer, server->bytes.data, server->bytes.size);
        seat->sliced = now;
    }
}

/* The log hears of a refusal when it is another than the last one. */
static void take_refusal(struct server *server, int32_t node, const void *data,
                         size_t size)
{
    struct seat *seat = &server->seats[node];
    struct wire_refusal refusal;
    if (!wire_read_refusal(data, size, &refusal) ||
        refusal.to >= server->network->nodes) {
        server_drop(server, PRICER_DROP_MALFORMED);
        return;
    }
    seat->refusals++;
    bool new = seat->code != refusal.code || seat->to != refusal.to;
    seat->code = refusal.code;
    seat->to = refusal.to;
    if (new &&refusal.to == node)
        daemon_say("node %s refuses (code %lld): %s; its own log says more",
                   node_label(server->network, node).text,
                   (long long)refusal.code, server_refusal_text(refusal.code));
    else if (new)
        daemon_say("node %s refuses to send to %s (code %lld): %s; its own "
                   "log says more",
                   node_label(server->network, node).text,
                   node_label(server->network, (int32_t)refusal.to).text,
                   (long long)refusal.code, server_refusal_text(refusal.code));
}

static void take(struct server *server, int32_t node, const void *data,
                 size_t size)
{
    server->seats[node].seen = daemon_clock();
    switch (wire_type(data, size)) {
    case WIRE_HELLO:
        take_hello(server, node, data, size);
        break;
    case WIRE_SUM:
        server_take_sum(server, node, data, size);
        break;
    case WIRE_REFUSAL:
        take_refusal(server, node, data, size);
        break;
    default:
        server_drop(server, PRICER_DROP_MALFORMED);
    }
}

/* ---------------------------------------------------------------- events -- */

/* Whose connection it is, if the plan has a seat for that. */
static struct seat *find_seat(struct server *server, struct hub_peer *peer)
{
    int32_t node = hub_number(peer);
    return node >= 0 && node < server->network->nodes &&
                   server->seats[node].enrolled
               ? &server->seats[node]
               : NULL;
}

static void see_opened(void *context, struct hub_peer *peer)
{
    struct server *server = context;
    struct seat *seat = find_seat(server, peer);
    char key[PRICER_KEY_TEXT] = "";
    if (seat == NULL)
        return;
    if (hub_key(peer) != NULL)
        keys_text(hub_key(peer), key);
    bool other = hub_is_open(seat->peer) && seat->peer != peer;
    if (other && strcmp(seat->key, key) != 0 && seat->follows) {
        hub_forget(peer); /* the old key, while the next one is in use */
        server_see_twin(server, (int32_t)(seat - server->seats));
        return;
    }
    if (other)
        hub_forget(seat->peer);
    seat->peer = peer;
    seat->issued = 0;
    strcpy(seat->shown, key);
    server->stale = server->stale || strcmp(seat->key, key) != 0;
}

static void see_frame(void *context, struct hub_peer *peer, const void *data,
                      size_t size)
{
    struct server *server = context;
    struct seat *seat = find_seat(server, peer);
    server->messages++;
    server->bytes_received += (int64_t)size;
    if (seat == NULL) {
        server_drop(server, PRICER_DROP_STRANGER);
        return;
    }
    seat->peer = peer;
    take(server, (int32_t)(seat - server->seats), data, size);
}

/* A key that is not enrolled, in words: not the same one again. */
static void say_stranger(struct server *server, const uint8_t *bytes)
{
    char key[PRICER_KEY_TEXT];
    if (bytes == NULL)
        return;
    keys_text(bytes, key);
    if (strcmp(key, server->stranger) == 0)
        return;
    strcpy(server->stranger, key);
    daemon_say("the key %s is not enrolled and was turned away; if it is a "
               "node's, 'pricer enrol %s NODE %s ADDRESS'",
               key, server->path, key);
}

/* A handshake that failed, at most once a minute: a node with a wrong key comes
 * every few seconds. */
static void say_failed(struct server *server)
{
    enum { AGAIN = 60000 };
    int64_t now = daemon_clock();
    if (server->failed != 0 && now - server->failed < AGAIN)
        return;
    server->failed = now;
    daemon_say("someone failed in the handshake: a node with another server "
               "key than %s (its --server-key), or no pricer-node",
               server->pair.public_key);
}

static void see_ended(void *context, struct hub_peer *peer, enum hub_end why)
{
    struct server *server = context;
    struct seat *seat = find_seat(server, peer);
    if (seat != NULL && seat->peer == peer)
        seat->peer = NULL;
    if (seat != NULL && why == HUB_TWIN)
        server_see_twin(server, (int32_t)(seat - server->seats));
    if (why == HUB_STRANGER || why == HUB_REFUSED || why == HUB_BROKEN)
        server_drop(server, PRICER_DROP_REFUSED);
    if (why == HUB_STRANGER)
        say_stranger(server, hub_key(peer));
    if (why == HUB_REFUSED || why == HUB_BROKEN)
        say_failed(server);
}

const struct hub_events server_events = {
    .opened = see_opened, .frame = see_frame, .ended = see_ended};
