/*
 * From the noises of one sum to the law of the variance in it: factor.h.
 *
 * All masses and means are sums of positive terms: their relative error is at
 * most half a unit in the last place for each rounding that is counted, two for
 * what a view says. A mass that is too small, pri_in_some_round() pays for.
 */
#include "factor.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* As many groups are left as they are; more of them make the grain coarser. */
enum { FEW = 64, MANY = 8192 };

void pri_law_free(struct pri_law *law)
{
    free(law->group);
    *law = (struct pri_law){0};
}

static enum pricer_status reserve(struct pri_law *law, int32_t count)
{
    if (count <= law->room)
        return PRICER_OK;
    int32_t room = count > 2 * law->room ? count : 2 * law->room;
    struct pri_variances *group =
        realloc(law->group, (size_t)room * sizeof *group);
    if (group == NULL)
        return PRICER_MEMORY;
    law->group = group;
    law->room = room;
    return PRICER_OK;
}

/* Let one group join another. */
static void join(struct pri_variances *to, const struct pri_variances *from)
{
    double mass = to->mass + from->mass, apart = from->mean - to->mean;
    double one = to->mass / mass, two = from->mass / mass;
    double mean = to->mean + two * apart;
    to->low = to->low < from->low ? to->low : from->low;
    to->high = to->high > from->high ? to->high : from->high;
    to->mean = mean < to->low ? to->low : mean > to->high ? to->high : mean;
    to->spread = one * (to->spread + two * apart * apart) + two * from->spread;
    to->mass = mass;
    to->mass_off = fmax(to->mass_off, from->mass_off) + 1;
    to->mean_off = fmax(to->mean_off, from->mean_off) + 1.25 * (apart != 0);
}

/* A group at the end of a list, or into the last if both are one value. */
static void append(struct pri_law *law, struct pri_variances group)
{
    struct pri_variances *last =
        law->count > 0 ? &law->group[law->count - 1] : NULL;
    if (!(group.mass > 0))
        return;
    if (last != NULL && last->low == group.low && last->high == group.high &&
        group.low == group.high)
        join(last, &group);
    else
        law->group[law->count++] = group;
}

static struct pri_variances moved(struct pri_variances group, double by,
                                  double chance)
{
    group.mass *= chance;
    group.mean += by;
    group.low += by;
    group.high += by;
    group.mean_off += by > 0;
    return group;
}

/* One more noise: every group stays or moves, both in the order of their low
 * ends, and so does `bare`, that of patterns that are not in the list yet. */
static void add_noise(const struct pri_law *from, double size, double chance,
                      double absent, struct pri_variances bare,
                      struct pri_law *to)
{
    struct pri_variances first = moved(bare, size, chance);
    int32_t stay = 0, move = 0;
    bool joined = !(first.mass > 0);
    to->count = 0;
    while (stay < from->count || move < from->count || !joined) {
        double a = stay < from->count ? from->group[stay].low : INFINITY;
        double b = move < from->count ? from->group[move].low + size : INFINITY;
        if (!joined && first.low <= a && first.low <= b) {
            append(to, first);
            joined = true;
        } else if (a <= b) {
            append(to, moved(from->group[stay++], 0, absent));
        } else {
            append(to, moved(from->group[move++], size, chance));
        }
    }
}

/* Join neighbours while a group stays narrow; `grain` is in units of signal. */
static void gather(double width, double grain, struct pri_law *law)
{
    int32_t kept = 0;
    for (int32_t k = 0; k < law->count; k++) {
        struct pri_variances *last = kept > 0 ? &law->group[kept - 1] : NULL;
        double high = law->group[k].high;
        if (last != NULL && high <= last->low * (1 + width) &&
            high - last->low <= grain * last->low * high)
            join(last, &law->group[k]);
        else
            law->group[kept++] = law->group[k];
    }
    law->count = kept;
}

enum pricer_status pri_law_build(const struct pri_view *view, int32_t source,
                                 const double *chance, const double *absent,
                                 double hide, double width, double grain,
                                 struct pri_law *spare, struct pri_law *law)
{
    const struct pri_source *at = &view->source[source];
    struct pri_law *from = law, *to = spare;
    long double all = at->base;
    for (int32_t k = at->begin; k < at->end; k++)
        all += absent[k] == 0 ? view->noise[k].size : 0;
    double base = (double)all, left = base < hide;
    double mass_off = (at->end - at->begin) * (view->pairs > 0 ? 9 : 2);
    struct pri_variances bare = {
        1, base, 0, base, base, mass_off, base == at->base ? 2 : 3};
    enum pricer_status status = reserve(law, 1);
    if (status != PRICER_OK)
        return status;
    law->group[0] = bare;
    law->count = base >= hide;
    /* Those that hide come first: until one is present, all is bare. */
    for (int small = 0; small < 2 && status == PRICER_OK; small++)
        for (int32_t k = at->begin; k < at->end; k++) {
            double size = view->noise[k].size;
            if ((size < hide) != small || chance[k] == 0 || absent[k] == 0)
                continue;
            status = reserve(to, 2 * from->count + 1);
            if (status != PRICER_OK)
                break;
            bare.mass = small ? 0 : left;
            add_noise(from, size, chance[k], absent[k], bare, to);
            left *= small ? 1 : absent[k];
            if (to->count > FEW)
                gather(width, grain / at->signal, to);
            for (; to->count > MANY && grain < DBL_MAX; grain *= 2)
                gather(width, 2 * grain / at->signal, to);
            struct pri_law *swap = from;
            from = to;
            to = swap;
        }
    if (from != law) {
        struct pri_law swap = *law;
        *law = *from;
        *from = swap;
    }
    law->bare = left;
    return status;
}

enum pricer_status pri_law_sketch(const struct pri_law *law, int32_t loud,
                                  int32_t quiet, struct pri_law *sketch,
                                  int32_t *still)
{
    enum pricer_status status = reserve(sketch, law->count);
    int32_t begin = loud, end = law->count - quiet, shown = 0;
    if (status != PRICER_OK)
        return status;
    sketch->count = 0;
    for (int part = 0; part < 2; part++, begin = end, end = law->count) {
        shown = sketch->count;
        for (int32_t k = begin; k < end;) {
            int32_t to = k + 1 + (k - begin) / 5;
            struct pri_variances some = law->group[k++];
            for (; k < to && k < end; k++)
                join(&some, &law->group[k]);
            some.low = some.high = some.mean; /* the spread counts no more */
            append(sketch, some);
        }
    }
    *still = sketch->count - shown;
    return PRICER_OK;
}
