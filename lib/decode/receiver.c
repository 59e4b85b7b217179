/*
 * From the pattern of a round to the coefficients of its sums and its error
 * bar: one path for daemons and simulators, so that they agree to the bit.
 *
 * Small networks are solved four patterns at a time even where there is one,
 * as the result of a pattern does not depend on its neighbours.
 */
#include "receiver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void pricer_receiver_free(struct pricer_receiver *receiver)
{
    if (receiver == NULL)
        return;
    pri_rows_free(&receiver->rows);
    pri_rows_free(&receiver->truth);
    pri_small_free(&receiver->small);
    pri_small_free(&receiver->other);
    pri_large_free(&receiver->large);
    pri_tables_free(&receiver->tables);
    free(receiver->own);
    free(receiver->shared);
    free(receiver->target);
    free(receiver->cap);
    free(receiver->x);
    free(receiver->adapted_own);
    free(receiver->adapted_shared);
    free(receiver->adapted_target);
    free(receiver->adapted_x);
    free(receiver->wide_cap);
    free(receiver->work);
    free(receiver->uplink);
    free(receiver->entry);
    free(receiver->word);
    free(receiver->withheld);
    free(receiver->gain);
    free(receiver);
}

static double *duplicate(const double *values, int64_t count)
{
    double *copy = pri_alloc(count, sizeof *copy);
    if (copy != NULL && count > 0)
        memcpy(copy, values, (size_t)count * sizeof *copy);
    return copy;
}

static bool copy_decoder(const struct pricer_decoder *decoder,
                         struct pricer_receiver *receiver)
{
    int64_t n = decoder->nodes, rank = decoder->rank;
    int64_t square = n <= PRI_SMALL ? n * n : 0;
    receiver->own = duplicate(decoder->own, n);
    receiver->shared = duplicate(decoder->shared, n * rank);
    receiver->target = duplicate(decoder->target, n);
    receiver->cap = duplicate(decoder->cap, n);
    receiver->x = pri_alloc(square, sizeof(double));
    receiver->adapted_own = pri_alloc(n, sizeof(double));
    receiver->adapted_shared = pri_alloc(n * (rank + 1), sizeof(double));
    receiver->adapted_target = pri_alloc(n, sizeof(double));
    receiver->adapted_x = pri_alloc(square, sizeof(double));
    receiver->wide_cap = duplicate(decoder->cap, n);
    receiver->work = pri_alloc(5 * PRI_ADAPT * PRI_ADAPT, sizeof(double));
    return receiver->own && receiver->shared && receiver->target &&
           receiver->cap && receiver->x && receiver->adapted_own &&
           receiver->adapted_shared && receiver->adapted_target &&
           receiver->adapted_x && receiver->wide_cap && receiver->work;
}

static enum pricer_status make_room(const struct pricer_network *network,
                                    const struct pricer_plan *plan,
                                    const struct pricer_decoder *decoder,
                                    struct pricer_receiver *made)
{
    bool small = network->nodes <= PRI_SMALL;
    if (!copy_decoder(decoder, made))
        return PRICER_MEMORY;
    enum pricer_status status =
        pri_rows_new(network, plan, decoder->blind, &made->rows);
    if (status == PRICER_OK)
        status = pri_rows_new(network, plan, false, &made->truth);
    if (status == PRICER_OK && small)
        status = pri_small_new(&made->rows, &made->small);
    if (status == PRICER_OK && small)
        status = pri_small_new(&made->rows, &made->other);
    if (status == PRICER_OK && !small)
        status = pri_large_new(&made->rows, &made->large);
    made->uplink = pri_alloc(network->nodes, PRI_LANES * sizeof(uint64_t));
    made->entry = pri_alloc(made->rows.entries + network->nodes,
                            PRI_LANES * sizeof(uint64_t));
    made->gain = pri_alloc(network->nodes, sizeof *made->gain);
    made->withheld = pri_alloc(network->nodes, sizeof *made->withheld);
    made->word = pri_alloc(small ? PRI_ROUNDS * pri_words_of(&made->rows) : 0,
                           sizeof *made->word);
    if (status == PRICER_OK && (!made->uplink || !made->entry || !made->gain ||
                                !made->withheld || !made->word))
        status = PRICER_MEMORY;
    return status;
}

enum pricer_status pricer_receiver_new(const struct pricer_network *network,
                                       const struct pricer_plan *plan,
                                       const struct pricer_decoder *decoder,
                                       struct pricer_receiver **receiver,
                                       struct pricer_fault *fault)
{
    int32_t n = network->nodes;
    int32_t most = n <= PRI_SMALL ? n : PRI_RANK - 1;
    if (decoder->nodes != n || plan->nodes != n ||
        plan->links != network->links || decoder->rank < 1 ||
        decoder->rank > most)
        return pri_fault(fault, PRICER_VALUE,
                         "the decoder is not for this network");
    if (!pri_decoder_is_sound(decoder))
        return pri_fault(fault, PRICER_VALUE,
                         "the decoder has numbers outside their range");
    struct pricer_receiver *made = pri_alloc(1, sizeof *made);
    if (made == NULL)
        return PRICER_MEMORY;
    enum pricer_status status = make_room(network, plan, decoder, made);
    if (status != PRICER_OK) {
        pricer_receiver_free(made);
        return status;
    }
    made->dimension = network->dimension;
    made->scale = network->radius * network->radius;
    for (int32_t j = 0; j < n; j++) {
        made->wide_cap[j] *= 4;
        made->gain[j] = n / made->rows.part[j];
    }
    made->model = (struct pri_model){.nodes = n,
                                     .rank = decoder->rank,
                                     .own = made->own,
                                     .shared = made->shared,
                                     .target = made->target,
                                     .part = made->rows.part,
                                     .cap = made->cap,
                                     .blend = decoder->blend};
    pri_model_complete(&made->model, made->x);
    if (n <= PRI_SMALL && !decoder->blind)
        status = pri_tables_new(&made->rows, &made->model, &made->tables);
    if (status == PRICER_OK)
        *receiver = made;
    else
        pricer_receiver_free(made);
    return status;
}

