/*
 * What a plan's numbers mean, for people and for scripts.
 */
#ifndef PROGRAM_PRINT_MEANING_H
#define PROGRAM_PRINT_MEANING_H

#include "print_plan.h"

/* The error as a share of R^2 and as a distance, between its yardsticks; a
 * verdict with what would help most; eps in words. */
void meaning_tables(const struct plan_view *view);

/* The same as the member "meaning" of an open object. */
void meaning_json(struct json *json, const struct plan_view *view);

/* What relaying gains and what most of the error comes from, a sentence each. */
void meaning_bottleneck(const struct pricer_network *network,
                        const struct yardsticks *found, double error);

/* What would help: a table, and the member "remedies" of an open object. */
void meaning_remedies(const struct pricer_network *network,
                      const struct yardsticks *found);
void meaning_json_remedies(struct json *json, const struct yardsticks *found);

#endif
