/*
 * From what an observer sees of one node's data to what it costs: a bracket
 * around the eps that goes with a delta.
 *
 * Claim. Given which links were up, all that is seen is one Gaussian mechanism
 * with
 *
 *     mu^2 = sum over the sums that arrive of signal / (base + noises),
 *
 * since independent Gaussians about one number compose so. The hockey-stick
 * divergence is jointly convex, so for an observer who may not know the links
 *
 *     delta(eps) <= E delta_G(eps; mu),
 *
 * with equality where the pattern is visible. What is bracketed is that
 * expectation. Rounds are independent: their mu^2 add up.
 */
#include "account.h"

#include <math.h>

/* How close the two ends of a bracket should be, and how hard to try. */
#define CLOSE 0.008
enum { SPLITS_MOST = 20, NOISE_CELLS_MOST = 1 << 17 };

/* The value that a law exceeds with at most this probability. */
static double quantile(const struct pri_law *law, double tail)
{
    double beyond = 0, value = 0;
    for (int32_t k = law->count - 1; k >= 0; k--) {
        value = law->value[k];
        beyond += isinf(value) ? 0 : law->mass[k];
        if (beyond > tail)
            return isinf(value) ? 0 : value;
    }
    return 0;
}

/*
 * A mu^2 that is exceeded with a probability far below delta: each source stays
 * below its own quantile, up to a small part of delta altogether.
 */
static enum pricer_status reach(struct pri_attempt *attempt, double delta,
                                int64_t rounds, struct pri_scratch *scratch)
{
    double tail = delta * 1e-7 / (double)rounds / attempt->view->sources;
    double top = 0;
    pri_leaf_set(attempt, 0, scratch);
    for (int32_t k = 0; k < attempt->view->sources; k++) {
        enum pricer_status status = pri_term_law(attempt, k, scratch);
        if (status != PRICER_OK)
            return status;
        top += quantile(&scratch->term[k], tail);
    }
    attempt->top = top > 0 ? top * (double)rounds : 1;
    return PRICER_OK;
}

/* Lower `top` to where hardly anything lies above it. */
static void lower_top(const struct pri_law *law, double delta,
                      struct pri_attempt *attempt)
{
    double beyond = 0;
    for (int32_t k = law->count - 1; k >= 0; k--) {
        double value = law->value[k];
        beyond += isinf(value) ? 0 : law->mass[k];
        if (value == 0)
            return;
        if (beyond > 1e-7 * delta && !isinf(value)) {
            attempt->top = fmin(attempt->top, value);
            return;
        }
    }
}

/* Set `low` so that nothing below it costs more than a small part of delta at
 * this eps. */
static enum pricer_status set_low(double eps, double delta,
                                  struct pri_attempt *attempt)
{
    struct pri_rounds law = {0};
    long double mu;
    if (!(eps > 0) || isinf(eps)) {
        attempt->low = attempt->top * 1e-6;
        return PRICER_OK;
    }
    enum pricer_status status = pri_calibrate(
        PRICER_CALIBRATION_ANALYTIC, 0.9 * eps, 1e-3 * delta, 1, 1, &law, &mu);
    pri_rounds_free(&law);
    if (status == PRICER_OK)
        attempt->low = fmin((double)(mu * mu), attempt->top / 4);
    return status;
}

/* The probability that some sum of the leaf that is set is seen without any
 * noise in it. */
static double bare_chance(const struct pri_view *view,
                          const struct pri_scratch *scratch)
{
    double any = 0;
    for (int32_t k = 0; k < view->sources; k++) {
        const struct pri_source *source = &view->source[k];
        double chance = source->uplink * scratch->link[k];
        for (int32_t x = source->begin; x < source->end; x++)
            chance *= 1 - scratch->chance[x];
        any += source->base == 0 ? (1 - any) * chance : 0;
    }
    return any;
}

/*
 * The probability that the data arrives bare in some round. No eps pays for
 * that. Exact as long as there are few pairs.
 */
static double floor_of(const struct pri_view *view, int64_t rounds,
                       struct pri_scratch *scratch)
{
    struct pri_attempt attempt = {.view = view, .pairs = PRI_ABOVE};
    double bare = 0;
    bool possible = false;
    for (int32_t k = 0; k < view->sources; k++)
        possible = possible || view->source[k].base == 0;
    if (!possible)
        return 0;
    attempt.splits = view->pairs < SPLITS_MOST ? view->pairs : SPLITS_MOST;
    for (uint32_t leaf = 0; leaf >> attempt.splits == 0; leaf++) {
        double weight = pri_leaf_set(&attempt, leaf, scratch);
        bare += weight > 0 ? weight * bare_chance(view, scratch) : 0;
    }
    double all = -expm1((double)rounds * log1p(-fmin(bare, 1)));
    return fmin(all * (1 + 1e-12), 1);
}

