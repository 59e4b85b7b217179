/*
 * From a view to what needs no line: which of its patterns count as bare and what
 * they are worth, what one sum shows by itself, and in one round, where the
 * generating function falls slowly, as that of an identity in few dimensions; and
 * the search for an eps that such curves have in common. docs/mathematics.md, As
 * good as bare, One sum.
 */
#include "bracket.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* A sum whose signal is no larger than this many variances is not loud. */
#define LOUD 16

/* Of so many rounds all numbers are looked at. */
#define ROUNDS_FEW 2000

/* How wide groups of variances are, relative to their low end. */
#define FEW_WIDTH 5e-4

enum { SIZES = 256 };

struct pri_range pri_search_eps(double (*curve)(const void *of, double eps),
                                const void *of, double goal, double close)
{
    struct pri_range range = {0, INFINITY};
    double at = 1;
    if (!(curve(of, 0) > goal))
        return (struct pri_range){0, 0};
    for (int k = 0; k < 1100 && (isinf(range.high) || range.low == 0) &&
                    at > 0 && at < DBL_MAX / 4;
         k++) {
        bool above = curve(of, at) > goal;
        *(above ? &range.low : &range.high) = at;
        at *= above ? 2 : .5;
    }
    for (int k = 0; k < 100 && isfinite(range.high) &&
                    range.high - range.low > close * range.high;
         k++) {
        at = range.low + (range.high - range.low) / 2;
        *(curve(of, at) > goal ? &range.low : &range.high) = at;
    }
    return range;
}

double pri_worth_of_bare(const struct pri_view *view, int direction,
                         double hide, double eps)
{
    double least = 1;
    for (int32_t k = 0; k < view->sources; k++) {
        const struct pri_source *source = &view->source[k];
        double both[2], variance = source->base;
        if (!(source->base < hide) || hide == DBL_TRUE_MIN)
            continue;
        for (int32_t x = source->begin; x < source->end; x++)
            if (view->noise[x].size < hide)
                variance += view->noise[x].size;
        if (variance == 0)
            continue;
        if (view->dimension == 0) {
            both[0] = both[1] =
                pri_gaussian_below(eps, sqrt(source->signal / variance));
        } else {
            struct pri_presence presence = {
                view->dimension, sqrt(source->signal), source->own, variance};
            pri_presence_delta(&presence, eps, PRI_BELOW, &both[0], &both[1]);
        }
        least = fmin(least, both[direction]);
    }
    return least;
}

static int by_size(const void *one, const void *two)
{
    const double *a = one, *b = two;
    return *a < *b ? -1 : *a > *b;
}

int32_t pri_list_hides(const struct pri_view *view, double *hide)
{
    double size[SIZES];
    int32_t sizes = 0, count = 1;
    hide[0] = DBL_TRUE_MIN;
    for (int32_t k = 0; k < view->sources; k++) {
        const struct pri_source *source = &view->source[k];
        double unit = fmax(source->signal, source->own);
        for (int32_t x = source->begin - 1; x < source->end; x++) {
            double now = x < source->begin ? source->base : view->noise[x].size;
            if (now > 0 && now * LOUD < unit && sizes < SIZES)
                size[sizes++] = now * (1 + 1e-9);
        }
    }
    qsort(size, (size_t)sizes, sizeof *size, by_size);
    int32_t every = sizes / (PRI_HIDES - 1) + 1;
    for (int32_t k = every - 1; k < sizes; k += every)
        hide[count++] = size[k];
    return count;
}

/* The most rounds of T in which something happens that has a chance of `once`,
 * but for less than `goal`, and their probability, rounded down. */
static double often(double once, double rounds, double goal, double *mass)
{
    double sum = 0, k = rounds;
    *mass = 0;
    if (!(once > 0))
        return 0;
    if (rounds > ROUNDS_FEW) {
        *mass = -expm1(rounds * log1p(-once)) * (1 - 1e-9);
        return 1;
    }
    for (; k >= 1; k--) {
        double log_choose =
            lgamma(rounds + 1) - lgamma(k + 1) - lgamma(rounds - k + 1);
        double rest = k < rounds ? (rounds - k) * log1p(-once) : 0;
        sum += exp(log_choose + k * log(once) + rest);
        *mass = fmin(sum, 1) * (1 - 1e-9);
        if (*mass > goal)
            return k;
    }
    return 1;
}

