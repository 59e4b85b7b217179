/*
 * From a SLICE message to what this node will do: every link is judged by the
 * node's own trust file and ledger, and connected only if something may go
 * over it.
 */
#include "node.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ledger_charge node_charge(const struct node *node, int32_t to,
                                 const char *key, double mu)
{
    const struct trust_row *row = trust_find(&node->trust, to);
    return (struct ledger_charge){key,   mu,   row->total_eps, row->total_delta,
                                  false, false};
}

struct ledger_charge node_charge_all(const struct node *node, double mu)
{
    const struct trust_row *row = trust_find(&node->trust, TRUST_SERVER);
    return (struct ledger_charge){
        .key = node->all_key,
        .mu = mu,
        .total_eps = row != NULL ? row->total_eps : INFINITY,
        .total_delta = row != NULL ? row->total_delta : 1,
        .all = true,
    };
}

static void free_peers(struct node_peer *peers, int32_t count)
{
    for (int32_t k = 0; k < count && peers != NULL; k++) {
        hub_forget(peers[k].link);
        wire_free(&peers[k].message);
    }
    free(peers);
}

void node_free_slice(struct node *node)
{
    free_peers(node->peers, node->slice.out_count);
    for (int32_t k = 0; k < node->slice.in_count && node->sources != NULL; k++)
        free(node->sources[k].later);
    if (node->data != NULL) /* which overwrites it */
        sodium_munlock(node->data, (size_t)node->slice.dimension * 8);
    free(node->sources);
    free(node->charges);
    free(node->ratios);
    free(node->data);
    free(node->own);
    free(node->sum);
    free(node->parts);
    free(node->sent);
    node->peers = NULL;
    node->sources = NULL;
    node->charges = NULL;
    node->ratios = NULL;
    node->data = NULL;
    node->own = node->sum = NULL;
    node->parts = node->sent = NULL;
    wire_slice_free(&node->slice);
    node->sliced = false;
    node->state = NODE_IDLE;
    vector_stop(&node->vector);
}

static bool make_room(struct node *node)
{
    size_t dimension = (size_t)node->slice.dimension;
    size_t out = (size_t)node->slice.out_count;
    size_t in = (size_t)node->slice.in_count;
    node->peers = calloc(out + 1, sizeof *node->peers);
    node->sources = calloc(in + 1, sizeof *node->sources);
    node->charges = calloc(out + 2, sizeof *node->charges);
    node->ratios = calloc(out + 1, sizeof *node->ratios);
    node->data = calloc(dimension, sizeof *node->data);
    node->own = calloc(dimension, sizeof *node->own);
    node->sum = calloc(dimension, sizeof *node->sum);
    node->parts = calloc(wire_parts_size((int32_t)in), 1);
    node->sent = calloc(wire_sent_size((int32_t)out) + 1, 1);
    if (node->data != NULL)
        sodium_mlock(node->data, dimension * sizeof *node->data);
    return node->peers != NULL && node->sources != NULL &&
           node->charges != NULL && node->ratios != NULL &&
           node->data != NULL && node->own != NULL && node->sum != NULL &&
           node->parts != NULL && node->sent != NULL;
}

/* Whether a neighbour's key follows another, whose signature it has; its text. */
static bool find_old(const struct wire_out *out, char *old)
{
    if (out == NULL || !out->follows ||
        !keys_is_successor(out->old, out->key, out->proof))
        return false;
    keys_text(out->old, old);
    return true;
}

/* Whether a row of the trust file, or of the ledger, may have this key. */
static enum pricer_status admit(struct node *node, int32_t row,
                                const char *named, const char *old,
                                const char *key, struct pricer_fault *fault)
{
    enum pricer_status status =
        ledger_admit(node->ledger, row, named, old, key, fault);
    if (status != PRICER_OK && status != PRICER_VALUE)
        node->illegible = true;
    return status;
}

/* The same for a neighbour, whose key may follow another, or the own part, whose
 * receiver is the server. */
static int judge_key(struct node *node, const struct trust_row *row,
                     const char *key, const struct wire_out *out,
                     struct pricer_fault *fault)
{
    struct node_label label = trust_label(&node->trust, row->to);
    struct pricer_fault why = {""};
    char old[PRICER_KEY_TEXT];
    const char *named = row->key[0] != '\0' ? row->key : NULL;
    if (out != NULL && named == NULL && !node->first_seen) {
        daemon_fault(fault, PRICER_VALUE,
                     "the trust file has no key for node %s, and the server's "
                     "word is not enough (column key, or --first-seen)",
                     label.text);
        return WIRE_CODE_KEY;
    }
    if (out == NULL && named != NULL && strcmp(named, key) != 0) {
        daemon_fault(fault, PRICER_VALUE,
                     "the key of node %s is not the one in the trust file",
                     label.text);
        return WIRE_CODE_KEY;
    }
    enum pricer_status status =
        out == NULL ? admit(node, LEDGER_OWN, key, NULL, key, &why)
                    : admit(node, row->to, named,
                            find_old(out, old) ? old : NULL, key, &why);
    if (status == PRICER_OK)
        return 0;
    daemon_fault(fault, status, "the key of node %s is not the one %s",
                 label.text, why.text);
    return WIRE_CODE_KEY;
}

