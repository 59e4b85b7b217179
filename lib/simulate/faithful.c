/*
 * The faithful engine: trial after trial, every message through the round.
 *
 * A trial is a round of the protocol: each node computes the shares that get
 * through, each relay that reaches the server adds them to its own part, the
 * server adds the relays' sums and estimates. The noise of a message is the
 * replayed stream of (seed, trial, from, to), which is what daemons with the
 * same seed send. With a decoder the server keeps the first plan's sums apart
 * and adds them up with their coefficients. A message that no one receives changes nothing, so it is not
 * computed.
 */
#include "simulate.h"
#include "random/random.h"

#include <stdlib.h>
#include <string.h>

struct pri_faithful {
    struct pri_job *job;
    struct pricer_slice **slices;     /* [plans][nodes] */
    bool *uplink;                     /* [nodes] */
    bool *link;                       /* [links] */
    int64_t *message, *relay, *sum;   /* [dimension] */
    double *estimate;                 /* [dimension] */
    struct pricer_receiver *receiver; /* of the first plan, or NULL */
    int64_t *sums;                    /* [nodes][dimension] of its relays */
    double *values;                   /* the same in the data's units */
    double *coefficient;              /* [nodes] */
};

/* What decoding needs. */
static enum pricer_status prepare_decoder(struct pri_faithful *faithful)
{
    const struct pri_job *job = faithful->job;
    int64_t nodes = job->network->nodes;
    int64_t size = nodes * job->network->dimension;
    if (job->decoder == NULL)
        return PRICER_OK;
    bool adaptive = job->decode == PRICER_DECODE_ADAPTIVE;
    faithful->sums = pri_alloc(size, sizeof *faithful->sums);
    faithful->values = pri_alloc(adaptive ? size : 0, sizeof(double));
    faithful->coefficient = pri_alloc(nodes, sizeof(double));
    if (!faithful->sums || !faithful->values || !faithful->coefficient)
        return PRICER_MEMORY;
    return pricer_receiver_new(job->network, job->plans[0], job->decoder,
                               &faithful->receiver, NULL);
}

static enum pricer_status build_slices(struct pri_job *job,
                                       struct pricer_slice **slices)
{
    int64_t nodes = job->network->nodes;
    for (int32_t k = 0; k < job->count; k++)
        for (int32_t i = 0; i < nodes; i++) {
            enum pricer_status status =
                pricer_slice_build(job->network, job->plans[k], &job->grids[k],
                                   i, &slices[k * nodes + i], NULL);
            if (status != PRICER_OK)
                return status;
        }
    return PRICER_OK;
}

enum pricer_status pri_faithful_new(struct pri_job *job,
                                    struct pri_faithful **faithful)
{
    const struct pricer_network *network = job->network;
    struct pri_faithful *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->job = job;
    made->slices =
        pri_alloc((int64_t)job->count * network->nodes, sizeof *made->slices);
    made->uplink = pri_alloc(network->nodes, sizeof *made->uplink);
    made->link = pri_alloc(network->links, sizeof *made->link);
    made->message = pri_alloc(network->dimension, sizeof *made->message);
    made->relay = pri_alloc(network->dimension, sizeof *made->relay);
    made->sum = pri_alloc(network->dimension, sizeof *made->sum);
    made->estimate = pri_alloc(network->dimension, sizeof *made->estimate);
    enum pricer_status status = PRICER_MEMORY;
    if (made->slices && made->uplink && made->link && made->message &&
        made->relay && made->sum && made->estimate)
        status = build_slices(job, made->slices);
    if (status == PRICER_OK)
        status = prepare_decoder(made);
    if (status != PRICER_OK)
        pri_faithful_free(made);
    else
        *faithful = made;
    return status;
}

void pri_faithful_free(struct pri_faithful *faithful)
{
    if (faithful == NULL)
        return;
    struct pri_job *job = faithful->job;
    int64_t slices = (int64_t)job->count * job->network->nodes;
    for (int64_t k = 0; faithful->slices != NULL && k < slices; k++)
        pricer_slice_free(faithful->slices[k]);
    free(faithful->slices);
    free(faithful->uplink);
    free(faithful->link);
    free(faithful->message);
    free(faithful->relay);
    free(faithful->sum);
    free(faithful->estimate);
    free(faithful->sums);
    free(faithful->values);
    free(faithful->coefficient);
    pricer_receiver_free(faithful->receiver);
    free(faithful);
}

