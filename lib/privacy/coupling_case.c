/*
 * From a view to what is left of it conditioned on which sums are seen: a view
 * of its own, whose only pairs are of two noises in sums that are both seen.
 *
 * Claim. The sources that pairs are about are given, but for those that are only
 * the second of gates. Then a gate has its first link given, or known up to what
 * is independent of all else, and the second its conditional probability; a
 * pair with an end in a sum that is not seen leaves the other with its own
 * probability. What is given is exact, so the mixture over all cases is.
 */
#include "coupling.h"

#include <math.h>
#include <stdlib.h>

void pri_condition_free(struct pri_condition *given)
{
    free(given->source);
    free(given->gated);
    free(given->place);
    pri_view_free(&given->view);
    *given = (struct pri_condition){0};
}

/* Which sources are to be given, and which noises are the second of a gate.
 * False if there are too many. */
static bool list_given(const struct pri_view *view, struct pri_condition *given)
{
    bool *paired = given->paired;
    for (int32_t k = 0; k < view->sources; k++)
        paired[k] = false;
    for (int32_t k = 0; k < view->pairs; k++) {
        const struct pri_coupled *pair = &view->pair[k];
        paired[pair->source] = true;
        paired[pair->other] = paired[pair->other] || !pair->gate;
        if (pair->gate)
            given->gated[pair->second] = true;
    }
    for (int32_t k = 0; k < view->sources; k++) {
        double seen = view->source[k].uplink * view->source[k].link;
        if (!paired[k])
            continue;
        if (k >= PRI_GIVEN_MOST)
            return false;
        given->all |= (uint64_t)1 << k;
        if (seen < 1)
            given->source[given->count++] = k;
        else
            given->certain |= (uint64_t)1 << k;
    }
    return given->count <= PRI_GIVEN_UNCERTAIN;
}

enum pricer_status pri_condition_build(const struct pri_view *view,
                                       struct pri_condition *given, bool *able)
{
    *given = (struct pri_condition){0};
    given->source = pri_alloc(view->sources, sizeof *given->source);
    given->gated =
        pri_alloc((int64_t)view->noises + view->sources, sizeof *given->gated);
    given->place =
        pri_alloc((int64_t)view->noises + view->sources, sizeof *given->place);
    struct pri_view *one = &given->view;
    one->source = pri_alloc(view->sources, sizeof *one->source);
    one->noise = pri_alloc(view->noises, sizeof *one->noise);
    one->pair = pri_alloc(view->pairs, sizeof *one->pair);
    bool all = given->source && given->gated && given->place && one->source &&
               one->noise && one->pair;
    *able = all;
    if (all) {
        given->paired = given->gated + view->noises;
        *able = list_given(view, given);
    }
    if (!*able)
        pri_condition_free(given);
    return all ? PRICER_OK : PRICER_MEMORY;
}

/* One source that may be seen, with the noises that are not certain. */
static void add_source(const struct pri_view *view, int32_t index,
                       const struct pri_scratch *scratch,
                       struct pri_condition *given)
{
    struct pri_view *one = &given->view;
    struct pri_source source = view->source[index];
    int32_t begin = source.begin, end = source.end;
    source.uplink = scratch->seen[index];
    source.link = 1;
    source.base = scratch->base[index];
    source.begin = one->noises;
    for (int32_t k = begin; k < end; k++) {
        struct pri_packet noise = view->noise[k];
        if (given->gated[k])
            noise.chance = scratch->chance[k];
        /* What is certain is in the base already. */
        if (noise.chance == 0 || (given->gated[k] && noise.chance == 1))
            continue;
        given->place[k] = one->noises;
        one->noise[one->noises++] = noise;
    }
    source.end = one->noises;
    given->place[view->noises + index] = one->sources;
    one->source[one->sources++] = source;
}

double pri_condition_case(const struct pri_attempt *attempt, uint64_t number,
                          struct pri_scratch *scratch,
                          struct pri_condition *given)
{
    const struct pri_view *view = attempt->view;
    struct pri_case what = {.given = given->all, .seen = given->certain};
    struct pri_view *one = &given->view;
    for (int32_t k = 0; k < given->count; k++)
        if (number >> k & 1)
            what.seen |= (uint64_t)1 << given->source[k];
    struct pri_attempt plain = *attempt; /* nothing is to be decoupled */
    plain.typical = false;
    double weight = pri_case_set(&plain, &what, scratch);
    one->sources = one->noises = one->pairs = 0;
    for (int32_t k = 0; k < view->noises + view->sources; k++)
        given->place[k] = -1;
    for (int32_t k = 0; k < view->sources; k++)
        if (scratch->seen[k] > 0)
            add_source(view, k, scratch, given);
    for (int32_t k = 0; k < view->pairs; k++) {
        struct pri_coupled pair = view->pair[k];
        if (pair.gate || given->place[pair.first] < 0 ||
            given->place[pair.second] < 0)
            continue;
        pair.first = given->place[pair.first];
        pair.second = given->place[pair.second];
        pair.source = given->place[view->noises + pair.source];
        pair.other = given->place[view->noises + pair.other];
        one->pair[one->pairs++] = pair;
    }
    return weight;
}
