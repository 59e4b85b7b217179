/*
 * From the state of the server to what its operator should know: troubles for
 * the page and for /health, and lines for the log when something turns.
 */
#include "server.h"

enum {
    ENDING = 10,    /* rounds left that are few */
    SILENT = 10000, /* milliseconds without a word */
    GLANCE = 1000,  /* milliseconds between two looks */
    LINES = 20,     /* of troubles, at most */
    NAMED = 5,      /* silent nodes that the log names */
};

const char *server_refusal_text(int64_t code)
{
    static const char *const texts[WIRE_CODES] = {
        [WIRE_CODE_SLICE] = "it does not take its slice of the plan",
        [WIRE_CODE_KEY] = "the key is not the one it knows",
        [WIRE_CODE_NOISE] = "the noise is too small for its trust",
        [WIRE_CODE_SPENT] = "the budget is spent",
        [WIRE_CODE_VECTOR] = "it has no vector",
        [WIRE_CODE_ROUND] = "the round is already in its ledger",
        [WIRE_CODE_LATE] = "its vector was not ready in time",
        [WIRE_CODE_TRUST] = "it is not in its trust file",
        [WIRE_CODE_LEDGER] = "its ledger failed",
        [WIRE_CODE_BEHIND] = "its ledger is behind what it has sent",
    };
    bool known = code > 0 && code < WIRE_CODES && texts[code] != NULL;
    return known ? texts[code] : "an unknown reason";
}

void server_drop(struct server *server, enum pricer_drop why)
{
    server->tally.dropped[why]++;
    server->total[why]++;
}

int32_t server_ready(const struct server *server)
{
    int32_t count = 0;
    for (int32_t i = 0; i < server->network->nodes; i++)
        count += server->seats[i].ready;
    return count;
}

int32_t server_able(const struct server *server)
{
    int32_t count = 0;
    for (int32_t i = 0; i < server->network->nodes; i++)
        count += server->seats[i].ready && server->seats[i].left > 0;
    return count;
}

bool server_is_ended(const struct server *server)
{
    for (int32_t i = 0; i < server->network->nodes; i++) {
        const struct seat *seat = &server->seats[i];
        if (seat->enrolled && (!seat->told || seat->left > 0))
            return false;
    }
    return true;
}

/* -------------------------------------------------------------- troubles -- */

/* Lines that are counted, of which the first few are printed. */
struct lines {
    FILE *out; /* NULL: only counted */
    int count;
};

static void begin(struct lines *lines)
{
    lines->count++;
}

static bool shows(const struct lines *lines)
{
    return lines->out != NULL && lines->count <= LINES;
}

static void add_ending(struct lines *lines, const struct server *server,
                       int32_t node)
{
    const struct pricer_network *network = server->network;
    const struct seat *seat = &server->seats[node];
    if (seat->own_left <= ENDING && seat->own_why < 0) {
        begin(lines);
        if (shows(lines))
            fprintf(lines->out,
                    "node %s: %lld rounds left of its budget towards the "
                    "server\n",
                    node_label(network, node).text, (long long)seat->own_left);
    }
    for (int32_t k = 0; k < seat->ending_count; k++) {
        if (seat->ending[k].left > ENDING)
            continue;
        begin(lines);
        if (shows(lines))
            fprintf(lines->out,
                    "node %s: %lld rounds left of its budget towards %s\n",
                    node_label(network, node).text,
                    (long long)seat->ending[k].left,
                    node_label(network, seat->ending[k].to).text);
    }
}

/* What speaks against a node's word. */
static void add_doubts(struct lines *lines, const struct server *server,
                       int32_t node)
{
    const struct seat *seat = &server->seats[node];
    const struct {
        bool holds;
        const char *text;
    } doubts[] = {
        {seat->behind, "its ledger is behind what it has sent"},
        {seat->beyond, "its ledger is beyond any round that was opened"},
        {seat->twins > 0, "a second node came with its key"},
        {seat->disputes > 0, "it and a neighbour disagree over shares"},
    };
    for (size_t k = 0; k < sizeof doubts / sizeof *doubts; k++) {
        if (!doubts[k].holds)
            continue;
        begin(lines);
        if (shows(lines))
            fprintf(lines->out, "node %s: %s\n",
                    node_label(server->network, node).text, doubts[k].text);
    }
}

bool server_is_enough(const struct server *server)
{
    if (server->done > 0)
        return server_able(server) > 0;
    return server_able(server) >= server->quorum &&
           server_ready(server) >= server->wait;
}

/* The first round has not begun, for longer than nodes need to come. */
static bool is_waiting(const struct server *server, int64_t now)
{
    return server->done == 0 && !server->open && !server->ended &&
           now - server->started > SILENT && !server_is_enough(server);
}

