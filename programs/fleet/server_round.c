/*
 * The server's rounds: from messages that arrive in time to an estimate that is
 * stored and published. Everything else is counted and dropped.
 */
#include "server.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* To one node; what it has no room for is lost. */
static void send_to(struct server *server, const struct seat *seat)
{
    hub_send(seat->peer, server->bytes.data, server->bytes.size);
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
    server_take_mark(server, node, &hello);
    seat->last = hello.last;
    seat->results = hello.results;
    seat->ready = hello.digest != NULL &&
                  memcmp(hello.digest, seat->digest, WIRE_DIGEST) == 0;
    if (seat->ready) {
        seat->told = true;
        seat->left = hello.left;
        seat->own_left = hello.own;
        seat->ending_count = hello.ending_count;
        memcpy(seat->ending, hello.ending, sizeof seat->ending);
    }
    if (seat->ready || now < seat->sliced + 1000)
        return;
    if (server_write_slice(server, node)) {
        send_to(server, seat);
        seat->given = -1;
        seat->sliced = now;
    }
}

/* The log hears of a refusal when it is another than the last one. */
static void take_refusal(struct server *server, int32_t node, const void *data,
                         size_t size)
{
    struct seat *seat = &server->seats[node];
    struct wire_refusal refusal;
    if (!wire_read_refusal(data, size, &refusal) ||
        refusal.to >= server->network->nodes) {
        server_drop(server, PRICER_DROP_MALFORMED);
        return;
    }
    seat->refusals++;
    if (refusal.code == WIRE_CODE_REFERENCE)
        seat->given = -1; /* it is sent again */
    bool new = seat->code != refusal.code || seat->to != refusal.to;
    seat->code = refusal.code;
    seat->to = refusal.to;
    if (new &&refusal.to == node)
        daemon_say("node %s refuses (code %lld): %s; its own log says more",
                   node_label(server->network, node).text,
                   (long long)refusal.code, server_refusal_text(refusal.code));
    else if (new)
        daemon_say("node %s refuses to send to %s (code %lld): %s; its own "
                   "log says more",
                   node_label(server->network, node).text,
                   node_label(server->network, (int32_t)refusal.to).text,
                   (long long)refusal.code, server_refusal_text(refusal.code));
}

static void take(struct server *server, int32_t node, const void *data,
                 size_t size)
{
    server->seats[node].seen = daemon_clock();
    switch (wire_type(data, size)) {
    case WIRE_HELLO:
        take_hello(server, node, data, size);
        break;
    case WIRE_SUM:
        server_take_sum(server, node, data, size);
        break;
    case WIRE_REFUSAL:
        take_refusal(server, node, data, size);
        break;
    default:
        server_drop(server, PRICER_DROP_MALFORMED);
    }
}

/* ---------------------------------------------------------------- events -- */

/* Whose connection it is, if the plan has a seat for that. */
static struct seat *find_seat(struct server *server, struct hub_peer *peer)
{
    int32_t node = hub_number(peer);
    return node >= 0 && node < server->network->nodes &&
                   server->seats[node].enrolled
               ? &server->seats[node]
               : NULL;
}

static void see_opened(void *context, struct hub_peer *peer)
{
    struct server *server = context;
    struct seat *seat = find_seat(server, peer);
    char key[PRICER_KEY_TEXT] = "";
    if (seat == NULL)
        return;
    if (hub_key(peer) != NULL)
        keys_text(hub_key(peer), key);
    bool other = hub_is_open(seat->peer) && seat->peer != peer;
    if (other && strcmp(seat->key, key) != 0 && seat->follows) {
        hub_forget(peer); /* the old key, while the next one is in use */
        server_see_twin(server, (int32_t)(seat - server->seats));
        return;
    }
    if (other)
        hub_forget(seat->peer);
    seat->peer = peer;
    seat->issued = 0;
    seat->given = -1;
    strcpy(seat->shown, key);
    server->stale = server->stale || strcmp(seat->key, key) != 0;
}

static void see_frame(void *context, struct hub_peer *peer, const void *data,
                      size_t size)
{
    struct server *server = context;
    struct seat *seat = find_seat(server, peer);
    server->messages++;
    server->bytes_received += (int64_t)size;
    if (seat == NULL) {
        server_drop(server, PRICER_DROP_STRANGER);
        return;
    }
    seat->peer = peer;
    take(server, (int32_t)(seat - server->seats), data, size);
}

/* A key that is not enrolled, in words: each key once, any at most once in ten
 * seconds. */
static void say_stranger(struct server *server, const uint8_t *bytes)
{
    char key[PRICER_KEY_TEXT];
    if (bytes == NULL || daemon_clock() < server->stranger_next)
        return;
    keys_text(bytes, key);
    if (strcmp(key, server->stranger) == 0)
        return;
    strcpy(server->stranger, key);
    server->stranger_next = daemon_clock() + 10000;
    daemon_say("the key %s is not enrolled and was turned away; if it is a "
               "node's, 'pricer enrol %s NODE %s ADDRESS'",
               key, server->path, key);
}

