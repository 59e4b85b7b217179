/*
 * From values of a moment generating function along a line to the privacy it
 * costs: the expected delta at any eps, and the eps at which it meets a given
 * delta. loss_line.h has the mathematics.
 */
#include "loss_line.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

void pri_contour_free(struct pri_contour *contour)
{
    free(contour->value);
    free(contour->error);
    *contour = (struct pri_contour){0};
}

double pri_contour_log_phi(double eps, double s)
{
    double root = sqrt(1 + 8 * s);
    return eps / 2 * (1 - root) - log(root);
}

double pri_contour_beyond(const struct pri_contour *contour, double eps,
                          double step)
{
    double first = 2 * M_PI / step * (1 - 1e-12), least = INFINITY;
    if (contour->most < first)
        return 0;
    for (int k = 0; k < PRI_FURTHER; k++) {
        double t = contour->further[k];
        double away = (t - contour->sigma) * first;
        double log_bound =
            contour->log_further[k] + pri_contour_log_phi(eps, t) - away;
        if (away > 1 && log_bound < 0)
            least = fmin(least, exp(log_bound) / -expm1(-away));
    }
    return least * (1 + 1e-9);
}

double pri_contour_tail(const struct pri_contour *contour, double eps,
                        int32_t count)
{
    double from = contour->step * (count - 1);
    double r = sqrt(from + contour->sigma);
    double log_size =
        contour->log_most + contour->sigma * contour->shift + eps / 2 - eps * r;
    return exp(log_size) * 2 * (1 + eps * r) / (eps * eps) /
           (sqrt(8 * from) * from) / M_PI * (1 + 1e-9);
}

/*
 * One term is e^x / (root s) with x = log_most + (eps/2)(1 - root) + s shift,
 * whose rounding is some units of the sum of the sizes of its parts.
 */
double pri_contour_delta(const struct pri_contour *contour, double eps,
                         enum pri_side side)
{
    double shift = side == PRI_ABOVE ? contour->shift : 0;
    double sum = 0, error = 0;
    for (int32_t n = 0; n < contour->count; n++) {
        double complex s = contour->sigma + contour->step * n * I;
        double complex root = csqrt(1 + 8 * s);
        double complex x = contour->log_most + eps / 2 * (1 - root) + s * shift;
        double complex term = cexp(x) / (root * s);
        double size = (n == 0 ? 1 : 2) * cabs(term);
        double units = 32 + fabs(contour->log_most) + eps * cabs(root) +
                       4 * cabs(s) * shift;
        sum += (n == 0 ? 1 : 2) * creal(contour->value[n] * term);
        error += size * (contour->error[n] + 4 * DBL_EPSILON * units);
    }
    double scale = contour->step / (2 * M_PI);
    error = scale * (error + DBL_EPSILON * contour->count * fabs(sum)) +
            pri_contour_tail(contour, eps, contour->count);
    error *= 1 + 1e-9;
    if (side == PRI_ABOVE)
        return scale * sum + error;
    double before =
        1 / expm1(2 * M_PI * contour->sigma / contour->step * (1 - 1e-12));
    return scale * sum - error - before * (1 + 1e-9) -
           pri_contour_beyond(contour, eps, contour->step);
}

double pri_contour_eps(const struct pri_contour *contour, double delta,
                       enum pri_side side, double low, double high)
{
    double known = side == PRI_ABOVE ? high : low;
    double other = side == PRI_ABOVE ? low : high;
    for (int k = 0; k < 60 && fabs(known - other) > 1e-10 * high; k++) {
        double middle = (known + other) / 2;
        double now = pri_contour_delta(contour, middle, side);
        if (side == PRI_ABOVE ? now <= delta : now >= delta)
            known = middle;
        else
            other = middle;
    }
    return known;
}
