/*
 * The keys of neighbours: from the file of neighbours, and what is known to follow,
 * to whom this node connects and lets in.
 *
 * Claim: a neighbour's row admits the key that the operator has named, or one that
 * follows it by signatures of the keys before, and after a later one was seen no
 * earlier one. Proof: a next key is taken from FLEET only with the signature of the
 * key that the row has; a row goes on to it by ledger_admit(), which knows the
 * named key and all steps, and never goes back. So neither the server nor anybody
 * else can put a key of its choice in a neighbour's place; the server can end that
 * the old one is admitted.
 *
 * A next key is in the ledger before it is let in: a node whose only neighbour has
 * changed its key can connect to it after a restart, before it has heard FLEET.
 */
#include "node.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static bool has_next(const struct mesh_link *link)
{
    return !sodium_is_zero(link->next, KEYS_SIZE);
}

bool mesh_keys_load(struct mesh_node *node)
{
    for (int32_t k = 1; k < node->links.count; k++) {
        struct mesh_link *link = &node->links.list[k];
        const char *named = node->near.rows[k - 1].key;
        char key[PRICER_KEY_TEXT], next[PRICER_KEY_TEXT];
        if (!ledger_row_key(node->ledger, link->node, named, key) ||
            !ledger_next_key(node->ledger, key, next) ||
            !keys_bytes(key, link->key))
            return false;
        if (next[0] != '\0')
            keys_bytes(next, link->next);
    }
    return true;
}

enum pricer_status mesh_keys_connect(struct mesh_node *node,
                                     struct mesh_link *link,
                                     struct pricer_fault *fault)
{
    enum { THE_HUBS = -1 }; /* longest frame */
    const struct neighbour *near = neighbours_find(&node->near, link->node);
    if (near == NULL || near->address[0] == '\0')
        return PRICER_OK;
    return hub_connect(node->hub, near->address,
                       link->to_next ? link->next : link->key, THE_HUBS, NULL,
                       &link->out, fault);
}

enum pricer_status mesh_keys_admit(struct mesh_node *node)
{
    const struct mesh_links *links = &node->links;
    struct hub_entry *entries =
        calloc(2 * (size_t)links->count, sizeof *entries);
    int32_t count = 0;
    if (entries == NULL)
        return PRICER_MEMORY;
    for (int32_t k = 1; k < links->count; k++) {
        const uint8_t *keys[2] = {links->list[k].key, links->list[k].next};
        for (int l = 0; l < 2; l++) {
            if (sodium_is_zero(keys[l], KEYS_SIZE))
                continue;
            memcpy(entries[count].key, keys[l], KEYS_SIZE);
            entries[count++].number = k;
        }
    }
    enum pricer_status status = hub_admit(node->hub, entries, count);
    free(entries);
    return status;
}

/* A key that follows the one of the link, by its signature. */
static void take_next(struct mesh_node *node, struct mesh_link *link,
                      const struct mesh_follow *follow)
{
    char old[PRICER_KEY_TEXT], key[PRICER_KEY_TEXT];
    if (memcmp(follow->old, link->key, KEYS_SIZE) != 0 ||
        memcmp(follow->key, link->next, KEYS_SIZE) == 0)
        return;
    keys_text(follow->old, old);
    keys_text(follow->key, key);
    if (!keys_is_successor(follow->old, follow->key, follow->proof))
        daemon_say("the server says that the key of node %d is followed by "
                   "another, and the old one has not signed that",
                   (int)link->node);
    else if (!ledger_follow(node->ledger, old, key))
        daemon_say("the next key of node %d cannot be stored: it is not let in",
                   (int)link->node);
    else {
        daemon_say("the next key of node %d is %s, and is let in as well",
                   (int)link->node, key);
        memcpy(link->next, follow->key, KEYS_SIZE);
        node->links.changed = true;
    }
}

void mesh_keys_use_fleet(struct mesh_node *node)
{
    for (int32_t k = 1; k < node->links.count; k++) {
        struct mesh_link *link = &node->links.list[k];
        struct mesh_follow follow;
        if (link->node >= node->plan.nodes)
            continue;
        const uint8_t *key = node->fleet.keys + (size_t)link->node * KEYS_SIZE;
        if (mesh_find_follow(&node->fleet, link->node, &follow))
            take_next(node, link, &follow);
        if (has_next(link) && memcmp(key, link->next, KEYS_SIZE) == 0)
            link->shows_next = node->links.changed = true; /* retired */
        else if (memcmp(key, link->key, KEYS_SIZE) != 0 &&
                 !sodium_is_zero(key, KEYS_SIZE))
            daemon_say("node %d is enrolled with another key than the file of "
                       "neighbours has, and it does not follow that: name it "
                       "there, and start again",
                       (int)link->node);
    }
}

void mesh_keys_see(struct mesh_node *node, int32_t from, struct hub_peer *peer,
                   bool open)
{
    struct mesh_link *link = &node->links.list[from];
    const uint8_t *key = hub_key(peer);
    if (from == 0 || key == NULL || !has_next(link))
        return;
    bool next = memcmp(key, link->next, KEYS_SIZE) == 0;
    if (open && next)
        link->shows_next = node->links.changed = true;
    else if (!open && !hub_is_guest(peer) && next != link->to_next &&
             (next || memcmp(key, link->key, KEYS_SIZE) == 0))
        link->turned = node->links.changed = true;
}

/* The next key takes the place of the one before; false: it cannot. */
static bool move_on(struct mesh_node *node, struct mesh_link *link)
{
    const struct neighbour *near = neighbours_find(&node->near, link->node);
    char old[PRICER_KEY_TEXT], key[PRICER_KEY_TEXT];
    struct pricer_fault fault = {""};
    keys_text(link->key, old);
    keys_text(link->next, key);
    link->shows_next = false;
    if (ledger_admit(node->ledger, link->node, near->key, old, key, &fault) !=
        PRICER_OK) {
        daemon_say("the next key of node %d is not taken over: %s",
                   (int)link->node, fault.text);
        return false;
    }
    daemon_say("the key of node %d is %s from now on", (int)link->node, key);
    memcpy(link->key, link->next, KEYS_SIZE);
    memset(link->next, 0, KEYS_SIZE);
    return true;
}

/* What was seen of a link takes effect; whether it has to be connected again. */
static bool settle(struct mesh_node *node, struct mesh_link *link)
{
    bool again = link->turned;
    if (link->shows_next && has_next(link) && move_on(node, link)) {
        again = !link->to_next;
        link->to_next = false;
    } else if (link->turned) {
        link->to_next = !link->to_next;
    }
    link->turned = false;
    return again && link->out != NULL;
}

/* Not inside an event: connections end here. */
void mesh_keys_settle(struct mesh_node *node)
{
    struct pricer_fault fault = {""};
    if (!node->links.changed)
        return;
    node->links.changed = false;
    for (int32_t k = 1; k < node->links.count; k++) {
        struct mesh_link *link = &node->links.list[k];
        if (!settle(node, link))
            continue;
        hub_forget(link->out);
        link->out = NULL;
        if (mesh_keys_connect(node, link, &fault) != PRICER_OK)
            daemon_say("%s", fault.text);
    }
    if (mesh_keys_admit(node) != PRICER_OK)
        node->links.changed = true;
}
