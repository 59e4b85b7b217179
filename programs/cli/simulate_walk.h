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

/* Of the plan of forwarding, or where that is NULL of the plan in `from`. */
enum pricer_status simulate_walk(
    const struct material *from, const struct pricer_forward_plan *forward,
    const struct pricer_simulation_settings *settings,
    const struct walk_request *request, struct pricer_fault *fault);

#endif
