/*
 * pricer: private mean estimation over networks whose links come and go.
 *
 * This is the core of the public interface. It follows the order of the data,
 *
 *     scenario -> network -> calibration -> plan -> privacy -> round ->
 *     simulation,
 *
 * and each part needs only the parts above it. The other headers stand on this one:
 * pricer_crew.h lets several processes work together, pricer_decode.h makes the
 * most of the sums that arrived, pricer_study.h keeps all of it in a file and
 * knows the members and rounds of a real fleet, pricer_members.h what its server
 * remembers of them, pricer_audit.h attacks what nodes send, pricer_reference.h
 * plays rounds that are relative to the last estimate, and pricer_kmeans.h and
 * pricer_power.h cluster data that is spread over the nodes and find its
 * principal components. pricer_input.h reads lists of measured links.
 * pricer_release.h makes one private vector of a node's data and
 * pricer_forward.h plans and plays rounds of PRICER_SCHEME_FORWARD.
 *
 * Rules that hold everywhere:
 *   - Every function that can fail returns an enum pricer_status. Its outputs
 *     come after its inputs and are untouched on failure.
 *   - The last argument of such a function is a struct pricer_fault, which may
 *     be NULL: one line that says what is wrong and where. It is untouched on
 *     success, and may be where the status says all (PRICER_MEMORY,
 *     PRICER_STOPPED).
 *   - No function takes more than six arguments; structs of plain numbers and
 *     arrays take the rest.
 *   - The library never prints, exits, reads the environment or keeps a global.
 *   - Inputs are borrowed and never changed. What a function hands out in a **
 *     is the caller's, to be freed with the _free function of its type;
 *     _free(NULL) does nothing.
 *   - In settings, zero means the default.
 *   - Results never depend on the number of threads unless said so.
 */
#ifndef PRICER_H
#define PRICER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PRICER_API __attribute__((visibility("default")))
#else
#define PRICER_API
#endif

#define PRICER_VERSION "0.1.0"

/* The version of the library at run time, for comparison with the header's. */
PRICER_API const char *pricer_version(void);

/* ---------------------------------------------------------------- status -- */

enum pricer_status {
    PRICER_OK = 0,
    PRICER_MEMORY,     /* out of memory */
    PRICER_FILE,       /* a file cannot be opened, read or written */
    PRICER_FORMAT,     /* a file is not what it should be */
    PRICER_VALUE,      /* a number or name is outside its range */
    PRICER_INFEASIBLE, /* the request has no solution; the fault says why */
    PRICER_BUSY,       /* the study is locked by another program */
    PRICER_STOPPED,    /* the caller's watch asked to stop */
};

/* What a status means, in a few words; never NULL. */
PRICER_API const char *pricer_status_text(enum pricer_status status);

/* What went wrong, in one line, such as "links.csv:17: p = 1.3 is not a
 * probability". */
struct pricer_fault {
    char text[512];
};

/*
 * Called now and then by long work with the fraction done, 0 to 1. Return false
 * to stop: a solver or simulation then hands out what it has so far. It is
 * called from one thread at a time.
 */
struct pricer_watch {
    bool (*tick)(void *context, double done);
    void *context;
};

/* Which enumeration a word belongs to. */
enum pricer_vocabulary {
    PRICER_WORDS_BIAS = 0,
    PRICER_WORDS_CALIBRATION,
    PRICER_WORDS_BASELINE,
    PRICER_WORDS_OBSERVER,
    PRICER_WORDS_PROTECT,
    PRICER_WORDS_EAVESDROPPER,
    PRICER_WORDS_ENGINE,
    PRICER_WORDS_DATA,
    PRICER_WORDS_DECODE,
    PRICER_WORDS_METHOD,   /* enum pricer_method of pricer_study.h */
    PRICER_WORDS_DROP,     /* enum pricer_drop of pricer_study.h */
    PRICER_WORDS_ORIGIN,   /* enum pricer_origin of pricer_study.h */
    PRICER_WORDS_WITHHELD, /* enum pricer_withheld of pricer_study.h */
    PRICER_WORDS_RELAYS,
    PRICER_WORDS_SCHEME,
    PRICER_WORDS_RELEASE,
};

/* The name of a value in scenarios, studies and on the command line; NULL for
 * a value that is none. The values of each enumeration are 0, 1, 2, ... */
PRICER_API const char *pricer_word(enum pricer_vocabulary vocabulary,
                                   int value);

/* The value of a name, or -1. */
PRICER_API int pricer_word_find(enum pricer_vocabulary vocabulary,
                                const char *word);

/* ---------------------------------------------------------------- scheme -- */

/* How data get to the server. */
enum pricer_scheme {
    PRICER_SCHEME_SUM = 0, /* relays add what they hear, every link has noise
                              of its own */
    PRICER_SCHEME_FORWARD, /* a node makes one private release a round, relays
                              pass it on unchanged; pricer_forward.h */
};

/* How a node makes its vector private with PRICER_SCHEME_FORWARD. */
enum pricer_release {
    PRICER_RELEASE_BEST = 0, /* as a wish: the smaller variance */
    PRICER_RELEASE_SPHERE,   /* PrivUnit on the lifted sphere, as a seed */
    PRICER_RELEASE_GAUSSIAN,
};

/* A release goes over at most so many relays. */
enum { PRICER_HOPS_MAX = 30 };

/* The maximum number of attempts of a round. */
enum { PRICER_REPEAT_MAX = 64 };

/* -------------------------------------------------------------- scenario -- */

struct pricer_network;
struct pricer_settings;

/* A scenario file as read: docs in pricer-scenario(5). */
struct pricer_scenario;

/*
 * Read a scenario (YAML). Each override is "key=value" with a dotted key, such
 * as "network.p=0.5", and stands above the file; override_count may be 0. The
 * fault names file and line.
 */
