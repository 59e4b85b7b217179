/*
 * `pricer diff` for a study of 'scheme: forward'.
 */
#ifndef PROGRAM_FORWARD_DIFF_H
#define PROGRAM_FORWARD_DIFF_H

#include "common/program.h"

/* Compare two plans, by number or name; NULL: the latest. Returns the exit
 * status. */
int diff_forward(const char *path, const char *const plans[2], bool as_json);

#endif
