/*
 * From a view to its floor: the probability that some sum is seen without any
 * noise in it.
 */
#include "account.h"

#include <math.h>

/* As many pairs are conditioned on; the others are decoupled upwards. */
enum { PAIRS_MOST = 14 };

/* The probability that some sum is bare, with all links independent as
 * scratch->link and chance have them. */
static double bare_chance(const struct pri_view *view,
                          const struct pri_scratch *scratch)
{
    double any = 0;
    for (int32_t k = 0; k < view->sources; k++) {
        const struct pri_source *source = &view->source[k];
        double chance = source->uplink * scratch->link[k];
        for (int32_t x = source->begin; x < source->end; x++)
            chance *= 1 - scratch->chance[x];
        any += source->base == 0 ? (1 - any) * chance : 0;
    }
    return any;
}

/* P(second up) given the first. */
static double second_given(const struct pri_view *view,
                           const struct pri_coupled *pair, double first,
                           bool up)
{
    double second = view->noise[pair->second].chance;
    double chance =
        up ? pair->joint / first : (second - pair->joint) / (1 - first);
    return fmin(fmax(chance, 0), 1);
}

/* Over all states of pair[from], pair[from + 1] ...: how bare it is. */
static double over_pairs(const struct pri_view *view, int32_t from,
                         int32_t given, struct pri_scratch *scratch)
{
    while (from < view->pairs &&
           (view->source[view->pair[from].source].base > 0 ||
            view->source[view->pair[from].other].base > 0))
        from++;
    if (from >= view->pairs)
        return bare_chance(view, scratch);
    const struct pri_coupled *pair = &view->pair[from];
    double *first = pair->gate ? &scratch->link[pair->source]
                               : &scratch->chance[pair->first];
    double *second = &scratch->chance[pair->second];
    double chance = *first, other = *second, sum = 0;
    if (given >= PAIRS_MOST) {
        *second = second_given(view, pair, chance, false);
        sum = over_pairs(view, from + 1, given, scratch);
    }
    for (int up = 0; up < 2 && given < PAIRS_MOST; up++) {
        *first = up;
        *second = second_given(view, pair, chance, up);
        sum += (up ? chance : 1 - chance) *
               over_pairs(view, from + 1, given + 1, scratch);
    }
    *first = chance;
    *second = other;
    return sum;
}

double pri_view_floor(const struct pri_view *view, int64_t rounds,
                      struct pri_scratch *scratch)
{
    bool possible = false;
    for (int32_t k = 0; k < view->sources; k++) {
        possible = possible || view->source[k].base == 0;
        scratch->link[k] = view->source[k].link;
    }
    if (!possible)
        return 0;
    for (int32_t k = 0; k < view->noises; k++)
        scratch->chance[k] = view->noise[k].chance;
    double bare = fmin(over_pairs(view, 0, 0, scratch), 1);
    double all = -expm1((double)rounds * log1p(-bare));
    return fmin(all * (1 + 1e-12), 1);
}
