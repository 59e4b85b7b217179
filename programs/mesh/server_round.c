/*
 * A round of the mesh at the server, from open to published: announce OPEN, take
 * every node's release once, add them up (server_estimate.c), store the round
 * (server_store.c), announce RESULT (server_announce.c).
 */
#include "server.h"
#include "reach.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- memory -- */

enum pricer_status mesh_round_make(struct mesh_server *server)
{
    struct mesh_round *round = &server->round;
    const struct pricer_network *network = server->counting.network;
    mesh_round_free(server);
    round->arrivals = calloc((size_t)network->nodes, sizeof *round->arrivals);
    round->estimate =
        calloc((size_t)network->dimension, sizeof *round->estimate);
    return round->arrivals != NULL && round->estimate != NULL ? PRICER_OK
                                                              : PRICER_MEMORY;
}

/* Forget what has arrived. */
static void clear(struct mesh_server *server)
{
    struct mesh_round *round = &server->round;
    for (int32_t i = 0; i < server->counting.network->nodes; i++) {
        free(round->arrivals[i].payload);
        round->arrivals[i] = (struct mesh_arrival){.hops = -1};
    }
    for (int32_t i = 0; i < server->members.nodes; i++)
        server->members.list[i].taken = 0;
    round->arrived = round->missing = 0;
    round->packets = round->repeated = round->bytes = 0;
}

void mesh_round_free(struct mesh_server *server)
{
    struct mesh_round *round = &server->round;
    if (round->arrivals != NULL)
        clear(server);
    free(round->arrivals);
    free(round->estimate);
    round->arrivals = NULL;
    round->estimate = NULL;
}

/* ------------------------------------------------------------------ open -- */

static bool is_ready(const struct mesh_server *server,
                     const struct mesh_member *member)
{
    return member->enrolled && member->peer != NULL &&
           member->hello.fleet == server->said.kind[MESH_FLEET].counter;
}

int32_t mesh_count_ready(const struct mesh_server *server)
{
    int32_t ready = 0;
    for (int32_t i = 0; i < server->members.nodes; i++)
        ready += is_ready(server, &server->members.list[i]);
    return ready;
}

/* Whose release can be waited for: whoever has said that it has one to make, over
 * the links of the attempt if they are emulated. */
static void expect(struct mesh_server *server)
{
    struct mesh_round *round = &server->round;
    int32_t nodes = server->members.nodes;
    bool *reached = calloc((size_t)nodes, sizeof *reached);
    const struct emulate_time time = {round->number, server->counting.repeat,
                                      round->attempt};
    round->missing = 0;
    if (reached == NULL)
        return;
    if (server->emulate.network == NULL)
        memset(reached, true, (size_t)nodes);
    else if (reach_emulated(&server->emulate, &time,
                            server->counting.plan->hops, reached) != PRICER_OK)
        memset(reached, false, (size_t)nodes);
    for (int32_t i = 0; i < nodes; i++) {
        const struct mesh_member *member = &server->members.list[i];
        round->arrivals[i].expected = reached[i] && is_ready(server, member) &&
                                      !member->hello.refuses &&
                                      member->hello.left > 0;
        round->missing +=
            round->arrivals[i].expected && !round->arrivals[i].here;
    }
    free(reached);
}

static bool announce_open(struct mesh_server *server, bool pause)
{
    const struct server_times *times = &server->wishes.times;
    bool clock = !pause && !times->early && times->period > 0;
    bool ahead = clock && server->reference.vector == NULL;
    struct mesh_open open = {.counter = mesh_next_counter(server),
                             .round = server->round.number,
                             .attempt = server->round.attempt,
                             .period = clock ? times->period : 0,
                             .ahead = ahead ? times->ahead : 0,
                             .collect = pause ? 0 : times->uplink,
                             .reference = server->round.reference};
    memcpy(open.digest, server->counting.digest, WIRE_DIGEST);
    memcpy(open.reference_digest, server->round.reference_digest, WIRE_DIGEST);
    return mesh_write_open(&server->bytes, &open) && mesh_announce(server);
}

void mesh_round_pause(struct mesh_server *server)
{
    if (server->round.number > 0)
        announce_open(server, true);
}

static void open_attempt(struct mesh_server *server, int64_t now)
{
    server->round.attempt_began = now;
    expect(server);
    announce_open(server, false);
}

/* A node that opened rounds by itself is ahead of us; follow within reason. */
static int64_t find_least(const struct mesh_server *server)
{
    int64_t least = server->wishes.first;
    const struct mesh_round *round = &server->round;
    int64_t base = round->next > round->number ? round->next : round->number;
    int64_t most = base + 1 + server->wishes.times.ahead;
    for (int32_t i = 0; i < server->members.nodes; i++) {
        const struct mesh_member *member = &server->members.list[i];
        if (is_ready(server, member) && member->hello.last + 1 <= most &&
            member->hello.last + 1 > least)
            least = member->hello.last + 1;
    }
    return least;
}

