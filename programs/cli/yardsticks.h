/*
 * What a plan's error is held against, and what would change it: plans for
 * networks with other numbers.
 */
#ifndef PROGRAM_YARDSTICKS_H
#define PROGRAM_YARDSTICKS_H

#include "pricer.h"

enum { REMEDIES = 7 };

/* A change to the scenario, the least worst case after it, and how private the
 * largest budget is then, in words. */
struct remedy {
    char words[80], privacy[64];
    double worst_case;
};

/* Worst cases, by certified plans of least worst case; NAN: not known. */
struct yardsticks {
    double alone;   /* these budgets, nobody relays */
    double steady;  /* these budgets, links that never fail */
    double trusted; /* these links, full trust: no noise */
    int remedies;   /* the best first */
    struct remedy remedy[REMEDIES];
};

/* With more links than this only the first is planned: NAN, and no remedies. */
enum { YARDSTICK_LINKS = 20000 };

/* The yardsticks. Of the settings the bias term does not count. Stopped by
 * the watch: those that are missing stay NAN. */
void yardsticks_find(const struct pricer_network *network,
                     const struct pricer_settings *settings,
                     struct yardsticks *found);

/*
 * What would help, if only by 0.01 % of the error: fewer rounds, data of a node that
 * differ by less, fewer dimensions, better uplinks, more nodes, more eps, and with
 * another bias term the worst-case one. No eps is raised beyond MEANING_WEAK, where
 * privacy ends.
 */
void yardsticks_remedies(const struct pricer_network *network,
                         const struct pricer_settings *settings,
                         struct yardsticks *found);

/* Keep a change that lowers an error by 0.01 % or more, the best first. */
void yardsticks_add(struct yardsticks *found, double now, const char *words,
                    const char *privacy, double worst_case);

/* What most of an error comes from. */
enum bottleneck {
    BOTTLENECK_UNKNOWN = 0,
    BOTTLENECK_UNHEARD, /* nodes that can never be heard */
    BOTTLENECK_NOISE,
    BOTTLENECK_LINKS,
};

/* The error that nodes which can never be heard cause by themselves: (their part of
 * all radii)^2 R^2, whatever else is done. */
double yardsticks_unheard(const struct pricer_network *network);

enum bottleneck yardsticks_bottleneck(const struct pricer_network *network,
                                      const struct yardsticks *found,
                                      double error);

#endif
