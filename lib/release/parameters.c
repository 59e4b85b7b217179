/*
 * From a budget to the release of least variance that keeps it.
 *
 * With e = exp(-e0), A = q + (1 - q) e and the mean h = g/q of the cap,
 *
 *     p = q / A,   m = g (1 - e) / A = h p (1 - e),
 *     E|y - x|^2 = R^2 (B + (|x|/R)^2 (t/m - 1)),   B = d (1 - t m) / ((d+1) m^2).
 *
 * For a fixed e0, dm/dt has the sign of m - t, so that m is largest where t = m,
 * and there the variance is the same for every x. That is the best t of one
 * round. Over several rounds a larger t leaves more rounds without any loss and
 * thus allows a larger e0; t is searched on a grid and then by golden section,
 * since the variance may have several minima (delta has a kink wherever a
 * multiple of e0 passes eps). Every t is private with its own e0: a poor search
 * would cost accuracy and no privacy.
 *
 * Claim: the release handed out keeps (eps, delta) over its rounds. Proof: e0 is
 * rounded down to its grid, and then pri_release_delta(), charge included, is
 * asked at that very release; while it says more than delta, e0 is lowered.
 */
#include "release.h"
#include "calibrate/calibrate.h"

#include <math.h>

#define U 0x1p-53L

/* A part of delta, and of noise, that is not used: code that computes them by
 * another method, with rounding errors of its own, must come to the same answer
 * (lib/forward/verify_release.c). */
#define SLACK 0x1p-33

/* How far e^-e0 and the rest of the parameters of a cap lead. */
struct numbers {
    long double p, m, all; /* all: A */
};

static struct numbers numbers_of(const struct pri_cap *cap, long double e0)
{
    long double rest = expl(-e0), lost = -expm1l(-e0);
    long double all = cap->share + (1 - cap->share) * rest;
    long double p = cap->share / all;
    return (struct numbers){p, cap->mean * p * lost, all};
}

/* max over |x| <= 1 of the variance for R = 1. */
static long double worst_variance(int64_t dimension, long double t,
                                  long double m)
{
    long double d = (long double)dimension;
    long double centre = d * (1 - t * m) / ((d + 1) * m * m);
    return m > 0 ? centre + fmaxl(0, t / m - 1) : INFINITY;
}

/*
 * The charge of docs/release.md, "What is not quite uniform": by how much the
 * share of seeds in a cap may differ between inputs, and what that costs, with
 * the number of tries in plain view: at most 44 / -ln(1 - A), see sample.c.
 */
static long double charge_of(int64_t dimension, long double t, long double e0,
                             const struct pri_cap *cap)
{
    struct numbers n = numbers_of(cap, e0);
    long double k = (long double)dimension + 1, lost = -expm1l(-e0);
    long double direction = PRI_NORMAL_ERROR + PRI_SUM_ERROR;
    long double length =
        PRI_NORMAL_ERROR + PRI_SUM_ERROR / 2 + 2 + 60 + 2 * sqrtl(k);
    long double width = (direction + t * length) * U;
    long double band = width * cap->hazard * 1.01L; /* over q */
    long double cells = 3 * (k + 16) / 2 * 0x1p-64L / cap->share;
    long double part = 2 * (band + cells);
    long double tries =
        44 / -log1pl(-n.all) * part * cap->share * lost / (1 - n.all);
    return n.p * lost * part + tries;
}

