/*
 * From a budget (eps, delta) to the largest signal-to-noise ratio mu that keeps
 * a packet within it.
 *
 * The privacy curve grows with mu, so the answer is the one root of
 *
 *     ln delta(eps; mu) = ln delta,
 *
 * or of the same equation for 1 - delta where delta > 1/2. Either logarithm
 * changes by at least 0.8 for each unit of ln mu, so the root is as well
 * determined as the function, and Newton's method in ln mu, kept inside a
 * bracket, takes a few steps.
 *
 * Claim: the mu handed out never spends more than (eps, delta). Proof: after
 * the root is found it is lowered by the relative slack 2^-49 and the curve,
 * with its proved error added, is evaluated there; while that is above delta
 * the slack is doubled. The slack also pays for the few roundings between mu
 * and the noise of a link (slope = 2 R / mu, noise = slope * weight).
 */
#include "calibrate.h"

#include <float.h>
#include <math.h>

#define SAFETY 0x1p-49L
#define ROOT_2PI 2.50662827463100050241576528481104525L

/* What the search needs to know. */
struct search {
    const struct pri_rounds *law;
    long double eps;
    long double target; /* delta, or 1 - delta if `rest` */
    bool rest;          /* the equation for 1 - delta is solved */
};

/* How far ln delta(mu) (or -ln(1 - delta)) is above its target, and its
 * derivative by ln mu. Far out, where the logarithm is infinite, only the sign
 * is of use. */
static long double excess(const struct search *search, long double mu,
                          long double *derivative)
{
    struct pri_curve curve;
    pri_rounds_curve(search->law, search->eps, mu, &curve);
    long double value = search->rest ? curve.rest : curve.delta;
    *derivative = mu * curve.by_mu / value;
    long double distance = logl(value) - logl(search->target);
    return search->rest ? -distance : distance;
}

/*
 * Where to begin for one certain round. Each of
 *
 *     delta <= mu / sqrt(2 pi),
 *     delta <= exp(-a^2 / 2) / 2,   a = eps / mu - mu / 2 >= 0,
 *
 * solved for mu is a lower bound; the second, mirrored, is close where
 * delta > 1/2.
 */
static long double first_guess(const struct search *search)
{
    long double eps = search->eps;
    long double tail = sqrtl(fmaxl(0, -2 * logl(2 * search->target)));
    long double root = sqrtl(tail * tail + 2 * eps);
    if (search->rest)
        return tail + root > 0 ? tail + root : 1;
    return fmaxl(search->target * ROOT_2PI, 2 * eps / (tail + root));
}

/*
 * Newton in ln mu inside a bracket. No step is longer than a factor of e^2, and
 * one that would leave the bracket halves it.
 */
static long double find_root(const struct search *search, long double mu)
{
    long double low = 0, high = INFINITY;
    for (int step = 0; step < 400; step++) {
        long double derivative, over = excess(search, mu, &derivative);
        if (over > 0)
            high = mu;
        else
            low = mu;
        long double move = -over / derivative;
        if (fabsl(move) < 0x1p-58L)
            break;
        if (!(fabsl(move) < 2))
            move = over > 0 ? -2 : 2;
        long double next = mu * expl(move);
        if (!(next > low && next < high))
            next = sqrtl(low) * sqrtl(high);
        if (next == mu)
            break;
        mu = next;
    }
    return mu;
}

/* Whether (eps, delta) holds at mu, error and tails charged. */
static bool holds(const struct search *search, long double mu)
{
    struct pri_curve curve;
    pri_rounds_curve(search->law, search->eps, mu, &curve);
    long double tail = search->law->tail;
    if (search->rest)
        return curve.rest - curve.error_rest - tail >= search->target;
    return curve.delta + curve.error_delta + tail <= search->target;
}

/*
 * The largest mu for the law, to the safe side. `guess` is where to begin, or
 * 0. If delta covers every packet being read in the clear, no noise is needed.
 */
static long double solve(const struct pri_rounds *law, long double eps,
                         long double delta, long double guess)
{
    bool rest = delta > 0.5L;
    struct search search = {law, eps, rest ? 1 - delta : delta, rest};
    long double never = law->first == 0 ? law->weight[0] : 0;
    if (isinf(eps) || never * (1 - law->error) - law->tail >= 1 - delta)
        return INFINITY;
    if (guess == 0)
        guess = first_guess(&search);
    long double root = find_root(&search, guess), slack = SAFETY;
    while (slack < 1 && !holds(&search, root * (1 - slack)))
        slack *= 2;
    return slack < 1 ? root * (1 - slack) : 0;
}

/* The paper's formula. It knows no rounds: they are one Gaussian mechanism with
 * ratio sqrt(rounds) mu at most. */
static long double classic(long double eps, long double delta, int64_t rounds)
{
    long double needed = sqrtl(2 * logl(1.25L / delta) * (long double)rounds);
    return eps / needed * (1 - SAFETY);
}

