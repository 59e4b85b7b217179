/*
 * The optimiser for noise slopes that are given.
 */
#ifndef PRICER_OPTIMISE_H
#define PRICER_OPTIMISE_H

#include "network/network.h"

/*
 * pricer_plan_optimise() for noise slopes that are given: the standard
 * deviation per unit weight of each link and of each node's own part. All zero
 * asks for the plan without privacy.
 */
enum pricer_status pri_optimise(const struct pricer_network *network,
                                const struct pricer_settings *settings,
                                const double *slope, const double *self_slope,
                                const struct pricer_plan *warm,
                                struct pricer_plan **plan,
                                struct pricer_solve_info *info,
                                struct pricer_fault *fault);

/*
 * pricer_plan_optimise() by all ranks of a crew, each with its part. *plan is
 * that of the part's network: right for own nodes and their links. The info is
 * of the whole, and the same on every rank.
 */
enum pricer_status pri_optimise_part(const struct pri_part *part,
                                     const struct pricer_settings *settings,
                                     struct pricer_plan **plan,
                                     struct pricer_solve_info *info,
                                     struct pricer_fault *fault);

#endif
