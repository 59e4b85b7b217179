/*
 * Who may read the estimates: from the plan and the budgets of its network to the
 * nodes that RESULT goes to.
 *
 * Claim: whatever a node j that reads learns about the data of a node i, from the
 * estimates of the plan's rounds and all else, is within the budget of the link
 * i -> j. Proof: all that depends on i's data leaves i in its parts, own and
 * shares; those of a round are one Gaussian release of the ratio that
 * trust_ratio_together() bounds, and trust_allows_often() is about as many of them
 * as the plan has rounds. The noise of others is not counted: j may know it. Where
 * there is no link, i gives j nothing, and j reads only if nothing leaves i.
 */
#include "server.h"
#include "trust_file.h"

/* Of all parts of a node in a round. */
static double find_ratio(const struct server *server, int32_t i)
{
    const struct pricer_network *network = server->network;
    const struct pricer_plan *plan = server->plan;
    double diameter = network->node_diameter[i];
    double ratio[2] = {
        trust_ratio(diameter, plan->self_weight[i], plan->self_noise[i])};
    for (int32_t l = network->out_start[i]; l < network->out_start[i + 1];
         l++) {
        ratio[1] = trust_ratio(diameter, plan->weight[l], plan->noise[l]);
        ratio[0] = trust_ratio_together(ratio, 2);
    }
    return ratio[0];
}

void server_readers_load(struct server *server)
{
    server->speakers = 0;
    server->denied = false;
    for (int32_t i = 0; i < server->network->nodes; i++) {
        server->ratios[i] = find_ratio(server, i);
        server->speakers += server->ratios[i] > 0;
        server->seats[i].reads = 0;
    }
}

/* Whether all who say anything have a link to the node whose budget holds it. */
static bool is_allowed(const struct server *server, int32_t node)
{
    const struct pricer_network *network = server->network;
    int32_t held = server->ratios[node] > 0;
    for (int32_t k = network->in_start[node]; k < network->in_start[node + 1];
         k++) {
        int32_t l = network->in_link[k];
        double ratio = server->ratios[network->from[l]];
        held +=
            ratio > 0 && trust_allows_often(network->eps[l], network->delta[l],
                                            ratio, server->plan_rounds);
    }
    return held == server->speakers;
}

/* Where rounds are relative to the last estimate everybody has it: budgets of
 * links have no say in that, and docs/threats.md says what it means. */
bool server_may_read(struct server *server, int32_t node)
{
    struct seat *seat = &server->seats[node];
    if (server->readers == SERVER_READERS_ALL || server->network->reach > 0)
        return true;
    if (seat->reads == 0)
        seat->reads = is_allowed(server, node) ? 1 : -1;
    if (seat->reads < 0 && !server->denied) {
        server->denied = true;
        daemon_say("node %s asks for estimates and gets none: budgets towards "
                   "it do not hold what it could learn ('pricer privacy %s "
                   "--coalition %d,reader --relays shares' says what that is); "
                   "--readers all sends them to all who ask",
                   node_label(server->network, node).text, server->path,
                   (int)node);
    }
    return seat->reads > 0;
}
