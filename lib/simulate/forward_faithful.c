/*
 * The faithful engine of forwarding: trial after trial, every packet from node to
 * node.
 *
 * In a trial every node makes its release, nodes hand packets that they hold to
 * their neighbours over the links that are up, and then everyone whose uplink is up
 * hands the server what it holds. Where rounds have several attempts, this happens
 * again with other links, and nodes keep what they hold. No packet goes over more
 * than `hops` links before the last. The server counts every node once. The random
 * bits of a release are the replayed stream of (seed, trial, node, server), which
 * is what daemons with the same seed send. A release that does not arrive changes
 * nothing, so it is not computed.
 */
#include "forward_engines.h"
#include "random/random.h"

#include <stdlib.h>
#include <string.h>

struct pri_forward_faithful {
    struct pri_job *job;
    struct pricer_forward_sender **sender; /* [nodes] equal ones are shared */
    struct pricer_forward_receiver *receiver;
    bool *uplink;  /* [attempts][nodes] */
    bool *link;    /* [attempts][links] */
    bool *arrived; /* [nodes] */
    /* Who holds the packet that is on its way, in the order of getting it, and
     * after how many links. */
    int32_t *holder, *links; /* [nodes] */
    int32_t *seen; /* [nodes] the last packet that a node got, plus 1 */
    unsigned char *payload;
    double *estimate; /* [dimension] */
};

void pri_forward_faithful_free(struct pri_forward_faithful *faithful)
{
    if (faithful == NULL)
        return;
    for (int32_t i = 0;
         faithful->sender != NULL && i < faithful->job->network->nodes; i++)
        if (i == 0 || faithful->sender[i] != faithful->sender[i - 1])
            pricer_forward_sender_free(faithful->sender[i]);
    free(faithful->sender);
    pricer_forward_receiver_free(faithful->receiver);
    free(faithful->uplink);
    free(faithful->link);
    free(faithful->arrived);
    free(faithful->holder);
    free(faithful->links);
    free(faithful->seen);
    free(faithful->payload);
    free(faithful->estimate);
    free(faithful);
}

const double *pri_forward_faithful_estimate(
    const struct pri_forward_faithful *faithful)
{
    return faithful->estimate;
}

bool pri_forward_faithful_any(const struct pri_forward_faithful *faithful)
{
    return memchr(faithful->arrived, true,
                  (size_t)faithful->job->network->nodes) != NULL;
}

/* Whether two nodes make their releases in the same way. */
static bool are_alike(const struct pri_job *job, int32_t a, int32_t b)
{
    const struct pricer_forward_node *one = &job->forward->node[a],
                                     *other = &job->forward->node[b];
    return one->release == other->release &&
           one->threshold == other->threshold && one->loss == other->loss &&
           one->noise == other->noise &&
           job->network->node_radius[a] == job->network->node_radius[b];
}

static enum pricer_status make_ends(struct pri_forward_faithful *made)
{
    const struct pri_job *job = made->job;
    const struct pricer_network *net = job->network;
    enum pricer_status status =
        pricer_forward_receiver_new(net, job->forward, &made->receiver, NULL);
    for (int32_t i = 0; i < net->nodes && status == PRICER_OK; i++)
        if (i > 0 && are_alike(job, i, i - 1))
            made->sender[i] = made->sender[i - 1];
        else
            status = pricer_forward_sender_new(
                &job->forward->node[i], net->node_radius[i], net->dimension,
                &made->sender[i], NULL);
    return status;
}

enum pricer_status pri_forward_faithful_new(
    struct pri_job *job, struct pri_forward_faithful **faithful)
{
    int64_t nodes = job->network->nodes, d = job->network->dimension;
    int64_t attempts = pri_attempts_of(job);
    struct pri_forward_faithful *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->job = job;
    made->sender = pri_alloc(nodes, sizeof(void *));
    made->uplink = pri_alloc(nodes * attempts, sizeof *made->uplink);
    made->link = pri_alloc(job->network->links * attempts, sizeof *made->link);
    made->arrived = pri_alloc(nodes, sizeof *made->arrived);
    made->holder = pri_alloc(nodes, sizeof *made->holder);
    made->links = pri_alloc(nodes, sizeof *made->links);
    made->seen = pri_alloc(nodes, sizeof *made->seen);
    made->payload =
        pri_alloc(pricer_forward_payload(PRICER_RELEASE_GAUSSIAN, d) +
                      pricer_forward_payload(PRICER_RELEASE_SPHERE, d),
                  1);
    made->estimate = pri_alloc(d, sizeof *made->estimate);
    enum pricer_status status = PRICER_MEMORY;
    if (made->sender && made->uplink && made->link && made->arrived &&
        made->holder && made->links && made->seen && made->payload &&
        made->estimate)
        status = make_ends(made);
    if (status == PRICER_OK)
        *faithful = made;
    else
        pri_forward_faithful_free(made);
    return status;
}

/* -------------------------------------------------------------- forwarding -- */

/* Whoever has got the packet over `links` links hands it to all neighbours that
 * do not hold it, or got it over more. Returns how many hold it then. */