static enum pricer_status open_round(struct mesh_server *server, int64_t now,
                                     struct pricer_fault *fault)
{
    struct mesh_round *round = &server->round;
    if (round->next < find_least(server)) {
        enum pricer_status status = pricer_study_open_round(
            server->study, find_least(server), &round->next, fault);
        if (status != PRICER_OK)
            return status;
    }
    clear(server);
    round->number = round->next;
    round->next = 0;
    round->attempt = 0;
    mesh_reference_open(server);
    round->open = true;
    round->began = now;
    round->next_start = now + server->wishes.times.period;
    open_attempt(server, now);
    return PRICER_OK;
}

/* --------------------------------------------------------------- packets -- */

/* Keep a release whose tag is right. */
static void keep(struct mesh_server *server, const struct mesh_packet *packet,
                 int64_t attempt)
{
    struct mesh_round *round = &server->round;
    struct mesh_arrival *arrival = &round->arrivals[packet->node];
    arrival->payload = malloc(packet->size);
    if (arrival->payload == NULL)
        return;
    memcpy(arrival->payload, packet->payload, packet->size);
    arrival->size = packet->size;
    arrival->hops = packet->hops;
    arrival->attempt = (int32_t)attempt;
    arrival->here = true;
    round->arrived++;
    round->missing -= arrival->expected;
}

/* Whether the node has made this packet for this round. */
static bool is_genuine(const struct mesh_server *server,
                       const struct mesh_packet *packet)
{
    const struct mesh_member *member = &server->members.list[packet->node];
    const struct packet_fields fields = {.study = server->members.study,
                                         .plan = server->counting.digest,
                                         .reference = server->round.reference,
                                         .node = packet->node,
                                         .round = server->round.number,
                                         .kind = (uint8_t)packet->kind,
                                         .payload = packet->payload,
                                         .size = packet->size};
    for (int32_t k = 0; k < member->secrets; k++)
        if (packet_check(member->secret[k], &fields, packet->tag))
            return true;
    return false;
}

/* A node makes one release a round; two that are genuine come from two ledgers. */
static void see_twin(struct mesh_server *server,
                     const struct mesh_packet *packet)
{
    const struct mesh_arrival *arrival = &server->round.arrivals[packet->node];
    if ((packet->size == arrival->size &&
         memcmp(packet->payload, arrival->payload, packet->size) == 0) ||
        !is_genuine(server, packet))
        return;
    server->twins++;
    daemon_say("node %s has made two different releases of round %lld: was its "
               "ledger put back, or is its key on two machines?",
               node_label(server->counting.network, packet->node).text,
               (long long)server->round.number);
}

static void take_packet(struct mesh_server *server,
                        const struct mesh_packet *packet, int64_t attempt)
{
    struct mesh_round *round = &server->round;
    if (packet->node >= server->members.nodes ||
        !server->members.list[packet->node].enrolled) {
        mesh_drop(server, PRICER_DROP_STRANGER);
        return;
    }
    struct mesh_arrival *arrival = &round->arrivals[packet->node];
    if (arrival->here) {
        see_twin(server, packet);
        round->repeated++;
        server->repeated++;
        if (attempt < arrival->attempt ||
            (attempt == arrival->attempt && packet->hops < arrival->hops)) {
            arrival->attempt = (int32_t)attempt;
            arrival->hops = packet->hops;
        }
        return;
    }
    int64_t size = pricer_forward_payload(
        server->counting.plan->node[packet->node].release,
        server->counting.network->dimension);
    if (packet->size != (size_t)size)
        mesh_drop(server, PRICER_DROP_LENGTH);
    else if (!is_genuine(server, packet))
        mesh_drop(server, PRICER_DROP_PLAN);
    else if (!round->open)
        mesh_drop(server, PRICER_DROP_LATE);
    else
        keep(server, packet, attempt);
}

/* Whether a batch can be of the round that is open; else it is counted. */
static bool is_current(struct mesh_server *server, int32_t from,
                       const struct mesh_reader *reader)
{
    const struct mesh_round *round = &server->round;
    const struct emulate_time time = {round->number, server->counting.repeat,
                                      reader->attempt};
    if (reader->round != round->number)
        mesh_drop(server, reader->round < round->number ? PRICER_DROP_LATE
                                                        : PRICER_DROP_ROUND);
    else if (reader->attempt > round->attempt)
        mesh_drop(server, PRICER_DROP_ROUND);
    else
        return emulate_up(&server->emulate, &time, from, PRICER_SERVER);
    return false;
}

