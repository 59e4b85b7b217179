/*
 * What the server remembers of its nodes, and where two of them disagree: from
 * HELLO to the session and the last round of a key, from the masks of both ends
 * of a link to a dispute.
 */
#include "server.h"

#include <stdlib.h>
#include <string.h>

enum {
    SAVE = 1000,   /* milliseconds between two times that marks are stored */
    AGAIN = 10000, /* milliseconds between two words about a duplicate key */
};

/* ----------------------------------------------------------------- marks -- */

static void send_mark(struct server *server, struct seat *seat)
{
    const struct wire_mark mark = {.session = seat->session,
                                   .next = seat->issued,
                                   .last = seat->mark,
                                   .twins = seat->twins};
    if (wire_write_mark(&server->bytes, &mark))
        hub_send(seat->peer, server->bytes.data, server->bytes.size);
}

/* The ledger ends behind what the key has shown, or beyond any round that was
 * opened: say so when it turns. The page has all of them. */
static void judge(struct server *server, int32_t node,
                  const struct wire_hello *hello)
{
    struct seat *seat = &server->seats[node];
    int64_t last =
        server->round >= server->first ? server->round : server->first - 1;
    int64_t most = last + server->times.ahead + 1;
    bool behind = hello->session < seat->session || hello->last < seat->mark;
    bool beyond = hello->last > most;
    bool news = (behind && !seat->behind) || (beyond && !seat->beyond);
    if (news && behind)
        daemon_say(
            "node %s: its ledger ends at round %lld of session %lld, and "
            "was at round %lld of session %lld before: it was put back "
            "or made anew, or two machines have its key",
            node_label(server->network, node).text, (long long)hello->last,
            (long long)hello->session, (long long)seat->mark,
            (long long)seat->session);
    if (news && beyond)
        daemon_say("node %s: its ledger ends at round %lld, and no round after "
                   "%lld was opened: this study was put back, or the ledger is "
                   "of another node; if the study is new and its nodes are "
                   "not, start the server with --first-round %lld or more",
                   node_label(server->network, node).text,
                   (long long)hello->last, (long long)last,
                   (long long)hello->last + 1);
    seat->behind = behind;
    seat->beyond = beyond;
}

void server_take_mark(struct server *server, int32_t node,
                      const struct wire_hello *hello)
{
    struct seat *seat = &server->seats[node];
    judge(server, node, hello);
    if (seat->issued == 0) {
        int64_t most =
            hello->session > seat->session ? hello->session : seat->session;
        seat->issued = most + 1;
        send_mark(server, seat);
    }
    if (seat->behind)
        return;
    if (hello->session > seat->session) {
        seat->session = hello->session;
        seat->unsaved = true;
    }
    if (!seat->beyond)
        server_mark_round(server, node, hello->last);
}

void server_mark_round(struct server *server, int32_t node, int64_t round)
{
    struct seat *seat = &server->seats[node];
    if (round <= seat->mark)
        return;
    seat->mark = round;
    seat->unsaved = true;
}

void server_see_twin(struct server *server, int32_t node)
{
    struct seat *seat = &server->seats[node];
    int64_t now = daemon_clock();
    seat->twins++;
    if (now < seat->twin_next)
        return;
    seat->twin_next = now + AGAIN;
    daemon_say("node %s: a second node came with its key and was turned away "
               "(%lld times so far): a cloned machine, or a copied key",
               node_label(server->network, node).text, (long long)seat->twins);
    if (seat->issued == 0)
        return;
    seat->issued = seat->session + 1;
    send_mark(server, seat);
}

