/*
 * A network with other numbers: the same nodes and links, but eps and
 * probabilities that the caller may set.
 */
#ifndef PROGRAM_VARIANT_H
#define PROGRAM_VARIANT_H

#include "pricer.h"

/*
 * `network` shares its structure with the network it was made from, which must
 * outlive it; the arrays below are its own and may be changed, within the rules
 * of struct pricer_network.
 */
struct variant {
    struct pricer_network network;
    double *numbers;                        /* all of them */
    double *uplink, *self_eps, *server_eps; /* [nodes]; the last may be NULL */
    double *p, *joint, *eps;                /* [links] */
};

/* A copy to be changed; free it with variant_free(). */
enum pricer_status variant_make(const struct pricer_network *network,
                                struct variant *variant);

/* Set every number back to what the given network, that it was made from, has.
 * O(nodes + links). */
void variant_reset(struct variant *variant,
                   const struct pricer_network *network);

void variant_free(struct variant *variant);

/* Multiply the finite eps towards neighbours, and those towards the server:
 * each node's own part and its budget over all relays. */
void variant_scale_links(struct variant *variant, double factor);
void variant_scale_server(struct variant *variant, double factor);

/* Plan for a network and hand out the objective and the worst case of the best
 * plan; `best` and `error` may be NULL. */
enum pricer_status variant_plan(const struct pricer_network *network,
                                const struct pricer_settings *settings,
                                const struct pricer_plan *warm,
                                struct pricer_plan **best,
                                struct pricer_solve_info *info,
                                struct pricer_error *error);

#endif
