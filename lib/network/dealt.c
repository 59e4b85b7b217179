/*
 * From a network that one rank holds to every rank's part of it, and back from
 * what the ranks know of their parts to one array.
 *
 * Rank 0 orders the nodes, cuts them into blocks of about equal work, and sends
 * each rank, one after the other, its rows and those of its ghosts. A link whose
 * opposite does not exist gets one in the part, of probability 0: then all rows
 * are mirrored, and what a rank lends another is what that one expects.
 */
#include "network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What every rank has to know. */
struct frame {
    int64_t dimension, rows; /* links, missing opposites counted */
    double radius, wanted;
    int32_t nodes, blocks;
    int32_t block[PRI_BLOCKS + 1];
    int64_t bounds[PRI_BLOCKS + 1];
};

struct pri_deal {
    const struct pricer_crew *crew;
    struct frame frame;
    /* Of rank 0 alone: */
    const struct pricer_network *network;
    int32_t *order, *place; /* [nodes] who stands where, and the inverse */
    int64_t *start;         /* [nodes + 1] where the row of a place begins */
    struct entry *row;      /* room for the longest */
    int32_t *local;         /* [nodes] by place: the number in a part, or -1 */
};

/* One link of a row: to which place; -1 where it is a missing opposite. */
struct entry {
    int32_t place, link;
};

/* What is sent. */
struct sent_node {
    double uplink, self_eps, self_delta, radius, diameter;
    int32_t number, place, links, spare;
};

struct sent_link {
    double p, joint, eps, delta;
    int32_t to, spare;
};

struct parcel {
    int64_t counts[3]; /* nodes, links, the first own node */
    struct sent_node *nodes;
    struct sent_link *links;
};

/* ------------------------------------------------------------------ rows -- */

static int32_t row_length(const struct pricer_network *net, int32_t node)
{
    int32_t count = net->out_start[node + 1] - net->out_start[node];
    for (int32_t k = net->in_start[node]; k < net->in_start[node + 1]; k++)
        count += net->partner[net->in_link[k]] < 0;
    return count;
}

static int by_place(const void *a, const void *b)
{
    const struct entry *one = a, *two = b;
    return (one->place > two->place) - (one->place < two->place);
}

/* The row of the node at a place, in the order of places. */
static int32_t list_row(const struct pri_deal *deal, int32_t at)
{
    const struct pricer_network *net = deal->network;
    int32_t node = deal->order[at], count = 0;
    bool sorted = true;
    for (int32_t l = net->out_start[node]; l < net->out_start[node + 1]; l++)
        deal->row[count++] = (struct entry){deal->place[net->to[l]], l};
    for (int32_t k = net->in_start[node]; k < net->in_start[node + 1]; k++) {
        int32_t l = net->in_link[k];
        if (net->partner[l] < 0)
            deal->row[count++] = (struct entry){deal->place[net->from[l]], -1};
    }
    for (int32_t k = 1; k < count; k++)
        sorted = sorted && deal->row[k - 1].place < deal->row[k].place;
    if (!sorted)
        qsort(deal->row, (size_t)count, sizeof *deal->row, by_place);
    return count;
}

/* ------------------------------------------------------------------- cut -- */

static int32_t ranks_of(const struct pri_deal *deal)
{
    return deal->crew == NULL ? 1 : deal->crew->ranks;
}

static bool leads(const struct pri_deal *deal)
{
    return deal->crew == NULL || deal->crew->rank == 0;
}

/* Where the own nodes of a rank begin; of ranks, where they end. */
static int32_t first_of(const struct frame *frame, int32_t rank)
{
    return frame->block[frame->bounds[rank]];
}

/* As a process alone cuts them: lib/optimise/sweep.c. */
static void cut(struct pri_deal *deal)
{
    struct frame *frame = &deal->frame;
    int64_t work = frame->rows + frame->nodes;
    int32_t at = 0;
    frame->blocks = pri_block_count(work);
    if (frame->blocks < ranks_of(deal))
        frame->blocks = ranks_of(deal);
    for (int32_t b = 0; b < frame->blocks; b++) {
        int64_t target = work / frame->blocks * b;
        while (at < frame->nodes && deal->start[at] + at < target)
            at++;
        frame->block[b] = at;
    }
    frame->block[frame->blocks] = frame->nodes;
    for (int32_t r = 0; r <= ranks_of(deal); r++)
        frame->bounds[r] = (int64_t)frame->blocks * r / ranks_of(deal);
}

