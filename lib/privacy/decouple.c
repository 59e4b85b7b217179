/*
 * From the links that are coupled to chances with which each may be drawn by
 * itself: how much each of them usually matters. Claims and proofs:
 * docs/mathematics.md, Decoupling.
 */
#include "decouple.h"

#include <math.h>
#include <stdlib.h>

enum { FIXED_FEW = 3, PASSES_MOST = 24 };

static double first_chance(const struct pri_view *view,
                           const struct pri_coupled *pair)
{
    return pair->gate ? view->source[pair->source].link
                      : view->noise[pair->first].chance;
}

/* How much the first link moves mu^2 at most, and by which part of what is
 * there at least. */
static void reach_of(const struct pri_view *view,
                     const struct pri_coupled *pair, double *drop, double *part)
{
    const struct pri_source *at = &view->source[pair->source];
    double here = at->base;
    if (pair->gate) {
        const struct pri_source *own = &view->source[pair->other];
        double most = own->base;
        for (int32_t x = own->begin; x < own->end; x++)
            most += view->noise[x].size;
        *drop = at->signal / here;
        *part = *drop * most / own->signal;
    } else {
        double size = view->noise[pair->first].size;
        *drop = at->signal / here * (size / (here + size));
        *part = size / here;
    }
    if (!(here > 0))
        *drop = *part = INFINITY;
}

/* By how much the chance of the second noise has to change so that it may be
 * drawn by itself. */
static double change_of(const struct pri_decoupling *ask,
                        const struct pri_coupled *pair,
                        const struct pri_effects *effects)
{
    const struct pri_view *view = ask->view;
    bool above = ask->side == PRI_ABOVE;
    double cell[2][2], first = first_chance(view, pair), drop, part;
    double covariance = fmax(pri_pair_cells(view, pair, cell), 0);
    reach_of(view, pair, &drop, &part);
    /* A gate turns the sign of the difference round. */
    bool grows = above != pair->gate;
    double falls = drop / 8 + fmin(part / 2, ask->fall * drop);
    double h = grows ? ask->growth * drop : falls;
    double small = isfinite(h) ? exp(-h) : 0;
    /* The weight of the larger gain, and of the smaller. */
    double larger = above ? 1 - first : first;
    double change = covariance * (isfinite(h) ? -expm1(-h) : 1) /
                    (larger + (1 - larger) * small);
    if (grows)
        change = fmin(change,
                      covariance * (pair->gate ? effects->gated[pair->source]
                                               : effects->effect[pair->first]));
    return change * (1 + 1e-12);
}

/* The absence of the second noise with which it may be drawn by itself, and no
 * further off than by the order alone. */
static double decoupled(const struct pri_decoupling *ask,
                        const struct pri_coupled *pair,
                        const struct pri_effects *effects)
{
    const struct pri_view *view = ask->view;
    double cell[2][2], absent = pri_absent(&view->noise[pair->second]);
    double covariance = pri_pair_cells(view, pair, cell);
    double up = cell[1][0] / (cell[1][0] + cell[1][1]);
    double down = cell[0][0] / (cell[0][0] + cell[0][1]);
    double change = change_of(ask, pair, effects);
    if (covariance < 0) /* by rounding only: the order alone */
        return ask->side == PRI_ABOVE ? fmax(up, down) : fmin(up, down);
    return ask->side == PRI_ABOVE ? fmin(absent + change, fmax(up, down))
                                  : fmax(absent - change, fmin(up, down));
}

/* The probability that a sum is seen, where that may be tilted by the noise
 * that comes with it elsewhere. */
static double tilted_seen(const struct pri_decoupling *ask, int32_t index,
                          const struct pri_effects *effects)
{
    const struct pri_view *view = ask->view;
    double seen = pri_seen(&view->source[index]);
    if (effects->gate[index] < 0 || seen == 1)
        return seen;
    const struct pri_coupled *pair = &view->pair[effects->gate[index]];
    const struct pri_source *own = &view->source[pair->other];
    double size = view->noise[pair->second].size, base = own->base;
    double drop =
        base > 0 ? own->signal / base * (size / (base + size)) : INFINITY;
    double odds =
        seen / (1 - seen) * exp(fmin((0.125 + ask->fall) * drop, 700));
    return isfinite(odds) ? odds / (1 + odds) : 1;
}

