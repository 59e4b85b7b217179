/*
 * From a view to what is left of it once it is told which sums are seen: a view
 * of its own, whose only pairs are of two noises in sums that are both seen.
 *
 * Claim. The sources that pairs are about are told, but for those that are only
 * the second of gates. Then a gate has its first link told, or known up to what
 * is independent of all else, and the second its conditional probability; a
 * pair with an end in a sum that is not seen leaves the other with its own
 * probability. What is told is exact, so the mixture over all cases is.
 */
#include "coupling.h"

#include <math.h>
#include <stdlib.h>

void pri_told_free(struct pri_told *told)
{
    free(told->source);
    free(told->gated);
    free(told->place);
    pri_view_free(&told->view);
    *told = (struct pri_told){0};
}

/* Which sources are to be told, and which noises are the second of a gate.
 * False if there are too many. */
static bool list_told(const struct pri_view *view, struct pri_told *told)
{
    bool *paired = told->paired;
    for (int32_t k = 0; k < view->sources; k++)
        paired[k] = false;
    for (int32_t k = 0; k < view->pairs; k++) {
        const struct pri_coupled *pair = &view->pair[k];
        paired[pair->source] = true;
        paired[pair->other] = paired[pair->other] || !pair->gate;
        if (pair->gate)
            told->gated[pair->second] = true;
    }
    for (int32_t k = 0; k < view->sources; k++) {
        double seen = view->source[k].uplink * view->source[k].link;
        if (!paired[k])
            continue;
        if (k >= PRI_TOLD_MOST)
            return false;
        told->all |= (uint64_t)1 << k;
        if (seen < 1)
            told->source[told->count++] = k;
        else
            told->certain |= (uint64_t)1 << k;
    }
    return told->count <= PRI_TOLD_UNCERTAIN;
}

enum pricer_status pri_told_build(const struct pri_view *view,
                                  struct pri_told *told, bool *able)
{
    *told = (struct pri_told){0};
    told->source = pri_alloc(view->sources, sizeof *told->source);
    told->gated =
        pri_alloc((int64_t)view->noises + view->sources, sizeof *told->gated);
    told->place =
        pri_alloc((int64_t)view->noises + view->sources, sizeof *told->place);
    struct pri_view *one = &told->view;
    one->source = pri_alloc(view->sources, sizeof *one->source);
    one->noise = pri_alloc(view->noises, sizeof *one->noise);
    one->pair = pri_alloc(view->pairs, sizeof *one->pair);
    bool all = told->source && told->gated && told->place && one->source &&
               one->noise && one->pair;
    *able = all;
    if (all) {
        told->paired = told->gated + view->noises;
        *able = list_told(view, told);
    }
    if (!*able)
        pri_told_free(told);
    return all ? PRICER_OK : PRICER_MEMORY;
}

/* One source that may be seen, with the noises that are not certain. */
static void add_source(const struct pri_view *view, int32_t index,
                       const struct pri_scratch *scratch, struct pri_told *told)
{
    struct pri_view *one = &told->view;
    struct pri_source source = view->source[index];
    int32_t begin = source.begin, end = source.end;
    source.uplink = scratch->seen[index];
    source.link = 1;
    source.base = scratch->base[index];
    source.begin = one->noises;
    for (int32_t k = begin; k < end; k++) {
        struct pri_packet noise = view->noise[k];
        if (told->gated[k])
            noise.chance = scratch->chance[k];
        /* What is certain is in the base already. */
        if (noise.chance == 0 || (told->gated[k] && noise.chance == 1))
            continue;
        told->place[k] = one->noises;
        one->noise[one->noises++] = noise;
    }
    source.end = one->noises;
    told->place[view->noises + index] = one->sources;
    one->source[one->sources++] = source;
}

double pri_told_case(const struct pri_attempt *attempt, uint64_t number,
                     struct pri_scratch *scratch, struct pri_told *told)
{
    const struct pri_view *view = attempt->view;
    struct pri_case what = {.told = told->all, .seen = told->certain};
    struct pri_view *one = &told->view;
    for (int32_t k = 0; k < told->count; k++)
        if (number >> k & 1)
            what.seen |= (uint64_t)1 << told->source[k];
    struct pri_attempt plain = *attempt; /* nothing is to be decoupled */
    plain.usual = false;
    double weight = pri_case_set(&plain, &what, scratch);
    one->sources = one->noises = one->pairs = 0;
    for (int32_t k = 0; k < view->noises + view->sources; k++)
        told->place[k] = -1;
    for (int32_t k = 0; k < view->sources; k++)
        if (scratch->seen[k] > 0)
            add_source(view, k, scratch, told);
    for (int32_t k = 0; k < view->pairs; k++) {
        struct pri_coupled pair = view->pair[k];
        if (pair.gate || told->place[pair.first] < 0 ||
            told->place[pair.second] < 0)
            continue;
        pair.first = told->place[pair.first];
        pair.second = told->place[pair.second];
        pair.source = told->place[view->noises + pair.source];
        pair.other = told->place[view->noises + pair.other];
        one->pair[one->pairs++] = pair;
    }
    return weight;
}