PRICER_API enum pricer_status pricer_scenario_read(
    const char *path, const char *const *overrides, int override_count,
    struct pricer_scenario **scenario, struct pricer_fault *fault);

PRICER_API void pricer_scenario_free(struct pricer_scenario *scenario);

/* What the scenario asks of the planner. */
PRICER_API void pricer_scenario_settings(const struct pricer_scenario *scenario,
                                         struct pricer_settings *settings);

/* What its generators and simulations draw from. */
PRICER_API int64_t pricer_scenario_seed(const struct pricer_scenario *scenario);

/*
 * Make or read the network of a scenario. Generators draw from the scenario's
 * seed and give the same network everywhere. O(nodes + links).
 */
PRICER_API enum pricer_status pricer_scenario_network(
    const struct pricer_scenario *scenario, const struct pricer_watch *watch,
    struct pricer_network **network, struct pricer_fault *fault);

/* --------------------------------------------------------------- network -- */

/* No name of a node or plan is longer, its closing zero counted. */
enum { PRICER_NAME_TEXT = 64 };

/*
 * Who can reach whom, how reliably, and how much they trust each other.
 *
 * Every node holds one private vector of `dimension` numbers and length at most
 * `radius`, node i one of length at most node_radius[i] <= radius. Two data sets
 * of node i that must not be told apart are at most node_diameter[i] <=
 * 2 node_radius[i] away from each other: what changes if one of its records
 * does, or 2 node_radius[i] if all may change. Where rounds are relative to the
 * last estimate (`reach` is above 0), data are as long as `reach`, and the vector
 * that all this is about is how far a node's data are from that estimate, cut to
 * `radius` (pricer_reference.h). Node i reaches the server with
 * probability uplink[i] in a round. A link l carries from[l]'s data to the relay to[l] with probability p[l];
 * joint[l] is the probability that l and its partner, the link in the other
 * direction, are up together (0 without a partner). The data that a link
 * carries must stay (eps[l], delta[l])-private from its receiver; eps may be
 * INFINITY (full trust). self_eps and self_delta are the same for a node's own
 * part of what it sends to the server; self links are implied, always up.
 * server_eps and server_delta, where there are any, say what the server may
 * learn about node i from all that reaches it, over whichever relays, whatever
 * links are up; server_eps[i] may be INFINITY (no such budget). Plans divide
 * such a budget evenly among the links of the node.
 *
 * everyone_eps and everyone_delta, where there are any, say what everyone
 * together may learn about node i, and the network is one of
 * PRICER_SCHEME_FORWARD: links have no budgets of their own (eps is INFINITY),
 * and functions of PRICER_SCHEME_SUM refuse it. All are finite.
 *
 * Links are ordered by (from, to): those leaving node i are out_start[i] to
 * out_start[i + 1] - 1. in_link lists the same links ordered by (to, from):
 * those arriving at node j stand at in_start[j] to in_start[j + 1] - 1; where
 * every link has its opposite these are out_start and partner themselves. There
 * is no link with p = 0. 48 bytes a link. Read it freely; never change it.
 */
struct pricer_network {
    int64_t dimension;
    double radius;
    double reach; /* of the data, where rounds are relative; 0: they are not */
    int32_t nodes;
    int32_t links;
    int32_t left_out;   /* links that were given with p = 0; not kept */
    double *uplink;     /* [nodes] */
    double *self_eps;   /* [nodes] */
    double *self_delta; /* [nodes] */
    double *server_eps, *server_delta; /* [nodes], or both NULL: no budgets */
    double *everyone_eps, *everyone_delta; /* [nodes], or both NULL */
    double *node_radius;                   /* [nodes] at most radius */
    double *node_diameter;                 /* [nodes] at most 2 node_radius */
    /* [nodes] what people call them, "" where they do not; or NULL: no names */
    char (*name)[PRICER_NAME_TEXT];
    double *x, *y;      /* [nodes] positions in metres, or both NULL */
    int32_t *out_start; /* [nodes + 1] */
    int32_t *in_start;  /* [nodes + 1] */
    int32_t *from, *to; /* [links] */
    int32_t *partner;   /* [links] the link to -> from, or -1 */
    int32_t *in_link;   /* [links] */
    double *p;          /* [links] */
    double *joint;      /* [links] */
    double *eps;        /* [links] */
    double *delta;      /* [links] */
};

/* One node as it is given to pricer_network_build(). */
struct pricer_node {
    double uplink;     /* probability of reaching the server */
    double eps, delta; /* trust in the uplink */
    double x, y;       /* position, or NAN */
};

/* One link as it is given to pricer_network_build(). */
struct pricer_link {
    int32_t from, to;
    double p;
    double joint;      /* or NAN: take it from the reciprocity */
    double eps, delta; /* trust of `from` in `to` */
};

/* A network as nodes and links, in any order, without budgets towards
 * everyone. */
struct pricer_network_parts {
    int64_t dimension;
    double radius;
    double reciprocity; /* of pairs whose joint is NAN; 0 to 1 */
    const struct pricer_node *nodes;
    int64_t node_count;
    const struct pricer_link *links; /* NULL where there are none */
    int64_t link_count;
    const double *server_eps;   /* [node_count] towards the server, or NULL */
    const double *server_delta; /* [node_count] or NULL */
};

/* The same as one array for each number of a node or link, with names, radii and
 * diameters where they are given. */
