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
#include <stdlib.h>

/* How close the two ends of a bracket should be, and how hard to try. */
#define CLOSE 0.008
enum { BITS_FIRST = 5, BITS_MOST = 16, LOOK_BITS = 3 };

/* That many times in a row, more cases may leave more than this of a width. */
enum { IDLE_MOST = 4 };
#define SOME 0.97

/* The account without cases comes after so many tries, and may take so many
 * times the work: where it is close it is next to exact, and nothing else is
 * tried. */
enum { EXACT_AFTER = 3 };
#define EXACT_WORK 30

/* Between this part of an eps and itself, what lies below `low` costs next to
 * nothing: this part of delta. */
#define NEARBY 0.8
#define NOTHING 1e-5

/* What a curve may be off by, in parts of delta, so that it is less steep. */
#define OFF_ABOVE 1
#define OFF_BELOW 5e-3

/* The mu^2 at which delta_G is that. */
static enum pricer_status where(double eps, double delta, double *at)
{
    struct pri_rounds law = {0};
    long double mu;
    enum pricer_status status =
        pri_calibrate(PRICER_CALIBRATION_ANALYTIC, eps, delta, 1, 1, &law, &mu);
    pri_rounds_free(&law);
    *at = (double)(mu * mu);
    return status;
}

/* How steep ln f' is from there on, at most. */
static double growth_at(double eps, double x)
{
    double ratio = eps / x;
    return fmax(ratio * ratio / 2 - 0.125, 1 / x);
}

/* Set what depends on it for an eps that is known to hold, while one below
 * `window` of it is known not to. */
static enum pricer_status set_low(double eps, double window, double delta,
                                  struct pri_attempt *attempt)
{
    double above, below;
    attempt->eps = eps;
    attempt->low = 0;
    attempt->window = fmax(window, NEARBY);
    attempt->fall = attempt->below = INFINITY;
    attempt->above = attempt->tuned ? attempt->above : INFINITY;
    if (!(eps > 0) || isinf(eps))
        return PRICER_OK;
    double least = attempt->window * eps;
    double off = fmin(OFF_ABOVE * delta, 0.01);
    enum pricer_status status =
        where(NEARBY * eps, NOTHING * delta, &attempt->low);
    if (status == PRICER_OK)
        status = where(eps, off, &above);
    if (status == PRICER_OK)
        status = where(least, OFF_BELOW * delta, &below);
    if (status != PRICER_OK || isinf(attempt->low)) {
        attempt->low = isinf(attempt->low) ? 0 : attempt->low;
        return status;
    }
    attempt->fall = 0.125 / least / least * (1 + 1e-9);
    attempt->below = growth_at(eps, below);
    if (!attempt->tuned)
        attempt->above = growth_at(eps, above);
    return PRICER_OK;
}

/* Whether some pair had to be decoupled, by more than the order alone. */
static bool was_open(const struct pri_attempt *attempt,
                     const struct pri_scratch *scratch)
{
    bool open = false;
    for (int32_t k = 0; k < scratch->case_count; k++)
        open = open || scratch->cases[k].open;
    return open && attempt->view->pairs > 0 && isfinite(attempt->growth);
}

/* Where the law costs `goal`, by the raised curve. */
static enum pricer_status law_eps(enum pri_side side, double goal,
                                  double growth, struct pri_scratch *scratch,
                                  double *eps)
{
    *eps = side == PRI_ABOVE && goal < 1 ? INFINITY : 0;
    return goal > 0 && goal < 1
               ? pri_law_eps(&scratch->law, goal, growth, side, &scratch->bins,
                             &scratch->once, eps)
               : PRICER_OK;
}

/*
 * Where the law costs `goal` and what the curve is raised by besides. That need
 * not fall with eps, so it is looked up at the eps that comes out: 0 if what
 * was added is never enough.
 */
