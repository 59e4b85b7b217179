/*
 * From a view to what its patterns with next to no noise cost: which of them to
 * count as bare, what they are worth, and what one sum shows by itself.
 */
#include "bare.h"
#include "presence.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* A sum whose signal is no larger than this many variances is not loud. */
#define LOUD 16

/* Of so many rounds all numbers are looked at. */
#define ROUNDS_FEW 2000

enum { SIZES = 256 };

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

static double lone_lower(const struct pri_view *view,
                         const struct pri_sums *model, double delta,
                         int32_t source, double hide)
{
    struct pri_source at = view->source[source];
    double once = pri_seen(&at) * (1 - 1e-12 - 2 * view->loose), mass;
    double goal = pri_delta_for(delta, PRI_BELOW);
    for (int32_t x = at.begin; x < at.end; x++)
        once *= view->noise[x].size < hide ? 1 : pri_absent(&view->noise[x]);
    double times = often(once, (double)model->rounds, goal, &mass);
    if (at.base >= hide || !(mass > goal))
        return 0;
    at.signal *= times * (1 - 1e-12);
    struct pri_view one = {.dimension = view->dimension * times,
                           .sources = 1,
                           .source = &at,
                           .noise = view->noise};
    struct lone lone = {&one, model->function.direction, hide, mass};
    return pri_search_eps(lone_worth, &lone, goal, 1e-10).low;
}

void pri_lone_sums(const struct pri_view *view, const struct pri_sums *model,
                   double delta, struct pri_bracket *found)
{
    for (int32_t k = 0; k < view->sources; k++)
        for (int32_t x = view->source[k].begin - 1; x < view->source[k].end;
             x++) {
            double size = x < view->source[k].begin ? view->source[k].base
                                                    : view->noise[x].size;
            double low = lone_lower(view, model, delta, k, size * (1 + 1e-9));
            found->eps_lower = fmax(found->eps_lower, fmin(low, found->eps));
        }
}