struct pricer_network_arrays {
    int64_t dimension;
    double radius;
    double reciprocity; /* of pairs whose joint is NAN; 0 to 1 */
    int64_t node_count;
    const double *uplink;         /* [node_count] */
    const double *self_eps;       /* [node_count] trust in the uplink */
    const double *self_delta;     /* [node_count] */
    const double *x, *y;          /* [node_count] positions, or both NULL */
    const double *server_eps;     /* [node_count] towards the server, or NULL */
    const double *server_delta;   /* [node_count] or NULL */
    int64_t link_count;           /* 0: the arrays below may be NULL */
    const int32_t *from, *to;     /* [link_count] */
    const double *p;              /* [link_count] */
    const double *joint;          /* [link_count] or NULL: NAN everywhere */
    const double *eps;            /* [link_count] trust of `from` in `to` */
    const double *delta;          /* [link_count] */
    const char *const *names;     /* [node_count] or NULL; each may be NULL */
    double diameter;              /* of all nodes; 0: twice their radius */
    const double *node_radius;    /* [node_count] or NULL; NAN: radius */
    const double *node_diameter;  /* [node_count] or NULL; NAN: diameter */
    const double *everyone_eps;   /* [node_count] towards everyone, or NULL */
    const double *everyone_delta; /* [node_count] or NULL */
};

/* Which entry a fault of pricer_network_build() is about. */
struct pricer_place {
    int64_t node; /* index of the node, or -1 */
    int64_t link; /* index of the link, or -1 */
};

/*
 * Build a network, checking every rule of the model: probabilities in [0, 1],
 * joint probabilities within p_ij p_ji <= E <= min(p_ij, p_ji) and equal in
 * both directions, eps > 0, 0 < delta <= 1, no link twice, none from a node to
 * itself, none to a node that does not exist, no radius of a node above that of
 * the network, no diameter above twice the radius, names of letters, digits,
 * '-', '_' and '.' that begin with a letter or digit, are not digits alone and
 * belong to one node. A diameter
 * of all nodes that is more than twice the radius of one is taken as that.
 * Links with p = 0 are left out. A joint that is NAN becomes p_ij p_ji + reciprocity (min(p_ij, p_ji) - p_ij
 * p_ji), so that 0 is independent and 1 fully reciprocal. On failure *place
 * (which may be NULL) names the entry to blame. O(nodes + links).
 */
PRICER_API enum pricer_status pricer_network_build(
    const struct pricer_network_parts *parts, struct pricer_network **network,
    struct pricer_place *place, struct pricer_fault *fault);

/* The same network from arrays, and the same faults; the arrays are not copied.
 * An array that is NULL and may not be: PRICER_VALUE. */
PRICER_API enum pricer_status pricer_network_build_arrays(
    const struct pricer_network_arrays *arrays, struct pricer_network **network,
    struct pricer_place *place, struct pricer_fault *fault);

/* Another eps for the link from -> to, or for a node's own part where both are
 * one. */
struct pricer_trust {
    int32_t from, to;
    double eps;
};

/*
 * What if some links had another eps: a copy of the network with the changes
 * made in their order, so that of two for one link the later holds.
 * PRICER_VALUE if there is no such link or node. O(nodes + links).
 */
PRICER_API enum pricer_status pricer_network_retrust(
    const struct pricer_network *network, const struct pricer_trust *changes,
    int64_t count, struct pricer_network **changed, struct pricer_fault *fault);

PRICER_API void pricer_network_free(struct pricer_network *network);

/* The link from -> to, or -1. O(log degree). */
PRICER_API int32_t pricer_network_find(const struct pricer_network *network,
                                       int32_t from, int32_t to);

/* ----------------------------------------------------------- calibration -- */

/* How much noise a link's (eps, delta) asks for. */
enum pricer_calibration {
    PRICER_CALIBRATION_ANALYTIC = 0, /* exact for every eps */
    PRICER_CALIBRATION_CLASSIC,      /* the paper's; a guarantee for eps <= 1 */
};

/*
 * The least delta for which a Gaussian mechanism is (eps, delta)-private; mu is
 * its sensitivity over its standard deviation. Exact for every eps, rounded up
 * in the last digits; never overflows. Both may be INFINITY. Arguments that
 * are negative or not numbers get 1, which claims nothing.
 */
PRICER_API double pricer_gaussian_delta(double eps, double mu);

/*
 * A budget and what it is spent on: (eps, delta) over `rounds` rounds of a link
 * that is up with probability p.
 */
struct pricer_budget {
    enum pricer_calibration calibration;
    double eps, delta;
    int64_t rounds; /* 0: one */
    double p;
};

/*
 * The most that one packet may say within a budget: the ratio mu of what the
 * data can change (2 radius weight) to the noise of one packet. INFINITY: no
 * noise is needed.
 *
 * With PRICER_CALIBRATION_ANALYTIC the result is the exact one to the safe
 * side, less than 1e-12 of it away, with two decisions. The observer is the
 * receiver, who sees only what arrives; for an eavesdropper near the sender
 * give p = 1. And a packet is never less private than (eps, delta) by itself,
 * however seldom the link is up, so one round asks the same for every p.
 * With PRICER_CALIBRATION_CLASSIC it is the paper's formula for `rounds`
 * certain rounds; *guaranteed (may be NULL) says whether (eps, delta) truly
 * holds there.
 */
PRICER_API enum pricer_status pricer_calibrate(
    const struct pricer_budget *budget, double *mu, bool *guaranteed,
    struct pricer_fault *fault);

/* ------------------------------------------------------------------ plan -- */

/* How the bias of the estimate is held down; docs/mathematics.md. */
enum pricer_bias {
    PRICER_BIAS_WORST_CASE = 0, /* the true worst case over all data */
    PRICER_BIAS_UNBIASED,       /* every node's expected weight is 1 */
    PRICER_BIAS_L1,             /* the paper's: lambda sum |bias| */
    PRICER_BIAS_L2,             /* lambda sum bias^2 */
};

/*
 * What is asked of the planner. Zero everywhere asks for the default: the
 * worst-case plan, analytic noise for one round, exact to 1e-8.
 */
