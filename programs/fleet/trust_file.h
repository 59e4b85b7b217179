/*
 * A node's own word on what it will send to whom; docs/protocol.md, section 6.
 */
#ifndef PROGRAM_TRUST_H
#define PROGRAM_TRUST_H

#include "pricer_study.h"

struct trust_row {
    int32_t to;                /* the node itself stands for the server */
    double eps;                /* of one release */
    double delta;              /* of one release */
    double total_eps;          /* of all releases */
    double total_delta;        /* of all releases */
    char key[PRICER_KEY_TEXT]; /* or empty */
};

struct trust {
    struct trust_row *rows; /* by `to` */
    int32_t count;
};

/* CSV with the columns to,eps,delta[,total_eps,total_delta][,key]. */
enum pricer_status trust_read(const char *path, struct trust *trust,
                              struct pricer_fault *fault);
void trust_free(struct trust *trust);

/* What is said about a receiver, or NULL: nothing may go there. */
const struct trust_row *trust_find(const struct trust *trust, int32_t to);

/*
 * Claim: a Gaussian release of ratio mu (sensitivity over deviation) is (eps,
 * delta)-private if this is true. pricer_gaussian_delta() is rounded up; an
 * infinite eps or a delta of 1 allows everything.
 */
bool trust_allows(double eps, double delta, double mu);

/* The ratio of a part: 2 radius weight / noise rounded up; 0 where it does not
 * depend on the data, INFINITY where it is sent bare. */
double trust_ratio(double radius, double weight, double noise);

#endif
