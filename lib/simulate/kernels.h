/*
 * The arithmetic kernels of the fast engine, on 512 trials at once.
 */
#ifndef PRICER_SIMULATE_KERNELS_H
#define PRICER_SIMULATE_KERNELS_H

#include "simulate.h"

enum {
    PRI_GROUP = 8, /* links that share a table */
    PRI_TILE = 8,  /* trials that stand next to each other */
    PRI_TILES = PRI_ROUNDS / PRI_TILE,
    PRI_CHUNK = 128, /* nodes that are projected together */
};

/* The bits of a link in 512 trials. */
struct pri_bits {
    uint64_t word[PRI_LANES];
};

/* Some links of a node. */
struct pri_group {
    int size;
    const struct pri_bits *bits[PRI_GROUP]; /* the trials in which they carry */
    pri_two amount[PRI_GROUP];              /* weight and variance */
};

/*
 * Add up what a node's links carry: its weight less 1 of each trial goes to
 * excess[tile * stride * PRI_TILE + k], the variances are added to variance.
 * `carry` is room for PRI_ROUNDS. There is at least one group.
 */
void pri_kernel_node(const struct pri_group *groups, int count, pri_two *carry,
                     int stride, double *excess, double *variance);

/* Where a chunk of nodes stands among all. */
struct pri_chunk {
    int32_t start;    /* the place of its first node */
    int rows;         /* how many nodes */
    bool first, last; /* whether it is the first or the last chunk */
};

/*
 * Multiply the excess of a chunk's nodes with their rows of the factor and add
 * that to the projections, [blocks][PRI_TILES][PRI_COLUMNS][PRI_TILE], which
 * start at zero with the first chunk; with the last add their squares to
 * `square`. With a single chunk the projections are never stored.
 */
void pri_kernel_project(const struct pri_factor *factor,
                        const struct pri_chunk *chunk, int stride,
                        const double *excess, double *projection,
                        double *square);

#endif
