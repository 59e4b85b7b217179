/*
 * From the links that are coupled to chances with which each may be drawn by
 * itself: how much each of them usually matters. Claims and proofs:
 * docs/mathematics.md, Decoupling.
 */
#include "bare.h"

#include <math.h>
#include <stdlib.h>

enum { FIXED_FEW = 3, PASSES = 12, BINS = 64, HEARD_MOST = 256 };

/* How much one noise matters. */
struct effect {
    double mean;  /* on average */
    double tilt;  /* a factor of what is lost with it */
    double shift; /* by how much it may be absent more often */
    const struct pri_coupled *pair; /* of noises that it is of, or NULL */
};

/* What decoupling works on. */
struct effects {
    const struct pri_view *view;
    enum pri_side side;
    double growth;     /* f''/f' of the raised curve is at most this */
    double fall;       /* and that of f at least -1/8 - this */
    struct effect *at; /* [noises] */
};

/* ------------------------------------------------------------- one sum -- */

/* The noises of one sum that come and go. */
struct noises {
    int32_t count, at[HEARD_MOST];
    double signal, base, step, smallest, largest, growth, least_absent,
        most_absent;
    double absent[HEARD_MOST]; /* tilted */
};

/* The odds of a noise's absence, tilted by the opposite noise. */
static double tilted_absent(const struct effects *effects, int32_t x)
{
    const struct pri_view *view = effects->view;
    double p = view->noise[x].chance, factor = 1;
    const struct pri_coupled *pair = effects->at[x].pair;
    if (pair != NULL) {
        bool is_first = pair->first == x;
        double t = effects->at[is_first ? pair->second : pair->first].tilt;
        double cell[2][2], given[2];
        pri_pair_cells(view, pair, cell);
        for (int up = 0; up < 2; up++) {
            double none = cell[is_first ? up : 0][is_first ? 0 : up];
            double one = cell[is_first ? up : 1][is_first ? 1 : up];
            given[up] = none / (none + one);
        }
        double with = given[1], without = fmax(given[0], with);
        factor = isinf(t) ? without / with
                          : (without * t + 1 - without) / (with * t + 1 - with);
    }
    double odds = (1 - p) / p * factor;
    double absent = isfinite(odds) ? odds / (1 + odds) : 1;
    return fmin(fmax(absent, 1 - p + effects->at[x].shift) * (1 + 1e-12), 1);
}

/* False if there is nothing to say about the sum. */
static bool collect(const struct effects *effects, int32_t index,
                    struct noises *list)
{
    const struct pri_view *view = effects->view;
    const struct pri_source *source = &view->source[index];
    double all = 0;
    *list = (struct noises){.signal = source->signal,
                            .base = source->base,
                            .smallest = INFINITY,
                            .growth = effects->growth,
                            .least_absent = 1};
    for (int32_t x = source->begin; x < source->end; x++) {
        double size = view->noise[x].size, chance = view->noise[x].chance;
        if (chance == 1)
            list->base += size;
        if (chance == 0 || chance == 1)
            continue;
        if (list->count == HEARD_MOST)
            return false;
        double absent = tilted_absent(effects, x);
        list->at[list->count] = x;
        list->absent[list->count++] = absent;
        list->smallest = fmin(list->smallest, size);
        list->largest = fmax(list->largest, size);
        list->least_absent = fmin(list->least_absent, absent);
        list->most_absent = fmax(list->most_absent, absent);
        all += size;
    }
    list->step = all / BINS;
    return list->base > 0 && all > 0;
}

/* e^(gh) at a variance beyond the base, over its largest value; where that has
 * no end the sum is as good as not seen. */
static double weight_at(const struct noises *list, double variance)
{
    double part = isinf(variance) ? 1 : variance / (list->base + variance);
    return exp(-list->growth * (list->signal / list->base) * part);
}

/* The law of the variance of all noises but `skip`, spread to the grid. */
static int32_t spread_law(const struct pri_view *view,
                          const struct noises *list, int32_t skip, double *mass)
{
    int32_t top = 0;
    mass[0] = 1;
    for (int32_t k = 0; k < list->count; k++) {
        if (k == skip)
            continue;
        double units = view->noise[list->at[k]].size / list->step;
        int32_t whole = (int32_t)units;
        double absent = list->absent[k], part = units - whole;
        double low = (1 - absent) * (1 - part), high = (1 - absent) * part;
        for (int32_t i = top + 1; i <= top + whole + 1; i++)
            mass[i] = 0;
        for (int32_t i = top; i >= 0; i--) {
            double here = mass[i];
            mass[i] = here * absent;
            mass[i + whole] += here * low;
            mass[i + whole + 1] += here * high;
        }
        top += whole + 1;
    }
    return top;
}

/* The mean of what of e^(gh) goes when a noise of that size comes, over all but
 * `skip`. What has next to no mass is taken as worst. */
