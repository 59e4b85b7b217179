/*
 * What a verb works with: a study, and what is read from it. And the options
 * that put something in the place of the scenario's settings.
 */
#ifndef PROGRAM_MATERIAL_H
#define PROGRAM_MATERIAL_H

#include "common/options.h"
#include "common/program.h"

/* Opened by material_open(), freed by material_close(); start it with {0}. */
struct material {
    struct pricer_study *study;
    struct pricer_settings settings; /* the scenario's */
    int64_t seed;                    /* the scenario's */
    struct pricer_network *network;  /* the scenario's, or the plan's */
    struct pricer_plan *plan;        /* NULL until material_plan() */
    struct pricer_plan_record record;
};

/* Open a study and read its settings. What was opened before a failure is there
 * for material_close(). */
enum pricer_status material_open(const char *path, bool writable,
                                 struct material *material,
                                 struct pricer_fault *fault);

/* Read the scenario's network. */
enum pricer_status material_network(struct material *material,
                                    struct pricer_fault *fault);

/* The row of struct option for a plan of the study. */
#define PLAN_OPTION(store)                                                     \
    {                                                                          \
        "plan", OPTION_TEXT, store, "PLAN",                                    \
            "which plan of the study, by number or name; default the latest"   \
    }

/* Read a plan by its number or name, or with NULL the latest, and the network
 * that it was made for. What is said of a plan is said by its record's
 * settings. */
enum pricer_status material_plan(struct material *material, const char *plan,
                                 struct pricer_fault *fault);

/* Whether a new plan may be called so: PRICER_VALUE where another one is. */
enum pricer_status material_name(struct pricer_study *study, const char *name,
                                 struct pricer_fault *fault);

/* Close what is open; what is not stays alone. */
void material_close(struct material *material);

/* What the command line asks of the planner. */
struct planner_request {
    int bias;        /* -1: the scenario's */
    int calibration; /* -1: the scenario's */
    double lambda;   /* NAN: the scenario's */
};

/* The rows of struct option that fill a planner_request. */
#define PLANNER_OPTIONS(ask)                                                   \
    {"bias", OPTION_CHOICE, &(ask)->bias, "worst-case|unbiased|l1|l2",         \
     "how bias is held down; default: the scenario's"},                        \
        {"lambda", OPTION_NUMBER, &(ask)->lambda, "X",                         \
         "weight of the l1 or l2 bias term; default: the scenario's"},         \
    {                                                                          \
        "calibration", OPTION_CHOICE, &(ask)->calibration, "analytic|classic", \
            "how much noise a budget asks for; default: the scenario's"        \
    }

/* Whether --lambda was given with a --bias that has none. */
bool planner_stray_lambda(const struct planner_request *ask);

/* Put what was asked for above the scenario's settings. A bias term that has a
 * lambda must get one, from the command line or the scenario, and the others
 * take none. */
enum pricer_status planner_override(const struct planner_request *ask,
                                    struct pricer_settings *settings,
                                    struct pricer_fault *fault);

#endif