static int32_t hand_on(struct pri_forward_faithful *faithful, int32_t packet,
                       int32_t attempt, int32_t links, int32_t count)
{
    const struct pricer_network *net = faithful->job->network;
    const bool *up = faithful->link + (int64_t)attempt * net->links;
    int32_t held = count;
    for (int32_t h = 0; h < count; h++) {
        int32_t i = faithful->holder[h];
        if (faithful->links[i] != links)
            continue;
        for (int32_t l = net->out_start[i]; l < net->out_start[i + 1]; l++) {
            int32_t j = net->to[l];
            bool holds = faithful->seen[j] == packet + 1;
            if (!up[l] || (holds && faithful->links[j] <= links + 1))
                continue;
            faithful->links[j] = links + 1;
            faithful->seen[j] = packet + 1;
            if (!holds)
                faithful->holder[held++] = j;
        }
    }
    return held;
}

/* Whether a node's packet reaches the server. */
static bool forward(struct pri_forward_faithful *faithful, int32_t packet)
{
    const struct pri_job *job = faithful->job;
    int32_t count = 1;
    faithful->holder[0] = packet;
    faithful->links[packet] = 0;
    faithful->seen[packet] = packet + 1;
    for (int32_t t = 0; t < pri_attempts_of(job); t++) {
        const bool *uplink =
            faithful->uplink + (int64_t)t * job->network->nodes;
        for (int32_t links = 0; links < job->forward->hops; links++)
            count = hand_on(faithful, packet, t, links, count);
        for (int32_t h = 0; h < count; h++)
            if (uplink[faithful->holder[h]])
                return true;
    }
    return false;
}

/* ------------------------------------------------------------------ trial -- */

static void count_states(const struct pri_forward_faithful *faithful,
                         struct pri_tally *tally)
{
    const struct pricer_network *net = faithful->job->network;
    for (int32_t i = 0; i < net->nodes; i++)
        tally->uplink[i] += faithful->uplink[i];
    for (int32_t l = 0; l < net->links; l++) {
        int32_t back = net->partner[l];
        tally->link[l] += faithful->link[l];
        if (back > l)
            tally->both[l] += faithful->link[l] && faithful->link[back];
    }
}

/* A node's release, made and counted. */
static enum pricer_status count_release(struct pri_forward_faithful *faithful,
                                        int32_t node, int64_t round,
                                        struct pricer_fault *fault)
{
    const struct pri_job *job = faithful->job;
    struct pricer_random random;
    pricer_random_replay(&random, job->seed, PRICER_PURPOSE_NOISE, round, node,
                         PRICER_SERVER);
    enum pricer_status status = pricer_forward_release(
        faithful->sender[node], pri_data_row(job->data, node), &random,
        faithful->payload, fault);
    if (status != PRICER_OK)
        return status;
    return pricer_forward_receiver_add(
        faithful->receiver, node, faithful->payload,
        pricer_forward_payload(job->forward->node[node].release,
                               job->network->dimension),
        faithful->estimate, fault);
}

/* Which links are up: attempt t of trial s has those of round s attempts + t. */
static void draw(struct pri_forward_faithful *faithful, int64_t trial)
{
    const struct pri_job *job = faithful->job;
    const struct pricer_network *network = job->network;
    int64_t attempts = pri_attempts_of(job);
    for (int64_t t = 0; t < attempts; t++) {
        int64_t round = trial * attempts + t;
        for (int32_t i = 0; i < network->nodes; i++)
            faithful->uplink[t * network->nodes + i] = pricer_round_up(
                job->seed, round,
                &(struct pricer_pair){i, PRICER_SERVER, network->uplink[i], 0,
                                      0});
        for (int32_t l = 0; l < network->links; l++) {
            int32_t back = network->partner[l];
            faithful->link[t * network->links + l] = pricer_round_up(
                job->seed, round,
                &(struct pricer_pair){
                    network->from[l], network->to[l], network->p[l],
                    back < 0 ? 0 : network->p[back], network->joint[l]});
        }
    }
}

static enum pricer_status play_trial(struct pri_forward_faithful *faithful,
                                     int64_t round, struct pri_tally *tally,
                                     double *errors, struct pricer_fault *fault)
{
    const struct pri_job *job = faithful->job;
    int64_t nodes = job->network->nodes, d = job->network->dimension;
    enum pricer_status status = PRICER_OK;
    draw(faithful, round);
    count_states(faithful, tally);
    memset(faithful->seen, 0, (size_t)nodes * sizeof *faithful->seen);
    memset(faithful->estimate, 0, (size_t)d * sizeof *faithful->estimate);
    for (int32_t i = 0; i < nodes && status == PRICER_OK; i++) {
        faithful->arrived[i] = forward(faithful, i);
        if (faithful->arrived[i])
            status = count_release(faithful, i, round, fault);
    }
    double square = 0;
    for (int64_t c = 0; c < d; c++) {
        double off = faithful->estimate[c] - job->mean[c];
        square += off * off;
        tally->total[c] += pri_to_steps((double)nodes * faithful->estimate[c],
                                        -job->grids[0].exponent);
    }
    errors[0] = square;
    errors[PRI_ROUNDS] =
        pricer_forward_bar(job->network, job->forward, faithful->arrived);
    return status;
}

enum pricer_status pri_forward_faithful_play(
    struct pri_forward_faithful *faithful, int64_t first, int count,
    struct pri_tally *tally, double *errors, struct pricer_fault *fault)
{
    enum pricer_status status = PRICER_OK;
    for (int t = 0; t < count && status == PRICER_OK; t++) {
        if (!pri_poll(faithful->job))
            return PRICER_STOPPED;
        status = play_trial(faithful, first + t, tally, errors + t, fault);
    }
    return status;
}