void mesh_round_take(struct mesh_server *server, int32_t from, const void *data,
                     size_t size)
{
    struct mesh_round *round = &server->round;
    struct mesh_reader reader;
    struct mesh_packet packet;
    if (!mesh_reader_begin(&reader, data, size)) {
        mesh_drop(server, PRICER_DROP_MALFORMED);
        return;
    }
    struct mesh_member *member = &server->members.list[from];
    const int64_t most = server->members.nodes *
                         (server->counting.plan->hops + INT64_C(3)) *
                         server->counting.repeat;
    if (member->taken > most) {
        mesh_drop(server, PRICER_DROP_REPEATED);
        return;
    }
    if (!is_current(server, from, &reader))
        return;
    while (mesh_reader_next(&reader, &packet)) {
        round->packets++;
        server->packets++;
        member->packets++;
        member->taken++;
        take_packet(server, &packet, reader.attempt);
    }
    round->bytes += (int64_t)size;
    if (reader.bad)
        mesh_drop(server, PRICER_DROP_MALFORMED);
}

/* ----------------------------------------------------------------- close -- */

static int64_t count_more(const struct mesh_server *server)
{
    int64_t begun = server->done + (server->round.open || server->round.closed);
    return daemon_stopping()           ? 0
           : server->wishes.rounds > 0 ? server->wishes.rounds - begun
                                       : INT64_MAX;
}

/* The round is over: add up what arrived, a part in each turn of the loop, and
 * store it, or try again when the study can be written. */
static enum pricer_status close_round(struct mesh_server *server,
                                      struct pricer_fault *fault)
{
    struct mesh_round *round = &server->round;
    if (round->open) {
        round->open = false;
        round->closed = true;
        mesh_estimate_begin(server);
    }
    if (!mesh_estimate_step(server))
        return PRICER_OK;
    bool noted = round->next > 0 || count_more(server) <= 0;
    enum pricer_status status = mesh_store(server, find_least(server),
                                           noted ? NULL : &round->next, fault);
    if (status != PRICER_OK)
        return status;
    round->closed = false;
    server->done++;
    server->estimates += round->arrived > 0;
    round->silent = round->arrived > 0 ? 0 : round->silent + 1;
    mesh_history_note(server);
    mesh_drift_note(server);
    mesh_reference_keep(server);
    memset(round->dropped, 0, sizeof round->dropped);
    mesh_publish(server);
    if (server->done % 64 == 0)
        pricer_study_prune(server->study, server->wishes.keep, NULL);
    return PRICER_OK;
}

/* ------------------------------------------------------------------ time -- */

/* Milliseconds between two looks whether a round can be opened: each goes through
 * all members. */
enum { LOOK = 10 };

static bool is_attempt_over(const struct mesh_server *server, int64_t now)
{
    const struct server_times *times = &server->wishes.times;
    const struct mesh_round *round = &server->round;
    return now >= round->attempt_began + times->uplink ||
           (times->early && round->missing == 0);
}

/*
 * Nobody has anything left to release: everyone who is connected says so, and of the
 * others nothing was heard for some rounds.
 */
static bool is_spent(const struct mesh_server *server)
{
    enum { SILENT = 10 };
    int32_t ready = 0;
    for (int32_t i = 0; i < server->members.nodes; i++) {
        const struct mesh_member *member = &server->members.list[i];
        if (!is_ready(server, member))
            continue;
        ready++;
        if (!member->hello.refuses && member->hello.left > 0)
            return false;
    }
    return ready > 0 &&
           (ready == server->members.count || server->round.silent >= SILENT);
}

/* The quorum is of nodes that arrive; how many will is seen in rounds alone, since
 * most may have no connection of their own. */
static bool is_due(const struct mesh_server *server, int64_t now)
{
    int64_t wait =
        server->done == 0 && server->wishes.wait > 1 ? server->wishes.wait : 1;
    return count_more(server) > 0 && now >= server->round.next_start &&
           mesh_count_ready(server) >= wait && !is_spent(server);
}

enum pricer_status mesh_round_tick(struct mesh_server *server, int64_t now,
                                   struct pricer_fault *fault)
{
    struct mesh_round *round = &server->round;
    if (now < server->failed_until)
        return PRICER_OK;
    if (round->open && is_attempt_over(server, now) &&
        round->attempt + 1 < server->counting.repeat) {
        round->attempt++;
        open_attempt(server, now);
        return PRICER_OK;
    }
    if ((round->open && is_attempt_over(server, now)) || round->closed) {
        enum pricer_status status = close_round(server, fault);
        if (status != PRICER_OK)
            return status;
    }
    if (round->open || round->closed || now < round->look)
        return PRICER_OK;
    bool spent = is_spent(server);
    if (spent && !server->paused) {
        daemon_say("no node has anything left to release: no round is opened");
        mesh_round_pause(server);
    }
    server->paused = spent;
    if (is_due(server, now))
        return open_round(server, now, fault);
    if (now >= round->next_start)
        round->look = now + LOOK;
    return PRICER_OK;
}

int64_t mesh_round_next(const struct mesh_server *server)
{
    const struct mesh_round *round = &server->round;
    if (server->failing != 0)
        return server->failed_until;
    if (round->closed)
        return 0; /* there is more to add */
    if (round->open)
        return round->attempt_began + server->wishes.times.uplink;
    if (count_more(server) <= 0)
        return INT64_MAX;
    return round->next_start > round->look ? round->next_start : round->look;
}
