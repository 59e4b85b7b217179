/*
 * From a scenario to the rule that makes its network: the nodes with their
 * uplinks, and for each node its links, which follow from the scenario and the
 * places near it alone.
 */
#include "rules.h"
#include "network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Probability that a mmWave link of this length (metres) is not blocked. */
static double mmwave(double distance)
{
    return fmin(1, exp(-distance / 30 + 5.2));
}

/* ------------------------------------------------------------------ rows -- */

static enum pricer_status grow(struct pri_row *row)
{
    int32_t room = 2 * row->room + 64;
    int32_t *to = realloc(row->to, (size_t)room * sizeof *to);
    row->to = to != NULL ? to : row->to;
    double *p = realloc(row->p, (size_t)room * sizeof *p);
    row->p = p != NULL ? p : row->p;
    if (to == NULL || p == NULL)
        return PRICER_MEMORY;
    row->room = room;
    return PRICER_OK;
}

static enum pricer_status add(struct pri_row *row, int32_t to, double p)
{
    if (row->counting) {
        row->count++;
        return PRICER_OK;
    }
    if (row->count == row->room && grow(row) != PRICER_OK)
        return PRICER_MEMORY;
    row->to[row->count] = to;
    row->p[row->count++] = p;
    return PRICER_OK;
}

/* The paper's Erdos-Renyi network: every pair, one probability. */
static enum pricer_status list_all(const struct pri_rule *rule, int32_t node,
                                   struct pri_row *row)
{
    enum pricer_status status = PRICER_OK;
    double p = rule->scenario->p;
    for (int32_t to = 0; to < rule->nodes && !status && p > 0; to++)
        if (to != node)
            status = add(row, to, p);
    return status;
}

/* How many steps two nodes are apart on a ring of n. */
static int64_t ring_distance(int32_t a, int32_t b, int32_t n)
{
    int64_t ahead = a > b ? (int64_t)a - b : (int64_t)b - a;
    return ahead < n - ahead ? ahead : n - ahead;
}

static enum pricer_status list_ring(const struct pri_rule *rule, int32_t node,
                                    struct pri_row *row)
{
    int64_t n = rule->nodes, hops = rule->scenario->hops;
    double p = rule->scenario->p;
    if (2 * hops + 1 >= n)
        return list_all(rule, node, row);
    enum pricer_status status = PRICER_OK;
    /* Three pieces of the window node - hops .. node + hops, wrapped and in
     * ascending order of the receiver. */
    int64_t low = node - hops, high = node + hops;
    for (int64_t to = 0; to <= high - n && !status && p > 0; to++)
        status = add(row, (int32_t)to, p);
    for (int64_t to = low > 0 ? low : 0; to <= (high < n ? high : n - 1); to++)
        if (!status && to != node && p > 0)
            status = add(row, (int32_t)to, p);
    for (int64_t to = low + n; to < n && !status && p > 0; to++)
        status = add(row, (int32_t)to, p);
    return status;
}

/*
 * Links to those of the nodes first .. last - 1 that are near enough. Whether a
 * link is kept follows from the length alone, except within rounding of the
 * limit: counting needs no exponentials.
 */
static enum pricer_status list_near(const struct pri_rule *rule, int32_t node,
                                    int32_t first, int32_t last,
                                    struct pri_row *row)
{
    const struct pricer_network *net = rule->places;
    const int32_t base = rule->base, end = base + net->nodes;
    enum pricer_status status = PRICER_OK;
    double cutoff = rule->scenario->cutoff;
    double reach = cutoff > 0 ? 30 * (5.2 - log(cutoff)) : INFINITY;
    double sure = reach * (1 - 1e-9), never = reach * (1 + 1e-9);
    const double x = net->x[node - base], y = net->y[node - base];
    first = first > base ? first : base;
    last = last < end ? last : end;
    for (int32_t to = first; to < last && !status; to++) {
        double dx = x - net->x[to - base], dy = y - net->y[to - base];
        double square = dx * dx + dy * dy;
        if (to == node || square > never * never)
            continue;
        bool known =
            (row->counting || row->bare) && square < sure * sure && cutoff > 0;
        double p = known ? 1 : mmwave(sqrt(square));
        if (p > cutoff)
            status = add(row, to, p);
    }
    return status;
}

static enum pricer_status list_mmwave(const struct pri_rule *rule, int32_t node,
                                      struct pri_row *row)
{
    return list_near(rule, node, 0, rule->nodes, row);
}

/* The nodes near enough stand in three runs: one of each neighbouring line of
 * cells. */
static enum pricer_status list_geometric(const struct pri_rule *rule,
                                         int32_t node, struct pri_row *row)
{
    const struct pri_cell_list *cells = rule->cells;
    const struct pricer_network *net = rule->places;
    int32_t column = pri_cell_list_line(cells, net->x[node - rule->base]);
    int32_t line = pri_cell_list_line(cells, net->y[node - rule->base]);
    int32_t left = column > 0 ? column - 1 : 0;
    int32_t right = column + 1 < cells->across ? column + 1 : column;
    enum pricer_status status = PRICER_OK;
    for (int32_t y = line - 1; y <= line + 1 && !status; y++)
        if (y >= 0 && y < cells->across) {
            int64_t base = (int64_t)y * cells->across;
            status = list_near(rule, node, cells->start[base + left],
                               cells->start[base + right + 1], row);
        }
    return status;
}

/* ----------------------------------------------------------------- nodes -- */

