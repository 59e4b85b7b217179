/*
 * From the deliveries of the latest rounds to the links that are not what the
 * plan takes them for.
 */
#include "server.h"

#include <stddef.h>

/* Over the window that runs and the one before: 500 to 1000 rounds. */
static const double confidence = 1 - 1e-4;

/*
 * Whether p is inside Wilson's interval without a doubt: it is where
 * n (share - p)^2 <= z^2 p (1 - p), and z^2 = 15.13 at this confidence. The
 * interval itself costs a quantile, too much for each of ten thousand links.
 */
static bool surely_inside(const struct pricer_delivery *delivery, double p)
{
    double n = (double)delivery->tried;
    double off = (double)delivery->arrived - n * p;
    return off * off <= 15 * n * p * (1 - p);
}

static int32_t judge(const struct pricer_delivery *now,
                     const struct pricer_delivery *before, double planned,
                     struct drift drift, struct drift *drifts, int32_t count,
                     int32_t room)
{
    const struct pricer_delivery delivery = {
        .tried = now->tried + before->tried,
        .arrived = now->arrived + before->arrived};
    if (count >= room || surely_inside(&delivery, planned))
        return count;
    drift.planned = planned;
    pricer_delivery_interval(&delivery, confidence, &drift.low, &drift.high);
    if (planned >= drift.low && planned <= drift.high)
        return count;
    drifts[count] = drift;
    return count + 1;
}

int32_t server_drifts(const struct server *server, struct drift *drifts,
                      int32_t room)
{
    const struct pricer_network *network = server->network;
    const struct history *history = &server->history;
    int32_t count = 0;
    for (int32_t i = 0; i < network->nodes; i++)
        count = judge(&history->uplink[0][i], &history->uplink[1][i],
                      network->uplink[i],
                      (struct drift){.from = i, .to = PRICER_SERVER}, drifts,
                      count, room);
    for (int32_t l = 0; l < network->links; l++)
        count = judge(
            &history->link[0][l], &history->link[1][l], network->p[l],
            (struct drift){.from = network->from[l], .to = network->to[l]},
            drifts, count, room);
    return count;
}
