/*
 * Nodes at random in a square, filed by cells so that neighbours are found in
 * O(1) each.
 */
#ifndef PRICER_TOPOLOGY_H
#define PRICER_TOPOLOGY_H

#include "read/read.h"

/* A square of across x across cells; cell (column, line) holds the nodes
 * start[line * across + column] up to the next start. */
struct pri_cells {
    double size; /* of a cell, in metres: the reach of a link */
    int32_t across;
    int32_t *start;
};

/* The column of an x, or the line of a y. */
int32_t pri_cells_line(const struct pri_cells *cells, double coordinate);

/*
 * Place the nodes of a geometric scenario and give them uplinks. Nodes are
 * numbered cell by cell, line by line: near in the plane is near in memory,
 * which is what every later pass over the links lives on. O(nodes).
 */
enum pricer_status pri_cells_place(const struct pricer_scenario *scenario,
                                   struct pricer_network *network,
                                   struct pri_cells *cells);

#endif
