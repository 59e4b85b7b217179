/*
 * The paper's planner, step by step: projected gradient descent as it prints
 * it, or Adam with the same projection as its authors ran it, with the plan
 * handed out on the way.
 */
#ifndef PROGRAM_REPRODUCE_DESCENT_H
#define PROGRAM_REPRODUCE_DESCENT_H

#include "common/program.h"

struct descent {
    const struct pricer_network *network;
    double lambda; /* of the l1 bias term */
    bool adam;     /* else the gradient itself */
    double step;
    int32_t start;         /* which random start */
    const int64_t *visits; /* [visit_count] iterations to stop by, rising; the
                              descent ends at the last */
    int32_t visit_count;
    /* Called at visit k with the plan as it is then. */
    enum pricer_status (*visit)(void *context, int32_t k,
                                const struct pricer_plan *plan);
    void *context;
};

/*
 * Descend from weights uniform in [0, 1) with the noise that they need, the
 * same starts as pricer_plan_descend() with seed 1 has. Ends early with the
 * status of a visit that is not PRICER_OK. O(links) an iteration.
 */
enum pricer_status descent_run(const struct descent *descent,
                               struct pricer_fault *fault);

#endif
