/*
 * From a seed to nodes at random in a square, numbered cell by cell.
 */
#include "placement.h"

#include <Random123/philox.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Three numbers in [0, 1) for a node: its place, and which uplink it gets. */
static void draw(int64_t seed, int32_t node, double number[3])
{
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)((uint64_t)seed >> 32)}};
    for (uint32_t half = 0; half < 2; half++) {
        philox4x32_ctr_t counter = {{(uint32_t)node, half, 0, 0x6e6f6465}};
        philox4x32_ctr_t bits = philox4x32(counter, key);
        for (int k = 0; k < 2 && 2 * half + k < 3; k++) {
            uint64_t wide = (uint64_t)bits.v[2 * k] << 32 | bits.v[2 * k + 1];
            number[2 * half + k] = (double)(wide >> 11) * 0x1p-53;
        }
    }
}

int32_t pri_cell_list_line(const struct pri_cell_list *cells, double coordinate)
{
    int32_t line = (int32_t)(coordinate / cells->size);
    return line < cells->across ? line : cells->across - 1;
}

/* The longest distance at which a link is above the cutoff. With a cutoff of 0
 * every pair is linked: one cell. */
static double reach(const struct pricer_scenario *scenario, double side)
{
    if (!(scenario->cutoff > 0))
        return 2 * side;
    return fmin(2 * side, fmax(1e-6, 30 * (5.2 - log(scenario->cutoff))));
}

/* Count the nodes of each cell, then add the counts up to starts. */
static void count_cells(const struct pricer_scenario *scenario, int32_t nodes,
                        double side, struct pri_cell_list *cells)
{
    int64_t all = (int64_t)cells->across * cells->across;
    for (int32_t i = 0; i < nodes; i++) {
        double number[3];
        draw(scenario->seed, i, number);
        cells->start[(int64_t)pri_cell_list_line(cells, side * number[1]) *
                         cells->across +
                     pri_cell_list_line(cells, side * number[0]) + 1]++;
    }
    for (int64_t c = 0; c < all; c++)
        cells->start[c + 1] += cells->start[c];
}

/* Give each node the next number of its cell. The starts move up while the
 * cells fill, and back when they are full. */
static void number_nodes(const struct pricer_scenario *scenario, double side,
                         struct pricer_network *net,
                         struct pri_cell_list *cells)
{
    double common =
        scenario->uplink.count > 0 ? scenario->uplink.values[0] : 0.1;
    int64_t all = (int64_t)cells->across * cells->across;
    for (int32_t i = 0; i < net->nodes; i++) {
        double number[3];
        draw(scenario->seed, i, number);
        double x = side * number[0], y = side * number[1];
        int64_t cell = (int64_t)pri_cell_list_line(cells, y) * cells->across +
                       pri_cell_list_line(cells, x);
        int32_t place = cells->start[cell]++;
        net->x[place] = x;
        net->y[place] = y;
        bool good = number[2] < scenario->good_fraction;
        net->uplink[place] = good ? scenario->good_uplink : common;
    }
    memmove(cells->start + 1, cells->start, (size_t)all * sizeof(int32_t));
    cells->start[0] = 0;
}

enum pricer_status pri_place_nodes(const struct pricer_scenario *scenario,
                                   struct pricer_network *network,
                                   struct pri_cell_list *cells)
{
    double side = 1000 * sqrt(network->nodes / scenario->density);
    cells->size = reach(scenario, side);
    /* Never many more cells than nodes: empty cells would cost memory. */
    double most = 1 + sqrt(network->nodes);
    cells->across = (int32_t)fmin(most, floor(side / cells->size));
    if (cells->across < 1)
        cells->across = 1;
    cells->size = fmax(cells->size, side / cells->across);
    int64_t all = (int64_t)cells->across * cells->across;
    cells->start = pri_alloc(all + 1, sizeof *cells->start);
    if (cells->start == NULL)
        return PRICER_MEMORY;
    count_cells(scenario, network->nodes, side, cells);
    number_nodes(scenario, side, network, cells);
    return PRICER_OK;
}
