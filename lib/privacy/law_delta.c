/*
 * From the law of mu^2 to the privacy it costs: the expected delta of a
 * Gaussian mechanism, and the eps at which it meets a given delta.
 *
 * Claim: with a law from above, pri_law_delta() is at least E delta_G(eps; mu).
 * delta_G grows with mu, so the rounding of the law is to the right side.
 * 1e-9 more on each mu pays for the rounding of the values and for the quick
 * formula (1e-9 of mu is at least 8e-10 of delta, or of 1 - delta where that is
 * smaller; the formula is right within 1e-10 of either). 1e-12 more on the sum
 * pays for the rounding of the masses, which are made of positive terms only.
 */
#include "law.h"

#include <math.h>

#define SLACK 1e-9
#define MASS_SLACK 1e-12

/* With more atoms than this, eps is first looked for with a part of them. */
#define MANY 100
#define ROUGH_BITS 3

/* The quick formula is used while its error is below this part of delta. */
#define QUICK_ERROR 1e-10

/*
 * Mills' ratio for x >= 0 in double, within 1e-14: the C library's erfc and exp
 * are taken to be right within 8 units in the last place (they are within 2),
 * and Laplace's continued fraction is cut where that changes less than 1e-16.
 */
static double quick_mills(double x)
{
    if (x < 4)
        return 1.2533141373155003 * erfc(x * M_SQRT1_2) * exp(x * x / 2);
    int depth = x < 6 ? 26 : x < 10 ? 16 : x < 30 ? 10 : 5;
    double ratio = (sqrt(x * x + 4 * (depth + 1)) - x) / 2;
    for (int k = depth; k > 0; k--)
        ratio = k / (x + ratio);
    return 1 / (x + ratio);
}

/*
 * M(m - h) - M(m + h) for small h, by the series of gaussian.c: five odd terms,
 * each below the last by 1/1000, with the moments forwards or backwards.
 */
static double quick_difference(double m, double h)
{
    double moment[11], sum = 0, power = h;
    if (m < 4) {
        moment[0] = quick_mills(m);
        moment[1] = 1 - m * moment[0];
        for (int k = 2; k < 11; k++)
            moment[k] = (k - 1) * moment[k - 2] - m * moment[k - 1];
    } else {
        int depth = m < 6 ? 44 : m < 10 ? 32 : m < 30 ? 26 : 18;
        double ratio = (sqrt(m * m + 4 * (depth + 1)) - m) / 2;
        for (int k = depth; k > 0; k--) {
            ratio = k / (m + ratio);
            if (k < 11)
                moment[k] = ratio;
        }
        moment[0] = 1 / (m + moment[1]);
        for (int k = 1; k < 11; k++)
            moment[k] *= moment[k - 1];
    }
    for (int k = 1; k < 11; k += 2) {
        sum += power * moment[k];
        power *= h * h / ((k + 1) * (k + 2));
    }
    return 2 * sum;
}

/*
 * delta_G in double; *tail is -d delta / d eps. The rounding of the argument
 * near, with its density, costs |near| (ratio + |near|) units in the last
 * place. What cancels is compared with what is left; if too much does, the slow
 * formula.
 */
static double quick_delta(double eps, double mu, double *tail)
{
    double ratio = eps / mu, half = mu / 2, near = ratio - half;
    double density = exp(-near * near / 2) * 0.3989422804014327;
    double far = quick_mills(ratio + half), delta, size;
    double error = 1e-13 + 4e-16 * (fabs(near) + 1) * (ratio + fabs(near));
    *tail = density * far;
    if (half < fmax(0.05, ratio / 32)) {
        delta = density * quick_difference(ratio, half);
        size = delta;
    } else if (near < 0) {
        size = 1;
        delta = 1 - density * (quick_mills(-near) + far);
    } else {
        double here = quick_mills(near);
        size = density * here;
        delta = density * (here - far);
    }
    if (error * size < QUICK_ERROR * delta)
        return delta;
    struct pri_gaussian g;
    pri_gaussian_at(eps, mu, &g);
    *tail = (double)(expl(g.log_density) * g.mills);
    return (double)expl(g.log_delta);
}

static double mass_slack(enum pri_side side)
{
    return side == PRI_ABOVE ? 1 + MASS_SLACK : 1 - MASS_SLACK;
}

/*
 * The raised curve: delta_G plus `more` from x = mu^2 = `from` on, and below
 * size e^(growth (x - from)), moved to be 0 at 0.
 */
struct raised {
    double growth, from, size, less, more;
    double by_eps, more_by_eps; /* d ln size e^(-growth from), and d more */
};

/*
 * d ln f'/dx = eps^2/(2 x^2) - 1/(2 x) - 1/8 falls up to x = 2 eps^2 and is
 * negative beyond: it is `growth` at one x only, at most that from there on and
 * more before. There f' is replaced by f'(from) e^(growth (x - from)), which is
 * larger, so that f is raised.
 */
static struct raised raise_curve(double eps, double growth, enum pri_side side)
{
    struct raised r = {growth, 0, 0, 0, 0, 0, 0};
    if (!(growth < INFINITY) || !(eps > 0))
        return r;
    struct pri_gaussian g;
    double slack = side == PRI_ABOVE ? 1 + SLACK : 1 - SLACK;
    r.from = eps * eps / (.5 + sqrt(.25 + 2 * eps * eps * (growth + .125)));
    double mu = sqrt(r.from);
    pri_gaussian_at(eps, mu, &g);
    double density = (double)expl(g.log_density);
    double delta = (double)expl(g.log_delta);
    r.size = density / (2 * mu) / growth * slack;
    r.less = exp(-growth * r.from);
    r.more = fmax(r.size * (1 - r.less) - delta / slack, 0);
    r.by_eps = .5 - eps / r.from;
    r.more_by_eps =
        r.size * (1 - r.less) * r.by_eps + density * (double)g.mills;
    return r;
}

