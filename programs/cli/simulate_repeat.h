/*
 * `pricer simulate` where the scenario repeats every payload.
 */
#ifndef PROGRAM_SIMULATE_REPEAT_H
#define PROGRAM_SIMULATE_REPEAT_H

#include "material.h"

/* Fit the decoder of all attempts together, play it, print what became of it.
 * Nothing is stored. */
enum pricer_status simulate_repeat(
    const struct material *from,
    const struct pricer_simulation_settings *settings, bool as_json,
    struct pricer_fault *fault);

#endif
