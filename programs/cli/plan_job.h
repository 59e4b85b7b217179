/*
 * One run of `pricer plan`: what was asked, what it works with, and its steps.
 */
#ifndef PROGRAM_PLAN_JOB_H
#define PROGRAM_PLAN_JOB_H

#include "material.h"
#include "print_plan.h"

/* What the command line asks; negative or NAN where it says nothing. */
struct plan_request {
    struct planner_request planner;
    int method, decoder;
    double tolerance, weight_step, noise_step;
    int64_t iterations, starts, seed, trace_every, threads;
    const char *weights, *trace, *name;
    struct option_list what_if;
    bool from_deliveries, warm, as_json;
};

/* The work: the study and what is made of it. */
struct plan_job {
    struct plan_request request;
    struct material from;           /* its plan is the one that is made */
    struct pricer_network *changed; /* with the trust of --what-if, or NULL */
    double *price, *self_price, *server_price;
    struct pricer_decoder *decoder;       /* NULL: constant */
    struct pricer_deliveries *deliveries; /* of --from-deliveries, or NULL */
    struct progress progress;
    FILE *trace;
    struct plan_view view;
    struct pricer_fault fault;
};

/*
 * The steps, in this order. Each may need what the ones before it left in the
 * job; a failure leaves its words in job->fault.
 */

/* The optimal plan: by all ranks of a crew if there is one, but near a plan that
 * is given by this process alone. */
enum pricer_status plan_job_optimise(struct plan_job *job,
                                     const struct pricer_plan *warm,
                                     struct pricer_solve_info *info);

/* Plan, or read the given weights, with multipliers that bound them. */
enum pricer_status plan_job_make(struct plan_job *job);

/* The error, and what other code finds in the finished plan. */
enum pricer_status plan_job_judge(struct plan_job *job);

/* The price of trust on every link. */
enum pricer_status plan_job_price(struct plan_job *job);

/* Fit the decoder, and find what no plan with any decoder could beat. Leaves
 * none, and says why, where it would take long, was stopped, or cannot be. */
enum pricer_status plan_job_decode(struct plan_job *job);

/* Plan once more, for the network with the changed trust. */
enum pricer_status plan_job_replan(struct plan_job *job);

/* Add the plan to the study. */
enum pricer_status plan_job_store(struct plan_job *job);

/* What the error is held against, and where the plan is only somewhat better than
 * always answering zero, what would help. */
void plan_job_measure(struct plan_job *job);

/* Plan the baselines; one that cannot be had says why. */
void plan_job_compare(struct plan_job *job);

#endif
