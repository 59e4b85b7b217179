/*
 * `pricer advise` for a study of 'scheme: forward'.
 */
#ifndef PROGRAM_FORWARD_ADVISE_H
#define PROGRAM_FORWARD_ADVISE_H

#include "cli/advise.h"

/* Find and print what would help. Returns the exit status. */
int advise_forward(const struct advice_request *ask, const char *path);

#endif