/* What the first round waits for. */
struct waiting {
    char text[160];
};

static struct waiting find_waiting(const struct server *server)
{
    struct waiting found;
    if (server_ready(server) < server->wait)
        snprintf(found.text, sizeof found.text,
                 "%d nodes are ready, the number to wait for is %lld",
                 (int)server_ready(server), (long long)server->wait);
    else
        snprintf(found.text, sizeof found.text,
                 "%d nodes are ready and have something to send, the quorum is "
                 "%lld",
                 (int)server_able(server), (long long)server->quorum);
    return found;
}

int server_troubles(const void *context, FILE *out)
{
    const struct server *server = context;
    struct lines lines = {out, 0};
    int64_t now = daemon_clock();
    long long last = server_last_round(server);
    if (is_waiting(server, now)) {
        begin(&lines);
        if (shows(&lines))
            fprintf(out, "%s\n", find_waiting(server).text);
    }
    if (server->failing != 0) {
        begin(&lines);
        if (shows(&lines))
            fprintf(out,
                    "the study cannot be written or read for %.0f s: rounds "
                    "wait\n",
                    1e-3 * (double)(now - server->failing));
    }
    if (server->ended) {
        begin(&lines);
        if (shows(&lines))
            fputs("no node has anything left to send: no round is opened\n",
                  out);
    }
    if (server->done > 0 && server->contributors < server->quorum) {
        begin(&lines);
        if (shows(&lines))
            fprintf(out,
                    "%d nodes contributed to round %lld, the quorum is "
                    "%lld\n",
                    (int)server->contributors, last, (long long)server->quorum);
    }
    if (server_is_bad(server)) {
        begin(&lines);
        if (shows(&lines)) {
            fprintf(out, "round %lld: ", last);
            server_print_bar(server, out);
            fputc('\n', out);
        }
    }
    for (int32_t i = 0; i < server->network->nodes; i++) {
        const struct seat *seat = &server->seats[i];
        if (!seat->enrolled || now - seat->seen > SILENT)
            continue;
        if (seat->own_why >= 0) {
            begin(&lines);
            if (shows(&lines))
                fprintf(out, "node %s withholds its own part: %s\n",
                        node_label(server->network, i).text,
                        pricer_word(PRICER_WORDS_WITHHELD, seat->own_why));
        }
        add_doubts(&lines, server, i);
        if (seat->told)
            add_ending(&lines, server, i);
    }
    if (out != NULL && lines.count > LINES)
        fprintf(out, "and %d more\n", lines.count - LINES);
    return lines.count;
}

/* ------------------------------------------------------------------- log -- */

static void watch_silence(struct server *server, int64_t now)
{
    int32_t named = 0, more = 0;
    for (int32_t i = 0; i < server->network->nodes; i++) {
        struct seat *seat = &server->seats[i];
        int64_t since = seat->seen > 0 ? seat->seen : server->started;
        bool silent = seat->enrolled && now - since > SILENT;
        if (silent && !seat->missed && named++ < NAMED)
            daemon_say("node %s is silent: does it run, has it the server's "
                       "public key %s, and does a firewall let it through?",
                       node_label(server->network, i).text,
                       server->pair.public_key);
        else if (silent && !seat->missed)
            more++;
        if (!silent && seat->missed)
            daemon_say("node %s is back", node_label(server->network, i).text);
        seat->missed = silent;
    }
    if (more > 0)
        daemon_say("and %d more nodes are silent", (int)more);
}

static void watch_quorum(struct server *server)
{
    bool under = server->done > 0 && server->contributors < server->quorum;
    if (under && !server->under)
        daemon_say("round %lld: %d nodes contributed, the quorum is %lld",
                   (long long)server->past.round, (int)server->contributors,
                   (long long)server->quorum);
    if (!under && server->under)
        daemon_say("round %lld: the quorum is there again",
                   (long long)server->past.round);
    server->under = under;
}

void server_watch(struct server *server, int64_t now)
{
    watch_quorum(server);
    bool ended = !server->open && server_is_ended(server);
    char after[48] =
        ""; /* a server that starts may only know the next number */
    if (server->done > 0)
        snprintf(after, sizeof after, " after round %lld",
                 (long long)server->round);
    if (ended && !server->ended)
        daemon_say("no node has anything left to send%s: their budgets are "
                   "spent, or their trust files refuse; no round is opened%s",
                   after,
                   server->rounds > 0
                       ? ""
                       : " until a new plan or other trust files allow it");
    server->ended = ended;
    if (now < server->watched + GLANCE)
        return;
    server->watched = now;
    watch_silence(server, now);
    if (is_waiting(server, now) && !server->waited)
        daemon_say("still waiting: %s", find_waiting(server).text);
    server->waited = is_waiting(server, now);
}