/* A lower end by a single sum, where a line cannot tell: docs/mathematics.md, As
 * good as bare. */
struct lone {
    const struct pri_view *view;
    int direction;
    double hide, mass;
};

static double lone_worth(const void *of, double eps)
{
    const struct lone *lone = of;
    return lone->mass *
           pri_worth_of_bare(lone->view, lone->direction, lone->hide, eps);
}

static double lone_lower(const struct pri_view *view, int direction,
                         int64_t rounds, double delta, int32_t source,
                         double hide)
{
    struct pri_source at = view->source[source];
    double once = pri_seen(&at) * (1 - 1e-12 - 2 * view->loose), mass;
    double goal = pri_delta_for(delta, PRI_BELOW);
    for (int32_t x = at.begin; x < at.end; x++)
        once *= view->noise[x].size < hide ? 1 : pri_absent(&view->noise[x]);
    double times = often(once, (double)rounds, goal, &mass);
    if (at.base >= hide || !(mass > goal))
        return 0;
    at.signal *= times * (1 - 1e-12);
    struct pri_view one = {.dimension = view->dimension * times,
                           .sources = 1,
                           .source = &at,
                           .noise = view->noise};
    struct lone lone = {&one, direction, hide, mass};
    return pri_search_eps(lone_worth, &lone, goal, 1e-10).low;
}

void pri_lone_sums(const struct pri_view *view, int direction, int64_t rounds,
                   double delta, struct pri_bracket *found)
{
    for (int32_t k = 0; k < view->sources; k++)
        for (int32_t x = view->source[k].begin - 1; x < view->source[k].end;
             x++) {
            double size = x < view->source[k].begin ? view->source[k].base
                                                    : view->noise[x].size;
            double low = lone_lower(view, direction, rounds, delta, k,
                                    size * (1 + 1e-9));
            found->eps_lower = fmax(found->eps_lower, fmin(low, found->eps));
        }
}

/* -------------------------------------------------------- one sum, one round -- */

/* One sum, to one side. */
struct few {
    const struct pri_source *source;
    const struct pri_law *law;
    double dimension, bare;
    enum pri_side side;
};

/* The worse of the two directions at one eps. */
static double worse_at(const void *of, double eps)
{
    const struct few *few = of;
    enum pri_side side = few->side;
    double sum[2] = {0, 0}, both[2];
    for (int32_t k = 0; k < few->law->count; k++) {
        const struct pri_variances *group = &few->law->group[k];
        double others = side == PRI_ABOVE ? group->low * (1 - 1e-12)
                                          : group->high * (1 + 1e-12);
        struct pri_presence presence = {few->dimension,
                                        sqrt(few->source->signal),
                                        few->source->own, others};
        double mu = sqrt(few->source->signal / others);
        if (few->dimension > 0)
            pri_presence_delta(&presence, eps, side, &both[0], &both[1]);
        else
            both[0] = both[1] = side == PRI_ABOVE ? pri_gaussian_above(eps, mu)
                                                  : pri_gaussian_below(eps, mu);
        sum[0] += group->mass * both[0];
        sum[1] += group->mass * both[1];
    }
    double slack = 1e-12 * (side == PRI_ABOVE ? 1 : -1);
    return pri_seen(few->source) * fmax(sum[0], sum[1]) * (1 + slack) +
           few->bare;
}

enum pricer_status pri_sum_once(const struct pri_view *view, double delta,
                                struct pri_scratch *scratch,
                                struct pri_bracket *found)
{
    struct pri_law law = {0};
    bool exact;
    double *end[] = {&found->eps_lower, &found->eps};
    pri_plain_chances(view, &scratch->chances);
    enum pricer_status status =
        pri_law_build(view, 0, scratch->chances.chance, scratch->chances.absent,
                      DBL_TRUE_MIN, FEW_WIDTH, INFINITY, &scratch->spare, &law);
    for (int side = 0; side < 2 && status == PRICER_OK; side++) {
        double goal = pri_delta_for(delta, side);
        struct few few = {&view->source[0], &law, view->dimension,
                          pri_view_bare(view, DBL_TRUE_MIN, 1, side,
                                        &scratch->chances, &exact),
                          side};
        struct pri_range range = {INFINITY, INFINITY};
        if (few.bare < goal)
            range = pri_search_eps(worse_at, &few, goal, 1e-7);
        *end[side] = side == PRI_ABOVE ? range.high : range.low;
    }
    pri_law_free(&law);
    return status;
}
