/*
 * Patterns as good as bare: those in which some sum is seen with neither a base
 * nor a noise of at least `hide`.
 */
#ifndef PRICER_BARE_H
#define PRICER_BARE_H

#include "bracket.h"

enum { PRI_HIDES = 24 };

/* The values of `hide` that may be worth a look: above the noises of loud sums,
 * at most PRI_HIDES of them. Returns how many. */
int32_t pri_list_hides(const struct pri_view *view, double *hide);

/* What a pattern as good as bare costs at least, at any eps up to this. */
double pri_worth_of_bare(const struct pri_view *view, int direction,
                         double hide, double eps);

/* Raise the lower end to what single sums show by themselves. */
void pri_lone_sums(const struct pri_view *view, const struct pri_sums *model,
                   double delta, struct pri_bracket *found);

#endif
