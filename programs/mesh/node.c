/*
 * A node of the mesh as a process: from its files to connections, and from what
 * the hub reports and the clock says to rounds.
 */
#include "node.h"
#include "common/program.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------- events -- */

static void take_result(struct mesh_node *node)
{
    const struct announced *said = &node->said.kind[MESH_RESULT];
    struct mesh_result result;
    struct pricer_matrix *matrix = NULL;
    struct pricer_fault fault = {""};
    int64_t dimension = node->plan.dimension;
    if (node->packets == NULL ||
        !mesh_read_result(said->body, said->size, &result) ||
        (result.size != 0 && result.size != 8 * (size_t)dimension))
        return;
    const struct wire_result told = {.round = result.round,
                                     .arrived = result.arrived,
                                     .contributors = result.arrived,
                                     .bar = result.bar,
                                     .estimate = result.estimate,
                                     .size = result.size};
    if (result.arrived == 0 && result.size > 0)
        return; /* announced again, as a reference only */
    if (node->vector.feed != NULL)
        feed_tell_result(node->vector.feed, &told);
    if (node->estimate == NULL || result.size == 0 ||
        pricer_matrix_new(1, dimension, PRICER_FLOAT64, &matrix, &fault) !=
            PRICER_OK)
        return;
    for (int64_t k = 0; k < dimension; k++)
        ((double *)matrix->values)[k] = wire_number(result.estimate, k);
    if (pricer_matrix_write_npy(matrix, node->estimate, &fault) != PRICER_OK)
        daemon_say("%s", fault.text);
    pricer_matrix_free(matrix);
}

static void take_announce(struct mesh_node *node, int32_t from,
                          const void *data, size_t size)
{
    struct mesh_link *link = &node->links.list[from];
    int64_t now = daemon_clock();
    enum mesh_kind kind = MESH_KINDS;
    if (!announce_listens(link->blamed, now))
        return;
    switch (announce_take(&node->said, data, size, &kind)) {
    case ANNOUNCE_NEW:
        break;
    case ANNOUNCE_BAD:
        link->blamed = announce_blame(now);
        daemon_say("node %d has passed on an announcement that the server has "
                   "not signed",
                   (int)link->node);
        return;
    case ANNOUNCE_CONFLICT:
        daemon_say("the server has signed two different announcements with one "
                   "number: its key is used twice, or it lies");
        return;
    default:
        return;
    }
    mesh_links_announce(node, from, kind);
    if (kind == MESH_FLEET)
        mesh_own_use_fleet(node);
    else if (kind == MESH_OPEN)
        mesh_own_open(node);
    else {
        take_result(node);
        if (node->own.lacks) /* OPEN may have come before */
            mesh_own_resume(node);
    }
}

static void take_packets(struct mesh_node *node, int32_t from, const void *data,
                         size_t size)
{
    struct mesh_reader reader;
    struct mesh_packet packet;
    const struct mesh_link *link = &node->links.list[from];
    if (from == 0 || node->packets == NULL) {
        node->dropped[PRICER_DROP_PLAN]++;
        return;
    }
    if (!mesh_reader_begin(&reader, data, size)) {
        node->dropped[PRICER_DROP_MALFORMED]++;
        return;
    }
    const struct emulate_time time = {reader.round, node->plan.repeat,
                                      reader.attempt};
    if (!emulate_up(&node->emulate, &time, link->node, node->number))
        return;
    while (mesh_reader_next(&reader, &packet)) {
        if (packet.node == node->number || packet.hops < 1)
            continue;
        enum packet_news news = packets_take(
            node->packets, from,
            &(struct packet_time){reader.round, reader.attempt}, &packet);
        if ((news == PACKET_NEW || news == PACKET_CLOSER) &&
            reader.round == node->clock.open.round)
            mesh_links_spread(node, packet.node, reader.attempt);
    }
    if (reader.bad)
        node->dropped[PRICER_DROP_MALFORMED]++;
}

/*
 * Claim: a ledger that was put back, or made again, since a release arrived that it
 * does not have releases nothing more once its node has heard the server. Proof: that
 * round is after the last one that the ledger had when the process started, and before
 * the first that it has charged since, as rounds ascend.
 */
static void take_mark(struct mesh_node *node, const void *data, size_t size)
{
    struct mesh_past *past = &node->past;
    int64_t last = 0;
    if (!mesh_read_mark(data, size, &last)) {
        node->dropped[PRICER_DROP_MALFORMED]++;
        return;
    }
    bool first = !past->heard;
    past->heard = true;
    if (last <= past->last || (past->first > 0 && last >= past->first) ||
        past->behind) {
        if (first) /* OPEN may have come before, from a neighbour */
            mesh_own_resume(node);
        return;
    }
    past->behind = true;
    mesh_own_free(&node->own);
    node->next_hello = 0;
    daemon_say("the ledger is behind: it ends at round %lld, and the server "
               "has a release of round %lld; it was put back or made again. "
               "Nothing is released; restore the latest ledger, or go on "
               "without those charges by --ledger-accept %lld",
               (long long)past->last, (long long)last, (long long)last);
}

