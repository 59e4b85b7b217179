/*
 * Charts as SVG, by hand: lines over two axes. They follow the reader's light
 * or dark setting, and lines differ by dashes and marks too, so that they can be
 * told apart in print and without colours.
 */
#ifndef PROGRAM_CHART_H
#define PROGRAM_CHART_H

#include <stdbool.h>
#include <stdio.h>

enum { CHART_LINES = 4, CHART_LEVELS = 4 };

/* One line; points that are not finite leave a gap. */
struct chart_line {
    const char *name;
    const double *x, *y; /* [count] */
    int count;
};

/* A horizontal line to compare with. */
struct chart_level {
    const char *name;
    double y;
};

struct chart {
    const char *title; /* what a screen reader says */
    const char *x_name, *y_name;
    bool log_x, log_y; /* all numbers of that axis are above 0 */
    bool bare; /* a file of its own, with its style; otherwise in a page */
    bool dots; /* points alone, not joined */
    int lines, levels;
    struct chart_line line[CHART_LINES];
    struct chart_level level[CHART_LEVELS];
};

void chart_draw(FILE *out, const struct chart *chart);

/* The colours of charts and pages as custom properties of CSS: light, dark and
 * print. They are told apart by people who do not see red and green alike. */
const char *chart_palette(void);

#endif
