/*
 * From the arrivals of the latest rounds to the nodes that do not arrive as often as
 * the plan says.
 *
 * All nodes are tested together. Each has a two-sided test with the exact tails of
 * the binomial distribution, at MESH_ALARM divided by the number of nodes
 * (Bonferroni): while every node arrives with its planned probability, independently
 * from round to round, the chance that any is named in one look is at most
 * MESH_ALARM. Where the plan has drawn patterns of links, its probabilities are
 * frequencies; 0 and 1 then stand for what was never or always seen, and the test
 * takes the nearest probability that would not be surprising (3 / patterns).
 */
#include "common/binomial.h"
#include "server.h"

#include <math.h>
#include <string.h>

enum { WINDOW = 500 };

void mesh_drift_note(struct mesh_server *server)
{
    struct mesh_members *members = &server->members;
    if (members->recent >= WINDOW) {
        members->recent_before = members->recent;
        members->recent = 0;
        for (int32_t i = 0; i < members->nodes; i++) {
            members->list[i].recent_before = members->list[i].recent;
            members->list[i].recent = 0;
        }
    }
    members->recent++;
    for (int32_t i = 0; i < members->nodes; i++)
        members->list[i].recent += server->round.arrivals[i].here;
}

void mesh_drift_forget(struct mesh_members *members)
{
    members->recent = members->recent_before = 0;
    for (int32_t i = 0; i < members->nodes; i++)
        members->list[i].recent = members->list[i].recent_before = 0;
}

/* The planned probability, as far as it is known. */
static double find_planned(const struct pricer_forward_plan *plan, int32_t i,
                           double seen)
{
    double planned = plan->node[i].arrival;
    if (plan->patterns == 0)
        return planned;
    double edge = fmin(.5, 3. / (double)plan->patterns);
    return seen < planned ? fmin(planned, 1 - edge) : fmax(planned, edge);
}

int32_t mesh_drifts(const struct mesh_server *server, int32_t *nodes,
                    int32_t room)
{
    const struct mesh_members *members = &server->members;
    int64_t n = members->recent + members->recent_before;
    int32_t count = 0;
    double level = MESH_ALARM / (members->count > 0 ? members->count : 1);
    for (int32_t i = 0; i < members->nodes && count < room && n > 0; i++) {
        const struct mesh_member *member = &members->list[i];
        int64_t k = member->recent + member->recent_before;
        double planned =
            find_planned(server->counting.plan, i, (double)k / (double)n);
        if (member->enrolled && binomial_level(n, k, planned) <= level)
            nodes[count++] = i;
    }
    return count;
}
