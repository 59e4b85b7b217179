/*
 * From one round to many, for identities: composition by the privacy loss.
 *
 * The two laws of a round differ in variance, so rounds do not add up to one
 * Gaussian. What is composed instead is a pair of discrete laws that is at
 * least as easy to tell apart. Its curve x -> delta(ln x) is the polygon
 * through the curve of the round at the points x_k = e^(k step): the curve is
 * convex in x, so the polygon lies above it (Doroshenko et al. 2022, 'connect
 * the dots'), and a polygon is the curve of a pair whose privacy loss takes the
 * values k step only, with mass under the second law
 *
 *     q_k = slope after x_k - slope before x_k,   p_k = x_k q_k under the
 * first.
 *
 * A pair that dominates in every eps dominates in every composition. Losses of
 * independent rounds add up, so the law of the total is a convolution power,
 * and delta(eps) = E (1 - e^(eps - loss))_+. What rounding takes from the
 * polygon is found by evaluating it, and is charged to an infinite loss.
 */
#include "account.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Loss of one direction: p[k] at (k - reach) step, and an infinite one. */
struct loss {
    int32_t reach;
    double step, infinite;
    double *mass; /* [2 reach + 1] */
};

/*
 * The curve of one direction at the points: `ahead` for eps >= 0, `back` is the
 * opposite direction. For x < 1, delta(ln x) = 1 - x + x back(-ln x), of which
 * only the last part is kept: 1 - x has no kinks.
 */
static double bent_part(const struct loss *loss, const double *ahead,
                        const double *back, int32_t k)
{
    return k >= 0 ? ahead[k] : exp(k * loss->step) * back[-k];
}

/* The curve that the masses have at x_k, their infinite part included. */
static double curve_at(const struct loss *loss, int32_t at)
{
    double sum = loss->infinite, eps = at * loss->step;
    for (int32_t k = loss->reach; k > at; k--)
        sum -= loss->mass[k + loss->reach] * expm1(eps - k * loss->step);
    return sum;
}

/* The masses of the polygon through the curve. */
static void connect(const double *ahead, const double *back, struct loss *loss)
{
    int32_t reach = loss->reach;
    double step = loss->step, before = 0, total = 0;
    for (int32_t k = -reach; k <= reach; k++) {
        double x = exp(k * step), here = bent_part(loss, ahead, back, k);
        /* Slopes without the -1 of 1 - x, which ends at k = 0. */
        double after = 0;
        if (k < reach)
            after = (bent_part(loss, ahead, back, k + 1) - here) /
                    (x * expm1(step));
        if (k == -reach)
            before = here / x; /* from the point (0, 1) */
        double kink = after - before + (k == 0 ? 1 : 0);
        loss->mass[k + reach] = fmax(x * kink, 0);
        total += loss->mass[k + reach];
        before = after;
    }
    loss->infinite = ahead[reach];
    /* Where rounding left less than the curve, the difference is lost for good;
     * so is a total below 1. */
    double missing = fmax(0, 1 - total - loss->infinite);
    for (int32_t k = 0; k <= reach; k++)
        missing = fmax(missing, ahead[k] - curve_at(loss, k));
    for (int32_t k = -reach; k < 0; k++)
        missing = fmax(missing, bent_part(loss, ahead, back, k) -
                                    expm1(k * step) - curve_at(loss, k));
    loss->infinite = fmin(loss->infinite + missing + 1e-15, 1);
}

/*
 * *to = one + two, cut to its reach: a smaller sum counts as the smallest, a
 * larger one as infinite, and so do masses below `tiny`, to save time.
 */
static void add_losses(const struct loss *one, const struct loss *two,
                       double tiny, struct loss *to)
{
    int32_t reach = to->reach;
    memset(to->mass, 0, (2 * (size_t)reach + 1) * sizeof *to->mass);
    to->step = one->step;
    to->infinite = one->infinite + (1 - one->infinite) * two->infinite;
    for (int32_t a = -one->reach; a <= one->reach; a++) {
        double mass = one->mass[a + one->reach];
        if (mass < tiny) {
            to->infinite += mass;
            continue;
        }
        for (int32_t b = -two->reach; b <= two->reach; b++) {
            double both = mass * two->mass[b + two->reach];
            int32_t sum = a + b;
            if (sum > reach)
                to->infinite += both;
            else
                to->mass[(sum < -reach ? -reach : sum) + reach] += both;
        }
    }
}

static bool loss_new(int32_t reach, double step, struct loss *loss)
{
    *loss = (struct loss){reach, step, 0, NULL};
    loss->mass = pri_alloc(2 * (int64_t)reach + 1, sizeof(double));
    return loss->mass != NULL;
}

