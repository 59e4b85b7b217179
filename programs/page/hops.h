/*
 * The paths of 'scheme: forward' as drawings show them: the most likely one of
 * every node, and a colour for how many relays it has.
 */
#ifndef PROGRAM_HOPS_H
#define PROGRAM_HOPS_H

#include "report.h"

/*
 * Find every node's path to the server that is up most often, over at most the
 * plan's hops: the relays on it, -1 where there is none, and its first link, -1
 * where it is the uplink. Both arrays are the caller's, [nodes] each. O(hops
 * links); false: out of memory.
 */
bool hops_find(const struct pricer_network *network, int32_t hops,
               int32_t *relays, int32_t *link);

/* None, one, two, three or more relays; and never heard. */
enum { HOPS_CLASSES = 5, HOPS_NEVER = HOPS_CLASSES - 1 };

/* The class of a node of the report, and a class's colour. */
int hops_class(const struct report *report, int32_t node);
const char *hops_colour(int class);

/* The key of a drawing: the classes that there are, and what they are of. */
void hops_key(const struct report *report);

#endif
