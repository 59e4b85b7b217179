/*
 * Who may read the estimates: from the plan and the budgets of its network to the
 * nodes that RESULT goes to.
 *
 * Claim: whatever a node j that reads learns about the data of a node i, from the
 * estimates of the study and all else, is within the budget of the link i -> j.
 * Proof: all that depends on i's data leaves i in its parts, own and shares; those
 * of a round are one Gaussian release of the ratio that draft_ratio() bounds. The permission is for as many of them as the plan has rounds, on top of
 * all rounds that the study has of earlier plans, and ends after that many: the
 * study counts rounds, so a restart does not begin again. The noise of others is
 * not counted: j may know it. Where there is no link, i gives j nothing, and j reads
 * only if nothing leaves i.
 */
#include "draft.h"
#include "server.h"
#include "trust_file.h"

#include <float.h>
#include <math.h>

/* What the rounds of an earlier plan have said of each node. */
static enum pricer_status add_earlier(struct server *server,
                                      const struct pricer_rounds_run *earlier,
                                      struct pricer_fault *fault)
{
    struct pricer_network *network = NULL;
    struct pricer_plan *plan = NULL;
    enum pricer_status status = pricer_study_plan(server->study, earlier->plan,
                                                  &network, &plan, NULL, fault);
    if (status != PRICER_OK)
        return status;
    for (int32_t i = 0; i < network->nodes; i++) {
        long double ratio = draft_ratio(network, plan, i);
        server->spent[i] += ratio * ratio * (long double)earlier->rounds;
        server->spent[i] *= 1 + 4 * LDBL_EPSILON; /* its roundings */
    }
    pricer_network_free(network);
    pricer_plan_free(plan);
    return PRICER_OK;
}

enum pricer_status server_readers_load(struct server *server,
                                       struct pricer_fault *fault)
{
    struct pricer_rounds_run *rounds = NULL;
    int32_t count = 0, nodes = server->network->nodes;
    server->speakers = 0;
    server->denied = false;
    server->plan_ran = 0;
    for (int32_t i = 0; i < nodes; i++) {
        server->ratios[i] = draft_ratio(server->network, server->plan, i);
        server->speakers += server->ratios[i] > 0;
        server->seats[i].reads = 0;
        server->spent[i] = 0;
    }
    if (server->readers == SERVER_READERS_ALL)
        return PRICER_OK;
    enum pricer_status status =
        pricer_study_rounds_run(server->study, &rounds, &count, fault);
    for (int32_t k = 0; k < count && status == PRICER_OK; k++) {
        if (rounds[k].plan == server->plan_id)
            server->plan_ran = rounds[k].rounds;
        else
            status = add_earlier(server, &rounds[k], fault);
    }
    pricer_rounds_run_free(rounds);
    return status;
}

/* Whether a budget holds all that a node says in the plan's rounds, and has said in
 * those of earlier plans. */
static bool is_held(const struct server *server, int32_t node, double eps,
                    double delta)
{
    long double ratio = server->ratios[node], spent = server->spent[node];
    if (spent == 0)
        return trust_allows_often(eps, delta, server->ratios[node],
                                  server->plan_rounds);
    long double root =
        sqrtl(spent + ratio * ratio * (long double)server->plan_rounds);
    return trust_allows(
        eps, delta,
        nextafter((double)(root * (1 + 4 * LDBL_EPSILON)), INFINITY));
}

/* Whether all who say anything have a link to the node whose budget holds it. */
static bool is_allowed(const struct server *server, int32_t node)
{
    const struct pricer_network *network = server->network;
    int32_t held = server->ratios[node] > 0;
    for (int32_t k = network->in_start[node]; k < network->in_start[node + 1];
         k++) {
        int32_t l = network->in_link[k], from = network->from[l];
        held += server->ratios[from] > 0 &&
                is_held(server, from, network->eps[l], network->delta[l]);
    }
    return held == server->speakers;
}

static void say_denied(struct server *server, int32_t node, bool over)
{
    struct node_label label = node_label(server->network, node);
    if (server->denied)
        return;
    server->denied = true;
    if (over)
        daemon_say("the %lld round%s that plan %lld was made for %s over: node "
                   "%s and others get no more estimates, as budgets hold no "
                   "more; --readers all sends them to all who ask",
                   (long long)server->plan_rounds,
                   server->plan_rounds == 1 ? "" : "s",
                   (long long)server->plan_id,
                   server->plan_rounds == 1 ? "is" : "are", label.text);
    else
        daemon_say("node %s asks for estimates and gets none: budgets towards "
                   "it do not hold what it could learn from the rounds of this "
                   "plan and of those before it ('pricer privacy %s "
                   "--coalition %d,reader --relays shares' says what that is); "
                   "--readers all sends them to all who ask",
                   label.text, server->path, (int)node);
}

void server_readers_count(struct server *server)
{
    server->plan_ran++;
    if (server->plan_ran == server->plan_rounds + 1)
        server->denied = false; /* what follows is another reason */
}

bool server_may_read(struct server *server, int32_t node)
{
    struct seat *seat = &server->seats[node];
    if (server->readers == SERVER_READERS_ALL)
        return true;
    if (seat->reads == 0)
        seat->reads = is_allowed(server, node) ? 1 : -1;
    bool over = server->plan_ran > server->plan_rounds;
    if (seat->reads < 0 || over)
        say_denied(server, node, over && seat->reads > 0);
    return seat->reads > 0 && !over;
}
