/*
 * What the library's files share and nobody else sees: faults, allocation and
 * the half-built network. Names start with pri_ and are hidden in the shared
 * object; tests link the static library and may call them.
 */
#ifndef PRICER_INTERNAL_H
#define PRICER_INTERNAL_H

#include "pricer.h"

#include <stdarg.h>

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
 * An empty network with room for everything, positions included if asked. The
 * caller fills uplink, self_eps, self_delta, out_start, to, p, eps and delta,
 * links ordered by (from, to), then calls pri_network_finish().
 */
enum pricer_status pri_network_new(int32_t nodes, int32_t links, bool positions,
                                   struct pricer_network **network);

/* Fill from, in_start, in_link and partner, and every joint that is NAN, from
 * what pri_network_new() says is filled. joint must be set or NAN. */
void pri_network_finish(struct pricer_network *network, double reciprocity);

/* P(both up) of a pair with these probabilities: reciprocity 0 is independent,
 * 1 fully reciprocal. */
double pri_joint(double reciprocity, double p, double p_back);

#endif
