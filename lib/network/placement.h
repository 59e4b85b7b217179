/*
 * Nodes at random in a square, with a cell list: neighbours are found in O(1)
 * each.
 */
#ifndef PRICER_NETWORK_PLACEMENT_H
#define PRICER_NETWORK_PLACEMENT_H

#include "read/read.h"

/* A square of across x across cells; cell (column, line) holds the nodes
 * start[line * across + column] up to the next start. */
struct pri_cell_list {
    double size;    /* side of a cell in metres, at least the reach of a link */
    int32_t across; /* cells in a line */
    int32_t *start; /* [across * across + 1] */
};

/* The column of an x, or the line of a y. */
int32_t pri_cell_list_line(const struct pri_cell_list *cells,
                           double coordinate);

/*
 * The cells of a geometric scenario, with how many nodes each holds. Nodes are
 * numbered cell by cell, line by line: near in the plane is near in memory,
 * which is what every later pass over the links lives on. O(nodes).
 */
enum pricer_status pri_place_cells(const struct pricer_scenario *scenario,
                                   int32_t nodes, struct pri_cell_list *cells);

/* Place those of the scenario's `nodes` that are numbered from `first` on, as
 * many as the network has, and give them uplinks. O(nodes). */
void pri_place_window(const struct pricer_scenario *scenario, int32_t nodes,
                      struct pri_cell_list *cells, int32_t first,
                      struct pricer_network *network);

#endif