static enum pricer_status one_side(struct pri_attempt *attempt,
                                   enum pri_side side, enum pri_side pairs,
                                   double delta, int64_t rounds,
                                   struct pri_scratch *scratch, double *eps)
{
    attempt->side = side;
    attempt->pairs = pairs;
    enum pricer_status status = pri_view_law(attempt, rounds, scratch);
    if (status != PRICER_OK)
        return status;
    return pri_law_eps(&scratch->law, pri_delta_for(delta, side), side,
                       &scratch->once, eps);
}

/* Find where mu^2 matters, on a coarse grid from above. */
static enum pricer_status look(struct pri_attempt *attempt, double delta,
                               int64_t rounds, struct pri_scratch *scratch)
{
    double eps;
    attempt->side = attempt->pairs = PRI_ABOVE;
    attempt->cells = 64;
    enum pricer_status status = reach(attempt, delta, rounds, scratch);
    if (status != PRICER_OK)
        return status;
    attempt->low = attempt->top * 1e-6;
    status =
        one_side(attempt, PRI_ABOVE, PRI_ABOVE, delta, rounds, scratch, &eps);
    if (status != PRICER_OK)
        return status;
    lower_top(&scratch->law, delta, attempt);
    return set_low(eps, delta, attempt);
}

/*
 * Leave out the sources that can never add more than a little to what matters,
 * with their pairs; what they can add at most is remembered.
 */
static void leave_out(struct pri_view *view, struct pri_attempt *attempt,
                      int64_t rounds, struct pri_scratch *scratch)
{
    double limit = 1e-5 * attempt->low / ((double)rounds * view->sources);
    int32_t kept = 0, pairs = 0, *place = scratch->place;
    for (int32_t k = 0; k < view->sources; k++) {
        const struct pri_source *source = &view->source[k];
        bool little = source->signal <= limit * source->base;
        place[k] = little ? -1 : kept;
        if (little)
            attempt->little += source->signal / source->base;
        for (int32_t x = source->begin; x < source->end; x++)
            view->noise[x].seen = !little;
        if (!little)
            view->source[kept++] = *source;
    }
    for (int32_t k = 0; k < view->pairs; k++) {
        struct pri_pair pair = view->pair[k];
        bool first =
            pair.gate ? place[pair.first] >= 0 : view->noise[pair.first].seen;
        if (!first || !view->noise[pair.second].seen)
            continue;
        pair.first = pair.gate ? place[pair.first] : pair.first;
        view->pair[pairs++] = pair;
    }
    view->sources = kept;
    view->pairs = pairs;
}

static bool close_enough(const struct pri_bracket *bracket)
{
    return bracket->eps == bracket->eps_lower ||
           (isfinite(bracket->eps) &&
            bracket->eps - bracket->eps_lower <= CLOSE * bracket->eps);
}

/* How far two values of eps are apart, relative to the larger. */
static double apart(double more, double less)
{
    if (isinf(more) || more <= less)
        return isinf(more) && !isinf(less) ? 1 : 0;
    return (more - less) / more;
}

/* How many steps a try takes, about. */
static double work_of(const struct pri_attempt *attempt, int64_t rounds)
{
    double leaves = ldexp(1, attempt->splits), terms = 2 * attempt->splits;
    double scales = 1 + log2(attempt->top / attempt->low) / 2;
    double cells = (double)attempt->cells * attempt->cells / 4;
    double doublings = 2 * log2((double)rounds);
    terms = leaves * fmin(terms, attempt->view->sources);
    return scales * cells * (terms + attempt->view->sources + doublings) +
           attempt->noise_cells * terms * 32.;
}

/*
 * What to do about a bracket that is too wide: finer grids if rounding is to
 * blame, more pairs split if they are. False if nothing is left to do.
 */
static bool try_harder(struct pri_attempt *attempt, double rounding,
                       double pairs, int64_t rounds)
{
    int32_t before = attempt->splits;
    if (rounding > CLOSE / 2) {
        attempt->cells *= 2;
        attempt->noise_cells *= 2;
    }
    if (pairs > CLOSE / 2)
        attempt->splits += attempt->splits < 4 ? 2 : 1;
    if (attempt->splits > attempt->view->pairs)
        attempt->splits = attempt->view->pairs;
    bool more = rounding > CLOSE / 2 || attempt->splits > before;
    return more && attempt->splits <= SPLITS_MOST &&
           (attempt->view->sources == 1 && rounds == 1
                ? attempt->noise_cells <= NOISE_CELLS_MOST
                : work_of(attempt, rounds) < attempt->work);
}

