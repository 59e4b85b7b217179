/*
 * Patterns that need no line: those as good as bare, in which some sum is seen
 * with neither a base nor a noise of at least `hide`, and single sums; and pairs
 * of links that are too many for exact.h, drawn independently instead.
 */
#ifndef PRICER_BARE_H
#define PRICER_BARE_H

#include "privacy.h"

/* The probability that something with the chance `once` happens in some of so many
 * rounds, to the side. By which part it may be off: rounding, in proportion to the
 * links that decide about a pattern, and links taken as independent. */
double pri_in_some_round(const struct pri_view *view, double once,
                         int64_t rounds, enum pri_side side);

/* Scratch: the probabilities of all noises and links as a case has them. */
struct pri_chances {
    double *chance, *absent; /* [noises] */
    double *link;            /* [sources] */
};

/* The probability that in some of `rounds` rounds a sum is seen with neither a
 * base nor a noise of at least `hide`; the least positive number means none at
 * all. To the side; *exact tells whether that is only rounding. */
double pri_view_bare(const struct pri_view *view, double hide, int64_t rounds,
                     enum pri_side side, struct pri_chances *chances,
                     bool *exact);

/* The probabilities of all noises as they are. */
void pri_plain_chances(const struct pri_view *view,
                       struct pri_chances *chances);

/* Set the probabilities of all noises so that every one may be drawn by itself.
 * By the order alone, with a growth of INFINITY: the second noise of a pair
 * with its least (above) or largest (below) probability given the first, as
 * less noise never helps the node. Data: the mean of a curve raised to
 * `growth`, at any eps >= least, is then at least (above) or at most (below)
 * that over the patterns. */
enum pricer_status pri_decouple(const struct pri_view *view, enum pri_side side,
                                double growth, double least,
                                struct pri_chances *chances);

enum { PRI_HIDES = 24 };

/* The values of `hide` that may be worth a look: above the noises of loud sums,
 * at most PRI_HIDES of them. Returns how many. */
int32_t pri_list_hides(const struct pri_view *view, double *hide);

/* What a pattern as good as bare costs at least, at any eps up to this. */
double pri_worth_of_bare(const struct pri_view *view, int direction,
                         double hide, double eps);

/* Raise the lower end to what single sums show by themselves. */
void pri_lone_sums(const struct pri_view *view, int64_t rounds, double delta,
                   struct pri_bracket *found);

/* One round of one sum, without a line. */
enum pricer_status pri_sum_once(const struct pri_view *view, double delta,
                                struct pri_scratch *scratch,
                                struct pri_bracket *found);

#endif
