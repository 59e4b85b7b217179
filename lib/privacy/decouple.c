/*
 * From the links that a case leaves coupled to how much each of them typically
 * matters, for pri_decoupled() in cases.c.
 *
 * Let f be a curve with d ln f'/dx <= g, e an open pair of two noises, a at the
 * sum j and b at the sum k, with covariance c; Q = f without b less f with b,
 * and Q' its mean over a. The joint law of a and b differs from independent
 * draws by c E(Q without a - Q with a), and b less often by eta changes the
 * expectation by eta E Q'. With A what mu^2 gains at j without a, and p the
 * probability of a, Q without a is at most e^(gA) times Q with it, so
 *
 *     Q without a - Q with a <= psi(A) Q',
 *     psi(A) = (e^(gA) - 1) / ((1-p) e^(gA) + p).
 *
 * Claim: E psi(A) Q' <= effect E Q' with
 *
 *     effect = E (e^(gh) without a - e^(gh) with a) / E e^(gh),   (1)
 *
 * h what j adds to mu^2 (0 if it is not seen), where every other noise y at j
 * is absent with its odds times t(y), a bound on what the absence of the
 * opposite noise multiplies E Q' by. Proof: under the law with weights
 * P E(Q' | noises at j) the odds of every absence, and of j being seen, are at
 * most those under P' w, w the mean of e^(gh) over a and P' the law with the
 * tilted odds. That law is log-supermodular, as h is convex in the variance, so
 * by the inequality of Fortuin, Kasteleyn and Ginibre the mean of psi, which
 * grows with every absence, is at most that under P' w: (1), as
 * psi w = e^(gh) without a - e^(gh) with a.
 *
 * The same reasoning at the other end bounds t, the ratio of E Q' without b to
 * that with it: (1) says that their difference is at most its effect times
 * their mean. At worst b is the only noise there: that holds whatever is known
 * of the others (worst_tilt()), and is where this begins. In the last step the
 * noises at j are held fixed, and with them one noise at each other sum, which
 * is b itself in the step before, but another besides in the one before that;
 * and so on: `fixed` noises of a sum, whichever, are taken as absent.
 *
 * Means of e^(gh), which is convex in the variance: from above the sizes are
 * spread to a grid, keeping their means; from below atoms are gathered.
 */
#include "account.h"

#include <math.h>

enum { BINS = 64, NOISES_MOST = 256, FIXED_FEW = 3, PASSES_MOST = 24 };

double pri_pair_first(const struct pri_view *view,
                      const struct pri_coupled *pair)
{
    return pair->gate ? view->source[pair->source].link
                      : view->noise[pair->first].chance;
}

double pri_pair_given(const struct pri_view *view,
                      const struct pri_coupled *pair, bool up)
{
    double first = pri_pair_first(view, pair);
    double second = view->noise[pair->second].chance;
    double given =
        up ? pair->joint / first : (second - pair->joint) / (1 - first);
    return fmin(fmax(given, 0), 1);
}

/* How much the first link moves mu^2 at most, and by which part of what is
 * there at least. */
static void reach_of(const struct pri_view *view,
                     const struct pri_coupled *pair, const double *base,
                     double *drop, double *part)
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
 * less than at their worst, pri_case_effects() has a better bound.
 */
double pri_decoupled(const struct pri_attempt *attempt,
                     const struct pri_coupled *pair,
                     const struct pri_scratch *scratch)
{
    const struct pri_view *view = attempt->view;
    bool above = attempt->pairs == PRI_ABOVE;
    double first = pri_pair_first(view, pair);
    double second = view->noise[pair->second].chance;
    double crude = pri_pair_given(view, pair, !above), drop, part;
    double covariance = fmax(pair->joint - first * second, 0);
    reach_of(view, pair, scratch->base, &drop, &part);
    /* A gate reverses the sign of the difference. */
    bool grows = above != pair->gate;
    double falls = drop / 8 + fmin(part / 2, attempt->fall * drop);
    double h = grows ? attempt->growth * drop : falls;
    double small = isfinite(h) ? exp(-h) : 0;
    /* The weight of the larger gain, and of the smaller. */
    double larger = above ? 1 - first : first;
    double change = covariance * (isfinite(h) ? -expm1(-h) : 1) /
                    (larger + (1 - larger) * small);
    change *= 1 + 1e-12;
    if (attempt->typical && grows)
        change = fmin(change,
                      covariance * (pair->gate ? scratch->gated[pair->source]
                                               : scratch->effect[pair->first]));
    return above ? fmin(fmax(second - change, crude), second)
                 : fmax(fmin(second + change, crude), second);
}

/* The noises of one sum that come and go. */
struct noises {
    int32_t count, at[NOISES_MOST];
    double signal, base, step, smallest, largest, growth, least_absent,
        most_absent;
    double absent[NOISES_MOST]; /* tilted */
};

