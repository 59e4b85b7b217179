/*
 * One certified plan for a network that differs from the study's.
 */
#ifndef PROGRAM_ADVISE_POINT_H
#define PROGRAM_ADVISE_POINT_H

#include "advise.h"
#include "variant.h"

/* Plan near *warm (NULL: from nothing), check the plan by other code and fill
 * the objective, worst case, bound and gap of *point. *warm is replaced by the
 * plan. PRICER_STOPPED if the watch asked to. */
enum pricer_status advise_point(struct advice *advice,
                                const struct pricer_network *network,
                                struct pricer_plan **warm,
                                struct advice_point *point);

#endif
