/*
 * The inside of the exact optimiser, as a problem in shares.
 *
 * The unknowns of the optimiser are shares: the expected weight of node i
 * through relay j, share = p_j p_ij weight wanted_i, where wanted_i, at most 1,
 * is the node's radius over the network's: a node of half the radius with twice
 * the weight does the same harm and needs the same noise. In shares, and divided by
 * radius^2 / nodes^2, the problem of docs/mathematics.md is
 *
 *     minimise  sum of cost share^2            over links, own links included
 *             + sum of cross share share'      over pairs of opposite links
 *             + sum of crowd_j T_j^2           over relays
 *             + (sum of S_i - wanted_i)^2 + bias term of S - wanted,
 *
 * S_i the sum of the shares that leave node i, T_j of those that relay j
 * carries. The multipliers have a meaning: gain_i is what one more unit of
 * S_i saves elsewhere, price_j what one more unit costs at relay j, so that a
 * link is used where gain_i > price_j. In the letters of the mathematics gain_i
 * is v_i, price_j is u_j + t, and links see the difference z = v_i - price_j.
 */
#ifndef PRICER_OPTIMISE_PROBLEM_H
#define PRICER_OPTIMISE_PROBLEM_H

#include "network/network.h"

#include <math.h>
#include <string.h>

/*
 * One direction of a pair of neighbours, kept with the node it leaves. Every
 * neighbour appears in both lists, also where only one direction is a link:
 * then the other has the cost INFINITY and never carries anything.
 */
struct pri_arc {
    double cost;  /* q */
    double cross; /* c, equal in both directions */
    double share; /* y, between methods and in the interior point */
    union {
        double slack; /* interior point: s = 2 q y + c y' - z */
        double ease;  /* Newton, own links: as in a thin arc */
    };
};

/*
 * As little of it as Newton's method needs: the arcs of
 * a large network are most of the memory. What a link costs follows from the
 * network and the noise, and is asked for once a certificate.
 */
struct pri_thin {
    double cross;
    union {
        double share; /* y, while shares are certified */
        double ease;  /* 1 / (2 q), how a share answers to its z */
    };
};

enum {
    PRI_FEW_NODES = 24,    /* most nodes for which Cholesky always solves */
    PRI_DENSE_NODES = 300, /* most for which it does when all else failed */
};

/* An objective below this part of radius^2 / nodes is none: at the default
 * tolerance what is left is rounding. */
#define PRI_NOTHING 1e-7

/* Costs beyond this are as good as no link; their squares stay in range. */
#define PRI_MOST_COST 1e120

/* What is peculiar about a node's two unknowns. */
enum {
    PRI_GAIN_FIXED = 1,  /* no link leaves the node, or a bound holds it */
    PRI_PRICE_TIED = 2,  /* crowd = 0: the price is the sum multiplier */
    PRI_PRICE_FIXED = 4, /* nothing reaches the server through the node */
    PRI_UNREACHED = 8,   /* the node reaches the server by no path */
    PRI_PRICE_OWN = 16,  /* Newton: the price is the node's own gain */
    PRI_OWN_FREE = 32,   /* Newton: its own link costs nothing */
    PRI_GAIN_ALONE = 64, /* Newton: the gain moves by itself */
};

