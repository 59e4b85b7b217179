/*
 * From a view to what needs no line: which of its patterns count as bare, how
 * likely that is over all states of the pairs that decide about it, and what
 * they are worth, what one sum shows by itself, and in one round, where the
 * generating function falls slowly, as that of an identity in few dimensions.
 * docs/mathematics.md, As good as bare, One sum.
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

/* A mass that products of probabilities may lose below the range of a double,
 * in one round. */
#define LOST 1e-309

enum { SIZES = 256, PAIRS_MOST = 14 };

double pri_in_some_round(const struct pri_view *view, double once,
                         int64_t rounds, enum pri_side side)
{
    double links = (double)view->noises + view->sources + 2. * view->pairs;
    double slack = 1e-12 + 8 * DBL_EPSILON * links + 2 * view->loose;
    once *= side == PRI_ABOVE ? 1 + slack : 1 - slack;
    double all = -expm1((double)rounds * log1p(-fmin(once, 1)));
    double lost = once > 0 ? (double)rounds * LOST : 0;
    return side == PRI_ABOVE ? fmin(all * (1 + 1e-12) + lost, 1)
                             : all * (1 - 1e-12);
}

void pri_plain_chances(const struct pri_view *view, struct pri_chances *chances)
{
    for (int32_t k = 0; k < view->noises; k++) {
        chances->chance[k] = view->noise[k].chance;
        chances->absent[k] = pri_absent(&view->noise[k]);
    }
}

/* The probability that some sum is bare, all links independent. */
static double bare_chance(const struct pri_view *view, double hide,
                          const struct pri_chances *chances)
{
    double none = 1, any = 0;
    for (int32_t k = 0; k < view->sources; k++) {
        const struct pri_source *source = &view->source[k];
        double bare = source->uplink * chances->link[k];
        for (int32_t x = source->begin; x < source->end; x++)
            if (view->noise[x].size >= hide)
                bare *= chances->absent[x];
        if (!(source->base < hide))
            continue;
        any += none * bare;
        none *= 1 - bare;
    }
    return any;
}

/* Whether a pair couples two things that both decide. */
static bool matters(const struct pri_view *view, const struct pri_coupled *pair,
                    double hide)
{
    return view->source[pair->source].base < hide &&
           view->source[pair->other].base < hide &&
           view->noise[pair->second].size >= hide &&
           (pair->gate || view->noise[pair->first].size >= hide);
}

struct search {
    const struct pri_view *view;
    double hide;
    enum pri_side side;
    struct pri_chances *chances;
    bool exact;
};

/* Over all states of pair[from], pair[from + 1] ...: how bare it is. */
static double over_pairs(struct search *search, int32_t from, int32_t known)
{
    const struct pri_view *view = search->view;
    struct pri_chances *chances = search->chances;
    while (from < view->pairs &&
           !matters(view, &view->pair[from], search->hide))
        from++;
    if (from >= view->pairs)
        return bare_chance(view, search->hide, chances);
    const struct pri_coupled *pair = &view->pair[from];
    double cell[2][2], sum = 0;
    double *first = pair->gate ? &chances->link[pair->source]
                               : &chances->absent[pair->first];
    double *absent = &chances->absent[pair->second];
    double before = *first, second = *absent;
    pri_pair_cells(view, pair, cell);
    double down = cell[0][0] / (cell[0][0] + cell[0][1]);
    double up = cell[1][0] / (cell[1][0] + cell[1][1]);
    if (known >= PAIRS_MOST) {
        search->exact = false;
        *absent = search->side == PRI_ABOVE ? fmax(up, down) : fmin(up, down);
        sum = over_pairs(search, from + 1, known);
    }
    for (int x = 0; x < 2 && known < PAIRS_MOST; x++) {
        *first = x == pair->gate;
        *absent = x ? up : down;
        double weight = cell[x][0] + cell[x][1];
        if (weight > 0)
            sum += weight * over_pairs(search, from + 1, known + 1);
    }
    *first = before;
    *absent = second;
    return sum;
}

