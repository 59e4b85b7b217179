/*
 * `pricer audit` for a study of 'scheme: forward'.
 */
#ifndef PROGRAM_FORWARD_AUDIT_H
#define PROGRAM_FORWARD_AUDIT_H

#include "cli/question.h"

/* The exit status where a claim is contradicted, and how often that may happen to
 * true ones. */
enum { AUDIT_CONTRADICTED = 3 };
#define AUDIT_ALARM 1e-6

enum claim { CLAIM_ACCOUNT, CLAIM_BUDGET, CLAIM_PAPER };

/* What the command line asks of `pricer audit`. */
struct audit_request {
    struct question_request about;
    int claim;         /* -1: not given */
    int64_t node;      /* -1: not given */
    int64_t at;        /* -1: not given */
    int64_t seed;      /* -1: not given */
    double eps;        /* 0: not given */
    double confidence; /* 0: not given */
    int64_t trials;    /* 0: not given */
    const char *plan;  /* NULL: the latest */
    bool all;
    bool as_json;
};

/* Attack and print. Returns the exit status. */
int audit_forward(const struct audit_request *ask, const char *path);

#endif