static double lost_with(const struct pri_view *view, const struct noises *list,
                        int32_t skip, double size)
{
    double mass[BINS + HEARD_MOST + 2], sum = 0, rest = 0;
    int32_t top = spread_law(view, list, skip, mass);
    for (int32_t i = 0; i <= top; i++) {
        double at = i * list->step, here = list->base + at;
        double drop = isinf(size) ? 1 : size / (here + size);
        double part = -expm1(-list->growth * list->signal / here * drop);
        if (mass[i] < 1e-12)
            rest += mass[i];
        else
            sum += mass[i] * weight_at(list, at) * part;
    }
    return sum + rest;
}

/* A lower bound on the mean of e^(gh), by gathering. */
static double gathered_mean(const struct pri_view *view,
                            const struct noises *list)
{
    double mass[2][BINS + 2] = {{0}}, moment[2][BINS + 2] = {{0}};
    int now = 0;
    mass[0][0] = 1;
    for (int32_t k = 0; k < list->count; k++, now = !now) {
        double size = view->noise[list->at[k]].size, absent = list->absent[k];
        for (int32_t i = 0; i < BINS + 2; i++)
            mass[!now][i] = moment[!now][i] = 0;
        for (int32_t i = 0; i < BINS + 2; i++) {
            double here = mass[now][i];
            if (here == 0)
                continue;
            double mean = moment[now][i] / here + size;
            int32_t to = (int32_t)fmin(mean / list->step, BINS + 1);
            mass[!now][i] += here * absent;
            moment[!now][i] += moment[now][i] * absent;
            mass[!now][to] += here * (1 - absent);
            moment[!now][to] += here * (1 - absent) * mean;
        }
    }
    double sum = 0;
    for (int32_t i = 0; i < BINS + 2; i++)
        if (mass[now][i] > 0)
            sum += mass[now][i] *
                   weight_at(list, moment[now][i] / mass[now][i] * (1 + 1e-9));
    return sum * (1 - 1e-9);
}

/* The effect where only `count` others are left, whichever. */
static double effect_with_few(const struct noises *list, int32_t count,
                              double size, double seen, double chance)
{
    double absent = list->most_absent, all = 0, sum = 0, weight = 1;
    double scale = list->growth * list->signal, down = 1;
    count = count > 0 ? count : 0;
    double mass = pow(absent, count);
    if (!(mass > 1e-280))
        return INFINITY;
    for (int32_t k = 0; k <= count; k++) {
        double here = list->base + k * list->smallest;
        double rest = exp(-scale / here * (size / (here + size)));
        double part = (1 - rest) / (1 - chance + chance * rest);
        all += mass * weight;
        sum += mass * weight * part;
        down = weight * exp(-scale / here); /* not seen */
        weight *= exp(-scale / here * (list->largest / (here + list->largest)));
        mass *= (1 - absent) / absent * (count - k) / (k + 1);
    }
    double whole = (1 - seen) * down + seen * all;
    return whole > 0 ? seen * sum / whole * (1 + 1e-9) : INFINITY;
}

/* (1) for the k-th noise of the list. */
static double effect_of(const struct pri_view *view, const struct noises *list,
                        int32_t k, int32_t fixed, double seen, double mean)
{
    const struct pri_packet *noise = &view->noise[list->at[k]];
    double few = INFINITY, chance = noise->chance;
    if (fixed > 0)
        few = effect_with_few(list, list->count - 1 - fixed, noise->size, seen,
                              chance);
    if (fixed > FIXED_FEW)
        return few;
    /* E(X | absent) <= E X / P(absent) */
    double gain =
        lost_with(view, list, k, noise->size) / pow(list->least_absent, fixed);
    double less = fmax(list->absent[k] - (1 - chance), 0) * gain;
    double all = (1 - seen) * weight_at(list, INFINITY) + seen * (mean - less);
    double many = all > 0 ? seen * gain / all * (1 + 1e-9) : INFINITY;
    return fmin(few, many);
}

/* ------------------------------------------------------------- all sums -- */

/* The probability that a sum is seen, where that may be tilted by the noise
 * that comes with it elsewhere. */
static double tilted_seen(const struct effects *effects, int32_t index)
{
    const struct pri_view *view = effects->view;
    double odds = pri_seen(&view->source[index]);
    odds /= 1 - odds;
    for (int32_t k = 0; k < view->pairs; k++) {
        const struct pri_coupled *pair = &view->pair[k];
        const struct pri_source *own = &view->source[pair->other];
        double size = view->noise[pair->second].size, base = own->base;
        double drop =
            base > 0 ? own->signal / base * (size / (base + size)) : INFINITY;
        if (pair->gate && pair->source == index)
            odds *= exp((.125 + effects->fall) * drop);
    }
    return isfinite(odds) ? odds / (1 + odds) : 1;
}

/* One pass over all sums: the effects from the tilts as they are, and what
 * follows for the tilts. */
