/*
 * The half-built network, the rules of the model one by one, and networks from
 * tables: what generators, readers and the study build on.
 */
#ifndef PRICER_NETWORK_H
#define PRICER_NETWORK_H

#include "base/base.h"

/*
 * A network with room for its nodes, and in a second step for its links. The
 * caller fills uplink, self_eps, self_delta, out_start, to, p, joint, eps and
 * delta, links ordered by (from, to), and calls pri_network_finish() and
 * pri_network_lengths(): until then radii are INFINITY, and nothing is private.
 * Free it if a step fails.
 */
enum pricer_status pri_network_new(int32_t nodes, bool positions,
                                   struct pricer_network **network);
enum pricer_status pri_network_room(struct pricer_network *network,
                                    int32_t links);

/* Fill from, in_start, in_link and partner, and every joint that is NAN, from
 * what pri_network_new() says is filled. joint must be set or NAN. Where every link
 * has its opposite, in_start and in_link are out_start and partner. */
void pri_network_finish(struct pricer_network *network, double reciprocity);

/* The rules for one node and one link by themselves. */
enum pricer_status pri_node_check(const struct pricer_node *node,
                                  struct pricer_fault *fault);
enum pricer_status pri_link_check(const struct pricer_link *link, int64_t nodes,
                                  struct pricer_fault *fault);

/* The rules for a link and its partner, of a finished network. */
enum pricer_status pri_joint_check(const struct pricer_network *network,
                                   int32_t link, struct pricer_fault *fault);

void pri_network_set_node(struct pricer_network *network, int32_t index,
                          const struct pricer_node *node);

/*
 * Give the nodes of a network that is being built budgets towards the server:
 * eps > 0, INFINITY for none, and 0 < delta <= 1 of every node. *place (which
 * may be NULL) names the node to blame. Where no node has a budget the network
 * stays without the arrays.
 */
enum pricer_status pri_network_budget(struct pricer_network *network,
                                      const double *eps, const double *delta,
                                      struct pricer_place *place,
                                      struct pricer_fault *fault);

/*
 * Give the nodes of a network that is being built budgets towards everyone:
 * 0 < eps < INFINITY and 0 <= delta < 1 of every node. *place as above.
 */
enum pricer_status pri_network_everyone(struct pricer_network *network,
                                        const double *eps, const double *delta,
                                        struct pricer_place *place,
                                        struct pricer_fault *fault);

/* Refuse a network whose nodes have budgets towards everyone: its links have
 * none, so that sums over them would not be private. */
enum pricer_status pri_network_refuse_forward(
    const struct pricer_network *network, struct pricer_fault *fault);

/*
 * Give the nodes of a network that is being built, whose radius is set, what
 * people call them (names[i] NULL or "": nothing; names NULL: none of them), and
 * how long and how far apart their vectors can be: radius[i] and diameter[i],
 * where these are NULL or NAN the network's radius and `whole`, which is 0 for
 * twice the radius. *place (which may be NULL) names the node to blame.
 */
enum pricer_status pri_network_name(struct pricer_network *network,
                                    const char *const *names,
                                    struct pricer_place *place,
                                    struct pricer_fault *fault);
enum pricer_status pri_network_lengths(struct pricer_network *network,
                                       double whole, const double *radius,
                                       const double *diameter,
                                       struct pricer_place *place,
                                       struct pricer_fault *fault);

/*
 * Make the rounds of a network relative to the last estimate: what nodes share
 * are changes of at most `step`, while data are as long as the radius was. All
 * nodes must have that radius, and no diameter below 2 step. 0: nothing to do.
 */
enum pricer_status pri_network_relate(struct pricer_network *net, double step,
                                      struct pricer_fault *fault);

/* The radius of a node over that of the network, at most 1. */
static inline double pri_network_ratio(const struct pricer_network *network,
                                       int32_t node)
{
    return network->node_radius[node] / network->radius;
}

/* Refuse a network whose nodes have radii of their own or, with `near`, data
 * that are less than two radii apart; `what` cannot count with these. */
enum pricer_status pri_network_alike(const struct pricer_network *network,
                                     const char *what, bool near,
                                     struct pricer_fault *fault);

/* How many bytes of memory the network takes. */
size_t pri_network_bytes(const struct pricer_network *network);

/* P(both up) of a pair with these probabilities: reciprocity 0 is independent,
 * 1 fully reciprocal. */
double pri_joint(double reciprocity, double p, double p_back);

/* Refuse an eps that is not positive and a delta outside (0, 1]. */
enum pricer_status pri_check_trust(double eps, double delta,
                                   struct pricer_fault *fault);

/* ----------------------------------------------------------------- parts -- */

enum { PRI_BLOCKS = 64 }; /* most blocks of nodes that sums are formed of */

/* How many blocks of about equal work so many links and nodes are cut into:
 * whatever the threads, so that sums do not depend on them. */
static inline int32_t pri_block_count(int64_t work)
{
    int64_t blocks = work / 32768;
    blocks = blocks < 2 ? 1 : blocks > PRI_BLOCKS ? PRI_BLOCKS : blocks & ~1;
    return (int32_t)blocks;
}

