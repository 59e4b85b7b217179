/*
 * From points as they stand in a file to points node after node: shuffled
 * (Fisher-Yates), or as they come. Ranks that hold a slice each send each other
 * what is dealt away; all of them know the order.
 */
#include "kmeans.h"

#include <stdlib.h>
#include <string.h>

/* Which row stands at each place; NULL: no memory. */
static int64_t *order_of(int64_t rows, uint64_t seed, bool in_order)
{
    int64_t *order = pri_alloc(rows, sizeof *order);
    struct pricer_random random;
    pricer_random_replay(&random, seed, PRICER_PURPOSE_DATA, 0, 0,
                         PRI_KMEANS_SPLIT);
    for (int64_t r = 0; order != NULL && r < rows; r++)
        order[r] = r;
    for (int64_t r = rows - 1; order != NULL && r > 0 && !in_order; r--) {
        uint64_t word = pricer_random_word(&random) >> 32;
        int64_t other = (int64_t)((word * (uint64_t)(r + 1)) >> 32);
        int64_t kept = order[r];
        order[r] = order[other];
        order[other] = kept;
    }
    return order;
}

enum pricer_status pri_deal(const struct pricer_matrix *points, uint64_t seed,
                            bool in_order, float *dealt)
{
    const int64_t columns = points->columns;
    const size_t bytes = (size_t)columns * sizeof *dealt;
    int64_t *order = order_of(points->rows, seed, in_order);
    if (order == NULL)
        return PRICER_MEMORY;
    for (int64_t r = 0; r < points->rows; r++)
        memcpy(dealt + r * columns,
               (const float *)points->values + order[r] * columns, bytes);
    free(order);
    return PRICER_OK;
}

/* ---------------------------------------------------------------- slices -- */

/* What goes where between ranks; [ranks] each. */
struct trade {
    int64_t *start; /* the first row of each slice, and the number of rows */
    int64_t *give, *got, *place;
    float *given, *taken;
};

static int32_t owner_of(const struct trade *trade, int32_t ranks, int64_t row)
{
    int32_t low = 0, high = ranks;
    while (high - low > 1) { /* start[low] <= row < start[high] */
        int32_t middle = low + (high - low) / 2;
        if (trade->start[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Pack what this rank has of everyone's places, in the order of the places. */
static void pack(const struct pri_points *points, const int64_t *order,
                 const int64_t *low, const int64_t *high, struct trade *trade)
{
    const int32_t own = points->crew->rank;
    float *to = trade->given;
    for (int32_t r = 0; r < points->crew->ranks; r++)
        for (int64_t k = low[r]; k < high[r]; k++) {
            if (order[k] < trade->start[own] ||
                order[k] >= trade->start[own + 1])
                continue;
            trade->give[r]++;
            if (to == NULL)
                continue;
            memcpy(to, pri_points_row(points, order[k]),
                   (size_t)points->columns * sizeof *to);
            to += points->columns;
        }
}

/* Put what has come where it belongs. */
static void unpack(const struct pri_points *points, const int64_t *order,
                   int64_t low, int64_t high, struct trade *trade, float *dealt)
{
    const int32_t ranks = points->crew->ranks;
    const int64_t columns = points->columns;
    for (int32_t r = 1; r < ranks; r++)
        trade->place[r] = trade->place[r - 1] + trade->got[r - 1];
    for (int64_t k = low; k < high; k++) {
        int64_t from = trade->place[owner_of(trade, ranks, order[k])]++;
        memcpy(dealt + (k - low) * columns, trade->taken + from * columns,
               (size_t)columns * sizeof *dealt);
    }
}

/* The slices, and how many rows come from each. */
static enum pricer_status prepare(const struct pri_points *points,
                                  const int64_t *order, int64_t low,
                                  int64_t high, struct trade *trade)
{
    const int32_t ranks = points->crew->ranks;
    trade->start = pri_alloc(ranks + 1, sizeof *trade->start);
    trade->give = pri_alloc(ranks, sizeof *trade->give);
    trade->got = pri_alloc(ranks, sizeof *trade->got);
    trade->place = pri_alloc(ranks, sizeof *trade->place);
    trade->taken =
        pri_alloc((high - low) * points->columns, sizeof *trade->taken);
    if (!trade->start || !trade->give || !trade->got || !trade->place ||
        !trade->taken)
        return PRICER_MEMORY;
    for (int32_t r = 0; r < ranks; r++) {
        struct pri_chunks slice = pri_chunks_of(points->rows, r, ranks);
        trade->start[r] = pri_chunk_start(&slice, slice.low);
    }
    trade->start[ranks] = points->rows;
    for (int64_t k = low; k < high; k++)
        trade->got[owner_of(trade, ranks, order[k])]++;
    return PRICER_OK;
}

enum pricer_status pri_deal_slices(const struct pri_points *points,
                                   uint64_t seed, bool in_order,
                                   const int64_t *low, const int64_t *high,
                                   float *dealt)
{
    const struct pricer_crew *crew = points->crew;
    const int32_t own = crew->rank;
    struct trade trade = {NULL};
    int64_t all = 0;
    int64_t *order = order_of(points->rows, seed, in_order);
    enum pricer_status status = PRICER_MEMORY;
    if (order != NULL)
        status = prepare(points, order, low[own], high[own], &trade);
    if (status != PRICER_OK)
        goto done;
    pack(points, order, low, high, &trade); /* counts */
    for (int32_t r = 0; r < crew->ranks; r++) {
        all += trade.give[r];
        trade.give[r] = 0;
    }
    trade.given = pri_alloc(all * points->columns, sizeof *trade.given);
    if (trade.given == NULL) {
        status = PRICER_MEMORY;
        goto done;
    }
    pack(points, order, low, high, &trade);
    crew->trade(crew->context, (size_t)points->columns * sizeof *dealt,
                trade.given, trade.give, trade.taken, trade.got);
    unpack(points, order, low[own], high[own], &trade, dealt);
done:
    free(order);
    free(trade.start);
    free(trade.give);
    free(trade.got);
    free(trade.place);
    free(trade.given);
    free(trade.taken);
    return status;
}
