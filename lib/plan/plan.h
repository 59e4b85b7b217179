/*
 * The error for given data, the gradient of the error, and the descent along
 * it.
 */
#ifndef PRICER_PLAN_H
#define PRICER_PLAN_H

#include "base/base.h"

/* The derivative of the objective by every weight and every noise of a plan. */
struct pri_gradient {
    double *weight, *noise;           /* [links] */
    double *self_weight, *self_noise; /* [nodes] */
};

/*
 * The error of a plan and its derivative by every weight and noise. Where the
 * objective has a kink (|bias| at 0) the derivative is the middle of its
 * subdifferential. `relay_sum` is room for [nodes]. The plan must fit the
 * network. O(links).
 */
void pri_objective_gradient(const struct pricer_network *network,
                            const struct pricer_settings *settings,
                            const struct pricer_plan *plan, double *relay_sum,
                            struct pricer_error *error,
                            const struct pri_gradient *gradient);

/*
 * The exact expected squared error for given data: node i's vector stands at
 * data[i * dimension]. Nothing is clipped. O(links * dimension).
 */
enum pricer_status pri_plan_mse(const struct pricer_network *network,
                                const struct pricer_plan *plan,
                                const double *data, double *mse,
                                struct pricer_fault *fault);

/* --------------------------------------------------------------- descent -- */

struct pri_descent {
    const struct pricer_network *network;
    const struct pricer_settings *settings; /* bias, lambda and watch count */
    const double *slope;                    /* [links] noise per weight */
    const double *self_slope;               /* [nodes] */
    struct pricer_gradient options;         /* zeros become the defaults */
};

/* As pricer_plan_descend(). */
enum pricer_status pri_descend(struct pri_descent *descent,
                               struct pricer_plan **plan,
                               struct pricer_fault *fault);

#endif
