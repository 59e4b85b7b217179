/*
 * What a plan's error is held against, and what would change it: plans for
 * networks with other numbers.
 */
#ifndef PROGRAM_YARDSTICKS_H
#define PROGRAM_YARDSTICKS_H

#include "pricer.h"

enum { REMEDIES = 5 };

/* A change to the scenario and the least worst case after it. */
struct remedy {
    const char *words;
    double worst_case;
};

/* Worst cases, by certified plans of least worst case; NAN: not known. */
struct yardsticks {
    double alone;   /* these budgets, nobody relays */
    double steady;  /* these budgets, links that never fail */
    double trusted; /* these links, full trust: no noise */
    int remedies;   /* looked for only where the plan is hardly better than
                       answering the centre; the best first */
    struct remedy remedy[REMEDIES];
};

/* With more links than this only the first is planned: NAN, and no remedies. */
enum { YARDSTICK_LINKS = 20000 };

/* The yardsticks. Of the settings the bias term does not count. Stopped by
 * the watch: those that are missing stay NAN. */
void yardsticks_find(const struct pricer_network *network,
                     const struct pricer_settings *settings,
                     struct yardsticks *found);

/* What would help: more eps, fewer dimensions, more nodes, better uplinks, and
 * with another bias term the worst-case one. */
void yardsticks_remedies(const struct pricer_network *network,
                         const struct pricer_settings *settings,
                         struct yardsticks *found);

#endif