/* A handshake that failed, at most once a minute. */
static void say_failed(struct server *server)
{
    enum { AGAIN = 60000 };
    int64_t now = daemon_clock();
    if (server->failed != 0 && now - server->failed < AGAIN)
        return;
    server->failed = now;
    daemon_say("someone failed in the handshake: a node with another server "
               "key than %s (its --server-key), or no pricer-node",
               server->pair.public_key);
}

static void see_ended(void *context, struct hub_peer *peer, enum hub_end why)
{
    struct server *server = context;
    struct seat *seat = find_seat(server, peer);
    if (seat != NULL && seat->peer == peer)
        seat->peer = NULL;
    if (seat != NULL && why == HUB_TWIN)
        server_see_twin(server, (int32_t)(seat - server->seats));
    if (why == HUB_STRANGER || why == HUB_REFUSED || why == HUB_BROKEN)
        server_drop(server, PRICER_DROP_REFUSED);
    if (why == HUB_STRANGER)
        say_stranger(server, hub_key(peer));
    if (why == HUB_REFUSED || why == HUB_BROKEN)
        say_failed(server);
}

const struct hub_events server_events = {
    .opened = see_opened, .frame = see_frame, .ended = see_ended};

/* ----------------------------------------------------------------- round -- */

/* A node that is there and was not asked, as it has no slice yet, says nothing
 * about its uplink; one that is not heard does. */
static bool is_tried(const struct seat *seat, int64_t now)
{
    enum { HEARD = 3000 };
    return seat->enrolled &&
           (seat->asked || seat->seen == 0 || now - seat->seen > HEARD);
}

/* The next attempt of the round, or its first. */
static void open_attempt(struct server *server, int64_t now)
{
    const struct server_times *times = &server->times;
    const int64_t links = server->network->links,
                  nodes = server->network->nodes;
    struct wire_open open = {
        .plan = server->plan_id,
        .round = server->round,
        .attempt = server->attempt,
        .period = times->early ? 0 : times->period,
        .ahead = times->early || times->period == 0 ? 0 : times->ahead,
        .send = times->send,
        .share = times->share,
        .uplink = times->uplink,
        .early = times->early,
    };
    memset(server->link + server->attempt * links, -1, (size_t)links);
    memset(server->claimed, -1, (size_t)links);
    memset(server->sent, -1, (size_t)links);
    server_reference_name(server, &open);
    wire_write_open(&server->bytes, &open);
    server->start = now;
    for (int32_t i = 0; i < nodes; i++) {
        struct seat *seat = &server->seats[i];
        seat->answered = false;
        seat->asked = seat->ready;
        server->uplink[server->attempt * nodes + i] =
            is_tried(seat, now) ? 0 : -1;
        if (!seat->ready)
            continue;
        server_reference_send(server, seat);
        send_to(server, seat);
    }
}

static void open_round(struct server *server, int64_t now)
{
    memset(server->sum, 0, 8 * (size_t)server->network->dimension);
    memset(server->withheld, -1, (size_t)server->network->links);
    memset(server->own, -1, (size_t)server->network->nodes);
    memset(server->contributed, 0, (size_t)server->network->nodes);
    server_decoder_open(server);
    server->open = true;
    server->estimated = false;
    server->attempt = 0;
    server->began = now;
    server->next_start = now + server->times.period;
    open_attempt(server, now);
}

void server_pause(struct server *server)
{
    const struct server_times *times = &server->times;
    const struct wire_open open = {
        .plan = server->plan_id,
        .round = server->round,
        .attempt = server->attempt,
        .send = times->send,
        .share = times->share,
        .uplink = times->uplink,
        .early = times->early,
    };
    if (server->round < 1 || !wire_write_open(&server->bytes, &open))
        return;
    for (int32_t i = 0; i < server->network->nodes; i++)
        if (server->seats[i].asked)
            send_to(server, &server->seats[i]);
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
    if (server->truth == NULL || server->contributors == 0)
        return;
    server->error = 0;
    for (int64_t k = 0; k < server->network->dimension; k++) {
        double off = server->estimate[k] - server->truth[k];
        server->error += off * off;
    }
}

