/*
 * The fast engine of forwarding: 512 trials at a time, from random bits to
 * squared errors.
 *
 *   1. lib/round/links.c draws every uplink and pair of links, a bit per trial;
 *   2. lib/forward/arrivals.c searches for those who arrive, 64 trials to a word,
 *      through all attempts of a round;
 *   3. forward_sums.c turns arrivals into errors and bars, the noise integrated
 *      out.
 */
#include "forward_engines.h"
#include "random/random.h"

#include <stdlib.h>
#include <string.h>

struct pri_forward_fast {
    struct pri_job *job;
    struct pri_search *search;
    struct pri_found found;
    struct pri_arrival_sums sums;
    pri_four *room;
    double *errors, *bars; /* [PRI_ROUNDS] */
};

void pri_forward_fast_free(struct pri_forward_fast *fast)
{
    if (fast == NULL)
        return;
    pri_search_free(fast->search);
    pri_arrival_sums_free(&fast->sums);
    free(fast->room);
    free(fast->errors);
    free(fast->bars);
    free(fast);
}

enum pricer_status pri_forward_fast_new(struct pri_job *job,
                                        struct pri_forward_fast **fast)
{
    struct pri_forward_fast *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    made->job = job;
    made->errors = pri_alloc(PRI_ROUNDS, sizeof *made->errors);
    made->bars = pri_alloc(PRI_ROUNDS, sizeof *made->bars);
    enum pricer_status status =
        pri_arrival_sums_make(job, job->factor, &made->sums);
    if (status == PRICER_OK)
        status = pri_search_new(job->network, job->forward->hops,
                                pri_attempts_of(job), &made->search);
    if (status == PRICER_OK)
        made->room = pri_alloc((int64_t)made->sums.blocks * PRI_ROUNDS,
                               sizeof *made->room);
    if (status == PRICER_OK && (!made->errors || !made->bars || !made->room))
        status = PRICER_MEMORY;
    if (status == PRICER_OK)
        *fast = made;
    else
        pri_forward_fast_free(made);
    return status;
}

/* ---------------------------------------------------------------- counts -- */

/* How many bits are set in both rows, of those in the mask. */
PRI_INLINE uint32_t count_both(const uint64_t *a, const uint64_t *b,
                               const uint64_t *mask)
{
    uint64_t found = 0;
    for (int w = 0; w < PRI_LANES; w++)
        found += (uint64_t)__builtin_popcountll(a[w] & b[w] & mask[w]);
    return (uint32_t)found;
}

PRI_CLONES
static void count_states(const struct pri_forward_fast *fast, int count,
                         struct pri_tally *tally)
{
    const struct pricer_network *net = fast->job->network;
    const struct pricer_forward_node *node = fast->job->forward->node;
    uint64_t mask[PRI_LANES];
    for (int w = 0; w < PRI_LANES; w++) {
        int left = count - 64 * w;
        mask[w] = left >= 64 ? ~UINT64_C(0)
                  : left > 0 ? ~(~UINT64_C(0) << left)
                             : 0;
    }
    for (int64_t i = 0; i < net->nodes; i++) {
        const uint64_t *up = fast->found.uplink + i * PRI_LANES;
        const uint64_t *arrived = fast->found.arrived + i * PRI_LANES;
        uint32_t came = count_both(arrived, arrived, mask);
        tally->uplink[i] += count_both(up, up, mask);
        tally->excess[i] +=
            pri_to_steps(node[i].coefficient * came - count, PRI_FRACTION);
    }
    for (int64_t l = 0; l < net->links; l++) {
        const uint64_t *up = fast->found.up + l * PRI_LANES;
        int64_t back = net->partner[l];
        tally->link[l] += count_both(up, up, mask);
        if (back > l)
            tally->both[l] +=
                count_both(up, fast->found.up + back * PRI_LANES, mask);
    }
}

/* ------------------------------------------------------------------ play -- */

enum pricer_status pri_forward_fast_play(struct pri_forward_fast *fast,
                                         int64_t first, int count,
                                         struct pri_tally *tally,
                                         double *errors)
{
    struct pri_job *job = fast->job;
    if (!pri_poll(job))
        return PRICER_STOPPED;
    fast->found = pri_search_play(fast->search, job->seed, first / PRI_ROUNDS);
    count_states(fast, count, tally);
    pri_arrival_sums_find(&fast->sums, fast->found.arrived, PRI_LANES,
                          PRI_LANES, fast->room, fast->errors, fast->bars);
    memcpy(errors, fast->errors, (size_t)count * sizeof *errors);
    memcpy(errors + PRI_ROUNDS, fast->bars, (size_t)count * sizeof *errors);
    return PRICER_OK;
}

