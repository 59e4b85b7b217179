/*
 * `pricer plan` for a study of 'scheme: forward'.
 */
#ifndef PROGRAM_FORWARD_PLAN_H
#define PROGRAM_FORWARD_PLAN_H

#include "cli/plan_job.h"

/* Whether there is a study of this scheme at a path. */
bool plan_forward_wanted(const char *path);

/* Plan, store and print. Returns the exit status. */
int plan_forward(const struct plan_request *ask, const char *path);

#endif
