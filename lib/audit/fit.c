/*
 * From trials of two hypotheses to an eps, by measuring the noise.
 *
 * Counting cannot show more than the logarithm of the trials. But the noise is
 * promised to be Gaussian, and the size of a Gaussian can be measured: if all
 * that the code does wrong is one factor on signal or noise, the observer's
 * distance is scale * mu in place of the plan's mu, and the scale shows.
 *
 * Claim. Suppose that, conditioned on the links, the log-likelihood ratio of a
 * trial is normal with mean +-slope mu^2 / 2 and standard deviation s mu. Then,
 * but for a probability of `error`, no eps below the result holds at delta.
 *
 * Proof. ratio / mu is normal with mean slope x, x = +-mu / 2, and standard
 * deviation s: a regression through the origin. Each with probability at most
 * error / 4, the fitted slope is off by more than q s / sqrt(sum x^2), q the
 * normal quantile, and s exceeds what the chi-square quantile of the residuals
 * allows. Otherwise, conditioned on the links, the observer faces a Gaussian of
 * distance at least scale mu, where scale is the low end of the slope over the
 * high end of s; and as it sees the links
 *
 *     delta(eps)  = E delta_G(eps; slope mu / s)
 *                >= sum over k of P(mu >= m_k)
 *                   (delta_G(eps; scale m_k) - delta_G(eps; scale m_(k-1)))
 *
 * for any m_0 = 0 < m_1 < m_2 ..., as delta_G grows with mu. The m_k are
 * quantiles of the first half of the trials, the P are bounded by Clopper and
 * Pearson on the second half with error / 2 altogether.
 *
 * The plan is not trusted for how often links are up, nor are the accounts for
 * anything: a wrong account is contradicted.
 */
#include "audit.h"

#include <math.h>
#include <stdlib.h>

/* Fewer trials in which something was seen are not fitted; with so many the
 * approximation of the chi-square quantile is good to four digits. */
enum { SEEN_LEAST = 500 };

/* How often mu is at least the k-th threshold, about. */
static const double survivals[] = {1,    .9,   .8,   .7,   .6,   .5,  .4,
                                   .3,   .2,   .1,   .05,  .03,  .02, .01,
                                   .005, .002, .001, 5e-4, 2e-4, 1e-4};
enum { THRESHOLDS = sizeof survivals / sizeof *survivals };

/* The quantile that a standard normal exceeds with probability `error`, which
 * is below 1/2; from above. */
static double normal_quantile(double error)
{
    double low = 0, high = 40;
    for (int step = 0; step < 100; step++) {
        double middle = (low + high) / 2;
        *(erfc(middle * M_SQRT1_2) / 2 > error ? &low : &high) = middle;
    }
    return high;
}

/* About the quantile that a chi-square variable stays below with probability
 * `error`, by Wilson and Hilferty. */
static double chi_square_quantile(double degrees, double error)
{
    double part = 2 / (9 * degrees);
    double root = 1 - part - normal_quantile(error) * sqrt(part);
    return root > 0 ? degrees * root * root * root : 0;
}

double pri_fit_scale(const struct pri_trial *trials, int64_t count,
                     double error)
{
    double xx = 0, xz = 0, residual = 0;
    int64_t seen = 0;
    for (int pass = 0; pass < 2; pass++) {
        double slope = pass == 0 ? 0 : xz / xx;
        for (int64_t k = 0; k < 2 * count; k++) {
            double mu = trials[k].mu;
            if (!(mu > 0) || isinf(mu))
                continue;
            double x = (k % 2 == 0 ? .5 : -.5) * mu;
            double z = trials[k].ratio / mu;
            if (pass == 0) {
                xx += x * x;
                xz += x * z;
                seen++;
            }
            residual += pass == 0 ? 0 : (z - slope * x) * (z - slope * x);
        }
        if (seen < SEEN_LEAST || !(xx > 0))
            return NAN;
    }
    double least = chi_square_quantile((double)seen - 1, error / 2);
    if (!(least > 0))
        return 0;
    double deviation = sqrt(residual / least);
    double low = xz / xx - normal_quantile(error / 2) * deviation / sqrt(xx);
    if (!(low > 0))
        return 0;
    return deviation > 0 ? low / deviation : INFINITY;
}

/* P(mu >= m_k) from below, for ascending m_k. */
struct ladder {
    int count;
    double mu[THRESHOLDS + 1];
    double chance[THRESHOLDS + 1]; /* P(mu >= mu[k]); 0 after the last */
};

/* The m_k: quantiles of sorted values of mu, each once. */
static void choose_thresholds(const double *sorted, int64_t count,
                              struct ladder *ladder)
{
    *ladder = (struct ladder){0};
    for (int k = 0; k < THRESHOLDS; k++) {
        int64_t place = count - (int64_t)((double)count * survivals[k]);
        double mu = place < count ? sorted[place] : 0;
        bool new = mu > 0 &&
                   (ladder->count == 0 || mu > ladder->mu[ladder->count - 1]);
        if (new)
            ladder->mu[ladder->count++] = mu;
    }
}

/* Thresholds from the first half of the trials, bounds from the other. */
static enum pricer_status build_ladder(const struct pri_trial *trials,
                                       int64_t count, double error,
                                       struct ladder *ladder)
{
    int64_t first = count / 2 * 2, rest = 2 * count - first;
    double *sorted = pri_alloc(first, sizeof *sorted);
    if (sorted == NULL)
        return PRICER_MEMORY;
    for (int64_t k = 0; k < first; k++)
        sorted[k] = trials[k].mu;
    qsort(sorted, (size_t)first, sizeof *sorted, pri_by_value);
    choose_thresholds(sorted, first, ladder);
    free(sorted);
    for (int k = 0; k < ladder->count; k++) {
        int64_t hits = 0;
        for (int64_t t = first; t < 2 * count; t++)
            hits += trials[t].mu >= ladder->mu[k];
        ladder->chance[k] = pri_hits_lower(hits, rest, error / ladder->count);
    }
    return PRICER_OK;
}

/* The sum of the claim, reordered so that nothing cancels: hits, and with them
 * their bounds, fall with k. */
static double delta_of(const struct ladder *ladder, double scale, double eps)
{
    double sum = 0;
    for (int k = 0; k < ladder->count; k++)
        sum += (ladder->chance[k] - ladder->chance[k + 1]) *
               pricer_gaussian_delta(eps, scale * ladder->mu[k]);
    return sum * (1 - 1e-12);
}

/* The eps at which the sum falls to delta, from below. */
static double solve(const struct ladder *ladder, double scale, double delta)
{
    double low = 0, high = 1;
    if (!(scale > 0) || delta_of(ladder, scale, 0) <= delta)
        return 0;
    while (delta_of(ladder, scale, high) > delta) {
        low = high;
        high *= 2;
        if (high > 1e18)
            return INFINITY;
    }
    while (high - low > 1e-9 * high) {
        double middle = (low + high) / 2;
        *(delta_of(ladder, scale, middle) > delta ? &low : &high) = middle;
    }
    return low;
}

enum pricer_status pri_fit_eps(const struct pri_trial *trials, int64_t count,
                               double delta, double error, double *eps)
{
    struct ladder ladder;
    double scale = pri_fit_scale(trials, count, error / 2);
    if (isnan(scale)) {
        *eps = NAN;
        return PRICER_OK;
    }
    enum pricer_status status = build_ladder(trials, count, error / 2, &ladder);
    if (status == PRICER_OK)
        *eps = solve(&ladder, scale, delta);
    return status;
}
