/*
 * From a scenario to one rank's part of its network.
 *
 * A rule lists the links of any node by itself, so a rank lists the rows of its
 * own nodes and of their neighbours, and holds no others. Nodes at random need
 * the places around them: the cells are counted by everyone, which takes four
 * bytes a node while the part is made, and of the places a rank keeps those of
 * its own lines of cells and of one line on either side.
 *
 * The whole is cut where a process alone would cut it into blocks: by the
 * number of links, which the ranks count in equal parts first.
 */
#include "rules.h"
#include "network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct making {
    struct pri_part *part;
    struct pri_rule rule;
    struct pri_cell_list cells;
    struct pricer_network *places; /* of the nodes from rule.base on */
    struct pri_row row;
    int32_t rank, ranks;
    int32_t first, last; /* own nodes, in the whole network */
    int32_t *local;      /* [places] the number here, or -1 */
    const struct pricer_watch *watch;
    struct pricer_fault *fault;
};

/* ---------------------------------------------------------------- places -- */

/* Where the lines of cells begin that nodes first .. last - 1 and their
 * neighbours stand in, and end. */
static void find_window(const struct pri_cell_list *cells, int32_t first,
                        int32_t last, int32_t *begin, int32_t *end)
{
    int64_t across = cells->across;
    int64_t low = 0, high = across - 1;
    while (low + 1 < across && cells->start[(low + 1) * across] <= first)
        low++;
    while (high > 0 && cells->start[high * across] >= last)
        high--;
    low = low > 0 ? low - 1 : 0;
    high = high + 2 < across ? high + 2 : across;
    *begin = cells->start[low * across];
    *end = cells->start[high * across];
}

/* Places of what nodes first .. last - 1 may have links to. */
static enum pricer_status place(struct making *making, int32_t first,
                                int32_t last)
{
    struct pri_rule *rule = &making->rule;
    int32_t begin, end;
    if (rule->cells == NULL)
        return PRICER_OK; /* everyone has a place */
    find_window(&making->cells, first, last, &begin, &end);
    pricer_network_free(making->places);
    making->places = NULL;
    enum pricer_status status =
        pri_network_new(end - begin, true, &making->places);
    if (status != PRICER_OK)
        return status;
    pri_place_window(rule->scenario, rule->nodes, &making->cells, begin,
                     making->places);
    rule->places = making->places;
    rule->base = begin;
    return PRICER_OK;
}

/* The rule, and for all but nodes at random the nodes. */
static enum pricer_status begin(struct making *making)
{
    const struct pricer_scenario *scenario = making->rule.scenario;
    bool placed;
    int32_t nodes = pri_rule_count(scenario, &placed);
    making->part->nodes = nodes;
    making->part->wanted = nodes; /* all are alike */
    if (nodes < making->ranks || making->ranks > PRI_BLOCKS)
        return pri_fault(making->fault, PRICER_VALUE,
                         "%d ranks are too many: at most %d, and no more than "
                         "there are nodes",
                         (int)making->ranks, PRI_BLOCKS);
    if (scenario->generator == PRI_GENERATOR_GEOMETRIC)
        return pri_rule_cells(&making->rule, nodes, &making->cells,
                              making->fault);
    enum pricer_status status = pri_network_new(nodes, placed, &making->places);
    if (status != PRICER_OK)
        return status;
    return pri_rule_nodes(&making->rule, making->places, &making->cells,
                          making->fault);
}

/* --------------------------------------------------------------- the cut -- */

/* Whether to go on, asked now and then. */
static bool going(const struct making *making, int32_t i)
{
    return i % 8192 != 0 || pri_tick(making->watch, 0);
}

/* Count the links of an equal part of the nodes. */
static enum pricer_status count_rows(struct making *making, int32_t low,
                                     int32_t high, int32_t *links)
{
    struct pri_rule *rule = &making->rule;
    making->row.counting = true;
    for (int32_t i = low; i < high; i++) {
        making->row.count = 0;
        enum pricer_status status = rule->list(rule, i, &making->row);
        if (status != PRICER_OK)
            return status;
        links[i - low] = making->row.count;
        if (!going(making, i))
            return PRICER_STOPPED;
    }
    making->row.counting = false;
    return PRICER_OK;
}

static void add_up(const struct pri_part *part, int64_t *values, int64_t count)
{
    if (part->crew != NULL)
        part->crew->add(part->crew->context, values, count);
}

