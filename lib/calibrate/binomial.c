/*
 * From one round to many: the law of how often a link was up, and the privacy
 * curve of that many rounds with fresh noise.
 *
 * Claim: an observer of `rounds` rounds of a link that is up with probability
 * p sees K ~ Binomial(rounds, p) packets and knows K. Conditioned on K the
 * packets are one Gaussian mechanism with ratio sqrt(K) mu (their average is a
 * sufficient statistic), so
 *
 *     delta(eps) = E delta_G(eps; sqrt(K) mu)
 *
 * exactly: the law of K is the same under both hypotheses, and the hockey-stick
 * divergence of two mixtures whose component is observed is the mixture of the
 * divergences.
 */
#include "calibrate.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#define ROUNDING (LDBL_EPSILON / 2)

/* P(K = k + 1) / P(K = k). */
static long double step_up(int64_t rounds, long double odds, int64_t k)
{
    return (long double)(rounds - k) / (long double)(k + 1) * odds;
}

/* The last count that is kept above the mode: the ratios of neighbours fall, so
 * the tail beyond is less than a geometric series. */
static int64_t last_count(int64_t rounds, long double odds, int64_t mode,
                          long double tail)
{
    long double weight = 1;
    for (int64_t k = mode; k < rounds; k++) {
        long double ratio = step_up(rounds, odds, k);
        if (ratio < 1 && weight * ratio <= tail * (1 - ratio))
            return k;
        weight *= ratio;
    }
    return rounds;
}

static int64_t first_count(int64_t rounds, long double odds, int64_t mode,
                           long double tail)
{
    long double weight = 1;
    for (int64_t k = mode; k > 0; k--) {
        long double ratio = 1 / step_up(rounds, odds, k - 1);
        if (ratio < 1 && weight * ratio <= tail * (1 - ratio))
            return k;
        weight *= ratio;
    }
    return 0;
}

static enum pricer_status make_room(struct pri_rounds *law, int64_t count)
{
    if (count <= law->room)
        return PRICER_OK;
    long double *weight = pri_alloc(count, sizeof *weight);
    if (weight == NULL)
        return PRICER_MEMORY;
    free(law->weight);
    law->weight = weight;
    law->room = count;
    return PRICER_OK;
}

void pri_rounds_free(struct pri_rounds *law)
{
    free(law->weight);
    *law = (struct pri_rounds){0};
}

/*
 * Recurrences from the mode outwards, then divided by their sum: each step
 * costs four roundings, and dividing by the sum of what is kept instead of all
 * raises a weight by the tail at most. The tails are compared with a mode of 1,
 * so they are smaller still once normalised.
 */
enum pricer_status pri_rounds_law(int64_t rounds, double p, long double tail,
                                  struct pri_rounds *law)
{
    assert(rounds >= 1 && p > 0 && p <= 1);
    long double odds = p / (1 - (long double)p), sum = 1;
    int64_t mode = (int64_t)floorl(((long double)rounds + 1) * p);
    mode = mode > rounds ? rounds : mode;
    int64_t last = p == 1 ? rounds : last_count(rounds, odds, mode, tail / 4);
    int64_t first = p == 1 ? rounds : first_count(rounds, odds, mode, tail / 4);
    enum pricer_status status = make_room(law, last - first + 1);
    if (status != PRICER_OK)
        return status;
    law->first = first;
    law->last = last;
    law->tail = p == 1 ? 0 : tail;
    long double *weight = law->weight;
    weight[mode - first] = 1;
    for (int64_t k = mode; k < last; k++)
        sum += weight[k + 1 - first] =
            weight[k - first] * step_up(rounds, odds, k);
    for (int64_t k = mode; k > first; k--)
        sum += weight[k - 1 - first] =
            weight[k - first] / step_up(rounds, odds, k - 1);
    for (int64_t k = first; k <= last; k++)
        weight[k - first] /= sum;
    long double steps = (long double)(last - first) + 1;
    law->error = p == 1 ? 0 : ROUNDING * 16 * steps + law->tail;
    return PRICER_OK;
}

void pri_rounds_curve(const struct pri_rounds *law, long double eps,
                      long double mu, struct pri_curve *curve)
{
    long double wrong = 0, wrong_rest = 0;
    *curve = (struct pri_curve){0};
    for (int64_t k = law->first; k <= law->last; k++) {
        long double weight = law->weight[k - law->first];
        long double root = sqrtl((long double)k);
        struct pri_gaussian g;
        pri_gaussian_at(eps, root * mu, &g);
        long double delta = weight * expl(g.log_delta);
        long double rest = weight * expl(g.log_rest);
        long double density = weight * expl(g.log_density);
        long double rounding = 4 * ROUNDING * density * root * mu;
        curve->delta += delta;
        curve->rest += rest;
        curve->by_mu += density * root;
        curve->by_eps -= density * g.mills;
        rounding = isnan(rounding) ? 0 : rounding;
        wrong += delta * g.error + rounding;
        wrong_rest += rest * g.error + rounding;
    }
    long double terms = (long double)(law->last - law->first) + 2;
    long double common = law->error + 8 * ROUNDING * terms;
    curve->error_delta = 2 * (wrong + common * curve->delta);
    curve->error_rest = 2 * (wrong_rest + common * curve->rest);
}
