/*
 * From a view to the probability that some sum is seen with next to no noise in
 * it, over all states of the pairs that decide about that. Claim and proof:
 * docs/mathematics.md, As good as bare.
 */
#include "bare.h"

#include <float.h>
#include <math.h>

enum { PAIRS_MOST = 14 };

double pri_view_slack(const struct pri_view *view)
{
    double links = (double)view->noises + view->sources + 2. * view->pairs;
    return 1e-12 + 8 * DBL_EPSILON * links + 2 * view->loose;
}

void pri_plain_chances(const struct pri_view *view, struct pri_chances *chances)
{
    for (int32_t k = 0; k < view->noises; k++) {
        chances->chance[k] = view->noise[k].chance;
        chances->absent[k] = pri_absent(&view->noise[k]);
    }
}

static bool can_be_bare(const struct pri_view *view, int32_t source,
                        double hide)
{
    return view->source[source].base < hide;
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
        if (!can_be_bare(view, k, hide))
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
    return can_be_bare(view, pair->source, hide) &&
           can_be_bare(view, pair->other, hide) &&
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
                               : &chances->chance[pair->first];
    double *not_first = pair->gate ? &chances->broken[pair->source]
                                   : &chances->absent[pair->first];
    double *absent = &chances->absent[pair->second];
    double before[] = {*not_first, *first}, second = *absent;
    pri_pair_cells(view, pair, cell);
    double down = cell[0][0] / (cell[0][0] + cell[0][1]);
    double up = cell[1][0] / (cell[1][0] + cell[1][1]);
    if (known >= PAIRS_MOST) {
        search->exact = false;
        *absent = search->side == PRI_ABOVE ? fmax(up, down) : fmin(up, down);
        sum = over_pairs(search, from + 1, known);
    }
    for (int x = 0; x < 2 && known < PAIRS_MOST; x++) {
        *first = x;
        *not_first = 1 - x;
        *absent = x ? up : down;
        double weight = cell[x][0] + cell[x][1];
        if (weight > 0)
            sum += weight * over_pairs(search, from + 1, known + 1);
    }
    *not_first = before[0];
    *first = before[1];
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
        possible = possible || can_be_bare(view, k, hide);
        chances->link[k] = view->source[k].link;
        chances->broken[k] = 1 - view->source[k].link;
    }
    if (!possible)
        return 0;
    pri_plain_chances(view, chances);
    double once = fmin(over_pairs(&search, 0, 0), 1);
    *exact = search.exact;
    double slack = pri_view_slack(view);
    once *= side == PRI_ABOVE ? 1 + slack : 1 - slack;
    double all = -expm1((double)rounds * log1p(-fmin(once, 1)));
    return side == PRI_ABOVE
               ? fmin(all * (1 + 1e-12) + (double)rounds * PRI_LOST, 1)
               : all * (1 - 1e-12);
}
