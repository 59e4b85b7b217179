/*
 * The numbers of a release, without lib/release: integrals of densities in place of
 * continued fractions, and a mixture of randomised responses in place of the
 * recurrence of a trinomial law.
 *
 * Integrals over (0, infinity) are taken by the double exponential rule, x = L
 * exp(y - exp(-y)), with a step in y that is halved until two sums agree to a part
 * 1e-13. The error of this rule is about squared by every halving, so that the last
 * one is far below that; 1e-12 is charged.
 *
 * S = <V, u> is tanh(z) with the density sech(z)^(k-1) / I of z, I the integral of
 * that over all z. With t = tanh(z0) and z = z0 + x,
 *
 *     sech(z)^(k-1) = (1 - t^2)^((k-1)/2) exp(-(k-1) ln(cosh x + t sinh x)),
 *
 * and the moments 0, 1 and 2 of S above t are integrals of that times tanh(z)^n.
 * No gamma function is needed: I is the same integral at t = 0, twice.
 *
 * Several rounds: N of T rounds have a loss that is not 0, and then it is +e0 with
 * probability w = up / (up + down), -e0 else, independently. So delta is the mean
 * over N of that of N rounds of randomised response, b of them up,
 *
 *     sum over b of P(b; N, w) max(0, 1 - exp(eps - (2 b - N) e0)).
 *
 * All terms are positive. Those below e^-60 of the delta of the budget are left
 * out: at most T^2 / 2 of them, which is charged.
 */
#include "forward.h"
#include "pricer_forward.h"

#include <float.h>
#include <math.h>

#define INTEGRAL_ERROR 1e-12L
#define SMALL -60.L /* ln of a share of delta that does not count */

/* ------------------------------------------------------------- integrals -- */

struct integrand {
    long double (*at)(const struct integrand *f, long double x);
    long double a, b; /* parameters */
    int moment;
    long double scale; /* L */
};

/* The sum over y = (first + j stride) h, both ends where nothing is left. */
static long double add_points(const struct integrand *f, long double h,
                              int offset, int stride)
{
    long double sum = 0;
    int count = (int)ceill(13 / h);
    for (int j = offset; j <= count; j += stride) {
        long double y = -5 + (long double)j * h, fall = expl(-y);
        long double x = f->scale * expl(y - fall);
        sum += f->at(f, x) * x * (1 + fall);
    }
    return sum;
}

/* The integral over (0, infinity), or NAN if it does not converge. */
static long double integrate(const struct integrand *f)
{
    long double h = .125L, sum = add_points(f, h, 0, 1), last = sum * h;
    for (int k = 0; k < 7; k++) {
        h /= 2;
        sum += add_points(f, h, 1, 2);
        long double now = sum * h;
        if (k > 1 && fabsl(now - last) <= 1e-13L * fabsl(now))
            return now;
        last = now;
    }
    return NAN;
}

/* a = k - 1, b = t. */
static long double cap_density(const struct integrand *f, long double x)
{
    long double half = sinhl(x / 2), s = tanhl(x);
    if (x > 5000)
        return 0;
    long double value = expl(-f->a * log1pl(2 * half * half + f->b * sinhl(x)));
    for (int n = 0; n < f->moment; n++)
        value *= (f->b + s) / (1 + f->b * s);
    return value;
}

/* Moments of S above t, all of the same factor. */
static long double cap_moment(long double k, long double t, int moment)
{
    struct integrand f = {cap_density, k - 1, t, moment,
                          1 / ((k - 1) * t + sqrtl((k - 1) * (1 - t * t)))};
    return integrate(&f);
}

/* a = the point x0 from which the loss is above eps, b = mu. */
static long double gaussian_excess(const struct integrand *f, long double x)
{
    long double at = f->a + x;
    return expl(-at * at / 2) / sqrtl(2 * M_PIl) * -expm1l(-f->b * x);
}

static long double gaussian_delta(long double eps, long double mu)
{
    long double from = eps / mu - mu / 2;
    struct integrand f = {gaussian_excess, from, mu, 0,
                          from > 1 ? 1 / from : 1};
    return integrate(&f) * (1 + INTEGRAL_ERROR);
}

/* ---------------------------------------------------------------- rounds -- */

static long double log_choose(long double n, long double k)
{
    return lgammal(n + 1) - lgammal(k + 1) - lgammal(n - k + 1);
}

/* delta of `count` rounds of randomised response; terms below exp(least) are
 * left out. */
static long double response_delta(long double up, long double e0, int64_t count,
                                  long double eps, long double least)
{
    long double n = (long double)count, sum = 0;
    long double first = floorl((n + eps / e0) / 2);
    first = fmaxl(first - 1, 0);
    if (first > n)
        return 0;
    long double rest = log1pl(-up);
    long double mass =
        log_choose(n, first) + first * logl(up) + (n - first) * rest;
    long double odds = logl(up) - rest;
    for (long double b = first; b <= n; b++) {
        long double excess = (2 * b - n) * e0 - eps;
        if (excess > 0 && mass >= least)
            sum += expl(mass) * -expm1l(-excess);
        if (mass < least && b > n * up)
            break;
        mass += logl((n - b) / (b + 1)) + odds;
    }
    return sum;
}

