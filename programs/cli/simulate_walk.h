/*
 * `pricer simulate --rounds`: rounds one after another.
 */
#ifndef PROGRAM_SIMULATE_WALK_H
#define PROGRAM_SIMULATE_WALK_H

#include "material.h"

/* What is wanted besides the table. */
struct walk_request {
    int64_t rounds;   /* 0: no walk */
    const char *csv;  /* a file of all rounds, or NULL */
    const char *plot; /* an SVG file, or NULL */
    bool as_json;
};

struct pricer_forward_plan; /* of pricer_forward.h */

/* Rounds of a plan of forwarding. */
enum pricer_status simulate_walk(
    const struct pricer_network *network,
    const struct pricer_forward_plan *plan,
    const struct pricer_simulation_settings *settings,
    const struct walk_request *request, struct pricer_fault *fault);

#endif
