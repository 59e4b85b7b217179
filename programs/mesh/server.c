/*
 * The server of a mesh as a process: from its files to connections, and from what
 * the hub reports and the clock says to rounds.
 */
#include "server.h"
#include "common/program.h"
#include "fleet/server_start.h"
#include "fleet/status_page.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ----------------------------------------------------------------- events -- */

static struct mesh_member *find_member(struct mesh_server *server,
                                       const struct hub_peer *peer)
{
    int32_t node = hub_number(peer);
    return node >= 0 && node < server->members.nodes &&
                   server->members.list[node].enrolled
               ? &server->members.list[node]
               : NULL;
}

/* The last round that there is a release of the node from, counted or not. */
static int64_t find_last(const struct mesh_server *server,
                         const struct mesh_member *member)
{
    const struct mesh_round *round = &server->round;
    bool here = round->arrivals[member - server->members.list].here;
    return here && round->number > member->heard ? round->number
                                                 : member->heard;
}

/* What it does not have yet is sent; the first that asks for estimates makes all
 * announcements of rounds carry them. */
static void take_hello(struct mesh_server *server, struct mesh_member *member,
                       const void *data, size_t size)
{
    enum { AGAIN = 500 }; /* milliseconds: what is sent may be long */
    struct mesh_hello hello;
    if (!mesh_read_hello(data, size, &hello)) {
        mesh_drop(server, PRICER_DROP_MALFORMED);
        return;
    }
    member->hello = hello;
    if (!member->marked &&
        mesh_write_mark(&server->bytes, find_last(server, member)))
        member->marked =
            hub_send(member->peer, server->bytes.data, server->bytes.size);
    if (hello.results && !server->results) {
        server->results = true;
        mesh_announce_fleet(server);
    }
    int64_t now = daemon_clock();
    if (now < member->updated + AGAIN)
        return;
    const int64_t has[MESH_KINDS] = {0, hello.fleet, hello.open, hello.result};
    for (enum mesh_kind kind = MESH_FLEET; kind < MESH_KINDS; kind++)
        if (has[kind] < server->said.kind[kind].counter) {
            mesh_announce_to(server, member->peer, kind);
            member->updated = now;
        }
}

static void see_opened(void *context, struct hub_peer *peer)
{
    struct mesh_server *server = context;
    struct mesh_member *member = find_member(server, peer);
    if (member == NULL)
        return;
    if (hub_is_open(member->peer) && member->peer != peer)
        hub_forget(member->peer);
    member->peer = peer;
    member->hello = (struct mesh_hello){0};
    member->updated = 0;
    member->marked = false;
}

static void see_frame(void *context, struct hub_peer *peer, const void *data,
                      size_t size)
{
    struct mesh_server *server = context;
    struct mesh_member *member = find_member(server, peer);
    server->received += (int64_t)size;
    if (member == NULL) {
        mesh_drop(server, PRICER_DROP_STRANGER);
        return;
    }
    member->peer = peer;
    member->bytes += (int64_t)size;
    switch (mesh_type(data, size)) {
    case MESH_PACKETS:
        mesh_round_take(server, hub_number(peer), data, size);
        break;
    case MESH_HELLO:
        take_hello(server, member, data, size);
        break;
    default:
        mesh_drop(server, PRICER_DROP_MALFORMED);
    }
}

static void see_ended(void *context, struct hub_peer *peer, enum hub_end why)
{
    struct mesh_server *server = context;
    struct mesh_member *member = find_member(server, peer);
    if (member != NULL && member->peer == peer)
        member->peer = NULL;
    if (why == HUB_STRANGER || why == HUB_REFUSED || why == HUB_BROKEN)
        mesh_drop(server, PRICER_DROP_REFUSED);
}

/* ------------------------------------------------------------------ study -- */

/* The times of a round with so many attempts. */
static enum pricer_status share_period(const struct mesh_server *server,
                                       int64_t attempts,
                                       struct server_times *times,
                                       struct pricer_fault *fault)
{
    *times = server->arguments->times;
    server_fill_times(times, attempts);
    if (times->early || times->period >= attempts * times->uplink)
        return PRICER_OK;
    return daemon_fault(fault, PRICER_VALUE,
                        "--period must not be shorter than %d times --uplink: "
                        "a round has so many attempts",
                        (int)attempts);
}

