/*
 * The generators as rules: each lists the links that leave one node.
 */
#ifndef PRICER_NETWORK_RULES_H
#define PRICER_NETWORK_RULES_H

#include "placement.h"

/* One row: the receivers of a node and the probability of reaching them, or
 * while rows are only counted, how many there are. */
struct pri_row {
    bool counting; /* to and p stay empty */
    bool bare;     /* p need not be right */
    int32_t *to;   /* [room] */
    double *p;     /* [room] */
    int32_t count;
    int32_t room;
};

/* What a generator knows while it lists rows. */
struct pri_rule {
    const struct pricer_scenario *scenario;
    int32_t nodes;                       /* of the whole network */
    const struct pricer_network *places; /* some of them, from `base` on */
    int32_t base;
    const struct pri_cell_list *cells; /* geometric only */
    /* The links of a node to those nodes that have a place, in order of the
     * receiver. */
    enum pricer_status (*list)(const struct pri_rule *rule, int32_t node,
                               struct pri_row *row);
};

/*
 * Complete a rule that knows its scenario, for all nodes of a network: their
 * trust in uplinks, uplinks and positions, and how links are listed. The caller
 * frees cells->start.
 */
enum pricer_status pri_rule_nodes(struct pri_rule *rule,
                                  struct pricer_network *net,
                                  struct pri_cell_list *cells,
                                  struct pricer_fault *fault);

/* The same for the geometric generator without any nodes: cells alone. The
 * places follow (pri_place_window()). */
enum pricer_status pri_rule_cells(struct pri_rule *rule, int32_t nodes,
                                  struct pri_cell_list *cells,
                                  struct pricer_fault *fault);

/* How much `from` trusts `to`, whose p the link has: the ring, then good links,
 * then everyone. */
void pri_rule_trust(const struct pri_rule *rule, int32_t from, int32_t to,
                    struct pricer_network *net, int32_t link);

/* How many nodes the scenario's network has, and whether they have positions. */
int32_t pri_rule_count(const struct pricer_scenario *scenario, bool *placed);

#endif
