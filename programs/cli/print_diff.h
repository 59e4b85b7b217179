/*
 * What comparisons of two plans share: the line about each, a table of numbers
 * with their change, and the links or nodes that changed most.
 */
#ifndef PROGRAM_PRINT_DIFF_H
#define PROGRAM_PRINT_DIFF_H

#include "common/program.h"

/* "plan 2 strict, made 2026-11-16 16:05: unbiased". */
void diff_title(int64_t id, const char *name, int64_t made, const char *asked);

/* A table of numbers of two plans; then a row of it, "-" where one is NAN. */
struct table *diff_table(const int64_t id[2]);
void diff_row(struct table *table, const char *name, double one, double two);

/* A link or a node (from == to) and two quantities of it, before and after. */
struct moved {
    int32_t from, to;
    double first[2], second[2];
    double distance; /* how much it changed */
};

/* Keep it in a list of those that changed most, the largest change first, if it
 * changed at all; returns how many the list has then. */
enum { MOVED = 10 };
int moved_keep(struct moved *list, int count, struct moved moved);

/* A table of them: a name, the first quantity of both plans, the second; and the
 * numbers of a row after its name. */
struct table *moved_table(const char *first, const char *second,
                          const int64_t id[2]);
void moved_cells(struct table *table, const struct moved *moved);

#endif
