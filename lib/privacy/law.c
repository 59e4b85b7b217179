/*
 * From independent numbers to the law of their sum, bounded from one side in
 * the order of law.h.
 *
 * Atoms are collected in bins, whose ends are powers of two and equal parts of
 * what lies between two of them (the leading bits of a number tell its bin),
 * so that a law that spreads over many orders of magnitude is resolved
 * everywhere alike. Of each bin the mass, the first moment and the least and
 * the largest atom are kept. That is enough for a bound: with the mean v of a
 * group in [m, M] and u = e^(curvature v), convex, Jensen and the chord give
 *
 *     u(v) <= mean of u <= u(m) + (u(M) - u(m)) (v - m)/(M - m).
 *
 * A group of one atom, or of several of one value, stays as it is.
 *
 * All terms are positive, so a mass or mean has a relative error of a few units
 * in the last place for each step, whatever its size; the 1e-9 that
 * pri_law_delta() adds pays for it many times over.
 */
#include "law.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void pri_law_free(struct pri_law *law)
{
    free(law->value);
    free(law->mass);
    *law = (struct pri_law){0};
}

enum pricer_status pri_law_reserve(struct pri_law *law, int32_t count)
{
    if (count <= law->room)
        return PRICER_OK;
    int32_t room = count > 2 * law->room ? count : 2 * law->room;
    double *value = realloc(law->value, (size_t)room * sizeof *value);
    if (value != NULL)
        law->value = value;
    double *mass = realloc(law->mass, (size_t)room * sizeof *mass);
    if (mass != NULL)
        law->mass = mass;
    if (value == NULL || mass == NULL)
        return PRICER_MEMORY;
    law->room = room;
    return PRICER_OK;
}

enum pricer_status pri_law_copy(const struct pri_law *from, struct pri_law *to)
{
    enum pricer_status status = pri_law_reserve(to, from->count);
    if (status != PRICER_OK || from->count == 0)
        return status;
    memcpy(to->value, from->value, (size_t)from->count * sizeof(double));
    memcpy(to->mass, from->mass, (size_t)from->count * sizeof(double));
    to->count = from->count;
    return PRICER_OK;
}

void pri_law_add(struct pri_law *law, double value, double mass)
{
    if (!(mass > 0))
        return;
    assert(law->count < law->room);
    law->value[law->count] = value;
    law->mass[law->count++] = mass;
}

double pri_law_infinite(const struct pri_law *law)
{
    int32_t last = law->count - 1;
    return last >= 0 && isinf(law->value[last]) ? law->mass[last] : 0;
}

double pri_law_least(const struct pri_law *law)
{
    int32_t first = law->count > 0 && law->value[0] == 0 ? 1 : 0;
    bool there = first < law->count && !isinf(law->value[first]);
    return there ? law->value[first] : 0;
}

double pri_law_most(const struct pri_law *law)
{
    int32_t last = law->count - 1;
    if (last >= 0 && isinf(law->value[last]))
        last--;
    return last >= 0 ? law->value[last] : 0;
}

/* ------------------------------------------------------------------ bins -- */

void pri_bins_free(struct pri_bins *bins)
{
    free(bins->mass);
    free(bins->moment);
    free(bins->least);
    free(bins->most);
    pri_law_free(&bins->one);
    pri_law_free(&bins->two);
    *bins = (struct pri_bins){0};
}

static enum pricer_status reserve(struct pri_bins *bins, int32_t count)
{
    if (count <= bins->room)
        return PRICER_OK;
    free(bins->mass);
    free(bins->moment);
    free(bins->least);
    free(bins->most);
    bins->mass = pri_alloc(count, sizeof(double));
    bins->moment = pri_alloc(count, sizeof(double));
    bins->least = pri_alloc(count, sizeof(double));
    bins->most = pri_alloc(count, sizeof(double));
    bool all = bins->mass && bins->moment && bins->least && bins->most;
    bins->room = all ? count : 0;
    return all ? PRICER_OK : PRICER_MEMORY;
}