static void see_opened(void *context, struct hub_peer *peer)
{
    struct mesh_node *node = context;
    int32_t from = mesh_links_find(node, peer);
    if (from < 0)
        return;
    mesh_keys_see(node, from, peer, true);
    if (hub_is_guest(peer))
        node->links.list[from].in = peer;
    node->links.list[from].updated = 0;
    node->links.list[from].direct = false;
    node->next_hello = node->next_greeting = 0;
    mesh_links_restore(node, from);
}

static void see_frame(void *context, struct hub_peer *peer, const void *data,
                      size_t size)
{
    struct mesh_node *node = context;
    struct mesh_hello hello;
    int32_t from = mesh_links_find(node, peer);
    if (from < 0) {
        node->dropped[PRICER_DROP_STRANGER]++;
        return;
    }
    node->links.list[from].received += (int64_t)size;
    switch (mesh_type(data, size)) {
    case MESH_PACKETS:
        take_packets(node, from, data, size);
        break;
    case MESH_ANNOUNCE:
        take_announce(node, from, data, size);
        break;
    case MESH_MARK:
        if (from == 0)
            take_mark(node, data, size);
        break;
    case MESH_HELLO:
        if (mesh_read_hello(data, size, &hello))
            mesh_links_update(node, from, &hello);
        else
            node->dropped[PRICER_DROP_MALFORMED]++;
        break;
    default:
        node->dropped[PRICER_DROP_MALFORMED]++;
    }
}

static void see_ended(void *context, struct hub_peer *peer, enum hub_end why)
{
    struct mesh_node *node = context;
    int32_t from = mesh_links_find(node, peer);
    if (from > 0 && why == HUB_STRANGER)
        mesh_keys_see(node, from, peer, false);
    if (from >= 0 && node->links.list[from].in == peer)
        node->links.list[from].in = NULL;
    if (from == 0)
        node->next_hello = 0; /* neighbours pass on what the server says */
    if (from == 0 && (why == HUB_REFUSED || why == HUB_STRANGER))
        daemon_say("the server does not let this node in: %s",
                   hub_end_text(why));
}

/* ------------------------------------------------------------------ start -- */

static enum pricer_status read_files(void *context, struct pricer_fault *fault)
{
    struct mesh_node *node = context;
    const struct node_files *files = &node->arguments->files;
    enum pricer_status status = keys_read(files->key, &node->pair, fault);
    if (status == PRICER_OK)
        status = keys_public(files->server_key, node->server_key, fault);
    if (status == PRICER_OK)
        status = trust_read(files->trust, &node->trust, fault);
    if (status == PRICER_OK)
        status = neighbours_read(files->neighbours, &node->near, fault);
    if (status == PRICER_OK &&
        !packet_key(&node->pair, true, node->server_key, node->secret))
        status = daemon_fault(fault, PRICER_VALUE,
                              "the server's key cannot be used");
    if (status == PRICER_OK && keys_bytes(node->server_key, node->said.key))
        crypto_generichash(node->study, sizeof node->study, node->said.key,
                           KEYS_SIZE, NULL, 0);
    return status;
}

static enum pricer_status load_emulation(void *context,
                                         struct pricer_fault *fault)
{
    struct mesh_node *node = context;
    const char *path = node->arguments->emulate;
    struct pricer_study *study = NULL;
    struct pricer_network *network = NULL;
    if (path == NULL || node->emulate.network != NULL)
        return PRICER_OK;
    enum pricer_status status = pricer_study_open(path, false, &study, fault);
    if (status == PRICER_OK)
        status = pricer_study_network(study, &network, fault);
    pricer_study_close(study);
    node->emulate.network = network;
    return status;
}

static enum pricer_status open_ledger(void *context, struct pricer_fault *fault)
{
    enum { A_ROUND = 20 };
    struct mesh_node *node = context;
    const struct node_arguments *arguments = node->arguments;
    enum pricer_status status =
        node_open_ledger(arguments->files.ledger, arguments->new_ledger,
                         node->server_key, &node->ledger, fault);
    if (status != PRICER_OK)
        return status;
    status = ledger_use_trust(node->ledger, &node->trust, node->number, fault);
    if (status != PRICER_OK) {
        ledger_close(node->ledger);
        node->ledger = NULL;
        return status;
    }
    node->past.started = daemon_clock();
    node->past.last = ledger_last(node->ledger);
    /* What was announced before the last round that it has charged is old. */
    node->said.floor = ledger_last(node->ledger) << A_ROUND;
    return PRICER_OK;
}

static enum pricer_status open_feed(void *context, struct pricer_fault *fault)
{
    struct mesh_node *node = context;
    const char *path = node->arguments->files.feed;
    return path == NULL ? PRICER_OK
                        : feed_open(path, &node->vector.feed, fault);
}

static enum pricer_status open_hub(void *context, struct pricer_fault *fault)
{
    struct mesh_node *node = context;
    const struct hub_events events = {node, see_opened, see_frame, see_ended};
    enum pricer_status status =
        hub_open(&node->pair, &events, &node->hub, fault);
    return status == PRICER_OK ? mesh_links_open(node, fault) : status;
}

