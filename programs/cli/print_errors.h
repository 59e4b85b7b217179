/*
 * The errors of a plan and what they are made of, as tables.
 */
#ifndef PROGRAM_PRINT_ERRORS_H
#define PROGRAM_PRINT_ERRORS_H

#include "print_plan.h"

/* The plan and its baselines; one that cannot be had says why. */
void plan_errors_print(const struct plan_view *view);

/* The plan, and the one after the changes of --what-if. */
void plan_what_if_print(const struct plan_view *view);

#endif