const double *pri_faithful_estimate(const struct pri_faithful *faithful)
{
    return faithful->estimate;
}

/* Whether the plan has data in a part, and not only noise. */
static bool has_data(const struct pricer_slice *slice, int32_t relay)
{
    const struct pricer_share *share = pri_slice_find(slice, relay);
    return share != NULL && share->weight > 0;
}

bool pri_faithful_any(const struct pri_faithful *faithful)
{
    const struct pricer_network *network = faithful->job->network;
    struct pricer_slice *const *slices =
        faithful->slices + (int64_t)(faithful->job->count - 1) * network->nodes;
    for (int32_t j = 0; j < network->nodes; j++) {
        if (!faithful->uplink[j])
            continue;
        if (has_data(slices[j], j))
            return true;
        for (int32_t k = network->in_start[j]; k < network->in_start[j + 1];
             k++) {
            int32_t l = network->in_link[k];
            if (faithful->link[l] && has_data(slices[network->from[l]], j))
                return true;
        }
    }
    return false;
}

static void draw(struct pri_faithful *faithful, int64_t round,
                 struct pri_tally *tally)
{
    const struct pricer_network *network = faithful->job->network;
    uint64_t seed = faithful->job->seed;
    for (int32_t i = 0; i < network->nodes; i++) {
        faithful->uplink[i] = pricer_round_up(
            seed, round,
            &(struct pricer_pair){i, PRICER_SERVER, network->uplink[i], 0, 0});
        tally->uplink[i] += faithful->uplink[i];
    }
    for (int32_t l = 0; l < network->links; l++) {
        int32_t back = network->partner[l];
        faithful->link[l] = pricer_round_up(
            seed, round,
            &(struct pricer_pair){
                network->from[l], network->to[l], network->p[l],
                back < 0 ? 0 : network->p[back], network->joint[l]});
        tally->link[l] += faithful->link[l];
        if (back >= 0 && back < l)
            tally->both[back] += faithful->link[l] && faithful->link[back];
    }
}

/* Add node i's share for `relay` to what the relay has, if there is one. */
static enum pricer_status send(struct pri_faithful *faithful,
                               const struct pricer_slice *slice, int32_t relay,
                               int64_t round, struct pricer_fault *fault)
{
    struct pri_job *job = faithful->job;
    const struct pricer_share *share = pri_slice_find(slice, relay);
    if (share == NULL)
        return PRICER_OK;
    struct pricer_random random;
    pricer_random_replay(&random, job->seed, PRICER_PURPOSE_NOISE, round,
                         slice->node, relay);
    enum pricer_status status =
        pricer_round_share(slice, share, pri_data_row(job->data, slice->node),
                           &random, faithful->message, fault);
    if (status == PRICER_OK)
        status = pricer_round_add(&slice->grid, 1, faithful->message,
                                  slice->dimension, faithful->relay, fault);
    return status;
}

/* What relay j sends to the server, added to the server's sum. */
static enum pricer_status play_relay(struct pri_faithful *faithful,
                                     struct pricer_slice *const *slices,
                                     int32_t j, int64_t round,
                                     struct pricer_fault *fault)
{
    const struct pricer_network *network = faithful->job->network;
    int64_t d = network->dimension;
    memset(faithful->relay, 0, (size_t)d * sizeof *faithful->relay);
    enum pricer_status status = send(faithful, slices[j], j, round, fault);
    for (int32_t k = network->in_start[j];
         k < network->in_start[j + 1] && status == PRICER_OK; k++) {
        int32_t l = network->in_link[k];
        if (faithful->link[l])
            status = send(faithful, slices[network->from[l]], j, round, fault);
    }
    if (status == PRICER_OK)
        status = pricer_round_add(&slices[j]->grid, slices[j]->parts,
                                  faithful->relay, d, faithful->sum, fault);
    return status;
}