/* --------------------------------------------------------------- predict -- */

/* The mean error over all patterns of links. */
static enum pricer_status enumerate(const struct pri_job *job,
                                    const struct pri_arrival_sums *sums,
                                    double *mean)
{
    struct pri_arrivals *all = NULL;
    enum pricer_status status = pri_arrivals_enumerate(
        job->network, job->forward->hops, pri_attempts_of(job), &all);
    if (status != PRICER_OK)
        return status;
    uint64_t *bits = pri_alloc(all->nodes * all->words, sizeof *bits);
    pri_four *room =
        pri_alloc((int64_t)sums->blocks * PRI_ROUNDS, sizeof *room);
    double errors[PRI_ROUNDS], bars[PRI_ROUNDS], total = 0;
    status = bits != NULL && room != NULL ? PRICER_OK : PRICER_MEMORY;
    if (status == PRICER_OK)
        pri_arrivals_within(all, job->forward->hops, bits);
    for (int64_t w = 0; w < all->words && status == PRICER_OK; w += PRI_LANES) {
        int64_t left = all->words - w;
        int words = left < PRI_LANES ? (int)left : PRI_LANES;
        pri_arrival_sums_find(sums, bits + w, all->words, words, room, errors,
                              bars);
        for (int64_t k = 0; k < 64 * words && 64 * w + k < all->patterns; k++)
            total += all->weight[64 * w + k] * errors[k];
    }
    if (status == PRICER_OK)
        *mean = total;
    free(bits);
    free(room);
    pri_arrivals_free(all);
    return status;
}

/* The mean error vector's length, from the probabilities of arriving. */
static enum pricer_status predict_bias(const struct pri_job *job,
                                       double *length)
{
    int32_t n = job->network->nodes;
    double *excess = pri_alloc(n + job->data->dimension, sizeof *excess);
    if (excess == NULL)
        return PRICER_MEMORY;
    for (int32_t i = 0; i < n; i++)
        excess[i] =
            job->forward->node[i].arrival * job->forward->node[i].coefficient -
            1;
    *length = pri_bias_length(job->data, excess, excess + n);
    free(excess);
    return PRICER_OK;
}

/* Without relays nodes arrive independently: bias, variance of arrivals, noise. */
static double predict_alone(const struct pri_job *job,
                            const struct pri_arrival_sums *sums, double bias)
{
    double spread = 0, n = job->network->nodes;
    for (int32_t i = 0; i < job->network->nodes; i++) {
        const double *x = pri_data_row(job->data, i);
        const struct pricer_forward_node *node = &job->forward->node[i];
        double pi = node->arrival, c = node->coefficient, square = 0;
        for (int64_t k = 0; k < job->data->dimension; k++)
            square += x[k] * x[k];
        spread += pi * ((1 - pi) * c * c * square + sums->value[i][0]);
    }
    return bias * bias + spread / (n * n);
}

enum pricer_status pri_forward_predict(const struct pri_job *job,
                                       struct pricer_simulation *simulation)
{
    struct pricer_outcome *outcome = &simulation->outcomes[0];
    struct pri_factor factor = {0};
    struct pri_arrival_sums sums = {0};
    bool worst = simulation->data == PRICER_DATA_WORST_CASE;
    enum pricer_status status = PRICER_OK;
    outcome->worst_case = job->forward->mse_worst_case;
    outcome->predicted = outcome->bias_predicted = NAN;
    pri_outcome_centre(outcome->worst_case, outcome);
    if (job->forward->patterns > 0 || job->forward->measured > 0)
        return PRICER_OK;
    if (!worst)
        status = pri_factor_make(job->data, 1, &factor);
    if (status == PRICER_OK)
        status = pri_arrival_sums_make(job, worst ? NULL : &factor, &sums);
    if (status == PRICER_OK)
        status = predict_bias(job, &outcome->bias_predicted);
    if (status == PRICER_OK && job->forward->hops == 0)
        outcome->predicted = predict_alone(job, &sums, outcome->bias_predicted);
    else if (status == PRICER_OK)
        status = enumerate(job, &sums, &outcome->predicted);
    if (status == PRICER_OK)
        pri_outcome_centre(outcome->predicted, outcome);
    pri_arrival_sums_free(&sums);
    pri_factor_free(&factor);
    return status;
}