/* Numbers whose ratio to the largest is below this are not resolved. */
#define RANGE 1e-40

/* No group is smaller than a part of 2^-FINEST. */
enum { FINEST = 24 };

enum pricer_status pri_bins_begin(const struct pri_shape *shape, double least,
                                  double most, struct pri_bins *bins)
{
    int32_t bits = shape->bits;
    bins->shape = *shape;
    bins->pad = fmax(shape->offset, fmax(most * RANGE, 1e-300));
    double first = (bins->pad + least) * (1 - 1e-12);
    double last = (bins->pad + most) * (1 + 1e-12);
    while (bits < FINEST &&
           pri_key_of(last, 52 - bits) - pri_key_of(first, 52 - bits) <
               (int64_t)2 << shape->bits)
        bits++;
    bins->shift = 52 - bits;
    bins->base = pri_key_of(first, bins->shift);
    int64_t range = pri_key_of(last, bins->shift) - bins->base + 1;
    if (range > 1 << 27)
        return PRICER_MEMORY;
    bins->count = (int32_t)range + 1;
    enum pricer_status status = reserve(bins, bins->count);
    if (status != PRICER_OK)
        return status;
    memset(bins->mass, 0, (size_t)bins->count * sizeof(double));
    memset(bins->moment, 0, (size_t)bins->count * sizeof(double));
    bins->infinite = 0;
    return PRICER_OK;
}

void pri_bins_add(const struct pri_law *law, double weight,
                  struct pri_bins *bins)
{
    for (int32_t k = 0; k < law->count; k++)
        if (isinf(law->value[k]))
            bins->infinite += weight * law->mass[k];
        else
            pri_bins_put(bins, law->value[k], weight * law->mass[k]);
    bins->work += law->count;
}

/* The exponent of u for a group that begins at `least`; u falls for a signal
 * and grows for a variance. */
static double curvature_of(const struct pri_shape *shape, double least)
{
    if (shape->kind == PRI_SIGNAL)
        return -(0.125 + 0.5 / fmax(least, 1e-290));
    double z = fmax(shape->offset + least, 1e-140);
    return fmax(0, (shape->signal / (8 * z) - 1.5) / z);
}

/* expm1(curvature part) / expm1(curvature whole) for 0 <= part <= whole. */
static double share_of(double curvature, double part, double whole)
{
    if (fabs(curvature) * whole < 1e-9)
        return part / whole;
    /* Divided by e^(curvature whole) where that could overflow. */
    if (curvature > 0)
        return exp(curvature * (part - whole)) * expm1(-curvature * part) /
               expm1(-curvature * whole);
    return expm1(curvature * part) / expm1(curvature * whole);
}

/* How far from the near end u^-1 of the chord is. */
static double place_of(double curvature, double part, double whole)
{
    double share = part / whole;
    if (fabs(curvature) * whole < 1e-9)
        return part;
    if (curvature >
        30 / whole) /* ln(1 - share + share e^(curvature whole)) / curvature */
        return whole +
               log(share + (1 - share) * exp(-curvature * whole)) / curvature;
    return log1p(share * expm1(curvature * whole)) / curvature;
}

/* Whether a larger number bounds from above. */
static bool more_is_above(const struct pri_shape *shape)
{
    bool grows = shape->kind == PRI_SIGNAL;
    return grows == (shape->side == PRI_ABOVE);
}