/* Block b begins at the first node with as much work before it as b blocks
 * have: count those with less. */
static void cut(struct making *making, int32_t low, int32_t high,
                const int32_t *links)
{
    struct pri_part *part = making->part;
    int64_t sums[PRI_BLOCKS + 1] = {0}, begin[PRI_BLOCKS] = {0}, before = low;
    for (int32_t i = low; i < high; i++)
        sums[making->rank] += links[i - low];
    add_up(part, sums, making->ranks);
    for (int32_t r = 0; r < making->ranks; r++) {
        part->links += sums[r];
        before += r < making->rank ? sums[r] : 0;
    }
    int64_t work = part->links + part->nodes;
    part->blocks = pri_block_count(work);
    if (part->blocks < making->ranks)
        part->blocks = making->ranks;
    for (int32_t i = low, b = 0; i < high; i++) {
        while (b < part->blocks && work / part->blocks * b <= before)
            b++;
        for (int32_t k = b; k < part->blocks; k++)
            begin[k]++;
        before += links[i - low] + 1;
    }
    add_up(part, begin, part->blocks);
    for (int32_t b = 0; b < part->blocks; b++)
        part->block[b] = (int32_t)begin[b];
    part->block[part->blocks] = part->nodes;
    for (int32_t r = 0; r <= making->ranks; r++)
        part->bounds[r] = (int64_t)part->blocks * r / making->ranks;
    making->first = part->block[part->bounds[making->rank]];
    making->last = part->block[part->bounds[making->rank + 1]];
}

static enum pricer_status choose_nodes(struct making *making)
{
    int64_t nodes = making->part->nodes, ranks = making->ranks;
    int32_t low = (int32_t)(nodes * making->rank / ranks);
    int32_t high = (int32_t)(nodes * (making->rank + 1) / ranks);
    int32_t *links = pri_alloc(high - low, sizeof *links);
    enum pricer_status status = links == NULL ? PRICER_MEMORY : PRICER_OK;
    if (status == PRICER_OK)
        status = place(making, low, high);
    if (status == PRICER_OK)
        status = count_rows(making, low, high, links);
    if (status == PRICER_OK)
        cut(making, low, high, links);
    free(links);
    return status;
}

/* ------------------------------------------------------------------ rows -- */

static bool is_own(const struct making *making, int32_t node)
{
    return node >= making->first && node < making->last;
}

/* The links of a node that are held here; of a ghost, those to own nodes. */
static enum pricer_status list(struct making *making, int32_t node, bool bare)
{
    struct pri_row *row = &making->row;
    row->count = 0;
    row->bare = bare;
    enum pricer_status status = making->rule.list(&making->rule, node, row);
    if (status != PRICER_OK || is_own(making, node))
        return status;
    int32_t kept = 0;
    for (int32_t k = 0; k < row->count; k++)
        if (is_own(making, row->to[k])) {
            row->to[kept] = row->to[k];
            row->p[kept++] = row->p[k];
        }
    row->count = kept;
    return PRICER_OK;
}

/* Who is held here, in the order of the whole. */
static enum pricer_status find_ghosts(struct making *making)
{
    int32_t base = making->rule.base, window = making->places->nodes, count = 0;
    making->local = pri_alloc(window, sizeof *making->local);
    if (making->local == NULL)
        return PRICER_MEMORY;
    for (int32_t i = making->first; i < making->last; i++) {
        enum pricer_status status = list(making, i, true);
        if (status != PRICER_OK)
            return status;
        making->local[i - base] = 1;
        for (int32_t k = 0; k < making->row.count; k++)
            making->local[making->row.to[k] - base] = 1;
        if (!going(making, i))
            return PRICER_STOPPED;
    }
    for (int32_t k = 0; k < window; k++)
        making->local[k] = making->local[k] != 0 ? count++ : -1;
    struct pri_part *part = making->part;
    enum pricer_status status = pri_network_new(count, false, &part->network);
    part->number = pri_alloc(count, sizeof *part->number);
    if (status != PRICER_OK || part->number == NULL)
        return PRICER_MEMORY;
    for (int32_t k = 0; k < window; k++)
        if (making->local[k] >= 0)
            part->number[making->local[k]] = base + k;
    part->low = making->local[making->first - base];
    part->high = part->low + making->last - making->first;
    return PRICER_OK;
}

