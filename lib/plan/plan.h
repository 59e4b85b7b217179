/*
 * The error for given data, the gradient of the error, the descent along it, and
 * the grid on which a plan is sent.
 */
#ifndef PRICER_PLAN_H
#define PRICER_PLAN_H

#include "network/network.h"

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

/*
 * pricer_plan_verify() by all ranks of a crew, each of its own nodes and links
 * with what the others' plans say of its ghosts, which the plan has afterwards.
 * The certificate is of the whole, and the same on every rank.
 */
enum pricer_status pri_verify_part(const struct pri_part *part,
                                   const struct pricer_settings *settings,
                                   struct pricer_plan *plan,
                                   struct pricer_certificate *certificate,
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

/* ------------------------------------------------------------------ grid -- */

enum {
    PRI_NOISE_REACH = 2048, /* standard deviations, no noise lies beyond */
    PRI_GRID_SMOOTHING =
        64, /* variance in steps^2 that pays for discreteness */
    PRI_GRID_STEEPEST =
        1984,           /* most of sensitivity / noise: the reach less 64 */
    PRI_GRID_BITS = 61, /* messages stay below 2^61, noise below 2^50 */
    PRI_GRID_SLACK = 1 << 15, /* steps: 2048 sqrt(64) and every rounding */
    PRI_GRID_EXPONENTS = 900, /* the grid is 2^-900 to 2^900 */
};

/* Whose messages: what its data is like. */
struct pri_sender {
    double radius, diameter; /* 0: twice the radius */
    int64_t dimension;
};

/*
 * By how much rounding brings two neighbouring data further apart at most, where
 * the diameter D is less than twice the radius R; 1 elsewhere. The noise of a
 * message is multiplied by it. The proof is (4) in lib/round/round.c; at most
 * 2 R / D, where the argument of (1) there holds for any two data.
 */
double pri_grid_raise(const struct pricer_grid *grid,
                      const struct pri_sender *sender, double weight);

/* The noise a share really gets before the smoothing, in the data's units and
 * rounded up: its own, or what the cut asks for at least, and what pays for
 * rounding where not all data are neighbours. */
double pri_sent_noise(const struct pricer_grid *grid,
                      const struct pri_sender *sender, double weight,
                      double noise);

/* The largest value a message can have that gets this noise, in the data's
 * units, without the slack. */
double pri_share_reach(double weight, double sigma, double radius);

enum pricer_status pri_share_check(double weight, double noise,
                                   struct pricer_fault *fault);

#endif