double pri_raised_by(double eps, double growth)
{
    return raise_curve(eps, growth, PRI_ABOVE).more * (1 + 1e-9);
}

/* The raised curve at x, and its derivative by eps. */
static double raised_delta(const struct raised *r, double eps, double x,
                           enum pri_side side, double *by_eps)
{
    double slack = side == PRI_ABOVE ? 1 + SLACK : 1 - SLACK;
    double tail = 0, delta = 1, mu = sqrt(x) * slack;
    if (x < r->from) {
        double all = r->size * exp(r->growth * (mu * mu - r->from));
        *by_eps = (all - r->size * r->less) * r->by_eps;
        return fmax(all - r->size * r->less / (slack * slack), 0);
    }
    if (!isinf(mu) && eps / mu - mu / 2 > -9)
        delta = quick_delta(eps, mu, &tail);
    *by_eps = r->more_by_eps - tail;
    return delta + r->more;
}

/*
 * From the largest atom down. Where near is below -9, delta_G is 1 but for
 * 1e-18; once an atom adds next to nothing, all that are left together add
 * at most as much again, whatever their mass, since they sum up to at most 1.
 */
double pri_law_delta(const struct pri_law *law, double eps, double growth,
                     enum pri_side side, double *by_eps)
{
    double sum = 0, slope = 0;
    struct raised raised = raise_curve(eps, growth, side);
    for (int32_t k = law->count - 1; k >= 0 && law->value[k] > 0; k--) {
        double change,
            delta = raised_delta(&raised, eps, law->value[k], side, &change);
        sum += law->mass[k] * delta;
        slope += law->mass[k] * change;
        if (delta < 1e-13 * sum) {
            sum += side == PRI_ABOVE ? delta : 0;
            break;
        }
    }
    *by_eps = slope;
    return fmin(sum * mass_slack(side), 1);
}

/* Where to begin: the eps of one Gaussian of the mean mu^2, roughly. */
static double first_guess(const struct pri_law *law, double delta)
{
    double mean = 0;
    for (int32_t k = 0; k < law->count; k++)
        if (!isinf(law->value[k]))
            mean += law->mass[k] * law->value[k];
    return sqrt(2 * mean * -log(fmin(delta, .5))) + mean / 2;
}

/* The middle of a bracket, in the logarithm where that is possible. */
static double middle(double low, double high, double eps)
{
    if (isinf(high))
        return 4 * eps + 1e-300;
    return low > 0 ? sqrt(low) * sqrt(high) : high / 16;
}

/*
 * Newton in ln(delta(eps) - floor), inside a bracket; every fourth step halves
 * the bracket, since a curve with several plateaus can lead Newton astray.
 */
static double find_eps(const struct pri_law *law, double delta, double growth,
                       enum pri_side side, double guess)
{
    double floor = pri_law_infinite(law), low = 0, high = INFINITY, slope;
    double eps = guess, goal = log(delta - floor);
    for (int step = 1; step < 400; step++) {
        double now = pri_law_delta(law, eps, growth, side, &slope),
               left = now - floor;
        if (now > delta)
            low = eps;
        else
            high = eps;
        double next = eps + left * (goal - log(left)) / slope;
        if (fabs(next - eps) <= 1e-11 * eps || high - low <= 1e-13 * eps)
            return next > low && next < high ? next : eps;
        if (!(next > low && next < high) || step % 4 == 0)
            next = middle(low, high, eps);
        eps = next;
    }
    return eps;
}

static double solve_eps(const struct pri_law *law, double delta, double growth,
                        enum pri_side side, double guess)
{
    double slope;
    if (pri_law_delta(law, 0, growth, side, &slope) <= delta)
        return 0;
    if (pri_law_infinite(law) * mass_slack(side) >= delta)
        return INFINITY;
    double eps = find_eps(law, delta, growth, side, guess);
    eps *= side == PRI_ABOVE ? 1 + 1e-10 : 1 - 1e-10;
    for (double more = 1e-10; more < 1; more *= 2) {
        double now = pri_law_delta(law, eps, growth, side, &slope);
        if (side == PRI_ABOVE ? now <= delta : now >= delta)
            return eps;
        eps *= side == PRI_ABOVE ? 1 + more : 1 - more;
    }
    return side == PRI_ABOVE ? INFINITY : 0;
}

enum pricer_status pri_law_eps(const struct pri_law *law, double delta,
                               double growth, enum pri_side side,
                               struct pri_bins *bins, struct pri_law *spare,
                               double *eps)
{
    double guess = first_guess(law, delta);
    if (law->count > MANY) {
        struct pri_shape rough = {.side = side, .bits = ROUGH_BITS};
        enum pricer_status status = pri_law_copy(law, spare);
        if (status == PRICER_OK)
            status = pri_law_group(&rough, bins, spare);
        if (status != PRICER_OK)
            return status;
        double about = solve_eps(spare, delta, growth, side, guess);
        guess = about > 0 && isfinite(about) ? about : guess;
    }
    *eps = solve_eps(law, delta, growth, side, guess);
    return PRICER_OK;
}
