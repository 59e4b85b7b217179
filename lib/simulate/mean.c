/*
 * Running means that merge: of squared errors in the order of the trials, so
 * that the result does not depend on who played them.
 */
#include "simulate.h"

#include <math.h>

/* Partial sums, so that strict arithmetic vectorises. */
enum { PARTS = 8 };

/* The sum of value - base, or of its square, in PARTS partial sums. */
static double sum_of(const double *values, int count, double base, bool square)
{
    double sum[PARTS] = {0}, total = 0;
    int whole = count - count % PARTS;
    for (int t = 0; t < whole; t += PARTS)
        for (int k = 0; k < PARTS; k++) {
            double off = values[t + k] - base;
            sum[k] += square ? off * off : off;
        }
    for (int t = whole; t < count; t++) {
        double off = values[t] - base;
        sum[t - whole] += square ? off * off : off;
    }
    for (int k = 0; k < PARTS; k++)
        total += sum[k];
    return total;
}

struct pri_mean pri_mean_of(const double *values, int count)
{
    if (count == 0)
        return (struct pri_mean){0, 0, 0};
    double mean = sum_of(values, count, 0, false) / count;
    return (struct pri_mean){count, mean, sum_of(values, count, mean, true)};
}

/* The parallel rule of Chan, Golub and LeVeque. */
struct pri_mean pri_mean_merge(struct pri_mean a, struct pri_mean b)
{
    if (a.count == 0)
        return b;
    if (b.count == 0)
        return a;
    double n = (double)(a.count + b.count), gap = b.mean - a.mean;
    double share = (double)b.count / n;
    return (struct pri_mean){a.count + b.count, a.mean + gap * share,
                             a.squares + b.squares +
                                 gap * gap * share * (double)a.count};
}

double pri_mean_error(struct pri_mean mean)
{
    if (mean.count < 2)
        return NAN;
    double n = (double)mean.count;
    return sqrt(mean.squares / (n - 1) / n);
}
