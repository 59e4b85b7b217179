/*
 * From a case to the probabilities it has: what of the links is told, what
 * follows from that, and what is decoupled to the safe side.
 */
#include "account.h"

#include <math.h>

static double first_chance(const struct pri_view *view,
                           const struct pri_pair *pair)
{
    return pair->gate ? view->source[pair->source].link
                      : view->noise[pair->first].chance;
}

/* P(second up) given the first. */
static double conditional(const struct pri_view *view,
                          const struct pri_pair *pair, bool up)
{
    double first = first_chance(view, pair);
    double second = view->noise[pair->second].chance;
    double given =
        up ? pair->joint / first : (second - pair->joint) / (1 - first);
    return fmin(fmax(given, 0), 1);
}

/* How much the first link moves mu^2 at most, and by which part of what is
 * there at least. */
static void reach_of(const struct pri_view *view, const struct pri_pair *pair,
                     const double *base, double *drop, double *part)
{
    const struct pri_source *at = &view->source[pair->source];
    double here = base[pair->source];
    if (pair->gate) {
        const struct pri_source *own = &view->source[pair->other];
        double most = base[pair->other];
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

/*
 * The probability of the second noise with which it may be drawn by itself.
 *
 * Let Q and P be what f gains if the second noise is absent, with the first
 * link in the state that makes mu^2 small or large. The joint law of the two
 * differs from independent draws by c (P - Q) if the first is a noise, and
 * c (Q - P) if it is the link that brings the data, c = their covariance;
 * changing the second's probability by eta changes the expectation by
 * eta (weight of P times P + weight of Q times Q). As d ln f'/dx is at least
 * -(1/8 + 1/2m), where m is the least that mu^2 can be, P >= e^-h Q with
 * h = drop/8 + part/2; and as it is at most `growth`, Q >= e^-h P with
 * h = growth drop. So where the difference is negative or positive at most, eta
 * follows from the smaller of the two being e^-h of the larger. With h = oo it
 * is the probability given that the first is up, or down: the order alone.
 * (d ln f'/dx = eps^2/(2 x^2) - 1/(2 x) - 1/8 is least at x = 2 eps^2, where it
 * is -(1 + 1/eps^2)/8: h = (1 + 1/eps^2) drop/8 will do as well, for any eps
 * from the least that the law is used for.)
 *
 * The curve whose d ln f'/dx is at most `growth` everywhere is the raised one
 * of pri_law_delta(); one_end() says what that costs. Where links matter by far
 * less than at their worst, account_tilt.c has a better bound.
 */
double pri_decoupled(const struct pri_attempt *attempt,
                     const struct pri_pair *pair,
                     const struct pri_scratch *scratch)
{
    const struct pri_view *view = attempt->view;
    bool above = attempt->pairs == PRI_ABOVE;
    double first = first_chance(view, pair);
    double second = view->noise[pair->second].chance;
    double crude = conditional(view, pair, !above), drop, part;
    double covariance = fmax(pair->joint - first * second, 0);
    reach_of(view, pair, scratch->base, &drop, &part);
    /* A gate turns the sign of the difference round. */
    bool grows = above != pair->gate;
    double falls = drop / 8 + fmin(part / 2, attempt->fall * drop);
    double h = grows ? attempt->growth * drop : falls;
    double small = isfinite(h) ? exp(-h) : 0;
    /* The weight of the larger gain, and of the smaller. */
    double larger = above ? 1 - first : first;
    double change = covariance * (isfinite(h) ? -expm1(-h) : 1) /
                    (larger + (1 - larger) * small);
    change *= 1 + 1e-12;
    if (attempt->usual && grows)
        change = fmin(change,
                      covariance * (pair->gate ? scratch->gated[pair->source]
                                               : scratch->effect[pair->first]));
    return above ? fmin(fmax(second - change, crude), second)
                 : fmax(fmin(second + change, crude), second);
}

static bool tells_source(const struct pri_case *one, int32_t source)
{
    return source < PRI_TOLD_MOST && one->told >> source & 1;
}

static bool tells_pair(const struct pri_case *one, int32_t pair)
{
    return pair < PRI_TOLD_MOST && one->pair_told >> pair & 1;
}

/* The sources that are told. Returns the probability. */
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
        if (!tells_source(one, k))
            continue;
        bool yes = one->seen >> k & 1;
        weight *= yes ? seen : 1 - seen;
        scratch->seen[k] = yes;
    }
    return weight;
}