static void find_effects(const struct effects *effects, int32_t fixed)
{
    const struct pri_view *view = effects->view;
    struct noises list;
    double cell[2][2];
    for (int32_t j = 0; j < view->sources; j++) {
        if (!collect(effects, j, &list))
            continue;
        double mean = gathered_mean(view, &list);
        double seen = tilted_seen(effects, j);
        for (int32_t k = 0; k < list.count; k++) {
            struct effect *at = &effects->at[list.at[k]];
            if (at->pair != NULL)
                at->mean = fmin(at->mean,
                                effect_of(view, &list, k, fixed, seen, mean));
        }
    }
    for (int32_t x = 0; x < view->noises; x++) {
        struct effect *at = &effects->at[x];
        double p = view->noise[x].chance, left = 1 - (1 - p) * at->mean;
        if (at->pair == NULL)
            continue;
        if (left > 0)
            at->tilt = fmin(at->tilt, (1 + p * at->mean) / left);
        double *shift = &effects->at[at->pair->second].shift;
        double more = fmax(pri_pair_cells(view, at->pair, cell), 0);
        if (at->pair->first == x)
            *shift = fmin(*shift, more * at->mean);
    }
}

/* By how much the chance of the second noise has to change so that it may be
 * drawn by itself. */
static double change_of(const struct effects *effects,
                        const struct pri_coupled *pair, double covariance)
{
    const struct pri_view *view = effects->view;
    const struct pri_source *at = &view->source[pair->source];
    bool above = effects->side == PRI_ABOVE;
    double first = pri_first(view, pair);
    double size = pair->gate ? INFINITY : view->noise[pair->first].size;
    /* How much the first link moves mu^2 at most. */
    double drop = at->base > 0 ? at->signal / at->base : INFINITY;
    drop *= pair->gate ? 1 : size / (at->base + size);
    /* A gate turns the sign of the difference round. */
    bool grows = above != pair->gate;
    double h = (grows ? effects->growth : .125 + effects->fall) * drop;
    /* The weight of the larger gain, and of the smaller. */
    double larger = above ? 1 - first : first, small = exp(-h);
    double change = covariance * -expm1(-h) / (larger + (1 - larger) * small);
    if (grows && !pair->gate)
        change = fmin(change, covariance * effects->at[pair->first].mean);
    return change * (1 + 1e-12);
}

/* The absence of the second noise with which it may be drawn by itself, no
 * further off than by the order alone, and its presence. */
static double decoupled(const struct effects *effects,
                        const struct pri_coupled *pair, double *present)
{
    const struct pri_view *view = effects->view;
    const struct pri_packet *second = &view->noise[pair->second];
    bool above = effects->side == PRI_ABOVE;
    double cell[2][2], absent = pri_absent(second), order = absent;
    double covariance = pri_pair_cells(view, pair, cell);
    *present = second->chance;
    for (int x = 0; x < 2; x++) {
        double all = cell[x][0] + cell[x][1], given = cell[x][0] / all;
        if (all > 0 && (above ? given > order : given < order)) {
            order = given;
            *present = cell[x][1] / all;
        }
    }
    if (isinf(effects->growth) || covariance < 0) /* by rounding only */
        return order;
    double change = change_of(effects, pair, covariance);
    if (!(change < fabs(order - absent)))
        return order;
    *present = second->chance + (above ? -change : change);
    return absent + (above ? change : -change);
}

/* The effects of all links, from the worst that they can do. */
static void find_all(const struct effects *effects)
{
    const struct pri_view *view = effects->view;
    double present;
    for (int32_t k = 0; k < view->noises; k++)
        effects->at[k] = (struct effect){INFINITY, INFINITY, 0, NULL};
    for (int32_t k = 0; k < view->pairs; k++) {
        const struct pri_coupled *pair = &view->pair[k];
        struct effect *second = &effects->at[pair->second];
        if (pair->gate)
            continue;
        effects->at[pair->first].pair = second->pair = pair;
        if (effects->side == PRI_ABOVE)
            second->shift = decoupled(effects, pair, &present) -
                            pri_absent(&view->noise[pair->second]);
    }
    for (int32_t pass = 0; pass < PASSES; pass++)
        find_effects(effects, pass < PASSES - 2 ? PASSES - 2 - pass : 0);
}

enum pricer_status pri_decouple(const struct pri_view *view, enum pri_side side,
                                double growth, double least,
                                struct pri_chances *chances)
{
    struct effects effects = {.view = view,
                              .side = side,
                              .growth = growth,
                              .fall = .125 / least / least * (1 + 1e-9)};
    pri_plain_chances(view, chances);
    if (isfinite(growth)) {
        effects.at = pri_alloc(view->noises, sizeof *effects.at);
        if (effects.at == NULL)
            return PRICER_MEMORY;
        find_all(&effects);
    }
    for (int32_t k = 0; k < view->pairs; k++) {
        double present, absent = decoupled(&effects, &view->pair[k], &present);
        chances->absent[view->pair[k].second] = fmin(fmax(absent, 0), 1);
        chances->chance[view->pair[k].second] = fmin(fmax(present, 0), 1);
    }
    free(effects.at);
    return PRICER_OK;
}