/* The total of `rounds` rounds, by doubling; frees *power. */
static enum pricer_status compose(struct loss *power, int64_t rounds,
                                  int32_t reach, double tiny,
                                  struct loss *total)
{
    bool begun = false, ok = loss_new(0, power->step, total);
    if (ok)
        total->mass[0] = 1;
    for (int64_t left = rounds; left > 0 && ok; left /= 2) {
        struct loss next = {0};
        int32_t wide = begun ? total->reach + power->reach : power->reach;
        if (left % 2 == 1 &&
            (ok = loss_new(wide < reach ? wide : reach, power->step, &next))) {
            add_losses(total, power, tiny, &next);
            free(total->mass);
            *total = next;
            begun = true;
        }
        wide = 2 * power->reach < reach ? 2 * power->reach : reach;
        if (left > 1 && ok && (ok = loss_new(wide, power->step, &next))) {
            add_losses(power, power, tiny, &next);
            free(power->mass);
            *power = next;
        }
    }
    free(power->mass);
    power->mass = NULL;
    if (ok)
        return PRICER_OK;
    free(total->mass);
    total->mass = NULL;
    return PRICER_MEMORY;
}

/* How finely a round is sampled, and how far the total may reach, in steps. */
enum { POINTS_MOST = 1024, REACH_MOST = 12000 };

/* E (1 - e^(eps - loss))_+, with room for the rounding of the masses. */
static double loss_delta(const struct loss *loss, double eps)
{
    double sum = loss->infinite;
    for (int32_t k = loss->reach; k >= -loss->reach && k * loss->step > eps;
         k--)
        sum -= loss->mass[k + loss->reach] * expm1(eps - k * loss->step);
    return sum * (1 + 1e-9);
}

static double loss_eps(const struct loss *loss, double delta)
{
    double low = 0, high = loss->reach * loss->step;
    if (loss_delta(loss, 0) <= delta)
        return 0;
    if (loss_delta(loss, high) > delta)
        return INFINITY;
    while (high - low > 1e-9 * high) {
        double middle = (low + high) / 2;
        *(loss_delta(loss, middle) <= delta ? &high : &low) = middle;
    }
    return high;
}

/* Where the total of the rounds ends, about: mean and ten deviations. */
static double end_of(const struct loss *loss, int64_t rounds)
{
    double mean = 0, square = 0, whole = (double)rounds;
    for (int32_t k = -loss->reach; k <= loss->reach; k++) {
        double value = k * loss->step, mass = loss->mass[k + loss->reach];
        mean += mass * value;
        square += mass * value * value;
    }
    return whole * fmax(mean, 0) +
           10 * sqrt(whole * fmax(square - mean * mean, 0)) +
           2 * loss->reach * loss->step;
}

/* One direction: connect, compose, solve. *end is where its total ends. */
static enum pricer_status one_direction(const double *ahead, const double *back,
                                        int32_t points, double step,
                                        double delta, int64_t rounds,
                                        double *end, double *eps)
{
    struct loss power, total;
    if (!loss_new(points, step, &power))
        return PRICER_MEMORY;
    connect(ahead, back, &power);
    *end = end_of(&power, rounds);
    if (!(*end < REACH_MOST * step)) {
        free(power.mass);
        return PRICER_OK;
    }
    int32_t reach = (int32_t)ceil(*end / step);
    enum pricer_status status =
        compose(&power, rounds, reach, 1e-10 * delta / REACH_MOST, &total);
    if (status != PRICER_OK)
        return status;
    *eps = loss_eps(&total, delta);
    free(total.mass);
    return PRICER_OK;
}

/* The curves at 0, step, 2 step ..., until next to nothing is left of them.
 * Returns the last point. */
static int32_t sample_curves(const struct pri_identity *identity,
                             const struct pri_law *law, double step,
                             double small, double *absent, double *present)
{
    for (int32_t k = 0;; k++) {
        pri_identity_deltas(identity, law, k * step, PRI_ABOVE, &absent[k],
                            &present[k]);
        if (k == POINTS_MOST || fmax(absent[k], present[k]) <= small)
            return k;
    }
}

enum pricer_status pri_identity_compose(const struct pri_identity *identity,
                                        const struct pri_law *law, double delta,
                                        int64_t rounds, double scale,
                                        double *eps)
{
    double *absent = pri_alloc(POINTS_MOST + 1, sizeof *absent);
    double *present = pri_alloc(POINTS_MOST + 1, sizeof *present);
    double step = scale / 24, end = INFINITY;
    enum pricer_status status = PRICER_MEMORY;
    if (absent == NULL || present == NULL)
        goto done;
    do {
        double one = INFINITY, two = INFINITY, end_back = 0;
        int32_t points =
            sample_curves(identity, law, step, 1e-6 * delta / (double)rounds,
                          absent, present);
        status = one_direction(absent, present, points, step, delta, rounds,
                               &end, &one);
        if (status == PRICER_OK)
            status = one_direction(present, absent, points, step, delta, rounds,
                                   &end_back, &two);
        if (status != PRICER_OK)
            goto done;
        *eps = fmax(one, two);
        end = fmax(end, end_back);
        /* Too long for the step: a longer one. */
    } while (!(end < REACH_MOST * step) &&
             (step = 1.01 * end / REACH_MOST) > 0);
done:
    free(absent);
    free(present);
    return status;
}