/* The uplinks of the generators: one number or a list, good nodes first. */
static enum pricer_status fill_uplinks(const struct pricer_scenario *scenario,
                                       struct pricer_network *net,
                                       struct pricer_fault *fault)
{
    const struct pri_list *given = &scenario->uplink;
    if (given->count > 1 && given->count != net->nodes)
        return pri_scenario_fault(
            scenario, "network.uplink", fault,
            "network.uplink has %lld entries for %d nodes",
            (long long)given->count, (int)net->nodes);
    if (given->count == 0 && scenario->good_count < net->nodes)
        return pri_scenario_fault(scenario, "", fault,
                                  "the key network.uplink is missing");
    if (scenario->good_count > net->nodes)
        return pri_scenario_fault(scenario, "network.good.count", fault,
                                  "%lld good nodes are more than there are",
                                  (long long)scenario->good_count);
    for (int32_t i = 0; i < net->nodes; i++)
        net->uplink[i] = i < scenario->good_count ? scenario->good_uplink
                         : given->count > 1       ? given->values[i]
                                                  : given->values[0];
    return PRICER_OK;
}

/*
 * The paper's three clusters around the server. The good node
 * of each cluster stands 159 m from the server, the others 159 m from it.
 */
static void place_scattered(double *x, double *y)
{
    static const struct {
        int cluster;
        double angle; /* from the cluster's direction; 0: the good node */
    } places[10] = {{0, 0},     {0, 1.582},  {0, -1.582}, {1, 0},
                    {1, 1.582}, {1, -1.582}, {2, 0},      {2, -1.582},
                    {2, -1.54}, {2, 1.582}};
    const double third = 2 * acos(-1) / 3, far = 159;
    for (int i = 0; i < 10; i++) {
        double direction = places[i].cluster * third;
        x[i] = far * cos(direction);
        y[i] = far * sin(direction);
        if (places[i].angle != 0) {
            x[i] += far * cos(direction + places[i].angle);
            y[i] += far * sin(direction + places[i].angle);
        }
    }
}

/* Uplinks from the distance to the server at the origin, unless given. */
static enum pricer_status fill_mmwave(const struct pricer_scenario *scenario,
                                      struct pricer_network *net,
                                      struct pricer_fault *fault)
{
    bool preset = scenario->preset >= 0;
    if (preset)
        place_scattered(net->x, net->y);
    for (int32_t i = 0; i < net->nodes && !preset; i++) {
        net->x[i] = scenario->positions.values[2 * i];
        net->y[i] = scenario->positions.values[2 * i + 1];
    }
    if (scenario->uplink.count > 0)
        return fill_uplinks(scenario, net, fault);
    for (int32_t i = 0; i < net->nodes; i++) {
        double p = mmwave(hypot(net->x[i], net->y[i]));
        net->uplink[i] = preset ? round(100 * p) / 100 : p;
    }
    return PRICER_OK;
}

enum pricer_status pri_rule_cells(struct pri_rule *rule, int32_t nodes,
                                  struct pri_cell_list *cells,
                                  struct pricer_fault *fault)
{
    rule->nodes = nodes;
    rule->list = list_geometric;
    rule->cells = cells;
    if (rule->scenario->uplink.count > 1)
        return pri_scenario_fault(
            rule->scenario, "network.uplink", fault,
            "network.uplink is one number where nodes are at random");
    return pri_place_cells(rule->scenario, nodes, cells);
}

int32_t pri_rule_count(const struct pricer_scenario *scenario, bool *placed)
{
    bool mmwaves = scenario->generator == PRI_GENERATOR_MMWAVE;
    *placed = mmwaves || scenario->generator == PRI_GENERATOR_GEOMETRIC;
    if (!mmwaves)
        return (int32_t)scenario->nodes;
    return scenario->preset >= 0 ? 10
                                 : (int32_t)(scenario->positions.count / 2);
}

enum pricer_status pri_rule_nodes(struct pri_rule *rule,
                                  struct pricer_network *net,
                                  struct pri_cell_list *cells,
                                  struct pricer_fault *fault)
{
    const struct pricer_scenario *scenario = rule->scenario;
    rule->nodes = net->nodes;
    rule->places = net;
    for (int32_t i = 0; i < net->nodes; i++) {
        net->self_eps[i] = scenario->self_eps;
        net->self_delta[i] = scenario->self_delta;
    }
    switch (scenario->generator) {
    case PRI_GENERATOR_RING:
        rule->list = list_ring;
        return fill_uplinks(scenario, net, fault);
    case PRI_GENERATOR_MMWAVE:
        rule->list = list_mmwave;
        return fill_mmwave(scenario, net, fault);
    case PRI_GENERATOR_GEOMETRIC: {
        enum pricer_status status =
            pri_rule_cells(rule, net->nodes, cells, fault);
        if (status == PRICER_OK)
            pri_place_window(scenario, net->nodes, cells, 0, net);
        return status;
    }
    default:
        rule->list = list_all;
        return fill_uplinks(scenario, net, fault);
    }
}

/* ----------------------------------------------------------------- trust -- */

void pri_rule_trust(const struct pri_rule *rule, int32_t from, int32_t to,
                    struct pricer_network *net, int32_t link)
{
    const struct pricer_scenario *scenario = rule->scenario;
    int64_t apart = ring_distance(from, to, rule->nodes);
    net->eps[link] = scenario->eps;
    net->delta[link] = scenario->delta;
    if (apart <= scenario->ring_hops) {
        net->eps[link] = scenario->ring_eps;
        net->delta[link] = scenario->ring_delta;
    } else if (net->p[link] > scenario->probable_above) {
        net->eps[link] = scenario->probable_eps;
        net->delta[link] = scenario->probable_delta;
    }
}
