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

/* ---------------------------------------------------------------- tables -- */

/* The trust where a links file gives none. */
struct pri_trust_default {
    double eps, delta;           /* trust in links; NAN: every row gives it */
    double self_eps, self_delta; /* trust in uplinks */
    double server_eps, server_delta; /* of nodes towards the server */
};

/* What is said once of all nodes. */
struct pri_measures {
    int64_t dimension;
    double radius, reciprocity;
    double diameter; /* 0: twice the radius */
};

/*
 * A network from two tables. Nodes:
 * node,p[,x,y][,server_eps][,server_delta][,name][,radius][,diameter],
 * numbered from 0, each once, in any order. Links:
 * from,to,p[,joint][,eps][,delta]; a row i,i (its p is 1 or empty) gives the
 * trust in the uplink of node i. Empty cells take the default. A links file may
 * hold no rows, and links_path may be NULL: then no node relays for another.
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