struct pricer_settings {
    enum pricer_bias bias;
    double lambda; /* of the l1 and l2 bias terms */
    enum pricer_calibration calibration;
    int64_t rounds;     /* eps and delta are spent over so many rounds, every
                     * release counted as heard; 1 */
    double tolerance;   /* certified relative gap to reach; 1e-8 */
    int32_t iterations; /* limit; a default that is never reached in health */
    int32_t threads;    /* 0: one per core */
    const struct pricer_watch *watch; /* NULL: never asks */
};

/*
 * What every node multiplies its data with, and the noise it adds, for each of
 * its links; the multipliers prove how far that is from optimal.
 *
 * weight[l] and noise[l] (a standard deviation per coordinate) belong to link l
 * of the network the plan was made for, self_weight[i] and self_noise[i] to
 * node i's own part.
 */
struct pricer_plan {
    int32_t nodes, links;
    double *weight, *noise;           /* [links] */
    double *self_weight, *self_noise; /* [nodes] */
    double *row_multiplier;           /* [nodes] v, of the expected weights */
    double *relay_multiplier;         /* [nodes] u, of the relays' sums */
    double sum_multiplier;            /* t, of the sum over all nodes */
};

/*
 * A plan with room for every weight, all zero. For plans that come from
 * elsewhere; the planner makes its own.
 */
PRICER_API enum pricer_status pricer_plan_new(
    const struct pricer_network *network, struct pricer_plan **plan,
    struct pricer_fault *fault);

PRICER_API void pricer_plan_free(struct pricer_plan *plan);

/*
 * Read a plan from a CSV file with the columns from,to,alpha,sigma: weight and
 * standard deviation of each link, a row i,i for node i's own part, in any
 * order. What is not there is zero. The fault names file and line.
 */
PRICER_API enum pricer_status pricer_plan_read(
    const char *path, const struct pricer_network *network,
    const struct pricer_watch *watch, struct pricer_plan **plan,
    struct pricer_fault *fault);

/*
 * The error of the estimate that a plan leads to, per squared unit of data. All
 * are expectations over links and noise of |estimate - mean|^2 or parts of it.
 */
struct pricer_error {
    double variance;       /* from links that come and go, data of one sign */
    double piv;            /* from the noise that privacy asks for */
    double tiv;            /* variance and squared total bias (the paper's) */
    double mse_paper;      /* tiv + piv; no bound when biases differ in sign */
    double mse_worst_case; /* no data within the radius give more than this */
    double bias_l1;        /* sum over nodes of |expected weight - 1| */
    double objective;      /* what the planner minimises for these settings */
};

/*
 * Evaluate a plan, from wherever it comes. Of the settings only bias and lambda
 * count. The objective of an unbiased plan is its worst case, whatever its bias
 * is. PRICER_VALUE if the plan is not for this network. O(links).
 */
PRICER_API enum pricer_status pricer_plan_evaluate(
    const struct pricer_network *network,
    const struct pricer_settings *settings, const struct pricer_plan *plan,
    struct pricer_error *error, struct pricer_fault *fault);

/* What an answer of the planner is worth. */
enum pricer_solve_outcome {
    PRICER_OUTCOME_OPTIMAL = 0, /* certified to the tolerance */
    PRICER_OUTCOME_LIMIT,       /* out of iterations or of digits */
    PRICER_OUTCOME_STOPPED,     /* the watch asked to stop */
};

struct pricer_solve_info {
    enum pricer_solve_outcome outcome;
    double objective; /* of the plan: error with its bias term */
    double bound;     /* no plan has less */
    double gap;       /* (objective - bound) / objective */
    int32_t iterations;
    int64_t inner_steps; /* of conjugate gradients, in all */
    double seconds;
};

/*
 * Find the weights that minimise the error of the server's estimate while every
 * link stays within its privacy budget, and prove how good they are.
 *
 * Stopping at the iteration limit, or because the watch asked, is an answer and
 * not an error: the plan is feasible, hence private, and info->gap bounds how
 * far it is from optimal. The gap is relative to the objective, or to 1e-7
 * radius^2 / nodes where that is more. `warm` is NULL or a plan of the same
 * network to begin near. PRICER_INFEASIBLE: an unbiased plan was asked for and
 * some nodes reach the server by no path; the fault names them. The caller owns
 * *plan. O(links) per iteration; 52 bytes a link beside the network and the
 * plan.
 */
PRICER_API enum pricer_status pricer_plan_optimise(
    const struct pricer_network *network,
    const struct pricer_settings *settings, const struct pricer_plan *warm,
    struct pricer_plan **plan, struct pricer_solve_info *info,
    struct pricer_fault *fault);

/*
 * What pricer_plan_verify() finds. A plan is `feasible` if its weights are
 * numbers of at least 0 and its expected weights keep the bias term's rule (1
 * for unbiased, at most 1 for worst-case) to 1e-9. `open_links` counts the
 * links, own ones included, whose noise spends more than their (eps, delta),
 * `open_budgets` the nodes of whom the server may learn more than they allow.
 */
struct pricer_certificate {
    bool feasible;
    int64_t open_links;
    int64_t open_budgets;
    double objective, bound, gap; /* as in struct pricer_solve_info */
    double largest_bias;          /* of any node, absolute */
    char words[256];              /* what is wrong, in one line, or empty */
};

/*
 * Check a plan from nothing but itself: feasibility, the noise of every link
 * against its budget over the rounds of the settings, the
 * objective, and the lower bound that its multipliers prove. In long double and by other code than
 * the optimiser's. For a plan without multipliers the bound is only valid, not
 * close. O(links).
 */
PRICER_API enum pricer_status pricer_plan_verify(
    const struct pricer_network *network,
    const struct pricer_settings *settings, const struct pricer_plan *plan,
    struct pricer_certificate *certificate, struct pricer_fault *fault);

