/*
 * From trials of two hypotheses to an eps that they disprove, by counting.
 *
 * Claim. If what is seen is (eps, delta)-private then
 * P(S) <= e^eps Q(S) + delta for every set S, with P and Q the laws under the
 * two hypotheses in either order: delta bounds their hockey-stick divergence.
 * S is a threshold on the likelihood ratio, which by Neyman and Pearson is the
 * best kind of set; which one is chosen on the first half of the trials. On the
 * other half, whose trials are independent of that choice, hits are binomial,
 * P(S) is at least and Q(S) at most their Clopper-Pearson bounds but for
 * error / 2 each, and then
 *
 *     eps >= ln((P_low - delta) / Q_high).
 *
 * Nothing is assumed about the code under attack, nor about the ratio: a wrong
 * one only makes a worse test. With t trials nothing above about
 * ln(t / ln(2 / error)) can come out.
 */
#include "audit.h"

#include <math.h>
#include <stdlib.h>

/* ------------------------------------------------------ Clopper, Pearson -- */

/*
 * The regularised incomplete beta function I_x(a, b), by its continued
 * fraction on the side where that converges in O(sqrt(a + b)) steps.
 */
static double beta_below(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    if (x > (a + 1) / (a + b + 2))
        return 1 - beta_below(b, a, 1 - x);
    int sign;
    long double front = lgammal_r(a + b, &sign) - lgammal_r(a, &sign) -
                        lgammal_r(b, &sign) + a * logl(x) + b * log1pl(-x);
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), h = d;
    for (int m = 1; m < 1000000; m++) {
        double even = m * (b - m) * x / ((a + 2. * m - 1) * (a + 2. * m));
        double odd =
            -(a + m) * (a + b + m) * x / ((a + 2. * m) * (a + 2. * m + 1));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        h *= d * c;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return (double)expl(front) / a * h;
}

/*
 * The largest p (from below) for which P(at least `hits`) is at most `error`:
 * that probability is I_p(hits, trials - hits + 1) and grows with p. The grain
 * taken off the error pays for the rounding of I.
 */
double pri_hits_lower(int64_t hits, int64_t trials, double error)
{
    if (hits <= 0)
        return 0;
    double low = 0, high = (double)hits / (double)trials;
    double a = (double)hits, b = (double)(trials - hits) + 1;
    for (int step = 0; step < 100 && high - low > 1e-15 * high; step++) {
        double p = (low + high) / 2;
        if (beta_below(a, b, p) > error * (1 - 1e-6))
            high = p;
        else
            low = p;
    }
    return low;
}

double pri_hits_upper(int64_t hits, int64_t trials, double error)
{
    return 1 - pri_hits_lower(trials - hits, trials, error);
}

/* ----------------------------------------------------------------- tests -- */

/* A set of ratios: those above a threshold, or all others. */
struct test {
    double threshold;
    bool upwards;
};

/* The log-likelihood ratios of one half of the trials, sorted. */
struct half {
    int64_t count;
    double *first; /* [count] under the first hypothesis */
    double *other; /* [count] under the other */
};

int pri_by_value(const void *one, const void *two)
{
    double a = *(const double *)one, b = *(const double *)two;
    return a < b ? -1 : a > b;
}

static enum pricer_status sort_half(const struct pri_trial *trials,
                                    int64_t count, struct half *half)
{
    half->count = count;
    half->first = pri_alloc(count, sizeof(double));
    half->other = pri_alloc(count, sizeof(double));
    if (half->first == NULL || half->other == NULL)
        return PRICER_MEMORY;
    for (int64_t k = 0; k < count; k++) {
        half->first[k] = trials[2 * k].ratio;
        half->other[k] = trials[2 * k + 1].ratio;
    }
    qsort(half->first, (size_t)count, sizeof(double), pri_by_value);
    qsort(half->other, (size_t)count, sizeof(double), pri_by_value);
    return PRICER_OK;
}

/* How many of the sorted numbers are above a threshold. */
static int64_t above(const double *sorted, int64_t count, double threshold)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (sorted[middle] > threshold)
            high = middle;
        else
            low = middle + 1;
    }
    return count - low;
}

static struct pri_counted judge(const struct test *test,
                                const struct half *half, double delta,
                                double error)
{
    int64_t n = half->count, one = above(half->first, n, test->threshold);
    int64_t two = above(half->other, n, test->threshold);
    struct pri_counted found = {n, test->upwards ? one : n - two,
                                test->upwards ? two : n - one, 0};
    /* Hopeless ones need no bound: most of those that are tried. */
    if (found.hits <= found.other_hits)
        return found;
    double p = pri_hits_lower(found.hits, n, error / 2) - delta;
    double q = pri_hits_upper(found.other_hits, n, error / 2);
    found.eps = p > q ? log(p / q) : 0;
    return found;
}

/* The test that would prove most on this half: all thresholds that leave so
 * many of the other hypothesis, for a growing series of counts. */
static struct test find_test(const struct half *half, double delta,
                             double error)
{
    struct test best = {0, true};
    double most = judge(&best, half, delta, error).eps;
    int64_t n = half->count;
    for (int64_t rank = 0; rank < n; rank = rank * 9 / 8 + 1)
        for (int side = 0; side < 2; side++) {
            struct test test = {
                side ? half->other[n - 1 - rank] : half->first[rank], side};
            double eps = judge(&test, half, delta, error).eps;
            if (eps > most && isfinite(test.threshold)) {
                most = eps;
                best = test;
            }
        }
    return best;
}

enum pricer_status pri_count_eps(const struct pri_trial *trials, int64_t count,
                                 double delta, double error,
                                 struct pri_counted *counted)
{
    struct half first = {0}, second = {0};
    int64_t middle = count / 2;
    enum pricer_status status = sort_half(trials, middle, &first);
    if (status == PRICER_OK)
        status = sort_half(trials + 2 * middle, count - middle, &second);
    if (status == PRICER_OK) {
        struct test test = find_test(&first, delta, error);
        *counted = judge(&test, &second, delta, error);
    }
    free(first.first);
    free(first.other);
    free(second.first);
    free(second.other);
    return status;
}
