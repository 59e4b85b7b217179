/*
 * Nodes that can never be heard: neither their own uplink ever works, nor any link
 * to a node whose uplink does. Their data are missing from every estimate.
 */
#ifndef PROGRAM_UNHEARD_H
#define PROGRAM_UNHEARD_H

#include "pricer_forward.h"
#include "program.h"

bool unheard_is(const struct pricer_network *network, int32_t node);
/* O(links). */
int32_t unheard_count(const struct pricer_network *network);

/* A sentence with their number and names, of which the first few; "" where every
 * node can be heard. */
enum { UNHEARD_ROOM = 1200 };
const char *unheard_text(const struct pricer_network *network,
                         char text[UNHEARD_ROOM]);

/* The same for 'scheme: forward', where a plan says who is heard within its hops;
 * "" where there is none. */
const char *unheard_within(const struct pricer_network *network,
                           const struct pricer_forward_plan *plan,
                           char text[UNHEARD_ROOM]);

/* The same in lines of less than 100 columns (plan may be NULL: 'scheme: sum'),
 * and their numbers as a JSON list. */
void unheard_print(FILE *out, const struct pricer_network *network,
                   const struct pricer_forward_plan *plan);
void unheard_json(struct json *json, const struct pricer_network *network);

#endif
