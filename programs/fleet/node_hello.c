/*
 * From what a node knows of itself to what it tells the server: that it is here,
 * how long its budgets last, and what it refuses.
 */
#include "node.h"

/* How long the first connections of a slice may take. Rounds wait for them, but not
 * again for neighbours that were not there before. Where links are emulated, so
 * that rounds are the simulator's, all of them are waited for. */
enum { PATIENCE = 3000 };

/* So few rounds left are told at once. */
enum { ENDING = 10 };

static bool all_connected(const struct node *node)
{
    for (int32_t k = 0; k < node->slice.out_count; k++) {
        const struct node_peer *peer = &node->peers[k];
        if (peer->link != NULL && !peer->missed && !hub_is_open(peer->link))
            return false;
    }
    return true;
}

/* Put a link among those with the fewest rounds left, the fewest first. */
static void add_ending(struct wire_hello *hello, int32_t to, int64_t left)
{
    int32_t at = hello->ending_count;
    while (at > 0 && hello->ending[at - 1].left > left)
        at--;
    if (at == WIRE_ENDING)
        return;
    if (hello->ending_count < WIRE_ENDING)
        hello->ending_count++;
    for (int32_t k = hello->ending_count - 1; k > at; k--)
        hello->ending[k] = hello->ending[k - 1];
    hello->ending[at] = (struct wire_ending){to, left};
}

/* How many rounds the budgets of this slice still hold. A part without weight
 * says nothing about the data and does not end. */
static void fill_left(const struct node *node, struct wire_hello *hello)
{
    bool own = node->own_open && node->slice.own.weight > 0;
    hello->own = node->own_refused ? 0 : LEDGER_NO_END;
    if (own)
        hello->left = hello->own = node->own_left;
    for (int32_t k = 0; k < node->slice.out_count; k++) {
        const struct node_peer *peer = &node->peers[k];
        if (peer->refused || node->slice.out[k].weight == 0)
            continue;
        if (peer->left > hello->left)
            hello->left = peer->left;
        if (peer->left != LEDGER_NO_END)
            add_ending(hello, node->slice.out[k].to, peer->left);
    }
    /* nothing leaves beyond what the server may get in all */
    if (node->all_left < hello->left)
        hello->left = node->all_left;
    if (node->all_left < hello->own)
        hello->own = node->all_left;
}

bool node_is_ending(const struct node *node)
{
    struct wire_hello hello = {0};
    fill_left(node, &hello);
    return hello.own <= ENDING || hello.left <= ENDING ||
           (hello.ending_count > 0 && hello.ending[0].left <= ENDING);
}

int64_t node_left(const struct node *node)
{
    struct wire_hello hello = {0};
    fill_left(node, &hello);
    return hello.left;
}

void node_greet(struct node *node)
{
    if (node->sliced && !node->announced && node->checking == NULL)
        node->announced = all_connected(node) ||
                          (node->emulate.network == NULL &&
                           daemon_clock() - node->sliced_at > PATIENCE);
    int64_t session = ledger_session(node->ledger);
    struct wire_hello hello = {
        .digest = node->announced ? node->digest : NULL,
        .last = ledger_last(node->ledger),
        .results = node->estimate != NULL || node->vector.feed != NULL,
        .session = session > 0 ? session : 0,
    };
    if (node->sliced)
        fill_left(node, &hello);
    if (node->behind)
        hello.left = hello.own = 0;
    bool sent = wire_write_hello(&node->bytes, &hello) &&
                hub_send(node->server, node->bytes.data, node->bytes.size);
    bool waiting = !sent || (node->sliced && !node->announced);
    node->next_hello = daemon_clock() + (waiting ? 50 : 1000);
}

void node_refuse(struct node *node, int64_t round, enum wire_code code,
                 int32_t to, const char *text)
{
    const struct wire_refusal refusal = {round, code, to};
    if (node->checking != NULL) {
        node->checking(node, to, text);
        return;
    }
    if (wire_write_refusal(&node->bytes, &refusal))
        hub_send(node->server, node->bytes.data, node->bytes.size);
    if (text != NULL && (!(node->refused >> code & 1) || round == 0))
        daemon_say("refused (round %lld, to %s): %s", (long long)round,
                   trust_label(&node->trust, to).text, text);
    node->refused |= UINT64_C(1) << code;
}