/* delta at eps of T rounds whose losses are +e0, -e0 or 0. */
static long double rounds_delta(long double up, long double down,
                                long double e0, int64_t rounds, long double eps,
                                long double budget)
{
    long double both = up + down, many = (long double)rounds, sum = 0;
    long double least = logl(budget) + SMALL;
    for (int64_t n = rounds; (long double)n * e0 > eps; n--) {
        long double count = (long double)n;
        long double mass = log_choose(many, count) + count * logl(both);
        if (n < rounds)
            mass += (many - count) * log1pl(-both);
        if (mass >= least)
            sum += expl(mass) *
                   response_delta(up / both, e0, n, eps, least - mass);
        else if (count < many * both)
            break;
    }
    /* lgammal() is right to a part 1e-18 of values up to T ln T. */
    long double error = 1e-15L + many * logl(many + 1) * 1e-17L;
    return sum * (1 + error) + many * many / 2 * expl(least);
}

/* ---------------------------------------------------------------- sphere -- */

/* docs/release.md, "What is not quite uniform": the share of seeds in a cap may
 * differ between inputs by a part *part of it, which costs what is returned in
 * every round, the number of tries in plain view. */
static long double find_charge(long double k, long double t, long double e0,
                               long double q, long double density,
                               long double *part)
{
    const long double u = 0x1p-53L;
    long double all = q + (1 - q) * expl(-e0), lost = -expm1l(-e0);
    long double width = (82 + t * (119 + 2 * sqrtl(k))) * u;
    long double pairs = (k + 16) / 2;
    long double difference =
        2 * (width * density * 1.01L + pairs * 3 * 0x1p-64L);
    long double tries = 44 / -log1pl(-all) + 1;
    *part = difference / q;
    return q / all * lost * difference / q +
           (tries - 1) * difference * lost / (1 - all);
}

static bool check_sphere(const struct pricer_forward_node *node,
                         int64_t dimension, const struct pricer_budget *budget,
                         struct pri_release_check *found)
{
    int64_t rounds = budget->rounds;
    double eps = budget->eps, delta = budget->delta;
    long double d = (long double)dimension, k = d + 1, t = node->threshold;
    long double e0 = node->loss, many = (long double)rounds;
    double steps = node->loss * 0x1p40;
    if (!(e0 > 0 && e0 <= 12 && steps == floor(steps)) || dimension < 1 ||
        !(t * sqrtl(k) >= 0x1p-20L && t < 1))
        return false;
    long double whole = 2 * cap_moment(k, 0, 0);
    long double factor = expl((k - 1) / 2 * log1pl(-t * t)) / whole;
    long double q = factor * cap_moment(k, t, 0);
    long double g = factor * cap_moment(k, t, 1);
    long double square = factor * cap_moment(k, t, 2);
    if (!(q > 0 && q < .5L && g > 0 && square > 0))
        return false;
    long double p = q / (q + (1 - q) * expl(-e0));
    long double m = p * g / q - (1 - p) * g / (1 - q);
    /* E S^2 inside and outside; all directions together have 1/k. */
    long double mean = p * square / q + (1 - p) * (1 / k - square) / (1 - q);
    long double at_zero = (1 - mean) / (m * m);
    long double at_end = (1 - (1 - mean) / d) / (m * m) - 1;
    long double part, density = factor / (1 - t * t);
    struct pri_release_check now = {.share = q, .m = m};
    now.variance = fmaxl(at_zero, at_end);
    now.charge = find_charge(k, t, e0, q, density, &part);
    part += 4 * INTEGRAL_ERROR;
    now.pure = many * (e0 + now.charge) <= eps;
    long double up = fminl(p * (1 + part), 1);
    long double down = p * expl(-e0) * (1 - part);
    if (!now.pure && delta > 0)
        now.delta = rounds_delta(up, fminl(down, 1 - up), e0, rounds,
                                 eps - many * now.charge, delta);
    else if (!now.pure)
        now.delta = 1;
    *found = now;
    return true;
}

/*
 * How far apart two payloads are before the noise. Rounding towards zero to a
 * grid adds less than a step to every coordinate of a difference, and clipping
 * and its rounding 4 steps and (8 d + 64) 2^-53 for each of two data:
 * lib/round/round.c, (4). Steps are at most 2^-29 of the reach of a payload.
 */
static long double gaussian_move(long double diameter, long double d,
                                 long double noise)
{
    long double reach = 1 + 64 * fmaxl(noise, 2.L / 1984);
    long double step = reach * 0x1p-29L;
    long double more =
        sqrtl(d) * step + 2 * (4 * step + (8 * d + 64) * 0x1p-53L);
    return diameter < 2 ? fminl(diameter + more, 2) : 2;
}

static bool check_gaussian(const struct pricer_forward_node *node,
                           int64_t dimension, double diameter,
                           const struct pricer_budget *budget,
                           struct pri_release_check *found)
{
    long double noise = node->noise, many = (long double)budget->rounds;
    double eps = budget->eps;
    if (!(noise > 0 && noise <= DBL_MAX) || !(diameter > 0))
        return false;
    long double move = gaussian_move(diameter, (long double)dimension, noise);
    long double mu = move / noise * sqrtl(many) * (1 + 1e-15L);
    long double delta = isinf(eps) ? 0 : gaussian_delta(eps, mu);
    if (!(delta >= 0))
        return false;
    *found = (struct pri_release_check){.m = 1,
                                        .variance = noise * noise *
                                                    (long double)dimension,
                                        .delta = delta};
    return true;
}

bool pri_release_recompute(const struct pricer_forward_node *node,
                           int64_t dimension, double diameter,
                           const struct pricer_budget *budget,
                           struct pri_release_check *found)
{
    if (node->release == PRICER_RELEASE_SPHERE)
        return check_sphere(node, dimension, budget, found);
    return node->release == PRICER_RELEASE_GAUSSIAN &&
           check_gaussian(node, dimension, diameter, budget, found);
}