/* -------------------------------------------------------------- decoding -- */

/* One pattern as all four, its bits in words: for the tables. */
static void write_words(struct pricer_receiver *receiver, const bool *uplink,
                        const bool *link)
{
    const struct pri_rows *rows = &receiver->rows;
    const struct pri_held held = {link, receiver->withheld};
    uint64_t *word = receiver->word;
    memset(word, 0, (size_t)pri_words_of(rows) * sizeof *word);
    for (int32_t j = 0; j < rows->nodes; j++) {
        int32_t up = rows->entries + j;
        word[up / 64] |= (uint64_t)uplink[j] << up % 64;
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
            word[k / 64] |=
                (uint64_t)(uplink[j] && pri_is_held(rows, &held, j, k))
                << k % 64;
    }
}

/* One pattern as the first of four. */
static void write_bits(struct pricer_receiver *receiver, const bool *uplink,
                       const bool *link)
{
    const struct pri_rows *rows = &receiver->rows;
    const struct pri_held held = {link, receiver->withheld};
    for (int32_t j = 0; j < rows->nodes; j++) {
        receiver->uplink[(int64_t)j * PRI_LANES] = uplink[j];
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
            receiver->entry[(int64_t)k * PRI_LANES] =
                uplink[j] && pri_is_held(rows, &held, j, k);
    }
}

static void solve_small(struct pricer_receiver *receiver,
                        const struct pri_model *model, const bool *uplink,
                        const bool *link, double *coefficient,
                        struct pricer_decoded *decoded)
{
    const struct pri_rows *rows = &receiver->rows;
    struct pri_small *small = &receiver->small;
    const struct pri_held held = {link, receiver->withheld};
    if (model == &receiver->model && !rows->blind) {
        const uint64_t *word = receiver->word;
        write_words(receiver, uplink, link);
        pri_small_load_words(small, rows, &receiver->tables,
                             (const uint64_t *[]){word, word, word, word});
    } else {
        write_bits(receiver, uplink, link);
        pri_small_load(small, rows, receiver->uplink, receiver->entry, 0);
    }
    pri_small_solve(small, rows, model);
    pri_small_value(small, rows, model);
    for (int32_t j = 0; j < rows->nodes; j++) {
        coefficient[j] = small->beta[j][0] / rows->scale[j];
        bool holds = false;
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
            holds = holds || (uplink[j] && pri_is_held(rows, &held, j, k));
        decoded->sums += holds;
    }
    decoded->bar = receiver->scale * (*small->bar)[0];
}

static void solve_large(struct pricer_receiver *receiver,
                        const struct pri_model *model, const bool *uplink,
                        const bool *link, double *coefficient,
                        struct pricer_decoded *decoded)
{
    const struct pri_rows *rows = &receiver->rows;
    struct pri_large *large = &receiver->large;
    pri_large_load_bytes(large, rows, uplink,
                         &(struct pri_held){link, receiver->withheld});
    pri_large_solve(large, rows, model);
    pri_large_value(large, rows, model);
    memset(coefficient, 0, (size_t)rows->nodes * sizeof *coefficient);
    for (int32_t s = 0; s < large->sums; s++)
        coefficient[large->relay[s]] =
            large->beta[s] / rows->scale[large->relay[s]];
    decoded->sums = large->sums;
    decoded->bar = receiver->scale * large->bar;
    decoded->slack = receiver->scale * large->slack;
    decoded->steps = large->steps;
}

void pri_receiver_solve(struct pricer_receiver *receiver,
                        const struct pri_model *model, const bool *uplink,
                        const bool *link, double *coefficient,
                        struct pricer_decoded *decoded)
{
    struct pricer_decoded made = {0};
    if (model->nodes <= PRI_SMALL)
        solve_small(receiver, model, uplink, link, coefficient, &made);
    else
        solve_large(receiver, model, uplink, link, coefficient, &made);
    made.is_estimate = made.sums > 0;
    *decoded = made;
}

void pricer_receiver_withhold(struct pricer_receiver *receiver,
                              const bool *withheld)
{
    for (int32_t i = 0; i < receiver->rows.nodes; i++)
        receiver->withheld[i] = withheld != NULL && withheld[i];
}

void pricer_receiver_decode(struct pricer_receiver *receiver,
                            const bool *uplink, const bool *link,
                            double *coefficient, struct pricer_decoded *decoded)
{
    pri_receiver_solve(receiver, &receiver->model, uplink, link, coefficient,
                       decoded);
}