static bool collect(const struct pri_attempt *attempt, int32_t index,
                    const struct pri_scratch *scratch, struct noises *list)
{
    const struct pri_view *view = attempt->view;
    const struct pri_source *source = &view->source[index];
    double all = 0;
    list->count = 0;
    list->signal = source->signal;
    list->base = source->base;
    list->smallest = INFINITY;
    list->largest = 0;
    list->growth = attempt->growth;
    for (int32_t x = source->begin; x < source->end; x++) {
        double size = view->noise[x].size;
        if (scratch->chance[x] == 1)
            list->base += size;
        if (scratch->chance[x] == 0 || scratch->chance[x] == 1)
            continue;
        if (list->count == NOISES_MOST)
            return false;
        list->at[list->count++] = x;
        list->smallest = fmin(list->smallest, size);
        list->largest = fmax(list->largest, size);
        all += size;
    }
    list->step = all / BINS;
    return list->base > 0 && all > 0;
}

/* e^(gh) at a variance beyond the base, over its largest value. */
static double weight_at(const struct noises *list, double variance)
{
    double most = list->signal / list->base;
    return exp(-list->growth * most * variance / (list->base + variance));
}

/* The part of e^(gh) that goes when a noise of that size comes. */
static double part_of(const struct noises *list, double variance, double size)
{
    double here = list->base + variance;
    double drop = isinf(size) ? 1 : size / (here + size);
    return -expm1(-list->growth * list->signal / here * drop);
}

/* What e^(gh) is where the sum is not seen, on the same scale. */
static double weight_unseen(const struct noises *list)
{
    return exp(-list->growth * list->signal / list->base);
}

/* The odds of a noise's absence, tilted by the opposite noise. */
static double tilted_absent(const struct pri_view *view, int32_t x,
                            const struct pri_scratch *scratch)
{
    double p = scratch->chance[x], factor = 1;
    int32_t index = scratch->partner[x];
    if (index >= 0 && !view->pair[index].gate) {
        const struct pri_coupled *pair = &view->pair[index];
        int32_t mate = pair->first == x ? pair->second : pair->first;
        double other = scratch->chance[mate], t = scratch->tilt[mate];
        double with = fmin(fmax(1 - pair->joint / p, 0), 1);
        double without =
            fmin(fmax(1 - (other - pair->joint) / (1 - p), with), 1);
        factor = isinf(t) ? without / with
                          : (without * t + 1 - without) / (with * t + 1 - with);
    }
    double odds = (1 - p) / p * factor;
    double absent = isfinite(odds) ? odds / (1 + odds) : 1;
    return fmin(fmax(absent, 1 - p + scratch->shift[x]) * (1 + 1e-12), 1);
}

/* The law of the variance of all noises but `skip`, spread to the grid. */
static int32_t spread_law(const struct pri_view *view,
                          const struct noises *list, int32_t skip, double *mass)
{
    int32_t top = 0;
    mass[0] = 1;
    for (int32_t k = 0; k < list->count; k++) {
        if (k == skip)
            continue;
        double units = view->noise[list->at[k]].size / list->step;
        int32_t whole = (int32_t)units;
        double absent = list->absent[k], part = units - whole;
        double low = (1 - absent) * (1 - part), high = (1 - absent) * part;
        for (int32_t i = top + 1; i <= top + whole + 1; i++)
            mass[i] = 0;
        for (int32_t i = top; i >= 0; i--) {
            double here = mass[i];
            mass[i] = here * absent;
            mass[i + whole] += here * low;
            mass[i + whole + 1] += here * high;
        }
        top += whole + 1;
    }
    return top;
}

/* A lower bound on the mean of e^(gh), by gathering. */
static double gathered_mean(const struct pri_view *view,
                            const struct noises *list)
{
    double mass[2][BINS + 2] = {{0}}, moment[2][BINS + 2] = {{0}};
    int now = 0;
    mass[0][0] = 1;
    for (int32_t k = 0; k < list->count; k++, now = !now) {
        double size = view->noise[list->at[k]].size, absent = list->absent[k];
        for (int32_t i = 0; i < BINS + 2; i++)
            mass[!now][i] = moment[!now][i] = 0;
        for (int32_t i = 0; i < BINS + 2; i++) {
            double here = mass[now][i];
            if (here == 0)
                continue;
            double mean = moment[now][i] / here + size;
            int32_t to = (int32_t)fmin(mean / list->step, BINS + 1);
            mass[!now][i] += here * absent;
            moment[!now][i] += moment[now][i] * absent;
            mass[!now][to] += here * (1 - absent);
            moment[!now][to] += here * (1 - absent) * mean;
        }
    }
    double sum = 0;
    for (int32_t i = 0; i < BINS + 2; i++)
        if (mass[now][i] > 0)
            sum += mass[now][i] *
                   weight_at(list, moment[now][i] / mass[now][i] * (1 + 1e-9));
    return sum * (1 - 1e-9);
}

