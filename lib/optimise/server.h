/*
 * The problem with budgets towards the server, and its own interior point.
 *
 * What the server learns about node i is bounded, whatever links are up, by the
 * sum of m_ij = (2 R weight / noise)^2 over its links. A link's own budget says
 * m_ij <= c_ij, the server's sum_j m_ij <= M_i, and the noise of a link costs
 * kappa y^2 / m. Here m counts in parts of M_i, so that a row of parts adds up
 * to at most 1:
 *
 *     a y^2 + b y^2 / part,   0 <= part <= most,   sum of a row's parts <= 1,
 *
 *     a = (1 - p_ij) / w,   b = 4 d / (w M_i),   most = c_ij / M_i,
 *     w = p_j p_ij.
 *
 * The multiplier of a row's budget is k_i >= 0. Nodes whose links cannot spend
 * more than M_i in all are not bound: their links keep the plain cost q of
 * problem.h, with b = 0.
 */
#ifndef PRICER_OPTIMISE_SERVER_H
#define PRICER_OPTIMISE_SERVER_H

#include "conjugate.h"

/* What a budget adds to an arc. */
struct pri_split {
    double plain; /* a, or q where no budget binds */
    double noise; /* b; 0 where no budget binds */
    double most;  /* of the part; INFINITY where the row's budget says so */
    double part;  /* interior point: what the link has of the row's budget */
    double floor; /* interior point: multiplier of part >= 0 */
    double roof;  /* interior point: multiplier of part <= most */
};

struct pri_server {
    struct pri_problem *problem;
    double *limit;          /* [nodes] M; INFINITY: none */
    struct pri_split *arc;  /* [arcs] */
    struct pri_split *self; /* [nodes] */
    bool *bound;            /* [nodes] the node's budget counts */
    double *multiplier;     /* [nodes] k, where the method is */
    int32_t bindings;       /* nodes that are bound */
    bool *whole;            /* [nodes] plans take its shares as they are */
    bool all_whole;         /* those of all nodes */
};

/*
 * slope and self_slope are those of pri_problem_new(), server_slope[i] what its
 * server budget would ask of a node with one link, 0 for no budget. Refuses
 * nothing: every budget can be kept with noise enough.
 */
enum pricer_status pri_server_new(struct pri_problem *problem,
                                  const double *slope, const double *self_slope,
                                  const double *server_slope,
                                  struct pri_server **server);
void pri_server_free(struct pri_server *server);

/*
 * The share of a link as a plan takes it: 0 where the interior point holds it
 * above 0 only by its barrier, against a slope that exceeds what share and
 * relay would resist.
 */
static inline double pri_server_share(const struct pri_arc *arc,
                                      const struct pri_split *split,
                                      double crowd)
{
    double cost = split->plain + crowd + 1;
    return arc->slack > 2 * cost * arc->share ? 0 : arc->share;
}

/* That of arc l of node i, and of its own link. */
static inline double pri_server_out(const struct pri_server *server, int32_t i,
                                    int32_t l)
{
    const struct pri_problem *problem = server->problem;
    if (server->whole[i])
        return problem->arc[l].share;
    return pri_server_share(&problem->arc[l], &server->arc[l],
                            problem->crowd[problem->to[l]]);
}

static inline double pri_server_own(const struct pri_server *server, int32_t i)
{
    if (server->whole[i])
        return server->problem->self[i].share;
    return pri_server_share(&server->problem->self[i], &server->self[i],
                            server->problem->crowd[i]);
}

/*
 * How row i spends its budget at least cost, its shares given: part of each
 * link is least(most, rate sqrt(b) share). Returns the rate, INFINITY where
 * every share may have its most.
 */
double pri_server_rate(const struct pri_server *server, int32_t i);

/* The part that a link with this share gets at the rate. */
static inline double pri_server_part(const struct pri_split *split,
                                     double share, double rate)
{
    double asked = share > 0 ? rate * sqrt(split->noise) * share : 0;
    return asked < split->most ? asked : split->most;
}