/* What a plan is compared with. */
enum pricer_baseline {
    PRICER_BASELINE_NAIVE = 0, /* no relaying, every own weight 1 */
    PRICER_BASELINE_UNBIASED,  /* no relaying, own weights 1/p */
    PRICER_BASELINE_BEST,      /* no relaying, own weights optimal */
    PRICER_BASELINE_COLREL,    /* relaying without noise, unbiased */
};
#define PRICER_BASELINES 4

/*
 * Make the plan of a baseline. ColRel's keeps no link private. Where a node
 * cannot do what is asked of it: PRICER_INFEASIBLE.
 */
PRICER_API enum pricer_status pricer_plan_baseline(
    const struct pricer_network *network,
    const struct pricer_settings *settings, enum pricer_baseline baseline,
    struct pricer_plan **plan, struct pricer_fault *fault);

/*
 * The paper's own planner, projected gradient descent, with its options; zero
 * means the paper's choice where it tells, else ours.
 */
struct pricer_gradient {
    double weight_step;  /* 0.01 */
    double noise_step;   /* as weight_step */
    int64_t iterations;  /* of every start; 100000 */
    int32_t starts;      /* 4 */
    int64_t trace_every; /* iterations between traces; 1 */
    uint64_t seed;       /* of the random starts */
    /* The one starting point instead of random ones, or NULL; what is not
     * private of it is projected onto the private cones first. */
    const struct pricer_plan *from;
    void (*trace)(void *context, int32_t start, int64_t iteration,
                  double objective); /* may be NULL */
    void *context;
};

/*
 * Plan as the paper does (its Algorithm 3) and hand out the best end of all
 * starts. The plan is private but nothing tells how far from optimal it is;
 * its multipliers are zero. The watch stops it early. A bias term of
 * `unbiased` is beyond this method: PRICER_VALUE, as are steps so long that
 * every start diverges. O(links) an iteration.
 */
PRICER_API enum pricer_status pricer_plan_descend(
    const struct pricer_network *network,
    const struct pricer_settings *settings,
    const struct pricer_gradient *options, struct pricer_plan **plan,
    struct pricer_fault *fault);

/*
 * The price of trust: for an optimal plan, d objective / d ln eps of every link
 * [links] and of every node's own part [nodes]. None is above zero; -0.01 means
 * that one per cent more eps lowers the optimal error by 0.0001. O(links).
 */
PRICER_API enum pricer_status pricer_trust_price(
    const struct pricer_network *network,
    const struct pricer_settings *settings, const struct pricer_plan *plan,
    double *price, double *self_price, struct pricer_fault *fault);

/* The same for the budgets towards the server [nodes]; 0 without one. */
PRICER_API enum pricer_status pricer_trust_server_price(
    const struct pricer_network *network,
    const struct pricer_settings *settings, const struct pricer_plan *plan,
    double *price, struct pricer_fault *fault);

/*
 * The price of links: for an optimal plan, d objective / d p of every link
 * [links], the reciprocity of pairs kept, and of every node's uplink [nodes].
 * None is above zero; -0.2 means that a p higher by 0.01 lowers the optimal error
 * by 0.002. 0 where p is 1, and for an uplink of 0, about which a plan that cannot
 * use it says nothing. O(links).
 */
PRICER_API enum pricer_status pricer_link_price(
    const struct pricer_network *network, const struct pricer_plan *plan,
    double *price, double *uplink, struct pricer_fault *fault);

/*
 * The one family of networks whose optimal plan is a formula: `reaching` of
 * the nodes reach the server with probability `uplink`, the others never, and
 * each of the others reaches each of these with probability `link`. Weights
 * minimise tiv + piv + lambda sum bias^2.
 */
struct pricer_erdos_renyi {
    int32_t nodes, reaching;
    double link, uplink;
    int64_t dimension;
    double radius;
    double slope;  /* noise per weight of a link */
    double lambda; /* INFINITY: unbiased */
};

struct pricer_closed_form {
    double weight, noise; /* of each link from the others to the reaching */
    double self_weight;   /* of the reaching nodes */
    double mse;           /* tiv + piv */
    double bias_l2;       /* sum over nodes of (expected weight - 1)^2 */
    double objective;     /* mse + lambda bias_l2 */
};

/* O(1). PRICER_VALUE if a number is outside its range. */
PRICER_API enum pricer_status pricer_erdos_renyi_solve(
    const struct pricer_erdos_renyi *network,
    struct pricer_closed_form *solution, struct pricer_fault *fault);

/* --------------------------------------------------------------- privacy -- */

/* Who looks at the data of a node. */
enum pricer_observer {
    PRICER_OBSERVER_LINK = 0,  /* the receiver of a link, packet by packet */
    PRICER_OBSERVER_RELAY,     /* a relay that sees only the sum it gets */
    PRICER_OBSERVER_SERVER,    /* the server: all sums that reach it */
    PRICER_OBSERVER_COALITION, /* several relays, perhaps with the server */
    PRICER_OBSERVER_READER,    /* whoever gets the published estimate */
    PRICER_OBSERVER_LISTENER,  /* near a node: hears all that it sends */
    PRICER_OBSERVER_EVERYONE,  /* all of them, of releases that are forwarded */
};

/* What is kept from the observer: the node's data, or whether it took part. */
enum pricer_protect {
    PRICER_PROTECT_DATA = 0,
    PRICER_PROTECT_IDENTITY,
};

/* Who hears a packet besides its receiver. Budgets are for radio; the account
 * of the receiver alone is the paper's, and smaller. */
enum pricer_eavesdropper {
    PRICER_RECEIVER = 0, /* nobody: what is lost on the way is lost */
    PRICER_RADIO,        /* someone near the sender hears every packet */
};

/* What a relay sees of what reaches it. */
enum pricer_relays {
    PRICER_RELAYS_SUMS = 0, /* the sum only, as over the air */
    PRICER_RELAYS_SHARES,   /* every share by itself, as the daemons do */
};

