/*
 * From the pattern of a round to the coefficients of its sums and its error
 * bar: one path for daemons and simulators, so that they agree to the bit.
 *
 * Small networks are solved four patterns at a time even where there is one,
 * as the result of a pattern does not depend on its neighbours.
 */
#include "receiver.h"
#include "network/network.h"

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

/* Words that the bits of a round take: entries, then uplinks. */
static int64_t words_of(const struct pri_rows *rows)
{
    return (rows->entries + rows->nodes + 63) / 64;
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
    made->withheld = pri_alloc(network->nodes, sizeof *made->withheld);
    made->word = pri_alloc(small ? PRI_ROUNDS * words_of(&made->rows) : 0,
                           sizeof *made->word);
    if (status == PRICER_OK &&
        (!made->uplink || !made->entry || !made->withheld || !made->word))
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
    if (pri_network_alike(network, "the minimax decoder", false, fault) !=
        PRICER_OK)
        return PRICER_VALUE;
    if (decoder->nodes != n || plan->nodes != n ||
        plan->links != network->links || decoder->rank < 1 ||
        decoder->rank > most || decoder->attempts > 1)
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
    for (int32_t j = 0; j < n; j++)
        made->wide_cap[j] *= 4;
    made->model = (struct pri_model){.nodes = n,
                                     .rank = decoder->rank,
                                     .own = made->own,
                                     .shared = made->shared,
                                     .target = made->target,
                                     .cap = made->cap,
                                     .blend = decoder->blend};
    pri_model_complete(&made->model, made->x);
    *receiver = made;
    return PRICER_OK;
}

