/*
 * Claims against balls: whether both ends of a statement hold, given a function
 * that encloses the true delta at an eps.
 */
#ifndef PRICER_TESTS_BALL_H
#define PRICER_TESTS_BALL_H

#include "tests/test.h"
#include "account/account.h"

#include <arb.h>
#include <arb_hypgeom.h>

static int checked, undecided, refused, wrong;

static double pick(uint64_t *seed, const double *values, int count)
{
    return values[test_random(seed) % (uint64_t)count];
}

#define PICK(seed, array)                                                      \
    pick(seed, array, (int)(sizeof(array) / sizeof(array)[0]))

/* The hockey-stick divergence of two Gaussians mu apart. */
static void gaussian_delta(arb_t result, const arb_t mu2, double eps,
                           slong bits)
{
    arb_t mu, x, y, e;
    arb_init(mu);
    arb_init(x);
    arb_init(y);
    arb_init(e);
    arb_set_d(e, eps);
    arb_sqrt(mu, mu2, bits);
    arb_div(y, e, mu, bits);
    arb_mul_2exp_si(x, mu, -1);
    arb_sub(mu, y, x, bits);
    arb_add(y, y, x, bits);
    arb_sqrt_ui(x, 2, bits);
    arb_div(mu, mu, x, bits);
    arb_div(y, y, x, bits);
    if (eps > 1e12) {
        /* e^eps is out of reach: e^eps erfc(y) = e^(-x^2) erfcx(y), where
         * erfcx(y) is 1 / (y sqrt(pi)) but for a part of 1 / y^2. */
        arb_const_sqrt_pi(e, bits);
        arb_mul(e, e, y, bits);
        arb_inv(y, e, bits);
        mag_set_d(arb_radref(e), 1e-12);
        arf_one(arb_midref(e));
        arb_mul(y, y, e, bits);
        arb_mul(e, mu, mu, bits);
        arb_neg(e, e);
        arb_exp(e, e, bits);
    } else {
        arb_hypgeom_erfc(y, y, bits);
        arb_exp(e, e, bits);
    }
    arb_hypgeom_erfc(mu, mu, bits);
    arb_submul(mu, e, y, bits);
    arb_mul_2exp_si(result, mu, -1);
    arb_clear(mu);
    arb_clear(x);
    arb_clear(y);
    arb_clear(e);
}

/* Both ends of a claim against the truth; false where one does not hold. */
static bool holds(const struct pricer_statement *claim, int64_t rounds,
                  void (*at)(arb_t sum, int64_t rounds, double eps,
                             const void *about),
                  const void *about)
{
    arb_t sum;
    arf_t end;
    bool fine = claim->eps >= claim->eps_lower && claim->eps_lower >= 0;
    arb_init(sum);
    arf_init(end);
    if (isfinite(claim->eps)) {
        at(sum, rounds, claim->eps * (1 + 1e-12), about);
        arb_get_lbound_arf(end, sum, 64);
        fine = fine && arf_cmp_d(end, claim->delta) <= 0;
        arb_get_ubound_arf(end, sum, 64);
        undecided += arf_cmp_d(end, claim->delta) > 0;
        if (!fine) {
            printf("at eps %.17g: ", claim->eps);
            arb_printn(sum, 20, 0);
        }
    }
    if (claim->eps_lower > 0) {
        double eps = fmin(claim->eps_lower * (1 - 1e-12), 1e305);
        at(sum, rounds, eps, about);
        arb_get_ubound_arf(end, sum, 64);
        bool low = arf_cmp_d(end, claim->delta) >= 0;
        if (!low) {
            printf(" at lower eps %.17g: ", claim->eps_lower);
            arb_printn(sum, 20, 0);
        }
        fine = fine && low;
    }
    arb_clear(sum);
    arf_clear(end);
    checked++;
    wrong += !fine;
    return fine;
}

#endif
