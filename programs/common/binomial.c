/*
 * From a number of trials and arrivals to the chance of so many or more.
 */
#include "binomial.h"

#include <math.h>

static double log_factorial(int64_t n)
{
    int sign;
    return lgamma_r((double)n + 1, &sign);
}

double binomial_upper_tail(int64_t n, int64_t k, double p)
{
    if (k <= 0)
        return 1;
    if (k > n || p <= 0)
        return 0;
    if (p >= 1)
        return 1;
    if ((double)k <= (double)n * p) /* sum the side that does not underflow */
        return 1 - binomial_upper_tail(n, n - k + 1, 1 - p);
    double term =
        exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) +
            (double)k * log(p) + (double)(n - k) * log1p(-p));
    double sum = 0, odds = p / (1 - p);
    for (; k <= n && term > 1e-17 * sum; k++) {
        sum += term;
        term *= (double)(n - k) / (double)(k + 1) * odds;
    }
    return fmin(sum, 1);
}

double binomial_level(int64_t n, int64_t k, double p)
{
    double above = binomial_upper_tail(n, k, p);
    double below = binomial_upper_tail(n, n - k, 1 - p);
    return fmin(1, 2 * fmin(above, below));
}