/*
 * What is asked about a plan's privacy. Zero everywhere asks for every link,
 * data, the receiver, one round, at each link's own delta (at the server and
 * for coalitions the smallest delta of the node's links and its uplink).
 */
struct pricer_question {
    enum pricer_observer observer;
    enum pricer_protect protect; /* identity: of a relay only */
    enum pricer_eavesdropper eavesdropper;
    double delta;           /* 0: each statement's own */
    int64_t rounds;         /* 1 */
    const int32_t *members; /* of a coalition: its relays, */
    int32_t member_count;
    bool with_server; /* and whether the server is in it, */
    bool with_reader; /* or someone who gets the estimate */
    enum pricer_relays relays;
    bool decodes;    /* the estimate may be another function of the sums than
                        their sum: the reader is accounted for as the server */
    bool list_only;  /* list the statements and prove none: eps is INFINITY */
    int32_t threads; /* 0: one per core */
    const struct pricer_watch *watch;
};

/*
 * One answer: seen by the observer, the node's data (or identity) is
 * (eps, delta)-private. eps is proved: all rounding is against us. eps_lower
 * shows how much of it is rounding: for the same delta no eps below it holds,
 * if `exact`, or no smaller one could come out of this account, if not. An
 * account is exact where the observer sees which links were up; otherwise it
 * grants the observer that knowledge and is a bound. Over several rounds relative
 * to the last estimate every account is a bound.
 *
 * `floor` is the probability that the data arrives without any noise: for a
 * delta of less there is no eps, and eps is INFINITY. Where very many links are
 * correlated it is only a bound from above, and floor_bound says so.
 */
struct pricer_statement {
    enum pricer_observer observer;
    enum pricer_protect protect;
    int32_t node; /* whose */
    int32_t at;   /* seen by which node, or -1: the server, a coalition */
    bool exact;
    double delta, eps, eps_lower, floor;
    bool floor_bound;
};

/*
 * Account for every link, relay or node that the question is about: one
 * statement a link (link, relay) or node (server, reader, listener; coalition:
 * those outside it), in the order of the network. The caller frees *statements with
 * pricer_statements_free(). PRICER_STOPPED if the watch asked to.
 */
PRICER_API enum pricer_status pricer_privacy_account(
    const struct pricer_network *network, const struct pricer_plan *plan,
    const struct pricer_question *question,
    struct pricer_statement **statements, int64_t *count,
    struct pricer_fault *fault);

PRICER_API void pricer_statements_free(struct pricer_statement *statements);

/*
 * The paper's bound for the same observer, node and delta in one round, for an
 * observer who misses what is lost on the way: as printed, and corrected, which
 * is a guarantee. INFINITY where it says nothing.
 *
 * `guarantee` says whether the printed eps is one, too: it is finite, and the
 * corrected bound or the statement's own eps, which is proved, is not above it.
 * `reason` says which of them proves it, or why the theorem does not.
 *
 * At a relay the noise of all senders has the mean `zeta` and is below zeta - r
 * with probability delta' at most: r_printed is the paper's r for that,
 * r_corrected one that holds. NAN for links and the server.
 */
struct pricer_paper_bound {
    double printed, corrected;
    bool guarantee;
    double delta_prime, zeta, r_printed, r_corrected;
    const char *reason;
};

/*
 * `delta_prime` is the paper's delta', the part of a relay's delta / p that pays
 * for the chance that little noise arrives; 0: half of it.
 */
PRICER_API enum pricer_status pricer_privacy_paper(
    const struct pricer_network *network, const struct pricer_plan *plan,
    const struct pricer_statement *statement, double delta_prime,
    struct pricer_paper_bound *bound, struct pricer_fault *fault);

/* ----------------------------------------------------------------- round -- */

enum { PRICER_RANDOM_WORDS = 128 };

/*
 * A source of random bits: either addressed by a seed, so that a simulation or
 * a replay can compute any message again, or the operating system's, for data
 * that is really private. Streams of different (seed, purpose, round, from, to)
 * never share a word. Keep one on the stack; do not copy a secret one, nor use
 * it in two processes after a fork.
 */
struct pricer_random {
    uint64_t key[4];
    uint64_t from, to;
    uint64_t next; /* index of the first word after the buffer */
    int32_t left;  /* words of the buffer not yet handed out */
    bool secret;   /* from the operating system */
    uint64_t words[PRICER_RANDOM_WORDS]; /* handed out from the front */
};

/* What a replayed stream is used for. */
enum pricer_purpose {
    PRICER_PURPOSE_LINKS = 1, /* which links are up */
    PRICER_PURPOSE_NOISE,     /* the noise of one message */
    PRICER_PURPOSE_DATA,      /* data made up for a simulation */
    PRICER_PURPOSE_OTHER,     /* anything else; the library never uses it */
    PRICER_PURPOSE_PLACES,    /* where the nodes of a geometric network are */
    PRICER_PURPOSE_STARTS,    /* where a gradient descent begins */
};

/* In place of a node's number: the server. */
#define PRICER_SERVER (-1)

/* The same words for the same arguments, on every machine. Never for data that
 * is really private. */
PRICER_API void pricer_random_replay(struct pricer_random *random,
                                     uint64_t seed, enum pricer_purpose purpose,
                                     int64_t round, int32_t from, int32_t to);

/* ChaCha20 with a key from the kernel, replaced at every refill; many words at once
 * come from AES-256 under a key of that. */
PRICER_API enum pricer_status pricer_random_secret(struct pricer_random *random,
                                                   struct pricer_fault *fault);

/* The next 64 random bits. */
PRICER_API uint64_t pricer_random_word(struct pricer_random *random);

/* Overwrite the state, so that nothing of it stays in memory. */
PRICER_API void pricer_random_wipe(struct pricer_random *random);

