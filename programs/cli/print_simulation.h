/*
 * How a simulation is printed.
 */
#ifndef PROGRAM_PRINT_SIMULATION_H
#define PROGRAM_PRINT_SIMULATION_H

#include "common/program.h"
#include "pricer_forward.h"

/* What is known about a simulation besides its result. */
struct simulation_report {
    const struct pricer_network *network;
    const struct pricer_simulation *simulation;
    const struct pricer_forward_plan *forward; /* what was played, or NULL */
    const char *const *names;                  /* [plans] of the strategies */
    int64_t plan;
    double seconds;
};

/* One JSON object on stdout. */
void simulation_print_json(const struct simulation_report *report);

/* Tables on stdout. */
void simulation_print(const struct simulation_report *report);

/* Warnings where trials contradict what they should be, on stderr. */
void simulation_warn(const struct simulation_report *report);

#endif