enum pricer_status pri_release_sphere(int64_t dimension, double radius,
                                      double t, double e0,
                                      struct pri_release *release,
                                      struct pricer_fault *fault)
{
    struct pri_cap cap;
    double steps = e0 / PRI_RELEASE_GRID;
    if (dimension < 1 || dimension >= PRI_RELEASE_COORDINATES)
        return pri_fault(fault, PRICER_VALUE,
                         "dimension = %lld is not between 1 and %d",
                         (long long)dimension, PRI_RELEASE_COORDINATES - 1);
    if (!(radius > 0 && radius <= DBL_MAX))
        return pri_fault(fault, PRICER_VALUE, "radius = %g is not positive",
                         radius);
    if (!(e0 > 0 && e0 <= PRI_RELEASE_E0 && steps == floor(steps)))
        return pri_fault(fault, PRICER_VALUE,
                         "e0 = %.17g is not a multiple of 2^-40 up to 12", e0);
    if (!(t * sqrt((double)dimension + 1) >= 0x1p-20 && t < 1 - 0x1p-30))
        return pri_fault(fault, PRICER_VALUE, "t = %g is out of range", t);
    pri_cap_at(dimension + 1, t, &cap);
    struct numbers n = numbers_of(&cap, e0);
    if (!(n.p > 0x1p-60L))
        return pri_fault(fault, PRICER_VALUE,
                         "t = %g leaves a cap that nothing falls into", t);
    *release = (struct pri_release){
        .kind = PRI_RELEASE_SPHERE,
        .dimension = dimension,
        .rounds = 1,
        .radius = radius,
        .diameter = 2 * radius,
        .t = t,
        .e0 = e0,
        .q = (double)cap.share,
        .p = (double)n.p,
        .m = (double)n.m,
        .charge = pri_round_up(charge_of(dimension, t, e0, &cap)),
        .variance = (double)(worst_variance(dimension, t, n.m) * radius *
                             (long double)radius),
    };
    return PRICER_OK;
}

void pri_release_rescale(double radius, struct pri_release *release)
{
    double factor = radius / release->radius;
    release->noise =
        pri_round_up(release->noise * (long double)radius / release->radius);
    release->diameter *= factor;
    release->variance *= factor * factor;
    release->radius = radius;
}

double pri_release_variance(const struct pri_release *release, double length)
{
    double d = (double)release->dimension, t = release->t, m = release->m;
    double square = release->radius * release->radius;
    double part = length / release->radius;
    if (release->kind == PRI_RELEASE_GAUSSIAN)
        return release->variance;
    return square *
           (d * (1 - t * m) / ((d + 1) * m * m) + part * part * (t / m - 1));
}

/* Where t = m for this e0: m - t changes its sign once. */
static double best_threshold(int64_t dimension, long double e0)
{
    double low = 0x1p-19 / sqrt((double)dimension + 1), high = 1 - 0x1p-29;
    for (int k = 0; k < 200; k++) {
        double middle = low + (high - low) / 2;
        struct pri_cap cap;
        pri_cap_at(dimension + 1, middle, &cap);
        if (middle <= low || middle >= high)
            break;
        *(numbers_of(&cap, e0).m > middle ? &low : &high) = middle;
    }
    return low;
}

/* The largest e0 of a threshold, off the grid; a bracketed secant in ln delta
 * (Illinois), which pure composition, eps / T, begins. */
static double largest_loss(const struct pri_release_wish *wish, double t)
{
    double low = wish->eps / (double)wish->rounds, high = PRI_RELEASE_E0;
    struct pri_cap cap;
    pri_cap_at(wish->dimension + 1, t, &cap);
    if (low >= high || !(wish->delta > 0))
        return fmin(low, high);
    double below = log(1e-300) - log(wish->delta), above = 0, last = 0;
    for (int k = 0; k < 200 && high - low > 1e-15 * high; k++) {
        double at = k == 0  ? high
                    : k < 3 ? sqrt(low * high)
                            : (low * above - high * below) / (above - below);
        if (k % 8 == 7 || (k > 0 && !(at > low && at < high)))
            at = (low + high) / 2;
        struct numbers n = numbers_of(&cap, at);
        struct pri_release_loss loss = {n.p, n.p * expl(-(long double)at), at,
                                        0, wish->rounds};
        double over = log(fmax(pri_release_delta(&loss, wish->eps), 1e-300)) -
                      log(wish->delta);
        if (k == 0 && over <= 0)
            return high;
        if (over > 0) {
            above = over;
            below *= last > 0 ? .5 : 1;
            high = at;
        } else {
            below = over;
            above *= last < 0 ? .5 : 1;
            low = at;
        }
        last = over;
    }
    return low;
}

/* The variance of the best e0 at t = x / sqrt(x^2 + d), x = exp(log_x). */
static double variance_at(const struct pri_release_wish *wish, double log_x,
                          double *t)
{
    double x = exp(log_x);
    struct pri_cap cap;
    *t = x / hypot(x, sqrt((double)wish->dimension));
    if (*t >= 1 - 0x1p-29)
        return INFINITY;
    pri_cap_at(wish->dimension + 1, *t, &cap);
    if (!(cap.share > 1e-30L))
        return INFINITY;
    long double m = numbers_of(&cap, largest_loss(wish, *t)).m;
    return (double)worst_variance(wish->dimension, *t, m);
}