static enum pricer_status begin(struct pri_deal *deal)
{
    const struct pricer_network *net = deal->network;
    struct frame *frame = &deal->frame;
    int32_t longest = 0;
    deal->order = pri_alloc(net->nodes, sizeof(int32_t));
    deal->place = pri_alloc(net->nodes, sizeof(int32_t));
    deal->local = pri_alloc(net->nodes, sizeof(int32_t));
    deal->start = pri_alloc((int64_t)net->nodes + 1, sizeof(int64_t));
    if (!deal->order || !deal->place || !deal->local || !deal->start)
        return PRICER_MEMORY;
    enum pricer_status status =
        pri_network_order(net, ranks_of(deal), deal->order);
    if (status != PRICER_OK)
        return status;
    for (int32_t k = 0; k < net->nodes; k++) {
        int32_t length = row_length(net, deal->order[k]);
        deal->place[deal->order[k]] = k;
        deal->start[k + 1] = deal->start[k] + length;
        longest = length > longest ? length : longest;
        frame->wanted += pri_network_ratio(net, k);
    }
    deal->row = pri_alloc(longest, sizeof *deal->row);
    frame->dimension = net->dimension;
    frame->radius = net->radius;
    frame->nodes = net->nodes;
    frame->rows = deal->start[net->nodes];
    cut(deal);
    return deal->row == NULL ? PRICER_MEMORY : PRICER_OK;
}

enum pricer_status pri_deal_new(const struct pricer_network *network,
                                const struct pricer_crew *crew,
                                struct pri_deal **deal)
{
    struct pri_deal *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->crew = crew;
    made->network = network;
    if (leads(made)) {
        enum pricer_status status = begin(made);
        if (status != PRICER_OK) {
            pri_deal_free(made);
            return status;
        }
    }
    if (crew != NULL)
        crew->spread(crew->context, 0, &made->frame, sizeof made->frame);
    *deal = made;
    return PRICER_OK;
}

void pri_deal_free(struct pri_deal *deal)
{
    if (deal == NULL)
        return;
    free(deal->order);
    free(deal->place);
    free(deal->start);
    free(deal->row);
    free(deal->local);
    free(deal);
}

/* --------------------------------------------------------------- sending -- */

static bool is_between(int32_t place, int32_t first, int32_t last)
{
    return place >= first && place < last;
}

/* Number the nodes that the rank holds, in the order of places. */
static int64_t number_held(struct pri_deal *deal, int32_t first, int32_t last)
{
    int32_t count = 0;
    memset(deal->local, -1, (size_t)deal->frame.nodes * sizeof(int32_t));
    for (int32_t at = first; at < last; at++) {
        int32_t length = list_row(deal, at);
        deal->local[at] = 0;
        for (int32_t k = 0; k < length; k++)
            deal->local[deal->row[k].place] = 0;
    }
    for (int32_t at = 0; at < deal->frame.nodes; at++)
        if (deal->local[at] == 0)
            deal->local[at] = count++;
    return count;
}

static struct sent_link send_link(const struct pri_deal *deal,
                                  const struct entry *entry)
{
    const struct pricer_network *net = deal->network;
    int32_t l = entry->link;
    struct sent_link link = {.eps = INFINITY, .delta = 1};
    if (l >= 0)
        link = (struct sent_link){.p = net->p[l],
                                  .joint = net->joint[l],
                                  .eps = net->eps[l],
                                  .delta = net->delta[l]};
    link.to = deal->local[entry->place];
    return link;
}

/* The row of one held node, behind the `count` links before it; where there are
 * no links to write to it is only counted. */
static int64_t send_row(const struct pri_deal *deal, int32_t at, int32_t first,
                        int32_t last, int64_t count, struct parcel *parcel)
{
    int32_t length = list_row(deal, at);
    for (int32_t k = 0; k < length; k++)
        if (is_between(at, first, last) ||
            is_between(deal->row[k].place, first, last)) {
            if (parcel->links != NULL)
                parcel->links[count] = send_link(deal, &deal->row[k]);
            count++;
        }
    return count;
}

static struct sent_node send_node(const struct pri_deal *deal, int32_t at)
{
    const struct pricer_network *net = deal->network;
    int32_t node = deal->order[at];
    return (struct sent_node){.uplink = net->uplink[node],
                              .self_eps = net->self_eps[node],
                              .self_delta = net->self_delta[node],
                              .radius = net->node_radius[node],
                              .diameter = net->node_diameter[node],
                              .number = node,
                              .place = at};
}

