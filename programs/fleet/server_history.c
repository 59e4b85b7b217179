/*
 * From the end of a round to what is remembered of it: rows of the latest
 * rounds for charts, what each node gave, and how often each link delivered.
 */
#include "server.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool server_history_make(struct server *server)
{
    size_t nodes = (size_t)server->network->nodes;
    size_t links = (size_t)server->network->links;
    struct history *history = &server->history;
    bool made = true;
    for (int k = 0; k < 2; k++) {
        history->uplink[k] = calloc(nodes, sizeof *history->uplink[k]);
        history->link[k] = calloc(links + 1, sizeof *history->link[k]);
        made &= history->uplink[k] != NULL && history->link[k] != NULL;
    }
    return made;
}

void server_history_free(struct server *server)
{
    for (int k = 0; k < 2; k++) {
        free(server->history.uplink[k]);
        free(server->history.link[k]);
    }
}

int32_t server_history_at(const struct history *history, int32_t k)
{
    return (history->first + k) % HISTORY;
}

int64_t server_last_round(const struct server *server)
{
    const struct history *history = &server->history;
    return history->count == 0
               ? 0
               : (int64_t)history
                     ->round[server_history_at(history, history->count - 1)];
}

static void count(struct pricer_delivery *deliveries, const int8_t *up,
                  int32_t number)
{
    for (int32_t k = 0; k < number; k++) {
        deliveries[k].tried += up[k] >= 0;
        deliveries[k].arrived += up[k] == 1;
    }
}

/* A full window becomes the one before, whose counts are forgotten. */
static void turn(struct history *history, int32_t nodes, int32_t links)
{
    struct pricer_delivery *uplink = history->uplink[1];
    struct pricer_delivery *link = history->link[1];
    history->uplink[1] = history->uplink[0];
    history->link[1] = history->link[0];
    history->uplink[0] = uplink;
    history->link[0] = link;
    memset(uplink, 0, (size_t)nodes * sizeof *uplink);
    memset(link, 0, (size_t)links * sizeof *link);
    history->counted = 0;
}

/* The fewest rounds that a budget towards the server, and one of a link, have
 * left; NAN: none is known to end. */
static void find_left(const struct server *server, double *own, double *link)
{
    *own = *link = NAN;
    for (int32_t i = 0; i < server->network->nodes; i++) {
        const struct seat *seat = &server->seats[i];
        if (!seat->told)
            continue;
        if (seat->own_left < WIRE_NO_END)
            *own = fmin(*own, (double)seat->own_left);
        if (seat->ending_count > 0 && seat->ending[0].left < WIRE_NO_END)
            *link = fmin(*link, (double)seat->ending[0].left);
    }
}

static void note_nodes(struct server *server, int64_t now)
{
    const struct tally *tally = &server->past.tally;
    for (int32_t i = 0; i < server->network->nodes; i++) {
        struct seat *seat = &server->seats[i];
        bool gave = tally->contributed[i];
        seat->gave_in = seat->gave_in << 1 | gave;
        seat->came_in = seat->came_in << 1 | (tally->uplink[i] == 1);
        if (gave) {
            seat->gave = server->past.round;
            seat->gave_at = now;
        }
    }
}

void server_history_note(struct server *server)
{
    struct history *history = &server->history;
    const struct tally *tally = &server->past.tally;
    int32_t nodes = server->network->nodes, links = server->network->links;
    int64_t now = daemon_clock();
    if (history->count == HISTORY)
        history->first = server_history_at(history, 1);
    else
        history->count++;
    int32_t at = server_history_at(history, history->count - 1);
    history->round[at] = (double)server->past.round;
    history->arrived[at] = server->arrived;
    history->gave[at] = server->contributors;
    history->bar[at] = server->contributors > 0 ? server->decoding.bar : NAN;
    history->error[at] = server->error;
    find_left(server, &history->left[at], &history->link_left[at]);
    history->ended = (int64_t)time(NULL);
    history->took = server->past.took;
    note_nodes(server, now);
    if (history->counted++ == HISTORY_WINDOW)
        turn(history, nodes, links);
    count(history->uplink[0], tally->uplink, nodes);
    count(history->link[0], tally->link, links);
}
