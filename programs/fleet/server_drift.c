/*
 * From the deliveries of the latest rounds to the links that are not what the
 * plan takes them for.
 *
 * All links are tested together. Each has a two-sided test with the exact tails of
 * the binomial distribution, at DRIFT_ALARM divided by the number of links that
 * were tried (Bonferroni): while every link is as planned, the chance that any is
 * named, in one look at the windows, is at most DRIFT_ALARM. The normal
 * approximation would not do: a link with p = 0.0001 that delivers once in 500
 * rounds is 4 deviations off, and that happens in every twentieth window.
 */
#include "common/binomial.h"
#include "server.h"

#include <stddef.h>

/* Clopper and Pearson's lower end: the p at which k or more of n arrive with the
 * given chance. */
static double lower_end(int64_t n, int64_t k, double chance)
{
    double low = 0, high = (double)k / (double)n;
    for (int step = 0; step < 60 && k > 0; step++) {
        double middle = (low + high) / 2;
        *(binomial_upper_tail(n, k, middle) < chance ? &low : &high) = middle;
    }
    return low;
}

/* Whether both windows of a link together speak against the planned p, at a level
 * of its own. */
static bool is_off(const struct pricer_delivery *now,
                   const struct pricer_delivery *before, double level,
                   struct drift *drift)
{
    int64_t n = now->tried + before->tried;
    int64_t k = now->arrived + before->arrived;
    if (binomial_level(n, k, drift->planned) > level)
        return false;
    drift->low = lower_end(n, k, level / 2);
    drift->high = 1 - lower_end(n, n - k, level / 2);
    return true;
}

static int64_t count_tried(const struct pricer_delivery *const *windows,
                           int32_t number)
{
    int64_t count = 0;
    for (int32_t k = 0; k < number; k++)
        count += windows[0][k].tried + windows[1][k].tried > 0;
    return count;
}

int32_t server_drifts(const struct server *server, struct drift *drifts,
                      int32_t room)
{
    const struct pricer_network *network = server->network;
    const struct pricer_delivery *const uplink[] = {server->history.uplink[0],
                                                    server->history.uplink[1]};
    const struct pricer_delivery *const link[] = {server->history.link[0],
                                                  server->history.link[1]};
    int64_t tried =
        count_tried(uplink, network->nodes) + count_tried(link, network->links);
    double level = DRIFT_ALARM / (double)(tried > 0 ? tried : 1);
    int32_t count = 0;
    for (int32_t i = 0; i < network->nodes && count < room; i++) {
        struct drift drift = {i, PRICER_SERVER, network->uplink[i], 0, 1};
        if (is_off(&uplink[0][i], &uplink[1][i], level, &drift))
            drifts[count++] = drift;
    }
    for (int32_t l = 0; l < network->links && count < room; l++) {
        struct drift drift = {network->from[l], network->to[l], network->p[l],
                              0, 1};
        if (is_off(&link[0][l], &link[1][l], level, &drift))
            drifts[count++] = drift;
    }
    return count;
}
