/*
 * What a plan of 'scheme: forward' is compared with, and what would lower its
 * error most.
 */
#ifndef PROGRAM_FORWARD_LEVERS_H
#define PROGRAM_FORWARD_LEVERS_H

#include "common/program.h"
#include "pricer_forward.h"

/* Larger networks have no such row, and no sensitivities. */
enum { SUM_LINKS = 5000, SLOPE_NODES = 20000 };

/*
 * The least worst case of scheme sum at the same guarantee: every neighbour may
 * learn a node's budget towards everyone, and so may the server over all paths
 * together, evenly divided among them. NAN where the network has more than SUM_LINKS links,
 * a budget without delta, or the solver was stopped.
 */
double forward_sum_error(const struct pricer_network *network, int64_t rounds,
                         const struct pricer_watch *watch);

/* A link or uplink, and what 10 % fewer failures of it save, in squared units
 * of the data. */
struct lever {
    int32_t from, to; /* to = PRICER_SERVER: an uplink */
    double p, slope, slope_stderr, saves;
};

/* The links that save most, the best first; returns how many there are. */
enum { LEVERS = 5 };
int forward_levers(const struct pricer_network *network,
                   const struct pricer_forward_slopes *slopes,
                   struct lever found[LEVERS]);

/* d W / d eps if every node's eps grows by the same amount, and what 10 % more
 * of every eps saves to first order. */
double forward_eps_slope(const struct pricer_forward_slopes *slopes);
double forward_eps_saves(const struct pricer_network *network,
                         const struct pricer_forward_slopes *slopes);

/* The same as a table with a sentence, and as members of an open object. */
void forward_print_levers(const struct pricer_network *network,
                          const struct pricer_forward_plan *plan,
                          const struct pricer_forward_slopes *slopes);
void forward_json_levers(struct json *json,
                         const struct pricer_network *network,
                         const struct pricer_forward_plan *plan,
                         const struct pricer_forward_slopes *slopes);

#endif
