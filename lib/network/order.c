/*
 * From a network to an order of its nodes in which neighbours stand near each
 * other: cut anywhere, few links are cut.
 *
 * The order of the numbers is one, and often good. Nodes with positions are put
 * in order of cells, line by line. For others the order grows: always by that
 * neighbour of the nodes so far of whose links most lead to them. Both cost
 * O(nodes + links), and are taken where they cut less than three quarters of the
 * links that the numbers cut: sums over nodes in the order of their numbers are
 * those of a process alone.
 */
#include "network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int32_t degree_of(const struct pricer_network *net, int32_t i)
{
    return net->out_start[i + 1] - net->out_start[i] + net->in_start[i + 1] -
           net->in_start[i];
}

/* The neighbours of node i, those over links both ways twice. */
static int32_t neighbour_of(const struct pricer_network *net, int32_t i,
                            int32_t k)
{
    int32_t out = net->out_start[i + 1] - net->out_start[i];
    return k < out ? net->to[net->out_start[i] + k]
                   : net->from[net->in_link[net->in_start[i] + k - out]];
}

/* ----------------------------------------------------------------- cells -- */

/* Which of `lines` equal pieces of [low, high] a value is in. */
static int32_t line_of(double value, double low, double high, int32_t lines)
{
    double at = high > low ? (value - low) / (high - low) * lines : 0;
    return at < lines ? (int32_t)at : lines - 1;
}

/* Four nodes a cell, on average. */
static bool order_by_cells(const struct pricer_network *net, int32_t *order)
{
    int32_t lines = (int32_t)(sqrt(net->nodes) / 2) + 1;
    int64_t cells = (int64_t)lines * lines;
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    int32_t *start = pri_alloc(cells + 1, sizeof *start);
    int64_t *cell = pri_alloc(net->nodes, sizeof *cell);
    bool made = start != NULL && cell != NULL;
    for (int32_t i = 0; made && i < net->nodes; i++) {
        low[0] = fmin(low[0], net->x[i]);
        high[0] = fmax(high[0], net->x[i]);
        low[1] = fmin(low[1], net->y[i]);
        high[1] = fmax(high[1], net->y[i]);
    }
    for (int32_t i = 0; made && i < net->nodes; i++) {
        cell[i] = (int64_t)line_of(net->y[i], low[1], high[1], lines) * lines +
                  line_of(net->x[i], low[0], high[0], lines);
        start[cell[i] + 1]++;
    }
    for (int64_t c = 0; made && c < cells; c++)
        start[c + 1] += start[c];
    for (int32_t i = 0; made && i < net->nodes; i++)
        order[start[cell[i]]++] = i;
    free(start);
    free(cell);
    return made;
}

/* ---------------------------------------------------------------- growth -- */

/*
 * The neighbours of the nodes so far, in rings by how many of their links lead
 * to those: all of them in the first ring, next to none in the last. The rings
 * begin and end at the places above the nodes.
 */
enum { RINGS = 256, TAKEN = -1 };

struct growth {
    const struct pricer_network *net;
    int32_t *inside;      /* [nodes] links to nodes so far; TAKEN: it is one */
    int32_t *next, *prev; /* [nodes + RINGS]; next -1: in no ring */
    int32_t lowest;       /* no ring below it has anyone */
};

static void leave_ring(struct growth *growth, int32_t i)
{
    if (growth->next[i] < 0)
        return;
    growth->next[growth->prev[i]] = growth->next[i];
    growth->prev[growth->next[i]] = growth->prev[i];
    growth->next[i] = -1;
}

static void enter_ring(struct growth *growth, int32_t i)
{
    int64_t degree = degree_of(growth->net, i);
    int32_t number =
        (int32_t)((degree - growth->inside[i]) * (RINGS - 1) / degree);
    int32_t ring = growth->net->nodes + number;
    growth->next[i] = ring;
    growth->prev[i] = growth->prev[ring];
    growth->next[growth->prev[i]] = i;
    growth->prev[ring] = i;
    if (number < growth->lowest)
        growth->lowest = number;
}