/* -------------------------------------------------------------- decoding -- */

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
    write_bits(receiver, uplink, link);
    pri_small_load(small, rows, receiver->uplink, receiver->entry, 0);
    pri_small_solve(small, rows, model);
    pri_small_value(small, rows, model);
    for (int32_t j = 0; j < rows->nodes; j++) {
        coefficient[j] = small->beta[j][0] / rows->scale[j];
        bool holds = false;
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
            holds = holds || receiver->entry[(int64_t)k * PRI_LANES] != 0;
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

/* ----------------------------------------------------------------- group -- */

/* Bits of the entries: the link's where the relay is up. */
static void gather(struct pricer_receiver *receiver, const uint64_t *uplink,
                   const uint64_t *link)
{
    const struct pri_rows *rows = &receiver->rows;
    for (int32_t j = 0; j < rows->nodes; j++)
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
            for (int w = 0; w < PRI_LANES; w++) {
                uint64_t up = uplink[(int64_t)j * PRI_LANES + w];
                if (rows->link[k] >= 0)
                    up &= link[(int64_t)rows->link[k] * PRI_LANES + w];
                receiver->entry[(int64_t)k * PRI_LANES + w] = up;
            }
}

/* Blind rows know of a sum only that it arrived. */
static void gather_blind(struct pricer_receiver *receiver,
                         const uint64_t *uplink)
{
    const struct pri_rows *rows = &receiver->rows;
    for (int32_t j = 0; j < rows->nodes; j++)
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
            memcpy(receiver->entry + (int64_t)k * PRI_LANES,
                   uplink + (int64_t)j * PRI_LANES, PRI_LANES * sizeof *uplink);
}

/* Bit i of word l <-> bit l of word i, by halves: Hacker's Delight, 7-3. */
static void transpose(uint64_t *word)
{
    uint64_t mask = UINT64_C(0xffffffff);
    for (int half = 32; half > 0; half /= 2, mask ^= mask << half)
        for (int k = 0; k < 64; k = ((k | half) + 1) & ~half) {
            uint64_t swap = ((word[k] >> half) ^ word[k | half]) & mask;
            word[k] ^= swap << half;
            word[k | half] ^= swap;
        }
}

/* Bits [count][PRI_LANES], at most 64 of them, as word `at` of each round. */
static void turn(const uint64_t *bits, int64_t count, int64_t size, int64_t at,
                 uint64_t *word)
{
    for (int64_t w = 0; w < PRI_LANES; w++) {
        uint64_t block[64] = {0};
        for (int64_t k = 0; k < count; k++)
            block[k] = bits[k * PRI_LANES + w];
        transpose(block);
        for (int64_t t = 0; t < 64; t++)
            word[(64 * w + t) * size + at] = block[t];
    }
}

/*
 * The rounds in an order that puts those with the same uplinks side by side:
 * four that are solved together take the work of all relays that any of them
 * has. Sorted by ten bits of the uplinks, the rest folded upon them.
 */
static void arrange(const struct pri_rows *rows, const uint64_t *word,
                    int count, int16_t *order)
{
    enum { BITS = 10 };
    int16_t first[(1 << BITS) + 1] = {0};
    uint16_t key[PRI_ROUNDS];
    int64_t size = words_of(rows), at = rows->entries / 64;
    int low = rows->entries % 64;
    for (int t = 0; t < count; t++) {
        uint64_t up = word[t * size + at] >> low;
        if (at + 1 < size)
            up |= word[t * size + at + 1] << 1 << (63 - low);
        key[t] =
            (uint16_t)((up ^ up >> BITS ^ up >> 2 * BITS ^ up >> 3 * BITS) &
                       ((1 << BITS) - 1));
        first[key[t] + 1]++;
    }
    for (int k = 0; k < 1 << BITS; k++)
        first[k + 1] = (int16_t)(first[k + 1] + first[k]);
    for (int t = 0; t < count; t++)
        order[first[key[t]]++] = (int16_t)t;
}

/* Round t is lane e of `small`. */
static void hand_out(const struct pricer_receiver *receiver,
                     const struct pri_small *small, pri_four bar, int e, int t,
                     const struct pri_decoded_group *group)
{
    const struct pri_rows *rows = &receiver->rows;
    double n = rows->nodes;
    double unit = n * n * receiver->scale / (double)receiver->dimension;
    for (int64_t j = 0; j < rows->nodes; j++) {
        int64_t at = j * PRI_ROUNDS + t;
        if (group->coefficient != NULL)
            group->coefficient[at] = small->beta[j][e] / rows->scale[j];
        if (group->excess != NULL)
            group->excess[at] = n * small->excess[j][e];
    }
    group->variance[t] = unit * (*small->heard)[e];
    group->bar[t] = receiver->scale * bar[e];
}

static void group_small(struct pricer_receiver *receiver,
                        const uint64_t *uplink, const uint64_t *link, int count,
                        const struct pri_decoded_group *group)
{
    const struct pri_rows *rows = &receiver->rows;
    struct pri_small *small = &receiver->small;
    int64_t size = words_of(rows);
    int16_t order[PRI_ROUNDS];
    int64_t bits = rows->entries + rows->nodes;
    gather(receiver, uplink, link);
    memcpy(receiver->entry + (int64_t)rows->entries * PRI_LANES, uplink,
           (size_t)rows->nodes * PRI_LANES * sizeof *uplink);
    for (int64_t k = 0; k < bits; k += 64)
        turn(receiver->entry + k * PRI_LANES, bits - k < 64 ? bits - k : 64,
             size, k / 64, receiver->word);
    arrange(rows, receiver->word, count, order);
    for (int m = 0; m < count; m += 4) {
        const uint64_t *word[4];
        for (int e = 0; e < 4; e++)
            word[e] = receiver->word +
                      order[m + e < count ? m + e : count - 1] * size;
        pri_small_load_words(small, rows, word);
        pri_small_solve(small, rows, &receiver->model);
        pri_small_value(small, rows, &receiver->model);
        for (int e = 0; e < 4 && m + e < count; e++)
            hand_out(receiver, small, *small->bar, e, order[m + e], group);
    }
}

/* Blind: coefficients from the uplinks alone, then what really happened. */
static void group_small_blind(struct pricer_receiver *receiver,
                              const uint64_t *uplink, const uint64_t *link,
                              int count, const struct pri_decoded_group *group)
{
    const struct pri_rows *rows = &receiver->rows;
    struct pri_small *small = &receiver->small, *other = &receiver->other;
    for (int m = 0; 4 * m < count; m++) {
        gather_blind(receiver, uplink);
        pri_small_load(small, rows, uplink, receiver->entry, m);
        pri_small_solve(small, rows, &receiver->model);
        pri_small_value(small, rows, &receiver->model);
        gather(receiver, uplink, link);
        pri_small_load(other, &receiver->truth, uplink, receiver->entry, m);
        memcpy(other->beta, small->beta,
               (size_t)rows->nodes * sizeof *other->beta);
        pri_small_value(other, &receiver->truth, &receiver->model);
        for (int e = 0; e < 4; e++)
            hand_out(receiver, other, *small->bar, e, 4 * m + e, group);
    }
}

/* What really happened to round t, given the coefficients of blind rows. */
static void replay(struct pricer_receiver *receiver, const uint64_t *uplink,
                   const uint64_t *link, int t)
{
    struct pri_large *large = &receiver->large;
    int32_t held = large->sums;
    double *beta = receiver->adapted_own; /* room, [nodes] */
    double bar = large->bar;
    memset(beta, 0, (size_t)receiver->rows.nodes * sizeof *beta);
    for (int32_t s = 0; s < held; s++)
        beta[large->relay[s]] = large->beta[s];
    gather(receiver, uplink, link);
    pri_large_load(large, &receiver->truth, uplink, receiver->entry, t);
    for (int32_t s = 0; s < large->sums; s++)
        large->beta[s] = beta[large->relay[s]];
    pri_large_value(large, &receiver->truth, &receiver->model);
    large->bar = bar;
}

static void group_large(struct pricer_receiver *receiver,
                        const uint64_t *uplink, const uint64_t *link, int count,
                        const struct pri_decoded_group *group)
{
    const struct pri_rows *rows = &receiver->rows;
    struct pri_large *large = &receiver->large;
    double n = rows->nodes;
    double unit = n * n * receiver->scale / (double)receiver->dimension;
    for (int t = 0; t < count; t++) {
        if (rows->blind)
            gather_blind(receiver, uplink);
        else if (t == 0)
            gather(receiver, uplink, link);
        pri_large_load(large, rows, uplink, receiver->entry, t);
        pri_large_solve(large, rows, &receiver->model);
        pri_large_value(large, rows, &receiver->model);
        for (int64_t j = 0; group->coefficient != NULL && j < rows->nodes; j++)
            group->coefficient[j * PRI_ROUNDS + t] = 0;
        for (int32_t s = 0; group->coefficient != NULL && s < large->sums; s++)
            group->coefficient[(int64_t)large->relay[s] * PRI_ROUNDS + t] =
                large->beta[s] / rows->scale[large->relay[s]];
        if (rows->blind)
            replay(receiver, uplink, link, t);
        for (int64_t i = 0; group->excess != NULL && i < rows->nodes; i++)
            group->excess[i * PRI_ROUNDS + t] = n * large->excess[i];
        group->variance[t] = unit * large->heard;
        group->bar[t] = receiver->scale * large->bar;
    }
}

void pri_receiver_group(struct pricer_receiver *receiver,
                        const uint64_t *uplink, const uint64_t *link, int count,
                        const struct pri_decoded_group *group)
{
    if (receiver->model.nodes <= PRI_SMALL && receiver->rows.blind)
        group_small_blind(receiver, uplink, link, count, group);
    else if (receiver->model.nodes <= PRI_SMALL)
        group_small(receiver, uplink, link, count, group);
    else
        group_large(receiver, uplink, link, count, group);
}