/* Why nothing may go to a receiver, or 0. `out` is NULL for the own part. */
static int judge(struct node *node, int32_t to, const char *key, double mu,
                 const struct wire_out *out, struct pricer_fault *fault)
{
    const struct trust_row *row = trust_find(&node->trust, to);
    struct node_label label = trust_label(&node->trust, to);
    if (row == NULL) {
        daemon_fault(fault, PRICER_VALUE, "node %s is not in the trust file",
                     label.text);
        return WIRE_CODE_TRUST;
    }
    int code = judge_key(node, row, key, out, fault);
    if (code != 0)
        return code;
    if (!trust_allows(row->eps, row->delta, mu)) {
        daemon_fault(fault, PRICER_VALUE,
                     "the noise to node %s is too small for eps %g, delta %g",
                     label.text, row->eps, row->delta);
        return WIRE_CODE_NOISE;
    }
    return 0;
}

static int64_t find_left(struct node *node, const struct ledger_charge *charge)
{
    int64_t left = ledger_left(node->ledger, charge);
    if (left < 0)
        node->illegible = true;
    return left < 0 ? 0 : left;
}

/* The own part; the receiver is the server. */
static void judge_own(struct node *node)
{
    const struct wire_own *own = &node->slice.own;
    struct pricer_fault fault = {""};
    node->own_mu = trust_ratio(node->part.diameter, own->weight, own->noise);
    node->own_open = own->weight != 0 || own->noise != 0;
    node->own_refused = false;
    if (!node->own_open)
        return;
    int code =
        judge(node, node->number, node->server_key, node->own_mu, NULL, &fault);
    if (code != 0) {
        node->own_open = false;
        node->own_refused = true;
        node_refuse(node, 0, (enum wire_code)code, node->number, fault.text);
        return;
    }
    struct ledger_charge charge =
        node_charge(node, node->number, node->server_key, node->own_mu);
    node->own_left = find_left(node, &charge);
}

/* Also a neighbour whose data is refused is connected, to be told in each round that
 * nothing comes: else it would take the link for dead. */
static void open_peer(struct node *node, int32_t k)
{
    const struct wire_out *out = &node->slice.out[k];
    struct node_peer *peer = &node->peers[k];
    struct pricer_fault fault = {""};
    peer->mu = trust_ratio(node->part.diameter, out->weight, out->noise);
    keys_text(out->key, peer->key);
    int code = judge(node, out->to, peer->key, peer->mu, out, &fault);
    if (code == 0) {
        struct ledger_charge charge =
            node_charge(node, out->to, peer->key, peer->mu);
        peer->left = find_left(node, &charge);
    }
    peer->refused = code != 0;
    if (code != 0)
        node_refuse(node, 0, (enum wire_code)code, out->to, fault.text);
    node_connect(node, k, code);
}

/* Links that the new slice has too keep their connections. */
static void keep_links(struct node *node, const struct wire_out *old,
                       int32_t count, struct node_peer *peers)
{
    int32_t from = 0;
    for (int32_t k = 0; k < node->slice.out_count; k++) {
        const struct wire_out *out = &node->slice.out[k];
        while (from < count && old[from].to < out->to)
            from++;
        if (from == count)
            return;
        if (old[from].to != out->to ||
            memcmp(old[from].key, out->key, WIRE_KEY) != 0 ||
            strcmp(old[from].address, out->address) != 0)
            continue;
        node->peers[k].link = peers[from].link;
        node->peers[k].missed = node->announced && peers[from].link != NULL &&
                                !hub_is_open(peers[from].link);
        peers[from].link = NULL;
    }
}

/*
 * What the server learns from all parts together, since relays pass it on what
 * they get. Nothing is sent where one round is too much: every part would be
 * within its own budget, and all of them beyond the server's.
 */
static void judge_all(struct node *node)
{
    const struct trust_row *row = trust_find(&node->trust, TRUST_SERVER);
    struct pricer_fault fault = {""};
    int32_t count = 0;
    char text[160];
    node->all_left = LEDGER_NO_END;
    snprintf(node->all_key, sizeof node->all_key, "all to %s",
             node->server_key);
    /* It is charged without a row too: there may be one tomorrow. */
    if (admit(node, LEDGER_ALL, node->all_key, NULL, node->all_key, &fault) !=
            PRICER_OK ||
        row == NULL)
        return;
    if (node->own_open)
        node->ratios[count++] = node->own_mu;
    for (int32_t k = 0; k < node->slice.out_count; k++)
        if (!node->peers[k].refused)
            node->ratios[count++] = node->peers[k].mu;
    double mu = trust_ratio_together(node->ratios, count);
    bool key = row->key[0] == '\0' || strcmp(row->key, node->server_key) == 0;
    if (key && trust_allows(row->eps, row->delta, mu)) {
        struct ledger_charge charge = node_charge_all(node, mu);
        if (mu > 0)
            node->all_left = find_left(node, &charge);
        return;
    }
    snprintf(text, sizeof text,
             "all parts of a round together say too much to the server for eps "
             "%g, delta %g",
             row->eps, row->delta);
    node_refuse(node, 0, key ? WIRE_CODE_NOISE : WIRE_CODE_KEY, node->number,
                key ? text
                    : "the key of the server is not the one in the trust file");
    node->own_refused = node->own_refused || node->own_open;
    node->own_open = false;
    for (int32_t k = 0; k < node->slice.out_count; k++)
        node->peers[k].refused = true;
}