/* The best threshold of several rounds. */
static double search_threshold(const struct pri_release_wish *wish)
{
    const double golden = (sqrt(5) - 1) / 2;
    int points = wish->rounds <= 1000 ? 200 : 60;
    double first = log(1e-3), step = (log(1e4) - first) / points, t;
    double best = INFINITY, centre = first;
    for (int k = 0; k <= points; k++) {
        double v = variance_at(wish, first + k * step, &t);
        if (v < best) {
            best = v;
            centre = first + k * step;
        }
    }
    double low = centre - step, high = centre + step;
    double a = high - golden * (high - low), b = low + golden * (high - low);
    double at_a = variance_at(wish, a, &t), at_b = variance_at(wish, b, &t);
    for (int k = 0; k < 40; k++) {
        if (at_a < at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - golden * (high - low);
            at_a = variance_at(wish, a, &t);
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + golden * (high - low);
            at_b = variance_at(wish, b, &t);
        }
    }
    variance_at(wish, (low + high) / 2, &t);
    return t;
}

/* Whether the release keeps the budget, all rounding against us. */
static bool keeps(const struct pri_release *release,
                  const struct pri_release_wish *wish)
{
    long double total = (long double)release->e0 + release->charge;
    struct pri_release_loss loss;
    if (total * (long double)wish->rounds <= wish->eps)
        return true;
    if (wish->rounds == 1)
        return false;
    pri_release_loss(release, wish->rounds, &loss);
    return pri_release_delta(&loss, wish->eps) * (1 + SLACK) <= wish->delta;
}

static enum pricer_status make_sphere(const struct pri_release_wish *wish,
                                      struct pri_release *release,
                                      struct pricer_fault *fault)
{
    double share = wish->eps / (double)wish->rounds;
    bool pure =
        wish->rounds == 1 || !(wish->delta > 0) || share >= PRI_RELEASE_E0;
    if (wish->rounds > PRI_RELEASE_ROUNDS)
        return pri_fault(fault, PRICER_INFEASIBLE,
                         "a sphere release is for at most %d rounds",
                         PRI_RELEASE_ROUNDS);
    double e0 = fmin(share, PRI_RELEASE_E0);
    double t =
        pure ? best_threshold(wish->dimension, e0) : search_threshold(wish);
    if (!pure)
        e0 = largest_loss(wish, t);
    for (double slack = 0; slack < .5; slack = slack * 2 + 0x1p-50) {
        double lowered = floor(e0 * (1 - slack) / PRI_RELEASE_GRID);
        if (lowered < 1)
            break;
        enum pricer_status status =
            pri_release_sphere(wish->dimension, wish->radius, t,
                               lowered * PRI_RELEASE_GRID, release, fault);
        if (status != PRICER_OK)
            return status;
        release->rounds = wish->rounds;
        if (keeps(release, wish))
            return PRICER_OK;
    }
    return pri_fault(fault, PRICER_INFEASIBLE,
                     "eps = %g over %lld rounds is too small for a release",
                     wish->eps, (long long)wish->rounds);
}

/*
 * What the means of two messages differ by, as a + b noise with a and b that
 * fall with the diameter. Proof of the claim in release.h: by lib/round/round.c,
 * (4), a diameter D below 2 R becomes at most
 *
 *     D + (sqrt(d) + 8) step + (16 d + 128) 2^-53 R,
 *
 * and by lib/forward/round.c the step of the grid is at most 2^-29 times
 * R + 64 max(noise, 2 R / 1984), which is less than 1.07 R + 64 noise. Two
 * messages are never further apart than 2 R, by (1) there.
 */
struct move {
    long double fixed, growing;
};

static struct move move_of(double radius, double diameter, int64_t dimension)
{
    long double d = (long double)dimension, r = radius;
    long double steps = (sqrtl(d) + 8) * 0x1p-29L * (1 + 0x1p-40L);
    return (struct move){diameter + steps * 1.07L * r + (16 * d + 128) * U * r,
                         64 * steps};
}

static bool is_near(double radius, double diameter)
{
    return diameter > 0 && diameter < 2 * radius;
}

long double pri_gaussian_move(double radius, double diameter, int64_t dimension,
                              double noise)
{
    long double whole = 2 * (long double)radius;
    if (!is_near(radius, diameter))
        return whole;
    struct move move = move_of(radius, diameter, dimension);
    return fminl(whole, (move.fixed + move.growing * noise) * (1 + 0x1p-50L));
}