static enum pricer_status make_room(struct making *making)
{
    struct pri_part *part = making->part;
    struct pricer_network *net = part->network;
    const struct pricer_scenario *scenario = making->rule.scenario;
    int64_t links = 0;
    net->dimension = scenario->dimension;
    net->radius = scenario->radius;
    enum pricer_status measured = pri_network_lengths(
        net, scenario->diameter, NULL, NULL, NULL, making->fault);
    if (measured == PRICER_OK)
        measured = pri_network_relate(net, scenario->step, making->fault);
    if (measured != PRICER_OK)
        return measured;
    for (int32_t i = 0; i < net->nodes; i++) {
        enum pricer_status status = list(making, part->number[i], true);
        if (status != PRICER_OK)
            return status;
        links += making->row.count;
        if (links > INT32_MAX - 1)
            return pri_fault(making->fault, PRICER_VALUE,
                             "a rank would hold more than %d links: take more "
                             "ranks",
                             INT32_MAX - 1);
        net->out_start[i + 1] = (int32_t)links;
        net->uplink[i] =
            making->places->uplink[part->number[i] - making->rule.base];
        net->self_eps[i] = scenario->self_eps;
        net->self_delta[i] = scenario->self_delta;
    }
    return pri_network_room(net, (int32_t)links);
}

static enum pricer_status fill_rows(struct making *making)
{
    struct pri_part *part = making->part;
    struct pricer_network *net = part->network;
    for (int32_t i = 0; i < net->nodes; i++) {
        int32_t node = part->number[i], first = net->out_start[i];
        enum pricer_status status = list(making, node, false);
        if (status != PRICER_OK)
            return status;
        for (int32_t k = 0; k < making->row.count; k++) {
            int32_t to = making->row.to[k], link = first + k;
            net->to[link] = making->local[to - making->rule.base];
            net->p[link] = making->row.p[k];
            net->joint[link] = NAN;
            pri_rule_trust(&making->rule, node, to, net, link);
        }
        if (!going(making, i))
            return PRICER_STOPPED;
    }
    pri_network_finish(net, making->rule.scenario->reciprocity);
    return PRICER_OK;
}

/* ------------------------------------------------------------------ make -- */

static enum pricer_status refuse(const struct pricer_scenario *scenario,
                                 struct pricer_fault *fault)
{
    if (scenario->generator == PRI_GENERATOR_FILES)
        return pri_fault(fault, PRICER_VALUE,
                         "ranks make their parts of networks that are "
                         "generated; one from files is planned by a process "
                         "alone");
    if (scenario->scheme == PRICER_SCHEME_FORWARD)
        return pri_fault(fault, PRICER_VALUE,
                         "ranks do not know 'scheme: forward' yet: a process "
                         "alone plans it");
    if (scenario->server_eps < INFINITY)
        return pri_fault(fault, PRICER_VALUE,
                         "a network with budgets towards the server is planned "
                         "by a process alone");
    return PRICER_OK;
}

enum pricer_status pri_part_make(const struct pricer_scenario *scenario,
                                 const struct pricer_crew *crew,
                                 const struct pricer_watch *watch,
                                 struct pri_part **part,
                                 struct pricer_fault *fault)
{
    struct making making = {.rule.scenario = scenario,
                            .rank = crew == NULL ? 0 : crew->rank,
                            .ranks = crew == NULL ? 1 : crew->ranks,
                            .watch = watch,
                            .fault = fault};
    enum pricer_status status = refuse(scenario, fault);
    if (status != PRICER_OK)
        return status;
    making.part = pri_alloc(1, sizeof *making.part);
    if (making.part == NULL)
        return PRICER_MEMORY;
    making.part->crew = crew;
    status = begin(&making);
    if (status == PRICER_OK)
        status = choose_nodes(&making);
    if (status == PRICER_OK)
        status = place(&making, making.first, making.last);
    if (status == PRICER_OK)
        status = find_ghosts(&making);
    if (status == PRICER_OK)
        status = make_room(&making);
    if (status == PRICER_OK)
        status = fill_rows(&making);
    if (status == PRICER_OK)
        status = pri_part_exchanges(making.part);
    free(making.cells.start);
    free(making.local);
    free(making.row.to);
    free(making.row.p);
    pricer_network_free(making.places);
    if (status != PRICER_OK) {
        pri_part_free(making.part);
        return status;
    }
    *part = making.part;
    return PRICER_OK;
}
