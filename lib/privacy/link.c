/*
 * From the ratio of a link to what its receiver learns over some rounds. One
 * packet, or a known number of them, is one Gaussian mechanism and needs no line;
 * otherwise a link is a view of one sum without others. Claim and proof:
 * docs/mathematics.md, A link.
 */
#include "bracket.h"

#include <math.h>

/* Ratios for which all digits of the curve are known. */
#define MU_LEAST 1e-100
#define MU_MOST 1e6

/* By which part the ratio may be off. */
#define MU_PART 0x1p-50L

/* A packet that arrives with probability p, or not at all. */
struct packet {
    double p;
    long double mu;
};

/* What it costs at an eps, to a side. */
static double packet_delta(const struct packet *packet, double eps,
                           enum pri_side side)
{
    if (side == PRI_ABOVE)
        return packet->p * pri_gaussian_above(eps, packet->mu * (1 + MU_PART)) *
               (1 + 0x1p-50);
    return packet->p * pri_gaussian_below(eps, packet->mu * (1 - MU_PART)) *
           (1 - 0x1p-50);
}

/* About where p delta_G is a delta of less than p, or 0 where that is below 0;
 * *slope is by how much ln delta_G falls there. It is concave in eps (delta_G is
 * the tail of a normal less an exponential number), so Newton's steps go on to
 * the left from Chernoff's bound. */
static double packet_eps(const struct packet *packet, double delta,
                         double *slope)
{
    long double goal = logl((long double)delta / packet->p), mu = packet->mu;
    long double eps = mu * (mu / 2 + sqrtl(-2 * goal)), step = eps;
    for (int k = 0; k < 60 && step > 1e-8L * eps; k++) {
        struct pri_gaussian at;
        pri_gaussian_at(eps, mu, &at);
        long double falls = expl(at.log_density - at.log_delta) * at.mills;
        step = (goal - at.log_delta) / falls;
        eps -= step;
        *slope = (double)falls;
        if (!(eps > 0))
            return 0;
    }
    return (double)eps;
}

/* Go on from an eps, by ever larger steps, until the bound there is on its
 * side. */
static double move_end(const struct packet *packet, double eps, double step,
                       double delta, enum pri_side side)
{
    for (int k = 0; k < 60; k++, step *= 4) {
        double at = side == PRI_ABOVE ? eps + step : fmax(eps - step, 0);
        double now = packet_delta(packet, at, side);
        if (side == PRI_ABOVE ? now <= delta : now >= delta)
            return at;
    }
    return side == PRI_ABOVE ? INFINITY : 0;
}

static struct pri_bracket bracket_packet(const struct packet *packet,
                                         double delta)
{
    struct pri_bracket found = {.floor_exact = true};
    double slope = 1, eps = packet_eps(packet, delta, &slope);
    if (eps == 0 && packet_delta(packet, 0, PRI_ABOVE) <= delta)
        return found;
    /* What the ratio's part and the two deltas' distance are worth. */
    double mu = (double)packet->mu, step = (eps + mu * mu / 2) * 0x1p-48;
    found.eps = move_end(packet, eps, step, delta, PRI_ABOVE);
    found.eps_lower = move_end(packet, eps, step + 2e-11 / slope,
                               pri_delta_for(delta, PRI_BELOW), PRI_BELOW);
    return found;
}

/*
 * Exact: the receiver sees which packets arrive, and K of them are one Gaussian
 * mechanism with ratio sqrt(K) mu.
 */
enum pricer_status pri_link_account(double mu, double p, double delta,
                                    int64_t rounds, struct pri_scratch *scratch,
                                    struct pri_bracket *bracket)
{
    const struct packet packet = {p, mu * sqrtl((long double)rounds)};
    if ((rounds == 1 || p == 1) && p > delta && packet.mu > MU_LEAST &&
        packet.mu < MU_MOST) {
        *bracket = bracket_packet(&packet, delta);
        return PRICER_OK;
    }
    double ratio = fmin(fmax(1 / mu, 1e-150), 1e150);
    struct pri_source source = {.signal = 1,
                                .base = isinf(mu) ? 0 : ratio * ratio,
                                .uplink = 1,
                                .link = p};
    struct pri_view view = {.sources = mu > 0, .source = &source};
    enum pricer_status status =
        pri_view_account(&view, delta, rounds, 0, scratch, bracket);
    if (status == PRICER_OK && isinf(mu))
        bracket->floor = -expm1((double)rounds * log1p(-p));
    return status;
}
