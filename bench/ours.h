/*
 * The planner's side of the benchmarks against generic solvers: its time, and
 * the rows of the table.
 */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H

#include "dense.h"

/* Seconds of the best of several solves on one core to a certified gap of
 * 1e-8, building the problem included. */
double ours_time(const struct dense *dense, struct bench_case which,
                 double *objective);

void ours_heading(const char *rival);
void ours_row(int32_t n, struct bench_case which, double ours, double rival,
              double ours_value, double rival_value);

#endif
