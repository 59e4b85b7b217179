/*
 * What the library's files share and nobody else sees: faults, allocation and
 * the half-built network. Names start with pri_ and are hidden in the shared
 * object; tests link the static library and may call them.
 */
#ifndef PRICER_INTERNAL_H
#define PRICER_INTERNAL_H

#include "pricer.h"

#include <stdarg.h>

/* For products of 64-bit integers. */
__extension__ typedef unsigned __int128 pri_wide;

/*
 * Write a fault (if there is one to write to) and return the status, so that a
 * check reads: return pri_fault(fault, PRICER_VALUE, "p = %g is ...", p).
 */
enum pricer_status pri_fault(struct pricer_fault *fault,
                             enum pricer_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "file:line: " before the text of a fault; line 0 leaves the line out. */
void pri_fault_locate(struct pricer_fault *fault, const char *file,
                      int64_t line);

/* Room for `count` items of `size` bytes, zeroed; NULL also on overflow. A
 * count of 0 gives a pointer that can be freed. */
void *pri_alloc(int64_t count, size_t size);

/* Two numbers that go through the same arithmetic side by side. */
typedef double pri_two __attribute__((vector_size(16)));

/* How many threads to use: as many as asked for, else one per core, or one
 * where the work (links, about) is not worth more. */
int pri_threads(int32_t asked, int64_t work);

/* Tell the watch (which may be NULL) how far the work is; false: stop. */
bool pri_tick(const struct pricer_watch *watch, double done);

/*
 * Parse the whole text as a number in the C locale; inf is one, nan and
 * hexadecimal are not. False (value untouched) if it is not a number.
 */
bool pri_parse_number(const char *text, double *value);

/* The same for a whole number, of either sign. */
bool pri_parse_count(const char *text, int64_t *value);

/* --------------------------------------------------------------- network -- */

/*
 * A network with room for its nodes, and in a second step for its links. The
 * caller fills uplink, self_eps, self_delta, out_start, to, p, joint, eps and
 * delta, links ordered by (from, to), then calls pri_network_finish(). Free it
 * if a step fails.
 */
enum pricer_status pri_network_new(int32_t nodes, bool positions,
                                   struct pricer_network **network);
enum pricer_status pri_network_room(struct pricer_network *network,
                                    int32_t links);

/* Fill from, in_start, in_link and partner, and every joint that is NAN, from
 * what pri_network_new() says is filled. joint must be set or NAN. */
void pri_network_finish(struct pricer_network *network, double reciprocity);

/* The rules for one node and one link by themselves. */
enum pricer_status pri_node_check(const struct pricer_node *node,
                                  struct pricer_fault *fault);
enum pricer_status pri_link_check(const struct pricer_link *link, int64_t nodes,
                                  struct pricer_fault *fault);

/* The rules for pairs, of a finished network. links and order (or NULL) are the
 * entries it was made from and which of them each link was, to blame. */
enum pricer_status pri_network_check_joints(
    const struct pricer_network *network, const struct pricer_link *links,
    const int32_t *order, struct pricer_place *place,
    struct pricer_fault *fault);

void pri_network_set_node(struct pricer_network *network, int32_t index,
                          const struct pricer_node *node);

/* P(both up) of a pair with these probabilities: reciprocity 0 is independent,
 * 1 fully reciprocal. */
double pri_joint(double reciprocity, double p, double p_back);

/* Refuse an eps that is not positive and a delta outside (0, 1]. */
enum pricer_status pri_check_trust(double eps, double delta,
                                   struct pricer_fault *fault);

/* ------------------------------------------------------------- calibrate -- */

/*
 * The noise that each link [links] and each node's own part [nodes] must add
 * for one unit of weight, by the calibration and rounds of the settings; 0 for
 * eps = INFINITY. A slope is 2 radius / mu rounded up, with slack enough that
 * noise = slope * weight, rounded to double, keeps the budget.
 *
 * Over several rounds the observer of a link is its receiver, who sees what
 * arrives. A node's own part counts every round, whether or not it reaches the
 * server: what leaves a node is protected from all who hear it. On failure the
 * arrays hold nothing of use. O(nodes + links) beside one solution for each
 * different budget (and p, if rounds > 1).
 */
enum pricer_status pri_slopes(const struct pricer_network *network,
                              const struct pricer_settings *settings,
                              double *slope, double *self_slope,
                              struct pricer_fault *fault);

/*
 * d ln(slope) / d ln(eps) of one link (p = 1 for a node's own part) at the
 * calibration in use, by implicit differentiation of delta(eps; mu) = const;
 * between -1 and 0.
 */
enum pricer_status pri_slope_derivative(const struct pricer_settings *settings,
                                        double eps, double delta, double p,
                                        double *derivative,
                                        struct pricer_fault *fault);

/* -------------------------------------------------------------- optimise -- */

/*
 * pricer_plan_optimise() for noise slopes that are given: the standard
 * deviation per unit weight of each link and of each node's own part. All zero
 * asks for the plan without privacy.
 */
enum pricer_status pri_optimise(const struct pricer_network *network,
                                const struct pricer_settings *settings,
                                const double *slope, const double *self_slope,
                                const struct pricer_plan *warm,
                                struct pricer_plan **plan,
                                struct pricer_solve_info *info,
                                struct pricer_fault *fault);

#endif
