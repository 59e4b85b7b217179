/*
 * `pricer privacy` for a study of 'scheme: forward'.
 */
#ifndef PROGRAM_FORWARD_PRIVACY_H
#define PROGRAM_FORWARD_PRIVACY_H

#include "cli/question.h"

/* Rows of each table without --all. */
enum { PRIVACY_ROWS = 15 };

/* Accounts alone, with the paper's bounds, or the paper's bounds alone. */
enum { MODE_EXACT = 0, MODE_PAPER, MODE_PRINTED };

/* What the command line asks of `pricer privacy`. */
struct privacy_request {
    struct question_request about;
    int mode;
    double delta_prime; /* 0: half of the delta */
    const char *plan;   /* NULL: the latest */
    bool all;
    bool as_json;
};

/* Account, store and print. Returns the exit status. */
int privacy_forward(const struct privacy_request *ask, const char *path);

#endif
