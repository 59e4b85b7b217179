/*
 * Distributed K-means as the verbs use it: a network and points to a plan for
 * the messages, runs over several seeds, and the privacy that they spend.
 */
#ifndef PROGRAM_CLUSTER_H
#define PROGRAM_CLUSTER_H

#include "material.h"
#include "pricer_decode.h"
#include "pricer_forward.h"
#include "pricer_kmeans.h"

/* How messages reach the server. With 'scheme: forward' CLUSTER_PRICER forwards
 * releases, CLUSTER_BEST does so without relays, and the next two are not used. */
enum cluster_strategy {
    CLUSTER_PRICER = 0, /* relayed with an optimal plan */
    CLUSTER_NAIVE,      /* no collaboration, own weight 1 */
    CLUSTER_UNBIASED,   /* no collaboration, own weight 1/p */
    CLUSTER_BEST,       /* no collaboration, own weights optimal */
    CLUSTER_PERFECT,    /* every message arrives, without noise */
};
#define CLUSTER_STRATEGIES "pricer|none|none-unbiased|none-best|perfect"

/* What (eps, delta) of a link is for. */
enum cluster_budget {
    CLUSTER_RUN = 0, /* everything it carries in all rounds */
    CLUSTER_RELEASE, /* each vector by itself, as the paper has it */
};

enum { CLUSTER_TRUSTS = 8 }; /* kinds of trust kept apart; the rest is pooled */

/* Links with the same (eps, delta), and what the worst of them spends; with
 * 'scheme: forward' nodes, towards everyone. */
struct cluster_trust {
    double eps, delta;
    int64_t links; /* that carry something, own parts included */
    double mu;     /* of the worst message: its change over its noise */
    bool within;   /* each link by itself keeps its (eps, delta) */
    double spent;  /* eps at that delta over the whole run; INFINITY: none */
};

struct cluster {
    const struct pricer_network *network;
    const struct pricer_matrix *points;
    struct pricer_kmeans_settings kmeans;
    enum pricer_scheme scheme;
    struct pricer_settings plan_settings;            /* of sums */
    struct pricer_forward_settings forward_settings; /* of the other scheme */
    enum cluster_strategy strategy;
    enum cluster_budget budget;
    int decode; /* PRICER_DECODE_CONSTANT, or MINIMAX: fit a decoder */

    /* Results. */
    struct pricer_network task;          /* the network as planned for */
    struct pricer_plan *plan;            /* of sums; or NULL */
    struct pricer_forward_plan *forward; /* or NULL; both: perfect links */
    struct pricer_decoder *decoder;      /* NULL: every sum counts 1/n */
    struct pricer_error error;
    double gap;
    int trusts;
    struct cluster_trust trust[CLUSTER_TRUSTS];
};

/* Read network, scheme and settings from a study, into both. What was opened
 * before a failure is there for material_close(). */
enum pricer_status cluster_study(const char *path, struct material *from,
                                 struct cluster *cluster,
                                 struct pricer_fault *fault);

const char *cluster_strategy_text(const struct cluster *cluster);
const char *cluster_procedure_text(enum pricer_kmeans_procedure procedure);

/* Plan for messages of a task and account for them: of the cluster its network,
 * settings, strategy, budget and kmeans.rounds count. Free with
 * cluster_close(). */
enum pricer_status cluster_plan(struct cluster *cluster,
                                const struct pricer_kmeans_task *task,
                                struct pricer_fault *fault);

/* The same for the messages of K-means. */
enum pricer_status cluster_open(struct cluster *cluster,
                                struct pricer_fault *fault);
void cluster_close(struct cluster *cluster);

/* Read points, in single precision and of unit norm if asked for. */
enum pricer_status cluster_read(const char *path, bool unit_norm,
                                struct pricer_matrix **points,
                                struct pricer_fault *fault);

/* What every kind of link, or node, spends, as a table or in JSON. */
void cluster_print_budget(const struct cluster *cluster);
void cluster_print_budget_json(struct json *json,
                               const struct cluster *cluster);

/* Whether to go on with a study: not where an option that only sums have is given
 * for one of 'scheme: forward', which is said. */
struct cluster_option {
    const char *option;
    bool given;
};
bool cluster_options_fit(const char *verb, const char *path,
                         const struct cluster_option *options, int count);

/* Leave the processors to our own threads, not to those of the BLAS. */
void cluster_prepare(void);

#endif
