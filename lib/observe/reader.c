/*
 * From what the server sees to what the published estimate shows: the sums
 * without the node's data bring noise into it, which is dealt out to those with it.
 * Claim and proof: docs/mathematics.md, Who else sees.
 */
#include "sight.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How finely G is known; how many sums are looked at, and counted. Any choice
 * of sums is a bound. */
enum { CELLS = 256, LOOKED_AT = 4096, DEALT_MOST = 256 };

/* A noise of a sum without the data, in squared radii, and where it goes. */
struct deal {
    int32_t relay, to;
    double size, chance;
};

struct table {
    struct deal deal[DEALT_MOST];
    int32_t count;
    double mass[CELLS + 1]; /* of G given that its sum arrives */
    double *hidden;         /* [sources] variance in squared radii, in the mean;
                               INFINITY for what a member sees itself */
    double *weight;         /* [sources] */
};

static bool carries(const struct pri_view *view, int32_t node)
{
    for (int32_t s = 0; s < view->sources; s++)
        if (view->source[s].node == node)
            return true;
    return false;
}

/* The chance of a share in a sum without the data, by itself. */
static double chance_of(const struct pri_sight *sight,
                        const struct pri_view *view, int32_t link)
{
    const struct pricer_network *net = sight->network;
    int32_t from = net->from[link], to = net->to[link];
    int32_t back = net->partner[link];
    if (back < 0)
        return net->p[link];
    /* With its own links, or those in sums that carry the data, as they are. */
    if (to == sight->node || carries(view, from))
        return pri_at_least(net->p[link], net->p[back], net->joint[link]);
    return pri_apart(net->p[link], net->p[back], net->joint[link]);
}

static double square(double number)
{
    return number * number;
}

/* Whether a share counts in a sum without the data. */
static bool hides(const struct pri_sight *sight, int32_t link)
{
    int32_t from = sight->network->from[link];
    return from != sight->node && !pri_sight_member(sight, from) &&
           sight->plan->noise[link] > 0;
}

/* Add a noise to G, rounded down to whole cells. */
static void add_noise(double size, double chance, double cell, double *mass)
{
    int32_t step = (int32_t)fmin(floor(size / cell), CELLS);
    for (int32_t c = CELLS; c >= 0; c--)
        mass[c] =
            mass[c] * (1 - chance) + (c >= step ? mass[c - step] * chance : 0);
}

/* The best q for one relay: that of the largest q P(G >= q). */
static struct deal look_at(const struct pri_sight *sight,
                           const struct pri_view *view, int32_t relay,
                           struct table *table)
{
    const struct pricer_network *net = sight->network;
    const struct pricer_plan *plan = sight->plan;
    double own = square(plan->self_noise[relay] / net->radius), all = own;
    struct deal best = {relay, -1, 0, 0};
    for (int32_t k = net->in_start[relay]; k < net->in_start[relay + 1]; k++)
        if (hides(sight, net->in_link[k]))
            all += square(plan->noise[net->in_link[k]] / net->radius);
    double cell = all / CELLS, reached = 0;
    if (!(cell > 1e-280 && cell < 1e280))
        return best;
    memset(table->mass, 0, sizeof table->mass);
    table->mass[(int32_t)fmin(floor(own / cell), CELLS)] = 1;
    for (int32_t k = net->in_start[relay]; k < net->in_start[relay + 1]; k++) {
        int32_t l = net->in_link[k];
        if (hides(sight, l))
            add_noise(square(plan->noise[l] / net->radius),
                      chance_of(sight, view, l), cell, table->mass);
    }
    for (int32_t c = CELLS; c > 0; c--) {
        reached += table->mass[c];
        double size = c * cell * (1 - 1e-12);
        double chance = net->uplink[relay] * fmin(reached, 1) * (1 - 1e-12);
        if (size * chance > best.size * best.chance)
            best = (struct deal){relay, -1, size, chance};
    }
    return best;
}

/* To the sum that has least noise for its weight. */
static void deal_out(const struct pri_view *view, struct table *table,
                     struct deal *deal)
{
    double most = -1;
    for (int32_t s = 0; s < view->sources; s++) {
        double ratio = table->weight[s] / table->hidden[s];
        if (!isinf(table->hidden[s]) && ratio > most) {
            most = ratio;
            deal->to = s;
        }
    }
    if (deal->to >= 0)
        table->hidden[deal->to] += deal->size * deal->chance;
}