static enum pricer_status lower_eps(enum pri_side side, double goal,
                                    double growth, double least, double most,
                                    struct pri_scratch *scratch, double *eps)
{
    double more = pri_raised_by(least, growth), needed = more;
    enum pricer_status status = PRICER_OK;
    for (int try = 0; try < 4 && status == PRICER_OK; try++) {
        more = fmax(more, needed * 1.01);
        status = law_eps(side, goal + more, INFINITY, scratch, eps);
        *eps = fmin(*eps, most);
        needed = pri_raised_by(*eps, growth);
        if (needed <= more)
            return status;
    }
    *eps = 0;
    return status;
}

/*
 * One end of the bracket. What a law of decoupled pairs says of a curve that
 * grows by no more than `growth` is said of the raised curve instead, see
 * pri_law_delta(): above, that one is what is asked for; below, what it is
 * raised by is taken off. Both speak of an eps from `window` of the attempt's
 * on, and below of none beyond it: an end outside is moved in, or given up.
 */
static enum pricer_status one_end(struct pri_attempt *attempt,
                                  enum pri_side side, enum pri_side pairs,
                                  double delta, struct pri_scratch *scratch,
                                  double *eps)
{
    double most = attempt->eps, least = attempt->window * most;
    double goal = pri_delta_for(delta, side);
    attempt->side = side;
    attempt->pairs = pairs;
    attempt->growth = pairs == PRI_ABOVE ? attempt->above : attempt->below;
    enum pricer_status status = pri_view_law(attempt, scratch);
    if (status != PRICER_OK)
        return status;
    bool open = was_open(attempt, scratch);
    double growth = open ? attempt->growth : INFINITY;
    status = pairs == PRI_ABOVE
                 ? law_eps(side, goal, growth, scratch, eps)
                 : lower_eps(side, goal, growth, least, open ? most : INFINITY,
                             scratch, eps);
    if (!open || status != PRICER_OK)
        return status;
    if (pairs == PRI_ABOVE) {
        *eps = fmax(*eps, least);
        return PRICER_OK;
    }
    if (*eps >= least)
        return PRICER_OK;
    struct pri_attempt plain = *attempt; /* by the order alone */
    plain.below = plain.fall = INFINITY;
    return one_end(&plain, side, pairs, delta, scratch, eps);
}

/*
 * The best upper end over some growths: a small one says more of the pairs, and
 * less of the curve. The first time that pairs are looked at closely it is
 * looked for, downhill from the one in use; later that is kept.
 */
static enum pricer_status upper_end(struct pri_attempt *attempt, double delta,
                                    struct pri_scratch *scratch, double *eps)
{
    double begin = attempt->above, best = begin, factor = 0.85, now;
    double least = attempt->window * attempt->eps;
    enum pricer_status status =
        one_end(attempt, PRI_ABOVE, PRI_ABOVE, delta, scratch, eps);
    double used[] = {scratch->bins.work, scratch->mix.work};
    bool tune = attempt->typical && !attempt->tuned && *eps > least &&
                was_open(attempt, scratch);
    for (int step = 0; step < 8 && tune && status == PRICER_OK; step++) {
        attempt->above = best * factor;
        status = one_end(attempt, PRI_ABOVE, PRI_ABOVE, delta, scratch, &now);
        if (now < *eps) {
            *eps = now;
            best = attempt->above;
            tune = now > least;
        } else if (best == begin && factor < 1) {
            factor = 1 / factor;
        } else {
            break;
        }
    }
    /* That happens only once: the next try will not take as long. */
    scratch->bins.work = used[0];
    scratch->mix.work = used[1];
    attempt->tuned = attempt->tuned || tune;
    attempt->above = best;
    return status;
}

/* Find where mu^2 matters, roughly, from above. */
static enum pricer_status look(struct pri_attempt *attempt, double delta,
                               struct pri_scratch *scratch, double *eps)
{
    set_low(INFINITY, 0, delta, attempt);
    attempt->bits = LOOK_BITS;
    enum pricer_status status =
        one_end(attempt, PRI_ABOVE, PRI_ABOVE, delta, scratch, eps);
    return status == PRICER_OK ? set_low(*eps, 0, delta, attempt) : status;
}

/*
 * Leave out the sources that can never add more than a little to what matters,
 * with their pairs; what they can add at most is remembered.
 */
