/*
 * The server's rounds: when one begins, when it is over, and from the sums that came
 * in time to an estimate that is stored and published.
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

/* A node that is there and was not asked, as it has no slice yet, says nothing
 * about its uplink; one that is not heard does. */
static bool is_tried(const struct seat *seat, int64_t now)
{
    enum { HEARD = 3000 };
    return seat->enrolled &&
           (seat->asked || seat->seen == 0 || now - seat->seen > HEARD);
}

static void open_round(struct server *server, int64_t now)
{
    const struct server_times *times = &server->times;
    const size_t links = (size_t)server->network->links,
                 nodes = (size_t)server->network->nodes;
    const struct wire_open open = {
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
    memset(server->tally.withheld, -1, links);
    memset(server->tally.own, -1, nodes);
    memset(server->tally.contributed, 0, nodes);
    memset(server->tally.link, -1, links);
    memset(server->claimed, -1, links);
    memset(server->sent, -1, links);
    server_decoder_open(server);
    server->open = true;
    server->start = now;
    server->next_start = now + times->period;
    wire_write_open(&server->bytes, &open);
    for (int32_t i = 0; i < server->network->nodes; i++) {
        struct seat *seat = &server->seats[i];
        seat->answered = false;
        seat->asked = seat->ready;
        server->tally.uplink[i] = is_tried(seat, now) ? 0 : -1;
        if (seat->ready)
            send_to(server, seat);
    }
}

void server_pause(struct server *server)
{
    const struct server_times *times = &server->times;
    const struct wire_open open = {
        .plan = server->plan_id,
        .round = server->round,
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
        .round = server->past.round,
        .arrived = server->arrived,
        .contributors = server->contributors,
        .decoder = server->decoding.used,
        .bar = any ? server->decoding.bar : 0,
    };
    const struct wire_result empty = {.round = server->past.round};
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
        server->contributors += server->tally.contributed[i];
    for (int32_t k = 0; k < server->network->nodes; k++)
        server->arrived += server->tally.uplink[k] == 1;
    server->weight_arrived =
        server->plan_weight > 0
            ? fmin(server->decoding.weight / server->plan_weight, 1)
            : 0;
    server_decode(server);
    measure_error(server);
}

static void count_round(struct server *server)
{
    const struct tally *tally = &server->past.tally;
    server->past.waits = false;
    server->done++;
    if (server->contributors > 0) {
        server->estimates++;
        server->error_sum += server->error;
    }
    for (int32_t i = 0; i < server->network->nodes; i++)
        if (tally->own[i] >= 0)
            server->withheld_total[tally->own[i]]++;
    for (int32_t l = 0; l < server->network->links; l++)
        if (tally->withheld[l] >= 0)
            server->withheld_total[tally->withheld[l]]++;
}

/* How many rounds are to be opened, with the one that is not stored yet and the one
 * that is open taken off. */
static int64_t count_more(const struct server *server)
{
    int64_t begun = server->done + server->past.waits + server->open;
    return daemon_stopping()    ? 0
           : server->rounds > 0 ? server->rounds - begun
                                : INT64_MAX;
}

/* Store the round that is over, and with it the number of the next one. If the study
 * is busy the round waits, and is stored when it can be. */
static enum pricer_status store_past(struct server *server,
                                     struct pricer_fault *fault)
{
    const struct tally *tally = &server->past.tally;
    struct pricer_round_record record = {
        .round = server->past.round,
        .plan = server->plan_id,
        .nodes = server->network->nodes,
        .links = server->network->links,
        .dimension = server->network->dimension,
        .uplink = tally->uplink,
        .link = tally->link,
        .own = tally->own,
        .withheld = tally->withheld,
        .contributors = server->contributors,
        .weight = server->weight_arrived,
        .estimate = server->contributors > 0 ? server->estimate : NULL,
        .error = server->error,
        .decode = server->decoding.used,
        .bar = server->decoding.bar,
    };
    memcpy(record.dropped, tally->dropped, sizeof record.dropped);
    bool noted = server->next > 0 || count_more(server) <= 0;
    enum pricer_status status =
        pricer_study_add_round(server->study, &record, find_least(server),
                               noted ? NULL : &server->next, fault);
    if (status != PRICER_OK)
        return status;
    server_readers_count(server);
    count_round(server);
    server_history_note(server);
    publish(server);
    /* What does not succeed now does when 64 more are stored. */
    if (server->done % 64 == 0)
        pricer_study_prune(server->study, server->keep, NULL);
    return PRICER_OK;
}

/* The round is over: its estimate is made, its messages are too late from now on,
 * and the tables of the round before are free for the next. */
static void end_round(struct server *server, int64_t now)
{
    struct past *past = &server->past;
    struct tally tally = past->tally;
    estimate(server);
    server_find_disputes(server);
    *past =
        (struct past){true, server->round, now - server->start, server->tally};
    server->tally = tally;
    memset(server->tally.dropped, 0, sizeof server->tally.dropped);
    server->open = false;
}

/*
 * Whether the next round can begin before this one is stored, which would cost it the
 * time that a disk takes. Its number is noted in the study, and nobody needs what this
 * one gave: no node is handed estimates. A study that fails then finds two rounds that were charged instead of one; both wait for it.
 */
static bool may_overlap(const struct server *server)
{
    for (int32_t i = 0; i < server->network->nodes; i++)
        if (server->seats[i].results && server->seats[i].ready)
            return false;
    return true;
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

/* Its number was noted before, unless this is the first. The plan stays while a round
 * of it waits to be stored. */
static enum pricer_status begin(struct server *server, int64_t now,
                                struct pricer_fault *fault)
{
    enum pricer_status status = look_for_study(server, now, fault);
    if (status == PRICER_OK && !server->past.waits)
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

static bool is_due(const struct server *server, int64_t now)
{
    return !server->open && count_more(server) > 0 &&
           now >= server->next_start && server_is_enough(server);
}

/* The round is over. */
static enum pricer_status go_on(struct server *server, int64_t now,
                                struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    end_round(server, now);
    if (server->next > 0 && may_overlap(server) && is_due(server, now) &&
        server_is_current(server))
        status = begin(server, now, fault);
    if (server->open)
        hub_flush(server->hub);
    return status == PRICER_OK ? store_past(server, fault) : status;
}

/* A round is open: note the number that lets the next one begin before this one is
 * stored. If it cannot be noted, that one waits. */
static void look_ahead(struct server *server)
{
    if (server->times.period > 0 || count_more(server) <= 0 ||
        !may_overlap(server))
        return;
    hub_flush(server->hub);
    pricer_study_open_round(server->study, find_least(server), &server->next,
                            NULL);
}

enum pricer_status server_tick(struct server *server, int64_t now,
                               struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    if (now < server->failed_until) {
        server_watch(server, now);
        return PRICER_OK;
    }
    if (server->past.waits)
        status = store_past(server, fault);
    if (status == PRICER_OK && server->open &&
        (now >= server->start + server->times.uplink ||
         (server->times.early && all_answered(server))))
        status = go_on(server, now, fault);
    if (status == PRICER_OK && is_due(server, now)) {
        status = begin(server, now, fault);
        if (status == PRICER_OK)
            look_ahead(server);
    } else if (status == PRICER_OK && !server->open &&
               (server->stale || server_is_ended(server))) {
        status = server_reload(server, fault); /* a new plan may go on */
    }
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