static void fill_table(const struct pri_sight *sight,
                       const struct pri_view *view, struct table *table)
{
    const struct pricer_network *net = sight->network;
    int32_t nodes = net->nodes;
    double move = net->node_diameter[sight->node] / net->radius;
    for (int32_t s = 0; s < view->sources; s++) {
        const struct pri_source *source = &view->source[s];
        double noise, hidden = source->base;
        for (int32_t k = source->begin; k < source->end; k++)
            hidden += view->noise[k].chance * view->noise[k].size;
        table->weight[s] = pri_sight_weight(sight, source->node, &noise);
        hidden *= square(table->weight[s] * move) / source->signal;
        table->hidden[s] =
            pri_sight_member(sight, source->node) ? INFINITY : hidden;
    }
    for (int32_t k = 0; k < nodes && k < LOOKED_AT; k++) {
        int32_t relay = (int32_t)(((int64_t)sight->node + 1 + k) % nodes);
        if (table->count == DEALT_MOST)
            break;
        if (pri_sight_member(sight, relay) || carries(view, relay))
            continue;
        struct deal deal = look_at(sight, view, relay, table);
        if (deal.size > 0 && deal.chance > 0)
            deal_out(view, table, &deal);
        if (deal.to >= 0)
            table->deal[table->count++] = deal;
    }
}

/* A variance in squared radii in the unit of a source, rounded down; none where
 * it is out of range. */
static double dealt(const struct pri_sight *sight,
                    const struct pri_source *source, double size)
{
    double noise = sqrt(size) * sight->network->radius * (1 - 1e-12);
    return noise < INFINITY ? pri_sight_variance(sight, source, noise) : 0;
}

/* The view with what was dealt: noises of a source stay together. */
static enum pricer_status add_deals(const struct pri_sight *sight,
                                    const struct table *table,
                                    struct pri_view *view)
{
    int32_t room = view->noises + table->count, count = 0;
    struct pri_packet *noise = pri_alloc(room, sizeof *noise);
    int32_t *moved = pri_alloc(view->noises, sizeof *moved);
    if (noise == NULL || moved == NULL) {
        free(noise);
        free(moved);
        return PRICER_MEMORY;
    }
    for (int32_t s = 0; s < view->sources; s++) {
        struct pri_source *source = &view->source[s];
        int32_t begin = count;
        for (int32_t k = source->begin; k < source->end; k++) {
            moved[k] = count;
            noise[count++] = view->noise[k];
        }
        for (int32_t k = 0; k < table->count; k++)
            if (table->deal[k].to == s && table->deal[k].chance == 1)
                source->base += dealt(sight, source, table->deal[k].size);
            else if (table->deal[k].to == s)
                noise[count++] = (struct pri_packet){
                    .from = table->deal[k].relay,
                    .size = dealt(sight, source, table->deal[k].size),
                    .chance = table->deal[k].chance};
        source->begin = begin;
        source->end = count;
    }
    for (int32_t k = 0; k < view->pairs; k++) {
        struct pri_coupled *pair = &view->pair[k];
        pair->first = pair->gate ? pair->first : moved[pair->first];
        pair->second = moved[pair->second];
    }
    free(view->noise);
    free(moved);
    view->noise = noise;
    view->noises = count;
    view->noise_room = room;
    return PRICER_OK;
}

enum pricer_status pri_view_estimate(const struct pri_sight *sight,
                                     struct pri_view *view, bool *helped)
{
    struct table *table = pri_alloc(1, sizeof *table);
    enum pricer_status status = PRICER_MEMORY;
    if (table == NULL)
        return status;
    table->hidden = pri_alloc(view->sources, sizeof(double));
    table->weight = pri_alloc(view->sources, sizeof(double));
    if (table->hidden != NULL && table->weight != NULL) {
        fill_table(sight, view, table);
        *helped = table->count > 0;
        status = table->count > 0 ? add_deals(sight, table, view) : PRICER_OK;
    }
    free(table->hidden);
    free(table->weight);
    free(table);
    return status;
}
