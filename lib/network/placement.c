/*
 * From a seed to nodes at random in a square, numbered cell by cell.
 *
 * Node i draws words 4 i to 4 i + 3 of the stream (seed, PRICER_PURPOSE_PLACES,
 * 0, 0, 0), which nothing else reads: its two coordinates, its luck with
 * uplinks, and a word that is left for later. Both passes read the stream from
 * its beginning to its end, a block of Threefry a node.
 */
#include "placement.h"
#include "random/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The stream of a scenario's places, before its first node. */
static struct pricer_random places(const struct pricer_scenario *scenario)
{
    struct pricer_random random;
    pricer_random_replay(&random, (uint64_t)scenario->seed,
                         PRICER_PURPOSE_PLACES, 0, 0, 0);
    return random;
}

/* Four numbers in [0, 1) for the next node. */
static void draw(struct pricer_random *random, double number[4])
{
    for (int k = 0; k < 4; k++)
        number[k] = (double)(pri_random_word(random) >> 11) * 0x1p-53;
}

int32_t pri_cell_list_line(const struct pri_cell_list *cells, double coordinate)
{
    int32_t line = (int32_t)(coordinate / cells->size);
    return line < cells->across ? line : cells->across - 1;
}

/* The side of the square, in metres. */
static double side_of(const struct pricer_scenario *scenario, int32_t nodes)
{
    return 1000 * sqrt(nodes / scenario->density);
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
    struct pricer_random random = places(scenario);
    for (int32_t i = 0; i < nodes; i++) {
        double number[4];
        draw(&random, number);
        cells->start[(int64_t)pri_cell_list_line(cells, side * number[1]) *
                         cells->across +
                     pri_cell_list_line(cells, side * number[0]) + 1]++;
    }
    for (int64_t c = 0; c < all; c++)
        cells->start[c + 1] += cells->start[c];
}

/* Give each node the next number of its cell. The starts move up while the
 * cells fill, and back when they are full. */
void pri_place_window(const struct pricer_scenario *scenario, int32_t nodes,
                      struct pri_cell_list *cells, int32_t first,
                      struct pricer_network *net)
{
    double side = side_of(scenario, nodes);
    double common =
        scenario->uplink.count > 0 ? scenario->uplink.values[0] : 0.1;
    int64_t all = (int64_t)cells->across * cells->across;
    struct pricer_random random = places(scenario);
    for (int32_t i = 0; i < nodes; i++) {
        double number[4];
        draw(&random, number);
        double x = side * number[0], y = side * number[1];
        int64_t cell = (int64_t)pri_cell_list_line(cells, y) * cells->across +
                       pri_cell_list_line(cells, x);
        int32_t place = cells->start[cell]++ - first;
        if (place < 0 || place >= net->nodes)
            continue;
        net->x[place] = x;
        net->y[place] = y;
        bool good = number[2] < scenario->good_fraction;
        net->uplink[place] = good ? scenario->good_uplink : common;
    }
    memmove(cells->start + 1, cells->start, (size_t)all * sizeof(int32_t));
    cells->start[0] = 0;
}

enum pricer_status pri_place_cells(const struct pricer_scenario *scenario,
                                   int32_t nodes, struct pri_cell_list *cells)
{
    double side = side_of(scenario, nodes);
    cells->size = reach(scenario, side);
    /* Never many more cells than nodes: empty cells would cost memory. */
    double most = 1 + sqrt(nodes);
    cells->across = (int32_t)fmin(most, floor(side / cells->size));
    if (cells->across < 1)
        cells->across = 1;
    cells->size = fmax(cells->size, side / cells->across);
    int64_t all = (int64_t)cells->across * cells->across;
    cells->start = pri_alloc(all + 1, sizeof *cells->start);
    if (cells->start == NULL)
        return PRICER_MEMORY;
    count_cells(scenario, nodes, side, cells);
    return PRICER_OK;
}
