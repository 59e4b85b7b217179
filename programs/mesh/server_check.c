/*
 * pricer-server --check of a study whose releases are forwarded: its plan, by the
 * code that announces it, and who is enrolled.
 */
#include "server.h"
#include "fleet/check.h"
#include "pricer_members.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* Rounds that a plan's budgets are for, and that were run by it. */
static void tell_plan(const struct mesh_counting *counting,
                      struct pricer_study *study, int64_t rounds,
                      struct findings *found)
{
    struct pricer_rounds_summary done = {0};
    int64_t last = 0;
    pricer_study_plan_rounds(study, counting->id, &done, NULL);
    pricer_study_last_round(study, &last, NULL);
    if (done.rounds >= rounds)
        check_tell(found, FOUND_NOTE, "plan",
                   "plan %lld is for %lld rounds, and %lld were run by it: "
                   "nodes release no more unless their trust files allow it; "
                   "'pricer plan' makes another",
                   (long long)counting->id, (long long)rounds,
                   (long long)done.rounds);
    else
        check_tell(found, FOUND_GOOD, "plan",
                   "plan %lld, up to %d hops, for %lld rounds, of which %lld "
                   "were run; rounds go on after number %lld",
                   (long long)counting->id, (int)counting->plan->hops,
                   (long long)rounds, (long long)done.rounds, (long long)last);
}

static void tell_reference(const struct pricer_network *network,
                           struct pricer_study *study, struct findings *found)
{
    struct pricer_fault fault = {""};
    double *vector = calloc((size_t)network->dimension, sizeof *vector);
    int64_t round = 0;
    if (vector == NULL ||
        pricer_study_estimate(study, network->dimension, &round, vector,
                              &fault) != PRICER_OK)
        check_tell(found, FOUND_BAD, "reference", "%s",
                   vector != NULL ? fault.text : "no memory");
    else if (round == 0)
        check_tell(found, FOUND_GOOD, "reference",
                   "rounds are relative to the last estimate, the first to "
                   "zero");
    else
        check_tell(found, FOUND_GOOD, "reference",
                   "the next round is relative to the estimate of round %lld",
                   (long long)round);
    free(vector);
}

static bool check_plan(struct mesh_counting *counting,
                       struct pricer_study *study, struct findings *found)
{
    struct mesh_plan plan;
    struct pricer_fault fault = {""};
    enum pricer_status status = mesh_counting_load(counting, study, 1, &fault);
    if (status != PRICER_OK ||
        !mesh_read_plan(counting->bytes.data, counting->bytes.size, &plan)) {
        check_tell(found, FOUND_BAD, "plan", "%s",
                   fault.text[0] ? fault.text : pricer_status_text(status));
        return false;
    }
    tell_plan(counting, study, plan.rounds, found);
    if (counting->network->reach > 0)
        tell_reference(counting->network, study, found);
    return true;
}

/* A key that no packet could be checked with, or an address that nobody has. */
static bool check_member(const struct server *server,
                         const struct pricer_member *member,
                         struct findings *found)
{
    uint8_t bytes[KEYS_SIZE], secret[PACKET_KEY];
    bool has_key = keys_bytes(member->key, bytes) &&
                   (server->pair.secret == NULL ||
                    packet_key(&server->pair, false, member->key, secret));
    sodium_memzero(secret, sizeof secret);
    if (has_key && hub_is_address(member->address))
        return true;
    check_tell(found, FOUND_BAD, "nodes",
               "node %s is enrolled with %s '%s': 'pricer enrol' it again",
               node_label(server->network, member->node).text,
               has_key ? "an address that is none," : "no key but",
               has_key ? member->address : member->key);
    return false;
}

/* Members are by node, the server first. */
static void check_members(struct server *server,
                          const struct pricer_forward_plan *plan,
                          const struct pricer_member *members, int32_t count,
                          struct findings *found)
{
    struct server_names missing = {.used = 0};
    int32_t nodes = server->network->nodes, k = 0;
    bool good = true;
    for (int32_t i = 0; i < nodes; i++) {
        while (k < count && members[k].node < i)
            k++;
        bool enrolled = k < count && members[k].node == i;
        server->members += enrolled;
        if (enrolled)
            good = check_member(server, &members[k], found) && good;
        else if (plan->node[i].coefficient > 0)
            server_name(&missing, server->network, i);
    }
    if (!server_check_count(found, server))
        return;
    if (missing.count > 0)
        check_tell(found, FOUND_NOTE, "nodes",
                   "%d of %d are enrolled; the plan counts on others: %s. "
                   "'pricer enrol' them, or plan without them",
                   (int)server->members, (int)nodes,
                   server_names_text(&missing));
    else if (good)
        check_tell(found, FOUND_GOOD, "nodes",
                   "%d of %d are enrolled, each with a key and an address",
                   (int)server->members, (int)nodes);
}

/* Whose key changes; the old one is let in until it is retired. */
static void tell_changes(const struct server *server,
                         const struct pricer_member *members,
                         int32_t member_count, struct findings *found)
{
    struct pricer_successor *next = NULL;
    struct server_names names = {.used = 0};
    int32_t count = 0;
    if (pricer_study_successors(server->study, &next, &count, NULL) !=
        PRICER_OK)
        return;
    for (int32_t k = 0, l = 0; k < count; k++) {
        while (l < member_count && members[l].node < next[k].node)
            l++;
        if (l < member_count && members[l].node == next[k].node &&
            strcmp(members[l].key, next[k].old) == 0)
            server_name(&names, server->network, next[k].node);
    }
    if (names.count > 0)
        check_tell(found, FOUND_NOTE, "keys",
                   "of %d nodes an old key is let in, too: %s; 'pricer enrol "
                   "--retire' shuts it out when the node uses the next one",
                   (int)names.count, server_names_text(&names));
    pricer_successors_free(next);
}

bool mesh_server_check(struct server *server, struct findings *found)
{
    struct mesh_counting counting = {0};
    struct pricer_member *members = NULL;
    struct pricer_fault fault = {""};
    int32_t count = 0;
    bool planned = check_plan(&counting, server->study, found);
    if (planned && pricer_study_members(server->study, &members, &count,
                                        &fault) == PRICER_OK) {
        server->attempts = (int32_t)counting.repeat;
        server->network = counting.network;
        counting.network = NULL; /* the server's now */
        check_members(server, counting.plan, members, count, found);
        tell_changes(server, members, count, found);
    } else if (planned) {
        check_tell(found, FOUND_BAD, "nodes", "%s", fault.text);
        planned = false;
    }
    pricer_members_free(members);
    mesh_counting_free(&counting);
    return planned;
}
