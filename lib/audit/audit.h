/*
 * The inside of the audit: what it attacks can be exchanged, so that tests can
 * show that it would notice; one trial; what many trials prove.
 */
#ifndef PRICER_AUDIT_H
#define PRICER_AUDIT_H

#include "pricer_audit.h"
#include "account/account.h"

/* The code under attack: how a node writes a message. */
struct pri_audit_code {
    enum pricer_status (*share)(const struct pricer_slice *slice,
                                const struct pricer_share *share,
                                const double *data,
                                struct pricer_random *random, int64_t *message,
                                struct pricer_fault *fault);
};

/* pricer_audit_run() against other code than the library's. */
enum pricer_status pri_audit_run(const struct pricer_network *network,
                                 const struct pricer_plan *plan,
                                 const struct pricer_audit_settings *settings,
                                 const struct pri_audit_code *code,
                                 struct pricer_audit *audit,
                                 struct pricer_fault *fault);

/* ---------------------------------------------------------------- attack -- */

/*
 * What one trial shows the observer. mu is the distance of the two hypotheses
 * in standard deviations, conditioned on which links were up: 0 if nothing was
 * seen, INFINITY if it was seen without noise, NAN for identities.
 */
struct pri_trial {
    double ratio; /* the log-likelihood ratio of the hypotheses */
    double mu;
};

/* Everything that trials need; one for each thread. */
struct pri_attack;
enum pricer_status pri_attack_new(const struct pricer_network *network,
                                  const struct pricer_plan *plan,
                                  const struct pricer_audit_settings *settings,
                                  const struct pri_audit_code *code,
                                  struct pri_attack **attack,
                                  struct pricer_fault *fault);
void pri_attack_free(struct pri_attack *attack);

/* How many microseconds a trial takes, about. */
double pri_attack_cost(const struct pri_attack *attack);

/* Play trial `trial` of the first hypothesis, or of the other. */
enum pricer_status pri_attack_play(struct pri_attack *attack, int64_t trial,
                                   bool other, struct pri_trial *result,
                                   struct pricer_fault *fault);

/* ----------------------------------------------------------------- count -- */

/* Clopper and Pearson: bounds on a probability after `hits` of `trials`, each
 * wrong with probability at most `error`. */
double pri_hits_lower(int64_t hits, int64_t trials, double error);
double pri_hits_upper(int64_t hits, int64_t trials, double error);

struct pri_counted {
    int64_t judged;     /* pairs of trials that were counted */
    int64_t hits;       /* those inside the set S under P, see count.c */
    int64_t other_hits; /* those inside S under Q */
    double eps;         /* the lower bound that they prove, or 0 */
};

/* The order of two doubles, for qsort(). */
int pri_by_value(const void *one, const void *two);

/*
 * What `count` pairs of trials, [2k] of the first hypothesis and [2k + 1] of
 * the other, prove by counting; wrong with probability at most `error`.
 */
enum pricer_status pri_count_eps(const struct pri_trial *trials, int64_t count,
                                 double delta, double error,
                                 struct pri_counted *counted);

/* ------------------------------------------------------------------- fit -- */

/*
 * The factor between the distance that the code keeps and the one in the plan,
 * from below, wrong with probability at most `error`; 0 if it may be anything,
 * NAN if too few trials saw something.
 */
double pri_fit_scale(const struct pri_trial *trials, int64_t count,
                     double error);

/* The eps that goes with it at this delta, or NAN. */
enum pricer_status pri_fit_eps(const struct pri_trial *trials, int64_t count,
                               double delta, double error, double *eps);

#endif
