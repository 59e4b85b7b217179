/*
 * A round of several attempts as the daemons run it: every payload is made once,
 * whichever attempts it arrives in, relays add up what each attempt brought, and
 * the server combines the sums of all of them.
 *
 * Attempt t of trial s has the links of round s attempts + t; its payloads have
 * the noise of trial s, the replayed stream of (seed, s, from, to), which is
 * what daemons with the same seed send.
 */
#include "simulate.h"
#include "random/random.h"

#include <stdlib.h>
#include <string.h>

struct pri_attempts {
    const struct pricer_network *network;
    const struct pri_data *data;
    uint64_t seed;
    int32_t attempts;
    struct pricer_grid grid;
    struct pricer_slice **slices; /* [nodes] */
    int64_t *message;             /* [dimension] */
    int64_t *sums;                /* [attempts][nodes][dimension] */
    int64_t *total;               /* [dimension] */
    double *estimate;             /* [dimension] */
};

void pri_attempts_draw(const struct pricer_network *network, uint64_t seed,
                       int32_t attempts, int64_t trial, bool *uplink,
                       bool *link)
{
    for (int64_t t = 0; t < attempts; t++) {
        int64_t round = trial * attempts + t;
        for (int32_t i = 0; i < network->nodes; i++)
            uplink[t * network->nodes + i] = pricer_round_up(
                seed, round,
                &(struct pricer_pair){i, PRICER_SERVER, network->uplink[i], 0,
                                      0});
        for (int32_t l = 0; l < network->links; l++) {
            int32_t back = network->partner[l];
            link[t * network->links + l] = pricer_round_up(
                seed, round,
                &(struct pricer_pair){
                    network->from[l], network->to[l], network->p[l],
                    back < 0 ? 0 : network->p[back], network->joint[l]});
        }
    }
}

void pri_attempts_free(struct pri_attempts *attempts)
{
    if (attempts == NULL)
        return;
    for (int32_t i = 0;
         attempts->slices != NULL && i < attempts->network->nodes; i++)
        pricer_slice_free(attempts->slices[i]);
    free(attempts->slices);
    free(attempts->message);
    free(attempts->sums);
    free(attempts->total);
    free(attempts->estimate);
    free(attempts);
}

enum pricer_status pri_attempts_new(const struct pricer_network *network,
                                    const struct pricer_plan *plan,
                                    const struct pri_data *data, uint64_t seed,
                                    int32_t attempts,
                                    struct pri_attempts **made,
                                    struct pricer_fault *fault)
{
    struct pri_attempts *fresh = pri_alloc(1, sizeof *fresh);
    int64_t d = network->dimension, n = network->nodes;
    if (fresh == NULL)
        return PRICER_MEMORY;
    fresh->network = network;
    fresh->data = data;
    fresh->seed = seed;
    fresh->attempts = attempts;
    fresh->slices = pri_alloc(n, sizeof(struct pricer_slice *));
    fresh->message = pri_alloc(d, sizeof(int64_t));
    fresh->sums = pri_alloc(attempts * n * d, sizeof(int64_t));
    fresh->total = pri_alloc(d, sizeof(int64_t));
    fresh->estimate = pri_alloc(d, sizeof(double));
    enum pricer_status status = PRICER_MEMORY;
    if (fresh->slices && fresh->message && fresh->sums && fresh->total &&
        fresh->estimate)
        status = pricer_grid_choose(network, plan, &fresh->grid, fault);
    for (int32_t i = 0; i < n && status == PRICER_OK; i++)
        status = pricer_slice_build(network, plan, &fresh->grid, i,
                                    &fresh->slices[i], fault);
    if (status == PRICER_OK)
        *made = fresh;
    else
        pri_attempts_free(fresh);
    return status;
}

/* The payload of node i for relay j, made once, into the sums of j of all
 * attempts in which it arrived; `link` is NULL for the relay's own. */
static enum pricer_status add_payload(struct pri_attempts *attempts,
                                      int64_t trial, int32_t i, int32_t j,
                                      const bool *uplink, const bool *link,
                                      struct pricer_fault *fault)
{
    const struct pricer_network *network = attempts->network;
    const struct pricer_slice *slice = attempts->slices[i];
    const struct pricer_share *share = pri_slice_find(slice, j);
    int64_t d = network->dimension, n = network->nodes;
    struct pricer_random random;
    if (share == NULL)
        return PRICER_OK;
    pri_round_noise(&random, attempts->seed, trial, 0, i, j);
    enum pricer_status status =
        pricer_round_share(slice, share, pri_data_row(attempts->data, i),
                           &random, attempts->message, fault);
    for (int64_t t = 0; t < attempts->attempts && status == PRICER_OK; t++)
        if (uplink[t * n + j] && (link == NULL || link[t * network->links]))
            status = pricer_round_add(&slice->grid, 1, attempts->message, d,
                                      attempts->sums + (t * n + j) * d, fault);
    return status;
}

enum pricer_status pri_attempts_play(struct pri_attempts *attempts,
                                     int64_t trial, const bool *uplink,
                                     const bool *link,
                                     struct pricer_fault *fault)
{
    const struct pricer_network *network = attempts->network;
    int64_t d = network->dimension, n = network->nodes;
    enum pricer_status status = PRICER_OK;
    memset(attempts->sums, 0,
           (size_t)(attempts->attempts * n * d) * sizeof *attempts->sums);
    for (int32_t j = 0; j < n && status == PRICER_OK; j++) {
        status = add_payload(attempts, trial, j, j, uplink, NULL, fault);
        for (int32_t k = network->in_start[j];
             k < network->in_start[j + 1] && status == PRICER_OK; k++) {
            int32_t l = network->in_link[k];
            status = add_payload(attempts, trial, network->from[l], j, uplink,
                                 link + l, fault);
        }
    }
    return status;
}

const double *pri_attempts_combine(struct pri_attempts *attempts,
                                   const bool *uplink,
                                   const double *coefficient)
{
    int64_t n = attempts->network->nodes, d = attempts->network->dimension;
    memset(attempts->estimate, 0, (size_t)d * sizeof(double));
    for (int64_t k = 0; k < attempts->attempts * n; k++)
        if (uplink[k])
            pricer_round_combine(&attempts->grid, coefficient[k],
                                 attempts->sums + k * d, d, attempts->estimate);
    return attempts->estimate;
}

const double *pri_attempts_mean(struct pri_attempts *attempts)
{
    int64_t n = attempts->network->nodes, d = attempts->network->dimension;
    memset(attempts->total, 0, (size_t)d * sizeof(int64_t));
    for (int64_t k = 0; k < attempts->attempts * n * d; k++)
        attempts->total[k % d] += attempts->sums[k];
    pricer_round_estimate(&attempts->grid, (int32_t)(n * attempts->attempts),
                          attempts->total, d, attempts->estimate);
    return attempts->estimate;
}