/* One group into the law: at most two atoms. */
static void end_group(const struct pri_bins *bins, int32_t bin,
                      struct pri_law *law)
{
    const struct pri_shape *shape = &bins->shape;
    double least = bins->least[bin], most = bins->most[bin];
    double mass = bins->mass[bin], whole = most - least;
    double part = fmin(fmax(bins->moment[bin] / mass - least, 0), whole);
    double curvature = curvature_of(shape, least);
    if (!(whole > 0)) {
        pri_law_add(law, least, mass);
    } else if (shape->kind == PRI_ORDERED) {
        pri_law_add(law, shape->side == PRI_ABOVE ? least : most, mass);
    } else if (shape->side == PRI_ABOVE) {
        double up =
            fmin(fmax(mass * share_of(curvature, part, whole), 0), mass);
        pri_law_add(law, least, mass - up);
        pri_law_add(law, most, up);
    } else {
        pri_law_add(law, least + fmin(place_of(curvature, part, whole), whole),
                    mass);
    }
}

/*
 * Give up the ends of a law, as far as their mass is next to nothing. The large
 * end: a signal becomes infinite above and the largest that stays below, a
 * variance the largest that stays above (below it becomes infinite, and hides
 * the signal). The small end: the least that stays, or 0.
 */
static void cut_tails(const struct pri_shape *shape, struct pri_law *law,
                      double *infinite)
{
    bool up = more_is_above(shape);
    double gone = 0;
    while (law->count > 1 && gone + law->mass[law->count - 1] <= shape->tail)
        gone += law->mass[--law->count];
    if (up)
        *infinite += gone;
    else
        law->mass[law->count - 1] += gone;
    int32_t first = 0, last = law->count - 1;
    gone = 0;
    while (first < last && gone + law->mass[first] <= shape->tail)
        gone += law->mass[first++];
    if (first == 0)
        return;
    if (up) {
        law->mass[first] += gone;
    } else {
        law->value[--first] = 0;
        law->mass[first] = gone;
    }
    law->count -= first;
    memmove(law->value, law->value + first,
            (size_t)law->count * sizeof(double));
    memmove(law->mass, law->mass + first, (size_t)law->count * sizeof(double));
}

enum pricer_status pri_bins_end(struct pri_bins *bins, struct pri_law *law)
{
    enum pricer_status status = pri_law_reserve(law, 2 * bins->count + 1);
    if (status != PRICER_OK)
        return status;
    double infinite = bins->infinite;
    law->count = 0;
    for (int32_t bin = 0; bin < bins->count; bin++)
        if (bins->mass[bin] > 0)
            end_group(bins, bin, law);
    if (law->count > 0)
        cut_tails(&bins->shape, law, &infinite);
    pri_law_add(law, INFINITY, infinite);
    bins->work += bins->count;
    return PRICER_OK;
}

enum pricer_status pri_law_group(const struct pri_shape *shape,
                                 struct pri_bins *bins, struct pri_law *law)
{
    enum pricer_status status =
        pri_bins_begin(shape, pri_law_least(law), pri_law_most(law), bins);
    if (status != PRICER_OK)
        return status;
    pri_bins_add(law, 1, bins);
    return pri_bins_end(bins, law);
}

/* Onto the next larger signal or smaller variance from above, and the other way
 * from below; the last in that direction stays. */
void pri_law_sweep(const struct pri_shape *shape, struct pri_law *law)
{
    bool up = more_is_above(shape);
    int32_t count = law->count, kept = 0;
    int32_t end = up ? count - 1 : 0, step = up ? 1 : -1;
    double carried = 0;
    /* In the direction in which dust moves; collected at that end. */
    for (int32_t k = up ? 0 : count - 1; k >= 0 && k < count; k += step) {
        double mass = law->mass[k] + carried;
        carried = 0;
        if (law->mass[k] < shape->dust && k != end) {
            carried = mass;
            continue;
        }
        int32_t to = up ? kept : count - 1 - kept;
        law->value[to] = law->value[k];
        law->mass[to] = mass;
        kept++;
    }
    if (!up && kept < count) {
        memmove(law->value, law->value + count - kept,
                (size_t)kept * sizeof(double));
        memmove(law->mass, law->mass + count - kept,
                (size_t)kept * sizeof(double));
    }
    law->count = kept;
}
