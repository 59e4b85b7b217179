/*
 * Loading four patterns of a small network: from bits to the weights that
 * arrived, in four lanes, and the list of relays that any of the four has.
 */
#include "rows.h"

#include <string.h>

typedef int64_t four_masks __attribute__((vector_size(32)));

PRI_INLINE pri_four fill(double x)
{
    return (pri_four){x, x, x, x};
}

/* The number where its bit is set, else 0. */
PRI_INLINE pri_four masked(double x, uint64_t bits)
{
    const four_masks places = {1, 2, 4, 8};
    int64_t b = (int64_t)bits;
    four_masks all = {b, b, b, b};
    return (pri_four)((four_masks)fill(x) & ((all & places) != 0));
}

PRI_INLINE uint64_t nibble_of(const uint64_t *bits, int m)
{
    return bits[m / 16] >> 4 * (m % 16) & 15;
}

/* A relay of which nothing arrived. */
PRI_INLINE void leave_out(struct pri_small *small, const struct pri_rows *rows,
                          int32_t j)
{
    small->noise[j] = small->chance[j] = fill(0);
    for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++)
        small->entry[k] = fill(0);
}

PRI_CLONES
static void load(struct pri_small *small, const struct pri_rows *rows,
                 const uint64_t *uplink, const uint64_t *entry, int m)
{
    small->sums = 0;
    small->tables = NULL;
    for (int32_t j = 0; j < rows->nodes; j++) {
        pri_four noise = fill(0), chance = fill(0);
        uint64_t up = nibble_of(uplink + (int64_t)j * PRI_LANES, m);
        small->up[j] = masked(1, up);
        if (up == 0) {
            leave_out(small, rows, j);
            continue;
        }
        small->active[small->sums++] = j;
        for (int32_t k = rows->start[j]; k < rows->start[j + 1]; k++) {
            uint64_t came = nibble_of(entry + (int64_t)k * PRI_LANES, m);
            small->entry[k] = masked(rows->weight[k], came);
            noise += masked(rows->noise[k], came);
            if (rows->blind)
                chance += masked(rows->spread[k], came);
        }
        small->noise[j] = noise;
        small->chance[j] = chance;
    }
}

void pri_small_load(struct pri_small *small, const struct pri_rows *rows,
                    const uint64_t *uplink, const uint64_t *entry, int m)
{
    load(small, rows, uplink, entry, m);
}

/* The relays that any of the four has. */
PRI_INLINE void find_active(struct pri_small *small,
                            const struct pri_rows *rows,
                            const uint64_t *const *word)
{
    uint32_t first = (uint32_t)rows->entries, at = first / 64, low = first % 64;
    uint64_t any = word[0][at] | word[1][at] | word[2][at] | word[3][at];
    any >>= low;
    if (low + (uint32_t)rows->nodes > 64) {
        at++;
        any |= (word[0][at] | word[1][at] | word[2][at] | word[3][at])
               << (64 - low);
    }
    for (small->sums = 0; any != 0; any &= any - 1)
        small->active[small->sums++] = __builtin_ctzll(any);
}

/* Bit by bit from the lowest: the lanes in which it is set. */
PRI_INLINE four_masks next_mask(four_masks *words)
{
    const four_masks none = {0}, one = {1, 1, 1, 1};
    four_masks mask = none - (*words & one);
    *words = (four_masks)((pri_half)*words >> 1);
    return mask;
}

/* Word `at` of all four. */
PRI_INLINE four_masks words_at(const struct pri_small *small, int32_t at)
{
    return (four_masks){
        (int64_t)small->word[0][at], (int64_t)small->word[1][at],
        (int64_t)small->word[2][at], (int64_t)small->word[3][at]};
}

PRI_INLINE pri_four four_at(const double *from)
{
    pri_four values;
    memcpy(&values, from, sizeof values);
    return values;
}

PRI_CLONES
static void load_words(struct pri_small *small, const struct pri_rows *rows)
{
    const struct pri_tables *tables = small->tables;
    find_active(small, rows, small->word);
    for (int32_t a = 0; a < small->sums; a++) {
        int32_t j = small->active[a];
        uint32_t bit = (uint32_t)(rows->entries + j);
        four_masks words = words_at(small, (int32_t)(bit / 64));
        words = (four_masks)((pri_half)words >> bit % 64);
        small->up[j] = (pri_four)((four_masks)fill(1) & next_mask(&words));
        for (int32_t h = tables->first[j]; h < tables->first[j + 1]; h++) {
            const struct pri_handful *handful = &tables->handful[h];
            uint32_t first = (uint32_t)handful->begin;
            words = words_at(small, (int32_t)(first / 64));
            words = (four_masks)((pri_half)words >> first % 64);
            for (int64_t k = handful->begin; k < handful->end; k++)
                small->entry[k] =
                    (pri_four)((four_masks)four_at(tables->weight + 4 * k) &
                               next_mask(&words));
        }
        small->chance[j] = fill(0);
    }
}

void pri_small_load_words(struct pri_small *small, const struct pri_rows *rows,
                          const struct pri_tables *tables,
                          const uint64_t *const *word)
{
    small->tables = tables;
    memcpy(small->word, word, sizeof small->word);
    load_words(small, rows);
}