/* Another plan: all that depends on it is made again. One that cannot be run
 * leaves the one before in use. */
static enum pricer_status use_plan(struct mesh_server *server,
                                   struct pricer_fault *fault)
{
    int32_t before = server->members.nodes;
    struct mesh_counting made = {0};
    struct server_times times;
    enum pricer_status status = mesh_counting_load(
        &made, server->study, server->arguments->threads, fault);
    if (status == PRICER_OK)
        status = share_period(server, made.repeat, &times, fault);
    if (status != PRICER_OK) {
        mesh_counting_free(&made);
        return status;
    }
    mesh_counting_free(&server->counting);
    server->counting = made;
    server->wishes.times = times;
    hub_limit(server->hub, (int64_t)made.longest + MESH_BATCH + WIRE_SLACK);
    status = mesh_round_make(server);
    mesh_drift_forget(&server->members);
    mesh_history_forget(&server->members);
    if (status != PRICER_OK || before == server->counting.network->nodes)
        return status;
    server->members.nodes = server->counting.network->nodes;
    server->members.list =
        calloc((size_t)server->members.nodes, sizeof *server->members.list);
    return server->members.list != NULL ? PRICER_OK : PRICER_MEMORY;
}

/* Whether another program has changed the study, and what follows. */
static void refresh(struct mesh_server *server, int64_t now, bool asked)
{
    enum { AGAIN = 200 };
    int64_t stamp = server->members.stamp, plan = 0;
    bool changed = false;
    struct pricer_fault fault = {""};
    if (!asked && now < server->looked + AGAIN)
        return;
    server->looked = now;
    if (pricer_study_stamp(server->study, &stamp, NULL) != PRICER_OK ||
        (stamp == server->members.stamp && !asked))
        return;
    bool idle = !server->round.open && !server->round.closed;
    if (!idle) /* between rounds */
        return;
    enum pricer_status status =
        mesh_counting_latest(server->study, &plan, &fault);
    if (status == PRICER_OK && plan != server->counting.id) {
        status = use_plan(server, &fault);
        changed = status == PRICER_OK;
        if (status == PRICER_VALUE) { /* who is enrolled does not wait for it */
            daemon_say("plan %lld cannot be run: %s", (long long)plan,
                       fault.text);
            status = PRICER_OK;
        }
    }
    bool others = false;
    if (status == PRICER_OK)
        status = mesh_members_load(&server->members, server->study, server->hub,
                                   &server->pair, &others, &fault);
    if (status != PRICER_OK)
        daemon_say("the study has changed and cannot be read: %s", fault.text);
    if (changed || others)
        mesh_announce_fleet(server);
}

/* Between rounds, now and then; what is lost in a crash is heard again. */
static void save_members(struct mesh_server *server, int64_t now)
{
    enum { AGAIN = 5000 };
    if (server->round.open || server->round.closed ||
        now < server->saved + AGAIN)
        return;
    server->saved = now;
    mesh_members_save(&server->members, server->study, NULL);
}

/*
 * A study that cannot be written or read is no reason to stop: the round that could
 * not be stored waits, and none is opened, so nobody charges anything.
 */
static enum pricer_status bear(struct mesh_server *server,
                               enum pricer_status status,
                               const struct pricer_fault *fault)
{
    enum { LATER = 250, SAY = 10000 };
    int64_t now = daemon_clock();
    if (status == PRICER_OK && now >= server->failed_until) {
        if (server->failing != 0)
            daemon_say("the study can be used again after %.1f s",
                       1e-3 * (double)(now - server->failing));
        server->failing = server->failure_said = 0;
    }
    if (status == PRICER_OK)
        return PRICER_OK;
    if (server->failing == 0) {
        server->failing = now;
        mesh_round_pause(server);
    }
    server->failed_until = now + LATER;
    if (now >= server->failure_said + SAY || server->failure_said == 0) {
        server->failure_said = now;
        daemon_say("%s; rounds wait, trying again",
                   fault->text[0] ? fault->text : pricer_status_text(status));
    }
    return daemon_stopping() ? status : PRICER_OK;
}

/* ------------------------------------------------------------------ start -- */

static enum pricer_status open_hub(void *context, struct pricer_fault *fault)
{
    struct mesh_server *server = context;
    const struct hub_events events = {server, see_opened, see_frame, see_ended};
    enum pricer_status status =
        keys_read(server->arguments->key, &server->pair, fault);
    if (status == PRICER_OK)
        status = hub_open(&server->pair, &events, &server->hub, fault);
    return status;
}