/* The probability that a sum is seen, where that may be tilted by the noise
 * that comes with it elsewhere. */
static double tilted_seen(const struct pri_attempt *attempt, int32_t index,
                          const struct pri_scratch *scratch)
{
    const struct pri_view *view = attempt->view;
    double seen = scratch->seen[index];
    if (scratch->gate[index] < 0 || seen == 1)
        return seen;
    const struct pri_coupled *pair = &view->pair[scratch->gate[index]];
    const struct pri_source *own = &view->source[pair->other];
    double size = view->noise[pair->second].size, base = own->base;
    double drop =
        base > 0 ? own->signal / base * (size / (base + size)) : INFINITY;
    double odds =
        seen / (1 - seen) * exp(fmin((0.125 + attempt->fall) * drop, 700));
    return isfinite(odds) ? odds / (1 + odds) : 1;
}

/* The mean of what of e^(gh) goes when a noise of that size comes. What has
 * next to no mass is taken as worst. */
static double lost_with(const struct noises *list, const double *mass,
                        int32_t top, double size)
{
    double sum = 0, rest = 0;
    for (int32_t i = 0; i <= top; i++) {
        double at = i * list->step;
        if (mass[i] < 1e-12)
            rest += mass[i];
        else
            sum += mass[i] * weight_at(list, at) * part_of(list, at, size);
    }
    return sum + rest;
}

/*
 * (1) where only `count` others are left, of which it is known that they are
 * no smaller than the smallest, no larger than the largest, and no more often
 * absent than any: with k of them there, the variance is at least k times the
 * smallest. The next one to go multiplies e^(gh) by at most what it does at
 * that variance, if it is the largest; weights made of these factors, over the
 * largest, bound the odds as P' w does.
 */
static double effect_with_few(const struct noises *list, int32_t count,
                              double size, double seen, double chance)
{
    double absent = list->most_absent, all = 0, sum = 0, weight = 1;
    double scale = list->growth * list->signal, down = 1;
    count = count > 0 ? count : 0;
    double mass = pow(absent, count);
    if (!(mass > 1e-280))
        return INFINITY;
    for (int32_t k = 0; k <= count; k++) {
        double here = list->base + k * list->smallest;
        double rest = exp(-scale / here * (size / (here + size)));
        double part = (1 - rest) / (1 - chance + chance * rest);
        all += mass * weight;
        sum += mass * weight * part;
        down = weight * exp(-scale / here); /* not seen */
        weight *= exp(-scale / here * (list->largest / (here + list->largest)));
        mass *= (1 - absent) / absent * (count - k) / (k + 1);
    }
    double whole = (1 - seen) * down + seen * all;
    return whole > 0 ? seen * sum / whole * (1 + 1e-9) : INFINITY;
}

/* (1) for the k-th noise of the list. */
static double effect_of(const struct pri_view *view, const struct noises *list,
                        int32_t k, int32_t fixed, double seen, double mean,
                        double chance)
{
    double mass[BINS + NOISES_MOST + 2], few = INFINITY;
    double size = view->noise[list->at[k]].size;
    if (fixed > 0)
        few =
            effect_with_few(list, list->count - 1 - fixed, size, seen, chance);
    if (fixed > FIXED_FEW)
        return few;
    /* E(X | absent) <= E X / P(absent) */
    int32_t top = spread_law(view, list, k, mass);
    double gain = lost_with(list, mass, top, size);
    gain /= pow(list->least_absent, fixed);
    double less = fmax(list->absent[k] - (1 - chance), 0) * gain;
    double all = (1 - seen) * weight_unseen(list) + seen * (mean - less);
    double many = all > 0 ? seen * gain / all * (1 + 1e-9) : INFINITY;
    return fmin(few, many);
}

/* The same for the link that brings the data, which is up with `link`. */
static double gate_effect(const struct pri_view *view,
                          const struct noises *list,
                          const struct pri_source *source, double mean)
{
    double mass[BINS + NOISES_MOST + 2];
    int32_t top = spread_law(view, list, -1, mass);
    double gain = lost_with(list, mass, top, INFINITY);
    double seen = source->uplink * source->link;
    double all = (1 - seen) * weight_unseen(list) + seen * mean;
    return all > 0 ? source->uplink * gain / all * (1 + 1e-9) : INFINITY;
}