/* (1) for the k-th noise of the list. */
static double effect_of(const struct pri_view *view,
                        const struct pri_noises *list, int32_t k, int32_t fixed,
                        double seen, double mean, double chance)
{
    double mass[PRI_BINS + PRI_HEARD_MOST + 2], few = INFINITY;
    double size = view->noise[list->at[k]].size;
    if (fixed > 0)
        few = pri_effect_with_few(list, list->count - 1 - fixed, size, seen,
                                  chance);
    if (fixed > FIXED_FEW)
        return few;
    /* E(X | absent) <= E X / P(absent) */
    int32_t top = pri_spread_law(view, list, k, mass);
    double gain = pri_lost_with(list, mass, top, size);
    gain /= pow(list->least_absent, fixed);
    double less = fmax(list->absent[k] - (1 - chance), 0) * gain;
    double all = (1 - seen) * pri_weight_unseen(list) + seen * (mean - less);
    double many = all > 0 ? seen * gain / all * (1 + 1e-9) : INFINITY;
    return fmin(few, many);
}

/* The same for the link that brings the data, which is up with `link`. */
static double gate_effect(const struct pri_view *view,
                          const struct pri_noises *list,
                          const struct pri_source *source, double mean)
{
    double mass[PRI_BINS + PRI_HEARD_MOST + 2];
    int32_t top = pri_spread_law(view, list, -1, mass);
    double gain = pri_lost_with(list, mass, top, INFINITY);
    double seen = source->uplink * source->link;
    double all = (1 - seen) * pri_weight_unseen(list) + seen * mean;
    return all > 0 ? source->uplink * gain / all * (1 + 1e-9) : INFINITY;
}

/* One pass over all sums: the effects from the tilts as they are. */
static void find_effects(const struct pri_decoupling *ask, int32_t fixed,
                         struct pri_effects *effects)
{
    const struct pri_view *view = ask->view;
    struct pri_noises list;
    for (int32_t j = 0; j < view->sources; j++) {
        if (!pri_noises_collect(ask, j, effects, &list))
            continue;
        list.least_absent = 1;
        list.most_absent = 0;
        for (int32_t k = 0; k < list.count; k++) {
            list.absent[k] = pri_tilted_absent(view, list.at[k], effects);
            list.least_absent = fmin(list.least_absent, list.absent[k]);
            list.most_absent = fmax(list.most_absent, list.absent[k]);
        }
        double mean = pri_gathered_mean(view, &list);
        double seen = tilted_seen(ask, j, effects);
        for (int32_t k = 0; k < list.count; k++) {
            int32_t x = list.at[k], index = effects->partner[x];
            if (index < 0 || view->pair[index].gate)
                continue;
            effects->effect[x] =
                fmin(effects->effect[x], effect_of(view, &list, k, fixed, seen,
                                                   mean, effects->chance[x]));
        }
        if (effects->gate[j] >= 0 && fixed == 0)
            effects->gated[j] =
                fmin(effects->gated[j],
                     gate_effect(view, &list, &view->source[j], mean));
    }
}

/* What follows for the tilts. */
static void find_tilts(const struct pri_decoupling *ask,
                       struct pri_effects *effects)
{
    const struct pri_view *view = ask->view;
    for (int32_t k = 0; k < view->pairs; k++) {
        const struct pri_coupled *pair = &view->pair[k];
        if (pair->gate || effects->partner[pair->first] != k)
            continue;
        int32_t both[] = {pair->first, pair->second};
        for (int end = 0; end < 2; end++) {
            double effect = effects->effect[both[end]];
            double p = effects->chance[both[end]], left = 1 - (1 - p) * effect;
            double t = left > 0 ? (1 + p * effect) / left : INFINITY;
            effects->tilt[both[end]] = fmin(effects->tilt[both[end]], t);
        }
        double cell[2][2];
        double covariance = fmax(pri_pair_cells(view, pair, cell), 0);
        double shift = covariance * effects->effect[pair->first];
        effects->shift[pair->second] =
            fmin(effects->shift[pair->second], shift);
    }
}

/* The most that e^(gh) can be multiplied by, in the mean over whether the sum
 * is seen, when a noise goes: where it is the only one. */
