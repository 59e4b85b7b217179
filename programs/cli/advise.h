/*
 * What would make a plan better: the error against trust, the trust that an
 * error needs, where an uplink helps most. Every number is that of a plan which
 * was made for it and checked.
 */
#ifndef PROGRAM_ADVISE_H
#define PROGRAM_ADVISE_H

#include "material.h"
#include "yardsticks.h"

/* Whose budgets are changed, all in proportion. */
enum towards {
    TOWARDS_LINKS = 0, /* those towards neighbours */
    TOWARDS_SERVER,    /* own parts, and budgets over all relays */
    TOWARDS_EVERYONE,
    TOWARDS_KINDS,
};

enum { ADVICE_POINTS = 65, ADVICE_UPLINKS = 8, ADVICE_PRICES = 6 };

/* A certified plan for budgets times a factor. */
struct advice_point {
    double factor;
    double eps; /* the largest finite budget then; NAN: there is none */
    double objective, bound, gap, worst_case;
};

/* Something whose improvement has a price. */
struct advice_price {
    enum { PRICE_TRUST, PRICE_OWN, PRICE_SERVER, PRICE_LINK, PRICE_UPLINK } of;
    int32_t from, to;
    double now;   /* eps or p */
    double price; /* d objective / d ln eps, or / d p */
    double saves; /* of the objective: 10 % more eps, 10 % fewer failures */
};

/* Prices of links and those of trust stand in lists of their own: whoever can
 * change the one can seldom change the other. */
enum { FAMILY_LINKS, FAMILY_TRUST, ADVICE_FAMILIES };

/* The best places for so many uplinks. */
struct advice_uplinks {
    int count;
    int32_t node[ADVICE_UPLINKS];
    struct advice_point point; /* factor 1 */
};

/* What is asked. */
struct advice_request {
    struct planner_request planner;
    int towards;        /* of --error and --eps */
    double span;        /* of the factor, either way */
    int64_t points;     /* of a curve */
    int64_t uplinks;    /* how many to place */
    double uplink;      /* their p */
    const char *error;  /* "0.1" or "10%" of R^2, or NULL */
    double eps;         /* wanted, 0: not asked */
    const char *figure; /* file to draw to, or NULL */
    int64_t threads;
    bool as_json;
};

struct advice {
    struct advice_request request;
    struct material from;
    struct pricer_settings settings;
    struct pricer_plan *plan; /* for the budgets as they are */
    struct advice_point here;
    int points;
    struct advice_point curve[TOWARDS_KINDS][ADVICE_POINTS];
    bool varies[TOWARDS_KINDS];  /* there is a finite budget of the kind */
    double limit[TOWARDS_KINDS]; /* the objective with full trust there */
    bool wants_error, wants_eps;
    double wanted; /* error, in squared units of the data */
    struct advice_point at_error, at_eps; /* factor NAN: cannot be reached */
    struct advice_point
        at_weak; /* where at_error has practically no privacy: the
                                    largest eps that has some; factor 0: none */
    struct yardsticks yardsticks;
    int prices[ADVICE_FAMILIES];
    struct advice_price price[ADVICE_FAMILIES]
                             [ADVICE_PRICES]; /* what saves most first */
    int placed;
    struct advice_uplinks uplinks[ADVICE_UPLINKS]; /* of 1, 2, ... */
    bool all_sets; /* every set of nodes was tried, not one after another */
    double seconds;
    const struct pricer_watch *watch; /* of the whole; that of the settings
                                         speaks of one plan */
    struct pricer_watch inner;
    int made, total; /* plans, the second as far as it can be told */
    struct pricer_fault fault;
};

/* An error: "0.1", or "10%" of that of always answering zero, `centre`. False:
 * anything else. */
bool advise_read_error(const char *text, double centre, double *error);

/* The steps, in this order; each may be stopped by the watch of the settings,
 * and then what is missing is. */
enum pricer_status advise_here(struct advice *advice);
enum pricer_status advise_curves(struct advice *advice);
enum pricer_status advise_wanted(struct advice *advice);
enum pricer_status advise_prices(struct advice *advice);
enum pricer_status advise_uplinks(struct advice *advice);
enum pricer_status advise_changes(struct advice *advice);

#endif
