/*
 * Projected gradient descent with the noise slopes given, for files that have
 * them already.
 */
#ifndef PRICER_GRADIENT_H
#define PRICER_GRADIENT_H

#include "pricer.h"

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
