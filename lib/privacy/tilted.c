/*
 * From the noises of one sum to means of e^(gh) over them: from above sizes are
 * spread to a grid, keeping their means, from below atoms are gathered; e^(gh)
 * is convex in the variance. decouple.c has the mathematics.
 */
#include "decouple.h"

#include <math.h>

bool pri_noises_collect(const struct pri_decoupling *ask, int32_t index,
                        const struct pri_effects *effects,
                        struct pri_noises *list)
{
    const struct pri_view *view = ask->view;
    const struct pri_source *source = &view->source[index];
    double all = 0;
    list->count = 0;
    list->signal = source->signal;
    list->base = source->base;
    list->smallest = INFINITY;
    list->largest = 0;
    list->growth = ask->growth;
    for (int32_t x = source->begin; x < source->end; x++) {
        double size = view->noise[x].size;
        if (effects->chance[x] == 1)
            list->base += size;
        if (effects->chance[x] == 0 || effects->chance[x] == 1)
            continue;
        if (list->count == PRI_HEARD_MOST)
            return false;
        list->at[list->count++] = x;
        list->smallest = fmin(list->smallest, size);
        list->largest = fmax(list->largest, size);
        all += size;
    }
    list->step = all / PRI_BINS;
    return list->base > 0 && all > 0;
}

/* e^(gh) at a variance beyond the base, over its largest value. */
static double weight_at(const struct pri_noises *list, double variance)
{
    double most = list->signal / list->base;
    return exp(-list->growth * most * variance / (list->base + variance));
}

/* The part of e^(gh) that goes when a noise of that size comes. */
static double part_of(const struct pri_noises *list, double variance,
                      double size)
{
    double here = list->base + variance;
    double drop = isinf(size) ? 1 : size / (here + size);
    return -expm1(-list->growth * list->signal / here * drop);
}

/* What e^(gh) is where the sum is not seen, on the same scale. */
double pri_weight_unseen(const struct pri_noises *list)
{
    return exp(-list->growth * list->signal / list->base);
}

/* The odds of a noise's absence, tilted by the opposite noise. */
double pri_tilted_absent(const struct pri_view *view, int32_t x,
                         const struct pri_effects *effects)
{
    double p = effects->chance[x], factor = 1;
    int32_t index = effects->partner[x];
    if (index >= 0 && !view->pair[index].gate) {
        const struct pri_coupled *pair = &view->pair[index];
        int32_t mate = pair->first == x ? pair->second : pair->first;
        double t = effects->tilt[mate];
        double cell[2][2], row[2], given[2];
        pri_pair_cells(view, pair, cell);
        for (int up = 0; up < 2; up++) {
            bool is_first = pair->first == x;
            double none = cell[is_first ? up : 0][is_first ? 0 : up];
            row[up] = none + cell[is_first ? up : 1][is_first ? 1 : up];
            given[up] = none / row[up];
        }
        double with = given[1], without = fmax(given[0], with);
        factor = isinf(t) ? without / with
                          : (without * t + 1 - without) / (with * t + 1 - with);
    }
    double odds = (1 - p) / p * factor;
    double absent = isfinite(odds) ? odds / (1 + odds) : 1;
    return fmin(fmax(absent, 1 - p + effects->shift[x]) * (1 + 1e-12), 1);
}

/* The law of the variance of all noises but `skip`, spread to the grid. */
int32_t pri_spread_law(const struct pri_view *view,
                       const struct pri_noises *list, int32_t skip,
                       double *mass)
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

/* A lower bound on the mean of e^(gh), by gathering. */
double pri_gathered_mean(const struct pri_view *view,
                         const struct pri_noises *list)
{
    double mass[2][PRI_BINS + 2] = {{0}}, moment[2][PRI_BINS + 2] = {{0}};
    int now = 0;
    mass[0][0] = 1;
    for (int32_t k = 0; k < list->count; k++, now = !now) {
        double size = view->noise[list->at[k]].size, absent = list->absent[k];
        for (int32_t i = 0; i < PRI_BINS + 2; i++)
            mass[!now][i] = moment[!now][i] = 0;
        for (int32_t i = 0; i < PRI_BINS + 2; i++) {
            double here = mass[now][i];
            if (here == 0)
                continue;
            double mean = moment[now][i] / here + size;
            int32_t to = (int32_t)fmin(mean / list->step, PRI_BINS + 1);
            mass[!now][i] += here * absent;
            moment[!now][i] += moment[now][i] * absent;
            mass[!now][to] += here * (1 - absent);
            moment[!now][to] += here * (1 - absent) * mean;
        }
    }
    double sum = 0;
    for (int32_t i = 0; i < PRI_BINS + 2; i++)
        if (mass[now][i] > 0)
            sum += mass[now][i] *
                   weight_at(list, moment[now][i] / mass[now][i] * (1 + 1e-9));
    return sum * (1 - 1e-9);
}

/* The mean of what of e^(gh) goes when a noise of that size comes. What has
 * next to no mass is taken as worst. */
double pri_lost_with(const struct pri_noises *list, const double *mass,
                     int32_t top, double size)
{
    double sum = 0, rest = 0;
    for (int32_t i = 0; i <= top; i++) {
        double at = i * list->step;
        if (mass[i] < 1e-12)
            rest += mass[i];
        else
            sum += mass[i] * weight_at(list, at) * part_of(list, at, size);
    }
    return sum + rest;
}

/* The effect where only `count` others are left, whichever. */
double pri_effect_with_few(const struct pri_noises *list, int32_t count,
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