double pri_view_bare(const struct pri_view *view, double hide, int64_t rounds,
                     enum pri_side side, struct pri_chances *chances,
                     bool *exact)
{
    struct search search = {view, hide, side, chances, true};
    bool possible = false;
    *exact = true;
    for (int32_t k = 0; k < view->sources; k++) {
        possible = possible || view->source[k].base < hide;
        chances->link[k] = view->source[k].link;
    }
    if (!possible)
        return 0;
    pri_plain_chances(view, chances);
    /* Below the range of numbers something may be lost. */
    double once = fmax(fmin(over_pairs(&search, 0, 0), 1), DBL_TRUE_MIN);
    *exact = search.exact;
    return pri_in_some_round(view, once, rounds, side);
}

/* ------------------------------------------------------------------- worth -- */

/* What one sum shows at a variance, in both directions, to a side. */
static void shown_at(double dimension, const struct pri_source *source,
                     double variance, double eps, enum pri_side side,
                     double both[2])
{
    const struct pri_presence presence = {dimension, sqrt(source->signal),
                                          source->own, variance};
    double mu = sqrt(source->signal / variance);
    if (dimension > 0)
        pri_presence_delta(&presence, eps, side, &both[0], &both[1]);
    else
        both[0] = both[1] = side == PRI_ABOVE ? pri_gaussian_above(eps, mu)
                                              : pri_gaussian_below(eps, mu);
}

/* The largest variance of a sum without a noise of at least `hide`. */
static double variance_below(const struct pri_view *view,
                             const struct pri_source *source, double hide)
{
    double variance = source->base;
    for (int32_t x = source->begin; x < source->end; x++)
        if (view->noise[x].size < hide)
            variance += view->noise[x].size;
    return variance;
}

double pri_worth_of_bare(const struct pri_view *view, int direction,
                         double hide, double eps)
{
    double least = 1, both[2];
    for (int32_t k = 0; k < view->sources && hide > DBL_TRUE_MIN; k++) {
        const struct pri_source *source = &view->source[k];
        double variance = variance_below(view, source, hide);
        if (!(source->base < hide) || variance == 0)
            continue;
        shown_at(view->dimension, source, variance, eps, PRI_BELOW, both);
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

/* ------------------------------------------------------------------ one sum -- */

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
    double sum[2] = {0, 0}, both[2], slack = 1e-12;
    for (int32_t k = 0; k < few->law->count; k++) {
        const struct pri_variances *group = &few->law->group[k];
        double others = few->side == PRI_ABOVE ? group->low * (1 - slack)
                                               : group->high * (1 + slack);
        shown_at(few->dimension, few->source, others, eps, few->side, both);
        sum[0] += group->mass * both[0];
        sum[1] += group->mass * both[1];
    }
    slack *= few->side == PRI_ABOVE ? 1 : -1;
    return pri_seen(few->source) * fmax(sum[0], sum[1]) * (1 + slack) +
           few->bare;
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
static double lone_lower(const struct pri_view *view, int64_t rounds,
                         double goal, int32_t source, double hide)
{
    struct pri_source at = view->source[source];
    struct pri_variances group = {0};
    struct pri_law law = {.count = 1, .group = &group};
    double once = pri_seen(&at) * (1 - 1e-12 - 2 * view->loose);
    for (int32_t x = at.begin; x < at.end; x++)
        once *= view->noise[x].size < hide ? 1 : pri_absent(&view->noise[x]);
    double times = often(once, (double)rounds, goal, &group.mass);
    if (at.base >= hide || !(group.mass > goal))
        return 0;
    group.low = group.high = variance_below(view, &at, hide);
    at.signal *= times * (1 - 1e-12);
    at.uplink = at.link = 1;
    struct few few = {&at, &law, view->dimension * times, 0, PRI_BELOW};
    return pri_search_eps(worse_at, &few, goal, 1e-10).low;
}

void pri_lone_sums(const struct pri_view *view, int64_t rounds, double delta,
                   struct pri_bracket *found)
{
    for (int32_t k = 0; k < view->sources; k++)
        for (int32_t x = view->source[k].begin - 1; x < view->source[k].end;
             x++) {
            double size = x < view->source[k].begin ? view->source[k].base
                                                    : view->noise[x].size;
            double low =
                lone_lower(view, rounds, pri_delta_for(delta, PRI_BELOW), k,
                           size * (1 + 1e-9));
            found->eps_lower = fmax(found->eps_lower, fmin(low, found->eps));
        }
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
