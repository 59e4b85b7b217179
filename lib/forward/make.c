/*
 * From a network with budgets towards everyone to a plan: the release of every
 * node for its budget, the coefficients of lib/forward/plan.c, what the nodes
 * send, and the slopes of lib/forward/slopes.c.
 */
#include "forward.h"
#include "pricer_forward.h"
#include "release/release.h"

#include <math.h>
#include <stdlib.h>

_Static_assert((int)PRICER_RELEASE_BEST == PRI_RELEASE_BEST &&
                   (int)PRICER_RELEASE_SPHERE == PRI_RELEASE_SPHERE &&
                   (int)PRICER_RELEASE_GAUSSIAN == PRI_RELEASE_GAUSSIAN,
               "kinds are cast to each other");

/* -------------------------------------------------------------- releases -- */

/* Nodes by their budgets: those that have the same share one search. */
struct holder {
    double eps, delta;
    double diameter; /* in radii */
    int32_t node;
};

static int compare_holders(const void *left, const void *right)
{
    const struct holder *a = left, *b = right;
    if (a->eps != b->eps)
        return a->eps < b->eps ? -1 : 1;
    if (a->delta != b->delta)
        return a->delta < b->delta ? -1 : 1;
    if (a->diameter != b->diameter)
        return a->diameter < b->diameter ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static struct pricer_forward_node node_of(const struct pri_release *release)
{
    return (struct pricer_forward_node){
        .release = (enum pricer_release)release->kind,
        .threshold = release->t,
        .loss = release->e0,
        .noise = release->noise,
        .variance = release->variance,
    };
}

static enum pricer_status find_release(
    const struct pricer_network *network,
    const struct pricer_forward_settings *settings, const struct holder *holder,
    struct pri_release *release, struct pricer_fault *fault)
{
    struct pricer_fault why = {""};
    enum pricer_status status = pri_release_for_budget(
        &(struct pri_release_wish){
            .kind = (enum pri_release_kind)settings->release,
            .dimension = network->dimension,
            .radius = 1,
            .diameter = holder->diameter,
            .eps = holder->eps,
            .delta = holder->delta,
            .rounds = settings->rounds > 0 ? settings->rounds : 1},
        release, &why);
    if (status != PRICER_OK && status != PRICER_MEMORY)
        pri_fault(fault, status, "node %d has no release: %s",
                  (int)holder->node, why.text);
    return status;
}

enum pricer_status pri_forward_releases(
    const struct pricer_network *network,
    const struct pricer_forward_settings *settings, double factor,
    struct pricer_forward_node *nodes, struct pricer_fault *fault)
{
    struct holder *holders = pri_alloc(network->nodes, sizeof *holders);
    struct pri_release release = {0};
    enum pricer_status status = holders != NULL ? PRICER_OK : PRICER_MEMORY;
    for (int32_t i = 0; i < network->nodes && status == PRICER_OK; i++)
        holders[i] = (struct holder){
            factor * network->everyone_eps[i], network->everyone_delta[i],
            fmin(network->node_diameter[i] / network->node_radius[i], 2), i};
    if (status == PRICER_OK)
        qsort(holders, (size_t)network->nodes, sizeof *holders,
              compare_holders);
    for (int32_t k = 0; k < network->nodes && status == PRICER_OK; k++) {
        const struct holder *now = &holders[k], *before = now - 1;
        if (k == 0 || now->eps != before->eps || now->delta != before->delta ||
            now->diameter != before->diameter)
            status = find_release(network, settings, now, &release, fault);
        if (status != PRICER_OK)
            break;
        struct pri_release own = release;
        pri_release_rescale(network->node_radius[now->node], &own);
        nodes[now->node] = node_of(&own);
    }
    free(holders);
    return status;
}

/* ----------------------------------------------------------------- bytes -- */

/* Of docs/protocol.md, section 11: tag, signature, node, hops, and what separates
 * them. */
enum { PACKET_FRAME = 92 };

/* Steps of searches that bytes are counted with. */
#define SEARCH_STEPS (INT64_C(1) << 28)

double pricer_forward_packet(enum pricer_release release, int64_t dimension)
{
    return (double)(PACKET_FRAME + pricer_forward_payload(release, dimension));
}

/* A search backwards from a node, over links that are ever up. */
struct search {
    const struct pricer_network *network;
    const struct pricer_forward_node *nodes;
    int32_t *seen;  /* [nodes] the last start whose search came here, plus 1 */
    int32_t *queue; /* [nodes] */
};

/* Bytes of the packets that a node holds after so many links: at most `hops`
 * and at most hops - 1. */
static void count_held(const struct search *search, int32_t start, int32_t hops,
                       double *all, double *earlier)
{
    const struct pricer_network *net = search->network;
    int32_t first = 0, last = 1;
    search->queue[0] = start;
    search->seen[start] = start + 1;
    *all = *earlier = 0;
    for (int32_t level = 0; level <= hops && first < last; level++) {
        int32_t end = last;
        *earlier = *all;
        for (; first < end; first++) {
            int32_t j = search->queue[first];
            *all +=
                pricer_forward_packet(search->nodes[j].release, net->dimension);
            for (int32_t k = net->in_start[j]; k < net->in_start[j + 1]; k++) {
                int32_t i = net->from[net->in_link[k]];
                if (search->seen[i] == start + 1)
                    continue;
                search->seen[i] = start + 1;
                search->queue[last++] = i;
            }
        }
        if (level < hops && first == last)
            *earlier = *all; /* nothing comes later */
    }
}

/* Mean over the nodes, or over some that are evenly spaced where they are
 * many. */
static enum pricer_status count_bytes(const struct pricer_network *net,
                                      struct pricer_forward_plan *plan)
{
    struct search search = {net, plan->node,
                            pri_alloc(net->nodes, sizeof(int32_t)),
                            pri_alloc(net->nodes, sizeof(int32_t))};
    int64_t count = SEARCH_STEPS / ((int64_t)net->nodes + net->links);
    count = count < 16 ? 16 : count;
    count = count > net->nodes ? net->nodes : count;
    double sum = 0, all, earlier;
    bool room = search.seen != NULL && search.queue != NULL;
    for (int64_t k = 0; k < count && room; k++) {
        int32_t j = (int32_t)(k * net->nodes / count);
        int32_t neighbours = net->out_start[j + 1] - net->out_start[j];
        count_held(&search, j, plan->hops, &all, &earlier);
        sum += neighbours * earlier + (net->uplink[j] > 0 ? all : 0);
    }
    plan->bytes = sum / (double)count;
    free(search.seen);
    free(search.queue);
    return room ? PRICER_OK : PRICER_MEMORY;
}

/* ---------------------------------------------------------- coefficients -- */

void pricer_forward_plan_free(struct pricer_forward_plan *plan)
{
    if (plan == NULL)
        return;
    free(plan->node);
    free(plan);
}

static void take_over(const struct pri_forward_plan *from,
                      const struct pricer_network *network,
                      struct pricer_forward_plan *plan)
{
    double sum = 0;
    for (int32_t i = 0; i < plan->nodes; i++) {
        plan->node[i].coefficient = from->coefficient[i];
        plan->node[i].arrival = from->arrival[i];
        plan->node[i].relays = from->distance[i];
        sum += network->node_radius[i];
    }
    plan->hops = from->hops;
    plan->heard = from->heard;
    plan->mse_worst_case = from->mse;
    plan->mse_stderr = from->mse_stderr;
    plan->missing = from->missing;
    plan->noise = from->noise;
    plan->mse_alone = from->mse_alone;
    plan->mse_perfect = from->mse_perfect;
    plan->zero_mse = sum / plan->nodes * (sum / plan->nodes);
    plan->gap = from->gap;
    plan->patterns = from->patterns;
}

/* Coefficients and errors for releases that are known, by a model of links or
 * from what arrived. */
static enum pricer_status fit(const struct pricer_network *network,
                              const struct pricer_forward_settings *settings,
                              const struct pricer_forward_arrivals *arrivals,
                              struct pricer_forward_plan *plan,
                              struct pricer_fault *fault)
{
    struct pri_forward_plan *fitted = NULL;
    double *variance = pri_alloc(plan->nodes, sizeof *variance);
    if (variance == NULL)
        return PRICER_MEMORY;
    for (int32_t i = 0; i < plan->nodes; i++)
        variance[i] = plan->node[i].variance;
    struct pri_senders senders = {plan->nodes, network->node_radius, variance};
    enum pricer_status status =
        arrivals != NULL ? pri_forward_plan_measured(&senders, arrivals->relays,
                                                     arrivals->rounds,
                                                     settings->hops, &fitted)
                         : pri_forward_plan(network, &senders,
                                            &(struct pri_forward_settings){
                                                .hops = settings->hops,
                                                .attempts = settings->repeat,
                                                .seed = settings->seed,
                                                .threads = settings->threads,
                                                .watch = settings->watch},
                                            &fitted, fault);
    free(variance);
    if (status == PRICER_OK)
        take_over(fitted, network, plan);
    pri_forward_plan_free(fitted);
    return status;
}

/* ---------------------------------------------------------------- slopes -- */

/* Of eps, between the releases whose variances are compared. */
#define EPS_STEP 1e-3

void pricer_forward_slopes_free(struct pricer_forward_slopes *slopes)
{
    if (slopes == NULL)
        return;
    free(slopes->uplink);
    free(slopes->link);
    free(slopes->eps);
    free(slopes);
}

static enum pricer_status slopes_new(const struct pricer_network *network,
                                     struct pricer_forward_slopes **slopes)
{
    struct pricer_forward_slopes *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->nodes = network->nodes;
    made->links = network->links;
    made->uplink = pri_alloc(2 * (int64_t)made->nodes, sizeof(double));
    made->link = pri_alloc(2 * (int64_t)made->links, sizeof(double));
    made->eps = pri_alloc(made->nodes, sizeof(double));
    if (!made->uplink || !made->link || !made->eps) {
        pricer_forward_slopes_free(made);
        return PRICER_MEMORY;
    }
    made->uplink_stderr = made->uplink + made->nodes;
    made->link_stderr = made->link + made->links;
    *slopes = made;
    return PRICER_OK;
}

static void take_slopes(const struct pri_slopes *from,
                        struct pricer_forward_slopes *slopes)
{
    for (int32_t i = 0; i < slopes->nodes; i++) {
        slopes->uplink[i] = from->uplink[i][0];
        slopes->uplink_stderr[i] = from->uplink[i][1];
        slopes->eps[i] = from->noise[i];
    }
    for (int32_t l = 0; l < slopes->links; l++) {
        slopes->link[l] = from->link[l][0];
        slopes->link_stderr[l] = from->link[l][1];
    }
    slopes->hop = from->hop;
    slopes->patterns = from->patterns;
}

/* From d W / d variance to d W / d eps, by releases for a little less and a
 * little more. */
static enum pricer_status slope_budgets(
    const struct pricer_network *network,
    const struct pricer_forward_settings *settings,
    struct pricer_forward_slopes *slopes, struct pricer_fault *fault)
{
    int64_t n = network->nodes;
    struct pricer_forward_node *nodes = pri_alloc(2 * n, sizeof *nodes);
    if (nodes == NULL)
        return PRICER_MEMORY;
    enum pricer_status status =
        pri_forward_releases(network, settings, 1 - EPS_STEP, nodes, fault);
    if (status == PRICER_OK)
        status = pri_forward_releases(network, settings, 1 + EPS_STEP,
                                      nodes + n, fault);
    for (int64_t i = 0; i < n && status == PRICER_OK; i++)
        slopes->eps[i] *= (nodes[n + i].variance - nodes[i].variance) /
                          (2 * EPS_STEP * network->everyone_eps[i]);
    free(nodes);
    return status;
}

enum pricer_status pricer_forward_slopes_make(
    const struct pricer_network *network,
    const struct pricer_forward_settings *settings,
    const struct pricer_forward_plan *plan,
    struct pricer_forward_slopes **slopes, struct pricer_fault *fault)
{
    struct pri_slopes *found = NULL;
    struct pricer_forward_slopes *made = NULL;
    double *variance = pri_alloc(plan->nodes, sizeof *variance);
    enum pricer_status status =
        variance != NULL ? slopes_new(network, &made) : PRICER_MEMORY;
    for (int32_t i = 0; i < plan->nodes && variance != NULL; i++)
        variance[i] = plan->node[i].variance;
    if (status == PRICER_OK)
        status = pri_forward_slopes(
            network,
            &(struct pri_senders){plan->nodes, network->node_radius, variance},
            &(struct pri_forward_settings){.hops = plan->hops,
                                           .attempts = plan->repeat,
                                           .seed = settings->seed,
                                           .threads = settings->threads,
                                           .watch = settings->watch},
            &found);
    if (status == PRICER_OK) {
        take_slopes(found, made);
        status = slope_budgets(network, settings, made, fault);
    }
    free(variance);
    pri_slopes_free(found);
    if (status == PRICER_OK)
        *slopes = made;
    else
        pricer_forward_slopes_free(made);
    return status;
}

/* ------------------------------------------------------------------ plan -- */

static enum pricer_status make_plan(
    const struct pricer_network *network,
    const struct pricer_forward_settings *settings,
    const struct pricer_forward_arrivals *arrivals,
    struct pricer_forward_plan **plan, struct pricer_fault *fault)
{
    if (network->everyone_eps == NULL)
        return pri_fault(fault, PRICER_VALUE,
                         "the nodes have no budgets towards everyone");
    struct pricer_forward_plan *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->nodes = network->nodes;
    made->repeat = settings->repeat;
    made->measured = arrivals != NULL ? arrivals->rounds : 0;
    made->node = pri_alloc(network->nodes, sizeof *made->node);
    enum pricer_status status = made->node != NULL ? PRICER_OK : PRICER_MEMORY;
    if (status == PRICER_OK)
        status = pri_forward_releases(network, settings, 1, made->node, fault);
    if (status == PRICER_OK)
        status = fit(network, settings, arrivals, made, fault);
    if (status == PRICER_OK)
        status = count_bytes(network, made);
    if (status == PRICER_OK)
        *plan = made;
    else
        pricer_forward_plan_free(made);
    return status;
}

enum pricer_status pricer_forward_plan_make(
    const struct pricer_network *network,
    const struct pricer_forward_settings *settings,
    struct pricer_forward_plan **plan, struct pricer_fault *fault)
{
    return make_plan(network, settings, NULL, plan, fault);
}

void pricer_forward_arrivals_free(struct pricer_forward_arrivals *arrivals)
{
    if (arrivals == NULL)
        return;
    free(arrivals->relays);
    free(arrivals);
}

enum pricer_status pricer_forward_plan_measured(
    const struct pricer_network *network,
    const struct pricer_forward_settings *settings,
    const struct pricer_forward_arrivals *arrivals,
    struct pricer_forward_plan **plan, struct pricer_fault *fault)
{
    struct pricer_forward_settings within = *settings;
    int8_t most = 0;
    if (arrivals->nodes != network->nodes)
        return pri_fault(fault, PRICER_VALUE,
                         "arrivals are of %d nodes, the network has %d",
                         (int)arrivals->nodes, (int)network->nodes);
    if (arrivals->rounds < 2)
        return pri_fault(fault, PRICER_VALUE,
                         "%lld rounds: at least two are needed to measure",
                         (long long)arrivals->rounds);
    for (int64_t k = 0; k < arrivals->rounds * arrivals->nodes; k++)
        most = arrivals->relays[k] > most ? arrivals->relays[k] : most;
    if (most > PRICER_HOPS_MAX)
        return pri_fault(fault, PRICER_VALUE,
                         "a release over %d relays: at "
                         "most %d are possible",
                         most, PRICER_HOPS_MAX);
    if (within.hops < 0)
        within.hops = most;
    return make_plan(network, &within, arrivals, plan, fault);
}