struct pri_problem {
    const struct pricer_network *network;
    enum pricer_bias bias;
    const struct pri_part *part; /* what this rank has of it, or NULL: all */
    int32_t whole;               /* nodes of the whole network */
    int32_t nodes, arcs;         /* here, ghosts included */
    struct pri_team *team;       /* who sweeps over the blocks */
    int32_t blocks;              /* here */
    int32_t *block;         /* [blocks + 1] own nodes, about equal in arcs */
    int32_t *start;         /* [nodes + 1] arcs of each node, by neighbour */
    int32_t *upper;         /* [nodes] the first arc to a higher node */
    const int32_t *to;      /* [arcs] the neighbour */
    const int32_t *partner; /* [arcs] the same pair seen from the other end */
    const int32_t *link;    /* [arcs] the network's link, or -1; NULL where
                               arcs and links are the same: then `to` and
                               `partner` are the network's own */
    int32_t *lists;         /* room for the three where they are not */
    struct pri_thin *thin;  /* [arcs], and NULL while there is `arc` */
    struct pri_arc *arc;    /* [arcs] of the other methods, or NULL */
    const double *slope;    /* [links] the noise of a link per unit weight */
    struct pri_arc *self;   /* [nodes] the own link; cross = 0 */
    double *crowd;          /* [nodes] h; INFINITY where p_j = 0 */
    uint8_t *kind;          /* [nodes] PRI_... */
    double *wanted;         /* [nodes] radius over that of the network */
    double wanted_sum;
    double penalty;                  /* L of the l1 and l2 bias terms, else 0 */
    double upper_bound, lower_bound; /* bounds of every gain */
    bool summed;                     /* the sum multiplier is an unknown */
    int32_t unreached;               /* nodes without any path to the server */
};

/* Multipliers, (gain, price) of each node side by side. */
struct pri_point {
    double *dual; /* [2 * nodes] */
    double sum;   /* t */
};

/* fmax and fmin, without the function call that their care for NAN costs. */
static inline double pri_most(double a, double b)
{
    return a > b ? a : b;
}

static inline double pri_least(double a, double b)
{
    return a < b ? a : b;
}

/* The two numbers of a pair, in vectors: out and in, or gain and price. */
typedef int64_t pri_mask __attribute__((vector_size(16)));

static inline pri_two pri_swap(pri_two a)
{
    return __builtin_shufflevector(a, a, 1, 0);
}

static inline pri_two pri_choose(pri_mask mask, pri_two yes, pri_two no)
{
    return (pri_two)((mask & (pri_mask)yes) | (~mask & (pri_mask)no));
}

static inline pri_two pri_load(const double *from)
{
    pri_two a;
    memcpy(&a, from, sizeof a);
    return a;
}

static inline void pri_store(double *to, pri_two a)
{
    memcpy(to, &a, sizeof a);
}

/* ----------------------------------------------------------------- sweep -- */

/* What one pass over the nodes adds up; `least` is a minimum, from INFINITY. */
struct pri_sweep_sums {
    double sum[5];
    double least;
};

/*
 * Call part() for every block of nodes, on all threads, and add up what it
 * tallies in the order of the blocks, so that the result does not depend on
 * the number of threads. total may be NULL.
 *
 * A part may write to the nodes of its block only. It looks at each pair inside
 * its block once, from the lower end, and at each pair that leaves the block
 * from its own end: a loop over the arcs of node i passes over those with
 * low <= to < i by going on at upper[i].
 */
void pri_sweep(const struct pri_problem *problem,
               void (*part)(void *context, int32_t low, int32_t high,
                            struct pri_sweep_sums *tally),
               void *context, struct pri_sweep_sums *total);

/* Cut the nodes into blocks of about equal work, whatever the threads. */
void pri_sweep_cut(struct pri_problem *problem);

/* The same as a sweep without sums, and for ghosts too: what every rank can
 * work out for itself. Writes to the arcs of the nodes only. */
void pri_sweep_all(const struct pri_problem *problem,
                   void (*part)(void *context, int32_t low, int32_t high,
                                struct pri_sweep_sums *tally),
                   void *context);

/* Give ghosts what their owners have; nothing where there are none. */
static inline void pri_halo(const struct pri_problem *problem, double *values,
                            int width)
{
    if (problem->part != NULL)
        pri_part_nodes(problem->part, values, width);
}

/* The same for the shares of arcs that leave ghosts. */
void pri_halo_shares(const struct pri_problem *problem);

/* Whether it is so on any rank. */
static inline bool pri_anywhere(const struct pri_problem *problem, bool here)
{
    return problem->part != NULL ? pri_part_any(problem->part, here) : here;
}