/* All relays that reach the server, into its sum; `apart` keeps each. */
static enum pricer_status play_relays(struct pri_faithful *faithful, int32_t k,
                                      int64_t round, bool apart,
                                      struct pricer_fault *fault)
{
    const struct pricer_network *network = faithful->job->network;
    int64_t nodes = network->nodes, d = network->dimension;
    struct pricer_slice *const *slices = faithful->slices + k * nodes;
    enum pricer_status status = PRICER_OK;
    memset(faithful->sum, 0, (size_t)d * sizeof *faithful->sum);
    for (int32_t j = 0; j < nodes && status == PRICER_OK; j++) {
        if (!faithful->uplink[j])
            continue;
        status = play_relay(faithful, slices, j, round, fault);
        if (apart)
            memcpy(faithful->sums + j * d, faithful->relay,
                   (size_t)d * sizeof *faithful->relay);
    }
    return status;
}

/* The estimate from the first plan's sums; its bar. */
static double decode(struct pri_faithful *faithful, pri_total *total)
{
    const struct pri_job *job = faithful->job;
    const struct pricer_grid *grid = &job->grids[0];
    int64_t nodes = job->network->nodes, d = job->network->dimension;
    struct pricer_decoded decoded;
    if (job->decode == PRICER_DECODE_ADAPTIVE) {
        for (int64_t j = 0; j < nodes; j++)
            for (int64_t c = j * d; faithful->uplink[j] && c < (j + 1) * d; c++)
                faithful->values[c] =
                    ldexp((double)faithful->sums[c], grid->exponent);
        pricer_receiver_adapt(faithful->receiver, faithful->uplink,
                              faithful->link, faithful->values,
                              faithful->coefficient, &decoded);
    } else {
        pricer_receiver_decode(faithful->receiver, faithful->uplink,
                               faithful->link, faithful->coefficient, &decoded);
    }
    memset(faithful->estimate, 0, (size_t)d * sizeof *faithful->estimate);
    for (int64_t j = 0; j < nodes; j++)
        if (faithful->uplink[j])
            pricer_round_combine(grid, faithful->coefficient[j],
                                 faithful->sums + j * d, d, faithful->estimate);
    for (int64_t c = 0; c < d; c++)
        total[c] += pri_to_steps((double)nodes * faithful->estimate[c],
                                 -grid->exponent);
    return decoded.bar;
}

/* One plan, one trial: its squared error, and its bar if it is decoded. */
static enum pricer_status play_plan(struct pri_faithful *faithful, int32_t k,
                                    int64_t round, pri_total *total,
                                    double *errors, struct pricer_fault *fault)
{
    struct pri_job *job = faithful->job;
    int64_t d = job->network->dimension;
    bool decoded = k == 0 && faithful->receiver != NULL;
    enum pricer_status status = play_relays(faithful, k, round, decoded, fault);
    if (status != PRICER_OK)
        return status;
    if (decoded) {
        errors[(int64_t)job->count * PRI_ROUNDS] = decode(faithful, total);
    } else {
        pricer_round_estimate(&job->grids[k], job->network->nodes,
                              faithful->sum, d, faithful->estimate);
        for (int64_t c = 0; c < d; c++)
            total[c] += faithful->sum[c];
    }
    double square = 0;
    for (int64_t c = 0; c < d; c++) {
        double off = faithful->estimate[c] - job->mean[c];
        square += off * off;
    }
    errors[(int64_t)k * PRI_ROUNDS] = square;
    return PRICER_OK;
}

enum pricer_status pri_faithful_play(struct pri_faithful *faithful,
                                     int64_t first, int count,
                                     struct pri_tally *tally, double *errors,
                                     struct pricer_fault *fault)
{
    struct pri_job *job = faithful->job;
    enum pricer_status status = PRICER_OK;
    for (int t = 0; t < count && status == PRICER_OK; t++) {
        if (!pri_poll(job))
            return PRICER_STOPPED;
        draw(faithful, first + t, tally);
        for (int32_t k = 0; k < job->count && status == PRICER_OK; k++)
            status = play_plan(faithful, k, first + t,
                               tally->total + k * job->network->dimension,
                               errors + t, fault);
    }
    return status;
}
