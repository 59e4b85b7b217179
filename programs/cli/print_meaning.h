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

#endif
