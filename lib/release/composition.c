/*
 * What several rounds of a sphere release cost together.
 *
 * Claim: for inputs x, x' of each round, chosen as they may be from earlier
 * releases, the privacy loss of T rounds is dominated by the sum of T
 * independent losses that are +e0 with probability p, -e0 with p e^-e0 and else
 * 0, and T times the charge. docs/release.md, "Several rounds", has the proof.
 *
 * The law of the sum n of T signs is that of the coefficients of
 * (p z^2 + r z + s)^T. From the top, c_i = P(n = T - i) / p^T obeys
 *
 *     i p c_i = (T - i + 1) r c_{i-1} + (2 T - i + 2) s c_{i-2},
 *
 * and for n >= 0 every coefficient in that is positive: nothing cancels, and
 * after i steps the relative error is below 8 i u, u = LDBL_EPSILON / 2. Then
 *
 *     delta(eps) = sum over n > eps/e0 of P(n) (1 - exp(eps - n e0)).
 *
 * Excesses are rounded up. Numbers are kept in range by a common power of two.
 */
#include "release.h"
#include "calibrate/calibrate.h"

#include <assert.h>
#include <math.h>

void pri_release_loss(const struct pri_release *release, int64_t rounds,
                      struct pri_release_loss *loss)
{
    struct pri_cap cap;
    long double rest = expl(-(long double)release->e0);
    assert(release->kind == PRI_RELEASE_SPHERE);
    pri_cap_at(release->dimension + 1, release->t, &cap);
    /* The share differs from q by a part of its error and of what the charge is
     * for: charge >= p (1 - e^-e0) dq / q. */
    long double all = cap.share + (1 - cap.share) * rest;
    long double p = cap.share / all, lost = -expm1l(-(long double)release->e0);
    long double part = cap.error + 16 * PRI_HALF_ULP;
    part += lost > 0 && p > 0 ? release->charge / (p * lost) : 0;
    *loss = (struct pri_release_loss){
        .up = fminl(p * (1 + 2 * part), 1),
        .down = fmaxl(p * rest * (1 - 2 * part), 0),
        .e0 = release->e0,
        .charge = release->charge,
        .rounds = rounds,
    };
}

long double pri_signs_next(const struct pri_release_loss *loss,
                           struct pri_signs *signs)
{
    int64_t rounds = loss->rounds, i = ++signs->index;
    long double p = loss->up, down = loss->down, factor = 1;
    long double stay = fmaxl(1 - p - down, 0) + 4 * PRI_HALF_ULP;
    long double next =
        ((long double)(rounds - i + 1) * stay * signs->now +
         (long double)(2 * rounds - i + 2) * down * signs->before) /
        ((long double)i * p);
    if (next > 0x1p4000L) {
        factor = 0x1p-4000L;
        signs->log_scale += 4000 * M_LN2l;
    }
    signs->before = signs->now * factor;
    signs->now = next * factor;
    return factor;
}

struct pri_signs pri_signs_first(const struct pri_release_loss *loss)
{
    return (struct pri_signs){
        .now = 1, .log_scale = (long double)loss->rounds * logl(loss->up)};
}

double pri_release_delta(const struct pri_release_loss *loss, double eps)
{
    long double many = (long double)loss->rounds, e0 = loss->e0, sum = 0;
    long double goal = (eps - many * loss->charge) * (1 - 4 * PRI_HALF_ULP);
    if (goal < 0)
        return 1;
    if (loss->up == 0 || many * e0 <= goal)
        return 0;
    struct pri_signs signs = pri_signs_first(loss);
    for (int64_t n = loss->rounds; n >= 0; n--) {
        long double top = (long double)n * e0;
        if (top <= goal)
            break;
        if (n < loss->rounds)
            sum *= pri_signs_next(loss, &signs);
        long double excess = top - goal + 4 * PRI_HALF_ULP * (top + goal);
        sum += signs.now * -expm1l(-excess);
    }
    long double error =
        PRI_HALF_ULP * (24 * many + 16 * fabsl(signs.log_scale) + 64);
    long double delta = expl(logl(sum) + signs.log_scale) * (1 + error);
    return pri_round_up(fminl(fmaxl(delta, 1e-300L), 1));
}

static double curve(const void *of, double eps)
{
    return pri_release_delta(of, eps);
}

double pri_release_eps(const struct pri_release_loss *loss, double delta)
{
    return pri_search_eps(curve, loss, delta, 0x1p-45).high;
}
