/*
 * Attacks on what nodes send, to see that no account of privacy says too much.
 */
#ifndef PRICER_AUDIT_PUBLIC_H
#define PRICER_AUDIT_PUBLIC_H

#include "pricer_forward.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What is to be attacked: who looks at what (the question, with its delta,
 * rounds, threads and watch), at which node. Zero elsewhere is the default.
 */
struct pricer_audit_settings {
    struct pricer_question question;
    int32_t node;          /* whose data or identity */
    int32_t at;            /* links and relays: who receives it */
    int64_t trials;        /* of either hypothesis; 0: some seconds' worth */
    int64_t budget_rounds; /* the rounds that the plan was made for; 1 */
    double confidence;     /* of eps_counted and eps_fitted each; 0.95 */
    double alarm;          /* of a wrong verdict, at most; 1e-6 */
    uint64_t seed;
};

/* At most so many trials of either hypothesis; each pair takes 48 bytes. */
enum { PRICER_AUDIT_TRIALS_LEAST = 1000, PRICER_AUDIT_TRIALS_MOST = 100000000 };

/*
 * What an attack has shown. Each eps_ is a lower bound: with the stated
 * confidence no smaller eps holds at statement.delta.
 *
 * eps_counted takes nothing for granted: it counts how often each hypothesis
 * led to what the other rarely leads to (Clopper and Pearson), and cannot
 * exceed the logarithm of the trials. eps_fitted takes for granted that the
 * noise is Gaussian and that all of it is off from the plan by one factor,
 * which it measures; it reaches any eps. The sure_ ones are the same at
 * the confidence 1 - alarm / 2 each; verdicts are by them alone.
 */
struct pricer_audit {
    struct pricer_statement statement; /* what the account claims */
    double budget; /* the eps agreed on for the link at this delta, or NAN */
    int64_t trials;
    int64_t judged;           /* of the trials; the others chose the test */
    int64_t hits, other_hits; /* of judged, for eps_counted */
    double eps_counted, sure_counted;
    double eps_fitted, sure_fitted; /* NAN: there is nothing to fit */
};

/*
 * Attack what a node sends, through the functions that real rounds use.
 *
 * The two hypotheses are the ends of a diameter of what a node may hold (the
 * data is sent longer than that, so that clipping is attacked too), or that it
 * takes part and that it does not. The observer knows plan, links and the data
 * of all others. The result does not depend on the number of threads.
 * PRICER_STOPPED if the watch asked to. A trial costs as many messages as reach
 * the observer's sums.
 */
PRICER_API enum pricer_status pricer_audit_run(
    const struct pricer_network *network, const struct pricer_plan *plan,
    const struct pricer_audit_settings *settings, struct pricer_audit *audit,
    struct pricer_fault *fault);

/*
 * Attack the releases of a node of 'scheme: forward': they are made by
 * pricer_forward_release(), the function of real rounds, of data at both ends of
 * the ball (sent longer, so that clipping is attacked too), and everyone sees
 * them. Of the question delta, rounds and watch count. budget_rounds are those of
 * the plan.
 *
 * The eps_ are as above; what is counted is how often a direction falls into the
 * caps of either data. In the same trials the law that the plan states is tested:
 * the share of directions in the cap of the data and in the opposite one, that no
 * other direction is preferred, and that no seed comes twice. law[0] is not '\0',
 * and law says what is wrong, where one of these is contradicted; if the law is the
 * stated one that has a probability of at most alarm / 2.
 *
 * With `kernel` the kernel's random bits are used, as nodes do, else those of the
 * seed.
 */
struct pricer_forward_audit {
    struct pricer_audit audit;
    int64_t releases;      /* of both hypotheses */
    int64_t own, opposite; /* of them in the cap of the data, and opposite */
    double own_stated, opposite_stated; /* their probabilities by the plan */
    char law[200];
};
PRICER_API enum pricer_status pricer_audit_forward(
    const struct pricer_network *network,
    const struct pricer_forward_plan *plan,
    const struct pricer_audit_settings *settings, bool kernel,
    struct pricer_forward_audit *audit, struct pricer_fault *fault);

/*
 * Whether the attack contradicts the claim that this eps holds at the audit's
 * delta. If the claim is true, and so is what eps_fitted takes for granted, the
 * answer is yes with probability `alarm` at most; INFINITY and NAN claim
 * nothing.
 */
PRICER_API bool pricer_audit_contradicts(const struct pricer_audit *audit,
                                         double eps);

#ifdef __cplusplus
}
#endif
#endif