/* The neighbour to go on with, or -1. */
static int32_t best_of(struct growth *growth)
{
    for (; growth->lowest < RINGS; growth->lowest++) {
        int32_t ring = growth->net->nodes + growth->lowest;
        if (growth->next[ring] != ring)
            return growth->next[ring];
    }
    return -1;
}

static void take_in(struct growth *growth, int32_t node)
{
    int32_t degree = degree_of(growth->net, node);
    leave_ring(growth, node);
    growth->inside[node] = TAKEN;
    for (int32_t k = 0; k < degree; k++) {
        int32_t i = neighbour_of(growth->net, node, k);
        if (growth->inside[i] == TAKEN)
            continue;
        leave_ring(growth, i);
        growth->inside[i]++;
        enter_ring(growth, i);
    }
}

/* Grow from `first`; whoever is not connected follows, by number. */
static void grow(struct growth *growth, int32_t first, int32_t *order)
{
    int32_t nodes = growth->net->nodes, seed = 0;
    memset(growth->inside, 0, (size_t)nodes * sizeof *growth->inside);
    for (int32_t i = 0; i < nodes + RINGS; i++) {
        growth->next[i] = i < nodes ? -1 : i;
        growth->prev[i] = i;
    }
    growth->lowest = RINGS;
    for (int32_t count = 0; count < nodes; count++) {
        int32_t node = count == 0 ? first : best_of(growth);
        while (node < 0 && growth->inside[seed] == TAKEN)
            seed++;
        order[count] = node < 0 ? seed : node;
        take_in(growth, order[count]);
    }
}

/* From wherever, and once more from the far end of that. */
static bool order_by_growth(const struct pricer_network *net, int32_t *order)
{
    int64_t places = (int64_t)net->nodes + RINGS;
    struct growth growth = {.net = net,
                            .inside = pri_alloc(net->nodes, sizeof(int32_t)),
                            .next = pri_alloc(places, sizeof(int32_t)),
                            .prev = pri_alloc(places, sizeof(int32_t))};
    bool made = growth.inside != NULL && growth.next != NULL &&
                growth.prev != NULL && places <= INT32_MAX;
    if (made) {
        grow(&growth, 0, order);
        grow(&growth, order[net->nodes - 1], order);
    }
    free(growth.inside);
    free(growth.next);
    free(growth.prev);
    return made;
}

/* ---------------------------------------------------------------- choice -- */

/* Links between parts of about equal work; part_of is room. */
static int64_t count_cut(const struct pricer_network *net, const int32_t *order,
                         int32_t parts, int32_t *part_of)
{
    int64_t work = 2 * (int64_t)net->links + net->nodes, before = 0, cut = 0;
    for (int32_t k = 0; k < net->nodes; k++) {
        part_of[order[k]] =
            (int32_t)((pri_wide)before * (unsigned)parts / (uint64_t)work);
        before += degree_of(net, order[k]) + 1;
    }
    for (int32_t l = 0; l < net->links; l++)
        cut += part_of[net->from[l]] != part_of[net->to[l]];
    return cut;
}

enum pricer_status pri_network_order(const struct pricer_network *net,
                                     int32_t parts, int32_t *order)
{
    int32_t *other = pri_alloc(net->nodes, sizeof *other);
    int32_t *part_of = pri_alloc(net->nodes, sizeof *part_of);
    enum pricer_status status =
        other == NULL || part_of == NULL ? PRICER_MEMORY : PRICER_OK;
    for (int32_t i = 0; i < net->nodes; i++)
        order[i] = i;
    if (status == PRICER_OK &&
        !(net->x != NULL ? order_by_cells : order_by_growth)(net, other))
        status = PRICER_MEMORY;
    if (status == PRICER_OK) {
        int64_t cut = count_cut(net, order, parts, part_of);
        if (count_cut(net, other, parts, part_of) < cut - cut / 4)
            memcpy(order, other, (size_t)net->nodes * sizeof *order);
    }
    free(other);
    free(part_of);
    return status;
}
