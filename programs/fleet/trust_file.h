/*
 * A node's own word on what it will send to whom; docs/protocol.md, section 6.
 */
#ifndef PROGRAM_TRUST_H
#define PROGRAM_TRUST_H

#include "common/program.h"
#include "pricer_study.h"

/*
 * All that leaves a node in a round, towards the server that gets it in the end:
 * `server` in the file. And releases that everyone hears: `everyone`, whose eps
 * and delta are for all rounds of all plans ever, and are its totals too.
 */
enum { TRUST_SERVER = -1, TRUST_EVERYONE = -2 };

struct trust_row {
    int32_t to;                  /* the node itself stands for its own part */
    double eps;                  /* of one release */
    double delta;                /* of one release */
    double total_eps;            /* of all releases */
    double total_delta;          /* of all releases */
    char key[PRICER_KEY_TEXT];   /* or empty */
    char name[PRICER_NAME_TEXT]; /* that people call it by, or empty */
    int64_t line;                /* of the file */
};

struct trust {
    struct trust_row *rows; /* by `to` */
    int32_t count;
};

/* CSV with the columns to,eps,delta[,total_eps,total_delta][,key][,name]; `to`
 * is a node, `server` or `everyone`. A column credit of older files may say `none`. */
enum pricer_status trust_read(const char *path, struct trust *trust,
                              struct pricer_fault *fault);
void trust_free(struct trust *trust);

/* What is said about a receiver, or NULL: nothing may go there. */
const struct trust_row *trust_find(const struct trust *trust, int32_t to);

/* A node as the log has it: "kitchen (3)", or "3" where the file has no name;
 * "server" and "everyone" for those rows. */
struct node_label trust_label(const struct trust *trust, int32_t to);

/*
 * Claim: a Gaussian release of ratio mu (sensitivity over deviation) is (eps,
 * delta)-private if this is true. Proof: either pricer_gaussian_delta(), which
 * is rounded up, says so, or mu is at most what pricer_calibrate() hands out,
 * which never spends more. An infinite eps or a delta of 1 allows everything.
 *
 * Both, since a plan's ratio must pass where it is planned to: for T > 1 rounds
 * it is below the calibrated one (ledger.h). For T = 1 it is above it by three
 * roundings of 2^-53 at most; calibration keeps 2^-49 below the root, which the
 * logarithm of delta shows with a slope of at least 0.8, more than the rounding
 * of pricer_gaussian_delta() hides. tests/fleet/ledger.c tries budgets of every
 * size.
 */
bool trust_allows(double eps, double delta, double mu);

/* The largest ratio that calibration allows one release; INFINITY: any. */
double trust_most(double eps, double delta);

/*
 * The same for `releases` of ratio mu. The tolerance of 2^-50 is for the roundings between the calibrated ratio and the
 * noise of a link; the 2^-49 that calibration stays below the root pay for it.
 */
bool trust_allows_often(double eps, double delta, double mu, int64_t releases);

/* The ratio of a part: diameter weight / noise rounded up; 0 where it does not
 * depend on the data, INFINITY where it is sent bare. */
double trust_ratio(double diameter, double weight, double noise);

/*
 * The ratio of several parts together, the root of the sum of their squares,
 * rounded up. Claim: whoever sees them all learns no more than from one Gaussian
 * release of this ratio, as their noises are independent.
 */
double trust_ratio_together(const double *ratio, int32_t count);

#endif
