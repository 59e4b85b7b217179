/*
 * From a view to one that holds whichever k of the other nodes leave out their
 * noise: they are down, refuse or lie. Claim and proof: docs/mathematics.md, Who
 * else sees.
 */
#include "sight.h"

#include <stdlib.h>

/* The noises of one sum, and the chance of every noise of the view. */
struct crowd {
    double *size, *chance; /* [room] */
    const double *alone;   /* [noises] */
    int32_t count, room;
};

static int falling(const void *one, const void *two)
{
    double a = *(const double *)one, b = *(const double *)two;
    return a > b ? -1 : a < b;
}

/* The chance of each noise by itself. */
static void decouple(const struct pri_view *view, double *alone)
{
    for (int32_t k = 0; k < view->noises; k++)
        alone[k] = view->noise[k].chance;
    for (int32_t k = 0; k < view->pairs; k++) {
        const struct pri_coupled *pair = &view->pair[k];
        double second = view->noise[pair->second].chance;
        double first = pri_first(view, pair);
        if (pair->gate) {
            alone[pair->second] = pri_at_least(second, first, pair->joint);
            continue;
        }
        alone[pair->first] = pri_apart(first, second, pair->joint);
        alone[pair->second] = pri_apart(second, first, pair->joint);
    }
}

/* The noise of the others in a sum: of those that send to it, and of who makes
 * it. The base of a source has lumped together what is always there. */
static void gather(const struct pri_sight *sight, const struct pri_view *view,
                   const struct pri_source *source, struct crowd *crowd)
{
    const struct pricer_network *net = sight->network;
    const struct pricer_plan *plan = sight->plan;
    int32_t at = source->node, next = source->begin;
    crowd->count = 0;
    if (at != sight->node && !pri_sight_member(sight, at)) {
        crowd->size[0] =
            pri_sight_variance(sight, source, plan->self_noise[at]);
        crowd->chance[crowd->count++] = 1;
    }
    for (int32_t k = net->in_start[at]; k < net->in_start[at + 1]; k++) {
        int32_t l = net->in_link[k], from = net->from[l];
        if (from == sight->node || pri_sight_member(sight, from) ||
            !(plan->noise[l] > 0))
            continue;
        while (next < source->end && view->noise[next].from < from)
            next++;
        bool listed = next < source->end && view->noise[next].from == from;
        crowd->size[crowd->count] =
            pri_sight_variance(sight, source, plan->noise[l]);
        crowd->chance[crowd->count++] = listed           ? crowd->alone[next]
                                        : net->p[l] == 1 ? 1
                                                         : 0;
    }
}

/* What is left of one sum; its noises go to *kept on. */
static void thin_out(const struct pri_sight *sight, struct crowd *crowd,
                     struct pri_source *source, struct pri_view *view,
                     int32_t *kept)
{
    int32_t silent = sight->question->silent, last = crowd->count - 1;
    double noise;
    qsort(crowd->size, (size_t)crowd->count, sizeof(double), falling);
    qsort(crowd->chance, (size_t)crowd->count, sizeof(double), falling);
    pri_sight_weight(sight, source->node, &noise);
    long double base = pri_sight_variance(sight, source, noise);
    source->begin = *kept;
    for (int32_t k = silent; k <= last; k++) {
        double size = crowd->size[k];
        double chance = crowd->chance[last - (k - silent)];
        if (chance == 1)
            base += size;
        else if (chance > 0 && size > 0)
            view->noise[(*kept)++] = (struct pri_packet){
                .from = source->node, .size = size, .chance = chance};
    }
    source->base = (double)base;
    source->end = *kept;
}

enum pricer_status pri_view_silence(const struct pri_sight *sight,
                                    struct pri_view *view)
{
    const struct pricer_network *net = sight->network;
    enum pricer_status status = PRICER_MEMORY;
    struct crowd crowd = {0};
    int32_t kept = 0;
    double *alone = pri_alloc(view->noises, sizeof *alone);
    for (int32_t s = 0; s < view->sources; s++) {
        int32_t at = view->source[s].node;
        int32_t most = net->in_start[at + 1] - net->in_start[at] + 1;
        crowd.room = most > crowd.room ? most : crowd.room;
    }
    crowd.size = pri_alloc(crowd.room, sizeof(double));
    crowd.chance = pri_alloc(crowd.room, sizeof(double));
    if (alone == NULL || crowd.size == NULL || crowd.chance == NULL)
        goto done;
    decouple(view, alone);
    crowd.alone = alone;
    /* A sum keeps at most as many uncertain noises as it had: those taken away
     * are the ones with the largest chances. */
    for (int32_t s = 0; s < view->sources; s++) {
        struct pri_source *source = &view->source[s];
        if (pri_sight_singly(sight, source->node)) {
            source->begin = source->end = kept;
            continue;
        }
        gather(sight, view, source, &crowd);
        thin_out(sight, &crowd, source, view, &kept);
    }
    view->noises = kept;
    view->pairs = 0;
    view->visible = false;
    status = PRICER_OK;
done:
    free(alone);
    free(crowd.size);
    free(crowd.chance);
    return status;
}