static enum pricer_status check_key(const struct mesh_server *server,
                                    struct pricer_fault *fault)
{
    struct pricer_member *members = NULL;
    int32_t count = 0;
    enum pricer_status status =
        pricer_study_members(server->study, &members, &count, fault);
    if (status != PRICER_OK)
        return status;
    bool enrolled = count > 0 && members[0].node == PRICER_SERVER &&
                    strcmp(members[0].key, server->pair.public_key) == 0;
    pricer_members_free(members);
    return enrolled ? PRICER_OK
                    : daemon_fault(fault, PRICER_VALUE,
                                   "this key is not enrolled as the server's "
                                   "in the study");
}

/* The study, claimed; plan, members, and the number of the first round, by which
 * counters are above those of all announcements before. */
static enum pricer_status read_study(void *context, struct pricer_fault *fault)
{
    struct mesh_server *server = context;
    bool changed = false;
    enum pricer_status status = PRICER_OK;
    if (server->study == NULL)
        status =
            pricer_study_open(server->wishes.path, true, &server->study, fault);
    if (status == PRICER_OK) {
        status = pricer_study_claim(server->study, fault);
        if (status == PRICER_BUSY) /* a server that runs, which does not pass */
            status = PRICER_VALUE;
    }
    if (status == PRICER_OK)
        status = check_key(server, fault);
    if (status == PRICER_OK)
        status = use_plan(server, fault);
    if (status == PRICER_OK)
        status = mesh_reference_load(server, fault);
    if (status == PRICER_OK)
        status = mesh_members_load(&server->members, server->study, server->hub,
                                   &server->pair, &changed, fault);
    if (status == PRICER_OK && server->round.next == 0)
        status = pricer_study_open_round(server->study, server->wishes.first,
                                         &server->round.next, fault);
    return status;
}

static enum pricer_status load_emulation(struct mesh_server *server,
                                         struct pricer_fault *fault)
{
    struct pricer_network *network = NULL;
    if (!server->arguments->emulate)
        return PRICER_OK;
    enum pricer_status status =
        pricer_study_network(server->study, &network, fault);
    server->emulate = (struct emulate){
        network, (uint64_t)server->arguments->seed, server->arguments->after};
    return status;
}

static enum pricer_status load_truth(struct mesh_server *server,
                                     struct pricer_fault *fault)
{
    struct pricer_matrix *matrix = NULL;
    const char *path = server->arguments->truth;
    if (path == NULL)
        return PRICER_OK;
    enum pricer_status status = pricer_matrix_read(path, &matrix, fault);
    if (status == PRICER_OK &&
        matrix->columns != server->counting.network->dimension)
        status = daemon_fault(fault, PRICER_VALUE,
                              "%.300s: not of the study's dimension", path);
    if (status == PRICER_OK) {
        server->truth = calloc((size_t)matrix->columns, sizeof *server->truth);
        if (server->truth == NULL)
            status = PRICER_MEMORY;
        else
            pricer_matrix_row(matrix, 0, server->truth);
    }
    pricer_matrix_free(matrix);
    return status;
}

static enum pricer_status listen(void *context, struct pricer_fault *fault)
{
    struct mesh_server *server = context;
    struct pricer_member *members = NULL;
    int32_t count = 0;
    enum pricer_status status =
        pricer_study_members(server->study, &members, &count, fault);
    if (status != PRICER_OK)
        return status;
    const char *asked = server->arguments->listen;
    hub_share(server->hub,
              server_find_threads(server->arguments->threads,
                                  (int64_t)server->counting.longest / 8));
    status = hub_listen(server->hub, asked != NULL ? asked : members[0].address,
                        fault);
    if (status == PRICER_OK)
        daemon_say("listening at %s: %d of %d nodes enrolled, plan %lld, up to "
                   "%d hops",
                   asked != NULL ? asked : members[0].address,
                   (int)server->members.count, (int)server->members.nodes,
                   (long long)server->counting.id,
                   (int)server->counting.plan->hops);
    pricer_members_free(members);
    return status;
}