/*
 * The integers that messages are made of: a value v of a message stands for
 * v 2^exponent. No value of a node's message exceeds `limit`, and a sum over
 * all messages of the network cannot overflow: limit times (links + nodes) is
 * at most 2^62.
 */
struct pricer_grid {
    int32_t exponent;
    int64_t limit;
};

/*
 * The finest grid for a plan. Fails if a weight or noise is negative or not a
 * number. O(links).
 */
PRICER_API enum pricer_status pricer_grid_choose(
    const struct pricer_network *network, const struct pricer_plan *plan,
    struct pricer_grid *grid, struct pricer_fault *fault);

/* One message a node sends: to a relay, or to itself (its own part). */
struct pricer_share {
    int32_t to;
    double weight, noise;
};

/*
 * All that one node has to know of the plan. Made by pricer_slice_build(), or
 * filled from the wire.
 */
struct pricer_slice {
    int32_t node, nodes;
    int64_t dimension;
    double radius;   /* the node's own */
    double diameter; /* the node's own; 0: twice the radius */
    double reach;    /* of the data, where rounds are relative; else 0 */
    struct pricer_grid grid;
    int32_t parts; /* at most so many messages add up in what it relays */
    int32_t count;
    struct pricer_share *shares; /* [count] by receiver; unused links left out
                                  */
};

/* The slice of a node. PRICER_VALUE if there is no such node or the plan is not
 * for this network. */
PRICER_API enum pricer_status pricer_slice_build(
    const struct pricer_network *network, const struct pricer_plan *plan,
    const struct pricer_grid *grid, int32_t node, struct pricer_slice **slice,
    struct pricer_fault *fault);

PRICER_API void pricer_slice_free(struct pricer_slice *slice);

/*
 * Write the message of a share: the data (dimension numbers) clipped to the
 * radius, times the weight, rounded towards zero onto the grid, plus noise.
 *
 * Claim: as private as weight * data + N(0, noise^2 I) with sensitivity
 * weight diameter for data that far apart, up to a factor 1 + 1e-500;
 * lib/round/round.c has the proof.
 * A replay uses pricer_random_replay(seed, PRICER_PURPOSE_NOISE, round,
 * slice->node, share->to). Fails if the data is not finite or the share does
 * not fit the grid. O(dimension).
 */
PRICER_API enum pricer_status pricer_round_share(
    const struct pricer_slice *slice, const struct pricer_share *share,
    const double *data, struct pricer_random *random, int64_t *message,
    struct pricer_fault *fault);

/*
 * The noise that the message of a share really gets: the share's own, raised
 * where its weight is so large or the diameter so small that the grid would
 * show. For the two bounds below.
 */
PRICER_API double pricer_round_noise(const struct pricer_slice *slice,
                                     const struct pricer_share *share);

/*
 * How large the values of an honest message of a share are, at most: what a
 * receiver may refuse. The weight times the radius and 64 deviations, which are
 * passed with a probability below 10^-800; never above the grid's limit, and 0
 * for a share that is not used.
 */
PRICER_API int64_t pricer_round_limit(const struct pricer_grid *grid,
                                      double radius,
                                      const struct pricer_share *share);

/*
 * How long (in L2) the sum of honest messages of `count` shares is, at most:
 * passed with a probability below 10^-9. Rounded up.
 */
PRICER_API double pricer_round_length(const struct pricer_grid *grid,
                                      double radius, int64_t dimension,
                                      const struct pricer_share *shares,
                                      int32_t count);

/*
 * Add what arrived, a sum of at most `parts` messages, to a sum; a relay adds
 * shares (parts = 1) to its own part, the server adds what relays send (the
 * relay's parts). Refuses values that such a sum cannot have, and any
 * overflow; the sum is then unchanged.
 */
PRICER_API enum pricer_status pricer_round_add(const struct pricer_grid *grid,
                                               int32_t parts,
                                               const int64_t *message,
                                               int64_t count, int64_t *sum,
                                               struct pricer_fault *fault);

/* The server's estimate of the mean: sum 2^exponent / nodes. */
PRICER_API void pricer_round_estimate(const struct pricer_grid *grid,
                                      int32_t nodes, const int64_t *sum,
                                      int64_t count, double *estimate);

/* Add a relay's sum, times its coefficient, to the estimate of a server that
 * decodes: start from zero and go by ascending relays, so that all who do get
 * the same bits. */
PRICER_API void pricer_round_combine(const struct pricer_grid *grid,
                                     double coefficient, const int64_t *sum,
                                     int64_t count, double *estimate);

/* A link with what decides when it is up. */
struct pricer_pair {
    int32_t from, to; /* of an uplink: to = PRICER_SERVER */
    double p;
    double p_back, joint; /* as in the network; 0 where there is no partner */
};

/*
 * Whether the link from -> to is up in a simulated round. The pair of links
 * between two nodes is drawn jointly. The probability is p to within 2^-128.
 */
PRICER_API bool pricer_round_up(uint64_t seed, int64_t round,
                                const struct pricer_pair *link);

/* ---------------------------------------------------------------- matrix -- */

enum pricer_element {
    PRICER_FLOAT32 = 0,
    PRICER_FLOAT64,
};

/* Data as vectors: row after row, each of `columns` numbers. */
struct pricer_matrix {
    int64_t rows, columns;
    enum pricer_element element;
    void *values; /* float or double [rows * columns] */
};

/* A matrix of zeros. */
PRICER_API enum pricer_status pricer_matrix_new(int64_t rows, int64_t columns,
                                                enum pricer_element element,
                                                struct pricer_matrix **matrix,
                                                struct pricer_fault *fault);