static enum pricer_status pack(struct pri_deal *deal, int32_t rank,
                               struct parcel *parcel)
{
    int32_t first = first_of(&deal->frame, rank);
    int32_t last = first_of(&deal->frame, rank + 1);
    int64_t count = 0;
    parcel->counts[0] = number_held(deal, first, last);
    parcel->counts[2] = first < last ? deal->local[first] : 0;
    parcel->nodes = pri_alloc(parcel->counts[0], sizeof *parcel->nodes);
    if (parcel->nodes == NULL)
        return PRICER_MEMORY;
    for (int32_t at = 0; at < deal->frame.nodes; at++) {
        if (deal->local[at] < 0)
            continue;
        struct sent_node *node = &parcel->nodes[deal->local[at]];
        *node = send_node(deal, at);
        int64_t before = count;
        count = send_row(deal, at, first, last, count, parcel);
        node->links = (int32_t)(count - before);
    }
    parcel->counts[1] = count;
    parcel->links = pri_alloc(count, sizeof *parcel->links);
    if (parcel->links == NULL)
        return PRICER_MEMORY;
    count = 0;
    for (int32_t at = 0; at < deal->frame.nodes; at++)
        if (deal->local[at] >= 0)
            count = send_row(deal, at, first, last, count, parcel);
    return PRICER_OK;
}

/* From rank 0 to `rank`, which gets the parcel as it was packed. */
static enum pricer_status pass(struct pri_deal *deal, int32_t rank,
                               struct parcel *parcel)
{
    const struct pricer_crew *crew = deal->crew;
    int64_t give[PRI_BLOCKS] = {0}, got[PRI_BLOCKS] = {0};
    if (rank == 0)
        return PRICER_OK; /* packed where it is wanted */
    crew->spread(crew->context, 0, parcel->counts, sizeof parcel->counts);
    if (crew->rank == rank) {
        parcel->nodes = pri_alloc(parcel->counts[0], sizeof *parcel->nodes);
        parcel->links = pri_alloc(parcel->counts[1], sizeof *parcel->links);
        if (parcel->nodes == NULL || parcel->links == NULL)
            return PRICER_MEMORY;
    }
    for (int what = 0; what < 2; what++) {
        void *items = what == 0 ? (void *)parcel->nodes : (void *)parcel->links;
        give[rank] = crew->rank == 0 ? parcel->counts[what] : 0;
        got[0] = crew->rank == rank ? parcel->counts[what] : 0;
        crew->trade(crew->context,
                    what == 0 ? sizeof *parcel->nodes : sizeof *parcel->links,
                    items, give, items, got);
    }
    return PRICER_OK;
}

/* ------------------------------------------------------------- receiving -- */

static enum pricer_status unpack_nodes(const struct parcel *parcel,
                                       struct pri_part *part)
{
    struct pricer_network *net = part->network;
    int64_t links = 0;
    part->number = pri_alloc(net->nodes, sizeof(int32_t));
    part->original = pri_alloc(net->nodes, sizeof(int32_t));
    if (part->number == NULL || part->original == NULL)
        return PRICER_MEMORY;
    for (int32_t i = 0; i < net->nodes; i++) {
        const struct sent_node *node = &parcel->nodes[i];
        part->number[i] = node->place;
        part->original[i] = node->number;
        net->uplink[i] = node->uplink;
        net->self_eps[i] = node->self_eps;
        net->self_delta[i] = node->self_delta;
        net->node_radius[i] = node->radius;
        net->node_diameter[i] = node->diameter;
        links += node->links;
        net->out_start[i + 1] = (int32_t)links;
    }
    return PRICER_OK;
}

static enum pricer_status unpack(const struct pri_deal *deal,
                                 const struct parcel *parcel,
                                 struct pri_part *part)
{
    enum pricer_status status =
        pri_network_new((int32_t)parcel->counts[0], false, &part->network);
    if (status == PRICER_OK)
        status = unpack_nodes(parcel, part);
    if (status == PRICER_OK)
        status = pri_network_room(part->network, (int32_t)parcel->counts[1]);
    if (status != PRICER_OK)
        return status;
    struct pricer_network *net = part->network;
    for (int32_t l = 0; l < net->links; l++) {
        net->to[l] = parcel->links[l].to;
        net->p[l] = parcel->links[l].p;
        net->joint[l] = parcel->links[l].joint;
        net->eps[l] = parcel->links[l].eps;
        net->delta[l] = parcel->links[l].delta;
    }
    net->dimension = deal->frame.dimension;
    net->radius = deal->frame.radius;
    pri_network_finish(net, 0);
    return PRICER_OK;
}

