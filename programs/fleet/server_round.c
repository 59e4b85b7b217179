/*
 * The server's rounds: from messages that arrive in time to an estimate that is
 * stored and published. Everything else is counted and dropped.
 */
#include "server.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void server_drop(struct server *server, enum pricer_drop why)
{
    server->dropped[why]++;
    server->total[why]++;
}

/* To one node; what it has no room for is lost. */
static void send_to(struct server *server, const struct seat *seat)
{
    if (seat->routing.size == 0)
        return;
    if (zmq_send(server->router, seat->routing.bytes, seat->routing.size,
                 ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        zmq_send(server->router, server->bytes.data, server->bytes.size,
                 ZMQ_DONTWAIT);
}

int32_t server_ready(const struct server *server)
{
    int32_t count = 0;
    for (int32_t i = 0; i < server->network->nodes; i++)
        count += server->seats[i].ready;
    return count;
}

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
    seat->last = hello.last;
    seat->left = hello.left;
    seat->results = hello.results;
    seat->ready = hello.digest != NULL &&
                  memcmp(hello.digest, seat->digest, WIRE_DIGEST) == 0;
    if (seat->ready || now < seat->sliced + 1000)
        return;
    if (server_write_slice(server, node)) {
        send_to(server, seat);
        seat->sliced = now;
    }
}

static void take_refusal(struct server *server, int32_t node, const void *data,
                         size_t size)
{
    struct seat *seat = &server->seats[node];
    struct wire_refusal refusal;
    if (!wire_read_refusal(data, size, &refusal)) {
        server_drop(server, PRICER_DROP_MALFORMED);
        return;
    }
    seat->refusals++;
    bool new = strcmp(seat->refusal, refusal.text) != 0;
    strcpy(seat->refusal, refusal.text);
    for (char *at = seat->refusal; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?'; /* it goes to a terminal and a page */
    if (new)
        daemon_say("node %d refuses (code %lld): %s", (int)node,
                   (long long)refusal.code, seat->refusal);
    if (server->open && refusal.round == server->round &&
        (refusal.code == WIRE_CODE_ROUND || refusal.code == WIRE_CODE_LEDGER))
        seat->answered = true;
}

/* ------------------------------------------------------------------- sum -- */

/* The largest value that the parts named by `arrived` can add up to, and how
 * many they are; -1 if the bits do not fit the slice. */
static int64_t find_most(const struct server *server, int32_t node,
                         const struct wire_sum *sum, int32_t *parts)
{
    const struct pricer_network *network = server->network;
    int32_t bit = 0;
    int64_t most = 0;
    *parts = 0;
    if (sum->arrived_size < 1)
        return -1;
    if (wire_arrived_bit(sum->arrived, bit++)) {
        most += server->own_limits[node];
        ++*parts;
    }
    for (int32_t k = network->in_start[node]; k < network->in_start[node + 1];
         k++) {
        int32_t l = network->in_link[k];
        bool used = (server->limits[l] > 0 || server->probe) &&
                    server->seats[network->from[l]].enrolled;
        if (!used)
            continue;
        if (sum->arrived_size < wire_arrived_size(bit))
            return -1;
        if (wire_arrived_bit(sum->arrived, bit++)) {
            most += server->limits[l];
            ++*parts;
        }
    }
    if (sum->arrived_size != wire_arrived_size(bit - 1))
        return -1;
    for (; bit < 8 * (int32_t)sum->arrived_size; bit++)
        if (wire_arrived_bit(sum->arrived, bit))
            return -1;
    return most;
}

/* What the sum says about the links into its node. */
static void note_links(struct server *server, int32_t node,
                       const struct wire_sum *sum)
{
    const struct pricer_network *network = server->network;
    int32_t bit = 1;
    for (int32_t k = network->in_start[node]; k < network->in_start[node + 1];
         k++) {
        int32_t l = network->in_link[k];
        if ((server->limits[l] > 0 || server->probe) &&
            server->seats[network->from[l]].enrolled)
            server->link[l] = wire_arrived_bit(sum->arrived, bit++);
    }
}

/* A sum that is for this round, in time and of the right length. */
static void add_sum(struct server *server, int32_t node,
                    const struct wire_sum *sum)
{
    struct seat *seat = &server->seats[node];
    int64_t dimension = server->network->dimension;
    int32_t parts;
    int64_t most = find_most(server, node, sum, &parts);
    if (most < 0) {
        server_drop(server, PRICER_DROP_MALFORMED);
        return;
    }
    for (int64_t k = 0; k < dimension; k++) {
        int64_t value = wire_integer(sum->values, k);
        server->scratch[k] = value;
        if (value > most || value < -most) {
            server_drop(server, PRICER_DROP_RANGE);
            return;
        }
    }
    seat->answered = true;
    if (!emulate_up(&server->emulate, server->round, node, PRICER_SERVER))
        return;
    if (pricer_round_add(&server->grid, parts > 0 ? parts : 1, server->scratch,
                         dimension, server->sum, NULL) != PRICER_OK) {
        server_drop(server, PRICER_DROP_RANGE);
        return;
    }
    server->uplink[node] = 1;
    note_links(server, node, sum);
}

static void take_sum(struct server *server, int32_t node, const void *data,
                     size_t size)
{
    struct wire_sum sum;
    if (!wire_read_sum(data, size, &sum))
        server_drop(server, PRICER_DROP_MALFORMED);
    else if (sum.size != 8 * (size_t)server->network->dimension)
        server_drop(server, PRICER_DROP_LENGTH);
    else if (!server->open && sum.round == server->round)
        server_drop(server, PRICER_DROP_LATE);
    else if (!server->open || sum.round != server->round)
        server_drop(server, PRICER_DROP_ROUND);
    else if (daemon_clock() >= server->start + server->times.uplink)
        server_drop(server, PRICER_DROP_LATE);
    else if (server->seats[node].answered)
        server_drop(server, PRICER_DROP_REPEATED);
    else
        add_sum(server, node, &sum);
}

static void take(struct server *server, int32_t node,
                 const struct net_routing *routing, const void *data,
                 size_t size)
{
    struct seat *seat = &server->seats[node];
    seat->routing = *routing;
    seat->seen = daemon_clock();
    switch (wire_type(data, size)) {
    case WIRE_HELLO:
        take_hello(server, node, data, size);
        break;
    case WIRE_SUM:
        take_sum(server, node, data, size);
        break;
    case WIRE_REFUSAL:
        take_refusal(server, node, data, size);
        break;
    default:
        server_drop(server, PRICER_DROP_MALFORMED);
    }
}

void server_read(struct server *server)
{
    enum { BATCH = 64 };
    struct net_routing routing;
    zmq_msg_t frame;
    int32_t sender = -1;
    for (int k = 0; k < BATCH; k++) {
        enum net_got got = net_receive(server->router, &server->gate, &routing,
                                       &frame, &sender);
        if (got == NET_NOTHING)
            return;
        server->messages++;
        if (got == NET_MALFORMED) {
            server_drop(server, PRICER_DROP_MALFORMED);
            continue;
        }
        server->bytes_received += (int64_t)zmq_msg_size(&frame);
        if (sender < 0)
            server_drop(server, PRICER_DROP_STRANGER);
        else
            take(server, sender, &routing, zmq_msg_data(&frame),
                 zmq_msg_size(&frame));
        zmq_msg_close(&frame);
    }
}

/* ----------------------------------------------------------------- round -- */

static void open_round(struct server *server, int64_t now)
{
    const struct server_times *times = &server->times;
    struct wire_open open = {
        .plan = server->plan_id,
        .round = server->round,
        .period = times->early ? 0 : times->period,
        .ahead = times->early || times->period == 0 ? 0 : times->ahead,
        .send = times->send,
        .share = times->share,
        .uplink = times->uplink,
        .early = times->early,
    };
    memset(server->sum, 0, 8 * (size_t)server->network->dimension);
    memset(server->link, -1, (size_t)server->network->links);
    wire_write_open(&server->bytes, &open);
    server->open = true;
    server->start = now;
    server->next_start = now + times->period;
    for (int32_t i = 0; i < server->network->nodes; i++) {
        struct seat *seat = &server->seats[i];
        server->uplink[i] = seat->enrolled ? 0 : -1;
        seat->answered = false;
        seat->asked = seat->ready;
        if (seat->ready)
            send_to(server, seat);
    }
}

static bool all_answered(const struct server *server)
{
    for (int32_t i = 0; i < server->network->nodes; i++)
        if (server->seats[i].asked && !server->seats[i].answered)
            return false;
    return true;
}

static void measure_error(struct server *server)
{
    server->error = NAN;
    if (server->truth == NULL)
        return;
    server->error = 0;
    for (int64_t k = 0; k < server->network->dimension; k++) {
        double off = server->estimate[k] - server->truth[k];
        server->error += off * off;
    }
}

static void publish(struct server *server)
{
    bool written = false;
    for (int32_t i = 0; i < server->network->nodes; i++) {
        if (!server->seats[i].results || !server->seats[i].ready)
            continue;
        if (!written)
            written = wire_write_result(&server->bytes, server->round,
                                        server->arrived, server->estimate,
                                        server->network->dimension);
        if (written)
            send_to(server, &server->seats[i]);
    }
}

/* A node that opened rounds by itself is ahead of us; follow within reason. */
static int64_t find_least(const struct server *server)
{
    int64_t least = server->first;
    int64_t most = server->round + 1 + server->times.ahead;
    for (int32_t i = 0; i < server->network->nodes; i++)
        if (server->seats[i].ready && server->seats[i].last + 1 <= most &&
            server->seats[i].last + 1 > least)
            least = server->seats[i].last + 1;
    return least;
}

/* If the study is busy the round stays open, too late for messages, and is
 * stored when it can be. */
static enum pricer_status close_round(struct server *server,
                                      struct pricer_fault *fault)
{
    struct pricer_round_record record = {
        .round = server->round,
        .plan = server->plan_id,
        .nodes = server->network->nodes,
        .links = server->network->links,
        .dimension = server->network->dimension,
        .uplink = server->uplink,
        .link = server->link,
        .estimate = server->estimate,
    };
    pricer_round_estimate(&server->grid, server->network->nodes, server->sum,
                          server->network->dimension, server->estimate);
    measure_error(server);
    server->arrived = 0;
    for (int32_t i = 0; i < server->network->nodes; i++)
        server->arrived += server->uplink[i] == 1;
    record.error = server->error;
    memcpy(record.dropped, server->dropped, sizeof record.dropped);
    bool last = daemon_stopping() ||
                (server->rounds > 0 && server->done + 1 >= server->rounds);
    enum pricer_status status =
        pricer_study_add_round(server->study, &record, find_least(server),
                               last ? NULL : &server->next, fault);
    if (status != PRICER_OK)
        return status;
    memset(server->dropped, 0, sizeof server->dropped);
    server->open = false;
    server->error_sum += server->error;
    server->done++;
    publish(server);
    return PRICER_OK;
}

/* The next number was noted when the last round was stored, unless this is the
 * first. */
static enum pricer_status begin(struct server *server, int64_t now,
                                struct pricer_fault *fault)
{
    enum pricer_status status = server_reload(server, fault);
    if (status == PRICER_OK && server->next == 0)
        status = pricer_study_open_round(server->study, find_least(server),
                                         &server->next, fault);
    if (status != PRICER_OK)
        return status;
    server->round = server->next;
    server->next = 0;
    open_round(server, now);
    return PRICER_OK;
}

enum pricer_status server_tick(struct server *server, int64_t now,
                               struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    if (server->open && (now >= server->start + server->times.uplink ||
                         (server->times.early && all_answered(server))))
        status = close_round(server, fault);
    bool more = server->rounds == 0 || server->done < server->rounds;
    int32_t needed = server->done == 0 ? (int32_t)server->quorum : 1;
    if (status == PRICER_OK && !server->open && more && !daemon_stopping() &&
        now >= server->next_start && server_ready(server) >= needed)
        status = begin(server, now, fault);
    return status;
}

int64_t server_next(const struct server *server)
{
    if (server->open)
        return server->start + server->times.uplink;
    int64_t soon = daemon_clock() + 20;
    return server->next_start > soon ? server->next_start : soon;
}