/*
 * What one rank holds of a network that no rank holds all of: the rows of its
 * own nodes, which are the nodes of some consecutive blocks, and of the
 * neighbours that other ranks own, the ghosts, those links that lead to its own
 * nodes. Nodes are in the order of the whole network, ghosts too, so that every
 * loop over the neighbours of an own node meets them in the same order as in
 * the whole.
 */
struct pri_part {
    const struct pricer_crew *crew;  /* NULL: this process alone */
    int32_t nodes;                   /* of the whole network */
    int64_t links;                   /* of the whole network */
    int32_t blocks;                  /* of the whole network */
    int32_t block[PRI_BLOCKS + 1];   /* the first node of each, in the whole */
    int64_t bounds[PRI_BLOCKS + 1];  /* the first block of each rank */
    struct pricer_network *network;  /* own nodes and ghosts */
    int32_t low, high;               /* its own nodes */
    int32_t *number;                 /* [nodes here] in the whole network */
    int32_t *original;               /* [nodes here] what they are called, where
                                        the whole was put in order; or NULL */
    double wanted;                   /* sum of all nodes' radii, in units of the
                                        network's */
    int64_t *give, *got;             /* [ranks] own nodes that are ghosts there,
                                        ghosts from there */
    int64_t *give_links, *got_links; /* [ranks] the same for links */
    int32_t *giving, *giving_links;  /* those own ones, rank after rank */
    double *given, *taken;           /* room for an exchange */
};

/*
 * This rank's part of a scenario's network, which its rank of the crew makes
 * by itself. All ranks call it. Networks from files and budgets towards the
 * server are refused.
 */
enum pricer_status pri_part_make(const struct pricer_scenario *scenario,
                                 const struct pricer_crew *crew,
                                 const struct pricer_watch *watch,
                                 struct pri_part **part,
                                 struct pricer_fault *fault);
void pri_part_free(struct pri_part *part);

/* What a node of the part is called. */
static inline int32_t pri_part_name(const struct pri_part *part, int32_t node)
{
    return part->original != NULL ? part->original[node] : part->number[node];
}

/* Find who lends what to whom, of a part whose every link has its opposite. */
enum pricer_status pri_part_exchanges(struct pri_part *part);

/* Give ghosts what their owners have: `width` numbers a node, side by side. */
void pri_part_nodes(const struct pri_part *part, double *values, int width);

/* The same for the links of ghosts: one number every `stride`. */
void pri_part_links(const struct pri_part *part, double *values, int stride);

/* Whether it is so on any rank. */
bool pri_part_any(const struct pri_part *part, bool here);

/* An order of the nodes for parts with few links between them: order[k] is the
 * node that comes k-th. */
enum pricer_status pri_network_order(const struct pricer_network *network,
                                     int32_t parts, int32_t *order);

/*
 * The same parts of a network that rank 0 holds, without budgets towards the
 * server; on other ranks it is NULL. All ranks call all of these. What they
 * know of their nodes and links comes back in the network's own order, to rank
 * 0's `all`.
 */
struct pri_deal;
enum pricer_status pri_deal_new(const struct pricer_network *network,
                                const struct pricer_crew *crew,
                                struct pri_deal **deal);
enum pricer_status pri_deal_part(struct pri_deal *deal, struct pri_part **part);
enum pricer_status pri_deal_nodes(const struct pri_deal *deal,
                                  const struct pri_part *part,
                                  const double *mine, double *all);
enum pricer_status pri_deal_links(const struct pri_deal *deal,
                                  const struct pri_part *part,
                                  const double *mine, double *all);
void pri_deal_free(struct pri_deal *deal);

/* ---------------------------------------------------------------- tables -- */

/* The trust where a links file gives none. */
struct pri_trust_default {
    double eps, delta;           /* trust in links; NAN: every row gives it */
    double self_eps, self_delta; /* trust in uplinks */
    double server_eps, server_delta; /* of nodes towards the server */
    double everyone_eps;             /* of nodes towards everyone; 0: every row
                                        gives it, or none does */
    double everyone_delta;
    enum { PRI_SCHEME_OPEN, PRI_SCHEME_SUM, PRI_SCHEME_FORWARD } scheme;
};

/* What is said once of all nodes. */
struct pri_measures {
    int64_t dimension;
    double radius, reciprocity;
    double diameter; /* 0: twice the radius */
};

/*
 * A network from two tables. Nodes:
 * node,p[,x,y][,server_eps][,server_delta][,name][,radius][,diameter]
 * [,everyone_eps][,everyone_delta], numbered from 0, each once, in any order. Links:
 * from,to,p[,joint][,eps][,delta]; a row i,i (its p is 1 or empty) gives the
 * trust in the uplink of node i. Empty cells take the default. A links file may
 * hold no rows, and links_path may be NULL: then no node relays for another.
 * A scheme that is open is forward if any row has a budget towards everyone;
 * then all nodes need one, and links have none.
 * O(nodes + links).
 */
enum pricer_status pri_csv_network(const char *nodes_path,
                                   const char *links_path,
                                   const struct pri_measures *measures,
                                   const struct pri_trust_default *trust,
                                   const struct pricer_watch *watch,
                                   struct pricer_network **network,
                                   struct pricer_fault *fault);

#endif