static void publish(struct server *server)
{
    bool any = server->contributors > 0;
    int written = -1; /* for whom: 1 readers, 0 others */
    int64_t dimension = any ? server->network->dimension : 0;
    const struct wire_result result = {
        .round = server->round,
        .arrived = server->arrived,
        .contributors = server->contributors,
        .decoder = server->decoding.used,
        .bar = any ? server->decoding.bar : 0,
    };
    const struct wire_result empty = {.round = server->round};
    for (int32_t i = 0; i < server->network->nodes; i++) {
        if (!server->seats[i].results || !server->seats[i].ready)
            continue;
        int reads = server_may_read(server, i);
        if (written != reads &&
            !wire_write_result(&server->bytes, reads ? &result : &empty,
                               server->estimate, reads ? dimension : 0))
            return;
        written = reads;
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

/* From the sums to the estimate. Where nobody's data arrived there is none: a
 * zero would look like one. */
static void estimate(struct server *server)
{
    server->arrived = server->contributors = 0;
    for (int32_t i = 0; i < server->network->nodes; i++)
        server->contributors += server->contributed[i];
    for (int32_t k = 0; k < server->network->nodes * server->attempts; k++)
        server->arrived += server->uplink[k] == 1;
    server->weight_arrived =
        server->plan_weight > 0
            ? fmin(server->decoding.weight / server->plan_weight, 1)
            : 0;
    server_decode(server);
    server_reference_follow(server);
    measure_error(server);
}

static void count_round(struct server *server)
{
    memset(server->dropped, 0, sizeof server->dropped);
    server->open = false;
    server->done++;
    if (server->contributors > 0) {
        server->estimates++;
        server->error_sum += server->error;
    }
    for (int32_t i = 0; i < server->network->nodes; i++)
        if (server->own[i] >= 0)
            server->withheld_total[server->own[i]]++;
    for (int32_t l = 0; l < server->network->links; l++)
        if (server->withheld[l] >= 0)
            server->withheld_total[server->withheld[l]]++;
}

/* If the study is busy the round stays open, too late for messages, and is
 * stored when it can be. */
static enum pricer_status close_round(struct server *server,
                                      struct pricer_fault *fault)
{
    if (!server->estimated)
        estimate(server);
    server->estimated = true;
    struct pricer_round_record record = {
        .round = server->round,
        .plan = server->plan_id,
        .nodes = server->network->nodes,
        .links = server->network->links,
        .dimension = server->network->dimension,
        .attempts = server->attempts,
        .uplink = server->uplink,
        .link = server->link,
        .own = server->own,
        .withheld = server->withheld,
        .contributors = server->contributors,
        .weight = server->weight_arrived,
        .estimate = server->contributors > 0 ? server->estimate : NULL,
        .error = server->error,
        .decode = server->decoding.used,
        .bar = server->decoding.bar,
    };
    memcpy(record.dropped, server->dropped, sizeof record.dropped);
    bool last = daemon_stopping() ||
                (server->rounds > 0 && server->done + 1 >= server->rounds);
    enum pricer_status status =
        pricer_study_add_round(server->study, &record, find_least(server),
                               last ? NULL : &server->next, fault);
    if (status != PRICER_OK)
        return status;
    server_find_disputes(server);
    server_reference_keep(server);
    count_round(server);
    server_history_note(server);
    publish(server);
    /* What does not succeed now does when 64 more are stored. */
    if (server->done % 64 == 0)
        pricer_study_prune(server->study, server->keep, NULL);
    return PRICER_OK;
}

/* A study that was moved away, deleted or replaced takes rounds that nobody will
 * find: none is opened. */
static enum pricer_status look_for_study(struct server *server, int64_t now,
                                         struct pricer_fault *fault)
{
    enum { AGAIN = 1000 };
    if (now < server->owned + AGAIN)
        return PRICER_OK;
    enum pricer_status status = pricer_study_claim(server->study, fault);
    if (status == PRICER_OK)
        server->owned = now;
    return status;
}

/* The next number was noted when the last round was stored, unless this is the
 * first. */
static enum pricer_status begin(struct server *server, int64_t now,
                                struct pricer_fault *fault)
{
    enum pricer_status status = look_for_study(server, now, fault);
    if (status == PRICER_OK)
        status = server_reload(server, fault);
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

/* The attempt is over: the next one begins, or the round ends. */
static enum pricer_status go_on(struct server *server, int64_t now,
                                struct pricer_fault *fault)
{
    if (server->attempt + 1 == server->attempts)
        return close_round(server, fault);
    server_find_disputes(server);
    server->attempt++;
    open_attempt(server, now);
    return PRICER_OK;
}

enum pricer_status server_tick(struct server *server, int64_t now,
                               struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    if (now < server->failed_until) {
        server_watch(server, now);
        return PRICER_OK;
    }
    if (server->open && (now >= server->start + server->times.uplink ||
                         (server->times.early && all_answered(server))))
        status = go_on(server, now, fault);
    bool more = server->rounds == 0 || server->done < server->rounds;
    int32_t needed = server->done == 0 ? server_awaited(server) : 1;
    if (status == PRICER_OK && !server->open && more && !daemon_stopping() &&
        now >= server->next_start && server_able(server) >= needed)
        status = begin(server, now, fault);
    else if (status == PRICER_OK && !server->open &&
             (server->stale || server_is_ended(server)))
        status = server_reload(server, fault); /* a new plan may go on */
    server_save_marks(server, now);
    bool ended = server->ended;
    server_watch(server, now);
    if (server->ended && !ended)
        server_pause(server); /* nodes would open rounds by themselves */
    return status;
}

int64_t server_next(const struct server *server)
{
    if (server->failed_until > daemon_clock())
        return server->failed_until;
    if (server->open)
        return server->start + server->times.uplink;
    int64_t soon = daemon_clock() + (server->ended ? 500 : 20);
    return server->next_start > soon ? server->next_start : soon;
}
