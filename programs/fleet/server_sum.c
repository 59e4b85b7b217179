/*
 * From a SUM message to the round: the values that are added, and what has
 * become of each part, so that a link that was down and a share that was
 * withheld are told apart.
 */
#include "server.h"

#include <string.h>

/* Whether a link is in the slices; server_plan.c has the same rule for both
 * ends, and the relay is enrolled. */
static bool is_used(const struct server *server, int32_t l)
{
    return (server->limits[l] > 0 || server->probe) &&
           server->seats[server->network->from[l]].enrolled;
}

/* Data where the plan sends some, a probe where it does not, or a reason. */
static bool is_possible(int part, int64_t limit)
{
    if (part == WIRE_PART_DATA)
        return limit > 0;
    return part < WIRE_PARTS && (part != WIRE_PART_PROBE || limit == 0);
}

static void add_part(struct server *server, int32_t from, double weight,
                     double noise, int32_t *count)
{
    server->shares[(*count)++] = server_honest(server, from, weight, noise);
}

/* The largest value that the parts in the sum can add up to, and which they
 * are; -1 if they do not fit the slice. */
static int64_t find_most(struct server *server, int32_t node,
                         const struct wire_sum *sum, int32_t *count)
{
    const struct pricer_network *network = server->network;
    int32_t next = 1;
    int64_t most = 0;
    *count = 0;
    if (sum->parts_size < 1)
        return -1;
    int own = wire_part(sum->parts, 0);
    if (own == WIRE_PART_DOWN || !is_possible(own, server->own_limits[node]))
        return -1;
    if (own == WIRE_PART_DATA) {
        most += server->own_limits[node];
        add_part(server, node, server->plan->self_weight[node],
                 server->plan->self_noise[node], count);
    } else if (own >= WIRE_PART_SPENT && server->plan->self_noise[node] > 0) {
        most += server->own_limits[node]; /* its noise is there all the same */
        add_part(server, node, 0, server->plan->self_noise[node], count);
    }
    for (int32_t k = network->in_start[node]; k < network->in_start[node + 1];
         k++) {
        int32_t l = network->in_link[k];
        if (!is_used(server, l))
            continue;
        if (sum->parts_size < wire_parts_size(next))
            return -1;
        int part = wire_part(sum->parts, next++);
        if (!is_possible(part, server->limits[l]))
            return -1;
        if (part == WIRE_PART_DATA) {
            most += server->limits[l];
            add_part(server, network->from[l], server->plan->weight[l],
                     server->plan->noise[l], count);
        }
    }
    if (sum->parts_size != wire_parts_size(next - 1) ||
        (next % 2 == 1 && wire_part(sum->parts, next) != 0))
        return -1;
    return most;
}

/* Whether what the node says it sent fits its out-links: one part each, as the
 * relays are told, and never nothing. Links to nobody are not in its slice. */
static bool is_sent_fitting(const struct server *server, int32_t node,
                            const struct wire_sum *sum)
{
    const struct pricer_network *network = server->network;
    int32_t count = 0;
    for (int32_t l = network->out_start[node]; l < network->out_start[node + 1];
         l++) {
        if (!is_used(server, l) || !server->seats[network->to[l]].enrolled)
            continue;
        if (sum->sent_size < wire_sent_size(count + 1))
            return false;
        int part = wire_part(sum->sent, count++);
        if (part == WIRE_PART_DOWN || !is_possible(part, server->limits[l]))
            return false;
    }
    return sum->sent_size == wire_sent_size(count) &&
           (count % 2 == 0 || wire_part(sum->sent, count) == 0);
}

/* What it says it sent, to be compared with what relays say they got. */
static void note_sent(struct server *server, int32_t node,
                      const struct wire_sum *sum)
{
    const struct pricer_network *network = server->network;
    int32_t count = 0;
    for (int32_t l = network->out_start[node]; l < network->out_start[node + 1];
         l++)
        if (is_used(server, l) && server->seats[network->to[l]].enrolled)
            server->sent[l] = (int8_t)wire_part(sum->sent, count++);
}

/* One part: whose it is, its weight, and where to note why it was withheld. */
static void note_part(struct server *server, int32_t from, int part,
                      double weight, int8_t *withheld)
{
    if (part == WIRE_PART_DATA && weight > 0)
        server->tally.contributed[from] = true;
    if (part >= WIRE_PART_SPENT)
        *withheld = (int8_t)(part - WIRE_PART_SPENT);
}

/* What the sum says about its node and the links into it. */
static void note_parts(struct server *server, int32_t node,
                       const struct wire_sum *sum)
{
    const struct pricer_network *network = server->network;
    int32_t next = 1;
    int8_t *up = server->tally.link;
    int own = wire_part(sum->parts, 0);
    note_part(server, node, own, server->plan->self_weight[node],
              &server->tally.own[node]);
    server_decoder_note(server, node, -1, own == WIRE_PART_DATA);
    for (int32_t k = network->in_start[node]; k < network->in_start[node + 1];
         k++) {
        int32_t l = network->in_link[k];
        if (!is_used(server, l))
            continue;
        int part = wire_part(sum->parts, next++);
        up[l] = part != WIRE_PART_DOWN;
        server->claimed[l] = (int8_t)part;
        note_part(server, network->from[l], part, server->plan->weight[l],
                  &server->tally.withheld[l]);
        server_decoder_note(server, node, l, part == WIRE_PART_DATA);
    }
}

/* A sum that is for this round, in time and of the right length. */
static void add_sum(struct server *server, int32_t node,
                    const struct wire_sum *sum)
{
    struct seat *seat = &server->seats[node];
    int64_t dimension = server->network->dimension;
    int32_t count;
    int64_t most = find_most(server, node, sum, &count);
    if (most < 0 || !is_sent_fitting(server, node, sum)) {
        server_drop(server, PRICER_DROP_MALFORMED);
        return;
    }
    double length = pricer_round_length(&server->grid, server->network->radius,
                                        dimension, server->shares, count);
    const struct emulate_time time = {server->round, 1, 0};
    bool up = emulate_up(&server->emulate, &time, node, PRICER_SERVER);
    if (!wire_add_within(sum->values, dimension, most, length,
                         up ? server->sum : NULL)) {
        server_drop(server, PRICER_DROP_RANGE);
        return;
    }
    seat->answered = true;
    if (!up)
        return;
    server->tally.uplink[node] = 1;
    server_decoder_keep(server, node, sum->values);
    note_parts(server, node, sum);
    note_sent(server, node, sum);
    /* It charged the round before it sent this. */
    if (wire_part(sum->parts, 0) == WIRE_PART_DATA)
        server_mark_round(server, node, server->round);
    seat->own_why = server->tally.own[node];
}

void server_take_sum(struct server *server, int32_t node, const void *data,
                     size_t size)
{
    struct wire_sum sum;
    if (!wire_read_sum(data, size, &sum))
        server_drop(server, PRICER_DROP_MALFORMED);
    else if (memcmp(sum.digest, server->seats[node].digest, WIRE_DIGEST) != 0)
        server_drop(server, PRICER_DROP_PLAN);
    else if (sum.size != 8 * (size_t)server->network->dimension)
        server_drop(server, PRICER_DROP_LENGTH);
    else if (sum.round == server->round && !server->open)
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