static double worst_tilt(const struct pri_decoupling *ask, int32_t source,
                         int32_t noise, const struct pri_effects *effects)
{
    double base = ask->view->source[source].base;
    double size = ask->view->noise[noise].size;
    double scale = ask->growth * ask->view->source[source].signal;
    double seen = tilted_seen(ask, source, effects);
    double without = 1 - seen + seen * exp(scale / base);
    double with = 1 - seen + seen * exp(scale / (base + size));
    return isfinite(without) ? without / with * (1 + 1e-9) : INFINITY;
}

/* What holds without further ado. */
static void begin(const struct pri_decoupling *ask, struct pri_effects *effects)
{
    const struct pri_view *view = ask->view;
    for (int32_t k = 0; k < view->noises; k++) {
        effects->tilt[k] = INFINITY;
        effects->shift[k] = 0;
    }
    for (int32_t k = 0; k < view->pairs; k++) {
        const struct pri_coupled *pair = &view->pair[k];
        if (pair->gate || effects->partner[pair->first] != k)
            continue;
        effects->tilt[pair->first] =
            worst_tilt(ask, pair->source, pair->first, effects);
        effects->tilt[pair->second] =
            worst_tilt(ask, pair->other, pair->second, effects);
        if (ask->side == PRI_ABOVE)
            effects->shift[pair->second] =
                decoupled(ask, pair, effects) -
                pri_absent(&view->noise[pair->second]);
    }
}

/* Which pair everything is of; no effects are known yet. */
static void mark_pairs(const struct pri_view *view, struct pri_effects *effects)
{
    for (int32_t k = 0; k < view->noises; k++) {
        effects->chance[k] = view->noise[k].chance;
        effects->absent[k] = pri_absent(&view->noise[k]);
        effects->partner[k] = -1;
        effects->effect[k] = INFINITY;
    }
    for (int32_t k = 0; k < view->sources; k++) {
        effects->gate[k] = -1;
        effects->gated[k] = INFINITY;
    }
    for (int32_t k = 0; k < view->pairs; k++) {
        const struct pri_coupled *pair = &view->pair[k];
        effects->partner[pair->second] = k;
        if (pair->gate)
            effects->gate[pair->source] = k;
        else
            effects->partner[pair->first] = k;
    }
}

/* The effects of all links, from the worst that they can do. */
static void find_all(const struct pri_decoupling *ask,
                     struct pri_effects *effects)
{
    const struct pri_view *view = ask->view;
    int32_t passes = 2;
    for (int32_t j = 0; j < view->sources; j++) {
        int32_t count = view->source[j].end - view->source[j].begin;
        passes = count > passes ? count : passes;
    }
    passes = passes < PASSES_MOST ? passes : PASSES_MOST;
    begin(ask, effects);
    for (int32_t pass = 0; pass < passes; pass++) {
        int32_t fixed = passes - 2 - pass;
        find_effects(ask, fixed > 0 ? fixed : 0, effects);
        find_tilts(ask, effects);
    }
}

enum pricer_status pri_decouple(const struct pri_view *view, enum pri_side side,
                                double growth, double least,
                                struct pri_chances *chances)
{
    int64_t noises = view->noises, sources = view->sources;
    double *memory = pri_alloc(5 * noises + sources, sizeof *memory);
    int32_t *index = pri_alloc(noises + sources, sizeof *index);
    struct pri_decoupling ask = {view, side, growth,
                                 .125 / least / least * (1 + 1e-9)};
    enum pricer_status status = PRICER_MEMORY;
    if (memory != NULL && index != NULL) {
        struct pri_effects effects = {memory,
                                      memory + noises,
                                      memory + 2 * noises,
                                      memory + 3 * noises,
                                      memory + 4 * noises,
                                      index,
                                      memory + 5 * noises,
                                      index + noises};
        mark_pairs(view, &effects);
        find_all(&ask, &effects);
        pri_plain_chances(view, chances);
        for (int32_t k = 0; k < view->pairs; k++) {
            int32_t second = view->pair[k].second;
            double absent = decoupled(&ask, &view->pair[k], &effects);
            chances->chance[second] =
                fmin(fmax(chances->chance[second] +
                              (chances->absent[second] - absent),
                          0),
                     1);
            chances->absent[second] = fmin(fmax(absent, 0), 1);
        }
        status = PRICER_OK;
    }
    free(memory);
    free(index);
    return status;
}
