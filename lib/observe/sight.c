/*
 * From sums to single shares, for relays that see them and for a listener. Claims:
 * docs/mathematics.md, Who else sees.
 */
#include "sight.h"

#include <math.h>
#include <stdlib.h>

double pri_sight_weight(const struct pri_sight *sight, int32_t at,
                        double *noise)
{
    int32_t link = at == sight->node
                       ? -1
                       : pricer_network_find(sight->network, sight->node, at);
    if (at != sight->node && link < 0) {
        *noise = 0;
        return 0;
    }
    *noise = link < 0 ? sight->plan->self_noise[at] : sight->plan->noise[link];
    return link < 0 ? sight->plan->self_weight[at] : sight->plan->weight[link];
}

/* A source says (weight diameter)^2 as `signal`, in whatever unit; the same for
 * its noises. Too much noise is cut: less than there is. */
double pri_sight_variance(const struct pri_sight *sight,
                          const struct pri_source *source, double noise)
{
    double own;
    long double move = (long double)sight->network->node_diameter[sight->node] *
                       pri_sight_weight(sight, source->node, &own);
    long double ratio = move > 0 ? noise / move : 0;
    return (double)(fminl(ratio * ratio, 1e290L) * source->signal);
}

bool pri_sight_singly(const struct pri_sight *sight, int32_t at)
{
    const struct pricer_question *question = sight->question;
    if (question->observer == PRICER_OBSERVER_LISTENER)
        return at != sight->node;
    return question->relays == PRICER_RELAYS_SHARES &&
           pri_sight_member(sight, at);
}

/* Pairs of noises that have moved, or are gone (-1). */
static void keep_pairs(struct pri_view *view, const int32_t *moved)
{
    int32_t kept = 0;
    for (int32_t k = 0; k < view->pairs; k++) {
        struct pri_coupled pair = view->pair[k];
        pair.first = pair.gate ? pair.first : moved[pair.first];
        pair.second = moved[pair.second];
        if (pair.second >= 0 && (pair.gate || pair.first >= 0))
            view->pair[kept++] = pair;
    }
    view->pairs = kept;
}

enum pricer_status pri_view_shares(const struct pri_sight *sight,
                                   struct pri_view *view)
{
    int32_t kept = 0, sums = 0;
    int32_t *moved = pri_alloc(view->noises, sizeof *moved);
    if (moved == NULL)
        return PRICER_MEMORY;
    for (int32_t k = 0; k < view->noises; k++)
        moved[k] = -1;
    for (int32_t s = 0; s < view->sources; s++) {
        struct pri_source *source = &view->source[s];
        bool singly = pri_sight_singly(sight, source->node);
        int32_t begin = kept;
        double noise;
        sums += !singly;
        for (int32_t k = source->begin; k < source->end && !singly; k++) {
            moved[k] = kept;
            view->noise[kept++] = view->noise[k];
        }
        source->begin = begin;
        source->end = kept;
        if (!singly)
            continue;
        pri_sight_weight(sight, source->node, &noise);
        source->base = pri_sight_variance(sight, source, noise);
    }
    view->noises = kept;
    keep_pairs(view, moved);
    if (sums == 0)
        view->visible = true;
    free(moved);
    return PRICER_OK;
}