/* Refine until the two ends are close. */
static enum pricer_status close_in(struct pri_attempt *attempt, double delta,
                                   int64_t rounds, struct pri_scratch *scratch,
                                   struct pri_bracket *found)
{
    double eps, lower, middle, rounding, pairs;
    *found = (struct pri_bracket){INFINITY, 0, 0};
    do {
        enum pricer_status status = one_side(attempt, PRI_ABOVE, PRI_ABOVE,
                                             delta, rounds, scratch, &eps);
        if (status != PRICER_OK)
            return status;
        found->eps = fmin(found->eps, eps);
        status = one_side(attempt, PRI_BELOW, PRI_BELOW, delta, rounds, scratch,
                          &lower);
        middle = lower;
        found->eps_lower = fmax(found->eps_lower, lower);
        if (status == PRICER_OK && attempt->view->pairs > attempt->splits &&
            !close_enough(found))
            status = one_side(attempt, PRI_BELOW, PRI_ABOVE, delta, rounds,
                              scratch, &middle);
        if (status != PRICER_OK)
            return status;
        status = set_low(found->eps, delta, attempt);
        if (status != PRICER_OK)
            return status;
        rounding = apart(eps, middle);
        pairs = apart(middle, lower);
    } while (!close_enough(found) &&
             try_harder(attempt, rounding, pairs, rounds));
    return PRICER_OK;
}

enum pricer_status pri_view_account(struct pri_view *view, double delta,
                                    int64_t rounds, double work,
                                    struct pri_scratch *scratch,
                                    struct pri_bracket *bracket)
{
    struct pri_attempt attempt = {.view = view,
                                  .noise_cells = 2048,
                                  .ignore = 1e-5 * delta,
                                  .work = work};
    enum pricer_status status = pri_scratch_reserve(scratch, view);
    if (status == PRICER_OK && (view->sources > 1 || rounds > 1)) {
        status = look(&attempt, delta, rounds, scratch);
        if (status == PRICER_OK)
            leave_out(view, &attempt, rounds, scratch);
    }
    if (status != PRICER_OK)
        return status;
    if (view->sources == 0) {
        *bracket = (struct pri_bracket){0};
        return PRICER_OK;
    }
    attempt.cells = 256;
    struct pri_bracket found;
    status = close_in(&attempt, delta, rounds, scratch, &found);
    if (status != PRICER_OK)
        return status;
    found.floor = floor_of(view, rounds, scratch);
    *bracket = found;
    return PRICER_OK;
}

/* The law of mu^2 of a link: K mu^2 with K binomial, tails to the side. */
static enum pricer_status link_law(const struct pri_rounds *rounds, double mu,
                                   enum pri_side side, struct pri_law *law)
{
    int64_t count = rounds->last - rounds->first + 2;
    enum pricer_status status = count > INT32_MAX
                                    ? PRICER_MEMORY
                                    : pri_law_reserve(law, (int32_t)count);
    if (status != PRICER_OK)
        return status;
    law->count = 0;
    for (int64_t k = rounds->first; k <= rounds->last; k++)
        pri_law_add(law, k == 0 ? 0 : (double)k * mu * mu,
                    (double)rounds->weight[k - rounds->first]);
    if (side == PRI_ABOVE && !isinf(mu))
        pri_law_add(law, INFINITY, (double)rounds->tail);
    return PRICER_OK;
}

/* Atoms that are all infinite, or none, are one. */
static double link_floor(double mu, double p, int64_t rounds)
{
    return isinf(mu) ? -expm1((double)rounds * log1p(-p)) : 0;
}

/*
 * Exact: the receiver sees which packets arrive, and K of them are one Gaussian
 * mechanism with ratio sqrt(K) mu (rounds.c). The bracket is rounding only.
 */
enum pricer_status pri_link_account(double mu, double p, double delta,
                                    int64_t rounds, struct pri_scratch *scratch,
                                    struct pri_bracket *bracket)
{
    struct pri_bracket found = {.floor = link_floor(mu, p, rounds)};
    double *ends[] = {&found.eps_lower, &found.eps};
    if (isinf(mu)) {
        double above = pri_delta_for(delta, PRI_ABOVE);
        double below = pri_delta_for(delta, PRI_BELOW);
        found.eps = found.floor > above ? INFINITY : 0;
        found.eps_lower = found.floor > below ? INFINITY : 0;
        *bracket = found;
        return PRICER_OK;
    }
    enum pricer_status status =
        pri_rounds_law(rounds, p, 1e-14L * delta, &scratch->rounds);
    for (int side = PRI_BELOW; side <= PRI_ABOVE && status == PRICER_OK;
         side++) {
        status = link_law(&scratch->rounds, mu, side, &scratch->law);
        if (status == PRICER_OK)
            status = pri_law_eps(&scratch->law, pri_delta_for(delta, side),
                                 side, &scratch->once, ends[side]);
    }
    if (status == PRICER_OK)
        *bracket = found;
    return status;
}