/* As pri_certify(), with the multipliers of the budgets. */
void pri_server_certify(const struct pri_server *server,
                        struct pri_certifier *certifier,
                        struct pri_point *point, struct pri_proof *proof);

/* Write the multipliers into a plan, and take out the weights of links that it
 * does not use; its noise is left alone. */
void pri_server_plan(const struct pri_server *server, struct pricer_plan *plan);

/*
 * The noise of a plan whose weights are known. slope and self_slope are what
 * the links' own budgets ask for, and may be the plan's noise; server_slope is
 * what its budget would ask of a node with one link, 0 where there is none.
 */
void pri_server_noise(const struct pricer_network *network, const double *slope,
                      const double *self_slope, const double *server_slope,
                      struct pricer_plan *plan);

/* ---------------------------------------------------------------- system -- */

/* A pair as the linear system sees it, as struct pri_entry, and how the parts
 * follow the shares. */
struct pri_server_entry {
    int32_t to;
    float out, in, both;
    float lean_out, lean_in; /* d part / d share */
};

/*
 * The system of one step in (gain, price, k) of each node and the sum: with
 * z = dv_i - dg_j - lean dk_i of every link, the quadratic form is that of
 * struct pri_system and 1/2 spread_i dk_i^2.
 */
struct pri_server_system {
    const struct pri_server *server;
    bool dense;
    double least;  /* pairs that answer less than this are left out */
    uint8_t *kind; /* [nodes] PRI_..., what is held now */
    struct pri_server_entry *entry; /* as in struct pri_system */
    int32_t *until;                 /* [nodes] */
    double *exact;                  /* [5 * arcs] if dense */
    long double *matrix;            /* [(3 nodes + 1) (3 nodes + 2)] if dense */
    double *own, *own_lean;         /* [nodes] the own link */
    double *curvature;              /* [nodes] in the gain */
    double *ease;                   /* [nodes] 1 / (2 crowd) */
    double *spread;                 /* [nodes] in k */
    double *block; /* [6 * nodes] sums over pairs: vv, vg, vk, gg, gk, kk;
                        once prepared, the inverse of the node's block */
    double *arrow; /* [3 * nodes] that inverse times the sum's column */
    struct pri_conjugate cg;
};

bool pri_server_system_new(const struct pri_server *server, bool dense,
                           struct pri_server_system *system);
void pri_server_system_free(struct pri_server_system *system);

/* Enter the answers and leans of a pair; returns where the next one goes. Pairs
 * that hardly answer are left out: late in a run most do not. */
static inline int32_t pri_server_enter(struct pri_server_system *system,
                                       int32_t at, int32_t arc, bool inside,
                                       const double answer[3],
                                       const double lean[2])
{
    const struct pri_problem *problem = system->server->problem;
    if (system->dense) {
        double *exact = &system->exact[5 * (int64_t)arc];
        (void)inside;
        memcpy(exact, answer, 3 * sizeof *exact);
        memcpy(exact + 3, lean, 2 * sizeof *exact);
        return at;
    }
    if (answer[0] <= system->least && answer[2] <= system->least)
        return at;
    struct pri_server_entry *entry = &system->entry[at];
    entry->to = problem->to[arc];
    entry->out = (float)pri_least(answer[0], 1e37);
    entry->in = (float)pri_least(answer[2], 1e37);
    entry->both = (float)pri_most(answer[1], -1e37);
    entry->lean_out = (float)pri_least(lean[0], 1e37);
    entry->lean_in = (float)pri_least(lean[1], 1e37);
    return at + 1;
}

/* Prepare to solve, when all but arrow, schur and common is set. */
void pri_server_prepare(struct pri_server_system *system);

/* Solve to a relative residual, or in `most` steps; solution is [3 * nodes].
 * False if numbers ran out of range. */
bool pri_server_solve(struct pri_server_system *system, const double *right,
                      double right_sum, double relative, int32_t most,
                      double *solution, double *solution_sum);

#endif