/* --------------------------------------------------------------- problem -- */

/*
 * Make the problem of one network, or of one rank's part of it, whose network
 * that is. slope[l] is the standard deviation of the
 * noise per unit weight on link l, self_slope[i] that of node i's own link.
 * Refuses an unbiased plan where a node has no path to the server.
 */
enum pricer_status pri_problem_new(const struct pricer_network *network,
                                   const struct pricer_settings *settings,
                                   const double *slope,
                                   const double *self_slope,
                                   const struct pri_part *part,
                                   struct pri_problem **problem,
                                   struct pricer_fault *fault);

void pri_problem_free(struct pri_problem *problem);

/* From thin arcs to whole ones and back; nothing where they are so already.
 * Shares do not survive it. False if there is no memory. */
bool pri_problem_widen(struct pri_problem *problem);
bool pri_problem_slim(struct pri_problem *problem);

/* Fill c of the thin arcs. */
void pri_problem_cross(struct pri_problem *problem);

/* q of one link, or INFINITY where nothing can arrive through it. */
double pri_link_cost(double p, double uplink, double dimension, double slope);

/* What arc l costs, and its share, whichever arcs there are. */
double pri_arc_cost(const struct pri_problem *problem, int32_t l);

static inline double pri_arc_share(const struct pri_problem *problem, int32_t l)
{
    return problem->arc != NULL ? problem->arc[l].share
                                : problem->thin[l].share;
}

static inline void pri_arc_set_share(const struct pri_problem *problem,
                                     int32_t l, double share)
{
    if (problem->arc != NULL)
        problem->arc[l].share = share;
    else
        problem->thin[l].share = share;
}

static inline double pri_arc_cross(const struct pri_problem *problem, int32_t l)
{
    return problem->arc != NULL ? problem->arc[l].cross
                                : problem->thin[l].cross;
}

/* Room for a point, all zero. */
bool pri_point_new(const struct pri_problem *problem, struct pri_point *point);
void pri_point_copy(const struct pri_problem *problem,
                    const struct pri_point *from, struct pri_point *to);

/* Write scale_i share as weights, and the multipliers, into a plan. Noise is
 * left alone. */
void pri_problem_plan(const struct pri_problem *problem, const double *scale,
                      const struct pri_point *point, struct pricer_plan *plan);

/* The inverse: the multipliers of a plan as a point, and the shares of the own
 * links. False if one is not a number. */
bool pri_problem_point(const struct pri_problem *problem,
                       const struct pricer_plan *plan, struct pri_point *point);

/* The gain that makes the most of a node without a path: a constant. */
static inline double pri_unreached_gain(const struct pri_problem *problem,
                                        int32_t i)
{
    if (problem->bias == PRICER_BIAS_L1)
        return problem->penalty;
    return problem->bias == PRICER_BIAS_L2
               ? 2 * problem->penalty * problem->wanted[i]
               : 0;
}

/* ----------------------------------------------------------- certificate -- */

/* A feasible plan's value and how far below it the optimum may lie. */
struct pri_proof {
    double primal;   /* value, in units of radius^2 / nodes^2 */
    double distance; /* primal - bound, added up term by term, >= 0 */
    double gap;      /* distance relative to the primal */
};

struct pri_certifier {
    const struct pri_problem *problem;
    double *scale; /* [nodes] out: the factor that makes a row feasible */
    double *cap;   /* [nodes] the most that a link to the relay carries */
    double best;   /* least primal value seen: bounds every optimal share */
    struct pri_point *point; /* of the certificate in progress */
};

bool pri_certifier_new(const struct pri_problem *problem,
                       struct pri_certifier *certifier);
void pri_certifier_free(struct pri_certifier *certifier);

/*
 * Make the shares feasible row by row and bound the distance to the optimum by
 * the point, whose gains are clipped to their bounds in place. Two passes over
 * the links.
 */
void pri_certify(struct pri_certifier *certifier, struct pri_point *point,
                 struct pri_proof *proof);

#endif