static void set_second(const struct pri_view *view, const struct pri_pair *pair,
                       double chance, struct pri_scratch *scratch)
{
    scratch->chance[pair->second] = chance;
    if (chance == 1)
        scratch->base[pair->other] += view->noise[pair->second].size;
}

/*
 * A pair that is told, or that follows: where a source is seen its link was up;
 * where it is not, the link was up with the probability that is left.
 */
static double set_pair(const struct pri_view *view, const struct pri_case *one,
                       int32_t index, struct pri_scratch *scratch)
{
    const struct pri_pair *pair = &view->pair[index];
    const struct pri_source *source = &view->source[pair->source];
    double first = first_chance(view, pair);
    if (tells_pair(one, index)) {
        bool up = one->pair_up >> index & 1;
        if (pair->gate)
            scratch->seen[pair->source] = up ? source->uplink : 0;
        else
            scratch->chance[pair->first] = up;
        if (up && !pair->gate)
            scratch->base[pair->source] += view->noise[pair->first].size;
        set_second(view, pair, conditional(view, pair, up), scratch);
        return up ? first : 1 - first;
    }
    if (pair->gate) {
        bool seen = one->seen >> pair->source & 1;
        double up =
            seen ? 1
                 : first * (1 - source->uplink) / (1 - first * source->uplink);
        double chance = up * conditional(view, pair, true) +
                        (1 - up) * conditional(view, pair, false);
        set_second(view, pair, seen ? conditional(view, pair, true) : chance,
                   scratch);
    }
    return 1;
}

/* Whether a pair still couples anything in this case. */
static bool is_open(const struct pri_view *view, const struct pri_case *one,
                    int32_t index, const struct pri_scratch *scratch)
{
    const struct pri_pair *pair = &view->pair[index];
    if (tells_pair(one, index) || scratch->seen[pair->other] == 0)
        return false;
    return pair->gate ? !tells_source(one, pair->source)
                      : scratch->seen[pair->source] > 0;
}

/* How much may depend on a pair that is open: the range of the probabilities
 * of the second noise times what that noise can do. */
static double stake_of(const struct pri_view *view, const struct pri_pair *pair,
                       const struct pri_scratch *scratch)
{
    const struct pri_source *other = &view->source[pair->other];
    double base = scratch->base[pair->other];
    double size = view->noise[pair->second].size;
    double range =
        conditional(view, pair, true) - conditional(view, pair, false);
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
        const struct pri_pair *pair = &view->pair[k];
        int32_t tell = k < PRI_TOLD_MOST ? PRI_TOLD_MOST + k : -1;
        if (!is_open(view, one, k, scratch))
            continue;
        double stake = stake_of(view, pair, scratch);
        double seen = scratch->seen[pair->source];
        if (pair->source < PRI_TOLD_MOST && !tells_source(one, pair->source) &&
            seen < 1 && (pair->gate || seen > 0))
            tell = pair->source;
        if (pair->other < PRI_TOLD_MOST && scratch->seen[pair->other] < 1)
            tell = pair->other;
        if (tell >= 0 && stake > most) {
            most = stake;
            next = tell;
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
        const struct pri_pair *pair = &view->pair[k];
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
        if (tells_pair(one, k) ||
            (view->pair[k].gate && tells_source(one, view->pair[k].source)))
            weight *= set_pair(view, one, k, scratch);
    one->next = next_of(view, one, scratch);
    mark_open(attempt, one, scratch);
    if (one->open && attempt->usual && isfinite(attempt->growth))
        pri_case_effects(attempt, scratch);
    for (int32_t k = 0; k < view->pairs; k++)
        if (is_open(view, one, k, scratch))
            scratch->chance[view->pair[k].second] =
                pri_decoupled(attempt, &view->pair[k], scratch);
    return weight;
}
