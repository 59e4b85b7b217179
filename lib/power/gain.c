/*
 * From who is heard in a round to how much the server lets it count.
 *
 * A round says y = w A V + noise of variance v in every number, where the
 * server expects w and v by what it knows of the round (lib/forward/means.c). Of rounds that say the same with other
 * w and v, least squares takes the sum of (w / v) y. A floor of a hundredth of
 * the mean variance keeps a round without noise from silencing all others.
 */
#include "power.h"

double pri_power_gain(const struct pri_means *means)
{
    const double weight = means->weight, variance = means->variance;
    if (pri_scheme_perfect(&means->scheme) || variance == 0 || weight == 0)
        return 1;
    return means->whole.likely / weight * variance /
           (means->whole.expected + 0.01 * variance);
}
