/*
 * The check of a plan in four files: its budgets, the bound below all plans,
 * what ranks of a crew add to each other, and all the rest.
 */
#ifndef PRICER_PLAN_VERIFY_H
#define PRICER_PLAN_VERIFY_H

#include "network/network.h"

#include <stdio.h>

struct pri_audit {
    const struct pricer_network *network;
    const struct pricer_settings *settings;
    const struct pricer_plan *plan;
    struct pricer_certificate *certificate;
    const struct pri_part *part; /* whose network it is, or NULL */
    int32_t low, high;           /* nodes to look at: not at ghosts */
    int64_t nodes, links;        /* of the whole network */
    int threads;
    double *slope, *self_slope;
    long double square;           /* radius^2 */
    long double wanted;           /* sum of the nodes' */
    long double penalty;          /* L = nodes^2 lambda */
    long double objective, bound; /* times nodes^2 */
    long double cap;
};

static inline void pri_complain(struct pri_audit *audit, const char *what,
                                int32_t from, int32_t to, long double value)
{
    struct pricer_certificate *certificate = audit->certificate;
    const struct pri_part *part = audit->part;
    if (certificate->words[0] == '\0')
        snprintf(certificate->words, sizeof certificate->words,
                 "%s of %d,%d is %.9Lg", what,
                 (int)(part != NULL ? pri_part_name(part, from) : from),
                 (int)(part != NULL ? pri_part_name(part, to) : to), value);
}

/* Count the links that say more than their budgets allow, and name the first.
 * A node's own part counts in every round, heard by the server or not. */
void pri_check_noise(struct pri_audit *audit);

/* Add each of at most 4 values over the ranks, in their order. */
void pri_verify_sum(const struct pri_audit *audit, long double *values,
                    int count);

/* All of it. Where there are ghosts, meet_ghosts() gives them their plans. */
enum pricer_status pri_verify_run(struct pri_audit *audit,
                                  void (*meet_ghosts)(void *context),
                                  void *context,
                                  struct pricer_certificate *certificate,
                                  struct pricer_fault *fault);

/* No plan's objective is below audit->bound, which is lowered by what the
 * rounding of so many terms can add up to. */
void pri_verify_bound(struct pri_audit *audit);

/* What all ranks have found, with the gap, in the certificate of each. */
void pri_verify_conclude(struct pri_audit *audit);

/* The same for nodes and their budgets towards the server. */
void pri_check_server(struct pri_audit *audit);

/* The radius of node i over that of the network: its weights, times this, are
 * those of a network with one radius, which wants so much of the node and not
 * 1. */
static inline long double pri_wanted(const struct pri_audit *audit, int32_t i)
{
    return (long double)audit->network->node_radius[i] / audit->network->radius;
}

#endif
