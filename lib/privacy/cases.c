/*
 * From a case to the probabilities it has: what of the links is given, what
 * follows from that, and what is decoupled to the safe side.
 */
#include "account.h"

#include <math.h>

static bool given_source(const struct pri_case *one, int32_t source)
{
    return source < PRI_GIVEN_MOST && one->given >> source & 1;
}

static bool given_pair(const struct pri_case *one, int32_t pair)
{
    return pair < PRI_GIVEN_MOST && one->pair_given >> pair & 1;
}

/* The sources that the case is conditioned on. Returns the probability. */
static double set_sources(const struct pri_view *view,
                          const struct pri_case *one,
                          struct pri_scratch *scratch)
{
    double weight = 1;
    for (int32_t k = 0; k < view->sources; k++) {
        const struct pri_source *source = &view->source[k];
        double seen = source->uplink * source->link;
        scratch->base[k] = source->base;
        scratch->seen[k] = seen;
        if (!given_source(one, k))
            continue;
        bool yes = one->seen >> k & 1;
        weight *= yes ? seen : 1 - seen;
        scratch->seen[k] = yes;
    }
    return weight;
}

static void set_second(const struct pri_view *view,
                       const struct pri_coupled *pair, double chance,
                       struct pri_scratch *scratch)
{
    scratch->chance[pair->second] = chance;
    if (chance == 1)
        scratch->base[pair->other] += view->noise[pair->second].size;
}

/*
 * A pair that is given, or that follows: where a source is seen its link was up;
 * where it is not, the link was up with the probability that is left.
 */
static double set_pair(const struct pri_view *view, const struct pri_case *one,
                       int32_t index, struct pri_scratch *scratch)
{
    const struct pri_coupled *pair = &view->pair[index];
    const struct pri_source *source = &view->source[pair->source];
    double first = pri_pair_first(view, pair);
    if (given_pair(one, index)) {
        bool up = one->pair_up >> index & 1;
        if (pair->gate)
            scratch->seen[pair->source] = up ? source->uplink : 0;
        else
            scratch->chance[pair->first] = up;
        if (up && !pair->gate)
            scratch->base[pair->source] += view->noise[pair->first].size;
        set_second(view, pair, pri_pair_given(view, pair, up), scratch);
        return up ? first : 1 - first;
    }
    if (pair->gate) {
        bool seen = one->seen >> pair->source & 1;
        double up =
            seen ? 1
                 : first * (1 - source->uplink) / (1 - first * source->uplink);
        double chance = up * pri_pair_given(view, pair, true) +
                        (1 - up) * pri_pair_given(view, pair, false);
        set_second(view, pair, seen ? pri_pair_given(view, pair, true) : chance,
                   scratch);
    }
    return 1;
}

/* Whether a pair still couples anything in this case. */
static bool is_open(const struct pri_view *view, const struct pri_case *one,
                    int32_t index, const struct pri_scratch *scratch)
{
    const struct pri_coupled *pair = &view->pair[index];
    if (given_pair(one, index) || scratch->seen[pair->other] == 0)
        return false;
    return pair->gate ? !given_source(one, pair->source)
                      : scratch->seen[pair->source] > 0;
}

/* How much may depend on a pair that is open: the range of the probabilities
 * of the second noise times what that noise can do. */
static double stake_of(const struct pri_view *view,
                       const struct pri_coupled *pair,
                       const struct pri_scratch *scratch)
{
    const struct pri_source *other = &view->source[pair->other];
    double base = scratch->base[pair->other];
    double size = view->noise[pair->second].size;
    double range =
        pri_pair_given(view, pair, true) - pri_pair_given(view, pair, false);
    double drop = base > 0 ? other->signal / base * (size / (base + size))
                           : other->signal / size;
    return range * scratch->seen[pair->source] * scratch->seen[pair->other] *
           fmin(drop, 1e200);
}

/* Of the pair with most at stake: whether its sums are seen, then itself. */
static int32_t next_of(const struct pri_view *view, const struct pri_case *one,
                       const struct pri_scratch *scratch)
{
    double most = -1;
    int32_t next = -1;
    for (int32_t k = 0; k < view->pairs; k++) {
        const struct pri_coupled *pair = &view->pair[k];
        int32_t condition = k < PRI_GIVEN_MOST ? PRI_GIVEN_MOST + k : -1;
        if (!is_open(view, one, k, scratch))
            continue;
        double stake = stake_of(view, pair, scratch);
        double seen = scratch->seen[pair->source];
        if (pair->source < PRI_GIVEN_MOST && !given_source(one, pair->source) &&
            seen < 1 && (pair->gate || seen > 0))
            condition = pair->source;
        if (pair->other < PRI_GIVEN_MOST && scratch->seen[pair->other] < 1)
            condition = pair->other;
        if (condition >= 0 && stake > most) {
            most = stake;
            next = condition;
        }
    }
    return next;
}

/* Which pairs are open; no effects are known yet. */
static void mark_open(const struct pri_attempt *attempt, struct pri_case *one,
                      struct pri_scratch *scratch)
{
    const struct pri_view *view = attempt->view;
    one->open = false;
    for (int32_t k = 0; k < view->noises; k++) {
        scratch->partner[k] = -1;
        scratch->effect[k] = INFINITY;
    }
    for (int32_t k = 0; k < view->sources; k++) {
        scratch->gate[k] = -1;
        scratch->gated[k] = INFINITY;
    }
    for (int32_t k = 0; k < view->pairs; k++) {
        const struct pri_coupled *pair = &view->pair[k];
        if (!is_open(view, one, k, scratch))
            continue;
        one->open = true;
        scratch->partner[pair->second] = k;
        if (pair->gate)
            scratch->gate[pair->source] = k;
        else
            scratch->partner[pair->first] = k;
    }
}

double pri_case_set(const struct pri_attempt *attempt, struct pri_case *one,
                    struct pri_scratch *scratch)
{
    const struct pri_view *view = attempt->view;
    for (int32_t k = 0; k < view->noises; k++)
        scratch->chance[k] = view->noise[k].chance;
    double weight = set_sources(view, one, scratch);
    for (int32_t k = 0; k < view->pairs; k++)
        if (given_pair(one, k) ||
            (view->pair[k].gate && given_source(one, view->pair[k].source)))
            weight *= set_pair(view, one, k, scratch);
    one->next = next_of(view, one, scratch);
    mark_open(attempt, one, scratch);
    if (one->open && attempt->typical && isfinite(attempt->growth))
        pri_case_effects(attempt, scratch);
    for (int32_t k = 0; k < view->pairs; k++)
        if (is_open(view, one, k, scratch))
            scratch->chance[view->pair[k].second] =
                pri_decoupled(attempt, &view->pair[k], scratch);
    return weight;
}
