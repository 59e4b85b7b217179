/*
 * From a scenario to its network: the generators, and the choice between them
 * and files.
 *
 * Every generator is a rule that lists the links leaving one node, in order of
 * their receivers. The network asks for each row twice, once to count and once
 * to fill, so nothing but the network itself is ever in memory.
 */
#include "placement.h"
#include "network.h"
#include "read/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Probability that a mmWave link of this length (metres) is not blocked. */
static double mmwave(double distance)
{
    return fmin(1, exp(-distance / 30 + 5.2));
}

/* ------------------------------------------------------------------ rows -- */

/* One row: the receivers of a node and the probability of reaching them, or
 * while rows are only counted, how many there are. */
struct row {
    bool counting; /* to and p stay empty */
    int32_t *to;   /* [room] */
    double *p;     /* [room] */
    int32_t count;
    int32_t room;
};

/* What a generator knows while it lists rows. */
struct maker {
    const struct pricer_scenario *scenario;
    const struct pricer_network *network; /* with sizes and positions */
    const struct pri_cell_list *cells;    /* geometric only */
    enum pricer_status (*list)(const struct maker *maker, int32_t node,
                               struct row *row);
};

static enum pricer_status grow(struct row *row)
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

static enum pricer_status add(struct row *row, int32_t to, double p)
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
static enum pricer_status list_all(const struct maker *maker, int32_t node,
                                   struct row *row)
{
    enum pricer_status status = PRICER_OK;
    double p = maker->scenario->p;
    for (int32_t to = 0; to < maker->network->nodes && !status && p > 0; to++)
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

static enum pricer_status list_ring(const struct maker *maker, int32_t node,
                                    struct row *row)
{
    int64_t n = maker->network->nodes, hops = maker->scenario->hops;
    double p = maker->scenario->p;
    if (2 * hops + 1 >= n)
        return list_all(maker, node, row);
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
static enum pricer_status list_near(const struct maker *maker, int32_t node,
                                    int32_t first, int32_t last,
                                    struct row *row)
{
    const struct pricer_network *net = maker->network;
    enum pricer_status status = PRICER_OK;
    double cutoff = maker->scenario->cutoff;
    double reach = cutoff > 0 ? 30 * (5.2 - log(cutoff)) : INFINITY;
    double sure = reach * (1 - 1e-9), never = reach * (1 + 1e-9);
    for (int32_t to = first; to < last && !status; to++) {
        double dx = net->x[node] - net->x[to], dy = net->y[node] - net->y[to];
        double square = dx * dx + dy * dy;
        if (to == node || square > never * never)
            continue;
        bool known = row->counting && square < sure * sure && cutoff > 0;
        double p = known ? 1 : mmwave(sqrt(square));
        if (p > cutoff)
            status = add(row, to, p);
    }
    return status;
}

static enum pricer_status list_mmwave(const struct maker *maker, int32_t node,
                                      struct row *row)
{
    return list_near(maker, node, 0, maker->network->nodes, row);
}

/* The nodes near enough stand in three runs: one of each neighbouring line of
 * cells. */
static enum pricer_status list_geometric(const struct maker *maker,
                                         int32_t node, struct row *row)
{
    const struct pri_cell_list *cells = maker->cells;
    const struct pricer_network *net = maker->network;
    int32_t column = pri_cell_list_line(cells, net->x[node]);
    int32_t line = pri_cell_list_line(cells, net->y[node]);
    int32_t left = column > 0 ? column - 1 : 0;
    int32_t right = column + 1 < cells->across ? column + 1 : column;
    enum pricer_status status = PRICER_OK;
    for (int32_t y = line - 1; y <= line + 1 && !status; y++)
        if (y >= 0 && y < cells->across) {
            int64_t base = (int64_t)y * cells->across;
            status = list_near(maker, node, cells->start[base + left],
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

/* ----------------------------------------------------------------- links -- */

/* How much `from` trusts `to`: the ring, then good links, then everyone. */
static void fill_trust(const struct pricer_scenario *scenario, int32_t from,
                       struct pricer_network *net, int32_t link)
{
    int64_t apart = ring_distance(from, net->to[link], net->nodes);
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

static enum pricer_status count_links(const struct maker *maker,
                                      const struct pricer_watch *watch,
                                      int32_t *out_start, struct row *row)
{
    int64_t total = 0;
    for (int32_t i = 0; i < maker->network->nodes; i++) {
        row->count = 0;
        enum pricer_status status = maker->list(maker, i, row);
        if (status != PRICER_OK)
            return status;
        total += row->count;
        if (total > INT32_MAX - 1)
            return PRICER_VALUE;
        out_start[i + 1] = (int32_t)total;
        if (i % 8192 == 0 && !pri_tick(watch, .5 * i / maker->network->nodes))
            return PRICER_STOPPED;
    }
    return PRICER_OK;
}

static enum pricer_status fill_links(const struct maker *maker,
                                     const struct pricer_watch *watch,
                                     struct pricer_network *net,
                                     struct row *row)
{
    for (int32_t i = 0; i < net->nodes; i++) {
        row->count = 0;
        enum pricer_status status = maker->list(maker, i, row);
        if (status != PRICER_OK)
            return status;
        int32_t first = net->out_start[i];
        for (int32_t k = 0; k < row->count; k++) {
            net->to[first + k] = row->to[k];
            net->p[first + k] = row->p[k];
            net->joint[first + k] = NAN;
            fill_trust(maker->scenario, i, net, first + k);
        }
        if (i % 8192 == 0 && !pri_tick(watch, .5 + .5 * i / net->nodes))
            return PRICER_STOPPED;
    }
    return PRICER_OK;
}

/* Count the links, make room for exactly so many, and fill them in. */
static enum pricer_status make_links(struct maker *maker,
                                     const struct pricer_watch *watch,
                                     struct pricer_network *net,
                                     struct pricer_fault *fault)
{
    struct row row = {.counting = true};
    maker->network = net;
    enum pricer_status status = count_links(maker, watch, net->out_start, &row);
    if (status == PRICER_VALUE)
        pri_scenario_fault(maker->scenario, "network.nodes", fault,
                           "the network would have more than %d links",
                           INT32_MAX - 1);
    if (status == PRICER_OK)
        status = pri_network_room(net, net->out_start[net->nodes]);
    row.counting = false;
    if (status == PRICER_OK)
        status = fill_links(maker, watch, net, &row);
    if (status == PRICER_OK)
        pri_network_finish(net, maker->scenario->reciprocity);
    free(row.to);
    free(row.p);
    return status;
}

/* ------------------------------------------------------------ generators -- */

/* The nodes' uplinks and positions, and the rule that lists their links. */
static enum pricer_status fill_nodes(const struct pricer_scenario *scenario,
                                     struct pricer_network *net,
                                     struct maker *maker,
                                     struct pri_cell_list *cells,
                                     struct pricer_fault *fault)
{
    for (int32_t i = 0; i < net->nodes; i++) {
        net->self_eps[i] = scenario->self_eps;
        net->self_delta[i] = scenario->self_delta;
    }
    switch (scenario->generator) {
    case PRI_GENERATOR_RING:
        maker->list = list_ring;
        return fill_uplinks(scenario, net, fault);
    case PRI_GENERATOR_MMWAVE:
        maker->list = list_mmwave;
        return fill_mmwave(scenario, net, fault);
    case PRI_GENERATOR_GEOMETRIC:
        maker->list = list_geometric;
        maker->cells = cells;
        if (scenario->uplink.count > 1)
            return pri_scenario_fault(
                scenario, "network.uplink", fault,
                "network.uplink is one number where nodes are at random");
        return pri_place_nodes(scenario, net, cells);
    default:
        maker->list = list_all;
        return fill_uplinks(scenario, net, fault);
    }
}

/* The same budget towards the server for every node. */
static enum pricer_status give_budgets(const struct pricer_scenario *scenario,
                                       struct pricer_network *net,
                                       struct pricer_fault *fault)
{
    double *eps = pri_alloc(net->nodes, sizeof *eps);
    double *delta = pri_alloc(net->nodes, sizeof *delta);
    enum pricer_status status = PRICER_MEMORY;
    if (eps != NULL && delta != NULL) {
        for (int32_t i = 0; i < net->nodes; i++) {
            eps[i] = scenario->server_eps;
            delta[i] = scenario->server_delta;
        }
        status = pri_network_budget(net, eps, delta, NULL, fault);
    }
    free(eps);
    free(delta);
    return status;
}

/* Names where the scenario lists them, and one diameter for all. */
static enum pricer_status measure(const struct pricer_scenario *scenario,
                                  struct pricer_network *net,
                                  struct pricer_fault *fault)
{
    const struct pri_names *names = &scenario->names;
    if (names->count > 0 && names->count != net->nodes)
        return pri_scenario_fault(scenario, "network.names", fault,
                                  "network.names has %lld names for %d nodes",
                                  (long long)names->count, (int)net->nodes);
    struct pricer_fault wrong = {""};
    enum pricer_status status =
        pri_network_name(net, (const char *const *)names->values, NULL, &wrong);
    if (status == PRICER_VALUE)
        return pri_scenario_fault(scenario, "network.names", fault, "%s",
                                  wrong.text);
    if (status == PRICER_OK)
        status = pri_network_lengths(net, scenario->diameter, NULL, NULL, NULL,
                                     fault);
    return status;
}

/* Nodes first: their positions decide which links there are. */
static enum pricer_status generate(const struct pricer_scenario *scenario,
                                   const struct pricer_watch *watch,
                                   struct pricer_network **network,
                                   struct pricer_fault *fault)
{
    bool mmwaves = scenario->generator == PRI_GENERATOR_MMWAVE;
    bool placed = mmwaves || scenario->generator == PRI_GENERATOR_GEOMETRIC;
    int64_t nodes = !mmwaves                ? scenario->nodes
                    : scenario->preset >= 0 ? 10
                                            : scenario->positions.count / 2;
    struct pricer_network *net = NULL;
    struct pri_cell_list cells = {0};
    struct maker maker = {.scenario = scenario};
    enum pricer_status status = pri_network_new((int32_t)nodes, placed, &net);
    if (status != PRICER_OK)
        return status;
    net->dimension = scenario->dimension;
    net->radius = scenario->radius;
    status = fill_nodes(scenario, net, &maker, &cells, fault);
    if (status == PRICER_OK)
        status = make_links(&maker, watch, net, fault);
    if (status == PRICER_OK && scenario->server_eps < INFINITY)
        status = give_budgets(scenario, net, fault);
    if (status == PRICER_OK)
        status = measure(scenario, net, fault);
    free(cells.start);
    if (status != PRICER_OK) {
        pricer_network_free(net);
        return status;
    }
    *network = net;
    return PRICER_OK;
}

/* Two CSV files. A trust that is missing in both files and scenario is NAN, and
 * the reader says so where it first matters. */
static enum pricer_status read_files(const struct pricer_scenario *scenario,
                                     const struct pricer_watch *watch,
                                     struct pricer_network **network,
                                     struct pricer_fault *fault)
{
    const struct pri_trust_default trust = {
        scenario->eps,        scenario->delta,      scenario->self_eps,
        scenario->self_delta, scenario->server_eps, scenario->server_delta};
    const struct pri_measures measures = {scenario->dimension, scenario->radius,
                                          scenario->reciprocity,
                                          scenario->diameter};
    char *nodes = pri_scenario_path(scenario, scenario->nodes_file);
    char *links = pri_scenario_path(scenario, scenario->links_file);
    enum pricer_status status = PRICER_MEMORY;
    if (nodes != NULL && links != NULL)
        status = pri_csv_network(nodes, links, &measures, &trust, watch,
                                 network, fault);
    free(nodes);
    free(links);
    return status;
}

enum pricer_status pricer_scenario_network(
    const struct pricer_scenario *scenario, const struct pricer_watch *watch,
    struct pricer_network **network, struct pricer_fault *fault)
{
    if (scenario->generator == PRI_GENERATOR_FILES)
        return read_files(scenario, watch, network, fault);
    return generate(scenario, watch, network, fault);
}