/* The least noise with move <= mu noise. It is not below what every message
 * gets, 2 R / 1984: the variance would not be that of the payload. */
static long double least_noise(const struct pri_release_wish *wish,
                               long double mu)
{
    long double noise = 2 * (long double)wish->radius / mu;
    if (is_near(wish->radius, wish->diameter)) {
        struct move move =
            move_of(wish->radius, wish->diameter, wish->dimension);
        if (mu > 2 * move.growing)
            noise = fminl(noise, move.fixed / (mu - move.growing));
    }
    return fmaxl(noise, 2 * (long double)wish->radius / 1984) * (1 + SLACK);
}

static enum pricer_status make_gaussian(const struct pri_release_wish *wish,
                                        struct pri_release *release,
                                        struct pricer_fault *fault)
{
    struct pri_rounds law = {0};
    long double mu;
    if (!(wish->delta > 0))
        return pri_fault(fault, PRICER_INFEASIBLE,
                         "a Gaussian release needs a delta above 0");
    enum pricer_status status =
        pri_calibrate(PRICER_CALIBRATION_ANALYTIC, wish->eps, wish->delta,
                      wish->rounds, 1, &law, &mu);
    pri_rounds_free(&law);
    if (status != PRICER_OK)
        return pri_fault(fault, status, "%s", pricer_status_text(status));
    if (!(mu > 0))
        return pri_fault(fault, PRICER_INFEASIBLE,
                         "no Gaussian keeps eps = %g, delta = %g", wish->eps,
                         wish->delta);
    long double noise = least_noise(wish, mu);
    bool near = is_near(wish->radius, wish->diameter);
    *release = (struct pri_release){
        .kind = PRI_RELEASE_GAUSSIAN,
        .dimension = wish->dimension,
        .rounds = wish->rounds,
        .radius = wish->radius,
        .diameter = near ? wish->diameter : 2 * wish->radius,
        .noise = pri_round_up(noise),
        .variance = (double)(noise * noise * (long double)wish->dimension),
    };
    return PRICER_OK;
}

static enum pricer_status check_wish(const struct pri_release_wish *wish,
                                     struct pricer_fault *fault)
{
    if (wish->dimension < 1)
        return pri_fault(fault, PRICER_VALUE,
                         "dimension = %lld is not positive",
                         (long long)wish->dimension);
    if (!(wish->radius > 0 && wish->radius <= DBL_MAX))
        return pri_fault(fault, PRICER_VALUE, "radius = %g is not positive",
                         wish->radius);
    if (!(wish->diameter >= 0 && wish->diameter <= 2 * wish->radius))
        return pri_fault(fault, PRICER_VALUE,
                         "diameter = %g is not between 0 and twice the radius",
                         wish->diameter);
    if (!(wish->eps > 0))
        return pri_fault(fault, PRICER_VALUE, "eps = %g is not positive",
                         wish->eps);
    if (!(wish->delta >= 0 && wish->delta <= 1))
        return pri_fault(fault, PRICER_VALUE, "delta = %g is outside [0, 1]",
                         wish->delta);
    if (wish->rounds < 1 || wish->rounds > PRI_ROUNDS_MOST)
        return pri_fault(fault, PRICER_VALUE,
                         "rounds = %lld is not between 1 and %d",
                         (long long)wish->rounds, PRI_ROUNDS_MOST);
    return PRICER_OK;
}

enum pricer_status pri_release_for_budget(const struct pri_release_wish *wish,
                                          struct pri_release *release,
                                          struct pricer_fault *fault)
{
    struct pri_release sphere, gaussian;
    enum pricer_status status = check_wish(wish, fault);
    if (status != PRICER_OK)
        return status;
    if (wish->kind == PRI_RELEASE_SPHERE)
        return make_sphere(wish, release, fault);
    if (wish->kind == PRI_RELEASE_GAUSSIAN)
        return make_gaussian(wish, release, fault);
    status = make_gaussian(wish, &gaussian, fault);
    bool first = status == PRICER_OK;
    status = make_sphere(wish, &sphere, fault);
    if (status != PRICER_OK && !first)
        return status;
    if (status != PRICER_OK || (first && gaussian.variance < sphere.variance))
        *release = gaussian;
    else
        *release = sphere;
    return PRICER_OK;
}