static void describe(const struct pri_deal *deal, const struct parcel *parcel,
                     struct pri_part *part)
{
    const struct frame *frame = &deal->frame;
    int32_t rank = deal->crew == NULL ? 0 : deal->crew->rank;
    part->crew = deal->crew;
    part->nodes = frame->nodes;
    part->links = frame->rows;
    part->wanted = frame->wanted;
    part->blocks = frame->blocks;
    memcpy(part->block, frame->block, sizeof part->block);
    memcpy(part->bounds, frame->bounds, sizeof part->bounds);
    part->low = (int32_t)parcel->counts[2];
    part->high = part->low + first_of(frame, rank + 1) - first_of(frame, rank);
}

enum pricer_status pri_deal_part(struct pri_deal *deal, struct pri_part **part)
{
    struct pri_part *made = pri_alloc(1, sizeof *made);
    enum pricer_status status = made == NULL ? PRICER_MEMORY : PRICER_OK;
    int32_t rank = deal->crew == NULL ? 0 : deal->crew->rank;
    for (int32_t r = 0; r < ranks_of(deal) && status == PRICER_OK; r++) {
        struct parcel parcel = {.nodes = NULL};
        if (leads(deal))
            status = pack(deal, r, &parcel);
        if (status == PRICER_OK)
            status = pass(deal, r, &parcel);
        if (status == PRICER_OK && r == rank)
            status = unpack(deal, &parcel, made);
        if (status == PRICER_OK && r == rank)
            describe(deal, &parcel, made);
        free(parcel.nodes);
        free(parcel.links);
    }
    if (status == PRICER_OK)
        status = pri_part_exchanges(made);
    if (status != PRICER_OK) {
        pri_part_free(made);
        return status;
    }
    *part = made;
    return PRICER_OK;
}

/* ------------------------------------------------------------ bring back -- */

/* What the ranks have, one after the other, to rank 0, which knows how much. */
static void bring(const struct pri_deal *deal, const double *mine,
                  int64_t count, const int64_t *counts, double *taken)
{
    const struct pricer_crew *crew = deal->crew;
    int64_t give[PRI_BLOCKS] = {count};
    if (crew == NULL)
        memcpy(taken, mine, (size_t)count * sizeof *mine);
    else
        crew->trade(crew->context, sizeof *mine, mine, give, taken, counts);
}

enum pricer_status pri_deal_nodes(const struct pri_deal *deal,
                                  const struct pri_part *part,
                                  const double *mine, double *all)
{
    const struct frame *frame = &deal->frame;
    int64_t counts[PRI_BLOCKS] = {0};
    double *taken = pri_alloc(leads(deal) ? frame->nodes : 0, sizeof(double));
    if (taken == NULL)
        return PRICER_MEMORY;
    for (int32_t r = 0; leads(deal) && r < ranks_of(deal); r++)
        counts[r] = first_of(frame, r + 1) - first_of(frame, r);
    bring(deal, mine + part->low, part->high - part->low, counts, taken);
    for (int32_t k = 0; leads(deal) && k < frame->nodes; k++)
        all[deal->order[k]] = taken[k];
    free(taken);
    return PRICER_OK;
}

enum pricer_status pri_deal_links(const struct pri_deal *deal,
                                  const struct pri_part *part,
                                  const double *mine, double *all)
{
    const struct frame *frame = &deal->frame;
    const int32_t *start = part->network->out_start;
    int64_t counts[PRI_BLOCKS] = {0};
    double *taken = pri_alloc(leads(deal) ? frame->rows : 0, sizeof(double));
    if (taken == NULL)
        return PRICER_MEMORY;
    for (int32_t r = 0; leads(deal) && r < ranks_of(deal); r++)
        counts[r] = deal->start[first_of(frame, r + 1)] -
                    deal->start[first_of(frame, r)];
    bring(deal, mine + start[part->low], start[part->high] - start[part->low],
          counts, taken);
    for (int32_t at = 0; leads(deal) && at < frame->nodes; at++) {
        int32_t length = list_row(deal, at);
        for (int32_t k = 0; k < length; k++)
            if (deal->row[k].link >= 0)
                all[deal->row[k].link] = taken[deal->start[at] + k];
    }
    free(taken);
    return PRICER_OK;
}
