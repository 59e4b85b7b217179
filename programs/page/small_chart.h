/*
 * Small charts for a page that lives: one quantity over the latest rounds, the
 * newest at the right, with as little ink as can be read on a phone.
 */
#ifndef PROGRAM_SMALL_CHART_H
#define PROGRAM_SMALL_CHART_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { SMALL_LINES = 2 };

struct small_chart {
    const char *title; /* what a screen reader says */
    const double *x;   /* [count], rising */
    int count;
    bool bars; /* the first line as bars from 0 */
    int lines;
    const double *y[SMALL_LINES]; /* [count]; not finite: a gap */
    const char *name[SMALL_LINES];
    double top; /* the chart reaches at least here; 0: as far as its numbers */
    double level; /* a line to compare with; NAN: none */
    const char *level_name;
};

void small_chart_draw(FILE *out, const struct small_chart *chart);

/* One mark for each of the latest `count` of 64 rounds, bit 0 the newest, at the
 * right: tall where `gave` has a bit, short where only `came` has one. */
void small_strip_draw(FILE *out, uint64_t gave, uint64_t came, int count);

#endif
