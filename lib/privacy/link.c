/*
 * From the ratio of a link to what its receiver learns over some rounds: the mean of
 * Gaussian mechanisms over how many packets arrive, as long as these are not too many
 * numbers; otherwise a link is a view of one sum without others. Claim and proof:
 * docs/mathematics.md, A link.
 */
#include "bracket.h"

#include <math.h>

/* Ratios for which all digits of the curve are known. */
#define MU_LEAST 1e-100
#define MU_MOST 1e6

/* By which part the ratio may be off, and which of delta is left out. */
#define OFF 0x1p-50L

/* Numbers of packets for which the mean takes less time than a line, and rounds up to
 * which it is worth it where a line leaves more than NARROW. */
enum { FEW = 48, MANY = 100000 };
#define NARROW 1e-3

/* As many packets of this ratio as the law says. */
struct packets {
    const struct pri_rounds *law;
    long double mu;
};

/* What they cost at an eps, to a side. */
static double packets_delta(const struct packets *packets, double eps,
                            enum pri_side side)
{
    struct pri_curve curve;
    bool above = side == PRI_ABOVE;
    pri_rounds_curve(packets->law, eps,
                     packets->mu * (above ? 1 + OFF : 1 - OFF), &curve);
    return above ? pri_round_up(curve.delta + curve.error_delta +
                                packets->law->tail)
                 : pri_round_down(fmaxl(curve.delta - curve.error_delta, 0));
}

/* ln of that, about, and by how much it falls with eps. */
static long double packets_log(const struct packets *packets, long double eps,
                               long double *falls)
{
    const struct pri_rounds *law = packets->law;
    if (law->first < law->last) {
        struct pri_curve curve;
        pri_rounds_curve(law, eps, packets->mu, &curve);
        *falls = -curve.by_eps / curve.delta;
        return logl(curve.delta);
    }
    struct pri_gaussian one;
    pri_gaussian_at(eps, packets->mu * sqrtl((long double)law->last), &one);
    *falls = expl(one.log_density - one.log_delta) * one.mills;
    return one.log_delta + logl(law->weight[0]);
}

/* About where that is a delta, or 0 if it is no more at 0; *slope is by how much its
 * logarithm falls there. Of one number of packets the logarithm is concave in eps
 * (delta_G is the tail of a normal less an exponential number), so Newton's steps go on
 * to the left from Chernoff's bound for the most packets; of several they are kept
 * between what is known to be on either side. */
static double packets_eps(const struct packets *packets, double delta,
                          double *slope)
{
    const struct pri_rounds *law = packets->law;
    long double goal = logl(delta), low = -1, step = INFINITY;
    long double mu = packets->mu * sqrtl((long double)law->last);
    long double any = law->first == law->last ? logl(law->weight[0]) : 0;
    long double high = mu * (mu / 2 + sqrtl(-2 * fminl(goal - any, 0)));
    long double eps = high;
    for (int k = 0; k < 200 && step > 1e-8L * eps; k++) {
        long double falls, at = packets_log(packets, eps, &falls);
        long double next = eps - (goal - at) / falls;
        *(at > goal ? &low : &high) = eps;
        step = fabsl(next - eps);
        if (!(next > low && next < high)) {
            next = low + (high - low) / 2;
            step = INFINITY;
        }
        if (!(next > 0) && packets_delta(packets, 0, PRI_ABOVE) <= delta)
            return 0;
        low = next > 0 ? low : 0;
        eps = next > 0 ? next : high / 2;
        if (falls > 0)
            *slope = (double)falls;
    }
    return (double)eps;
}

/* Go on from an eps, by ever larger steps, until the bound there is on its
 * side. */
static double move_end(const struct packets *packets, double eps, double step,
                       double delta, enum pri_side side)
{
    for (int k = 0; k < 200; k++, step *= 1.5) {
        double at = side == PRI_ABOVE ? eps + step : fmax(eps - step, 0);
        double now = packets_delta(packets, at, side);
        if (side == PRI_ABOVE ? now <= delta : now >= delta)
            return at;
    }
    return side == PRI_ABOVE ? INFINITY : 0;
}

static struct pri_bracket bracket_packets(const struct packets *packets,
                                          double delta)
{
    struct pri_bracket found = {.floor_exact = true};
    double slope = 1, eps = packets_eps(packets, delta, &slope);
    if (eps == 0 && packets_delta(packets, 0, PRI_ABOVE) <= delta)
        return found;
    /* What the ratio's part and the two deltas' distance are worth. */
    double mu = (double)packets->mu * sqrt((double)packets->law->last);
    double step = (eps + mu * mu / 2) * 0x1p-48;
    found.eps = move_end(packets, eps, step, delta, PRI_ABOVE);
    step = fmin(step + 2e-11 / slope, eps / 64);
    found.eps_lower = move_end(packets, eps, step,
                               pri_delta_for(delta, PRI_BELOW), PRI_BELOW);
    return found;
}

static enum pricer_status by_line(double mu, double p, double delta,
                                  int64_t rounds, struct pri_scratch *scratch,
                                  struct pri_bracket *bracket)
{
    long double ratio = fminl(fmaxl(1 / (long double)mu, 1e-150), 1e150);
    struct pri_source source = {.signal = 1,
                                .base = isinf(mu) ? 0 : (double)(ratio * ratio),
                                .uplink = 1,
                                .link = p};
    struct pri_view view = {.sources = mu > 0, .source = &source};
    enum pricer_status status =
        pri_view_account(&view, delta, rounds, 0, scratch, bracket);
    if (status == PRICER_OK && isinf(mu))
        bracket->floor = -expm1((double)rounds * log1p(-p));
    return status;
}

/* Exact: the receiver sees which packets arrive, and K of them are one Gaussian
 * mechanism with ratio sqrt(K) mu. */
enum pricer_status pri_link_account(double mu, double p, double delta,
                                    int64_t rounds, struct pri_scratch *scratch,
                                    struct pri_bracket *bracket)
{
    struct pri_rounds law = {0}, some;
    const struct packets packets = {&some, mu};
    double all = mu * sqrt((double)rounds);
    enum pricer_status status = PRICER_OK;
    bool able =
        p > 0 && all > MU_LEAST && all < MU_MOST && (p == 1 || rounds <= MANY);
    if (able)
        status = pri_rounds_law(rounds, p, delta * OFF, &law);
    some = law;
    if (some.first == 0 && some.last > 0) { /* no packet shows nothing */
        some.first++;
        some.weight++;
    }
    bool few = able && law.last - law.first < FEW;
    if (status == PRICER_OK && !few)
        status = by_line(mu, p, delta, rounds, scratch, bracket);
    if (status == PRICER_OK && able && (few || !pri_within(bracket, NARROW)))
        *bracket = bracket_packets(&packets, delta);
    pri_rounds_free(&law);
    return status;
}