/* One pass over all sums: the effects from the tilts as they are. */
static void find_effects(const struct pri_attempt *attempt, int32_t fixed,
                         struct pri_scratch *scratch)
{
    const struct pri_view *view = attempt->view;
    struct noises list;
    for (int32_t j = 0; j < view->sources; j++) {
        if (scratch->seen[j] == 0 || !collect(attempt, j, scratch, &list))
            continue;
        list.least_absent = 1;
        list.most_absent = 0;
        for (int32_t k = 0; k < list.count; k++) {
            list.absent[k] = tilted_absent(view, list.at[k], scratch);
            list.least_absent = fmin(list.least_absent, list.absent[k]);
            list.most_absent = fmax(list.most_absent, list.absent[k]);
        }
        double mean = gathered_mean(view, &list);
        double seen = tilted_seen(attempt, j, scratch);
        for (int32_t k = 0; k < list.count; k++) {
            int32_t x = list.at[k], index = scratch->partner[x];
            if (index < 0 || view->pair[index].gate)
                continue;
            scratch->effect[x] =
                fmin(scratch->effect[x], effect_of(view, &list, k, fixed, seen,
                                                   mean, scratch->chance[x]));
            scratch->bins.work += fixed > FIXED_FEW
                                      ? 20. * list.count
                                      : (list.count + 30.) * BINS / 3;
        }
        if (scratch->gate[j] >= 0 && fixed == 0)
            scratch->gated[j] =
                fmin(scratch->gated[j],
                     gate_effect(view, &list, &view->source[j], mean));
    }
}

/* What follows for the tilts. */
static void find_tilts(const struct pri_attempt *attempt,
                       struct pri_scratch *scratch)
{
    const struct pri_view *view = attempt->view;
    for (int32_t k = 0; k < view->pairs; k++) {
        const struct pri_coupled *pair = &view->pair[k];
        if (pair->gate || scratch->partner[pair->first] != k)
            continue;
        int32_t both[] = {pair->first, pair->second};
        for (int end = 0; end < 2; end++) {
            double effect = scratch->effect[both[end]];
            double p = scratch->chance[both[end]], left = 1 - (1 - p) * effect;
            double t = left > 0 ? (1 + p * effect) / left : INFINITY;
            scratch->tilt[both[end]] = fmin(scratch->tilt[both[end]], t);
        }
        double first = view->noise[pair->first].chance;
        double second = view->noise[pair->second].chance;
        double covariance = fmax(pair->joint - first * second, 0);
        double shift = covariance * scratch->effect[pair->first];
        scratch->shift[pair->second] =
            fmin(scratch->shift[pair->second], shift);
    }
}

/* The most that e^(gh) can be multiplied by, in the mean over whether the sum
 * is seen, when a noise goes: where it is the only one. */
static double worst_tilt(const struct pri_attempt *attempt, int32_t source,
                         int32_t noise, const struct pri_scratch *scratch)
{
    double base = attempt->view->source[source].base;
    double size = attempt->view->noise[noise].size;
    double scale = attempt->growth * attempt->view->source[source].signal;
    double seen = tilted_seen(attempt, source, scratch);
    double without = 1 - seen + seen * exp(scale / base);
    double with = 1 - seen + seen * exp(scale / (base + size));
    return isfinite(without) ? without / with * (1 + 1e-9) : INFINITY;
}

/* What holds without further ado. */
static void begin(const struct pri_attempt *attempt,
                  struct pri_scratch *scratch)
{
    const struct pri_view *view = attempt->view;
    for (int32_t k = 0; k < view->noises; k++) {
        scratch->tilt[k] = INFINITY;
        scratch->shift[k] = 0;
    }
    for (int32_t k = 0; k < view->pairs; k++) {
        const struct pri_coupled *pair = &view->pair[k];
        if (pair->gate || scratch->partner[pair->first] != k)
            continue;
        scratch->tilt[pair->first] =
            worst_tilt(attempt, pair->source, pair->first, scratch);
        scratch->tilt[pair->second] =
            worst_tilt(attempt, pair->other, pair->second, scratch);
        if (attempt->pairs == PRI_ABOVE)
            scratch->shift[pair->second] =
                view->noise[pair->second].chance -
                pri_decoupled(attempt, pair, scratch);
    }
}

void pri_case_effects(const struct pri_attempt *attempt,
                      struct pri_scratch *scratch)
{
    const struct pri_view *view = attempt->view;
    int32_t passes = 2;
    for (int32_t j = 0; j < view->sources; j++) {
        int32_t count = view->source[j].end - view->source[j].begin;
        passes = count > passes ? count : passes;
    }
    passes = passes < PASSES_MOST ? passes : PASSES_MOST;
    begin(attempt, scratch);
    for (int32_t pass = 0; pass < passes; pass++) {
        int32_t fixed = passes - 2 - pass;
        find_effects(attempt, fixed > 0 ? fixed : 0, scratch);
        find_tilts(attempt, scratch);
    }
}
