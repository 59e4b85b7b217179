/*
 * From what the server remembers of this node's key to whether the ledger may be
 * believed.
 *
 * Claim: a ledger that was put back to an earlier state, or made anew, since its
 * node was last connected sends nothing more to a server that tells the truth.
 * Proof: at every connection the server hands out a session above all that the
 * key has shown before; the node writes it to the disk before it shows it. A
 * ledger from before that has a lower one, or a lower last round, and both are
 * compared before the first OPEN of the connection can come. A server that lies
 * can only say less than it knows, which is as if there were no server's record.
 */
#include "node.h"

#include <stdio.h>

static void say_twins(struct node *node, int64_t twins)
{
    if (twins > node->twins)
        daemon_say("another node came to the server with this node's key %lld "
                   "times and was turned away: is this machine cloned, or was "
                   "the key copied?",
                   (long long)twins);
    node->twins = twins;
}

static void fall_behind(struct node *node, const struct wire_mark *mark)
{
    char text[400];
    if (node->behind)
        return;
    node->behind = true;
    snprintf(text, sizeof text,
             "the ledger is behind: it ends at round %lld of session %lld, and "
             "the server has heard of round %lld and session %lld; it was put "
             "back or made anew, and what was sent since is not in it. Nothing "
             "is sent; restore the latest ledger, or go on without those "
             "charges by --ledger-accept %lld",
             (long long)ledger_last(node->ledger),
             (long long)ledger_session(node->ledger), (long long)mark->last,
             (long long)mark->session, (long long)mark->last);
    if (node->checking != NULL) {
        node->checking(node, -1, text);
        return;
    }
    node_refuse(node, 0, WIRE_CODE_BEHIND, node->number, text);
    node_greet(node);
}

void node_take_mark(struct node *node, const void *data, size_t size)
{
    struct wire_mark mark;
    struct pricer_fault fault = {""};
    int64_t session = ledger_session(node->ledger);
    if (!wire_read_mark(data, size, &mark)) {
        node->dropped[PRICER_DROP_MALFORMED]++;
        return;
    }
    say_twins(node, mark.twins);
    if (mark.last > ledger_last(node->ledger) ||
        (session >= 0 && mark.session > session)) {
        fall_behind(node, &mark);
        return;
    }
    /* --check looks and leaves no trace. */
    if (node->checking != NULL)
        return;
    node->behind = false;
    if (ledger_set_session(node->ledger, mark.next, &fault) == PRICER_OK)
        node_greet(node);
    else
        daemon_say("%s", fault.text);
}

bool node_is_far(const struct node *node, int64_t round)
{
    int64_t last = ledger_last(node->ledger);
    last = node->taken > last ? node->taken : last;
    return round - last > WIRE_JUMP;
}

void node_yield(struct node *node)
{
    vector_stop(&node->vector);
    node->state = NODE_IDLE;
    node->base_round = 0;
}
