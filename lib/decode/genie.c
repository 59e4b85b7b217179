/*
 * What anything could still gain: the bound of a server that gets every payload
 * by itself.
 *
 * Claim: no plan within the budgets, even one chosen for each pattern, with any
 * linear decoder has a worst case below g(X) of the genie, for any X. Proof.
 * A payload of node i over link (i, j) is alpha (x_i + rho_ij noise) or
 * noisier, and alpha may be divided out. Of the payloads that arrive with sums
 * that arrive, the best unbiased combination for x_i has variance nu_i = 1 /
 * sum_j (tau_j tau_ij / rho_ij^2) a coordinate; every linear estimate from any
 * sums of them is a linear estimate c from these with no more noise. So its
 * error for data with Gram matrix X is at least min_c r'Xr + d sum c_i^2 nu_i,
 * r = c - q, in each pattern, hence E of that on average, and the worst data
 * are at least as bad as the X's on average over data with that Gram matrix.
 */
#include "rows.h"
#include "calibrate/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The payloads that the budgets allow. */
static enum pricer_status payload_rows(const struct pricer_network *network,
                                       const struct pricer_settings *settings,
                                       struct pri_rows *payload,
                                       struct pricer_fault *fault)
{
    double *slope = pri_alloc(network->links, sizeof *slope);
    double *self_slope = pri_alloc(network->nodes, sizeof *self_slope);
    enum pricer_status status = PRICER_MEMORY;
    /* However a budget towards the server is divided, a link never carries
     * more than its own allows. */
    struct pricer_network undivided = *network;
    undivided.server_eps = undivided.server_delta = NULL;
    if (slope != NULL && self_slope != NULL)
        status =
            pri_noise_slopes(&undivided, settings, slope, self_slope, fault);
    if (status == PRICER_OK)
        status = pri_payload_rows(network, slope, self_slope, payload);
    free(slope);
    free(self_slope);
    return status;
}

/* Fit X on some patterns, judge it on others. */
static enum pricer_status find_bound(const struct pricer_network *network,
                                     const struct pricer_decoder_settings *ask,
                                     struct pri_court *court,
                                     struct pricer_estimate *bound)
{
    struct pri_odds odds = {0};
    struct pri_patterns patterns = {0}, fresh = {0};
    int64_t n = network->nodes, square = n <= PRI_SMALL ? n * n : 0;
    int32_t rank = n <= PRI_SMALL ? network->nodes : 1;
    int64_t count = pri_pattern_count(network->nodes, ask->patterns);
    double *own = pri_alloc(n, sizeof *own), *x = pri_alloc(square, sizeof *x);
    double *shared = pri_alloc(n * rank, sizeof *shared);
    double *target = pri_alloc(n, sizeof *target);
    enum pricer_status status = PRICER_MEMORY;
    if (!own || !x || !shared || !target)
        goto done;
    status = pri_odds_new(network, ask, false, &odds);
    if (status == PRICER_OK)
        status = pri_patterns_new(network, court->payload, &odds,
                                  PRI_SEED(ask->seed, 3), count / 4,
                                  court->team, &patterns);
    if (status == PRICER_OK)
        status = pri_patterns_new(network, court->payload, &odds,
                                  PRI_SEED(ask->seed, 4), count, court->team,
                                  &fresh);
    court->patterns = &patterns;
    if (status == PRICER_OK)
        status = pri_fit(court, rank, NULL, ask->watch, own, shared);
    if (status != PRICER_OK)
        goto done;
    struct pri_model model = {.nodes = network->nodes,
                              .rank = rank,
                              .own = own,
                              .shared = shared,
                              .target = target,
                              .part = court->rows->part,
                              .blend = 1};
    struct pri_judgement judgement = {0};
    pri_model_complete(&model, x);
    pri_model_target(&model, target);
    court->patterns = &fresh;
    status = pri_judge(court, &model, &judgement);
    double scale = network->radius * network->radius;
    double spread = judgement.square - judgement.value * judgement.value;
    if (status == PRICER_OK) {
        bound->value = scale * judgement.value;
        bound->error =
            fresh.exact ? 0
                        : scale * sqrt(fmax(spread, 0) / (double)fresh.count);
    }
done:
    pri_odds_free(&odds);
    pri_patterns_free(&patterns);
    pri_patterns_free(&fresh);
    free(own);
    free(x);
    free(shared);
    free(target);
    return status;
}

enum pricer_status pricer_decoder_genie(
    const struct pricer_network *network,
    const struct pricer_settings *settings,
    const struct pricer_decoder_settings *asked, struct pricer_estimate *bound,
    struct pricer_fault *fault)
{
    struct pri_rows rows = {0}, payload = {0};
    enum pricer_status status =
        payload_rows(network, settings, &payload, fault);
    if (status == PRICER_OK)
        status = pri_own_rows(network, &rows);
    struct pri_court court = {
        .rows = &rows,
        .payload = &payload,
        .unit = (double)network->dimension / network->radius / network->radius,
        .team = pri_team_new(
            pri_threads(asked->threads, (int64_t)network->nodes * 1500))};
    if (status == PRICER_OK)
        status = find_bound(network, asked, &court, bound);
    pri_team_free(court.team);
    pri_rows_free(&rows);
    pri_rows_free(&payload);
    return status;
}
