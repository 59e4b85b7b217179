/*
 * The observers of a real fleet, as changes of what pri_view_build() makes:
 * single shares in the place of sums, the reader of the published estimate. Every change keeps the account of the view a bound.
 */
#ifndef PRICER_SIGHT_H
#define PRICER_SIGHT_H

#include "observe.h"

#include <math.h>

/* The steps of pri_view_observe(): */

/* Relays that are members, or all for a listener, see single shares
 * (sight.c). */
enum pricer_status pri_view_shares(const struct pri_sight *sight,
                                   struct pri_view *view);

/* The noise in sums without the node's data is dealt out to those of the choice
 * (reader.c). */
enum pricer_status pri_view_estimate(const struct pri_sight *sight,
                                     uint32_t choice, struct pri_view *view,
                                     bool *helped);

/* The weight of the node's data in a sum, and the noise that it puts there. */
double pri_sight_weight(const struct pri_sight *sight, int32_t at,
                        double *noise);

/* The variance of a noise in the unit of a source. */
double pri_sight_variance(const struct pri_sight *sight,
                          const struct pri_source *source, double noise);

/* By how much rounding brings neighbouring data of a node further apart in a
 * message of this weight; 1 without a grid (view.c). */
double pri_raised(const struct pricer_network *network,
                  const struct pricer_grid *grid, int32_t node, double weight);

/* Whether the observer sees the shares in a sum one by one. */
bool pri_sight_singly(const struct pri_sight *sight, int32_t at);

static inline bool pri_sight_member(const struct pri_sight *sight, int32_t node)
{
    return sight->member != NULL && sight->member[node];
}

/* P(the second link of a pair is up | the first is down): the chance with which it
 * may count as independent, if it only hides. */
static inline double pri_at_least(double second, double first, double joint)
{
    double apart = second - joint, down = 1 - first;
    if (!(apart > 0))
        return 0;
    return apart < second * down ? apart / down : second;
}

/* The same where both of a pair only hide and both do so: docs/mathematics.md,
 * Opposite links. */
static inline double pri_apart(double p, double q, double joint)
{
    double neither = 1 - p - q + joint, alone = (1 - p) * (1 - q);
    if (!(joint > p * q) || !(alone > 0))
        return p;
    if (!(neither < 1))
        return 0;
    double chance = -expm1(log1p(-p) * log(neither) / log(alone));
    return fmin(fmax(chance * (1 - 1e-12), 0), p);
}

#endif