static enum pricer_status listen(void *context, struct pricer_fault *fault)
{
    struct mesh_node *node = context;
    return hub_listen(node->hub, node->listen, fault);
}

static enum pricer_status set_up(struct mesh_node *node,
                                 struct pricer_fault *fault)
{
    const struct node_arguments *arguments = node->arguments;
    const struct daemon_step steps[] = {
        {.take = read_files},
        {.take = load_emulation},
        {open_ledger, "the ledger", arguments->files.ledger,
         arguments->new_ledger, NULL},
        {.take = open_feed, .what = "the feed"},
        {.take = open_hub},
        {.take = listen, .cure = daemon_listen_cure},
    };
    enum pricer_status status = PRICER_OK;
    for (size_t k = 0; k < sizeof steps / sizeof *steps && !status; k++)
        status = daemon_await(&steps[k], node, fault);
    if (status == PRICER_OK && node->replay)
        daemon_say("warning: noise from a seed protects nothing");
    return status;
}

/* ------------------------------------------------------------------- loop -- */

/* Another trust file: the plan is looked at again. */
static void read_again(struct mesh_node *node)
{
    struct trust trust = {0};
    struct pricer_fault fault = {""};
    if (trust_read(node->arguments->files.trust, &trust, &fault) != PRICER_OK) {
        daemon_say("%s; the trust file stays as it was", fault.text);
        return;
    }
    trust_free(&node->trust);
    node->trust = trust;
    bool good = ledger_use_trust(node->ledger, &node->trust, node->number,
                                 &fault) == PRICER_OK;
    memset(node->digest, 0, sizeof node->digest);
    mesh_own_use_fleet(node);
    if (!good) { /* nothing is released until it can be used */
        mesh_own_free(&node->own);
        daemon_say("%s", fault.text);
    }
    daemon_say("the trust file is read again");
}

static void serve_vector(struct mesh_node *node)
{
    while (vector_serve(&node->vector)) {
        if (node->own.waits)
            mesh_own_take_vector(node);
        else
            vector_stop(&node->vector);
        if (node->vector.feed == NULL)
            return;
    }
}

static void loop(struct mesh_node *node)
{
    enum { HELLO = 1000 };
    while (!daemon_stopping()) {
        int64_t now = daemon_clock();
        if (now >= node->next_hello) {
            mesh_links_greet(node, now);
            node->next_hello = now + HELLO;
        }
        mesh_own_tick(node, now);
        mesh_links_flush(node);
        int64_t next = mesh_own_next(node);
        next = next < node->next_hello ? next : node->next_hello;
        int file = vector_file(&node->vector);
        bool ready = hub_wait(node->hub, next > now ? next - now : 0, file);
        if (ready && file == vector_file(&node->vector))
            serve_vector(node);
        mesh_keys_settle(node);
        mesh_links_flush(node);
        if (daemon_hung_up())
            read_again(node);
    }
}

static void tear_down(struct mesh_node *node)
{
    mesh_own_free(&node->own);
    packets_free(node->packets);
    vector_free(&node->vector);
    hub_close(node->hub);
    mesh_links_free(&node->links);
    announce_free(&node->said);
    ledger_close(node->ledger);
    neighbours_free(&node->near);
    trust_free(&node->trust);
    pricer_network_free((struct pricer_network *)node->emulate.network);
    wire_free(&node->bytes);
    keys_wipe(&node->pair);
    sodium_memzero(node->secret, sizeof node->secret);
}

static int64_t count_sent(const struct mesh_node *node)
{
    int64_t sent = 0;
    for (int32_t k = 1; k < node->links.count; k++)
        sent += node->links.list[k].sent;
    return sent;
}

int mesh_node_run(struct node *options, const struct node_arguments *arguments)
{
    struct mesh_node node = {.arguments = arguments,
                             .server_address = options->server_address,
                             .listen = options->listen,
                             .estimate = options->estimate,
                             .number = (int32_t)arguments->number,
                             .vector = options->vector,
                             .emulate = options->emulate,
                             .replay = arguments->replay};
    struct pricer_fault fault = {""};
    node.emulate.seed = (uint64_t)arguments->seed;
    node.vector.estimate = node.estimate;
    if (node.vector.row < 0)
        node.vector.row = node.number;
    enum pricer_status status = set_up(&node, &fault);
    bool well = status == PRICER_OK || status == PRICER_STOPPED;
    if (status == PRICER_OK)
        loop(&node);
    if (well)
        daemon_say(
            "%lld releases made, %lld packets passed on; %lld bytes to "
            "neighbours, %lld to the server",
            (long long)node.rounds, (long long)node.forwarded,
            (long long)count_sent(&node),
            (long long)(node.links.count > 0 ? node.links.list[0].sent : 0));
    else
        daemon_say("%s",
                   fault.text[0] ? fault.text : pricer_status_text(status));
    tear_down(&node);
    return well ? 0 : 1;
}
