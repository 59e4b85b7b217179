/*
 * From what the server sees to what the published estimate shows: the sums
 * without the node's data bring noise into it, which is dealt out to sums with it.
 * Claim and proof: docs/mathematics.md, Who else sees.
 *
 * Who is in a coalition decides neither which sums may get noise nor how it is
 * dealt out: every choice that is open to a coalition is open to a part of it,
 * which sees less and is hidden by more. So the smallest eps of all choices is
 * never above that of a larger coalition.
 */
#include "sight.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How finely G is known; how many sums without the data are looked at, and
 * counted. */
enum { CELLS = 256, LOOKED_AT = 4096, DEALT_MOST = 256 };

/* A noise of a sum without the data, in squared radii, and where it goes. */
struct deal {
    int32_t relay, to;
    double size, chance;
};

/* A sum with the data that may get noise. */
struct target {
    int32_t relay;
    double weight, hidden; /* its mean variance, in squared radii */
};

struct table {
    struct deal deal[DEALT_MOST];
    int32_t count;
    struct target target[PRI_DEALT_TO];
    int32_t targets;
    double mass[CELLS + 1]; /* of G given that its sum arrives */
};

static double square(double number)
{
    return number * number;
}

/* Whether the sum of a relay may show the node's data. */
static bool carries(const struct pri_sight *sight, int32_t relay)
{
    double noise;
    return pri_sight_weight(sight, relay, &noise) > 0;
}

/* The chance of a share in a sum without the data, by itself. */
static double chance_of(const struct pri_sight *sight, int32_t link)
{
    const struct pricer_network *net = sight->network;
    int32_t from = net->from[link], to = net->to[link];
    int32_t back = net->partner[link];
    if (back < 0)
        return net->p[link];
    /* With its own links, or those in sums that carry the data, as they are. */
    if (to == sight->node || carries(sight, from))
        return pri_at_least(net->p[link], net->p[back], net->joint[link]);
    return pri_apart(net->p[link], net->p[back], net->joint[link]);
}

/* ------------------------------------------------- whoever is a member -- */

/* The mean of the variance in a sum with the data, in squared radii. */
static double mean_hidden(const struct pri_sight *sight, int32_t relay)
{
    const struct pricer_network *net = sight->network;
    const struct pricer_plan *plan = sight->plan;
    double hidden = square(plan->self_noise[relay] / net->radius);
    for (int32_t k = net->in_start[relay]; k < net->in_start[relay + 1]; k++) {
        int32_t l = net->in_link[k];
        hidden += (net->from[l] == sight->node ? 1 : net->p[l]) *
                  square(plan->noise[l] / net->radius);
    }
    return hidden;
}

/* Keep those that show most of the data, in the order of how much. */
static void add_target(const struct pri_sight *sight, int32_t relay,
                       struct table *table)
{
    double noise, weight = pri_sight_weight(sight, relay, &noise);
    if (!(weight > 0) || (sight->network->uplink[relay] == 0 &&
                          sight->question->eavesdropper != PRICER_RADIO))
        return;
    struct target made = {relay, weight, mean_hidden(sight, relay)};
    int32_t at = table->targets;
    while (at > 0 && square(made.weight) * table->target[at - 1].hidden >
                         square(table->target[at - 1].weight) * made.hidden)
        at--;
    if (at == PRI_DEALT_TO)
        return;
    table->targets += table->targets < PRI_DEALT_TO;
    for (int32_t k = table->targets - 1; k > at; k--)
        table->target[k] = table->target[k - 1];
    table->target[at] = made;
}

static void find_targets(const struct pri_sight *sight, struct table *table)
{
    const struct pricer_network *net = sight->network;
    table->targets = 0;
    add_target(sight, sight->node, table);
    for (int32_t l = net->out_start[sight->node];
         l < net->out_start[sight->node + 1]; l++)
        add_target(sight, net->to[l], table);
}

/* Add a noise to G, rounded down to whole cells. */
static void add_noise(double size, double chance, double cell, double *mass)
{
    int32_t step = (int32_t)fmin(floor(size / cell), CELLS);
    for (int32_t c = CELLS; c >= 0; c--)
        mass[c] =
            mass[c] * (1 - chance) + (c >= step ? mass[c - step] * chance : 0);
}

/* The law of G in cells, given that its sum arrives; without the noise of
 * members. */
static void find_law(const struct pri_sight *sight, const bool *member,
                     int32_t relay, double cell, double *mass)
{
    const struct pricer_network *net = sight->network;
    const struct pricer_plan *plan = sight->plan;
    double own = square(plan->self_noise[relay] / net->radius);
    memset(mass, 0, (CELLS + 1) * sizeof *mass);
    mass[(int32_t)fmin(floor(own / cell), CELLS)] = 1;
    for (int32_t k = net->in_start[relay]; k < net->in_start[relay + 1]; k++) {
        int32_t l = net->in_link[k], from = net->from[l];
        if (from != sight->node && (member == NULL || !member[from]) &&
            plan->noise[l] > 0)
            add_noise(square(plan->noise[l] / net->radius), chance_of(sight, l),
                      cell, mass);
    }
}