enum pricer_status server_load_marks(struct server *server,
                                     struct pricer_fault *fault)
{
    int32_t nodes = server->network->nodes, count = 0;
    struct pricer_seen *seen = calloc((size_t)nodes + 1, sizeof *seen);
    if (seen == NULL)
        return PRICER_MEMORY;
    for (int32_t i = 0; i < nodes; i++)
        if (server->seats[i].enrolled)
            strcpy(seen[count++].key, server->seats[i].key);
    enum pricer_status status =
        pricer_study_seen(server->study, seen, count, fault);
    count = 0;
    for (int32_t i = 0; i < nodes && status == PRICER_OK; i++) {
        struct seat *seat = &server->seats[i];
        if (!seat->enrolled)
            continue;
        bool same = strcmp(seat->marked, seat->key) == 0;
        bool heir =
            seat->follows && strcmp(seat->marked, seat->successor.old) == 0;
        strcpy(seat->marked, seat->key);
        seat->unsaved = seat->unsaved || heir;
        if (!same && !heir) {
            seat->mark = seen[count].round;
            seat->session = seen[count].session;
            seat->unsaved = seat->behind = seat->beyond = false;
        }
        count++;
    }
    free(seen);
    return status;
}

/* Sooner or later: what is lost with a server that dies is a second of marks,
 * and that only makes it notice less. */
void server_save_marks(struct server *server, int64_t now)
{
    int32_t nodes = server->network->nodes, count = 0;
    if (now < server->marks_saved + SAVE)
        return;
    server->marks_saved = now;
    for (int32_t i = 0; i < nodes; i++)
        count += server->seats[i].unsaved;
    struct pricer_seen *seen =
        count > 0 ? calloc((size_t)count, sizeof *seen) : NULL;
    if (seen == NULL)
        return;
    count = 0;
    for (int32_t i = 0; i < nodes; i++) {
        const struct seat *seat = &server->seats[i];
        if (!seat->unsaved)
            continue;
        strcpy(seen[count].key, seat->marked);
        seen[count].round = seat->mark;
        seen[count++].session = seat->session;
    }
    if (pricer_study_note_seen(server->study, seen, count, NULL) == PRICER_OK)
        for (int32_t i = 0; i < nodes; i++)
            server->seats[i].unsaved = false;
    free(seen);
}

/* -------------------------------------------------------------- disputes -- */

/*
 * Whether the ends of a link contradict each other about a round. Nothing came
 * is never a lie that can be told; and a node whose ledger has the round already
 * may have sent its share before it died.
 */
static bool is_disputed(int claimed, int sent)
{
    return claimed > WIRE_PART_DOWN && sent > WIRE_PART_DOWN &&
           claimed != sent && sent != WIRE_PART_LEDGER;
}

static const char *describe(int part)
{
    static const char *const texts[WIRE_PARTS] = {
        [WIRE_PART_DATA] = "data",
        [WIRE_PART_PROBE] = "a probe",
    };
    return texts[part] != NULL
               ? texts[part]
               : pricer_word(PRICER_WORDS_WITHHELD, part - WIRE_PART_SPENT);
}

/* A node does not connect to a neighbour that its trust file refuses. The relay takes
 * the link for down, and the sender says why nothing came: whether the link is up is
 * not known. */
static void note_unconnected(struct server *server, int32_t l)
{
    if (server->claimed[l] != WIRE_PART_DOWN ||
        server->sent[l] != WIRE_PART_TRUST)
        return;
    server->tally.link[l] = -1;
    server->tally.withheld[l] = WIRE_PART_TRUST - WIRE_PART_SPENT;
}

void server_find_disputes(struct server *server)
{
    const struct pricer_network *network = server->network;
    for (int32_t l = 0; l < network->links; l++) {
        int32_t from = network->from[l], to = network->to[l];
        int claimed = server->claimed[l], sent = server->sent[l];
        note_unconnected(server, l);
        if (!is_disputed(claimed, sent))
            continue;
        server->disputes++;
        server->seats[from].disputes++;
        server->seats[to].disputes++;
        daemon_say("round %lld: node %s says that node %s gave it %s, and "
                   "node %s that it gave %s: one of them lies; %lld times so "
                   "far",
                   (long long)server->round, node_label(network, to).text,
                   node_label(network, from).text, describe(claimed),
                   node_label(network, from).text, describe(sent),
                   (long long)server->disputes);
    }
}