static enum pricer_status check_counts(const struct mesh_server *server,
                                       struct pricer_fault *fault)
{
    const struct mesh_wishes *wishes = &server->wishes;
    int64_t most =
        wishes->quorum > wishes->wait ? wishes->quorum : wishes->wait;
    if (most <= server->members.count)
        return PRICER_OK;
    return daemon_fault(fault, PRICER_VALUE,
                        "--quorum or --wait is %lld, and only %d nodes are "
                        "enrolled",
                        (long long)most, (int)server->members.count);
}

static enum pricer_status set_up(struct mesh_server *server,
                                 struct status_page **page,
                                 struct pricer_fault *fault)
{
    const struct server_arguments *arguments = server->arguments;
    const struct daemon_step keys = {.take = open_hub},
                             study = {.take = read_study,
                                      .what = "the study",
                                      .path = server->wishes.path},
                             opens = {.take = listen,
                                      .cure = daemon_listen_cure};
    const struct status_source source = {
        server, mesh_status_page, mesh_status_metrics, mesh_status_troubles};
    enum pricer_status status = daemon_await(&keys, server, fault);
    if (status == PRICER_OK &&
        keys_bytes(server->pair.public_key, server->said.key))
        crypto_generichash(server->members.study, PACKET_DIGEST,
                           server->said.key, KEYS_SIZE, NULL, 0);
    if (status == PRICER_OK)
        status = daemon_await(&study, server, fault);
    if (status == PRICER_OK)
        status = check_counts(server, fault);
    if (status == PRICER_OK)
        status = load_emulation(server, fault);
    if (status == PRICER_OK)
        status = load_truth(server, fault);
    if (status == PRICER_OK && !mesh_announce_fleet(server))
        status = PRICER_MEMORY;
    if (status == PRICER_OK)
        status = daemon_await(&opens, server, fault);
    if (status == PRICER_OK && arguments->port > 0)
        status = status_page_open(&source, arguments->status_address,
                                  arguments->port, page, fault);
    return status;
}

/* ------------------------------------------------------------------- loop -- */

static void loop(struct mesh_server *server, struct status_page *page,
                 enum pricer_status *status, struct pricer_fault *fault)
{
    enum { GLANCE = 200 };
    while (*status == PRICER_OK) {
        bool busy = server->round.open || server->round.closed;
        bool over =
            server->wishes.rounds > 0 && server->done >= server->wishes.rounds;
        if ((!busy && (over || daemon_stopping())) || daemon_stopping() > 1)
            return;
        int64_t now = daemon_clock(), next = mesh_round_next(server);
        next = next < now + GLANCE ? next : now + GLANCE;
        hub_wait(server->hub, next > now ? next - now : 0,
                 page != NULL ? status_page_file(page) : -1);
        refresh(server, daemon_clock(), daemon_hung_up());
        save_members(server, daemon_clock());
        if (page != NULL)
            status_page_serve(page);
        *status =
            bear(server, mesh_round_tick(server, daemon_clock(), fault), fault);
    }
}

static void tear_down(struct mesh_server *server, struct status_page *page)
{
    status_page_close(page);
    if (server->done > 0) {
        mesh_round_pause(server);
        mesh_members_save(&server->members, server->study, NULL);
    }
    hub_close(server->hub);
    mesh_round_free(server);
    pricer_network_free((struct pricer_network *)server->emulate.network);
    mesh_counting_free(&server->counting);
    mesh_members_free(&server->members);
    announce_free(&server->said);
    wire_free(&server->bytes);
    free(server->truth);
    free(server->reference.vector);
    pricer_study_close(server->study);
    keys_wipe(&server->pair);
}

int mesh_server_run(const struct mesh_wishes *wishes,
                    const struct server_arguments *arguments)
{
    struct mesh_server server = {.wishes = *wishes, .arguments = arguments};
    struct status_page *page = NULL;
    struct pricer_fault fault = {""};
    server.started = daemon_clock();
    enum pricer_status status = set_up(&server, &page, &fault);
    if (status == PRICER_OK)
        loop(&server, page, &status, &fault);
    bool well = status == PRICER_OK || status == PRICER_STOPPED;
    if (!well)
        daemon_say("%s",
                   fault.text[0] ? fault.text : pricer_status_text(status));
    else
        daemon_say("%lld rounds done, %lld of them with an estimate",
                   (long long)server.done, (long long)server.estimates);
    tear_down(&server, page);
    return well ? 0 : 1;
}