void node_say_deaf(struct node *node, const struct pricer_fault *why,
                   const char *cure)
{
    if (!node->silenced)
        daemon_say("%s; this node is in no round without it, trying again "
                   "every second while the server is heard%s%s",
                   why->text, cure[0] != '\0' ? ". " : "", cure);
    node->silenced = true;
}

/* Admit the in-neighbours, and listen with room for vectors of this size. False:
 * not now, and the log knows why. */
static bool open_inbox(struct node *node)
{
    struct wire_slice *slice = &node->slice;
    struct pricer_fault fault = {"no memory for the links of the plan"};
    struct hub_entry *entries =
        calloc((size_t)slice->in_count + 1, sizeof *entries);
    if (entries == NULL) {
        node_say_deaf(node, &fault, "");
        return false;
    }
    for (int32_t k = 0; k < slice->in_count; k++) {
        memcpy(entries[k].key, slice->in[k].key, WIRE_KEY);
        entries[k].number = k;
    }
    bool admitted = hub_admit(node->hub, entries, slice->in_count) == PRICER_OK;
    free(entries);
    hub_limit(node->hub, 8 * slice->dimension + WIRE_SLACK);
    if (admitted && !node->listening)
        node->listening =
            hub_listen(node->hub, node->listen, &fault) == PRICER_OK;
    if (!admitted || !node->listening) {
        node_say_deaf(node, &fault, admitted ? daemon_listen_cure : "");
        return false;
    }
    if (node->silenced)
        daemon_say("listening at %s", node->listen);
    node->silenced = false;
    return true;
}

/* How far apart data are that must not be told apart is the node's own word: a
 * server that could say so would choose the noise. */
static void fill_part(struct node *node)
{
    const struct wire_slice *slice = &node->slice;
    node->part = (struct pricer_slice){
        .node = slice->node,
        .nodes = slice->nodes,
        .dimension = slice->dimension,
        .radius = slice->radius,
        .diameter = node->diameter > 0 && node->diameter < 2 * slice->radius
                        ? node->diameter
                        : 2 * slice->radius,
        .grid = {slice->exponent, slice->grid},
        .parts = slice->in_count + 1,
    };
}

/* False: not without the ledger. The server sends the slice again each second, as
 * long as it is not taken. */
static bool judge_slice(struct node *node)
{
    node->illegible = ledger_use_trust(node->ledger, &node->trust, node->number,
                                       NULL) != PRICER_OK;
    if (node->illegible)
        return false;
    judge_own(node);
    for (int32_t k = 0; k < node->slice.out_count; k++)
        open_peer(node, k);
    judge_all(node);
    return !node->illegible;
}

void node_take_slice(struct node *node, const void *data, size_t size)
{
    uint8_t digest[WIRE_DIGEST];
    struct wire_slice slice;
    crypto_generichash(digest, sizeof digest, data, size, NULL, 0);
    if (node->sliced && memcmp(digest, node->digest, sizeof digest) == 0) {
        node_greet(node);
        return;
    }
    node->refused = 0;
    if (!wire_read_slice(data, size, &slice)) {
        node_refuse(node, 0, WIRE_CODE_SLICE, node->number,
                    "the slice is not as the protocol says");
        return;
    }
    if (slice.node != node->number) {
        wire_slice_free(&slice);
        node_refuse(node, 0, WIRE_CODE_SLICE, node->number,
                    "the slice is for another node");
        return;
    }
    struct node_peer *peers = node->peers;
    struct wire_out *out = node->slice.out;
    int32_t count = node->slice.out_count;
    node->peers = NULL;
    node->slice.out = NULL;
    node_free_slice(node);
    node->slice = slice;
    bool room = make_room(node);
    if (room)
        keep_links(node, out, count, peers);
    free_peers(peers, count);
    free(out);
    if (!room || !open_inbox(node)) { /* it comes again in a second */
        node_free_slice(node);
        node_refuse(node, 0, WIRE_CODE_SLICE, node->number,
                    room ? NULL : "cannot take the slice: no memory");
        return;
    }
    fill_part(node);
    if (!judge_slice(node)) {
        node_free_slice(node);
        node_refuse(node, 0, WIRE_CODE_LEDGER, node->number,
                    "the ledger cannot be read or written");
        return;
    }
    memcpy(node->digest, digest, sizeof digest);
    node->sliced = true;
    node->announced = false;
    node->sliced_at = daemon_clock();
    daemon_say("plan %lld: %d links out, %d in, dimension %lld",
               (long long)slice.plan, (int)slice.out_count, (int)slice.in_count,
               (long long)slice.dimension);
    node_greet(node);
}