/*
 * Read a file of vectors; what it is shows in its first bytes, and each kind
 * may be compressed with gzip:
 *   - NumPy .npy, versions 1.0 to 3.0, little-endian float32 or float64 in C
 *     order. An array of one dimension is one row; of an array of three or more
 *     the first dimension counts the rows and the others make the columns.
 *   - IDX of unsigned bytes, as MNIST is distributed: a row per image, float32,
 *     byte / 255. One dimension (labels) is a column of the bytes themselves.
 *   - CIFAR-10 in binary, known by a name that ends in .bin or .bin.gz: a row
 *     of 3072 per image, float32, byte / 255; the labels are left out.
 *   - CSV: a row of numbers per line, separated by commas, semicolons, tabs or
 *     blanks; lines that begin with '#' are comments, and a first line without a
 *     number is a header.
 * Every number must be finite and there must be at least one. Takes no more
 * memory than a small multiple of what the file really holds, whatever its
 * header says.
 */
PRICER_API enum pricer_status pricer_matrix_read(const char *path,
                                                 struct pricer_matrix **matrix,
                                                 struct pricer_fault *fault);

/* One row, as double; `out` has room for `columns`. */
PRICER_API void pricer_matrix_row(const struct pricer_matrix *matrix,
                                  int64_t row, double *out);

/* Write NumPy's .npy, version 1.0. The file appears complete or not at all. */
PRICER_API enum pricer_status pricer_matrix_write_npy(
    const struct pricer_matrix *matrix, const char *path,
    struct pricer_fault *fault);

PRICER_API void pricer_matrix_free(struct pricer_matrix *matrix);

/* ------------------------------------------------------------ simulation -- */

/* How trials are played. Both draw the same links for the same seed. */
enum pricer_engine {
    PRICER_ENGINE_FAST = 0, /* O(links) a trial; the noise is integrated out */
    PRICER_ENGINE_FAITHFUL, /* every message through pricer_round_share() */
};

/* What the nodes hold. */
enum pricer_data {
    PRICER_DATA_WORST_CASE = 0, /* all the same vector, as long as the radius */
    PRICER_DATA_RANDOM,         /* each at random on the sphere */
    PRICER_DATA_GIVEN,          /* a matrix, clipped to the radius */
};

/* How the server turns the sums that arrived into an estimate. */
enum pricer_decode {
    PRICER_DECODE_MINIMAX = 0, /* never worse than constant in the worst case */
    PRICER_DECODE_CONSTANT,    /* every sum counts 1/n, as in the paper */
    PRICER_DECODE_ADAPTIVE,    /* learns from the sums; no guarantee */
};

struct pricer_decoder; /* of pricer_decode.h */
struct pricer_crew;    /* of pricer_crew.h */

/* What is asked of a simulation. Zero everywhere is the default. */
struct pricer_simulation_settings {
    enum pricer_engine engine;
    int64_t trials; /* 100000; with the faithful engine 1000 */
    uint64_t seed;
    enum pricer_data data;
    const struct pricer_matrix *given; /* a row for every node */
    int32_t threads;                   /* 0: one per core */
    const struct pricer_watch *watch;  /* NULL: never asks */
    const struct pricer_crew *crew;    /* who plays trials too; NULL: nobody */
    /* Of the first plan's sums; NULL: constant, as it is for other plans. The
     * adaptive decoder needs the faithful engine. */
    const struct pricer_decoder *decoder;
    enum pricer_decode decode;
};

/* Bins of a histogram: 8 an octave, each as wide as an eighth of its octave. */
enum { PRICER_BINS = 128 };

/* What became of one plan. */
struct pricer_outcome {
    double mse, mse_stderr; /* mean of |estimate - mean of the data|^2 */
    double mse_given;       /* the same against the mean of the vectors as they
                                * were given, before any was clipped */
    double predicted;       /* its exact expectation for this data; NAN: not
                                * known, where the decoder is not constant */
    double worst_case;      /* no data can give more; NAN: not known */
    double bar;             /* mean of the decoder's error bars; NAN: none */
    double bias;            /* length of the mean error vector */
    double bias_predicted;  /* and of its expectation; NAN: not known */
    double difference;      /* mse less that of the first plan, */
    double difference_stderr;  /* from the same trials, pair by pair */
    int32_t first_octave;      /* bin 0 starts at 2^first_octave */
    int64_t bins[PRICER_BINS]; /* of |.|^2; what is outside goes to the ends */
};

/* Where bin k starts. */
PRICER_API double pricer_outcome_edge(const struct pricer_outcome *outcome,
                                      int bin);

/*
 * What became of a simulation. `uplink` and `link` count the trials in which
 * each was up, `both` those in which a link and its partner were.
 */
struct pricer_simulation {
    enum pricer_scheme scheme;
    enum pricer_engine engine;
    enum pricer_data data;
    uint64_t seed;
    int64_t trials;  /* played; fewer than asked for if the watch said stop */
    int64_t clipped; /* vectors longer than the radius */
    enum pricer_decode decode; /* of the first plan's sums */
    int32_t nodes, links, plans;
    struct pricer_outcome *outcomes; /* [plans] */
    int64_t *uplink;                 /* [nodes] */
    int64_t *link, *both;            /* [links] */
};

/*
 * Play the plans against the same trials. The result is the same to the bit for
 * any number of threads, and a stopped simulation is the same as one with fewer
 * trials; PRICER_STOPPED if it was stopped before there was anything. The
 * squared error that the fast engine averages is its expectation over the noise
 * given which links were up, which makes its standard error the smaller.
 * Trial t plays round t of pricer_round_up(). O(links + nodes * min(nodes,
 * dimension)) a trial, or O(links * dimension) with the faithful engine.
 */
PRICER_API enum pricer_status pricer_simulation_run(
    const struct pricer_network *network,
    const struct pricer_plan *const *plans, int32_t count,
    const struct pricer_simulation_settings *settings,
    struct pricer_simulation **simulation, struct pricer_fault *fault);

PRICER_API void pricer_simulation_free(struct pricer_simulation *simulation);

#ifdef __cplusplus
}
#endif
#endif
