/*
 * From the rounds of a study to the links that are not what the plan takes them
 * for. Counting reads the study, so it is done now and then.
 */
#include "server.h"

#include <stddef.h>

/* Count over so many rounds, and again after a tenth of them. */
enum { WINDOW = 1000 };
static const double confidence = 1 - 1e-4;

static int32_t judge(const struct pricer_delivery *delivery, double planned,
                     struct drift drift, struct drift *drifts, int32_t count,
                     int32_t room)
{
    drift.planned = planned;
    pricer_delivery_interval(delivery, confidence, &drift.low, &drift.high);
    if (count >= room || (planned >= drift.low && planned <= drift.high))
        return count;
    drifts[count] = drift;
    return count + 1;
}

int32_t server_drifts(struct server *server, struct drift *drifts, int32_t room)
{
    const struct pricer_network *network = server->network;
    struct pricer_deliveries *fresh = NULL;
    int32_t count = 0;
    int64_t age = server->done - server->deliveries_at;
    int64_t most = server->done < WINDOW ? server->done / 10 : WINDOW / 10;
    if ((server->deliveries == NULL || age > most) &&
        pricer_study_deliveries(server->study, network, WINDOW, &fresh, NULL) ==
            PRICER_OK) {
        pricer_deliveries_free(server->deliveries);
        server->deliveries = fresh;
        server->deliveries_at = server->done;
    }
    if (server->deliveries == NULL)
        return 0;
    for (int32_t i = 0; i < network->nodes; i++)
        count = judge(&server->deliveries->uplink[i], network->uplink[i],
                      (struct drift){.from = i, .to = PRICER_SERVER}, drifts,
                      count, room);
    for (int32_t l = 0; l < network->links; l++)
        count = judge(
            &server->deliveries->link[l], network->p[l],
            (struct drift){.from = network->from[l], .to = network->to[l]},
            drifts, count, room);
    return count;
}