/* P(the sum arrives with G of so many cells or more). */
static double chance_from(const struct pri_sight *sight, int32_t relay,
                          const double *mass, int32_t cells)
{
    double reached = 0;
    for (int32_t c = CELLS; c >= cells; c--)
        reached += mass[c];
    return sight->network->uplink[relay] * fmin(reached, 1) * (1 - 1e-12);
}

/* The best q of a relay, that of the largest q P(G >= q), with its chance for
 * this observer. */
static struct deal look_at(const struct pri_sight *sight, int32_t relay,
                           struct table *table, double *mean)
{
    const struct pricer_network *net = sight->network;
    const struct pricer_plan *plan = sight->plan;
    double all = square(plan->self_noise[relay] / net->radius);
    struct deal best = {relay, -1, 0, 0};
    int32_t cells = 0;
    *mean = 0;
    for (int32_t k = net->in_start[relay]; k < net->in_start[relay + 1]; k++)
        if (net->from[net->in_link[k]] != sight->node)
            all += square(plan->noise[net->in_link[k]] / net->radius);
    double cell = all / CELLS, reached = 0;
    if (!(cell > 1e-280 && cell < 1e280))
        return best;
    find_law(sight, NULL, relay, cell, table->mass);
    for (int32_t c = CELLS; c > 0; c--) {
        reached += table->mass[c];
        if (c * reached * cell * net->uplink[relay] > *mean) {
            *mean = c * reached * cell * net->uplink[relay];
            cells = c;
        }
    }
    if (cells == 0)
        return best;
    if (sight->member != NULL)
        find_law(sight, sight->member, relay, cell, table->mass);
    best.size = cells * cell * (1 - 1e-12);
    best.chance = chance_from(sight, relay, table->mass, cells);
    return best;
}

/* To the sum of the choice that has least noise for its weight. */
static void deal_out(struct table *table, uint32_t choice, double mean,
                     struct deal *deal)
{
    int32_t to = -1;
    double most = -1;
    for (int32_t t = 0; t < table->targets; t++) {
        double ratio = table->target[t].weight / table->target[t].hidden;
        if (choice >> t & 1 && ratio > most) {
            most = ratio;
            to = t;
        }
    }
    if (to < 0)
        return;
    deal->to = table->target[to].relay;
    table->target[to].hidden += mean;
}

/* Deal out the noise of all sums without the data; sums of members bring none,
 * as they know them. */
static void fill_table(const struct pri_sight *sight, uint32_t choice,
                       struct table *table)
{
    int32_t nodes = sight->network->nodes, dealt = 0;
    for (int32_t k = 0; k < nodes && k < LOOKED_AT && dealt < DEALT_MOST; k++) {
        int32_t relay = (int32_t)(((int64_t)sight->node + 1 + k) % nodes);
        double mean;
        if (carries(sight, relay))
            continue;
        struct deal deal = look_at(sight, relay, table, &mean);
        if (!(mean > 0))
            continue;
        dealt++;
        deal_out(table, choice, mean, &deal);
        if (deal.to >= 0 && deal.chance > 0 && !pri_sight_member(sight, relay))
            table->deal[table->count++] = deal;
    }
}

/* --------------------------------------------------------- this observer -- */

/* Whether all targets of a choice exist and none is a member's sum, which its
 * member sees without what is dealt. */
static bool is_open(const struct pri_sight *sight, const struct table *table,
                    uint32_t choice)
{
    for (int32_t t = 0; t < table->targets; t++)
        if (choice >> t & 1 && pri_sight_member(sight, table->target[t].relay))
            return false;
    return choice >> table->targets == 0;
}

/* A variance in squared radii in the unit of a source, rounded down; none where
 * it is out of range. */
static double dealt(const struct pri_sight *sight,
                    const struct pri_source *source, double size)
{
    double own, weight = pri_sight_weight(sight, source->node, &own);
    double noise =
        sqrt(size) * sight->network->radius /
        pri_raised(sight->network, sight->grid, sight->node, weight) *
        (1 - 1e-12);
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
        for (int32_t k = 0; k < table->count; k++) {
            const struct deal *deal = &table->deal[k];
            if (deal->to != source->node)
                continue;
            double size = dealt(sight, source, deal->size);
            if (deal->chance == 1)
                source->base += size;
            else
                noise[count++] = (struct pri_packet){
                    .from = deal->relay, .size = size, .chance = deal->chance};
        }
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
                                     uint32_t choice, struct pri_view *view,
                                     bool *helped)
{
    struct table *table = pri_alloc(1, sizeof *table);
    enum pricer_status status = PRICER_OK;
    *helped = false;
    if (table == NULL)
        return PRICER_MEMORY;
    find_targets(sight, table);
    if (is_open(sight, table, choice))
        fill_table(sight, choice, table);
    if (table->count > 0) {
        status = add_deals(sight, table, view);
        *helped = status == PRICER_OK;
    }
    free(table);
    return status;
}
