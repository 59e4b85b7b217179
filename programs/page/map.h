/*
 * What drawings of a network share: lines and arrows, the server's box, and
 * labels that keep out of each other's way at the size of a phone and of a desk.
 */
#ifndef PROGRAM_MAP_H
#define PROGRAM_MAP_H

#include "report.h"

enum {
    MAP_WIDTH = 560,
    MAP_HEIGHT = 460,
    MAP_SERVER_ROOM = 46, /* below, for a server without a place */
    MAP_SERVER_WIDE = 36, /* half of its box */
    MAP_SERVER_HIGH = 14,
    MAP_LABEL_HIGH = 17, /* of a label as a phone shows it, */
    MAP_LABEL_WIDE = 11, /* and of one of its letters */
};

/* Where the nodes of a network are in a drawing. */
struct map_places {
    bool placed;  /* nodes have places of their own */
    bool centred; /* the server is among them, or below */
    double low_x, low_y, scale;
    double server_x, server_y;
};

/* Find the places with so much room around them. */
void map_fit(const struct pricer_network *network, double margin,
             struct map_places *places);

/* A node's place in the drawing; only where nodes have places. */
void map_place(const struct pricer_network *network,
               const struct map_places *places, int32_t node, double *at);

/* A place on the circle around the server, k of count. */
void map_circle(int32_t k, int32_t count, double *at);

void map_open(FILE *out, const struct map_places *places);
void map_server(FILE *out, const struct map_places *places);

/* How a line looks. */
struct map_stroke {
    const char *colour;
    double width, opacity;
};

void map_line(FILE *out, const double *ends, struct map_stroke stroke);

/* A line with a head that ends `short_by` before its end, a little to the right
 * of the way, so that the two directions of a pair are told apart. */
void map_arrow(FILE *out, const double *ends, double short_by,
               struct map_stroke stroke);

/* How far the frame of a box is from its middle on the way there. */
double map_box_edge(const double *ends, double half_wide, double half_high);

/* What is taken in a drawing: boxes from x, y to x, y. */
struct map_space {
    double (*box)[4];
    int32_t count, room;
};

/* Take a box without asking. */
void map_take(struct map_space *space, double x, double y, double half_wide,
              double half_high);

/* Write a text beside a thing of that half size, where nothing is taken; false:
 * there is no such place, and nothing is written. On a desk letters are smaller:
 * what has room there alone is shown there alone. */
bool map_label(FILE *out, struct map_space *space, const double *at,
               double half_wide, double half_high, const char *text, bool desk);

/* The middle of a box that stays in the drawing, also where what it stands for
 * reaches beyond it. */
double map_within(double middle, double half, double size);

#endif