static void leave_out(struct pri_view *view, struct pri_attempt *attempt,
                      struct pri_scratch *scratch)
{
    double rounds = (double)attempt->rounds;
    double limit = 1e-5 * attempt->low / (rounds * view->sources);
    int32_t kept = 0, pairs = 0, *place = scratch->place;
    for (int32_t k = 0; k < view->sources; k++) {
        const struct pri_source *source = &view->source[k];
        bool little = source->signal <= limit * source->base;
        place[k] = little ? -1 : kept;
        if (little)
            attempt->little += source->signal / source->base;
        else
            view->source[kept++] = *source;
    }
    for (int32_t k = 0; k < view->pairs; k++) {
        struct pri_coupled pair = view->pair[k];
        pair.source = place[pair.source];
        pair.other = place[pair.other];
        if (pair.source >= 0 && pair.other >= 0)
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

static double gap_of(const struct pri_case *one)
{
    return one->next < 0
               ? -1
               : one->contribution[PRI_ABOVE] - one->contribution[PRI_BELOW];
}

/* Larger gaps first; the masks settle ties, so that the order is always the
 * same. */
static int by_gap(const void *one, const void *two)
{
    const struct pri_case *a = one, *b = two;
    double gap_a = gap_of(a), gap_b = gap_of(b);
    if (gap_a != gap_b)
        return gap_a > gap_b ? -1 : 1;
    if (a->given != b->given)
        return a->given < b->given ? -1 : 1;
    if (a->seen != b->seen)
        return a->seen < b->seen ? -1 : 1;
    if (a->pair_given != b->pair_given)
        return a->pair_given < b->pair_given ? -1 : 1;
    return a->pair_up < b->pair_up ? -1 : a->pair_up > b->pair_up;
}

/*
 * Look closer at the cases whose bounds are furthest apart: most of what is
 * open, at most twice as many cases. False if there is nothing to do.
 */
static bool split_cases(struct pri_scratch *scratch)
{
    struct pri_case *cases = scratch->cases;
    int32_t count = scratch->case_count;
    int32_t most = 2 * count < PRI_CASES_MOST ? 2 * count : PRI_CASES_MOST;
    double all = 0, done = 0;
    qsort(cases, (size_t)count, sizeof *cases, by_gap);
    for (int32_t k = 0; k < count; k++)
        all += fmax(gap_of(&cases[k]), 0);
    for (int32_t k = 0; k < count && gap_of(&cases[k]) >= 0 &&
                        scratch->case_count < most && done <= 0.95 * all;
         k++) {
        struct pri_case *more = &cases[scratch->case_count++];
        struct pri_case *one = &cases[k];
        bool pair = one->next >= PRI_GIVEN_MOST;
        uint64_t bit = (uint64_t)1 << (one->next % PRI_GIVEN_MOST);
        done += gap_of(one);
        *(pair ? &one->pair_given : &one->given) |= bit;
        *more = *one;
        *(pair ? &more->pair_up : &more->seen) |= bit;
    }
    return scratch->case_count > count;
}

/*
 * What to do about a bracket that is too wide: smaller groups if grouping is to
 * blame, more cases if pairs are. False if nothing is left to do within `work`
 * steps, of which the last try took `last`.
 */
static bool try_harder(struct pri_attempt *attempt, double grouping,
                       double pairs, double last, double work,
                       struct pri_scratch *scratch)
{
    double before = scratch->case_count;
    bool finer = grouping > CLOSE / 2 && attempt->bits < BITS_MOST;
    attempt->idle = pairs < SOME * attempt->width ? 0 : attempt->idle + 1;
    attempt->width = pairs;
    bool more =
        pairs > CLOSE / 2 && attempt->idle < IDLE_MOST && split_cases(scratch);
    double cost = last * (finer ? 4 : 1) * scratch->case_count / before;
    /* One more try should do where little is missing: it may take longer. */
    double most = grouping + pairs < 2.5 * CLOSE ? 6 * work : work;
    attempt->bits += finer;
    return (finer || more) && cost < most;
}

/*
 * Where the next try may look for the upper end: as far as it is known; or,
 * where the last try shows that it could be far lower, nearer to that.
 */
static double next_end(const struct pri_bracket *found, double middle,
                       bool failed)
{
    double most = found->eps * 1.01,
           hope = 1.1 * fmax(middle, found->eps_lower);
    return !failed && hope > 0 && hope < NEARBY * most ? hope : most;
}

/* From what a try has found to what the next one needs. */
static enum pricer_status look_again(const struct pri_bracket *found,
                                     double middle, bool failed, double delta,
                                     struct pri_attempt *attempt)
{
    double most = next_end(found, middle, failed);
    double window = fmin(found->eps_lower / most, 1) * (1 - 1e-9);
    return set_low(most, window, delta, attempt);
}

/* Refine until the two ends are close. */
static enum pricer_status close_in(struct pri_attempt *attempt, double delta,
                                   double work, struct pri_scratch *scratch,
                                   struct pri_bracket *found)
{
    double eps, lower, middle, grouping, pairs, used;
    int tries = 0;
    enum pricer_status status;
    do {
        scratch->bins.work = scratch->mix.work = 0;
        status = upper_end(attempt, delta, scratch, &eps);
        bool failed = isinf(eps);
        found->eps = fmin(found->eps, eps);
        if (status == PRICER_OK && attempt->view->pairs > 0 &&
            found->eps < attempt->eps)
            status = look_again(found, found->eps_lower, true, delta, attempt);
        if (status == PRICER_OK)
            status =
                one_end(attempt, PRI_BELOW, PRI_BELOW, delta, scratch, &lower);
        if (status != PRICER_OK)
            return status;
        middle = lower;
        found->eps_lower = fmax(found->eps_lower, lower);
        if (status == PRICER_OK && attempt->view->pairs > 0 &&
            !close_enough(found))
            status =
                one_end(attempt, PRI_BELOW, PRI_ABOVE, delta, scratch, &middle);
        if (status == PRICER_OK)
            status = look_again(found, middle, failed, delta, attempt);
        if (status != PRICER_OK)
            return status;
        attempt->typical = true;
        grouping = apart(found->eps, middle);
        pairs = apart(middle, lower);
        if (pairs > CLOSE / 2 && !close_enough(found) && ++tries == EXACT_AFTER)
            status = pri_exact_account(attempt, delta, EXACT_WORK * work,
                                       scratch, found);
        if (status != PRICER_OK)
            return status;
        used = scratch->bins.work + scratch->mix.work;
    } while (!close_enough(found) &&
             try_harder(attempt, grouping, pairs, used, work, scratch));
    return PRICER_OK;
}

enum pricer_status pri_view_account(struct pri_view *view, double delta,
                                    int64_t rounds, double work,
                                    struct pri_scratch *scratch,
                                    struct pri_bracket *bracket)
{
    struct pri_attempt attempt = {
        .view = view, .rounds = rounds, .tail = 1e-11 * delta};
    struct pri_bracket found = {INFINITY, 0, 0};
    enum pricer_status status = pri_scratch_reserve(scratch, view);
    if (status != PRICER_OK)
        return status;
    if (view->sources == 0) {
        *bracket = (struct pri_bracket){0};
        return PRICER_OK;
    }
    scratch->cases[0] = (struct pri_case){0};
    scratch->case_count = 1;
    status = look(&attempt, delta, scratch, &found.eps);
    if (status == PRICER_OK) {
        found.floor = pri_view_floor(view, rounds, scratch);
        leave_out(view, &attempt, scratch);
        attempt.bits = BITS_FIRST;
        if (found.eps > 0 && view->sources > 0)
            status = close_in(&attempt, delta, work, scratch, &found);
    }
    if (status == PRICER_OK)
        *bracket = found;
    return status;
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
 * mechanism with ratio sqrt(K) mu (binomial.c). The bracket is rounding only.
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
            status =
                pri_law_eps(&scratch->law, pri_delta_for(delta, side), INFINITY,
                            side, &scratch->bins, &scratch->once, ends[side]);
    }
    if (status == PRICER_OK)
        *bracket = found;
    return status;
}
