/*
 * From the bits of 512 rounds to their coefficients, errors and bars: the same
 * arithmetic as for one round, in an order that is quick.
 */
#include "receiver.h"

#include <string.h>

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
 * has. Sorted by ten bits of the uplinks, the rest folded upon them, in the
 * order of a Gray code: where the uplinks change, few of them do.
 */
static void arrange(const struct pri_rows *rows, const uint64_t *word,
                    int count, int16_t *order)
{
    enum { BITS = 10 };
    int16_t first[(1 << BITS) + 1] = {0};
    uint16_t key[PRI_ROUNDS];
    int64_t size = pri_words_of(rows), at = rows->entries / 64;
    int low = rows->entries % 64;
    for (int t = 0; t < count; t++) {
        uint64_t up = word[t * size + at] >> low;
        if (at + 1 < size)
            up |= word[t * size + at + 1] << 1 << (63 - low);
        up = (up ^ up >> BITS ^ up >> 2 * BITS ^ up >> 3 * BITS) &
             ((1 << BITS) - 1);
        up ^= up >> 1; /* its place in a Gray code */
        up ^= up >> 2;
        up ^= up >> 4;
        key[t] = (uint16_t)(up ^ up >> 8);
        first[key[t] + 1]++;
    }
    for (int k = 0; k < 1 << BITS; k++)
        first[k + 1] = (int16_t)(first[k + 1] + first[k]);
    for (int t = 0; t < count; t++)
        order[first[key[t]]++] = (int16_t)t;
}

/* Rounds t[0] to t[count - 1] are the lanes of `small`. */
static void hand_out(const struct pricer_receiver *receiver,
                     const struct pri_small *small, const pri_four *bar,
                     int count, const int16_t *t,
                     const struct pri_decoded_group *group)
{
    const struct pri_rows *rows = &receiver->rows;
    double n = rows->nodes;
    double unit = n * n * receiver->scale / (double)receiver->dimension;
    for (int64_t j = 0; j < rows->nodes; j++) {
        double *coefficient = group->coefficient, *excess = group->excess;
        pri_four more = receiver->gain[j] * small->excess[j];
        for (int e = 0; excess != NULL && e < count; e++)
            excess[j * PRI_ROUNDS + t[e]] = more[e];
        for (int e = 0; coefficient != NULL && e < count; e++)
            coefficient[j * PRI_ROUNDS + t[e]] =
                small->beta[j][e] / rows->scale[j];
    }
    for (int e = 0; e < count; e++) {
        group->variance[t[e]] = unit * (*small->heard)[e];
        group->bar[t[e]] = receiver->scale * (*bar)[e];
    }
}

static void group_small(struct pricer_receiver *receiver,
                        const uint64_t *uplink, const uint64_t *link, int count,
                        const struct pri_decoded_group *group)
{
    const struct pri_rows *rows = &receiver->rows;
    struct pri_small *small = &receiver->small;
    int64_t size = pri_words_of(rows);
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
        pri_small_load_words(small, rows, &receiver->tables, word);
        pri_small_solve(small, rows, &receiver->model);
        pri_small_value(small, rows, &receiver->model);
        hand_out(receiver, small, small->bar, count - m < 4 ? count - m : 4,
                 order + m, group);
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
        int16_t t = (int16_t)(4 * m);
        const int16_t four[] = {t, (int16_t)(t + 1), (int16_t)(t + 2),
                                (int16_t)(t + 3)};
        hand_out(receiver, other, small->bar, 4, four, group);
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
            group->excess[i * PRI_ROUNDS + t] =
                receiver->gain[i] * large->excess[i];
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
