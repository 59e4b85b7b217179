/*
 * Everything that `pricer plan` says about a plan, as tables or as JSON.
 */
#ifndef PROGRAM_PRINT_PLAN_H
#define PROGRAM_PRINT_PLAN_H

#include "common/program.h"
#include "pricer_decode.h"
#include "yardsticks.h"

/* A baseline next to the plan, or why there is none. */
struct plan_rival {
    bool known;
    struct pricer_error error;
    struct pricer_fault why;
};

/* A link whose trust is asked about, from == to for an uplink. */
struct plan_change {
    int32_t from, to;
    double eps, before;
};

/* What would be if some links had another eps. */
struct plan_what_if {
    int count; /* 0: nothing was asked */
    struct plan_change change[32];
    struct pricer_error error;
    struct pricer_solve_info info;
    double predicted; /* change of the objective by the prices alone */
};

struct plan_view {
    const struct pricer_network *network;
    struct pricer_network_record origin; /* of the network */
    struct pricer_settings settings;
    const char *method; /* exact, gradient or given */
    const struct pricer_plan *plan;
    struct pricer_error error;
    struct pricer_certificate certificate;
    enum pricer_solve_outcome outcome;
    double bound; /* NAN where none is known */
    double gap;   /* NAN where none is known */
    int64_t iterations;
    double solve_seconds; /* of the optimiser, and */
    double seconds;       /* of all that the verb does */
    struct plan_rival rival[PRICER_BASELINES];
    const double *price;        /* [links] d objective / d ln eps, or NULL */
    const double *self_price;   /* [nodes] d objective / d ln eps, or NULL */
    const double *server_price; /* [nodes] d objective / d ln eps, or NULL */
    const struct pricer_decoder *decoder; /* or NULL */
    const char *decoder_note;             /* why there is none, or NULL */
    struct pricer_estimate floor; /* of every plan; value NAN: unknown */
    struct yardsticks yardsticks;
    struct plan_what_if what_if;
    int64_t id; /* of the plan in its study */
};

/* What the server makes of the sums that arrive, and what it is worth. */
void plan_view_json_decoder(struct json *json, const struct plan_view *view);
void plan_view_decoder(const struct plan_view *view);

/* The error of a round's estimate at worst, with the plan's decoder where there
 * is one. */
double plan_view_error(const struct plan_view *view);

void plan_view_json(const struct plan_view *view);
void plan_view_tables(const struct plan_view *view);

#endif