enum pricer_status pri_calibrate(enum pricer_calibration calibration,
                                 double eps, double delta, int64_t rounds,
                                 double p, struct pri_rounds *law,
                                 long double *mu)
{
    if (calibration == PRICER_CALIBRATION_CLASSIC) {
        *mu = classic(eps, delta, rounds);
        return PRICER_OK;
    }
    enum pricer_status status = pri_rounds_law(1, 1, 0, law);
    if (status != PRICER_OK)
        return status;
    long double once = solve(law, eps, delta, 0);
    long double always = once / sqrtl((long double)rounds) * (1 - SAFETY);
    if (rounds == 1 || p == 1 || isinf(once) || once == 0) {
        *mu = rounds == 1 ? once : always;
        return PRICER_OK;
    }
    status = pri_rounds_law(rounds, p, delta * 0x1p-70L, law);
    if (status != PRICER_OK)
        return status;
    long double often = fmaxl(1, (long double)rounds * p);
    long double many = solve(law, eps, delta, once / sqrtl(often));
    *mu = fminl(once, many);
    return PRICER_OK;
}

bool pri_budget_holds(const struct pricer_budget *budget, long double mu,
                      struct pri_rounds *law)
{
    int64_t rounds = budget->rounds > 1 ? budget->rounds : 1;
    double eps = budget->eps, delta = budget->delta;
    if (rounds == 1 || budget->p == 1)
        return pri_gaussian_above(eps, mu * sqrtl((long double)rounds)) <=
               delta;
    if (pri_rounds_law(rounds, budget->p, delta * 0x1p-70L, law) != PRICER_OK)
        return false;
    struct pri_curve curve;
    pri_rounds_curve(law, eps, mu, &curve);
    if (delta > 0.5)
        return curve.rest - curve.error_rest - law->tail >=
               1 - (long double)delta;
    return curve.delta + curve.error_delta + law->tail <= delta;
}

static enum pricer_status check_budget(double eps, double delta, int64_t rounds,
                                       double p, struct pricer_fault *fault)
{
    if (!(eps > 0))
        return pri_fault(fault, PRICER_VALUE,
                         "eps = %g is not a positive number or inf", eps);
    if (!(delta > 0 && delta <= 1))
        return pri_fault(fault, PRICER_VALUE, "delta = %g is outside (0, 1]",
                         delta);
    if (!(p > 0 && p <= 1))
        return pri_fault(fault, PRICER_VALUE, "p = %g is outside (0, 1]", p);
    if (rounds < 0 || rounds > PRI_ROUNDS_MOST)
        return pri_fault(fault, PRICER_VALUE,
                         "rounds = %lld is not between 1 and %d",
                         (long long)rounds, PRI_ROUNDS_MOST);
    return PRICER_OK;
}

enum pricer_status pricer_calibrate(const struct pricer_budget *budget,
                                    double *mu, bool *guaranteed,
                                    struct pricer_fault *fault)
{
    double eps = budget->eps, delta = budget->delta, p = budget->p;
    int64_t rounds = budget->rounds;
    struct pri_rounds law = {0};
    long double ratio;
    enum pricer_status status = check_budget(eps, delta, rounds, p, fault);
    if (status != PRICER_OK)
        return status;
    rounds = rounds == 0 ? 1 : rounds;
    status =
        pri_calibrate(budget->calibration, eps, delta, rounds, p, &law, &ratio);
    pri_rounds_free(&law);
    if (status != PRICER_OK)
        return pri_fault(fault, status, "%s", pricer_status_text(status));
    long double total = ratio * sqrtl((long double)rounds);
    if (guaranteed != NULL)
        *guaranteed = budget->calibration == PRICER_CALIBRATION_ANALYTIC ||
                      pri_gaussian_above(eps, total) <= delta;
    *mu = pri_round_down(ratio);
    return PRICER_OK;
}

enum pricer_status pri_slope_derivative(const struct pricer_settings *settings,
                                        double eps, double delta, double p,
                                        double *derivative,
                                        struct pricer_fault *fault)
{
    int64_t rounds = settings->rounds == 0 ? 1 : settings->rounds;
    struct pri_rounds law = {0};
    struct pri_curve curve;
    long double once, mu;
    enum pricer_status status = check_budget(eps, delta, rounds, p, fault);
    if (status != PRICER_OK)
        return status;
    status =
        pri_calibrate(settings->calibration, eps, delta, 1, 1, &law, &once);
    if (status == PRICER_OK)
        status = pri_calibrate(settings->calibration, eps, delta, rounds, p,
                               &law, &mu);
    if (status == PRICER_OK && mu == once)
        status = pri_rounds_law(1, 1, 0, &law);
    if (status == PRICER_OK && mu != once && p == 1)
        status = pri_rounds_law(rounds, 1, 0, &law);
    if (status == PRICER_OK) {
        if (settings->calibration == PRICER_CALIBRATION_CLASSIC || mu == 0) {
            *derivative = -1;
        } else if (isinf(mu)) {
            *derivative = 0;
        } else {
            pri_rounds_curve(&law, eps, mu, &curve);
            *derivative = (double)(eps / mu * curve.by_eps / curve.by_mu);
        }
    }
    pri_rounds_free(&law);
    return status;
}
