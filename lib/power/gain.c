/*
 * From which uplinks are up in a round to how much the server lets it count.
 *
 * A round says y = w A V + noise of variance v in every number, where the
 * server expects w and v by the uplinks. Of rounds that say the same with other
 * w and v, least squares takes the sum of (w / v) y. A floor of a hundredth of
 * the mean variance keeps a round without noise from silencing all others.
 */
#include "power.h"

double pri_power_gain(const struct pricer_network *net,
                      const struct pricer_plan *plan,
                      const struct pri_whole *whole)
{
    double weight = 0, variance = 0;
    if (plan == NULL)
        return 1;
    for (int32_t i = 0; i < net->nodes; i++) {
        weight += net->uplink[i] * plan->self_weight[i];
        variance += net->uplink[i] * plan->self_noise[i] * plan->self_noise[i];
    }
    for (int32_t l = 0; l < net->links; l++) {
        double p = net->uplink[net->to[l]] * net->p[l];
        weight += p * plan->weight[l];
        variance += p * plan->noise[l] * plan->noise[l];
    }
    if (variance == 0 || weight == 0)
        return 1;
    return whole->likely / weight * variance /
           (whole->expected + 0.01 * variance);
}
