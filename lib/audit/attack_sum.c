/*
 * From a round to a sum that the observer has of it, through the
 * functions that real rounds use.
 */
#include "attack.h"

#include <math.h>

/* Whether a link, or an uplink (link = -1), is up. */
bool pri_attack_is_up(const struct pri_attack *attack, int64_t round,
                      int32_t link, int32_t from)
{
    const struct pricer_network *net = attack->network;
    if (link < 0)
        return pricer_round_up(attack->seed, round,
                               &(struct pricer_pair){from, PRICER_SERVER,
                                                     net->uplink[from], 0, 0});
    int32_t back = net->partner[link];
    return pricer_round_up(
        attack->seed, round,
        &(struct pricer_pair){from, net->to[link], net->p[link],
                              back < 0 ? 0 : net->p[back], net->joint[link]});
}

/* Node `from` writes its message to `to` (itself: its own part), which is added
 * to attack->sum. */
static enum pricer_status send(struct pri_attack *attack, int64_t round,
                               int32_t from, int32_t to, const double *data,
                               struct pricer_fault *fault)
{
    struct pricer_slice **slice = &attack->slice[from];
    struct pricer_random random;
    enum pricer_status status = PRICER_OK;
    if (*slice == NULL) {
        status = pricer_slice_build(attack->network, attack->plan,
                                    &attack->grid, from, slice, fault);
        if (status != PRICER_OK)
            return status;
        (*slice)->dimension = attack->dimension;
    }
    const struct pricer_share *share = pri_slice_find(*slice, to);
    if (share == NULL)
        return PRICER_OK;
    pri_round_noise(&random, attack->seed, round, from, to);
    status = attack->code.share(*slice, share, data, &random, attack->message,
                                fault);
    if (status != PRICER_OK)
        return status;
    return pricer_round_add(&attack->grid, 1, attack->message,
                            attack->dimension, attack->sum, fault);
}

/* A variance in squared radii. */
double pri_attack_variance(const struct pri_attack *attack, double noise)
{
    double relative = noise / attack->network->radius;
    return relative * relative;
}

/* A coordinate of the sum in radii. */
double pri_attack_seen(const struct pri_attack *attack, int64_t coordinate)
{
    return ldexp((double)attack->sum[coordinate], attack->grid.exponent) /
           attack->network->radius;
}

enum pricer_status pri_attack_sum(struct pri_attack *attack, int64_t round,
                                  const struct observation *observation,
                                  const double *data, double *others,
                                  struct pricer_fault *fault)
{
    const struct pricer_network *net = attack->network;
    const struct pricer_plan *plan = attack->plan;
    int32_t at = observation->relay, node = attack->node;
    enum pricer_status status = PRICER_OK;
    *others = 0;
    for (int64_t k = 0; k < attack->dimension; k++)
        attack->sum[k] = 0;
    if (data != NULL)
        status = send(attack, round, node, at, data, fault);
    if (status == PRICER_OK && at != node && !observation->direct) {
        *others = pri_attack_variance(attack, plan->self_noise[at]);
        status = send(attack, round, at, at, attack->zero, fault);
    }
    for (int32_t k = net->in_start[at];
         k < net->in_start[at + 1] && status == PRICER_OK && !attack->one_link;
         k++) {
        int32_t l = net->in_link[k], from = net->from[l];
        if (from == node || attack->member[from] ||
            !pri_attack_is_up(attack, round, l, from))
            continue;
        *others += pri_attack_variance(attack, plan->noise[l]);
        status = send(attack, round, from, at, attack->zero, fault);
    }
    return status;
}
